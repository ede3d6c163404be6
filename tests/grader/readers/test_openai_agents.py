from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from grader.capture.line import line_bytes
from grader.errors import ReadError
from grader.readers.openai_agents import OpenAIAgentsReader
from grader.records import Trace

READER = OpenAIAgentsReader()
TRACE_ID = "trace_dbd41622efcb4590a1c8e63bb2f0ea3a"
HEAD = {
    "object": "trace",
    "id": TRACE_ID,
    "workflow_name": "support",
    "group_id": "s-1",
    "metadata": {"release": "2026.11", "env": "test", "attempt": 2, "tags": ["eu"]},
}


def item(span_id: str, parent: str | None, data: Mapping[str, Any], error: object = None) -> dict[str, Any]:
    return {
        "object": "trace.span",
        "id": f"span_{span_id}",
        "trace_id": TRACE_ID,
        "parent_id": parent and f"span_{parent}",
        "started_at": f"2026-11-30T12:00:0{len(span_id)}.000000+00:00",
        "ended_at": "2026-11-30T12:00:09.500000+00:00",
        "span_data": dict(data),
        "error": error,
    }


AGENT = {"type": "agent", "name": "Support agent", "handoffs": [], "tools": ["lookup"], "output_type": "str"}
MESSAGES = [{"role": "user", "content": "Hi"}]


def read(put_together: Any, *items: object) -> Trace:
    (trace,) = put_together(READER.parse({"data": list(items)}))
    assert isinstance(trace, Trace)
    return trace


def test_the_head(put_together: Any) -> None:
    trace = read(put_together, HEAD, item("a", None, AGENT))
    assert trace.trace_id == TRACE_ID.removeprefix("trace_")
    assert (trace.name, trace.session_id, trace.release, trace.agent) == ("support", "s-1", "2026.11", "Support agent")
    assert trace.tags == {"env": "test", "attempt": "2", "eu": "true"}


def test_a_captured_line_holds_response_and_input(put_together: Any) -> None:
    """One line of our own capture processor: a finished trace, Responses API content included."""
    response = {
        "type": "response",
        "response_id": "resp_1",
        "usage": {"input_tokens": 9, "output_tokens": 4, "input_tokens_details": {"cached_tokens": 2}},
        "input": MESSAGES,
        "response": {
            "id": "resp_1",
            "model": "gpt-4.1-mini",
            "output": [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Hello"}]}],
        },
    }
    line = {"format": "gradebook.openai_agents/1", "data": [HEAD, item("a", None, AGENT), item("bb", "a", response)]}
    (trace,) = put_together(READER.parse(json.loads(json.dumps(line))))
    assert (trace.user_message, trace.final_output, trace.model) == ("Hi", "Hello", "gpt-4.1-mini")
    assert (trace.input_tokens, trace.output_tokens, trace.num_turns) == (9, 4, 1)
    assert (trace.status, trace.content_captured) == ("completed", True)


def test_the_sdks_own_exporter_drops_what_the_responses_api_said(put_together: Any) -> None:
    trace = read(put_together, HEAD, item("a", None, AGENT), item("bb", "a", {"type": "response", "response_id": "r"}))
    assert (trace.content_captured, trace.final_output, trace.notes) == (False, None, ("no_content",))
    assert (trace.num_turns, trace.input_tokens, trace.status) == (1, None, "completed")


def test_sensitive_data_switched_off(put_together: Any) -> None:
    generation = {
        "type": "generation",
        "input": None,
        "output": None,
        "model": "m",
        "usage": {"input_tokens": 1, "output_tokens": 2},
    }
    trace = read(put_together, HEAD, item("a", None, AGENT), item("bb", "a", generation))
    assert (trace.content_captured, trace.status, trace.input_tokens) == (False, "completed", 1)


class TestSdk04:
    """Shapes of SDK 0.4 (FORMATS.md, C1): no task and turn spans, fewer errors."""

    def test_a_failed_call_carries_no_error(self, put_together: Any) -> None:
        generation = {"type": "generation", "input": MESSAGES, "output": None, "model": "m", "usage": None}
        trace = read(put_together, HEAD, item("a", None, AGENT), item("bb", "a", generation))
        assert (trace.status, trace.num_turns, trace.final_output) == ("failed", 1, None)

    def test_two_root_agents_after_a_handoff(self, put_together: Any) -> None:
        asks = [
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"function": {"name": "transfer_to_refunds", "arguments": "{}"}}],
            }
        ]
        says = [{"role": "assistant", "content": "Refunded."}]
        trace = read(
            put_together,
            HEAD,
            item("a", None, AGENT),
            item("bb", "a", {"type": "generation", "input": MESSAGES, "output": asks, "model": "m"}),
            item("ccc", "a", {"type": "handoff", "from_agent": "Support agent", "to_agent": "Refunds"}),
            item("dddd", None, {**AGENT, "name": "Refunds"}),
            item("eeeee", "dddd", {"type": "generation", "input": MESSAGES, "output": says, "model": "m"}),
        )
        assert (trace.num_turns, trace.tools_called, trace.tool_errors) == (2, (), 0)
        assert (trace.agent, trace.final_output, trace.status) == ("Support agent", "Refunded.", "completed")

    def test_an_unknown_tool_is_an_error_of_the_agent(self, put_together: Any) -> None:
        error = {"message": "Tool not found", "data": {"tool_name": "drop"}}
        asks = [
            {"role": "assistant", "content": None, "tool_calls": [{"function": {"name": "drop", "arguments": "{}"}}]}
        ]
        trace = read(
            put_together,
            HEAD,
            item("a", None, AGENT, error),
            item("bb", "a", {"type": "generation", "input": MESSAGES, "output": asks, "model": "m"}),
        )
        assert (trace.tool_errors, trace.tools_called, trace.status) == (1, (), "failed")

    def test_an_input_guardrail_ran_beside_a_call_that_was_cancelled(self, put_together: Any) -> None:
        error = {"message": "Guardrail tripwire triggered", "data": {"guardrail": "no_homework"}}
        trace = read(
            put_together,
            HEAD,
            item("a", None, AGENT, error),
            item("bb", "a", {"type": "guardrail", "name": "no_homework", "triggered": True}),
            item("ccc", "a", {"type": "generation", "input": MESSAGES, "output": None, "model": "m", "usage": None}),
        )
        assert (trace.status, trace.guardrails_triggered, trace.user_message) == ("blocked", 1, "Hi")


def test_what_can_be_read_of_a_body_is_given_before_the_error() -> None:
    fragments = []
    with pytest.raises(ReadError, match="id None and trace_id None"):
        for fragment in READER.parse({"data": [HEAD, {"object": "trace.span"}, item("a", None, AGENT)]}):
            fragments.append(fragment)
    assert [len(fragment.spans) for fragment in fragments] == [0, 1]


@pytest.mark.parametrize(("lost", "told"), [(1, "lost 1 trace before"), (3, "lost 3 traces before")])
def test_a_line_that_only_tells_of_lost_traces_names_the_loss(lost: int, told: str) -> None:
    with pytest.raises(ReadError, match=told):
        list(READER.parse(json.loads(line_bytes((), {}, lost))))


@pytest.mark.parametrize("capture", [None, [], {}, {"lost_traces": 0}, {"lost_traces": "many"}])
def test_an_empty_line_without_a_loss_holds_nothing(capture: object) -> None:
    assert list(READER.parse({"data": [], "capture": capture})) == []


def test_a_line_with_spans_is_read_whatever_was_lost_before_it() -> None:
    line = {"data": [HEAD, item("a", None, AGENT)], "capture": {"lost_traces": 2}}
    assert len(list(READER.parse(line))) == 2


@pytest.mark.parametrize("document", [None, 3, "x", {}, {"data": [1]}, [{"object": "other"}]])
def test_other_documents_are_refused(document: object) -> None:
    with pytest.raises(ReadError):
        list(READER.parse(document))


@pytest.mark.parametrize("broken", [None, [], "x"], ids=["null", "list", "text"])
def test_broken_members_are_not_known(put_together: Any, broken: object) -> None:
    span = {**item("a", None, AGENT), "span_data": broken, "started_at": broken, "parent_id": broken and 3}
    trace = read(put_together, {**HEAD, "metadata": broken}, span)
    assert (trace.started_at, len(trace.spans), trace.tags) == (None, 1, {})


@pytest.mark.parametrize(
    ("head", "matches"),
    [
        (json.dumps(HEAD).encode(), True),
        (json.dumps({"data": [item("a", None, AGENT)]}).encode(), True),
        (b'{"format":"gradebook.openai_agents/1","data":[{"object": "trace"', True),
        (b'{"resourceSpans":[]}', False),
        (b'{"trace_id":"1","final_output":"x"}', False),
    ],
)
def test_matches(head: bytes, matches: bool) -> None:
    assert READER.matches(head) is matches
