"""What grading gives back to the store: grades, critical alerts, releases and reports."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime

import duckdb
import orjson
import pyarrow as pa

from grader.records import DayReport
from grader.store.connect import Store

GRADES_PER_TRANSACTION = 122_880  # a row group of DuckDB: fewer cost twice as much a row (docs/performance.md)

GRADE_COLUMNS = (
    "trace_id", "day", "content_hash", "rules_version", "rule_score_milli", "outcomes", "alerts", "state",
    "judge_version", "judge_score", "final_score", "critical", "selected_because", "inclusion_probability", "stratum",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True, slots=True)
class GradedDay:
    """What a grading made of a day."""

    day: date
    grades: pa.Table  # GRADE_COLUMNS
    report: DayReport | None  # the next revision; None: the last one still holds


def write_days(store: Store, days: Sequence[GradedDay], *, run_id: str) -> None:
    """Replaces the grades and critical alerts of `days`, and adds their reports, all in one transaction.

    A single day of more than GRADES_PER_TRANSACTION is written in several, its report with the last: a run killed
    between them leaves ungraded traces, which the next run grades. Raises ValueError for several days of more rows
    than that, StoreFullError.
    """
    grades = pa.concat_tables([graded.grades.select(GRADE_COLUMNS) for graded in days])
    if len(days) > 1 and len(grades) > GRADES_PER_TRANSACTION:
        raise ValueError(f"{len(grades)} grades of {len(days)} days: more than one transaction takes")
    graded_days = pa.table({"day": pa.array([graded.day for graded in days], pa.date32())})
    for first in range(0, max(len(grades), 1), GRADES_PER_TRANSACTION):
        with store.writing() as connection:
            connection.execute("BEGIN")
            connection.register("graded_days", graded_days)
            connection.register("part", grades.slice(first, GRADES_PER_TRANSACTION))
            if first == 0:
                connection.execute("DELETE FROM grades WHERE day IN (SELECT day FROM graded_days)")
            # a trace that moved here from another day
            connection.execute("DELETE FROM grades WHERE trace_id IN (SELECT trace_id FROM part)")
            connection.execute("INSERT INTO grades BY NAME FROM part")
            if first + GRADES_PER_TRANSACTION >= len(grades):
                _replace_alerts(connection)
                _note_releases(connection)
                for graded in days:
                    if graded.report is not None:
                        _add_report(connection, graded.report, run_id=run_id)
            connection.execute("COMMIT")


def _replace_alerts(connection: duckdb.DuckDBPyConnection) -> None:
    raised = connection.sql("SELECT trace_id, raised_at FROM alerts").to_arrow_table()
    connection.register("raised", raised)
    connection.execute(
        """DELETE FROM alerts WHERE day IN (SELECT day FROM graded_days)
           OR trace_id IN (SELECT trace_id FROM grades SEMI JOIN graded_days USING (day))"""
    )
    connection.execute(
        """INSERT INTO alerts
           SELECT g.trace_id, g.day, g.final_score, g.alerts, coalesce(r.raised_at, $now)
           FROM grades g SEMI JOIN graded_days USING (day) LEFT JOIN raised r USING (trace_id) WHERE g.critical""",
        {"now": datetime.now(UTC)},
    )


def _note_releases(connection: duckdb.DuckDBPyConnection) -> None:
    connection.execute(
        """INSERT INTO releases
           SELECT coalesce(agent, ''), release, min(coalesce(started_at, day::TIMESTAMPTZ))
           FROM traces SEMI JOIN graded_days USING (day) WHERE release IS NOT NULL GROUP BY ALL
           ON CONFLICT DO UPDATE SET first_seen_at = least(first_seen_at, excluded.first_seen_at)"""
    )


def _add_report(connection: duckdb.DuckDBPyConnection, report: DayReport, *, run_id: str) -> None:
    connection.execute(
        "INSERT INTO day_reports VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [
            report.date, report.revision, datetime.now(UTC), run_id, report.num_traces, report.avg_score,
            report.median_score, report.min_score, report.p10_score, report.pct_critical, report.quality.value,
            report.regression.flagged, report_json(report),
        ],
    )  # fmt: skip


def report_json(report: DayReport) -> str:
    """The report as JSON text: dates ISO, keys as in records.py."""
    return orjson.dumps(report).decode()
