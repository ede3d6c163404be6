"""What grading asks of the store: which days need it, and everything about one of them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime

import duckdb
import pyarrow as pa

from grader.arrow import NARROW_COLUMNS, PAYLOAD_COLUMNS
from grader.stats.strata import StratumSample
from grader.store.connect import Store
from grader.store.judging import known_results

Strata = tuple[StratumSample, ...]  # rule score under the limit, up to 1, exactly 1

_DAYS_TO_GRADE = """
WITH latest AS (
    SELECT date, num_traces FROM day_reports QUALIFY row_number() OVER (PARTITION BY date ORDER BY revision DESC) = 1
), state AS (
    SELECT t.day, count(*) AS num_traces,
           count(*) FILTER (WHERE g.trace_id IS NULL OR g.content_hash <> t.content_hash) AS ungraded,
           count(*) FILTER (WHERE g.state IN ('judge_pending', 'judge_failed')) AS waiting,
           max(coalesce(t.ended_at, t.started_at)) AS last_heard_at
    FROM traces t LEFT JOIN grades g ON g.trace_id = t.trace_id AND g.day = t.day GROUP BY t.day
)
SELECT coalesce(s.day, l.date) AS day FROM state s FULL JOIN latest l ON l.date = s.day
WHERE (s.ungraded > 0 OR (s.waiting > 0 AND $judge_available)
       OR coalesce(s.num_traces, 0) <> coalesce(l.num_traces, -1))
  AND (s.last_heard_at IS NULL OR s.last_heard_at <= $now - to_minutes($quiet_minutes))
ORDER BY day
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class PreviousDay:
    """The newest day before another one that has traces, as last reported."""

    date: date
    avg_score: float


@dataclass(frozen=True, kw_only=True, slots=True)
class RecordedReport:
    """A stored revision of a day: `report` is the DayReport as JSON text."""

    date: date
    revision: int
    recorded_at: datetime
    report: str
    ingest: Mapping[str, int]  # lines of the run that recorded it: read, new, updated, duplicate, quarantined


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredDay:
    """All that grading a day needs to know of the store, read at one go."""

    batch: pa.Table  # the asked columns of every trace of the day, in order of trace_id
    judged: pa.Table  # trace_id, judge_score: what the judge version said of these copies
    failed: pa.Table  # trace_id, stage: its calls that failed
    previous: PreviousDay | None
    following: date | None  # the next reported day: its report compares itself with this one
    earlier: Mapping[date, Strata]  # of the days before that this judge version judged
    revision: int  # of the last report; 0: never reported
    report: str  # the last report as JSON text; "": never reported


def read_day(
    store: Store, day: date, columns: Collection[str], *, judge_version: str | None, earlier_days: int
) -> StoredDay:
    """Everything about `day`. `columns` (grader/arrow.py) must have trace_id and content_hash.

    `judge_version` None: there is no judge, so nothing is known of one.
    """
    with store.reading() as connection:
        batch = day_batch(store, connection, day, columns)
        judged, failed = known_results(connection, batch, judge_version=judge_version)
        revision, report = latest_report(connection, day) or (0, "")
        return StoredDay(
            batch=batch,
            judged=judged,
            failed=failed,
            previous=previous_day(connection, day),
            following=following_day(connection, day),
            earlier=earlier_strata(connection, day, days=earlier_days, judge_version=judge_version),
            revision=revision,
            report=report,
        )


def days_to_grade(
    connection: duckdb.DuckDBPyConnection, *, judge_available: bool, quiet_minutes: int = 0
) -> tuple[date, ...]:
    """Days whose traces changed since they were graded, or where judge calls wait and a judge can take them.

    A day that was heard of less than `quiet_minutes` ago is still moving and left for later; 0 waits for nothing.
    """
    now = datetime.max.replace(tzinfo=UTC) if quiet_minutes == 0 else datetime.now(UTC)
    rows = connection.execute(
        _DAYS_TO_GRADE, {"judge_available": judge_available, "now": now, "quiet_minutes": quiet_minutes}
    ).fetchall()
    return tuple(day for (day,) in rows)


def known_days(connection: duckdb.DuckDBPyConnection) -> tuple[date, ...]:
    """Every day that has traces or was ever reported, in order."""
    rows = connection.execute("SELECT day FROM traces UNION SELECT date FROM day_reports ORDER BY 1").fetchall()
    return tuple(day for (day,) in rows)


def day_batch(store: Store, connection: duckdb.DuckDBPyConnection, day: date, columns: Collection[str]) -> pa.Table:
    """The traces of `day` in order of trace_id: `columns` of grader/arrow.py, texts read only when one is asked for."""
    narrow = [name for name in NARROW_COLUMNS if name in columns]
    texts = [name for name in PAYLOAD_COLUMNS if name in columns]
    select = ", ".join([f"t.{name}" for name in narrow] + [f"x.{name}" for name in texts])
    source = "traces t"
    parameters: dict[str, object] = {"day": day}
    if texts:
        files = connection.execute(
            "SELECT DISTINCT p.path FROM traces t JOIN payload_files p ON p.file_id = t.payload_file WHERE t.day = ?",
            [day],
        ).fetchall()
        source += """ JOIN payload_files p ON p.file_id = t.payload_file
            JOIN read_parquet($paths, filename = 'payload_path') x
              ON x.trace_id = t.trace_id AND x.payload_path = $folder || '/' || p.path"""
        parameters |= {"folder": str(store.folder), "paths": [f"{store.folder}/{path}" for (path,) in files]}
        if not files:
            return pa.table({name: pa.array([], pa.string()) for name in (*narrow, *texts)})
    query = f"SELECT {select} FROM {source} WHERE t.day = $day ORDER BY t.trace_id"
    return connection.sql(query, params=parameters).to_arrow_table()


def previous_day(connection: duckdb.DuckDBPyConnection, day: date) -> PreviousDay | None:
    """The newest reported day before `day` that has traces; None: there is none."""
    rows = connection.execute(
        """SELECT date, avg_score FROM day_reports WHERE date < ?
           QUALIFY row_number() OVER (PARTITION BY date ORDER BY revision DESC) = 1 AND num_traces > 0
           ORDER BY date DESC LIMIT 1""",
        [day],
    ).fetchall()
    return PreviousDay(date=rows[0][0], avg_score=rows[0][1]) if rows else None


def following_day(connection: duckdb.DuckDBPyConnection, day: date) -> date | None:
    """The next reported day after `day`: its report compares itself with `day`."""
    rows = connection.execute("SELECT min(date) FROM day_reports WHERE date > ?", [day]).fetchall()
    following: date | None = rows[0][0]
    return following


def latest_report(connection: duckdb.DuckDBPyConnection, day: date) -> tuple[int, str] | None:
    """(revision, report as JSON text) of the last report of `day`; None: never reported."""
    rows = connection.execute(
        "SELECT revision, report::VARCHAR FROM day_reports WHERE date = ? ORDER BY revision DESC LIMIT 1", [day]
    ).fetchall()
    return (rows[0][0], rows[0][1]) if rows else None


def all_reports(connection: duckdb.DuckDBPyConnection) -> tuple[RecordedReport, ...]:
    """Every revision of every day, oldest first."""
    rows = connection.execute(
        """SELECT d.date, d.revision, d.recorded_at, d.report::VARCHAR,
                  {'read': r.lines_read, 'new': r.lines_new, 'updated': r.lines_updated,
                   'duplicate': r.lines_duplicate, 'quarantined': r.lines_quarantined}
           FROM day_reports d JOIN runs r USING (run_id) ORDER BY d.recorded_at, d.date, d.revision"""
    ).fetchall()
    return tuple(
        RecordedReport(
            date=day, revision=revision, recorded_at=recorded_at.astimezone(UTC), report=report, ingest=ingest
        )
        for day, revision, recorded_at, report, ingest in rows
    )


def earlier_strata(
    connection: duckdb.DuckDBPyConnection, day: date, *, days: int, judge_version: str | None
) -> Mapping[date, Strata]:
    """The three strata of each of the `days` days before `day` that this judge version judged."""
    rows = connection.execute(
        """SELECT day, stratum, count(*) FILTER (WHERE state <> 'not_judgeable'),
                  coalesce(list(judge_score ORDER BY trace_id)
                           FILTER (WHERE selected_because IS NOT NULL AND state = 'judged'), []),
                  count(*) FILTER (WHERE selected_because IS NOT NULL AND state = 'judge_failed')
           FROM grades
           WHERE day BETWEEN $day - $days::INTEGER AND $day - 1 AND judge_version = $judge_version
           GROUP BY day, stratum""",
        {"day": day, "days": days, "judge_version": judge_version},
    ).fetchall()
    found = {
        (of_day, stratum): StratumSample(num_traces=num_traces, scores=scores, num_failed=failed)
        for of_day, stratum, num_traces, scores, failed in rows
    }
    return {
        of_day: tuple(found.get((of_day, stratum), StratumSample(num_traces=0, scores=())) for stratum in range(3))
        for of_day in {of_day for of_day, _ in found}
    }
