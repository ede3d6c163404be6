"""Rates, means of scores and percentiles with their 95 % intervals (STATISTICS.md section 1)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from scipy.stats import quantile_test
from scipy.stats import t as student_t
from statsmodels.stats.proportion import proportion_confint

from grader.records import Estimate

CONFIDENCE = 0.95
Floats = npt.NDArray[np.float64]


def wilson(k: int, n: int, *, n_missing: int = 0) -> Estimate:
    """The rate k of n, from 0 to 1, with Wilson's score interval (Wilson 1927).

    No value where n is 0. Where k is 0, the note says how high the rate may be all the same (`none_seen_bound`).
    Raises ValueError where k is not within 0 and n.
    """
    if not 0 <= k <= n:
        raise ValueError(f"k = {k!r} of n = {n!r}: k must lie between 0 and n")
    method = "Wilson, 95 %"
    if n == 0:
        return no_estimate("nothing was observed", n_missing=n_missing, method=method)
    value = k / n
    low, high = proportion_confint(k, n, alpha=1 - CONFIDENCE, method="wilson")
    note = None
    if k == 0:
        note = f"none seen in {n}: with 95 % confidence the rate is at most {100 * none_seen_bound(n):.2g} %"
    return Estimate(
        value=value,
        low=0.0 if k == 0 else max(0.0, min(value, float(low))),
        high=1.0 if k == n else min(1.0, max(value, float(high))),
        n=n,
        n_missing=n_missing,
        method=method,
        note=note,
    )


def none_seen_bound(n: int) -> float:
    """The exact one-sided 95 % bound of a rate of which none was seen in n > 0 cases: 1 − 0.05^(1/n)."""
    return 1 - math.pow(1 - CONFIDENCE, 1 / n)


def clustered_mean(
    values: Sequence[float] | Floats | pa.Array | pa.ChunkedArray,
    clusters: Sequence[str | None] | pa.Array | pa.ChunkedArray,
    *,
    n_missing: int = 0,
) -> Estimate:
    """The mean of scores from 0 to 1, with an interval that takes traces of one session for related.

    `clusters` names the session of each value; None is a session of its own. See `mean_of_clusters`.
    Raises ValueError where the two differ in length.
    """
    scores = np.asarray(values, dtype=np.float64)
    if len(scores) != len(clusters):
        raise ValueError(f"{len(scores)} values and {len(clusters)} clusters: there must be one cluster a value")
    index = cluster_index(clusters)
    return mean_of_clusters(np.bincount(index, weights=scores), np.bincount(index), n_missing=n_missing)


def cluster_index(clusters: Sequence[str | None] | pa.Array | pa.ChunkedArray) -> npt.NDArray[np.int64]:
    """A number from 0 for each cluster, without gaps; every None gets one of its own."""
    names = clusters if isinstance(clusters, pa.Array | pa.ChunkedArray) else pa.array(clusters, pa.string())
    if isinstance(names, pa.ChunkedArray):
        names = names.combine_chunks()
    encoded = names if isinstance(names, pa.DictionaryArray) else names.dictionary_encode()
    index = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
    alone = index < 0
    index[alone] = len(encoded.dictionary) + np.arange(alone.sum())
    return np.unique(index, return_inverse=True)[1].astype(np.int64)


def mean_of_clusters(totals: npt.ArrayLike, sizes: npt.ArrayLike, *, n_missing: int = 0) -> Estimate:
    """The mean of scores from 0 to 1 out of each session's sum and number of scores (at least 1 each).

    Variance of the mean = Σ (total_s − size_s · mean)² / n² · S / (S − 1), with t on S − 1 degrees of freedom (the
    linearised ratio estimator; Cochran 1977, section 6). No interval under 2 sessions; no value where there is none.
    """
    sums, counts = np.asarray(totals, dtype=np.float64), np.asarray(sizes, dtype=np.float64)
    num_clusters, n = len(counts), int(counts.sum())
    method = "mean, clustered by session, t, 95 %"
    if n == 0:
        return no_estimate("nothing was observed", n_missing=n_missing, method=method)
    value = min(1.0, max(0.0, float(sums.sum() / n)))
    if num_clusters < 2:
        note = "all traces are of one session: no interval"
        return Estimate(value=value, low=None, high=None, n=n, n_missing=n_missing, method=method, note=note)
    residuals = sums - counts * value
    variance = float((residuals**2).sum()) / n**2 * num_clusters / (num_clusters - 1)
    half = float(student_t.ppf(1 - (1 - CONFIDENCE) / 2, num_clusters - 1)) * math.sqrt(variance)
    return Estimate(
        value=value,
        low=max(0.0, value - half),
        high=min(1.0, value + half),
        n=n,
        n_missing=n_missing,
        method=method,
        note="no two sessions differ: the interval cannot show how uncertain the mean is" if half == 0 else None,
    )


def percentile(values: Sequence[float] | Floats, p: float, *, n_missing: int = 0) -> Estimate:
    """The p-quantile (0 < p < 1) by linear interpolation (type 7), in the unit of `values`.

    `values` are the known ones; `n_missing` counts the unknown. The interval is the exact one of the order statistics
    (scipy.stats.quantile_test); `low` or `high` is None where too few values lie beyond it. A screen hides a high
    percentile whose `high` is None. No value where there are none.
    """
    known = np.asarray(values, dtype=np.float64)
    method = f"p{100 * p:g}, linear interpolation (type 7), 95 %"
    if len(known) == 0:
        return no_estimate("nothing was observed", n_missing=n_missing, method=method)
    value = float(np.quantile(known, p, method="linear"))
    low, high = _quantile_interval(known, p)
    missing = [name for name, bound in (("lower", low), ("upper", high)) if bound is None]
    return Estimate(
        value=value,
        low=None if low is None else min(low, value),
        high=None if high is None else max(high, value),
        n=len(known),
        n_missing=n_missing,
        method=method,
        note=f"{len(known)} values are too few for the {' and '.join(missing)} bound" if missing else None,
    )


def _quantile_interval(known: Floats, p: float) -> tuple[float | None, float | None]:
    interval = quantile_test(known, p=p).confidence_interval(CONFIDENCE)
    low, high = (None if math.isnan(bound) else float(bound) for bound in (interval.low, interval.high))
    return low, high


def no_estimate(reason: str, *, n_missing: int, method: str, n: int = 0) -> Estimate:
    """An estimate without a value, with the reason."""
    return Estimate(value=None, low=None, high=None, n=n, n_missing=n_missing, method=method, note=reason)
