"""Weights of edges: drawn from a distribution, or taken from the values in a file."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from relaxometer.datasets.parameters import BOUNDS, FLOATS, LogNormal, LogUniform, Unit, Values, WeightType
from relaxometer.datasets.readers.text import Column
from relaxometer.datasets.weights import log_uniform, log_uniform_floats, scaled
from relaxometer.graphs.graph import MAX_WEIGHT, Graph

Floats = npt.NDArray[np.float64]
Distribution = Unit | LogUniform | LogNormal | Values


def make_weights(
    distribution: Distribution, count: int, values: Floats | None = None, brought: WeightType = "uint32"
) -> npt.NDArray[Any]:
    """Return a weight for each of `count` edges, in the type of the weights.

    Parameters
    ----------
    distribution : Unit, LogUniform, LogNormal or Values
    count : int
    values : ndarray of shape (count,), float64, optional
        Values in the file, for `Values`; within :func:`value_bounds`.
    brought : {"uint32", "float32"}
        Type of the values in the file, for `Values`.
    """
    if isinstance(distribution, Values):
        assert values is not None, "the readers check this"
        return scaled(values, distribution.type_of(brought), distribution.scale or 1.0)
    if isinstance(distribution, Unit):
        return np.ones(count, dtype=distribution.type)
    rng = np.random.default_rng(distribution.seed)
    if isinstance(distribution, LogNormal):
        return _lognormal(rng, count, distribution.mu, distribution.sigma)
    low, high = distribution.range
    if distribution.type in FLOATS:
        return log_uniform_floats(rng, count, low, high, distribution.type)
    return log_uniform(rng, count, int(low), int(high)).astype(distribution.type)


def value_bounds(distribution: Distribution, brought: WeightType, *, directed: bool) -> tuple[float, float]:
    """Return the smallest and largest value in a file that `distribution` can turn into a weight.

    A negative value of an undirected edge would be a negative cycle.
    """
    if not isinstance(distribution, Values):
        return -sys.float_info.max, sys.float_info.max
    low, high = BOUNDS[distribution.type_of(brought)]
    if distribution.scale is not None:
        low, high = low / distribution.scale, min(high / distribution.scale, sys.float_info.max)
    return low if low and directed else 0, high


def value_column(distribution: Distribution, brought: WeightType, *, directed: bool) -> Column:
    """Return the column of the values in a text file; see :func:`value_bounds`."""
    low, high = value_bounds(distribution, brought, directed=directed)
    below = "" if low else "negative weights need `type: int32`"
    if not directed:
        below = "an undirected edge of negative weight is a negative cycle"
    return Column("value", low, high, real=True, below=below)


def type_of_values(values: Floats | None) -> WeightType:
    """Return the type of values in a file that does not say it: uint32 if they are integers of its range."""
    if values is None:
        return "uint32"
    low, high = BOUNDS["uint32"]
    return "uint32" if np.all((values >= low) & (values <= high) & (values == np.rint(values))) else "float32"


def graph_of_edges(
    name: str,
    n_vertices: int,
    ends: tuple[npt.ArrayLike, npt.ArrayLike],
    weights: npt.NDArray[Any],
    metadata: dict[str, Any],
) -> Graph:
    """Return the graph of undirected edges, in the type of their weights."""
    return Graph.from_arcs(
        name,
        n_vertices,
        *ends,
        weights,
        undirected=True,
        weight_type=weights.dtype.name,
        metadata=metadata,
    )


def _lognormal(rng: np.random.Generator, size: int, mu: float, sigma: float) -> npt.NDArray[np.uint32]:
    """Draw rounded exponentials of normal numbers, at least 1.

    Exponentials differ in the last bits between processors; rounding hides that almost always.
    """
    # Keep away from 0 and 1, where the normal quantile is infinite.
    uniform = (rng.integers(0, 1 << 53, size).astype(np.float64) + 0.5) / 2**53
    exponents = np.minimum(mu + sigma * ndtri(uniform), np.log(MAX_WEIGHT))
    return np.clip(np.rint(np.exp(exponents)).astype(np.int64), 1, MAX_WEIGHT).astype(np.uint32)
