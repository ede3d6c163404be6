"""The five built-in rules (DESIGN.md section 2). To add one: an entry here, and its limits in `settings.RuleLimits`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, kw_only=True, slots=True)
class Rule:
    """One measured value compared with one limit."""

    name: str
    column: str  # the narrow trace column that is measured; null there makes the rule not applicable
    comparison: Literal[">", "<"]  # the rule applies when: column comparison limit
    limit: str | None  # the field of RuleLimits that holds the limit; None: the limit is 0
    deduction: str | None  # the field of RuleLimits that holds the deduction; None: the rule only flags
    per_unit: bool = False  # the deduction counts once for each unit measured
    alert: str  # the alert's text; {value} stands for the measured value


RULES: tuple[Rule, ...] = (
    Rule(
        name="latency",
        column="duration_ms",
        comparison=">",
        limit="latency_limit_ms",
        deduction="latency_deduction",
        alert="High latency: {value}ms",
    ),
    Rule(
        name="turns",
        column="num_turns",
        comparison=">",
        limit="turns_limit",
        deduction="turns_deduction",
        alert="Too many turns: {value}",
    ),
    Rule(
        name="tool_errors",
        column="tool_errors",
        comparison=">",
        limit=None,
        deduction="tool_error_deduction",
        per_unit=True,
        alert="{value} tool error(s)",
    ),
    Rule(
        name="guardrails",
        column="guardrails_triggered",
        comparison=">",
        limit=None,
        deduction=None,
        alert="{value} guardrail(s) triggered",
    ),
    Rule(
        name="response",
        column="answer_chars",  # 0: captured, and missing or empty; null: the content was not captured
        comparison="<",
        limit="response_min_chars",
        deduction="response_deduction",
        alert="Empty or too short response",
    ),
)
