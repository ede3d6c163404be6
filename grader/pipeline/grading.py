"""Making grades of what the stations found: rule scores, the choice of traces to judge, and what the judge said.

Pure: tables in, tables out. The SQL runs in a connection of its own that sees nothing but the tables it is given.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import date

import pyarrow as pa

from grader.engine import TABLE_ENGINES
from grader.records import CriticalAlert, StateCounts

WORST_ALERTS = 10

_GRADES = """
SELECT b.trace_id, $day::DATE AS day, b.content_hash, $rules_version AS rules_version,
    r.rule_score_milli, r.outcomes, r.alerts,
    CASE
        WHEN NOT b.content_captured THEN 'not_judgeable'
        WHEN j.judge_score IS NOT NULL THEN 'judged'
        WHEN c.selected_because IS NULL AND c.stratum > 0 THEN 'rules_only'
        WHEN f.trace_id IS NOT NULL THEN 'judge_failed'
        ELSE 'judge_pending' END AS state,
    $judge_version AS judge_version,
    CASE WHEN state = 'judged' THEN j.judge_score END AS judge_score,
    CASE WHEN state = 'judged' THEN j.judge_score ELSE r.rule_score_milli / 1000.0 END AS final_score,
    final_score < $critical_below AS critical,
    c.selected_because, c.inclusion_probability, c.stratum
FROM batch b
JOIN ruled r USING (trace_id)
JOIN chosen c USING (trace_id)
LEFT JOIN judged j USING (trace_id)
LEFT JOIN failed f USING (trace_id)
ORDER BY b.trace_id
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class DaySummary:
    """The plain figures of a day's final scores; averages are None for a day without traces."""

    num_traces: int
    avg_score: float | None
    median_score: float | None
    min_score: float | None
    p10_score: float | None  # linear interpolation (type 7)
    num_critical: int
    critical_alerts: tuple[CriticalAlert, ...]  # the ten worst, worst first, then by trace id
    counts: StateCounts


def candidates(batch: pa.Table, ruled: pa.Table) -> pa.Table:
    """What sampling chooses from: trace_id, rule_score_milli, judgeable (its content was captured)."""
    with TABLE_ENGINES.connection() as connection:
        connection.register("batch", batch)
        connection.register("ruled", ruled)
        return connection.sql(
            """SELECT b.trace_id, r.rule_score_milli, b.content_captured AS judgeable
               FROM batch b JOIN ruled r USING (trace_id) ORDER BY b.trace_id"""
        ).to_arrow_table()


def without_judgement(batch: pa.Table, chosen: pa.Table, judged: pa.Table) -> pa.Table:
    """The chosen traces that no judgement is known of: trace_id, content_hash, duration_ms, num_turns, by trace_id."""
    with TABLE_ENGINES.connection() as connection:
        for name, table in (("batch", batch), ("chosen", chosen), ("judged", judged)):
            connection.register(name, table)
        return connection.sql(
            """SELECT b.trace_id, b.content_hash, b.duration_ms, b.num_turns
               FROM batch b JOIN chosen c USING (trace_id) ANTI JOIN judged j USING (trace_id)
               WHERE c.selected_because IS NOT NULL ORDER BY b.trace_id"""
        ).to_arrow_table()


def combine(
    *,
    day: date,
    batch: pa.Table,
    ruled: pa.Table,
    chosen: pa.Table,
    judged: pa.Table,
    failed: pa.Table,
    rules_version: str,
    judge_version: str | None,
    critical_below: float,
) -> pa.Table:
    """One grade a trace (store/days.py GRADE_COLUMNS), in order of trace_id.

    `batch` has trace_id, content_hash, content_captured; `judged` trace_id, judge_score; `failed` trace_id, stage.
    A trace that the contract sends to the judge (rule score under judge_below) and that was not drawn within the
    budget waits as `judge_pending`; so does every chosen one without a reply. `final_score` is the judge's where it
    judged, else the rules' (DESIGN.md section 2).
    """
    with TABLE_ENGINES.connection() as connection:
        for name, table in (
            ("batch", batch), ("ruled", ruled), ("chosen", chosen), ("judged", judged), ("failed", failed)
        ):  # fmt: skip
            connection.register(name, table)
        return connection.sql(
            _GRADES,
            params={
                "day": day,
                "rules_version": rules_version,
                "judge_version": judge_version,
                "critical_below": critical_below,
            },
        ).to_arrow_table()


def summarise(grades: pa.Table) -> DaySummary:
    """The figures of a day report from its grades (the output of `combine`, maybe without rows)."""
    with TABLE_ENGINES.connection() as connection:
        connection.register("grades", grades)
        figures = connection.execute(
            """SELECT count(*), median(final_score), min(final_score),
                      quantile_cont(final_score, 0.1), count(*) FILTER (WHERE critical) FROM grades"""
        ).fetchall()[0]
        worst = connection.execute(
            f"""SELECT trace_id, final_score, alerts FROM grades WHERE critical
                ORDER BY final_score, trace_id LIMIT {WORST_ALERTS}"""
        ).fetchall()
        states = dict(connection.execute("SELECT state, count(*) FROM grades GROUP BY state").fetchall())
    num_traces, median_score, min_score, p10_score, num_critical = figures
    return DaySummary(
        num_traces=num_traces,
        # fsum rounds once whatever the order of the rows, so grading a day again gives the same bits
        avg_score=math.fsum(grades.column("final_score").to_numpy()) / num_traces if num_traces else None,
        median_score=median_score,
        min_score=min_score,
        p10_score=p10_score,
        num_critical=num_critical,
        critical_alerts=tuple(
            CriticalAlert(trace_id=trace_id, score=score, alerts=tuple(alerts)) for trace_id, score, alerts in worst
        ),
        counts=StateCounts(**states),
    )
