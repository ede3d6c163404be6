"""What was planted in the demo traces, in exact numbers: for tests, and for a reader who checks the screens."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Literal

from jobs.demo_data.run import Kind
from jobs.demo_data.schedule import Outage, Release

BreakKind = Literal["torn", "not_json", "no_trace_id"]


@dataclass(frozen=True, kw_only=True, slots=True)
class BrokenLine:
    path: Path  # relative to the traces' folder
    line: int  # 1-based
    kind: BreakKind


@dataclass(frozen=True, kw_only=True, slots=True)
class DayCount:
    """What one agent did on one day. `by_kind` adds up to `num_traces`."""

    day: date
    agent: str
    release: str
    num_traces: int
    by_kind: Mapping[Kind, int]
    num_late: int  # of the traces: they stand in a later day's file
    num_copied: int  # of the traces: they stand in two files
    num_copied_lines: int


@dataclass(frozen=True, kw_only=True, slots=True)
class DemoPlan:
    """All that was planted. A trace belongs to the day on which it started."""

    folder: Path
    seed: int
    days: tuple[DayCount, ...]  # one per day and agent
    releases: tuple[Release, ...]
    bad_release: Release | None
    bad_until: date | None
    outages: tuple[Outage, ...]
    broken_lines: tuple[BrokenLine, ...]
    lines_per_file: Mapping[str, int]  # every line, also broken and copied ones, by path below the folder

    @property
    def num_traces(self) -> int:
        return sum(count.num_traces for count in self.days)

    @property
    def num_late(self) -> int:
        return sum(count.num_late for count in self.days)

    @property
    def num_copied(self) -> int:
        return sum(count.num_copied for count in self.days)

    @property
    def num_copied_lines(self) -> int:
        return sum(count.num_copied_lines for count in self.days)

    @property
    def num_lines(self) -> int:
        return sum(self.lines_per_file.values())

    def traces_per_day(self, agent: str | None = None) -> dict[date, int]:
        """Traces by day, of one agent or of all."""
        counts: dict[date, int] = {}
        for count in self.days:
            if agent in (None, count.agent):
                counts[count.day] = counts.get(count.day, 0) + count.num_traces
        return counts

    def num_of(self, *kinds: Kind, agent: str | None = None, day: date | None = None) -> int:
        """Traces of these kinds, of one agent and one day where given."""
        chosen = [c for c in self.days if agent in (None, c.agent) and day in (None, c.day)]
        return sum(count.by_kind.get(kind, 0) for count in chosen for kind in kinds)

    def text(self) -> str:
        """The plan as plain lines, for the terminal."""
        return "\n".join(f"- {line}" for line in self._sentences())

    def _sentences(self) -> list[str]:
        dates = sorted({count.day for count in self.days})
        per_day = self.traces_per_day()
        weekend = [number for day, number in per_day.items() if day.weekday() >= 5]
        working = [number for day, number in per_day.items() if day.weekday() < 5]
        lines = [
            f"{self.num_traces:,} traces of {len(dates)} days, {dates[0]} to {dates[-1]}, seed {self.seed}: "
            + ", ".join(f"{agent} {sum(self.traces_per_day(agent).values()):,}" for agent in self._agents()),
            f"weekly rhythm: {_mean(working)} traces on a working day, {_mean(weekend)} on a day of the weekend",
        ]
        lines += [
            f"release {release.release} of {release.agent} from {release.first_day}"
            for release in self.releases
            if release.first_day > dates[0]
        ]
        if self.bad_release is not None and self.bad_until is not None:
            bad, until = self.bad_release, self.bad_until
            ran = sum(self.traces_per_day(bad.agent).get(day, 0) for day in _days(bad.first_day, until))
            lines.append(
                f"bad release: {bad.agent} {bad.release}, {bad.first_day} to {until}: {self.num_of('bad_release')} "
                f"of its {ran} traces give a bad answer, most of them after more than 15 turns"
            )
        lines += [
            f"outage: {outage.tool} of {outage.agent} fails all day on {outage.day}, in "
            f"{self.num_of('outage', agent=outage.agent, day=outage.day)} traces"
            for outage in self.outages
        ]
        lines += [
            f"guardrails: {self.num_of('blocked')} traces blocked, {self.num_of('flagged')} flagged and answered",
            f"{self.num_of('failed')} failed runs, {self.num_of('empty_answer')} empty answers, "
            f"{self.num_of('slow')} runs of sound releases over 10 s, {self.num_of('many_turns')} over 15 turns",
            f"{self.num_late} late traces, in the file of two days after their start",
            f"{self.num_copied} traces twice, also in the next day's file ({self.num_copied_lines} lines)",
            f"{len(self.broken_lines)} lines that cannot be read: "
            + ", ".join(f"{line.path}:{line.line} ({line.kind.replace('_', ' ')})" for line in self.broken_lines),
        ]
        return lines

    def _agents(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(count.agent for count in self.days))


def _mean(numbers: list[int]) -> str:
    return f"{sum(numbers) / len(numbers):.0f}" if numbers else "no"


def _days(first: date, last: date) -> list[date]:
    return [first + timedelta(days=number) for number in range((last - first).days + 1)]
