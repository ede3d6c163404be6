"""The data screen: what was read, what became of it, what waits and what failed. All sums add up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import tzinfo

from dashboard import text
from dashboard.views import numbers
from grader.records import GRADE_STATES
from grader.store.read_runs import FailureCount, QuarantineRow, RunRow, SourceFormat, StoreSums

RUN_LABELS = {
    "running": "Running",
    "done": "Done",
    "done_with_failures": "Done, with failures",
    "failed": "Failed",
    "killed": "Killed",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Figure:
    label: str
    value: str
    note: str


def figures(sums: StoreSums) -> tuple[Figure, ...]:
    """What the store holds, each figure with what it is part of."""
    counts = asdict(sums.counts)
    graded = sum(counts.values())
    return (
        Figure(
            label="Traces",
            value=numbers.count(sums.num_traces),
            note=f"{graded:,} graded, {sums.num_not_graded:,} not yet",
        ),
        Figure(label="Judged", value=numbers.count(counts["judged"]), note=f"of {graded:,} graded"),
        Figure(
            label="Waiting for the judge", value=numbers.count(counts["judge_pending"]), note=f"of {graded:,} graded"
        ),
        Figure(label="Judge failed", value=numbers.count(counts["judge_failed"]), note="asked again by the next run"),
        Figure(label="Not judgeable", value=numbers.count(counts["not_judgeable"]), note="no texts were recorded"),
        Figure(label="Lines in quarantine", value=numbers.count(sums.num_quarantined), note="could not be read"),
    )


def state_table(sums: StoreSums) -> dict[str, list[object]]:
    """Traces by grade state, with what each state means."""
    counts = asdict(sums.counts)
    return {
        "State": [text.STATE_LABELS[state] for state in GRADE_STATES] + ["Not graded yet", "All traces"],
        "Traces": [counts[state] for state in GRADE_STATES] + [sums.num_not_graded, sums.num_traces],
        "Meaning": [text.STATE_MEANINGS[state] for state in GRADE_STATES] + ["The next run grades them.", ""],
    }


def run_table(runs: Sequence[RunRow], zone: tzinfo) -> dict[str, list[object]]:
    """The runs as columns; read = new + updated + duplicate + quarantined."""
    return {
        "Started": [numbers.moment(run.started_at, zone) for run in runs],
        "Run": [run.kind for run in runs],
        "State": [RUN_LABELS[run.state] for run in runs],
        "Took": [
            numbers.duration((run.ended_at - run.started_at).total_seconds() * 1000)
            if run.ended_at
            else numbers.UNKNOWN
            for run in runs
        ],
        "Lines read": [run.lines_read for run in runs],
        "New": [run.lines_new for run in runs],
        "Updated": [run.lines_updated for run in runs],
        "Duplicate": [run.lines_duplicate for run in runs],
        "Quarantined": [run.lines_quarantined for run in runs],
        "Message": [run.message or "" for run in runs],
    }


def format_table(formats: Sequence[SourceFormat]) -> dict[str, list[object]]:
    """Traces by the reader that brought them."""
    return {
        "Format": [found.reader for found in formats],
        "Files": [found.num_files for found in formats],
        "Traces": [found.num_traces for found in formats],
        "Days": [numbers.day_range(found.first_day, found.last_day) for found in formats],
    }


def failure_table(failures: Sequence[FailureCount], zone: tzinfo) -> dict[str, list[object]]:
    """Judge failures by where they ended."""
    return {
        "Stage": [text.STAGE_LABELS[found.stage] for found in failures],
        "Traces": [found.num_traces for found in failures],
        "Newest message": [numbers.shortened(found.newest_message, 300) for found in failures],
        "Newest at": [numbers.moment(found.newest_at, zone) for found in failures],
    }


def quarantine_table(lines: Sequence[QuarantineRow], zone: tzinfo) -> dict[str, list[object]]:
    """Lines that could not be read."""
    return {
        "File": [line.path for line in lines],
        "Line": [line.line for line in lines],
        "Reason": [line.reason for line in lines],
        "Start of the text": [numbers.shortened(line.excerpt, 200) for line in lines],
        "Format": [line.reader for line in lines],
        "First seen": [numbers.moment(line.first_seen_at, zone) for line in lines],
    }
