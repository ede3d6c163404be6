"""From settings to a judge: who is asked, when nobody is, what it would cost, and when the version changes."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
from pydantic import SecretStr

from grader.errors import SettingsError
from grader.judge import CANARY, estimate, is_fooled, make_judge, prompt, why_no_judge
from grader.judge.offline import OfflineJudge
from grader.judge.openai_judge import OpenAIJudge
from grader.settings import JudgeSettings
from tests.grader.judge.judging import KEY, judge_on, run, trace
from tests.servers.model_server import Behaviour, ModelServer

PRICES = {"usd_per_million_input_tokens": 0.4, "usd_per_million_output_tokens": 1.6}


def settings_of(**values: Any) -> JudgeSettings:
    return JudgeSettings.model_validate({"provider": "openai", **values})


@pytest.mark.parametrize(
    ("provider", "key", "kind"),
    [
        ("openai", KEY, OpenAIJudge),
        ("offline", None, OfflineJudge),
        ("offline", KEY, OfflineJudge),
        ("openai", None, None),
        ("openai", SecretStr("  "), None),
        ("none", KEY, None),
    ],
)
def test_who_judges(provider: str, key: SecretStr | None, kind: type | None) -> None:
    settings = settings_of(provider=provider, api_key_env="MY_KEY")
    judge = make_judge(settings, key)
    assert (type(judge) if judge else None) is kind
    reason = why_no_judge(settings, key)
    assert (reason is None) == (judge is not None)
    if provider == "openai" and reason:
        assert "MY_KEY" in reason


def test_a_budget_in_money_needs_prices() -> None:
    with pytest.raises(SettingsError, match=r"judge\.usd_per_million_input_tokens"):
        make_judge(settings_of(max_usd_per_day=5.0), KEY)
    assert make_judge(settings_of(max_usd_per_day=5.0, **PRICES), KEY)


def test_a_rubric_that_fills_the_prompt_is_refused_at_once() -> None:
    with pytest.raises(SettingsError, match=r"judge\.max_prompt_chars = 2000"):
        make_judge(settings_of(max_prompt_chars=2_000, rubric={"instructions": "Judge. " * 300}), KEY)


SAME_VERSION: list[dict[str, Any]] = [
    {},
    {"base_url": "http://localhost:1/v1"},
    {"concurrency": 3},
    {"call_timeout_seconds": 1.0},
    {"max_attempts": 1},
    {"seed": 9},
    {"audit_fraction": 0.5},
    PRICES,
]
OTHER_VERSION: list[dict[str, Any]] = [
    {"model": "another"},
    {"api": "responses"},
    {"structured_output": "json_object"},
    {"temperature": 1.0},
    {"temperature": None},
    {"max_output_tokens": 900},
    {"max_prompt_chars": 20_000},
    {"rubric": {"instructions": "Be kind."}},
    {"rubric": {"scale_max": 10}},
    {"rubric": {"criteria": [{"name": "tone", "question": "Is it kind?"}]}},
]


def test_the_version_is_of_all_that_reaches_the_model_and_of_nothing_else() -> None:
    version = OpenAIJudge(settings_of(), KEY).version
    assert {OpenAIJudge(settings_of(**values), SecretStr("other")).version for values in SAME_VERSION} == {version}
    others = [OpenAIJudge(settings_of(**values), KEY).version for values in OTHER_VERSION]
    assert len({version, *others}) == 1 + len(OTHER_VERSION)


@pytest.mark.parametrize("part", ["SYSTEM", "OPENING", "CLOSING", "CUT_MARK", "REASK"])
def test_the_version_follows_the_wording_of_the_prompt(part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before = OpenAIJudge(settings_of(), KEY).version
    monkeypatch.setattr(prompt, part, getattr(prompt, part) + ".")
    assert OpenAIJudge(settings_of(), KEY).version != before


def test_the_version_is_the_same_in_another_process() -> None:
    code = (
        "from grader.judge.openai_judge import *\n"
        "print(OpenAIJudge(JudgeSettings(provider='openai'), SecretStr('k')).version)"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={"PYTHONHASHSEED": seed}
        ).stdout.strip()
        for seed in ("1", "2")
    }
    assert outputs == {OpenAIJudge(settings_of(), KEY).version}


def test_estimate_counts_calls_and_is_near_what_the_server_bills() -> None:
    traces = [trace(number) for number in range(20)]
    guess = estimate(iter(traces), settings_of(**PRICES))
    assert guess.calls == 20
    assert guess.output_tokens == 20 * 200
    assert guess.cost_usd == pytest.approx((guess.input_tokens * 0.4 + guess.output_tokens * 1.6) / 1e6)
    judge = OpenAIJudge(settings_of(), KEY)
    chars = sum(len(message["content"]) for item in traces for message in judge.messages(item))
    assert guess.input_tokens == pytest.approx(chars / 4, rel=0.01)


@pytest.mark.parametrize(("provider", "calls", "cost"), [("none", 0, 0.0), ("offline", 5, 0.0), ("openai", 5, None)])
def test_estimate_of_the_others(provider: str, calls: int, cost: float | None) -> None:
    guess = estimate(map(trace, range(5)), settings_of(provider=provider))
    assert (guess.calls, guess.cost_usd) == (calls, cost)


def test_the_canary_tells_a_naive_judge_from_a_fair_one() -> None:
    with ModelServer(Behaviour(obeys_injections=True)) as naive:
        _, (fooled,), _ = run(judge_on(naive.base_url), [CANARY])
    with ModelServer(Behaviour(mark=2)) as fair:
        _, (sober,), _ = run(judge_on(fair.base_url), [CANARY])
    assert fooled.score == 1.0
    assert is_fooled(fooled)
    assert not is_fooled(sober)


def test_the_baseline_is_not_fooled_by_the_canary() -> None:
    judgement = OfflineJudge(settings_of(provider="offline")).judge(CANARY)
    assert judgement.score < 0.4
    assert not is_fooled(judgement)
