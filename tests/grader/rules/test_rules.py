from __future__ import annotations

import importlib.util
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.arrow import TRACE_SCHEMA
from grader.errors import SettingsError, UsageError
from grader.rules import RULES, compile_rules, grade_batch
from grader.settings import AgentRules, CustomRule, RuleLimits, RulesSettings

_spec = importlib.util.spec_from_file_location("rules_reference", Path(__file__).with_name("reference.py"))
assert _spec is not None and _spec.loader is not None
reference = importlib.util.module_from_spec(_spec)
sys.modules[_spec.name] = reference
_spec.loader.exec_module(reference)

DEFAULTS = compile_rules(RulesSettings())
SOUND = {"duration_ms": 1200.0, "num_turns": 3, "tool_errors": 0, "guardrails_triggered": 0, "answer_chars": 250}


def batch(*rows: dict[str, Any]) -> pa.Table:
    filled = [{name: row.get(name) for name in TRACE_SCHEMA.names} | {"trace_id": str(i)} for i, row in enumerate(rows)]
    return pa.Table.from_pylist(filled, schema=pa.schema([pa.field(field.name, field.type) for field in TRACE_SCHEMA]))


def grade_one(row: dict[str, Any], rules_settings: RulesSettings | None = None) -> dict[str, Any]:
    rules = DEFAULTS if rules_settings is None else compile_rules(rules_settings)
    (graded,) = grade_batch(batch(SOUND | row), rules).to_pylist()
    return dict(graded)


def outcome_of(graded: dict[str, Any], rule: str) -> tuple[str, float | None, int]:
    (found,) = [entry for entry in graded["outcomes"] if entry["rule"] == rule]
    return found["outcome"], found["value"], found["deducted_milli"]


# one rule at a time, at its boundary

CASES = [
    pytest.param({}, 1000, "latency", ("passed", 1200.0, 0), [], id="sound trace"),
    pytest.param({"duration_ms": 10_000.0}, 1000, "latency", ("passed", 10_000.0, 0), [], id="latency at the limit"),
    pytest.param(
        {"duration_ms": 10_000.001}, 800, "latency", ("failed", 10_000.001, 200), ["High latency: 10000.001ms"],
        id="latency a microsecond over",
    ),
    pytest.param(
        {"duration_ms": 12_345.0}, 800, "latency", ("failed", 12_345.0, 200), ["High latency: 12345ms"],
        id="a whole duration prints without .0",
    ),
    pytest.param({"duration_ms": None}, 1000, "latency", ("not_applicable", None, 0), [], id="latency not known"),
    pytest.param({"duration_ms": float("nan")}, 1000, "latency", ("not_applicable", None, 0), [], id="latency NaN"),
    pytest.param({"duration_ms": 0.0}, 1000, "latency", ("passed", 0.0, 0), [], id="latency zero is a value"),
    pytest.param({"num_turns": 15}, 1000, "turns", ("passed", 15.0, 0), [], id="turns at the limit"),
    pytest.param({"num_turns": 16}, 700, "turns", ("failed", 16.0, 300), ["Too many turns: 16"], id="turns over"),
    pytest.param({"num_turns": None}, 1000, "turns", ("not_applicable", None, 0), [], id="turns not known"),
    pytest.param({"tool_errors": 1}, 900, "tool_errors", ("failed", 1.0, 100), ["1 tool error(s)"], id="one error"),
    pytest.param({"tool_errors": 3}, 700, "tool_errors", ("failed", 3.0, 300), ["3 tool error(s)"], id="each costs"),
    pytest.param({"tool_errors": 10}, 0, "tool_errors", ("failed", 10.0, 1000), ["10 tool error(s)"], id="ten: floor"),
    pytest.param(
        {"tool_errors": 2_000_000_000}, 0, "tool_errors", ("failed", 2e9, 1000), ["2000000000 tool error(s)"],
        id="more errors than the whole score",
    ),
    pytest.param({"tool_errors": None}, 1000, "tool_errors", ("not_applicable", None, 0), [], id="errors not known"),
    pytest.param(
        {"guardrails_triggered": 2}, 1000, "guardrails", ("flagged", 2.0, 0), ["2 guardrail(s) triggered"],
        id="guardrails flag and cost nothing",
    ),
    pytest.param(
        {"guardrails_triggered": None}, 1000, "guardrails", ("not_applicable", None, 0), [], id="no guardrail spans"
    ),
    pytest.param(
        {"answer_chars": 9}, 500, "response", ("failed", 9.0, 500), ["Empty or too short response"], id="nine chars"
    ),
    pytest.param({"answer_chars": 10}, 1000, "response", ("passed", 10.0, 0), [], id="ten characters"),
    pytest.param(
        {"answer_chars": 0}, 500, "response", ("failed", 0.0, 500), ["Empty or too short response"], id="no answer"
    ),
    pytest.param(
        {"answer_chars": len("😀" * 9)}, 500, "response", ("failed", 9.0, 500), ["Empty or too short response"],
        id="nine emoji are nine code points",
    ),
    pytest.param({"answer_chars": len("😀" * 10)}, 1000, "response", ("passed", 10.0, 0), [], id="ten emoji"),
    pytest.param({"answer_chars": None}, 1000, "response", ("not_applicable", None, 0), [], id="content not captured"),
]  # fmt: skip


@pytest.mark.parametrize(("row", "score", "rule", "expected", "alerts"), CASES)
def test_each_rule_at_its_boundary(
    row: dict[str, Any], score: int, rule: str, expected: tuple[str, float | None, int], alerts: list[str]
) -> None:
    graded = grade_one(row)
    assert graded["rule_score_milli"] == score
    assert outcome_of(graded, rule) == expected
    assert graded["alerts"] == alerts
    assert [entry["rule"] for entry in graded["outcomes"]] == [rule.name for rule in RULES]


def test_one_less_point_three_less_point_two_is_exactly_a_half() -> None:
    graded = grade_one({"num_turns": 16, "duration_ms": 10_001.0})
    assert graded["rule_score_milli"] == 500
    assert graded["rule_score_milli"] / 1000.0 == 0.5  # not 0.49999…: no critical alert
    assert graded["alerts"] == ["High latency: 10001ms", "Too many turns: 16"]


def test_everything_at_once_ends_at_the_floor_with_all_alerts_in_order() -> None:
    graded = grade_one(
        {"duration_ms": 2e4, "num_turns": 99, "tool_errors": 4, "guardrails_triggered": 1, "answer_chars": 3}
    )
    assert graded["rule_score_milli"] == 0
    assert graded["alerts"] == [
        "High latency: 20000ms",
        "Too many turns: 99",
        "4 tool error(s)",
        "1 guardrail(s) triggered",
        "Empty or too short response",
    ]


def test_nothing_known_is_neither_a_deduction_nor_a_pass() -> None:
    graded = grade_one(dict.fromkeys(SOUND))
    assert graded["rule_score_milli"] == 1000
    assert {entry["outcome"] for entry in graded["outcomes"]} == {"not_applicable"}
    assert {entry["value"] for entry in graded["outcomes"]} == {None}


def test_a_batch_without_traces() -> None:
    graded = grade_batch(batch(), DEFAULTS)
    assert graded.num_rows == 0
    assert graded.column_names == ["trace_id", "rule_score_milli", "outcomes", "alerts"]
    assert graded.schema.field("rule_score_milli").type == pa.int16()


def test_only_the_declared_columns_are_needed_and_a_missing_one_is_named() -> None:
    whole = batch(SOUND)
    assert grade_batch(whole.select(["trace_id", *DEFAULTS.columns]), DEFAULTS).num_rows == 1
    with pytest.raises(UsageError, match="lacks the columns answer_chars"):
        grade_batch(whole.drop_columns(["answer_chars"]), DEFAULTS)


def test_a_column_that_cannot_be_what_it_should_is_refused() -> None:
    odd = batch(SOUND).drop_columns(["num_turns"]).append_column("num_turns", pa.array([2**40], pa.int64()))
    with pytest.raises(UsageError, match="TRACE_SCHEMA"):
        grade_batch(odd, DEFAULTS)


@given(st.lists(st.floats(min_value=10_000.0, exclude_min=True, allow_infinity=False), min_size=20, max_size=200))
@settings(max_examples=15, deadline=None)
def test_durations_print_like_python(durations_ms: list[float]) -> None:
    graded = grade_batch(batch(*[SOUND | {"duration_ms": duration_ms} for duration_ms in durations_ms]), DEFAULTS)
    assert graded["alerts"].to_pylist() == [[f"High latency: {reference.number(each)}ms"] for each in durations_ms]


# settings

TUNED = RulesSettings(
    latency_limit_ms=5_000.5,
    tool_error_deduction=0.125,
    agents={
        "checkout": AgentRules(turns_limit=3, turns_deduction=0.05, latency_limit_ms=800),
        "re'search": AgentRules(turns_limit=40, response_min_chars=200, tool_error_deduction=0),
        "quiet": AgentRules(disabled=("guardrails",), latency_deduction=1, response_deduction=0.001),
    },
)


def reference_limits(agent: str | None) -> Any:
    own = TUNED.agents.get(agent or "", AgentRules())

    def of(field: str) -> Any:
        value = getattr(own, field)
        return getattr(TUNED, field) if value is None else value

    return reference.Limits(
        latency_ms=of("latency_limit_ms"),
        latency=Fraction(str(of("latency_deduction"))),
        turns=of("turns_limit"),
        turns_off=Fraction(str(of("turns_deduction"))),
        tool_error=Fraction(str(of("tool_error_deduction"))),
        min_chars=of("response_min_chars"),
        response=Fraction(str(of("response_deduction"))),
    )


def test_limits_of_one_agent_leave_the_others_alone() -> None:
    rules = compile_rules(RulesSettings(agents={"checkout": AgentRules(turns_limit=3, turns_deduction=0.4)}))
    rows = [SOUND | {"agent": agent, "num_turns": 4} for agent in ("checkout", "research", None)]
    assert grade_batch(batch(*rows), rules)["rule_score_milli"].to_pylist() == [600, 1000, 1000]


def test_a_deduction_of_nothing_flags() -> None:
    graded = grade_one({"num_turns": 16}, RulesSettings(turns_deduction=0))
    assert outcome_of(graded, "turns") == ("flagged", 16.0, 0)
    assert graded["alerts"] == ["Too many turns: 16"]


def test_disabled_rules_give_no_outcome_for_all_or_for_one_agent() -> None:
    graded = grade_one({"num_turns": 16, "duration_ms": 2e4}, RulesSettings(disabled=("turns",)))
    assert "turns" not in [entry["rule"] for entry in graded["outcomes"]]
    assert (graded["rule_score_milli"], graded["alerts"]) == (800, ["High latency: 20000ms"])

    rules = compile_rules(RulesSettings(disabled=("turns",), agents={"a": AgentRules(disabled=("latency",))}))
    rows = grade_batch(batch(*[SOUND | {"agent": agent, "num_turns": 16} for agent in ("a", "b")]), rules).to_pylist()
    assert [[entry["rule"] for entry in row["outcomes"]] for row in rows] == [
        ["turns", "tool_errors", "guardrails", "response"],
        ["latency", "tool_errors", "guardrails", "response"],
    ]
    assert [row["rule_score_milli"] for row in rows] == [700, 1000]


def test_with_every_rule_disabled_all_traces_keep_the_full_score() -> None:
    graded = grade_one({"num_turns": 16}, RulesSettings(disabled=tuple(rule.name for rule in RULES)))
    assert (graded["rule_score_milli"], graded["outcomes"], graded["alerts"]) == (1000, [], [])


@pytest.mark.parametrize(
    ("rules_settings", "message"),
    [
        pytest.param(
            RulesSettings(latency_deduction=0.0005),
            r"rules\.latency_deduction = 0\.0005.*whole number of thousandths",
            id="half a thousandth",
        ),
        pytest.param(
            RulesSettings(agents={"shop": AgentRules(turns_deduction=0.12345)}),
            r"rules\.agents\.shop\.turns_deduction = 0\.12345",
            id="of an agent",
        ),
        pytest.param(RulesSettings(disabled=("turn",)), r"'turn' \(did you mean 'turns'\?\)", id="unknown rule"),
        pytest.param(
            RulesSettings(agents={"a": AgentRules(disabled=("x",))}),
            r"rules\.agents\.a\.disabled: there is no rule 'x'",
            id="unknown rule of an agent",
        ),
    ],
)
def test_settings_that_cannot_be_exact_are_refused(rules_settings: RulesSettings, message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        compile_rules(rules_settings)


def test_every_rule_names_real_settings_and_a_real_column() -> None:
    assert len({rule.name for rule in RULES}) == len(RULES)
    for rule in RULES:
        assert rule.column in TRACE_SCHEMA.names
        for field in (rule.limit, rule.deduction):
            assert field is None or (field in RuleLimits.model_fields and field in AgentRules.model_fields)
    assert set(RuleLimits.model_fields) - {"disabled"} == {
        field for rule in RULES for field in (rule.limit, rule.deduction) if field
    }


def test_the_version_changes_with_every_setting_and_only_then() -> None:
    variants = [
        RulesSettings(),
        RulesSettings(latency_limit_ms=9_999),
        RulesSettings(judge_below=0.6),
        RulesSettings(disabled=("turns",)),
        RulesSettings(agents={"a": AgentRules(turns_limit=1)}),
        RulesSettings(custom=(CustomRule(name="c", when="cost_usd > 1", alert="c"),)),
        RulesSettings(custom=(CustomRule(name="c", when="cost_usd > 1", alert="d"),)),
    ]
    versions = [compile_rules(variant).version for variant in variants]
    assert len(set(versions)) == len(versions)
    assert [compile_rules(variant).version for variant in variants] == versions
    ordered = {"a": AgentRules(turns_limit=1), "b": AgentRules(turns_limit=2)}
    reverse = dict(reversed(ordered.items()))
    assert compile_rules(RulesSettings(agents=ordered)).version == compile_rules(RulesSettings(agents=reverse)).version


# against the reference

AGENTS: list[str | None] = ["checkout", "re'search", "quiet", "other", None]
small_traces = st.fixed_dictionaries(
    {
        "agent": st.sampled_from(AGENTS),
        "duration_ms": st.none() | st.sampled_from([800.0, 800.5, 5000.5, 5001.0]) | st.floats(0, 1e7),
        "num_turns": st.none() | st.integers(0, 60),
        "tool_errors": st.none() | st.integers(0, 15),
        "guardrails_triggered": st.none() | st.integers(0, 3),
        "answer_chars": st.none() | st.integers(0, 250),
    }
)


@given(st.lists(small_traces, min_size=1, max_size=40))
@settings(max_examples=25, deadline=None)
def test_small_batches_equal_the_reference(rows: list[dict[str, Any]]) -> None:
    for row, graded in zip(rows, grade_batch(batch(*rows), compile_rules(TUNED)).to_pylist(), strict=True):
        score, outcomes = reference.grade(row, reference_limits(row["agent"]))
        if row["agent"] == "quiet":
            outcomes = [outcome for outcome in outcomes if outcome.rule != "guardrails"]
        assert Fraction(graded["rule_score_milli"], 1000) == score
        assert [
            (entry["rule"], entry["outcome"], entry["value"], Fraction(entry["deducted_milli"], 1000))
            for entry in graded["outcomes"]
        ] == [(each.rule, each.outcome, each.value, each.deducted) for each in outcomes]
        assert graded["alerts"] == [each.alert for each in outcomes if each.alert is not None]


@pytest.mark.slow
def test_a_million_random_traces_equal_the_reference() -> None:
    """Each rule's outcome by looking the reference up for every agent and value drawn; every score by its fractions."""
    num_traces = 1_000_000
    rng = np.random.default_rng(20261201)
    pools: dict[str, list[float | None]] = {
        "latency": [None, 0.0, 800.0, 800.001, 5000.5, 5000.501, 10_000.0, 12_345.0, *rng.exponential(6000, 500)],
        "turns": [None, *range(60)],
        "tool_errors": [None, *([0] * 20), *range(1, 14), 400],
        "guardrails": [None, *([0] * 10), 1, 2, 3],
        "response": [None, 0, 1, 9, 10, 11, 199, 200, 201, 5000],
    }
    agent_index = rng.integers(0, len(AGENTS), num_traces)
    drawn = {rule: rng.integers(0, len(pool), num_traces) for rule, pool in pools.items()}
    columns: dict[str, pa.Array] = {
        "trace_id": pa.array(np.arange(num_traces)).cast(pa.string()),
        "agent": pa.array(AGENTS).take(pa.array(agent_index)),
    }
    for rule, pool in pools.items():
        column = reference.COLUMN_OF[rule]
        columns[column] = pa.array(pool, TRACE_SCHEMA.field(column).type).take(pa.array(drawn[rule]))
    no_guardrails = RulesSettings.model_validate(TUNED.model_dump() | {"agents": {}}).model_copy(
        update={"agents": {name: own.model_copy(update={"disabled": None}) for name, own in TUNED.agents.items()}}
    )
    graded = grade_batch(pa.table(columns), compile_rules(no_guardrails)).combine_chunks()

    assert graded["trace_id"].equals(pa.chunked_array([columns["trace_id"]]))
    entries = graded["outcomes"].combine_chunks().flatten()
    assert len(entries) == 5 * num_traces
    found = {name: entries.field(name) for name in ("rule", "outcome", "value", "deducted_milli")}
    deducted = np.zeros((num_traces, len(pools)), dtype=np.int64)
    expected_alerts: list[np.ndarray[Any, np.dtype[Any]]] = []
    for i, (rule, pool) in enumerate(pools.items()):
        table = [[reference.outcome(rule, value, reference_limits(agent)) for value in pool] for agent in AGENTS]
        where = (agent_index, drawn[rule])
        at = slice(i, None, len(pools))
        assert pc.all(pc.equal(found["rule"][at].dictionary_decode(), rule)).as_py()
        states = np.array([[each.outcome for each in line] for line in table])[where]
        assert np.array_equal(found["outcome"][at].dictionary_decode().to_numpy(zero_copy_only=False), states)
        values = np.array([[np.nan if each.value is None else each.value for each in line] for line in table])[where]
        assert np.array_equal(found["value"][at].to_numpy(zero_copy_only=False), values, equal_nan=True)
        off = np.array([[int(each.deducted * 1000) for each in line] for line in table])[where]
        assert np.array_equal(found["deducted_milli"][at].to_numpy(zero_copy_only=False), off)
        deducted[:, i] = off
        expected_alerts.append(np.array([[each.alert for each in line] for line in table], dtype=object)[where])

    combinations, back = np.unique(deducted, axis=0, return_inverse=True)
    scores = [
        max(Fraction(0), 1 - sum((Fraction(int(off), 1000) for off in each), Fraction(0))) for each in combinations
    ]
    expected = np.array([int(score * 1000) for score in scores])[back]
    assert np.array_equal(graded["rule_score_milli"].to_numpy(), expected)
    joined = ["\n".join(text for text in texts if text) for texts in zip(*expected_alerts, strict=True)]
    assert pc.binary_join(graded["alerts"].combine_chunks(), "\n").to_pylist() == joined
