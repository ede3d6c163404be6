"""Trace files to measure on: seeded, about 1 KB a trace, no text twice. Written once, reused by the next run."""

from __future__ import annotations

import random
import string
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import orjson

SEED = 7
NUM_DAYS = 30
FIRST_TIME = datetime(2026, 10, 1, tzinfo=UTC)
_VOCABULARY = 20_000
_AGENTS = ("support", "shop", "research")
_TOOLS = ("search", "lookup_order", "refund")
SPANS_PER_TRACE = 8


def flat_file(folder: Path, num_traces: int) -> Path:
    """A file of `num_traces` flat traces over 30 days, in order of time."""
    return _written(folder / f"flat-{SEED}-{num_traces}.jsonl", _flat_traces(num_traces))


def otlp_file(folder: Path, num_traces: int) -> Path:
    """A file of `num_traces` OTLP exports with GenAI attributes, eight spans each, one trace a line, children first."""
    return _written(folder / f"otlp-{SEED}-{num_traces}.jsonl", _otlp_exports(num_traces))


def _written(path: Path, lines: Iterator[object]) -> Path:
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_suffix(".tmp")
        with unfinished.open("wb") as file:
            file.writelines(orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE) for line in lines)
        unfinished.replace(path)
    return path


def _words(rng: random.Random) -> list[str]:
    return ["".join(rng.choices(string.ascii_lowercase, k=rng.randint(2, 10))) for _ in range(_VOCABULARY)]


def _flat_traces(num_traces: int) -> Iterator[dict[str, object]]:
    rng = random.Random(SEED)
    words = _words(rng)
    for number in range(num_traces):
        started_at = FIRST_TIME + timedelta(days=NUM_DAYS) * (number / num_traces)
        duration_ms = round(rng.expovariate(1 / 4000), 3)
        yield {
            "trace_id": f"{rng.getrandbits(128):032x}",
            "name": "conversation",
            "session_id": f"session-{number // 3}",
            "agent": rng.choice(_AGENTS),
            "release": f"2026.10.{number * 10 // num_traces}",
            "model": "gpt-4.1-mini",
            "started_at": started_at.isoformat(),
            "ended_at": (started_at + timedelta(milliseconds=duration_ms)).isoformat(),
            "duration_ms": duration_ms,
            "status": "completed",
            "num_turns": rng.randint(1, 18),
            "tool_errors": int(rng.random() < 0.1),
            "guardrails_triggered": int(rng.random() < 0.02),
            "user_message": " ".join(rng.choices(words, k=25)),
            "final_output": " ".join(rng.choices(words, k=65)) if rng.random() > 0.03 else "",
            "tools_called": rng.choices(_TOOLS, k=rng.randint(0, 3)),
            "input_tokens": rng.randint(100, 3000),
            "output_tokens": rng.randint(10, 900),
            "cost_usd": round(rng.random() / 100, 6),
        }


def _otlp_exports(num_traces: int) -> Iterator[dict[str, object]]:
    rng = random.Random(SEED)
    words = _words(rng)
    for number in range(num_traces):
        started_at = FIRST_TIME + timedelta(days=NUM_DAYS) * (number / num_traces)
        spans = _otlp_spans(rng, words, int(started_at.timestamp() * 1e9))
        resource = {"attributes": [_attribute("service.name", rng.choice(_AGENTS))]}
        yield {"resourceSpans": [{"resource": resource, "scopeSpans": [{"scope": {"name": "bench"}, "spans": spans}]}]}


def _otlp_spans(rng: random.Random, words: list[str], start_ns: int) -> list[dict[str, object]]:
    """An agent that calls a model four times and a tool three times, in the order they end, as exporters send them."""
    trace_id = f"{rng.getrandbits(128):032x}"
    agent_id, *child_ids = (f"{rng.getrandbits(64):016x}" for _ in range(SPANS_PER_TRACE))
    spans = []
    for place, span_id in enumerate(child_ids):
        values = _chat_attributes(rng, words) if place % 2 == 0 else _tool_attributes(rng, words)
        spans.append(_otlp_span(trace_id, span_id, agent_id, start_ns + place * 10**9, values))
    agent: dict[str, str | int] = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "support"}
    return [*spans, _otlp_span(trace_id, agent_id, None, start_ns, agent, seconds=len(child_ids))]


def _chat_attributes(rng: random.Random, words: list[str]) -> dict[str, str | int]:
    def message(role: str, num_words: int) -> str:
        text = " ".join(rng.choices(words, k=num_words))
        return orjson.dumps([{"role": role, "parts": [{"type": "text", "content": text}]}]).decode()

    return {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "gpt-4.1-mini",
        "gen_ai.usage.input_tokens": rng.randint(100, 3000),
        "gen_ai.usage.output_tokens": rng.randint(10, 900),
        "gen_ai.input.messages": message("user", 25),
        "gen_ai.output.messages": message("assistant", 40),
    }


def _tool_attributes(rng: random.Random, words: list[str]) -> dict[str, str | int]:
    return {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": rng.choice(_TOOLS),
        "gen_ai.tool.call.arguments": orjson.dumps({"query": rng.choice(words)}).decode(),
        "gen_ai.tool.call.result": " ".join(rng.choices(words, k=20)),
    }


def _otlp_span(
    trace_id: str,
    span_id: str,
    parent_id: str | None,
    start_ns: int,
    values: dict[str, str | int],
    *,
    seconds: int = 1,
) -> dict[str, object]:
    span: dict[str, object] = {
        "traceId": trace_id,
        "spanId": span_id,
        "name": values["gen_ai.operation.name"],
        "kind": 1,
        "startTimeUnixNano": str(start_ns),
        "endTimeUnixNano": str(start_ns + seconds * 10**9),
        "attributes": [_attribute(name, value) for name, value in values.items()],
        "status": {},
    }
    return span if parent_id is None else span | {"parentSpanId": parent_id}


def _attribute(name: str, value: str | int) -> dict[str, object]:
    return {"key": name, "value": {"stringValue": value} if isinstance(value, str) else {"intValue": str(value)}}
