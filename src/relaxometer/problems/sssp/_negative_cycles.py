"""Negative cycles, and the potentials that prove that there is none."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from relaxometer.graphs.lengths import ON_CYCLE
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems.sssp import NO_PREDECESSOR, Answer
from relaxometer.problems.sssp.bellman_ford._arcs import IncomingArcs
from relaxometer.problems.sssp.phase_synchronous._phase_synchronous import over

NOT_TAKING_PART = np.int64(2**63 - 1)  # the label of a vertex that is left out, as in the kernel
FIRST_WATCHED = 32
"""A search looks for a negative cycle after this many phases, and after twice, four times, ... as many."""


class NegativeCycles:
    """Finds a negative cycle of a graph with weights of type int32, or potentials if there is none.

    All vertices start with label 0, as if a further vertex had an arc of weight 0 to each, and phases of
    Bellman-Ford's algorithm follow until one changes nothing or predecessors form a cycle. The labels have 64
    bits, so none overflows, and a phase reads only labels of the phase before. Hence

    - a cycle of predecessors is negative: d(v) >= d(p(v)) + w holds at any time, and with equality all round
      each vertex would have got its label before its predecessor did;
    - there is a cycle once phase n, the number of vertices, changes a label: the predecessor of a vertex that
      changed in phase k has changed in phase k - 1 or later, so n + 1 vertices follow one another.

    Cycles are looked for after 1, 2, 4, ... phases, by pointer doubling: the amortized check of Cherkassky
    and Goldberg ("Negative-Cycle Detection Algorithms", Mathematical Programming 85, 1999), with doubling
    intervals in place of one check per n relaxations.

    After a search of all vertices without a cycle, w + potentials[u] - potentials[v] >= 0 for arcs u -> v.
    """

    def __init__(self, graph: ResidentGraph) -> None:
        self._graph = graph
        xp, n = graph.device.xp, graph.n_vertices
        arcs = IncomingArcs.of(graph)
        self._arcs = (np.uint32(n), arcs.offsets, arcs.tails, arcs.weights.view(np.int32))
        self.potentials, self._next = xp.empty(n, dtype=np.int64), xp.empty(n, dtype=np.int64)
        self._predecessor = xp.empty(n, dtype=np.uint32)
        self._last_phase = xp.zeros(1, dtype=np.uint32)
        module = graph.device.module(Path(__file__).with_suffix(".cu"), options=graph.lengths.options)
        self._lower = module.get_function("lower")

    def find(self, among: Any, *, spreads: bool = False) -> npt.NDArray[np.int64] | None:
        """Find a negative cycle of the subgraph on the vertices of a mask, or on all that they reach.

        Returns the vertices of a cycle, each followed by its predecessor, int64; None if there is none.
        """
        self.potentials.fill(NOT_TAKING_PART)
        self.potentials[among] = 0
        self._predecessor.fill(NO_PREDECESSOR)
        self._last_phase.fill(0)
        phase, check = 0, 1
        while True:
            phase += 1
            vectors = (self.potentials, self._next, self._predecessor)
            arguments = (*self._arcs, np.bool_(spreads), *vectors, np.uint32(phase), self._last_phase)
            self._lower(*over(self._graph.n_vertices), arguments)
            self.potentials, self._next = self._next, self.potentials
            if self._graph.device.item(self._last_phase) < phase:
                return None
            if phase in (check, self._graph.n_vertices):
                cycle = self._cycle_of_predecessors()
                if cycle is not None:
                    return cycle
                check *= 2

    def _cycle_of_predecessors(self) -> npt.NDArray[np.int64] | None:
        xp, n = self._graph.device.xp, self._graph.n_vertices
        is_root = self._predecessor == NO_PREDECESSOR
        end = xp.where(is_root, xp.arange(n, dtype=np.uint32), self._predecessor)
        for _ in range(n.bit_length()):
            end = end[end]
        is_endless = ~is_root[end]
        some = int(is_endless.argmax())
        if not bool(is_endless[some]):
            return None
        return _around(self._graph.device.asnumpy(self._predecessor), int(end[some]))

    def answer(self, cycle: npt.NDArray[np.int64], n_phases: int | None) -> Answer:
        """Return the answer that is a negative cycle; see :class:`relaxometer.problems.sssp.Answer`."""
        xp, n = self._graph.device.xp, self._graph.n_vertices
        lengths = self._graph.lengths
        distance = lengths.distance(xp.full(n, lengths.unreached, dtype=np.uint32))
        predecessor = xp.full(n, NO_PREDECESSOR, dtype=np.uint32)
        distance[xp.asarray(cycle)] = ON_CYCLE
        predecessor[xp.asarray(cycle)] = xp.asarray(np.roll(cycle, -1).astype(np.uint32))
        return Answer(distance, predecessor, n_phases, False)


class Watch:
    """Looks for a negative cycle among the vertices that a search has reached so far; `cycle` is as found.

    `reached` returns the mask of these vertices.
    """

    def __init__(self, cycles: NegativeCycles, reached: Callable[[], Any]) -> None:
        self._cycles, self._reached = cycles, reached
        self._n_known = 0
        self.cycle: npt.NDArray[np.int64] | None = None

    def sees_cycle(self) -> bool:
        """Return whether there is a negative cycle; nothing is looked for if no further vertex is reached."""
        reached = self._reached()
        n_reached = int(reached.sum())
        if n_reached > self._n_known:
            self._n_known = n_reached
            self.cycle = self._cycles.find(reached)
        return self.cycle is not None

    def verdict(self, finish: Callable[[], Answer], n_phases: int | None) -> Answer:
        """Return the negative cycle, or what `finish` returns unless a negative cycle made it overflow."""
        if self.cycle is None:
            answer = finish()
            if not answer.overflowed:
                return answer
            self.cycle = self._cycles.find(self._reached(), spreads=True)
            if self.cycle is None:
                return answer
        return self._cycles.answer(self.cycle, n_phases)


def _around(predecessor: npt.NDArray[np.uint32], start: int) -> npt.NDArray[np.int64]:
    """Return the vertices of a cycle of predecessors, each followed by its predecessor."""
    cycle, v = [start], int(predecessor[start])
    while v != start:
        cycle.append(v)
        v = int(predecessor[v])
    return np.array(cycle, dtype=np.int64)
