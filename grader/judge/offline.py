"""The offline baseline: marks by plain arithmetic on words. No model, no network, the same marks every time.

It is a yardstick and a stand-in for demos, and shown as such wherever its scores appear. What each mark measures:

- relevance: the share of the question's longer words that come up in the answer.
- accuracy: figures and names in the answer that occur neither in a tool's output nor in the question.
- tone: lists of hostile and of courteous words, shouting, and answers of one or two words.

Each lost mark is explained by one issue and one suggestion. A criterion of another name has no measure: it gets the
mean of the three, and the issues say so. Marks are made on 1 to 5 and moved to the rubric's scale in proportion.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

from grader.judge.contract import JudgeInput, JudgeOne, OnRateLimit, Verdict
from grader.judge.rubric import make_rubric, version_of
from grader.judge.tone_words import COURTEOUS, DECLINING, HOSTILE
from grader.judge.words import figures, is_shouting, names, stems, words
from grader.records import Judgement
from grader.settings import JudgeProvider, JudgeSettings

MODEL = "offline-baseline-1"  # raise the number with every change that can change a mark
BEST, WORST = 5, 1
COVERAGE_FOR_MARK = ((0.5, 5), (0.35, 4), (0.2, 3), (0.08, 2))  # share of the question's words → mark
MAX_LOST_TO_FIGURES = 3
LISTED = 3  # of the words found, how many an issue names


_GIVE_AN_ANSWER = "Make sure that every run ends with an answer."


@dataclass(frozen=True, slots=True)
class Finding:
    """A mark from 1 to 5, with what it lost and why."""

    mark: int
    issues: tuple[str, ...] = ()
    suggestions: tuple[str, ...] = ()


def relevance(item: JudgeInput) -> Finding:
    answer = item.answer or ""
    if not answer.strip():
        return _lost(BEST - WORST, "There is no answer.", _GIVE_AN_ANSWER)
    if item.question is None:
        return _lost(
            2, "The question is not recorded, so relevance cannot be measured: middle mark.", "Record questions."
        )
    asked = stems(item.question)
    if not asked:
        return Finding(BEST)
    folded = answer.casefold()
    found = sum(stem in folded for stem in asked)
    coverage = found / len(asked)
    mark = next((mark for least, mark in COVERAGE_FOR_MARK if coverage >= least), WORST)
    if mark == BEST:
        return Finding(BEST)
    return Finding(
        mark,
        (f"The answer takes up {found} of {len(asked)} longer words of the question.",),
        ("Answer in the words of the question.",),
    )


def accuracy(item: JudgeInput) -> Finding:
    answer = item.answer or ""
    if not answer.strip():
        return _lost(BEST - WORST, "There is no answer that could be right.", _GIVE_AN_ANSWER)
    calls = item.tools or ()
    outputs = [call.output for call in calls if call.output]
    evidence = "\n".join([*outputs, item.question or ""])
    findings = [_unsupported_figures(answer, evidence), _unsupported_names(answer, evidence)]
    if calls and not outputs and all(call.error is not None for call in calls):
        findings.append(
            _lost(2, f"All {len(calls)} tool calls failed: nothing supports the answer.", "Repair the failing tools.")
        )
    return _together(findings)


def tone(item: JudgeInput) -> Finding:
    answer = item.answer or ""
    spoken = words(answer)
    if not spoken:
        return _lost(BEST - WORST, "There is no answer that could have a tone.", _GIVE_AN_ANSWER)
    findings = []
    hostile = sorted(spoken & HOSTILE)
    if hostile:
        lost = min(2 * len(hostile), BEST - WORST)
        findings.append(_lost(lost, f"Hostile words: {_list(hostile)}.", "Remove hostile words."))
    if is_shouting(answer):
        findings.append(_lost(1, "Much of the answer is in capitals.", "Write in normal case."))
    if "!!" in answer:
        findings.append(_lost(1, "Several exclamation marks in a row.", "Use plain punctuation."))
    if len(spoken) < 3 and len(answer) < 20:
        findings.append(_lost(2, "The answer is curt.", "Answer in a whole sentence."))
    if spoken & DECLINING and not spoken & COURTEOUS:
        findings.append(_lost(1, "The answer declines without a courteous word.", "Decline with regret and a way on."))
    return _together(findings)


MEASURES: tuple[tuple[str, Callable[[JudgeInput], Finding]], ...] = (
    ("relevance", relevance),
    ("accuracy", accuracy),
    ("tone", tone),
)


class OfflineJudge:
    """The baseline as a judge. Costs nothing and never fails."""

    provider: JudgeProvider = "offline"
    model = MODEL
    proven = True
    concurrency = 64  # only a bound on how many traces are held at once: nothing runs in parallel

    def __init__(self, settings: JudgeSettings) -> None:
        self.rubric = make_rubric(settings.rubric)
        lists = [sorted(group) for group in (HOSTILE, COURTEOUS, DECLINING)]
        self.version = version_of(self.provider, MODEL, self.rubric.json_schema, lists)

    def expected_cost_usd(self, item: JudgeInput) -> float:  # noqa: ARG002 - the same for every trace
        return 0.0

    @asynccontextmanager
    async def open(self, *, on_rate_limit: OnRateLimit) -> AsyncIterator[JudgeOne]:  # noqa: ARG002 - no server
        async def judge_one(item: JudgeInput) -> Verdict:
            return Verdict(result=self.judge(item), cost_usd=0.0)

        yield judge_one

    def judge(self, item: JudgeInput) -> Judgement:
        """The marks of one trace."""
        started = time.perf_counter()
        findings = {name: measure(item) for name, measure in MEASURES}
        mean = sum(finding.mark for finding in findings.values()) / len(findings)
        marks: dict[str, int] = {}
        issues: list[str] = []
        suggestions: list[str] = []
        for criterion in self.rubric.criteria:
            finding = findings.get(criterion.name) or Finding(
                round(mean), (f"The offline baseline has no measure for {criterion.name!r}: mean of its three marks.",)
            )
            marks[criterion.name] = self._on_scale(finding.mark)
            issues.extend(finding.issues)
            suggestions.extend(finding.suggestions)
        return Judgement(
            trace_id=item.trace_id,
            content_hash=item.content_hash,
            judge_version=self.version,
            provider=self.provider,
            model=self.model,
            marks=marks,
            score=self.rubric.score(marks),
            issues=tuple(dict.fromkeys(issues)),
            suggestions=tuple(dict.fromkeys(suggestions)),
            input_tokens=None,
            output_tokens=None,
            cost_usd=0.0,
            latency_ms=(time.perf_counter() - started) * 1000,
            judged_at=datetime.now(UTC),
        )

    def _on_scale(self, mark: int) -> int:
        low, high = self.rubric.scale_min, self.rubric.scale_max
        return low + round((mark - WORST) / (BEST - WORST) * (high - low))


def _unsupported_figures(answer: str, evidence: str) -> Finding:
    claimed = figures(answer)
    unsupported = sorted(claimed - figures(evidence)) if claimed else []
    if not unsupported:
        return Finding(BEST)
    return _lost(
        min(len(unsupported), MAX_LOST_TO_FIGURES),
        f"{len(unsupported)} figure(s) that no tool output supports: {_list(unsupported)}.",
        "Give only figures that a tool returned.",
    )


def _unsupported_names(answer: str, evidence: str) -> Finding:
    claimed = names(answer)
    known = evidence.casefold() if claimed else ""
    unsupported = sorted(name for name in claimed if not any(word in known for word in name.casefold().split()))
    if not unsupported:
        return Finding(BEST)
    return _lost(
        1,
        f"{len(unsupported)} name(s) that no tool output supports: {_list(unsupported)}.",
        "Name only what a tool returned.",
    )


def _lost(marks: int, issue: str, suggestion: str) -> Finding:
    return Finding(BEST - marks, (issue,), (suggestion,))


def _together(findings: list[Finding]) -> Finding:
    """Losses add up, down to the worst mark."""
    lost = sum(BEST - finding.mark for finding in findings)
    return Finding(
        max(WORST, BEST - lost),
        tuple(issue for finding in findings for issue in finding.issues),
        tuple(suggestion for finding in findings for suggestion in finding.suggestions),
    )


def _list(found: list[str]) -> str:
    more = f" and {len(found) - LISTED} more" if len(found) > LISTED else ""
    return ", ".join(found[:LISTED]) + more
