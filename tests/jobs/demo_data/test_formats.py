"""Each demo format is read by our own readers as the run that it was made of, of every kind of run."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime
from random import Random

import orjson
import pytest

from grader.readers import reader_for
from grader.readers.assemble import assemble, merge_heads, merge_spans
from grader.readers.columns import tool_calls_from_json
from grader.readers.contract import Chunk, RecordReader
from grader.records import Source, Span, Trace
from jobs.demo_data.agents_sdk import capture_lines, exporter_lines
from jobs.demo_data.flat import flat_lines
from jobs.demo_data.make_runs import DayOfAgent, make_runs
from jobs.demo_data.otlp import otlp_lines
from jobs.demo_data.run import AgentProfile, DemoRun
from jobs.demo_data.schedule import RESEARCH, SHOP, SUPPORT

DAY = date(2026, 11, 3)


def _runs(agent: AgentProfile, failing_tool: str) -> list[DemoRun]:
    """Runs of every kind that the agent has."""
    days = [
        DayOfAgent(agent=agent, day=DAY, release="1.2.3", num_runs=number, is_bad=is_bad, failing_tool=tool)
        for number, is_bad, tool in ((400, False, None), (40, True, None), (40, False, failing_tool))
    ]
    return [run for today in days for run in make_runs(today, zone=UTC, rng=Random(5))]


def _read(lines: list[str]) -> Trace:
    reader = reader_for("auto", lines[0].encode())
    assert not isinstance(reader, RecordReader)
    head, spans = None, tuple[Span, ...]()
    for line in lines:
        for fragment in reader.parse(orjson.loads(line)):
            head, spans = merge_heads(head, fragment.head), merge_spans(spans, fragment.spans)
            trace_id = fragment.trace_id
    return assemble(trace_id, head, spans, Source(reader=reader.name, path="demo", line=1))


FORMATS: tuple[tuple[str, AgentProfile, str, Callable[[DemoRun], list[str]], set[str]], ...] = (
    ("capture", SHOP, "check_stock", capture_lines, set()),
    ("exporter", SHOP, "check_stock", exporter_lines, set()),
    ("otlp", RESEARCH, "fetch_paper", lambda run: otlp_lines(run, split=False), {"guardrails_triggered"}),
    ("otlp-split", RESEARCH, "fetch_paper", lambda run: otlp_lines(run, split=True), {"guardrails_triggered"}),
)


@pytest.mark.parametrize(("agent", "tool", "writer", "unknown"), [f[1:] for f in FORMATS], ids=[f[0] for f in FORMATS])
def test_a_span_format_reads_back_as_the_run_it_was_made_of(
    agent: AgentProfile, tool: str, writer: Callable[[DemoRun], list[str]], unknown: set[str]
) -> None:
    runs = _runs(agent, tool)
    assert {run.kind for run in runs} >= {
        "good",
        "slow",
        "many_turns",
        "tool_errors",
        "bad_release",
        "outage",
        "failed",
    }
    for run in runs:
        trace = _read(writer(run))
        expected = {
            "trace_id": run.trace_id,
            "name": run.topic,
            "agent": agent.name,
            "release": "1.2.3",
            "session_id": run.session_id,
            "started_at": run.started_at,
            "status": run.status,
            "num_turns": run.num_turns,
            "tool_errors": run.tool_errors,
            "guardrails_triggered": int(run.guardrail is not None),
            "final_output": run.answer,
            "user_message": run.question,
            "model": agent.model,
            "input_tokens": run.input_tokens,
            "output_tokens": run.output_tokens,
        }
        not_known = set(unknown)
        if not run.steps:  # blocked before the model was asked: the question is in no span
            not_known |= {"user_message", "model", "input_tokens", "output_tokens"}
        expected |= dict.fromkeys(not_known)
        assert {name: getattr(trace, name) for name in expected} == expected
        assert trace.duration_ms == pytest.approx(run.duration_ms)
        assert trace.tools_called is not None
        assert [(call.name, call.arguments, call.error is None) for call in trace.tools_called] == [
            (call.tool, call.arguments, call.error is None) for call in run.calls
        ]
        assert trace.notes == ()
        assert trace.content_captured


def test_flat_lines_read_back_as_the_runs_they_were_made_of() -> None:
    runs = _runs(SUPPORT, "lookup_account")
    data = "".join(f"{line}\n" for run in runs for line in flat_lines(run)).encode()
    reader = reader_for("auto", data[:65_536])
    assert isinstance(reader, RecordReader)
    chunk = Chunk(path="demo", first_line=1, data=data, file_time=datetime(2026, 11, 4, tzinfo=UTC))
    batch = reader.read([chunk], zone=UTC)
    assert batch.quarantined == ()
    rows = batch.traces.to_pylist()
    assert len(rows) == len(runs)
    for run, row in zip(runs, rows, strict=True):
        expected = {
            "trace_id": run.trace_id,
            "day": DAY,
            "agent": "support",
            "release": "1.2.3",
            "started_at": run.started_at,
            "duration_ms": run.duration_ms,
            "status": run.status,
            "num_turns": run.num_turns,
            "tool_errors": run.tool_errors,
            "guardrails_triggered": int(run.guardrail is not None),
            "user_message": run.question,
            "final_output": run.answer,
            "cost_usd": run.cost_usd(),
            "tags": list(run.tags.items()),
        }
        assert {name: row[name] for name in expected} == expected
        calls = tool_calls_from_json(row["tools_called"])
        assert [(call.name, call.output, call.error) for call in calls] == [
            (call.tool, call.output, call.error) for call in run.calls
        ]
