"""Words that users read in more than one place, and the pages for when there is nothing to show."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from grader.errors import (
    GradebookError,
    SettingsError,
    StoreBusyError,
    StoreDamagedError,
    StoreMissingError,
    StoreNewerError,
)
from grader.records import GradeState, OutcomeState, Status
from grader.store.read_traces import Order

PRODUCT = "Gradebook"

STATE_LABELS: Mapping[GradeState, str] = {
    "rules_only": "Rules only",
    "judged": "Judged",
    "judge_pending": "Waiting for the judge",
    "judge_failed": "Judge failed",
    "not_judgeable": "Not judgeable",
}
STATE_MEANINGS: Mapping[GradeState, str] = {
    "rules_only": "The rules alone decide: the trace was not chosen for the judge.",
    "judged": "The judge's score counts.",
    "judge_pending": "Chosen for the judge and not judged yet: no judge is set up, or the budget is spent.",
    "judge_failed": "The judge was asked and gave no usable reply. The next run asks again.",
    "not_judgeable": "The exporter recorded no texts, so there is nothing to judge.",
}
STATUS_LABELS: Mapping[Status, str] = {
    "completed": "Completed",
    "failed": "Failed",
    "interrupted": "Interrupted",
    "blocked": "Blocked",
    "running": "Running",
    "unknown": "Unknown",
}
OUTCOME_LABELS: Mapping[OutcomeState, str] = {
    "failed": "Failed",
    "flagged": "Flagged",
    "passed": "Passed",
    "not_applicable": "Not known",
}
RULE_LABELS: Mapping[str, str] = {
    "latency": "Latency",
    "turns": "Turns",
    "tool_errors": "Tool errors",
    "guardrails": "Guardrails",
    "response": "Answer length",
}
ORDER_LABELS: Mapping[Order, str] = {
    "worst": "Worst score first",
    "slowest": "Slowest first",
    "turns": "Most turns first",
    "tool_errors": "Most tool errors first",
    "costliest": "Most expensive first",
    "newest": "Newest first",
}
NOTE_MEANINGS: Mapping[str, str] = {
    "clock_skew": "An end lies before its start, so the duration is not known.",
    "no_start": "The trace has no time at all; it is filed under the day of its file.",
    "no_end": "Nothing in it has an end, so the duration is not known.",
    "no_root": "Every span has a parent that never arrived.",
    "no_spans": "The exporter announced the trace and sent none of its spans.",
    "no_content": "The exporter was told not to record texts.",
    "token_levels_disagree": "A parent's token count is not the sum of its parts.",
    "future_start": "It starts after the moment at which it was read.",
}
STAGE_LABELS: Mapping[str, str] = {
    "auth": "Key refused",
    "billing": "No credit",
    "timeout": "Timed out",
    "rate_limit": "Rate limit",
    "refusal": "Judge refused",
    "unparsed": "Reply unreadable",
    "server": "Server error",
}
NO_AGENT = "(no agent)"
NO_RELEASE = "(no release)"
NO_MODEL = "(no model)"

HELP_AVERAGE = (
    "Mean final score of all traces of the day. Final scores mix two scales: the judge's score where a trace was "
    "judged, else the rules' score."
)
HELP_QUALITY = (
    "Mean judge score of all traces, estimated from the judged ones by the probability with which each was chosen. "
    "One scale, so it can be compared over time."
)
HELP_CRITICAL = "Share of traces with a final score under the critical limit."
HELP_MEDIAN = "Half of the traces score lower. The worst tenth scores under the second figure."
HELP_NOT_JUDGED = (
    "Traces that the judge should have scored and has not. They count with their rule score in the average."
)


def rule_label(rule: str) -> str:
    """The rule's name for people; a custom rule keeps its own."""
    return RULE_LABELS.get(rule, rule.replace("_", " ").capitalize())


@dataclass(frozen=True, kw_only=True, slots=True)
class Step:
    """Something to do, and the command that does it."""

    what: str
    command: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Notice:
    """A page in the place of a screen that has nothing to show."""

    title: str
    body: str
    steps: tuple[Step, ...] = ()
    detail: str | None = None  # plain text, shown as it is
    can_retry: bool = False


_FIRST_STEPS = (
    Step(what="Look around with a generated month of traces", command="gradebook demo"),
    Step(what="Or write a settings file and name your trace files in it", command="gradebook init"),
    Step(what="Read and grade them", command="gradebook grade --all"),
)


def nothing_yet() -> Notice:
    """There is no store."""
    return Notice(
        title="No traces yet",
        body="This workspace has not read any traces. Three commands bring the first ones in; then reload this page.",
        steps=_FIRST_STEPS,
    )


def nothing_graded(num_traces: int) -> Notice:
    """There is a store, and no graded day in it."""
    if not num_traces:
        return Notice(
            title="The store is empty",
            body="A run has finished and found no traces. Check the paths under [[sources]] in gradebook.toml.",
            steps=(
                Step(what="See what was read, and what could not be", command="gradebook status"),
                Step(what="Read files by hand", command="gradebook ingest traces/"),
                Step(what="Grade what was read", command="gradebook grade --all"),
            ),
        )
    return Notice(
        title="Traces are here, grades are not",
        body=f"{num_traces:,} traces have been read and none has been graded yet.",
        steps=(Step(what="Grade them", command="gradebook grade --all"),),
    )


def of_error(error: GradebookError) -> Notice:
    """What a page says about an error in the place of its content."""
    if isinstance(error, StoreMissingError):
        return nothing_yet()
    if isinstance(error, StoreBusyError):
        return Notice(
            title="The store is busy",
            body="Another command is writing to it. Nothing is lost. This usually takes a few seconds.",
            steps=(Step(what="See what is running", command="gradebook status"),),
            can_retry=True,
        )
    if isinstance(error, StoreNewerError):
        return Notice(
            title="The store is newer than this app",
            body="A newer Gradebook wrote it. It is left untouched. Update Gradebook and start the app again.",
            steps=(Step(what="Update", command="pip install --upgrade gradebook"),),
            detail=str(error),
        )
    if isinstance(error, StoreDamagedError):
        return Notice(
            title="The store cannot be read",
            body="The file is damaged or is no Gradebook store. Restore a backup, or build it again from the traces.",
            steps=(Step(what="Build it again, after moving the broken file away", command="gradebook grade --all"),),
            detail=str(error),
        )
    if isinstance(error, SettingsError):
        return Notice(
            title="The settings cannot be used",
            body="Correct the settings file and reload this page.",
            detail=str(error),
            can_retry=True,
        )
    return Notice(title="This page cannot be shown", body="The reason is below.", detail=str(error), can_retry=True)


def no_match(num_filters: int) -> str:
    """Why a list is empty, and what to do."""
    if num_filters:
        return "No trace matches these filters. Remove one, or choose more days."
    return "There are no traces on these days. Choose other days."
