"""Many sources at once, each searched by one block alone."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field, PositiveFloat, PositiveInt

from relaxometer.problems import variants
from relaxometer.problems.phases import Phase
from relaxometer.problems.sssp import Answer
from relaxometer.problems.sssp._packed_arcs import PackedArcs, threads_per_block
from relaxometer.problems.sssp.near_far._near_far import (
    LOG_ROOM,
    PILES,
    QUEUE,
    QUEUE_BYTES,
    bucket_shift,
    logged_phases,
)

if TYPE_CHECKING:
    from relaxometer.graphs.resident import ResidentGraph


class Parameters(variants.Parameters):
    """Widths of buckets and of phases, and the searches at once.

    Parameters
    ----------
    delta : float or "auto"
        As for :mod:`relaxometer.problems.sssp.near_far.near_far`.
    target : int
        With fewer near entries than this, a phase takes the next buckets along until it has so many.
    sources : int
        Sources that :meth:`Solver.solve_many` takes in one launch; their answers are in memory together.
    """

    delta: PositiveFloat | Literal["auto"] = Field("auto")
    target: PositiveInt = 256
    sources: PositiveInt = 256


class Solver:
    """SSSP by near and far piles, a block for each source.

    Parameters
    ----------
    graph : ResidentGraph
    parameters : Parameters

    References
    ----------
    Davidson, Baxter, Garland and Owens, "Work-Efficient Parallel GPU Methods for Single-Source Shortest
    Paths", IPDPS 2014. ``_near_far.cuh`` says what is different here.
    """

    runs_on = "device"

    def __init__(self, graph: ResidentGraph, parameters: Parameters) -> None:
        self._graph = graph
        device = graph.device
        xp = device.xp
        self._sources, self._target = parameters.sources, parameters.target
        self._shift = bucket_shift(graph, None if parameters.delta == "auto" else parameters.delta)
        packed = PackedArcs(device, graph.offsets, graph.targets, graph.weights)
        self._packed = (np.uint32(graph.n_vertices), packed.rows, packed.first(), packed.arcs)
        module = device.module(Path(__file__).with_name("many_sources.cu"))
        self._kernel = module.get_function("many_sources")
        self._threads = threads_per_block(device)
        self._blocks = device.max_cooperative_blocks(self._kernel, self._threads, QUEUE_BYTES)
        self._stride = -(-graph.n_vertices // 4) * 4
        self._next = xp.zeros(1, dtype=xp.uint32)
        self._results = xp.zeros(2, dtype=xp.uint64)
        self._piles: Any = None
        self._capacity = 0
        self._make_piles(1, 2 * QUEUE)

    @property
    def resolved(self) -> dict[str, Any]:
        """Return the width of a bucket in the graph's unit, the target, and the sources of a launch."""
        return {"bucket": 1 << self._shift, "target": self._target, "sources": self._sources}

    def solve(self, source: int, phases: list[Phase] | None = None) -> Answer:
        """Find the shortest paths from `source`; see :class:`relaxometer.problems.sssp.Solver`."""
        log = None if phases is None else self._graph.device.xp.zeros((LOG_ROOM, 4), dtype=np.uint64)
        distance, predecessor, count, overflowed = self._launch(np.array([source]), log)
        if phases is not None:
            phases += logged_phases(self._graph.device.asnumpy(log)[: count + 1])
        return Answer(distance[0], predecessor[0], count, overflowed)

    def solve_many(self, sources: npt.ArrayLike) -> tuple[Any, Any]:
        """Find the shortest paths from each of up to `Parameters.sources` sources in one launch.

        Parameters
        ----------
        sources : array_like of shape (n_sources,), integers

        Returns
        -------
        distance, predecessor : device array of shape (n_sources, n_vertices), uint32
            Row i is the answer for source i, as in `relaxometer.problems.sssp.Answer`. The rows are not
            contiguous with each other.

        Raises
        ------
        ValueError
            If there is no source or there are too many.
        OverflowError
            If some path's length passed 2**32 - 2.
        """
        array = np.asarray(sources)
        if not 0 < len(array) <= self._sources:
            raise ValueError(f"{len(array)} sources; expected 1 to {self._sources} (parameter sources)")
        distance, predecessor, _, overflowed = self._launch(array, None)
        if overflowed:
            raise OverflowError("a path is longer than 2**32 - 2, the largest distance that 32 bits hold")
        return distance, predecessor

    def _make_piles(self, blocks: int, capacity: int) -> None:
        """Give each of so many blocks piles of this capacity, if they have less."""
        words = blocks * PILES * capacity
        if self._piles is None or len(self._piles) < words:
            self._piles = None
            self._piles = self._graph.device.xp.empty((words, 4), dtype=np.uint32)
        self._capacity = capacity

    def _launch(self, sources: npt.NDArray[Any], log: Any) -> tuple[Any, Any, int, bool]:
        """Return the trees, the sum of the phases and whether any path was too long.

        Searches whose piles turn out too small are made again with twice the room, which stays.
        """
        device, n = self._graph.device, self._graph.n_vertices
        xp = device.xp
        distance = xp.empty((len(sources), self._stride), dtype=xp.uint32)
        predecessor = xp.empty((len(sources), self._stride), dtype=xp.uint32)
        blocks = min(self._blocks, len(sources))
        on_device = device.asarray(sources.astype(np.uint32))
        while True:
            self._make_piles(blocks, self._capacity)
            self._next.fill(0)
            self._results.fill(0)
            arguments = (
                *self._packed,
                on_device,
                np.uint32(len(sources)),
                distance,
                predecessor,
                np.uint32(self._stride),
                self._piles,
                np.uint32(self._capacity),
                np.uint32(self._shift),
                np.uint32(self._target),
                self._next,
                log,
                np.uint32(LOG_ROOM),
                self._results,
            )
            self._kernel(blocks, self._threads, arguments, shared_mem=QUEUE_BYTES)
            flags, phases = device.asnumpy(self._results).tolist()
            if not flags & 2:
                return distance[:, :n], predecessor[:, :n], phases, bool(flags & 1)
            self._make_piles(blocks, 2 * self._capacity)
