"""When the daily job runs: cron in a zone, days that change their clocks, missed runs, and the loop itself."""

from __future__ import annotations

import itertools
import os
import signal
import threading
import time
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from grader.errors import RunActiveError, SettingsError, StoreFullError
from grader.settings import DaySettings, ScheduleSettings, Settings
from grader.store.connect import Store
from jobs import schedule
from jobs.schedule import cron_trigger, due_date, run_schedule

ZURICH = ZoneInfo("Europe/Zurich")
DAY = timedelta(days=1)


def settings(cron: str, *, root: Path = Path(), timezone: str = "Europe/Zurich") -> Settings:
    return Settings(root=root, schedule=ScheduleSettings(cron=cron), day=DaySettings(timezone=timezone))


def fire_times(cron: str, start: datetime) -> Iterator[datetime]:
    trigger = cron_trigger(settings(cron))
    fire_time = trigger.get_next_fire_time(None, start)
    while fire_time is not None:
        yield fire_time
        fire_time = trigger.get_next_fire_time(fire_time, fire_time)


@pytest.mark.parametrize(
    ("weekdays", "names"),
    [
        pytest.param("1", ["Mon"], id="1 is Monday, as in cron"),
        pytest.param("0", ["Sun"], id="0 is Sunday"),
        pytest.param("7", ["Sun"], id="7 is Sunday too"),
        pytest.param("1-5", ["Mon", "Tue", "Wed", "Thu", "Fri"], id="range"),
        pytest.param("0-6/2", ["Tue", "Thu", "Sat", "Sun"], id="range over Sunday with steps"),
        pytest.param("6,0", ["Sat", "Sun"], id="list"),
        pytest.param("mon-tue", ["Mon", "Tue"], id="names"),
        pytest.param("*", ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"], id="star"),
    ],
)
def test_weekdays_count_as_in_cron(weekdays: str, names: list[str]) -> None:
    week = itertools.takewhile(
        lambda at: at < datetime(2026, 1, 12, tzinfo=ZURICH),
        fire_times(f"0 2 * * {weekdays}", datetime(2026, 1, 5, tzinfo=ZURICH)),
    )
    assert [f"{at:%a}" for at in week] == names


@pytest.mark.parametrize(
    ("cron", "words"),
    [
        pytest.param("0 2 * *", "found 4 field", id="too few fields"),
        pytest.param("0 25 * * *", "higher than the maximum value", id="no such hour"),
        pytest.param("0 2 * * 8", "not within 0 to 7", id="no such weekday"),
        pytest.param("@daily", "found 1 field", id="a nickname"),
        pytest.param("0 2,14 * * *", "more than once a day", id="twice a day"),
        pytest.param("*/5 2 * * 1", "more than once a day", id="every five minutes of an hour"),
        pytest.param("0 2 30 2 *", "never comes", id="30 February"),
    ],
)
def test_a_line_that_is_no_daily_cron_is_a_settings_error(cron: str, words: str) -> None:
    with pytest.raises(SettingsError, match=words) as caught:
        cron_trigger(settings(cron))
    assert repr(cron) in str(caught.value)


@pytest.mark.parametrize(
    ("now", "last", "due"),
    [
        pytest.param("2026-03-10 02:00", "2026-03-09", "2026-03-10", id="on time"),
        pytest.param("2026-03-10 01:59", "2026-03-09", None, id="not yet"),
        pytest.param("2026-03-10 02:00", "2026-03-10", None, id="already done"),
        pytest.param("2026-03-14 12:00", "2026-03-09", "2026-03-14", id="four missed: made up for once"),
        pytest.param("2026-03-10 12:00", None, "2026-03-10", id="the first one"),
        pytest.param("2026-10-25 02:30", "2026-10-24", "2026-10-25", id="an hour that comes twice, first"),
        pytest.param("2026-10-25 02:30 again", "2026-10-25", None, id="an hour that comes twice, second"),
        pytest.param("2026-03-29 03:30", "2026-03-28", "2026-03-29", id="an hour that does not come"),
    ],
)
def test_what_is_due(now: str, last: str | None, due: str | None) -> None:
    local = datetime.fromisoformat(now.removesuffix(" again")).replace(tzinfo=ZURICH, fold=int(now.endswith("again")))
    cron = "30 2 * * *" if "2:30" in now or "3:30" in now else "0 2 * * *"
    found = due_date(
        cron_trigger(settings(cron)),
        now=local.astimezone(UTC),
        last=date.fromisoformat(last) if last else None,
        misfire=DAY,
    )
    assert found == (date.fromisoformat(due) if due else None)


def test_a_run_missed_by_more_than_the_misfire_time_is_not_made_up_for() -> None:
    weekly = cron_trigger(settings("0 2 * * mon"))
    tuesday = datetime(2026, 3, 10, 12, tzinfo=ZURICH)
    assert due_date(weekly, now=tuesday, last=date(2026, 3, 2), misfire=timedelta(hours=24)) is None
    assert due_date(weekly, now=tuesday, last=date(2026, 3, 2), misfire=timedelta(hours=48)) == date(2026, 3, 9)


def done_before(root: Path, scheduled_for: date) -> None:
    with Store(path=root / "data/gradebook.duckdb").writing() as connection:
        connection.execute(
            "INSERT INTO runs (run_id, kind, state, started_at, scheduled_for) VALUES ('r', 'grade', 'done', now(), ?)",
            [scheduled_for],
        )


def loop(root: Path, job: schedule.ScheduledJob, *, seconds: float = 30.0) -> tuple[str | None, list[str]]:
    """Runs the scheduler until the job was called or the time is over."""
    notes: list[str] = []
    called = threading.Event()
    until = time.monotonic() + seconds

    def noting(scheduled_for: date) -> None:
        try:
            job(scheduled_for)
        finally:
            called.set()

    def check() -> str | None:
        return "over" if called.is_set() or time.monotonic() > until else None

    ended = run_schedule(settings("0 2 * * *", root=root), noting, note=notes.append, check=check, check_seconds=0.1)
    return ended, notes


def test_a_run_missed_while_no_scheduler_ran_is_made_up_for_once(tmp_path: Path) -> None:
    today = datetime.now(ZURICH).date()
    done_before(tmp_path, today - 10 * DAY)
    calls: list[date] = []
    ended, notes = loop(tmp_path, calls.append)
    assert ended == "over"
    assert len(calls) == 1
    assert today - DAY <= calls[0] <= today
    assert notes[0].startswith("next run: ")


def test_a_workspace_that_was_never_scheduled_has_missed_nothing(tmp_path: Path) -> None:
    calls: list[date] = []
    loop(tmp_path, calls.append, seconds=1.0)
    assert calls == []


def test_a_run_that_meets_another_one_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schedule, "RETRY_SECONDS", 0.2)
    done_before(tmp_path, date(2026, 1, 1))
    attempts: list[date] = []
    notes: list[str] = []

    def job(scheduled_for: date) -> None:
        attempts.append(scheduled_for)
        if len(attempts) == 1:
            raise RunActiveError("another run is active")

    run_schedule(
        settings("0 2 * * *", root=tmp_path),
        job,
        note=notes.append,
        check=lambda: "over" if len(attempts) == 2 else None,
        check_seconds=0.1,
    )
    assert len(attempts) == 2
    assert "another run is active; trying again in 0.2 seconds" in notes


def test_a_run_that_fails_is_noted_and_the_scheduler_lives_on(tmp_path: Path) -> None:
    done_before(tmp_path, date(2026, 1, 1))

    def job(scheduled_for: date) -> None:
        raise StoreFullError("the disk is full")

    ended, notes = loop(tmp_path, job)
    assert ended == "over"
    assert "the scheduled run failed: the disk is full" in notes


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["Ctrl-C", "SIGTERM"])
@pytest.mark.parametrize("busy", [False, True], ids=["while it waits", "while a run is under way"])
def test_a_signal_ends_the_scheduler(tmp_path: Path, number: signal.Signals, busy: bool) -> None:
    if busy:
        done_before(tmp_path, date(2026, 1, 1))
    interrupted: list[bool] = []

    def soon(note: str) -> None:
        if note.startswith("next run") != busy:
            threading.Timer(0.5, os.kill, (os.getpid(), number)).start()

    def job(scheduled_for: date) -> None:
        try:
            soon("a run begins")
            time.sleep(60)
        except KeyboardInterrupt:
            interrupted.append(True)
            raise

    before = signal.getsignal(signal.SIGINT)
    ended = run_schedule(settings("0 2 * * *", root=tmp_path), job, note=soon)
    assert ended is None
    assert interrupted == ([True] if busy else [])
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == (before, signal.SIG_DFL)
