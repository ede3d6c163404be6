from __future__ import annotations

import gc

import pytest

from grader.pipeline.collector import collector_paused


def test_the_collector_is_paused_and_goes_on_also_after_an_error() -> None:
    with pytest.raises(ValueError, match="stop"), collector_paused():
        assert not gc.isenabled()
        raise ValueError("stop")
    assert gc.isenabled()


def test_a_collector_that_was_off_stays_off() -> None:
    with collector_paused():
        with collector_paused():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()
