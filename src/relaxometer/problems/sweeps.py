"""Statistics of searches from many sources at once, whose distances are side by side."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from relaxometer.graphs.graph import UNREACHED


@dataclass(frozen=True, eq=False)
class Sweeps:
    """Results of searches from many sources, on the device, by place; idle places follow the last source."""

    sources: Any  # by place; `UNREACHED` where there is none; uint32
    reached: Any  # vertices reached; uint32
    farthest: Any  # the greatest of their distances, uint32; None unless asked for
    total: Any  # the sum of their distances, uint64; None unless asked for
    inverses: Any  # the sum of their inverses in `inverse_unit`, uint64; None unless asked for
    labels: Any  # distances, shape (n_batches, n_vertices, k), uint32, or None if they were not stored


def by_place(sources: npt.NDArray[np.integer], places: int) -> npt.NDArray[np.uint32]:
    """Return sources followed by `UNREACHED` for idle places."""
    filled = np.full(places, UNREACHED, dtype=np.uint32)
    filled[: len(sources)] = sources
    return filled


def inverse_unit(n_vertices: int) -> float:
    """Return the unit in which inverse distances are added up, rounded down, as ``_inverses.cuh`` has it."""
    return 2.0 ** (64 - n_vertices.bit_length())
