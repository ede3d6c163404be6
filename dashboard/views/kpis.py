"""The figures of the newest day, each against the day before and with what it rests on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from dashboard import text
from dashboard.views import numbers
from dashboard.views.days import Day, newest_two
from grader.records import Estimate, StateCounts


@dataclass(frozen=True, kw_only=True, slots=True)
class Kpi:
    """One figure of the newest day."""

    label: str
    value: str
    delta: str | None  # against the day before
    rising_is: Literal["good", "bad", "neutral"]
    may_be_noise: bool = False  # the day before lies within the interval of this one
    notes: tuple[str, ...]  # what the figure rests on, a line each
    help: str


def kpis(days: Sequence[Day]) -> tuple[Kpi, ...]:
    """The figures of the newest day with traces; empty when no day has any."""
    newest, before = newest_two(days)
    if newest is None:
        return ()
    return (
        _average_kpi(newest, before),
        _quality_kpi(newest, before),
        _critical_kpi(newest, before),
        _median_kpi(newest, before),
        Kpi(
            label="Traces",
            value=numbers.count(newest.num_traces),
            delta=numbers.signed(_change(newest.num_traces, before.num_traces if before else None), 0),
            rising_is="neutral",
            notes=(f"{newest.counts.judged:,} judged", f"{newest.counts.rules_only:,} by rules only"),
            help="Traces that started on this day.",
        ),
        Kpi(
            label="Not judged",
            value=numbers.count(newest.num_not_judged),
            delta=numbers.signed(_change(newest.num_not_judged, before.num_not_judged if before else None), 0),
            rising_is="bad",
            notes=_not_judged_notes(newest.counts),
            help=text.HELP_NOT_JUDGED,
        ),
    )


def _change(value: float | None, before: float | None) -> float | None:
    """The difference to tell; None where there is none."""
    if value is None or before is None or abs(value - before) < 0.0005:
        return None
    return value - before


def _may_be_noise(interval: Estimate | None, before: float | None) -> bool:
    if interval is None or interval.low is None or interval.high is None or before is None:
        return False
    return interval.low <= before <= interval.high


def _lines(*parts: str | None) -> tuple[str, ...]:
    return tuple(part for part in parts if part)


def _average_kpi(newest: Day, before: Day | None) -> Kpi:
    return Kpi(
        label="Average score",
        value=numbers.score(newest.avg_score),
        delta=numbers.signed(_change(newest.avg_score, before.avg_score if before else None)),
        rising_is="good",
        may_be_noise=_may_be_noise(newest.avg_interval, before.avg_score if before else None),
        notes=_lines(
            numbers.counted(newest.num_traces, "trace"),
            numbers.interval(newest.avg_interval) if newest.avg_interval else None,
        ),
        help=text.HELP_AVERAGE,
    )


def _quality_kpi(newest: Day, before: Day | None) -> Kpi:
    quality = newest.quality
    former = before.quality if before and before.judge_version == newest.judge_version else None
    reason = quality.note if quality else "Not estimated among traces that are chosen by their grade."
    return Kpi(
        label="Quality" if newest.judge_provider != "offline" else "Quality (offline judge)",
        value=numbers.score(quality.value if quality else None),
        delta=numbers.signed(_change(quality.value, former.value)) if quality and former else None,
        rising_is="good",
        may_be_noise=_may_be_noise(quality, former.value if former else None),
        notes=_quality_notes(newest),
        help=f"{text.HELP_QUALITY}\n\n{reason[:1].upper()}{reason[1:]}." if reason else text.HELP_QUALITY,
    )


def _quality_notes(newest: Day) -> tuple[str, ...]:
    """What the estimate rests on. The start of its own note is enough here: the help has all of it."""
    quality = newest.quality
    if quality is None:
        return ("not estimated",)
    judged = f"{newest.counts.judged:,} of {newest.num_traces:,} judged"
    if quality.value is None:
        return (judged, "too few for an estimate")
    return _lines(judged, numbers.interval(quality), (quality.note or "").partition(",")[0].partition(";")[0])


def _critical_kpi(newest: Day, before: Day | None) -> Kpi:
    share = newest.critical.value if newest.critical else None
    former = before.critical.value if before and before.critical else None
    change = _change(share, former)
    return Kpi(
        label="Critical",
        value=numbers.percent(share),
        delta=None if change is None else f"{numbers.signed(change, 1)} pp",
        rising_is="bad",
        may_be_noise=_may_be_noise(newest.critical, former),
        notes=_lines(
            f"{newest.num_critical:,} of {newest.num_traces:,}",
            numbers.interval(newest.critical, as_percent=True) if newest.critical else None,
        ),
        help=text.HELP_CRITICAL,
    )


def _median_kpi(newest: Day, before: Day | None) -> Kpi:
    return Kpi(
        label="Median score",
        value=numbers.score(newest.median_score),
        delta=numbers.signed(_change(newest.median_score, before.median_score if before else None)),
        rising_is="good",
        notes=(f"Worst tenth under {numbers.score(newest.p10_score)}",),
        help=text.HELP_MEDIAN,
    )


def _not_judged_notes(counts: StateCounts) -> tuple[str, ...]:
    return (
        f"{counts.judge_pending:,} waiting, {counts.judge_failed:,} failed",
        f"{counts.not_judgeable:,} without texts",
    )
