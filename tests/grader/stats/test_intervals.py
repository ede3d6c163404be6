"""Golden values: STATISTICS.md section 7 and golden-statistics.json."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.records import Estimate
from grader.stats.intervals import (
    cluster_index,
    clustered_mean,
    mean_of_clusters,
    none_seen_bound,
    percentile,
    wilson,
)


def assert_sound(estimate: Estimate, *, at_most: float = 1.0) -> None:
    numbers = [number for number in (estimate.low, estimate.value, estimate.high) if number is not None]
    assert all(math.isfinite(number) and 0 <= number <= at_most for number in numbers)
    assert numbers == sorted(numbers)
    if estimate.value is None:
        assert estimate.low is None and estimate.high is None and estimate.note
    if estimate.low is None or estimate.high is None:
        assert estimate.note


@pytest.mark.parametrize(
    ("k", "n", "low", "high"),
    [
        pytest.param(5, 5, 0.565518, 1.0, id="5 of 5"),
        pytest.param(0, 5, 0.0, 0.434482, id="0 of 5"),
        pytest.param(17, 20, 0.639581, 0.947631, id="17 of 20"),
        pytest.param(2, 10, 0.056682, 0.509838, id="2 of 10"),
        pytest.param(15, 20, 0.531299, 0.888138, id="15 of 20"),
        pytest.param(0, 300, 0.0, 0.012643, id="none of 300"),
    ],
)
def test_wilson(k: int, n: int, low: float, high: float) -> None:
    estimate = wilson(k, n, n_missing=3)
    assert (estimate.low, estimate.high) == (pytest.approx(low, abs=1e-6), pytest.approx(high, abs=1e-6))
    assert (estimate.value, estimate.n, estimate.n_missing) == (k / n, n, 3)


def test_none_seen_says_how_many_there_may_be() -> None:
    assert none_seen_bound(300) == pytest.approx(0.009936, abs=1e-6)
    assert wilson(0, 300).note == "none seen in 300: with 95 % confidence the rate is at most 0.99 %"
    assert wilson(1, 300).note is None


def test_a_rate_of_nothing_has_no_value() -> None:
    estimate = wilson(0, 0, n_missing=2)
    assert (estimate.value, estimate.low, estimate.high, estimate.n, estimate.n_missing) == (None, None, None, 0, 2)
    assert estimate.note == "nothing was observed"


@pytest.mark.parametrize(("k", "n"), [(-1, 5), (6, 5)])
def test_a_rate_over_one_is_a_mistake(k: int, n: int) -> None:
    with pytest.raises(ValueError, match="must lie between"):
        wilson(k, n)


@given(st.integers(0, 10_000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
@settings(max_examples=200, deadline=None)
def test_wilson_bounds(k_of_n: tuple[int, int]) -> None:
    assert_sound(wilson(*k_of_n))


def test_clustered_mean_by_hand() -> None:
    # mean .5575; residual sums of sessions a, b, c: -.015, -.0075, .0225; variance .0007875 / 16 * 3 / 2; t on 2 df
    estimate = clustered_mean([0.6, 0.5, 0.55, 0.58], ["a", "a", "b", "c"], n_missing=2)
    half = 4.302652729911275 * math.sqrt(0.0007875 / 16 * 1.5)
    assert estimate.value == pytest.approx(0.5575)
    assert (estimate.low, estimate.high) == (pytest.approx(0.5575 - half), pytest.approx(0.5575 + half))
    assert (estimate.n, estimate.n_missing, estimate.note) == (4, 2, None)


def test_traces_of_one_session_are_related() -> None:
    scores = [1.0, 1.0, 1.0, 1.0, 0.2, 0.2, 0.2, 0.2]
    together = clustered_mean(scores, ["a"] * 4 + ["b"] * 4)
    alone = clustered_mean(scores, [None] * 8)
    assert together.low is not None and alone.low is not None
    assert together.low < alone.low
    # with every trace alone it is the textbook interval of a mean
    half = 2.3646242515927844 * np.std(scores, ddof=1) / math.sqrt(8)
    assert alone.low == pytest.approx(0.6 - half)


def test_one_session_has_a_mean_and_no_interval() -> None:
    estimate = clustered_mean([0.5, 0.7], ["a", "a"])
    assert (estimate.value, estimate.low, estimate.high, estimate.n) == (pytest.approx(0.6), None, None, 2)
    assert estimate.note == "all traces are of one session: no interval"


def test_equal_scores_are_no_proof_of_certainty() -> None:
    estimate = clustered_mean([1.0, 1.0, 1.0], ["a", "b", "c"])
    assert (estimate.value, estimate.low, estimate.high) == (1.0, 1.0, 1.0)
    assert estimate.note is not None and "cannot show" in estimate.note


def test_a_mean_of_nothing_has_no_value() -> None:
    assert clustered_mean([], []).value is None
    assert mean_of_clusters([], []).value is None


def test_lengths_must_agree() -> None:
    with pytest.raises(ValueError, match="2 values and 1 clusters"):
        clustered_mean([0.1, 0.2], ["a"])


@pytest.mark.parametrize(
    "clusters",
    [
        pytest.param(["b", None, "a", "b", None], id="list"),
        pytest.param(pa.array(["b", None, "a", "b", None]), id="arrow"),
        pytest.param(pa.chunked_array([["b", None], ["a", "b", None]]), id="chunks"),
        pytest.param(pa.array(["b", None, "a", "b", None]).dictionary_encode(), id="dictionary"),
    ],
)
def test_every_unknown_session_is_one_of_its_own(clusters: list[str | None]) -> None:
    index = cluster_index(clusters)
    assert index[0] == index[3]
    assert sorted(set(index.tolist())) == [0, 1, 2, 3]


@given(st.lists(st.tuples(st.floats(0, 1), st.none() | st.sampled_from("abc")), max_size=30))
@settings(max_examples=200, deadline=None)
def test_clustered_mean_bounds(pairs: list[tuple[float, str | None]]) -> None:
    estimate = clustered_mean([score for score, _ in pairs], [session for _, session in pairs])
    if pairs:
        assert estimate.value == pytest.approx(sum(score for score, _ in pairs) / len(pairs))
    assert_sound(estimate)


SECONDS = [1.2, 0.8, 2.5, 0.9, 3.1, 1.1, 7.9, 1.0, 1.3, 2.2]


def test_percentiles_are_type_7() -> None:
    p95, p50 = percentile(SECONDS, 0.95, n_missing=1), percentile(SECONDS, 0.5)
    assert (p95.value, p50.value) == (pytest.approx(5.74), pytest.approx(1.25))
    assert (p95.n, p95.n_missing) == (10, 1)
    # order statistics 2 and 9 of 10: the exact 95 % interval of a median (97.9 %)
    assert (p50.low, p50.high) == (0.9, 3.1)


def test_a_percentile_with_too_few_values_beyond_it_has_no_upper_bound() -> None:
    p95 = percentile(SECONDS, 0.95)
    assert p95.high is None
    assert p95.note == "10 values are too few for the upper bound"
    assert percentile(np.linspace(0, 1, 400), 0.95).high is not None


def test_a_percentile_of_nothing() -> None:
    assert percentile([], 0.5, n_missing=4).value is None


@given(st.lists(st.floats(0, 1e6), max_size=40), st.sampled_from([0.1, 0.5, 0.9, 0.95]))
@settings(max_examples=100, deadline=None)
def test_percentile_bounds(values: list[float], p: float) -> None:
    assert_sound(percentile(values, p), at_most=1e6)
