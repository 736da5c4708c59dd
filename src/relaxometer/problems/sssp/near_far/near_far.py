"""Near-far SSSP in one launch: by one block while few vertices are near, by all blocks while many are."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field, PositiveFloat, model_validator

from relaxometer.device import DeviceOutOfMemory
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems import variants
from relaxometer.problems.phases import Phase
from relaxometer.problems.sssp import Answer
from relaxometer.problems.sssp._cooperative import (
    LOG_ROWS,
    blocks_at_once,
    logged_phases,
    threads_per_block,
    trees_ahead,
)
from relaxometer.problems.sssp.near_far import _near_far

Entries = Annotated[int, Field(ge=1, lt=2**32)]


class Parameters(variants.Parameters):
    """Width of buckets, and numbers of entries at which one block or all blocks search."""

    delta: PositiveFloat | Literal["auto"] = Field("auto")
    """Width of a bucket in mean weights, rounded down to a power of two in the graph's unit. "auto" is 5.3
    over the mean degree on graphs of mean degree up to 8, 1.3 over it on others, divided by the coefficient
    of variation of the weights if that is above 1. Reported as `bucket`, in the graph's unit."""
    block_target: Entries = 256
    grid_target: Entries = 8192
    """A phase of one block, or of all blocks, that has fewer near entries than this adds further buckets
    until it has enough."""
    narrow: Annotated[int, Field(ge=0, lt=2**32)] | Literal["auto"] = Field("auto")
    """One block continues alone with fewer entries to expand than this; 0: never. "auto": 1024, or `wide` if
    that is less, on graphs of mean degree up to 8, and 0 on others."""
    wide: Entries = 4096
    """All blocks take over with more entries to expand than this; at least `narrow`."""
    crowd: Entries | Literal["auto"] = Field("auto")
    """All blocks lower the threshold before they expand more near entries than this; at least `grid_target`.
    "auto": a tenth of the vertices, between 16384 and 131072, on graphs of mean degree up to 8, and 32768 on
    others; or `grid_target` if that is more."""

    @model_validator(mode="after")
    def _limits_are_in_order(self) -> Parameters:
        if self.narrow != "auto" and self.narrow > self.wide:
            raise ValueError(f"wide is {self.wide}; it must be at least narrow, which is {self.narrow}")
        if self.crowd != "auto" and self.crowd < self.grid_target:
            raise ValueError(
                f"crowd is {self.crowd}; it must be at least grid_target, which is {self.grid_target}"
            )
        return self


class Solver:
    """Expands a near pile and keeps a far one until both are empty, without the host.

    References
    ----------
    Davidson, Baxter, Garland and Owens, "Work-Efficient Parallel GPU Methods for Single-Source Shortest
    Paths", IPDPS 2014. ``_piles.cuh`` lists the deviations.
    """

    runs_on = "device"
    weight_types: ClassVar = {"uint32", "uint32/uint64", "float32", "float64"}

    def __init__(self, graph: ResidentGraph, parameters: Parameters) -> None:
        self._graph, device, xp = graph, graph.device, graph.device.xp
        packed = _near_far.packed_arcs(graph)
        self._limits = _limits(parameters, graph.n_vertices, sparse=_near_far.is_sparse(graph))
        module = device.module(_near_far.SOURCE.path, cooperative=True, options=graph.lengths.options)
        problem = module.struct(
            "Problem", graph=_near_far.graph_members(packed, first=self._limits["narrow"] > 0)
        )
        limits = {name: np.uint32(limit) for name, limit in self._limits.items()}
        packed_limits = module.struct("Limits", **limits)
        shared = xp.zeros(_near_far.layout_of("Shared", graph.lengths).size, dtype=xp.uint8)
        self._result = xp.zeros(1, dtype=xp.uint64)
        kernel, threads = module.get_function("near_far"), threads_per_block(device)
        queue = _near_far.queue_bytes(graph.lengths)
        blocks = blocks_at_once(device, kernel, threads, queue)
        # Last, since it waits for the weights to be summed up.
        shift = _near_far.bucket_shift(graph, packed, parameters.delta)
        self._piles = _near_far.Piles(problem, graph, shift)
        self._allocate_first(_near_far.initial_capacity(graph))
        self._one = {"sources": None, "n_sources": np.uint32(1), "bound": graph.lengths.unreached}
        answer, log = (np.uint32(0), *self._one.values(), None, None), (None, np.uint32(LOG_ROWS))
        arguments = (problem, packed_limits, *answer, shared, *log, self._result)
        self._launch = kernel.bind(blocks, threads, arguments, shared_mem=queue)
        self._arrays = trees_ahead(graph, self._launch)
        self.resolved = {"bucket": _near_far.bucket_width(graph, shift), **self._limits}

    def solve(self, source: int, phases: list[Phase] | None = None) -> Answer:
        """Find the shortest paths from `source`; piles that turn out too small are doubled, which is kept."""
        return self._solve(phases, source=np.uint32(source), **self._one)

    def solve_from(self, sources: npt.NDArray[np.uint32], bound: Any = None) -> Answer:
        """Find the shortest paths from the nearest of different sources; each is its own predecessor.

        Paths as long as `bound`, a scalar of the type of distances, or longer are not followed.
        """
        while self._piles.capacity < len(sources):
            self._piles.double()
        lengths = self._graph.lengths
        words = lengths.unreached if bound is None else lengths.words(np.array([bound]))[0]
        own = self._graph.device.asarray(sources)
        return self._solve(None, sources=own, n_sources=np.uint32(len(sources)), bound=words)

    def _solve(self, phases: list[Phase] | None, **start: Any) -> Answer:
        self._piles.require(1)
        while True:
            answer, full = self._search(phases, start)
            if not full:
                return answer
            self._piles.double()

    def _allocate_first(self, capacity: int) -> None:
        """Allocate piles of this capacity, or of as much as the device has memory for."""
        while True:
            try:
                return self._piles.allocate(1, capacity)
            except DeviceOutOfMemory:
                if capacity <= 2 * _near_far.QUEUE:
                    raise
            capacity = max(2 * _near_far.QUEUE, capacity // 2)

    def _search(self, phases: list[Phase] | None, start: dict[str, Any]) -> tuple[Answer, bool]:
        """Run the kernel; return the answer, and whether it is void because a pile was too small."""
        device, xp = self._graph.device, self._graph.device.xp
        tree = self._arrays.take()
        log = None if phases is None else xp.zeros((LOG_ROWS, 4), dtype=xp.uint64)
        self._launch(**start, records=log)
        self._arrays.prepare()
        result = device.item(self._result)
        count, full, overflowed = result >> 2, bool(result & 2), bool(result & 1)
        if phases is not None and not full:
            phases += logged_phases(device.asnumpy(log)[: count + 1], _near_far.MODES)
        return Answer(**tree, n_phases=count, overflow=overflowed), full


def _limits(parameters: Parameters, n_vertices: int, *, sparse: bool) -> dict[str, int]:
    narrow = min(1024, parameters.wide) if sparse else 0
    crowd = min(max(16384, n_vertices // 10), 131072) if sparse else 32768
    crowd = max(crowd, parameters.grid_target)
    return {
        "block_target": parameters.block_target,
        "grid_target": parameters.grid_target,
        "narrow": narrow if parameters.narrow == "auto" else parameters.narrow,
        "wide": parameters.wide,
        "crowd": crowd if parameters.crowd == "auto" else parameters.crowd,
    }
