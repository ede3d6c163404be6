"""What the commands show: results on standard output, everything else (progress, warnings) on standard error."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import orjson
from rich.console import Console
from rich.filesize import decimal
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeElapsedColumn,
)
from rich.text import Text

if TYPE_CHECKING:
    from grader.pipeline.ingest import ProgressListener

BYTES_STAGE = "reading"  # counts bytes; every other stage counts traces or days
SECONDS_BETWEEN_LINES = 5.0


def print_result(text: str) -> None:
    """A result, as text. A reader that has seen enough (`| head`) is no failure."""
    try:
        sys.stdout.write(text if text.endswith("\n") else text + "\n")
        sys.stdout.flush()
    except BrokenPipeError:
        # What is still buffered goes nowhere; Python would complain about it once more at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def print_json(value: object) -> None:
    """A result, as one line of JSON: dataclasses as objects, dates as ISO text."""
    print_result(orjson.dumps(value).decode())


def print_note(sentence: str) -> None:
    """A sentence for the person, beside the result."""
    sys.stderr.write(f"{sentence}\n")
    sys.stderr.flush()


@contextmanager
def progress_shown(*, as_json: bool = False) -> Iterator[ProgressListener]:
    """A listener that draws bars on a terminal, writes plain lines elsewhere, and is silent beside piped JSON."""
    if sys.stderr.isatty():
        with Progress(
            TextColumn("{task.description:>9}"),
            BarColumn(),
            _AmountColumn(),
            TimeElapsedColumn(),
            console=Console(stderr=True),
            transient=True,
        ) as bars:
            yield _Bars(bars)
    elif as_json:
        yield _quiet
    else:
        yield _Lines()


def _quiet(stage: str, done: int, total: int | None) -> None:
    """Shows nothing."""


class _AmountColumn(ProgressColumn):
    """Megabytes for files, plain numbers for all else."""

    def __init__(self) -> None:
        super().__init__()
        self._bytes = DownloadColumn()
        self._numbers = MofNCompleteColumn()

    def render(self, task: Task) -> Text:
        return (self._bytes if task.description == BYTES_STAGE else self._numbers).render(task)


class _Bars:
    """One bar a stage."""

    def __init__(self, bars: Progress) -> None:
        self._bars = bars

    def __call__(self, stage: str, done: int, total: int | None) -> None:
        known = {task.description: task.id for task in self._bars.tasks}
        task_id = known[stage] if stage in known else self._bars.add_task(stage, total=total)
        self._bars.update(task_id, completed=done, total=total)


class _Lines:
    """A line when a stage is first heard of, and one now and then."""

    def __init__(self) -> None:
        self._stages: set[str] = set()
        self._next_at = 0.0

    def __call__(self, stage: str, done: int, total: int | None) -> None:
        now = time.monotonic()
        if stage in self._stages and now < self._next_at:
            return
        self._stages.add(stage)
        self._next_at = now + SECONDS_BETWEEN_LINES
        print_note(f"{stage}: {_amount(stage, done)}" + ("" if total is None else f" of {_amount(stage, total)}"))


def _amount(stage: str, number: int) -> str:
    return decimal(number) if stage == BYTES_STAGE else f"{number:,}"
