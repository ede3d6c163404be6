"""JSON as it is found in the wild: decoding that loses no line which can be read at all, encoding that never fails.

orjson does the work; what it refuses (lone surrogates, NaN and Infinity, broken UTF-8, raw control characters) is read
again, slower, by the standard library: a surrogate or a broken byte becomes U+FFFD, NaN and Infinity become null.
"""

from __future__ import annotations

import json
import math
import re
from datetime import datetime

import orjson

from grader.errors import ReadError

REPLACEMENT = "�"
_SURROGATE = re.compile("[\ud800-\udfff]")
_JSON_STARTS = ("{", "[", '"')


def decode_line(data: bytes) -> object:
    """One JSON document. Raises ReadError, naming the place, when the text is no JSON."""
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        return _decode_leniently(data.decode("utf-8-sig", "replace"))


def decode_text(text: str | None) -> object:
    """JSON that came inside a string: the value, or `text` itself where it is no JSON object, list or string."""
    if text is None or not text.lstrip()[:1].startswith(_JSON_STARTS):
        return text
    try:
        return orjson.loads(text)
    except (orjson.JSONDecodeError, UnicodeEncodeError):
        pass
    try:
        return _decode_leniently(text)
    except ReadError:
        return text


def encode(value: object) -> str:
    """`value` as compact JSON text with sorted keys: equal values give equal text, whatever order they came in."""
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()
    except TypeError:  # a surrogate, an integer of more than 64 bits
        return json.dumps(
            _clean(value), ensure_ascii=False, sort_keys=True, separators=(",", ":"), default=datetime.isoformat
        )


def as_text(value: object) -> str | None:
    """A recorded input or output: None stays None, text stays text, anything else becomes JSON text."""
    if value is None or isinstance(value, str):
        return value
    return encode(value)


def as_count(value: object) -> int | None:
    """A token count: int, decimal string or whole double. None for missing, negative, NaN and anything else."""
    if isinstance(value, int):
        return value if value >= 0 and not isinstance(value, bool) else None
    number = as_float(value)
    return int(number) if number is not None and number >= 0 else None


def as_float(value: object) -> float | None:
    """A finite number, also from text; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def _decode_leniently(text: str) -> object:
    try:
        return _clean(json.loads(text, strict=False, parse_constant=lambda _: None))
    except (ValueError, RecursionError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise ReadError(f"no JSON: {reason}") from error


def _clean(value: object) -> object:
    if isinstance(value, str):
        return _SURROGATE.sub(REPLACEMENT, value)
    if isinstance(value, list):
        return [_clean(item) for item in value]
    if isinstance(value, dict):
        return {_SURROGATE.sub(REPLACEMENT, str(key)): _clean(item) for key, item in value.items()}
    return None if isinstance(value, float) and not math.isfinite(value) else value
