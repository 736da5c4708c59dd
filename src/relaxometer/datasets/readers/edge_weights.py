"""Weights of edges: drawn from a distribution, or taken from the values in a file."""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from relaxometer.core.errors import UserError
from relaxometer.core.validation import Section
from relaxometer.datasets.parameters import (
    BOUNDS,
    FLOATS,
    FileWeights,
    LogNormal,
    OwnWeights,
    Unit,
    Values,
    WeightType,
)
from relaxometer.datasets.readers.text import Column, has_fractions, pieces, refuse_negative_loops, within
from relaxometer.datasets.weights import check_scale, log_uniform, scaled
from relaxometer.graphs.graph import MAX_WEIGHT

Floats = npt.NDArray[np.float64]


def make_weights(
    distribution: FileWeights,
    count: int,
    values: Floats | None = None,
    brought: WeightType = "uint32",
    file: Path | None = None,
) -> npt.NDArray[Any]:
    """Return a weight for each of `count` edges, in the type of the weights.

    For `Values`, `values` are those in the file, float64 within the bounds of :func:`value_column`, and of
    type `brought` there. UserError, which names `file`, if a weight is out of range, or all are 0 because of
    their type or `scale`.
    """
    if isinstance(distribution, Values):
        assert values is not None, "the readers check this"
        factor = distribution.scale or 1.0
        weights = np.empty(count, distribution.type_of(brought))
        for piece, more in zip(pieces(weights), pieces(values), strict=True):
            piece[:] = scaled(more, distribution.type_of(brought), factor)
        check_scale(values, weights, factor, f"{file}: " if file else "")
        return weights
    if isinstance(distribution, Unit):
        return np.ones(count, dtype=distribution.type)
    rng = np.random.default_rng(distribution.seed)
    if isinstance(distribution, LogNormal):
        return _lognormal(rng, count, distribution.mu, distribution.sigma)
    return log_uniform(rng, count, *distribution.range, distribution.type)


def value_column(distribution: FileWeights, brought: WeightType, *, directed: bool) -> Column:
    """Return the column of the values in a text file, with the bounds of what can become a weight.

    A negative value of an undirected edge would be a negative cycle.
    """
    low, high = -sys.float_info.max, sys.float_info.max
    whole = ""
    if isinstance(distribution, Values):
        kind, scale = distribution.type_of(brought), distribution.scale
        low, high = BOUNDS[kind]
        if scale is not None:
            low, high = low / scale, min(high / scale, sys.float_info.max)
        low = low if low and directed else 0
        # Rounding is something to ask for: 0.4 would become 0.
        if scale is None and kind not in FLOATS:
            floats = "`type: float32`, or `scale: 1` to round them"  # which are not negative
            integers = "a `scale` that makes integers of them, such as 1000"
            whole = f"weights of type {kind} are integers: give {integers if low < 0 else floats}"
    below = "negative weights need `parameters: { weights: { distribution: values, type: int32 } }`, and "
    below += "fractions a `scale` that makes integers of them, such as 1000"
    if not directed:
        below = "an undirected edge of negative weight is a negative cycle"
    return Column("value", low, high, real=True, below="" if directed and low else below, whole=whole)


def type_of_values(path: Path, values: Floats | None, distribution: FileWeights) -> WeightType:
    """Return the type of values in a file that does not say it: uint32 if all are integers, else float32.

    UserError if it would count, and all are integers, but uint32 does not hold one; names it.
    """
    if values is None or has_fractions(values):
        return "float32"
    largest = BOUNDS["uint32"][1]
    is_open = isinstance(distribution, Values) and distribution.type is None and distribution.scale is None
    if is_open and values.max(initial=0) > largest:
        first = int(np.argmax(values > largest))
        raise UserError(
            f"{path}: value {values[first]:.0f} of edge {first + 1} of the file is above {largest}, the "
            "largest weight of type uint32; give `type: float64` or `float32`, or a `scale`"
        )
    return "uint32"


def note_on_values(parameters: Section) -> dict[str, str]:
    """Return metadata on the values of a file, which are not used unless the parameters have `weights`."""
    return {} if "weights" in parameters.model_fields_set else {"values_in_file": "not used: weights are 1"}


def weights_of(
    path: Path,
    parameters: OwnWeights,
    tails: npt.NDArray[Any],
    heads: npt.NDArray[Any],
    values: Floats | None,
    *,
    directed: bool,
) -> npt.NDArray[Any]:
    """Return the weights of a file's edges: the values that it brings, unless the entry draws others.

    UserError without values to take, or if one cannot be a weight.
    """
    distribution = parameters.distribution(has_values=values is not None)
    if isinstance(distribution, Values):
        if values is None:
            raise UserError(f"{path}: has no weights, so `weights` cannot be its values")
        check_values(path, value_column(distribution, "float32", directed=directed), values)
    weights = make_weights(distribution, len(tails), values, type_of_values(path, values, distribution))
    refuse_negative_loops(path, tails, heads, weights)
    return weights


def check_values(path: Path, column: Column, values: Floats) -> None:
    """Refuse values that do not fit a column; names the first one's number in the file."""
    if not within(values, column):
        is_wrong = ~((values >= column.low) & (values <= column.high))
        is_wrong |= bool(column.whole) & (values != np.rint(values))
        first = int(np.argmax(is_wrong))
        column.parse(path, first + 1, f"row {first + 1}", f"{values[first]:.17g}")


def _lognormal(rng: np.random.Generator, size: int, mu: float, sigma: float) -> npt.NDArray[np.uint32]:
    """Draw rounded exponentials of normal numbers, at least 1; UserError if one is too large.

    Exponentials differ in the last bits between processors; rounding hides that almost always.
    """
    # Keep away from 0 and 1, where the normal quantile is infinite.
    uniform = (rng.integers(0, 1 << 53, size).astype(np.float64) + 0.5) / 2**53
    with np.errstate(over="ignore"):  # infinity is refused
        drawn = np.maximum(np.rint(np.exp(mu + sigma * ndtri(uniform))), 1)
    if drawn.max(initial=1) > MAX_WEIGHT:
        raise UserError(
            f"lognormal weights with mu: {mu:g} and sigma: {sigma:g}: the largest drawn is {drawn.max():g}; "
            f"expected at most {MAX_WEIGHT}: give a smaller mu or sigma"
        )
    return drawn.astype(np.uint32)
