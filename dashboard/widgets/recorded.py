"""What a trace recorded, shown as plain text: nothing in it is read as Markdown, HTML or LaTeX."""

from __future__ import annotations

import streamlit as st

from dashboard.views import numbers
from dashboard.views import trace as views
from grader.records import ToolCall

LONG_CHARS = 2_000  # a longer message scrolls in a box of its own
LONG_HEIGHT = 420


def show_conversation(content: views.Content, *, is_captured: bool) -> None:
    """Question and answer, and what the models said in between."""
    st.subheader("Conversation", anchor=False)
    turns = views.conversation(content)
    if not is_captured:
        st.info("The exporter was told not to record texts.", icon=":material/visibility_off:")
    elif not turns:
        st.caption("No question and no answer were recorded.")
    between = [turn for turn in turns if turn.label == "Model"]
    for turn in turns:
        if turn.label == "Answer" and between:
            _show_between(between)
        if turn.label != "Model":
            _show_turn(turn)
    if between and not content.final_output:
        _show_between(between)
    if turns and is_captured and not content.final_output:
        st.warning("The answer is empty.", icon=":material/chat_error:")
    for label, whole in (("question", content.user_message), ("answer", content.final_output)):
        if whole is not None and views.cut(whole).is_cut:
            download(f"Download the whole {label}", whole, f"{label}.txt")


def _show_turn(turn: views.Turn) -> None:
    with st.chat_message(turn.role, avatar=":material/person:" if turn.role == "user" else ":material/smart_toy:"):
        st.caption(turn.label)
        with st.container(height=LONG_HEIGHT if len(turn.body.text) > LONG_CHARS else "content", border=False):
            st.text(turn.body.text)


def _show_between(turns: list[views.Turn]) -> None:
    with st.expander(f"{numbers.counted(len(turns), 'message')} of the model in between", icon=":material/forum:"):
        for turn in turns:
            _show_turn(turn)


def show_tools(tools: tuple[ToolCall, ...] | None) -> None:
    """Each call with its arguments, result and error; the first failed ones are open."""
    failed = sum(tool.error is not None for tool in tools or ())
    title = "Tool calls" if not tools else f"Tool calls: {len(tools):,}, {failed:,} failed"
    st.subheader(title, anchor=False)
    if tools is None:
        st.caption("Not known: the format does not record them.")
    elif not tools:
        st.caption("No tool was called.")
    for number, tool in enumerate((tools or ())[: views.MOST_CALLS], start=1):
        _show_tool(number, tool)
    if tools and len(tools) > views.MOST_CALLS:
        st.caption(f"The first {views.MOST_CALLS} of {len(tools):,} calls. The raw record below has them all.")


def _show_tool(number: int, tool: ToolCall) -> None:
    has_failed = tool.error is not None
    icon = ":material/error:" if has_failed else ":material/check_circle:"
    label = f"{number}. {numbers.inline_code(tool.name)}{' failed' if has_failed else ''}"
    with st.expander(label, icon=icon, expanded=has_failed and number <= 3):
        for title, value in (("Arguments", tool.arguments), ("Result", tool.output), ("Error", tool.error)):
            if value is not None:
                st.caption(title)
                st.code(views.pretty(value).text, language=None, wrap_lines=True)
        if tool.arguments is None and tool.output is None and tool.error is None:
            st.caption("Only the name was recorded.")


def download(label: str, whole: str, name: str) -> None:
    """A button that saves the whole of a text; it is sent when the button is pressed."""
    st.download_button(
        label, lambda: whole, file_name=name, mime="text/plain", on_click="ignore", icon=":material/download:"
    )
