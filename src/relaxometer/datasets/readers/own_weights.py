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

    Raises
    ------
    UserError
        If there are no values to take, or one cannot be a weight.
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


def edges_once(
    path: Path, tails: npt.NDArray[Any], heads: npt.NDArray[Any], values: npt.NDArray[Any]
) -> tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any]]:
    """Return one entry of each edge of a file that lists every edge at both ends; loops are left out.

    Raises
    ------
    UserError
        If an edge is missing at one end, or has another value there; names it.
    """
    up, down = tails < heads, tails > heads
    near, far = (
        np.lexsort((values[up], heads[up], tails[up])),
        np.lexsort((values[down], tails[down], heads[down])),
    )
    once = tails[up][near], heads[up][near], values[up][near]
    again = heads[down][far], tails[down][far], values[down][far]
    size = min(len(near), len(far))
    differs = np.any([one[:size] != other[:size] for one, other in zip(once, again, strict=True)], axis=0)
    if np.any(differs) or len(near) != len(far):
        first = int(np.argmax(differs)) if np.any(differs) else size
        columns = once if first < len(near) else again
        u, v = int(columns[0][first]) + 1, int(columns[1][first]) + 1
        raise UserError(
            f"{path}: of the edges of vertices {u} and {v}, counted from 1, one is missing at its other end "
            "or has another weight there; an undirected graph has every edge at both"
        )
    return once
