"""One day graded: its rules, the traces chosen for the judge, the judge's replies, grades and report."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import date

import pyarrow as pa

from grader.judge import CANARY, Budget, Judge, JudgeInput, JudgingSummary, estimate, judge_all
from grader.pipeline.grading import candidates, combine, without_judgement
from grader.pipeline.ingest import ProgressListener, quiet
from grader.pipeline.journal import journal
from grader.pipeline.report import day_report, day_strata
from grader.pipeline.unwritten import Unwritten, UnwrittenDay
from grader.readers.columns import tool_calls_from_json
from grader.records import DayReport, JudgeFailure, Judgement
from grader.rules import CompiledRules, compile_rules, grade_batch
from grader.sampling import choose
from grader.settings import JudgeSettings, Settings
from grader.store.connect import Store
from grader.store.days import StoredDay, Strata, read_day
from grader.store.grades import GRADES_PER_TRANSACTION, GradedDay, report_json, write_days
from grader.store.judging import known_results
from grader.store.payload import read_payloads

BASE_COLUMNS = ("trace_id", "content_hash", "content_captured", "session_id", "duration_ms", "num_turns")
UNWRITTEN_SECONDS = 5.0  # a graded day waits no longer than this for others to be stored with
POOLED_DAYS = 7  # a quality estimate from few judged traces takes in the days before (STATISTICS.md section 2)
PRICED_INPUTS = 32  # traces whose prompts tell what a call of the day costs
INPUTS_PER_READ = 256  # traces whose texts are in memory at once while judging


@dataclass(frozen=True, kw_only=True, slots=True)
class DayResult:
    report: DayReport  # as last stored
    new_revision: bool
    following: date | None  # the next reported day, which compares itself with this one
    judging: JudgingSummary | None  # None: nobody was asked


@dataclass(frozen=True, kw_only=True, slots=True)
class RuledDay:
    """A day after the rules: what is known of it, and who is to be judged."""

    stored: StoredDay
    ruled: pa.Table
    chosen: pa.Table
    to_ask: pa.Table  # trace_id, content_hash, duration_ms, num_turns of the chosen traces without a judgement


@dataclass(kw_only=True, slots=True)
class DayGrader:
    """Grades days of one workspace with one set of rules and one judge."""

    settings: Settings
    store: Store
    rules: CompiledRules
    judge: Judge | None
    progress: ProgressListener = quiet
    unwritten: Unwritten = field(default_factory=Unwritten)
    canary_score: float | None = None  # None: not asked, or it gave no usable reply
    stopped_because: str | None = field(default=None)  # auth or billing: no further day asks the judge

    @classmethod
    def create(cls, settings: Settings, *, store: Store, judge: Judge | None, progress: ProgressListener) -> DayGrader:
        """Raises SettingsError for a bad custom rule."""
        return cls(settings=settings, store=store, rules=compile_rules(settings.rules), judge=judge, progress=progress)

    def grade_day(self, day: date, *, run_id: str) -> DayResult:
        """Grades every trace of `day`, and adds a report revision if anything in it changed.

        Days are stored a few at a time: `finish` stores the last ones.
        """
        ruled = self._rule(day)
        judging = self._judge(ruled, run_id=run_id)
        grades = self._grades(day, ruled, asked=judging is not None)
        strata = day_strata(grades)
        report = day_report(
            day,
            grades,
            sessions=ruled.stored.batch.column("session_id"),
            previous=self.unwritten.previous(day, ruled.stored.previous),
            strata=strata,
            earlier=self.unwritten.earlier(day, ruled.stored.earlier, days=POOLED_DAYS - 1),
            settings=self.settings,
            rules_version=self.rules.version,
            judge_version=self._judge_version,
        )
        unchanged = replace(report, revision=ruled.stored.revision)
        new_revision = report_json(unchanged) != ruled.stored.report
        report = replace(report, revision=ruled.stored.revision + 1) if new_revision else unchanged
        self._keep(GradedDay(day=day, grades=grades, report=report if new_revision else None), report, strata, run_id)
        return DayResult(report=report, new_revision=new_revision, following=ruled.stored.following, judging=judging)

    def finish(self, *, run_id: str) -> None:
        """Writes the days that are graded and not yet stored."""
        if self.unwritten.days:
            write_days(self.store, [waiting.graded for waiting in self.unwritten.days], run_id=run_id)
        self.unwritten = Unwritten(since=time.monotonic())

    def _keep(self, graded: GradedDay, report: DayReport, strata: Strata, run_id: str) -> None:
        if self.unwritten.num_grades + len(graded.grades) > GRADES_PER_TRANSACTION:
            self.finish(run_id=run_id)
        self.unwritten.days.append(UnwrittenDay(graded=graded, report=report, strata=strata))
        if time.monotonic() - self.unwritten.since > UNWRITTEN_SECONDS:
            self.finish(run_id=run_id)

    def plan_day(self, day: date) -> tuple[int, int, float | None]:
        """(traces, calls the judge would get, their cost in USD or None where no price is set)."""
        ruled = self._rule(day)
        cost = estimate(self._inputs(ruled.to_ask), self.settings.judge)
        return len(ruled.stored.batch), len(ruled.to_ask), cost.cost_usd

    @property
    def _judge_version(self) -> str | None:
        return self.judge.version if self.judge else None

    @property
    def _sampling(self) -> JudgeSettings:
        """How to choose. Where no judge is configured nobody is drawn for the audit: sound traces wait for nothing."""
        if self.settings.judge.provider == "none":
            return self.settings.judge.model_copy(update={"audit_fraction": 0.0, "audit_minimum": 0})
        return self.settings.judge

    def _rule(self, day: date) -> RuledDay:
        stored = read_day(
            self.store,
            day,
            {*BASE_COLUMNS, *self.rules.columns},
            judge_version=self._judge_version,
            earlier_days=POOLED_DAYS - 1,
        )
        ruled = grade_batch(stored.batch, self.rules)
        chosen = choose(
            candidates(stored.batch, ruled),
            day=day,
            judge=self._sampling,
            judge_below=self.settings.rules.judge_below,
            unit_cost_usd=self._unit_cost_usd(stored.batch),
        )
        to_ask = without_judgement(stored.batch, chosen, stored.judged)
        return RuledDay(stored=stored, ruled=ruled, chosen=chosen, to_ask=to_ask)

    def _unit_cost_usd(self, batch: pa.Table) -> float | None:
        """What a judge call of this day costs, from the first traces; None: no budget in money, or no price known."""
        if self.judge is None or self.settings.judge.max_usd_per_day is None:
            return None
        costs = [self.judge.expected_cost_usd(item) for item in self._inputs(batch.slice(0, PRICED_INPUTS))]
        known = [cost for cost in costs if cost is not None]
        return sum(known) / len(known) if known else None

    def _grades(self, day: date, ruled: RuledDay, *, asked: bool) -> pa.Table:
        judged, failed = ruled.stored.judged, ruled.stored.failed
        if asked:
            with self.store.reading() as connection:
                judged, failed = known_results(connection, ruled.stored.batch, judge_version=self._judge_version)
        return combine(
            day=day,
            batch=ruled.stored.batch,
            ruled=ruled.ruled,
            chosen=ruled.chosen,
            judged=judged,
            failed=failed,
            rules_version=self.rules.version,
            judge_version=self._judge_version,
            critical_below=self.settings.alerts.critical_below,
        )

    def _judge(self, ruled: RuledDay, *, run_id: str) -> JudgingSummary | None:
        """Asks the judge about the chosen traces that have no judgement; None: nobody to ask, or nothing to ask."""
        if self.judge is None or self.stopped_because is not None or not len(ruled.to_ask):
            return None
        budget = Budget(max_calls=self.settings.judge.max_calls_per_day, max_usd=self.settings.judge.max_usd_per_day)
        total = len(ruled.to_ask)
        self._ask_canary(self.judge)
        with journal(self.store, run_id) as results:
            summary = judge_all(
                self.judge,
                self._inputs(ruled.to_ask),
                budget=budget,
                on_result=results.add,
                progress=lambda stage, done, _: self.progress(stage, done, total),
            )
        if summary.server_unusable:
            self.stopped_because = summary.stopped_because
        return summary

    def _ask_canary(self, judge: Judge) -> None:
        """Once a run, before the first trace: does the judge obey the text that it should only read?"""
        if self.canary_score is None:
            replies: list[Judgement | JudgeFailure] = []
            judge_all(judge, [CANARY], on_result=replies.append)
            self.canary_score = next((reply.score for reply in replies if isinstance(reply, Judgement)), None)

    def _inputs(self, to_ask: pa.Table) -> Iterator[JudgeInput]:
        """The traces to judge with their texts, read a few hundred at a time."""
        for first in range(0, len(to_ask), INPUTS_PER_READ):
            rows = to_ask.slice(first, INPUTS_PER_READ).to_pylist()
            with self.store.reading() as connection:
                payloads = read_payloads(connection, self.store.folder, [row["trace_id"] for row in rows])
            for row in rows:
                payload = payloads[row["trace_id"]]
                yield JudgeInput(
                    trace_id=row["trace_id"],
                    content_hash=row["content_hash"],
                    question=payload.user_message,
                    answer=payload.final_output,
                    tools=tool_calls_from_json(payload.tools_called) if payload.tools_called else None,
                    duration_ms=row["duration_ms"],
                    num_turns=row["num_turns"],
                )
