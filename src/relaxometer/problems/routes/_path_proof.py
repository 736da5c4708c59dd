"""Follows paths arc by arc, compiled with Numba."""

from typing import Any

import numpy as np
import numpy.typing as npt

from relaxometer.core.compiled import njit, prange
from relaxometer.graphs.graph import UNREACHED, offsets_of
from relaxometer.problems.routes._balls import Csr
from relaxometer.problems.routes._queries import Queries

Flags = npt.NDArray[np.bool_]
Words = npt.NDArray[np.uint32]
TOO_LONG = 2**32  # more than any distance; longer lengths are not told apart, so that no sum wraps


def broken(csr: Csr, queries: Queries, distance: Words, size: Words, path: Words) -> dict[str, Flags]:
    """Return which queries break the rules about paths, each of shape (n_queries,), bool."""
    count = len(queries)
    flags = {rule: np.zeros(count, dtype=np.bool_) for rule in ("listed", "ends", "arcs", "length", "once")}
    if not queries.paths:
        return flags
    flags["listed"][:] = (size > 0) != (distance != UNREACHED)
    if size.sum(dtype=np.uint64) != len(path):
        flags["listed"][:] = True
        return flags
    starts = offsets_of(size.astype(np.int64))
    _follow(*csr, queries.origins, queries.targets, distance, starts, path, *[*flags.values()][1:])
    return flags


@njit(cache=True)
def _lightest(offsets: Any, targets: Any, weights: Any, tail: Any, head: Any) -> Any:
    """Return the weight of the lightest arc between two vertices, the first parallel one; -1 if none."""
    first, last = offsets[tail], offsets[tail + 1]
    i = first + np.searchsorted(targets[first:last], head)
    return np.int64(weights[i]) if i < last and targets[i] == head else np.int64(-1)


@njit(cache=True)
def _has_twice(vertices: Any) -> Any:
    """Return whether any vertex of a list occurs more than once."""
    if len(vertices) < 2:
        return False
    ordered = np.sort(vertices)
    return bool((ordered[1:] == ordered[:-1]).any())


@njit(parallel=True, cache=True)
def _follow(
    offsets: Any,
    targets: Any,
    weights: Any,
    origins: Any,
    goals: Any,
    distance: Any,
    starts: Any,
    path: Any,
    has_wrong_end: Any,
    lacks_arc: Any,
    has_wrong_length: Any,
    returns: Any,
) -> None:
    """Mark the queries whose path has wrong ends, lacks an arc, has a wrong length or returns to a vertex.

    A path that returns to a vertex along an arc that is not free is longer than the shortest, which other
    rules tell. So a vertex is looked for only among those that free arcs connect it with, one after another.
    The flags are separate arguments, as Numba loses writes if this function takes them out of a tuple.
    """
    n = len(offsets) - 1
    for query in prange(len(origins)):
        first, last = starts[query], starts[query + 1]
        if first == last:
            continue
        has_wrong_end[query] = path[first] != origins[query] or path[last - 1] != goals[query]
        length, free = 0, first  # `free`: where the free arcs begin that lead here
        for k in range(first, last - 1):
            tail, head = np.int64(path[k]), np.int64(path[k + 1])
            weight = _lightest(offsets, targets, weights, tail, head) if max(tail, head) < n else -1
            if weight < 0:
                lacks_arc[query] = True
                break
            length = min(length + weight, TOO_LONG)
            if weight > 0:
                returns[query] |= _has_twice(path[free : k + 1])
                free = k + 1
        returns[query] |= _has_twice(path[free:last])
        has_wrong_length[query] = not lacks_arc[query] and length != np.int64(distance[query])
