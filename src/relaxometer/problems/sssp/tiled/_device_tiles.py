"""Cuts a graph into tiles on the device, in a fraction of the time of a search."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from relaxometer.device import Device
from relaxometer.device.arguments import Struct
from relaxometer.device.arrays import DeviceArray
from relaxometer.device.kernels import Kernel, Module
from relaxometer.device.signature import read_source
from relaxometer.graphs.lengths import LENGTHS, SMALLEST_SQUARED, Lengths, deviation_of, mean_weight
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems.sssp._cooperative import threads_per_block
from relaxometer.problems.sssp._packed_arcs import FIRST, MAX_ARCS, PackedArcs
from relaxometer.problems.variants import Skipped

if TYPE_CHECKING:
    from relaxometer.problems.sssp.tiled._tiles import Tiling

CUT = read_source(Path(__file__).with_name("_prepare_tiles.cu"))
GROW = read_source(Path(__file__).with_name("_grow_cells.cu"))

CELLS, CELLS_PER_BLOCK, NEIGHBOURS, FRONTIER, LANDMARKS = (
    GROW.constants[name] for name in ("CELLS", "CELLS_PER_BLOCK", "NEIGHBOURS", "FRONTIER", "LANDMARKS")
)
FACTS = CUT.layout("Facts")
WARP = 32
MAX_VERTICES = (2**32 - 2**20) // FIRST
"""Vertices whose first arcs kernels number with 32 bits, less the threads of a launch, their step."""

ENTRIES_BYTES = 2 * 16  # of shared memory per vertex of a block's frontier, in even and odd rounds
STATIC_BYTES = 8 * 1024  # of it, left to static variables
MIN_CELL = 16  # mean number of vertices per cell, at least


class Kernels:
    """The kernels that cut graphs, compiled for a device and a type of weights."""

    def __init__(self, device: Device, name: str) -> None:
        lengths = LENGTHS[name]
        self.threads = threads_per_block(device)
        self._most = device.max_cooperative_blocks
        self.cut = device.module(CUT.path, options=lengths.options, cooperative=True)
        self.grow = device.module(GROW.path, options=lengths.weight_options, cooperative=True)
        self.list_zero_arcs, self.cut_tiles = map(self.cut.get_function, ("list_zero_arcs", "cut_tiles"))
        self.grow_cells, self.order_cells, self.place_vertices = map(
            self.grow.get_function, ("grow_cells", "order_cells", "place_vertices")
        )

    def blocks(self, kernel: Kernel, items: int, shared_bytes: int = 0) -> int:
        """Return the number of blocks for a thread per item, at most those that run at once."""
        most = self._most(kernel, self.threads, shared_bytes)
        return max(1, min(most, -(-items // self.threads)))


@functools.cache
def kernels_of(device: Device, name: str = "uint32") -> Kernels:
    """Return the kernels of a device for a type in :data:`LENGTHS`, without a look at their files."""
    return Kernels(device, name)


class Order(NamedTuple):
    """An order of the vertices: two device arrays of shape (n_vertices,), uint32, inverse to each other."""

    position: Any  # the position of each vertex
    vertices: Any  # the vertices in their order


@dataclass(frozen=True)
class DeviceTiling:
    """A graph cut into tiles, in device memory, with the arcs as the kernels read them.

    Vertices are numbered as in :class:`Tiling`: tile by tile, the border first. Mail slots ascend with them,
    maybe with gaps between two tiles. Rows, first and other arcs are as in :class:`PackedArcs`; of the fourth
    and later arcs only those of vertices with more than four need be there. Others are uint32.
    """

    order: DeviceArray  # the graph's number of each renumbered vertex
    place: DeviceArray  # the inverse
    begins: DeviceArray  # the first vertex of each tile, by its new number, and their number
    mail_begins: Any  # the first mail slot of each tile
    borders: Any  # its number of slots
    rows: Any
    first: Any
    arcs: Any
    n_slots: int  # with the gaps
    largest: int  # vertices of the largest tile

    def packed(self, module: Module) -> Struct:
        """Return the struct ``Tiling`` in ``_tile.cuh``."""
        names = ("begins", "mail_begins", "borders", "order", "place", "rows", "first", "arcs")
        return module.struct("Tiling", **{name: getattr(self, name) for name in names})

    @classmethod
    def upload(cls, device: Device, tiling: Tiling, lengths: Lengths) -> DeviceTiling:
        """Copy a tiling that the host has cut, of a graph with these `lengths`."""
        offsets, targets, weights = map(device.asarray, (tiling.offsets, tiling.targets, tiling.weights))
        packed = PackedArcs(device, offsets, targets, weights, lengths)
        return cls(
            order=device.asarray(tiling.order),
            place=device.asarray(tiling.place),
            begins=device.asarray(tiling.begins),
            mail_begins=device.asarray(tiling.mail_begins),
            borders=device.asarray(np.diff(tiling.mail_begins)),
            rows=packed.rows,
            first=packed.first(),
            arcs=packed.arcs,
            n_slots=int(tiling.mail_begins[-1]),
            largest=tiling.largest,
        )


@dataclass(frozen=True)
class Facts:
    """Results of one pass over the arcs."""

    crossing: int  # arcs between two of the equal ranges of vertices as the graph numbers them
    zero_arcs: int  # arcs of weight zero
    max_degree: int
    with_arcs: int  # vertices that have arcs
    mean: float  # of the weights; 0 without arcs
    deviation: float  # of the weights


class Cutter:
    """Cuts a resident graph into tiles of equal size, to one vertex, at most one per vertex.

    Nothing waits for the device except `facts`. A cutter has memory for one tiling: a second cut overwrites
    the first. If it is not `weighted`, arcs have weight 0, and the facts count each as 1. Skipped if the
    graph has more than `MAX_VERTICES` vertices or `MAX_ARCS` arcs.
    """

    def __init__(self, graph: ResidentGraph, n_tiles: int, *, weighted: bool = True) -> None:
        n, m = graph.n_vertices, graph.n_arcs
        if n > MAX_VERTICES or m > MAX_ARCS:
            limits = f"{MAX_VERTICES:,} and {MAX_ARCS:,}"
            raise Skipped(f"{n:,} vertices, {m:,} arcs; the kernels number at most {limits}")
        self._graph, self._n, self._xp = graph, n, graph.device.xp
        self._kernels = kernels_of(graph.device, graph.lengths.name if weighted else "uint32")
        self._sums_floats = weighted and graph.lengths.is_float
        size, longer = divmod(n, n_tiles)
        self.n_tiles, self.largest = n_tiles, size + (longer > 0)
        self._csr: Struct = self._kernels.cut.struct(
            "Csr",
            n=np.uint32(n),
            offsets=graph.offsets,
            targets=graph.targets,
            weights=graph.weights if weighted else None,
        )
        self._ranges: Struct = self._kernels.cut.struct(
            "Ranges", n_tiles=np.uint32(n_tiles), size=np.uint32(size), longer=np.uint32(longer)
        )
        self._surveyed = False
        word = np.uint32
        of_arcs = graph.lengths.weight_word if weighted else word
        wanted: dict[str, Any] = {
            "found": (FACTS.size // 8, np.uint64),
            "border": (n, np.uint8),
            "begins": (n_tiles + 1, word),
            "borders": (n_tiles, word),
            "order": (n, word),
            "place": (n, word),
            "rows": ((n, 2), word),
            "first": ((n, FIRST, 2), of_arcs),
            "arcs": ((m, 2), of_arcs),
        }
        made = dict(zip(wanted, graph.device.empty_arrays(*wanted.values()), strict=True))
        self._found, self._border = made.pop("found"), made.pop("border")
        self._tiling = DeviceTiling(**made, mail_begins=made["begins"], n_slots=n, largest=self.largest)
        self.packed = self._tiling.packed(self._kernels.cut)

    def _launch(
        self, kernel: Kernel, items: int, *args: Any, shared_bytes: int = 0, threads: int | None = None
    ) -> None:
        blocks = self._kernels.blocks(kernel, items, shared_bytes)
        kernel(blocks, threads or self._kernels.threads, args, shared_mem=shared_bytes)

    def _launch_cut(self, order: Order | None, found: Any, most_crossing: int) -> None:
        position, vertices = order or (None, None)
        given = {"position": position, "vertices": vertices, "border": self._border}
        most = np.int64(most_crossing)
        kernel = self._kernels.cut_tiles
        self._launch(kernel, self._n, self._csr, self._ranges, given, self.packed, found, most)

    def survey(self, most_crossing: int = -1) -> DeviceTiling:
        """Start the survey, and cut the ids' order into equal ranges unless more arcs cross; do not wait.

        The tiling is to be used only if `facts` says that at most `most_crossing` arcs cross.
        """
        self._surveyed = True
        self._launch_cut(None, self._found, most_crossing)
        return self._tiling

    def facts(self) -> Facts:
        """Wait for the survey, which is started if it has not been, and return what it found."""
        if not self._surveyed:
            self.survey()
        words = self._graph.device.asnumpy(self._found)
        crossing, zero_arcs, weights, max_degree, with_arcs, _ = words.tolist()
        _, _, of_floats, _, _, squares = words.view(np.float64).tolist()
        m = max(1, self._graph.n_arcs)
        if self._sums_floats and not SMALLEST_SQUARED**2 <= squares / m < math.inf:
            numbers = self._graph.weights.view(self._graph.lengths.dtype)
            mean, deviation = mean_weight(numbers), deviation_of(numbers)
        else:
            mean = (of_floats if self._sums_floats else weights) / m
            deviation = math.sqrt(max(0.0, squares / m - mean**2))
        return Facts(crossing, zero_arcs, max_degree, with_arcs, mean, deviation)

    def zero_arcs(self, count: int) -> Any:
        """Return tail and head of the `count` arcs of weight zero, shape (count, 2), uint32; None if 0."""
        if count == 0:
            return None
        arcs = self._xp.empty((count, 2), dtype=np.uint32)
        counter = self._xp.zeros(1, dtype=np.uint32)
        self._launch(self._kernels.list_zero_arcs, self._n, self._csr, arcs, counter)
        return arcs

    def cut(self, order: Order | None = None) -> DeviceTiling:
        """Cut an order into equal ranges, by default that of the ids, without waiting for it."""
        self._launch_cut(order, None, 0)
        return self._tiling

    def grow_order(self) -> Order:
        """Return an order that keeps neighbours close, without waiting for it; see ``_grow_cells.cu``."""
        n, kernels = self._n, self._kernels
        frontier = min(FRONTIER, (self._graph.device.shared_bytes - STATIC_BYTES) // ENTRIES_BYTES)
        frontiers = frontier * ENTRIES_BYTES
        blocks = kernels.blocks(kernels.grow_cells, n, frontiers)
        count = max(1, min(CELLS, CELLS_PER_BLOCK * blocks, n // MIN_CELL))
        sizes = n, n, n, count + 1, count * NEIGHBOURS, count + 1
        position, vertices, of_vertex, of_cells, neighbours, begins = self._graph.device.empty_arrays(
            *((size, np.uint32) for size in sizes)
        )
        order = Order(position, vertices)
        cells = kernels.grow.struct(
            "Cells",
            n=np.uint32(count),
            frontier=np.uint32(frontier),
            of_vertex=of_vertex,
            rank=position,
            vertices=vertices,
            sizes=of_cells,
            neighbours=neighbours,
            begins=begins,
        )
        self._launch(kernels.grow_cells, n, self._csr, cells, shared_bytes=frontiers)
        words = (NEIGHBOURS + LANDMARKS) * count + (1 << (count - 1).bit_length())
        threads = min(kernels.threads, -(-count // WARP) * WARP)
        self._launch(kernels.order_cells, 1, cells, shared_bytes=4 * words, threads=threads)
        self._launch(kernels.place_vertices, n, np.uint32(n), cells)
        return order
