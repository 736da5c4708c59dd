"""Frequencies of degrees, and the degrees at which kernels treat a vertex in another way."""

from typing import Any

import numpy as np
import numpy.typing as npt

WARP = 32
"""hybrid-bfs expands vertices of at least this degree with a warp; its figure 11 counts those above."""

BLOCK_OF_128 = 512
"""A vertex above this degree has on average more than 32 arcs per block of hybrid-bfs's 2-D partition over
128 processes; a block holds 1 / sqrt(2 * 128) of the arcs of a vertex."""

Counts = dict[str, list[int]]
"""Occurring values in ascending order under ``value``, and their frequencies under ``count``."""


def counts(values: npt.NDArray[np.integer[Any]]) -> Counts:
    """Return the occurring values, integers from 0, and their frequencies."""
    found = np.bincount(values)
    occurring = np.flatnonzero(found)
    return {"value": occurring.tolist(), "count": found[occurring].tolist()}
