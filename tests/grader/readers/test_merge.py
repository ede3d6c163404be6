from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from grader.readers.contract import TraceHead
from grader.readers.merge import merge_heads, merge_spans
from grader.records import STATUSES, Span

START = datetime(2026, 11, 30, 12, tzinfo=UTC)
TIMES = st.none() | st.integers(0, 5).map(lambda second: START + timedelta(seconds=second))
TEXTS = st.none() | st.sampled_from(["", "a", "b", "long", "longer"])
COUNTS = st.none() | st.integers(0, 3)

COPIES = st.builds(
    Span,
    span_id=st.just("s"),
    parent_id=TEXTS,
    kind=st.sampled_from(["model", "tool", "other", "chain"]),
    name=st.sampled_from(["", "a", "ab"]),
    started_at=TIMES,
    ended_at=TIMES,
    input=TEXTS,
    output=TEXTS,
    error=TEXTS,
    model=TEXTS,
    input_tokens=COUNTS,
    output_tokens=COUNTS,
    cost_usd=st.none() | st.sampled_from([0.0, 0.5, 1.0]),
    attributes=st.dictionaries(
        st.sampled_from("xyz"),
        st.none() | st.integers(0, 2) | st.dictionaries(st.sampled_from("pq"), st.text(max_size=2)),
    ),
)
HEADS = st.builds(
    TraceHead,
    name=TEXTS,
    session_id=TEXTS,
    status=st.none() | st.sampled_from(STATUSES),
    final_output=TEXTS,
    guardrails_recorded=st.none() | st.booleans(),
    tags=st.dictionaries(st.sampled_from("xyz"), st.sampled_from(["1", "22"])),
)


def test_a_later_fuller_copy_completes_a_span() -> None:
    running = Span(span_id="s", name="chat", started_at=START, input="[…]", attributes={"a": 1})
    finished = replace(
        running, kind="model", ended_at=START + timedelta(seconds=1), output="Hi", output_tokens=3, attributes={"b": 2}
    )
    (merged,) = merge_spans((running,), (finished,))
    assert merged == replace(finished, attributes={"a": 1, "b": 2})
    assert merge_spans((finished,), (running,)) == (merged,)


def test_the_whole_text_wins_over_the_one_that_an_exporter_cut() -> None:
    whole, cut = Span(span_id="s", output="x" * 50), Span(span_id="s", output="x" * 10 + "... [truncated]")
    assert merge_spans((cut,), (whole,))[0].output == merge_spans((whole,), (cut,))[0].output == "x" * 50


def test_a_log_record_brings_the_messages_of_a_span() -> None:
    span = Span(span_id="s", kind="model", parent_id="p", name="chat", started_at=START, ended_at=START)
    record = Span(span_id="s", kind="model", input="[1]", output="[2]")
    assert merge_spans((record,), (span,)) == (replace(span, input="[1]", output="[2]"),)


def test_spans_keep_the_order_in_which_they_came() -> None:
    a, b, c = (Span(span_id=span_id) for span_id in "abc")
    assert merge_spans((b, a), (a, c)) == (b, a, c)


@given(COPIES, COPIES, COPIES)
def test_copies_merge_the_same_in_any_order(one: Span, two: Span, three: Span) -> None:
    merged = merge_spans(merge_spans((one,), (two,)), (three,))
    assert merge_spans((three,), merge_spans((two,), (one,))) == merged
    assert merge_spans(merge_spans((one,), (three,)), (two,)) == merged
    assert merge_spans(merged, (one, two, three)) == merged


@given(HEADS, HEADS, HEADS)
def test_heads_merge_the_same_in_any_order(one: TraceHead, two: TraceHead, three: TraceHead) -> None:
    merged = merge_heads(merge_heads(one, two), three)
    assert merge_heads(three, merge_heads(two, one)) == merged
    assert merge_heads(merged, two) == merged


def test_no_head() -> None:
    head = TraceHead(name="run")
    assert (merge_heads(None, None), merge_heads(head, None), merge_heads(None, head)) == (None, head, head)
