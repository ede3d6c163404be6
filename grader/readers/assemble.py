"""Spans → one trace, by the rules that hold for every format (FORMATS.md, "Rules that hold for every format").

Pure, and independent of the order in which spans arrived. Readers say what a span is; what follows from all spans
together is decided here and nowhere else.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from grader.readers.contract import TraceHead
from grader.readers.conversation import Conversation, read_conversation
from grader.readers.facts import facts_of
from grader.readers.merge import merge_heads, merge_spans
from grader.readers.run_end import run_status
from grader.readers.tokens import levels_disagree, total_cost_usd, total_tokens
from grader.readers.tree import SpanTree
from grader.records import QualityNote, Source, Span, Status, ToolCall, Trace

__all__ = ["assemble", "merge_heads", "merge_spans"]

_NO_HEAD = TraceHead()
_MILLISECOND = timedelta(milliseconds=1)


def assemble(trace_id: str, head: TraceHead | None, spans: Sequence[Span], source: Source) -> Trace:
    """The trace that `spans` (each id once) and what the exporter said of it as a whole make."""
    known = head or _NO_HEAD
    tree = SpanTree(spans)
    conversation = read_conversation(known, tree)
    status = run_status(known, tree, conversation)
    tools, tool_errors = _tools(known, tree, conversation)
    started_at, ended_at, duration_ms, notes = _times(tree)
    input_tokens, output_tokens = total_tokens(tree)
    captured = _content_captured(known, tree, conversation, status)
    if not captured:
        notes.append("no_content")
    if levels_disagree(tree):
        notes.append("token_levels_disagree")
    return Trace(
        trace_id=trace_id,
        source=source,
        name=known.name or _name(tree),
        session_id=known.session_id or _first([facts.get("session") for facts in tree.facts]),
        agent=known.agent or _agent(tree),
        release=known.release or _first([facts.get("release") for facts in tree.facts]),
        model=known.model or _model(tree),
        started_at=started_at,
        ended_at=ended_at,
        duration_ms=duration_ms,
        status=status,
        num_turns=len(tree.model_calls) if _is_recognised(known, tree) else None,
        tool_errors=tool_errors,
        guardrails_triggered=_guardrails_triggered(known, tree),
        user_message=conversation.user_message,
        final_output=conversation.final_output(status),
        content_captured=captured,
        tools_called=tools,
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        cost_usd=total_cost_usd(tree),
        tags=_tags(known, tree),
        spans=tuple(tree.spans),
        notes=tuple(notes),
    )


def _first(values: Iterable[str | None]) -> str | None:
    return next((value for value in values if value), None)


def _is_recognised(head: TraceHead, tree: SpanTree) -> bool:
    """Whether the spans follow a convention that says what they are: else nothing can be counted."""
    return bool(tree.spans) and (bool(head.guardrails_recorded) or any(span.kind != "other" for span in tree.spans))


def _name(tree: SpanTree) -> str | None:
    """The name of a root; not of a model call, which is named after its model or its endpoint."""
    return _first(span.name for span in tree.roots if span.kind != "model")


def _agent(tree: SpanTree) -> str | None:
    """The agent that the run began with: a named run of an agent, else the first span of kind agent."""
    agents = [span for span in tree.spans if span.kind == "agent"]
    return _first(facts_of(span).get("agent") for span in agents) or _first(span.name for span in agents)


def _model(tree: SpanTree) -> str | None:
    """The model that most calls went to; of equals the one called first."""
    models = [copy.model for call in tree.model_calls for copy in tree.copies(call)[:1] if copy.model]
    models = models or [copy.model for call in tree.model_calls for copy in tree.copies(call) if copy.model]
    return max(models, key=models.count) if models else None


def _times(tree: SpanTree) -> tuple[datetime | None, datetime | None, float | None, list[QualityNote]]:
    """First start, last end, the milliseconds between them, and what is wrong with the times or the tree."""
    notes: list[QualityNote] = []
    if not tree.spans:
        return None, None, None, ["no_spans"]
    started_at = min([span.started_at for span in tree.spans if span.started_at], default=None)
    ended_at = max([span.ended_at for span in tree.spans if span.ended_at], default=None)
    skewed = any(span.started_at and span.ended_at and span.ended_at < span.started_at for span in tree.spans)
    if started_at is None:
        notes.append("no_start")
    if ended_at is None:
        notes.append("no_end")
    if not tree.roots:
        notes.append("no_root")
    if skewed:
        notes.append("clock_skew")
    if skewed or started_at is None or ended_at is None or ended_at < started_at:
        return started_at, ended_at, None, notes
    return started_at, ended_at, (ended_at - started_at) / _MILLISECOND, notes


def _tools(
    head: TraceHead, tree: SpanTree, conversation: Conversation
) -> tuple[tuple[ToolCall, ...] | None, int | None]:
    """The tools called, and how many of the calls failed; calls of tools that do not exist fail and are not listed.

    Where the model asked for tools and no span shows one running, what became of the calls is not known.
    """
    if not _is_recognised(head, tree):
        return None, None
    calls = tuple(
        ToolCall(name=span.name, arguments=span.input, output=span.output, error=span.error, span_id=span.span_id)
        for span in tree.spans
        if span.kind == "tool" and not _is_seen_twice(tree, span)
    )
    unknown_tools = conversation.unknown_tools
    if conversation.tools_unseen:
        return conversation.asked_calls, None
    return calls, sum(call.error is not None for call in calls) + len(unknown_tools)


def _is_seen_twice(tree: SpanTree, tool: Span) -> bool:
    """Whether the span around this one is of the same tool: another instrumentor's view of the same call."""
    around = tree.by_id.get(tool.parent_id) if tool.parent_id is not None else None
    return around is not None and around.kind == "tool" and around.name == tool.name


def _guardrails_triggered(head: TraceHead, tree: SpanTree) -> int | None:
    """How many guardrails fired. None where the format has no guardrail spans and nothing else tells of one."""
    spans = [span for span in tree.spans if span.kind == "guardrail"]
    fired = sum(facts_of(span).get("triggered") is True for span in spans)
    tripped = sum(1 for _ in tripped_spans(tree))
    if not tree.spans or not (spans or tripped or head.guardrails_recorded):
        return None
    return max(fired, tripped)


def tripped_spans(tree: SpanTree) -> Iterable[Span]:
    """Spans that a guardrail stopped, without those that only pass on what happened below them."""
    tripped = tree.saying("tripped")
    passing_on = {above.span_id for span in tripped for above in tree.above(span)}
    return (span for span in tripped if span.span_id not in passing_on)


def _content_captured(head: TraceHead, tree: SpanTree, conversation: Conversation, status: Status) -> bool:
    """False where the exporter recorded no texts: then a missing answer says nothing about the run."""
    if conversation.user_message is not None or conversation.delivered is not None:
        return True
    if tree.model_calls:
        return not all(all("no_content" in facts_of(copy) for copy in tree.copies(call)) for call in tree.model_calls)
    if status in ("failed", "blocked") or (head.guardrails_recorded and tree.spans):
        return True  # no model was asked: that there is no answer is known
    return any(span.input is not None or span.output is not None for span in tree.spans)


def _tags(head: TraceHead, tree: SpanTree) -> dict[str, str]:
    tags: dict[str, str] = {}
    for facts in reversed(tree.facts):
        tags.update(facts.get("tags", {}))
    tags.update(head.tags)
    return dict(sorted(tags.items()))
