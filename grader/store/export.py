"""Exports: one row a trace, grade, judgement, report or quarantined line, written by DuckDB's COPY.

Field names are those of DESIGN.md sections 2 and 4. JSON Lines and Parquet keep lists and objects as such; CSV has them
as JSON text. Times are UTC, in text as ISO 8601 with Z.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import duckdb

from grader.store.connect import Store, translated_errors

ExportWhat = Literal["traces", "grades", "judgements", "reports", "quarantine"]
ExportFormat = Literal["csv", "jsonl", "parquet"]

_TOOL_CALLS = (
    '[{"name": "VARCHAR", "arguments": "VARCHAR", "output": "VARCHAR", "error": "VARCHAR", "span_id": "VARCHAR"}]'
)
_TRACES = f"""
SELECT t.trace_id, t.day, t.name, t.session_id, t.agent, t.release, t.model, t.started_at, t.ended_at, t.duration_ms,
       t.status::VARCHAR AS status, t.num_turns, t.tool_errors, t.guardrails_triggered, x.user_message, x.final_output,
       t.content_captured, from_json(x.tools_called, '{_TOOL_CALLS}') AS tools_called,
       t.input_tokens, t.output_tokens, t.cost_usd, t.tags, t.num_spans, t.notes,
       {{'reader': t.source_reader, 'path': t.source_path, 'line': t.source_line}} AS source
FROM traces t LEFT JOIN texts x ON x.file_id = t.payload_file AND x.trace_id = t.trace_id
ORDER BY t.day, t.trace_id
"""
_GRADES = """
SELECT trace_id, day, rule_score_milli / 1000.0 AS rule_score, judge_score, final_score, critical,
       state::VARCHAR AS state, alerts, outcomes, selected_because, inclusion_probability, rules_version, judge_version
FROM grades ORDER BY day, trace_id
"""
_JUDGEMENTS = """
SELECT trace_id, judge_version, provider, model, marks, score, issues, suggestions, input_tokens, output_tokens,
       cost_usd, latency_ms, judged_at, content_hash
FROM judgements ORDER BY judged_at, trace_id
"""
_REPORTS = """
SELECT date, revision, recorded_at, num_traces, avg_score, median_score, min_score, p10_score, pct_critical,
       (report->>'num_critical')::BIGINT AS num_critical, quality, day_to_day_drop,
       report->'counts' AS counts, report->'critical_alerts' AS critical_alerts, report->'regression' AS regression,
       report->'avg_score_interval' AS avg_score_interval, report->'pct_critical_interval' AS pct_critical_interval,
       report->'quality' AS quality_interval, report->>'rules_version' AS rules_version,
       report->>'judge_version' AS judge_version, report->>'judge_provider' AS judge_provider
FROM day_reports QUALIFY revision = max(revision) OVER (PARTITION BY date) ORDER BY date
"""
_QUARANTINE = "SELECT reader, path, line, reason, excerpt, first_seen_at FROM quarantine ORDER BY path, line"

_QUERIES: tuple[tuple[ExportWhat, str], ...] = (
    ("traces", _TRACES),
    ("grades", _GRADES),
    ("judgements", _JUDGEMENTS),
    ("reports", _REPORTS),
    ("quarantine", _QUARANTINE),
)
_COPY_OPTIONS: tuple[tuple[ExportFormat, str], ...] = (
    ("csv", "FORMAT csv, HEADER"),
    ("jsonl", "FORMAT json"),
    ("parquet", "FORMAT parquet, COMPRESSION zstd"),
)


def export_rows(store: Store, what: ExportWhat, *, format: ExportFormat, output: Path) -> int:  # noqa: A002
    """Writes `what` to `output`, which is whole or untouched, and returns the number of rows.

    Raises StoreMissingError, StoreBusyError, StoreFullError (the disk of `output` is full), OSError (no such folder).
    """
    unfinished = output.with_name(output.name + ".unfinished")
    unfinished.touch()
    try:
        with store.reading() as connection, translated_errors(output):
            if what == "traces":
                _create_texts(store, connection)
            select = _in_text(connection, dict(_QUERIES)[what]) if format != "parquet" else dict(_QUERIES)[what]
            select = _nested_as_json(connection, select) if format == "csv" else select
            target = str(unfinished).replace("'", "''")
            [(count,)] = connection.execute(f"COPY ({select}) TO '{target}' ({dict(_COPY_OPTIONS)[format]})").fetchall()
        unfinished.replace(output)
    finally:
        unfinished.unlink(missing_ok=True)
    return int(count)


def _create_texts(store: Store, connection: duckdb.DuckDBPyConnection) -> None:
    """A view `texts` over all payload files, with the number of the file that a row comes from."""
    files = connection.execute("SELECT path FROM payload_files ORDER BY file_id").fetchall()
    columns = "trace_id, user_message, final_output, tools_called"
    if not files:
        nothing = ", ".join(f"NULL::VARCHAR AS {column}" for column in columns.split(", "))
        connection.execute(f"CREATE TEMP VIEW texts AS SELECT NULL::BIGINT AS file_id, {nothing} WHERE false")
        return
    folder = str(store.folder).replace("'", "''")
    paths = ", ".join(f"'{folder}/{path}'" for (path,) in files)
    connection.execute(
        f"""CREATE TEMP VIEW texts AS SELECT p.file_id, {", ".join("x." + column for column in columns.split(", "))}
            FROM read_parquet([{paths}], filename = 'payload_path') x
            JOIN payload_files p ON x.payload_path = '{folder}/' || p.path"""
    )


def _in_text(connection: duckdb.DuckDBPyConnection, select: str) -> str:
    """`select` with its times as ISO 8601 text."""
    times = [name for name, kind in _columns(connection, select) if kind == "TIMESTAMP WITH TIME ZONE"]
    replaced = ", ".join(f"strftime({name}, '%Y-%m-%dT%H:%M:%S.%fZ') AS {name}" for name in times)
    return f"SELECT * REPLACE ({replaced}) FROM ({select})" if replaced else select


def _nested_as_json(connection: duckdb.DuckDBPyConnection, select: str) -> str:
    """`select` with lists, maps and structs as JSON text."""
    nested = [
        name for name, kind in _columns(connection, select) if kind.endswith("]") or kind.startswith(("MAP", "STR"))
    ]
    replaced = ", ".join(f"to_json({name})::VARCHAR AS {name}" for name in nested)
    return f"SELECT * REPLACE ({replaced}) FROM ({select})" if replaced else select


def _columns(connection: duckdb.DuckDBPyConnection, select: str) -> list[tuple[str, str]]:
    return [(row[0], row[1]) for row in connection.execute(f"DESCRIBE {select}").fetchall()]
