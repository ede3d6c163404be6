"""How a run ended: the status of a trace. What exporters put on the root does not say it (FORMATS.md, rule 5)."""

from __future__ import annotations

from grader.readers.contract import TraceHead
from grader.readers.conversation import Conversation
from grader.readers.facts import facts_of
from grader.readers.tree import SpanTree
from grader.records import Span, Status

_NOT_A_RUN = ("tool", "model", "guardrail", "evaluator", "retriever", "embedding", "handoff")


def run_status(head: TraceHead, tree: SpanTree, conversation: Conversation) -> Status:
    """completed, failed, blocked, running or unknown: from errors that nothing came after, and from how far it got."""
    if head.status is not None:
        return head.status
    if not tree.spans:
        return "unknown"
    error = _last_run_error(tree)
    if error is not None and not _is_recovered(tree, error):
        return "blocked" if "tripped" in facts_of(error) else "failed"
    if conversation.unknown_tools and conversation.waits_for_tools:
        return "failed"
    if any(top.ended_at is None for top in tree.tops):
        return "running" if tree.roots else "unknown"
    return _status_without_error(head, tree, conversation)


def _last_run_error(tree: SpanTree) -> Span | None:
    """The last error that ends a run: of a root, an agent, or a step that a guardrail or an unknown tool stopped; not
    inside a tool, whose failure the agent sees and may deal with."""
    errors = [span for span in tree.spans if span.error is not None and _ends_run(tree, span)]
    runs = {span.span_id for span in errors if span.kind != "model"}
    of_their_own = [  # a failed call in a failed run is that run's failure, and may end later (if cancelled)
        span for span in errors if span.kind != "model" or runs.isdisjoint(above.span_id for above in tree.above(span))
    ]
    return max(of_their_own, key=lambda span: (_end(span), span.span_id), default=None)


def _ends_run(tree: SpanTree, span: Span) -> bool:
    if tree.is_aside(span):
        return False
    if span.kind == "model":
        return span in tree.model_calls
    if span.kind in _NOT_A_RUN:
        return False
    facts = facts_of(span)
    return span.kind == "agent" or span in tree.tops or "tripped" in facts or "unknown_tool" in facts


def _is_recovered(tree: SpanTree, error: Span) -> bool:
    """Whether a model call began after the error and went well: the run, or the next run of the trace, went on."""
    return any(
        call.error is None and call.started_at is not None and call.started_at >= error.ended_at
        for call in tree.model_calls
        if error.ended_at is not None and not tree.is_aside(call)
    )


def _end(span: Span) -> float:
    time = span.ended_at or span.started_at
    return time.timestamp() if time else 0.0


def _status_without_error(head: TraceHead, tree: SpanTree, conversation: Conversation) -> Status:
    if conversation.delivered is not None or conversation.reply_text is not None:
        return "completed"
    if conversation.waits_for_tools:  # and nothing ran: it stopped, or the rest of it has not arrived
        return "unknown"
    if tree.model_calls:
        return "completed" if tree.roots else "unknown"
    # Nothing called a model and nothing was said. Perhaps it was blocked: only the SDK's own export would say so.
    says_all = head.guardrails_recorded and not any(span.kind == "agent" for span in tree.spans)
    return "completed" if tree.roots and (says_all or any(span.kind == "tool" for span in tree.spans)) else "unknown"
