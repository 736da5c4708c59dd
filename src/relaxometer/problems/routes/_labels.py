"""Where labels stand, and what tells the common ancestors of two vertices; see ``labels.cu``."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from relaxometer.core.compiled import njit
from relaxometer.problems.sssp.phast._cch import Contraction

Ints = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint32]

SIZE_BITS = np.uint64(16)
"""Of the number of labels of a row; its begin is in the other 48 bits."""


class Layout(NamedTuple):
    """The rows of labels of all vertices, of which each has one label per ancestor, itself included.

    A row is its begin, in units, times 2^16, and its number of labels.

    Parameters
    ----------
    units : int
        All rows together, each rounded up to whole units.
    nodes : ndarray of shape (n_vertices, 4), uint32
        By vertex of the graph: its path, the bits of this and of all above, its row in two words.
    above : ndarray of shape (n_vertices + 1,), uint32
        By path: the number of ancestors of its uppermost vertex, without itself.
    levels : ndarray of shape (height + 1,), int64
        The first place of each depth.
    places : ndarray of shape (n_vertices, 4), uint32
        By depth: the first upward arc of a vertex, their end, its row in two words.
    heads : ndarray of shape (n_arcs,), uint64
        The row of the upper end of each arc.
    """

    units: int
    nodes: Words
    above: Words
    levels: Ints
    places: Words
    heads: npt.NDArray[np.uint64]

    @property
    def items(self) -> Ints:
        """How many times four labels each depth has, shape (height,), int64."""
        counts = np.diff(self.levels)
        found: Ints = counts * (np.arange(len(counts)) // 4 + 1)
        return found


def lay_out(cch: Contraction, depth: Ints, unit: int) -> Layout:
    """Give every vertex of a contracted graph a row that begins at a multiple of `unit` labels."""
    ends = np.cumsum(depth // unit + 1)
    rows = (ends - (depth // unit + 1)).astype(np.uint64) << SIZE_BITS | (depth + 1).astype(np.uint64)
    in_words = rows.view(np.uint32).reshape(-1, 2)  # little-endian
    codes, above = _find_paths(cch.parent, depth)
    nodes = np.empty((len(depth), 4), dtype=np.uint32)
    nodes[cch.order] = np.hstack([codes, in_words])
    by_depth = np.argsort(depth, kind="stable")
    spans = np.stack([cch.offsets[:-1], cch.offsets[1:]], axis=1).astype(np.uint32)
    levels = np.searchsorted(depth[by_depth], np.arange(int(depth.max()) + 2))
    return Layout(int(ends[-1]), nodes, above, levels, np.hstack([spans, in_words])[by_depth], rows[cch.up])


def split_levels(layout: Layout, threads: int, most: int) -> Words:
    """Return the first place of each depth, and the logarithm of the parts that share the arcs of a vertex.

    Parameters
    ----------
    layout : Layout
    threads : int
        Of all blocks. A thread finds four labels; if threads would be idle, there are more parts.
    most : int
        Maximum number of parts.
    """
    counts, arcs = np.diff(layout.levels), layout.places[:, 1] - layout.places[:, 0]
    total = np.diff(np.append(0, np.cumsum(arcs, dtype=np.int64))[layout.levels])
    parts = np.minimum(np.minimum(threads // layout.items, total // counts), most)
    logarithms = np.append(np.floor(np.log2(np.maximum(parts, 1))), 0)
    return np.stack([layout.levels, logarithms], axis=1).astype(np.uint32)


@njit(cache=True)
def _find_paths(parent: Any, depth: Any) -> Any:
    """Cut the elimination tree into paths, and number them.

    In a postorder, each subtree is an interval of numbers, here from 1. A path is named by the number in the
    intervals of its vertices that the highest power of two divides; this power is the path's bit. Bits rise
    towards the root. The name of the path above with a certain bit is the path's own name with this bit set
    and all lower bits cleared. A virtual root is above all trees.

    Schieber and Vishkin, "On Finding Lowest Common Ancestors", SIAM Journal on Computing 17, 1988.

    Returns
    -------
    codes : ndarray of shape (n_vertices, 2), uint32
        By rank: the path, and the bits of it and of all paths above it.
    above : ndarray of shape (n_vertices + 1,), uint32
        As in :class:`Layout`.
    """
    n = len(parent)
    codes, above = np.empty((n, 2), dtype=np.uint32), np.zeros(n + 1, dtype=np.uint32)
    size = np.ones(n, dtype=np.int64)
    for rank in range(n):
        if parent[rank] >= 0:
            size[parent[rank]] += size[rank]
    top = 1
    while 2 * top <= n + 1:
        top *= 2
    for rank in range(n - 1, -1, -1):
        last = rank + 1
        bit = 1
        while (last - size[rank]) // (2 * bit) != last // (2 * bit):
            bit *= 2
        codes[rank] = top
        if parent[rank] >= 0:
            codes[rank] = codes[parent[rank]]
        path = last // bit * bit
        if path != codes[rank, 0]:
            codes[rank, 0] = path
            codes[rank, 1] |= np.uint32(bit)
            above[path] = depth[parent[rank]] + 1 if parent[rank] >= 0 else 0
    return codes, above
