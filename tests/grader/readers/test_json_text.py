from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.errors import ReadError
from grader.readers.json_text import as_count, as_float, as_text, decode_line, decode_text, encode

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.parametrize(
    ("line", "value"),
    [
        pytest.param(b'{"a": 1}', {"a": 1}, id="plain"),
        pytest.param(b'\xef\xbb\xbf{"a": 1}', {"a": 1}, id="byte order mark"),
        pytest.param(b'"a\\ud800b"', "a\ufffdb", id="lone surrogate is replaced, the line is kept"),
        pytest.param(b'{"\\udfff": ["\\ud800"]}', {"\ufffd": ["\ufffd"]}, id="surrogates deep down"),
        pytest.param(b'"\\ud83d\\ude00"', "😀", id="a surrogate pair is a character"),
        pytest.param(b"[NaN, Infinity, -Infinity, 1]", [None, None, None, 1], id="NaN and Infinity are not known"),
        pytest.param(b'"a\\u0000b"', "a\x00b", id="NUL survives"),
        pytest.param(b'"\\\\u0000"', "\\u0000", id="the text \\u0000 stays a text"),
        pytest.param(b'"caf\xe9"', "caf\ufffd", id="not UTF-8"),
        pytest.param(b'"a\tb"', "a\tb", id="raw control character"),
        pytest.param(
            b'"' + "👩‍👩‍👧 \u202ertl".encode() + b'"', "👩‍👩‍👧 \u202ertl", id="joined emoji and right-to-left override"
        ),
    ],
)
def test_decode_line(line: bytes, value: object) -> None:
    assert decode_line(line) == value


@pytest.mark.parametrize("line", [b'{"a": ', b"", b"hello", b"{'a': 1}", b"[" * 100_000], ids=range(5))
def test_no_json_names_the_place(line: bytes) -> None:
    with pytest.raises(ReadError, match="no JSON"):
        decode_line(line)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"city": "Paris"}', {"city": "Paris"}),
        ('{"city": "Par', '{"city": "Par'),
        ("plain words", "plain words"),
        ("42", "42"),
        ('"quoted"', "quoted"),
        ("", ""),
        (None, None),
    ],
)
def test_json_in_a_string(text: str | None, value: object) -> None:
    assert decode_text(text) == value


@given(JSON)
def test_what_is_encoded_decodes_to_the_same(value: object) -> None:
    expected = json.loads(json.dumps(value))
    assert _floats(json.loads(encode(value))) == _floats(expected)


def _floats(value: object) -> object:
    """Whole numbers beyond 64 bits come back as the nearest double."""
    if isinstance(value, int) and not isinstance(value, bool):
        return float(value) if math.isfinite(value) else value
    if isinstance(value, list):
        return [_floats(item) for item in value]
    return {key: _floats(item) for key, item in value.items()} if isinstance(value, dict) else value


def test_encoding_does_not_depend_on_the_order_of_keys() -> None:
    assert (
        encode({"b": 1, "a": {"d": 1, "c": 2}})
        == encode({"a": {"c": 2, "d": 1}, "b": 1})
        == '{"a":{"c":2,"d":1},"b":1}'
    )


def test_encoding_never_fails() -> None:
    assert encode({"x": "\ud800", "n": 10**30}) == '{"n":' + str(10**30) + ',"x":"\ufffd"}'


@pytest.mark.parametrize(("value", "text"), [(None, None), ("", ""), ("a", "a"), ([1], "[1]"), (0, "0")])
def test_as_text(value: object, text: str | None) -> None:
    assert as_text(value) == text


@pytest.mark.parametrize(
    ("value", "count"),
    [(3, 3), ("26", 26), (26.0, 26), (0, 0), (None, None), (float("nan"), None), (-1, None), (True, None), ("x", None)],
)
def test_as_count(value: object, count: int | None) -> None:
    assert as_count(value) == count


@pytest.mark.parametrize(("value", "number"), [("0.5", 0.5), (2, 2.0), ("nan", None), (None, None), (True, None)])
def test_as_float(value: object, number: float | None) -> None:
    assert as_float(value) == number
