from __future__ import annotations

import json
from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.arrow import PREVIEW_CHARS, TRACE_SCHEMA
from grader.readers.columns import spans_from_json, tool_calls_from_json
from grader.readers.contract import Chunk, RecordBatch
from grader.readers.flat import EXCERPT_CHARS, FlatReader
from grader.readers.ids import normalise_id
from grader.records import Span, ToolCall

FILE_TIME = datetime(2026, 11, 3, 12, tzinfo=UTC)
ZONE = ZoneInfo("Europe/Zurich")
Line = bytes | str | dict[str, Any]


def utc(*parts: int) -> datetime:
    return datetime(*parts, tzinfo=UTC)  # type: ignore[misc,arg-type]


def as_bytes(line: Line) -> bytes:
    if isinstance(line, bytes):
        return line
    return line.encode() if isinstance(line, str) else json.dumps(line, ensure_ascii=False).encode()


def chunk_of(*lines: Line, path: str = "a.jsonl", first_line: int = 1) -> Chunk:
    data = b"".join(as_bytes(line) + b"\n" for line in lines)
    return Chunk(path=path, first_line=first_line, data=data, file_time=FILE_TIME)


def read(*lines: Line, zone: ZoneInfo = ZONE) -> RecordBatch:
    return FlatReader().read([chunk_of(*lines)], zone=zone)


def row_of(**members: Any) -> dict[str, Any]:
    """The one row that a trace with these members becomes; a member given as ... is left out."""
    trace = {"trace_id": "t1", "started_at": "2026-10-01T08:00:00Z", "ended_at": "2026-10-01T08:00:02Z"} | members
    batch = read({name: value for name, value in trace.items() if value is not ...})
    assert batch.quarantined == ()
    rows: list[dict[str, Any]] = batch.traces.to_pylist()
    assert len(rows) == 1
    return rows[0]


def reason_of(line: Line) -> str:
    batch = read({"trace_id": "before"}, line, {"trace_id": "after"})
    assert batch.traces["trace_id"].to_pylist() == ["before", "after"]
    assert batch.traces["source_line"].to_pylist() == [1, 3]
    (quarantined,) = batch.quarantined
    assert (quarantined.reader, quarantined.path, quarantined.line) == ("flat", "a.jsonl", 2)
    return quarantined.reason


FULL = {
    "trace_id": "0af7651916cd43dd8448eb211c80319c",
    "name": "refund",
    "session_id": "s1",
    "agent": "support",
    "release": "2026.10.2",
    "model": "gpt-4.1-mini",
    "started_at": "2026-10-01T08:00:00.123456Z",
    "ended_at": "2026-10-01T08:00:02Z",
    "duration_ms": 1876.544,
    "status": "completed",
    "num_turns": 3,
    "tool_errors": 1,
    "guardrails_triggered": 0,
    "user_message": "Where is my order? 👩‍👩‍👧",
    "final_output": "It left this morning.",
    "content_captured": True,
    "tools_called": [
        "lookup_order",
        {"name": "refund", "arguments": {"id": 7}, "output": "done", "error": "late", "span_id": "x"},
    ],
    "input_tokens": 812,
    "output_tokens": 64,
    "cost_usd": 0.0021,
    "tags": {"plan": "pro", "seats": 4, "beta": True, "none": None},
    "spans": [{"span_id": "00f067aa0ba902b7", "kind": "tool", "name": "refund", "started_at": "2026-10-01T08:00:01Z"}],
    "something_else": {"kept": False},
}


def test_every_field_of_a_full_trace() -> None:
    batch = read(FULL)
    assert batch.traces.schema == TRACE_SCHEMA
    (row,) = batch.traces.to_pylist()
    assert tool_calls_from_json(row.pop("tools_called")) == (
        ToolCall(name="lookup_order"),
        ToolCall(name="refund", arguments='{"id":7}', output="done", error="late", span_id="x"),
    )
    assert spans_from_json(row.pop("spans")) == (
        Span(
            span_id="00f067aa0ba902b7",
            kind="tool",
            name="refund",
            started_at=datetime(2026, 10, 1, 8, 0, 1, tzinfo=UTC),
        ),
    )
    assert isinstance(row.pop("content_hash"), int)
    assert row == {
        "trace_id": "0af7651916cd43dd8448eb211c80319c",
        "day": date(2026, 10, 1),
        "name": "refund",
        "session_id": "s1",
        "agent": "support",
        "release": "2026.10.2",
        "model": "gpt-4.1-mini",
        "started_at": datetime(2026, 10, 1, 8, 0, 0, 123456, tzinfo=UTC),
        "ended_at": datetime(2026, 10, 1, 8, 0, 2, tzinfo=UTC),
        "duration_ms": 1876.544,
        "status": "completed",
        "num_turns": 3,
        "tool_errors": 1,
        "guardrails_triggered": 0,
        "content_captured": True,
        "answer_chars": 21,
        "user_preview": "Where is my order? 👩‍👩‍👧",
        "answer_preview": "It left this morning.",
        "tool_names": ["lookup_order", "refund"],
        "input_tokens": 812,
        "output_tokens": 64,
        "cost_usd": 0.0021,
        "tags": [("plan", "pro"), ("seats", "4"), ("beta", "true")],
        "num_spans": 1,
        "notes": [],
        "source_reader": "flat",
        "source_path": "a.jsonl",
        "source_line": 1,
        "head": None,
        "user_message": "Where is my order? 👩‍👩‍👧",
        "final_output": "It left this morning.",
    }


def test_a_trace_that_says_nothing_but_its_id_knows_nothing() -> None:
    (row,) = read({"trace_id": "t1"}).traces.to_pylist()
    known = {name: value for name, value in row.items() if value is not None}
    known.pop("content_hash")
    assert known == {
        "trace_id": "t1",
        "day": date(2026, 11, 3),
        "status": "unknown",
        "content_captured": True,
        "answer_chars": 0,
        "tags": [],
        "num_spans": 0,
        "notes": ["no_start", "no_end"],
        "source_reader": "flat",
        "source_path": "a.jsonl",
        "source_line": 1,
    }


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        pytest.param({"duration_ms": ...}, {"duration_ms": 2000.0, "notes": []}, id="duration from the times"),
        pytest.param({"duration_ms": 5}, {"duration_ms": 5.0, "notes": []}, id="given duration stands"),
        pytest.param({"duration_ms": 0}, {"duration_ms": 0.0}, id="zero duration is known"),
        pytest.param({"duration_ms": -1}, {"duration_ms": None, "notes": ["clock_skew"]}, id="negative duration"),
        pytest.param(
            {"ended_at": "2026-10-01T07:59:59Z"}, {"duration_ms": None, "notes": ["clock_skew"]}, id="end before start"
        ),
        pytest.param(
            {"ended_at": "2026-10-01T07:59:59Z", "duration_ms": 5},
            {"duration_ms": 5.0, "notes": ["clock_skew"]},
            id="end before start, duration given",
        ),
        pytest.param({"ended_at": ...}, {"duration_ms": None, "notes": ["no_end"]}, id="no end"),
        pytest.param(
            {"ended_at": ..., "duration_ms": 3}, {"duration_ms": 3.0, "notes": []}, id="no end, duration given"
        ),
        pytest.param(
            {"started_at": ...},
            {"duration_ms": None, "day": date(2026, 10, 1), "notes": ["no_start"]},
            id="only an end",
        ),
        pytest.param(
            {"started_at": "2199-01-01", "ended_at": None}, {"notes": ["no_end", "future_start"]}, id="future"
        ),
        pytest.param({"num_turns": "12"}, {"num_turns": 12}, id="number as text"),
        pytest.param({"num_turns": 2.0}, {"num_turns": 2}, id="whole double"),
        pytest.param({"num_turns": float("nan")}, {"num_turns": None}, id="NaN is not known"),
        pytest.param({"duration_ms": "NaN", "ended_at": None}, {"duration_ms": None}, id="NaN as text"),
        pytest.param({"num_turns": "", "cost_usd": ""}, {"num_turns": None, "cost_usd": None}, id="empty number"),
        pytest.param({"input_tokens": 2**53}, {"input_tokens": 2**53}, id="largest token count"),
        pytest.param({"num_turns": 2**31 - 1}, {"num_turns": 2**31 - 1}, id="largest count"),
        pytest.param({"final_output": ...}, {"answer_chars": 0, "final_output": None}, id="absent answer is empty"),
        pytest.param({"final_output": None}, {"answer_chars": 0}, id="null answer is empty"),
        pytest.param({"final_output": "é👍"}, {"answer_chars": 2}, id="answer in code points"),
        pytest.param(
            {"final_output": "👩‍👩‍👧" * 100},
            {"answer_chars": 500, "answer_preview": ("👩‍👩‍👧" * 100)[:PREVIEW_CHARS]},
            id="preview in code points",
        ),
        pytest.param({"final_output": "a\x00b"}, {"answer_chars": 3, "final_output": "a\x00b"}, id="NUL in a text"),
        pytest.param(
            {"content_captured": False, "final_output": None},
            {"content_captured": False, "answer_chars": None, "notes": ["no_content"]},
            id="content not captured",
        ),
        pytest.param(
            {"content_captured": False, "final_output": "ok"}, {"answer_chars": 2}, id="not captured, yet there"
        ),
        pytest.param({"content_captured": None}, {"content_captured": True}, id="captured unless said otherwise"),
        pytest.param({"user_message": {"text": "hi"}}, {"user_message": '{"text":"hi"}'}, id="structured text"),
        pytest.param({"name": "", "model": ""}, {"name": None, "model": None}, id="empty names"),
        pytest.param({"status": ...}, {"status": "unknown"}, id="no status"),
        pytest.param({"status": "blocked"}, {"status": "blocked"}, id="status"),
        pytest.param({"status": "OK"}, {"status": "completed"}, id="status ok"),
        pytest.param({"status": "error"}, {"status": "failed"}, id="status error"),
        pytest.param({"tools_called": ...}, {"tool_names": None, "tool_errors": None}, id="tools not known"),
        pytest.param({"tools_called": []}, {"tool_names": [], "tool_errors": 0}, id="no tools"),
        pytest.param({"tools_called": ["a", "a"]}, {"tool_names": ["a", "a"], "tool_errors": None}, id="tool names"),
        pytest.param(
            {"tools_called": [{"name": "a"}, {"name": "b", "error": "x"}, {"name": "c", "error": ""}]},
            {"tool_names": ["a", "b", "c"], "tool_errors": 1},
            id="errors counted from calls",
        ),
        pytest.param(
            {"tools_called": [{"name": "a", "error": "x"}], "tool_errors": 2}, {"tool_errors": 2}, id="given errors"
        ),
        pytest.param({"tools_called": ["{x"]}, {"tool_names": ["{x"]}, id="a name that looks like an object"),
        pytest.param({"tags": {}}, {"tags": []}, id="no tags"),
        pytest.param({"spans": []}, {"num_spans": 0, "spans": None}, id="no spans"),
    ],
)
def test_what_members_become(members: dict[str, Any], expected: dict[str, Any]) -> None:
    row = row_of(**members)
    assert {name: row[name] for name in expected} == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param("2026-10-01T08:00:00Z", utc(2026, 10, 1, 8), id="Z"),
        pytest.param("2026-10-01T08:00:00.5+02:00", utc(2026, 10, 1, 6, 0, 0, 500_000), id="offset"),
        pytest.param("2026-10-01T08:00:00-04:00", utc(2026, 10, 1, 12), id="offset west"),
        pytest.param("2026-10-01T08:00:00-0400", utc(2026, 10, 1, 12), id="offset without colon"),
        pytest.param("2026-10-01T08:00:00", utc(2026, 10, 1, 8), id="no zone is UTC"),
        pytest.param("2026-10-01 08:00:00", utc(2026, 10, 1, 8), id="space"),
        pytest.param("2026-10-01T08:00:00.123456789Z", utc(2026, 10, 1, 8, 0, 0, 123_456), id="nanoseconds"),
        pytest.param(1_790_841_600, utc(2026, 10, 1, 8), id="epoch s"),
        pytest.param(1_790_841_600.25, utc(2026, 10, 1, 8, 0, 0, 250_000), id="epoch s with fraction"),
        pytest.param(1_790_841_600_250, utc(2026, 10, 1, 8, 0, 0, 250_000), id="epoch ms"),
        pytest.param(1_790_841_600_250_001, utc(2026, 10, 1, 8, 0, 0, 250_001), id="epoch us"),
        pytest.param("1790841600250001000", utc(2026, 10, 1, 8, 0, 0, 250_001), id="epoch ns as text"),
    ],
)
def test_times(value: object, expected: datetime) -> None:
    assert row_of(started_at=value)["started_at"] == expected


@pytest.mark.parametrize(
    ("started_at", "zone", "expected"),
    [
        pytest.param("2026-10-24T22:30:00Z", "Europe/Zurich", date(2026, 10, 25), id="summer time, +2"),
        pytest.param("2026-10-25T22:30:00Z", "Europe/Zurich", date(2026, 10, 25), id="the day summer time ends, +1"),
        pytest.param("2026-10-25T23:00:00Z", "Europe/Zurich", date(2026, 10, 26), id="its midnight"),
        pytest.param("2026-03-28T23:30:00Z", "Europe/Zurich", date(2026, 3, 29), id="before the lost hour"),
        pytest.param("2026-03-29T22:00:00Z", "Europe/Zurich", date(2026, 3, 30), id="midnight after the lost hour"),
        pytest.param("2026-10-01T03:59:59Z", "America/New_York", date(2026, 9, 30), id="west"),
        pytest.param("2026-10-01T18:30:00Z", "Asia/Kolkata", date(2026, 10, 2), id="half an hour"),
        pytest.param("2026-10-01T23:59:59.999999Z", "UTC", date(2026, 10, 1), id="UTC"),
    ],
)
def test_day_is_of_the_zone(started_at: str, zone: str, expected: date) -> None:
    assert read({"trace_id": "t", "started_at": started_at}, zone=ZoneInfo(zone)).traces["day"].to_pylist() == [
        expected
    ]


def test_a_zone_without_a_name_is_refused() -> None:
    FlatReader().read([chunk_of({"trace_id": "t"})], zone=UTC)
    with pytest.raises(ValueError, match="no IANA time zone"):
        FlatReader().read([chunk_of({"trace_id": "t"})], zone=timezone(timedelta(hours=1)))


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        pytest.param(
            '{"trace_id": "x', "no JSON: Unterminated string starting at: line 1 column 14 (char 13)", id="cut"
        ),
        pytest.param(
            "{'trace_id': 'x'}", "no JSON: Expecting property name enclosed in double quotes", id="Python repr"
        ),
        pytest.param('{"trace_id": "x"} {"trace_id": "y"}', "no JSON: Extra data", id="two objects"),
        pytest.param("[1]", "expected a JSON object, found [1]", id="list"),
        pytest.param("null", "expected a JSON object, found nothing", id="null"),
        pytest.param('"x"', "expected a JSON object, found 'x'", id="text"),
        pytest.param("{}", "trace_id: expected a text, found nothing", id="no trace id"),
        pytest.param({"trace_id": None}, "trace_id: expected a text, found nothing", id="null trace id"),
        pytest.param({"trace_id": " "}, "trace_id: expected a text, found ' '", id="blank trace id"),
        pytest.param({"trace_id": "0" * 32}, f"trace_id: expected a text, found {'0' * 32!r}", id="all-zero trace id"),
        pytest.param(
            b'{"trace_id": "\xff"}', "not UTF-8: byte 0xff at position 15: invalid start byte", id="not UTF-8"
        ),
        pytest.param({"duration_ms": "abc"}, "duration_ms: expected a number, found 'abc'", id="text as number"),
        pytest.param({"duration_ms": True}, "duration_ms: expected a number, found 'true'", id="true as number"),
        pytest.param({"duration_ms": [1]}, "duration_ms: expected a number, found '[1]'", id="list as number"),
        pytest.param(
            {"duration_ms": float("inf")}, "duration_ms: expected a number, found 'Infinity'", id="infinite number"
        ),
        pytest.param(
            '{"trace_id":"t","duration_ms":1e999}', "duration_ms: expected a number, found '1e999'", id="huge"
        ),
        pytest.param(
            {"num_turns": 3.5}, "num_turns: expected a whole number of at least 0, found '3.5'", id="half a turn"
        ),
        pytest.param(
            {"tool_errors": -1}, "tool_errors: expected a whole number of at least 0, found '-1'", id="negative"
        ),
        pytest.param(
            {"num_turns": 2**31}, f"num_turns: expected a whole number of at least 0, found '{2**31}'", id="int32"
        ),
        pytest.param({"cost_usd": -0.1}, "cost_usd: expected a number of at least 0, found '-0.1'", id="negative cost"),
        pytest.param(
            {"started_at": "yesterday"},
            "started_at: expected a time like 2026-11-30T08:15:00Z, found 'yesterday'",
            id="no time",
        ),
        pytest.param(
            {"ended_at": "2026-02-30T00:00:00Z"},
            "ended_at: expected a time like 2026-11-30T08:15:00Z, found '2026-02-30T00:00:00Z'",
            id="a day that is none",
        ),
        pytest.param(
            {"started_at": "infinity"},
            "started_at: expected a time like 2026-11-30T08:15:00Z, found 'infinity'",
            id="∞",
        ),
        pytest.param(
            {"started_at": 12345},
            "started_at: expected a time like 2026-11-30T08:15:00Z, found '12345'",
            id="which unit",
        ),
        pytest.param(
            {"status": "weird"},
            "status: expected one of completed, failed, interrupted, blocked, running, unknown, found 'weird'",
            id="unknown status",
        ),
        pytest.param(
            {"content_captured": "perhaps"},
            "content_captured: expected true or false, found 'perhaps'",
            id="no boolean",
        ),
        pytest.param(
            {"tools_called": "search"},
            "tools_called: expected a list of names, or of calls with a name, found 'search'",
            id="tools as text",
        ),
        pytest.param(
            {"tools_called": [{"tool": "a"}]},
            """tools_called: expected a list of names, or of calls with a name, found '[{"tool":"a"}]'""",
            id="call without a name",
        ),
        pytest.param(
            {"tools_called": ["a", None]},
            """tools_called: expected a list of names, or of calls with a name, found '["a",null]'""",
            id="null as tool",
        ),
        pytest.param(
            {"tags": ["a"]}, """tags: expected an object of names and values, found '["a"]'""", id="tags as list"
        ),
        pytest.param({"spans": "x"}, "spans: expected a list of spans, found 'x'", id="spans as text"),
        pytest.param(
            {"spans": [1]}, "spans: expected an object with a span_id as span 1, found '1'", id="span no object"
        ),
    ],
)
def test_what_is_quarantined(line: Line, reason: str) -> None:
    given_line = {"trace_id": "t"} | line if isinstance(line, dict) else line
    assert reason_of(given_line).startswith(reason)


def test_excerpts_are_short() -> None:
    (quarantined,) = read('{"trace_id": "' + "é" * 10_000).quarantined
    assert len(quarantined.excerpt) == EXCERPT_CHARS


def test_lone_surrogates_are_replaced_and_the_line_is_kept_in_its_place() -> None:
    batch = read({"trace_id": "a"}, '{"trace_id": "b", "final_output": "x\\ud83dy"}', {"trace_id": "c"})
    assert batch.traces["trace_id"].to_pylist() == ["a", "b", "c"]
    assert batch.traces["final_output"].to_pylist() == [None, "x\ufffdy", None]


def test_lines_of_several_files_keep_path_and_number() -> None:
    chunks = [
        chunk_of({"trace_id": "a"}, "", "broken", path="one", first_line=10),
        chunk_of(" \t\r", {"trace_id": "b"}, path="two", first_line=7),
        Chunk(path="three", first_line=1, data=b'{"trace_id": "c"}', file_time=FILE_TIME),
    ]
    batch = FlatReader().read(chunks, zone=ZONE)
    rows = batch.traces.select(["trace_id", "source_path", "source_line"]).to_pylist()
    assert [tuple(row.values()) for row in rows] == [("a", "one", 10), ("b", "two", 8), ("c", "three", 1)]
    assert [(line.path, line.line) for line in batch.quarantined] == [("one", 12)]
    assert batch.num_lines == 4


def test_no_lines_are_an_empty_batch() -> None:
    batch = FlatReader().read([chunk_of("", "  ")], zone=ZONE)
    assert (batch.traces.schema, batch.traces.num_rows, batch.num_lines) == (TRACE_SCHEMA, 0, 0)


def test_more_lines_than_one_scan_keep_their_order() -> None:
    batch = read(*(f'{{"trace_id": "t{n}", "num_turns": {n}}}' for n in range(20_000)))
    assert batch.traces["num_turns"].to_pylist() == list(range(20_000))
    assert batch.traces["source_line"].to_pylist() == list(range(1, 20_001))


def test_content_hash_is_of_the_line_alone() -> None:
    line = {"trace_id": "a", "final_output": "x"}
    there = FlatReader().read([chunk_of({"trace_id": "z"}, line, path="other")], zone=ZoneInfo("UTC"))
    here, changed = read(line, line | {"final_output": "y"}).traces["content_hash"].to_pylist()
    assert there.traces["content_hash"].to_pylist()[1] == here
    assert changed != here


IDS = st.one_of(
    st.sampled_from(
        ["0x0", "0x" + "F" * 32, "0xfffffffffffffffff", "tr-", "trace_x", "CvdlGRbNQ92ESOshHIAxnA==", "APBnqgupArc="]
    ),
    st.from_regex(r"(trace_|tr-|0x|)[0-9a-fA-F]{0,33}", fullmatch=True),
    st.from_regex(r"[A-Za-z0-9+/]{22}==|[A-Za-z0-9+/]{11}=|[A-Za-z0-9+/]{10}==", fullmatch=True),
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=34),
)


@settings(deadline=None, max_examples=50)
@given(st.lists(IDS, min_size=1, max_size=200))
def test_trace_ids_are_normalised_as_in_every_other_format(ids: list[str]) -> None:
    ids = [trace_id for trace_id in ids if trace_id.strip() and set(trace_id) != {"0"}]
    batch = read(*({"trace_id": trace_id} for trace_id in ids))
    assert batch.traces["trace_id"].to_pylist() == [normalise_id(trace_id) for trace_id in ids]


NAMES = st.sampled_from([*FULL, "x"])
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.sampled_from(["inf", "{", "[", "epoch", "1e9"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES | st.text(), inner, max_size=3),
    max_leaves=6,
)
LINES = st.one_of(
    st.dictionaries(NAMES, VALUES, max_size=8)
    .map(lambda line: {"trace_id": "t"} | line)
    .map(json.dumps)
    .map(str.encode),
    VALUES.map(json.dumps).map(str.encode),
    st.binary(max_size=40).map(lambda line: line.replace(b"\n", b" ")),
)


@settings(deadline=None, max_examples=60)
@given(st.lists(LINES, max_size=12))
def test_every_line_is_a_trace_or_quarantined_whatever_it_holds(lines: list[bytes]) -> None:
    batch = read(*lines)
    filled = sum(bool(line.strip(b" \t\r\n")) for line in lines)
    assert batch.num_lines == filled == batch.traces.num_rows + len(batch.quarantined)
    assert batch.traces.schema == TRACE_SCHEMA
    batch.traces.validate(full=True)
    numbers = sorted([*batch.traces["source_line"].to_pylist(), *(line.line for line in batch.quarantined)])
    assert numbers == [number for number, line in enumerate(lines, 1) if line.strip(b" \t\r\n")]


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        pytest.param(json.dumps(FULL), True, id="full trace"),
        pytest.param('{"trace_id": "t"}', True, id="only an id"),
        pytest.param('\ufeff\n{"trace_id": "t", "final_output": ""}\n', True, id="BOM and blank line"),
        pytest.param('broken\n{"trace_id": "t", "num_turns": 1}\n{"trace', True, id="first line broken"),
        pytest.param('{"trace_id": "t", "user_message": "' + "x" * 70_000, True, id="cut in its first line"),
        pytest.param(r'{"trace_id": "t", "final_output": "\ud800"}', True, id="a lone surrogate"),
        pytest.param('{"trace_id": "t", "duration_ms": NaN}', True, id="NaN"),
        pytest.param('{"trace_id": "t", "num_turns": 1, "x": ' + "[" * 30_000, True, id="deep, and cut"),
        pytest.param("[" * 65_000, False, id="nothing but depth"),
        pytest.param('{"trace_id": "t", "hello": 1}', False, id="other members only"),
        pytest.param('{"object": "trace", "id": "trace_1", "trace_id": "t", "name": "x"}', False, id="Agents SDK"),
        pytest.param('{"resourceSpans": []}', False, id="OTLP"),
        pytest.param("[]", False, id="list"),
        pytest.param("", False, id="empty"),
    ],
)
def test_what_is_recognised(head: str, expected: bool) -> None:
    assert FlatReader().matches(head.encode()[: 64 << 10]) is expected


def test_payload_columns_of_a_batch_are_plain_text() -> None:
    assert read(FULL).traces.schema.field("final_output").type == pa.string()
