"""Reading chat messages in the dialects that exporters record: what the user asked, what the model replied.

Known: chat completions, the Responses API, GenAI conventions (`parts`), and whole request or response objects around
them. A text that is no JSON is taken as the message itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from grader.readers.json_text import as_text, decode_text
from grader.records import ToolCall

_TEXT_PARTS = ("text", "input_text", "output_text", "refusal", None)
_CALL_PARTS = ("tool_call", "function_call", "tool_use")
_WRAPPERS = ("messages", "choices", "message", "output", "outputs", "input", "inputs", "response")
_QUESTION_KEYS = ("question", "query", "prompt", "text", "user_message")


@dataclass(frozen=True, kw_only=True, slots=True)
class Reply:
    """What one model call gave back."""

    text: str | None = None  # None: only tool calls, or nothing recorded; "": an empty answer
    calls: tuple[ToolCall, ...] = ()  # as asked for by the model: they have no output yet


def user_text(recorded: str | None) -> str | None:
    """The last thing a user said in a recorded input; None where no user says anything in it."""
    return _user_text(decode_text(recorded))


def reply_of(recorded: str | None) -> Reply:
    """The reply in a recorded output: the text of its last message, and the tools it asks for."""
    value = decode_text(recorded)
    texts: list[str] = []
    calls: list[ToolCall] = []
    for message in _messages(value):
        _read_reply(message, texts, calls)
    return Reply(text=texts[-1] if texts else None, calls=tuple(calls))


def offered_tools(definitions: object) -> frozenset[str] | None:
    """Names of the tools that a model call was offered; None where they were not recorded."""
    value = decode_text(definitions) if isinstance(definitions, str) else definitions
    if not isinstance(value, list):
        return None
    names = (_function(item).get("name") for item in map(_decoded, value) if isinstance(item, Mapping))
    return frozenset(name for name in names if isinstance(name, str))


def _decoded(value: object) -> object:
    return decode_text(value) if isinstance(value, str) else value


def _function(item: Mapping[str, object]) -> Mapping[str, object]:
    """The part that names a tool: chat completions put it one level down."""
    function = item.get("function")
    return function if isinstance(function, Mapping) else item


def _user_text(value: object) -> str | None:
    if isinstance(value, str):
        return value
    messages = [message for message in _messages(value) if isinstance(message, Mapping)]
    for message in reversed(messages):
        if message.get("role") in ("user", "human"):
            text = _content(message)
            if text is not None:
                return text
    if isinstance(value, Mapping):
        return next((value[key] for key in _QUESTION_KEYS if isinstance(value.get(key), str)), None)
    return None


def _messages(value: object) -> list[object]:
    """The messages in `value`, in order, without the objects that wrap them."""
    if isinstance(value, list):
        return [message for item in value for message in ([item] if _is_message(item) else _messages(item))]
    if _is_message(value):
        return [value]
    if isinstance(value, Mapping):
        wrapped = next((value[key] for key in _WRAPPERS if value.get(key) is not None), None)
        if wrapped is None:
            return [value]
        return [{"role": "user", "content": wrapped}] if isinstance(wrapped, str) else _messages(wrapped)
    return [value] if isinstance(value, str) else []


def _is_message(value: object) -> bool:
    return isinstance(value, dict) and ("role" in value or value.get("type") in _CALL_PARTS)


def _read_reply(message: object, texts: list[str], calls: list[ToolCall]) -> None:
    if not isinstance(message, Mapping):
        texts.append(str(message))
        return
    if message.get("type") in _CALL_PARTS:  # an item of the Responses API
        calls.append(_call(message))
        return
    known = len(calls)
    tool_calls = message.get("tool_calls")
    calls.extend(_call(_function(call)) for call in tool_calls or () if isinstance(call, Mapping))
    parts = message.get("parts") or message.get("content")
    if isinstance(parts, list):
        calls.extend(_call(part) for part in parts if isinstance(part, Mapping) and part.get("type") in _CALL_PARTS)
    if message.get("role") not in (None, "assistant", "ai", "model"):
        return
    text = _content(message)
    if text is None and len(calls) == known and "role" in message:
        text = ""  # a message that says nothing and asks for nothing: an empty answer
    if text is not None:
        texts.append(text)


def _content(message: Mapping[str, object]) -> str | None:
    """The text of one message; None where it has none."""
    content = message.get("parts") if "parts" in message else message.get("content")
    if content is None:
        content = message.get("refusal")
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return None
    texts = [text for part in content if (text := _part_text(part)) is not None]
    return "".join(texts) if texts else None


def _part_text(part: object) -> str | None:
    if isinstance(part, str):
        return part
    if not isinstance(part, Mapping) or part.get("type") not in _TEXT_PARTS:
        return None
    for key in ("text", "content", "refusal"):
        text = part.get(key)
        if isinstance(text, str):
            return text
    return None


def _call(item: Mapping[str, object]) -> ToolCall:
    name = item.get("name")
    arguments = item.get("arguments") if "arguments" in item else item.get("input")
    return ToolCall(name=name if isinstance(name, str) else "", arguments=as_text(arguments))
