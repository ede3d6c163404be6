"""The capture against the real SDK, whose model is a real HTTP server; what it wrote is read back by our own reader."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import subprocess
import sys
import textwrap
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from grader.capture.limits import CaptureLimits
from grader.capture.openai_agents import TraceCapture, capture
from grader.readers.assemble import assemble
from grader.readers.merge import merge_heads, merge_spans
from grader.readers.openai_agents import OpenAIAgentsReader
from grader.records import Source, Trace
from tests.servers.agent_model_server import ANSWER, AgentModelServer

agents = pytest.importorskip("agents", reason="the extra 'agents' is not installed")
openai = pytest.importorskip("openai")

MODELS = ("OpenAIChatCompletionsModel", "OpenAIResponsesModel")


@contextmanager
def _capturing(path: Path, **options: Any) -> Iterator[TraceCapture]:
    recorder = capture(path, replace=True, **options)
    try:
        yield recorder
    finally:
        agents.set_trace_processors([])
        recorder.shutdown()


@asynccontextmanager
async def _support_agent(model: str, server: AgentModelServer, **options: Any) -> AsyncIterator[Any]:
    async with openai.AsyncOpenAI(base_url=server.base_url, api_key="none", max_retries=0) as client:

        @agents.function_tool
        def get_weather(city: str) -> str:
            return f"Sunny in {city}, 21°C"

        @agents.function_tool
        def lookup_order(order_id: str) -> str:
            raise ValueError(f"no order {order_id}")

        @agents.function_tool
        def big_dump(kilobytes: int) -> str:
            return "x" * (kilobytes * 1024)

        backend = getattr(agents, model)(model="gpt-4.1-mini", openai_client=client)
        refund = agents.Agent(name="Refund agent", model=backend)
        yield agents.Agent(
            name="Support agent",
            model=backend,
            tools=[get_weather, lookup_order, big_dump],
            handoffs=[refund],
            **options,
        )


async def _run(agent: Any, message: str, *, streamed: bool = False) -> str | None:
    """The final output; None when the run raised, as half of the scripts do."""
    config = agents.RunConfig(workflow_name=message, group_id="session-1")
    try:
        if not streamed:
            return str((await agents.Runner.run(agent, message, run_config=config, max_turns=4)).final_output)
        result = agents.Runner.run_streamed(agent, message, run_config=config, max_turns=4)
        async for _ in result.stream_events():
            pass
    except (agents.AgentsException, openai.APIError):
        return None
    return str(result.final_output)


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def _traces(path: Path) -> list[Trace]:
    fragments = [fragment for line in _lines(path) for fragment in OpenAIAgentsReader().parse(line)]
    traces = []
    for trace_id in dict.fromkeys(fragment.trace_id for fragment in fragments):
        head, spans = None, ()
        for fragment in fragments:
            if fragment.trace_id == trace_id:
                head, spans = merge_heads(head, fragment.head), merge_spans(spans, fragment.spans)
        traces.append(assemble(trace_id, head, spans, Source(reader="openai_agents", path=str(path), line=1)))
    return traces


def _record(path: Path, model: str, message: str, *, streamed: bool = False, **options: Any) -> Trace:
    async def record() -> None:
        async with _support_agent(model, server, **options) as agent:
            await _run(agent, message, streamed=streamed)

    with AgentModelServer() as server, _capturing(path) as recorder:
        asyncio.run(record())
        recorder.force_flush()
        stats = recorder.stats()
    assert (stats.traces_written, stats.traces_lost, stats.hook_errors) == (1, 0, 0)
    (trace,) = _traces(path)
    return trace


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("HELLO there", (1, [], 0, "completed", "Hello! How can I help you today?")),
        ("WEATHER in Zürich", (2, ["get_weather"], 0, "completed", ANSWER)),
        ("TOOLERR where is W999?", (2, ["lookup_order"], 1, "completed", ANSWER)),
        ("PARALLEL tasks", (2, ["get_weather", "get_weather", "lookup_order"], 1, "completed", ANSWER)),
        ("REFUND my order", (2, [], 0, "completed", "Your refund of 42.50 EUR was approved. ✅")),
        ("EMPTY", (1, [], 0, "completed", "")),
        ("LOOP forever", (4, ["get_weather"] * 4, 0, "failed", None)),
        ("HTTP500", (1, [], 0, "failed", None)),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_the_capture_writes_reads_back_as_what_happened(
    tmp_path: Path, model: str, streamed: bool, message: str, expected: tuple[object, ...]
) -> None:
    trace = _record(tmp_path / "trace.jsonl", model, message, streamed=streamed)
    assert (trace.name, trace.session_id) == (message, "session-1")
    tools = [call.name for call in trace.tools_called or ()]
    # for an empty streamed chat reply the SDK records no message at all: the answer is missing, not ""
    answer = trace.final_output or "" if message == "EMPTY" else trace.final_output
    assert (trace.num_turns, tools, trace.tool_errors, trace.status, answer) == expected
    if (model, message) != ("OpenAIResponsesModel", "HTTP500"):
        assert trace.user_message == message  # of a failed Responses call the SDK keeps no input


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(("side", "turns"), [("input", 0), ("output", 1)], ids=["input-guardrail", "output-guardrail"])
def test_a_guardrail_blocks_the_run(tmp_path: Path, model: str, side: str, turns: int) -> None:
    def tripped(*_: object) -> Any:
        return agents.GuardrailFunctionOutput(output_info=None, tripwire_triggered=True)

    guard = (
        agents.InputGuardrail(guardrail_function=tripped, name="no_homework", run_in_parallel=False)
        if side == "input"
        else agents.OutputGuardrail(guardrail_function=tripped, name="no_secrets")
    )
    trace = _record(tmp_path / "trace.jsonl", model, "SECRET tell me", **{f"{side}_guardrails": [guard]})
    assert (trace.guardrails_triggered, trace.status, trace.num_turns) == (1, "blocked", turns)


@pytest.mark.parametrize("model", MODELS)
def test_two_runs_in_one_trace_are_one_line(tmp_path: Path, model: str) -> None:
    async def record() -> None:
        async with _support_agent(model, server) as agent:
            with agents.trace("both", metadata={"release": "own", "env": "test"}):
                await _run(agent, "HELLO there")
                await _run(agent, "WEATHER in Zürich")

    path = tmp_path / "trace.jsonl"
    with AgentModelServer() as server, _capturing(path, metadata={"release": "2026.11.3", "team": "blue"}):
        asyncio.run(record())
    (trace,) = _traces(path)
    assert (trace.name, trace.num_turns, trace.release) == ("both", 3, "own")
    assert _lines(path)[0]["data"][0]["metadata"] == {"release": "own", "env": "test", "team": "blue"}


def test_a_thousand_concurrent_traces_all_arrive(tmp_path: Path) -> None:
    async def one(number: int) -> None:
        with agents.trace(f"run {number}"):
            for turn in range(3):
                with agents.generation_span(input=[{"role": "user", "content": f"{number}"}], model="m") as span:
                    await asyncio.sleep(0)
                    span.span_data.output = [{"role": "assistant", "content": f"answer {number}.{turn}"}]

    async def everything() -> None:
        await asyncio.gather(*(one(number) for number in range(1000)))

    path = tmp_path / "trace.jsonl"
    with _capturing(path) as recorder:
        asyncio.run(everything())
        recorder.force_flush()
        assert recorder.stats().traces_lost == 0
    found = {trace.name: (trace.num_turns, trace.final_output) for trace in _traces(path)}
    assert found == {f"run {number}": (3, f"answer {number}.2") for number in range(1000)}


def test_long_texts_are_cut_with_a_mark_and_counted(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    trace = _record(path, "OpenAIChatCompletionsModel", "BIG please")
    assert trace.tools_called is not None
    assert str(trace.tools_called[0].output).endswith("... [truncated: 614400 bytes, the first 200000 kept]")
    assert _lines(path)[0]["capture"] == {"cut_texts": 2}  # the tool's output, and the next call's input


def test_spans_over_the_limit_are_dropped_and_the_line_says_how_many(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    with _capturing(path, limits=CaptureLimits(max_spans_per_trace=3)) as recorder, agents.trace("long"):
        for number in range(10):
            with agents.custom_span(f"step {number}"):
                pass
    assert recorder.stats().spans_lost == 7
    (line,) = _lines(path)
    assert (len(line["data"]), line["capture"]) == (4, {"lost_spans": 7})


@pytest.mark.parametrize(
    "limits",
    [CaptureLimits(max_open_traces=2), CaptureLimits(max_open_bytes=700)],
    ids=["by-number", "by-bytes"],
)
def test_too_many_open_traces_are_written_unfinished_and_completed_by_a_later_line(
    tmp_path: Path, limits: CaptureLimits
) -> None:
    path = tmp_path / "trace.jsonl"
    with _capturing(path, limits=limits) as recorder:
        opened = []
        for number in range(3):
            run = agents.trace(f"run {number}")
            run.start()
            with agents.custom_span(f"first of {number}", {"text": "x" * 100}, parent=run):
                pass
            opened.append(run)
        for number, run in enumerate(opened):
            with agents.custom_span(f"second of {number}", {"text": "x" * 100}, parent=run):
                pass
            run.finish()
        recorder.force_flush()
        assert recorder.stats().traces_unfinished >= 1
    assert any(line.get("capture", {}).get("unfinished") == "too_many_open" for line in _lines(path))
    spans = {trace.name: sorted(span.name for span in trace.spans) for trace in _traces(path)}
    assert spans == {f"run {n}": [f"first of {n}", f"second of {n}"] for n in range(3)}


def test_open_traces_are_written_at_shutdown_with_their_open_spans(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    with _capturing(path) as recorder:
        run = agents.trace("never ends")
        run.start()
        agents.custom_span("never ends either", parent=run).start()
        recorder.shutdown()
    (line,) = _lines(path)
    assert line["capture"] == {"unfinished": "shutdown"}
    assert [item.get("ended_at") for item in line["data"]] == [None, None]


def test_a_span_that_ends_after_its_trace_still_gets_to_the_file(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    with _capturing(path):
        run = agents.trace("short")
        run.start()
        late = agents.custom_span("late", parent=run)
        late.start()
        run.finish()
        late.finish()
    (trace,) = _traces(path)
    assert [span.name for span in trace.spans] == ["late"]
    assert trace.spans[0].ended_at is not None


def _unprintable() -> object:
    class Unprintable:
        def __str__(self) -> str:
            raise RuntimeError("no text")

    return Unprintable()


def test_nothing_reaches_the_agent_and_the_first_surprise_is_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "trace.jsonl"
    with caplog.at_level(logging.WARNING, "grader.capture"), _capturing(path) as recorder:
        for hook in (recorder.on_trace_start, recorder.on_trace_end, recorder.on_span_start, recorder.on_span_end):
            hook(object())  # type: ignore[arg-type]
        with agents.trace("odd"):
            with agents.custom_span("bad", {"value": _unprintable()}):
                pass
            with agents.custom_span("good"):
                pass
    assert len(caplog.records) == 1
    assert recorder.stats().hook_errors == 6  # the object has no export either
    (line,) = _lines(path)
    assert [item["span_data"]["name"] for item in line["data"][1:]] == ["good"]
    assert line["capture"] == {"lost_spans": 1}


@pytest.mark.parametrize("broken", ["unwritable", "full", "hanging"])
def test_a_broken_disk_does_not_disturb_the_agent(tmp_path: Path, broken: str) -> None:
    if broken == "unwritable":
        (tmp_path / "file").write_text("")
    if broken == "hanging":
        os.mkfifo(tmp_path / "pipe")
    paths = {"unwritable": tmp_path / "file" / "t.jsonl", "full": Path("/dev/full"), "hanging": tmp_path / "pipe"}
    limits = CaptureLimits(max_queued_lines=5, flush_seconds=0.2)

    async def record() -> list[str | None]:
        async with _support_agent("OpenAIChatCompletionsModel", server) as agent:
            return [await _run(agent, "WEATHER in Zürich") for _ in range(8)]

    with AgentModelServer() as server, _capturing(paths[broken], limits=limits) as recorder:
        assert asyncio.run(record()) == [ANSWER] * 8
        recorder.force_flush()
        recorder.shutdown()
    stats = recorder.stats()
    assert (stats.traces_written, stats.traces_lost + stats.traces_waiting) == (0, 8)
    if broken == "hanging":
        (tmp_path / "pipe").open().close()  # lets the thread go


def _in_new_process(script: str, *, arguments: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *arguments, "-c", textwrap.dedent(script)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def test_a_process_that_just_ends_leaves_finished_and_open_traces_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "agent-{date}.jsonl"
    done = _in_new_process(f"""
        import agents
        from grader.capture.openai_agents import capture
        capture({str(path)!r}, replace=True)
        for number in range(50):
            with agents.trace(f"run {{number}}"):
                pass
        agents.trace("open").start()
    """)
    assert (done.returncode, done.stderr) == (0, "")
    (written,) = tmp_path.glob("*.jsonl")
    assert written.name == f"agent-{datetime.now(UTC).date()}.jsonl"
    assert len(_lines(written)) == 51


def test_a_forked_worker_records_its_own_traces_and_repeats_none_of_its_parent(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    done = _in_new_process(
        f"""
        import os
        import agents
        from grader.capture.openai_agents import capture
        recorder = capture({str(path)!r}, replace=True)
        with agents.trace("before"):
            pass
        agents.trace("open in the parent").start()
        child = os.fork()
        with agents.trace("in the child" if child == 0 else "in the parent"):
            pass
        if child == 0:
            recorder.shutdown()
            os._exit(0)
        os.waitpid(child, 0)
        """,
        arguments=("-W", "ignore::DeprecationWarning"),
    )
    assert (done.returncode, done.stderr) == (0, "")
    names = sorted(line["data"][0]["workflow_name"] for line in _lines(path))
    assert names == ["before", "in the child", "in the parent", "open in the parent"]


def test_without_the_sdk_the_module_imports_and_capture_says_what_to_install() -> None:
    done = _in_new_process("""
        import sys
        sys.modules["agents"] = None
        from grader.capture.openai_agents import capture
        try:
            capture("x.jsonl")
        except ImportError as error:
            print(error)
    """)
    assert "pip install 'gradebook[agents]'" in done.stdout


class _Exported:
    """A span as SDK 0.4 hands it over: no usage on responses, no trace metadata, no `metadata` key."""

    def __init__(self, data: Any, export: Callable[[], dict[str, Any]]) -> None:
        self.trace_id, self.span_id, self.span_data, self.export = "trace_1", "span_1", data, export


def test_the_shapes_of_sdk_0_4_are_recorded_too(tmp_path: Path) -> None:
    class ResponseSpanData:
        type = "response"
        response = None
        input = "Hi"

    exported = {"object": "trace.span", "id": "span_1", "trace_id": "trace_1", "span_data": {"type": "response"}}
    path = tmp_path / "trace.jsonl"
    recorder = TraceCapture(path)
    span: Any = _Exported(ResponseSpanData(), lambda: exported)
    recorder.on_span_start(span)
    recorder.on_span_end(span)
    recorder.shutdown()
    (line,) = _lines(path)
    assert line["data"][0]["span_data"] == {"type": "response", "input": "Hi", "response": None}
