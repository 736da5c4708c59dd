"""Weights of generated graphs, the same on every machine."""

from decimal import Decimal
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from relaxometer.core.errors import UserError
from relaxometer.datasets.parameters import BOUNDS, FLOATS, Weights, WeightType
from relaxometer.datasets.random_bits import Bits, Purpose, below, bits, stream
from relaxometer.graphs.graph import Graph

STEPS, SCALE = 4096, 1 << 16
"""Exact quantiles of a log-uniform distribution, and the resolution between two of them."""

PIECE = 1 << 16
"""Weights drawn at a time, to bound memory."""


def draw(weights: Weights, seed: int, n_edges: int) -> npt.NDArray[Any]:
    """Draw weights of shape (n_edges,) and their type; each depends only on the seed and the edge's index."""
    result = np.ones(n_edges, dtype=weights.type)
    if weights.distribution == "unit":
        return result
    key = stream(seed, Purpose.WEIGHTS)
    for start in range(0, n_edges, PIECE):
        stop = min(start + PIECE, n_edges)
        random = bits(key, start, stop)
        if weights.type in FLOATS:
            result[start:stop] = _spread_floats(weights.distribution, random, *map(float, weights.range))
        else:
            result[start:stop] = _spread(weights.distribution, random, *map(int, weights.range))
    return result


def typed_graph(name: str, n_vertices: int, *arcs: npt.NDArray[Any], **options: Any) -> Graph:
    """Build a graph of tails, heads and weights, in the type of the weights, as :meth:`Graph.from_arcs`."""
    return Graph.from_arcs(name, n_vertices, *arcs, weight_type=arcs[-1].dtype.name, **options)


def _spread(distribution: str, random: Bits, low: int, high: int) -> npt.NDArray[np.int64]:
    if distribution == "uniform":
        return below(random, np.uint64(high - low + 1)).astype(np.int64) + low
    place, between = random >> np.uint64(52), random >> np.uint64(36) & np.uint64(SCALE - 1)
    return _quantiles(place.astype(np.int64), between.astype(np.int64), low, high)


def _spread_floats(distribution: str, random: Bits, low: float, high: float) -> npt.NDArray[np.float64]:
    """Spread random bits over a range.

    Integers are scaled by powers of two, which is exact; sums and products of float64 are rounded in the same
    way on every machine.
    """
    if distribution == "uniform":
        share = (random >> np.uint64(11)).astype(np.float64) * 2.0**-53
        return np.minimum(low + share * (high - low), high)
    place, between = (random >> np.uint64(52)).astype(np.int64), random & np.uint64(2**52 - 1)
    return _float_quantiles(place, between.astype(np.float64) * 2.0**-52, low, high)


def log_uniform(
    rng: np.random.Generator, size: int, low: float, high: float, dtype: str = "int64"
) -> npt.NDArray[Any]:
    """Draw numbers whose logarithms are uniform, the same on every machine, integers unless of type float."""
    places = rng.integers(0, STEPS, size).astype(np.uint16)  # among the quantiles
    betweens = rng.integers(0, SCALE, size).astype(np.uint16)  # and between two of them
    result = np.empty(size, dtype=dtype)
    for start in range(0, size, PIECE):
        piece = slice(start, start + PIECE)
        place, between = places[piece].astype(np.int64), betweens[piece].astype(np.int64)
        if dtype in FLOATS:
            result[piece] = _float_quantiles(place, between / SCALE, low, high)
        else:
            result[piece] = _quantiles(place, between, int(low), int(high))
    return result


def _quantiles(
    place: npt.NDArray[np.int64], between: npt.NDArray[np.int64], low: int, high: int
) -> npt.NDArray[np.int64]:
    """Return the quantiles ``(place + between / SCALE) / STEPS`` of the log-uniform distribution."""
    knots = _knots(low, high)
    return (knots[place] + (knots[place + 1] - knots[place]) * between // SCALE) // SCALE


def _float_quantiles(
    place: npt.NDArray[np.int64], between: npt.NDArray[np.float64], low: float, high: float
) -> npt.NDArray[np.float64]:
    """Return the quantiles ``(place + between) / STEPS`` of the log-uniform distribution."""
    knots = _float_knots(low, high)
    return np.minimum(knots[place] + (knots[place + 1] - knots[place]) * between, high)


@cache
def _knots(low: int, high: int) -> npt.NDArray[np.int64]:
    """Return every `STEPS`-th quantile, times `SCALE`; shape (STEPS + 1,).

    Floating-point logarithms differ in the last bit between processors. So the quantiles are computed in
    decimal arithmetic and interpolated linearly in integers.
    """
    ratio = Decimal(high) / low
    return np.array([int(low * SCALE * ratio ** (Decimal(i) / STEPS)) for i in range(STEPS + 1)])


@cache
def _float_knots(low: float, high: float) -> npt.NDArray[np.float64]:
    """Return every `STEPS`-th quantile, shape (STEPS + 1,), from decimal arithmetic."""
    ratio = Decimal(high) / Decimal(low)
    return np.array([float(Decimal(low) * ratio ** (Decimal(i) / STEPS)) for i in range(STEPS + 1)])


def scaled(values: npt.NDArray[np.float64], weight_type: WeightType, factor: float = 1.0) -> npt.NDArray[Any]:
    """Return weights: values times a factor, rounded to integers for an integer type.

    Values are in the range of the type before they are rounded.
    """
    with np.errstate(over="ignore"):  # by the last bit of the largest float64
        weights = np.minimum(values * factor, BOUNDS["float64"][1])
    return (weights if weight_type in FLOATS else np.rint(weights)).astype(weight_type)


def check_scale(values: npt.NDArray[Any], weights: npt.NDArray[Any], factor: float, where: str = "") -> None:
    """Refuse a type, or a factor so small, that all weights are 0 though some values are not."""
    if np.any(values) and not np.any(weights):
        largest = np.abs(values).max(keepdims=True).astype(np.float64)
        kinds: tuple[WeightType, ...] = ("float32", "float64")
        remedies = [f"`type: {kind}`" for kind in kinds if np.any(scaled(largest, kind, factor))][:1]
        remedies.insert(0, "a `scale` above 1" if factor == 1 else "a larger one")
        cause = f"type {weights.dtype.name}" if factor == 1 else f"`scale: {factor:g}`"
        raise UserError(
            f"{where}{cause} makes every weight 0, since the largest value is {largest[0]:g}; give "
            f"{', or '.join(remedies)}"
        )
