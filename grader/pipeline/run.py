"""A grading run: read → rules → choose → judge → finish → report, one day after the other, resumable at any point.

What is finished stays finished: traces, judgements, grades and reports are committed as they come, and a run that
finds them there does not do them again. Model calls happen while nobody holds the store's lock.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta

from grader.errors import UsageError
from grader.judge import JudgingSummary, make_judge, why_no_judge
from grader.judge.canary import FOOLED_ABOVE
from grader.pipeline.day import DayGrader, DayResult
from grader.pipeline.ingest import Ledger, ProgressListener, SourceCounts, ingest_files, quiet
from grader.pipeline.journal import recover_journals
from grader.pipeline.metrics import sync_metrics
from grader.pipeline.runs import Run, active_run, note_counts
from grader.pipeline.sources import SourceFile, source_files
from grader.records import DayReport, IngestCounts
from grader.settings import Settings, SourceSettings
from grader.store.connect import Store
from grader.store.days import all_reports, days_to_grade, known_days
from grader.store.payload import remove_orphans

MOST_DAYS = 3660  # of a range with two ends: each of its days gets a report, also one without traces


@dataclass(frozen=True, kw_only=True, slots=True)
class DaySelection:
    """Which days to grade. With neither dates nor `everything`: every day that changed since it was last graded."""

    first: date | None = None
    last: date | None = None
    everything: bool = False

    def __post_init__(self) -> None:
        if self.first and self.last and self.first > self.last:
            raise UsageError(f"--from {self.first} lies after --to {self.last}: give the earlier day first")


@dataclass(frozen=True, kw_only=True, slots=True)
class IngestRun:
    run_id: str
    counts: IngestCounts
    sources: tuple[SourceCounts, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class GradeRun:
    """What a grading run did. `message`: what a person should know (why judging stopped, what was quarantined)."""

    run_id: str
    days: tuple[DayReport, ...]  # as last reported, also those without a new revision
    ingest: IngestCounts
    judging: JudgingSummary | None  # None: no judge was available
    message: str | None
    failures: bool  # lines quarantined or judge calls failed: exit code 1


@dataclass(frozen=True, kw_only=True, slots=True)
class PlannedDay:
    """What grading a day would ask of the judge."""

    date: date
    num_traces: int
    num_to_judge: int  # calls: chosen traces that have no judgement yet
    cost_usd: float | None  # None: no price is set for the model


def run_ingest(
    settings: Settings, *, sources: Sequence[SourceSettings] | None = None, progress: ProgressListener = quiet
) -> IngestRun:
    """Reads `sources` (None: the configured ones) into the store.

    Raises SourceError before anything is written, RunActiveError, StoreError.
    """
    files = source_files(settings, settings.sources if sources is None else sources)
    store = Store.open(settings)
    with active_run(store, "ingest") as run:
        ledger = _ingest(store, settings, files, run, progress)
    return IngestRun(run_id=run.run_id, counts=ledger.counts, sources=tuple(ledger.by_path.values()))


def run_grade(
    settings: Settings,
    *,
    selection: DaySelection,
    sources: Sequence[SourceSettings] | None = None,
    scheduled_for: date | None = None,
    progress: ProgressListener = quiet,
) -> GradeRun:
    """Reads the sources, grades the selected days and reports them.

    A day whose report did not change gets no new revision. Raises SourceError, SettingsError (a bad custom rule),
    RunActiveError, StoreError; failures of single traces are counted instead.
    """
    files = source_files(settings, settings.sources if sources is None else sources)
    store = Store.open(settings)
    judge = make_judge(settings.judge, settings.judge_api_key)
    grader = DayGrader.create(settings, store=store, judge=judge, progress=progress)
    with active_run(store, "grade", scheduled_for=scheduled_for) as run:
        ledger = _ingest(store, settings, files, run, progress)
        days = _selected_days(store, settings, selection, judge_available=judge is not None)
        results = _grade_days(grader, days, run_id=run.run_id, progress=progress)
        _sync_metrics(store, settings)
        judging = _total([result.judging for result in results if result.judging is not None])
        run.canary_score = grader.canary_score
        run.message = _message(settings, ledger, judging, grader)
        run.failures = bool(ledger.counts.quarantined or (judging and judging.failed))
    return GradeRun(
        run_id=run.run_id,
        days=tuple(result.report for result in results),
        ingest=ledger.counts,
        judging=judging,
        message=run.message,
        failures=run.failures,
    )


def plan(settings: Settings, *, selection: DaySelection, progress: ProgressListener = quiet) -> tuple[PlannedDay, ...]:
    """Reads the sources and says what grading the selected days would ask of the judge. Asks and grades nothing."""
    run_ingest(settings, progress=progress)
    store = Store.open(settings)
    judge = make_judge(settings.judge, settings.judge_api_key)
    grader = DayGrader.create(settings, store=store, judge=judge, progress=progress)
    planned = []
    for day in _selected_days(store, settings, selection, judge_available=True):
        num_traces, num_to_judge, cost_usd = grader.plan_day(day)
        planned.append(PlannedDay(date=day, num_traces=num_traces, num_to_judge=num_to_judge, cost_usd=cost_usd))
    return tuple(planned)


def _ingest(
    store: Store, settings: Settings, files: Sequence[SourceFile], run: Run, progress: ProgressListener
) -> Ledger:
    recover_journals(store, run_id=run.run_id)
    with store.reading() as connection:
        remove_orphans(store, connection)
    ledger = ingest_files(store, files, day=settings.day, run_id=run.run_id, progress=progress)
    run.counts = ledger.counts
    run.failures = bool(ledger.counts.quarantined)
    note_counts(store, run)
    return ledger


def _selected_days(
    store: Store, settings: Settings, selection: DaySelection, *, judge_available: bool
) -> tuple[date, ...]:
    with store.reading() as connection:
        known = known_days(connection)
        if selection.everything:
            return known
        if selection.first is None and selection.last is None:
            return days_to_grade(connection, judge_available=judge_available, quiet_minutes=settings.day.quiet_minutes)
    first, last = selection.first, selection.last
    if first is None or last is None:  # one odd date must not make an open range centuries of empty days
        return tuple(day for day in known if (first or day) <= day <= (last or day))
    if (last - first).days >= MOST_DAYS:
        raise UsageError(f"--from {first} --to {last} are more than {MOST_DAYS} days: grade them in parts")
    return tuple(first + timedelta(days=offset) for offset in range((last - first).days + 1))


def _grade_days(grader: DayGrader, days: Sequence[date], *, run_id: str, progress: ProgressListener) -> list[DayResult]:
    """Grades `days` in order; after a day that changed also the next reported one, which compares itself with it."""
    waiting = sorted(days)
    results: list[DayResult] = []
    while waiting:
        progress("grading", len(results), len(results) + len(waiting))
        result = grader.grade_day(waiting.pop(0), run_id=run_id)
        results.append(result)
        if result.new_revision and result.following is not None and result.following not in waiting:
            waiting = sorted([*waiting, result.following])
    grader.finish(run_id=run_id)
    progress("grading", len(results), len(results))
    return results


def _sync_metrics(store: Store, settings: Settings) -> None:
    with store.reading() as connection:
        reports = all_reports(connection)
    sync_metrics(settings.resolve(settings.store.metrics_path), reports)


def _total(summaries: Sequence[JudgingSummary]) -> JudgingSummary | None:
    if not summaries:
        return None
    costs = [summary.cost_usd for summary in summaries if summary.cost_usd is not None]
    return replace(
        summaries[0],
        asked=sum(summary.asked for summary in summaries),
        judged=sum(summary.judged for summary in summaries),
        failed=sum(summary.failed for summary in summaries),
        not_asked=sum(summary.not_asked for summary in summaries),
        stopped_because=next((summary.stopped_because for summary in summaries if summary.stopped_because), None),
        cost_usd=sum(costs) if costs else None,
    )


def _message(settings: Settings, ledger: Ledger, judging: JudgingSummary | None, grader: DayGrader) -> str | None:
    sentences = []
    if ledger.counts.quarantined:
        sentences.append(f"{ledger.counts.quarantined} line(s) could not be read: see 'gradebook status'.")
    if judging is not None and judging.stopped_because:
        sentences.append(f"Judging stopped: {judging.stopped_because}.")
    if judging is not None and judging.failed:
        sentences.append(f"{judging.failed} judge call(s) failed and will be tried again by the next run.")
    reason = why_no_judge(settings.judge, settings.judge_api_key)
    if reason is not None and settings.judge.provider != "none":
        sentences.append(reason)
    if grader.canary_score is not None and grader.canary_score > FOOLED_ABOVE:
        sentences.append("The judge gave a high score to a bad answer that asked for one: do not trust its marks.")
    return " ".join(sentences) or None
