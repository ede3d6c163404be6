"""Lists of traces as columns of a table. Cells are plain text and numbers."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import tzinfo

from dashboard import text
from dashboard.views import numbers
from grader.store.read_traces import TraceList, TraceRow

PREVIEW_CHARS = 160
EMPTY = "(empty)"


def table(rows: Sequence[TraceRow], zone: tzinfo) -> dict[str, list[object]]:
    """One row a trace, the telling columns first. Times are in `zone`, without an offset, as the table shows them."""
    return {
        "Score": [row.final_score for row in rows],
        "Grade": [_grade(row) for row in rows],
        "Reasons": [", ".join(row.alerts) or "" for row in rows],
        "Question": [_preview(row.user_preview) for row in rows],
        "Answer": [_preview(row.answer_preview) for row in rows],
        "Agent": [row.agent for row in rows],
        "Duration, s": [None if row.duration_ms is None else row.duration_ms / 1000 for row in rows],
        "Turns": [row.num_turns for row in rows],
        "Tool errors": [row.tool_errors for row in rows],
        "Rules": [row.rule_score for row in rows],
        "Judge": [row.judge_score for row in rows],
        "Run": [text.STATUS_LABELS[row.status] for row in rows],
        "Started": [
            None if row.started_at is None else row.started_at.astimezone(zone).replace(tzinfo=None) for row in rows
        ],
        "Release": [row.release for row in rows],
        "Model": [row.model for row in rows],
        "Cost, $": [row.cost_usd for row in rows],
        "Trace id": [row.trace_id for row in rows],
    }


def summary(found: TraceList, num_critical: int | None = None) -> str:
    """How much of the whole list is shown: "10 of 97 traces"."""
    shown = len(found.rows)
    if shown == found.num_matching:
        return numbers.counted(shown, "trace")
    critical = "" if num_critical is None else f", {num_critical:,} of them critical"
    return f"{shown:,} of {numbers.counted(found.num_matching, 'trace')}{critical}"


def _grade(row: TraceRow) -> str:
    state = text.STATE_LABELS[row.state]
    return f"Critical · {state}" if row.critical else state


def _preview(value: str | None) -> str | None:
    if value is None:
        return None
    return numbers.shortened(value, PREVIEW_CHARS) or EMPTY
