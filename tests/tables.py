"""Trace tables for tests of the store and of grading: every column, with defaults of a sound trace."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta

import pyarrow as pa

from grader.arrow import TRACE_SCHEMA

START = datetime(2026, 11, 1, 12, tzinfo=UTC)

DEFAULTS: Mapping[str, object] = {
    "day": date(2026, 11, 1),
    "name": "support",
    "session_id": None,
    "agent": "support",
    "release": "1.0",
    "model": "gpt-4.1-mini",
    "started_at": START,
    "ended_at": START + timedelta(seconds=2),
    "duration_ms": 2000.0,
    "status": "completed",
    "num_turns": 2,
    "tool_errors": 0,
    "guardrails_triggered": 0,
    "content_captured": True,
    "answer_chars": 28,
    "user_preview": "Where is my order 4711?",
    "answer_preview": "Order 4711 arrives on Monday",
    "tool_names": ["lookup_order"],
    "input_tokens": 100,
    "output_tokens": 20,
    "cost_usd": 0.001,
    "tags": [],
    "num_spans": 0,
    "notes": [],
    "content_hash": 1,
    "source_reader": "flat",
    "source_path": "traces.jsonl",
    "source_line": 1,
    "head": None,
    "user_message": "Where is my order 4711?",
    "final_output": "Order 4711 arrives on Monday",
    "tools_called": '[{"name":"lookup_order","arguments":null,"output":"Monday","error":null,"span_id":null}]',
    "spans": None,
}


def trace_table(*rows: Mapping[str, object]) -> pa.Table:
    """A TRACE_SCHEMA table; each row gives `trace_id` and what differs from DEFAULTS."""
    return pa.Table.from_pylist([{**DEFAULTS, **row} for row in rows], schema=TRACE_SCHEMA)
