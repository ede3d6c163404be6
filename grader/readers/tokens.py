"""Tokens and cost of a trace: the sum over its model calls, each counted once. Aggregates only repeat them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import TypeVar

from grader.readers.tree import SpanTree
from grader.records import Span

Number = TypeVar("Number", int, float)
Usage = tuple[int | None, int | None]  # input and output tokens
_NOT_KNOWN: Usage = (None, None)


def total_tokens(tree: SpanTree) -> Usage:
    """Input and output tokens of all model calls; None where those of any call that went well are not known."""
    usages = [(_usage(tree, call), call.error is not None) for call in tree.model_calls]
    return (
        _total([(usage[0], failed) for usage, failed in usages]),
        _total([(usage[1], failed) for usage, failed in usages]),
    )


def total_cost_usd(tree: SpanTree) -> float | None:
    """Cost of all model calls; None where that of any call that went well is not known."""
    return _total([(_cost_usd(tree, call), call.error is not None) for call in tree.model_calls])


def _total(calls: Sequence[tuple[Number | None, bool]]) -> Number | None:
    """The sum over calls, each with whether it failed."""
    known = [number for number, failed in calls if number is not None or not failed]
    numbers = [number for number in known if number is not None]
    return sum(numbers[1:], start=numbers[0]) if numbers and len(numbers) == len(known) else None


def levels_disagree(tree: SpanTree) -> bool:
    """Whether a span around model calls gives another token count than the calls in it add up to."""
    holders = {span.span_id for span in tree.spans if span.input_tokens or span.output_tokens}
    holders.difference_update(call.span_id for call in tree.model_calls)
    if not holders:
        return False
    sums: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for call in tree.model_calls:
        tokens = _usage(tree, call)
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


def _usage(tree: SpanTree, call: Span) -> Usage:
    """0 and 0 is what SDKs write when a streamed call told them nothing: no model call costs nothing."""
    for copy in tree.copies(call):
        if copy.input_tokens or copy.output_tokens:
            return copy.input_tokens, copy.output_tokens
    return _NOT_KNOWN


def _cost_usd(tree: SpanTree, call: Span) -> float | None:
    for copy in tree.copies(call):
        if copy.cost_usd is not None:
            return copy.cost_usd
    return None
