"""Day reports that tests know by heart."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

from grader.records import CriticalAlert, DayReport, DayToDay, Estimate, StateCounts

NOTHING = Estimate(value=None, low=None, high=None, n=0, n_missing=0, method="none", note="no traces")


def a_report(day: date = date(2026, 3, 9)) -> DayReport:
    """A bad day: 12 traces, 3 critical, a drop against the day before."""
    return DayReport(
        date=day,
        revision=2,
        num_traces=12,
        avg_score=0.7,
        median_score=0.8,
        min_score=0.2,
        p10_score=0.3,
        pct_critical=25.0,
        critical_alerts=(
            CriticalAlert(trace_id="t-1", score=0.2, alerts=("High latency: 12000ms", "2 tool error(s)")),
            CriticalAlert(trace_id="t|2 <b>", score=0.4, alerts=("<script>alert(1)</script> | *x*",)),
        ),
        num_critical=3,
        counts=StateCounts(rules_only=7, judged=3, judge_pending=1, judge_failed=1),
        regression=DayToDay(
            previous_date=date(2026, 3, 8), previous_avg_score=0.896, change=-0.196, limit=0.1, flagged=True
        ),
        avg_score_interval=Estimate(value=0.7, low=0.55, high=0.85, n=12, n_missing=0, method="clustered"),
        pct_critical_interval=Estimate(value=25.0, low=8.9, high=53.2, n=12, n_missing=0, method="wilson"),
        quality=Estimate(value=None, low=None, high=None, n=3, n_missing=2, method="stratified", note="too few judged"),
        rules_version="r-1",
        judge_version="j-1",
        judge_provider="offline",
    )


def an_empty_report(day: date = date(2026, 3, 5)) -> DayReport:
    """A day without traces."""
    return replace(
        a_report(day),
        revision=1,
        num_traces=0,
        avg_score=None,
        median_score=None,
        min_score=None,
        p10_score=None,
        pct_critical=None,
        critical_alerts=(),
        num_critical=0,
        counts=StateCounts(),
        regression=DayToDay(previous_date=None, previous_avg_score=None, change=None, limit=0.1, flagged=False),
        avg_score_interval=NOTHING,
        pct_critical_interval=NOTHING,
        quality=NOTHING,
        judge_version=None,
        judge_provider="none",
    )
