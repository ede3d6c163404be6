"""A disk that fills up while grading: a sentence, nothing committed lost, and the next run completes it."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from grader.errors import StoreFullError
from grader.pipeline import DaySelection, run_grade
from grader.settings import Settings
from grader.status import read_status
from grader.store.connect import Store

TRACES = 40_000


def mount(folder: Path, options: str) -> bool:
    folder.mkdir(exist_ok=True)
    command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "small"
    if not mount(folder, "size=3m"):
        pytest.skip("mounting a small tmpfs needs root")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def write_traces(path: Path) -> None:
    with path.open("w") as file:
        for number in range(1, TRACES + 1):
            record = {
                "trace_id": f"{number * 2654435761 % 2**32:08x}{number:08x}",
                "started_at": f"2026-11-01T12:00:00.{number:06}Z",
                "final_output": f"Your order {number * 7919} is on its way.",
            }
            file.write(json.dumps(record) + "\n")


def test_a_full_disk_ends_the_run_and_more_room_completes_it(tmp_path: Path, small_disk: Path) -> None:
    write_traces(tmp_path / "traces.jsonl")
    settings = Settings(
        root=tmp_path,
        store={"path": small_disk / "gradebook.duckdb", "metrics_path": small_disk / "metrics.jsonl"},  # type: ignore[arg-type]
        sources=[{"path": "traces.jsonl"}],  # type: ignore[arg-type]
    )
    with pytest.raises(StoreFullError, match=r"is full: free some space and run the command again"):
        run_grade(settings, selection=DaySelection())
    with Store.open(settings).reading() as connection:  # also while the disk is still full
        [(stored,)] = connection.execute("SELECT count(*) FROM traces").fetchall()
    assert stored < TRACES or read_status(settings).ungraded > 0

    subprocess.run(["mount", "-o", "remount,size=200m", str(small_disk)], check=True)
    run = run_grade(settings, selection=DaySelection())
    assert [report.num_traces for report in run.days] == [TRACES]
    status = read_status(settings)
    assert (status.broken_sums, status.ungraded) == ((), 0)
    assert len((small_disk / "metrics.jsonl").read_text().splitlines()) == 1
