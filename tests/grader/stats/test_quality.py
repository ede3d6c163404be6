"""Golden values: STATISTICS.md section 7, "stratified"."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.stats.quality import pool, stratified_mean
from grader.stats.strata import StratumSample

JUDGED = (
    [0.2, 0.9, 0.4, 0, 1, 0.8, 0.3, 0.1, 0.9, 0.5],
    [0.9, 1, 0.8, 0.2, 1, 0.9],
    [1, 1, 0.9, 0.1, 1, 0.8, 1, 1],
)


def strata(*of: tuple[int, list[float]], failed: tuple[int, int, int] = (0, 0, 0)) -> list[StratumSample]:
    return [
        StratumSample(num_traces=num_traces, scores=scores, num_failed=num_failed)
        for (num_traces, scores), num_failed in zip(of, failed, strict=True)
    ]


GOLDEN = strata(*zip((180, 320, 500), JUDGED, strict=True))


def test_golden() -> None:
    estimate = stratified_mean(GOLDEN)
    assert estimate.value == pytest.approx(0.7728, abs=1e-6)
    assert estimate.low == pytest.approx(0.606553, abs=1e-6)
    assert estimate.high == pytest.approx(0.882418, abs=1e-6)
    assert (estimate.n, estimate.n_missing, estimate.note) == (24, 0, None)


def test_the_strata_are_weighted_by_all_their_traces_not_by_those_judged() -> None:
    estimate = stratified_mean(strata((10, [0.0] * 10), (0, []), (990, [1.0] * 10)))
    assert estimate.value == pytest.approx(0.99)  # the plain mean of the judged would be 0.5


def test_a_stratum_nobody_looked_at_leaves_no_value() -> None:
    estimate = stratified_mean(strata((180, JUDGED[0]), (320, []), (500, JUDGED[2])))
    assert (estimate.value, estimate.low, estimate.high, estimate.n) == (None, None, None, 18)
    assert estimate.note == "none of the 320 traces with rule score up to 1 is judged"


def test_an_empty_stratum_is_no_gap() -> None:
    estimate = stratified_mean(strata((180, JUDGED[0]), (0, []), (500, JUDGED[2])))
    assert estimate.value == pytest.approx((180 * 0.51 + 500 * 0.85) / 680)


def test_no_traces_no_value() -> None:
    estimate = stratified_mean(strata((0, []), (0, []), (0, [])))
    assert (estimate.value, estimate.note) == (None, "there are no traces that could be judged")


def test_failed_calls_are_missing_and_many_of_them_are_named() -> None:
    few = stratified_mean(strata(*zip((180, 320, 500), JUDGED, strict=True), failed=(0, 0, 0)))
    assert few.note is None
    many = stratified_mean(strata(*zip((180, 320, 500), JUDGED, strict=True), failed=(2, 0, 1)))
    assert many.n_missing == 3
    assert many.note == (
        "2 of 12 judge calls failed for traces with rule score under the limit; "
        "1 of 9 judge calls failed for traces with rule score 1"
    )
    twenty = stratified_mean(strata((180, JUDGED[0] * 2), (0, []), (0, []), failed=(1, 0, 0)))
    assert (twenty.n_missing, twenty.note) == (1, None)  # 1 of 21 is under 5 %


def test_with_everything_judged_nothing_is_uncertain() -> None:
    estimate = stratified_mean(strata((10, JUDGED[0]), (6, JUDGED[1]), (8, JUDGED[2])))
    assert estimate.low == estimate.value == estimate.high == pytest.approx(16.7 / 24)


@pytest.mark.parametrize("score", [0.0, 1.0])
def test_only_perfect_or_only_worthless_answers_keep_an_interval(score: float) -> None:
    estimate = stratified_mean(strata((100, [score] * 10), (100, [score] * 10), (100, [score] * 10)))
    assert estimate.value == score
    assert estimate.low is not None and estimate.high is not None
    assert 0.05 < estimate.high - estimate.low < 0.25


def test_more_scores_than_traces_is_a_mistake() -> None:
    with pytest.raises(ValueError, match="2 scores for a stratum of 1 traces"):
        stratified_mean(strata((1, [0.5, 0.6]), (0, []), (0, [])))


def test_pooled_days_are_one_population() -> None:
    pooled = pool([GOLDEN, GOLDEN])
    assert [stratum.num_traces for stratum in pooled] == [360, 640, 1000]
    assert [len(stratum.scores) for stratum in pooled] == [20, 12, 16]
    one, two = stratified_mean(GOLDEN), stratified_mean(pooled)
    assert two.value == pytest.approx(one.value)
    assert one.low is not None and two.low is not None and two.low > one.low
    assert pool([]) == ()


def test_a_day_without_a_judged_stratum_is_helped_by_its_neighbours() -> None:
    lacking = strata((180, JUDGED[0]), (320, []), (500, JUDGED[2]))
    assert stratified_mean(lacking).value is None
    assert stratified_mean(pool([lacking, GOLDEN])).value is not None


stratum_samples = st.integers(0, 60).flatmap(
    lambda num_traces: st.builds(
        StratumSample,
        num_traces=st.just(num_traces),
        scores=st.lists(st.floats(0, 1) | st.sampled_from([0.0, 1.0]), max_size=num_traces),
        num_failed=st.integers(0, 5),
    )
)


@given(st.tuples(stratum_samples, stratum_samples, stratum_samples))
@settings(max_examples=100, deadline=None)
def test_bounds(samples: tuple[StratumSample, StratumSample, StratumSample]) -> None:
    estimate = stratified_mean(samples)
    assert estimate.n == sum(len(sample.scores) for sample in samples)
    if estimate.value is None:
        assert estimate.low is None and estimate.high is None and estimate.note
    else:
        assert estimate.low is not None and estimate.high is not None
        assert all(math.isfinite(number) for number in (estimate.low, estimate.value, estimate.high))
        assert 0 <= estimate.low <= estimate.value <= estimate.high <= 1


def test_the_interval_covers_the_truth() -> None:
    """3,000 days of 1,000 traces, of which 5 to 8 a stratum are judged: 95 to 98 % in STATISTICS.md section 2."""
    rng = np.random.default_rng(28)
    day = [rng.choice([0.2, 0.6, 1.0], 180), rng.choice([0.4, 0.8, 1.0], 320, p=[0.15, 0.25, 0.6])]
    day.append(rng.choice([0.3, 0.9, 1.0], 500, p=[0.1, 0.2, 0.7]))
    truth = float(np.concatenate(day).mean())
    covered = 0
    for _ in range(3000):
        estimate = stratified_mean(
            [
                StratumSample(num_traces=len(scores), scores=rng.choice(scores, size, replace=False))
                for scores, size in zip(day, (5, 6, 8), strict=True)
            ]
        )
        assert estimate.low is not None and estimate.high is not None
        covered += estimate.low <= truth <= estimate.high
    assert 0.94 <= covered / 3000 <= 0.99
