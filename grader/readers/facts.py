"""What a reader finds out about a span that no field of Span holds, in the words that `assemble.py` understands.

Kept as one object under `attributes["gradebook"]`, so that it is stored with the span and is there again when later
spans of the same trace arrive.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any, TypedDict

from grader.readers.json_text import encode
from grader.records import Span

FACTS = "gradebook"
TOOL_DEFINITIONS = "tool_definitions"  # attribute of a model call: the tools it was offered, as recorded


class SpanFacts(TypedDict, total=False):
    """Every key is absent where the format does not say."""

    session: str  # conversation that the span belongs to
    release: str  # version of the agent or its service
    agent: str  # name of the agent that the span is a run of
    tags: Mapping[str, str]
    triggered: bool  # a guardrail span: whether it fired
    tripped: str  # the run was stopped here by the guardrail of this name
    unknown_tool: str  # the model called a tool of this name, which does not exist
    asks_tools: bool  # a model call ended by asking for tools (finish reason)
    no_content: bool  # a model call whose texts the exporter did not record


_NOTHING: SpanFacts = {}


def facts_of(span: Span) -> SpanFacts:
    """The facts stored with `span`; empty where there are none."""
    facts: Any = span.attributes.get(FACTS, _NOTHING)
    return facts  # type: ignore[no-any-return]


def sdk_error_facts(message: str, data: object) -> SpanFacts:
    """What an error of the OpenAI Agents SDK means; empty for errors that mean nothing beyond failing."""
    details = data if isinstance(data, Mapping) else {}
    if message.startswith("Guardrail tripwire triggered"):
        return {"tripped": str(details.get("guardrail") or "unnamed")}
    if message.startswith("Tool not found"):
        return {"unknown_tool": str(details.get("tool_name") or "unnamed")}
    return {}


def sdk_error_text(message: str, data: object) -> str:
    """An SDK error as one line: the message, and its data as JSON where there is any."""
    return f"{message}: {encode(data)}" if data else message


def sdk_error_from_status(text: str) -> tuple[str, object]:
    """Message and data of an SDK error that another exporter wrote into a span's status message.

    Seen: `{'message': M, 'data': {…}}` (GenAI) and `M: {…}` (OpenInference), both a Python repr. Other texts come back
    as the message, without data.
    """
    if text.startswith("{'message':"):
        error = _python_literal(text)
        if isinstance(error, dict):
            return str(error.get("message")), error.get("data")
    message, separator, data = text.partition(": {")
    if separator:
        return message, _python_literal("{" + data)
    return text, None


def _python_literal(text: str) -> object:
    try:
        value: object = ast.literal_eval(text)
        return value
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None
