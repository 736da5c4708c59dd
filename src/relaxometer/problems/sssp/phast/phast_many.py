"""SSSP on maps from many sources at once, by sweeps down a contraction hierarchy in preorder."""

from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field, PositiveFloat, PositiveInt

from relaxometer.device.kernels import Module
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems import variants
from relaxometer.problems.answers import checked_sources
from relaxometer.problems.phases import Phase
from relaxometer.problems.sssp import NO_PREDECESSOR, UNREACHED, Answer, Trees, _maps
from relaxometer.problems.sssp._incoming import incoming_arcs
from relaxometer.problems.sweeps import Rows, Sweeps, by_place
from relaxometer.problems.variants import Skipped

WARP = 32
CLIMB_WARPS = 4  # warps per block of the climb
PULL_WARPS = 8  # warps per block of the pass over the graph's arcs
RING_BYTES = 2048  # shared memory of a sweep for the records that it reads ahead
MAX_PLACES = 65_535  # places of sources per launch: the largest second dimension of a grid


class Parameters(variants.Parameters):
    """Sources per sweep and per call, and how to cut the sweep."""

    k: Literal[32, 64] = 32
    """Sources of one sweep, whose labels are side by side; one or two per lane of a warp."""
    segments: Literal[1, 2, 4, 8, 16, 32, 64, "auto"] = Field("auto")
    """Parts of a sweep, each done by one warp. "auto": as many as fill the device."""
    sources: PositiveInt = 1024
    """Maximum number of sources of :meth:`Solver.solve_many`; all answers are in memory at once."""
    fill: PositiveFloat = 16.0
    """As for :mod:`relaxometer.problems.sssp.phast.phast`."""


class Solver:
    """SSSP from many sources by PHAST, in preorder of a customizable contraction hierarchy.

    The order is that of :class:`relaxometer.problems.sssp.phast.phast.Solver`; the host contracts it and lays
    out the sweep. Weights are of type uint32 only, for the reason given there. Sweeps of `at_once` sources
    run at once on the whole device. Skipped if a vertex or the hierarchy has too many arcs for a map, or a
    path of the elimination tree does not fit in shared memory.

    References
    ----------
    Delling, Goldberg, Nowatzyk and Werneck, "PHAST: Hardware-Accelerated Shortest Path Trees", Journal of
    Parallel and Distributed Computing 73, 2013.
    Dibbelt, Strasser and Wagner, "Customizable Contraction Hierarchies", ACM Journal of Experimental
    Algorithmics 21, 2016.
    """

    runs_on = "device"

    def __init__(self, graph: ResidentGraph, parameters: Parameters) -> None:
        from relaxometer.problems.sssp.phast import _cch, _preorder  # loads Numba

        self._graph, device, host = graph, graph.device, graph.host
        _maps.refuse_all_but_maps(host)
        self.k, self._most = parameters.k, parameters.sources
        hierarchy = _preorder.in_preorder(_cch.contract(host, parameters.fill))
        self._work, self._max_segments = hierarchy.work, _preorder.MAX_SEGMENTS
        self._height = hierarchy.height
        labels_bytes, limit = 4 * self._height * self.k, _maps.shared_bytes(device) - RING_BYTES
        if labels_bytes > limit:
            raise Skipped(
                f"made for maps; {self.k} labels of each vertex of a path of {self._height} take "
                f"{labels_bytes} bytes of shared memory; there are {limit}"
            )
        self._shared_bytes = labels_bytes + RING_BYTES
        self._load_kernels()
        self._position = np.full(graph.n_vertices + 1, UNREACHED, dtype=np.uint32)
        self._position[hierarchy.order] = np.arange(graph.n_vertices, dtype=np.uint32)
        downward = ("records", "segments", "segment_records", "path_records", "path_lengths")
        upward = ("depth", "jumps", "up_offsets", "up_arcs")
        self._hierarchy = self._module.struct(
            "Hierarchy",
            n=np.uint32(graph.n_vertices),
            height=np.uint32(self._height),
            **{name: device.asarray(getattr(hierarchy, name)) for name in downward + upward},
        )
        self._segments = parameters.segments
        self._slots = device.max_cooperative_blocks(self._sweep[0], WARP, self._shared_bytes)
        self._incoming: Any = None
        self.device, self.n_vertices = device, graph.n_vertices
        self.at_once = self._slots * self.k
        self.resolved: dict[str, Any] = {
            "k": self.k,
            "arcs": len(hierarchy.up_arcs),
            "height": self._height,
            "sweeps": self._slots,
        }

    def position_of(self, vertices: npt.NDArray[np.integer]) -> npt.NDArray[np.uint32]:
        """Return the places of vertices in the order of the sweep, in which neighbours share ancestors."""
        return self._position[vertices]

    def solve(self, source: int, phases: list[Phase] | None = None) -> Answer:
        """Find the shortest paths from `source`, without phases."""
        sweeps = self.sweep(np.array([source]))
        predecessors, overflowed = self._finish(sweeps, 1, predecessors=True)
        xp = self._graph.device.xp
        distance, predecessor = Rows(sweeps.labels, 1, xp)[0], Rows(predecessors, 1, xp)[0]
        return Answer(distance, predecessor, None, overflowed)

    def solve_many(self, sources: npt.ArrayLike) -> Trees:
        """Find paths from each of 1 to `Parameters.sources` sources, else ValueError, as `Rows`."""
        distance, predecessor, overflowed = self._solve(sources, predecessors=True)
        return Trees(distance, Rows(predecessor, len(distance), self.device.xp), overflowed)

    def find_distances(self, sources: npt.ArrayLike) -> tuple[Rows, bool]:
        """Find distances only, else like :meth:`solve_many`; return them and `Trees.overflowed`."""
        distance, _, overflowed = self._solve(sources, predecessors=False)
        return distance, overflowed

    def _solve(self, sources: npt.ArrayLike, *, predecessors: bool) -> tuple[Rows, Any, bool]:
        array = checked_sources(sources, self._most)
        sweeps = self.sweep(array)
        found, overflowed = self._finish(sweeps, len(array), predecessors=predecessors)
        return Rows(sweeps.labels, len(array), self.device.xp), found, overflowed

    def sweep(
        self,
        sources: npt.NDArray[np.integer],
        *,
        labels: Any = True,
        sums: bool = False,
        inverses: bool = False,
    ) -> Sweeps:
        """Launch the climb and the sweep for some sources, and wait for nothing.

        Where there is a choice, give sources in the order of `position_of`. `labels` is whether to store all
        distances, or where: a device array of shape (n_batches, n_vertices, k), uint32. With `sums`, the
        greatest and the sum of the distances are found, with `inverses` also the sum of the inverses.
        """
        device, n, k = self._graph.device, self._graph.n_vertices, self.k
        xp = device.xp
        count = -(-len(sources) // k)
        places = by_place(sources, count * k)
        if labels is True:
            labels = xp.empty((count, n, k), dtype=xp.uint32)
        sweeps = Sweeps(
            device.asarray(places),
            xp.zeros(count * k, dtype=xp.uint32),
            xp.zeros(count * k, dtype=xp.uint32) if sums else None,
            xp.zeros(count * k, dtype=xp.uint64) if sums else None,
            xp.zeros(count * k, dtype=xp.uint64) if sums and inverses else None,
            None if labels is False else labels,
        )
        positions = self._position[np.minimum(places, n)]
        batches = self._batches(sweeps, count, device.asarray(positions))
        climbing = -(-len(sources) // CLIMB_WARPS), CLIMB_WARPS * WARP
        shared = CLIMB_WARPS * 3 * 4 * self._height
        self._climb(*climbing, (self._hierarchy, batches, np.uint32(len(sources))), shared_mem=shared)
        segments = self._segments if isinstance(self._segments, int) else self._best_segments(count)
        stride = np.uint32(self._max_segments // segments)
        launch = count * segments, WARP, (self._hierarchy, batches, stride)
        self._sweep[sums](*launch, shared_mem=self._shared_bytes)
        return sweeps

    def met_too_long(self, sweeps: Sweeps, n_sources: int) -> bool:
        """Return whether some path of sweeps whose labels were stored is too long for its type."""
        return self._finish(sweeps, n_sources, predecessors=False)[1]

    def _batches(self, sweeps: Sweeps, count: int, positions: Any) -> Any:
        xp = self._graph.device.xp
        return self._module.struct(
            "Batches",
            count=np.uint32(count),
            sources=sweeps.sources,
            positions=positions,
            ascents=xp.empty((len(positions), self._height), dtype=xp.uint32),
            labels=sweeps.labels,
            reached=sweeps.reached,
            farthest=sweeps.farthest,
            total=sweeps.total,
            inverses=sweeps.inverses,
        )

    def _best_segments(self, count: int) -> int:
        """Return the fastest number of segments: each costs its share and its path; sweeps run in waves."""
        whole, path = self._work

        def cost(segments: int) -> float:
            return -(-count * segments // self._slots) * (whole / segments + path)

        return min((1 << i for i in range(self._max_segments.bit_length())), key=cost)

    def _finish(self, sweeps: Sweeps, n_sources: int, *, predecessors: bool) -> tuple[Any, bool]:
        """Return the predecessors, side by side, if asked for, and whether some path is too long.

        If all vertices are reached, none is; then the graph's arcs are only read for predecessors.
        """
        device, n = self._graph.device, self._graph.n_vertices
        xp = device.xp
        if not predecessors and bool((sweeps.reached[:n_sources] == n).all()):
            return None, False
        count = len(sweeps.labels)
        if self._incoming is None:
            self._incoming = self._module.struct("Incoming", **incoming_arcs(self._graph))
        found = xp.empty_like(sweeps.labels) if predecessors else None
        overflowed = xp.zeros(1, dtype=xp.uint32)
        batches = self._batches(sweeps, count, sweeps.sources)
        launch = (-(-n // PULL_WARPS), count), PULL_WARPS * WARP
        self._pull(*launch, (self._incoming, batches, found, overflowed))
        if predecessors:
            self._follow_zero_arcs(sweeps.labels, found)
        is_too_long = bool(device.item(overflowed))
        if found is not None and is_too_long:  # sums that are too long look like those of unreached vertices
            found[sweeps.labels == UNREACHED] = NO_PREDECESSOR
        return found, is_too_long

    @cached_property
    def _zero_arcs(self) -> tuple[int, Any]:
        return _maps.zero_arcs(self._graph)

    def _follow_zero_arcs(self, labels: Any, predecessors: Any) -> None:
        """Give predecessors to the vertices that only arcs of weight zero lead to, in rounds."""
        device, count = self._graph.device, len(labels)
        n_zero, arcs = self._zero_arcs
        if not n_zero:
            return
        changed = device.xp.zeros(1, dtype=np.uint32)
        sizes = np.uint32(self._graph.n_vertices), np.uint32(self.k)
        blocks, places = -(-n_zero // 256), count * self.k
        while True:
            changed.fill(0)
            for first in range(0, places, MAX_PLACES):
                grid = blocks, min(MAX_PLACES, places - first)
                of = arcs, np.uint32(n_zero), np.uint32(first)
                self._follow(grid, 256, (*sizes, *of, labels, predecessors, changed))
            if not device.item(changed):
                return

    def _load_kernels(self) -> None:
        width = self.k // WARP
        sweeps = [f"sweep<{width}, {sums}>" for sums in (0, 1)]
        names = [*sweeps, f"find_predecessors<{width}>", "climb", "follow_zero_arcs"]
        path = Path(__file__).with_name("phast_many.cu")
        self._module: Module = self._graph.device.module(path, name_expressions=names[:3])
        *self._sweep, self._pull, self._climb, self._follow = map(self._module.get_function, names)
