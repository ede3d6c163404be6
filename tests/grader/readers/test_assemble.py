"""The rules that hold for every format, each on the smallest trace that shows it."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from grader.readers.assemble import assemble
from grader.readers.contract import TraceHead
from grader.readers.facts import FACTS
from grader.records import Source, Span, Status, ToolCall, Trace

START = datetime(2026, 11, 30, 12, tzinfo=UTC)
SOURCE = Source(reader="test", path="test.jsonl", line=1)
ASKS = '[{"role":"assistant","content":null,"tool_calls":[{"function":{"name":"lookup","arguments":"{}"}}]}]'
SAYS = '[{"role":"assistant","content":"Done."}]'
QUESTION = '[{"role":"user","content":"Where is it?"}]'


def span(
    span_id: str, kind: str, parent: str | None, start: float | None = 0, end: float | None = 1, **fields: Any
) -> Span:
    """A span with times in seconds; `facts` are what a reader found out."""
    facts: Mapping[str, object] | None = fields.pop("facts", None)
    return Span(
        span_id=span_id,
        parent_id=parent,
        kind=kind,  # type: ignore[arg-type]
        name=fields.pop("name", span_id),
        started_at=None if start is None else START + timedelta(seconds=start),
        ended_at=None if end is None else START + timedelta(seconds=end),
        attributes={FACTS: facts} if facts else {},
        **fields,
    )


def trace_of(*spans: Span, head: TraceHead | None = None) -> Trace:
    return assemble("t", head, spans, SOURCE)


AGENT = span("agent", "agent", None, 0, 10)


def call(span_id: str, start: float, output: str | None = SAYS, parent: str = "agent", **fields: Any) -> Span:
    return span(span_id, "model", parent, start, start + 0.5, input=QUESTION, output=output, **fields)


def tool(span_id: str, start: float, parent: str = "agent", **fields: Any) -> Span:
    return span(
        span_id, "tool", parent, start, start + 0.5, **{"name": "lookup", "input": "{}", "output": "found", **fields}
    )


def test_turns_are_model_calls_each_counted_once() -> None:
    """Two instrumentors: nested model spans are one turn, and what one of them lacks the other gives."""
    outer = call("outer", 1, model="gpt", input_tokens=5, output_tokens=2)
    inner = call("inner", 1.1, output=None, parent="outer")
    trace = trace_of(AGENT, outer, inner, call("second", 3, input_tokens=7, output_tokens=1))
    assert (trace.num_turns, trace.input_tokens, trace.output_tokens, trace.model) == (2, 12, 3, "gpt")


def test_a_failed_call_is_a_turn() -> None:
    assert trace_of(AGENT, call("a", 1, output=None, error="500"), call("b", 2)).num_turns == 2


def test_a_span_that_holds_several_calls_is_no_copy_of_any() -> None:
    outer = call("outer", 1, input_tokens=100, output_tokens=100)
    trace = trace_of(AGENT, outer, call("a", 1.1, parent="outer"), call("b", 1.2, parent="outer"))
    assert (trace.num_turns, trace.input_tokens) == (2, None)


@pytest.mark.parametrize(
    ("tokens", "total"),
    [
        pytest.param([(10, 5), (20, 6)], (30, 11), id="summed over the calls"),
        pytest.param([(0, 0), (0, 0)], (None, None), id="0 and 0 on a streamed call is not known"),
        pytest.param([(10, 5), (0, 0)], (None, None), id="one call not known: the sum is not known"),
        pytest.param([(10, 0)], (10, 0), id="no output is a number"),
        pytest.param([(10, 5), (None, None)], (None, None), id="missing"),
    ],
)
def test_tokens(tokens: Sequence[tuple[int | None, int | None]], total: tuple[int | None, int | None]) -> None:
    calls = [call(f"c{i}", i, input_tokens=used[0], output_tokens=used[1]) for i, used in enumerate(tokens)]
    trace = trace_of(AGENT, *calls)
    assert (trace.input_tokens, trace.output_tokens) == total


def test_a_failed_call_without_usage_leaves_the_sum_known() -> None:
    trace = trace_of(
        AGENT, call("a", 1, output=None, error="500"), call("b", 2, input_tokens=4, output_tokens=2, cost_usd=0.1)
    )
    assert (trace.input_tokens, trace.output_tokens, trace.cost_usd) == (4, 2, 0.1)


@pytest.mark.parametrize(
    ("aggregate", "notes"),
    [((30, 11), ()), ((60, 22), ("token_levels_disagree",)), ((0, 0), ()), ((None, None), ())],
    ids=["agrees", "disagrees", "0 and 0 says nothing", "none"],
)
def test_aggregates_are_not_added_but_compared(
    aggregate: tuple[int | None, int | None], notes: tuple[str, ...]
) -> None:
    task = span("task", "chain", None, 0, 9, input_tokens=aggregate[0], output_tokens=aggregate[1])
    calls = [
        call("a", 1, parent="task", input_tokens=10, output_tokens=5),
        call("b", 2, parent="task", input_tokens=20, output_tokens=6),
    ]
    trace = trace_of(task, *calls)
    assert (trace.input_tokens, trace.notes) == (30, notes)


def test_duration_is_over_all_spans_not_the_root() -> None:
    trace = trace_of(
        span("root", "agent", None, 1, 2), tool("late", 3, parent="root"), call("early", 0.25, parent="root")
    )
    assert (trace.started_at, trace.duration_ms) == (START + timedelta(seconds=0.25), 3250.0)


@pytest.mark.parametrize(
    ("spans", "duration_ms", "note"),
    [
        pytest.param([span("a", "agent", None, 2, 1)], None, "clock_skew", id="an end before its start"),
        pytest.param(
            [span("a", "agent", None, 0, 9), span("b", "tool", "a", 5, 4)], None, "clock_skew", id="in one span"
        ),
        pytest.param([span("a", "agent", None, 0, None)], None, "no_end", id="no end"),
        pytest.param([span("a", "agent", None, None, 1)], None, "no_start", id="no start"),
        pytest.param([span("a", "agent", "gone", 0, 1)], 1000.0, "no_root", id="a parent that never arrived"),
        pytest.param([], None, "no_spans", id="announced, and no span came"),
    ],
)
def test_quality_notes(spans: list[Span], duration_ms: float | None, note: str) -> None:
    trace = trace_of(*spans)
    assert trace.duration_ms == duration_ms
    assert note in trace.notes


def test_a_duration_is_exact_to_the_microsecond() -> None:
    """16.266 s * 1000 is 16265.999999999998 in binary floats, and an alert would say so."""
    assert trace_of(span("a", "agent", None, 0, 16.266)).duration_ms == 16266.0
    assert trace_of(span("a", "agent", None, 0, 0.000_123)).duration_ms == 0.123


@pytest.mark.parametrize(
    ("spans", "name"),
    [
        pytest.param([span("checkout", "agent", None)], "checkout", id="an agent"),
        pytest.param([span("gpt-4.1", "model", None)], None, id="a model call is named after its model"),
        pytest.param([span("gpt-4.1", "model", None), span("run", "chain", None, 1, 2)], "run", id="the next root"),
    ],
)
def test_the_name_of_a_trace_without_a_head(spans: list[Span], name: str | None) -> None:
    assert trace_of(*spans).name == name


def test_one_missing_end_is_left_out() -> None:
    trace = trace_of(AGENT, span("open", "tool", "agent", 3, None))
    assert (trace.duration_ms, trace.notes) == (10_000.0, ("no_content",))


TRIPPED = {"tripped": "no_secrets"}


@pytest.mark.parametrize(
    ("spans", "status"),
    [
        pytest.param([AGENT, call("a", 1)], "completed", id="an answer and no error"),
        pytest.param(
            [AGENT, call("a", 1, ASKS), tool("t", 2, error="boom"), call("b", 3)], "completed", id="a failed tool alone"
        ),
        pytest.param(
            [span("agent", "agent", None, 0, 9, error="Max turns"), call("a", 1, ASKS), tool("t", 2)],
            "failed",
            id="the agent failed",
        ),
        pytest.param([AGENT, call("a", 1, None, error="500")], "failed", id="the last model call failed"),
        pytest.param([AGENT, call("a", 1, None, error="500"), call("b", 2)], "completed", id="and was tried again"),
        pytest.param(
            [span("root", "chain", None, 0, 9), span("agent", "agent", "root", 0, 8, error="boom"), call("a", 1)],
            "failed",
            id="the root says ok, its agent failed",
        ),
        pytest.param(
            [span("root", "chain", None, 0, 9, error="boom"), call("a", 1, parent="root")],
            "failed",
            id="the root failed",
        ),
        pytest.param(
            [AGENT, span("step", "chain", "agent", 1, 2, error="parse error"), call("a", 3)],
            "completed",
            id="a failed step that the agent survived",
        ),
        pytest.param(
            [AGENT, span("turn", "chain", "agent", 1, 2, error="Tripped", facts=TRIPPED)],
            "blocked",
            id="stopped by a guardrail",
        ),
        pytest.param(
            [span("agent", "agent", None, 0, 3, error="Tripped", facts=TRIPPED), call("a", 1)],
            "blocked",
            id="an answer that a guardrail held back",
        ),
        pytest.param(
            [AGENT, span("turn", "chain", "agent", 1, 2, error="Tripped", facts=TRIPPED), call("a", 5)],
            "completed",
            id="a blocked run and then another",
        ),
        pytest.param(
            [
                AGENT,
                call("a", 1, ASKS),
                tool("t", 2, error="sub-agent"),
                span("sub", "agent", "t", 2, 2.4, error="boom"),
                call("b", 4),
            ],
            "completed",
            id="an agent inside a tool failed",
        ),
        pytest.param(
            [
                AGENT,
                span("turn", "chain", "agent", 1, 2, error="Tool not found", facts={"unknown_tool": "x"}),
                call("a", 1.1, ASKS, "turn"),
            ],
            "failed",
            id="an unknown tool",
        ),
        pytest.param([span("agent", "agent", None, 0, None), call("a", 1, ASKS)], "running", id="the root is open"),
        pytest.param(
            [call("a", 1, ASKS, parent="gone"), tool("t", 2, parent="gone")], "unknown", id="the root has not arrived"
        ),
        pytest.param([call("a", 1, parent="gone")], "completed", id="no root, but an answer"),
        pytest.param([AGENT, call("a", 1, ASKS)], "unknown", id="waits for tools that never ran"),
        pytest.param([AGENT], "unknown", id="an agent that did nothing"),
        pytest.param([], "unknown", id="no spans"),
    ],
)
def test_status(spans: list[Span], status: Status) -> None:
    assert trace_of(*spans).status == status


def test_the_exporters_own_word_on_the_status_counts_first() -> None:
    assert trace_of(AGENT, call("a", 1), head=TraceHead(status="interrupted")).status == "interrupted"


def test_tools() -> None:
    trace = trace_of(
        AGENT,
        call("a", 1, ASKS),
        tool("t1", 2),
        tool("t2", 2.1, output=None, error="boom"),
        span("h", "handoff", "agent", 3, 4),
        call("b", 5),
    )
    assert trace.tools_called == (
        ToolCall(name="lookup", arguments="{}", output="found", span_id="t1"),
        ToolCall(name="lookup", arguments="{}", error="boom", span_id="t2"),
    )
    assert trace.tool_errors == 1


def test_a_tool_seen_by_two_instrumentors_is_one_call() -> None:
    trace = trace_of(
        AGENT,
        call("a", 1, ASKS),
        tool("t", 2, error="boom"),
        tool("inner", 2.1, parent="t", error="boom"),
        call("b", 3),
    )
    assert (len(trace.tools_called or ()), trace.tool_errors) == (1, 1)


def test_an_unknown_tool_counts_once_though_the_error_is_passed_up() -> None:
    facts = {"unknown_tool": "drop"}
    agent = span("agent", "agent", None, 0, 9, error="Tool not found", facts=facts)
    turn = span("turn", "chain", "agent", 1, 2, error="Tool not found", facts=facts)
    trace = trace_of(agent, turn, call("a", 1.1, ASKS, "turn"))
    assert (trace.tool_errors, trace.tools_called, trace.status) == (1, (), "failed")


def test_an_unknown_tool_that_no_error_names() -> None:
    """The model asks at the end of the run for a tool it was not offered, and nothing runs."""
    attributes = {"tool_definitions": '[{"type":"function","name":"get_weather"}]'}
    asking = Span(
        span_id="a",
        parent_id="agent",
        kind="model",
        started_at=START,
        ended_at=START,
        output=ASKS,
        attributes=attributes,
    )
    trace = trace_of(AGENT, asking)
    assert (trace.tool_errors, trace.tools_called, trace.status) == (1, (), "failed")


def test_tools_asked_for_but_not_recorded() -> None:
    """Without tool spans what the calls gave is not known: neither an error nor a success."""
    trace = trace_of(AGENT, call("a", 1, ASKS), call("b", 3))
    assert trace.tools_called == (ToolCall(name="lookup", arguments="{}"),)
    assert trace.tool_errors is None


def test_tools_asked_for_without_content() -> None:
    silent = call("a", 1, None, facts={"asks_tools": True, "no_content": True})
    trace = trace_of(AGENT, silent)
    assert (trace.tools_called, trace.tool_errors, trace.status) == (None, None, "unknown")


SDK = TraceHead(guardrails_recorded=True)


@pytest.mark.parametrize(
    ("spans", "head", "triggered"),
    [
        pytest.param([AGENT, call("a", 1)], None, None, id="a format without guardrails"),
        pytest.param([AGENT, call("a", 1)], SDK, 0, id="a format that records all, and none fired"),
        pytest.param([AGENT, span("g", "guardrail", "agent", facts={"triggered": False})], SDK, 0, id="checked"),
        pytest.param([AGENT, span("g", "guardrail", "agent", facts={"triggered": True})], SDK, 1, id="fired"),
        pytest.param(
            [AGENT, span("g", "guardrail", "agent"), call("a", 1)], None, 0, id="a span that does not say, no trip"
        ),
        pytest.param(
            [span("agent", "agent", None, error="x", facts=TRIPPED), span("g", "guardrail", "agent")],
            None,
            1,
            id="only the agent's error says it",
        ),
        pytest.param(
            [
                span("agent", "agent", None, error="x", facts=TRIPPED),
                span("g", "guardrail", "agent", facts={"triggered": True}),
            ],
            SDK,
            1,
            id="span and error are one firing",
        ),
        pytest.param([], SDK, None, id="no spans"),
    ],
)
def test_guardrails(spans: list[Span], head: TraceHead | None, triggered: int | None) -> None:
    assert trace_of(*spans, head=head).guardrails_triggered == triggered


@pytest.mark.parametrize(
    ("spans", "question", "answer"),
    [
        pytest.param(
            [AGENT, call("a", 1, ASKS), tool("t", 2), call("b", 3)],
            "Where is it?",
            "Done.",
            id="first question, last answer",
        ),
        pytest.param(
            [span("agent", "agent", None, 0, 9, input="Hi", output="Bye"), call("a", 1)],
            "Hi",
            "Bye",
            id="the root recorded both",
        ),
        pytest.param(
            [span("agent", "agent", None, 0, 9, error="boom"), call("a", 1)],
            "Where is it?",
            None,
            id="a reply before a failure never arrived",
        ),
        pytest.param(
            [AGENT, call("a", 1, '[{"role":"assistant","content":""}]')], "Where is it?", "", id="an empty answer"
        ),
        pytest.param(
            [AGENT, call("a", 1, ASKS), tool("t", 2, output="21 °C")],
            "Where is it?",
            "21 °C",
            id="a tool ended the run",
        ),
        pytest.param(
            [
                AGENT,
                span("g", "guardrail", "agent", 0, 9),
                call("check", 8, '[{"role":"assistant","content":"safe"}]', "g"),
                call("a", 1),
            ],
            "Where is it?",
            "Done.",
            id="a guardrail's own model call is not the answer",
        ),
        pytest.param(
            [
                AGENT,
                call("a", 1, ASKS),
                tool("t", 2),
                call("sub", 2.1, '[{"role":"assistant","content":"sub"}]', "t"),
                call("b", 1.5),
            ],
            "Where is it?",
            "Done.",
            id="nor is an agent's inside a tool",
        ),
    ],
)
def test_question_and_answer(spans: list[Span], question: str | None, answer: str | None) -> None:
    trace = trace_of(*spans)
    assert (trace.user_message, trace.final_output) == (question, answer)


def no_content(span_id: str, start: float) -> Span:
    return span(
        span_id, "model", "agent", start, start + 1, input_tokens=1, output_tokens=1, facts={"no_content": True}
    )


@pytest.mark.parametrize(
    ("spans", "head", "captured"),
    [
        pytest.param([AGENT, no_content("a", 1), no_content("b", 2)], None, False, id="no model call holds texts"),
        pytest.param([AGENT, no_content("a", 1), call("b", 2)], None, True, id="one does"),
        pytest.param([AGENT, no_content("a", 1)], TraceHead(final_output="x"), True, id="the exporter gave the answer"),
        pytest.param(
            [AGENT, span("turn", "chain", "agent", facts=TRIPPED, error="x")],
            None,
            True,
            id="blocked before any call: there is no answer",
        ),
        pytest.param([AGENT], None, False, id="nothing is known"),
        pytest.param([], SDK, False, id="no spans"),
    ],
)
def test_content_captured(spans: list[Span], head: TraceHead | None, captured: bool) -> None:
    trace = trace_of(*spans, head=head)
    assert trace.content_captured is captured
    assert ("no_content" in trace.notes) is not captured


def test_spans_of_no_known_convention_count_nothing() -> None:
    trace = trace_of(span("a", "other", None), span("b", "other", "a"))
    assert (trace.num_turns, trace.tools_called, trace.tool_errors) == (None, None, None)


def test_session_release_and_tags_come_from_the_root_first() -> None:
    root = span(
        "root",
        "agent",
        None,
        5,
        9,
        facts={"session": "s1", "release": "2", "tags": {"env": "prod"}, "agent": "Support"},
    )
    child = span(
        "child", "tool", "root", 1, 2, facts={"session": "s2", "release": "1", "tags": {"env": "test", "zone": "eu"}}
    )
    trace = trace_of(root, child)
    assert (trace.name, trace.agent, trace.session_id, trace.release) == ("root", "Support", "s1", "2")
    assert trace.tags == {"env": "prod", "zone": "eu"}


def test_parents_in_a_loop() -> None:
    trace = trace_of(span("a", "model", "b", output=SAYS), span("b", "chain", "a"))
    assert (trace.num_turns, trace.notes, len(trace.spans)) == (1, ("no_root",), 2)


def test_the_order_of_spans_does_not_matter() -> None:
    spans = [
        AGENT,
        call("a", 1, ASKS),
        tool("t1", 2),
        tool("t2", 2, error="boom"),
        call("b", 3),
        span("g", "guardrail", "agent"),
    ]
    expected = trace_of(*spans)
    shuffle = random.Random(7)
    for _ in range(20):
        shuffle.shuffle(spans)
        assert trace_of(*spans) == expected
