"""Tokens and cost of a trace: the sum over its model calls, each counted once. Aggregates only repeat them."""

from __future__ import annotations

from collections import defaultdict
from typing import Literal

from grader.readers.tree import SpanTree
from grader.records import Span

Count = Literal["input_tokens", "output_tokens"]


def total_tokens(tree: SpanTree, count: Count) -> int | None:
    """Tokens of all model calls; None where those of any call that went well are not known."""
    total = None
    for call in tree.model_calls:
        tokens = _tokens(tree, call, count)
        if tokens is not None:
            total = (total or 0) + tokens
        elif call.error is None:
            return None
    return total


def total_cost_usd(tree: SpanTree) -> float | None:
    """Cost of all model calls; None where that of any call that went well is not known."""
    total = None
    for call in tree.model_calls:
        cost = next((copy.cost_usd for copy in tree.copies(call) if copy.cost_usd is not None), None)
        if cost is not None:
            total = (total or 0.0) + cost
        elif call.error is None:
            return None
    return total


def levels_disagree(tree: SpanTree) -> bool:
    """Whether a span around model calls gives another token count than the calls in it add up to."""
    holders = {span.span_id for span in tree.spans if _has_usage(span)}
    holders.difference_update(call.span_id for call in tree.model_calls)
    if not holders:
        return False
    sums: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for call in tree.model_calls:
        tokens = (_tokens(tree, call, "input_tokens"), _tokens(tree, call, "output_tokens"))
        for above in tree.above(call):
            if tokens[0] is None or tokens[1] is None:
                holders.discard(above.span_id)  # nothing to compare with
            elif above.span_id in holders:
                sums[above.span_id][0] += tokens[0]
                sums[above.span_id][1] += tokens[1]
    return any(
        sums[span_id] != [tree.by_id[span_id].input_tokens or 0, tree.by_id[span_id].output_tokens or 0]
        for span_id in holders & sums.keys()
    )


def _has_usage(span: Span) -> bool:
    """0 and 0 is what SDKs write when a streamed call told them nothing: no model call costs nothing."""
    return bool(span.input_tokens or span.output_tokens)


def _tokens(tree: SpanTree, call: Span, count: Count) -> int | None:
    return next((getattr(copy, count) for copy in tree.copies(call) if _has_usage(copy)), None)
