"""What follows from a tree of predecessors: the root of each vertex, and sums of other weights on its path.

Everything is array operations, so that one text serves NumPy and CuPy: pointers double their reach in each
round, so a round takes every vertex twice as far.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from relaxometer.core.errors import UserError
from relaxometer.device import Device
from relaxometer.graphs.graph import NO_PREDECESSOR

POSITIONS = 1 << 22
"""Vertices of paths that are summed up at a time."""


def climb(xp: Any, parent: Any, sums: Any = None) -> Any:
    """Return the root of each vertex, its own parent; arrays have the shape (n,).

    `sums`, 0 for roots, become the sums of their own elements along the path from there. Integers wrap, so
    their sums are right if the whole sums fit the type.
    """
    for _ in range(len(parent).bit_length() + 1):
        if sums is not None:
            sums += sums[parent]
        above = parent[parent]
        if not (above != parent).any():
            break
        parent = above
    return parent


def roots(xp: Any, predecessor: Any) -> Any:
    """Return the root of the tree that each vertex is in, shape (n,), uint32; `NO_PREDECESSOR` if in none."""
    own = xp.arange(len(predecessor), dtype=np.uint32)
    found = climb(xp, xp.where(predecessor == NO_PREDECESSOR, own, predecessor))
    return xp.where(predecessor == NO_PREDECESSOR, NO_PREDECESSOR, found)


def lightest_arcs(xp: Any, csr: tuple[Any, Any, Any], tails: Any, heads: Any) -> Any:
    """Return the number of the lightest arc from each tail to its head, of equal ones the first, int64.

    `csr` are offsets, targets, which ascend within a row, and weights. Every arc that is asked for exists.
    """
    offsets, targets, weights = csr
    low, end = offsets[tails], offsets[tails.astype(np.int64) + 1]
    high = end
    while (low < high).any():
        middle = (low + high) >> 1
        is_before = (low < high) & (targets[xp.minimum(middle, len(targets) - 1)] < heads)
        low, high = xp.where(is_before, middle + 1, low), xp.where(is_before, high, xp.minimum(high, middle))
    best, last = low, len(targets) - 1
    while True:
        low = low + 1
        is_parallel = (low < end) & (targets[xp.minimum(low, last)] == heads)
        if not is_parallel.any():
            return best
        best = xp.where(is_parallel & (weights[xp.minimum(low, last)] < weights[best]), low, best)


def summable(device: Device, weights: Any, n_arcs: int, n_vertices: int) -> Any:
    """Return weights to be summed up as int64 or float64, on the device.

    UserError if their number or type is wrong, or the sum of integers may not fit.
    """
    shape, kind = weights.shape, weights.dtype.kind
    if shape != (n_arcs,):
        raise UserError(f"along: shape {shape}; expected ({n_arcs},), one for each arc given")
    if kind not in "iuf":
        raise UserError(f"along: type {weights.dtype}; expected integers or floats")
    if kind == "f":
        return device.asarray(weights).astype(np.float64)
    largest = max(abs(int(weights.min())), int(weights.max())) if n_arcs else 0
    if largest * n_vertices >= 2**63:
        raise UserError(
            f"along: {n_vertices:,} arcs of weight {largest} would not fit 64 bits; give floats instead"
        )
    return device.asarray(weights).astype(np.int64)


def sums_of_trees(xp: Any, csr: tuple[Any, Any, Any], predecessor: Any, values: Any) -> Any:
    """Return the sum of values, one for each arc, on the tree's path to each vertex.

    Where no path leads it is infinity, or the largest number of the type.
    """
    heads = xp.arange(len(predecessor), dtype=np.uint32)
    parent = xp.where(predecessor == NO_PREDECESSOR, heads, predecessor)
    below = xp.flatnonzero(parent != heads)
    sums = xp.zeros(len(parent), values.dtype)
    sums[below] = values[lightest_arcs(xp, csr, parent[below], heads[below])]
    climb(xp, parent, sums)
    sums[predecessor == NO_PREDECESSOR] = nowhere(values.dtype)
    return sums


def sums_of_paths(device: Device, csr: tuple[Any, Any, Any], size: Any, path: Any, values: Any) -> Any:
    """Return the sum of values, one for each arc, on each of many paths; as :func:`sums_of_trees`.

    `size` has the vertices of each path, 0 if there is none, and `path` those of all paths, one path after
    the other.
    """
    xp = device.xp
    ends = xp.cumsum(size, dtype=np.int64)
    found = xp.full(len(size), nowhere(values.dtype), values.dtype)
    on_host = device.asnumpy(ends)
    first, start = 0, 0
    while first < len(size):
        last = max(first + 1, int(np.searchsorted(on_host, start + POSITIONS, side="right")))
        own, stop = ends[first:last] - start, int(on_host[last - 1])
        is_there = size[first:last] > 0
        begins = (own - size[first:last])[is_there]
        parent = xp.arange(stop - start, dtype=np.int64) - 1
        parent[begins] += 1
        vertices = path[start:stop]
        below = xp.flatnonzero(parent != xp.arange(stop - start))
        sums = xp.zeros(stop - start, values.dtype)
        sums[below] = values[lightest_arcs(xp, csr, vertices[below - 1], vertices[below])]
        climb(xp, parent, sums)
        found[first:last][is_there] = sums[own[is_there] - 1]
        first, start = last, stop
    return found


def nowhere(dtype: Any) -> Any:
    """Return the sum where no path leads: infinity, or the largest number of the type."""
    return np.inf if dtype.kind == "f" else np.iinfo(dtype).max
