"""A real OpenAI-compatible HTTP server on loopback: for tests, for scripts, and as a process of its own for the bench.

    python -m tests.servers.model_server --port 8123 --latency-ms 200 --rate-limit 0.05 --hang 0.01

Marks and faults are pure functions of the prompt and of how often it was asked, so that every run is the same run.
Counts what it was asked and what it answered; `GET /stats` returns the counts as JSON.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import hashlib
import re
import threading
from collections import Counter
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Literal, Self

import orjson
from aiohttp import web

Mode = Literal["normal", "auth", "billing", "payment", "trickle", "hang", "down"]
Structured = Literal["json_schema", "json_object", "text"]
STRUCTURED: tuple[Structured, ...] = ("text", "json_object", "json_schema")
FAULTS = ("rate_limit", "malformed", "server_error", "refusal", "hang")


@dataclass(frozen=True, kw_only=True, slots=True)
class Behaviour:
    """How the server answers. Rates are shares of requests, 0 to 1."""

    mode: Mode = "normal"
    latency_ms: float = 0.0
    rate_limit: float = 0.0
    malformed: float = 0.0
    server_error: float = 0.0
    refusal: float = 0.0
    hang: float = 0.0
    retry_after: str | None = "0"  # header of a 429, in seconds or as an HTTP date; None: the header is missing
    max_parallel: int | None = None  # more requests than this at once are answered with 429
    structured: Structured = "json_schema"  # the most that is accepted
    refused_parameters: tuple[str, ...] = ()  # answered with 400, e.g. max_completion_tokens
    obeys_injections: bool = False  # a naive judge: full marks for a prompt that contains "5/5"
    finish_reason: str = "stop"  # of chat completions: also "length", "content_filter"
    mark: int | None = None  # every mark; None: by hash of the prompt
    criteria: tuple[str, ...] = ("relevance", "accuracy", "tone")  # used when no schema names them
    scale: tuple[int, int] = (1, 5)
    key_pattern: str | None = None  # what identifies a trace in a prompt; None: the whole prompt
    seed: int = 0


FAULTY = Behaviour(rate_limit=0.05, malformed=0.03, server_error=0.02, refusal=0.01, hang=0.01, retry_after="0.05")


@dataclass(slots=True)
class Stats:
    """What happened so far. `answered` counts replies with usable marks by trace key."""

    outcomes: Counter[str] = field(default_factory=Counter)
    asked: Counter[str] = field(default_factory=Counter)
    answered: Counter[str] = field(default_factory=Counter)
    parallel: int = 0
    most_parallel: int = 0
    last_body: dict[str, Any] = field(default_factory=dict)
    last_headers: dict[str, str] = field(default_factory=dict)

    @property
    def requests(self) -> int:
        return self.outcomes.total()


def fault_of(key: str, nth: int, behaviour: Behaviour) -> str | None:
    """The fault of the `nth` request (from 0) for a trace, or None: a stable roll of the dice."""
    digest = hashlib.sha256(f"{behaviour.seed}:{key}:{nth}".encode()).digest()
    roll = int.from_bytes(digest[:8], "big") / 2**64
    for name in FAULTS:
        roll -= float(getattr(behaviour, name))
        if roll < 0:
            return name
    return None


def marks_of(prompt: str, criteria: dict[str, tuple[int, ...]], behaviour: Behaviour) -> dict[str, int]:
    """A mark for each criterion, by hash of prompt and criterion."""
    if behaviour.mark is not None:
        return dict.fromkeys(criteria, behaviour.mark)
    if behaviour.obeys_injections and "5/5" in prompt:
        return {name: scale[-1] for name, scale in criteria.items()}
    marks = {}
    for name, scale in criteria.items():
        digest = hashlib.sha256(f"{name}:{prompt}".encode()).digest()
        marks[name] = scale[digest[0] % len(scale)]
    return marks


@dataclass(frozen=True, slots=True)
class _Request:
    """What both APIs say, in one form."""

    prompt: str
    structured: Structured
    schema: dict[str, Any] | None

    @classmethod
    def read(cls, body: dict[str, Any], *, chat: bool) -> _Request:
        messages = body["messages"] if chat else body["input"]
        prompt = next(str(message["content"]) for message in messages if message["role"] == "user")
        wanted = body.get("response_format") if chat else body.get("text", {}).get("format")
        if wanted is None:
            return cls(prompt, "text", None)
        if wanted["type"] == "json_schema":
            return cls(prompt, "json_schema", (wanted["json_schema"] if chat else wanted)["schema"])
        return cls(prompt, "json_object", None)

    def criteria(self, behaviour: Behaviour) -> dict[str, tuple[int, ...]]:
        if self.schema is None:
            low, high = behaviour.scale
            return dict.fromkeys(behaviour.criteria, tuple(range(low, high + 1)))
        marks = self.schema["properties"]["marks"]
        if "$ref" in marks:
            marks = self.schema["$defs"][marks["$ref"].rsplit("/", 1)[-1]]
        return {name: tuple(value["enum"]) for name, value in marks["properties"].items()}


class ModelServer:
    """`with ModelServer(behaviour) as server:` serves from a thread; `server.behaviour` may be replaced meanwhile."""

    def __init__(self, behaviour: Behaviour | None = None, *, port: int = 0) -> None:
        self.behaviour = behaviour or Behaviour()
        self.stats = Stats()
        self.port = port
        self._ready = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None
        self._thread: threading.Thread | None = None

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=lambda: asyncio.run(self.serve()), name="model-server", daemon=True)
        self._thread.start()
        if not self._ready.wait(10):
            raise RuntimeError("the model server did not start within 10 s")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._loop is not None and self._stop is not None and self._thread is not None
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(10)

    async def serve(self) -> None:
        """Serve until told to stop."""
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        app = web.Application(client_max_size=64 * 2**20)
        app.router.add_post("/v1/chat/completions", self._chat)
        app.router.add_post("/v1/responses", self._responses)
        app.router.add_get("/stats", self._report)
        runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1, access_log=None)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", self.port, backlog=512)
        await site.start()
        self.port = runner.addresses[0][1]
        self._ready.set()
        try:
            await self._stop.wait()
        finally:
            await runner.cleanup()

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        return await self._answer(request, chat=True)

    async def _responses(self, request: web.Request) -> web.StreamResponse:
        return await self._answer(request, chat=False)

    async def _report(self, request: web.Request) -> web.Response:
        return _json(
            {
                "requests": self.stats.requests,
                "outcomes": self.stats.outcomes,
                "asked": self.stats.asked,
                "answered": self.stats.answered,
                "most_parallel": self.stats.most_parallel,
            }
        )

    async def _answer(self, request: web.Request, *, chat: bool) -> web.StreamResponse:
        body = orjson.loads(await request.read())
        behaviour, stats = self.behaviour, self.stats
        stats.last_body, stats.last_headers = body, dict(request.headers)
        asked = _Request.read(body, chat=chat)
        key = _key_of(asked.prompt, behaviour)
        outcome = self._outcome(key, asked, body)
        stats.asked[key] += 1
        stats.outcomes[outcome] += 1
        stats.answered[key] += outcome == "answered"
        stats.parallel += 1
        stats.most_parallel = max(stats.most_parallel, stats.parallel)
        try:
            if behaviour.latency_ms:
                await asyncio.sleep(behaviour.latency_ms / 1000)
            if outcome == "hang":
                await asyncio.sleep(3600)
            if outcome == "trickle":
                return await _trickle(request)
            if outcome in ("answered", "malformed", "refusal"):
                return _json(_reply(outcome, asked, behaviour, chat=chat))
            return _error(outcome, behaviour, chat=chat)
        finally:
            stats.parallel -= 1

    def _outcome(self, key: str, asked: _Request, body: dict[str, Any]) -> str:
        """What becomes of a request: a name of FAULTS, of a mode, a refused parameter, or "answered"."""
        behaviour, stats = self.behaviour, self.stats
        if behaviour.mode != "normal":
            return behaviour.mode
        for name in behaviour.refused_parameters:
            if name in body:
                return f"parameter:{name}"
        if STRUCTURED.index(asked.structured) > STRUCTURED.index(behaviour.structured):
            return f"format:{asked.structured}"
        if behaviour.max_parallel is not None and stats.parallel >= behaviour.max_parallel:
            return "rate_limit"
        return fault_of(key, stats.asked[key], behaviour) or "answered"


def _key_of(prompt: str, behaviour: Behaviour) -> str:
    found = re.search(behaviour.key_pattern, prompt) if behaviour.key_pattern else None
    return found.group() if found else hashlib.sha256(prompt.encode()).hexdigest()[:16]


def _json(value: object, *, status: int = 200, headers: dict[str, str] | None = None) -> web.Response:
    return web.Response(body=orjson.dumps(value), status=status, headers=headers, content_type="application/json")


def _error(outcome: str, behaviour: Behaviour, *, chat: bool) -> web.Response:
    kind, _, name = outcome.partition(":")
    if kind == "format":
        field_name = "response_format" if chat else "text.format"
        message = f"Invalid parameter: '{field_name}' of type '{name}' is not supported with this model."
        return _json({"error": {"message": message, "param": field_name, "type": "invalid_request_error"}}, status=400)
    if kind == "parameter":
        message = f"Unsupported parameter: '{name}' is not supported with this model."
        return _json({"error": {"message": message, "param": name, "code": "unsupported_parameter"}}, status=400)
    status, code, message = {
        "auth": (401, "invalid_api_key", "Incorrect API key provided."),
        "billing": (429, "insufficient_quota", "You exceeded your current quota, please check your plan."),
        "payment": (402, "payment_required", "Payment required."),
        "rate_limit": (429, "rate_limit_exceeded", "Rate limit reached."),
        "server_error": (500, "server_error", "The server had an error."),
        "down": (503, "overloaded", "The server is overloaded."),
    }[outcome]
    wait = behaviour.retry_after if outcome == "rate_limit" else None
    headers = {"Retry-After": wait} if wait is not None else None
    return _json({"error": {"message": message, "type": code, "code": code}}, status=status, headers=headers)


async def _trickle(request: web.Request) -> web.StreamResponse:
    """A reply that starts at once and never ends: every read succeeds, so only a limit on the whole call helps."""
    response = web.StreamResponse(headers={"Content-Type": "application/json"})
    await response.prepare(request)
    while True:
        await response.write(b" ")
        await asyncio.sleep(0.02)


def _reply(outcome: str, asked: _Request, behaviour: Behaviour, *, chat: bool) -> dict[str, Any]:
    refusal = "I cannot help with that." if outcome == "refusal" else None
    marks = marks_of(asked.prompt, asked.criteria(behaviour), behaviour)
    verdict = {"issues": ["The answer is not checked."], "suggestions": ["Check the answer."], "marks": marks}
    text = orjson.dumps(verdict).decode()
    if asked.structured == "text":
        text = f"Here is my verdict:\n```json\n{text}\n```"
    if outcome == "malformed":
        text = text[: len(text) // 2]
    read, written = len(asked.prompt) // 4, len(text) // 4
    if chat:
        message = {"role": "assistant", "content": None if refusal else text, "refusal": refusal}
        choice = {"index": 0, "message": message, "finish_reason": behaviour.finish_reason}
        usage = {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}
        return {"id": "c", "object": "chat.completion", "model": "m", "choices": [choice], "usage": usage}
    part = {"type": "refusal", "refusal": refusal} if refusal else {"type": "output_text", "text": text}
    item = {"id": "m1", "type": "message", "role": "assistant", "status": "completed", "content": [part]}
    usage = {"input_tokens": read, "output_tokens": written, "total_tokens": read + written}
    reasoning = {"id": "r1", "type": "reasoning", "summary": []}
    return {"id": "r", "object": "response", "status": "completed", "output": [reasoning, item], "usage": usage}


def main() -> None:
    """Serve until interrupted; prints the base URL once it listens."""
    parser = argparse.ArgumentParser(description="A local OpenAI-compatible server with faults on demand.")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--mode", default="normal")
    for option in ("latency_ms", *FAULTS):
        parser.add_argument("--" + option.replace("_", "-"), type=float, default=0.0)
    parser.add_argument("--retry-after", default="0.05")
    parser.add_argument("--max-parallel", type=int)
    parser.add_argument("--structured", choices=STRUCTURED, default="json_schema")
    parser.add_argument("--key-pattern")
    parser.add_argument("--seed", type=int, default=0)
    options = vars(parser.parse_args())
    server = ModelServer(port=options.pop("port"), behaviour=Behaviour(**options))
    with server:
        print(server.base_url, flush=True)
        threading.Event().wait()


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        main()
