"""Lists of traces in an order (worst first, slowest first …), and a trace's place in its list."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from typing import Literal

import duckdb

from grader.records import GradeState, Status
from grader.store.read import TraceFilter, condition, graded, rows

Order = Literal["worst", "slowest", "turns", "tool_errors", "costliest", "newest"]

# Each order as an ascending key, without nulls: what is not known comes last. Ties go by rule score, then trace id.
_KEYS: dict[Order, str] = {
    "worst": "g.final_score",
    "slowest": "-coalesce(t.duration_ms, -1)",
    "turns": "-coalesce(t.num_turns, -1)",
    "tool_errors": "-coalesce(t.tool_errors, -1)",
    "costliest": "-coalesce(t.cost_usd, -1)",
    "newest": "-coalesce(epoch_us(t.started_at), -1)",
}
ORDERS: tuple[Order, ...] = tuple(_KEYS)


_ROWS = """
SELECT g.trace_id, g.day, g.final_score, g.rule_score_milli / 1000.0 AS rule_score, g.judge_score,
       g.state::VARCHAR AS state, g.critical, g.alerts, t.agent, t.release, t.model, t.status::VARCHAR AS status,
       t.started_at, t.duration_ms, t.num_turns, t.tool_errors, t.cost_usd, t.user_preview, t.answer_preview
FROM (FROM grades WHERE trace_id IN (SELECT unnest($ids)) AND day IN (SELECT unnest($days))) g
JOIN (FROM traces WHERE trace_id IN (SELECT unnest($ids)) AND day IN (SELECT unnest($days))) t USING (trace_id)
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class TraceRow:
    """One line of a list of traces: grade, circumstances and the start of the texts."""

    trace_id: str
    day: date
    final_score: float
    rule_score: float
    judge_score: float | None
    state: GradeState
    critical: bool
    alerts: tuple[str, ...]
    agent: str | None
    release: str | None
    model: str | None
    status: Status
    started_at: datetime | None
    duration_ms: float | None
    num_turns: int | None
    tool_errors: int | None
    cost_usd: float | None
    user_preview: str | None
    answer_preview: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class TraceList:
    """The start of an ordered list, and how long the whole list is."""

    rows: tuple[TraceRow, ...]
    num_matching: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """Where a trace stands in an ordered list."""

    position: int  # 1-based
    num_matching: int
    previous: str | None  # trace ids; None at either end
    next: str | None


def read_traces(
    connection: duckdb.DuckDBPyConnection, wanted: TraceFilter, *, order: Order = "worst", limit: int = 10
) -> TraceList:
    """The first `limit` traces that `wanted` selects, in `order`."""
    where, values = condition(wanted)
    key = _KEYS[order]
    # The order is found on keys alone, then the few rows are fetched: no wide row is ever sorted.
    first_ones = rows(
        connection,
        f"""SELECT g.trace_id, g.day, {key} AS key FROM {graded(where, key)} WHERE {where}
            ORDER BY key, g.rule_score_milli, g.trace_id LIMIT $limit""",
        {**values, "limit": limit},
    )
    if not first_ones:
        return TraceList(rows=(), num_matching=0)
    (total,) = rows(connection, f"SELECT count(*) AS num_matching FROM {graded(where)} WHERE {where}", values)
    ids = [row["trace_id"] for row in first_ones]
    found = rows(connection, _ROWS, {"ids": ids, "days": list({row["day"] for row in first_ones})})
    by_id = {row["trace_id"]: TraceRow(**{**row, "alerts": tuple(row["alerts"])}) for row in found}
    return TraceList(rows=tuple(by_id[trace_id] for trace_id in ids), num_matching=total["num_matching"])


def read_place(
    connection: duckdb.DuckDBPyConnection, wanted: TraceFilter, trace_id: str, *, order: Order = "worst"
) -> Place | None:
    """Where `trace_id` stands among the traces that `wanted` selects; None when it is not one of them."""
    where, values = condition(wanted)
    found = rows(
        connection,
        f"""WITH keyed AS (SELECT {{'a': {_KEYS[order]}, 'b': g.rule_score_milli, 'c': g.trace_id}} AS key
                           FROM {graded(where, _KEYS[order])} WHERE {where}),
                 here AS (SELECT key FROM keyed WHERE key.c = $trace_id)
            SELECT count(*) FILTER (k.key < h.key) + 1 AS position, count(*) AS num_matching,
                   max(k.key) FILTER (k.key < h.key) AS previous, min(k.key) FILTER (k.key > h.key) AS next
            FROM keyed k, here h GROUP BY h.key""",
        {**values, "trace_id": trace_id},
    )
    if not found:
        return None
    row = found[0]
    return Place(
        position=row["position"],
        num_matching=row["num_matching"],
        previous=row["previous"]["c"] if row["previous"] else None,
        next=row["next"]["c"] if row["next"] else None,
    )
