"""Critical traces and what they have in common."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime

import duckdb

from grader.records import GradeState
from grader.store.read import TraceFilter, condition, rows

_ALERTED = """alerts a JOIN grades g ON g.trace_id = a.trace_id AND g.day = a.day
              JOIN traces t ON t.trace_id = a.trace_id AND t.day = a.day"""


@dataclass(frozen=True, kw_only=True, slots=True)
class AlertRow:
    """One critical trace as of its day's last grading."""

    trace_id: str
    day: date
    score: float
    alerts: tuple[str, ...]  # texts of the rules; empty when the judge's score alone is critical
    raised_at: datetime
    state: GradeState
    agent: str | None
    release: str | None
    model: str | None
    user_preview: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class AlertList:
    """The newest days first, within a day the worst first; and how long the whole list is."""

    rows: tuple[AlertRow, ...]
    num_matching: int


@dataclass(frozen=True, kw_only=True, slots=True)
class ReasonCount:
    """In how many critical traces a rule failed. A trace counts for each of its rules."""

    rule: str | None  # None: no rule failed, the judge's score alone is critical
    num_alerts: int


@dataclass(frozen=True, kw_only=True, slots=True)
class DayAlerts:
    date: date
    num_alerts: int


def read_alerts(connection: duckdb.DuckDBPyConnection, wanted: TraceFilter, *, limit: int) -> AlertList:
    """The first `limit` alerts among the traces that `wanted` selects."""
    where, values = condition(wanted)
    found = rows(
        connection,
        f"""SELECT count(*) OVER () AS num_matching, a.trace_id, a.day, a.score, a.alerts, a.raised_at,
                   g.state::VARCHAR AS state, t.agent, t.release, t.model, t.user_preview
            FROM {_ALERTED} WHERE {where} ORDER BY a.day DESC, a.score, a.trace_id LIMIT $limit""",
        {**values, "limit": limit},
    )
    num_matching = found[0]["num_matching"] if found else 0
    return AlertList(
        rows=tuple(
            AlertRow(**{**{k: v for k, v in row.items() if k != "num_matching"}, "alerts": tuple(row["alerts"])})
            for row in found
        ),
        num_matching=num_matching,
    )


def read_alert_reasons(connection: duckdb.DuckDBPyConnection, wanted: TraceFilter) -> tuple[ReasonCount, ...]:
    """The rules that failed in the selected alerts, most frequent first."""
    where, values = condition(wanted)
    found = rows(
        connection,
        f"""WITH failed AS (
                SELECT list_filter(g.outcomes, lambda o: o.outcome = 'failed').list_transform(lambda o: o.rule) AS rules
                FROM {_ALERTED} WHERE {where})
            SELECT rule, count(*) AS num_alerts FROM (
                SELECT unnest(CASE WHEN len(rules) = 0 THEN [NULL] ELSE rules END) AS rule FROM failed)
            GROUP BY rule ORDER BY num_alerts DESC, rule""",
        values,
    )
    return tuple(ReasonCount(**row) for row in found)


def read_alert_days(connection: duckdb.DuckDBPyConnection, wanted: TraceFilter) -> tuple[DayAlerts, ...]:
    """Selected alerts a day, oldest first; a day without any is left out."""
    where, values = condition(wanted)
    found = rows(
        connection,
        f"SELECT a.day AS date, count(*) AS num_alerts FROM {_ALERTED} WHERE {where} GROUP BY a.day ORDER BY a.day",
        values,
    )
    return tuple(DayAlerts(**row) for row in found)
