"""Smaller graphs for bisections: pairs of neighbours become one vertex, in rounds.

Karypis and Kumar, "A Fast and High Quality Multilevel Scheme for Partitioning Irregular Graphs", SIAM Journal
on Scientific Computing 20, 1998: heavy-edge matching.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from relaxometer.core.compiled import njit

Small = npt.NDArray[np.int32]


@dataclass(frozen=True)
class Weighted:
    """A graph whose vertices stand for several of another graph, and its edges too."""

    offsets: Small
    adjacent: Small  # neighbours of each vertex
    edge_weights: Small  # by neighbour
    vertex_weights: Small
    members: Small  # what each vertex of the other graph has become


def coarsen(offsets: Small, adjacent: Small, most: int) -> Weighted:
    """Merge vertices of a graph in rounds until there are at most `most`, or few merge."""
    n = len(offsets) - 1
    ones = np.ones(max(n, len(adjacent)), dtype=np.int32)
    arrays = offsets, adjacent, ones[: len(adjacent)], ones[:n]
    members = np.arange(n, dtype=np.int32)
    groups, heaviest = [], 1
    while n > most:
        heaviest = 2 * heaviest + 1
        group, n_groups = _match(*arrays, heaviest)
        if n_groups > 0.95 * n:
            break
        arrays, n = _merge(*arrays, group, n_groups), n_groups
        groups.append(group)
        members = np.arange(n, dtype=np.int32)
    for group in reversed(groups):  # from the smallest on
        members = members[group]
    return Weighted(*arrays, members)


def cut_of(graph: Weighted, side: Small) -> float:
    """Return the weight of the edges between sides 0 and 1 per root of the lighter side; cf. `badness`."""
    return float(_cut_of(graph.offsets, graph.adjacent, graph.edge_weights, graph.vertex_weights, side))


@njit(cache=True, nogil=True)
def _match(offsets: Any, adjacent: Any, edge_weights: Any, weights: Any, heaviest: int) -> Any:
    """Pair vertices along heavy edges, up to a weight; return the pair of each vertex, and how many."""
    n = len(weights)
    group = np.full(n, -1, dtype=np.int32)
    size = 0
    for v in range(n):
        if group[v] >= 0:
            continue
        best, best_edge = -1, 0
        for i in range(offsets[v], offsets[v + 1]):
            u = adjacent[i]
            if group[u] >= 0 or weights[u] + weights[v] > heaviest:
                continue
            lighter = best >= 0 and edge_weights[i] == best_edge and weights[u] < weights[best]
            if edge_weights[i] > best_edge or lighter:
                best, best_edge = u, edge_weights[i]
        group[v] = size
        if best >= 0:
            group[best] = size
        size += 1
    return group, size


@njit(cache=True, nogil=True)
def _merge(offsets: Any, adjacent: Any, edge_weights: Any, weights: Any, group: Any, n_groups: int) -> Any:
    """Return offsets, neighbours and weights of the graph of groups of one or two vertices."""
    member = np.full((n_groups, 2), -1, dtype=np.int32)
    for v in range(len(weights)):
        member[group[v], int(member[group[v], 0] >= 0)] = v
    new_offsets = np.zeros(n_groups + 1, dtype=np.int32)
    heads, new_edge_weights = np.empty(len(adjacent), np.int32), np.empty(len(adjacent), np.int32)
    new_weights = np.zeros(n_groups, dtype=np.int32)
    place = np.full(n_groups, -1, dtype=np.int32)  # of a neighbour's edge, if it is in the current row
    size = 0
    for g in range(n_groups):
        begin = size
        for v in member[g]:
            if v < 0:
                continue
            new_weights[g] += weights[v]
            for i in range(offsets[v], offsets[v + 1]):
                other = group[adjacent[i]]
                if other == g:
                    continue
                if place[other] < begin:
                    place[other] = size
                    heads[size], new_edge_weights[size] = other, 0
                    size += 1
                new_edge_weights[place[other]] += edge_weights[i]
        new_offsets[g + 1] = size
    return new_offsets, heads[:size].copy(), new_edge_weights[:size].copy(), new_weights


@njit(cache=True, nogil=True)
def _cut_of(offsets: Any, adjacent: Any, edge_weights: Any, weights: Any, side: Any) -> float:
    on_side, cut = np.zeros(2, dtype=np.int64), 0
    for v in range(len(weights)):
        on_side[side[v]] += weights[v]
        for i in range(offsets[v], offsets[v + 1]):
            cut += edge_weights[i] * (side[adjacent[i]] != side[v])
    return (cut / 2 + 0.5) / np.sqrt(max(1, min(on_side[0], on_side[1])))
