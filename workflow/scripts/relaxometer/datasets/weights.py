"""Integer weights of generated graphs, the same on every machine."""

from __future__ import annotations

from decimal import Decimal
from functools import cache

import numpy as np
import numpy.typing as npt

from relaxometer.datasets.parameters import Weights
from relaxometer.datasets.random_bits import Bits, Purpose, below, bits, stream

STEPS, SCALE = 4096, 1 << 16
"""Exact quantiles of a log-uniform distribution, and the resolution between two of them."""

PIECE = 1 << 16
"""Weights drawn at a time, to bound memory."""


def draw(weights: Weights, seed: int, n_edges: int) -> npt.NDArray[np.uint32]:
    """Draw weights of shape (n_edges,), uint32; each depends only on the seed and the edge's index."""
    result = np.ones(n_edges, dtype=np.uint32)
    if weights.distribution == "unit":
        return result
    key = stream(seed, Purpose.WEIGHTS)
    for start in range(0, n_edges, PIECE):
        stop = min(start + PIECE, n_edges)
        result[start:stop] = _spread(weights, bits(key, start, stop))
    return result


def _spread(weights: Weights, random: Bits) -> npt.NDArray[np.int64]:
    low, high = weights.range
    if weights.distribution == "uniform":
        return below(random, np.uint64(high - low + 1)).astype(np.int64) + low
    place, between = random >> np.uint64(52), random >> np.uint64(36) & np.uint64(SCALE - 1)
    return _quantiles(place.astype(np.int64), between.astype(np.int64), low, high)


def log_uniform(rng: np.random.Generator, size: int, low: int, high: int) -> npt.NDArray[np.int64]:
    """Draw integers whose logarithms are uniform, the same on every machine."""
    place = rng.integers(0, STEPS, size).astype(np.uint16)
    between = rng.integers(0, SCALE, size).astype(np.uint16)
    result = np.empty(size, dtype=np.int64)
    for start in range(0, size, PIECE):
        piece = slice(start, start + PIECE)
        result[piece] = _quantiles(place[piece].astype(np.int64), between[piece].astype(np.int64), low, high)
    return result


def _quantiles(
    place: npt.NDArray[np.int64], between: npt.NDArray[np.int64], low: int, high: int
) -> npt.NDArray[np.int64]:
    """Return the quantiles ``(place + between / SCALE) / STEPS`` of the log-uniform distribution."""
    knots = _knots(low, high)
    return (knots[place] + (knots[place + 1] - knots[place]) * between // SCALE) // SCALE


@cache
def _knots(low: int, high: int) -> npt.NDArray[np.int64]:
    """Return every `STEPS`-th quantile, times `SCALE`; shape (STEPS + 1,).

    Floating-point logarithms differ in the last bit between processors. So the quantiles are computed in
    decimal arithmetic and interpolated linearly in integers.
    """
    ratio = Decimal(high) / low
    return np.array([int(low * SCALE * ratio ** (Decimal(i) / STEPS)) for i in range(STEPS + 1)])
