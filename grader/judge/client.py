"""One call of a model behind an OpenAI-compatible API. The only module that imports an LLM client.

The OpenAI client says where requests go and with which headers, so that OPENAI_BASE_URL, OPENAI_ORG_ID and the like
work as everywhere; the requests themselves go over one aiohttp session. CPU a call, same server and prompt: aiohttp
0.4 ms; the client's `post` over its aiohttp transport 1.7 ms, its `create` over the default one 5 ms. Retries and time
limits of a trace are in openai_judge.py.
"""

from __future__ import annotations

import asyncio
import base64
import email.utils
import ssl
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any, Literal
from urllib.parse import unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp
import orjson
from pydantic import SecretStr

from grader.judge.prompt import Message
from grader.judge.replies import CallError, ModelReply, read_chat, read_response
from grader.settings import JudgeSettings

Structured = Literal["json_schema", "json_object", "text"]
WEAKER: Mapping[Structured, Structured] = {"json_schema": "json_object", "json_object": "text"}
MESSAGE_CHARS = 300


class StatusError(Exception):
    """An HTTP answer of 400 or above, with what its body says of the error."""

    def __init__(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        try:
            said = orjson.loads(body)
        except orjson.JSONDecodeError:
            said = None
        error = said.get("error", said) if isinstance(said, dict) else said
        fields = error if isinstance(error, dict) else {"message": error or body.decode(errors="replace")}
        self.status = status
        self.headers = headers
        self.message = str(fields.get("message") or "no message")
        self.code = str(fields.get("code") or fields.get("type") or "")
        self.param = str(fields.get("param") or "")
        super().__init__(f"HTTP {status}: {self.message}")


@dataclass(frozen=True, slots=True)
class RequestShape:
    """How requests are put to this server: learned from its refusals once a run, then kept."""

    structured: Structured
    token_limit: Literal["max_completion_tokens", "max_tokens", "max_output_tokens"]
    temperature: float | None

    def weaker(self, error: StatusError) -> RequestShape | None:
        """The shape without what `error` complains about; None: it complains about something else."""
        if error.status not in (400, 415, 422, 501):
            return None
        complaint = f"{error.param} {error.message}"
        if self.structured in WEAKER and any(name in complaint for name in _NAMES_OF_FORMAT):
            return replace(self, structured=WEAKER[self.structured])
        if self.token_limit == "max_completion_tokens" and "max_completion_tokens" in complaint:  # noqa: S105 - no password
            return replace(self, token_limit="max_tokens")  # noqa: S106 - no password
        if self.temperature is not None and "temperature" in complaint:
            return replace(self, temperature=None)
        return None


Ask = Callable[[Sequence[Message]], Awaitable[ModelReply]]
Post = Callable[[bytes], Awaitable[bytes]]
_NAMES_OF_FORMAT = ("response_format", "text.format", "json_schema", "json_object")


class ModelClient:
    """One model on one server. What it learns about the server it keeps from one `connected` to the next."""

    def __init__(self, settings: JudgeSettings, api_key: SecretStr, json_schema: Mapping[str, Any]) -> None:
        self._settings = settings
        self._api_key = api_key
        self._json_schema = json_schema
        self._endpoint: Endpoint | None = None
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
        endpoint = self._endpoint = self._endpoint or _endpoint_of(self._settings, self._api_key)
        async with aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=self._settings.concurrency, ssl=endpoint.tls),
            cookie_jar=aiohttp.DummyCookieJar(),
            # no limits of the transport: they are per read, and a server that trickles would pass them all
            timeout=aiohttp.ClientTimeout(total=None),
        ) as session:

            async def post(body: bytes) -> bytes:
                # the headers are not the session's: aiohttp would send those, the key among them, to the proxy too
                request = session.post(
                    endpoint.url,
                    data=body,
                    headers=endpoint.headers,
                    proxy=endpoint.proxy,
                    proxy_headers=endpoint.proxy_headers,
                )
                async with request as response:
                    content = await response.read()
                if response.status >= 400:
                    raise StatusError(response.status, response.headers, content)
                return content

            yield lambda messages: self._ask(post, messages)

    async def _ask(self, post: Post, messages: Sequence[Message]) -> ModelReply:
        """The model's reply. Raises CallError; ends within `call_timeout_seconds`, also when bytes trickle in."""
        limit = self._settings.call_timeout_seconds
        try:
            async with asyncio.timeout(limit):
                content = await self._send(post, messages)
        except TimeoutError:
            raise CallError("timeout", f"no complete reply within {limit:g} s", retryable=True) from None
        except StatusError as error:
            raise _status_error(error, secret=self._api_key.get_secret_value()) from error
        except (aiohttp.ClientError, OSError, ValueError) as error:  # ValueError: an address that is none
            message = f"no connection: {type(error).__name__}: {_short(str(error))}"
            raise CallError("server", message, retryable=True) from error
        return read_chat(content) if self._settings.api == "chat" else read_response(content)

    async def _send(self, post: Post, messages: Sequence[Message]) -> bytes:
        """One exchange; asked again at once, in a weaker shape, when the server does not take this one."""
        key = "messages" if self._settings.api == "chat" else "input"
        while True:
            shape = self.shape
            try:
                return await post(orjson.dumps(self._fixed | {key: messages}))
            except StatusError as error:
                weaker = shape.weaker(error)
                if weaker is None or (weaker.structured != shape.structured and not self._may_fall_back):
                    raise
                if self.shape == shape:  # else another call has learned it meanwhile
                    self.shape = weaker
                    self._fixed = self._fixed_body()

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


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where requests go, by which proxy, with which headers, and what its certificate is checked against."""

    url: str
    headers: Mapping[str, str]
    proxy: str | None
    proxy_headers: Mapping[str, str]
    tls: ssl.SSLContext


def _endpoint_of(settings: JudgeSettings, api_key: SecretStr) -> Endpoint:
    # the client takes a second to import: only a run that judges waits for it
    import httpx2  # noqa: PLC0415
    from openai import OpenAI  # noqa: PLC0415

    with OpenAI(api_key=api_key.get_secret_value(), base_url=settings.base_url) as client:
        base_url, headers = str(client.base_url), {**client.default_headers, **client.auth_headers}
    url = base_url + ("chat/completions" if settings.api == "chat" else "responses")
    proxy, proxy_headers = _proxy_for(url)
    if url.startswith("http:"):
        headers |= proxy_headers  # without TLS there is no CONNECT that could carry them: the proxy reads the request
    return Endpoint(
        url=url,
        proxy=proxy,
        proxy_headers=proxy_headers,
        # X-Stainless: the client tells servers about the machine that it runs on; nobody asked for that
        headers={
            name: value
            for name, value in headers.items()
            if isinstance(value, str) and not name.lower().startswith("x-stainless")
        },
        tls=httpx2.create_ssl_context(),
    )


def _proxy_for(url: str) -> tuple[str | None, dict[str, str]]:
    """The proxy that HTTP_PROXY, HTTPS_PROXY and NO_PROXY name for an address, and the header with its password.

    Looked up once: aiohttp's own `trust_env` does it for each request, in a thread, for twice the CPU of the request.
    """
    parts = urlsplit(url)
    address = getproxies().get(parts.scheme)
    if address is None or proxy_bypass(parts.hostname or ""):
        return None, {}
    proxy = urlsplit(address if "://" in address else f"http://{address}")
    if proxy.username is None:
        return proxy.geturl(), {}
    credentials = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}"
    bare = proxy._replace(netloc=proxy.netloc.rpartition("@")[2])
    return bare.geturl(), {"Proxy-Authorization": "Basic " + base64.b64encode(credentials.encode()).decode()}


def _status_error(error: StatusError, *, secret: str) -> CallError:
    # some servers repeat the key that they refuse
    message = f"HTTP {error.status}: {_short(error.message.replace(secret, '(the key)'))}"
    if error.status == 402 or error.code in ("insufficient_quota", "billing_hard_limit_reached", "billing_not_active"):
        return CallError("billing", message, retryable=False)
    if error.status in (401, 403):
        return CallError("auth", message, retryable=False)
    if error.code in ("content_filter", "content_policy_violation"):
        return CallError("refusal", message, retryable=False)
    if error.status in (408, 504):
        return CallError("timeout", message, retryable=True)
    return CallError(
        "rate_limit" if error.status == 429 else "server",
        message,
        retryable=error.status in (409, 429) or error.status >= 500,
        retry_after_seconds=retry_after_seconds(error.headers),
    )


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


def _short(text: str) -> str:
    return " ".join(text.split())[:MESSAGE_CHARS]
