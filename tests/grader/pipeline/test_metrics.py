"""The metrics file: whole lines, each revision once, whatever an earlier crash left."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from grader.errors import StoreError
from grader.pipeline.metrics import METRICS_SCHEMA_VERSION, sync_metrics
from grader.store.days import RecordedReport

INGEST = {"read": 9, "new": 8, "updated": 0, "duplicate": 0, "quarantined": 1}


def report(day: int, revision: int = 1) -> RecordedReport:
    text = json.dumps({"date": f"2026-11-{day:02}", "revision": revision, "num_traces": day})
    recorded_at = datetime(2026, 12, 1, 2, tzinfo=UTC)
    return RecordedReport(
        date=date(2026, 11, day), revision=revision, recorded_at=recorded_at, report=text, ingest=INGEST
    )


def lines(path: Path) -> list[dict[str, object]]:
    text = path.read_text()
    assert text.endswith("\n")
    return [json.loads(line) for line in text.splitlines()]


def test_a_line_for_each_revision(tmp_path: Path) -> None:
    path = tmp_path / "data" / "metrics.jsonl"
    assert sync_metrics(path, [report(1), report(2)]) == 2
    assert sync_metrics(path, [report(1), report(2), report(1, 2)]) == 1
    assert [(line["date"], line["revision"]) for line in lines(path)] == [
        ("2026-11-01", 1),
        ("2026-11-02", 1),
        ("2026-11-01", 2),
    ]
    assert lines(path)[0] == {
        "date": "2026-11-01",
        "revision": 1,
        "num_traces": 1,
        "recorded_at": "2026-12-01T02:00:00+00:00",
        "ingest": INGEST,
        "schema_version": METRICS_SCHEMA_VERSION,
    }


def test_nothing_new_leaves_the_bytes_alone(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    sync_metrics(path, [report(1)])
    before = path.read_bytes()
    assert sync_metrics(path, [report(1)]) == 0
    assert path.read_bytes() == before


@pytest.mark.parametrize("kept_bytes", [1, 20, -1], ids=["one byte", "half a line", "all but the line end"])
def test_a_torn_last_line_is_healed(tmp_path: Path, kept_bytes: int) -> None:
    path = tmp_path / "metrics.jsonl"
    sync_metrics(path, [report(1)])
    first = path.read_bytes()
    sync_metrics(path, [report(1), report(2)])
    whole = path.read_bytes()
    torn = whole[len(first) :][:kept_bytes]
    path.write_bytes(first + torn)
    assert sync_metrics(path, [report(1), report(2)]) == 1
    assert path.read_bytes() == whole


def test_a_strange_line_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_text('# a note of the operator\n[1]\n{"other": 1}\n')
    sync_metrics(path, [report(1)])
    assert path.read_text().splitlines()[:3] == ["# a note of the operator", "[1]", '{"other": 1}']
    assert json.loads(path.read_text().splitlines()[3])["date"] == "2026-11-01"


def test_a_path_that_cannot_be_written_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    for path in (tmp_path, tmp_path / "file" / "metrics.jsonl"):
        with pytest.raises(StoreError, match="cannot be opened"):
            sync_metrics(path, [report(1)])
