"""The commands that begin or keep running: init, schedule, dashboard, up."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Annotated

import typer

from grader.errors import UsageError
from grader.settings import SETTINGS_FILE, Settings
from jobs.console import print_note, print_result, progress_shown
from jobs.schedule import ScheduledJob, run_schedule
from jobs.serve import DEFAULT_PORT, HOST, run_app, start_app, stop_app
from jobs.settings_text import settings_template
from jobs.tables import grade_text
from jobs.workspace import ConfigOption, unexpected_errors_logged, workspace

PortOption = Annotated[int, typer.Option(help="Where the app listens on this machine.", min=1, max=65535)]
HeadlessOption = Annotated[bool, typer.Option("--headless", help="Do not open a browser.")]


def init(config: ConfigOption = None) -> None:
    """Write a gradebook.toml with every setting, its meaning and its default."""
    path = config or Path(SETTINGS_FILE)
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(settings_template())
    except FileExistsError:
        raise UsageError(f"{str(path)!r} exists already: edit it, or write another with --config") from None
    except OSError as error:
        raise UsageError(
            f"{str(path)!r} cannot be written ({error.strerror}): name a file in a folder of yours"
        ) from None
    print_result(f"{path} is written. Name your trace files in it under [[sources]], then run 'gradebook grade'.")


def schedule(config: ConfigOption = None) -> None:
    """Run the daily job at its times (schedule.cron in day.timezone), until Ctrl-C."""
    with workspace(config) as settings:
        run_schedule(settings, _daily(settings), note=print_note)


def dashboard(config: ConfigOption = None, port: PortOption = DEFAULT_PORT, headless: HeadlessOption = False) -> int:
    """Open the app on this workspace, until Ctrl-C."""
    with workspace(config):
        return run_app(config, port=port, headless=headless)


def up(config: ConfigOption = None, port: PortOption = DEFAULT_PORT, headless: HeadlessOption = False) -> int:
    """Run the app and the daily job together, until Ctrl-C."""
    with workspace(config) as settings:
        app = start_app(config, port=port, headless=headless)

        def app_ended() -> str | None:
            return None if app.poll() is None else f"the app ended by itself with code {app.returncode}"

        try:
            print_note(f"the app is at http://{HOST}:{port}")
            ended = run_schedule(settings, _daily(settings), note=print_note, check=app_ended)
        finally:
            stop_app(app)
    if ended is not None:
        print_note(ended)
        return 1
    return 0


def _daily(settings: Settings) -> ScheduledJob:
    from jobs.daily import run_daily

    def job(scheduled_for: date) -> None:
        print_note(f"the run of {scheduled_for} begins")
        folder = settings.resolve(settings.store.path).parent
        with progress_shown() as progress, unexpected_errors_logged(folder):
            run = run_daily(settings, scheduled_for, note=print_note, progress=progress)
        print_note(grade_text(run).rstrip())

    return job
