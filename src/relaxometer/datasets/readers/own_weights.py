"""Edges and weights of files that may bring weights of their own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from relaxometer.core.errors import UserError
from relaxometer.datasets.parameters import OwnWeights, Values
from relaxometer.datasets.readers.edge_weights import make_weights, type_of_values, value_column
from relaxometer.datasets.readers.text import Column, refuse_negative_loops, within

Floats = npt.NDArray[np.float64]


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

    UserError if there are no values to take, or one cannot be a weight.
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
