"""OTLP JSON: the envelope around spans. What a span means is read by the convention that the span itself follows.

Accepted: the official form (hex ids, times as decimal strings, numeric enums), what protobuf's MessageToDict writes
(base64 ids, enum names), times as ints, the top key `batches` (Tempo), the old `instrumentationLibrarySpans`, and a
list of such documents. Log records count where they carry the content of a span (the GenAI event
`gen_ai.client.inference.operation.details`): each becomes a partial span that merges with the real one. Other log
records and metrics hold nothing of a trace and give no fragment.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from grader.errors import ReadError
from grader.readers import genai, openinference
from grader.readers.contract import Fragment
from grader.readers.facts import FACTS, SpanFacts
from grader.readers.ids import normalise_id, normalise_parent_id
from grader.readers.times import from_unix_ns
from grader.records import Span

Json = Mapping[str, Any]
Attributes = dict[str, Any]
SpanBuilder = Callable[[Json, Attributes, SpanFacts], dict[str, Any]]

_SPAN_KEYS = ("resourceSpans", "batches", "instrumentationLibrarySpans")
_TOP_KEYS = (*_SPAN_KEYS, "resourceLogs", "resourceMetrics")
_SNIFFED = re.compile(rb'"(resourceSpans|resourceLogs|batches)"\s*:\s*\[')
_SNIFFED_BYTES = 4096
_CONTENT_EVENT = "gen_ai.client.inference.operation.details"
_ERROR_CODES = (2, "2", "STATUS_CODE_ERROR")


class OTLPReader:
    name = "otlp"

    def matches(self, head: bytes) -> bool:
        """Whether `head` starts like a document with OTLP's top keys."""
        return _SNIFFED.search(head[:_SNIFFED_BYTES]) is not None

    def parse(self, document: object) -> Iterable[Fragment]:
        """One fragment per trace in the document. Yields what can be read, then raises ReadError if some could not."""
        found: dict[str, list[Span]] = {}
        unreadable: list[str] = []
        for part in document if isinstance(document, list) else (document,):
            if not isinstance(part, Mapping) or not any(key in part for key in _TOP_KEYS):
                unreadable.append(f"found {_shape(part)}, expected an object with resourceSpans or resourceLogs")
                continue
            _add_spans(part, found, unreadable)
            _add_content_events(part, found)
        for raw_trace_id, spans in found.items():
            yield Fragment(trace_id=normalise_id(raw_trace_id), spans=tuple(spans))
        if unreadable:
            raise ReadError("; ".join(unreadable[:3]))


def _shape(part: object) -> str:
    return f"keys {sorted(map(str, part))[:5]!r}" if isinstance(part, Mapping) else type(part).__name__


def _add_spans(part: Json, found: dict[str, list[Span]], unreadable: list[str]) -> None:
    """Adds every span under its trace id, as written."""
    for key in _SPAN_KEYS:
        for resource_spans in part.get(key) or ():
            facts = _resource_facts(resource_spans)
            scopes = resource_spans.get("scopeSpans") or resource_spans.get("instrumentationLibrarySpans") or ()
            for scope_spans in scopes:
                for span in scope_spans.get("spans") or ():
                    trace_id, span_id = span.get("traceId"), span.get("spanId")
                    if trace_id and span_id and isinstance(trace_id, str) and isinstance(span_id, str):
                        found.setdefault(trace_id, []).append(_span(span, span_id, facts))
                    else:
                        unreadable.append(f"a span has traceId {trace_id!r} and spanId {span_id!r}, expected two ids")


def _add_content_events(part: Json, found: dict[str, list[Span]]) -> None:
    """Adds log records that hold the messages of a span, as partial spans."""
    for resource_logs in part.get("resourceLogs") or ():
        for scope_logs in resource_logs.get("scopeLogs") or ():
            for record in scope_logs.get("logRecords") or ():
                attributes = read_attributes(record.get("attributes"))
                event = record.get("eventName") or attributes.get("event.name")
                trace_id, span_id = record.get("traceId"), record.get("spanId")
                if event == _CONTENT_EVENT and trace_id and span_id:
                    fields = genai.read({}, attributes, {})
                    if fields["input"] is not None or fields["output"] is not None:
                        found.setdefault(trace_id, []).append(Span(span_id=normalise_id(span_id), **fields))


def _span(span: Json, span_id: str, resource_facts: SpanFacts) -> Span:
    attributes = read_attributes(span.get("attributes"))
    fields = _builder(attributes)(span, attributes, resource_facts)
    fields["span_id"] = normalise_id(span_id)
    fields["parent_id"] = normalise_parent_id(span.get("parentSpanId"))
    fields["started_at"] = from_unix_ns(span.get("startTimeUnixNano"))
    fields["ended_at"] = from_unix_ns(span.get("endTimeUnixNano"))
    if span.get("status") or "error.type" in attributes:
        fields["error"] = _error(span, attributes)
    return Span(**fields)


def _builder(attributes: Attributes) -> SpanBuilder:
    """The convention that a span follows. One trace may mix them: each instrumentor writes its own."""
    if "openinference.span.kind" in attributes:
        return openinference.read
    if genai.follows(attributes):
        return genai.read
    return _read_plain


def _read_plain(span: Json, attributes: Attributes, resource_facts: SpanFacts) -> dict[str, Any]:
    if resource_facts:
        attributes[FACTS] = resource_facts
    return {"name": str(span.get("name") or ""), "attributes": attributes}


def _resource_facts(resource_spans: Json) -> SpanFacts:
    attributes = read_attributes((resource_spans.get("resource") or {}).get("attributes"))
    facts: SpanFacts = {}
    if attributes.get("service.version"):
        facts["release"] = str(attributes["service.version"])
    environment = attributes.get("deployment.environment.name") or attributes.get("deployment.environment")
    named = {"service": attributes.get("service.name"), "environment": environment}
    tags = {key: str(value) for key, value in named.items() if value}
    if tags:
        facts["tags"] = tags
    return facts


def _error(span: Json, attributes: Attributes) -> str | None:
    """What went wrong, in the best words there are; None where the span did not fail. `error.type` alone counts."""
    status = span.get("status")
    if not (status and status.get("code") in _ERROR_CODES) and not attributes.get("error.type"):
        return None
    if status and status.get("message"):
        return str(status["message"])
    for event in span.get("events") or ():
        if event.get("name") == "exception":
            exception = read_attributes(event.get("attributes"))
            return f"{exception.get('exception.type', 'exception')}: {exception.get('exception.message', '')}"
    return str(attributes.get("error.type") or "failed, without a message")


def read_attributes(pairs: Any) -> Attributes:
    """OTLP's list of key and typed value as a plain dict. An empty value (`{}`, `"value": null`) is None."""
    try:
        return {
            pair["key"]: value["stringValue"]
            if "stringValue" in (value := pair["value"])
            else int(value["intValue"])
            if "intValue" in value
            else _value(value)
            for pair in pairs or ()
        }
    except (KeyError, TypeError, AttributeError, ValueError):
        return {
            pair["key"]: _value_or_none(pair.get("value")) for pair in pairs if isinstance(pair, dict) and "key" in pair
        }


def _value_or_none(value: Any) -> Any:
    """A value that is not as OTLP has it: what can be read of it."""
    try:
        return _value(value) if isinstance(value, dict) else value
    except (KeyError, TypeError, AttributeError, ValueError):
        return None


def _value(value: Json) -> Any:
    """One typed value. Of the members of OTLP's AnyValue, the one that is set counts."""
    for kind, content in value.items():
        if content is None:
            continue
        if kind == "intValue":
            return int(content)
        if kind == "arrayValue":
            return [_value(item) if item else None for item in content.get("values") or ()]
        if kind == "kvlistValue":
            return read_attributes(content.get("values"))
        return content
    return None
