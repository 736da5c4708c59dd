"""SSSP from many sources at once, one block per source."""

from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field, PositiveFloat, PositiveInt

from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems import variants
from relaxometer.problems.answers import checked_sources
from relaxometer.problems.phases import Phase
from relaxometer.problems.sssp import Answer, Trees
from relaxometer.problems.sssp._cooperative import LOG_ROWS, blocks_at_once, logged_phases, threads_per_block
from relaxometer.problems.sssp.near_far import _near_far


class Parameters(variants.Parameters):
    """Width of buckets, entries of a phase, and sources per launch."""

    delta: PositiveFloat | Literal["auto"] = Field("auto")
    """As for `near-far`. Reported as `bucket`."""
    target: Annotated[int, Field(ge=1, lt=2**32)] = 256
    """A phase with fewer near entries than this adds further buckets until it has enough."""
    sources: PositiveInt = 256
    """Maximum number of sources of :meth:`Solver.solve_many`; all answers are in memory at once."""


class Solver:
    """SSSP by near and far piles, one block per source.

    References
    ----------
    Davidson, Baxter, Garland and Owens, "Work-Efficient Parallel GPU Methods for Single-Source Shortest
    Paths", IPDPS 2014. ``_piles.cuh`` lists the deviations.
    """

    runs_on = "device"
    weight_types: ClassVar = {"uint32", "uint32/uint64", "float32", "float64"}

    def __init__(self, graph: ResidentGraph, parameters: Parameters) -> None:
        self._graph, device, xp = graph, graph.device, graph.device.xp
        self._sources, self._target = parameters.sources, parameters.target
        packed = _near_far.packed_arcs(graph)
        shift = _near_far.bucket_shift(graph, packed, parameters.delta)
        module = device.module(Path(__file__).with_name("many_sources.cu"), options=graph.lengths.options)
        self._problem = module.struct("Problem", graph=_near_far.graph_members(packed, first=True))
        self._kernel = module.get_function("many_sources")
        self._threads, self._queue_bytes = threads_per_block(device), _near_far.queue_bytes(graph.lengths)
        self._blocks = blocks_at_once(device, self._kernel, self._threads, self._queue_bytes)
        self._stride = -(-graph.n_vertices // 4) * 4
        self._next = xp.zeros(1, dtype=xp.uint32)
        self._results = xp.zeros(2, dtype=xp.uint64)
        self._piles = _near_far.Piles(self._problem, graph, shift)
        self._piles.allocate(1, 2 * _near_far.QUEUE)
        self.resolved = {
            "bucket": _near_far.bucket_width(graph, shift),
            "target": self._target,
            "sources": self._sources,
        }

    def solve(self, source: int, phases: list[Phase] | None = None) -> Answer:
        """Find the shortest paths from `source`; see :class:`relaxometer.problems.sssp.Solver`."""
        log = None if phases is None else self._graph.device.xp.zeros((LOG_ROWS, 4), dtype=np.uint64)
        distance, predecessor, count, overflowed = self._launch(np.array([source]), log)
        if phases is not None:
            phases += logged_phases(self._graph.device.asnumpy(log)[: count + 1], _near_far.MODES)
        return Answer(distance[0], predecessor[0], count, overflowed)

    def solve_many(self, sources: npt.ArrayLike) -> Trees:
        """Find the shortest paths from each of up to `Parameters.sources` sources in one launch.

        Distances and predecessors are device arrays of shape (n_sources, n_vertices), with gaps between the
        rows. ValueError without sources or with too many.
        """
        array = checked_sources(sources, self._sources)
        distance, predecessor, _, overflowed = self._launch(array, None)
        return Trees(distance, predecessor, overflowed)

    def _launch(self, sources: npt.NDArray[Any], log: Any) -> tuple[Any, Any, int, bool]:
        """Return trees, sum of phases and overflow; searches with too small piles are made again."""
        device, n = self._graph.device, self._graph.n_vertices
        xp = device.xp
        shape = len(sources), self._stride
        lengths = self._graph.lengths
        distance, predecessor = (xp.empty(shape, dtype=dtype) for dtype in (lengths.word, np.uint32))
        blocks = min(self._blocks, len(sources))
        on_device = device.asarray(sources.astype(np.uint32))
        self._piles.require(blocks)
        while True:
            self._next.fill(0)
            self._results.fill(0)
            arguments = (
                self._problem,
                np.uint32(self._target),
                on_device,
                np.uint32(len(sources)),
                distance,
                predecessor,
                np.uint32(self._stride),
                self._next,
                log,
                np.uint32(LOG_ROWS),
                self._results,
            )
            self._kernel(blocks, self._threads, arguments, shared_mem=self._queue_bytes)
            flags, phases = device.asnumpy(self._results).tolist()
            if not flags & 2:
                distance = lengths.distance(distance)
                return distance[:, :n], predecessor[:, :n], phases, bool(flags & 1)
            self._piles.double(blocks)
