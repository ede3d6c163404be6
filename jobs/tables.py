"""Reports of the commands as text for people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich import box
from rich.console import Console
from rich.table import Table

from grader.records import IngestCounts, StateCounts

if TYPE_CHECKING:
    from grader.pipeline.run import GradeRun, IngestRun, PlannedDay
    from grader.status import StatusReport

NOT_KNOWN = "–"
MIN_WIDTH = 120  # a pipe has no width: wide enough that no column is cut


def ingest_text(run: IngestRun) -> str:
    """What became of the lines of each file."""
    table = _table("file", "format", "lines", "new", "updated", "duplicate", "quarantined")
    for source in run.sources:
        counts = source.counts
        table.add_row(
            source.path,
            source.reader or "not recognised",
            *(f"{n:,}" for n in (counts.read, counts.new, counts.updated, counts.duplicate, counts.quarantined)),
        )
    return f"{_text(table)}{lines_sentence(run.counts)}\n"


def grade_text(run: GradeRun) -> str:
    """The graded days, one a row."""
    if not run.days:
        return f"{lines_sentence(run.ingest)}\nNo day changed since it was last graded.\n"
    table = _table(
        "day", "revision", "traces", "average", "median", "lowest", "critical", "judged", "waiting", "failed", ""
    )
    for day in run.days:
        counts = day.counts
        table.add_row(
            str(day.date),
            str(day.revision),
            f"{day.num_traces:,}",
            *(
                NOT_KNOWN if score is None else f"{score:.3f}"
                for score in (day.avg_score, day.median_score, day.min_score)
            ),
            *(f"{n:,}" for n in (day.num_critical, counts.judged, counts.judge_pending, counts.judge_failed)),
            "regression" if day.regression.flagged else "",
        )
    message = f"{run.message}\n" if run.message else ""
    return f"{_text(table)}{lines_sentence(run.ingest)}\n{message}"


def plan_text(days: Sequence[PlannedDay]) -> str:
    """What grading would ask of the judge."""
    table = _table("day", "traces", "to judge", "cost in USD")
    for day in days:
        cost = NOT_KNOWN if day.cost_usd is None else f"{day.cost_usd:.4f}"
        table.add_row(str(day.date), f"{day.num_traces:,}", f"{day.num_to_judge:,}", cost)
    costs = [day.cost_usd for day in days]
    known = [cost for cost in costs if cost is not None]
    total = f"about {sum(known):.4f} USD" if known and len(known) == len(costs) else "cost not known (no price is set)"
    calls = _number(sum(day.num_to_judge for day in days), "judge call")
    return f"{_text(table)}{calls}, {total}. Nothing was graded.\n"


def status_text(status: StatusReport) -> str:
    """The state of a workspace, the sums of DESIGN.md section 6 included."""
    graded = status.graded
    span = f", {status.first_day} to {status.last_day}" if status.first_day else ""
    lines = [
        f"Store     {status.store_path}",
        f"Traces    {status.num_traces:,}{span}",
        f"Graded    {_total(graded):,}: {_states(graded)}",
        f"Ungraded  {status.ungraded:,}",
        f"To grade  {_days(status)}",
        f"Critical  {status.critical:,}",
        f"Failed    {_failures(status)}",
        f"Unread    {_number(status.quarantined_lines, 'line')} in quarantine",
        *(
            f"          {found.lines:,} × {found.reason} (first: {found.example})"
            for found in status.quarantine_reasons
        ),
        "Sums      " + ("hold" if not status.broken_sums else "DO NOT HOLD"),
        *(f"          {sentence}" for sentence in status.broken_sums),
    ]
    if not status.last_runs:
        return "\n".join([*lines, ""])
    table = _table("last runs", "what", "state", "lines", "new", "quarantined", "note")
    for run in status.last_runs:
        counts = run.counts
        table.add_row(
            f"{run.started_at:%Y-%m-%d %H:%M} UTC",
            run.kind,
            run.state.replace("_", " "),
            *(f"{n:,}" for n in (counts.read, counts.new, counts.quarantined)),
            run.message or "",
        )
    return "\n".join([*lines, "", _text(table)])


def lines_sentence(counts: IngestCounts) -> str:
    """read = new + updated + duplicate + quarantined, as a sentence."""
    return (
        f"{_number(counts.read, 'line')} read: {counts.new:,} new, {counts.updated:,} updated, "
        f"{counts.duplicate:,} duplicate, {counts.quarantined:,} quarantined."
    )


def _number(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def _states(graded: StateCounts) -> str:
    return (
        f"{graded.rules_only:,} by rules, {graded.judged:,} judged, {graded.judge_pending:,} waiting for the judge, "
        f"{graded.judge_failed:,} judge failed, {graded.not_judgeable:,} not judgeable"
    )


def _total(graded: StateCounts) -> int:
    return graded.rules_only + graded.judged + graded.judge_pending + graded.judge_failed + graded.not_judgeable


def _days(status: StatusReport) -> str:
    days = status.days_to_grade
    if not days:
        return "nothing"
    return f"{_number(len(days), 'day')}, {days[0]} to {days[-1]}: run 'gradebook grade'"


def _failures(status: StatusReport) -> str:
    parts = [f"{count:,} {stage}" for stage, count in status.failures_by_stage.items()]
    return (", ".join(parts) + " judge calls, tried again by the next run") if parts else "no judge call waits"


def _table(first: str, *others: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column(first, overflow="fold")
    text_columns = {"format", "what", "state", "note", ""}
    for name in others:
        table.add_column(name, justify="left" if name in text_columns else "right", overflow="fold")
    return table


def _text(table: Table) -> str:
    console = Console(markup=False, highlight=False, color_system=None)
    console.width = max(console.width, MIN_WIDTH)
    with console.capture() as captured:
        console.print(table)
    return "".join(f"{line.rstrip()}\n" for line in captured.get().splitlines())
