"""Weakly connected components, found by joining the two ends of every arc."""

import numpy as np
import numpy.typing as npt

from relaxometer.core.compiled import njit
from relaxometer.graphs.graph import Ids, Ints


@njit(cache=True)
def component_labels(offsets: Ints, targets: Ids) -> tuple[int, npt.NDArray[np.int32]]:
    """Count the weakly connected components and label every vertex with its own.

    Labels are int32 from 0, in the order of the smallest vertices of the components.

    Components are sets of a union-find forest; the root of a set is its smallest vertex. Rem's algorithm with
    splicing reads the arcs once: it climbs from both ends of an arc, always from the one with the larger
    parent, and every step makes a vertex the child of the smaller parent.

    References
    ----------
    M. Patwary, J. Blair and F. Manne, "Experiments on Union-Find Algorithms for the Disjoint-Set Data
    Structure", SEA 2010.
    """
    parents = np.arange(len(offsets) - 1, dtype=np.uint32)
    for tail in range(len(parents)):
        for i in range(offsets[tail], offsets[tail + 1]):
            _join(parents, np.uint32(tail), targets[i])
    count = 0
    labels = np.empty(len(parents), dtype=np.int32)
    # A parent is never larger than its child, so it has its label first.
    for vertex in range(len(parents)):
        if parents[vertex] == vertex:
            labels[vertex] = count
            count += 1
        else:
            labels[vertex] = labels[parents[vertex]]
    return count, labels


@njit(cache=True)
def _join(parents: Ids, one: np.uint32, other: np.uint32) -> None:
    """Put two vertices into one set."""
    while parents[one] != parents[other]:
        if parents[one] < parents[other]:
            one, other = other, one
        above = parents[one]
        parents[one] = parents[other]
        if one == above:
            return
        one = above
