"""`gradebook export`: the documented fields in all three formats, for every kind of row, from a judged workspace."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.jobs.command import BAD, SETTINGS, called, make_workspace

Rows = list[dict[str, Any]]

TRACE_FIELDS = {
    "trace_id", "name", "session_id", "agent", "release", "model", "started_at", "ended_at", "duration_ms", "status",
    "num_turns", "tool_errors", "guardrails_triggered", "user_message", "final_output", "content_captured",
    "tools_called", "input_tokens", "output_tokens", "cost_usd", "tags", "source", "day",
}  # fmt: skip
GRADE_FIELDS = {
    "trace_id", "day", "rule_score", "judge_score", "final_score", "critical", "state", "alerts", "outcomes",
    "selected_because", "inclusion_probability",
}  # fmt: skip
REPORT_FIELDS = {
    "date", "revision", "num_traces", "avg_score", "median_score", "min_score", "pct_critical", "critical_alerts",
    "counts", "regression", "quality",
}  # fmt: skip
JUDGEMENT_FIELDS = {
    "trace_id", "judge_version", "provider", "model", "marks", "score", "issues", "suggestions", "judged_at",
    "cost_usd", "latency_ms",
}  # fmt: skip


def rows_of_csv(path: Path) -> Rows:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def rows_of_jsonl(path: Path) -> Rows:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def rows_of_parquet(path: Path) -> Rows:
    rows: Rows = pq.read_table(path).to_pylist()
    return rows


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("exports")
    return make_workspace(folder, settings=SETTINGS + "[judge]\nprovider = 'offline'\n")


@pytest.fixture
def graded(config: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    if not (config.parent / "data").exists():
        assert len(called(capsys, "grade", "--json", "-c", config).object["days"]) == 2
    return config


@pytest.mark.parametrize(
    ("what", "fields", "count"),
    [
        pytest.param("traces", TRACE_FIELDS, 5, id="traces"),
        pytest.param("grades", GRADE_FIELDS, 5, id="grades"),
        pytest.param("judgements", JUDGEMENT_FIELDS, 4, id="judgements"),  # one trace has no content
        pytest.param("reports", REPORT_FIELDS, 2, id="reports"),
        pytest.param("quarantine", {"path", "line", "reason", "excerpt"}, 1, id="quarantine"),
    ],
)
@pytest.mark.parametrize(
    ("suffix", "rows_of"),
    [
        pytest.param("csv", rows_of_csv, id="CSV"),
        pytest.param("jsonl", rows_of_jsonl, id="JSON Lines"),
        pytest.param("parquet", rows_of_parquet, id="Parquet"),
    ],
)
def test_rows_have_the_documented_fields(
    graded: Path,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    what: str,
    fields: set[str],
    count: int,
    suffix: str,
    rows_of: Callable[[Path], Rows],
) -> None:
    output = tmp_path / f"rows.{suffix}"
    ended = called(capsys, "export", what, "--output", output, "--json", "-c", graded)
    assert ended.code == 0
    assert ended.object == {"what": what, "format": suffix, "output": str(output), "rows": count}
    rows = rows_of(output)
    assert len(rows) == count
    for row in rows:
        assert set(row) >= fields
    if what == "traces":
        assert "spans" not in rows[0]


def test_the_format_may_differ_from_the_name(graded: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    output = tmp_path / "grades.txt"
    assert called(capsys, "export", "grades", "--format", "jsonl", "-o", output, "-c", graded).code == 0
    grades = {row["trace_id"]: row for row in rows_of_jsonl(output)}
    bad = grades[str(BAD["trace_id"])]
    assert bad["rule_score"] == 0.3
    assert bad["state"] == "judged"
    assert bad["final_score"] == bad["judge_score"]
    assert {"rule": "response", "outcome": "failed", "value": 0.0, "deducted_milli": 500} in bad["outcomes"]
    assert bad["selected_because"] == "low_rule_score"
    assert bad["inclusion_probability"] == 1.0
    assert grades["private"]["state"] == "not_judgeable"
    assert grades["private"]["judge_score"] is None


def test_exported_traces_can_be_read_again(graded: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    output = tmp_path / "traces.jsonl"
    assert called(capsys, "export", "traces", "-o", output, "-c", graded).code == 0
    other = tmp_path / "gradebook.toml"
    other.write_text('[[sources]]\npath = "traces.jsonl"\n', encoding="utf-8")
    found = called(capsys, "grade", "--all", "--json", "-c", other).object
    assert found["ingest"] == {"read": 5, "new": 5, "updated": 0, "duplicate": 0, "quarantined": 0}
    assert [day["num_traces"] for day in found["days"]] == [2, 3]
    assert [day["min_score"] for day in found["days"]] == [0.9, 0.3]
