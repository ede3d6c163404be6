"""The optional `spans` of a flat line: whatever reads as a list of Span objects → the stored JSON text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import get_args

from grader.errors import ReadError
from grader.readers.ids import normalise_id, normalise_parent_id
from grader.readers.json_text import as_count, as_float, as_text, decode_text, encode
from grader.readers.times import parse_time
from grader.records import SpanKind

_KINDS = frozenset(get_args(SpanKind))
_TEXTS = ("input", "output", "error", "model")
_COUNTS = ("input_tokens", "output_tokens")
_TIMES = ("started_at", "ended_at")


def stored_spans(text: str) -> tuple[str | None, int]:
    """JSON text of a list of spans → the text to store (None: there is no span) and the number of spans.

    Values that cannot be read are left out, an unknown kind becomes "other". Raises ReadError where the text is no list
    of objects that each have a span_id.
    """
    spans = decode_text(text)
    if not isinstance(spans, list):
        raise ReadError(f"spans: expected a list of objects, found {text[:60]!r}")
    objects = [_span_object(span, place) for place, span in enumerate(spans, start=1)]
    return (encode(objects) if objects else None), len(objects)


def _span_object(span: object, place: int) -> dict[str, object]:
    if not isinstance(span, Mapping) or not span.get("span_id"):
        raise ReadError(f"spans: expected an object with a span_id as span {place}, found {encode(span)[:60]!r}")
    kind, attributes = span.get("kind"), span.get("attributes")
    values: dict[str, object | None] = {
        "span_id": normalise_id(str(span["span_id"])),
        "parent_id": normalise_parent_id(span.get("parent_id")),
        "kind": kind if isinstance(kind, str) and kind in _KINDS else "other",
        "name": as_text(span.get("name")),
        "cost_usd": as_float(span.get("cost_usd")),
        "attributes": attributes if isinstance(attributes, Mapping) and attributes else None,
        **{name: parse_time(span.get(name)) for name in _TIMES},
        **{name: as_text(span.get(name)) for name in _TEXTS},
        **{name: as_count(span.get(name)) for name in _COUNTS},
    }
    return {name: value for name, value in values.items() if value is not None}
