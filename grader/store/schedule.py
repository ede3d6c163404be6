"""What the scheduled job asks the store: what was done for which date, and which days a run reported anew."""

from __future__ import annotations

from datetime import date

from grader.errors import StoreMissingError
from grader.store.connect import Store


def last_scheduled_for(store: Store) -> date | None:
    """The newest date whose scheduled run was done or is under way; None: there is none, or no store yet."""
    try:
        with store.reading() as connection:
            rows = connection.execute("SELECT max(scheduled_for) FROM runs").fetchall()
    except StoreMissingError:
        return None
    newest: date | None = rows[0][0]
    return newest


def days_reported_by(store: Store, run_id: str) -> tuple[date, ...]:
    """The days that got a new report revision in this run, in order."""
    with store.reading() as connection:
        rows = connection.execute(
            "SELECT DISTINCT date FROM day_reports WHERE run_id = ? ORDER BY date", [run_id]
        ).fetchall()
    return tuple(day for (day,) in rows)
