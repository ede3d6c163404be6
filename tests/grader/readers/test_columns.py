from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.arrow import PREVIEW_CHARS, TRACE_SCHEMA
from grader.readers.assemble import assemble
from grader.readers.columns import head_from_json, spans_from_json, tool_calls_from_json, traces_to_arrow
from grader.readers.contract import TraceHead
from grader.records import STATUSES, Source, Span, ToolCall, Trace

SOURCE = Source(reader="otlp", path="a.jsonl", line=3)
START = datetime(2026, 11, 30, 23, 30, 0, 5, tzinfo=UTC)
FILE_TIMES = {"a.jsonl": datetime(2026, 12, 5, tzinfo=UTC)}

TEXTS = st.none() | st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
WORDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
MOMENTS = st.none() | st.integers(1, 7 * 10**15).map(
    lambda us: datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=us)
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=6,
)
COUNTS = st.none() | st.integers(0, 2**40)
SPANS = st.builds(
    Span,
    span_id=WORDS,
    parent_id=TEXTS,
    kind=st.sampled_from(["model", "tool", "agent", "other"]),
    name=WORDS,
    started_at=MOMENTS,
    ended_at=MOMENTS,
    input=TEXTS,
    output=TEXTS,
    error=TEXTS,
    model=TEXTS,
    input_tokens=COUNTS,
    output_tokens=COUNTS,
    cost_usd=st.none() | st.floats(0, 100),
    attributes=st.dictionaries(WORDS.filter(lambda key: key != "gradebook"), VALUES, max_size=4),
)
HEADS = st.builds(
    TraceHead,
    name=TEXTS,
    session_id=TEXTS,
    agent=TEXTS,
    release=TEXTS,
    model=TEXTS,
    status=st.none() | st.sampled_from(STATUSES),
    user_message=TEXTS,
    final_output=TEXTS,
    guardrails_recorded=st.none() | st.booleans(),
    tags=st.dictionaries(WORDS, WORDS, max_size=3),
)
CALLS = st.builds(ToolCall, name=WORDS, arguments=TEXTS, output=TEXTS, error=TEXTS, span_id=TEXTS)


def row_of(trace: Trace, *, head: TraceHead | None = None, zone: str = "UTC") -> dict[str, object]:
    heads = {} if head is None else {trace.trace_id: head}
    table = traces_to_arrow([trace], heads=heads, zone=ZoneInfo(zone), file_times=FILE_TIMES)
    assert table.schema == TRACE_SCHEMA
    return dict(table.to_pylist()[0])


@settings(deadline=None)
@given(st.lists(SPANS, max_size=4, unique_by=lambda span: span.span_id), HEADS)
def test_spans_head_and_tools_come_back_as_they_were(spans: list[Span], head: TraceHead) -> None:
    trace = assemble("t", head, spans, SOURCE)
    row = row_of(trace, head=head)
    assert head_from_json(str(row["head"])) == head
    assert (() if row["spans"] is None else spans_from_json(str(row["spans"]))) == trace.spans
    back = None if row["tools_called"] is None else tool_calls_from_json(str(row["tools_called"]))
    assert back == trace.tools_called


@settings(deadline=None)
@given(st.lists(CALLS, max_size=3))
def test_tool_calls_come_back_as_they_were(calls: list[ToolCall]) -> None:
    row = row_of(Trace(trace_id="t", source=SOURCE, tools_called=tuple(calls)))
    assert tool_calls_from_json(str(row["tools_called"])) == tuple(calls)
    assert row["tool_names"] == [call.name for call in calls]


def test_a_row() -> None:
    answer = "x" * 500
    trace = Trace(
        trace_id="t",
        source=SOURCE,
        name="run",
        started_at=START,
        ended_at=START + timedelta(seconds=1),
        duration_ms=1000.0,
        status="completed",
        num_turns=2,
        final_output=answer,
        tags={"env": "prod"},
        notes=("no_root",),
    )
    row = row_of(trace)
    assert (row["day"], row["started_at"], row["duration_ms"], row["num_turns"]) == (
        date(2026, 11, 30),
        START,
        1000.0,
        2,
    )
    assert (row["final_output"], row["answer_preview"], row["answer_chars"]) == (answer, answer[:PREVIEW_CHARS], 500)
    assert (row["tags"], row["notes"], row["num_spans"], row["spans"]) == ([("env", "prod")], ["no_root"], 0, None)
    assert (row["tool_names"], row["tools_called"], row["head"], row["tool_errors"]) == (None, None, None, None)
    assert (row["source_reader"], row["source_path"], row["source_line"]) == ("otlp", "a.jsonl", 3)


@pytest.mark.parametrize(
    ("started_at", "ended_at", "zone", "day"),
    [
        (START, None, "UTC", date(2026, 11, 30)),
        (START, None, "Europe/Zurich", date(2026, 12, 1)),
        (START, None, "America/New_York", date(2026, 11, 30)),
        (None, START, "UTC", date(2026, 11, 30)),
        (None, None, "UTC", date(2026, 12, 5)),
    ],
    ids=["UTC", "east", "west", "only an end", "no time: the file's"],
)
def test_the_day_of_a_trace(started_at: datetime | None, ended_at: datetime | None, zone: str, day: date) -> None:
    assert row_of(Trace(trace_id="t", source=SOURCE, started_at=started_at, ended_at=ended_at), zone=zone)["day"] == day


@pytest.mark.parametrize(
    ("answer", "captured", "chars"),
    [("", True, 0), (None, True, 0), (None, False, None), ("👩‍👩‍👧", True, 5)],
    ids=["empty", "missing", "not captured", "code points"],
)
def test_answer_chars(answer: str | None, captured: bool, chars: int | None) -> None:
    assert (
        row_of(Trace(trace_id="t", source=SOURCE, final_output=answer, content_captured=captured))["answer_chars"]
        == chars
    )


def test_no_traces() -> None:
    table = traces_to_arrow([], heads={}, zone=UTC, file_times={})
    assert (table.num_rows, table.schema) == (0, TRACE_SCHEMA)


HASHED = Trace(
    trace_id="t",
    source=SOURCE,
    user_message="Hi",
    final_output="Hello",
    spans=(Span(span_id="s", started_at=START, attributes={"b": 1, "a": {"d": None, "c": 2}}),),
)


def test_the_hash_is_of_the_content_not_of_where_it_was_read() -> None:
    elsewhere = replace(HASHED, source=Source(reader="otlp", path="a.jsonl", line=99))
    reordered = replace(HASHED, spans=(replace(HASHED.spans[0], attributes={"a": {"c": 2, "d": None}, "b": 1}),))
    assert row_of(HASHED)["content_hash"] == row_of(elsewhere)["content_hash"] == row_of(reordered)["content_hash"]


@pytest.mark.parametrize(
    "changed",
    [
        replace(HASHED, final_output="Hello!"),
        replace(HASHED, final_output=None),
        replace(HASHED, user_message="", final_output="HiHello"),
        replace(HASHED, spans=()),
        replace(HASHED, spans=(replace(HASHED.spans[0], output="x"),)),
        replace(HASHED, trace_id="u"),
    ],
    ids=["answer", "no answer", "text moved", "no spans", "span", "id"],
)
def test_the_hash_changes_with_the_content(changed: Trace) -> None:
    assert row_of(changed)["content_hash"] != row_of(HASHED)["content_hash"]


def test_the_hash_is_the_same_in_every_process_and_version() -> None:
    """Another number here means that every trace looks changed, and every judgement is asked for again."""
    assert row_of(HASHED)["content_hash"] == 6923122661024277960
