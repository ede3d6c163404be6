"""Custom rules: what an expression may say, and that nothing else gets through."""

from __future__ import annotations

from typing import Any

import duckdb
import pyarrow as pa
import pytest

from grader.arrow import TRACE_SCHEMA
from grader.errors import SettingsError
from grader.rules import compile_rules, grade_batch
from grader.rules.sandbox import locked_down_connection
from grader.settings import AgentRules, CustomRule, RulesSettings


def batch(*rows: dict[str, Any]) -> pa.Table:
    filled = [{name: row.get(name) for name in TRACE_SCHEMA.names} | {"trace_id": str(i)} for i, row in enumerate(rows)]
    return pa.Table.from_pylist(filled, schema=pa.schema([pa.field(field.name, field.type) for field in TRACE_SCHEMA]))


def with_rule(**rule: Any) -> RulesSettings:
    return RulesSettings(custom=(CustomRule(**({"name": "mine", "alert": "Mine"} | rule)),))


def outcomes(rules: RulesSettings, *rows: dict[str, Any]) -> list[tuple[str, float | None, int, list[str]]]:
    graded = grade_batch(batch(*rows), compile_rules(rules)).to_pylist()
    found = []
    for row in graded:
        (entry,) = [entry for entry in row["outcomes"] if entry["rule"] == "mine"]
        found.append((entry["outcome"], entry["value"], entry["deducted_milli"], row["alerts"]))
    return found


ALLOWED = [
    pytest.param("cost_usd > 0.5", {"cost_usd": 0.6}, ("cost_usd",), id="comparison"),
    pytest.param("COST_USD > 0.5 -- dear", {"cost_usd": 0.6}, ("cost_usd",), id="capitals and a comment"),
    pytest.param("tags['plan'] = 'pro'", {"tags": {"plan": "pro"}}, ("tags",), id="map"),
    pytest.param("list_contains(tool_names, 'refund')", {"tool_names": ["refund"]}, ("tool_names",), id="list"),
    pytest.param(
        "len(list_filter(tool_names, lambda tool: tool = 'refund')) > 1",
        {"tool_names": ["refund", "refund"]},
        ("tool_names",),
        id="lambda",
    ),
    pytest.param(
        "len([t for t in tool_names if t = 'x']) = 1", {"tool_names": ["x"]}, ("tool_names",), id="comprehension"
    ),
    pytest.param("regexp_matches(final_output, '(?i)sorry')", {"final_output": "Sorry"}, ("final_output",), id="regex"),
    pytest.param("user_message LIKE '%refund%'", {"user_message": "a refund?"}, ("user_message",), id="like"),
    pytest.param("spans::JSON ->> '$[0].kind' = 'tool'", {"spans": '[{"kind": "tool"}]'}, ("spans",), id="json path"),
    pytest.param("tools_called IS NULL", {}, ("tools_called",), id="is null"),
    pytest.param("status IN ('failed', 'blocked')", {"status": "failed"}, ("status",), id="in"),
    pytest.param("num_turns BETWEEN 2 AND 4 AND NOT tool_errors > 1", {"num_turns": 3, "tool_errors": 0}, (), id="and"),
    pytest.param("if(coalesce(cost_usd, 0) = 0, true, false)", {}, ("cost_usd",), id="if"),
    pytest.param("duration_ms / nullif(num_turns, 0) > 5", {"duration_ms": 60.0, "num_turns": 3}, (), id="nullif"),
]


@pytest.mark.parametrize(("when", "row", "columns"), ALLOWED)
def test_expressions_over_the_trace_columns(when: str, row: dict[str, Any], columns: tuple[str, ...]) -> None:
    rules = with_rule(when=when, deduction=0.25)
    assert outcomes(rules, row)[0][:3] == ("failed", 1.0, 250)
    added = set(compile_rules(rules).columns) - set(compile_rules(RulesSettings()).columns)
    assert added == set(columns)


REFUSED = [
    pytest.param("read_text('/etc/passwd') IS NOT NULL", "function 'read_text' is not allowed", id="file"),
    pytest.param("query('SELECT 1')", "function 'query' is not allowed", id="sql text"),
    pytest.param("(SELECT count(*) FROM batch) > 0", "a subquery", id="subquery"),
    pytest.param("EXISTS (SELECT 1)", "a subquery", id="exists"),
    pytest.param("agent IN (SELECT agent FROM batch)", "a subquery", id="in subquery"),
    pytest.param("agent IN (FROM '/etc/passwd')", "a subquery", id="from a file"),
    pytest.param("duration_ms > ALL (SELECT 1)", "a subquery", id="all"),
    pytest.param("list_filter(tool_names, lambda x: x IN (SELECT 'a')) = []", "a subquery", id="hidden in a lambda"),
    pytest.param("1; DROP TABLE batch", "no other statement", id="second statement"),
    pytest.param("true; SELECT false", "no second statement", id="second select"),
    pytest.param("true;", "syntax error", id="semicolon"),
    pytest.param("1) FROM x --", "syntax error", id="closes our bracket"),
    pytest.param("1) FROM x WHERE (1", "syntax error", id="closes and opens"),
    pytest.param("1)) FROM x WHERE ((1", "syntax error", id="closes and opens two"),
    pytest.param("true) AND (true", "syntax error", id="balanced from outside"),
    pytest.param("true /* open", "unterminated", id="open comment"),
    pytest.param("true FROM batch", "only a single expression", id="from"),
    pytest.param("true WHERE true", "only a single expression", id="where"),
    pytest.param("true ORDER BY 1", "only a single expression", id="order by"),
    pytest.param("true LIMIT 1", "only a single expression", id="limit"),
    pytest.param("true QUALIFY true", "only a single expression", id="qualify"),
    pytest.param("true UNION SELECT false", "only a single expression", id="union"),
    pytest.param("DISTINCT true", "only a single expression", id="distinct"),
    pytest.param("true, false", "only a single expression", id="two values"),
    pytest.param("cost_usd > 1 AS rule0_value", "has no name", id="alias"),
    pytest.param("rule0_value: true", "has no name", id="alias in front"),
    pytest.param("*", "not allowed", id="star"),
    pytest.param("COLUMNS('cost.*') > 1", "not allowed", id="columns"),
    pytest.param("#1 > 1", "a column by its position", id="position"),
    pytest.param("? > 1", "a parameter", id="parameter"),
    pytest.param("sum(cost_usd) > 1", "function 'sum' is not allowed", id="aggregate"),
    pytest.param("geomean(cost_usd) > 1", "function 'geomean' is not allowed", id="aggregate in a macro"),
    pytest.param("row_number() OVER () > 1", "a window function", id="window"),
    pytest.param("unnest([1]) > 0", "function 'unnest' is not allowed", id="unnest"),
    pytest.param("getenv('HOME') = 'x'", "function 'getenv' is not allowed", id="environment"),
    pytest.param("getvariable('x') IS NULL", "function 'getvariable' is not allowed", id="variable"),
    pytest.param("current_setting('threads') = '1'", "function 'current_setting' is not allowed", id="settings"),
    pytest.param("pg_sleep(5) IS NULL", "function 'pg_sleep' is not allowed", id="sleep"),
    pytest.param("system.main.sleep_ms(5) IS NULL", "function 'sleep_ms' is not allowed", id="sleep, qualified"),
    pytest.param("write_log('x') IS NULL", "function 'write_log' is not allowed", id="log"),
    pytest.param("nextval('s') > 1", "function 'nextval' is not allowed", id="sequence"),
    pytest.param("random() > 0.5", "function 'random' is not allowed", id="chance"),
    pytest.param("started_at < now()", "function 'now' is not allowed", id="clock"),
    pytest.param("age(started_at) > INTERVAL 1 DAY", "function 'age' is not allowed", id="hidden clock"),
    pytest.param("day < current_date", "no column 'current_date'", id="clock as a word"),
    pytest.param("json_serialize_plan('SELECT 1') IS NULL", "is not allowed", id="plans sql text"),
    pytest.param("COPY batch TO '/tmp/x'", "syntax error", id="copy"),
    pytest.param("ATTACH 'x.db'", "Type with name", id="attach reads as a typed literal"),
    pytest.param("INSTALL httpfs", "has no name", id="install reads as a column with an alias"),
    pytest.param("head IS NULL", "no column 'head'", id="internal column"),
    pytest.param("batch.cost_usd > 1", "'batch.cost_usd' is not a column", id="table prefix"),
    pytest.param("cost_usdd > 1", r"no column 'cost_usdd' \(did you mean 'cost_usd'\?\)", id="unknown column"),
    pytest.param("lenght(final_output) > 1", r"'lenght' is not allowed here \(did you mean 'length'\?\)", id="typo"),
    pytest.param("NULL", "must give true or false", id="null"),
    pytest.param("cost_usd > 'x'::BOOLEAN AND", "syntax error", id="cut off"),
    pytest.param("", "it is empty", id="empty"),
]


@pytest.mark.parametrize(("when", "message"), REFUSED)
def test_anything_but_an_expression_is_refused_with_a_quote_and_a_reason(when: str, message: str) -> None:
    with pytest.raises(SettingsError, match=message) as refused:
        compile_rules(with_rule(when=when))
    assert f"rules.custom 'mine' when = {when!r}" in str(refused.value)
    with pytest.raises(SettingsError, match=r"rules\.custom 'mine' value"):
        compile_rules(with_rule(when="true", value=when or " "))


@pytest.mark.parametrize(
    "statement",
    [
        pytest.param("SELECT * FROM read_text('/etc/passwd')", id="file"),
        pytest.param("SELECT * FROM '/etc/passwd'", id="file by name"),
        pytest.param("COPY (SELECT 1) TO '/tmp/gradebook-must-not-exist.csv'", id="write"),
        pytest.param("ATTACH '/tmp/gradebook-must-not-exist.db'", id="attach"),
        pytest.param("SET enable_external_access = true", id="unlock"),
        pytest.param("SET TimeZone = 'Asia/Tokyo'", id="configure"),
        pytest.param("INSTALL httpfs", id="install"),
        pytest.param("SELECT * FROM secret_table", id="python variable"),
        pytest.param("SELECT getenv('HOME')", id="environment"),
    ],
)
def test_even_whole_statements_reach_nothing_on_the_locked_connection(statement: str) -> None:
    secret_table = pa.table({"secret": [1]})
    with locked_down_connection() as connection, pytest.raises(duckdb.Error):
        connection.execute(statement)
    assert secret_table.num_rows == 1


def test_a_value_is_shown_and_stands_in_the_alert() -> None:
    rules = with_rule(
        when="cost_usd > 0.5", value="cost_usd * 100", alert="Costs {value} cents, not {limit}", deduction=0.15
    )
    assert outcomes(rules, {"cost_usd": 0.75}, {"cost_usd": 0.6251}, {"cost_usd": 0.5}, {"cost_usd": None}) == [
        ("failed", 75.0, 150, ["Costs 75 cents, not {limit}"]),
        ("failed", 62.51, 150, ["Costs 62.51 cents, not {limit}"]),
        ("passed", 50.0, 0, []),
        ("not_applicable", None, 0, []),
    ]


def test_without_a_deduction_it_flags() -> None:
    assert outcomes(with_rule(when="cost_usd > 0.5"), {"cost_usd": 1.0}) == [("flagged", 1.0, 0, ["Mine"])]


@pytest.mark.parametrize(
    ("when", "value"),
    [
        pytest.param("CAST(release AS INTEGER) > 0", None, id="cast"),
        pytest.param("length(repeat('x', num_turns * 1000000000000)) > 0", None, id="far too long"),
        pytest.param("regexp_matches(user_message, release)", None, id="broken regex"),
        pytest.param("tool_errors >= 0", "1 / tool_errors", id="value divided by zero"),
        pytest.param("tool_errors >= 0", "1e308 * 1e10 * num_turns", id="value not finite"),
        pytest.param("len(list_filter(['(', release], lambda x: x::INTEGER > 0)) > 0", None, id="inside a lambda"),
    ],
)
def test_what_cannot_be_computed_for_a_trace_is_not_applicable_there(when: str, value: str | None) -> None:
    odd = {"release": "(", "user_message": "x", "tool_errors": 0, "num_turns": 1, "answer_chars": 99}
    rules = with_rule(when=when, value=value, deduction=0.5)
    graded = grade_batch(batch(odd), compile_rules(rules)).to_pylist()[0]
    assert outcomes(rules, odd)[0][:3] == ("not_applicable", None, 0)
    assert graded["rule_score_milli"] == 1000


def test_one_odd_trace_does_not_touch_the_others() -> None:
    rules = with_rule(when="CAST(release AS INTEGER) > 2", value="CAST(release AS INTEGER)", deduction=0.5)
    found = outcomes(rules, {"release": "3"}, {"release": "three"}, {"release": "1"})
    assert [entry[:2] for entry in found] == [("failed", 3.0), ("not_applicable", None), ("passed", 1.0)]


def test_a_rule_for_some_agents_gives_the_others_no_outcome() -> None:
    rules = compile_rules(with_rule(when="true", agents=("shop", "o'brien"), deduction=0.1))
    rows = [{"agent": agent, "answer_chars": 99} for agent in ("shop", "o'brien", "research", None)]
    graded = grade_batch(batch(*rows), rules).to_pylist()
    assert ["mine" in [entry["rule"] for entry in row["outcomes"]] for row in graded] == [True, True, False, False]
    assert [row["rule_score_milli"] for row in graded] == [900, 900, 1000, 1000]


def test_a_custom_rule_can_be_disabled_for_one_agent() -> None:
    settings = with_rule(when="true", deduction=0.1).model_copy(
        update={"agents": {"shop": AgentRules(disabled=("mine",))}}
    )
    rows = [{"agent": agent, "answer_chars": 99} for agent in ("shop", "other")]
    assert grade_batch(batch(*rows), compile_rules(settings))["rule_score_milli"].to_pylist() == [1000, 900]


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        pytest.param(with_rule(name="latency", when="true"), "'latency': another rule has this name", id="built-in"),
        pytest.param(
            RulesSettings(
                custom=(CustomRule(name="a", when="true", alert="A"), CustomRule(name="a", when="true", alert="B"))
            ),
            "'a': another rule has this name",
            id="twice",
        ),
        pytest.param(with_rule(when="true", alert="{value} ms"), "needs a value", id="alert without value"),
        pytest.param(with_rule(when="true", deduction=0.00001), "deduction = 1e-05", id="deduction"),
        pytest.param(with_rule(when="cost_usd"), "gives DOUBLE; it must give true or false", id="no condition"),
        pytest.param(with_rule(when="true", value="agent"), "gives VARCHAR; it must give a number", id="text value"),
        pytest.param(with_rule(when="true", value="true"), "gives BOOLEAN; it must give a number", id="boolean value"),
    ],
)
def test_contradictory_rules_are_refused(rules: RulesSettings, message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        compile_rules(rules)


def test_quotes_and_braces_in_an_alert_stay_text() -> None:
    found = outcomes(with_rule(when="true", alert="It's {odd} -- '; DROP TABLE x"), {"answer_chars": 99})
    assert found[0][3] == ["It's {odd} -- '; DROP TABLE x"]
