"""Times as exporters write them → timezone-aware UTC datetimes. Whole microseconds: what the columns can hold."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SMALLEST_NS = 10**17  # 1973 in ns, 5138 in µs: between the readings of one number lie centuries
_SMALLEST_US = 10**14
_SMALLEST_MS = 10**11


def from_unix_ns(value: object) -> datetime | None:
    """A time in nanoseconds since 1970, int or decimal string. None for missing, 0 ("not set") and unreadable."""
    try:
        microseconds = int(value) // 1000  # type: ignore[call-overload]  # what int() refuses is caught
        return _EPOCH + timedelta(0, 0, microseconds) if microseconds > 0 else None
    except (TypeError, ValueError, OverflowError):
        return None


def parse_time(value: object) -> datetime | None:
    """A time as ISO text (no zone: UTC), or as a number in s, ms, µs or ns, told apart by size. None: not readable."""
    if isinstance(value, str):
        try:
            time = datetime.fromisoformat(value)
            return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
        except (ValueError, OverflowError):
            return _from_number(value)
    return _from_number(value)


def _from_number(value: object) -> datetime | None:
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        return None
    try:
        number = float(value) if isinstance(value, float) or not str(value).isdigit() else int(value)
        if number <= 0:
            return None
        if number >= _SMALLEST_NS:
            microseconds = number // 1000
        elif number >= _SMALLEST_US:
            microseconds = number
        else:
            microseconds = number * (1000 if number >= _SMALLEST_MS else 1_000_000)
        return _EPOCH + timedelta(microseconds=int(microseconds))
    except (ValueError, OverflowError):
        return None
