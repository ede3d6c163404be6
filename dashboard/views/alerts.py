"""Critical traces as a table and as counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from dashboard import text
from dashboard.views import numbers
from grader.store.read_alerts import AlertList, AlertRow, DayAlerts, ReasonCount

ONLY_THE_JUDGE = "Judge's score alone"
SEVERAL_REASONS = "A trace counts once for each rule that it failed."


@dataclass(frozen=True, kw_only=True, slots=True)
class Count:
    """One bar."""

    label: str
    number: int


def reason_counts(reasons: Sequence[ReasonCount]) -> tuple[Count, ...]:
    """How many alerts each rule has a part in, most first."""
    return tuple(
        Count(label=text.rule_label(reason.rule) if reason.rule else ONLY_THE_JUDGE, number=reason.num_alerts)
        for reason in reasons
    )


def day_counts(found: Sequence[DayAlerts], first: date, last: date) -> tuple[tuple[date, int], ...]:
    """Alerts on every day of the range; a day without any is 0 here, since none were raised."""
    by_date = {day.date: day.num_alerts for day in found}
    days = (first + timedelta(days=number) for number in range((last - first).days + 1))
    return tuple((day, by_date.get(day, 0)) for day in days)


def table(rows: Sequence[AlertRow]) -> dict[str, list[object]]:
    """One row an alert, newest day first, worst first within a day."""
    return {
        "Day": [row.day for row in rows],
        "Score": [row.score for row in rows],
        "Reasons": [", ".join(row.alerts) or ONLY_THE_JUDGE for row in rows],
        "Question": [None if row.user_preview is None else numbers.shortened(row.user_preview, 160) for row in rows],
        "Agent": [row.agent for row in rows],
        "Release": [row.release for row in rows],
        "Grade": [text.STATE_LABELS[row.state] for row in rows],
        "Trace id": [row.trace_id for row in rows],
    }


def summary(found: AlertList, num_days: int) -> str:
    """How many alerts there are, and how many of them the table shows."""
    total = numbers.counted(found.num_matching, "critical trace")
    shown = "" if len(found.rows) == found.num_matching else f", the newest {len(found.rows):,} below"
    return f"{total} in {numbers.counted(num_days, 'day')}{shown}"
