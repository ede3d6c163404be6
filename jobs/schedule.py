"""The scheduler: cron in the configured zone, one run at a time, a missed run made up for once.

APScheduler decides when; what keeps a date from being graded twice is the store (`runs.scheduled_for` is unique, and
the run lock), so that two schedulers, a clock that shows an hour twice and a restart are all harmless.
"""

from __future__ import annotations

import re
import signal
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from types import FrameType
from zoneinfo import ZoneInfo

from apscheduler.events import EVENT_JOB_SUBMITTED, JobSubmissionEvent
from apscheduler.executors.debug import DebugExecutor
from apscheduler.schedulers.blocking import BlockingScheduler
from apscheduler.triggers.cron import CronTrigger

from grader.errors import BusyError, GradebookError, SettingsError
from grader.settings import Settings
from grader.store.connect import Store
from grader.store.schedule import last_scheduled_for

ScheduledJob = Callable[[date], None]  # gets the date it was scheduled for, in the configured zone

RETRY_SECONDS = 60.0  # while another run is active
WEEKDAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat", "sun")  # cron's 0 to 7; APScheduler's 0 is Monday


def cron_trigger(settings: Settings) -> CronTrigger:
    """The fire times of `schedule.cron`. Raises SettingsError for no cron line, one that comes twice a day, never."""
    cron = settings.schedule.cron
    fields = cron.split()
    expected = f"schedule.cron is {cron!r}: expected minute, hour, day, month and weekday, such as '0 2 * * *'"
    if len(fields) != 5:
        raise SettingsError(f"{expected}, found {len(fields)} field(s)")
    try:
        weekdays = _named_weekdays(fields[4])
        trigger = CronTrigger.from_crontab(" ".join([*fields[:4], weekdays]), timezone=ZoneInfo(settings.day.timezone))
    except ValueError as error:
        raise SettingsError(f"{expected} ({error})") from None
    start = datetime(2024, 1, 1, tzinfo=UTC)
    first = trigger.get_next_fire_time(None, start)
    if first is None:
        raise SettingsError(f"{expected}; this one never comes")
    second = trigger.get_next_fire_time(first, first)
    if second is not None and second.date() == first.date():
        raise SettingsError(f"{expected}; this one comes more than once a day, and the job is a daily one")
    return trigger


def _named_weekdays(field: str) -> str:
    """Numbers by cron's count (0 and 7 are Sunday) as names, since APScheduler counts from Monday."""
    return ",".join(_named_weekday(part) for part in field.split(","))


def _named_weekday(part: str) -> str:
    found = re.fullmatch(r"(\d)(?:-(\d))?(/\d+)?", part)
    if found is None:
        return part  # a star or names already
    first, last = int(found[1]), int(found[2] or found[1])
    if not first <= last < len(WEEKDAYS):
        raise ValueError(f"the weekday {part!r} is not within 0 to 7")
    step = int(found[3][1:]) if found[3] else 1
    return ",".join(dict.fromkeys(WEEKDAYS[first : last + 1 : max(step, 1)]))


def due_date(trigger: CronTrigger, *, now: datetime, last: date | None, misfire: timedelta) -> date | None:
    """The date whose run is due: the newest fire time up to `now`, unless older than `misfire` or already done.

    `last` is the newest date done. None: nothing is due.
    """
    newest = None
    fire_time = trigger.get_next_fire_time(None, now - misfire)
    while fire_time is not None and fire_time <= now:
        newest = fire_time
        fire_time = trigger.get_next_fire_time(fire_time, fire_time)
    if newest is None or (last is not None and newest.date() <= last):
        return None
    due: date = newest.date()
    return due


def run_schedule(
    settings: Settings,
    job: ScheduledJob,
    *,
    note: Callable[[str], None],
    check: Callable[[], str | None] = lambda: None,
    check_seconds: float = 2.0,
) -> str | None:
    """Runs `job` at its times until Ctrl-C, SIGTERM, or until `check` returns a sentence, which is returned.

    The job runs in this thread, so that an interruption ends it cleanly. A failure of a run is noted, and the next run
    comes at its time.
    """
    return _Schedule(settings, job, note, check).run(check_seconds)


class _Schedule:
    def __init__(
        self, settings: Settings, job: ScheduledJob, note: Callable[[str], None], check: Callable[[], str | None]
    ) -> None:
        self._settings = settings
        self._store = Store.open(settings)
        self._job = job
        self._note = note
        self._check = check
        self._trigger = cron_trigger(settings)
        self._misfire = timedelta(hours=settings.schedule.misfire_hours)
        self._stopping = False
        self._ended_because: str | None = None
        self._scheduler = BlockingScheduler(
            timezone=ZoneInfo(settings.day.timezone), executors={"default": DebugExecutor()}
        )

    def run(self, check_seconds: float) -> str | None:
        before = {number: signal.signal(number, self._interrupt) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            self._plan(check_seconds)
            self._note(f"next run: {self._trigger.get_next_fire_time(None, datetime.now(UTC)):%Y-%m-%d %H:%M %Z}")
            self._scheduler.start()
        except KeyboardInterrupt:
            if self._scheduler.running:
                self._scheduler.shutdown(wait=False)
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
        return self._ended_because

    def _plan(self, check_seconds: float) -> None:
        # With jobs in this thread, "submitted" comes after a job is done, and is the first moment to shut down.
        self._scheduler.add_listener(self._after_job, EVENT_JOB_SUBMITTED)
        self._scheduler.add_job(
            self._fire, self._trigger, id="daily", coalesce=True, misfire_grace_time=int(self._misfire.total_seconds())
        )
        self._scheduler.add_job(self._look, "interval", seconds=check_seconds, id="look", coalesce=True)
        self._scheduler.add_job(self._make_up, id="missed", misfire_grace_time=None)

    def _interrupt(self, _number: int, _frame: FrameType | None) -> None:
        self._stopping = True  # APScheduler swallows what a job raises, interruptions too
        raise KeyboardInterrupt

    def _make_up(self) -> None:
        """The run missed while no scheduler ran; a workspace that was never scheduled has missed nothing."""
        self._fire(only_after_another=True)

    def _fire(self, *, only_after_another: bool = False) -> None:
        try:
            last = last_scheduled_for(self._store)
            if last is None and only_after_another:
                return
            due = due_date(self._trigger, now=datetime.now(UTC), last=last, misfire=self._misfire)
            if due is not None:
                self._job(due)
        except BusyError as error:
            self._note(f"{error}; trying again in {RETRY_SECONDS:g} seconds")
            again = datetime.now(UTC) + timedelta(seconds=RETRY_SECONDS)
            self._scheduler.add_job(
                self._fire,
                "date",
                kwargs={"only_after_another": only_after_another},
                run_date=again,
                id="again",
                replace_existing=True,
                misfire_grace_time=None,
            )
        except GradebookError as error:
            self._note(f"the scheduled run failed: {error}")
        except KeyboardInterrupt:
            return  # _after_job ends the scheduler

    def _look(self) -> None:
        self._ended_because = self._check()
        self._stopping = self._stopping or self._ended_because is not None

    def _after_job(self, _event: JobSubmissionEvent) -> None:
        if self._stopping and self._scheduler.running:
            self._scheduler.shutdown(wait=False)
