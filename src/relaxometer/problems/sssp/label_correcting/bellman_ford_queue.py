"""Bellman-Ford with one queue per block (sections 4.2 and 4.3 of the survey)."""

import time
from pathlib import Path
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import AfterValidator, Field, PositiveInt

from relaxometer.device.signature import read_source
from relaxometer.graphs.lengths import LENGTHS
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems import variants
from relaxometer.problems.phases import Phase
from relaxometer.problems.sssp import Answer
from relaxometer.problems.sssp._cooperative import blocks_at_once
from relaxometer.problems.sssp._negative_cycles import NegativeCycles, Watch
from relaxometer.problems.sssp.label_correcting._labels import BLOCK, WAITS, Labels

SOURCE = read_source(Path(__file__).with_name("bellman_ford_queue.cu"))
_WIDE_SOURCE = read_source(SOURCE.path, options=LENGTHS["uint32/uint64"].options)
_CONSTANTS = SOURCE.constants
EMPTY_SLOT, HEAD, TAIL, WORK, TAKEN, RELAXED, BUDGET = (
    _CONSTANTS[name] for name in ("EMPTY_SLOT", "HEAD", "TAIL", "WORK", "TAKEN", "RELAXED", "BUDGET")
)
SLF, LLL = _CONSTANTS["SMALL_LABEL_FIRST"], _CONSTANTS["LARGE_LABEL_LAST"]
OPTIONS = {"fifo": 0, "slf": SLF, "lll": LLL, "slf-lll": SLF | LLL}
TURNS = 4  # vertices per vertex of the graph that the first launch takes, if weights may be negative


def _power_of_two(value: int) -> int:
    if value & (value - 1):
        raise ValueError(f"expected a power of two, such as {1 << value.bit_length()}")
    return value


class Parameters(variants.Parameters):
    """The order of the queues, and how blocks share work."""

    order: Literal["fifo", "slf", "lll", "slf-lll"] = "fifo"
    """First in, first out; small label first; large label last; both."""
    blocks: PositiveInt | Literal["auto"] = "auto"
    """Maximum number of blocks; "auto": as many as run at once."""
    capacity: Annotated[int, Field(ge=32, le=4096), AfterValidator(_power_of_two)] = 2048
    """Vertices per queue, a power of two. Further vertices go to the common pool."""
    keep: Annotated[int, Field(ge=0, lt=2**32)] = 64
    """Vertices that a block keeps while the common pool has few."""


class Solver(variants.SolverBase):
    """SSSP by blocks that relax the vertices of their queues until all queues are empty.

    Blocks do not wait for each other, so there are no phases. On a GPU the number of vertices taken from
    queues differs from run to run, and so may predecessors, among paths of equal length.

    With weights of type int32 a launch ends after a number of vertices, each time twice as many; then, and if
    some path is too short, a negative cycle is looked for.

    References
    ----------
    "Single-source shortest paths in parallel with CUDA" (survey, in Chinese), section 4.
    Bertsekas, "A Simple and Fast Label Correcting Algorithm for Shortest Paths", Networks 23, 1993.
    """

    weight_types: ClassVar = {"uint32", "uint32/uint64", "float32", "float64", "int32"}

    def __init__(self, graph: ResidentGraph, parameters: Parameters) -> None:
        super().__init__(graph, parameters)
        device = graph.device
        module = device.module(SOURCE.path, cooperative=True, options=graph.lengths.options)
        self._labels = Labels(graph)
        search = module.get_function("search")
        source = _WIDE_SOURCE if graph.lengths.is_wide else SOURCE
        shared_bytes = parameters.capacity * source.layout("Entry").size
        most = blocks_at_once(device, search, BLOCK, shared_bytes)
        self._blocks = most if parameters.blocks == "auto" else min(parameters.blocks, most)
        slots = 1 << max(graph.n_vertices - 1, 1).bit_length()
        self._control = device.xp.zeros(_CONSTANTS["CONTROL_WORDS"], dtype=np.uint64)
        _, Va, Ea, Wa = graph.csr
        self._slots = device.xp.full(slots, EMPTY_SLOT, dtype=np.uint32)
        pool = self._slots, np.uint32(slots - 1), self._control
        self._cycles = NegativeCycles(graph) if graph.lengths.is_signed else None
        order = map(np.uint32, (parameters.capacity, parameters.keep, OPTIONS[parameters.order]))
        labels = self._labels
        arguments = (np.uint32(0), Va, Ea, Wa, labels.words, *pool, *order, labels.overflow)
        self._search = search.bind(self._blocks, BLOCK, arguments, shared_mem=shared_bytes)
        self.resolved["blocks"] = self._blocks

    def solve(self, source: int, phases: list[Phase] | None = None) -> Answer:
        """Find the shortest paths; an instrumented run is one phase, which updates what queues hand out."""
        start = time.perf_counter()
        self._labels.start(source)
        self._control[WORK:] = 0
        if self._cycles is None:
            self._control[WORK] = 1
            self._search(source=np.uint32(source))
            answer = self._labels.answer(None)
        else:
            answer = self._search_in_turns(self._cycles)
        if phases is not None:
            elapsed_ms = (time.perf_counter() - start) * 1e3
            taken, relaxed = (self._graph.device.item(self._control, place) for place in (TAKEN, RELAXED))
            phases.append(Phase(self._parameters.order, taken, relaxed, elapsed_ms))
        return answer

    def _search_in_turns(self, cycles: NegativeCycles) -> Answer:
        """Launch until no vertex waits or a negative cycle is found."""
        xp, labels, control = self._graph.device.xp, self._labels.words, self._control
        unreached = int(self._graph.lengths.unreached)
        watch = Watch(cycles, lambda: labels >> np.uint64(32) != unreached)
        more = TURNS * self._graph.n_vertices
        while len(waiting := xp.flatnonzero(labels & np.uint64(WAITS))):
            if more > TURNS * self._graph.n_vertices and watch.sees_cycle():
                break
            self._slots.fill(EMPTY_SLOT)
            self._slots[: len(waiting)] = waiting
            control[HEAD] = 0
            control[TAIL] = control[WORK] = len(waiting)
            control[BUDGET] = control[TAKEN] + np.uint64(more)
            self._search(source=np.uint32(0))
            more *= 2
        return watch.verdict(lambda: self._labels.answer(None), None)
