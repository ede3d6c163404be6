"""The edge of every command: settings in, and errors out as one sentence with an exit code (DESIGN.md section 9)."""

from __future__ import annotations

import tempfile
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Annotated

import typer

from grader.errors import GradebookError, UsageError
from grader.settings import Settings, load_settings
from jobs.schedule import cron_trigger

ConfigOption = Annotated[
    Path | None,
    typer.Option("--config", "-c", help="The settings file. Default: $GRADEBOOK_CONFIG, else gradebook.toml."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]

LOG_FILE = "gradebook-errors.log"


class UnexpectedError(GradebookError):
    """A defect of Gradebook itself; the message names the file with the details."""


@contextmanager
def workspace(config: Path | None) -> Iterator[Settings]:
    """The checked settings. What goes wrong inside in an unforeseen way is logged beside the store.

    Raises SettingsError, UnexpectedError.
    """
    settings = load_settings(config)
    cron_trigger(settings)
    with unexpected_errors_logged(settings.resolve(settings.store.path).parent):
        yield settings


@contextmanager
def unexpected_errors_logged(folder: Path) -> Iterator[None]:
    """Turns an error that nobody foresaw into an UnexpectedError, its traceback appended to a log in `folder`."""
    try:
        yield
    except (GradebookError, typer.TyperException, typer.Exit, typer.Abort):
        raise
    except Exception as error:
        path = _log(folder, error)
        raise UnexpectedError(
            f"this is a defect in Gradebook ({type(error).__name__}: {str(error)[:200]}): the details are in {path}"
        ) from error


def _log(folder: Path, error: Exception) -> Path:
    text = f"{datetime.now(UTC).isoformat()}\n{''.join(traceback.format_exception(error))}\n"
    for candidate in (folder, Path(tempfile.gettempdir())):
        try:
            candidate.mkdir(parents=True, exist_ok=True)
            with (candidate / LOG_FILE).open("a", encoding="utf-8") as log:
                log.write(text)
        except OSError:
            continue  # the disk may be what went wrong
        return candidate / LOG_FILE
    return folder / LOG_FILE


def parsed_day(option: str, text: str | None) -> date | None:
    """The date that an argument names; None for None. Raises UsageError."""
    if text is None:
        return None
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise UsageError(f"{option} is {text!r}: expected a date such as 2026-01-31") from None
