"""The rest of the overview as data: what happened when, what the days consist of, and the days as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date
from itertools import pairwise

from dashboard import text
from dashboard.views.days import Day
from grader.records import GRADE_STATES
from grader.store.read import NO_NAME, Release
from grader.store.read_days import AgentShare

MOST_AGENTS = 6
OTHER_AGENTS = "All others"


@dataclass(frozen=True, kw_only=True, slots=True)
class Mark:
    """Something that happened on a day, drawn as a vertical line."""

    date: date
    label: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Part:
    """One layer of the stacked bars: a count for each day."""

    key: str
    label: str
    counts: tuple[int, ...]


def release_marks(
    releases: Sequence[Release], first: date, last: date, *, agents: Sequence[str], beginning: date
) -> tuple[Mark, ...]:
    """The first sight of each release in the range, one mark a day. `agents` empty: of all agents.

    What is there from the `beginning` of the store may be older than it, and is no mark.
    """
    names: dict[date, dict[str, set[str]]] = {}
    for release in releases:
        day = release.first_seen_at.date()
        if first <= day <= last and day > beginning and (not agents or release.agent in agents):
            names.setdefault(day, {}).setdefault(release.release, set()).add(release.agent)
    return tuple(Mark(date=day, label=_release_label(found)) for day, found in sorted(names.items()))


def judge_marks(days: Sequence[Day]) -> tuple[Mark, ...]:
    """Days from which another judge or rubric scores: the lines break there."""
    marks = []
    observed = [day for day in days if day.num_traces and day.quality is not None]
    for before, day in pairwise(observed):
        if before.judge_version != day.judge_version:
            marks.append(Mark(date=day.date, label="judge changed" if day.judge_version else "no judge"))
    return tuple(marks)


def parts_by_state(days: Sequence[Day]) -> tuple[Part, ...]:
    """The days by grade state; states that never occur are left out."""
    parts = (
        Part(key=state, label=text.STATE_LABELS[state], counts=tuple(asdict(day.counts)[state] for day in days))
        for state in GRADE_STATES
    )
    return tuple(part for part in parts if any(part.counts))


def parts_by_agent(shares: Sequence[AgentShare], days: Sequence[Day]) -> tuple[Part, ...]:
    """The days by agent: the busiest ones by name, the rest together."""
    by_agent: dict[str, dict[date, int]] = {}
    for share in shares:
        by_agent.setdefault(share.agent, {})[share.date] = share.num_traces
    ranked = sorted(by_agent, key=lambda agent: (-sum(by_agent[agent].values()), agent))
    parts = [_agent_part(agent, agent or text.NO_AGENT, by_agent[agent], days) for agent in ranked[:MOST_AGENTS]]
    if len(ranked) > MOST_AGENTS:
        rest: dict[date, int] = {}
        for agent in ranked[MOST_AGENTS:]:
            for day, number in by_agent[agent].items():
                rest[day] = rest.get(day, 0) + number
        parts.append(_agent_part(OTHER_AGENTS, f"{OTHER_AGENTS} ({len(ranked) - MOST_AGENTS})", rest, days))
    return tuple(parts)


def day_table(days: Sequence[Day]) -> dict[str, list[object]]:
    """The days with traces as columns, newest first."""
    observed = [day for day in reversed(days) if day.num_traces]
    has_quality = any(day.quality is not None for day in observed)
    columns: dict[str, list[object]] = {
        "Day": [day.date for day in observed],
        "Traces": [day.num_traces for day in observed],
        "Average score": [day.avg_score for day in observed],
    }
    if has_quality:
        columns["Quality"] = [day.quality.value if day.quality else None for day in observed]
    return {
        **columns,
        "Median": [day.median_score for day in observed],
        "p10": [day.p10_score for day in observed],
        "Critical": [day.num_critical for day in observed],
        "Critical, %": [day.critical.value if day.critical else None for day in observed],
        "Judged": [day.counts.judged for day in observed],
        "Not judged": [day.num_not_judged for day in observed],
        "Note": [f"Drop of {abs(day.drop):.3f}" if day.drop is not None else "" for day in observed],
    }


def _release_label(found: Mapping[str, set[str]]) -> str:
    names = sorted(found)
    if len(names) > 2:
        return f"{names[0]} and {len(names) - 1} more releases"
    return ", ".join(names)


def _agent_part(key: str, label: str, by_date: Mapping[date, int], days: Sequence[Day]) -> Part:
    return Part(key=key or NO_NAME, label=label, counts=tuple(by_date.get(day.date, 0) for day in days))
