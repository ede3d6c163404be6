from __future__ import annotations

from datetime import date

import pytest

from grader.stats.regression import day_to_day

YESTERDAY = date(2026, 11, 2)


@pytest.mark.parametrize(
    ("previous", "today", "flagged"),
    [
        pytest.param(0.9, 0.79, True, id="fell by more"),
        pytest.param(0.9, 0.85, False, id="fell by less"),
        pytest.param(0.8, 0.7, False, id="fell by exactly the limit, in floats a hair more"),
        pytest.param(0.9, 0.8, False, id="fell by exactly the limit, in floats a hair less"),
        pytest.param(0.8, 0.6999, True, id="a thousandth of a thousandth counts"),
        pytest.param(0.5, 0.9, False, id="rose"),
    ],
)
def test_a_fall_by_more_than_the_limit(previous: float, today: float, flagged: bool) -> None:
    found = day_to_day(today, previous_date=YESTERDAY, previous_avg_score=previous, limit=0.1)
    assert found.flagged is flagged
    assert found.change == pytest.approx(today - previous)
    assert (found.previous_date, found.previous_avg_score, found.limit) == (YESTERDAY, previous, 0.1)


@pytest.mark.parametrize(
    ("previous", "today"), [(None, 0.5), (0.5, None), (None, None)], ids=["first day", "no traces today", "neither"]
)
def test_without_both_means_there_is_no_change(previous: float | None, today: float | None) -> None:
    found = day_to_day(today, previous_date=None, previous_avg_score=previous, limit=0.1)
    assert (found.change, found.flagged) == (None, False)
