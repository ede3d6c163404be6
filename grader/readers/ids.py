"""One canonical form for the ids that exporters write in many ways (FORMATS.md, trap 6).

The canonical form is the lower-case hex of the 8 or 16 bytes that OpenTelemetry and the Agents SDK mean. What is not
surely such an id stays exactly as it is, so that two different traces never become one.
"""

from __future__ import annotations

import base64
import binascii
import re

_PREFIXES = ("trace_", "tr-")  # Agents SDK, MLflow
_HEX = re.compile(r"[0-9a-f]{32}|[0-9a-f]{16}")
_SHORTENED_HEX = re.compile(r"0x([0-9a-f]{1,32})")  # Python's hex() drops leading zeros
_BASE64_LENGTHS = (24, 12)  # of 16 and of 8 bytes
_NO_ID = frozenset(("", "0" * 16, "0" * 32))  # how exporters write that there is none


def normalise_id(text: str) -> str:
    """The canonical form of a trace or span id; `text` itself where it is none of the known spellings."""
    if _HEX.fullmatch(text):
        return text
    for prefix in _PREFIXES:
        if text.startswith(prefix):
            rest = text[len(prefix) :].lower()
            return rest if len(rest) == 32 and _HEX.fullmatch(rest) else text
    lowered = text.lower()
    if _HEX.fullmatch(lowered):
        return lowered
    if match := _SHORTENED_HEX.fullmatch(lowered):
        digits = match[1]
        return digits.zfill(16 if len(digits) <= 16 else 32)
    if len(text) in _BASE64_LENGTHS and text.endswith("="):
        return _from_base64(text) or text
    return text


def normalise_parent_id(value: object) -> str | None:
    """Like `normalise_id` for a parent; None where there is none (missing, "", all zeros)."""
    if not isinstance(value, str):
        return None
    parent_id = normalise_id(value)
    return None if parent_id in _NO_ID else parent_id


def _from_base64(text: str) -> str | None:
    try:
        raw = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
    canonical = (
        base64.b64encode(raw).decode() == text
    )  # two texts may decode to the same bytes: only one of them is an id
    return raw.hex() if canonical and len(raw) in (8, 16) else None
