"""Vertices by integers of the caller's, such as OpenStreetMap's, without an object per vertex."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt


class Ids(Sequence[int]):
    """Integers, int64 or uint64, that name vertices, in the order of the vertices' numbers."""

    def __init__(self, ids: npt.NDArray[Any]) -> None:
        self._ids = ids

    def __len__(self) -> int:
        return len(self._ids)

    def __getitem__(self, number: Any) -> Any:
        return self._ids[number].tolist()

    @cached_property
    def _sorted(self) -> tuple[npt.NDArray[Any], npt.NDArray[np.int64]]:
        """The ids in ascending order, and the number of each."""
        numbers = np.argsort(self._ids, kind="stable")
        return self._ids[numbers], numbers

    def numbers(self, given: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
        """Return the number of the first vertex of each id; -1 for an id of no vertex."""
        if not len(self):
            return np.full(len(given), -1)
        ids, numbers = self._sorted
        same = given.astype(ids.dtype)
        # In ascending order, the search of each begins in cached memory.
        order = np.argsort(same)
        places = np.empty(len(same), np.int64)
        places[order] = np.minimum(np.searchsorted(ids, same[order]), len(ids) - 1)
        # Of a negative number, an unsigned one may have the same bits.
        is_there = (ids[places] == same) & ((same < 0) == (given < 0))
        return np.where(is_there, numbers[places], -1)
