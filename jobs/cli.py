"""The command line: `gradebook COMMAND` (DESIGN.md section 9)."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import typer

from grader.errors import GradebookError
from jobs.cli_demo import demo
from jobs.cli_grade import export, grade, ingest, report, status
from jobs.cli_serve import dashboard, init, schedule, up
from jobs.console import print_note, print_result
from jobs.workspace import unexpected_errors_logged

INTERRUPTED = 130

app = typer.Typer(
    name="gradebook",
    no_args_is_help=True,
    add_completion=False,
)


def _show_version(wanted: bool) -> None:
    if wanted:
        print_result(f"gradebook {version('gradebook')}")
        raise typer.Exit


@app.callback()
def _options(
    _version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Grades every run of an AI agent, each day, and shows how far the grades can be trusted."""


for command in (demo, init, ingest, grade, report, status, export, schedule, dashboard, up):
    app.command()(command)


def main() -> None:
    """The `gradebook` script."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:
    """Carries out a command line and returns its exit code; whatever goes wrong is one sentence on standard error."""
    try:
        with unexpected_errors_logged(Path(tempfile.gettempdir())):
            code = app(list(arguments), prog_name="gradebook", standalone_mode=False)
    except GradebookError as error:
        print_note(f"gradebook: {error}")
        return error.exit_code
    except typer.TyperException as error:
        if error.format_message():  # empty where the help was shown instead
            # Typer's own checks of an argument come from Pydantic, which begins with its error's kind.
            print_note(f"gradebook: {error.format_message().replace('Value error, ', '')}")
        return error.exit_code
    except (typer.Abort, KeyboardInterrupt):
        print_note("gradebook: interrupted; what was finished is kept, and the next run goes on from there")
        return INTERRUPTED
    return code if isinstance(code, int) else 0
