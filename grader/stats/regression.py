"""The simple regression form of DESIGN.md section 2: a day's mean against the one before."""

from __future__ import annotations

from datetime import date

from grader.records import DayToDay

MEAN_DIGITS = 9  # means closer than this are the same: 0.8 − 0.7 is not more than 0.1


def day_to_day(
    avg_score: float | None, *, previous_date: date | None, previous_avg_score: float | None, limit: float
) -> DayToDay:
    """Whether the mean score fell by more than `limit` since the newest earlier day that has traces.

    A fall of exactly `limit` is none. No change, and no flag, where either mean is missing.
    """
    change = None
    if avg_score is not None and previous_avg_score is not None:
        change = avg_score - previous_avg_score
    return DayToDay(
        previous_date=previous_date,
        previous_avg_score=previous_avg_score,
        change=change,
        limit=limit,
        flagged=change is not None and round(-change, MEAN_DIGITS) > limit,
    )
