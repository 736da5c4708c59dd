"""Where labels stand, and what tells the common ancestors of two vertices; see ``labels.cu``."""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from relaxometer.core.compiled import njit
from relaxometer.problems.sssp.phast._cch import Contraction
from relaxometer.problems.sssp.phast._fill import subtree_sizes

Ints = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint32]
Flags = npt.NDArray[np.bool_]
SIZE_BITS = np.uint64(16)  # of the number of labels of a row; its begin is in the other 48 bits
LOADS = 4  # labels that a thread of ``_build_labels.cu`` loads at once
WARP = 32


class Layout(NamedTuple):
    """The rows of labels of all vertices, of which each has one label per ancestor, itself included.

    A row is its begin, in units, times 2^16, and its number of labels, before rows are cut; one that is not
    there is as in ``_label_rows.cuh``. Arrays are of uint32 if nothing else is said.

    A node is, by vertex of the graph, its path, the bits of this and of all above, and its row in two words.
    A band has vertices of one depth and about as many arcs: the first place, the end, blocks before, and in
    one word the depth and the logarithm of the parts that share the arcs of a vertex. A place is, by band,
    the first upward arc of a vertex, their end, and its row in two words.
    """

    units: int  # all rows together, each rounded up to whole units
    nodes: Words  # shape (n_vertices, 4)
    above: Words  # by path: ancestors of its uppermost vertex, without itself
    bands: Words  # shape (n_bands, 4)
    places: Words  # shape (n_rows, 4)
    heads: npt.NDArray[np.uint64]  # the row of the upper end of each arc
    widest: int  # threads that a level has work for, each for a part of four labels


def most_that_fit(depth: Ints, unit: int, units: int) -> int:
    """Return how many labels each row may have, a multiple of `unit`, so that all take at most `units`."""
    longer = np.bincount(depth // unit)[::-1].cumsum()[::-1]  # rows of more than 0, 1, ... units
    return unit * int(np.searchsorted(longer.cumsum(), units, side="right"))


def choose_rows(cch: Contraction, depth: Ints, most_arcs: int, unit: int, units: int) -> Flags:
    """Return which vertices have rows if not all fit in `units`, shape (n_vertices,).

    Vertices without children have none, unless they have more than `most_arcs`. If that is not enough, nor do
    as many as must of the vertices above only such ones, those with the fewest arcs first.
    """
    degree = np.diff(cch.offsets)
    has_row, above_rows = degree > most_arcs, np.zeros(len(depth), dtype=np.bool_)
    has_row[cch.parent[cch.parent >= 0]] = True
    above_rows[cch.parent[has_row & (cch.parent >= 0)]] = True
    low = np.flatnonzero(has_row & ~above_rows & (degree <= most_arcs))
    low = low[np.lexsort((-depth[low], degree[low]))]
    sizes = depth // unit + 1
    saved = np.concatenate([[0], np.cumsum(sizes[low])])
    has_row[low[: np.searchsorted(saved, sizes[has_row].sum() - units)]] = False
    return has_row


def lay_out(
    cch: Contraction, depth: Ints, unit: int, log_bits: int, threads: int, most: int, has_row: Flags
) -> Layout:
    """Give vertices of a contracted graph rows that begin at multiples of `unit` labels.

    Rows are cut after the first `most` labels, a multiple of `unit`.

    The arcs of a vertex have a part for every `LOADS` of them, their number rounded up to a power of two, as
    long as each part has a warp of a block's `threads`.
    """
    quads, units = (np.minimum(depth, most - 1) // size + 1 for size in (4, unit))
    ends, degree = np.cumsum(units * has_row), np.diff(cch.offsets)
    begins = (ends - units).astype(np.uint64)
    begins[~has_row] = (1 << 47 | degree << 40 | cch.offsets[:-1])[~has_row]  # NO_ROW, ARCS_BIT
    rows = begins << SIZE_BITS | (depth + 1).astype(np.uint64)
    in_words = rows.view(np.uint32).reshape(-1, 2)  # little-endian
    codes, above = _find_paths(cch.parent, depth)
    nodes = np.empty((len(depth), 4), dtype=np.uint32)
    nodes[cch.order] = np.hstack([codes, in_words])
    places = np.hstack([cch.offsets[:-1, None], cch.offsets[1:, None], in_words]).astype(np.uint32)
    parts = np.ceil(degree / LOADS).clip(1, threads // WARP)
    logarithm = np.ceil(np.log2(parts)).astype(np.int64)
    kind = depth << log_bits | logarithm
    built = np.flatnonzero(has_row)
    by_band = built[np.argsort(kind[built], kind="stable")]
    kinds, counts = np.unique(kind[built], return_counts=True)
    row_quads = np.minimum(kinds >> log_bits, most - 1) // 4 + 1
    per_block = threads >> (kinds & ((1 << log_bits) - 1))
    blocks, last = -(-counts * row_quads // per_block), np.cumsum(counts)
    bands = np.stack([last - counts, last, np.cumsum(blocks) - blocks, kinds], axis=1).astype(np.uint32)
    widest = int(np.bincount(depth, (quads * has_row) << logarithm).max())
    return Layout(int(ends[-1]), nodes, above, bands, places[by_band], rows[cch.up], widest)


@njit(cache=True)
def _find_paths(parent: Any, depth: Any) -> Any:
    """Cut the elimination tree into paths, and number them.

    In a postorder, each subtree is an interval of numbers, here from 1. A path is named by the number in the
    intervals of its vertices that the highest power of two divides; this power is the path's bit. Bits rise
    towards the root. The name of the path above with a certain bit is the path's own name with this bit set
    and all lower bits cleared. A virtual root is above all trees.

    Schieber and Vishkin, "On Finding Lowest Common Ancestors", SIAM Journal on Computing 17, 1988.

    Returns by rank the path, its bits and those of all above it, (n_vertices, 2); `above` as in `Layout`.
    """
    n = len(parent)
    codes, above = np.empty((n, 2), dtype=np.uint32), np.zeros(n + 1, dtype=np.uint32)
    size = subtree_sizes(parent, np.ones(n, dtype=np.int64))
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
