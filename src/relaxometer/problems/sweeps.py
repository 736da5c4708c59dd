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


class Rows:
    """Numbers of sources, side by side in parts of shape (n_vertices, k), read as one row per source.

    `labels` are the parts, in a list or an array, of an unsigned type; its greatest number is `UNREACHED`.
    """

    def __init__(self, labels: Any, n_sources: int, xp: Any) -> None:
        self.labels = labels
        self._n_sources, self._xp = n_sources, xp

    def __len__(self) -> int:
        return self._n_sources

    def __getitem__(self, number: int) -> Any:
        """Return the numbers of one source, a new device array of shape (n_vertices,), uint32."""
        if not 0 <= number < self._n_sources:
            raise IndexError(number)
        part, place = divmod(number, self.labels[0].shape[1])
        column = self.labels[part][:, place]
        row = column.astype(np.uint32)
        if column.dtype != np.uint32:
            row[column == np.iinfo(column.dtype).max] = UNREACHED
        return row

    def places(self, sources: npt.NDArray[np.integer]) -> Any:
        """Return the sources by place, idle places as `UNREACHED`, device array of uint32."""
        return self._xp.asarray(by_place(sources, len(self.labels) * self.labels[0].shape[1]))
