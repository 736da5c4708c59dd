"""Common to the variants: constants, launches, arrays of the answer, bitmaps, and the log of levels."""

from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from relaxometer.device import Device
from relaxometer.device.arrays import DeviceArray
from relaxometer.device.kernels import Kernel, Launch
from relaxometer.device.signature import read_source
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems.answers import arrays_ahead
from relaxometer.problems.bfs import NO_PREDECESSOR, UNREACHED, Answer
from relaxometer.problems.phases import Phase, PhaseLog
from relaxometer.problems.variants import Parameters, SolverBase

BLOCK = 256  # threads per block of the kernels launched level by level
WORD = 32  # vertices per word of a bitmap
_CONSTANTS = read_source(Path(__file__).with_name("_bottom_up.cuh")).constants
PIECE = _CONSTANTS["PIECE"]  # most arcs of an entry of a list of rows
WARP = _CONSTANTS["WARP"]  # lanes of a warp, which write the bits of a word together
GROUP_VERTICES = _CONSTANTS["GROUP_VERTICES"]  # vertices that a warp scans at a time


def over(threads: int) -> tuple[int, int]:
    """Return grid and block for at least `threads` threads."""
    return (threads + BLOCK - 1) // BLOCK, BLOCK


def filling(device: Device, kernel: Kernel) -> tuple[int, int]:
    """Return grid and block that fill the device, for a kernel whose threads take several items each."""
    return device.max_cooperative_blocks(kernel, BLOCK), BLOCK


def kernels(device: Device, file: str, *, cooperative: bool = False) -> Any:
    """Compile a ``.cu`` file of this folder."""
    return device.module(Path(__file__).with_name(file), cooperative=cooperative)


def logged_levels(entries: npt.NDArray[Any]) -> list[Phase]:
    """Return the levels of a search from a kernel's log; the last entry has only the time at the end."""
    times_ms = np.diff(entries["begin_ns"].astype(np.int64)) / 1e6
    modes = ["top-down" if entry["is_top_down"] else "bottom-up" for entry in entries[:-1]]
    return [
        Phase(mode, int(entry["found"]), int(entry["examined"]), time_ms)
        for mode, entry, time_ms in zip(modes, entries[:-1], times_ms.tolist(), strict=True)
    ]


class Levels:
    """Levels and predecessors of one search, new device arrays of shape (n_vertices,), uint32."""

    def __init__(self, graph: ResidentGraph, source: int) -> None:
        xp = graph.device.xp
        self.level = xp.full(graph.n_vertices, UNREACHED, dtype=xp.uint32)
        self.predecessor = xp.full(graph.n_vertices, NO_PREDECESSOR, dtype=xp.uint32)
        self.level[source] = 0
        self.predecessor[source] = source


class OneLaunch(SolverBase):
    """Base of solvers by one launch of a kernel with ``source``, ``log`` and the arrays of the answer.

    The log, if any, has one more entry than levels: ``begin_ns``, ``is_top_down``, ``found``, ``examined``.
    """

    def _bind(self, launch: Launch, entry: np.dtype[Any]) -> None:
        self._launch, self._entry, n = launch, entry, self._graph.n_vertices
        self._arrays = arrays_ahead(self._graph, launch, level=n, predecessor=n, n_levels=1)

    def solve(self, source: int, phases: list[Phase] | None = None) -> Answer:
        """Find the levels from `source`; an instrumented run first counts them by another search."""
        answer = self._run(source, None)
        if phases is None:
            return answer
        words = (answer.phases + 1) * self._entry.itemsize // 8
        log = self._device.xp.zeros(words, dtype=np.uint64)
        answer = self._run(source, log)
        phases += logged_levels(self._device.asnumpy(log).view(self._entry))
        return answer

    def _run(self, source: int, log: Any) -> Answer:
        arrays = self._arrays.take()
        self._launch(source=np.uint32(source), log=log)
        self._arrays.prepare()
        return Answer(**arrays)


def words_of(n_vertices: int) -> int:
    """Return the number of words of a bitmap."""
    return (n_vertices + WORD - 1) // WORD


def singleton(xp: Any, n_vertices: int, vertex: int) -> Any:
    """Return a bitmap that holds one vertex, shape (n_words,), uint32."""
    bitmap = xp.zeros(words_of(n_vertices), dtype=xp.uint32)
    bitmap[vertex // WORD] = np.uint32(1 << vertex % WORD)
    return bitmap


def full_beyond(xp: Any, n_vertices: int) -> Any:
    """Return a bitmap of only the bits beyond the last vertex."""
    bitmap = xp.zeros(words_of(n_vertices), dtype=xp.uint32)
    if n_vertices % WORD:
        bitmap[-1] = np.uint32(2**WORD - (1 << n_vertices % WORD))
    return bitmap


class Bitmaps(NamedTuple):
    """Vertices to search from, visited ones, and those that a level finds: device arrays of uint32."""

    frontier: DeviceArray
    visited: DeviceArray
    following: DeviceArray


class Direction(ABC):
    """Levels of one direction, launched by the host."""

    mode: ClassVar[str]
    found_at: ClassVar[int]
    adds: ClassVar[bool]  # whether `run` adds to an empty bitmap of the next level, or writes every word
    counts: Any  # of the last level: arcs examined at 1, and vertices found at `found_at`; uint64

    @abstractmethod
    def run(
        self, depth: int, words: tuple[int, int], bitmaps: Bitmaps, answer: Levels, *, instrumented: bool
    ) -> None:
        """Search below `depth` in a range of words; add the vertices found to `visited` and `following`."""


class LevelByLevel(SolverBase):
    """Base of the solvers that search all levels in one direction; the host reads their counts back."""

    def __init__(self, graph: ResidentGraph, parameters: Parameters, direction: Direction) -> None:
        super().__init__(graph, parameters)
        self._direction = direction

    def solve(self, source: int, phases: list[Phase] | None = None) -> Answer:
        """Find the levels from `source`, one after the other until one finds nothing."""
        device, n, direction = self._device, self._graph.n_vertices, self._direction
        answer, log = Levels(self._graph, source), PhaseLog(device, phases)
        frontier = singleton(device.xp, n, source)
        visited = full_beyond(device.xp, n) | frontier
        following = device.xp.zeros_like(frontier)
        words = 0, words_of(n)
        depth, found = 0, 1
        while found:
            bitmaps = Bitmaps(frontier, visited, following)
            direction.run(depth, words, bitmaps, answer, instrumented=log.wanted)
            frontier, following = following, frontier
            if direction.adds:
                following.fill(0)  # while the level runs
            depth += 1
            found = device.item(direction.counts, direction.found_at)
            if log.wanted:
                elapsed_ms = log.elapsed_ms()
                log.end(direction.mode, found, device.item(direction.counts, 1), elapsed_ms)
        return Answer(answer.level, answer.predecessor, depth)
