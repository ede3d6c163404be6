"""OpenAI Agents SDK: exporter bodies, trace processor lines, and the lines of our own capture processor.

One document is one item (`{"object": "trace" | "trace.span", …}`), a list of items, or `{"data": [items]}`. SDK 0.4
and 0.24 differ in what they record (FORMATS.md, C1); both are read here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from grader.errors import ReadError
from grader.readers.contract import Fragment, TraceHead
from grader.readers.facts import FACTS, SpanFacts, sdk_error_facts, sdk_error_text
from grader.readers.ids import normalise_id, normalise_parent_id
from grader.readers.json_text import as_count, as_text
from grader.readers.metadata import labels, release_of
from grader.readers.times import parse_time
from grader.records import Span, SpanKind

Item = Mapping[str, Any]

_KINDS: Mapping[str, SpanKind] = {
    "agent": "agent",
    "generation": "model",
    "response": "model",
    "function": "tool",
    "handoff": "handoff",
    "guardrail": "guardrail",
}
_OBJECT = re.compile(rb'"object"\s*:\s*"trace(\.span)?"')
_LOST_CALL = "no output was recorded: the call failed or was cancelled"
_SPANS_ONLY = TraceHead(guardrails_recorded=True)


class OpenAIAgentsReader:
    name = "openai_agents"

    def matches(self, head: bytes) -> bool:
        """Whether an item of the SDK starts in `head`."""
        return _OBJECT.search(head) is not None

    def parse(self, document: object) -> Iterable[Fragment]:
        """One fragment per item. Yields every item that can be read, then raises ReadError if there was another."""
        if lost := _lost_traces(document):
            raise ReadError(
                f"holds no span, and says that its recorder lost {lost} trace{'s' if lost > 1 else ''} before it"
            )
        unreadable: list[str] = []
        for item in _items(document):
            if not isinstance(item, Mapping):
                unreadable.append(f"an item is {type(item).__name__}, expected an object")
            elif item.get("object") == "trace" and isinstance(item.get("id"), str):
                yield Fragment(trace_id=normalise_id(item["id"]), head=_head(item))
            elif item.get("object") == "trace.span" and _has_ids(item):
                yield Fragment(trace_id=normalise_id(item["trace_id"]), head=_SPANS_ONLY, spans=(_span(item),))
            else:
                unreadable.append(
                    f"an item has object {item.get('object')!r}, id {item.get('id')!r} and trace_id "
                    f"{item.get('trace_id')!r}; expected a 'trace' with id or a 'trace.span' with id and trace_id"
                )
        if unreadable:
            raise ReadError("; ".join(unreadable[:3]))


def _items(document: object) -> Iterable[object]:
    if isinstance(document, list):
        return document
    if isinstance(document, Mapping):
        data = document.get("data")
        return data if isinstance(data, list) else (document,)
    raise ReadError(f"found {type(document).__name__}, expected an object of the OpenAI Agents SDK")


def _lost_traces(document: object) -> int:
    """How many traces our capture processor says it lost, in a line that says nothing else (capture/line.py)."""
    if not isinstance(document, Mapping) or document.get("data") != []:
        return 0
    capture = document.get("capture")
    return as_count(capture.get("lost_traces")) or 0 if isinstance(capture, Mapping) else 0


def _has_ids(item: Item) -> bool:
    return isinstance(item.get("id"), str) and isinstance(item.get("trace_id"), str)


def _head(item: Item) -> TraceHead:
    metadata = item.get("metadata")
    known = metadata if isinstance(metadata, Mapping) else {}
    session_id = item.get("group_id")
    return TraceHead(
        name=item.get("workflow_name"),
        session_id=None if session_id is None else str(session_id),
        release=release_of(known),
        guardrails_recorded=True,  # the SDK has a span for every guardrail it runs
        tags=labels(known),
    )


def _span(item: Item) -> Span:
    data = item.get("span_data")
    known: Item = data if isinstance(data, Mapping) else {}
    span_type = str(known.get("type"))
    kind = _kind(span_type, known)
    error, facts = _error(item.get("error"))
    if kind == "guardrail" and isinstance(known.get("triggered"), bool):
        facts["triggered"] = known["triggered"]
    if kind == "agent" and isinstance(known.get("name"), str):
        facts["agent"] = known["name"]
    usage = _usage(known)
    output = _output(span_type, known)
    if kind == "model":
        if output is None and not _captures(span_type, known):
            facts["no_content"] = True
        elif output is None and error is None and not usage:
            error = _LOST_CALL  # all that SDK 0.4 shows of a failed call
    return Span(
        span_id=normalise_id(item["id"]),
        parent_id=normalise_parent_id(item.get("parent_id")),
        kind=kind,
        name=_name(span_type, known),
        started_at=parse_time(item.get("started_at")),
        ended_at=parse_time(item.get("ended_at")),
        input=as_text(known.get("input")),
        output=output,
        error=error,
        model=known.get("model") or _response(known).get("model"),
        input_tokens=as_count(usage.get("input_tokens", usage.get("prompt_tokens"))),
        output_tokens=as_count(usage.get("output_tokens", usage.get("completion_tokens"))),
        attributes=_attributes(span_type, known, item, facts),
    )


def _kind(span_type: str, data: Item) -> SpanKind:
    if span_type == "custom":
        details = data.get("data")
        sdk_type = details.get("sdk_span_type") if isinstance(details, Mapping) else None
        return "chain" if sdk_type in ("task", "turn") else "other"
    return _KINDS.get(span_type, "other")


def _name(span_type: str, data: Item) -> str:
    if span_type == "handoff":
        return f"handoff to {data.get('to_agent')}"
    return str(data.get("name") or data.get("model") or _response(data).get("model") or span_type)


def _response(data: Item) -> Item:
    """The response object that a processor (ours, or one like it) adds to a response span."""
    response = data.get("response")
    return response if isinstance(response, Mapping) else {}


def _output(span_type: str, data: Item) -> str | None:
    if span_type == "response":
        return as_text(_response(data).get("output"))
    return as_text(data.get("output"))


def _captures(span_type: str, data: Item) -> bool:
    """Whether texts of a model call would be here: the SDK's exporters drop those of response spans, and a user may
    switch off those of generations."""
    if span_type == "response":
        return "response" in data or "input" in data
    return data.get("input") is not None


def _usage(data: Item) -> Item:
    details = data.get("data")
    for holder in (data, _response(data), details if isinstance(details, Mapping) else {}):
        usage = holder.get("usage")
        if isinstance(usage, Mapping):
            return usage
    return {}


def _error(error: object) -> tuple[str | None, SpanFacts]:
    if error is None:
        return None, {}
    if not isinstance(error, Mapping):
        return str(error), {}
    message, data = str(error.get("message")), error.get("data")
    return sdk_error_text(message, data), sdk_error_facts(message, data)


def _attributes(span_type: str, data: Item, item: Item, facts: SpanFacts) -> Mapping[str, object]:
    """What no field of Span holds. Settings that are null say nothing and are left out."""
    attributes: dict[str, object] = {"type": span_type}
    for key in ("handoffs", "tools", "output_type", "mcp_data", "response_id", "from_agent", "server", "result"):
        if data.get(key) is not None:
            attributes[key] = data[key]
    config = data.get("model_config")
    if isinstance(config, Mapping):
        attributes["model_config"] = {key: value for key, value in config.items() if value is not None}
    if span_type not in _KINDS and data.get("data"):
        attributes["data"] = data["data"]
    if _response(data).get("instructions"):
        attributes["instructions"] = _response(data)["instructions"]
    if isinstance(item.get("metadata"), Mapping) and item["metadata"]:
        attributes["metadata"] = item["metadata"]
    if facts:
        attributes[FACTS] = dict(facts)
    return attributes
