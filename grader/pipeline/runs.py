"""A run: one at a time in a workspace, with a row that says how it went.

The run lock is a `flock` of its own, held from the first to the last line of a run; the kernel frees it when the run
is killed, so a row that still says `running` while the lock is free is a killed run.
"""

from __future__ import annotations

import fcntl
import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from typing import Literal

from grader.errors import GradebookError, RunActiveError
from grader.records import IngestCounts
from grader.store.connect import Store, opening

RunKind = Literal["ingest", "grade"]


@dataclass(kw_only=True, slots=True)
class Run:
    """A run under way; what it collects is written to its row at the end."""

    run_id: str
    counts: IngestCounts = field(default_factory=IngestCounts)
    failures: bool = False  # lines quarantined or judge calls failed: done, but not clean
    canary_score: float | None = None
    message: str | None = None


@contextmanager
def active_run(store: Store, kind: RunKind, *, scheduled_for: date | None = None) -> Iterator[Run]:
    """Holds the run lock and keeps the run's row; the row's state tells how the block ended.

    Raises RunActiveError when another process runs, or when `scheduled_for` was already done.
    """
    with opening(store.folder):
        store.folder.mkdir(parents=True, exist_ok=True)
        lock = os.open(store.path.with_name(store.path.name + ".run"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o664)
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise RunActiveError(
                f"another run is active on the store {str(store.path)!r}: wait until it is done ('gradebook status')"
            ) from None
        run = Run(run_id=uuid.uuid4().hex)
        _begin(store, run, kind, scheduled_for)
        try:
            yield run
        except BaseException as error:
            run.message = _why_ended(error)
            _end_quietly(store, run)
            raise
        _end(store, run, "done_with_failures" if run.failures else "done")
    finally:
        os.close(lock)


def _why_ended(error: BaseException) -> str:
    if isinstance(error, KeyboardInterrupt):
        return "interrupted"
    return str(error) if isinstance(error, GradebookError) else f"{type(error).__name__}: {error}"


def _begin(store: Store, run: Run, kind: RunKind, scheduled_for: date | None) -> None:
    with store.writing() as connection:
        connection.execute("BEGIN")
        connection.execute(
            """UPDATE runs SET state = 'killed', scheduled_for = NULL, message = 'ended without a word'
               WHERE state = 'running'"""
        )
        if (
            scheduled_for is not None
            and connection.execute("SELECT run_id FROM runs WHERE scheduled_for = ?", [scheduled_for]).fetchall()
        ):
            raise RunActiveError(f"the scheduled run of {scheduled_for} was already done")
        connection.execute(
            "INSERT INTO runs (run_id, kind, state, started_at, scheduled_for) VALUES (?, ?, 'running', ?, ?)",
            [run.run_id, kind, datetime.now(UTC), scheduled_for],
        )
        connection.execute("COMMIT")


def note_counts(store: Store, run: Run) -> None:
    """Writes the line counts to the run's row as soon as they are known: day reports are recorded with them."""
    counts = run.counts
    with store.writing() as connection:
        connection.execute(
            """UPDATE runs SET lines_read = ?, lines_new = ?, lines_updated = ?, lines_duplicate = ?,
                      lines_quarantined = ?, traces_new = ?, traces_updated = ? WHERE run_id = ?""",
            [
                counts.read, counts.new, counts.updated, counts.duplicate, counts.quarantined, counts.new_traces,
                counts.updated_traces, run.run_id,
            ],
        )  # fmt: skip


def _end(store: Store, run: Run, state: str) -> None:
    with store.writing() as connection:
        connection.execute(
            """UPDATE runs SET state = ?, ended_at = ?, message = ?, canary_score = ?,
                      scheduled_for = CASE WHEN ? = 'failed' THEN NULL ELSE scheduled_for END
               WHERE run_id = ?""",
            [state, datetime.now(UTC), run.message, run.canary_score, state, run.run_id],
        )


def _end_quietly(store: Store, run: Run) -> None:
    """Notes the failure if the store still can; the error that ended the run is the one to show."""
    try:
        _end(store, run, "failed")
    except GradebookError:
        return
