"""Writes the demo's trace files: one file a day and source, in the format of that source."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from datetime import UTC, date, timedelta, tzinfo
from pathlib import Path
from random import Random

from jobs.demo_data.agents_sdk import capture_lines, exporter_lines
from jobs.demo_data.flat import flat_lines
from jobs.demo_data.make_runs import DayOfAgent, make_runs
from jobs.demo_data.otlp import otlp_lines
from jobs.demo_data.plan import BreakKind, BrokenLine, DayCount, DemoPlan
from jobs.demo_data.run import AgentProfile, DemoRun
from jobs.demo_data.schedule import AGENTS, Schedule, make_schedule, num_runs

_LATE_RUNS, _COPIED_RUNS = 6, 8  # per agent on a day that has them
_EXPORTER_EVERY = 6  # each sixth day of the shop is written as the SDK's exporter posts it
_SPLIT_EVERY = 10  # each tenth OTLP trace comes in two export requests
_NOT_JSON = "Traceback (most recent call last): connection to the collector lost"
_WITHOUT_ID: Mapping[str, str] = {
    "support": '{"agent":"support","user_message":"Where is my router?","final_output":"It is on its way."}',
    "shop": '{"data":[{"object":"trace.span","id":null,"span_data":{"type":"response"},"error":null}]}',
    "research": '{"resourceSpans":[{"scopeSpans":[{"spans":[{"name":"chat mistral-medium-2508","attributes":[]}]}]}]}',
}


def write_demo_traces(
    folder: Path, *, seed: int = 7, days: int = 30, traces_per_day: int = 300, last_day: date, zone: tzinfo = UTC
) -> DemoPlan:
    """Write `days` days of traces up to `last_day` below `folder`, and return what was planted.

    The same arguments give the same bytes. `traces_per_day` is the mean over a week; days are days in `zone`.
    """
    schedule = make_schedule(days, last_day)
    counts: list[DayCount] = []
    broken: list[BrokenLine] = []
    lines_per_file: dict[str, int] = {}
    for agent in AGENTS:
        files, agent_counts = _files(agent, schedule, seed=seed, traces_per_day=traces_per_day, zone=zone)
        counts.extend(agent_counts)
        (folder / agent.source).mkdir(parents=True, exist_ok=True)
        for day in schedule.days:
            path = Path(agent.source) / f"{day}.jsonl"
            lines = files[day]
            if day in schedule.broken_days:
                broken.extend(_break(path, lines, agent, kind) for kind in _kinds(agent, day, schedule))
            lines_per_file[str(path)] = len(lines)
            (folder / path).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return DemoPlan(
        folder=folder,
        seed=seed,
        days=tuple(sorted(counts, key=lambda count: (count.day, count.agent))),
        releases=schedule.releases,
        bad_release=schedule.bad_release,
        bad_until=schedule.bad_until,
        outages=schedule.outages,
        broken_lines=tuple(broken),
        lines_per_file=lines_per_file,
    )


def _files(
    agent: AgentProfile, schedule: Schedule, *, seed: int, traces_per_day: int, zone: tzinfo
) -> tuple[dict[date, list[str]], list[DayCount]]:
    """The lines of each day's file of one agent, and what each day holds."""
    files: dict[date, list[str]] = defaultdict(list)
    counts = []
    for number, day in enumerate(schedule.days):
        rng = Random(f"{seed} {agent.name} {number} {day}")
        today = DayOfAgent(
            agent=agent,
            day=day,
            release=schedule.release_of(agent.name, day),
            num_runs=num_runs(agent, day, traces_per_day, rng),
            is_bad=schedule.is_bad(agent.name, day),
            failing_tool=schedule.outage_on(agent.name, day),
        )
        runs = make_runs(today, zone=zone, rng=rng)
        late = _some(runs, _LATE_RUNS if day in schedule.late_days else 0, rng)
        copied = _some(
            [run for run in runs if run not in late], _COPIED_RUNS if day in schedule.copied_days else 0, rng
        )
        writer, num_copied_lines = _writer(agent, number), 0
        for run in runs:
            lines = writer(run)
            files[day + timedelta(days=2) if run in late else day].extend(lines)
            if run in copied:
                files[day + timedelta(days=1)].extend(lines)
                num_copied_lines += len(lines)
        counts.append(
            DayCount(
                day=day,
                agent=agent.name,
                release=today.release,
                num_traces=len(runs),
                by_kind=Counter(run.kind for run in runs),
                num_late=len(late),
                num_copied=len(copied),
                num_copied_lines=num_copied_lines,
            )
        )
    return files, counts


def _some(runs: list[DemoRun], number: int, rng: Random) -> list[DemoRun]:
    return rng.sample(runs, min(number, len(runs)))


def _writer(agent: AgentProfile, day_number: int) -> Callable[[DemoRun], list[str]]:
    if agent.name == "support":
        return flat_lines
    if agent.name == "shop":
        return exporter_lines if day_number % _EXPORTER_EVERY == _EXPORTER_EVERY - 1 else capture_lines
    return lambda run: otlp_lines(run, split=int(run.trace_id[:4], 16) % _SPLIT_EVERY == 0)


def _kinds(agent: AgentProfile, day: date, schedule: Schedule) -> tuple[BreakKind, ...]:
    kinds: tuple[BreakKind, ...] = ("torn", "not_json", "no_trace_id")
    at = (AGENTS.index(agent) + schedule.broken_days.index(day)) % len(kinds)
    return (kinds[at],)


def _break(path: Path, lines: list[str], agent: AgentProfile, kind: BreakKind) -> BrokenLine:
    """Put one unreadable line into the middle of `lines`, which no trace loses: a torn line is half a copy."""
    at = len(lines) // 2
    whole = lines[at] if lines else _WITHOUT_ID[agent.name]
    texts: Mapping[BreakKind, str] = {
        "torn": whole[: len(whole) // 2],
        "not_json": _NOT_JSON,
        "no_trace_id": _WITHOUT_ID[agent.name],
    }
    lines.insert(at, texts[kind])
    return BrokenLine(path=path, line=at + 1, kind=kind)
