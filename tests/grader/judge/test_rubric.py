"""The rubric: which replies count, what they score, and when its version changes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.judge.rubric import MAX_REMARKS, REMARK_CHARS, ReplyError, make_rubric
from grader.settings import Criterion, RubricSettings

RUBRIC = make_rubric(RubricSettings())
MARKS = {"relevance": 4, "accuracy": 2, "tone": 5}


def reply(**changes: Any) -> str:
    return json.dumps({"issues": ["a"], "suggestions": ["b"], "marks": MARKS} | changes)


USABLE = {
    "plain": reply(),
    "extra keys": reply(reason="because"),
    "extra criterion": reply(marks=MARKS | {"style": 9}),
    "fenced": f"Here you are:\n```json\n{reply()}\n```\nAnything else?",
    "thinking": f"<think>maybe {{5}}?</think>\n{reply()}",
}


@pytest.mark.parametrize("text", USABLE.values(), ids=USABLE)
def test_usable_replies(text: str) -> None:
    marks, issues, suggestions = RUBRIC.read_reply(text)
    assert {name: marks[name] for name in MARKS} == MARKS
    assert set(marks) == set(MARKS)
    assert (issues, suggestions) == (("a",), ("b",))


UNUSABLE = {
    "empty": ("", "no JSON object"),
    "words": ("All is well, 5/5.", "no JSON object"),
    "cut off": (reply()[:40], "no JSON object"),
    "a number": ("5", "reply: "),
    "a list": (f"[{reply()}]", "reply: "),
    "null": ("null", "reply: "),
    "mark missing": (reply(marks={"relevance": 4, "accuracy": 2}), "marks.tone"),
    "mark too high": (reply(marks=MARKS | {"tone": 6}), "marks.tone"),
    "mark too low": (reply(marks=MARKS | {"tone": 0}), "marks.tone"),
    "mark negative": (reply(marks=MARKS | {"tone": -3}), "marks.tone"),
    "mark of ten": (reply(marks=MARKS | {"tone": 10}), "marks.tone"),
    "half a mark": (reply(marks=MARKS | {"tone": 4.5}), "marks.tone"),
    "mark as text": (reply(marks=MARKS | {"tone": "5"}), "marks.tone"),
    "mark as bool": (reply(marks=MARKS | {"tone": True}), "marks.tone"),
    "mark null": (reply(marks=MARKS | {"tone": None}), "marks.tone"),
    "mark infinite": (reply().replace("5}", "1e999}"), "no JSON object"),
    "mark NaN": (reply().replace("5}", "NaN}"), "no JSON object"),
    "issues as text": (reply(issues="none"), "issues"),
    "marks flat": (json.dumps(MARKS), "issues"),
    "two objects": (reply() + reply(marks=MARKS | {"tone": 1}), "no JSON object"),
}


@pytest.mark.parametrize(("text", "reason"), UNUSABLE.values(), ids=UNUSABLE)
def test_unusable_replies(text: str, reason: str) -> None:
    with pytest.raises(ReplyError, match=reason.replace(".", r"\.")):
        RUBRIC.read_reply(text)


@given(st.text() | st.recursive(st.none() | st.booleans() | st.floats() | st.text(), st.lists).map(json.dumps))
def test_no_reply_whatever_raises_another_error(text: str) -> None:
    with pytest.raises(ReplyError):
        RUBRIC.read_reply(text)


def test_the_reason_never_quotes_the_reply() -> None:
    with pytest.raises(ReplyError) as caught:
        RUBRIC.read_reply(reply(marks=MARKS | {"tone": "give 5/5"}))
    assert "give" not in str(caught.value)


@pytest.mark.parametrize(
    ("marks", "score"),
    [((5, 5, 5), 1.0), ((1, 1, 1), 0.2), ((4, 2, 5), 11 / 15), ((3, 3, 3), 0.6)],
)
def test_score_is_sum_over_fifteen(marks: tuple[int, ...], score: float) -> None:
    assert RUBRIC.score(dict(zip(MARKS, marks, strict=True))) == score


def test_remarks_are_trimmed_and_bounded() -> None:
    text = reply(issues=["  ", " x ", "y" * 10_000], suggestions=["z"] * 100)
    _, issues, suggestions = RUBRIC.read_reply(text)
    assert issues == ("x", "y" * REMARK_CHARS)
    assert len(suggestions) == MAX_REMARKS


def test_json_schema_is_in_the_dialect_of_structured_output() -> None:
    schema = RUBRIC.json_schema
    assert list(schema["properties"]) == ["issues", "suggestions", "marks"]
    assert schema["required"] == ["issues", "suggestions", "marks"]
    assert schema["additionalProperties"] is False
    marks = schema["properties"]["marks"]
    assert marks["required"] == list(MARKS)
    assert marks["additionalProperties"] is False
    assert all(mark["enum"] == [1, 2, 3, 4, 5] for mark in marks["properties"].values())
    assert "$ref" not in json.dumps(schema)


@pytest.mark.parametrize("name", ["copy", "schema", "json", "model_fit", "model_config", "issues", "dict", "class"])
def test_a_criterion_may_have_any_name(name: str) -> None:
    rubric = make_rubric(RubricSettings(criteria=(Criterion(name=name, question="?"),), scale_min=0, scale_max=10))
    marks, _, _ = rubric.read_reply(reply(marks={name: 7}))
    assert marks == {name: 7}
    assert rubric.score(marks) == 0.7
