"""One run at a time, each with a row that says how it ended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from datetime import date
from pathlib import Path

import pytest

from grader.errors import RunActiveError, SourceError, StoreError
from grader.pipeline.runs import active_run, note_counts
from grader.records import IngestCounts
from grader.store.connect import Store


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(path=tmp_path / "gradebook.duckdb")


def rows(store: Store) -> list[tuple[object, ...]]:
    with store.reading() as connection:
        return connection.execute("SELECT kind, state::VARCHAR, message FROM runs ORDER BY started_at").fetchall()


def test_the_row_tells_what_was_done(store: Store) -> None:
    with active_run(store, "grade", scheduled_for=date(2026, 11, 1)) as run:
        run.counts = IngestCounts(read=5, new=1, updated=1, duplicate=2, quarantined=1, new_traces=1)
        note_counts(store, run)
        run.failures = True
        run.message = "1 line could not be read"
    with store.reading() as connection:
        row = connection.execute(
            """SELECT state::VARCHAR, lines_read, lines_new, lines_quarantined, traces_new, message, scheduled_for,
                      ended_at >= started_at FROM runs"""
        ).fetchall()
    assert row == [("done_with_failures", 5, 1, 1, 1, "1 line could not be read", date(2026, 11, 1), True)]


def test_two_runs_at_once_are_refused(store: Store) -> None:
    with (
        active_run(store, "grade"),
        pytest.raises(RunActiveError, match="another run is active"),
        active_run(store, "ingest"),
    ):
        pass
    with active_run(store, "ingest"):
        pass
    assert [(kind, state) for kind, state, _ in rows(store)] == [("grade", "done"), ("ingest", "done")]


@pytest.mark.parametrize(
    ("error", "message"),
    [
        pytest.param(SourceError("the source is gone"), "the source is gone", id="ours: its sentence"),
        pytest.param(ValueError("odd"), "ValueError: odd", id="a defect: its name and text"),
    ],
)
def test_an_error_is_noted_and_passes(store: Store, error: Exception, message: str) -> None:
    with pytest.raises(type(error)), active_run(store, "grade"):
        raise error
    assert rows(store) == [("grade", "failed", message)]


def test_a_scheduled_day_runs_once_but_again_after_a_failure(store: Store) -> None:
    day = date(2026, 11, 1)
    with pytest.raises(SourceError), active_run(store, "grade", scheduled_for=day):
        raise SourceError("not there yet")
    with active_run(store, "grade", scheduled_for=day):
        pass
    with pytest.raises(RunActiveError, match="already done"), active_run(store, "grade", scheduled_for=day):
        pass
    assert [state for _, state, _ in rows(store)] == ["failed", "done"]


def test_a_killed_run_frees_the_lock_and_is_called_killed(store: Store) -> None:
    script = (
        "import sys, time\nfrom pathlib import Path\nfrom datetime import date\n"
        "from grader.store.connect import Store\n"
        "from grader.pipeline.runs import active_run\n"
        "with active_run(Store(path=Path(sys.argv[1])), 'grade', scheduled_for=date(2026, 11, 1)):\n"
        "    print('running', flush=True)\n    time.sleep(600)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", script, str(store.path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    with process.stdout:
        assert process.stdout.readline() == "running\n"
    with pytest.raises(RunActiveError), active_run(store, "grade"):
        pass
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    with active_run(store, "grade", scheduled_for=date(2026, 11, 1)):
        pass
    assert [state for _, state, _ in rows(store)] == ["killed", "done"]


def test_an_interrupted_run_says_so(store: Store) -> None:
    with pytest.raises(KeyboardInterrupt), active_run(store, "grade"):
        raise KeyboardInterrupt
    assert rows(store) == [("grade", "failed", "interrupted")]


def test_a_folder_that_cannot_be_made_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    store = Store(path=tmp_path / "file" / "data" / "x.duckdb")
    with pytest.raises(StoreError, match="cannot be opened"), active_run(store, "grade"):
        pass
