"""Rules → one SQL SELECT over a batch of traces, exact in whole thousandths.

The SELECT has three layers: what was measured (`value`, and a custom rule's `when`), what each rule makes of it
(`active`, `applies`, `deducted`), and the row of the result. Every layer adds columns `rule0_value`, `rule0_applies` …
A value that is not known stays null through all of them and ends as `not_applicable`.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import orjson

from grader.arrow import TRACE_SCHEMA
from grader.errors import SettingsError
from grader.records import OUTCOME_STATES
from grader.rules.definitions import RULES, Rule
from grader.rules.expressions import ExpressionChecker, did_you_mean
from grader.rules.limits import (
    FULL_SCORE_MILLI,
    active_sql,
    deduction_sql,
    limit_sql,
    milli,
    number_literal,
    text_literal,
)
from grader.rules.sandbox import locked_down_connection
from grader.settings import CustomRule, RulesSettings

SELECT_REVISION = 1  # part of the version: raise it when a change of this module changes a grade
VALUE_MARK = "{value}"
NO_ALERTS = "CAST([] AS VARCHAR[])"


@dataclass(frozen=True, kw_only=True, slots=True)
class CompiledRules:
    """Rules made ready to run; see `compile_rules`."""

    version: str  # 16 hex digits: a hash of the rule definitions and of all rule settings
    names: tuple[str, ...]  # the rules that give an outcome for at least some agent, in order
    columns: tuple[
        str, ...
    ]  # trace columns needed beside trace_id; texts of the payload where a custom rule names them
    has_custom: bool  # True: run only on a locked-down connection, as `grade_batch` does
    _measured: str
    _found: str
    _graded: str

    def sql(self, source: str) -> str:
        """A SELECT over `source` (a table name or a parenthesised query) that gives what `grade_batch` gives.

        It needs no types or tables of its own, so it may stand in an INSERT. With custom rules it belongs on a
        locked-down connection only.
        """
        return f"SELECT {self._graded} FROM (SELECT {self._found} FROM (SELECT {self._measured} FROM {source}))"


@dataclass(frozen=True, kw_only=True, slots=True)
class _Term:
    """One rule as SQL."""

    name: str
    columns: frozenset[str]
    value: str  # over the trace columns: DOUBLE, null: not known
    when: str | None  # over the trace columns: BOOLEAN; None: `comparison` decides
    comparison: str  # over the value: the rest of a condition, like "> 15"
    active: str  # over agent: BOOLEAN
    deduction: str  # over agent: thousandths
    per_unit: bool
    alert: str


def compile_rules(settings: RulesSettings) -> CompiledRules:
    """The built-in and custom rules of `settings`, with the limits of every agent, as one SELECT.

    Raises SettingsError for a deduction that is not in whole thousandths, a rule name that is unknown or taken, and an
    expression of a custom rule that is more than a single expression over the trace columns.
    """
    _check_names(settings)
    terms = [_builtin(rule, settings) for rule in RULES] + _custom(settings)
    terms = [term for term in terms if term.active != "false"]
    needed = frozenset(("agent",)).union(*(term.columns for term in terms))
    return CompiledRules(
        version=_version(settings),
        names=tuple(term.name for term in terms),
        columns=tuple(name for name in TRACE_SCHEMA.names if name in needed and name != "trace_id"),
        has_custom=bool(settings.custom),
        _measured=", ".join(["trace_id", "agent", *_measured(terms)]),
        _found=", ".join(["*", *_found(terms)]),
        _graded=", ".join(_graded(terms)),
    )


def _check_names(settings: RulesSettings) -> None:
    builtin = [rule.name for rule in RULES]
    custom = [rule.name for rule in settings.custom]
    for name in custom:
        if name in builtin or custom.count(name) > 1:
            raise SettingsError(f"rules.custom name = {name!r}: another rule has this name; choose a different one")
    known = builtin + custom
    for where, disabled in [("rules.disabled", settings.disabled)] + [
        (f"rules.agents.{agent}.disabled", own.disabled or ()) for agent, own in settings.agents.items()
    ]:
        for name in disabled:
            if name not in known:
                raise SettingsError(
                    f"{where}: there is no rule {name!r}{did_you_mean(name, known)}; the rules are {', '.join(known)}"
                )


def _builtin(rule: Rule, settings: RulesSettings) -> _Term:
    value = f"CAST({rule.column} AS DOUBLE)"
    limit = limit_sql(settings, rule.limit) if rule.limit else number_literal(0)
    return _Term(
        name=rule.name,
        columns=frozenset((rule.column,)),
        value=_finite(value) if rule.column == "duration_ms" else value,
        when=None,
        comparison=f"{rule.comparison} {limit}",
        active=active_sql(settings, rule.name),
        deduction=deduction_sql(settings, rule.deduction) if rule.deduction else "0",
        per_unit=rule.per_unit,
        alert=rule.alert,
    )


def _custom(settings: RulesSettings) -> list[_Term]:
    if not settings.custom:
        return []
    with locked_down_connection() as connection:
        checker = ExpressionChecker(connection)
        return [_custom_term(rule, settings, checker) for rule in settings.custom]


def _custom_term(rule: CustomRule, settings: RulesSettings, checker: ExpressionChecker) -> _Term:
    where = f"rules.custom {rule.name!r}"
    columns = checker.check(rule.when, kind="boolean", where=f"{where} when")
    # TRY makes null of what cannot be computed for a row, so that one odd trace never stops a run.
    when = f"TRY((\n{rule.when}\n))"
    if rule.value is None:
        if VALUE_MARK in rule.alert:
            raise SettingsError(f"{where} alert = {rule.alert!r}: {VALUE_MARK} needs a value; give the rule one")
        value = f"CAST({when} AS DOUBLE)"
    else:
        columns |= checker.check(rule.value, kind="numeric", where=f"{where} value")
        value = _finite(f"TRY(CAST((\n{rule.value}\n) AS DOUBLE))")
    return _Term(
        name=rule.name,
        columns=columns,
        value=f"CASE WHEN {when} IS NOT NULL THEN {value} END",
        when=when,
        comparison="",
        active=active_sql(settings, rule.name, rule.agents),
        deduction=str(milli(rule.deduction, f"{where} deduction")),
        per_unit=False,
        alert=rule.alert,
    )


def _finite(value: str) -> str:
    return f"CASE WHEN isfinite({value}) THEN {value} END"


def _measured(terms: Sequence[_Term]) -> list[str]:
    columns = []
    for i, term in enumerate(terms):
        columns.append(f"{term.value} AS rule{i}_value")
        if term.when is not None:
            columns.append(f"{term.when} AS rule{i}_when")
    return columns


def _found(terms: Sequence[_Term]) -> list[str]:
    columns = []
    for i, term in enumerate(terms):
        condition = f"rule{i}_value {term.comparison}"
        if term.when is not None:
            condition = f"CASE WHEN rule{i}_value IS NOT NULL THEN rule{i}_when END"
        if term.active != "true":
            condition = f"CASE WHEN {term.active} THEN {condition} END"
            columns.append(f"{term.active} AS rule{i}_active")
        columns.append(f"{condition} AS rule{i}_applies")
        deducted = term.deduction
        if term.per_unit:
            deducted = f"least({FULL_SCORE_MILLI}, ({term.deduction}) * rule{i}_value)"
        columns.append(f"CAST(CASE WHEN {condition} THEN {deducted} ELSE 0 END AS SMALLINT) AS rule{i}_deducted")
    return columns


def _graded(terms: Sequence[_Term]) -> list[str]:
    deducted = "".join(f" - CAST(rule{i}_deducted AS INTEGER)" for i in range(len(terms)))
    return [
        "trace_id",
        f"CAST(greatest(0, {FULL_SCORE_MILLI}{deducted}) AS SMALLINT) AS rule_score_milli",
        f"{_outcomes(terms)} AS outcomes",
        f"{_alerts(terms)} AS alerts",
    ]


def _outcomes(terms: Sequence[_Term]) -> str:
    # ENUMs, because a list of structs with VARCHARs costs twice the time.
    state_type = _enum(OUTCOME_STATES)
    states = {state: f"CAST('{state}' AS {state_type})" for state in OUTCOME_STATES}
    rule_type = _enum([term.name for term in terms]) if terms else "VARCHAR"
    structs = []
    for i, term in enumerate(terms):
        state = (
            f"CASE WHEN rule{i}_applies IS NULL THEN {states['not_applicable']} "
            f"WHEN NOT rule{i}_applies THEN {states['passed']} "
            f"WHEN rule{i}_deducted > 0 THEN {states['failed']} ELSE {states['flagged']} END"
        )
        struct = (
            f"struct_pack(rule := CAST({text_literal(term.name)} AS {rule_type}), outcome := {state}, "
            f"value := rule{i}_value, deducted_milli := rule{i}_deducted)"
        )
        structs.append(struct if term.active == "true" else f"CASE WHEN rule{i}_active THEN {struct} END")
    if not terms:
        return f"CAST([] AS STRUCT(rule VARCHAR, outcome {state_type}, value DOUBLE, deducted_milli SMALLINT)[])"
    outcomes = f"[{', '.join(structs)}]"
    if all(term.active == "true" for term in terms):
        return outcomes
    return f"list_filter({outcomes}, lambda outcome: outcome IS NOT NULL)"


def _alerts(terms: Sequence[_Term]) -> str:
    if not terms:
        return NO_ALERTS
    texts = []
    for i, term in enumerate(terms):
        number = _number_text(f"rule{i}_value")
        text = f" || {number} || ".join(text_literal(piece) for piece in term.alert.split(VALUE_MARK))
        texts.append(f"CASE WHEN rule{i}_applies THEN {text} END")
    any_applies = " OR ".join(f"rule{i}_applies" for i in range(len(terms)))
    alerts = f"list_filter([{', '.join(texts)}], lambda text: text IS NOT NULL)"
    return f"CASE WHEN {any_applies} THEN {alerts} ELSE {NO_ALERTS} END"


def _number_text(value: str) -> str:
    # As Python prints it, a whole number as an int: the store does not know 12345 from 12345.0. From 1e16 on, Python
    # and DuckDB both write an exponent.
    whole = f"{value} = trunc({value}) AND abs({value}) < 1e16"
    return f"CASE WHEN {whole} THEN CAST(CAST({value} AS BIGINT) AS VARCHAR) ELSE CAST({value} AS VARCHAR) END"


def _enum(values: Sequence[str]) -> str:
    return f"ENUM({', '.join(map(text_literal, values))})"


def _version(settings: RulesSettings) -> str:
    everything = {
        "revision": SELECT_REVISION,
        "rules": [dataclasses.asdict(rule) for rule in RULES],
        "settings": settings.model_dump(mode="json"),
    }
    return hashlib.sha256(orjson.dumps(everything, option=orjson.OPT_SORT_KEYS)).hexdigest()[:16]
