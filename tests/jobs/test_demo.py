"""The demo workspace, through the real pipeline: every number of the plan comes out of the store again."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

from grader.errors import UsageError
from grader.pipeline import DaySelection, run_grade
from grader.settings import SETTINGS_FILE, load_settings
from jobs.demo import make_workspace

LAST_DAY = date(2026, 11, 30)


@pytest.mark.slow
def test_a_graded_demo_shows_what_was_planted(tmp_path: Path) -> None:
    plan = make_workspace(tmp_path, traces_per_day=90, last_day=LAST_DAY)
    settings = load_settings(tmp_path / SETTINGS_FILE, {})
    run = run_grade(settings, selection=DaySelection(everything=True))

    assert {day.date: day.num_traces for day in run.days} == plan.traces_per_day()
    assert run.ingest.new_traces == plan.num_traces
    assert run.ingest.read == plan.num_lines
    assert run.ingest.duplicate == plan.num_copied_lines
    assert run.ingest.quarantined == len(plan.broken_lines)

    assert plan.bad_release is not None and plan.bad_until is not None
    bad = [day for day in run.days if plan.bad_release.first_day <= day.date <= plan.bad_until]
    sound = [day for day in run.days if day not in bad]
    means = [day.avg_score for day in run.days if day.avg_score is not None]
    assert len(means) == len(run.days)
    assert max(day.avg_score or 0 for day in bad) < min(day.avg_score or 0 for day in sound)
    assert [day.date for day in run.days if day.regression.flagged] == [plan.bad_release.first_day]
    assert sum(day.num_critical for day in sound) / sum(day.num_traces for day in sound) < 0.05

    again = make_workspace(tmp_path, traces_per_day=90)  # keeps its last day
    assert again.text() == plan.text()
    assert run_grade(settings, selection=DaySelection()).days == ()


def test_the_last_day_is_yesterday(tmp_path: Path) -> None:
    before = datetime.now(UTC).date()
    plan = make_workspace(tmp_path, days=2, traces_per_day=10)
    assert max(plan.traces_per_day()) in (before - timedelta(days=1), datetime.now(UTC).date() - timedelta(days=1))


def test_settings_of_another_workspace_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / SETTINGS_FILE).write_text('[judge]\nprovider = "none"\n')
    with pytest.raises(UsageError, match="exists already and is no demo"):
        make_workspace(tmp_path)
    assert (tmp_path / SETTINGS_FILE).read_text() == '[judge]\nprovider = "none"\n'
    assert not (tmp_path / "traces").exists()


def test_a_demo_with_other_arguments_is_left_alone(tmp_path: Path) -> None:
    make_workspace(tmp_path, days=2, traces_per_day=10, last_day=LAST_DAY)
    with pytest.raises(UsageError, match="holds a demo of 2 days up to 2026-11-30 with seed 7"):
        make_workspace(tmp_path, days=3, traces_per_day=10, last_day=LAST_DAY)


def test_a_folder_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="name a folder of yours"):
        make_workspace(tmp_path / "file" / "demo", days=1, traces_per_day=10)


def test_the_time_zone_reaches_the_settings(tmp_path: Path) -> None:
    make_workspace(tmp_path, days=1, traces_per_day=10, timezone="Europe/Zurich")
    settings = load_settings(tmp_path / SETTINGS_FILE, {})
    assert settings.day.timezone == "Europe/Zurich"
    assert settings.judge.provider == "offline"
    make_workspace(tmp_path, days=1, traces_per_day=10, timezone="Europe/Zurich")  # recognised as its own
