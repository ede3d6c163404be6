"""`gradebook status`: what is there, what waits, what failed, and whether the sums of DESIGN.md section 6 hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime

import duckdb

from grader.judge import make_judge
from grader.records import IngestCounts, StateCounts
from grader.settings import Settings
from grader.store.connect import Store
from grader.store.days import days_to_grade

LAST_RUNS = 5
QUARANTINE_REASONS = 5


@dataclass(frozen=True, kw_only=True, slots=True)
class RunStatus:
    run_id: str
    kind: str
    state: str
    started_at: datetime
    ended_at: datetime | None
    scheduled_for: date | None
    counts: IngestCounts
    message: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class QuarantineReason:
    reason: str
    lines: int
    example: str  # "path:line"


@dataclass(frozen=True, kw_only=True, slots=True)
class StatusReport:
    """Everything the operator asks first. `broken_sums` is empty when every line and trace is accounted for."""

    store_path: str
    num_traces: int
    first_day: date | None
    last_day: date | None
    graded: StateCounts
    ungraded: int  # traces that no grading run has seen, or that changed since
    days_to_grade: tuple[date, ...]
    critical: int
    failures_by_stage: Mapping[str, int]  # judge calls that failed and wait for the next run
    quarantined_lines: int
    quarantine_reasons: tuple[QuarantineReason, ...]  # the most frequent first
    last_runs: tuple[RunStatus, ...]  # newest first
    broken_sums: tuple[str, ...]


def read_status(settings: Settings) -> StatusReport:
    """The state of the workspace. Raises StoreMissingError, StoreBusyError, StoreDamagedError, StoreNewerError."""
    store = Store.open(settings)
    judge_available = make_judge(settings.judge, settings.judge_api_key) is not None
    with store.reading() as connection:
        num_traces, first_day, last_day = connection.execute(
            "SELECT count(*), min(day), max(day) FROM traces"
        ).fetchall()[0]
        states = dict(connection.execute("SELECT state::VARCHAR, count(*) FROM grades GROUP BY 1").fetchall())
        [(ungraded,)] = connection.execute(
            """SELECT count(*) FROM traces t
               ANTI JOIN grades g ON g.trace_id = t.trace_id AND g.content_hash = t.content_hash"""
        ).fetchall()
        [(critical,)] = connection.execute("SELECT count(*) FROM alerts").fetchall()
        [(quarantined,)] = connection.execute("SELECT count(*) FROM quarantine").fetchall()
        return StatusReport(
            store_path=str(store.path),
            num_traces=num_traces,
            first_day=first_day,
            last_day=last_day,
            graded=StateCounts(**states),
            ungraded=ungraded,
            days_to_grade=days_to_grade(connection, judge_available=judge_available),
            critical=critical,
            failures_by_stage=dict(
                connection.execute(
                    "SELECT stage::VARCHAR, count(*) FROM judge_failures GROUP BY 1 ORDER BY 1"
                ).fetchall()
            ),
            quarantined_lines=quarantined,
            quarantine_reasons=_quarantine_reasons(connection),
            last_runs=_last_runs(connection),
            broken_sums=_broken_sums(connection),
        )


def _quarantine_reasons(connection: duckdb.DuckDBPyConnection) -> tuple[QuarantineReason, ...]:
    rows = connection.execute(
        f"""SELECT reason, count(*), min(path || ':' || line) FROM quarantine GROUP BY reason
            ORDER BY 2 DESC, 1 LIMIT {QUARANTINE_REASONS}"""
    ).fetchall()
    return tuple(QuarantineReason(reason=reason, lines=lines, example=example) for reason, lines, example in rows)


def _last_runs(connection: duckdb.DuckDBPyConnection) -> tuple[RunStatus, ...]:
    rows = connection.execute(
        f"""SELECT run_id, kind, state::VARCHAR, started_at, ended_at, scheduled_for, lines_read, lines_new,
                   lines_updated, lines_duplicate, lines_quarantined, traces_new, traces_updated, message
            FROM runs ORDER BY started_at DESC LIMIT {LAST_RUNS}"""
    ).fetchall()
    return tuple(
        RunStatus(
            run_id=run_id,
            kind=kind,
            state=state,
            started_at=started_at,
            ended_at=ended_at,
            scheduled_for=scheduled_for,
            counts=IngestCounts(
                read=read,
                new=new,
                updated=updated,
                duplicate=duplicate,
                quarantined=quarantined,
                new_traces=new_traces,
                updated_traces=updated_traces,
            ),
            message=message,
        )
        for run_id, kind, state, started_at, ended_at, scheduled_for, read, new, updated, duplicate, quarantined,
        new_traces, updated_traces, message in rows
    )  # fmt: skip


def _broken_sums(connection: duckdb.DuckDBPyConnection) -> tuple[str, ...]:
    """Section 6 checked on what is stored: one sentence for each sum that does not add up."""
    broken = []
    for run_id, read, parts in connection.execute(
        """SELECT run_id, lines_read, lines_new + lines_updated + lines_duplicate + lines_quarantined FROM runs
           WHERE lines_read <> lines_new + lines_updated + lines_duplicate + lines_quarantined"""
    ).fetchall():
        broken.append(f"run {run_id}: {read} lines read, but {parts} accounted for")
    for trace_id, copies in connection.execute(
        "SELECT trace_id, count(*) FROM traces GROUP BY trace_id HAVING count(*) > 1 LIMIT 5"
    ).fetchall():
        broken.append(f"trace {trace_id!r} is stored {copies} times")
    for trace_id, copies in connection.execute(
        "SELECT trace_id, count(*) FROM grades GROUP BY trace_id HAVING count(*) > 1 LIMIT 5"
    ).fetchall():
        broken.append(f"trace {trace_id!r} is graded {copies} times")
    for day, reported, counted in connection.execute(
        """SELECT date, num_traces, (SELECT count(*) FROM grades g WHERE g.day = date) AS counted FROM day_reports
           QUALIFY row_number() OVER (PARTITION BY date ORDER BY revision DESC) = 1 AND num_traces <> counted"""
    ).fetchall():
        broken.append(f"day {day}: reported {reported} traces, but {counted} are graded")
    return tuple(broken)
