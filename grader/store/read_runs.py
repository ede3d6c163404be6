"""What was read and graded, what waits and what failed: the sums of DESIGN.md section 6, for the data screen."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from typing import Literal

import duckdb

from grader.errors import FailureStage
from grader.records import StateCounts
from grader.store.read import rows

RunState = Literal["running", "done", "done_with_failures", "failed", "killed"]


@dataclass(frozen=True, kw_only=True, slots=True)
class RunRow:
    """One run of `gradebook ingest` or `gradebook grade`."""

    run_id: str
    kind: Literal["ingest", "grade"]
    state: RunState
    started_at: datetime
    ended_at: datetime | None
    lines_read: int
    lines_new: int
    lines_updated: int
    lines_duplicate: int
    lines_quarantined: int
    message: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class SourceFormat:
    """Traces that one reader brought."""

    reader: str
    num_files: int
    num_traces: int
    first_day: date
    last_day: date


@dataclass(frozen=True, kw_only=True, slots=True)
class QuarantineRow:
    reader: str
    path: str
    line: int
    reason: str
    excerpt: str
    first_seen_at: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class FailureCount:
    """Traces whose newest judge call ended without a usable reply, by where it ended."""

    stage: FailureStage
    num_traces: int
    newest_message: str
    newest_at: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class StoreSums:
    """Traces = graded + not yet graded; graded = the sum of `counts`."""

    num_traces: int
    num_not_graded: int
    counts: StateCounts
    num_quarantined: int


def read_sums(connection: duckdb.DuckDBPyConnection) -> StoreSums:
    """The sums over everything in the store."""
    (row,) = rows(
        connection,
        """SELECT (SELECT count(*) FROM traces) AS num_traces,
                  (SELECT count(*) FROM traces t ANTI JOIN grades g ON g.trace_id = t.trace_id) AS num_not_graded,
                  (SELECT count(*) FROM quarantine) AS num_quarantined""",
    )
    states = rows(connection, "SELECT state::VARCHAR AS state, count(*) AS num_traces FROM grades GROUP BY state")
    counts = StateCounts(**{state["state"]: state["num_traces"] for state in states})
    return StoreSums(**row, counts=counts)


def read_runs(connection: duckdb.DuckDBPyConnection, *, limit: int) -> tuple[RunRow, ...]:
    """The newest runs, newest first."""
    found = rows(
        connection,
        """SELECT run_id, kind, state::VARCHAR AS state, started_at, ended_at, lines_read, lines_new, lines_updated,
                  lines_duplicate, lines_quarantined, message
           FROM runs ORDER BY started_at DESC, run_id LIMIT $limit""",
        {"limit": limit},
    )
    return tuple(RunRow(**row) for row in found)


def read_formats(connection: duckdb.DuckDBPyConnection) -> tuple[SourceFormat, ...]:
    """What each reader brought, by reader."""
    found = rows(
        connection,
        """SELECT source_reader AS reader, count(DISTINCT source_path) AS num_files, count(*) AS num_traces,
                  min(day) AS first_day, max(day) AS last_day
           FROM traces GROUP BY source_reader ORDER BY reader""",
    )
    return tuple(SourceFormat(**row) for row in found)


def read_quarantine(connection: duckdb.DuckDBPyConnection, *, limit: int) -> tuple[QuarantineRow, ...]:
    """Lines that could not be read, newest first."""
    found = rows(
        connection,
        """SELECT reader, path, line, reason, excerpt, first_seen_at FROM quarantine
           ORDER BY first_seen_at DESC, path, line LIMIT $limit""",
        {"limit": limit},
    )
    return tuple(QuarantineRow(**row) for row in found)


def read_failures(connection: duckdb.DuckDBPyConnection) -> tuple[FailureCount, ...]:
    """Judge failures that stand (their trace is in state judge_failed or waits), most frequent first."""
    found = rows(
        connection,
        """SELECT f.stage::VARCHAR AS stage, count(*) AS num_traces, arg_max(f.message, f.failed_at) AS newest_message,
                  max(f.failed_at) AS newest_at
           FROM judge_failures f JOIN grades g ON g.trace_id = f.trace_id AND g.content_hash = f.content_hash
           WHERE g.state <> 'judged' GROUP BY f.stage ORDER BY num_traces DESC, stage""",
    )
    return tuple(FailureCount(**row) for row in found)
