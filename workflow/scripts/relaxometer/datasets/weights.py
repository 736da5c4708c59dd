"""Weights for graphs that come without: drawn by a law and a seed, the same on every machine."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from relaxometer.datasets.registry import LogNormal, LogUniform, Unit
from relaxometer.graph import MAX_WEIGHT

Ints = npt.NDArray[np.int64]


def draw_weights(law: Unit | LogUniform | LogNormal, count: int) -> Ints:
    """Return a weight for each of `count` edges.

    Parameters
    ----------
    law : Unit, LogUniform or LogNormal
    count : int

    Returns
    -------
    ndarray of shape (count,), int64
        From 1 to the largest weight of a graph.
    """
    if isinstance(law, Unit):
        return np.ones(count, dtype=np.int64)
    # NumPy promises that the raw words stay the same from release to release; not so what it makes of them.
    words = np.random.PCG64(law.seed).random_raw(count)
    if isinstance(law, LogUniform):
        return _log_uniform(words, law.low, law.high)
    return _log_normal(words, law.mu, law.sigma)


def _log_uniform(words: npt.NDArray[np.uint64], low: int, high: int) -> Ints:
    """Turn random words into integers from `low` to `high`, each with probability in proportion to 1/w."""
    # In units of 2**-40, the inverses are integers and their sum stays far below 2**63.
    shares = (1 << 40) // np.arange(low, high + 1, dtype=np.int64)
    bounds = np.cumsum(shares)
    return low + np.searchsorted(bounds, (words % np.uint64(bounds[-1])).astype(np.int64), side="right")


def _log_normal(words: npt.NDArray[np.uint64], mu: float, sigma: float) -> Ints:
    """Turn random words into rounded exponentials of normal numbers, at least 1."""
    # The upper 53 bits, moved off 0 and 1, where the normal quantile is infinite.
    uniform = ((words >> np.uint64(11)).astype(np.float64) + 0.5) / 2**53
    exponents = np.minimum(mu + sigma * ndtri(uniform), np.log(MAX_WEIGHT))
    return np.clip(np.rint(np.exp(exponents)).astype(np.int64), 1, MAX_WEIGHT)
