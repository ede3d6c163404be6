"""The spans of one trace as a tree: in a fixed order, with their ancestors, whatever order or state they arrived in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime

from grader.readers.facts import FACTS, facts_of
from grader.records import Span

_NEVER = datetime.max.replace(tzinfo=UTC)
_ASIDE = ("tool", "guardrail", "evaluator")  # what happens below these is not the conversation with the user


class SpanTree:
    """Spans by start, then id. `tops` are the roots and the spans whose parent never arrived.

    `facts` are what the tops say of the trace, then what the other spans say, once where many say the same.
    """

    def __init__(self, spans: Sequence[Span]) -> None:
        self.spans = sorted(spans, key=_order)
        self.by_id = {span.span_id: span for span in self.spans}
        self.roots = [span for span in self.spans if span.parent_id is None]
        self.tops = [span for span in self.spans if span.parent_id not in self.by_id]
        self._above: dict[str, tuple[Span, ...]] = {}
        said = [facts_of(span) for span in self.tops + self.spans if FACTS in span.attributes]
        self.facts = list({id(facts): facts for facts in said}.values())
        models = [span for span in self.spans if span.kind == "model"]
        parents = {span.parent_id for span in self.spans}
        holders = set()
        if any(span.span_id in parents for span in models):
            holders = {above.span_id for span in models for above in self.above(span) if above.kind == "model"}
        self.model_calls = [span for span in models if span.span_id not in holders]
        self._copies = self._seen_by_others() if holders else {}

    def above(self, span: Span) -> tuple[Span, ...]:
        """The ancestors of `span` that arrived, nearest first. A loop of parents ends where it closes."""
        known = self._above.get(span.span_id)
        if known is None:
            ancestors: list[Span] = []
            seen = [span.span_id]
            parent = self._parent(span)
            while parent is not None and parent.span_id not in seen:
                ancestors.append(parent)
                seen.append(parent.span_id)
                parent = self._parent(parent)
            known = self._above[span.span_id] = tuple(ancestors)
        return known

    def saying(self, fact: str) -> list[Span]:
        """The spans whose facts hold `fact`."""
        if not any(fact in facts for facts in self.facts):
            return []
        return [span for span in self.spans if fact in facts_of(span)]

    def _parent(self, span: Span) -> Span | None:
        return None if span.parent_id is None else self.by_id.get(span.parent_id)

    def is_aside(self, span: Span) -> bool:
        """Whether `span` happened inside a tool, guardrail or evaluator."""
        for above in self.above(span):  # noqa: SIM110  # any() over a generator takes twice the time
            if above.kind in _ASIDE:
                return True
        return False

    def copies(self, call: Span) -> tuple[Span, ...]:
        """The model call as every instrumentor that saw it wrote it down: `call`, then the model spans right around it
        that hold no other call."""
        return self._copies.get(call.span_id, (call,)) if self._copies else (call,)

    def _seen_by_others(self) -> dict[str, tuple[Span, ...]]:
        calls_in = Counter(above.span_id for call in self.model_calls for above in self.above(call))
        return {
            call.span_id: (
                call,
                *(above for above in self.above(call) if above.kind == "model" and calls_in[above.span_id] == 1),
            )
            for call in self.model_calls
        }


def _order(span: Span) -> tuple[datetime, str]:
    return (span.started_at or span.ended_at or _NEVER, span.span_id)
