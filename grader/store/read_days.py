"""Days as the overview needs them: the stored reports, or the same numbers over a part of the traces."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

import duckdb
import orjson

from grader.records import CriticalAlert, DayReport, DayToDay, Estimate, StateCounts
from grader.stats.strata import STRATUM_NAMES, StratumSample
from grader.store.read import TraceFilter, condition, graded, rows


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredReport:
    """The newest revision of one day's report."""

    recorded_at: datetime
    report: DayReport


@dataclass(frozen=True, kw_only=True, slots=True)
class DayNumbers:
    """One day of a part of the traces, at least one of them."""

    date: date
    num_traces: int
    avg_score: float
    median_score: float
    min_score: float
    p10_score: float  # linear interpolation (type 7)
    num_critical: int
    counts: StateCounts


@dataclass(frozen=True, kw_only=True, slots=True)
class DayStrata:
    """A day's judgeable traces by stratum, in the order of STRATUM_NAMES."""

    date: date
    strata: tuple[StratumSample, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class AgentShare:
    """Traces of one agent on one day."""

    date: date
    agent: str  # NO_NAME where the traces name no agent
    num_traces: int


def read_reports(connection: duckdb.DuckDBPyConnection, first: date, last: date) -> tuple[StoredReport, ...]:
    """The reports of `first` to `last`, oldest first; a day that was never graded is left out."""
    found = rows(
        connection,
        """SELECT recorded_at, report FROM day_reports WHERE date BETWEEN $first AND $last
           QUALIFY revision = max(revision) OVER (PARTITION BY date) ORDER BY date""",
        {"first": first, "last": last},
    )
    return tuple(StoredReport(recorded_at=row["recorded_at"], report=report_from_json(row["report"])) for row in found)


def read_day_numbers(connection: duckdb.DuckDBPyConnection, wanted: TraceFilter) -> tuple[DayNumbers, ...]:
    """The days on which `wanted` selects any trace, oldest first."""
    where, values = condition(wanted)
    found = rows(
        connection,
        f"""SELECT g.day AS date, count(*) AS num_traces, avg(final_score) AS avg_score,
                   quantile_cont(final_score, 0.5) AS median_score, min(final_score) AS min_score,
                   quantile_cont(final_score, 0.1) AS p10_score, count(*) FILTER (g.critical) AS num_critical,
                   {{'rules_only': count(*) FILTER (state = 'rules_only'),
                     'judged': count(*) FILTER (state = 'judged'),
                     'judge_pending': count(*) FILTER (state = 'judge_pending'),
                     'judge_failed': count(*) FILTER (state = 'judge_failed'),
                     'not_judgeable': count(*) FILTER (state = 'not_judgeable')}} AS counts
            FROM {graded(where)} WHERE {where} GROUP BY g.day ORDER BY g.day""",
        values,
    )
    return tuple(DayNumbers(**{**row, "counts": StateCounts(**row["counts"])}) for row in found)


def read_strata(connection: duckdb.DuckDBPyConnection, wanted: TraceFilter) -> tuple[DayStrata, ...]:
    """What the judge saw of the selected traces, day by day, oldest first, as `grader.stats.quality` takes it.

    Meaningful only where `wanted` selects by what was known before judging: not by grade state, score or alert.
    """
    where, values = condition(wanted)
    found = rows(
        connection,
        f"""SELECT g.day, g.stratum, count(*) AS num_traces,
                   list(g.judge_score) FILTER (g.selected_because IS NOT NULL AND g.judge_score IS NOT NULL) AS scores,
                   count(*) FILTER (g.selected_because IS NOT NULL AND g.state = 'judge_failed') AS num_failed
            FROM {graded(where)} WHERE {where} AND g.state <> 'not_judgeable' GROUP BY ALL ORDER BY g.day""",
        values,
    )
    days: dict[date, list[StratumSample]] = {}
    for row in found:
        strata = days.setdefault(row["day"], [StratumSample(num_traces=0, scores=()) for _ in STRATUM_NAMES])
        strata[row["stratum"]] = StratumSample(
            num_traces=row["num_traces"], scores=tuple(row["scores"] or ()), num_failed=row["num_failed"]
        )
    return tuple(DayStrata(date=day, strata=tuple(strata)) for day, strata in days.items())


def read_agent_shares(connection: duckdb.DuckDBPyConnection, wanted: TraceFilter) -> tuple[AgentShare, ...]:
    """How many traces each agent has on each day, by day and agent."""
    where, values = condition(wanted)
    found = rows(
        connection,
        f"""SELECT g.day AS date, coalesce(t.agent, '') AS agent, count(*) AS num_traces
            FROM {graded("t.agent")} WHERE {where} GROUP BY ALL ORDER BY date, agent""",
        values,
    )
    return tuple(AgentShare(**row) for row in found)


def report_from_json(text: str) -> DayReport:
    """The inverse of `grader.store.days.report_json`."""
    raw: dict[str, Any] = orjson.loads(text)
    alerts = tuple(CriticalAlert(**{**alert, "alerts": tuple(alert["alerts"])}) for alert in raw["critical_alerts"])
    previous = raw["regression"]["previous_date"]
    estimates = ("avg_score_interval", "pct_critical_interval", "quality")
    return DayReport(
        **{
            **raw,
            **{name: Estimate(**raw[name]) for name in estimates},
            "date": date.fromisoformat(raw["date"]),
            "critical_alerts": alerts,
            "counts": StateCounts(**raw["counts"]),
            "regression": DayToDay(
                **{**raw["regression"], "previous_date": date.fromisoformat(previous) if previous else None}
            ),
        }
    )
