"""What Gradebook is measured against: the plain way to grade a file, and what DuckDB takes for much less."""

from __future__ import annotations

import json
import statistics
from pathlib import Path
from typing import Any

import duckdb


def plain_loop(path: Path) -> tuple[int, float]:
    """Number of traces and mean score by the grading contract (DESIGN.md section 2); one at a time, nothing stored."""
    with path.open(encoding="utf-8") as lines:
        scores = [grade(json.loads(line))[0] for line in lines]
    return len(scores), statistics.fmean(scores)


def grade(trace: dict[str, Any]) -> tuple[float, list[str]]:
    """Score and alerts of one trace by the built-in rules with their default limits."""
    score_milli = 1000
    alerts = []
    duration_ms = trace.get("duration_ms")
    if duration_ms is not None and duration_ms > 10_000:
        score_milli -= 200
        alerts.append(f"High latency: {duration_ms}ms")
    num_turns = trace.get("num_turns")
    if num_turns is not None and num_turns > 15:
        score_milli -= 300
        alerts.append(f"Too many turns: {num_turns}")
    tool_errors = trace.get("tool_errors")
    if tool_errors:
        score_milli -= 100 * tool_errors
        alerts.append(f"{tool_errors} tool error(s)")
    if trace.get("guardrails_triggered"):
        alerts.append(f"{trace['guardrails_triggered']} guardrail(s) triggered")
    if len(trace.get("final_output") or "") < 10:
        score_milli -= 500
        alerts.append("Empty or too short response")
    return max(0, score_milli) / 1000, alerts


def scan(path: Path) -> int:
    """DuckDB reads the file and aggregates it; keeps nothing."""
    with duckdb.connect() as connection:
        query = """SELECT count(*), avg(duration_ms), avg(num_turns), sum(tool_errors), sum(guardrails_triggered),
                          avg(length(final_output)) FROM read_ndjson(?)"""
        return int(connection.execute(query, [str(path)]).fetchall()[0][0])


def create_table_as_select(path: Path, database: Path) -> int:
    """DuckDB's bare CREATE TABLE AS SELECT of the file into a new database file."""
    with duckdb.connect(str(database)) as connection:
        connection.execute("CREATE TABLE traces AS SELECT * FROM read_ndjson(?)", [str(path)])
        return int(connection.execute("SELECT count(*) FROM traces").fetchall()[0][0])
