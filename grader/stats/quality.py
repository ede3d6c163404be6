"""Daily quality: the mean judge score of all traces, estimated from those judged (STATISTICS.md section 2)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy.stats import t as student_t

from grader.records import Estimate
from grader.stats.intervals import CONFIDENCE, Floats, no_estimate
from grader.stats.strata import STRATUM_NAMES, StratumSample

PRIOR_SDS = (0.38, 0.28, 0.28)  # standard deviations of judge scores by stratum, until recent days say otherwise
PRIOR_WEIGHT = 3  # a prior standard deviation counts as so many judged traces
FEW_JUDGED = 15  # under so many a day, screens show the pooled value of seven days and say so
MUCH_MISSING = 0.05
METHOD = "stratified by rule score, Wilson with effective n and t, 95 %"


def stratified_mean(strata: Sequence[StratumSample], *, prior_sds: Sequence[float] = PRIOR_SDS) -> Estimate:
    """The mean judge score of all judgeable traces, 0 to 1, from a simple random sample of each stratum.

    `strata` in the order of `STRATUM_NAMES`, with as many `prior_sds`. n counts the judged traces, n_missing the failed
    calls; the note says so where they exceed 5 % of the calls in a stratum. There is no value where there are no
    traces, and none where a stratum has traces and no judged one: the note names it.

    The interval is Wilson's at the effective sample size ȳ (1 − ȳ) / v, with t on Satterthwaite's degrees of freedom;
    v uses stratum variances shrunk towards `prior_sds`. Where every trace was judged, nothing is estimated and the
    interval is the value itself. Raises ValueError where a stratum has more scores than traces.
    """
    n = sum(len(stratum.scores) for stratum in strata)
    n_missing = sum(stratum.num_failed for stratum in strata)
    for stratum in strata:
        if len(stratum.scores) > stratum.num_traces:
            raise ValueError(f"{len(stratum.scores)} scores for a stratum of {stratum.num_traces} traces")
    if all(stratum.num_traces == 0 for stratum in strata):
        return no_estimate("there are no traces that could be judged", n_missing=n_missing, method=METHOD)
    empty = [
        f"none of the {stratum.num_traces} traces with {name} is judged"
        for name, stratum in zip(STRATUM_NAMES, strata, strict=True)
        if stratum.num_traces and not len(stratum.scores)
    ]
    if empty:
        return no_estimate("; ".join(empty), n=n, n_missing=n_missing, method=METHOD)
    value, low, high = _interval(
        [
            (stratum.num_traces, np.asarray(stratum.scores, dtype=np.float64), prior_sd)
            for stratum, prior_sd in zip(strata, prior_sds, strict=True)
            if stratum.num_traces
        ]
    )
    return Estimate(
        value=value, low=low, high=high, n=n, n_missing=n_missing, method=METHOD, note=_missing_note(strata)
    )


def pool(days: Sequence[Sequence[StratumSample]]) -> tuple[StratumSample, ...]:
    """Several days as one: traces, scores and failures of each stratum put together.

    It takes a stratum's traces of those days for one population. For days under `FEW_JUDGED` judged traces; whoever
    shows the estimate says that it is pooled. Empty where `days` is empty.
    """
    return tuple(
        StratumSample(
            num_traces=sum(day.num_traces for day in of_stratum),
            scores=np.concatenate([np.asarray(day.scores, dtype=np.float64) for day in of_stratum]),
            num_failed=sum(day.num_failed for day in of_stratum),
        )
        for of_stratum in zip(*days, strict=True)
    )


def _interval(strata: Sequence[tuple[int, Floats, float]]) -> tuple[float, float, float]:
    total = sum(num_traces for num_traces, _, _ in strata)
    n = sum(len(scores) for _, scores, _ in strata)
    mean = variance = squares = 0.0
    for num_traces, scores, prior_sd in strata:
        judged, weight = len(scores), num_traces / total
        mean += weight * float(scores.mean())
        deviations = float(((scores - scores.mean()) ** 2).sum())  # (n_h − 1) s_h²
        shrunk = (deviations + PRIOR_WEIGHT * prior_sd**2) / (judged + PRIOR_WEIGHT - 1)
        part = weight**2 * (1 - judged / num_traces) / judged * shrunk
        variance += part
        squares += part**2 / (judged + PRIOR_WEIGHT - 1)
    value = min(1.0, max(0.0, mean))
    if squares == 0:
        return value, value, value
    # At 0 and 1 the effective n would be 0 and the interval say nothing: half an observation is kept on either side.
    inner = min(max(value, 0.5 / (n + 1)), (n + 0.5) / (n + 1))
    n_eff = inner * (1 - inner) / variance
    z = float(student_t.ppf(1 - (1 - CONFIDENCE) / 2, variance**2 / squares))
    centre = (value + z**2 / (2 * n_eff)) / (1 + z**2 / n_eff)
    half = z / (1 + z**2 / n_eff) * math.sqrt(value * (1 - value) / n_eff + z**2 / (4 * n_eff**2))
    return value, max(0.0, min(value, centre - half)), min(1.0, max(value, centre + half))


def _missing_note(strata: Sequence[StratumSample]) -> str | None:
    parts = []
    for name, stratum in zip(STRATUM_NAMES, strata, strict=True):
        asked = len(stratum.scores) + stratum.num_failed
        if asked and stratum.num_failed / asked > MUCH_MISSING:
            parts.append(f"{stratum.num_failed} of {asked} judge calls failed for traces with {name}")
    return "; ".join(parts) or None
