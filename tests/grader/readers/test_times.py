from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.readers.times import from_unix_ns, parse_time

MOMENT = datetime(2026, 11, 30, 22, 5, 51, 898610, tzinfo=UTC)
NS = 1_796_076_351_898_610_123


@pytest.mark.parametrize(
    "written",
    [
        pytest.param("2026-11-30T22:05:51.898610+00:00", id="offset"),
        pytest.param("2026-11-30T22:05:51.898610Z", id="Z"),
        pytest.param("2026-11-30T18:05:51.898610-04:00", id="another zone"),
        pytest.param("2026-11-30T22:05:51.898610", id="no zone is UTC"),
        pytest.param("2026-11-30T22:05:51.898610123Z", id="nanoseconds in ISO"),
        pytest.param(NS, id="ns"),
        pytest.param(str(NS), id="ns as text"),
        pytest.param(NS // 1000, id="µs"),
        pytest.param(1796076351.89861, id="seconds with a fraction"),
    ],
)
def test_spellings_of_one_moment(written: object) -> None:
    assert parse_time(written) == MOMENT


def test_milliseconds() -> None:
    assert parse_time(1796076351898) == MOMENT.replace(microsecond=898000)


@pytest.mark.parametrize("written", [None, "", "soon", 0, -5, True, "0", [], float("nan"), float("inf"), 10**40])
def test_no_readable_time(written: object) -> None:
    assert parse_time(written) is None


@pytest.mark.parametrize("written", [None, "", "x", 0, "0", -1, 10**30, [], {}])
def test_no_readable_otlp_time(written: object) -> None:
    assert from_unix_ns(written) is None


@given(st.integers(min_value=1000, max_value=4_294_967_296_000_000_000 - 1))
def test_otlp_times_are_exact_to_the_microsecond_until_2106(ns: int) -> None:
    assert from_unix_ns(str(ns)) == datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=ns // 1000)
