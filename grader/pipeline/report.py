"""The report of one day: its figures, their intervals, what is not in them, and the step from the day before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date

import pyarrow as pa
import pyarrow.compute as pc

from grader.pipeline.grading import summarise
from grader.records import DayReport, Estimate
from grader.settings import Settings
from grader.stats.intervals import clustered_mean, no_estimate, wilson
from grader.stats.quality import FEW_JUDGED, METHOD, pool, stratified_mean
from grader.stats.regression import day_to_day
from grader.stats.strata import StratumSample
from grader.store.days import PreviousDay, Strata

STRATA = (0, 1, 2)


def day_report(
    day: date,
    grades: pa.Table,
    *,
    sessions: pa.Array,
    previous: PreviousDay | None,
    strata: Strata,
    earlier: Sequence[Strata],
    settings: Settings,
    rules_version: str,
    judge_version: str | None,
) -> DayReport:
    """The report of `day` from its grades (pipeline/grading.py `combine`) and the session of each row.

    `strata`: of this day (`day_strata`). `earlier`: of the days before, for a quality estimate where this day has few
    judged traces. Revision 0: not stored yet.
    """
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
            previous_avg_score=previous.avg_score if previous else None,
            previous_date=previous.date if previous else None,
            limit=settings.regression.day_to_day_limit,
        ),
        # the interval's own mean may differ in the last bit; one number is shown in both places
        avg_score_interval=replace(
            clustered_mean(grades.column("final_score").to_numpy(), sessions), value=summary.avg_score
        ),
        pct_critical_interval=_per_cent(wilson(summary.num_critical, summary.num_traces)),
        quality=_quality(strata, earlier=earlier, judge_version=judge_version),
        rules_version=rules_version,
        judge_version=judge_version,
        judge_provider=settings.judge.provider,
    )


def _per_cent(share: Estimate) -> Estimate:
    value, low, high = (None if part is None else 100 * part for part in (share.value, share.low, share.high))
    return replace(share, value=value, low=low, high=high)


def day_strata(grades: pa.Table) -> Strata:
    """The strata of a day from its grades: judgeable traces, and the judge's scores of those drawn."""
    return tuple(_sample(grades, stratum) for stratum in STRATA)


def _quality(today: Strata, *, earlier: Sequence[Strata], judge_version: str | None) -> Estimate:
    """The mean judge score of all the day's traces, from those that were drawn and judged (STATISTICS.md section 2).

    Under FEW_JUDGED judged traces the `earlier` days are pooled in, and the estimate says so.
    """
    num_traces = sum(sample.num_traces for sample in today)
    if judge_version is None:
        return no_estimate("no judge is configured", n_missing=num_traces, method=METHOD)
    num_judged = sum(len(sample.scores) for sample in today)
    if num_judged >= FEW_JUDGED or not earlier or not num_traces:
        return stratified_mean(today)
    estimate = stratified_mean(pool([*earlier, today]))
    said = f"pooled over {len(earlier) + 1} days, since this day has only {num_judged} judged traces"
    return replace(estimate, note="; ".join(filter(None, (said, estimate.note))))


def _sample(grades: pa.Table, stratum: int) -> StratumSample:
    rows = grades.filter(pc.equal(grades.column("stratum"), stratum))
    judgeable = rows.filter(pc.not_equal(rows.column("state"), "not_judgeable"))
    drawn = judgeable.filter(pc.is_valid(judgeable.column("selected_because")))
    failed = pc.sum(pc.equal(drawn.column("state"), "judge_failed")).as_py() or 0
    return StratumSample(
        num_traces=len(judgeable), scores=drawn.column("judge_score").drop_null().to_numpy(), num_failed=failed
    )
