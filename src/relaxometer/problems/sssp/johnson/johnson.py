"""Any solver after Johnson's potentials, which leave no arc negative."""

from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from pydantic import field_validator

from relaxometer.device import stopwatch
from relaxometer.device.arrays import DeviceArray
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems import variants
from relaxometer.problems.phases import Phase
from relaxometer.problems.sssp import NO_PREDECESSOR, Answer
from relaxometer.problems.sssp._negative_cycles import NegativeCycles
from relaxometer.problems.sssp.bellman_ford._arcs import WARPS
from relaxometer.problems.sssp.bellman_ford._fixed_point import keeps_whole_paths
from relaxometer.problems.sssp.phase_synchronous._phase_synchronous import BLOCK, over

LOWEST = -(2**31)
"""With potentials of at least this, new distances fit in 32 bits wherever old ones do.

Potentials are at most 0, and the path to t gets its length + h(s) - h(t) <= 2**31 - 2 - h(t).
"""


class Parameters(variants.Parameters):
    """The solver that searches with the new weights."""

    inside: str = "near-far"
    """A solver of `sssp` that runs on the device, with its default parameters."""

    def loads(self) -> list[str]:
        """Return the solver inside."""
        return [self.inside]

    @field_validator("inside")
    @classmethod
    def _check_inside(cls, name: str) -> str:
        known = [other for other in variants.solver_names("sssp") if other != "johnson"]
        if name not in known:
            raise ValueError(f"unknown solver {name!r}; known: {', '.join(known)}")
        if variants.load_solver("sssp", name).Solver.runs_on != "device":
            raise ValueError(f"{name} does not run on the device")
        return name


class Solver:
    """SSSP with negative arcs, by a solver that takes none.

    Preparation finds potentials h by Bellman-Ford's algorithm, as if a further vertex had an arc of weight 0
    to every vertex, and gives each arc u -> v the weight w + h(u) - h(v), which is not negative. Shortest
    paths stay the same. A search is that of the solver inside, and one pass that maps its distances back. If
    new distances may exceed 32 bits, the solver inside searches with 64. On graphs with weights of type
    uint32 it runs as it is. Skipped if the graph has a negative cycle, wherever it is, a new weight does not
    fit in 32 bits, or new distances may not and the solver inside takes none of 64 bits.

    References
    ----------
    Johnson, "Efficient Algorithms for Shortest Paths in Sparse Networks", Journal of the ACM 24, 1977.
    """

    runs_on = "device"
    weight_types: ClassVar = {"uint32", "int32"}

    def __init__(self, graph: ResidentGraph, parameters: Parameters) -> None:
        self._graph, self._parameters = graph, parameters
        inside = variants.load_solver("sssp", parameters.inside)
        self._potentials: Any = None
        with stopwatch() as took:
            if graph.lengths.is_signed:
                graph = self._reweighted(graph)
                self._refuse_distances(inside.Solver, graph)
            graph.device.synchronize()
        self._potentials_ms = took.ms
        self._inner: Any = inside.Solver(graph, inside.Parameters())
        inside = {"inside": self._parameters.inside, "potentials_ms": round(self._potentials_ms, 3)}
        self.resolved = inside | self._inner.resolved

    def _reweighted(self, graph: ResidentGraph) -> ResidentGraph:
        """Return the graph with its new weights, here and on the host, where some solvers read them."""
        device, n = graph.device, graph.n_vertices
        cycles = NegativeCycles(graph)
        cycle = cycles.find(device.xp.ones(n, dtype=bool))
        if cycle is not None:
            from relaxometer.problems.sssp._cycles import weight_of_cycle  # loads Numba

            raise variants.Skipped(
                f"a cycle of {len(cycle)} arcs through vertex {cycle[0]} has weight "
                f"{weight_of_cycle(graph.host, cycle)}; potentials need a graph without negative cycles"
            )
        self._potentials = cycles.potentials
        distance_type = "uint64" if int(self._potentials.min()) < LOWEST else None
        map_back = f"map_back<{'u64' if distance_type else 'u32'}>"
        file, options = Path(__file__).with_suffix(".cu"), graph.lengths.options
        module = device.module(file, name_expressions=[map_back], options=options)
        self._map_back = module.get_function(map_back)
        self._overflow = device.xp.zeros(1, dtype=np.uint32)
        weights = device.xp.empty(graph.n_arcs, dtype=np.uint32)
        arcs = (*graph.csr[:3], graph.weights.view(np.int32), self._potentials, weights, self._overflow)
        module.get_function("reweight")(-(-n // WARPS), BLOCK, arcs)
        if device.item(self._overflow):
            raise variants.Skipped("an arc's weight after Johnson's potentials does not fit in 32 bits")
        host = replace(graph.host, weights=device.asnumpy(weights), distance_type=distance_type)
        return ResidentGraph(device, host, graph.offsets, graph.targets, weights)

    def _refuse_distances(self, inside: Any, graph: ResidentGraph) -> None:
        if not variants.takes_weights(inside, graph.lengths):
            raise variants.Skipped(
                "distances after Johnson's potentials may not fit in 32 bits, and "
                f"{self._parameters.inside} has none of 64 bits"
            )

    def solve(self, source: int, phases: list[Phase] | None = None) -> Answer:
        """Find the shortest paths from `source`; see :class:`relaxometer.problems.sssp.Solver`."""
        answer: Answer = self._inner.solve(source, phases)
        if self._potentials is None:
            return answer
        xp, n = self._graph.device.xp, self._graph.n_vertices
        words, overflow = xp.empty(n, dtype=np.uint32), xp.zeros(1, dtype=np.uint32)
        overflow[:] = answer.overflow
        arguments = (self._potentials, answer.distance, words, overflow)
        self._map_back(*over(n), (np.uint32(n), np.uint32(source), *arguments))
        if self._graph.device.item(overflow):
            self._drop_lost(words, answer.predecessor)
        distance = self._graph.lengths.distance(words)
        return Answer(distance, answer.predecessor, answer.n_phases, overflow)

    def _drop_lost(self, words: Any, predecessor: DeviceArray) -> None:
        """Let vertices count as unreached where a length on the way to them does not fit."""
        fits = words != self._graph.lengths.unreached
        lost = ~keeps_whole_paths(self._graph.device.xp, predecessor, fits)
        words[lost] = self._graph.lengths.unreached
        predecessor[lost] = NO_PREDECESSOR
