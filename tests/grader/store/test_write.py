"""Which copies of a trace are kept: every state, within a batch and against the store."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.records import QuarantinedLine
from grader.store.connect import Store
from grader.store.payload import read_payloads, remove_orphans
from grader.store.write import classify, counts_by_path, write_quarantine, write_traces
from tests.tables import trace_table

Copy = tuple[str, int]  # trace id, content hash
A1, A2, A3, B1, C1 = ("a", 1), ("a", 2), ("a", 3), ("b", 1), ("c", 1)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    store = Store(path=tmp_path / "gradebook.duckdb")
    with store.writing():
        pass
    return store


def table_of(copies: Sequence[Copy]) -> pa.Table:
    return trace_table(
        *(
            {"trace_id": trace_id, "content_hash": content, "final_output": f"answer {content}"}
            for trace_id, content in copies
        )
    )


def keep(store: Store, copies: Sequence[Copy]) -> list[str]:
    traces = table_of(copies)
    with store.reading() as connection:
        classified = classify(connection, traces)
    write_traces(store, traces, classified, run_id="run")
    states: list[str] = classified.states.to_pylist()
    return states


def stored(store: Store) -> dict[str, int]:
    with store.reading() as connection:
        return dict(connection.execute("SELECT trace_id, content_hash FROM traces").fetchall())


@pytest.mark.parametrize(
    ("before", "batch", "states", "after"),
    [
        pytest.param([], [A1, B1], ["new", "new"], [A1, B1], id="first copies"),
        pytest.param([A1], [A1], ["duplicate"], [A1], id="the same again"),
        pytest.param([A1], [A2], ["updated"], [A2], id="a changed copy replaces"),
        pytest.param([], [A1, A1], ["new", "duplicate"], [A1], id="twice in one batch"),
        pytest.param([], [A1, A2], ["new", "updated"], [A2], id="changed in one batch"),
        pytest.param([], [A1, A2, A1], ["new", "updated", "duplicate"], [A2], id="back to the first"),
        pytest.param([A1], [A2, A3], ["updated", "updated"], [A3], id="two changes on a stored one"),
        pytest.param([A1], [B1, A1, C1], ["new", "duplicate", "new"], [A1, B1, C1], id="mixed"),
    ],
)
def test_states(store: Store, before: list[Copy], batch: list[Copy], states: list[str], after: list[Copy]) -> None:
    if before:
        keep(store, before)
    assert keep(store, batch) == states
    assert stored(store) == dict(after)


def test_a_replaced_copy_read_again_is_a_duplicate(store: Store) -> None:
    keep(store, [("a", 1)])
    keep(store, [("a", 2)])
    assert keep(store, [("a", 1), ("a", 2)]) == ["duplicate", "duplicate"]
    assert stored(store) == {"a": 2}


def test_texts_follow_the_current_copy(store: Store) -> None:
    keep(store, [("a", 1), ("b", 1)])
    keep(store, [("a", 2)])
    with store.reading() as connection:
        payloads = read_payloads(connection, store.folder, ["a", "b", "unknown"])
    assert {trace_id: payload.final_output for trace_id, payload in payloads.items()} == {
        "a": "answer 2",
        "b": "answer 1",
    }


def test_counts_are_of_lines_and_of_traces(store: Store) -> None:
    keep(store, [("old", 1)])
    traces = table_of([("old", 2), ("new", 1), ("new", 2), ("new", 2)])
    with store.reading() as connection:
        classified = classify(connection, traces)
    (path,) = set(traces["source_path"].to_pylist())
    by_path = counts_by_path(traces, classified, quarantined={path: 3, "other": 1})
    assert (by_path["other"].read, by_path["other"].quarantined) == (1, 1)
    counts = by_path[path]
    assert (counts.read, counts.new, counts.updated, counts.duplicate, counts.quarantined) == (7, 1, 2, 1, 3)
    assert (counts.new_traces, counts.updated_traces) == (1, 1)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.lists(st.tuples(st.sampled_from("abc"), st.integers(1, 3)), min_size=1, max_size=6), max_size=4))
def test_reading_everything_again_changes_nothing(
    tmp_path_factory: pytest.TempPathFactory, batches: list[list[Copy]]
) -> None:
    store = Store(path=tmp_path_factory.mktemp("again") / "gradebook.duckdb")
    with store.writing():
        pass
    for batch in batches:
        keep(store, batch)
    before = stored(store)
    assert [state for batch in batches for state in keep(store, batch)] == ["duplicate"] * sum(map(len, batches))
    assert stored(store) == before


def test_a_payload_file_without_rows_is_removed_and_no_other(store: Store) -> None:
    keep(store, [("a", 1)])
    orphan = store.payload_dir / "left-over.parquet"
    orphan.write_bytes(b"half a file")
    with store.reading() as connection:
        assert remove_orphans(store, connection) == 1
    assert not orphan.exists()
    with store.reading() as connection:
        assert read_payloads(connection, store.folder, ["a"])["a"].final_output == "answer 1"


def line(number: int, reason: str) -> QuarantinedLine:
    return QuarantinedLine(reader="flat", path="t.jsonl", line=number, reason=reason, excerpt="{")


def test_quarantine_says_what_the_last_reading_found_and_since_when(store: Store) -> None:
    write_quarantine(store, [line(1, "not JSON"), line(2, "no id")], paths=["t.jsonl"], run_id="one")
    with store.reading() as connection:
        first = dict(connection.execute("SELECT line, first_seen_at FROM quarantine").fetchall())
    write_quarantine(store, [line(2, "no id"), line(3, "no id")], paths=["t.jsonl", "other"], run_id="two")
    with store.reading() as connection:
        rows = connection.execute("SELECT line, run_id, first_seen_at FROM quarantine ORDER BY line").fetchall()
    assert [(number, run) for number, run, _ in rows] == [(2, "two"), (3, "two")]
    assert rows[0][2] == first[2]
    assert rows[1][2] > first[2]
    write_quarantine(store, [], paths=["t.jsonl"], run_id="three")
    with store.reading() as connection:
        assert connection.execute("SELECT count(*) FROM quarantine").fetchall() == [(0,)]
