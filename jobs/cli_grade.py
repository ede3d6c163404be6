"""The commands that work on the store: ingest, grade, report, status, export."""

from __future__ import annotations

import glob
from dataclasses import asdict
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, get_args

import typer

from grader.errors import UsageError
from grader.settings import SourceFormat, SourceSettings
from grader.store.connect import Store
from grader.store.export import ExportFormat, ExportWhat, export_rows
from jobs.console import print_json, print_note, print_result, progress_shown
from jobs.tables import grade_text, ingest_text, plan_text, status_text
from jobs.workspace import ConfigOption, JsonOption, parsed_day, workspace

if TYPE_CHECKING:
    from grader.pipeline.run import DaySelection, GradeRun

ReportFormat = Literal["md", "html", "json"]
INGEST_KEYS = ("read", "new", "updated", "duplicate", "quarantined")


def ingest(
    paths: Annotated[list[str], typer.Argument(help="Trace files, folders or globs, relative to the current folder.")],
    format: Annotated[SourceFormat, typer.Option(help="What the files hold.")] = "auto",  # noqa: A002
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> int:
    """Read trace files into the store."""
    from grader.pipeline.run import run_ingest

    sources = [SourceSettings(path=_absolute(path), format=format) for path in paths]
    with workspace(config) as settings:
        with progress_shown(as_json=as_json) as progress:
            run = run_ingest(settings, sources=sources, progress=progress)
        if as_json:
            print_json(
                {
                    "run_id": run.run_id,
                    "ingest": _ingest_counts(run.counts),
                    "sources": [asdict(s) for s in run.sources],
                }
            )
        else:
            print_result(ingest_text(run))
    return 1 if run.counts.quarantined else 0


def grade(
    day: Annotated[str | None, typer.Option(help="Only this day (YYYY-MM-DD).")] = None,
    first: Annotated[str | None, typer.Option("--from", help="From this day on.")] = None,
    last: Annotated[str | None, typer.Option("--to", help="Up to this day.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="Every day of the store.")] = False,
    dry_run: Annotated[bool, typer.Option(help="Only say what the judge would be asked, and the cost.")] = False,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> int:
    """Read the configured sources, grade, report, alert. Without a day: every day that changed."""
    from grader.judge import why_no_judge
    from grader.pipeline.run import plan, run_grade
    from jobs.daily import notify_of

    selection = _selection(day, first, last, everything)
    with workspace(config) as settings:
        with progress_shown(as_json=as_json) as progress:
            if dry_run:
                days = plan(settings, selection=selection, progress=progress)
            else:
                run = run_grade(settings, selection=selection, progress=progress)
        if dry_run:
            reason = why_no_judge(settings.judge, settings.judge_api_key)
            if reason is not None:
                print_note(f"{reason} Until there is one these traces wait.")
            if as_json:
                print_json({"days": days})
            else:
                print_result(plan_text(days))
            return 0
        notify_of(settings, run, note=print_note)
        if as_json:
            print_json(grade_object(run))
        else:
            print_result(grade_text(run))
        return 1 if run.failures else 0


def report(
    day: Annotated[str, typer.Argument(help="A graded day (YYYY-MM-DD).")],
    format: Annotated[ReportFormat, typer.Option(help="Markdown, a self-contained HTML page, or JSON.")] = "md",  # noqa: A002
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Print one day's report."""
    from grader.store.days import known_days, latest_report
    from grader.store.read_days import report_from_json
    from jobs.report import html, markdown

    wanted = parsed_day("DAY", day)
    assert wanted is not None
    with workspace(config) as settings:
        with Store.open(settings).reading() as connection:
            found = latest_report(connection, wanted)
            days = known_days(connection) if found is None else ()
        if found is None:
            raise UsageError(f"{wanted} has no report{_days_known(days)}: run 'gradebook grade --day {wanted}'")
        text = found[1]
        if as_json or format == "json":
            print_result(text)
        else:
            print_result(markdown(report_from_json(text)) if format == "md" else html(report_from_json(text)))


def status(config: ConfigOption = None, as_json: JsonOption = False) -> int:
    """Show what is there, what waits and what failed. Ends with 1 when a sum does not add up."""
    from grader.status import read_status

    with workspace(config) as settings:
        found = read_status(settings)
        if as_json:
            print_json(found)
        else:
            print_result(status_text(found))
    return 1 if found.broken_sums else 0


def export(
    what: Annotated[ExportWhat, typer.Argument(help="Which rows.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The file to write.")],
    format: Annotated[  # noqa: A002
        ExportFormat | None, typer.Option(help="Default: as the file's name ends (.csv, .jsonl, .parquet).")
    ] = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write rows to a CSV, JSON Lines or Parquet file."""
    chosen = format or _format_of(output)
    with workspace(config) as settings:
        try:
            count = export_rows(Store.open(settings), what, format=chosen, output=output)
        except OSError as error:
            raise UsageError(
                f"{str(output)!r} cannot be written ({error.strerror}): name a file in a folder of yours"
            ) from None
        if as_json:
            print_json({"what": what, "format": chosen, "output": str(output), "rows": count})
        else:
            print_result(f"{count:,} rows written to {output}")


def grade_object(run: GradeRun) -> dict[str, object]:
    """A grading run as DESIGN.md section 9 has it; `message` and `judging` tell more where something failed."""
    return {
        "run_id": run.run_id,
        "days": run.days,
        "ingest": _ingest_counts(run.ingest),
        "judging": run.judging,
        "message": run.message,
    }


def _ingest_counts(counts: object) -> dict[str, int]:
    return {key: getattr(counts, key) for key in INGEST_KEYS}


def _absolute(path: str) -> str:
    """An argument as a source: relative to the current folder, not to the settings file's; a file's name is no glob."""
    absolute = Path.cwd() / Path(path).expanduser()
    return glob.escape(str(absolute)) if absolute.exists() else str(absolute)


def _selection(day: str | None, first: str | None, last: str | None, everything: bool) -> DaySelection:
    from grader.pipeline.run import DaySelection

    if sum((day is not None, first is not None or last is not None, everything)) > 1:
        raise UsageError("--day, --from/--to and --all exclude each other: give one of them")
    if day is not None:
        first = last = day
    option = "--day" if day is not None else "--from"
    return DaySelection(first=parsed_day(option, first), last=parsed_day("--to", last), everything=everything)


def _days_known(days: tuple[date, ...]) -> str:
    return f" (the store has {days[0]} to {days[-1]})" if days else " (the store has no traces)"


def _format_of(output: Path) -> ExportFormat:
    suffix = output.suffix.removeprefix(".")
    for known in get_args(ExportFormat):
        if known == suffix:
            return known  # type: ignore[no-any-return]
    raise UsageError(f"{str(output)!r} does not end in .csv, .jsonl or .parquet: rename it, or add --format")
