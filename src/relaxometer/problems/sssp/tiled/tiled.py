"""SSSP on maps with one tile of the map per block, in its shared memory if it fits, without phases."""

import functools
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field, PositiveFloat, PositiveInt

from relaxometer.device import Device
from relaxometer.device.arguments import Struct
from relaxometer.device.kernels import Kernel, Module
from relaxometer.device.signature import read_source
from relaxometer.graphs.lengths import Lengths, unreached
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems import variants
from relaxometer.problems.phases import Phase
from relaxometer.problems.sssp import Answer, _maps
from relaxometer.problems.sssp._cooperative import threads_per_block
from relaxometer.problems.sssp._packed_arcs import FIRST
from relaxometer.problems.sssp.tiled._device_tiles import Cutter, DeviceTiling, Facts
from relaxometer.problems.sssp.tiled._tile_solver import MAX_THREADS, TileSolver
from relaxometer.problems.variants import Skipped

SOURCE = read_source(Path(__file__).with_name("tiled.cu"))
BOARD = SOURCE.layout("Board")
NONE = np.uint32(0)  # a placeholder
QUEUE_BYTES = 2 * 8 * SOURCE.constants["QUEUE"]
CHUNK_VERTICES = SOURCE.constants["CHUNK_VERTICES"]
VERTEX_BYTES = 8
ARC_BYTES = 8 * FIRST
"""Shared memory for the queue and, per vertex, for two words and, if they fit, the first arcs.

Queue and words take twice that if distances have 64 bits, and arcs if weights do.
"""

SMALL = 4096  # vertices of a tile whose phases are too narrow to keep 1024 threads busy
THREADS_IN_GLOBAL = 512  # threads of a block whose tile is in global memory; a multiprocessor has two
AHEAD = 20
"""Mean weights that a tile runs ahead if weights vary little; with a heavy tail that is wasted work."""

LEASH = 1.5  # how far a tile may be above the last one, as a multiple of delta, if weights have a heavy tail
LEASH_IN_GLOBAL = 3.0
"""The same for tiles in global memory, where wasted work takes longer, if weights have none."""


class Parameters(variants.Parameters):
    """Number of tiles and how they are cut, and how far a tile runs ahead."""

    cut: Literal["auto", "ranges", "grow", "bisection"] = Field("auto")
    """How the vertices are partitioned into tiles. "ranges": equal ranges of ids. "grow": equal ranges of an
    order that keeps neighbours close, grown from 512 seeds. "bisection": repeated halving on the host, for
    the fewest arcs between tiles; takes as long as hundreds of searches. "auto": ranges if at most a fifth of
    the arcs cross between them, else grow."""
    delta: PositiveFloat | Literal["auto"] = Field("auto")
    """How far above the least waiting distance a tile raises its threshold, in mean weights. "auto": 20,
    divided by the square of the weights' coefficient of variation if that is above 1."""
    leash: PositiveFloat | Literal["none", "auto"] = Field("auto")
    """How far the threshold of a tile may exceed the least waiting distance of all tiles, in mean weights.
    "auto": 1.5 times delta if the weights' coefficient of variation is above 1, else 3 times delta if tiles
    are in global memory, else none."""
    tiles: PositiveInt | Literal["auto"] = Field("auto")
    """"auto": one per multiprocessor, of at least 64 vertices, or two if tiles are in global memory."""
    threads: Annotated[int, Field(ge=32, le=1024, multiple_of=32)] | Literal["auto"] = Field("auto")
    """Threads per block, a multiple of 32. "auto": 512 for tiles of up to 4096 vertices or in global memory,
    else 1024; 128 in the emulation, which runs threads one after another."""


class Solver(TileSolver):
    """SSSP on maps: each block searches its tile and sends lengths of paths that cross a border.

    Skipped if a vertex has too many arcs for a map, or not all tiles can be searched at once.

    References
    ----------
    Davidson, Baxter, Garland and Owens, "Work-Efficient Parallel GPU Methods for Single-Source Shortest
    Paths", IPDPS 2014, for the search within a tile; see ``tiled.cu`` for the rest.
    """

    few_cross = 0.2
    log = tuple(SOURCE.layout("TileLog").members)
    weight_types: ClassVar = {"uint32", "uint32/uint64", "float32", "float64"}

    def __init__(self, graph: ResidentGraph, parameters: Parameters) -> None:
        super().__init__(graph, parameters)
        self._lengths = graph.lengths
        module, in_shared, in_global = _compiled(graph.device, self._lengths.options)
        self._plan(parameters, in_shared, in_global)
        cutter = Cutter(graph, self._tiles)
        n_slots = cutter.survey(self._most_crossing()).n_slots
        # While the device is busy:
        packed = module.struct("Graph", **_maps.graph_members(graph, (0, None)))
        self._state = module.struct("State", **self._state_members(n_slots))
        nothing = self._lengths.word.type(0)
        settings = module.struct("Settings", **self._settings(), delta=nothing, leash=nothing)
        self._bind(packed, cutter.packed, settings)
        facts = self._facts(cutter)
        if facts.zero_arcs > 0 and self._lengths.dtype == np.uint32:
            packed.set(zero_arcs=cutter.zero_arcs(facts.zero_arcs), n_zero_arcs=np.uint32(facts.zero_arcs))
        self._way = self._cut(cutter, facts)
        if self._way == "bisection":
            tiling = self._bisect()
            settings.set(**self._settings())
            self._bind(packed, tiling, settings)
        self._delta, self._leash = _widths(facts, parameters, self._lengths, in_shared=self._in_shared)
        settings.set(delta=self._lengths.words(self._delta), leash=self._lengths.words(self._leash))
        self.resolved = {
            "tiles": self._tiles,
            "cut": self._way,
            "delta": self._delta.item(),
            "leash": "none" if self._leash == unreached(self._lengths.distances) else self._leash.item(),
            "threads": self._threads,
            "tiles_in_shared_memory": self._in_shared,
            "arcs_in_shared_memory": self._arcs_in_shared,
        }

    def _bind(self, graph: Struct, tiling: Struct, settings: Struct) -> None:
        """Prepare the launch of a search; the structs may change later."""
        arguments = graph, tiling, settings, self._state, NONE, None, None, None
        self._launch = self._kernel.bind(self._tiles, self._threads, arguments, shared_mem=self._shared_bytes)
        self._arrays = _maps.answers_ahead(self._graph, self._launch, self._state, BOARD)
        self._arrays.prepare()

    def _bisect(self) -> Struct:
        """Have the host cut the graph, choose memory and threads again, and return the struct ``Tiling``."""
        from relaxometer.problems.sssp.tiled._tiles import cut  # loads Numba

        tiling = DeviceTiling.upload(self._graph.device, cut(self._graph.host, self._tiles), self._lengths)
        self._allocate_shared(tiling.largest)
        return tiling.packed(_compiled(self._graph.device, self._lengths.options)[0])

    def _plan(self, parameters: Parameters, in_shared: Kernel, in_global: Kernel) -> None:
        """Choose shared or global memory, and the number of tiles, by default as many as run at once."""
        device, n = self._graph.device, self._graph.n_vertices

        def choose(kernel: Kernel, most: int) -> int:
            tiles, self._kernel = parameters.tiles, kernel
            self._tiles = _maps.parts_for(n, most) if tiles == "auto" else min(tiles, n)
            return -(-n // self._tiles)

        self._threads_wanted = parameters.threads
        lengths = self._lengths
        largest = choose(in_shared, _maps.max_blocks(device, in_shared, MAX_THREADS))
        self._in_shared = _bytes_in_shared(largest, lengths) <= _maps.shared_bytes(device)
        if not self._in_shared:
            # More tiles than before, so none needs more memory than this.
            shape = self._threads_for(THREADS_IN_GLOBAL), _bytes_in_global(largest, lengths)
            largest = choose(in_global, device.max_cooperative_blocks(in_global, *shape))
        self._allocate_shared(largest)

    def _threads_for(self, fitting: int) -> int:
        wanted = self._threads_wanted
        return threads_per_block(self._graph.device, fitting) if wanted == "auto" else wanted

    def _allocate_shared(self, largest: int) -> None:
        """Set threads and shared memory of a block, with the first arcs of its vertices if they fit."""
        self._capacity = capacity = _capacity(largest)
        few = THREADS_IN_GLOBAL if largest <= SMALL or not self._in_shared else MAX_THREADS
        self._threads = self._threads_for(few)
        needed = (_bytes_in_shared if self._in_shared else _bytes_in_global)(largest, self._lengths)
        with_arcs = needed + ARC_BYTES * capacity * self._lengths.weight_word.itemsize // 4
        self._arcs_in_shared = self._in_shared and self._fits(with_arcs)
        self._shared_bytes = with_arcs if self._arcs_in_shared else needed
        if not self._fits(self._shared_bytes):
            raise Skipped(f"{self._tiles} tiles of {capacity} vertices; fewer blocks run at once")

    def _settings(self) -> dict[str, Any]:
        """Return the members of the struct ``Settings`` in ``_tile.cuh`` that do not depend on weights."""
        return {"capacity": np.uint32(self._capacity), "arcs_in_shared": np.uint32(self._arcs_in_shared)}

    def _state_members(self, n_slots: int) -> dict[str, Any]:
        """Return the members of the struct ``State`` in ``tiled.cu``; each search has its own board."""
        word = self._lengths.word
        sizes: list[tuple[int, Any]] = [
            (max(1, n_slots), word),
            (self._tiles, np.uint32),
            (self._tiles, word),
        ]
        if not self._in_shared:
            sizes.append((2 * self._graph.n_vertices, word))
        mail, confirmed, waiting, *labels = self._graph.device.empty_arrays(*sizes)
        return {
            "mail": mail,
            "board": None,
            "confirmed": confirmed,
            "waiting": waiting,
            "labels": labels[0] if labels else None,
        }

    def solve(self, source: int, phases: list[Phase] | None = None) -> Answer:
        """Find the shortest paths from `source`; an instrumented run records the search as one phase."""
        found = self._search(source, phases, "relaxed")
        return Answer(found.distance, found.predecessor, None, found.overflow)


@functools.cache
def _compiled(device: Device, options: tuple[str, ...]) -> tuple[Module, Kernel, Kernel]:
    module = device.module(SOURCE.path, options=options, cooperative=True)
    return module, module.get_function("tiled"), module.get_function("tiled_in_global")


def _capacity(largest: int) -> int:
    return -(-largest // 4) * 4


def _bytes_in_shared(largest: int, lengths: Lengths) -> int:
    """Return the shared memory for a tile of this many vertices, without its arcs."""
    return (QUEUE_BYTES + VERTEX_BYTES * _capacity(largest)) * lengths.word.itemsize // 4


def _bytes_in_global(largest: int, lengths: Lengths) -> int:
    """Return the shared memory for the queue and the bounds of a tile in global memory."""
    return (QUEUE_BYTES + 4 * -(-largest // CHUNK_VERTICES)) * lengths.word.itemsize // 4


def _widths(facts: Facts, parameters: Parameters, lengths: Lengths, *, in_shared: bool) -> tuple[Any, Any]:
    """Return delta and leash in the graph's unit, as scalars of the type of lengths."""
    mean = facts.mean if lengths.is_float else max(facts.mean, 1.0)
    variation = facts.deviation / mean if mean > 0 else 0.0
    delta, leash = parameters.delta, parameters.leash
    if delta == "auto":
        delta = AHEAD / max(1.0, variation**2)
    if leash == "auto":
        leash = LEASH * delta if variation > 1 else "none" if in_shared else LEASH_IN_GLOBAL * delta
    no_leash = unreached(lengths.distances)
    return _in_type(delta * mean, lengths), no_leash if leash == "none" else _in_type(leash * mean, lengths)


def _in_type(length: float, lengths: Lengths) -> Any:
    """Return a length as a scalar of the type of lengths; at least 1 if they are integers."""
    least = 0 if lengths.is_float else 1
    return lengths.distances.type(min(lengths.largest, max(least, length)))
