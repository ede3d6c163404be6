"""Telling somebody: the configured command gets a day's report. Its failure never stops the job."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path

from grader.records import DayReport
from grader.store.grades import report_json

TIMEOUT_SECONDS = 60.0


def notify(command: str, report: DayReport, *, folder: Path, timeout_seconds: float = TIMEOUT_SECONDS) -> str | None:
    """Runs `command` in `folder` with `report` as JSON on standard input; returns what went wrong, or None.

    The command is split like a shell would, but runs without one: write `sh -c '…'` for pipes.
    """
    try:
        arguments = shlex.split(command)
        ended = subprocess.run(
            arguments, input=report_json(report), text=True, capture_output=True, timeout=timeout_seconds, cwd=folder,
            check=False,
        )  # fmt: skip
    except (OSError, ValueError) as error:
        return f"notify.command {command!r} cannot be run ({error})"
    except subprocess.TimeoutExpired:
        return f"notify.command {command!r} was stopped after {timeout_seconds:g} seconds"
    if ended.returncode == 0:
        return None
    lines = ended.stderr.strip().splitlines()
    return f"notify.command {command!r} ended with code {ended.returncode}" + (f" ({lines[-1][:200]})" if lines else "")
