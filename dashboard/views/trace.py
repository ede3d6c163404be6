"""One trace as its page tells it: the verdict, the way its score came about, its conversation and its tool calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import tzinfo
from pathlib import Path
from typing import Any, Literal

import orjson

from dashboard import text
from dashboard.views import numbers
from grader.readers.columns import spans_from_json, tool_calls_from_json
from grader.records import OutcomeState, RuleOutcome, Span, ToolCall
from grader.settings import RulesSettings
from grader.store.payload import Payload
from grader.store.read_trace import TraceDetail, TraceGrade

LONGEST_TEXT = 6_000  # characters of one text on the page
LONGEST_RAW = 40_000
MOST_CALLS = 40
CUT_MARK = "\n\n[… {left:,} more characters: download the text to read them all]"


@dataclass(frozen=True, kw_only=True, slots=True)
class Step:
    """One rule's part in the score."""

    rule: str
    label: str
    outcome: OutcomeState
    measured: str
    limit: str  # as the settings have it today; a dash where it is not known
    before: float  # the score that the rules before it left
    deducted: float  # what it took off that: less than its full deduction where the score reached 0
    full_deduction: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Cut:
    """A text as far as the page shows it."""

    text: str
    is_cut: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Turn:
    """One message of the conversation."""

    role: Literal["user", "assistant"]
    label: str
    body: Cut


@dataclass(frozen=True, kw_only=True, slots=True)
class Content:
    """The payload, read back. None: not known."""

    user_message: str | None
    final_output: str | None
    tools: tuple[ToolCall, ...] | None
    spans: tuple[Span, ...]


def content_of(payload: Payload | None) -> Content:
    """The payload's texts as objects."""
    if payload is None:
        return Content(user_message=None, final_output=None, tools=None, spans=())
    return Content(
        user_message=payload.user_message,
        final_output=payload.final_output,
        tools=None if payload.tools_called is None else tool_calls_from_json(payload.tools_called),
        spans=() if payload.spans is None else spans_from_json(payload.spans),
    )


def verdict(grade: TraceGrade, critical_below: float) -> str:
    """One sentence: how the trace ended up and which scale decided."""
    if grade.critical:
        start = f"Critical: {numbers.score(grade.final_score)} is under {critical_below:g}."
    else:
        start = f"Not critical: {numbers.score(grade.final_score)} is not under {critical_below:g}."
    return f"{start} {text.STATE_MEANINGS[grade.state]}"


def why_judged(grade: TraceGrade) -> str | None:
    """Why the trace was chosen for the judge, with the probability; None when it was not."""
    reasons = {"low_rule_score": "its rule score is low", "audit": "the random audit drew it"}
    if grade.selected_because is None:
        return None
    chance = grade.inclusion_probability
    chance_text = "" if chance is None else f" (chance of being chosen: {numbers.percent(100 * chance)})"
    return f"Chosen for the judge because {reasons[grade.selected_because]}{chance_text}."


def steps(grade: TraceGrade, rules: RulesSettings, agent: str | None) -> tuple[Step, ...]:
    """The rules in order, each with what it measured and what it took off."""
    left = 1_000
    found = []
    for outcome in grade.outcomes:
        taken = min(outcome.deducted_milli, left)
        found.append(
            Step(
                rule=outcome.rule,
                label=text.rule_label(outcome.rule),
                outcome=outcome.outcome,
                measured=_measured(outcome),
                limit=_limit(outcome.rule, rules, agent),
                before=left / 1000,
                deducted=taken / 1000,
                full_deduction=outcome.deducted_milli / 1000,
            )
        )
        left -= taken
    return tuple(found)


def step_table(found: Sequence[Step]) -> dict[str, list[str]]:
    """The steps as columns."""
    return {
        "Rule": [step.label for step in found],
        "Measured": [step.measured for step in found],
        "Limit": [step.limit for step in found],
        "Outcome": [text.OUTCOME_LABELS[step.outcome] for step in found],
        "Deducted": [_deducted(step) for step in found],
    }


def facts(detail: TraceDetail, zone: tzinfo, root: Path) -> dict[str, str]:
    """The circumstances of the trace, as label → plain text. A file below `root` is named from there."""
    found = {
        "Started": numbers.moment(detail.started_at, zone),
        "Agent": detail.agent or numbers.UNKNOWN,
        "Release": detail.release or numbers.UNKNOWN,
        "Model": detail.model or numbers.UNKNOWN,
        "Session": detail.session_id or numbers.UNKNOWN,
        "Name": detail.name or numbers.UNKNOWN,
        "Run ended": text.STATUS_LABELS[detail.status],
        "Tokens": numbers.tokens(detail.input_tokens, detail.output_tokens),
        "Spans": numbers.count(detail.num_spans),
        "Read from": f"{_relative(detail.source.path, root)}, line {detail.source.line:,} ({detail.source.reader})",
        **{f"Tag {key}": value for key, value in sorted(detail.tags.items())},
    }
    return {label: numbers.shortened(value, 300) for label, value in found.items()}


def _relative(path: str, root: Path) -> str:
    return str(Path(path).relative_to(root)) if Path(path).is_relative_to(root) else path


def conversation(content: Content) -> tuple[Turn, ...]:
    """Question and answer, and what the models said in between where spans hold it."""
    turns = []
    if content.user_message is not None:
        turns.append(Turn(role="user", label="Question", body=cut(content.user_message)))
    spoken = [
        span for span in content.spans if span.kind == "model" and span.output and span.output != content.final_output
    ]
    for span in spoken[:MOST_CALLS]:
        body = readable_message(span.output or "")
        if body and body != content.final_output:
            turns.append(Turn(role="assistant", label="Model", body=cut(body)))
    if content.final_output:
        turns.append(Turn(role="assistant", label="Answer", body=cut(content.final_output)))
    return tuple(turns)


def readable_message(output: str) -> str:
    """What a model said, out of the message structure that exporters record; text of another form stays as it is."""
    if output[:1] not in "[{":
        return output
    try:
        parts = list(_texts(orjson.loads(output)))
    except orjson.JSONDecodeError:
        return output
    return "\n".join(parts)


def raw_record(detail: TraceDetail, content: Content) -> str:
    """The whole trace as indented JSON."""
    return orjson.dumps(
        {
            "trace": detail,
            "user_message": content.user_message,
            "final_output": content.final_output,
            "tools_called": content.tools,
            "spans": content.spans,
        },
        option=orjson.OPT_INDENT_2,
        default=str,
    ).decode()


def cut(value: str, limit: int = LONGEST_TEXT) -> Cut:
    """`value` up to `limit` characters, with a mark where it is cut."""
    if len(value) <= limit:
        return Cut(text=value, is_cut=False)
    return Cut(text=value[:limit] + CUT_MARK.format(left=len(value) - limit), is_cut=True)


def pretty(value: str, limit: int = LONGEST_TEXT) -> Cut:
    """JSON text indented, any other text as it is; both cut at `limit`."""
    if len(value) <= limit and value[:1] in "[{":
        try:
            value = orjson.dumps(orjson.loads(value), option=orjson.OPT_INDENT_2).decode()
        except orjson.JSONDecodeError:
            return cut(value, limit)
    return cut(value, limit)


def _texts(value: Any) -> list[str]:
    """The texts of a message or a list of messages: under `content`, `text` or `parts`, tool calls left out."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, Sequence):
        return [part for item in value for part in _texts(item)]
    if isinstance(value, Mapping):
        if value.get("type") in ("tool_call", "function_call", "reasoning", "tool_call_response"):
            return []
        for key in ("content", "parts", "text", "message", "choices", "output"):
            if value.get(key):
                return _texts(value[key])
    return []


def _deducted(step: Step) -> str:
    if not step.full_deduction:
        return numbers.UNKNOWN
    floored = "" if step.deducted == step.full_deduction else f" ({step.deducted:.3g} was left)"
    return f"{numbers.MINUS}{step.full_deduction:.3g}{floored}"


def _measured(outcome: RuleOutcome) -> str:
    if outcome.value is None:
        return "not known"
    value = outcome.value
    units: Mapping[str, Callable[[], str]] = {
        "latency": lambda: numbers.duration(value),
        "turns": lambda: numbers.counted(int(value), "turn"),
        "tool_errors": lambda: numbers.counted(int(value), "error"),
        "guardrails": lambda: f"{int(value):,} triggered",
        "response": lambda: numbers.counted(int(value), "character"),
    }
    return units[outcome.rule]() if outcome.rule in units else f"{value:,.6g}"


def _limit(rule: str, rules: RulesSettings, agent: str | None) -> str:
    own = rules.agents.get(agent or "")

    def value(name: str) -> Any:
        override = getattr(own, name) if own else None
        return getattr(rules, name) if override is None else override

    limits: Mapping[str, Callable[[], str]] = {
        "latency": lambda: f"at most {numbers.duration(value('latency_limit_ms'))}",
        "turns": lambda: f"at most {value('turns_limit')}",
        "tool_errors": lambda: "none",
        "guardrails": lambda: "none",
        "response": lambda: f"at least {value('response_min_chars')}",
    }
    return limits[rule]() if rule in limits else numbers.UNKNOWN
