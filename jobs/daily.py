"""The daily job: grade every day that changed, make sure yesterday has a report, tell somebody."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import date, timedelta

from grader.pipeline.ingest import ProgressListener, quiet
from grader.pipeline.run import DaySelection, GradeRun, run_grade
from grader.settings import Settings
from grader.store.connect import Store
from grader.store.days import latest_report
from grader.store.schedule import days_reported_by
from jobs.notify import notify


def run_daily(
    settings: Settings, scheduled_for: date, *, note: Callable[[str], None], progress: ProgressListener = quiet
) -> GradeRun:
    """Grades the days that changed since their last grading, `scheduled_for` being done only once.

    The day before it gets a report even when it brought no traces: a silent agent is news. Raises RunActiveError when
    that date is already done or another run is active, and what `run_grade` raises.
    """
    run = run_grade(settings, selection=DaySelection(), scheduled_for=scheduled_for, progress=progress)
    notify_of(settings, run, note=note)
    yesterday = scheduled_for - timedelta(days=1)
    if not _has_report(settings, yesterday):
        silent = run_grade(settings, selection=DaySelection(first=yesterday, last=yesterday), sources=())
        run = replace(run, days=(*run.days, *silent.days))
    return run


def notify_of(settings: Settings, run: GradeRun, *, note: Callable[[str], None]) -> None:
    """Runs the configured command once for each day that `run` reported anew and that has critical alerts."""
    command = settings.notify.command
    if command is None:
        return
    reported = days_reported_by(Store.open(settings), run.run_id)
    for report in run.days:
        if report.num_critical and report.date in reported:
            problem = notify(command, report, folder=settings.root)
            if problem is not None:
                note(problem)


def _has_report(settings: Settings, day: date) -> bool:
    with Store.open(settings).reading() as connection:
        return latest_report(connection, day) is not None
