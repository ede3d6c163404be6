"""Every command on a real workspace: what it prints, and what is there afterwards (DESIGN.md section 9)."""

from __future__ import annotations

import json
import shutil
import tomllib
from pathlib import Path

import pytest

from grader.records import GRADE_STATES
from grader.settings import load_settings
from jobs.cli import run
from tests.jobs.command import BAD, EVIL, FIRST, SECOND, called, executed, make_workspace, trace
from tests.jobs.test_report import Page

DAY_KEYS = {
    "date", "num_traces", "avg_score", "median_score", "min_score", "pct_critical", "critical_alerts", "counts",
    "revision", "regression",
}  # fmt: skip
INGEST_KEYS = {"read", "new", "updated", "duplicate", "quarantined"}


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return make_workspace(tmp_path)


@pytest.fixture(scope="module")
def graded_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    config = make_workspace(tmp_path_factory.mktemp("graded"))
    assert run(["grade", "--config", str(config)]) == 1  # a line was quarantined
    return config.parent


@pytest.fixture
def graded(tmp_path: Path, graded_folder: Path) -> Path:
    """A workspace with two graded days."""
    shutil.copytree(graded_folder, tmp_path, dirs_exist_ok=True)
    return tmp_path / "gradebook.toml"


def test_grade_prints_the_documented_object(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ended = called(capsys, "grade", "--all", "--json", "--config", config)
    assert ended.code == 1
    assert ended.err == ""
    found = ended.object
    assert {"run_id", "days", "ingest"} <= set(found)
    assert found["ingest"] == {"read": 7, "new": 5, "updated": 0, "duplicate": 1, "quarantined": 1}

    first, second = found["days"]
    for day in (first, second):
        assert set(day) >= DAY_KEYS
        assert set(day["counts"]) == set(GRADE_STATES)
        assert sum(day["counts"].values()) == day["num_traces"]
        assert day["revision"] == 1
    assert [day["date"] for day in (first, second)] == [FIRST, SECOND]
    assert [first[key] for key in ("num_traces", "avg_score", "median_score", "min_score", "pct_critical")] == [
        2, 0.95, 0.95, 0.9, 0.0,
    ]  # fmt: skip
    assert first["critical_alerts"] == []
    assert first["regression"]["flagged"] is False
    assert second["num_traces"] == 3
    assert second["avg_score"] == pytest.approx(2.3 / 3, abs=1e-15)
    assert second["pct_critical"] == pytest.approx(100 / 3)
    assert second["counts"] == {
        "rules_only": 1, "judged": 0, "judge_pending": 1, "judge_failed": 0, "not_judgeable": 1,
    }  # fmt: skip
    assert second["critical_alerts"] == [
        {
            "trace_id": BAD["trace_id"],
            "score": 0.3,
            "alerts": ["High latency: 12000ms", "Empty or too short response", f"{EVIL} after 9 turns"],
        }
    ]
    assert second["regression"] == {
        "previous_date": FIRST, "previous_avg_score": 0.95, "change": pytest.approx(2.3 / 3 - 0.95), "limit": 0.1,
        "flagged": True,
    }  # fmt: skip


def test_grading_again_changes_nothing_and_a_late_trace_makes_a_new_revision(
    graded: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    again = called(capsys, "grade", "--json", "-c", graded).object
    assert again["days"] == []
    assert again["ingest"] == {"read": 7, "new": 0, "updated": 0, "duplicate": 6, "quarantined": 1}
    (graded.parent / "traces" / "late.jsonl").write_text(json.dumps(trace("late")) + "\n", encoding="utf-8")
    late = called(capsys, "grade", "--json", "-c", graded).object
    assert [(day["date"], day["revision"], day["num_traces"]) for day in late["days"]] == [
        (FIRST, 2, 3),
        (SECOND, 2, 3),
    ]
    metrics = (graded.parent / "data" / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    lines = [json.loads(line) for line in metrics]
    # The second day compares itself with the first, whose mean moved, so it is reported anew too.
    assert [(line["date"], line["revision"]) for line in lines] == [(FIRST, 1), (SECOND, 1), (FIRST, 2), (SECOND, 2)]


@pytest.mark.parametrize(
    ("options", "days"),
    [
        pytest.param(["--day", SECOND], [SECOND], id="one day"),
        pytest.param(["--from", SECOND], [SECOND], id="from"),
        pytest.param(["--to", FIRST], [FIRST], id="to"),
        pytest.param(["--from", FIRST, "--to", SECOND], [FIRST, SECOND], id="from and to"),
        pytest.param(["--all"], [FIRST, SECOND], id="all"),
        pytest.param(["--day", "2026-03-10"], ["2026-03-10"], id="a day without traces has a report"),
    ],
)
def test_which_days_are_graded(
    config: Path, capsys: pytest.CaptureFixture[str], options: list[str], days: list[str]
) -> None:
    found = called(capsys, "grade", *options, "--json", "-c", config).object["days"]
    assert [day["date"] for day in found] == days
    if days == ["2026-03-10"]:
        assert [found[0][key] for key in ("num_traces", "avg_score", "median_score", "min_score", "pct_critical")] == [
            0, None, None, None, None,
        ]  # fmt: skip


def test_a_dry_run_says_what_would_be_asked_and_grades_nothing(
    config: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GRADEBOOK_JUDGE__PROVIDER", "offline")
    ended = called(capsys, "grade", "--dry-run", "--all", "--json", "-c", config)
    assert ended.code == 0
    planned = {day["date"]: (day["num_traces"], day["num_to_judge"]) for day in ended.object["days"]}
    assert planned == {FIRST: (2, 2), SECOND: (3, 2)}  # the audit takes at least 30 a day; one has no content
    monkeypatch.delenv("GRADEBOOK_JUDGE__PROVIDER")
    assert "No judge is configured" in called(capsys, "grade", "--dry-run", "--all", "-c", config).err
    monkeypatch.setenv("GRADEBOOK_JUDGE__PROVIDER", "offline")
    status = called(capsys, "status", "--json", "-c", config).object
    assert sum(status["graded"].values()) == 0
    assert status["num_traces"] == 5
    graded = called(capsys, "grade", "--all", "--json", "-c", config).object
    assert [day["counts"]["judged"] for day in graded["days"]] == [2, 2]
    assert "Nothing was graded" in called(capsys, "grade", "--dry-run", "--all", "-c", config).out


def test_ingest_takes_files_folders_and_globs_and_counts_every_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    config = make_workspace(tmp_path / "workspace")
    monkeypatch.chdir(tmp_path / "workspace" / "traces")  # paths are relative to the current folder
    found = called(capsys, "ingest", "a.jsonl", "--json", "-c", config)
    assert found.code == 1
    assert found.object["ingest"] == {"read": 7, "new": 5, "updated": 0, "duplicate": 1, "quarantined": 1}
    assert found.object["sources"][0]["reader"] == "flat"
    for path in (".", "*.jsonl"):
        again = called(capsys, "ingest", path, "--json", "-c", config).object["ingest"]
        assert again == {"read": 7, "new": 0, "updated": 0, "duplicate": 6, "quarantined": 1}
    assert set(again) == INGEST_KEYS
    text = called(capsys, "ingest", ".", "-c", config).out
    assert "7 lines read: 0 new, 0 updated, 6 duplicate, 1 quarantined." in text


def test_status_shows_the_sums_and_the_reason_of_each_unread_line(
    graded: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status = called(capsys, "status", "--json", "-c", graded)
    assert status.code == 0
    found = status.object
    assert found["graded"] == {
        "rules_only": 3, "judged": 0, "judge_pending": 1, "judge_failed": 0, "not_judgeable": 1,
    }  # fmt: skip
    assert (found["num_traces"], found["ungraded"], found["critical"], found["quarantined_lines"]) == (5, 0, 1, 1)
    assert found["broken_sums"] == []
    text = called(capsys, "status", "-c", graded).out
    assert "5: 3 by rules, 0 judged, 1 waiting for the judge, 0 judge failed, 1 not judgeable" in text
    assert "a.jsonl:7" in text
    assert "Sums      hold" in text


def test_a_report_is_markdown_html_or_json(graded: Path, capsys: pytest.CaptureFixture[str]) -> None:
    markdown = called(capsys, "report", SECOND, "-c", graded)
    assert (markdown.code, markdown.err) == (0, "")
    assert markdown.out.startswith(f"# Gradebook: {SECOND}\n")
    assert "<script>" not in markdown.out.replace("\\<", "")

    page_text = called(capsys, "report", SECOND, "--format", "html", "-c", graded).out
    page = Page(page_text)
    assert "script" not in page.elements
    assert page.links == []  # loads nothing
    assert "@import" not in page_text
    assert "url(" not in page_text
    assert str(BAD["trace_id"]) in page.words
    assert f"{EVIL} after 9 turns" in page.words

    report = called(capsys, "report", SECOND, "--format", "json", "-c", graded).object
    assert report["min_score"] == 0.3
    assert report == called(capsys, "report", SECOND, "--json", "-c", graded).object


def test_init_writes_a_file_that_loads_and_grades(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = tmp_path / "gradebook.toml"
    assert called(capsys, "init", "--config", config).code == 0
    tomllib.loads(config.read_text(encoding="utf-8"))
    assert load_settings(config, {}).judge.provider == "none"
    assert called(capsys, "grade", "--json", "-c", config).object["days"] == []
    before = config.read_text(encoding="utf-8")
    ended = called(capsys, "init", "--config", config)
    assert ended.code == 2
    assert "exists already" in ended.sentence
    assert config.read_text(encoding="utf-8") == before


def test_grade_notifies_of_days_with_critical_alerts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = make_workspace(tmp_path)
    config.write_text(config.read_text() + "[notify]\ncommand = \"sh -c 'cat >> told.jsonl'\"\n")
    called(capsys, "grade", "--json", "-c", config)
    told = [json.loads(line) for line in (tmp_path / "told.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [(report["date"], report["num_critical"]) for report in told] == [(SECOND, 1)]
    called(capsys, "grade", "--all", "--json", "-c", config)  # nothing is new, so nobody is told again
    assert len((tmp_path / "told.jsonl").read_text(encoding="utf-8").splitlines()) == 1


def test_the_installed_script_grades_the_current_folder(tmp_path: Path) -> None:
    make_workspace(tmp_path, broken=False)
    ended = executed("grade", folder=tmp_path)  # no --config
    assert ended.code == 0
    assert "6 lines read: 5 new, 0 updated, 1 duplicate, 0 quarantined." in ended.out
    assert "reading: " in ended.err  # plain lines where there is no terminal
    assert "\x1b" not in ended.out + ended.err


def test_help_names_every_command_and_the_version_is_the_packages(capsys: pytest.CaptureFixture[str]) -> None:
    text = called(capsys, "--help").out
    for command in ("demo", "init", "ingest", "grade", "report", "status", "export", "schedule", "dashboard", "up"):
        assert f" {command} " in text
    shown = called(capsys, "--version")
    assert shown.code == 0
    assert shown.out.startswith("gradebook ")
