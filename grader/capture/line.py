"""The line that a trace becomes: `{"format": "gradebook.openai_agents/1", "data": [trace, span, …], "capture": {…}}`.

The items are the SDK's own exports; `capture` is there only where something has to be told.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agents.tracing import Span, Trace

FORMAT = "gradebook.openai_agents/1"


def line_bytes(items: tuple[bytes, ...], notes: Mapping[str, object], lost_traces: int) -> bytes:
    """One line with its line break, of items that are JSON already; notes that are None or 0 are left out."""
    told = {key: value for key, value in {**notes, "lost_traces": lost_traces}.items() if value}
    tail = b',"capture":' + json.dumps(told).encode() if told else b""
    return b'{"format":"' + FORMAT.encode() + b'","data":[' + b",".join(items) + b"]" + tail + b"}\n"


def span_item(span: Span[Any]) -> dict[str, Any]:
    """The span's own export; for a Responses API call with `input` and `response`, which the export leaves out."""
    exported = span.export()
    if exported is None:
        raise ValueError(f"span {span.span_id!r} exports nothing")
    data = span.span_data
    if getattr(data, "type", None) != "response":
        return exported
    texts = {"input": getattr(data, "input", None), "response": getattr(data, "response", None)}
    return {**exported, "span_data": {**exported["span_data"], **texts}}


def trace_item(trace: Trace, metadata: Mapping[str, str]) -> dict[str, Any]:
    """The trace's own export, with `metadata` for the keys that it does not set itself."""
    exported = trace.export()
    if exported is None:
        raise ValueError(f"trace {trace.trace_id!r} exports nothing")
    return {**exported, "metadata": {**metadata, **(exported.get("metadata") or {})} or None}
