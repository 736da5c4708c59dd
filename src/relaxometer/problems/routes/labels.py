"""Queries by labels: each vertex keeps the lengths of its climbs to all its ancestors in the hierarchy."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from relaxometer.device import Device, DeviceOutOfMemory
from relaxometer.device.arguments import Struct
from relaxometer.device.arrays import DeviceArray
from relaxometer.device.signature import read_source
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems.routes import Answer, ResidentQueries, hierarchy
from relaxometer.problems.routes._contracted import Contracted, HierarchyParameters
from relaxometer.problems.sssp._cooperative import threads_per_block

if TYPE_CHECKING:
    from relaxometer.problems.routes._labels import Layout

SOURCE = read_source(Path(__file__).with_suffix(".cu"))
BUILDER = read_source(Path(__file__).with_name("_build_labels.cu"))
BLOCK, GROUP, MAX_ARCS = (SOURCE.constants[name] for name in ("BLOCK", "GROUP", "MAX_ARCS"))
UNIT, LOG_BITS, BUILD_THREADS = (BUILDER.constants[name] for name in ("UNIT", "LOG_BITS", "BUILD_THREADS"))
SPARED = 16  # one part in this many of the free memory is left to queries and answers


Parameters = HierarchyParameters


class Solver(hierarchy.Solver):
    """Labels of all ancestors in a customizable contraction hierarchy; eight lanes per query.

    The hierarchy is that of :class:`relaxometer.problems.routes.hierarchy.Solver`; lengths of its arcs and
    labels are found on the device. New weights only need :meth:`customize`. The first paths, and the first
    after new weights, wait for the host to find shortcuts, and need memory for them.

    If not all labels fit in the free memory, those of vertices without children in the tree, about two in
    five on road maps, are found from the rows above for each query; so are those of as many of their parents
    as must, of one in five at most. If that is not enough, rows are cut at the depth that fits, and pairs
    with more common ancestors than that climb to there, too. Paths climb all the way. ``resolved`` has the
    number of rows, their greatest length, and the bytes.

    Paths follow from labels, too, unless some arc has weight 0: then they are found by climbs, among labels
    that count arcs. DeviceOutOfMemory if not even eight labels per row fit in the free memory; `hierarchy`
    needs none. Skipped as :class:`relaxometer.problems.routes.hierarchy.Solver`.

    References
    ----------
    Ouyang, Qin, Chang, Lin, Zhang and Zhu, "When Hierarchy Meets 2-Hop-Labeling: Efficient Shortest Distance
    Queries on Road Networks", SIGMOD 2018.
    """

    def __init__(
        self, graph: ResidentGraph, parameters: HierarchyParameters, contracted: Contracted | None = None
    ) -> None:
        super().__init__(graph, parameters, contracted)
        from relaxometer.problems.sssp.phast import _ranges
        from relaxometer.problems.sssp.phast._customize import Customizer, schedule
        from relaxometer.problems.sssp.phast._placed import upload

        self._graph, device = graph, graph.device
        cch = self._contracted.cch
        with _ranges.threads() as pool:
            plan = schedule(cch, pool)
        self._customizer = Customizer(graph, upload(device, cch), plan)
        module, builder = device.module(SOURCE.path), device.module(BUILDER.path, cooperative=True)
        names = "find_distances", "find_distances_of_cut", "find_pieces"
        self._find, self._find_of_cut, self._follow = map(module.get_function, names)
        self._build_labels = builder.get_function("build_labels")
        self._threads = threads_per_block(device, BUILD_THREADS)
        self._plan, self._labels = builder.struct("Plan"), module.struct("Labels")
        self._steps = module.struct("Steps", lengths=self._customizer.lengths)
        self._rows: list[Any] = []
        self._most, self._is_cut = 0, False
        self._weights = graph.weights
        self._build(self._weights)

    def customize(self, weights: DeviceArray) -> None:
        """Give the graph's arcs new weights for the next queries; order and hierarchy stay.

        They are as for :meth:`relaxometer.problems.sssp.phast.phast.Solver.customize`; so is the ValueError.
        DeviceOutOfMemory if labels differ by direction now, and not even eight fit; the weights stay as they
        were.
        """
        from relaxometer.problems.sssp.phast._customize import checked_weights

        own = checked_weights(self._graph, weights)
        try:
            self._build(own)
        except ValueError:
            self._customizer.customize(self._weights)  # labels have not changed
            raise
        except MemoryError:
            self._build(self._weights)  # the former labels may have been freed
            raise
        self._weights, self._has_shortcuts = own, False

    def _build(self, weights: Any) -> None:
        """Find the lengths of all arcs and the labels for these weights."""
        self._customizer.customize(weights)
        lengths = self._customizer.lengths
        n_sides = 1 if bool((lengths[::2] == lengths[1::2]).all()) else 2
        if len(self._rows) < n_sides:
            self._make_room(n_sides)
        if self._is_cut:
            self._lengths = lengths[::2].copy(), lengths[1::2].copy()  # for climbs
        up, down = self._rows[0], self._rows[n_sides - 1]
        self._labels.set(up=up, down=down)
        arguments = self._plan, lengths, np.uint32(n_sides), up, down
        self._build_labels(self._blocks, self._threads, arguments)

    def _make_room(self, n_sides: int) -> None:
        """Allocate labels for one or two directions, with rows as long as fit in memory."""
        from relaxometer.problems.routes import _labels  # loads Numba

        cch, depth = self._contracted.cch, self._contracted.depth
        free = _free_bytes(self._device) + sum(rows.nbytes for rows in self._rows)
        unit_bytes = 4 * UNIT * n_sides
        units = (free - free // SPARED) // unit_bytes
        has_row, most = np.ones(len(depth), dtype=np.bool_), _labels.most_that_fit(depth, UNIT, units)
        if is_cut := most < self._height:
            has_row = _labels.choose_rows(cch, depth, MAX_ARCS, UNIT, units)
            most = _labels.most_that_fit(depth[has_row], UNIT, units)
        if most == 0:
            needed = f"labels take at least {unit_bytes * int(has_row.sum()):,} bytes"
            raise DeviceOutOfMemory(f"{needed}; {free:,} are free; hierarchy needs none")
        if (most, is_cut) != (self._most, self._is_cut):
            self._rows, self._most, self._is_cut = [], most, is_cut
            self._labels.set(up=None, down=None)  # frees the former rows
            self._place(_labels.lay_out(cch, depth, UNIT, LOG_BITS, self._threads, most, has_row))
        while len(self._rows) < n_sides:
            self._rows.append(self._device.xp.empty((self._quads, 4), dtype=np.uint32))
        self.resolved |= {
            "label_bytes": sum(rows.nbytes for rows in self._rows),
            "rows": int(has_row.sum()),
            "labels_per_row": min(most, self._height),
        }

    def _place(self, layout: Layout) -> None:
        asarray, most = self._device.asarray, np.uint32(self._most)
        available = self._device.max_cooperative_blocks(self._build_labels, self._threads)
        self._blocks = max(1, min(available, -(-2 * layout.widest // self._threads)))
        self._quads = layout.units * (UNIT // 4)
        heads, bands = asarray(layout.heads), asarray(layout.bands)
        places, n_bands = asarray(layout.places), np.uint32(len(layout.bands))
        self._plan.set(n_bands=n_bands, most=most, bands=bands, places=places, heads=heads)
        self._labels.set(nodes=asarray(layout.nodes), above=asarray(layout.above), most=most)
        self._steps.set(heads=heads)

    def _find_distances(self, queries: ResidentQueries, distance: Any) -> None:
        """Find distances of pairs or of a table; if rows are cut, some of them by climbs."""
        xp = self._device.xp
        launch, asked = (-(-len(queries) * GROUP // BLOCK), BLOCK), self._struct(queries)
        if not self._is_cut:
            self._find(*launch, (self._labels, asked, distance))
            return
        is_open = xp.empty(len(queries), dtype=xp.uint8)
        self._find_of_cut(*launch, (self._labels, self._steps, asked, distance, is_open))
        rest, words = xp.flatnonzero(is_open).astype(xp.uint32), self._words[0]
        if len(rest):
            own = asked, np.uint32(words), np.uint32(len(rest)), rest, np.uint32(self._most)
            arguments = self._hierarchy, *self._lengths, *own, distance
            self._launch(self._kernel("lower_distances"), len(rest), words, arguments)

    def _weigh(self, contracted: Contracted) -> None:
        """Leave shortcuts to the first paths."""
        self._has_shortcuts = False

    def _find_paths(self, queries: ResidentQueries) -> Answer:
        """Answer queries with paths, for which shortcuts are needed."""
        if not self._has_shortcuts:
            weights = self._device.asnumpy(self._weights)
            graph = replace(self._graph.host, weights=weights)
            self._set_launches(graph)
            super()._weigh(replace(self._contracted, graph=graph))
            self._has_shortcuts = True
        return super()._find_paths(queries)

    def _list_pieces(self, queries: Struct, count: int, pieces: Struct, distance: DeviceArray) -> None:
        if self._has_free_arcs or self._is_cut:
            super()._list_pieces(queries, count, pieces, distance)
            return
        structs = self._labels, self._hierarchy, self._steps, queries, self._shortcuts, pieces
        self._launch(self._follow, count, self._height, (*structs, distance))


def _free_bytes(device: Device) -> int:
    """Return the free memory of a GPU, with what CuPy keeps for new arrays, or all memory of the host."""
    if device.kind == "host":
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    kept = device.xp.get_default_memory_pool().free_bytes()
    return int(device.xp.cuda.runtime.memGetInfo()[0]) + int(kept)
