"""Edges of files that list every edge at both of its ends."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from relaxometer.core.compiled import njit
from relaxometer.core.errors import UserError
from relaxometer.datasets.random_bits import number
from relaxometer.datasets.readers.text import Growing

Entries = tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint32], npt.NDArray[np.integer[Any]]]
"""Vertices, their neighbours, and the values of these edges."""


def edges_listed_twice(path: Path, read: Callable[[], Iterable[Entries]]) -> Entries:
    """Return one entry of each edge of a file that lists every edge at both ends; loops are left out.

    The entries of one direction are kept; those of the other one only count in a sum of hashes, which differs
    from that of the first if an edge is missing at one end or has another value there. Then a UserError names
    it, for which `read` returns the blocks of entries again.
    """
    columns = Growing(np.uint32), Growing(np.uint32), Growing(np.int64)
    balance = 0
    for entries in read():
        balance += int(_balance(*entries))
        is_kept = entries[0] < entries[1]
        for column, more in zip(columns, entries, strict=True):
            column.append(more[is_kept])
    if balance % 2**64:
        _refuse(path, *map(np.concatenate, zip(*read(), strict=True)))
    tails, heads, values = (column.values for column in columns)
    return tails, heads, values


@njit(cache=True)
def _balance(tails: np.ndarray, heads: np.ndarray, values: np.ndarray) -> np.uint64:
    """Return the sum of the hashes of ascending entries, less that of the descending ones' mirror images."""
    total = np.uint64(0)
    for i in range(len(tails)):
        low, high = np.uint64(min(tails[i], heads[i])), max(tails[i], heads[i])
        hashed = number(number(low, high), values[i])
        if tails[i] < heads[i]:
            total += hashed
        elif tails[i] > heads[i]:
            total -= hashed
    return total


def _refuse(path: Path, *entries: npt.NDArray[Any]) -> NoReturn:
    up, down = entries[0] < entries[1], entries[0] > entries[1]
    once = np.stack([column[up].astype(np.int64) for column in entries])
    again = np.stack([entries[place][down].astype(np.int64) for place in (1, 0, 2)])
    once, again = once[:, np.lexsort(once[::-1])], again[:, np.lexsort(again[::-1])]
    size = min(once.shape[1], again.shape[1])
    differs = np.any(once[:, :size] != again[:, :size], axis=0)
    first = int(np.argmax(differs)) if np.any(differs) else size
    u, v = (once if first < once.shape[1] else again)[:2, first] + 1
    raise UserError(
        f"{path}: of the edges of vertices {u} and {v}, counted from 1, one is missing at its other end "
        "or has another weight there; an undirected graph has every edge at both"
    )
