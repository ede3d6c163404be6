"""Exports: the right rows and names in three formats, whole files only."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import duckdb
import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from grader.records import JudgeFailure, Judgement, QuarantinedLine
from grader.store.connect import Store
from grader.store.export import ExportFormat, ExportWhat, export_rows
from grader.store.grades import GradedDay, write_days
from grader.store.judging import write_results
from grader.store.write import classify, write_quarantine, write_traces
from tests.jobs.reports import a_report, an_empty_report
from tests.tables import trace_table

DAY = date(2026, 11, 1)
HOSTILE = 'quote " comma , newline \n tab \t Zürich 🚚'
GRADE = {
    "trace_id": "a", "day": DAY, "content_hash": 1, "rules_version": "r-1", "rule_score_milli": 500,
    "outcomes": [{"rule": "response", "outcome": "failed", "value": 3.0, "deducted_milli": 500}],
    "alerts": ["Empty or too short response"], "state": "judged", "judge_version": "j-1", "judge_score": 0.4,
    "final_score": 0.4, "critical": True, "selected_because": "low_rule_score", "inclusion_probability": 1.0,
    "stratum": 0,
}  # fmt: skip
CHANGED = {
    "trace_id": "b", "content_hash": 2, "final_output": HOSTILE, "tools_called": None, "tags": [("k", HOSTILE)]
}  # fmt: skip
JUDGEMENT = Judgement(
    trace_id="a", content_hash=1, judge_version="j-1", provider="offline", model="baseline",
    marks={"relevance": 2, "accuracy": 1, "tone": 3}, score=0.4, issues=("too short",), suggestions=(),
    input_tokens=None, output_tokens=None, cost_usd=None, latency_ms=1.5, judged_at=datetime(2026, 11, 2, tzinfo=UTC),
)  # fmt: skip


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """Two traces in two payload files, of which the second replaces a former copy; one grade, one judgement."""
    store = Store(path=tmp_path / "it's here" / "gradebook.duckdb")
    with store.writing():
        pass
    for batch in (
        trace_table({"trace_id": "a"}, {"trace_id": "b", "final_output": "a former copy"}),
        trace_table(CHANGED),
    ):  # fmt: skip
        with store.reading() as connection:
            classified = classify(connection, batch)
        write_traces(store, batch, classified, run_id="run")
    write_results(store, [JUDGEMENT], run_id="run")
    for report in (an_empty_report(), a_report()):
        write_days(store, [GradedDay(day=DAY, grades=pa.Table.from_pylist([GRADE]), report=report)], run_id="run")
    line = QuarantinedLine(reader="flat", path="x.jsonl", line=3, reason="no JSON", excerpt=HOSTILE)
    write_quarantine(store, [line], paths=["x.jsonl"], run_id="run")
    return store


def read_csv(path: Path) -> list[dict[str, Any]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def read_jsonl(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def read_parquet(path: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = pq.read_table(path).to_pylist()
    return rows


READ: dict[ExportFormat, Callable[[Path], list[dict[str, Any]]]] = {
    "csv": read_csv,
    "jsonl": read_jsonl,
    "parquet": read_parquet,
}
FORMATS: tuple[ExportFormat, ...] = ("csv", "jsonl", "parquet")


def export(store: Store, what: ExportWhat, format_: ExportFormat) -> list[dict[str, Any]]:
    output = store.folder.parent / f"{what}.{format_}"
    count = export_rows(store, what, format=format_, output=output)
    rows = READ[format_](output)
    assert len(rows) == count
    assert not output.with_name(output.name + ".unfinished").exists()
    return rows


@pytest.mark.parametrize("format_", FORMATS)
def test_traces_have_every_field_with_the_texts_of_the_newest_copy(store: Store, format_: ExportFormat) -> None:
    rows = export(store, "traces", format_)
    assert [row["trace_id"] for row in rows] == ["a", "b"]
    assert set(rows[0]) >= {
        "trace_id", "name", "session_id", "agent", "release", "model", "started_at", "ended_at", "duration_ms",
        "status", "num_turns", "tool_errors", "guardrails_triggered", "user_message", "final_output",
        "content_captured",
        "tools_called", "input_tokens", "output_tokens", "cost_usd", "tags", "source",
    }  # fmt: skip
    assert rows[1]["final_output"] == HOSTILE
    assert rows[0]["final_output"] == "Order 4711 arrives on Monday"


def test_lists_and_objects_are_such_in_json_and_parquet_and_text_in_csv(store: Store) -> None:
    tool = {"name": "lookup_order", "arguments": None, "output": "Monday", "error": None, "span_id": None}
    as_csv, as_json, as_parquet = (export(store, "traces", format_) for format_ in FORMATS)
    assert (
        as_json[0]["tools_called"] == as_parquet[0]["tools_called"] == json.loads(as_csv[0]["tools_called"]) == [tool]
    )
    assert as_json[1]["tools_called"] is as_parquet[1]["tools_called"] is None
    assert as_csv[1]["tools_called"] == ""
    assert as_json[1]["tags"] == dict(as_parquet[1]["tags"]) == {"k": HOSTILE}
    assert json.loads(as_csv[1]["tags"]) == {"k": HOSTILE}
    assert as_json[0]["source"] == {"reader": "flat", "path": "traces.jsonl", "line": 1}
    assert as_json[0]["started_at"] == as_csv[0]["started_at"] == "2026-11-01T12:00:00.000000Z"
    assert as_parquet[0]["started_at"] == datetime(2026, 11, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize("format_", FORMATS)
def test_grades(store: Store, format_: ExportFormat) -> None:
    (row,) = export(store, "grades", format_)
    assert set(row) >= {
        "trace_id", "day", "rule_score", "judge_score", "final_score", "critical", "state", "alerts", "outcomes",
        "selected_because", "inclusion_probability",
    }  # fmt: skip
    assert float(row["rule_score"]) == 0.5
    assert str(row["day"]) == "2026-11-01"
    outcomes = json.loads(row["outcomes"]) if format_ == "csv" else row["outcomes"]
    assert outcomes == [{"rule": "response", "outcome": "failed", "value": 3.0, "deducted_milli": 500}]


def test_judgements_reports_and_quarantine(store: Store) -> None:
    (judgement,) = export(store, "judgements", "jsonl")
    assert judgement["marks"] == {"relevance": 2, "accuracy": 1, "tone": 3}
    assert judgement["cost_usd"] is None
    empty, bad = export(store, "reports", "jsonl")
    assert (empty["date"], empty["avg_score"], empty["num_traces"]) == ("2026-03-05", None, 0)
    assert bad["counts"]["judge_failed"] == 1
    assert bad["critical_alerts"][0]["trace_id"] == "t-1"
    assert bad["day_to_day_drop"] is True
    (line,) = export(store, "quarantine", "csv")
    assert (line["line"], line["excerpt"]) == ("3", HOSTILE)


def test_only_the_newest_revision_of_a_day_is_exported(store: Store) -> None:
    for revision in (3, 4):
        report = orjson.loads(orjson.dumps(a_report())) | {"revision": revision}
        with store.writing() as connection:
            connection.execute(
                """INSERT INTO day_reports SELECT * REPLACE (? AS revision, ? AS report) FROM day_reports
                   WHERE date = '2026-03-09' AND revision = 2""",
                [revision, json.dumps(report)],
            )
    assert [(row["date"], row["revision"]) for row in export(store, "reports", "parquet")] == [
        (date(2026, 3, 5), 1),
        (date(2026, 3, 9), 4),
    ]


def test_an_empty_store_exports_a_header_and_no_rows(tmp_path: Path) -> None:
    store = Store(path=tmp_path / "store" / "gradebook.duckdb")
    with store.writing():
        pass
    assert export(store, "traces", "parquet") == []
    assert export(store, "traces", "csv") == []
    assert (tmp_path / "traces.csv").read_text(encoding="utf-8").startswith("trace_id,day,name,")


def test_a_failed_export_leaves_the_former_file(store: Store, tmp_path: Path) -> None:
    output = tmp_path / "rows.csv"
    output.write_text("former", encoding="utf-8")
    for payload in store.payload_dir.iterdir():
        payload.write_bytes(b"broken")
    with pytest.raises(duckdb.Error):
        export_rows(store, "traces", format="csv", output=output)
    assert output.read_text(encoding="utf-8") == "former"
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["rows.csv"]


def test_a_failure_is_no_judgement(store: Store) -> None:
    failure = JudgeFailure(
        trace_id="b", content_hash=2, judge_version="j-1", stage="timeout", message="late", attempts=4,
        failed_at=datetime(2026, 11, 2, tzinfo=UTC),
    )  # fmt: skip
    write_results(store, [failure], run_id="run")
    assert [row["trace_id"] for row in export(store, "judgements", "jsonl")] == ["a"]
