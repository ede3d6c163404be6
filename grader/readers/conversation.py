"""What was asked and answered in a trace: the user's message, the final answer, and the tools the model asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from grader.readers.contract import TraceHead
from grader.readers.facts import TOOL_DEFINITIONS, facts_of
from grader.readers.messages import Reply, offered_tools, reply_of, user_text
from grader.readers.tree import SpanTree
from grader.records import Span, Status, ToolCall

_RAN = ("tool", "handoff")


@dataclass(frozen=True, kw_only=True, slots=True)
class Conversation:
    """The texts of a trace as far as they were recorded."""

    user_message: str | None
    delivered: str | None  # the answer as the exporter or a root recorded it
    tool_result: str | None  # of the last tool that ran after the last model call: the answer where a tool ends the run
    last_reply: Reply | None  # of the last model call with the user; None: there is none
    unknown_tools: tuple[str, ...]  # asked for and not there
    tools_unseen: bool  # the model asked for tools, and no span shows what became of that
    asked_calls: (
        tuple[ToolCall, ...] | None
    )  # those calls, as the model wrote them; None: their names were not recorded
    asks_tools: bool  # the last model call asked for tools
    waits_for_tools: bool  # and nothing ran after it

    @property
    def reply_text(self) -> str | None:
        """The text of the last reply; None where it asks for tools, and so is no answer."""
        return None if self.last_reply is None or self.asks_tools else self.last_reply.text

    def final_output(self, status: Status) -> str | None:
        """What the user got. After a failure or a block that is only what was recorded as delivered: a reply was made,
        and never reached the user. Where a tool ended a run that went well (`stop_on_first_tool`), its result."""
        if self.delivered is not None or status in ("failed", "blocked"):
            return self.delivered
        return self.tool_result if self.asks_tools and status == "completed" else self.reply_text


def read_conversation(head: TraceHead, tree: SpanTree) -> Conversation:
    """Reads the first question and the last answer; the calls between them only where the tools have no spans."""
    with_user = [call for call in tree.model_calls if not tree.is_aside(call)] or tree.model_calls
    last = with_user[-1] if with_user else None
    reply = reply_of(_recorded(tree, last, "output")) if last else None
    asks_tools = last is not None and reply is not None and (bool(reply.calls) or _asks_tools(tree, last))
    ran = [span for span in tree.spans if span.kind in _RAN]
    ran_after = [span for span in ran if last and _starts_after(span, last)]
    unknown = _unknown_tools(tree, last, reply) if not (asks_tools and ran_after) else _named_unknown(tree)
    asked = _asked_calls(tree, with_user) if not ran and not unknown else ()
    return Conversation(
        user_message=head.user_message or _question(tree, with_user),
        delivered=head.final_output if head.final_output is not None else _root_output(tree),
        tool_result=next((span.output for span in reversed(ran_after) if span.kind == "tool"), None),
        last_reply=reply,
        unknown_tools=unknown,
        tools_unseen=asked != (),
        asked_calls=asked,
        asks_tools=asks_tools,
        waits_for_tools=asks_tools and not ran_after,
    )


def _recorded(tree: SpanTree, call: Span, side: str) -> str | None:
    """Input or output of a model call, from whichever instrumentor recorded it."""
    return next((text for copy in tree.copies(call) if (text := getattr(copy, side)) is not None), None)


def _asks_tools(tree: SpanTree, call: Span) -> bool:
    return any(facts_of(copy).get("asks_tools") is True for copy in tree.copies(call))


def _starts_after(span: Span, call: Span) -> bool:
    begins, called = span.started_at or span.ended_at, call.started_at or call.ended_at
    return begins is not None and called is not None and begins >= called


def _question(tree: SpanTree, calls: Sequence[Span]) -> str | None:
    """What the user said: as a root recorded it, else in the first model call that holds it."""
    for root in tree.roots:
        if root.kind != "tool" and root.input is not None:
            return user_text(root.input) or root.input
    texts = (user_text(_recorded(tree, call, "input")) for call in calls)
    return next((text for text in texts if text is not None), None)


def _root_output(tree: SpanTree) -> str | None:
    """What the last root that has an output gave back, as text."""
    for root in reversed(tree.roots):
        if root.kind not in ("tool", "model") and root.output is not None:
            text = reply_of(root.output).text
            return root.output if text is None else text
    return None


def _named_unknown(tree: SpanTree) -> tuple[str, ...]:
    """Tools that the framework said it does not have, once each time the model asked."""
    spans = tree.saying("unknown_tool")
    passing_on = {above.span_id for span in spans for above in tree.above(span)}
    return tuple(facts_of(span)["unknown_tool"] for span in spans if span.span_id not in passing_on)


def _unknown_tools(tree: SpanTree, last: Span | None, reply: Reply | None) -> tuple[str, ...]:
    """Unknown tools as the framework named them; where it is silent, the calls at the end of the run that nothing
    answered and that name none of the tools the model was offered."""
    named = _named_unknown(tree)
    if named or last is None or reply is None or not reply.calls:
        return named
    definitions = next((d for copy in tree.copies(last) if (d := copy.attributes.get(TOOL_DEFINITIONS))), None)
    offered = offered_tools(definitions)
    return () if offered is None else tuple(call.name for call in reply.calls if call.name not in offered)


def _asked_calls(tree: SpanTree, calls: Sequence[Span]) -> tuple[ToolCall, ...] | None:
    """The tools that model calls asked for, where no span shows a tool. None: asked for, names not recorded."""
    asked: list[ToolCall] = []
    nameless = False
    for call in calls:
        of_call = reply_of(_recorded(tree, call, "output")).calls
        asked.extend(of_call)
        nameless = nameless or (not of_call and _asks_tools(tree, call))
    return None if nameless else tuple(asked)
