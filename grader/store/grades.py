"""What grading gives back to the store: a day's grades, critical alerts, releases and report."""

from __future__ import annotations

from datetime import UTC, date, datetime

import duckdb
import orjson
import pyarrow as pa

from grader.records import DayReport
from grader.store.connect import Store

GRADES_PER_TRANSACTION = 200_000  # keeps the lock for well under a second

GRADE_COLUMNS = (
    "trace_id", "day", "content_hash", "rules_version", "rule_score_milli", "outcomes", "alerts", "state",
    "judge_version", "judge_score", "final_score", "critical", "selected_because", "inclusion_probability", "stratum",
)  # fmt: skip


def write_day(store: Store, day: date, grades: pa.Table, report: DayReport | None, *, run_id: str) -> None:
    """Replaces the grades and critical alerts of `day` by `grades` (GRADE_COLUMNS), and adds `report` as a revision.

    `report` None: the last revision still holds. All in one transaction, but for a big day, whose grades are written
    in several, the report with the last: a run killed between them leaves ungraded traces, which the next run grades.
    Raises StoreFullError.
    """
    for first in range(0, max(len(grades), 1), GRADES_PER_TRANSACTION):
        part = grades.slice(first, GRADES_PER_TRANSACTION).select(GRADE_COLUMNS)
        with store.writing() as connection:
            connection.execute("BEGIN")
            if first == 0:
                connection.execute("DELETE FROM grades WHERE day = ?", [day])
            connection.register("part", part)
            connection.execute("DELETE FROM grades WHERE day <> ? AND trace_id IN (SELECT trace_id FROM part)", [day])
            connection.execute("INSERT INTO grades BY NAME FROM part")
            if first + GRADES_PER_TRANSACTION >= len(grades):
                _replace_alerts(connection, day)
                _note_releases(connection, day)
                if report is not None:
                    _add_report(connection, report, run_id=run_id)
            connection.execute("COMMIT")


def _replace_alerts(connection: duckdb.DuckDBPyConnection, day: date) -> None:
    raised = connection.sql("SELECT trace_id, raised_at FROM alerts").to_arrow_table()
    connection.execute(
        "DELETE FROM alerts WHERE day = $day OR trace_id IN (SELECT trace_id FROM grades WHERE day = $day)",
        {"day": day},
    )
    connection.register("raised", raised)
    connection.execute(
        """INSERT INTO alerts
           SELECT g.trace_id, g.day, g.final_score, g.alerts, coalesce(r.raised_at, $now)
           FROM grades g LEFT JOIN raised r USING (trace_id) WHERE g.day = $day AND g.critical""",
        {"day": day, "now": datetime.now(UTC)},
    )


def _note_releases(connection: duckdb.DuckDBPyConnection, day: date) -> None:
    connection.execute(
        """INSERT INTO releases
           SELECT coalesce(agent, ''), release, min(coalesce(started_at, day::TIMESTAMPTZ)) FROM traces
           WHERE day = ? AND release IS NOT NULL GROUP BY ALL
           ON CONFLICT DO UPDATE SET first_seen_at = least(first_seen_at, excluded.first_seen_at)""",
        [day],
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
