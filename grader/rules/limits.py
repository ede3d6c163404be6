"""Limits and deductions of every agent, as SQL: one literal, or a CASE over the agents that differ."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal

from grader.errors import SettingsError
from grader.settings import RulesSettings

FULL_SCORE_MILLI = 1000


def milli(value: float, where: str) -> int:
    """`value` in whole thousandths, exactly as it is written in the settings: 0.3 is 300.

    Raises SettingsError where it is not a whole number of thousandths; `where` names the setting.
    """
    thousandths = Decimal(str(value)) * 1000
    if thousandths != thousandths.to_integral_value():
        nearest = round(thousandths) / Decimal(1000)
        raise SettingsError(f"{where} = {value!r}: a deduction is a whole number of thousandths, like {nearest}")
    return int(thousandths)


def text_literal(text: str) -> str:
    """`text` as an SQL string literal."""
    return "'" + text.replace("'", "''") + "'"


def number_literal(value: float) -> str:
    """`value` as an SQL DOUBLE, bit for bit; a bare 0.1 would be a DECIMAL."""
    return f"CAST('{float(value)!r}' AS DOUBLE)"


def limit_sql(settings: RulesSettings, field: str) -> str:
    """The limit that `field` of RuleLimits sets, for the agent of the row, as a DOUBLE."""
    values = {agent: getattr(own, field) for agent, own in settings.agents.items()}
    return _by_agent(
        number_literal(getattr(settings, field)),
        {agent: number_literal(value) for agent, value in values.items() if value is not None},
    )


def deduction_sql(settings: RulesSettings, field: str) -> str:
    """The deduction that `field` of RuleLimits sets, for the agent of the row, in thousandths.

    Raises SettingsError where one is not a whole number of thousandths.
    """
    values = {agent: getattr(own, field) for agent, own in settings.agents.items()}
    return _by_agent(
        str(milli(getattr(settings, field), f"rules.{field}")),
        {
            agent: str(milli(value, f"rules.agents.{agent}.{field}"))
            for agent, value in values.items()
            if value is not None
        },
    )


def active_sql(settings: RulesSettings, rule: str, only_agents: tuple[str, ...] = ()) -> str:
    """Whether `rule` gives an outcome for the agent of the row: 'true' or 'false' where it is the same for all."""
    default = rule not in settings.disabled and not only_agents
    own = dict.fromkeys(only_agents, rule not in settings.disabled)
    for agent, rules in settings.agents.items():
        if rules.disabled is not None and (not only_agents or agent in only_agents):
            own[agent] = rule not in rules.disabled
    return _by_agent(_boolean(default), {agent: _boolean(active) for agent, active in own.items()})


def _boolean(value: bool) -> str:
    return "true" if value else "false"


def _by_agent(default: str, own: Mapping[str, str]) -> str:
    agents_of: dict[str, list[str]] = {}
    for agent, value in own.items():
        if value != default:
            agents_of.setdefault(value, []).append(agent)
    if not agents_of:
        return default
    cases = " ".join(
        f"WHEN agent IN ({', '.join(map(text_literal, agents))}) THEN {value}" for value, agents in agents_of.items()
    )
    return f"CASE {cases} ELSE {default} END"
