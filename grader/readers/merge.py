"""Two copies of one thing → one. Whatever the order in which copies arrive, the result is the same.

Each field is merged by itself: what one copy lacks the other gives, and where both say something the fuller text, the
earlier start, the later end, the larger count stays. So a span seen while it ran, its finished copy, a copy that an
exporter cut, and a log record that only holds its messages make one whole span.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import get_args

from grader.readers.contract import TraceHead
from grader.readers.json_text import encode
from grader.records import Span, SpanKind, Status

_KIND_RANK: Mapping[SpanKind, int] = {kind: rank for rank, kind in enumerate(reversed(get_args(SpanKind)))}
_STATUS_RANK: Mapping[Status, int] = {
    "unknown": 0,
    "running": 1,
    "completed": 2,
    "interrupted": 3,
    "blocked": 4,
    "failed": 5,
}


def merge_spans(old: Sequence[Span], new: Sequence[Span]) -> tuple[Span, ...]:
    """Every span of both, once each by span id, in the order first seen."""
    merged: dict[str, Span] = {}
    for span in (*old, *new):
        known = merged.get(span.span_id)
        merged[span.span_id] = span if known is None or known == span else _merge_span(known, span)
    return tuple(merged.values())


def merge_heads(old: TraceHead | None, new: TraceHead | None) -> TraceHead | None:
    """What both heads of one trace say; None where there is none."""
    if old is None or new is None or old == new:
        return new if old is None else old
    return TraceHead(
        name=_fuller(old.name, new.name),
        session_id=_fuller(old.session_id, new.session_id),
        agent=_fuller(old.agent, new.agent),
        release=_fuller(old.release, new.release),
        model=_fuller(old.model, new.model),
        status=_further(old.status, new.status),
        user_message=_fuller(old.user_message, new.user_message),
        final_output=_fuller(old.final_output, new.final_output),
        guardrails_recorded=_either(old.guardrails_recorded, new.guardrails_recorded),
        tags={key: _fuller(old.tags.get(key), new.tags.get(key)) or "" for key in sorted({*old.tags, *new.tags})},
    )


def _merge_span(one: Span, other: Span) -> Span:
    return Span(
        span_id=one.span_id,
        parent_id=_fuller(one.parent_id, other.parent_id),
        kind=max(one.kind, other.kind, key=_KIND_RANK.__getitem__),
        name=_fuller(one.name, other.name) or "",
        started_at=_earlier(one.started_at, other.started_at),
        ended_at=_later(one.ended_at, other.ended_at),
        input=_fuller(one.input, other.input),
        output=_fuller(one.output, other.output),
        error=_fuller(one.error, other.error),
        model=_fuller(one.model, other.model),
        input_tokens=_larger(one.input_tokens, other.input_tokens),
        output_tokens=_larger(one.output_tokens, other.output_tokens),
        cost_usd=_dearer(one.cost_usd, other.cost_usd),
        attributes=_merge_objects(one.attributes, other.attributes),
    )


def _merge_objects(one: Mapping[str, object], other: Mapping[str, object]) -> dict[str, object]:
    merged = dict(one)
    for key, value in other.items():
        known = merged.get(key)
        if known is None:
            merged[key] = value
        elif isinstance(known, Mapping) and isinstance(value, Mapping):
            merged[key] = _merge_objects(known, value)
        elif value is not None and value != known:
            merged[key] = max(known, value, key=lambda item: (len(encode(item)), encode(item)))
    return merged


def _fuller(one: str | None, other: str | None) -> str | None:
    if one is None or other is None:
        return other if one is None else one
    return max(one, other, key=lambda text: (len(text), text))


def _further(one: Status | None, other: Status | None) -> Status | None:
    if one is None or other is None:
        return other if one is None else one
    return max(one, other, key=_STATUS_RANK.__getitem__)


def _either(one: bool | None, other: bool | None) -> bool | None:
    return None if one is None and other is None else bool(one) or bool(other)


def _earlier(one: datetime | None, other: datetime | None) -> datetime | None:
    return min((time for time in (one, other) if time is not None), default=None)


def _later(one: datetime | None, other: datetime | None) -> datetime | None:
    return max((time for time in (one, other) if time is not None), default=None)


def _larger(one: int | None, other: int | None) -> int | None:
    return max((count for count in (one, other) if count is not None), default=None)


def _dearer(one: float | None, other: float | None) -> float | None:
    return max((cost for cost in (one, other) if cost is not None), default=None)
