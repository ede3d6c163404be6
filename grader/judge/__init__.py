"""Judges: a model or a plain baseline that gives marks to traces by a rubric (DESIGN.md section 7).

judge = make_judge(settings.judge, settings.judge_api_key)
summary = judge_all(judge, inputs, budget=Budget(max_calls=500), on_result=store.append)
"""

from grader.judge.canary import CANARY, is_fooled
from grader.judge.contract import Budget, CallEstimate, Judge, JudgeInput, JudgingSummary
from grader.judge.make import estimate, make_judge, why_no_judge
from grader.judge.run import judge_all

__all__ = [
    "CANARY",
    "Budget",
    "CallEstimate",
    "Judge",
    "JudgeInput",
    "JudgingSummary",
    "estimate",
    "is_fooled",
    "judge_all",
    "make_judge",
    "why_no_judge",
]
