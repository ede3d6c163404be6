"""OpenInference (Arize, Phoenix): attributes → fields of Span (FORMATS.md, C3).

Messages come one attribute a member (`llm.input_messages.0.message.content`) and are put together again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from grader.readers.facts import FACTS, TOOL_DEFINITIONS, SpanFacts, sdk_error_facts, sdk_error_from_status
from grader.readers.json_text import as_count, as_float, as_text, decode_text, encode
from grader.readers.metadata import labels, release_of
from grader.records import SpanKind

Attributes = dict[str, Any]

_KINDS: Mapping[str, SpanKind] = {
    "LLM": "model",
    "TOOL": "tool",
    "AGENT": "agent",
    "CHAIN": "chain",
    "GUARDRAIL": "guardrail",
    "RETRIEVER": "retriever",
    "RERANKER": "retriever",
    "EMBEDDING": "embedding",
    "EVALUATOR": "evaluator",
}
_INPUT_MESSAGES = "llm.input_messages."
_OUTPUT_MESSAGES = "llm.output_messages."
_HANDOFF = "handoff to "
_REDACTED = "__REDACTED__"  # what the instrumentors write when they are told to hide texts


def read(span: Mapping[str, Any], attributes: Attributes, resource_facts: SpanFacts) -> dict[str, Any]:
    """The fields of Span that the attributes hold; what they do not hold stays in `attributes` (which is used up)."""
    name = str(span.get("name") or "")
    kind = _KINDS.get(str(attributes.pop("openinference.span.kind")).upper(), "other")
    if kind == "tool" and name.startswith(_HANDOFF):
        kind = "handoff"
    asked, answered = _texts(attributes, kind)
    facts = _facts(span, attributes, kind, resource_facts)
    if kind == "model" and asked is None and answered is None:
        facts = {**facts, "no_content": True}
    fields = {
        "kind": kind,
        "name": str(attributes.pop("tool.name", None) or name) if kind == "tool" else name,
        "input": asked,
        "output": answered,
        "model": attributes.pop("llm.model_name", None) or attributes.pop("embedding.model_name", None),
        "input_tokens": as_count(attributes.pop("llm.token_count.prompt", None)),
        "output_tokens": as_count(attributes.pop("llm.token_count.completion", None)),
        "cost_usd": as_float(attributes.pop("llm.cost.total", None)),
        "attributes": attributes,
    }
    tools = [attributes.pop(key) for key in sorted(attributes) if key.startswith("llm.tools.")]
    if tools:
        attributes[TOOL_DEFINITIONS] = tools
    if facts:
        attributes[FACTS] = facts
    return fields


def _texts(attributes: Attributes, kind: SpanKind) -> tuple[str | None, str | None]:
    """Input and output; of a model call the messages, which say what the raw request and response say, in one form."""
    raw = (_shown(attributes.pop("input.value", None)), _shown(attributes.pop("output.value", None)))
    attributes.pop("input.mime_type", None)
    attributes.pop("output.mime_type", None)
    if kind != "model":
        return raw
    asked = _pop_flattened(attributes, _INPUT_MESSAGES)
    answered = _pop_flattened(attributes, _OUTPUT_MESSAGES)
    return encode(asked) if asked else raw[0], encode(answered) if answered else raw[1]


def _shown(value: object) -> str | None:
    return None if value == _REDACTED else as_text(value)


def _pop_flattened(attributes: Attributes, prefix: str) -> list[object]:
    """The messages under `prefix`, each `{"role", "content", "tool_calls": [{"function": …}]}`; []: none."""
    tree: dict[str, Any] = {}
    for key in [key for key in attributes if key.startswith(prefix)]:
        value = attributes.pop(key)
        if value == _REDACTED:
            continue
        *path, last = key[len(prefix) :].split(".")
        node = tree
        for step in path:
            child = node.setdefault(step, {})
            node = child if isinstance(child, dict) else {}
        node[last] = value
    return [_message(entry.get("message", entry)) for entry in _as_list(tree) if isinstance(entry, dict)]


def _as_list(node: object) -> list[Any]:
    """The children of an indexed node in the order of their numbers."""
    if not isinstance(node, dict):
        return []
    return [node[key] for key in sorted(node, key=lambda key: (len(key), key))]


def _message(entry: Mapping[str, Any]) -> dict[str, Any]:
    message = {key: value for key, value in entry.items() if key not in ("contents", "tool_calls")}
    parts = [
        {"type": part.get("type"), "text": part.get("text")}
        for item in _as_list(entry.get("contents"))
        if isinstance(part := item.get("message_content", item), dict)
    ]
    if parts and "content" not in message:
        message["content"] = parts
    calls = [item.get("tool_call", item) for item in _as_list(entry.get("tool_calls"))]
    if calls:
        message["tool_calls"] = calls
    return message


def _facts(span: Mapping[str, Any], attributes: Attributes, kind: SpanKind, resource_facts: SpanFacts) -> SpanFacts:
    own: SpanFacts = {}
    if attributes.get("session.id"):
        own["session"] = str(attributes.pop("session.id"))
    tags = _tags(attributes, own)
    if tags:
        own["tags"] = {**resource_facts.get("tags", {}), **tags}
    agent = attributes.get("agent.name")
    if kind == "agent" and agent:
        own["agent"] = str(agent)
    status = span.get("status")
    if status and status.get("message") and kind in ("agent", "chain"):
        own.update(sdk_error_facts(*sdk_error_from_status(str(status["message"]))))
    return {**resource_facts, **own} if own else resource_facts


def _tags(attributes: Attributes, facts: SpanFacts) -> dict[str, str]:
    tags: dict[str, str] = {}
    if "metadata" in attributes:
        metadata = decode_text(attributes["metadata"])
        if isinstance(metadata, Mapping):
            release = release_of(metadata)
            if release is not None:
                facts["release"] = release
            tags.update(labels(metadata))
            del attributes["metadata"]
    words = attributes.pop("tag.tags", None)
    if isinstance(words, list):
        tags.update({str(word): "true" for word in words})
    user = attributes.pop("user.id", None)
    if user:
        tags["user_id"] = str(user)
    return tags
