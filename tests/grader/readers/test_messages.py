from __future__ import annotations

import json

import pytest

from grader.readers.messages import offered_tools, reply_of, user_text
from grader.records import ToolCall


def as_recorded(value: object) -> str | None:
    """Structures are recorded as JSON text."""
    return value if value is None or isinstance(value, str) else json.dumps(value)


WEATHER = ToolCall(name="get_weather", arguments='{"city":"Paris"}')


@pytest.mark.parametrize(
    ("recorded", "text"),
    [
        pytest.param(None, None, id="nothing recorded"),
        pytest.param("Where is it?", "Where is it?", id="plain text"),
        pytest.param([{"role": "system", "content": "Be nice"}, {"role": "user", "content": "Hi"}], "Hi", id="chat"),
        pytest.param(
            [
                {"role": "user", "content": "first"},
                {"role": "assistant", "content": "yes?"},
                {"role": "user", "content": "second"},
            ],
            "second",
            id="the last thing said",
        ),
        pytest.param([{"role": "system", "content": "Be nice"}], None, id="no user"),
        pytest.param(
            [
                {
                    "role": "user",
                    "content": [
                        {"type": "input_text", "text": "Hi "},
                        {"type": "input_image"},
                        {"type": "text", "text": "you"},
                    ],
                }
            ],
            "Hi you",
            id="parts of the Responses API, an image left out",
        ),
        pytest.param([{"role": "user", "parts": [{"type": "text", "content": "Hi"}]}], "Hi", id="GenAI parts"),
        pytest.param({"model": "m", "messages": [{"role": "user", "content": "Hi"}]}, "Hi", id="a chat request"),
        pytest.param({"model": "m", "input": "Hi"}, "Hi", id="a Responses request"),
        pytest.param({"question": "Where?"}, "Where?", id="an object with a question"),
        pytest.param({"unknown": 1}, None, id="an object without one"),
    ],
)
def test_user_text(recorded: object, text: str | None) -> None:
    assert user_text(as_recorded(recorded)) == text


@pytest.mark.parametrize(
    ("recorded", "text", "calls"),
    [
        pytest.param(None, None, (), id="nothing recorded"),
        pytest.param("Hello", "Hello", (), id="plain text"),
        pytest.param([{"role": "assistant", "content": "Hello"}], "Hello", (), id="chat"),
        pytest.param([{"role": "assistant", "content": ""}], "", (), id="empty answer"),
        pytest.param([{"role": "assistant"}], "", (), id="a message with nothing in it is an empty answer"),
        pytest.param([{"role": "assistant", "content": None, "refusal": "I cannot"}], "I cannot", (), id="refusal"),
        pytest.param(
            [
                {
                    "role": "assistant",
                    "content": None,
                    "tool_calls": [
                        {
                            "id": "1",
                            "type": "function",
                            "function": {"name": "get_weather", "arguments": '{"city":"Paris"}'},
                        }
                    ],
                }
            ],
            None,
            (WEATHER,),
            id="chat tool call",
        ),
        pytest.param(
            [
                {"type": "reasoning", "summary": []},
                {"type": "function_call", "name": "get_weather", "arguments": '{"city":"Paris"}'},
            ],
            None,
            (WEATHER,),
            id="Responses tool call",
        ),
        pytest.param(
            [
                {
                    "role": "assistant",
                    "parts": [
                        {"type": "text", "content": "Let me see"},
                        {"type": "tool_call", "name": "get_weather", "arguments": {"city": "Paris"}},
                    ],
                }
            ],
            "Let me see",
            (WEATHER,),
            id="GenAI tool call after words",
        ),
        pytest.param(
            [
                {
                    "object": "response",
                    "output": [
                        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Sunny"}]}
                    ],
                }
            ],
            "Sunny",
            (),
            id="a streamed response object",
        ),
        pytest.param({"choices": [{"message": {"role": "assistant", "content": "Hi"}}]}, "Hi", (), id="a completion"),
        pytest.param('{"broken": ', '{"broken": ', (), id="broken JSON is text"),
    ],
)
def test_reply_of(recorded: object, text: str | None, calls: tuple[ToolCall, ...]) -> None:
    reply = reply_of(as_recorded(recorded))
    assert (reply.text, reply.calls) == (text, calls)


@pytest.mark.parametrize(
    ("definitions", "names"),
    [
        ('[{"type": "function", "name": "a"}]', {"a"}),
        (['{"type": "function", "function": {"name": "b"}}'], {"b"}),
        (None, None),
        ("cut [trunc", None),
    ],
    ids=["GenAI", "OpenInference", "not recorded", "not readable"],
)
def test_offered_tools(definitions: object, names: set[str] | None) -> None:
    assert offered_tools(definitions) == (None if names is None else frozenset(names))
