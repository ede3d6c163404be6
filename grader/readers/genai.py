"""OpenTelemetry GenAI semantic conventions: attributes → fields of Span (FORMATS.md, C2).

Current names (1.37 to 1.41) and the older ones still in use: `gen_ai.system`, `prompt_tokens`/`completion_tokens`,
`gen_ai.prompt.N.*`/`gen_ai.completion.N.*`, pydantic-ai's own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from grader.readers.facts import FACTS, TOOL_DEFINITIONS, SpanFacts, sdk_error_facts, sdk_error_from_status
from grader.readers.json_text import as_count, as_float, as_text, encode
from grader.records import SpanKind

Attributes = dict[str, Any]

_KINDS: Mapping[str, SpanKind] = {
    "chat": "model",
    "generate_content": "model",
    "text_completion": "model",
    "execute_tool": "tool",
    "invoke_agent": "agent",
    "create_agent": "agent",
    "invoke_workflow": "chain",
    "embeddings": "embedding",
    "retrieval": "retriever",
    "evaluate": "evaluator",
}
_INPUT = ("gen_ai.input.messages", "pydantic_ai.all_messages", "gen_ai.prompt")
_OUTPUT = ("gen_ai.output.messages", "final_result", "gen_ai.completion")
_ARGUMENTS = ("gen_ai.tool.call.arguments", "tool_arguments", "traceloop.entity.input")
_RESULT = ("gen_ai.tool.call.result", "tool_response", "traceloop.entity.output")
_INPUT_TOKENS = ("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens", "gen_ai.aggregated_usage.input_tokens")
_OUTPUT_TOKENS = (
    "gen_ai.usage.output_tokens",
    "gen_ai.usage.completion_tokens",
    "gen_ai.aggregated_usage.output_tokens",
)
_SESSION = ("gen_ai.conversation.id", "session.id")
_MODEL = ("gen_ai.response.model", "gen_ai.request.model")
_NAMED_KINDS: Mapping[SpanKind, str] = {
    "chain": "gen_ai.workflow.name",
    "tool": "gen_ai.tool.name",
    "agent": "gen_ai.agent.name",
}
_COST = ("operation.cost", "gen_ai.usage.cost")
_TOOLS = "gen_ai.tool.definitions"
_OPERATION = "gen_ai.operation.name"
_MARKERS = ("gen_ai.provider.name", "gen_ai.system", "gen_ai.request.model", "gen_ai.tool.name")
_CALL_FIELDS = frozenset((_OPERATION, _TOOLS, *_INPUT, *_OUTPUT, *_INPUT_TOKENS, *_OUTPUT_TOKENS, *_SESSION, *_COST))
_HELD: Mapping[str, frozenset[str]] = {  # by kind: the attributes that fields of Span hold
    "model": _CALL_FIELDS.union(_MODEL),
    "embedding": _CALL_FIELDS.union(_MODEL),
    "tool": frozenset((_OPERATION, "gen_ai.tool.name", *_ARGUMENTS, *_RESULT, *_SESSION)),
    "agent": _CALL_FIELDS.union(("gen_ai.agent.name",)),
    "chain": _CALL_FIELDS.union(("gen_ai.workflow.name",)),
}
_FLATTENED = re.compile(r"gen_ai\.(prompt|completion)\.(\d+)\.(.+)")
_FLATTENED_START = "gen_ai.prompt.0.role"


def follows(attributes: Mapping[str, object]) -> bool:
    """Whether a span with these attributes is written by the GenAI conventions."""
    return _OPERATION in attributes or any(marker in attributes for marker in _MARKERS)


def read(span: Mapping[str, Any], attributes: Attributes, resource_facts: SpanFacts) -> dict[str, Any]:
    """The fields of Span that the attributes hold; what they do not hold becomes its `attributes`."""
    kind = _kind(attributes)
    fields: dict[str, Any] = {"kind": kind, "name": _name(span, attributes, kind)}
    if kind == "tool":
        asked, answered = as_text(_first(attributes, _ARGUMENTS)), as_text(_first(attributes, _RESULT))
    else:
        if kind == "model" and _FLATTENED_START in attributes:
            attributes = _without_flattened(attributes)
        asked, answered = as_text(_first(attributes, _INPUT)), as_text(_first(attributes, _OUTPUT))
        fields["input_tokens"] = as_count(_first(attributes, _INPUT_TOKENS))
        fields["output_tokens"] = as_count(_first(attributes, _OUTPUT_TOKENS))
        fields["cost_usd"] = as_float(_first(attributes, _COST))
        if kind in ("model", "embedding"):
            fields["model"] = _first(attributes, _MODEL)
    fields["input"], fields["output"] = asked, answered
    facts = _facts(span, attributes, kind, resource_facts, has_content=asked is not None or answered is not None)
    held = _HELD.get(kind, _CALL_FIELDS)
    rest = {key: value for key, value in attributes.items() if key not in held}
    if _TOOLS in attributes:
        rest[TOOL_DEFINITIONS] = attributes[_TOOLS]
    if facts:
        rest[FACTS] = facts
    fields["attributes"] = rest
    return fields


def _kind(attributes: Attributes) -> SpanKind:
    operation = attributes.get(_OPERATION)
    if operation is not None:
        return _KINDS.get(operation, "other")
    if attributes.get("gen_ai.tool.name"):
        return "tool"
    return "model" if attributes.get("gen_ai.request.model") else "other"


def _name(span: Mapping[str, Any], attributes: Attributes, kind: SpanKind) -> str:
    """The name of what ran, where the conventions name it, else the span's own."""
    key = _NAMED_KINDS.get(kind)
    return str((key and attributes.get(key)) or span.get("name") or "")


def _first(attributes: Attributes, keys: tuple[str, ...]) -> Any:
    """The value under the first of `keys` that has one: later keys say the same in older words."""
    for key in keys:
        value = attributes.get(key)
        if value is not None:
            return value
    return None


def _without_flattened(attributes: Attributes) -> Attributes:
    """Attributes whose messages come in the oldest form, one attribute a member (`gen_ai.prompt.0.role`,
    `gen_ai.completion.0.content`), with the messages put together."""
    sides: dict[str, dict[int, dict[str, object]]] = {"prompt": {}, "completion": {}}
    rest: Attributes = {}
    for key, value in attributes.items():
        match = _FLATTENED.fullmatch(key)
        if match:
            sides[match[1]].setdefault(int(match[2]), {})[match[3]] = value
        else:
            rest[key] = value
    for name, side in ((_INPUT[0], sides["prompt"]), (_OUTPUT[0], sides["completion"])):
        if side:
            rest.setdefault(name, encode([side[index] for index in sorted(side)]))
    return rest


def _facts(
    span: Mapping[str, Any], attributes: Attributes, kind: SpanKind, resource_facts: SpanFacts, *, has_content: bool
) -> SpanFacts:
    """The resource's facts and the span's own, which count more. The resource's object itself where there are none."""
    own: SpanFacts = {}
    session = _first(attributes, _SESSION)
    if session:
        own["session"] = str(session)
    if attributes.get("gen_ai.agent.version"):
        own["release"] = str(attributes["gen_ai.agent.version"])
    if kind == "agent" and attributes.get("gen_ai.agent.name"):
        own["agent"] = str(attributes["gen_ai.agent.name"])
    if kind == "model":
        reasons = attributes.get("gen_ai.response.finish_reasons")
        if isinstance(reasons, list) and any(reason in ("tool_calls", "tool_call", "tool_use") for reason in reasons):
            own["asks_tools"] = True
        if not has_content:
            own["no_content"] = True
    status = span.get("status")
    if status and status.get("message") and kind in ("agent", "chain"):
        own.update(sdk_error_facts(*sdk_error_from_status(str(status["message"]))))
    return {**resource_facts, **own} if own else resource_facts
