"""Weights of edges: drawn from a distribution, or taken from the values in a file."""

from __future__ import annotations

import sys

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from relaxometer.datasets.parameters import LogNormal, LogUniform, Unit, Values
from relaxometer.datasets.weights import log_uniform
from relaxometer.graphs.graph import MAX_WEIGHT

Floats = npt.NDArray[np.float64]
Distribution = Unit | LogUniform | LogNormal | Values


def make_weights(
    distribution: Distribution, count: int, values: Floats | None = None
) -> npt.NDArray[np.uint32]:
    """Return a weight for each of `count` edges.

    Parameters
    ----------
    distribution : Unit, LogUniform, LogNormal or Values
    count : int
    values : ndarray of shape (count,), float64, optional
        Values in the file, for `Values`; within :func:`value_bounds`.
    """
    if isinstance(distribution, Values):
        assert values is not None, "the readers check this"
        return np.rint(values * distribution.scale).astype(np.uint32)
    if isinstance(distribution, Unit):
        return np.ones(count, dtype=np.uint32)
    rng = np.random.default_rng(distribution.seed)
    if isinstance(distribution, LogUniform):
        return log_uniform(rng, count, *distribution.range).astype(np.uint32)
    return _lognormal(rng, count, distribution.mu, distribution.sigma)


def value_bounds(distribution: Distribution) -> tuple[float, float]:
    """Return the smallest and largest value in a file that `distribution` can turn into a weight."""
    if isinstance(distribution, Values):
        return 0, MAX_WEIGHT / distribution.scale
    return -sys.float_info.max, sys.float_info.max


def _lognormal(rng: np.random.Generator, size: int, mu: float, sigma: float) -> npt.NDArray[np.uint32]:
    """Draw rounded exponentials of normal numbers, at least 1.

    Exponentials differ in the last bits between processors; rounding hides that almost always.
    """
    # Keep away from 0 and 1, where the normal quantile is infinite.
    uniform = (rng.integers(0, 1 << 53, size).astype(np.float64) + 0.5) / 2**53
    exponents = np.minimum(mu + sigma * ndtri(uniform), np.log(MAX_WEIGHT))
    return np.clip(np.rint(np.exp(exponents)).astype(np.int64), 1, MAX_WEIGHT).astype(np.uint32)
