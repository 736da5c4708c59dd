"""Numbers of vertices that a file names by integers with gaps or by texts."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from relaxometer.datasets.readers.text import Growing, pieces

Ids = npt.NDArray[np.uint32]

_LEAST_PENDING = 1 << 20
"""Ids that are hashed at a time, at least."""

_MOST_PER_END = 4
"""If ids are integers up to this many times the ends of edges, a table of all takes their place."""


class Numbering:
    """Numbers the ends of edges, which come in blocks, in the ascending order of their ids.

    Memory is 8 bytes per edge, and a few times the different ids.
    """

    def __init__(self) -> None:
        self._is_plain = True  # as long as `_ends` hold the ids themselves
        self._ids = pa.array([], pa.int64())
        self._pending: list[pa.Array] = []
        self._ends = Growing(np.uint32), Growing(np.uint32)

    def add(self, tails: pa.Array, heads: pa.Array) -> None:
        """Add the ids of the two ends of some edges: int64, uint64 or large_string, without missing ones.

        If some blocks have integers and others texts, all become texts.
        """
        if self._is_plain:
            if _are_small(tails) and _are_small(heads):
                for end, ids in zip(self._ends, (tails, heads), strict=True):
                    end.append(ids.to_numpy())
                return
            self._begin_to_hash(next((kind for kind in (tails.type, heads.type) if _is_integer(kind)), None))
        self._pending += [tails, heads]
        if sum(map(len, self._pending)) > max(2 * len(self._ids), _LEAST_PENDING):
            self._hash()

    def _begin_to_hash(self, kind: pa.DataType | None) -> None:
        """Hash the ids that the ends hold so far, as integers of this type."""
        ends, self._ends = self._ends, (Growing(np.uint32), Growing(np.uint32))
        self._is_plain = False
        for tails, heads in zip(*(pieces(end.values) for end in ends), strict=True):
            self.add(*(pa.array(ids).cast(kind or pa.int64()) for ids in (tails, heads)))

    def _hash(self) -> None:
        """Give numbers to the pending ids in the order in which they first occur."""
        blocks = [block for block in (self._ids, *self._pending) if len(block)]
        kinds = {block.type for block in blocks}
        kind = kinds.pop() if len(kinds) == 1 else pa.large_string()
        numbered = pa.chunked_array([block.cast(kind) for block in blocks], kind).dictionary_encode()
        ends = numbered.chunks[1 if len(self._ids) else 0 :]
        for place, block in enumerate(ends):
            self._ends[place % 2].append(block.indices.to_numpy())
        self._ids = ends[-1].dictionary
        self._pending = []

    def finish(self, retyped: Callable[[pa.Array], pa.Array] | None = None) -> tuple[pa.Array, Ids, Ids]:
        """Return the ids in ascending order, texts by bytes, and the numbers of tails and heads.

        If given, `retyped` is called with all ids first, and returns them as another type.
        """
        tails, heads = (end.values for end in self._ends)
        if self._is_plain:
            largest = int(max(tails.max(initial=0), heads.max(initial=0)))
            if largest < _MOST_PER_END * (len(tails) + len(heads)):
                return _by_table(tails, heads, largest)
            self._begin_to_hash(None)
        if self._pending:
            self._hash()
        ids = retyped(self._ids) if retyped else self._ids
        order = pc.sort_indices(ids).to_numpy()
        new = np.empty(len(order), np.uint32)
        new[order] = np.arange(len(order), dtype=np.uint32)
        return ids.take(pa.array(order)), *(_replaced(end.values, new) for end in self._ends)


def _is_integer(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind))


def _are_small(ids: pa.Array) -> bool:
    """Return whether ids are integers of 32 bits from 0."""
    if not (_is_integer(ids.type) and len(ids)):
        return _is_integer(ids.type)
    values = ids.to_numpy()
    return bool(values.min() >= 0 and values.max() < 2**32)


def _by_table(tails: Ids, heads: Ids, largest: int) -> tuple[pa.Array, Ids, Ids]:
    """Renumber integers up to `largest`, several times faster than by sorting."""
    occurs = np.zeros(largest + 1, dtype=bool)
    for ends in (*pieces(tails), *pieces(heads)):
        occurs[ends] = True
    new = np.cumsum(occurs, dtype=np.uint32) - np.uint32(1)
    ids = pa.array(np.flatnonzero(occurs))
    return ids, *((_replaced(tails, new), _replaced(heads, new)) if len(ids) <= largest else (tails, heads))


def _replaced(numbers: Ids, new: Ids) -> Ids:
    """Replace numbers in place."""
    for piece in pieces(numbers):
        piece[:] = new[piece]
    return numbers
