"""The demo's texts are plausible, and the offline judge tells the good answers from the planted bad ones."""

from __future__ import annotations

from collections import defaultdict
from datetime import UTC, date
from functools import cache
from random import Random
from statistics import fmean
from string import Formatter

import pytest

from grader.judge.contract import JudgeInput
from grader.judge.offline import OfflineJudge
from grader.records import ToolCall
from grader.settings import JudgeSettings
from jobs.demo_data import flaws, research, shop, support
from jobs.demo_data.make_runs import DayOfAgent, make_runs
from jobs.demo_data.run import AgentProfile, DemoRun
from jobs.demo_data.schedule import AGENTS
from jobs.demo_data.topics import TEMPLATE_FIELD, Topic

TOPICS = {"support": support.TOPICS, "shop": shop.TOPICS, "research": research.TOPICS}
EVERY_TOPIC = [pytest.param(topic, id=f"{agent}-{topic.name}") for agent, topics in TOPICS.items() for topic in topics]


@cache
def _runs(agent: AgentProfile) -> tuple[DemoRun, ...]:
    days = [
        DayOfAgent(agent=agent, day=date(2026, 11, 3), release="1", num_runs=500, is_bad=is_bad, failing_tool=None)
        for is_bad in (False, True)
    ]
    return tuple(run for today in days for run in make_runs(today, zone=UTC, rng=Random(3)))


def _offline_score(run: DemoRun) -> float:
    tools = tuple(ToolCall(name=c.tool, arguments=c.arguments, output=c.output, error=c.error) for c in run.calls)
    item = JudgeInput(
        trace_id=run.trace_id,
        content_hash=0,
        question=run.question,
        answer=run.answer,
        tools=tools,
        duration_ms=run.duration_ms,
        num_turns=run.num_turns,
    )
    return OfflineJudge(JudgeSettings(provider="offline")).judge(item).score


@pytest.mark.parametrize("agent", AGENTS, ids=lambda agent: agent.name)
def test_no_template_is_left_unfilled_and_no_text_is_filler(agent: AgentProfile) -> None:
    for run in _runs(agent):
        texts = [run.question, run.answer or "", *(f"{call.arguments} {call.output}" for call in run.calls)]
        assert not [text for text in texts if TEMPLATE_FIELD.search(text) or "lorem" in text.casefold()]


@pytest.mark.parametrize("agent", AGENTS, ids=lambda agent: agent.name)
def test_conversations_are_varied(agent: AgentProfile) -> None:
    runs = [run for run in _runs(agent) if run.kind == "good"]
    assert len({run.question for run in runs}) > 0.9 * len(runs)
    assert len({run.answer for run in runs}) > 0.95 * len(runs)
    assert sum(len(topic.questions) for topic in TOPICS[agent.name]) >= 19


@pytest.mark.parametrize("topic", EVERY_TOPIC)
def test_every_fact_of_an_answer_is_in_a_tool_output_or_in_the_question(topic: Topic) -> None:
    facts = topic.facts(Random(1))
    returned = {name for plan in topic.calls for name in plan.output}
    for answer in topic.answers:
        needed = {name for _, name, _, _ in Formatter().parse(answer) if name}
        figures = {name for name in needed if any(char.isdigit() for char in str(facts[name]))}
        assert figures <= returned | set().union(*(plan.arguments for plan in topic.calls))


def test_the_offline_judge_finds_good_answers_good_and_bad_ones_bad() -> None:
    scores: dict[str, list[float]] = defaultdict(list)
    for agent in AGENTS:
        for run in _runs(agent):
            scores[run.kind].append(_offline_score(run))
    means = {kind: fmean(values) for kind, values in scores.items()}
    assert means["good"] > 0.97
    assert min(scores["good"]) > 0.75
    assert 0.7 < means["weak_answer"] < 0.9
    assert means["bad_release"] < 0.55
    assert sum(score < 0.5 for score in scores["bad_release"]) > 0.6 * len(scores["bad_release"])


def test_kinds_of_runs_are_what_they_say() -> None:
    for agent in AGENTS:
        for run in _runs(agent):
            if run.kind == "slow":
                assert run.duration_ms > 10_000
            if run.kind == "many_turns":
                assert run.num_turns > 15
            if run.kind == "tool_errors":
                assert run.tool_errors > 0
            if run.kind == "empty_answer":
                assert run.answer == ""
            if run.kind == "failed":
                assert run.answer is None and run.status == "failed"
            if run.kind in ("good", "weak_answer"):
                assert run.num_turns <= 15 and run.tool_errors == 0


def test_a_wrong_figure_is_another_figure_of_the_same_shape() -> None:
    wrong = flaws.wrong_figures("Invoice R1234567 is EUR 42.50, due in 14 days.", Random(1))
    assert wrong != "Invoice R1234567 is EUR 42.50, due in 14 days."
    assert [len(word) for word in wrong.split()] == [
        len(w) for w in ["Invoice", "R1234567", "is", "EUR", "42.50,", "due", "in", "14", "days."]
    ]
    dated = flaws.wrong_figures("It arrives on 14 November.", Random(1))
    assert dated != "It arrives on 14 November." and 10 <= int(dated.split()[3]) <= 28
    assert "number is" in flaws.wrong_figures("It is on its way.", Random(1))
