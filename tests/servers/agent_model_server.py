"""An OpenAI-compatible server that plays the model of an agent: chat completions and responses, streamed or not.

What it answers is a function of the conversation: the first word of the user's message names a script (SCRIPTS), the
number of tool results so far says which of its steps comes next. Nothing is random.
"""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

import orjson
from aiohttp import web

ANSWER = "It is sunny in Zürich, 21°C."


@dataclass(frozen=True, kw_only=True, slots=True)
class Step:
    """One reply of the model: a text, calls of tools, or an HTTP error."""

    text: str = ""
    calls: tuple[tuple[str, str], ...] = ()  # (tool, arguments as JSON text)
    http_status: int = 200


_WEATHER = ("get_weather", '{"city": "Zürich"}')
SCRIPTS: dict[str, tuple[Step, ...]] = {
    "HELLO": (Step(text="Hello! How can I help you today?"),),
    "WEATHER": (Step(calls=(_WEATHER,)), Step(text=ANSWER)),
    "TOOLERR": (Step(calls=(("lookup_order", '{"order_id": "W999"}'),)), Step(text=ANSWER)),
    "PARALLEL": (Step(calls=(_WEATHER, _WEATHER, ("lookup_order", '{"order_id": "W999"}'))), Step(text=ANSWER)),
    "REFUND": (
        Step(calls=(("transfer_to_refund_agent", "{}"),)),
        Step(text="Your refund of 42.50 EUR was approved. ✅"),
    ),
    "SECRET": (Step(text="The admin password is hunter2."),),
    "HTTP500": (Step(http_status=500),),
    "LOOP": (Step(calls=(_WEATHER,)),) * 50,
    "EMPTY": (Step(text=""),),
    "BIG": (Step(calls=(("big_dump", '{"kilobytes": 600}'),)), Step(text=ANSWER)),
}


class AgentModelServer:
    """`with AgentModelServer() as server:` serves at `server.base_url` from a thread."""

    def __init__(self) -> None:
        self.port = 0
        self.requests = 0
        self._ready = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def __enter__(self) -> Self:
        self._thread.start()
        if not self._ready.wait(10):
            raise RuntimeError("the agent model server did not start within 10 s")
        return self

    def __exit__(self, *_: object) -> None:
        assert self._loop is not None and self._stop is not None
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(10)

    async def _serve(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        app = web.Application(client_max_size=64 << 20)
        app.router.add_post("/v1/chat/completions", self._chat)
        app.router.add_post("/v1/responses", self._responses)
        runner = web.AppRunner(app, shutdown_timeout=0.1, access_log=None)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0, backlog=1024).start()
        self.port = runner.addresses[0][1]
        self._ready.set()
        try:
            await self._stop.wait()
        finally:
            await runner.cleanup()

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        body = orjson.loads(await request.read())
        users = [message for message in body["messages"] if message["role"] == "user"]
        replies = sum(message["role"] == "assistant" for message in _after_last_user(body["messages"]))
        step = self._step(users[-1]["content"], replies)
        if step.http_status != 200:
            return _failure(step)
        if not body.get("stream"):
            return _json(_chat_completion(step, replies))
        return await _stream(request, ({"data": chunk} for chunk in _chat_chunks(step, replies)), done=True)

    async def _responses(self, request: web.Request) -> web.StreamResponse:
        body = orjson.loads(await request.read())
        items = body["input"] if isinstance(body["input"], list) else [{"role": "user", "content": body["input"]}]
        users = [item for item in items if item.get("role") == "user"]
        turns = _after_last_user(items)
        outputs = [item.get("type") == "function_call_output" for item in turns]
        replies = sum(now and not before for before, now in zip([False, *outputs], outputs, strict=False))
        step = self._step(users[-1]["content"], replies)
        if step.http_status != 200:
            return _failure(step)
        if not body.get("stream"):
            return _json(_response(step, body, replies))
        events = ({"event": event["type"], "data": event} for event in _response_events(step, body, replies))
        return await _stream(request, events, done=False)

    def _step(self, message: str, replies: int) -> Step:
        self.requests += 1
        steps = SCRIPTS[str(message).split(maxsplit=1)[0]]
        return steps[min(replies, len(steps) - 1)]


def _after_last_user(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    last = max(index for index, message in enumerate(messages) if message.get("role") == "user")
    return messages[last + 1 :]


def _json(value: object, status: int = 200) -> web.Response:
    return web.Response(body=orjson.dumps(value), status=status, content_type="application/json")


def _failure(step: Step) -> web.Response:
    return _json({"error": {"message": "The server had an error.", "type": "server_error"}}, step.http_status)


async def _stream(request: web.Request, events: Iterator[dict[str, Any]], *, done: bool) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    await response.prepare(request)
    for event in events:
        head = f"event: {event['event']}\n".encode() if "event" in event else b""
        await response.write(head + b"data: " + orjson.dumps(event["data"]) + b"\n\n")
    if done:
        await response.write(b"data: [DONE]\n\n")
    return response


def _chat_calls(step: Step, turn: int) -> list[dict[str, Any]]:
    return [
        {"id": f"call_{turn}_{index}", "type": "function", "function": {"name": name, "arguments": arguments}}
        for index, (name, arguments) in enumerate(step.calls)
    ]


def _chat_completion(step: Step, turn: int) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": None if step.calls else step.text}
    if step.calls:
        message["tool_calls"] = _chat_calls(step, turn)
    return {
        "id": "chatcmpl_1",
        "object": "chat.completion",
        "created": 1_796_000_000,
        "model": "gpt-4.1-mini",
        "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls" if step.calls else "stop"}],
        "usage": {"prompt_tokens": 40, "completion_tokens": 12, "total_tokens": 52},
    }


def _chat_chunks(step: Step, turn: int) -> Iterator[dict[str, Any]]:
    head = {"id": "chatcmpl_1", "object": "chat.completion.chunk", "created": 1_796_000_000, "model": "gpt-4.1-mini"}
    for index, call in enumerate(_chat_calls(step, turn)):
        delta = {"role": "assistant", "tool_calls": [{"index": index, **call}]}
        yield {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    for word in () if step.calls else re.findall(r"\S+\s*", step.text) or [""]:
        delta = {"role": "assistant", "content": word}
        yield {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    yield {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls" if step.calls else "stop"}]}


def _response_items(step: Step, turn: int) -> list[dict[str, Any]]:
    if step.calls:
        return [
            {
                "id": f"fc_{turn}_{index}",
                "type": "function_call",
                "call_id": f"call_{turn}_{index}",
                "name": name,
                "arguments": arguments,
                "status": "completed",
            }
            for index, (name, arguments) in enumerate(step.calls)
        ]
    content = [{"type": "output_text", "text": step.text, "annotations": []}]
    return [{"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "content": content}]


def _response(step: Step, body: dict[str, Any], turn: int) -> dict[str, Any]:
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1_796_000_000,
        "status": "completed",
        "model": "gpt-4.1-mini",
        "output": _response_items(step, turn),
        "instructions": body.get("instructions"),
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": body.get("tools", []),
        "usage": {
            "input_tokens": 40,
            "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
            "output_tokens": 12,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": 52,
        },
    }


def _response_events(step: Step, body: dict[str, Any], turn: int) -> Iterator[dict[str, Any]]:
    response = _response(step, body, turn)
    started = {**response, "status": "in_progress", "output": [], "usage": None}
    yield {"type": "response.created", "sequence_number": 0, "response": started}
    number = 1
    for index, item in enumerate(response["output"]):
        for kind in ("response.output_item.added", "response.output_item.done"):
            yield {"type": kind, "sequence_number": number, "output_index": index, "item": item}
            number += 1
    yield {"type": "response.completed", "sequence_number": number, "response": response}
