"""Queries by labels: each vertex keeps the lengths of its climbs to all its ancestors in the hierarchy."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from relaxometer.device import Device, DeviceOutOfMemory
from relaxometer.device.arguments import Struct
from relaxometer.device.arrays import DeviceArray
from relaxometer.device.signature import read_source
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems.routes import Answer, ResidentQueries, hierarchy
from relaxometer.problems.routes._contracted import Contracted, HierarchyParameters
from relaxometer.problems.sssp._cooperative import threads_per_block

SOURCE = read_source(Path(__file__).with_suffix(".cu"))
BUILDER = read_source(Path(__file__).with_name("_build_labels.cu"))

GROUP = SOURCE.constants["GROUP"]
UNIT, LOG_BITS, BUILD_THREADS = (BUILDER.constants[name] for name in ("UNIT", "LOG_BITS", "BUILD_THREADS"))

BLOCK = 256


class Parameters(hierarchy.Parameters):
    """Which graphs to skip."""


class Solver(hierarchy.Solver):
    """Labels of all ancestors in a customizable contraction hierarchy; eight lanes per query.

    The preparation is that of :class:`relaxometer.problems.routes.hierarchy.Solver`, and takes little longer:
    labels are built in one launch. New weights only need :meth:`customize`.

    Paths follow from labels, too, unless some arc has weight 0: then they are found by climbs, among labels
    that count arcs.

    Raises
    ------
    DeviceOutOfMemory
        If the labels do not fit in the free memory; `hierarchy` needs none.
    Skipped
        As :class:`relaxometer.problems.routes.hierarchy.Solver`.

    References
    ----------
    Ouyang, Qin, Chang, Lin, Zhang and Zhu, "When Hierarchy Meets 2-Hop-Labeling: Efficient Shortest Distance
    Queries on Road Networks", SIGMOD 2018.
    """

    def __init__(
        self, graph: ResidentGraph, parameters: HierarchyParameters, contracted: Contracted | None = None
    ) -> None:
        super().__init__(graph, parameters, contracted)
        from relaxometer.problems.routes._labels import lay_out  # loads Numba
        from relaxometer.problems.sssp.phast._customize import Customizer

        self._graph, device = graph, graph.device
        cch = self._contracted.cch
        self._customizer = Customizer(graph, cch)
        module, builder = device.module(SOURCE.path), device.module(BUILDER.path, cooperative=True)
        self._find, self._follow = map(module.get_function, ("find_distances", "find_pieces"))
        self._build_labels = builder.get_function("build_labels")
        self._threads = threads_per_block(device, BUILD_THREADS)
        layout = lay_out(cch, self._contracted.depth, UNIT, LOG_BITS, self._threads)
        available = device.max_cooperative_blocks(self._build_labels, self._threads)
        self._blocks = max(1, min(available, -(-2 * layout.widest // self._threads)))
        self._quads = layout.units * (UNIT // 4)
        asarray = device.asarray
        heads = asarray(layout.heads)
        self._plan = builder.struct(
            "Plan",
            n_bands=np.uint32(len(layout.bands)),
            bands=asarray(layout.bands),
            places=asarray(layout.places),
            heads=heads,
        )
        self._labels = module.struct("Labels", nodes=asarray(layout.nodes), above=asarray(layout.above))
        self._steps = module.struct("Steps", heads=heads, lengths=self._customizer.lengths)
        self._rows: list[Any] = []
        self._weights = graph.weights
        self._build(self._weights)
        self._has_shortcuts = True
        self.resolved |= {"label_bytes": sum(rows.nbytes for rows in self._rows)}

    def customize(self, weights: DeviceArray) -> None:
        """Give the graph's arcs new weights for the next queries; order and hierarchy stay.

        The first paths after that wait for shortcuts to be found again, on the host.

        Parameters
        ----------
        weights : ndarray or device array of shape (n_arcs,), uint32
            From 0 to 2^32 - 2, in the order of the graph's arcs. Copied; the graph keeps its own.

        Raises
        ------
        ValueError
            If shape, type or a weight does not fit; the weights stay as they were.
        DeviceOutOfMemory
            If labels differ by direction now and take twice the memory; the weights stay as they were.
        """
        from relaxometer.problems.sssp.phast._customize import checked_weights

        own = checked_weights(self._graph, weights)
        try:
            self._build(own)
        except (ValueError, MemoryError):
            self._customizer.customize(self._weights)  # labels have not changed
            raise
        self._weights, self._has_shortcuts = own, False

    def _build(self, weights: Any) -> None:
        """Find the lengths of all arcs and the labels for these weights."""
        self._customizer.customize(weights)
        lengths = self._customizer.lengths
        n_sides = 1 if bool((lengths[::2] == lengths[1::2]).all()) else 2
        while len(self._rows) < n_sides:
            self._rows.append(self._new_rows())
        up, down = self._rows[0], self._rows[n_sides - 1]
        self._labels.set(up=up, down=down)
        arguments = self._plan, lengths, np.uint32(n_sides), up, down
        self._build_labels(self._blocks, self._threads, arguments)

    def _new_rows(self) -> Any:
        """Return memory for the labels of one direction."""
        needed, free = 16 * self._quads, _free_bytes(self._device)
        if needed > free:
            raise DeviceOutOfMemory(f"labels take {needed:,} bytes; {free:,} are free; hierarchy needs none")
        return self._device.xp.empty((self._quads, 4), dtype=np.uint32)

    def _find_distances(self, queries: ResidentQueries, distance: Any) -> None:
        """Find distances of pairs or of a table."""
        grid = -(-len(queries) * GROUP // BLOCK)
        self._find(grid, BLOCK, (self._labels, self._struct(queries), distance))

    def _find_paths(self, queries: ResidentQueries) -> Answer:
        """Answer queries with paths, for which shortcuts are needed."""
        if not self._has_shortcuts:
            from relaxometer.problems.routes._shortcuts import find_shortcuts

            weights = self._device.asnumpy(self._weights)
            graph = replace(self._graph.host, weights=weights)
            shortcuts = find_shortcuts(graph, self._contracted.cch)
            self._weigh(graph, replace(self._contracted, shortcuts=shortcuts))
            self._has_shortcuts = True
        return super()._find_paths(queries)

    def _list_pieces(self, queries: Struct, count: int, pieces: Struct, distance: DeviceArray) -> None:
        """Find the distances of queries and the pieces of their paths."""
        if self._has_free_arcs:
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
