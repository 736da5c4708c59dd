"""Queries by a contraction hierarchy: both ends climb the elimination tree until they meet."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from relaxometer.device.arguments import Struct
from relaxometer.device.arrays import DeviceArray
from relaxometer.device.kernels import Kernel
from relaxometer.graphs.graph import Graph
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems.phases import Phase
from relaxometer.problems.routes import Answer, ResidentQueries
from relaxometer.problems.routes._contracted import Contracted, HierarchyParameters, contract
from relaxometer.problems.sssp import _maps
from relaxometer.problems.variants import Skipped

if TYPE_CHECKING:
    from relaxometer.problems.sssp.phast._cch import Contraction

WARP = 32
MAX_WARPS = 4  # warps per block; fewer if their labels do not fit in shared memory
TABLE_BLOCK = 128
MAX_ROWS = 65_535  # rows of a table that have separate blocks: the largest second dimension of a grid
PIECES_PER_QUERY = 32  # room for pieces of paths at first
MAX_PIECES = 2**32 - 1  # pieces of all paths: 32 bits number them
NO_RANK = np.uint32(2**32 - 1)


Parameters = HierarchyParameters


class Solver:
    """Bidirectional climbs in a customizable contraction hierarchy, one warp per query.

    The preparation is that of :class:`relaxometer.problems.sssp.phast.phast.Solver`, mostly nested
    dissection. Of a table, every origin and target climbs once. Skipped if a vertex or the hierarchy has too
    many arcs for a map, or the labels of a query do not fit in shared memory.

    References
    ----------
    Dibbelt, Strasser and Wagner, "Customizable Contraction Hierarchies", ACM Journal of Experimental
    Algorithmics 21, 2016.
    Delling, Goldberg and Werneck, "Faster Batched Shortest Paths in Road Networks", ATMOS 2011.
    """

    runs_on = "device"

    def __init__(
        self, graph: ResidentGraph, parameters: HierarchyParameters, contracted: Contracted | None = None
    ) -> None:
        self._device = graph.device
        self._contracted = contracted or contract(graph.host, parameters)
        cch, depth = self._contracted.cch, self._contracted.depth
        self._height = self._contracted.height
        self._module = self._device.module(Path(__file__).with_suffix(".cu"))
        self._kernel = self._module.get_function
        asarray = self._device.asarray
        self._hierarchy = self._module.struct(
            "Hierarchy",
            rank=asarray(np.argsort(cch.order).astype(np.uint32)),
            nodes=asarray(_nodes(cch, depth)),
            heads=asarray(depth[cch.up].astype(np.uint32)),
            height=np.uint32(self._height),
        )
        self._shortcuts = self._module.struct("Shortcuts", high=asarray(cch.up.astype(np.uint32)))
        self._set_launches(graph.host)
        self._weigh(self._contracted)
        self._capacity = 0
        self.resolved = self._contracted.resolved

    def _weigh(self, contracted: Contracted) -> None:
        """Take the shortcuts of a contracted graph."""
        asarray = self._device.asarray
        both = contracted.shortcuts.upward, contracted.shortcuts.downward
        self._lengths = tuple(asarray(_distances(lengths)) for lengths in both)
        self._lengths_of_paths = tuple(map(asarray, both)) if self._has_free_arcs else self._lengths
        arcs, parts = contracted.unpacking
        self._shortcuts.set(arcs=asarray(arcs), parts=asarray(parts))

    def solve(self, queries: ResidentQueries, phases: list[Phase] | None = None) -> Answer:
        """Answer a set of queries; see :class:`relaxometer.problems.routes.Solver`. It has no phases."""
        xp = self._device.xp
        if queries.host.paths:
            return self._find_paths(queries)
        distance, nothing = xp.empty(len(queries), dtype=xp.uint32), xp.empty(0, dtype=xp.uint32)
        self._find_distances(queries, distance)
        return Answer(distance, nothing, nothing)

    def _find_distances(self, queries: ResidentQueries, distance: DeviceArray) -> None:
        if queries.host.columns:
            self._fill_table(queries, distance)
            return
        words = self._words[0]
        arguments = self._hierarchy, *self._lengths, self._struct(queries), np.uint32(words), distance
        self._launch(self._kernel("find_distances"), len(queries), words, arguments)

    def _set_launches(self, graph: Graph) -> None:
        """Set the kernel of paths, and the words of 64 bits per warp without and with paths."""
        self._has_free_arcs = not graph.weights.all()
        self._find_pieces = "find_pieces_with_fewest_arcs" if self._has_free_arcs else "find_pieces"
        bytes_of_path = 2 * (8 if self._has_free_arcs else 4) + 2 * 2
        self._words = self._height, -(-bytes_of_path * self._height // 8)
        limit = _maps.shared_bytes(self._device) // 8
        if self._words[1] > limit:
            raise Skipped(
                f"made for maps; labels on a path of {self._height} vertices take {8 * self._words[1]} bytes "
                f"of shared memory; there are {8 * limit}"
            )

    def _launch(self, kernel: Kernel, count: int, words: int, arguments: tuple[Any, ...]) -> None:
        """Launch a kernel that has one warp per item, with memory for each warp."""
        warps = max(1, min(MAX_WARPS, _maps.shared_bytes(self._device) // 8 // max(1, words)))
        kernel(-(-count // warps), warps * WARP, arguments, shared_mem=8 * warps * words)

    def _struct(self, queries: ResidentQueries) -> Struct:
        if (packed := queries.packed.get("Queries")) is None:
            packed = queries.packed["Queries"] = self._module.struct(
                "Queries",
                count=np.uint32(len(queries)),
                origins=queries.origins,
                targets=queries.targets,
                cutoff=np.uint32(queries.host.cutoff),
            )
        return packed

    def _find_paths(self, queries: ResidentQueries) -> Answer:
        """Answer queries with paths; room for their pieces that turns out too small is enlarged and kept."""
        device, xp, count = self._device, self._device.xp, len(queries)
        distance, size = (xp.empty(count, dtype=xp.uint32) for _ in range(2))
        capacity = max(self._capacity, min(PIECES_PER_QUERY * count, MAX_PIECES))
        wanted = xp.zeros(1, dtype=xp.uint64)
        struct, spans = self._struct(queries), xp.empty((count, 4), dtype=xp.uint32)
        while True:
            pieces = self._module.struct(
                "Pieces",
                size=size,
                spans=spans,
                list=xp.empty((capacity, 2), dtype=xp.uint32),
                capacity=np.uint32(capacity),
                wanted=wanted,
            )
            self._capacity = capacity  # kept once there was memory for it
            self._list_pieces(struct, count, pieces, distance)
            # Of no use if pieces do not fit; but now the host need not wait in between.
            ends = xp.cumsum(size, dtype=xp.int64)
            if (needed := int(device.item(wanted))) <= capacity:
                break
            if needed > MAX_PIECES:
                raise MemoryError(f"paths of {needed:,} pieces; 32 bits number {MAX_PIECES:,}")
            capacity = needed
            wanted.fill(0)
        path = xp.empty(int(device.item(ends, count - 1)), dtype=xp.uint32)
        self._launch(self._kernel("unpack_paths"), count, 0, (self._shortcuts, struct, pieces, ends, path))
        return Answer(distance, size, path)

    def _list_pieces(self, queries: Struct, count: int, pieces: Struct, distance: DeviceArray) -> None:
        words = self._words[1]
        arguments = self._hierarchy, *self._lengths_of_paths, queries, np.uint32(words)
        results = self._shortcuts, pieces, distance
        self._launch(self._kernel(self._find_pieces), count, words, (*arguments, *results))

    def _fill_table(self, queries: ResidentQueries, distance: DeviceArray) -> None:
        columns, cutoff = queries.host.columns, np.uint32(queries.host.cutoff)
        xp = self._device.xp
        ends = xp.ascontiguousarray(queries.origins[::columns]), queries.targets[:columns]
        climbed = [
            self._climb_all(vertices, lengths, cutoff)
            for vertices, lengths in zip(ends, self._lengths, strict=True)
        ]
        grid = -(-columns // TABLE_BLOCK), min(len(ends[0]), MAX_ROWS)
        arguments = np.uint32(self._height), cutoff, *climbed, distance
        self._kernel("fill_table")(grid, TABLE_BLOCK, arguments)

    def _climb_all(self, vertices: Any, lengths: Any, cutoff: np.uint32) -> Any:
        """Return the struct ``Climbed`` of all origins or targets of a table."""
        xp, count, words = self._device.xp, len(vertices), self._words[0]
        ancestors, labels = (xp.empty((self._height, count), dtype=xp.uint32) for _ in range(2))
        sizes = np.uint32(count), vertices, cutoff, np.uint32(words)
        self._launch(
            self._kernel("climb_all"), count, words, (self._hierarchy, lengths, *sizes, ancestors, labels)
        )
        return self._module.struct("Climbed", count=np.uint32(count), ancestors=ancestors, labels=labels)


def _distances(lengths: Any) -> Any:
    return (lengths >> np.uint64(32)).astype(np.uint32)


def _nodes(cch: Contraction, depth: Any) -> Any:
    """Return what a climb reads of each rank: the bounds of its arcs, its parent, its depth."""
    parent = np.where(cch.parent >= 0, cch.parent, NO_RANK)
    return np.stack([cch.offsets[:-1], cch.offsets[1:], parent, depth], axis=1).astype(np.uint32)
