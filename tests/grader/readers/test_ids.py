from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.readers.ids import normalise_id, normalise_parent_id

HEX = "de36dd0f5e6e86608c071840f1c1569a"
SHORT = "fa98c173ec298fd0"


@pytest.mark.parametrize(
    "spelling",
    [
        pytest.param(HEX, id="hex"),
        pytest.param(HEX.upper(), id="upper-case hex"),
        pytest.param("0x" + HEX, id="0x"),
        pytest.param("0X" + HEX.upper(), id="0X, upper case"),
        pytest.param("tr-" + HEX, id="MLflow"),
        pytest.param("trace_" + HEX, id="Agents SDK"),
        pytest.param(base64.b64encode(bytes.fromhex(HEX)).decode(), id="base64"),
    ],
)
def test_spellings_of_one_trace_id(spelling: str) -> None:
    assert normalise_id(spelling) == HEX


def test_spellings_of_one_span_id() -> None:
    spellings = [SHORT, SHORT.upper(), "0x" + SHORT, base64.b64encode(bytes.fromhex(SHORT)).decode()]
    assert {normalise_id(spelling) for spelling in spellings} == {SHORT}


@pytest.mark.parametrize(
    ("short", "whole"), [("0x1f", "1f".zfill(16)), ("0x1" + "0" * 29, "001" + "0" * 29)], ids=["8 bytes", "16 bytes"]
)
def test_python_hex_without_leading_zeros(short: str, whole: str) -> None:
    assert normalise_id(short) == whole


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("order-4711", id="a word"),
        pytest.param("DEADBEEF", id="hex of no known length"),
        pytest.param("trace_of_my_own", id="prefix without hex"),
        pytest.param("TRACE_" + HEX, id="not the SDK's prefix"),
        pytest.param("tr-" + SHORT, id="MLflow ids have 16 bytes"),
        pytest.param("span_4a2763a4579f42c2b9d0e61b", id="Agents SDK span"),
        pytest.param("019a2e79-833c-77a5-9f6e-9a05e310b376", id="UUID"),
        pytest.param("AAAAAAAAAAAAAAAAAAAAAB==", id="base64 with stray bits"),
        pytest.param("not base64 but 24 long==", id="no base64"),
        pytest.param("0x", id="0x alone"),
        pytest.param("", id="empty"),
    ],
)
def test_other_ids_stay_as_they_are(text: str) -> None:
    assert normalise_id(text) == text


def spellings(raw: bytes) -> tuple[str, ...]:
    return raw.hex(), base64.b64encode(raw).decode(), "0x" + raw.hex(), "tr-" + raw.hex()


@given(st.binary(min_size=16, max_size=16), st.binary(min_size=16, max_size=16))
def test_two_ids_never_become_one(one: bytes, other: bytes) -> None:
    of_one, of_other = ({normalise_id(text) for text in spellings(raw)} for raw in (one, other))
    assert len(of_one) == 1
    assert (of_one == of_other) == (one == other)


@given(st.text(max_size=40))
def test_normalising_twice_changes_nothing(text: str) -> None:
    assert normalise_id(normalise_id(text)) == normalise_id(text)


@pytest.mark.parametrize("nothing", [None, "", "0" * 16, "0" * 32, "AAAAAAAAAAA=", 0])
def test_no_parent(nothing: object) -> None:
    assert normalise_parent_id(nothing) is None
