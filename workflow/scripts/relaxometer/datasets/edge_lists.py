"""From a list of edges to a graph in CSR form, in parallel and in little memory."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import numpy.typing as npt
from numba import njit, prange

from relaxometer.graph import Graph

Vertices = npt.NDArray[np.uint32]
Weights = npt.NDArray[np.uint32]

MAX_SLICES = 8
"""Slices of the edge list that are counted at the same time; each needs a counter for every vertex."""

BLOCKS = 256
"""Blocks of rows that are sorted at the same time, alike in their number of arcs."""


def graph_of_edges(
    name: str,
    n_vertices: int,
    tails: Vertices,
    heads: Vertices,
    weights: Weights,
    *,
    undirected: bool = True,
    keep_parallel: bool = False,
    lon: npt.NDArray[np.float64] | None = None,
    lat: npt.NDArray[np.float64] | None = None,
    metadata: dict[str, Any] | None = None,
) -> Graph:
    """Build a graph from edges in any order.

    The same as :meth:`Graph.from_arcs`, for edge lists of millions that a generator made and that need no
    checks. Self-loops are dropped.

    Parameters
    ----------
    name : str
    n_vertices : int
    tails, heads : ndarray of shape (n_edges,), uint32
    weights : ndarray of shape (n_edges,), uint32
    undirected : bool, default=True
        Whether an edge makes arcs in both directions.
    keep_parallel : bool, default=False
        Whether parallel arcs stay; otherwise they are merged to the lightest.
    lon, lat : ndarray of shape (n_vertices,), float64, optional
    metadata : dict, optional

    Returns
    -------
    Graph
        The same bits for any order of the edges and any number of threads.
    """
    slices = min(numba.get_num_threads(), MAX_SLICES)
    cursors = np.zeros((slices, n_vertices), dtype=np.int64)
    _count(tails, heads, undirected, cursors)
    offsets = _offsets_of(_cursors_of(cursors))
    _shift(cursors, offsets)
    arcs = np.empty(offsets[-1], dtype=np.uint64)
    _scatter(tails, heads, weights, undirected, cursors, arcs)
    del cursors
    borders = _borders(offsets)
    kept = np.empty(n_vertices, dtype=np.int64)
    _sort_rows(arcs, offsets, borders, keep_parallel, kept)
    final = _offsets_of(kept)
    targets, loads = np.empty(final[-1], dtype=np.uint32), np.empty(final[-1], dtype=np.uint32)
    _unpack(arcs, offsets, final, borders, targets, loads)
    return Graph(name, final, targets, loads, lon, lat, dict(metadata or {}))


def _offsets_of(counts: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    offsets = np.zeros(len(counts) + 1, dtype=np.int64)
    np.cumsum(counts, out=offsets[1:])
    return offsets


def _borders(offsets: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Cut the rows into blocks of about as many arcs each; return where, shape (n_blocks + 1,)."""
    even = np.linspace(0, offsets[-1], BLOCKS + 1).astype(np.int64)
    borders = np.searchsorted(offsets[:-1], even)
    borders[0], borders[-1] = 0, len(offsets) - 1
    return borders


@njit(cache=True)
def _slice(index: int, slices: int, size: int) -> tuple[int, int]:
    return index * size // slices, (index + 1) * size // slices


@njit(parallel=True, cache=True)
def _count(tails: np.ndarray, heads: np.ndarray, undirected: bool, counts: np.ndarray) -> None:
    """Count the arcs of every vertex, for each slice of the edge list apart."""
    for s in prange(len(counts)):
        start, stop = _slice(s, len(counts), len(tails))
        for e in range(start, stop):
            if tails[e] != heads[e]:
                counts[s, tails[e]] += 1
                if undirected:
                    counts[s, heads[e]] += 1


@njit(parallel=True, cache=True)
def _cursors_of(counts: np.ndarray) -> np.ndarray:
    """Turn counts into each slice's first place within a row, in place; return the rows' lengths."""
    lengths = np.empty(counts.shape[1], dtype=np.int64)
    for v in prange(counts.shape[1]):
        total = 0
        for s in range(len(counts)):
            count = counts[s, v]
            counts[s, v] = total
            total += count
        lengths[v] = total
    return lengths


@njit(parallel=True, cache=True)
def _shift(cursors: np.ndarray, offsets: np.ndarray) -> None:
    for v in prange(cursors.shape[1]):
        for s in range(len(cursors)):
            cursors[s, v] += offsets[v]


_HALF = np.uint64(32)


@njit(cache=True)
def _packed(head: np.uint32, weight: np.uint32) -> np.uint64:
    """Return an arc as one word, so that sorting words sorts by target, then weight."""
    return np.uint64(head) << _HALF | np.uint64(weight)


@njit(parallel=True, cache=True)
def _scatter(
    tails: np.ndarray,
    heads: np.ndarray,
    weights: np.ndarray,
    undirected: bool,
    cursors: np.ndarray,
    arcs: np.ndarray,
) -> None:
    """Write every arc into its row; `cursors` end at the row of the next slice."""
    for s in prange(len(cursors)):
        start, stop = _slice(s, len(cursors), len(tails))
        for e in range(start, stop):
            tail, head = tails[e], heads[e]
            if tail != head:
                arcs[cursors[s, tail]] = _packed(head, weights[e])
                cursors[s, tail] += 1
                if undirected:
                    arcs[cursors[s, head]] = _packed(tail, weights[e])
                    cursors[s, head] += 1


@njit(parallel=True, cache=True)
def _sort_rows(
    arcs: np.ndarray, offsets: np.ndarray, borders: np.ndarray, keep_parallel: bool, kept: np.ndarray
) -> None:
    """Sort every row and, unless parallel arcs stay, move the lightest of each to the row's front."""
    for b in prange(len(borders) - 1):
        for v in range(borders[b], borders[b + 1]):
            row = arcs[offsets[v] : offsets[v + 1]]
            row.sort()
            if keep_parallel or len(row) == 0:
                kept[v] = len(row)
                continue
            last = 0
            for i in range(1, len(row)):
                if row[i] >> _HALF != row[last] >> _HALF:
                    last += 1
                    row[last] = row[i]
            kept[v] = last + 1


@njit(parallel=True, cache=True)
def _unpack(
    arcs: np.ndarray,
    offsets: np.ndarray,
    final: np.ndarray,
    borders: np.ndarray,
    targets: np.ndarray,
    weights: np.ndarray,
) -> None:
    """Copy the front of every row to its final place."""
    for b in prange(len(borders) - 1):
        for v in range(borders[b], borders[b + 1]):
            for i in range(final[v + 1] - final[v]):
                arc = arcs[offsets[v] + i]
                targets[final[v] + i] = np.uint32(arc >> _HALF)
                weights[final[v] + i] = np.uint32(arc)
