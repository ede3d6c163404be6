from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from grader.errors import ReadError
from grader.readers.otlp import OTLPReader, read_attributes
from grader.records import Span, Trace

READER = OTLPReader()
TRACE_ID, ROOT_ID, CALL_ID = "de36dd0f5e6e86608c071840f1c1569a", "fa98c173ec298fd0", "8fd0ec29c1737f74"
START = 1_796_076_351_000_000_000


def attribute(key: str, value: Any) -> dict[str, Any]:
    kinds = {str: "stringValue", bool: "boolValue", int: "intValue", float: "doubleValue"}
    if isinstance(value, list):
        return {"key": key, "value": {"arrayValue": {"values": [attribute("", item)["value"] for item in value]}}}
    if value is None:
        return {"key": key, "value": {}}
    return {"key": key, "value": {kinds[type(value)]: str(value) if type(value) is int else value}}


def otlp_span(span_id: str, parent: str | None, seconds: int, name: str = "span", **more: Any) -> dict[str, Any]:
    attributes = [attribute(key, value) for key, value in more.pop("attributes", {}).items()]
    return {
        "traceId": TRACE_ID,
        "spanId": span_id,
        **({"parentSpanId": parent} if parent is not None else {}),
        "name": name,
        "kind": 1,
        "startTimeUnixNano": str(START + seconds * 10**9),
        "endTimeUnixNano": str(START + seconds * 10**9 + 500_000_000),
        "attributes": attributes,
        "status": {},
        **more,
    }


def document(*spans: dict[str, Any], resource: dict[str, Any] | None = None) -> dict[str, Any]:
    attributes = [attribute(key, value) for key, value in (resource or {}).items()]
    return {
        "resourceSpans": [{"resource": {"attributes": attributes}, "scopeSpans": [{"scope": {}, "spans": list(spans)}]}]
    }


MESSAGES = {
    "gen_ai.input.messages": '[{"role":"user","parts":[{"type":"text","content":"Hi"}]}]',
    "gen_ai.output.messages": '[{"role":"assistant","parts":[{"type":"text","content":"Hello"}]}]',
}
CHAT = {
    "gen_ai.operation.name": "chat",
    "gen_ai.request.model": "gpt",
    "gen_ai.response.model": "gpt-2026",
    "gen_ai.usage.input_tokens": 26,
    "gen_ai.usage.output_tokens": 21,
    "gen_ai.usage.cache_read.input_tokens": 8,
    **MESSAGES,
}
AGENT = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "Support", "gen_ai.conversation.id": "c-1"}
RESOURCE = {"service.name": "shop", "service.version": "7.1", "deployment.environment.name": "prod"}
OFFICIAL = document(
    otlp_span(CALL_ID, ROOT_ID, 1, attributes=CHAT), otlp_span(ROOT_ID, None, 0, attributes=AGENT), resource=RESOURCE
)


def spans_of(document: object) -> dict[str, Span]:
    return {span.span_id: span for fragment in READER.parse(document) for span in fragment.spans}


def one_span(attributes: dict[str, Any], **more: Any) -> Span:
    (span,) = spans_of(document(otlp_span(CALL_ID, None, 0, attributes=attributes, **more))).values()
    return span


def _message_to_dict(official: dict[str, Any]) -> dict[str, Any]:
    """What protobuf's MessageToDict writes: base64 ids, enum names, an empty parent id."""
    text = json.loads(json.dumps(official))
    for span in text["resourceSpans"][0]["scopeSpans"][0]["spans"]:
        for key in ("traceId", "spanId", "parentSpanId"):
            span[key] = base64.b64encode(bytes.fromhex(span.get(key, ""))).decode()
        span["kind"], span["status"] = "SPAN_KIND_INTERNAL", {"code": "STATUS_CODE_UNSET"}
    return dict(text)


def _with_int_times(official: dict[str, Any]) -> dict[str, Any]:
    text = json.loads(json.dumps(official))
    for span in text["resourceSpans"][0]["scopeSpans"][0]["spans"]:
        span["startTimeUnixNano"], span["endTimeUnixNano"] = (
            int(span["startTimeUnixNano"]),
            int(span["endTimeUnixNano"]),
        )
        span["parentSpanId"] = span.get("parentSpanId", "")
    return dict(text)


@pytest.mark.parametrize(
    "variant",
    [
        pytest.param(_message_to_dict(OFFICIAL), id="MessageToDict"),
        pytest.param(_with_int_times(OFFICIAL), id="times as ints"),
        pytest.param({"batches": OFFICIAL["resourceSpans"]}, id="Tempo"),
        pytest.param([OFFICIAL], id="a list of documents"),
        pytest.param(
            {
                "resourceSpans": [
                    {
                        **OFFICIAL["resourceSpans"][0],
                        "scopeSpans": None,
                        "instrumentationLibrarySpans": OFFICIAL["resourceSpans"][0]["scopeSpans"],
                    }
                ]
            },
            id="old scope name",
        ),
    ],
)
def test_variants_of_the_envelope_say_the_same(variant: object) -> None:
    assert spans_of(variant) == spans_of(OFFICIAL)
    assert {fragment.trace_id for fragment in READER.parse(variant)} == {TRACE_ID}


def test_a_genai_trace(put_together: Any) -> None:
    (trace,) = put_together(READER.parse(OFFICIAL))
    assert isinstance(trace, Trace)
    assert (trace.name, trace.agent, trace.model, trace.session_id, trace.release) == (
        "Support",
        "Support",
        "gpt-2026",
        "c-1",
        "7.1",
    )
    assert (trace.user_message, trace.final_output, trace.status, trace.num_turns) == ("Hi", "Hello", "completed", 1)
    assert (trace.input_tokens, trace.output_tokens, trace.duration_ms) == (26, 21, 1500.0)
    assert trace.tags == {"environment": "prod", "service": "shop"}
    assert trace.guardrails_triggered is None


@pytest.mark.parametrize(
    ("pair", "value"),
    [
        ({"key": "a", "value": {"stringValue": ""}}, ""),
        ({"key": "a", "value": {"intValue": "42"}}, 42),
        ({"key": "a", "value": {"intValue": 42}}, 42),
        ({"key": "a", "value": {"doubleValue": 0.5}}, 0.5),
        ({"key": "a", "value": {"boolValue": False}}, False),
        ({"key": "a", "value": {}}, None),
        ({"key": "a", "value": None}, None),
        ({"key": "a"}, None),
        ({"key": "a", "value": {"intValue": "many"}}, None),
        ({"key": "a", "value": "bare"}, "bare"),
        ({"key": "a", "value": {"arrayValue": {}}}, []),
        (
            {
                "key": "a",
                "value": {
                    "kvlistValue": {
                        "values": [{"key": "b", "value": {"arrayValue": {"values": [{}, {"intValue": "1"}]}}}]
                    }
                },
            },
            {"b": [None, 1]},
        ),
    ],
)
def test_attribute_values(pair: dict[str, Any], value: object) -> None:
    assert read_attributes([pair, {"key": "other", "value": {"stringValue": "kept"}}]) == {"a": value, "other": "kept"}


@pytest.mark.parametrize(
    ("more", "error"),
    [
        pytest.param({"status": {"code": 2, "message": "boom"}}, "boom", id="status"),
        pytest.param(
            {"status": {"code": "STATUS_CODE_ERROR"}}, "failed, without a message", id="enum name, no message"
        ),
        pytest.param({"status": {"code": 1, "message": "fine"}}, None, id="ok"),
        pytest.param({"status": {}}, None, id="unset"),
        pytest.param({"attributes": {"error.type": "Timeout"}}, "Timeout", id="error.type alone"),
        pytest.param(
            {
                "status": {"code": 2},
                "events": [
                    {
                        "name": "exception",
                        "attributes": [attribute("exception.type", "KeyError"), attribute("exception.message", "'x'")],
                    }
                ],
            },
            "KeyError: 'x'",
            id="exception event",
        ),
    ],
)
def test_errors(more: dict[str, Any], error: str | None) -> None:
    assert one_span(more.pop("attributes", {}), **more).error == error


@pytest.mark.parametrize(
    ("attributes", "kind", "name"),
    [
        ({"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"}, "model", "span"),
        ({"gen_ai.operation.name": "generate_content"}, "model", "span"),
        ({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "lookup"}, "tool", "lookup"),
        ({"gen_ai.operation.name": "invoke_workflow", "gen_ai.workflow.name": "w"}, "chain", "w"),
        ({"gen_ai.operation.name": "embeddings"}, "embedding", "span"),
        ({"gen_ai.operation.name": "new_thing"}, "other", "span"),
        ({"gen_ai.system": "openai", "gen_ai.request.model": "m"}, "model", "span"),
        ({"openinference.span.kind": "LLM"}, "model", "span"),
        ({"openinference.span.kind": "TOOL", "tool.name": "lookup"}, "tool", "lookup"),
        ({"openinference.span.kind": "RERANKER"}, "retriever", "span"),
        ({"http.request.method": "POST"}, "other", "span"),
    ],
)
def test_each_span_is_read_by_its_own_convention(attributes: dict[str, Any], kind: str, name: str) -> None:
    span = one_span(attributes)
    assert (span.kind, span.name) == (kind, name)


def test_older_genai_names() -> None:
    span = one_span(
        {
            "gen_ai.system": "openai",
            "gen_ai.request.model": "m",
            "gen_ai.usage.prompt_tokens": 5,
            "gen_ai.usage.completion_tokens": 2,
            "gen_ai.prompt.0.role": "system",
            "gen_ai.prompt.0.content": "Be nice",
            "gen_ai.prompt.1.role": "user",
            "gen_ai.prompt.1.content": "Hi",
            "gen_ai.completion.0.role": "assistant",
            "gen_ai.completion.0.content": "Hello",
        }
    )
    assert (span.input_tokens, span.output_tokens) == (5, 2)
    assert span.input == '[{"content":"Be nice","role":"system"},{"content":"Hi","role":"user"}]'
    assert span.output == '[{"content":"Hello","role":"assistant"}]'


def test_a_newer_genai_name_counts_before_an_older_one_and_neither_is_kept_twice() -> None:
    span = one_span(
        {
            "gen_ai.prompt": "old",
            "gen_ai.input.messages": "new",
            "gen_ai.completion": "only old",
            "gen_ai.usage.input_tokens": None,
            "gen_ai.usage.prompt_tokens": 5,
            "gen_ai.operation.name": "chat",
            "session.id": "old",
            "gen_ai.conversation.id": "new",
            "gen_ai.request.temperature": 0.5,
        }
    )
    assert (span.input, span.output, span.input_tokens) == ("new", "only old", 5)
    assert span.attributes == {"gen_ai.request.temperature": 0.5, "gradebook": {"session": "new"}}


def test_an_operation_that_is_no_text_is_no_known_kind() -> None:
    assert one_span({"gen_ai.operation.name": ["chat"]}).kind == "other"


def test_openinference_messages_are_put_together() -> None:
    prefix = "llm.output_messages.0.message."
    span = one_span(
        {
            "openinference.span.kind": "LLM",
            "llm.model_name": "gpt",
            "llm.token_count.prompt": 5.0,
            "llm.token_count.completion": float("nan"),
            "llm.input_messages.10.message.content": "last",
            "llm.input_messages.10.message.role": "user",
            "llm.input_messages.2.message.content": "first",
            "llm.input_messages.2.message.role": "user",
            prefix + "role": "assistant",
            prefix + "contents.0.message_content.type": "text",
            prefix + "contents.0.message_content.text": "Hello",
            prefix + "tool_calls.0.tool_call.function.name": "lookup",
            prefix + "tool_calls.0.tool_call.function.arguments": "{}",
            "input.value": "the whole request",
        }
    )
    assert [message["content"] for message in json.loads(span.input or "")] == ["first", "last"]
    (message,) = json.loads(span.output or "")
    assert message["content"] == [{"text": "Hello", "type": "text"}]
    assert message["tool_calls"] == [{"function": {"arguments": "{}", "name": "lookup"}}]
    assert (span.model, span.input_tokens, span.output_tokens) == ("gpt", 5, None)


def test_openinference_texts_that_were_hidden(put_together: Any) -> None:
    hidden = {"openinference.span.kind": "LLM", "input.value": "__REDACTED__", "output.value": "__REDACTED__"}
    (trace,) = put_together(READER.parse(document(otlp_span(CALL_ID, None, 0, attributes=hidden))))
    assert (trace.content_captured, trace.user_message, trace.final_output) == (False, None, None)


def test_openinference_metadata(put_together: Any) -> None:
    attributes = {
        "openinference.span.kind": "AGENT",
        "agent.name": "Support",
        "session.id": "s",
        "user.id": "u-1",
        "metadata": '{"release": "3", "plan": "gold"}',
        "tag.tags": ["beta"],
    }
    (trace,) = put_together(
        READER.parse(document(otlp_span(CALL_ID, None, 0, attributes=attributes), resource=RESOURCE))
    )
    assert (trace.session_id, trace.release, trace.agent) == ("s", "3", "Support")
    assert trace.tags == {"beta": "true", "environment": "prod", "plan": "gold", "service": "shop", "user_id": "u-1"}


@pytest.mark.parametrize(
    "message",
    [
        "Guardrail tripwire triggered: {'guardrail': 'no_secrets'}",
        "{'message': 'Guardrail tripwire triggered', 'data': {'guardrail': 'no_secrets'}}",
    ],
    ids=["OpenInference", "GenAI"],
)
@pytest.mark.parametrize("convention", [{"openinference.span.kind": "AGENT"}, AGENT], ids=["OpenInference", "GenAI"])
def test_a_guardrail_in_a_status_message(put_together: Any, message: str, convention: dict[str, Any]) -> None:
    span = otlp_span(CALL_ID, None, 0, attributes=convention, status={"code": 2, "message": message})
    (trace,) = put_together(READER.parse(document(span)))
    assert (trace.status, trace.guardrails_triggered) == ("blocked", 1)


def log_document(**record: Any) -> dict[str, Any]:
    attributes = [attribute(key, value) for key, value in record.pop("attributes", CHAT).items()]
    record = {
        "traceId": TRACE_ID,
        "spanId": CALL_ID,
        "eventName": "gen_ai.client.inference.operation.details",
        **record,
    }
    return {"resourceLogs": [{"scopeLogs": [{"logRecords": [{**record, "body": {}, "attributes": attributes}]}]}]}


def test_a_log_record_completes_its_span(put_together: Any) -> None:
    silent = {key: value for key, value in CHAT.items() if key not in MESSAGES}
    spans = document(otlp_span(CALL_ID, ROOT_ID, 1, attributes=silent), otlp_span(ROOT_ID, None, 0, attributes=AGENT))
    for order in ((spans, log_document()), (log_document(), spans)):
        (trace,) = put_together(fragment for part in order for fragment in READER.parse(part))
        assert (trace.user_message, trace.final_output, trace.content_captured) == ("Hi", "Hello", True)
        assert (trace.num_turns, len(trace.spans)) == (1, 2)


@pytest.mark.parametrize(
    "record",
    [
        {"eventName": "app.started"},
        {"traceId": ""},
        {"attributes": {"gen_ai.operation.name": "chat"}},
    ],
    ids=["another event", "outside a trace", "no texts"],
)
def test_log_records_that_say_nothing_of_a_trace_give_no_fragment(record: dict[str, Any]) -> None:
    assert list(READER.parse(log_document(**record))) == []


def test_what_can_be_read_of_a_document_is_given_before_the_error() -> None:
    found = []
    with pytest.raises(ReadError, match="expected two ids"):
        for fragment in READER.parse(document({**otlp_span("", None, 0)}, otlp_span(CALL_ID, None, 0))):
            found.append(fragment)
    assert [span.span_id for fragment in found for span in fragment.spans] == [CALL_ID]


@pytest.mark.parametrize("other", [None, 3, {}, {"data": []}, ["x"]])
def test_other_documents_are_refused(other: object) -> None:
    with pytest.raises(ReadError, match="expected an object with resourceSpans"):
        list(READER.parse(other))


@pytest.mark.parametrize(
    ("head", "matches"),
    [
        (json.dumps(OFFICIAL).encode(), True),
        (b'{\n "batches": [', True),
        (b'{"resourceLogs":[', True),
        (b'{"object":"trace"}', False),
        (b'{"trace_id":"1","final_output":"resourceSpans"}', False),
    ],
)
def test_matches(head: bytes, matches: bool) -> None:
    assert READER.matches(head) is matches
