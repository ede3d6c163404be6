from __future__ import annotations

import json
from enum import Enum, StrEnum

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from grader.capture.limits import CaptureLimits, to_json


class _Mood(StrEnum):
    GOOD = "good"


class _Plain(Enum):
    ONE = 1


class _Model(BaseModel):
    name: str = "n"
    rate: float = float("nan")


def _round_trip(value: object, max_text_bytes: int = 1000) -> object:
    return json.loads(to_json(value, CaptureLimits(max_text_bytes=max_text_bytes))[0])


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param(float("nan"), None, id="nan"),
        pytest.param([float("inf"), 1.5], [None, 1.5], id="infinity"),
        pytest.param({1: (True, None)}, {"1": [True, None]}, id="keys-and-tuples"),
        pytest.param(_Mood.GOOD, "good", id="str-enum"),
        pytest.param(_Plain.ONE, "_Plain.ONE", id="enum"),
        pytest.param(_Model(), {"name": "n", "rate": None}, id="pydantic-model"),
        pytest.param(_Model, str(_Model), id="pydantic-class"),
        pytest.param("a\ud800b", "a\ud800b", id="lone-surrogate"),
        pytest.param("line\nbreak ✅ \u202e", "line\nbreak ✅ \u202e", id="line-break-and-unicode"),
    ],
)
def test_any_value_becomes_valid_json(value: object, expected: object) -> None:
    assert _round_trip(value) == expected


def test_a_long_text_keeps_its_start_and_says_how_much_there_was() -> None:
    data, num_cut = to_json({"output": "é" * 1000, "short": "x"}, CaptureLimits(max_text_bytes=101))
    assert num_cut == 1
    assert json.loads(data) == {"output": "é" * 50 + "... [truncated: 2000 bytes, the first 101 kept]", "short": "x"}


def test_deep_nesting_ends_as_text() -> None:
    value: object = "bottom"
    for _ in range(500):
        value = [value]
    nested, depth = _round_trip(value), 0
    while isinstance(nested, list):
        nested, depth = nested[0], depth + 1
    assert depth == 40
    assert isinstance(nested, str) and "bottom" in nested


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda children: st.lists(children) | st.dictionaries(st.text(), children),
)


@given(_JSON)
def test_json_values_within_the_limits_come_through_unchanged(value: object) -> None:
    data, num_cut = to_json(value, CaptureLimits(max_text_bytes=1_000_000))
    assert json.loads(data) == value
    assert num_cut == 0
    assert b"\n" not in data


@given(st.text(), st.integers(min_value=4, max_value=50))
def test_a_text_never_exceeds_the_limit_by_more_than_the_mark(text: str, limit: int) -> None:
    cut = json.loads(to_json(text, CaptureLimits(max_text_bytes=limit))[0])
    assert len(cut.encode()) <= limit + 70
    assert cut == text or cut.split("... [truncated")[0] == text[: len(cut.split("... [truncated")[0])]
