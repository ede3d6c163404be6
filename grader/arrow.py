"""The columnar form of traces: what readers hand to the store, and what grading works on.

One row a trace. `TRACE_SCHEMA` = `NARROW_FIELDS` (the columns of the `traces` table; a scan never reads more) +
`PAYLOAD_FIELDS` (the texts, kept in Parquet files; nested parts are JSON text).
"""

from __future__ import annotations

import pyarrow as pa

TIMESTAMP = pa.timestamp("us", tz="UTC")

NARROW_FIELDS: tuple[pa.Field, ...] = (
    pa.field("trace_id", pa.string(), nullable=False),
    pa.field("day", pa.date32(), nullable=False),  # date of started_at in the configured zone; no start: of the file
    pa.field("name", pa.string()),
    pa.field("session_id", pa.string()),
    pa.field("agent", pa.string()),
    pa.field("release", pa.string()),
    pa.field("model", pa.string()),
    pa.field("started_at", TIMESTAMP),
    pa.field("ended_at", TIMESTAMP),
    pa.field("duration_ms", pa.float64()),
    pa.field("status", pa.string(), nullable=False),
    pa.field("num_turns", pa.int32()),
    pa.field("tool_errors", pa.int32()),
    pa.field("guardrails_triggered", pa.int32()),
    pa.field("content_captured", pa.bool_(), nullable=False),
    pa.field(
        "answer_chars", pa.int32()
    ),  # code points of final_output; 0: captured and missing or empty; null: not captured
    pa.field("user_preview", pa.string()),  # the first PREVIEW_CHARS code points
    pa.field("answer_preview", pa.string()),
    pa.field("tool_names", pa.list_(pa.string())),  # in order of call; null: not known
    pa.field("input_tokens", pa.int64()),
    pa.field("output_tokens", pa.int64()),
    pa.field("cost_usd", pa.float64()),
    pa.field("tags", pa.map_(pa.string(), pa.string())),
    pa.field("num_spans", pa.int32(), nullable=False),
    pa.field("notes", pa.list_(pa.string())),
    pa.field("content_hash", pa.uint64(), nullable=False),  # compares two copies of one trace_id; never a key by itself
    pa.field("source_reader", pa.string(), nullable=False),
    pa.field("source_path", pa.string(), nullable=False),
    pa.field("source_line", pa.int64(), nullable=False),
)

PAYLOAD_FIELDS: tuple[pa.Field, ...] = (
    pa.field("head", pa.string()),  # JSON: what the exporter said of the trace as a whole (needed to add later spans)
    pa.field("user_message", pa.string()),
    pa.field("final_output", pa.string()),
    pa.field("tools_called", pa.string()),  # JSON list of ToolCall; null: not known
    pa.field("spans", pa.string()),  # JSON list of Span; null: the format has none
)

PREVIEW_CHARS = 120
NARROW_COLUMNS: tuple[str, ...] = tuple(field.name for field in NARROW_FIELDS)
PAYLOAD_COLUMNS: tuple[str, ...] = tuple(field.name for field in PAYLOAD_FIELDS)
TRACE_SCHEMA = pa.schema([*NARROW_FIELDS, *PAYLOAD_FIELDS])
