"""What a server's answer says, in one form for both APIs, and the error for a request that brought none."""

from __future__ import annotations

from dataclasses import dataclass

import orjson

from grader.errors import FailureStage, JudgeError


class CallError(JudgeError):
    """One HTTP request that gave no reply. `retry_after_seconds` is what the server asked for, if it did."""

    def __init__(
        self, stage: FailureStage, message: str, *, retryable: bool, retry_after_seconds: float | None = None
    ) -> None:
        super().__init__(stage, message)
        self.retryable = retryable
        self.retry_after_seconds = retry_after_seconds


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelReply:
    """What a model said. `refusal` is its reason when it declined; `cut_off` when it ran into the token limit."""

    text: str
    refusal: str | None
    cut_off: bool
    input_tokens: int | None
    output_tokens: int | None


def read_chat(content: bytes) -> ModelReply:
    """The reply in a chat completion. Raises CallError (unparsed) for a body that is none."""
    try:
        body = orjson.loads(content)
        choice, usage = body["choices"][0], body.get("usage")
        message, finish = choice["message"], choice.get("finish_reason")
        text, refusal = message.get("content") or "", message.get("refusal")
    except (orjson.JSONDecodeError, LookupError, TypeError, AttributeError) as error:
        raise _unreadable(error) from error
    if refusal is None and finish == "content_filter":
        refusal = "stopped by the server's content filter"
    return ModelReply(
        text=str(text),
        refusal=None if refusal is None else str(refusal),
        cut_off=finish == "length",
        input_tokens=_count(usage, "prompt_tokens"),
        output_tokens=_count(usage, "completion_tokens"),
    )


def read_response(content: bytes) -> ModelReply:
    """The reply in a body of the Responses API. Raises CallError (unparsed) for a body that is none."""
    try:
        body = orjson.loads(content)
        parts = [part for item in body["output"] if item["type"] == "message" for part in item["content"]]
        text = "".join(part["text"] for part in parts if part["type"] == "output_text")
        refusal = next((part["refusal"] for part in parts if part["type"] == "refusal"), None)
        usage, reason = body.get("usage"), (body.get("incomplete_details") or {}).get("reason")
    except (orjson.JSONDecodeError, LookupError, TypeError, AttributeError) as error:
        raise _unreadable(error) from error
    if refusal is None and reason == "content_filter":
        refusal = "stopped by the server's content filter"
    return ModelReply(
        text=text,
        refusal=None if refusal is None else str(refusal),
        cut_off=reason == "max_output_tokens",
        input_tokens=_count(usage, "input_tokens"),
        output_tokens=_count(usage, "output_tokens"),
    )


def _unreadable(error: Exception) -> CallError:
    return CallError("unparsed", f"the server's reply is no completion: {type(error).__name__}", retryable=True)


def _count(usage: object, name: str) -> int | None:
    value = usage.get(name) if isinstance(usage, dict) else None
    return value if type(value) is int and value >= 0 else None
