"""Spans as rows of a picture: nested in order, times from the start of the trace."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from dashboard.views import numbers
from grader.records import Span, SpanKind

MOST_BARS = 60
LONGEST_NAME = 26


@dataclass(frozen=True, kw_only=True, slots=True)
class Bar:
    """One span, drawn."""

    name: str
    kind: SpanKind
    depth: int  # 0: a root
    start_ms: float  # from the earliest start in the trace
    duration_ms: float | None  # None: it has no end
    error: str | None
    model: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Timeline:
    """The picture, and what it leaves out in a sentence. Without any bar `note` says why."""

    bars: tuple[Bar, ...]
    total_ms: float
    note: str | None


def timeline(spans: Sequence[Span], *, most_bars: int = MOST_BARS) -> Timeline:
    """The spans that have a start, children under their parents; of very many, the failed and then the longest ones."""
    if not spans:
        return Timeline(
            bars=(), total_ms=0.0, note="This trace has no spans: its format records none, or none arrived."
        )
    timed = [span for span in spans if span.started_at is not None]
    if not timed:
        return Timeline(
            bars=(), total_ms=0.0, note=f"None of the {numbers.counted(len(spans), 'span')} has a start time."
        )
    origin = min(span.started_at for span in timed if span.started_at is not None)
    chosen = _chosen(timed, most_bars)
    bars = tuple(_bar(span, depth, origin) for span, depth in _nested(timed) if span.span_id in chosen)
    return Timeline(
        bars=bars,
        total_ms=max(bar.start_ms + (bar.duration_ms or 0.0) for bar in bars),
        note=_note(len(spans), len(timed), len(bars)),
    )


def _chosen(spans: Sequence[Span], most_bars: int) -> set[str]:
    """Which spans to draw: the failed ones, the roots, then by length, each with all that it lies in."""
    if len(spans) <= most_bars:
        return {span.span_id for span in spans}
    by_id = {span.span_id: span for span in spans}
    ranked = sorted(spans, key=lambda span: (span.error is None, span.parent_id in by_id, -(_length_ms(span) or 0.0)))
    chosen: set[str] = set()
    for span in ranked:
        branch = _branch(span, by_id) - chosen
        if len(chosen) + len(branch) <= most_bars:
            chosen |= branch
    return chosen


def _branch(span: Span, by_id: Mapping[str, Span]) -> set[str]:
    """A span with all that it lies in."""
    branch: set[str] = set()
    here: Span | None = span
    while here is not None and here.span_id not in branch:
        branch.add(here.span_id)
        here = by_id.get(here.parent_id or "")
    return branch


def _nested(spans: Sequence[Span]) -> Iterable[tuple[Span, int]]:
    """Depth first, by start; a span whose parent is not here is a root, and so is one in a circle."""
    by_id = {span.span_id: span for span in spans}
    children: dict[str | None, list[Span]] = {}
    for span in sorted(spans, key=lambda span: (span.started_at, span.span_id), reverse=True):
        parent = span.parent_id if span.parent_id in by_id and span.parent_id != span.span_id else None
        children.setdefault(parent, []).append(span)
    seen: set[str] = set()
    stack = [(span, 0) for span in children.get(None, [])]
    waiting = sorted(spans, key=lambda span: (span.started_at, span.span_id), reverse=True)
    while stack or waiting:
        if not stack:
            stack.append((waiting.pop(), 0))
        span, depth = stack.pop()
        if span.span_id in seen:
            continue
        seen.add(span.span_id)
        yield span, depth
        stack.extend((child, depth + 1) for child in children.get(span.span_id, []))


def _bar(span: Span, depth: int, origin: datetime) -> Bar:
    started = span.started_at or origin
    return Bar(
        name=numbers.shortened(span.name, LONGEST_NAME) or span.kind,
        kind=span.kind,
        depth=depth,
        start_ms=(started - origin).total_seconds() * 1000,
        duration_ms=_length_ms(span),
        error=None if span.error is None else numbers.shortened(span.error, 120),
        model=None if span.model is None else numbers.shortened(span.model, 60),
    )


def _length_ms(span: Span) -> float | None:
    if span.started_at is None or span.ended_at is None or span.ended_at < span.started_at:
        return None
    return (span.ended_at - span.started_at).total_seconds() * 1000


def _note(num_spans: int, num_timed: int, num_drawn: int) -> str | None:
    parts = []
    if num_drawn < num_timed:
        parts.append(
            f"{num_drawn:,} of {num_timed:,} spans are drawn: the failed ones and the longest, with their parents."
        )
    if num_timed < num_spans:
        parts.append(f"{numbers.counted(num_spans - num_timed, 'span')} without a start time cannot be drawn.")
    return " ".join(parts) or None
