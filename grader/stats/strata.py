"""The strata of a day's judgeable traces, by rule score. Apart from the estimators, so that who only reads the store
does not load the statistics libraries (seconds of CPU).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

STRATUM_NAMES = ("rule score under the limit", "rule score up to 1", "rule score 1")


@dataclass(frozen=True, kw_only=True, slots=True)
class StratumSample:
    """What is known of one stratum of a day's judgeable traces."""

    num_traces: int  # N_h: judged or not
    scores: Sequence[float] | npt.NDArray[np.float64]  # judge scores, 0 to 1, of those judged
    num_failed: int = 0  # chosen for the judge, but every call failed
