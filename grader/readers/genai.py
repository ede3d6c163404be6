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
_OPERATION = "gen_ai.operation.name"
_TOOLS = "gen_ai.tool.definitions"
_MODELS = ("gen_ai.response.model", "gen_ai.request.model")
_MARKERS = ("gen_ai.provider.name", "gen_ai.system", "gen_ai.request.model", "gen_ai.tool.name")
_NAMED_KINDS: Mapping[SpanKind, str] = {
    "chain": "gen_ai.workflow.name",
    "tool": "gen_ai.tool.name",
    "agent": "gen_ai.agent.name",
}
_OLDER = "older"  # stands for every name below but the first of its line
_READ_ELSEWHERE = "read elsewhere"

# What is read of a span → the attributes that may hold it. Later names say the same in older words.
_SESSION = {"session": ("gen_ai.conversation.id", "session.id")}
_CALL_FIELDS: Mapping[str, tuple[str, ...]] = {
    "input": ("gen_ai.input.messages", "pydantic_ai.all_messages", "gen_ai.prompt"),
    "output": ("gen_ai.output.messages", "final_result", "gen_ai.completion"),
    "input_tokens": (
        "gen_ai.usage.input_tokens",
        "gen_ai.usage.prompt_tokens",
        "gen_ai.aggregated_usage.input_tokens",
    ),
    "output_tokens": (
        "gen_ai.usage.output_tokens",
        "gen_ai.usage.completion_tokens",
        "gen_ai.aggregated_usage.output_tokens",
    ),
    "cost_usd": ("operation.cost", "gen_ai.usage.cost"),
    **_SESSION,
}
_TOOL_FIELDS: Mapping[str, tuple[str, ...]] = {
    "input": ("gen_ai.tool.call.arguments", "tool_arguments", "traceloop.entity.input"),
    "output": ("gen_ai.tool.call.result", "tool_response", "traceloop.entity.output"),
    **_SESSION,
}


def _held(fields: Mapping[str, tuple[str, ...]], *read_elsewhere: str) -> Mapping[str, str]:
    """Attribute → what is read from it."""
    return {
        **dict.fromkeys((_OPERATION, *read_elsewhere), _READ_ELSEWHERE),
        **{key: name if key == keys[0] else _OLDER for name, keys in fields.items() for key in keys},
    }


_HELD_BY_CALLS = _held(_CALL_FIELDS, _TOOLS)
_HELD: Mapping[SpanKind, Mapping[str, str]] = {  # kinds that hold more, or other, than calls
    "model": _held(_CALL_FIELDS, _TOOLS, *_MODELS),
    "embedding": _held(_CALL_FIELDS, _TOOLS, *_MODELS),
    "tool": _held(_TOOL_FIELDS, "gen_ai.tool.name"),
    "agent": _held(_CALL_FIELDS, _TOOLS, "gen_ai.agent.name"),
    "chain": _held(_CALL_FIELDS, _TOOLS, "gen_ai.workflow.name"),
}
_FLATTENED = re.compile(r"gen_ai\.(prompt|completion)\.(\d+)\.(.+)")
_FLATTENED_START = "gen_ai.prompt.0.role"


def follows(attributes: Mapping[str, object]) -> bool:
    """Whether a span with these attributes is written by the GenAI conventions."""
    return _OPERATION in attributes or any(marker in attributes for marker in _MARKERS)


def read(span: Mapping[str, Any], attributes: Attributes, resource_facts: SpanFacts) -> dict[str, Any]:
    """The fields of Span that the attributes hold; what they do not hold becomes its `attributes`."""
    kind = _kind(attributes)
    if kind == "model" and _FLATTENED_START in attributes:
        attributes = _without_flattened(attributes)
    found, rest = _sorted_out(attributes, kind)
    asked, answered = as_text(found.get("input")), as_text(found.get("output"))
    fields: dict[str, Any] = {"kind": kind, "name": _name(span, attributes, kind), "input": asked, "output": answered}
    if kind != "tool":
        fields["input_tokens"] = as_count(found.get("input_tokens"))
        fields["output_tokens"] = as_count(found.get("output_tokens"))
        fields["cost_usd"] = as_float(found.get("cost_usd"))
        if kind in ("model", "embedding"):
            fields["model"] = _first(attributes, _MODELS)
        if _TOOLS in attributes:
            rest[TOOL_DEFINITIONS] = attributes[_TOOLS]
    has_content = asked is not None or answered is not None
    facts = _facts(span, attributes, kind, found.get("session"), has_content=has_content)
    if facts or resource_facts:
        rest[FACTS] = {**resource_facts, **facts} if facts else resource_facts  # the span's own count more
    fields["attributes"] = rest
    return fields


def _sorted_out(attributes: Attributes, kind: SpanKind) -> tuple[Attributes, Attributes]:
    """What the attributes say, by the names in `_CALL_FIELDS` or `_TOOL_FIELDS`; and the attributes that say more."""
    held = _HELD.get(kind, _HELD_BY_CALLS)
    found: Attributes = {}
    rest: Attributes = {}
    for key, value in attributes.items():
        name = held.get(key)
        if name is None:
            rest[key] = value
        else:
            found[name] = value
    if _OLDER in found:
        for name, keys in (_TOOL_FIELDS if kind == "tool" else _CALL_FIELDS).items():
            found[name] = _first(attributes, keys)
    return found, rest


def _kind(attributes: Attributes) -> SpanKind:
    operation = attributes.get(_OPERATION)
    if operation is not None:
        return _KINDS.get(str(operation), "other")
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
    for name, side in (("input", sides["prompt"]), ("output", sides["completion"])):
        if side:
            rest.setdefault(_CALL_FIELDS[name][0], encode([side[index] for index in sorted(side)]))
    return rest


def _facts(
    span: Mapping[str, Any], attributes: Attributes, kind: SpanKind, session: object, *, has_content: bool
) -> SpanFacts:
    """What the span itself says beyond its fields."""
    facts: SpanFacts = {}
    if session:
        facts["session"] = str(session)
    if attributes.get("gen_ai.agent.version"):
        facts["release"] = str(attributes["gen_ai.agent.version"])
    if kind == "agent" and attributes.get("gen_ai.agent.name"):
        facts["agent"] = str(attributes["gen_ai.agent.name"])
    if kind == "model":
        reasons = attributes.get("gen_ai.response.finish_reasons")
        if isinstance(reasons, list) and any(reason in ("tool_calls", "tool_call", "tool_use") for reason in reasons):
            facts["asks_tools"] = True
        if not has_content:
            facts["no_content"] = True
    status = span.get("status")
    if status and status.get("message") and kind in ("agent", "chain"):
        facts.update(sdk_error_facts(*sdk_error_from_status(str(status["message"]))))
    return facts
