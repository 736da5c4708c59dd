"""Bitmask fixed point of up to 32 vertices in one warp: the paper's method, corrected."""

from collections.abc import Callable
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np

from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems import variants
from relaxometer.problems.dominators import Answer
from relaxometer.problems.dominators._predecessors import predecessors
from relaxometer.problems.phases import Phase

MAX_VERTICES = 32  # a set of vertices is one word, and a vertex is one lane
STEPS = ("prepare", "initialize", "persistent")
"""The steps that the paper times: modes of an instrumented run's phases, besides their sum "total"."""


Parameters = variants.NoParameters


class Solver(variants.SolverBase):
    """Dominator sets as words, intersected by one warp until nothing changes.

    An instrumented run records the paper's steps as phases: sorting the arcs (``prepare``), the first sets
    and labels (``initialize``), the fixed point (``persistent``), and ``total``. Skipped if the graph has
    more than 32 vertices.

    Attributes
    ----------
    dominators : device array of shape (n_vertices,), uint32
        Dominator sets for the last root: bit d of element v says that d dominates v. All bits are set if v
        is unreached.
    gray : device array of shape (n_vertices,), uint32
        Label of every vertex in the Gray code.

    References
    ----------
    "GPUによる超高速Dominator計算 (1)", Qiita 2025. The file of the kernels lists the errata.
    """

    takes: ClassVar[Literal["graph"]] = "graph"

    def __init__(self, graph: ResidentGraph, parameters: variants.NoParameters) -> None:
        n = graph.n_vertices
        if n > MAX_VERTICES:
            raise variants.Skipped(f"a warp holds up to {MAX_VERTICES} vertices, the graph has {n:,}")
        super().__init__(graph, parameters)
        module = self._device.module(Path(__file__).with_name("persistent_warp.cu"))
        self._initialize = module.get_function("initialize")
        self._persistent = module.get_function("persistent_idom")
        xp = self._device.xp
        self.dominators = xp.empty(n, dtype=xp.uint32)
        self.gray = xp.empty(n, dtype=xp.uint32)
        self._rounds = xp.empty(1, dtype=xp.uint32)
        self._prepare()

    def solve(self, root: int, phases: list[Phase] | None = None) -> Answer:
        """Find the immediate dominators from `root`."""
        n_and_root = (np.uint32(self._graph.n_vertices), np.uint32(root))
        idom = self._device.xp.empty(self._graph.n_vertices, dtype=np.uint32)

        def initialize() -> None:
            self._initialize(1, MAX_VERTICES, (*n_and_root, self.dominators, self.gray))

        def persistent() -> None:
            arguments = (*n_and_root, *self._predecessors, self.dominators, idom, self._rounds)
            self._persistent(1, MAX_VERTICES, arguments)

        if phases is None:
            initialize()
            persistent()
        else:
            self._timed(phases, dict(zip(STEPS, (self._prepare, initialize, persistent), strict=True)))
        return Answer(idom, int(self._device.item(self._rounds)))

    def _prepare(self) -> None:
        self._predecessors = predecessors(self._graph)

    def _timed(self, phases: list[Phase], steps: dict[str, Callable[[], None]]) -> None:
        n = self._graph.n_vertices
        with self._device.timer() as total:
            for name, step in steps.items():
                with self._device.timer() as timer:
                    step()
                phases.append(Phase(name, n, 0, timer.ms))
        phases.append(Phase("total", n, self._graph.n_arcs, total.ms))
