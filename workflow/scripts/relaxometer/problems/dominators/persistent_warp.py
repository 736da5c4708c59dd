"""Bitmask fixed point of up to 32 vertices in one warp: the source's method, made right."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from relaxometer.problems import variants
from relaxometer.problems.dominators import Answer
from relaxometer.problems.dominators._predecessors import Predecessors
from relaxometer.problems.phases import Phase

if TYPE_CHECKING:
    from relaxometer.graphs.resident import ResidentGraph

LARGEST = 32
"""A set of vertices is a word, and a vertex is a lane."""

STEPS = ("prepare", "initialize", "persistent")
"""What the source times, by the modes of the phases of an instrumented run; "total" is all of them."""


class Parameters(variants.Parameters):
    """Nothing to set."""


class Solver:
    """Dominator sets as words, intersected by one warp until nothing changes.

    An instrumented run prepares again and records each step of the source as a phase: sorting the arcs
    (``prepare``), the first sets and labels (``initialize``), the fixed point (``persistent``), and
    ``total``.

    Parameters
    ----------
    graph : ResidentGraph
    parameters : Parameters

    Attributes
    ----------
    dominators : device array of shape (n_vertices,), uint32
        Dominator sets of the last root: bit d of element v says that d dominates v. All bits where no path
        leads.
    gray : device array of shape (n_vertices,), uint32
        Every vertex's label in the Gray code.

    Raises
    ------
    Skipped
        If the graph has more than 32 vertices.

    References
    ----------
    The source: "GPUによる超高速Dominator計算 (1)", Qiita 2025.
    Errata are listed in the kernels' file.
    """

    runs_on: ClassVar[Literal["device"]] = "device"
    takes: ClassVar[Literal["graph"]] = "graph"

    def __init__(self, graph: ResidentGraph, parameters: Parameters) -> None:
        n = graph.n_vertices
        if n > LARGEST:
            raise variants.Skipped(f"a warp holds up to {LARGEST} vertices, the graph has {n:,}")
        self._graph = graph
        self._device = graph.device
        module = self._device.module(Path(__file__).with_name("persistent_warp.cu"))
        self._initialize = module.get_function("initialize")
        self._persistent = module.get_function("persistent_idom")
        xp = self._device.xp
        self.dominators = xp.empty(n, dtype=xp.uint32)
        self.gray = xp.empty(n, dtype=xp.uint32)
        self._rounds = xp.empty(1, dtype=xp.uint32)
        self._prepare()

    @property
    def resolved(self) -> dict[str, Any]:
        """No parameters."""
        return {}

    def solve(self, source: int | None = None, phases: list[Phase] | None = None) -> Answer:
        """Find the dominators from the root `source`; see :class:`relaxometer.problems.dominators.Solver`."""
        assert source is not None, "a graph has no entry of its own"
        n, root = np.uint32(self._graph.n_vertices), np.uint32(source)
        idom = self._device.xp.empty(self._graph.n_vertices, dtype=np.uint32)

        def initialize() -> None:
            self._initialize(1, LARGEST, (n, root, self.dominators, self.gray))

        def persistent() -> None:
            lists = (self._predecessors.offsets, self._predecessors.tails)
            self._persistent(1, LARGEST, (n, root, *lists, self.dominators, idom, self._rounds))

        if phases is None:
            initialize()
            persistent()
        else:
            self._timed(phases, dict(zip(STEPS, (self._prepare, initialize, persistent), strict=True)))
        return Answer(idom, int(self._device.item(self._rounds)))

    def _prepare(self) -> None:
        """Build the lists of predecessors."""
        self._predecessors = Predecessors.of(self._graph)

    def _timed(self, phases: list[Phase], steps: dict[str, Callable[[], None]]) -> None:
        """Run the steps and record the time of each."""
        n = self._graph.n_vertices
        with self._device.timer() as total:
            for name, step in steps.items():
                with self._device.timer() as timer:
                    step()
                phases.append(Phase(name, n, 0, timer.ms))
        phases.append(Phase("total", n, self._graph.n_arcs, total.ms))
