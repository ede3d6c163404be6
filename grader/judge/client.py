"""One call of a model behind an OpenAI-compatible API. The only module that imports an LLM client.

Calls go through `AsyncOpenAI.post` with a body made by orjson, over the client's aiohttp transport: 1.4 ms of CPU a
call, against 5 ms for `chat.completions.create` over the default transport (docs/performance.md). Retries, time limits
and checks of the reply are ours (attempts.py), so the client's own are off.
"""

from __future__ import annotations

import asyncio
import email.utils
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any, Literal

import httpx2
import orjson
from openai import APIConnectionError, APIStatusError, AsyncOpenAI, DefaultAioHttpClient, Omit
from pydantic import SecretStr

from grader.errors import FailureStage, JudgeError
from grader.judge.prompt import Message
from grader.settings import JudgeSettings

Structured = Literal["json_schema", "json_object", "text"]
WEAKER: Mapping[Structured, Structured] = {"json_schema": "json_object", "json_object": "text"}
MESSAGE_CHARS = 300

# The client tells servers about the machine it runs on; nobody asked for that.
_NO_TELEMETRY = dict.fromkeys(
    (
        "X-Stainless-Lang",
        "X-Stainless-Package-Version",
        "X-Stainless-OS",
        "X-Stainless-Arch",
        "X-Stainless-Runtime",
        "X-Stainless-Runtime-Version",
        "X-Stainless-Async",
        "x-stainless-retry-count",
        "x-stainless-read-timeout",
    ),
    Omit(),
)


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


@dataclass(frozen=True, slots=True)
class RequestShape:
    """How requests are put to this server: learned from its refusals once a run, then kept."""

    structured: Structured
    token_limit: Literal["max_completion_tokens", "max_tokens", "max_output_tokens"]
    temperature: float | None

    def weaker(self, error: APIStatusError) -> RequestShape | None:
        """The shape without what `error` complains about; None: it complains about something else."""
        if error.status_code not in (400, 415, 422, 501):
            return None
        complaint = f"{error.param or ''} {error.message}"
        if self.structured in WEAKER and any(name in complaint for name in _NAMES_OF_FORMAT):
            return replace(self, structured=WEAKER[self.structured])
        if self.token_limit == "max_completion_tokens" and "max_completion_tokens" in complaint:  # noqa: S105 - no password
            return replace(self, token_limit="max_tokens")  # noqa: S106 - no password
        if self.temperature is not None and "temperature" in complaint:
            return replace(self, temperature=None)
        return None


Ask = Callable[[Sequence[Message]], Awaitable[ModelReply]]
_NAMES_OF_FORMAT = ("response_format", "text.format", "json_schema", "json_object")


class ModelClient:
    """One model on one server. What it learns about the server it keeps from one `connected` to the next."""

    def __init__(self, settings: JudgeSettings, api_key: SecretStr, json_schema: Mapping[str, Any]) -> None:
        self._settings = settings
        self._api_key = api_key
        self._json_schema = json_schema
        self._path = "/chat/completions" if settings.api == "chat" else "/responses"
        structured = settings.structured_output
        self.shape = RequestShape(
            structured="json_schema" if structured == "auto" else structured,
            token_limit="max_completion_tokens" if settings.api == "chat" else "max_output_tokens",
            temperature=settings.temperature,
        )
        self._fixed = self._fixed_body()

    @asynccontextmanager
    async def connected(self) -> AsyncIterator[Ask]:
        """The function that asks; on this event loop only. The pool has a connection for each call at once."""
        most = self._settings.concurrency
        # no time limits of the transport: they are per read, and a server that trickles would pass them all
        transport = DefaultAioHttpClient(
            limits=httpx2.Limits(max_connections=most, max_keepalive_connections=most), timeout=None
        )
        async with AsyncOpenAI(
            api_key=self._api_key.get_secret_value(),
            base_url=self._settings.base_url,
            max_retries=0,
            timeout=None,
            http_client=transport,
        ) as http:
            yield lambda messages: self._ask(http, messages)

    async def _ask(self, http: AsyncOpenAI, messages: Sequence[Message]) -> ModelReply:
        """The model's reply. Raises CallError; ends within `call_timeout_seconds`, also when bytes trickle in."""
        limit = self._settings.call_timeout_seconds
        try:
            async with asyncio.timeout(limit):
                content = await self._send(http, messages)
        except TimeoutError:
            raise CallError("timeout", f"no complete reply within {limit:g} s", retryable=True) from None
        except APIStatusError as error:
            raise _status_error(error, secret=self._api_key.get_secret_value()) from error
        except Exception as error:
            raise _connection_error(error) from error
        return _read_chat(content) if self._settings.api == "chat" else _read_response(content)

    async def _send(self, http: AsyncOpenAI, messages: Sequence[Message]) -> bytes:
        """One exchange; asked again at once, in a weaker shape, when the server does not take this one."""
        while True:
            shape = self.shape
            key = "messages" if self._settings.api == "chat" else "input"
            body = orjson.dumps(self._fixed | {key: messages})
            try:
                response = await http.post(
                    self._path, cast_to=httpx2.Response, content=body, options={"headers": _NO_TELEMETRY}
                )
            except APIStatusError as error:
                weaker = shape.weaker(error)
                if weaker is None or (weaker.structured != shape.structured and not self._may_fall_back):
                    raise
                if self.shape == shape:  # else another call has learned it meanwhile
                    self.shape = weaker
                    self._fixed = self._fixed_body()
                continue
            return response.content

    @property
    def _may_fall_back(self) -> bool:
        return self._settings.structured_output == "auto"

    def _fixed_body(self) -> dict[str, Any]:
        """All of a request but the messages."""
        shape = self.shape
        body: dict[str, Any] = {"model": self._settings.model, shape.token_limit: self._settings.max_output_tokens}
        if shape.temperature is not None:
            body["temperature"] = shape.temperature
        chat = self._settings.api == "chat"
        if shape.structured == "json_object":
            wanted: dict[str, Any] = {"type": "json_object"}
            body |= {"response_format": wanted} if chat else {"text": {"format": wanted}}
        elif shape.structured == "json_schema":
            schema = {"name": "judgement", "strict": True, "schema": self._json_schema}
            body |= (
                {"response_format": {"type": "json_schema", "json_schema": schema}}
                if chat
                else {"text": {"format": {"type": "json_schema", **schema}}}
            )
        return body if chat else body | {"store": False}


def _status_error(error: APIStatusError, *, secret: str) -> CallError:
    status, code = error.status_code, error.code or error.type or ""
    said = error.body.get("message") if isinstance(error.body, dict) else None
    # some servers repeat the key that they refuse
    message = f"HTTP {status}: {_short(str(said or error.message).replace(secret, '(the key)'))}"
    if status == 402 or code in ("insufficient_quota", "billing_hard_limit_reached", "billing_not_active"):
        return CallError("billing", message, retryable=False)
    if status in (401, 403):
        return CallError("auth", message, retryable=False)
    if status == 429:
        wait = retry_after_seconds(error.response.headers)
        return CallError("rate_limit", message, retryable=True, retry_after_seconds=wait)
    if code in ("content_filter", "content_policy_violation"):
        return CallError("refusal", message, retryable=False)
    if status in (408, 504):
        return CallError("timeout", message, retryable=True)
    wait = retry_after_seconds(error.response.headers)
    return CallError("server", message, retryable=status >= 500 or status == 409, retry_after_seconds=wait)


def _connection_error(error: Exception) -> CallError:
    # the aiohttp transport calls a refused connection a time-out: the root cause says what it was
    root: BaseException = error
    while isinstance(root, (APIConnectionError, httpx2.HTTPError)) and root.__cause__ is not None:
        root = root.__cause__
    return CallError("server", f"no connection: {type(root).__name__}: {_short(str(root))}", retryable=True)


def retry_after_seconds(headers: Mapping[str, str]) -> float | None:
    """How long the server asks to wait: `retry-after-ms`, or `Retry-After` in seconds or as an HTTP date (RFC 9110,
    section 10.2.3). None: it does not say, or nothing that can be read."""
    for name, unit_seconds in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            seconds = float(headers[name]) * unit_seconds
        except (KeyError, ValueError):
            continue
        if 0 <= seconds < float("inf"):
            return seconds
    try:
        moment = email.utils.parsedate_to_datetime(headers["retry-after"])
    except (KeyError, ValueError):
        return None
    return max(0.0, moment.timestamp() - time.time())


def _read_chat(content: bytes) -> ModelReply:
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


def _read_response(content: bytes) -> ModelReply:
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


def _short(text: str) -> str:
    return " ".join(text.split())[:MESSAGE_CHARS]
