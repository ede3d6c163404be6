"""Days in a row: from the stored reports, or worked out for a part of the traces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import date, timedelta

from grader.records import Estimate, StateCounts
from grader.stats.intervals import wilson
from grader.stats.quality import FEW_JUDGED, pool, stratified_mean
from grader.store.read_days import DayNumbers, DayStrata, StoredReport

NOT_JUDGED = ("judge_pending", "judge_failed", "not_judgeable")
POOLED_DAYS = 7


@dataclass(frozen=True, kw_only=True, slots=True)
class Day:
    """One calendar day. Without traces all averages are None, so that charts show a gap."""

    date: date
    num_traces: int = 0
    avg_score: float | None = None
    avg_interval: Estimate | None = None  # None: not computed for a part of the traces
    median_score: float | None = None
    p10_score: float | None = None
    critical: Estimate | None = None  # in per cent
    num_critical: int = 0
    quality: Estimate | None = None  # None: not computed for a part of the traces
    counts: StateCounts = field(default_factory=StateCounts)
    drop: float | None = None  # the change of the mean, where the day-to-day form flags it
    judge_version: str | None = None
    judge_provider: str = "none"

    @property
    def num_not_judged(self) -> int:
        return sum(getattr(self.counts, state) for state in NOT_JUDGED)


def days_of_reports(reports: Sequence[StoredReport], first: date, last: date) -> tuple[Day, ...]:
    """Every day of the range from its stored report; a day without one has no traces."""
    found = {stored.report.date: stored.report for stored in reports}
    days = []
    for day in _calendar(first, last):
        report = found.get(day)
        if report is None or not report.num_traces:
            days.append(Day(date=day))
            continue
        days.append(
            Day(
                date=day,
                num_traces=report.num_traces,
                avg_score=report.avg_score,
                avg_interval=report.avg_score_interval,
                median_score=report.median_score,
                p10_score=report.p10_score,
                critical=report.pct_critical_interval,
                num_critical=report.num_critical,
                quality=report.quality,
                counts=report.counts,
                drop=report.regression.change if report.regression.flagged else None,
                judge_version=report.judge_version,
                judge_provider=report.judge_provider,
            )
        )
    return tuple(days)


def days_of_numbers(
    found: Sequence[DayNumbers], strata: Sequence[DayStrata], first: date, last: date, *, drop_limit: float
) -> tuple[Day, ...]:
    """Every day of the range for a part of the traces. `drop_limit` is the limit of the day-to-day form.

    `strata` empty: the part is selected by its grades, so that no quality can be estimated for it.
    """
    qualities = part_qualities(strata)
    by_date = {numbers_of_day.date: numbers_of_day for numbers_of_day in found}
    days: list[Day] = []
    previous: DayNumbers | None = None
    for day in _calendar(first, last):
        part = by_date.get(day)
        if part is None:
            days.append(Day(date=day))
            continue
        change = part.avg_score - previous.avg_score if previous else None
        days.append(
            Day(
                date=day,
                num_traces=part.num_traces,
                avg_score=part.avg_score,
                median_score=part.median_score,
                p10_score=part.p10_score,
                critical=_percent(wilson(part.num_critical, part.num_traces)),
                num_critical=part.num_critical,
                quality=qualities.get(day),
                counts=part.counts,
                drop=change if change is not None and change < -drop_limit else None,
            )
        )
        previous = part
    return tuple(days)


def part_qualities(strata: Sequence[DayStrata]) -> dict[date, Estimate]:
    """Quality of a part of each day's traces; days with few judged ones are pooled with the six before, and say so."""
    found = {}
    for day in strata:
        num_judged = sum(len(sample.scores) for sample in day.strata)
        near = [other for other in strata if day.date - timedelta(days=POOLED_DAYS) < other.date <= day.date]
        if num_judged >= FEW_JUDGED or len(near) == 1:
            found[day.date] = stratified_mean(day.strata)
            continue
        estimate = stratified_mean(pool([other.strata for other in near]))
        if estimate.value is None:
            found[day.date] = estimate
            continue
        said = f"pooled over {len(near)} days, since this day has only {num_judged} judged traces"
        found[day.date] = replace(estimate, note="; ".join(filter(None, (said, estimate.note))))
    return found


def newest_two(days: Sequence[Day]) -> tuple[Day | None, Day | None]:
    """The newest day with traces, and the one with traces before it."""
    observed = [day for day in days if day.num_traces]
    return (observed[-1] if observed else None, observed[-2] if len(observed) > 1 else None)


def _calendar(first: date, last: date) -> list[date]:
    return [first + timedelta(days=number) for number in range((last - first).days + 1)]


def _percent(share: Estimate) -> Estimate:
    value, low, high = (None if part is None else 100 * part for part in (share.value, share.low, share.high))
    return replace(share, value=value, low=low, high=high)
