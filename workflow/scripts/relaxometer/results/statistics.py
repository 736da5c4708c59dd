"""Medians with intervals, and the test by which one variant is faster than another."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

RESAMPLES = 2_000
SIGNIFICANCE = 0.01
"""Largest p-value at which a difference is claimed."""

FEWEST = 7
"""Fewest pairs that can show a difference: n pairs of the same sign have a p-value of 2**-n."""


def bootstrap_median(
    samples: npt.ArrayLike, *, confidence: float = 0.95, seed: int = 0
) -> tuple[float, float, float]:
    """Return the median of `samples` and its percentile bootstrap interval.

    Parameters
    ----------
    samples : array_like of shape (n_samples,), float
    confidence : float, default=0.95
    seed : int, default=0

    Returns
    -------
    median, low, high : float

    Raises
    ------
    ValueError
        If there are no samples.

    References
    ----------
    Efron and Tibshirani, "An Introduction to the Bootstrap", 1993, chapter 13.
    """
    values = np.asarray(samples, dtype=np.float64)
    if not values.size:
        raise ValueError("no samples")
    rng = np.random.default_rng(seed)
    medians = np.array([np.median(rng.choice(values, values.size)) for _ in range(RESAMPLES)])
    tail = (1 - confidence) / 2
    low, high = np.quantile(medians, [tail, 1 - tail])
    return float(np.median(values)), float(low), float(high)


def is_faster(candidate: npt.ArrayLike, baseline: npt.ArrayLike) -> tuple[bool, float]:
    """Test whether `candidate` is faster than `baseline` over the same sources.

    Parameters
    ----------
    candidate, baseline : array_like of shape (n_sources,), float
        Median time of each source, in the same order.

    Returns
    -------
    faster : bool
        Whether a one-sided Wilcoxon signed-rank test rejects "not faster" at `SIGNIFICANCE`.
    p_value : float
        1 if all times are equal.

    References
    ----------
    Wilcoxon, "Individual Comparisons by Ranking Methods", Biometrics Bulletin 1, 1945.
    """
    from scipy.stats import wilcoxon

    difference = np.asarray(candidate, dtype=np.float64) - np.asarray(baseline, dtype=np.float64)
    if not np.any(difference):
        return False, 1.0
    p_value = float(wilcoxon(difference, alternative="less").pvalue)
    return p_value < SIGNIFICANCE, p_value
