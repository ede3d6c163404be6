"""The grading contract once more, as a plain Python loop over exact fractions: what the SQL is compared with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True)
class Limits:
    latency_ms: float = 10_000
    latency: Fraction = Fraction(2, 10)
    turns: int = 15
    turns_off: Fraction = Fraction(3, 10)
    tool_error: Fraction = Fraction(1, 10)
    min_chars: int = 10
    response: Fraction = Fraction(5, 10)


@dataclass(frozen=True)
class Outcome:
    rule: str
    outcome: str
    value: float | None
    deducted: Fraction
    alert: str | None


def number(value: float) -> str:
    return str(int(value)) if value == int(value) and abs(value) < 1e16 else f"{value}"


def outcome(rule: str, value: float | None, limits: Limits) -> Outcome:
    if value is None:
        return Outcome(rule, "not_applicable", None, Fraction(0), None)
    match rule:
        case "latency":
            applies, off, text = value > limits.latency_ms, limits.latency, f"High latency: {number(value)}ms"
        case "turns":
            applies, off, text = value > limits.turns, limits.turns_off, f"Too many turns: {value}"
        case "tool_errors":
            applies, off, text = value > 0, limits.tool_error * int(value), f"{value} tool error(s)"
        case "guardrails":
            applies, off, text = value > 0, Fraction(0), f"{value} guardrail(s) triggered"
        case _:
            applies, off, text = value < limits.min_chars, limits.response, "Empty or too short response"
    if not applies:
        return Outcome(rule, "passed", float(value), Fraction(0), None)
    return Outcome(rule, "failed" if off else "flagged", float(value), min(off, Fraction(1)), text)


COLUMN_OF = {
    "latency": "duration_ms",
    "turns": "num_turns",
    "tool_errors": "tool_errors",
    "guardrails": "guardrails_triggered",
    "response": "answer_chars",
}


def grade(trace: Mapping[str, float | None], limits: Limits) -> tuple[Fraction, list[Outcome]]:
    outcomes = [outcome(rule, trace[column], limits) for rule, column in COLUMN_OF.items()]
    return max(Fraction(0), 1 - sum((each.deducted for each in outcomes), Fraction(0))), outcomes
