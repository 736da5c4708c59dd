"""What the searches over tiles share: how they cut the graph, and their launch."""

from typing import Any, ClassVar

import numpy as np

from relaxometer.device.kernels import Kernel
from relaxometer.problems.answers import Ahead
from relaxometer.problems.phases import Phase
from relaxometer.problems.sssp import _maps
from relaxometer.problems.sssp.tiled._device_tiles import Cutter, Facts
from relaxometer.problems.variants import Skipped, SolverBase

MAX_ARCS = 4096  # skip graphs with more arcs at a vertex: one thread follows nearly all of them
MAX_THREADS = 1024
"""Threads of the largest block; with all the shared memory, one has a multiprocessor to itself."""


class TileSolver(SolverBase):
    """Base of the searches on maps in which each block has a tile."""

    few_cross: ClassVar[float]  # up to this share of arcs that cross, ranges of ids are tiles
    log: ClassVar[tuple[str, ...]]  # what an instrumented run records in `tile_log`, by tile
    _tiles: int
    _threads: int
    _kernel: Kernel
    _launch: Any
    _arrays: Ahead[Any]

    def _most_crossing(self) -> int:
        """Return the maximum number of arcs that cross between ranges of ids used as tiles; -1: never."""
        n_arcs = self._graph.n_arcs
        return {"auto": int(self.few_cross * n_arcs), "ranges": n_arcs}.get(self._parameters.cut, -1)

    def _facts(self, cutter: Cutter) -> Facts:
        """Wait for the facts of the graph; Skipped if a vertex has too many arcs for a map."""
        facts = cutter.facts()
        if facts.max_degree > MAX_ARCS:
            raise Skipped(f"made for maps; a vertex has {facts.max_degree} arcs, more than {MAX_ARCS}")
        return facts

    def _cut(self, cutter: Cutter, facts: Facts) -> str:
        """Cut the graph in the way wanted, unless the survey has or the host is to; return the way."""
        if facts.crossing <= self._most_crossing():
            return "ranges"
        if self._parameters.cut == "bisection":
            return "bisection"
        cutter.cut(cutter.grow_order())
        return "grow"

    def _fits(self, shared_bytes: int) -> bool:
        """Return whether all tiles run at once with this much shared memory each."""
        if shared_bytes > _maps.shared_bytes(self._device):
            return False
        return self._device.max_cooperative_blocks(self._kernel, self._threads, shared_bytes) >= self._tiles

    def _search(self, source: int, phases: list[Phase] | None, examined: str) -> Any:
        """Return the arrays of a search; record it as one phase, with `examined` of the log for its arcs."""
        arrays, names = self._arrays.take(), self.log
        log = None if phases is None else self._device.xp.zeros((self._tiles, len(names)), dtype=np.uint64)
        self._launch(source=np.uint32(source), logs=log)
        self._arrays.prepare()
        if phases is not None:
            self.tile_log = of = dict(zip(names, self._device.asnumpy(log).T, strict=True))
            time_ms = float(of["total_ns"].max() / 1e6)
            phases.append(Phase("tiles", int(of["expanded"].sum()), int(of[examined].sum()), time_ms))
        return arrays
