"""BFS on maps with one tile of the map in the shared memory of each block, several levels per phase."""

import functools
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field, PositiveInt

from relaxometer.device import Device
from relaxometer.device.kernels import Kernel, Module
from relaxometer.device.signature import read_source
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems import variants
from relaxometer.problems.answers import arrays_ahead
from relaxometer.problems.bfs import Answer
from relaxometer.problems.bfs.tiled._balls import ENTRY_BYTES, MAX_INDICES, Balls, Filler, Needs
from relaxometer.problems.phases import Phase
from relaxometer.problems.sssp import _maps
from relaxometer.problems.sssp._cooperative import threads_per_block
from relaxometer.problems.sssp.tiled._device_tiles import Cutter
from relaxometer.problems.sssp.tiled._tile_solver import MAX_THREADS, TileSolver
from relaxometer.problems.variants import Skipped

SOURCE = read_source(Path(__file__).with_name("tiled.cu"))
QUEUE_BYTES = 2 * 2 * SOURCE.constants["QUEUE"]
WORD_BYTES = 4
SIZES = (16, 8, 4)  # entries per ball, as tried by "auto"; without shared memory the last
LARGE, CHAINS = 32, 2.3
"""Entries per ball, tried first on maps up to this mean degree, which are mostly chains."""


class Parameters(variants.Parameters):
    """Number of tiles and how they are cut, and how many levels a phase covers."""

    cut: Literal["auto", "ranges", "grow"] = Field("auto")
    """As for `tiled` of shortest paths. "auto": ranges if at most a 25th of the arcs cross between them, else
    grow."""
    ball: Annotated[int, Field(ge=2, le=32)] | Literal["auto"] = Field("auto")
    """Entries of the ball of a vertex: a phase reaches as many hops as fit. "auto": the most of 16, 8 and 4
    with which the balls fit in shared memory, else 4; on maps of mean degree up to 2.3 also 32."""
    reach: PositiveInt | Literal["auto"] = Field("auto")
    """Maximum number of hops of a phase. "auto": half of a ball's entries if those are 16 or more, else a
    quarter."""
    tiles: PositiveInt | Literal["auto"] = Field("auto")
    """"auto": one per multiprocessor, of at least 64 vertices."""
    threads: Annotated[int, Field(ge=32, le=1024, multiple_of=32)] | Literal["auto"] = Field("auto")
    """Threads per block, a multiple of 32. "auto": 1024; 128 in the emulation, which runs threads one after
    another."""


class Solver(TileSolver):
    """BFS on maps: each block searches its tile and sends levels across its borders.

    Skipped if a tile does not fit in shared memory, or a vertex has too many arcs for a map.

    References
    ----------
    Blelloch, Gu, Sun and Tangwongsan, "Parallel Shortest Paths Using Radius Stepping", SPAA 2016, for
    balls of several hops; see ``tiled.cu`` for the rest.
    """

    # Less than for shortest paths: a search is mostly crossings of borders, of which ranges have many.
    few_cross = 0.04
    log = tuple(SOURCE.layout("TileLog").members)

    def __init__(self, graph: ResidentGraph, parameters: Parameters) -> None:
        super().__init__(graph, parameters)
        device, n = graph.device, graph.n_vertices
        module, self._kernel = _compiled(device)
        max_tiles = _maps.max_blocks(device, self._kernel, MAX_THREADS)
        if parameters.tiles == "auto":
            self._tiles = _maps.parts_for(graph.n_vertices, max_tiles)
        else:
            self._tiles = min(parameters.tiles, graph.n_vertices)
        most = self._tiles * MAX_INDICES
        if graph.n_vertices > most:
            raise Skipped(f"{graph.n_vertices} vertices; {self._tiles} tiles hold at most {most}")
        self._threads = threads_per_block(device, MAX_THREADS)
        if parameters.threads != "auto":
            self._threads = parameters.threads
        cutter = Cutter(graph, self._tiles, weighted=False)
        tiling = cutter.survey(self._most_crossing())
        # While the device is busy:
        filler = Filler(device, tiling, self._tiles)
        packed = module.struct(
            "Graph", n=np.uint32(graph.n_vertices), offsets=graph.offsets, targets=graph.targets
        )
        state = module.struct("State", **self._state(tiling.n_slots))
        of_cut = ("begins", "mail_begins", "borders", "order", "place")
        tiles = module.struct("Tiling", **{name: getattr(tiling, name) for name in of_cut})
        facts = self._facts(cutter)
        self._way = self._cut(cutter, facts)
        needs = self._allocate_shared(filler)
        wanted = parameters.reach
        balls = filler.fill(self._size, _reach(self._size) if wanted == "auto" else wanted, needs)
        self._reach = balls.reach
        tiles.set(**self._ball_members(balls, needs))
        arguments = packed, tiles, state, np.uint32(0), None, None, None, None
        self._launch = self._kernel.bind(self._tiles, self._threads, arguments, shared_mem=self._shared_bytes)
        self._arrays = arrays_ahead(graph, self._launch, level=n, predecessor=n, n_levels=1)
        self._arrays.prepare()
        self.resolved = {
            "ball": self._size,
            "reach": self._reach,
            "tiles": self._tiles,
            "cut": self._way,
            "threads": self._threads,
            "balls_in_shared_memory": self._balls_in_shared,
        }

    def _state(self, n_slots: int) -> dict[str, Any]:
        """Return the members of the struct ``State`` in ``tiled.cu``."""
        arrays = self._graph.device.empty_arrays(
            (max(1, n_slots), np.uint32), (1, np.uint64), (self._tiles, np.uint32)
        )
        return dict(zip(("mail", "idle", "confirmed"), arrays, strict=True))

    def _allocate_shared(self, filler: Filler) -> Needs:
        """Choose the size of balls, set the shared memory of a block, and return what it has to hold."""
        for size in self._sizes():
            self._size, needs = size, filler.needs(size)
            levels = QUEUE_BYTES + WORD_BYTES * (filler.capacity + needs.outside)
            with_balls = levels + ENTRY_BYTES * size * needs.n_balls
            self._balls_in_shared = self._fits(with_balls)
            if self._balls_in_shared:
                break
        self._shared_bytes = with_balls if self._balls_in_shared else levels
        if not (self._balls_in_shared or self._fits(levels)):
            raise Skipped(f"{self._tiles} tiles of {filler.capacity} vertices; fewer blocks run at once")
        return needs

    def _sizes(self) -> tuple[int, ...]:
        if self._parameters.ball != "auto":
            return (self._parameters.ball,)
        n = self._graph.n_vertices
        sizes = (LARGE, *SIZES) if self._graph.n_arcs <= CHAINS * n else SIZES
        # Sizes that do not fit whatever the cut need not be counted.
        room = (_maps.shared_bytes(self._graph.device) - QUEUE_BYTES) * self._tiles - WORD_BYTES * n
        return tuple(size for size in sizes if ENTRY_BYTES * size * n <= room) or SIZES[-1:]

    def _ball_members(self, balls: Balls, needs: Needs) -> dict[str, Any]:
        """Return the members of the struct ``Tiling`` in ``_tile.cuh`` that balls decide."""
        return {
            "balls": balls.entries.reshape(-1).view(np.uint32).reshape(-1, 4),
            "slots": balls.slots if needs.outside else None,
            "capacity": np.uint32(balls.capacity),
            "outside": np.uint32(needs.outside),
            "n_balls": np.uint32(needs.n_balls),
            "ball_size": np.uint32(self._size),
            "ball_lanes": np.uint32((self._size - 1).bit_length()),
            "index_bits": np.uint32(balls.index_bits),
            "balls_in_shared": np.uint32(self._balls_in_shared),
        }

    def solve(self, source: int, phases: list[Phase] | None = None) -> Answer:
        """Find the levels from `source`; an instrumented run records the whole search as one phase."""
        return Answer(**self._search(source, phases, "examined"))


@functools.cache
def _compiled(device: Device) -> tuple[Module, Kernel]:
    module = device.module(SOURCE.path, cooperative=True)
    return module, module.get_function("tiled")


def _reach(size: int) -> int:
    """Return how many hops balls of this size reach: not all, as differing radii cost corrections."""
    return max(1, size // (2 if size >= 16 else 4))
