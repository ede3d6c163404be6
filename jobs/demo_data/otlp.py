"""Demo runs as OTLP JSON lines with the OpenTelemetry GenAI conventions (schema 1.37.0)."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from jobs.demo_data.run import DemoRun, Step

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SCHEMA = "https://opentelemetry.io/schemas/1.37.0"
Json = dict[str, Any]


def otlp_lines(run: DemoRun, *, split: bool) -> list[str]:
    """One export request; two where `split`: model and tool calls first, agent and workflow when they end."""
    calls, parents = _calls(run), _parents(run)
    return [_request(run, spans) for spans in ((calls, parents) if split and calls else (calls + parents,))]


def _request(run: DemoRun, spans: list[Json]) -> str:
    resource = {
        "service.name": f"{run.agent.name}-agent",
        "service.version": run.release,
        "deployment.environment.name": "production",
    }
    scope = {"name": "opentelemetry.instrumentation.genai", "version": "1.3b0"}
    scope_spans = [{"scope": scope, "spans": spans, "schemaUrl": _SCHEMA}]
    document = {"resourceSpans": [{"resource": {"attributes": _attributes(resource)}, "scopeSpans": scope_spans}]}
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"))


def _parents(run: DemoRun) -> list[Json]:
    agent: dict[str, object] = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": run.agent.name}
    workflow: dict[str, object] = {"gen_ai.operation.name": "invoke_workflow", "gen_ai.workflow.name": run.topic}
    session: dict[str, object] = {"gen_ai.conversation.id": run.session_id}
    error = next((step.error for step in run.steps if step.error), None)
    message = str({"message": "Error in agent run", "data": {"error": error}}) if error else None
    name = f"invoke_agent {run.agent.name}"
    return [
        _span(run, 1, 0, name, 1, (1, run.duration_ms - 4), agent | session, message),
        _span(run, 0, None, f"invoke_workflow {run.topic}", 1, (0, run.duration_ms), workflow | session, None),
    ]


def _calls(run: DemoRun) -> list[Json]:
    spans = []
    messages: list[Json] = [_message("user", [{"type": "text", "content": run.question}])]
    for number, step in enumerate(run.steps, start=2):
        if step.call is None:
            spans.append(_model_span(run, number, step, messages))
            messages = [*messages, _reply(step)]
        else:
            spans.append(_tool_span(run, number, step))
            result = {
                "type": "tool_call_response",
                "id": f"call_{number}",
                "response": step.call.output or step.call.error,
            }
            messages = [*messages, _message("tool", [result])]
    return spans


def _model_span(run: DemoRun, number: int, step: Step, messages: list[Json]) -> Json:
    attributes: dict[str, object] = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": run.agent.provider,
        "gen_ai.request.model": run.agent.model,
        "gen_ai.conversation.id": run.session_id,
        "gen_ai.input.messages": json.dumps(messages, ensure_ascii=False),
    }
    if step.error:
        attributes["error.type"] = "InternalServerError"
    else:
        reply = {**_reply(step), "finish_reason": "tool_calls" if step.asks else "stop"}
        attributes |= {
            "gen_ai.response.model": run.agent.model,
            "gen_ai.response.finish_reasons": [reply["finish_reason"]],
            "gen_ai.usage.input_tokens": step.input_tokens,
            "gen_ai.usage.output_tokens": step.output_tokens,
            "operation.cost": run.cost_usd(step),
            "gen_ai.output.messages": json.dumps([reply], ensure_ascii=False),
        }
    times = (step.start_ms, step.end_ms)
    return _span(run, number, 1, f"chat {run.agent.model}", 3, times, attributes, step.error)


def _tool_span(run: DemoRun, number: int, step: Step) -> Json:
    call = step.call
    assert call is not None
    attributes: dict[str, object] = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": call.tool,
        "gen_ai.tool.type": "function",
        "gen_ai.tool.call.id": f"call_{number}",
        "gen_ai.tool.call.arguments": call.arguments,
    }
    if call.output is not None:
        attributes["gen_ai.tool.call.result"] = call.output
    if call.error:
        attributes["error.type"] = "_OTHER"
    times = (step.start_ms, step.end_ms)
    return _span(run, number, 1, f"execute_tool {call.tool}", 1, times, attributes, call.error)


def _reply(step: Step) -> Json:
    if step.asks:
        calls = [
            {"type": "tool_call", "name": call.tool, "arguments": json.loads(call.arguments)} for call in step.asks
        ]
        return _message("assistant", calls)
    return _message("assistant", [{"type": "text", "content": step.text or ""}])


def _message(role: str, parts: list[Json]) -> Json:
    return {"role": role, "parts": parts}


def _span(
    run: DemoRun,
    number: int,
    parent: int | None,
    name: str,
    kind: int,
    times_ms: tuple[int, int],
    attributes: dict[str, object],
    error: str | None,
) -> Json:
    span: Json = {
        "traceId": run.trace_id,
        "spanId": _span_id(run, number),
        "name": name,
        "kind": kind,
        "startTimeUnixNano": _unix_ns(run, times_ms[0]),
        "endTimeUnixNano": _unix_ns(run, times_ms[1]),
        "attributes": _attributes(attributes),
        "status": {"code": 2, "message": error} if error else {},
    }
    return span if parent is None else {**span, "parentSpanId": _span_id(run, parent)}


def _span_id(run: DemoRun, number: int) -> str:
    return f"{run.trace_id[:12]}{number:04x}"


def _unix_ns(run: DemoRun, offset_ms: int) -> str:
    since = run.started_at - _EPOCH
    return str(((since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds + offset_ms * 1_000) * 1_000)


def _attributes(values: dict[str, Any]) -> list[Json]:
    return [{"key": key, "value": _value(value)} for key, value in values.items()]


def _value(value: object) -> Json:
    if isinstance(value, list):
        return {"arrayValue": {"values": [_value(item) for item in value]}}
    if isinstance(value, int):
        return {"intValue": str(value)}
    return {"doubleValue": value} if isinstance(value, float) else {"stringValue": str(value)}
