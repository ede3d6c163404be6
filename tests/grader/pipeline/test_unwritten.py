"""Days that wait to be stored count for the days after them as if they were."""

from __future__ import annotations

import json
from datetime import date, timedelta
from pathlib import Path

import pytest

import grader.pipeline.day
from grader.pipeline import DaySelection, run_grade
from grader.settings import Settings
from grader.store.connect import Store

FIRST = date(2026, 11, 1)


def workspace(root: Path) -> Settings:
    root.mkdir()
    with (root / "traces.jsonl").open("w") as file:
        for number in range(40):
            record = {
                "trace_id": f"t{number:02}",
                "started_at": f"{FIRST + timedelta(days=number // 4)}T12:00:00Z",
                "num_turns": 16 + number % 3,
                "duration_ms": 1000 if number < 20 else 20000,
                "user_message": "Where is my order 4711?",
                "final_output": "Order 4711 is on its way." if number % 2 else "No idea.",
            }
            file.write(json.dumps(record) + "\n")
    return Settings(
        root=root,
        sources=[{"path": "traces.jsonl"}],  # type: ignore[arg-type]
        judge={"provider": "offline"},  # type: ignore[arg-type]
    )


def test_stored_together_or_one_by_one_the_reports_are_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    together = run_grade(workspace(tmp_path / "together"), selection=DaySelection())
    monkeypatch.setattr(grader.pipeline.day, "UNWRITTEN_SECONDS", 0.0)
    one_by_one = run_grade(workspace(tmp_path / "one by one"), selection=DaySelection())
    assert together.days == one_by_one.days
    assert len(together.days) == 10
    assert together.days[5].regression.previous_date == FIRST + timedelta(days=4)
    note = together.days[9].quality.note
    assert note is not None
    assert note.startswith("pooled over 7 days")


def test_every_day_is_stored_in_the_end(tmp_path: Path) -> None:
    settings = workspace(tmp_path / "workspace")
    run_grade(settings, selection=DaySelection())
    with Store.open(settings).reading() as connection:
        assert connection.execute("SELECT count(*), count(DISTINCT day) FROM grades").fetchall() == [(40, 10)]
        assert connection.execute("SELECT count(*) FROM day_reports").fetchall() == [(10,)]
