"""Traces → Arrow columns (grader/arrow.py), and the payload texts back into objects."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from datetime import datetime, tzinfo
from operator import attrgetter
from typing import Any

import orjson
import pyarrow as pa

from grader.arrow import PREVIEW_CHARS, TRACE_SCHEMA
from grader.readers.contract import TraceHead
from grader.readers.json_text import encode
from grader.records import Span, ToolCall, Trace

_SPAN_FIELDS = tuple(field.name for field in fields(Span))
_CALL_FIELDS = tuple(field.name for field in fields(ToolCall))
_HEAD_FIELDS = tuple(field.name for field in fields(TraceHead))
_span_values = attrgetter(*_SPAN_FIELDS)
_call_values = attrgetter(*_CALL_FIELDS)
_head_values = attrgetter(*_HEAD_FIELDS)
_TIMES = ("started_at", "ended_at")
_HASH_BYTES = 8
_NO_TEXT = b"-1:"


def traces_to_arrow(
    traces: Sequence[Trace],
    *,
    heads: Mapping[str, TraceHead],
    zone: tzinfo,
    file_times: Mapping[str, datetime],
) -> pa.Table:
    """One row a trace (TRACE_SCHEMA). A trace without any time is filed under the day of its file (`file_times`)."""
    rows = [_row(trace, heads.get(trace.trace_id), zone, file_times) for trace in traces]
    columns = zip(*rows, strict=True) if rows else ((),) * len(TRACE_SCHEMA)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, TRACE_SCHEMA, strict=True)]
    return pa.Table.from_arrays(arrays, schema=TRACE_SCHEMA)


def head_from_json(text: str) -> TraceHead:
    """The inverse of column `head`."""
    return TraceHead(**orjson.loads(text))


def spans_from_json(text: str) -> tuple[Span, ...]:
    """The inverse of column `spans`."""
    return tuple(_span(values) for values in orjson.loads(text))


def tool_calls_from_json(text: str) -> tuple[ToolCall, ...]:
    """The inverse of column `tools_called`."""
    return tuple(ToolCall(**values) for values in orjson.loads(text))


def _span(values: dict[str, Any]) -> Span:
    for name in _TIMES:
        if name in values:
            values[name] = datetime.fromisoformat(values[name])
    return Span(**values)


def _row(trace: Trace, head: TraceHead | None, zone: tzinfo, file_times: Mapping[str, datetime]) -> tuple[object, ...]:
    """The values of one trace in the order of TRACE_SCHEMA."""
    started_at, answer, tools = trace.started_at, trace.final_output, trace.tools_called
    head_json = None if head is None else encode(*_objects(_HEAD_FIELDS, (_head_values(head),)))
    tools_json = None if tools is None else encode(_objects(_CALL_FIELDS, map(_call_values, tools)))
    spans_json = encode(_objects(_SPAN_FIELDS, map(_span_values, trace.spans))) if trace.spans else None
    filed_at = started_at or trace.ended_at or file_times[trace.source.path]
    return (
        trace.trace_id,
        filed_at.astimezone(zone).date(),
        trace.name,
        trace.session_id,
        trace.agent,
        trace.release,
        trace.model,
        started_at,
        trace.ended_at,
        trace.duration_ms,
        trace.status,
        trace.num_turns,
        trace.tool_errors,
        trace.guardrails_triggered,
        trace.content_captured,
        len(answer) if answer is not None else 0 if trace.content_captured else None,
        _preview(trace.user_message),
        _preview(answer),
        None if tools is None else [call.name for call in tools],
        trace.input_tokens,
        trace.output_tokens,
        trace.cost_usd,
        list(trace.tags.items()),
        len(trace.spans),
        list(trace.notes),
        _content_hash(trace, head_json, tools_json, spans_json),
        trace.source.reader,
        trace.source.path,
        trace.source.line,
        head_json,
        trace.user_message,
        answer,
        tools_json,
        spans_json,
    )


def _preview(text: str | None) -> str | None:
    return None if text is None else text[:PREVIEW_CHARS]


def _objects(names: tuple[str, ...], records: Iterable[tuple[object, ...]]) -> list[dict[str, object]]:
    """Records without the members that are not known: so a field that is added later changes no stored text."""
    return [{name: value for name, value in zip(names, values, strict=True) if value is not None} for values in records]


def _content_hash(trace: Trace, head_json: str | None, tools_json: str | None, spans_json: str | None) -> int:
    """64 bits of all that the trace says, whichever file and line said it: equal copies have equal hashes.

    The texts are canonical (sorted keys, spans in their fixed order, nothing that is unknown), so the hash is the same
    in every process, and stays when a field is added that a trace has not.
    """
    texts = (trace.trace_id, trace.user_message, trace.final_output, head_json, tools_json, spans_json)
    parts = (_NO_TEXT if text is None else text.encode("utf-8", "replace") for text in texts)
    content = b"".join([part if part is _NO_TEXT else b"%d:%b" % (len(part), part) for part in parts])
    return int.from_bytes(hashlib.blake2b(content, digest_size=_HASH_BYTES).digest(), "big")
