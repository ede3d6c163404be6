"""From settings to a judge, and what it would cost to ask it."""

from __future__ import annotations

from collections.abc import Iterable

from pydantic import SecretStr

from grader.judge.contract import CallEstimate, Judge, JudgeInput
from grader.judge.offline import OfflineJudge
from grader.judge.openai_judge import TYPICAL_OUTPUT_TOKENS, OpenAIJudge, price_usd
from grader.settings import JudgeSettings


def make_judge(settings: JudgeSettings, api_key: SecretStr | None) -> Judge | None:
    """The judge that the settings ask for; None when there is none to ask: `why_no_judge` says why.

    Never a substitute: without a key the provider `openai` gives None, and the traces stay pending. Raises
    SettingsError for a prompt limit or a budget that cannot work.
    """
    if why_no_judge(settings, api_key) is not None:
        return None
    if settings.provider == "offline" or api_key is None:
        return OfflineJudge(settings)
    return OpenAIJudge(settings, api_key)


def why_no_judge(settings: JudgeSettings, api_key: SecretStr | None) -> str | None:
    """Why `make_judge` gives None, as a sentence; None when there is a judge."""
    if settings.provider == "none":
        return "No judge is configured (judge.provider = 'none')."
    if settings.provider == "openai" and (api_key is None or not api_key.get_secret_value().strip()):
        return f"The judge needs an API key: set the environment variable {settings.api_key_env}."
    return None


def estimate(inputs: Iterable[JudgeInput], settings: JudgeSettings) -> CallEstimate:
    """What judging `inputs` would take, without asking anybody; needs no key.

    Tokens are guessed as a quarter of the prompt's UTF-8 bytes, and 200 for each reply. Raises SettingsError as
    `make_judge` does.
    """
    if settings.provider != "openai":
        calls = 0 if settings.provider == "none" else sum(1 for _ in inputs)
        return CallEstimate(calls=calls, input_tokens=0, output_tokens=0, cost_usd=0.0)
    judge = OpenAIJudge(settings, SecretStr("not used: nothing is sent"))
    calls = input_tokens = 0
    for item in inputs:
        calls += 1
        input_tokens += judge.expected_tokens(item)
    output_tokens = calls * TYPICAL_OUTPUT_TOKENS
    return CallEstimate(
        calls=calls,
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        cost_usd=price_usd(settings, input_tokens, output_tokens),
    )
