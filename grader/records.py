"""The words of the product as types: what a trace is, and what grading makes of it.

Field names are the same everywhere: objects, columns, exports (DESIGN.md sections 2 and 4). `None` means "not known",
never "zero" or "empty". Times are timezone-aware UTC. All types are frozen: grading never changes its input.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Literal

from grader.errors import FailureStage

Status = Literal["completed", "failed", "interrupted", "blocked", "running", "unknown"]
STATUSES: tuple[Status, ...] = ("completed", "failed", "interrupted", "blocked", "running", "unknown")

SpanKind = Literal[
    "model", "tool", "agent", "chain", "guardrail", "handoff", "retriever", "embedding", "evaluator", "other"
]

OutcomeState = Literal["passed", "failed", "flagged", "not_applicable"]
OUTCOME_STATES: tuple[OutcomeState, ...] = ("passed", "failed", "flagged", "not_applicable")

GradeState = Literal["rules_only", "judged", "judge_pending", "judge_failed", "not_judgeable"]
GRADE_STATES: tuple[GradeState, ...] = ("rules_only", "judged", "judge_pending", "judge_failed", "not_judgeable")

SelectedBecause = Literal["low_rule_score", "audit"]

QualityNote = Literal[
    "clock_skew",  # an end lies before its start: the duration is not known
    "no_start",  # no time at all: filed under the day of its file
    "no_end",  # nothing in it has an end: the duration is not known
    "no_root",  # every span has a parent that never arrived
    "no_spans",  # the exporter announced a trace and sent none of its spans
    "no_content",  # the exporter was told not to record texts
    "token_levels_disagree",  # a parent's token count is not the sum of its leaves'
    "future_start",  # starts after the moment it was read
]


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolCall:
    """One call of a tool by the agent. A handoff to another agent is not a tool call."""

    name: str
    arguments: str | None = None  # as the model wrote them: usually JSON, sometimes broken JSON
    output: str | None = None
    error: str | None = None  # a call failed exactly when this is not None
    span_id: str | None = None  # None: the format has no span for the call


@dataclass(frozen=True, kw_only=True, slots=True)
class Span:
    """One timed step of a trace, normalised over all formats."""

    span_id: str
    parent_id: str | None = None
    kind: SpanKind = "other"
    name: str = ""
    started_at: datetime | None = None
    ended_at: datetime | None = None
    input: str | None = None  # text, or JSON text where the exporter recorded a structure
    output: str | None = None
    error: str | None = None
    model: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None
    attributes: Mapping[str, object] = field(default_factory=dict)  # JSON values; what no other field holds


@dataclass(frozen=True, kw_only=True, slots=True)
class Source:
    """Where a trace was read: for messages and for going back to the file."""

    reader: str
    path: str
    line: int  # 1-based; the first line that brought a part of the trace


@dataclass(frozen=True, kw_only=True, slots=True)
class Trace:
    """One recorded run of an agent (DESIGN.md section 4)."""

    trace_id: str
    source: Source
    name: str | None = None
    session_id: str | None = None
    agent: str | None = None
    release: str | None = None
    model: str | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None
    duration_ms: float | None = None
    status: Status = "unknown"
    num_turns: int | None = None
    tool_errors: int | None = None
    guardrails_triggered: int | None = None
    user_message: str | None = None
    final_output: str | None = None
    content_captured: bool = True  # False: the exporter dropped the texts, so a missing answer is not an empty one
    tools_called: tuple[ToolCall, ...] | None = None  # None: not known; (): none was called
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None
    tags: Mapping[str, str] = field(default_factory=dict)
    spans: tuple[Span, ...] = ()
    notes: tuple[QualityNote, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class RuleOutcome:
    """What one rule found on one trace."""

    rule: str
    outcome: OutcomeState
    value: float | None  # what was measured, in the rule's own unit; None exactly when not_applicable
    deducted_milli: int  # thousandths taken off the score: 0 unless the rule failed


Marks = Mapping[str, int]  # criterion → mark on the rubric's scale


@dataclass(frozen=True, kw_only=True, slots=True)
class Judgement:
    """One usable reply of a judge about one trace's content. Never changed, never paid for twice."""

    trace_id: str
    content_hash: int  # of the trace as judged: a changed trace is judged anew
    judge_version: str  # hash of rubric, prompt, model and parameters
    provider: str
    model: str
    marks: Marks
    score: float  # sum of marks / highest possible sum, 0 to 1
    issues: tuple[str, ...]
    suggestions: tuple[str, ...]
    input_tokens: int | None
    output_tokens: int | None
    cost_usd: float | None  # None: no price is known for the model
    latency_ms: float
    judged_at: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class JudgeFailure:
    """A judge call that ended without a usable reply. It is missing data, never a low score."""

    trace_id: str
    content_hash: int
    judge_version: str
    stage: FailureStage
    message: str
    attempts: int
    failed_at: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class Estimate:
    """A number with what it rests on. `value` is None where nothing was observed: never 0, never NaN."""

    value: float | None
    low: float | None  # 95 % interval unless `method` says otherwise; None: too little data for one
    high: float | None
    n: int  # observations used
    n_missing: int  # observations that should have been there and are not
    method: str
    note: str | None = None  # why there is no value or no interval, in words for the screen


@dataclass(frozen=True, kw_only=True, slots=True)
class CriticalAlert:
    """A trace whose final score is under the critical threshold."""

    trace_id: str
    score: float
    alerts: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class StateCounts:
    """Traces of a day by grade state: they add up to `num_traces` (DESIGN.md section 6)."""

    rules_only: int = 0
    judged: int = 0
    judge_pending: int = 0
    judge_failed: int = 0
    not_judgeable: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class DayToDay:
    """The simple regression form of section 2: the mean fell by more than `limit` from one day to the next."""

    previous_date: date | None  # the newest earlier day that has traces; None: there is none
    previous_avg_score: float | None
    change: float | None  # this day's mean − the previous one; None where either is missing
    limit: float
    flagged: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class DayReport:
    """One day, graded. Averages are None for a day without traces."""

    date: date
    revision: int
    num_traces: int
    avg_score: float | None
    median_score: float | None
    min_score: float | None
    p10_score: float | None
    pct_critical: float | None  # 0 to 100
    critical_alerts: tuple[CriticalAlert, ...]  # the ten worst
    num_critical: int
    counts: StateCounts
    regression: DayToDay
    avg_score_interval: Estimate
    pct_critical_interval: Estimate  # in per cent, like pct_critical
    quality: Estimate
    rules_version: str
    judge_version: str | None  # None: no judge configured
    judge_provider: str


@dataclass(frozen=True, kw_only=True, slots=True)
class IngestCounts:
    """Lines by what became of them: read = new + updated + duplicate + quarantined."""

    read: int = 0
    new: int = 0
    updated: int = 0
    duplicate: int = 0
    quarantined: int = 0
    new_traces: int = 0
    updated_traces: int = 0

    def __add__(self, other: IngestCounts) -> IngestCounts:
        return IngestCounts(
            read=self.read + other.read,
            new=self.new + other.new,
            updated=self.updated + other.updated,
            duplicate=self.duplicate + other.duplicate,
            quarantined=self.quarantined + other.quarantined,
            new_traces=self.new_traces + other.new_traces,
            updated_traces=self.updated_traces + other.updated_traces,
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class QuarantinedLine:
    """A line, or a part of one, that could not be read."""

    reader: str
    path: str
    line: int
    reason: str
    excerpt: str  # the start of the text, at most 300 characters
