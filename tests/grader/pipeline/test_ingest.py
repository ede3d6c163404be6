"""Every line read is accounted for, over files, formats and repeated runs."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from grader.arrow import PREVIEW_CHARS
from grader.pipeline.ingest import Ledger, ingest_files
from grader.pipeline.sources import source_files
from grader.records import IngestCounts
from grader.settings import DaySettings, Settings, SourceSettings
from grader.store.connect import Store
from grader.store.payload import read_payloads

START = "2026-11-01T12:00:0{}+00:00"


@pytest.fixture
def store(tmp_path: Path) -> Store:
    store = Store(path=tmp_path / "data" / "gradebook.duckdb")
    with store.writing():
        pass
    return store


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "traces"
    folder.mkdir()
    return folder


def flat(trace_id: str, **fields: object) -> str:
    record = {"trace_id": trace_id, "started_at": "2026-11-01T12:00:00Z", "final_output": "Your order is on its way."}
    return json.dumps(record | fields)


def head(trace: str, name: str = "support") -> dict[str, object]:
    return {"object": "trace", "id": trace, "workflow_name": name, "group_id": None, "metadata": None}


def generation(
    trace: str, span: str, second: int = 0, answer: str = "All is well.", ended: bool = True
) -> dict[str, object]:
    return {
        "object": "trace.span",
        "id": span,
        "trace_id": trace,
        "parent_id": None,
        "started_at": START.format(second),
        "ended_at": START.format(second + 1) if ended else None,
        "span_data": {
            "type": "generation",
            "input": [{"role": "user", "content": "Is all well?"}],
            "output": [{"role": "assistant", "content": answer}],
            "model": "m",
            "usage": {"input_tokens": 10, "output_tokens": 5},
        },
        "error": None,
    }


TRACE_A, TRACE_B = "trace_" + "a" * 32, "trace_" + "b" * 32
SPAN_1, SPAN_2 = "span_" + "1" * 24, "span_" + "2" * 24


def write(folder: Path, name: str, lines: Sequence[str | Mapping[str, object]]) -> None:
    texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    (folder / name).write_text("\n".join(texts) + "\n")


def ingest(store: Store, folder: Path, run_id: str = "run") -> Ledger:
    files = source_files(Settings(root=folder), [SourceSettings(path=".")])
    ledger = ingest_files(store, files, day=DaySettings(), run_id=run_id)
    counts = ledger.counts
    assert counts.read == counts.new + counts.updated + counts.duplicate + counts.quarantined
    return ledger


def lines(counts: IngestCounts) -> tuple[int, int, int, int, int]:
    return (counts.read, counts.new, counts.updated, counts.duplicate, counts.quarantined)


def traces(store: Store, columns: str) -> list[tuple[object, ...]]:
    with store.reading() as connection:
        return connection.execute(f"SELECT {columns} FROM traces ORDER BY trace_id").fetchall()


def test_flat_lines(store: Store, folder: Path) -> None:
    write(folder, "1.jsonl", [flat("a"), flat("b"), "", flat("a"), '{"trace_id": "torn'])
    write(folder, "2.jsonl", [flat("b"), flat("a", num_turns=3), "[]"])
    ledger = ingest(store, folder)
    assert {Path(path).name: lines(source.counts) for path, source in ledger.by_path.items()} == {
        "1.jsonl": (4, 2, 0, 1, 1),
        "2.jsonl": (3, 0, 1, 1, 1),
    }
    assert [(Path(line.path).name, line.line) for line in ledger.quarantined] == [("1.jsonl", 5), ("2.jsonl", 3)]
    assert traces(store, "trace_id, num_turns, source_line") == [("a", 3, 2), ("b", None, 2)]


@pytest.mark.parametrize("repeats", [1, 2])
def test_reading_everything_again_finds_only_duplicates(store: Store, folder: Path, repeats: int) -> None:
    write(folder, "1.jsonl", [flat("a"), flat("a", num_turns=3), "not json"])
    write(folder, "2.jsonl", [head(TRACE_A), generation(TRACE_A, SPAN_1), generation(TRACE_B, SPAN_2)])
    ingest(store, folder)
    before = traces(store, "*")
    for _ in range(repeats):
        assert lines(ingest(store, folder, "again").counts) == (6, 0, 0, 5, 1)
    assert traces(store, "*") == before


def test_a_trace_over_two_files_is_one_trace(store: Store, folder: Path) -> None:
    write(folder, "1.jsonl", [generation(TRACE_A, SPAN_2, 3, "Done."), generation(TRACE_B, SPAN_1)])
    write(folder, "2.jsonl", [generation(TRACE_A, SPAN_1, 0), head(TRACE_A, "shop")])
    ledger = ingest(store, folder)
    assert lines(ledger.counts) == (4, 4, 0, 0, 0)
    assert (ledger.counts.new_traces, ledger.counts.updated_traces) == (2, 0)
    assert traces(store, "num_turns, duration_ms, answer_preview, input_tokens") == [
        (2, 4000.0, "Done.", 20),
        (1, 1000.0, "All is well.", 10),
    ]
    assert traces(store, "name")[0] == ("shop",)


def test_spans_that_come_in_a_later_run_complete_the_trace(store: Store, folder: Path) -> None:
    write(folder, "1.jsonl", [head(TRACE_A), generation(TRACE_A, SPAN_1)])
    ingest(store, folder, "first")
    write(
        folder,
        "2.jsonl",
        [generation(TRACE_A, SPAN_2, 3, "Done."), generation(TRACE_A, SPAN_1), generation(TRACE_B, SPAN_1)],
    )
    ledger = ingest(store, folder, "second")
    assert {Path(path).name: lines(source.counts) for path, source in ledger.by_path.items()} == {
        "1.jsonl": (2, 0, 0, 2, 0),
        "2.jsonl": (3, 1, 1, 1, 0),
    }
    assert (ledger.counts.new_traces, ledger.counts.updated_traces) == (1, 1)
    assert traces(store, "num_turns, duration_ms, run_id") == [
        (2, 4000.0, "second"),
        (1, 1000.0, "second"),
    ]


def test_a_span_with_an_end_replaces_the_one_without(store: Store, folder: Path) -> None:
    write(folder, "1.jsonl", [generation(TRACE_A, SPAN_1, ended=False)])
    ingest(store, folder)
    assert traces(store, "duration_ms") == [(None,)]
    write(folder, "2.jsonl", [generation(TRACE_A, SPAN_1)])
    ingest(store, folder)
    assert traces(store, "duration_ms, num_spans") == [(1000.0, 1)]


def test_a_document_of_many_lines_counts_as_one(store: Store, folder: Path) -> None:
    (folder / "body.json").write_text(json.dumps({"data": [head(TRACE_A), generation(TRACE_A, SPAN_1)]}, indent=2))
    assert lines(ingest(store, folder).counts) == (1, 1, 0, 0, 0)
    assert traces(store, "name, num_turns, source_line") == [("support", 1, 1)]


def test_what_could_be_read_of_a_line_counts_and_the_line_is_quarantined(store: Store, folder: Path) -> None:
    write(folder, "1.jsonl", [{"data": [generation(TRACE_A, SPAN_1), {"object": "trace.span", "id": "x"}]}])
    ledger = ingest(store, folder)
    assert lines(ledger.counts) == (1, 0, 0, 0, 1)
    assert traces(store, "num_turns") == [(1,)]


def test_a_file_nobody_knows_is_one_quarantined_line_and_harms_no_other(store: Store, folder: Path) -> None:
    (folder / "a.md").write_text("# Notes\n\nnot a trace\n")
    (folder / "b.jsonl").write_bytes(b"")
    write(folder, "c.jsonl", [flat("a")])
    ledger = ingest(store, folder)
    assert lines(ledger.counts) == (2, 1, 0, 0, 1)
    [line] = ledger.quarantined
    assert "no reader knows this format" in line.reason
    assert line.excerpt.startswith("# Notes")


def test_a_file_that_vanishes_is_quarantined(store: Store, folder: Path) -> None:
    write(folder, "a.jsonl", [flat("a")])
    write(folder, "b.jsonl", [flat("b")])
    files = source_files(Settings(root=folder), [SourceSettings(path=".")])
    (folder / "a.jsonl").unlink()
    ledger = ingest_files(store, files, day=DaySettings(), run_id="run")
    assert lines(ledger.counts) == (2, 1, 0, 0, 1)
    assert "cannot be read (No such file or directory)" in ledger.quarantined[0].reason


def test_a_file_whose_name_is_not_utf8_is_read(store: Store, folder: Path) -> None:
    (folder / os.fsdecode(b"caf\xe9.jsonl")).write_text(flat("a") + "\nbroken\n")
    for counts in ((2, 1, 0, 0, 1), (2, 0, 0, 1, 1)):
        assert lines(ingest(store, folder).counts) == counts
    with store.reading() as connection:
        found = connection.execute("SELECT source_path FROM traces UNION ALL SELECT path FROM quarantine").fetchall()
    assert found == [(str(folder / "caf\\xe9.jsonl"),)] * 2


def test_the_day_is_that_of_the_start_in_the_configured_zone(store: Store, folder: Path) -> None:
    write(folder, "a.jsonl", [flat("a", started_at="2026-11-01T23:30:00Z")])
    write(folder, "b.jsonl", [generation(TRACE_A, SPAN_1) | {"started_at": "2026-11-01T23:30:00Z", "ended_at": None}])
    files = source_files(Settings(root=folder), [SourceSettings(path=".")])
    ingest_files(store, files, day=DaySettings(timezone="Europe/Zurich"), run_id="run")
    assert {str(day) for (day,) in traces(store, "day")} == {"2026-11-02"}


def test_texts_are_kept_whole(store: Store, folder: Path) -> None:
    answer = "é" * 5000
    write(folder, "a.jsonl", [flat("a", final_output=answer, user_message="Why?")])
    ingest(store, folder)
    with store.reading() as connection:
        payload = read_payloads(connection, store.folder, ["a"])["a"]
    assert (payload.final_output, payload.user_message) == (answer, "Why?")
    assert traces(store, "answer_chars, length(answer_preview)") == [(5000, PREVIEW_CHARS)]
