"""The report of one day: its figures, their intervals, what is not in them, and the step from the day before."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

import pyarrow as pa
import pyarrow.compute as pc

from grader.pipeline.grading import summarise
from grader.records import DayReport, Estimate
from grader.settings import Settings
from grader.stats.intervals import clustered_mean, wilson
from grader.stats.quality import Stratum, stratified_mean
from grader.stats.regression import day_to_day
from grader.store.days import PreviousDay

STRATA = (0, 1, 2)


def day_report(
    day: date,
    grades: pa.Table,
    *,
    sessions: pa.Array,
    previous: PreviousDay | None,
    settings: Settings,
    rules_version: str,
    judge_version: str | None,
) -> DayReport:
    """The report of `day` from its grades (pipeline/grading.py `combine`) and the session of each row; revision 0: not stored yet."""
    summary = summarise(grades)
    return DayReport(
        date=day,
        revision=0,
        num_traces=summary.num_traces,
        avg_score=summary.avg_score,
        median_score=summary.median_score,
        min_score=summary.min_score,
        p10_score=summary.p10_score,
        pct_critical=100 * summary.num_critical / summary.num_traces if summary.num_traces else None,
        critical_alerts=summary.critical_alerts,
        num_critical=summary.num_critical,
        counts=summary.counts,
        regression=day_to_day(
            summary.avg_score,
            previous.avg_score if previous else None,
            previous_date=previous.date if previous else None,
            limit=settings.regression.day_to_day_limit,
        ),
        avg_score_interval=clustered_mean(grades.column("final_score").to_numpy(), sessions),
        pct_critical_interval=_per_cent(wilson(summary.num_critical, summary.num_traces)),
        quality=_quality(grades, judged=judge_version is not None),
        rules_version=rules_version,
        judge_version=judge_version,
        judge_provider=settings.judge.provider,
    )


def _per_cent(share: Estimate) -> Estimate:
    scaled = {name: None if bound is None else 100 * bound for name, bound in _bounds(share).items()}
    return replace(share, **scaled)


def _bounds(share: Estimate) -> dict[str, float | None]:
    return {"value": share.value, "low": share.low, "high": share.high}


def _quality(grades: pa.Table, *, judged: bool) -> Estimate:
    """The mean judge score of all the day's traces, from those that were drawn and judged (STATISTICS.md section 2)."""
    if not judged:
        return Estimate(value=None, low=None, high=None, n=0, n_missing=len(grades), method="none", note="no judge is configured")
    strata = []
    for number in STRATA:
        rows = grades.filter(pc.equal(grades.column("stratum"), number))
        drawn = rows.filter(pc.is_valid(rows.column("selected_because")))
        scores = drawn.column("judge_score").drop_null().to_numpy()
        judgeable = pc.sum(pc.not_equal(rows.column("state"), "not_judgeable")).as_py() or 0
        strata.append(Stratum(size=judgeable, scores=scores, n_failed=len(drawn) - len(scores)))
    return stratified_mean(strata)
