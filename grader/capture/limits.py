"""How much a capture may hold in memory and write, and the copy of a value that keeps to it."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass

_DEEPEST = 40  # levels; JSON readers refuse much deeper nesting


@dataclass(frozen=True, kw_only=True, slots=True)
class CaptureLimits:
    """Bounds of one capture. What goes over one is cut or dropped, and counted in `stats()` and in the file."""

    max_text_bytes: int = 200_000  # a longer text keeps its start and gets a mark
    max_spans_per_trace: int = 5_000
    max_trace_bytes: int = 16 << 20  # further spans of the trace are dropped
    max_open_traces: int = 10_000  # beyond it the oldest open trace is written as unfinished
    max_open_bytes: int = 256 << 20  # of all open traces together; same
    max_queued_lines: int = 10_000  # finished traces that wait for the disk; beyond it new ones are dropped
    max_queued_bytes: int = 64 << 20
    flush_seconds: float = 5.0  # the longest that force_flush() and shutdown() wait for the disk


def to_json(value: object, limits: CaptureLimits) -> tuple[bytes, int]:
    """`value` as UTF-8 JSON on one line, and how many texts in it were cut.

    Always valid JSON: NaN and infinities become null, objects their own `model_dump()` or `str()`, what is nested
    deeper than 40 levels its `str()`. A lone surrogate stays as its escape.
    """
    copier = _Copier(limits.max_text_bytes)
    copy = copier.copy(value, 0)
    try:
        return json.dumps(copy, ensure_ascii=False, separators=(",", ":")).encode(), copier.num_cut
    except UnicodeEncodeError:
        return json.dumps(copy, separators=(",", ":")).encode(), copier.num_cut


class _Copier:
    def __init__(self, max_text_bytes: int) -> None:
        self.max_text_bytes = max_text_bytes
        self.num_cut = 0

    def copy(self, value: object, depth: int) -> object:
        dump = getattr(value, "model_dump", None)
        if callable(dump) and not isinstance(value, type):
            value = dump(mode="json", warnings=False)
        if isinstance(value, float):
            return value if math.isfinite(value) else None
        if value is None or isinstance(value, bool | int):
            return value
        if depth < _DEEPEST and isinstance(value, Mapping):
            return {self._text(str(key)): self.copy(item, depth + 1) for key, item in value.items()}
        if depth < _DEEPEST and isinstance(value, list | tuple | set | frozenset):
            return [self.copy(item, depth + 1) for item in value]
        return self._text(str(value))

    def _text(self, text: str) -> str:
        if len(text) <= self.max_text_bytes // 4:  # UTF-8 never needs more than four bytes a character
            return str(text)
        encoded = text.encode("utf-8", "surrogatepass")
        if len(encoded) <= self.max_text_bytes:
            return str(text)
        self.num_cut += 1
        kept = encoded[: self.max_text_bytes].decode("utf-8", "ignore")
        return f"{kept}... [truncated: {len(encoded)} bytes, the first {self.max_text_bytes} kept]"
