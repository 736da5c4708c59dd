"""The rules of ``certify.cu`` in NumPy: a proof on the CPU needs neither a compiler nor the emulation."""

from typing import Any

import numpy as np
import numpy.typing as npt

from relaxometer.graphs.graph import NO_PREDECESSOR
from relaxometer.graphs.lengths import ON_CYCLE, Lengths
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems.certificate import Certificate
from relaxometer.problems.sssp.certify import RULES, check_cycle


class SsspCpuCertifier:
    """Checks SSSP answers on one graph in host memory, in O(m + n log n) work."""

    def __init__(self, graph: ResidentGraph) -> None:
        self._graph = graph.host

    def check(
        self, source: int, distance: npt.NDArray[Any], predecessor: npt.NDArray[np.uint32]
    ) -> Certificate:
        """Check one answer; its arrays are NumPy, as in :class:`relaxometer.problems.sssp.Answer`."""
        graph, lengths = self._graph, self._graph.lengths
        if lengths.is_signed and (distance == ON_CYCLE).any():
            return check_cycle(graph, source, distance, predecessor)
        words, (tails, heads) = lengths.words(distance), (graph.tails, graph.targets)
        is_reached = words != lengths.unreached
        leaves = is_reached[tails]
        sums = _extended(lengths, words[tails], graph.weights)
        is_lost = ~is_reached[heads] | (lengths.is_signed & (sums <= 0))  # or to a length below the type's
        is_tight = leaves & ~is_lost & (sums == words[heads])
        is_child = np.zeros(graph.n_vertices, bool)
        is_child[heads[is_tight & (tails == predecessor[heads])]] = True
        has_wrong = np.where(is_reached, ~is_child, predecessor != NO_PREDECESSOR)
        has_wrong[source] = is_child[source] = False
        is_root = words[source] == lengths.zero and predecessor[source] == source
        before = np.minimum(predecessor, graph.n_vertices - 1)
        follows = is_reached[before] if lengths.is_signed else words[before] == words
        follows &= predecessor < graph.n_vertices
        ends = _ends(np.where(is_child & follows, predecessor, np.arange(graph.n_vertices)))
        follows[source] = False
        return Certificate.of_items(
            RULES,
            source=np.array([] if is_root else [source]),
            overstretched=heads[leaves & ~is_lost & (sums < words[heads])],
            predecessor=np.flatnonzero(has_wrong),
            left_out=heads[leaves & is_lost],
            tree=np.flatnonzero(is_reached & follows[ends]),
        )


def _extended(lengths: Lengths, words: npt.NDArray[Any], weights: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the words of lengths with one more arc; integers whose sum exceeds 64 bits give no path."""
    if lengths.is_float:
        with np.errstate(over="ignore", invalid="ignore"):  # of answers that are wrong
            return (words.view(lengths.dtype) + weights).view(words.dtype)
    sums: npt.NDArray[Any] = words.astype(np.int64 if lengths.is_signed else np.uint64) + weights
    if lengths.is_wide:
        sums[sums < weights] = lengths.unreached
    return sums


def _ends(pointer: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return where chains of pointers end, by doubling; those of a cycle stay on it."""
    for _ in range(len(pointer).bit_length() + 1):
        doubled = pointer[pointer]
        if np.array_equal(doubled, pointer):
            break
        pointer = doubled
    return pointer
