"""Bitmasks of many words for one graph of thousands of vertices: the paper's method widened."""

from contextlib import nullcontext
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np
from pydantic import PositiveInt

from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems import variants
from relaxometer.problems.dominators import NO_DOMINATOR, Answer
from relaxometer.problems.dominators._breadth_first import BreadthFirst
from relaxometer.problems.dominators._predecessors import predecessors
from relaxometer.problems.phases import Phase

THREADS = 512
SHARED_WORDS = 12_288  # 64-bit words in a block's shared memory; larger graphs work in the masks themselves


class Parameters(variants.Parameters):
    """Memory for the masks."""

    memory_mib: PositiveInt = 2048
    """A graph whose masks, one bit per pair of vertices, take more is skipped."""


class Solver(variants.SolverBase):
    """Dominator sets as rows of a bit matrix; a block computes 64 columns.

    Skipped if the masks take more than `memory_mib`.

    References
    ----------
    "GPUによる超高速Dominator計算 (1)", Qiita 2025, has the bitmasks and leaves more than 32 vertices open.
    """

    takes: ClassVar[Literal["graph"]] = "graph"

    def __init__(self, graph: ResidentGraph, parameters: Parameters) -> None:
        n = graph.n_vertices
        words = -(-n // 64)
        mib = words * n * 8 / 2**20
        if mib > parameters.memory_mib:
            raise variants.Skipped(
                f"masks of {n:,} vertices take {mib:,.0f} MiB, memory_mib is {parameters.memory_mib:,}"
            )
        super().__init__(graph, parameters)
        device, xp = graph.device, graph.device.xp
        module = device.module(Path(__file__).with_name("multiword.cu"))
        self._renumber = module.get_function("renumber")
        self._intersect = module.get_function("intersect")
        self._nearest = module.get_function("nearest_dominators")
        self._predecessors = predecessors(graph)
        self._search = BreadthFirst(graph)
        self._by_number = xp.empty(graph.n_arcs, dtype=xp.uint32)
        self._masks = xp.empty(words * n, dtype=xp.uint64)
        self._sizes = xp.empty(n, dtype=xp.uint32)
        self._queue = xp.empty(1, dtype=xp.uint32)
        self._sweeps = xp.empty(1, dtype=xp.uint32)
        self._shared_bytes = 8 * min(n, SHARED_WORDS, device.shared_bytes // 8 - 1)  # less the ticket
        self._blocks = min(device.max_cooperative_blocks(self._intersect, THREADS, self._shared_bytes), words)

    def solve(self, root: int, phases: list[Phase] | None = None) -> Answer:
        """Find the immediate dominators from `root`."""
        device, search = self._graph.device, self._search
        n = self._graph.n_vertices
        over_vertices = (-(-n // THREADS), THREADS)
        search.search(root)
        renumbered = (np.uint32(n), *self._predecessors, search.number, self._by_number)
        self._renumber(*over_vertices, renumbered)
        lists = (self._predecessors[0], self._by_number)
        for words in (self._sizes, self._queue, self._sweeps):
            words.fill(0)
        capacity = np.uint32(self._shared_bytes // 8)
        found = (self._masks, self._sizes, self._queue, self._sweeps)
        arguments = (search.reached, search.order, *lists, capacity, *found)
        with nullcontext() if phases is None else device.timer() as timer:
            self._intersect(self._blocks, THREADS, arguments, shared_mem=self._shared_bytes)
        idom = device.xp.full(n, NO_DOMINATOR, dtype=np.uint32)
        self._nearest(*over_vertices, (search.reached, search.order, self._masks, self._sizes, idom))
        sweeps = int(device.item(self._sweeps))
        if phases is not None and timer is not None:
            phases.append(Phase("bitmasks", n, self._graph.n_arcs * sweeps, timer.ms))
        return Answer(idom, sweeps)
