"""What the judge's tests share: traces, settings with short limits, and a way to judge against a server."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pydantic import SecretStr

from grader.judge import Budget, JudgeInput, JudgingSummary, judge_all
from grader.judge.openai_judge import Backoff, OpenAIJudge
from grader.judge.run import NO_LIMIT
from grader.records import JudgeFailure, Judgement, ToolCall
from grader.settings import JudgeSettings

KEY = SecretStr("sk-test-0123456789")
FAST = Backoff(first_seconds=0.01, longest_seconds=0.05)
KEY_PATTERN = r"order-\d+"  # what the model server tells traces apart by


def trace(number: int) -> JudgeInput:
    return JudgeInput(
        trace_id=f"trace-{number}",
        content_hash=1_000 + number,
        question=f"Where is order-{number}?",
        answer=f"It is on its way, number {number}.",
        tools=(ToolCall(name="find", arguments="{}", output="on its way"),),
        duration_ms=900.0,
        num_turns=2,
    )


def judge_on(base_url: str, **changes: Any) -> OpenAIJudge:
    """A judge with short time limits; `changes` are settings."""
    values = {"provider": "openai", "base_url": base_url, "call_timeout_seconds": 5.0, "deadline_seconds": 10.0}
    return OpenAIJudge(JudgeSettings.model_validate(values | changes), KEY, backoff=FAST)


def run(
    judge: OpenAIJudge, inputs: Iterable[JudgeInput], budget: Budget = NO_LIMIT
) -> tuple[JudgingSummary, list[Judgement], list[JudgeFailure]]:
    results: list[Judgement | JudgeFailure] = []
    summary = judge_all(judge, inputs, budget=budget, on_result=results.append)
    judged = [result for result in results if isinstance(result, Judgement)]
    failed = [result for result in results if isinstance(result, JudgeFailure)]
    assert summary.judged == len(judged)
    assert summary.failed == len(failed)
    assert summary.asked == summary.judged + summary.failed
    return summary, judged, failed
