"""Compressed sparse rows of arcs in any order, built in parallel and in little memory."""

from typing import Any

import numpy as np

from relaxometer.core.compiled import get_num_threads, njit, prange
from relaxometer.graphs.graph import Ids, Ints, offsets_of

SLICES = 64
"""Slices of the arc list that are distributed at the same time."""

BUCKET_BITS = 9
"""Binary logarithm of the number of buckets that rows are first distributed to; a bucket fits the cache."""


def csr_of_arcs(
    n_vertices: int,
    tails: Ids,
    heads: Ids,
    weights: Ids,
    *,
    undirected: bool = False,
    keep_self_loops: bool = False,
    keep_parallel: bool = False,
) -> tuple[Ints, Ids, Ids]:
    """Sort arcs by tail, head and weight; return offsets, targets and weights.

    The result depends neither on the order of the arcs nor on the number of threads. Ends are less than
    `n_vertices`. `undirected` adds the reverse of every arc. Unless kept, self-loops are dropped and parallel
    arcs merged to the lightest.
    """
    arcs_in = (tails, heads, undirected, keep_self_loops)
    shift = max((n_vertices - 1).bit_length() - BUCKET_BITS, 0)
    counts = np.zeros((SLICES, ((n_vertices - 1) >> shift) + 1), dtype=np.int64)
    _count(arcs_in, shift, counts)
    starts = offsets_of(counts.sum(axis=0))
    before = offsets_of(counts.T.ravel())[:-1].reshape(counts.shape[::-1])
    rows, arcs = np.empty(starts[-1], dtype=np.uint32), np.empty(starts[-1], dtype=np.uint64)
    _deal(arcs_in, weights, shift, np.ascontiguousarray(before.T), rows, arcs)
    offsets = np.zeros(n_vertices + 1, dtype=np.int64)
    _sort_buckets(rows, arcs, starts, shift, keep_parallel, get_num_threads(), offsets[1:])
    np.cumsum(offsets, out=offsets)
    # In place, since the caller still holds its arcs: targets take the memory of rows, weights that of arcs.
    _unpack_targets(arcs, starts, shift, offsets, rows)
    _unpack_weights(arcs, starts, shift, offsets, arcs.view(np.uint32))
    rows.resize(offsets[-1], refcheck=False)
    arcs.resize((offsets[-1] + 1) // 2, refcheck=False)
    return offsets, rows, arcs.view(np.uint32)[: offsets[-1]]


@njit(cache=True)
def _slice(index: int, size: int) -> tuple[int, int]:
    return index * size // SLICES, (index + 1) * size // SLICES


@njit(parallel=True, cache=True)
def _count(arcs_in: Any, shift: int, counts: np.ndarray) -> None:
    """Count the arcs per slice and bucket."""
    tails, heads, undirected, keep_self_loops = arcs_in
    for s in prange(SLICES):
        start, stop = _slice(s, len(tails))
        for e in range(start, stop):
            if keep_self_loops or tails[e] != heads[e]:
                counts[s, tails[e] >> shift] += 1
                if undirected:
                    counts[s, heads[e] >> shift] += 1


_HALF = np.uint64(32)


@njit(cache=True)
def _packed(head: np.uint32, weight: np.uint32) -> np.uint64:
    """Return an arc as one word, so that sorting words sorts by target, then weight."""
    return np.uint64(head) << _HALF | np.uint64(weight)


@njit(parallel=True, cache=True)
def _deal(
    arcs_in: Any, weights: np.ndarray, shift: int, cursors: np.ndarray, rows: np.ndarray, arcs: np.ndarray
) -> None:
    """Write every arc and its row into its bucket; `cursors` hold the next place per slice and bucket."""
    tails, heads, undirected, keep_self_loops = arcs_in
    for s in prange(SLICES):
        start, stop = _slice(s, len(tails))
        for e in range(start, stop):
            tail, head = tails[e], heads[e]
            if keep_self_loops or tail != head:
                place = cursors[s, tail >> shift]
                rows[place], arcs[place] = tail, _packed(head, weights[e])
                cursors[s, tail >> shift] += 1
                if undirected:
                    place = cursors[s, head >> shift]
                    rows[place], arcs[place] = head, _packed(tail, weights[e])
                    cursors[s, head >> shift] += 1


@njit(parallel=True, cache=True)
def _sort_buckets(
    rows: np.ndarray,
    arcs: np.ndarray,
    starts: np.ndarray,
    shift: int,
    keep_parallel: bool,
    threads: int,
    degrees: np.ndarray,
) -> None:
    """Sort every bucket by row, target and weight; move what stays to its front, and count it by row."""
    for t in prange(threads):
        # Buckets in turn, since on some graphs those of small vertices are the largest.
        for b in range(t, len(starts) - 1, threads):
            first, last = b << shift, min((b + 1) << shift, len(degrees))
            inside = slice(starts[b], starts[b + 1])
            _sort_bucket(rows[inside], arcs[inside], first, keep_parallel, degrees[first:last])


@njit(cache=True)
def _sort_bucket(
    rows: np.ndarray, arcs: np.ndarray, first: int, keep_parallel: bool, degrees: np.ndarray
) -> None:
    ends = np.zeros(len(degrees) + 1, dtype=np.int64)
    for row in rows:
        ends[row - first + 1] += 1
    ends = np.cumsum(ends)
    grouped = np.empty_like(arcs)
    for i in range(len(arcs)):
        row = rows[i] - first
        grouped[ends[row]] = arcs[i]
        ends[row] += 1  # from the row's begin to its end
    begin = size = 0
    for v in range(len(degrees)):
        row_arcs = grouped[begin : ends[v]]
        row_arcs.sort()
        before = size
        for arc in row_arcs:
            if keep_parallel or size == before or arc >> _HALF != arcs[size - 1] >> _HALF:
                arcs[size] = arc
                size += 1
        degrees[v] = size - before
        begin = ends[v]


@njit(parallel=True, cache=True)
def _unpack_targets(
    arcs: np.ndarray, starts: np.ndarray, shift: int, offsets: np.ndarray, targets: np.ndarray
) -> None:
    """Copy the targets in the front of every bucket to their final places."""
    for b in prange(len(starts) - 1):
        first, last = b << shift, min((b + 1) << shift, len(offsets) - 1)
        for i in range(offsets[last] - offsets[first]):
            targets[offsets[first] + i] = np.uint32(arcs[starts[b] + i] >> _HALF)


@njit(cache=True)
def _unpack_weights(
    arcs: np.ndarray, starts: np.ndarray, shift: int, offsets: np.ndarray, weights: np.ndarray
) -> None:
    """Copy the weights; in ascending order, so that they may overwrite arcs that were read."""
    for b in range(len(starts) - 1):
        first, last = b << shift, min((b + 1) << shift, len(offsets) - 1)
        for i in range(offsets[last] - offsets[first]):
            weights[offsets[first] + i] = np.uint32(arcs[starts[b] + i])
