"""Cycles on the host, compiled with Numba: for the certificate and for messages."""

import numpy as np
import numpy.typing as npt

from relaxometer.core.compiled import njit
from relaxometer.graphs.graph import Graph


def weight_of_cycle(graph: Graph, cycle: npt.NDArray[np.int64]) -> int:
    """Return the total weight of a cycle, given by its vertices, each followed by its predecessor."""
    weights, _ = lightest_arcs(graph.offsets, graph.targets, graph.weights, np.roll(cycle, -1), cycle)
    return int(weights.sum())


@njit(cache=True)
def lightest_arcs(
    offsets: npt.NDArray[np.int64],
    targets: npt.NDArray[np.uint32],
    weights: npt.NDArray[np.int32],
    tails: npt.NDArray[np.int64],
    heads: npt.NDArray[np.int64],
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """Return the weight of the lightest arc from each tail to its head, and whether there is an arc."""
    found = np.zeros(len(tails), dtype=np.int64)
    exists = np.zeros(len(tails), dtype=np.bool_)
    for i in range(len(tails)):
        end = offsets[tails[i] + 1]
        arc = offsets[tails[i]] + np.searchsorted(targets[offsets[tails[i]] : end], heads[i])
        while arc < end and targets[arc] == heads[i]:
            if not exists[i] or weights[arc] < found[i]:
                found[i] = weights[arc]
            exists[i] = True
            arc += 1
    return found, exists


@njit(cache=True)
def length_of_round(predecessor: npt.NDArray[np.uint32], start: int, most: int) -> int:
    """Return after how many predecessors `start` comes again; 0 if not within `most`."""
    v = np.int64(start)
    for length in range(1, most + 1):
        v = np.int64(predecessor[v])
        if v == start:
            return length
    return 0
