"""Days that are graded and wait to be stored together: what later days must know of them meanwhile."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta

from grader.records import DayReport
from grader.store.days import PreviousDay, Strata
from grader.store.grades import GradedDay


@dataclass(frozen=True, kw_only=True, slots=True)
class UnwrittenDay:
    graded: GradedDay
    report: DayReport  # as it will stand, with or without a new revision
    strata: Strata


@dataclass(kw_only=True, slots=True)
class Unwritten:
    """Graded days in order. A killed run loses them, and the next one grades them again without a judge call."""

    days: list[UnwrittenDay] = field(default_factory=list)
    since: float = field(default_factory=time.monotonic)

    @property
    def num_grades(self) -> int:
        return sum(len(waiting.graded.grades) for waiting in self.days)

    def previous(self, day: date, stored: PreviousDay | None) -> PreviousDay | None:
        """The newest day before `day` that has traces, of the stored ones and of these."""
        previous = stored
        for waiting in self.days:
            report = waiting.report
            if report.date >= day or (previous is not None and report.date < previous.date):
                continue
            if report.avg_score is not None:
                previous = PreviousDay(date=report.date, avg_score=report.avg_score)
        return previous

    def earlier(self, day: date, stored: Mapping[date, Strata], *, days: int) -> Sequence[Strata]:
        """The strata of the `days` days before `day`, oldest first, these in place of what is stored of the same."""
        known = dict(stored)
        for waiting in self.days:
            if timedelta(0) < day - waiting.report.date <= timedelta(days=days):
                known[waiting.report.date] = waiting.strata
        return [known[of_day] for of_day in sorted(known)]
