"""CPU and GPU search each level together (Hirakushi and Takahashi, section 3.3)."""

import time
from typing import Any, Literal

import numpy as np
from pydantic import Field, NonNegativeInt

from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems._page_locked import page_locked
from relaxometer.problems.bfs import NO_PREDECESSOR, UNREACHED, Answer
from relaxometer.problems.bfs._levels import Bitmaps, Levels, full_beyond, singleton, words_of
from relaxometer.problems.bfs._switching import SwitchingParameters
from relaxometer.problems.bfs.bottom_up import BottomUp
from relaxometer.problems.bfs.top_down import TopDown
from relaxometer.problems.phases import Phase, PhaseLog
from relaxometer.problems.variants import SolverBase

DIRECTIONS = ("top-down", "bottom-up")


class Parameters(SwitchingParameters):
    """How CPU and GPU divide the work, and when the search changes direction."""

    cpu_share: float | Literal["auto"] = Field("auto", ge=0, le=1)
    """Share of the arcs whose vertices the CPU takes: the paper's ratios 0:1, 1:3 and 1:1 of CPU to GPU are
    0, 0.25 and 0.5. "auto" measures both on one search and balances each direction."""
    threshold: NonNegativeInt = Field(32, lt=2**32)
    """A warp of the GPU searches the rows of at least this many incoming arcs, a thread the others."""


class Solver(SolverBase):
    """BFS that divides each level between CPU and GPU.

    A cut divides the vertices so that the arcs before it are the CPU's share; each direction has its own cut.
    Both sides keep bitmaps of the whole frontier and of all visited vertices. Top-down, each expands the
    frontier on its side of the cut; bottom-up, each finds parents for its side. After a level, the CPU merges
    the bitmaps of the vertices found and sends the result to the GPU. Top-down, both may find the same vertex
    at the same level; the answer keeps the smaller predecessor.

    The GPU's kernels and the copy of its bitmap to the host are queued first and overlap with the CPU's part.

    References
    ----------
    Hirakushi and Takahashi, "Breadth-first search on a GPU cluster", sections 3.3 and 3.4. There CPU and GPU
    divide a block of a partitioned matrix, and the merged bitmap goes to other nodes.
    """

    def __init__(self, graph: ResidentGraph, parameters: Parameters) -> None:
        super().__init__(graph, parameters)
        self._device_side = _DeviceSide(graph, parameters.threshold)
        self._cpu_side = _CpuSide(graph)
        share = parameters.cpu_share
        self._shares = self._tuned() if share == "auto" else dict.fromkeys(DIRECTIONS, share)
        for name, share in self._shares.items():
            self.resolved[f"cpu_share_{name.replace('-', '_')}"] = share

    def solve(self, source: int, phases: list[Phase] | None = None) -> Answer:
        """Find the levels from `source`."""
        n_levels = self._search(source, PhaseLog(self._graph.device, phases), None)
        xp, ours, theirs = self._graph.device.xp, self._device_side.answer, self._cpu_side.answer
        level, predecessor = (self._graph.device.asarray(column) for column in theirs)
        merged = xp.minimum(ours.level, level), xp.minimum(ours.predecessor, predecessor)
        return Answer(*merged, n_levels)

    def _search(self, source: int, log: PhaseLog, sums_ms: dict[str, list[float]] | None) -> int:
        """Search all levels and return their number; with `sums_ms`, run and time one side at a time."""
        host, gpu, cpu = self._graph.host, self._device_side, self._cpu_side
        limits = self._parameters.limits(host.n_vertices, host.n_arcs)
        gpu.start(source)
        cpu.start(source)
        vertices, arcs = 1, int(host.offsets[source + 1] - host.offsets[source])
        direction = "top-down"
        depth = 0
        while vertices:
            if direction == "top-down" and arcs > limits[0]:
                direction = "bottom-up"
            elif direction == "bottom-up" and vertices < limits[1]:
                direction = "top-down"
            cut = self._cut(direction)
            begin = time.perf_counter()
            gpu.launch(direction, depth, cut, instrumented=log.wanted)
            if sums_ms is not None:
                self._graph.device.synchronize()
                sums_ms[direction][1] += (time.perf_counter() - begin) * 1e3
                begin = time.perf_counter()
            cpu.run(direction, depth, cut)
            if sums_ms is not None:
                sums_ms[direction][0] += (time.perf_counter() - begin) * 1e3
            examined = cpu.examined + (gpu.examined(direction) if log.wanted else 0)
            vertices, arcs = cpu.merge(gpu.received())
            gpu.send(cpu.frontier)
            depth += 1
            if log.wanted:
                log.end(direction, vertices, examined, log.elapsed_ms())
        return depth

    def _cut(self, direction: str) -> int:
        """Return the GPU's first word of the bitmaps."""
        first_arcs = self._graph.host.offsets[:-1:32]
        return int(np.searchsorted(first_arcs, self._shares[direction] * self._graph.n_arcs))

    def _tuned(self) -> dict[str, float]:
        """Measure both sides on one search, divided 1:1; return the shares that balance them.

        The source is the vertex with the most arcs, whose search has large levels in both directions. A
        direction without levels gets the paper's best ratio, 1:3.
        """
        self._shares = dict.fromkeys(DIRECTIONS, 0.5)
        source = int(self._graph.host.degrees.argmax())
        log = PhaseLog(self._graph.device, None)
        self._search(source, log, {direction: [0.0, 0.0] for direction in DIRECTIONS})
        sums_ms = {direction: [0.0, 0.0] for direction in DIRECTIONS}
        self._search(source, log, sums_ms)
        return {
            direction: of_gpu / (of_cpu + of_gpu) if of_cpu + of_gpu else 0.25
            for direction, (of_cpu, of_gpu) in sums_ms.items()
        }


class _DeviceSide:
    """The GPU's part of a search."""

    def __init__(self, graph: ResidentGraph, threshold: int) -> None:
        self._graph = graph
        self._n_words = words_of(graph.n_vertices)
        self._kernels: dict[str, TopDown | BottomUp] = {
            "top-down": TopDown(graph),
            "bottom-up": BottomUp(graph, threshold),
        }
        self._received = page_locked(graph.device, self._n_words, np.uint32)

    def start(self, source: int) -> None:
        xp, n = self._graph.device.xp, self._graph.n_vertices
        self.answer = Levels(self._graph, source)
        self._frontier = singleton(xp, n, source)
        self._visited = full_beyond(xp, n) | self._frontier
        self._following = xp.empty_like(self._frontier)

    def launch(self, direction: str, depth: int, cut: int, *, instrumented: bool) -> None:
        """Queue the search of the words from `cut` on, and the copy of its bitmap to the host."""
        self._following.fill(0)
        words = cut, self._n_words
        bitmaps = Bitmaps(self._frontier, self._visited, self._following)
        self._kernels[direction].run(depth, words, bitmaps, self.answer, instrumented=instrumented)
        if self._graph.device.kind == "cuda":
            self._following.get(out=self._received, blocking=False)
        else:
            self._received[:] = self._following

    def examined(self, direction: str) -> int:
        return int(self._graph.device.item(self._kernels[direction].counts, 1))

    def received(self) -> Any:
        """Wait for the bitmap of the vertices found here, and return it."""
        self._graph.device.synchronize()
        return self._received

    def send(self, frontier: Any) -> None:
        """Copy the next frontier, which must not change until the next level is received."""
        if self._graph.device.kind == "cuda":
            self._frontier.set(frontier)
        else:
            np.copyto(self._frontier, frontier)
        self._visited |= self._frontier


class _CpuSide:
    """The CPU's part of a search, and the merge of both parts."""

    def __init__(self, graph: ResidentGraph) -> None:
        from relaxometer.problems.bfs import _cpu

        self._cpu = _cpu
        self._n = graph.n_vertices
        self._out, self._in = _cpu.host_rows(graph)
        n_words = words_of(self._n)
        self._bitmaps = (
            page_locked(graph.device, n_words, np.uint32),
            page_locked(graph.device, n_words, np.uint32),
        )
        self._lists = np.empty(self._n, dtype=np.uint32), np.empty(self._n, dtype=np.uint32)
        self._counts = np.zeros(3, dtype=np.int64)

    def start(self, source: int) -> None:
        self.answer = np.full(self._n, UNREACHED), np.full(self._n, NO_PREDECESSOR)
        self.frontier, self._following = self._bitmaps
        self.frontier[:] = singleton(np, self._n, source)
        self._visited = full_beyond(np, self._n) | self.frontier

    def run(self, direction: str, depth: int, cut: int) -> None:
        """Search the words up to `cut`."""
        self._following.fill(0)
        state = self._cpu.Found(self._visited, *self.answer)
        if direction == "top-down":
            listed, found = self._lists
            self._cpu.list_bitmap(self.frontier, 0, cut, listed, self._counts)
            size = int(self._counts[self._cpu.FOUND])
            leaving = self._out.offsets
            self._cpu.top_down(self._out, listed, size, depth, state, leaving, found, self._counts)
            self._cpu.mark_listed(found, int(self._counts[self._cpu.FOUND]), self._following)
        else:
            arguments = self._in, 0, cut, self.frontier, depth, state, self._following, self._counts
            self._cpu.bottom_up(*arguments)
        self.examined = int(self._counts[self._cpu.EXAMINED])

    def merge(self, received: Any) -> tuple[int, int]:
        """Merge both sides' bitmaps into the frontier; count its vertices and the arcs that leave them."""
        self._cpu.merge(self._following, received, self._out.offsets, self._visited, self._counts)
        self.frontier, self._following = self._following, self.frontier
        return int(self._counts[self._cpu.FOUND]), int(self._counts[self._cpu.ARCS])
