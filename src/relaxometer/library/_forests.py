"""Trees beyond those of one search: from several sources or up to a limit, and sums along their paths.

Sums and roots are array operations, so that one text serves NumPy and CuPy: pointers double their reach in
each round, so a round takes every vertex twice as far.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from relaxometer.core.errors import UserError
from relaxometer.device import Device
from relaxometer.graphs.graph import NO_PREDECESSOR, Graph
from relaxometer.graphs.lengths import LENGTHS, Lengths, unreached
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems.certificate import Certificate


def unweighted(graph: Graph) -> Graph:
    """Return a graph with weights of 1, whose distances are levels."""
    return replace(graph, weights=np.ones(graph.n_arcs, np.uint32), distance_type=None)


def checked_limit(limit: float, *, is_signed: bool = False) -> float:
    """Return a limit of distances; UserError if it is not a number, or below 0 where distances are not."""
    if not (limit >= 0 or (is_signed and limit < 0)):
        raise UserError(f"limit: {limit}; expected at least 0")
    return limit


def first_beyond(limit: float, lengths: Lengths) -> Any:
    """Return the least distance beyond a limit, a scalar; None if there is none. As `checked_limit`."""
    checked_limit(limit, is_signed=lengths.is_signed)
    kind: Any = lengths.distances.type
    if not lengths.is_float:
        largest = int(unreached(lengths.distances)) - 1
        return None if limit >= largest else kind(max(math.floor(limit) + 1, lengths.smallest))
    if limit >= lengths.largest:
        return None
    rounded = kind(limit)
    if float(rounded) > limit:
        return rounded
    return np.nextafter(rounded, kind(np.inf))


def prove(
    device: Device,
    certifier: Callable[[ResidentGraph], Any],
    graph: Graph,
    sources: npt.NDArray[np.uint32],
    bound: Any,
    columns: Mapping[str, Any],
) -> Certificate:
    """Prove distances from the nearest of several sources, less than `bound` if it is given.

    One more vertex has an arc of weight 0 to each source, and one of weight `bound` to each vertex that was
    not reached within it. Its shortest paths are those of the answer, so their certificate proves it.

    `certifier` makes that of ``sssp``. `columns`, arrays on the device, are distance, predecessor and, if it
    is to be proven, the source of each vertex.
    """
    distance, predecessor, *source = columns.values()
    n, out = graph.n_vertices, np.zeros(0, np.int64)
    if bound is not None:
        out = np.flatnonzero(device.asnumpy(distance) == unreached(distance.dtype))
    extended = ResidentGraph.upload(device, _with_root(graph, sources, out, bound))
    own, away = device.asarray(sources), device.asarray(out)
    is_wrong = device.xp.zeros(n, bool)
    is_wrong[own] = predecessor[own] != own
    is_wrong[away] |= predecessor[away] != NO_PREDECESSOR
    if source:
        is_wrong |= source[0] != _handed_down(device.xp, own, predecessor, source[0])
    distance, predecessor = (device.xp.append(one, one[:1]) for one in (distance, predecessor))
    distance[n], predecessor[n] = 0, n
    distance[away] = 0 if bound is None else bound
    predecessor[own] = predecessor[away] = n
    certificate = certifier(extended).check(n, distance, predecessor)
    wrong = np.flatnonzero(device.asnumpy(is_wrong))
    if not len(wrong):
        return certificate
    first = certificate.first | {"source": int(wrong[0])}
    return Certificate(certificate.violations | {"source": len(wrong)}, first)


def with_source(offsets: Any, targets: Any, weights: Any, heads: Any) -> tuple[Any, Any, Any]:
    """Return CSR arrays with one vertex more, from which arcs of weight 0 lead to some vertices."""
    loads = np.append(weights, np.zeros(len(heads), weights.dtype))
    return np.append(offsets, len(loads)), np.append(targets, np.array(heads, targets.dtype)), loads


def _with_root(graph: Graph, sources: Any, out: Any, bound: Any) -> Graph:
    heads = np.concatenate([sources, out]).astype(np.uint32)
    weights = np.zeros(len(heads), graph.weights.dtype)
    weights[len(sources) :] = 0 if bound is None else bound
    order = np.argsort(heads, kind="stable")
    return Graph(
        graph.name,
        np.append(graph.offsets, graph.n_arcs + len(heads)),
        np.append(graph.targets, heads[order]),
        np.append(graph.weights, weights[order]),
        distance_type=graph.distance_type,
    )


def _handed_down(xp: Any, sources: Any, predecessor: Any, source: Any) -> Any:
    """Return what the column `source` must be if it is right for predecessors."""
    is_in = predecessor < len(predecessor)
    given = xp.where(is_in, source[xp.where(is_in, predecessor, 0)], NO_PREDECESSOR)
    given[sources] = sources
    return given


LEVELS = LENGTHS["uint32"]

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
