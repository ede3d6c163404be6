"""`gradebook demo`: a month of generated traces, graded, with the app open on it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from grader.settings import SETTINGS_FILE
from jobs.cli_serve import HeadlessOption, PortOption
from jobs.console import print_json, print_note, print_result, progress_shown
from jobs.serve import DEFAULT_PORT, HOST, run_app
from jobs.tables import grade_text
from jobs.workspace import JsonOption, workspace


def demo(
    folder: Annotated[Path, typer.Argument(help="Where the workspace is made.")] = Path("demo"),
    dashboard: Annotated[bool, typer.Option("--dashboard/--no-dashboard", help="Open the app afterwards.")] = True,
    port: PortOption = DEFAULT_PORT,
    headless: HeadlessOption = False,
    as_json: JsonOption = False,
) -> int:
    """Make a workspace with 30 days of generated traces, grade them with the offline judge, open the app."""
    from grader.pipeline.run import DaySelection, run_grade
    from jobs.cli_grade import grade_object
    from jobs.demo import make_workspace

    print_note(f"writing 30 days of generated traces to {folder}")
    plan = make_workspace(folder)
    config = folder / SETTINGS_FILE
    with workspace(config) as settings:
        with progress_shown(as_json=as_json) as progress:
            run = run_grade(settings, selection=DaySelection(everything=True), progress=progress)
        if as_json:
            print_json(grade_object(run))
        else:
            print_result(f"{grade_text(run)}\n{plan.text()}")
        if not dashboard:
            print_note(f"to look at it: gradebook dashboard --config {config}")
            return 0
        print_note(f"the app is at http://{HOST}:{port} (Ctrl-C ends it)")
        return run_app(config, port=port, headless=headless)
