"""Maps cut into tiles, each in the shared memory of a block of its own, without phases."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from pydantic import Field, PositiveFloat, PositiveInt

from relaxometer.problems import variants
from relaxometer.problems.phases import Phase
from relaxometer.problems.sssp import Answer
from relaxometer.problems.sssp._packed_arcs import PackedArcs
from relaxometer.problems.sssp.tiled._tiles import cut
from relaxometer.problems.variants import Skipped

if TYPE_CHECKING:
    from relaxometer.graphs.resident import ResidentGraph

QUEUE_BYTES = 2 * 2048 * 8
BYTES_OF_VERTEX = 8
BYTES_OF_ARCS = 32
SHARED_BYTES = 226 * 1024
"""Shared memory of a block: its queue, two words for each vertex, and its first arcs if there is room."""

SMALL = 4096
"""Vertices of a tile whose phases are too narrow to keep 1024 threads busy."""

MOST_ARCS = 4096
"""Arcs of a vertex up to which the variant is run: one thread relaxes them all."""

MOST_THREADS = 1024
"""Of a block; one of so many, with all the shared memory, has a multiprocessor to itself."""

AHEAD = 20
"""Mean weights that a tile runs ahead where weights vary little; with a heavy tail that is wasted work."""

LEASH = 1.5
"""By how much a tile may be above the last one, as a multiple of delta, where weights have a heavy tail."""

NO_LEASH = 2**32 - 1

LEAST_TILE = 64
"""Vertices below which cutting on is no use."""

BOARD_WORDS = 4
OVERFLOW_WORD = 2
"""64-bit words of the board, without those for each tile, and the one whose upper half tells an overflow."""


class Parameters(variants.Parameters):
    """Number of tiles, and how far a tile runs ahead.

    Parameters
    ----------
    delta : float or "auto"
        How far above the least waiting distance the threshold of a tile is raised, in mean weights. "auto":
        20, divided by the square of the weights' coefficient of variation where that is above 1.
    leash : float, "none" or "auto"
        How far the threshold of a tile may be above the least distance that waits in any tile, in mean
        weights. "auto": 1.5 times delta where the weights' coefficient of variation is above 1, else none.
    tiles : int or "auto"
        "auto": one for each multiprocessor, but none of fewer than 64 vertices.
    threads : int or "auto"
        Of a block, a multiple of 32. "auto": 512 for tiles of up to 4096 vertices, else 1024; 128 in
        the emulation, which runs threads one after another.
    """

    delta: PositiveFloat | Literal["auto"] = Field("auto")
    leash: PositiveFloat | Literal["none", "auto"] = Field("auto")
    tiles: PositiveInt | Literal["auto"] = Field("auto")
    threads: Annotated[int, Field(ge=32, le=1024, multiple_of=32)] | Literal["auto"] = Field("auto")


class Solver:
    """SSSP on maps: blocks that search their tiles and send each other what crosses a border.

    Parameters
    ----------
    graph : ResidentGraph
    parameters : Parameters

    Raises
    ------
    Skipped
        If a tile does not fit in shared memory, or a vertex has too many arcs for a map.

    References
    ----------
    Davidson, Baxter, Garland and Owens, "Work-Efficient Parallel GPU Methods for Single-Source Shortest
    Paths", IPDPS 2014, for the search within a tile; ``tiled.cu`` says the rest.
    """

    runs_on = "device"

    def __init__(self, graph: ResidentGraph, parameters: Parameters) -> None:
        self._graph = graph
        device, host = graph.device, graph.host
        xp = device.xp
        most_arcs = int(host.degrees.max())
        if most_arcs > MOST_ARCS:
            raise Skipped(f"made for maps; a vertex has {most_arcs} arcs, more than {MOST_ARCS}")
        self._kernel = graph.device.module(
            Path(__file__).with_name("tiled.cu"), cooperative=True
        ).get_function("tiled")
        most_tiles = device.max_cooperative_blocks(self._kernel, MOST_THREADS, SHARED_BYTES)
        if most_tiles == 0:
            raise Skipped(f"a block of this device has less than {SHARED_BYTES // 1024} KiB of shared memory")
        if parameters.tiles == "auto":
            self._tiles = max(1, min(most_tiles, graph.n_vertices // LEAST_TILE))
        else:
            self._tiles = min(parameters.tiles, graph.n_vertices)
        tiling = cut(host, self._tiles)
        self._threads = self._width_of_block(parameters.threads, tiling.largest)
        self._room = -(-tiling.largest // 4) * 4
        self._shared_bytes = QUEUE_BYTES + BYTES_OF_VERTEX * self._room
        if self._shared_bytes > SHARED_BYTES:
            most = (SHARED_BYTES - QUEUE_BYTES) // BYTES_OF_VERTEX * self._tiles
            raise Skipped(f"{graph.n_vertices} vertices; shared memory holds {most}")
        with_arcs = self._shared_bytes + BYTES_OF_ARCS * self._room
        self._arcs_here = self._fits(with_arcs)
        if self._arcs_here:
            self._shared_bytes = with_arcs
        elif not self._fits(self._shared_bytes):
            raise Skipped(f"{self._tiles} tiles of {tiling.largest} vertices; not so many blocks run at once")
        self._delta, self._leash = self._widths(parameters)
        self._place = tiling.place
        packed = PackedArcs(device, *map(device.asarray, (tiling.offsets, tiling.targets, tiling.weights)))
        zero = np.flatnonzero(host.weights == 0)
        zero_arcs = np.stack([host.tails[zero], host.targets[zero]], axis=1)
        self._search = (
            *graph.csr,
            device.asarray(tiling.begins),
            device.asarray(tiling.mail_begins),
            device.asarray(tiling.order),
            packed.rows,
            packed.first(),
            packed.arcs,
            device.asarray(zero_arcs) if len(zero) else None,
            np.uint32(len(zero)),
            np.uint32(self._room),
            np.uint32(self._arcs_here),
        )
        self._mail = xp.empty(max(1, int(tiling.mail_begins[-1])), dtype=xp.uint32)
        self._board = xp.zeros(BOARD_WORDS + 2 * self._tiles, dtype=xp.uint64)

    def _width_of_block(self, threads: int | Literal["auto"], largest: int) -> int:
        if threads != "auto":
            return threads
        if self._graph.device.kind == "host":
            return 128
        return 512 if largest <= SMALL else 1024

    def _fits(self, shared_bytes: int) -> bool:
        """Return whether all tiles run at once with so much shared memory each."""
        if shared_bytes > SHARED_BYTES:
            return False
        return (
            self._graph.device.max_cooperative_blocks(self._kernel, self._threads, shared_bytes)
            >= self._tiles
        )

    def _widths(self, parameters: Parameters) -> tuple[int, int]:
        """Return delta and leash in the graph's unit."""
        if self._graph.n_arcs == 0:
            return 1, NO_LEASH
        weights = self._graph.host.weights
        mean = max(float(weights.mean()), 1.0)
        variation = float(weights.std()) / mean
        delta, leash = parameters.delta, parameters.leash
        if delta == "auto":
            delta = AHEAD / max(1.0, variation**2)
        if leash == "auto":
            leash = LEASH * delta if variation > 1 else "none"
        return _in_unit(delta * mean), NO_LEASH if leash == "none" else _in_unit(leash * mean)

    @property
    def resolved(self) -> dict[str, Any]:
        """Return the tiles, delta in the graph's unit, a block's threads, and where it has its arcs."""
        return {
            "tiles": self._tiles,
            "delta": self._delta,
            "leash": "none" if self._leash == NO_LEASH else self._leash,
            "threads": self._threads,
            "arcs_in_shared_memory": self._arcs_here,
        }

    def solve(self, source: int, phases: list[Phase] | None = None) -> Answer:
        """Find the shortest paths from `source`; see :class:`relaxometer.problems.sssp.Solver`.

        There are no phases; an instrumented run records the whole search as one.
        """
        device = self._graph.device
        xp = device.xp
        distance = xp.empty(self._graph.n_vertices, dtype=xp.uint32)
        predecessor = xp.empty(self._graph.n_vertices, dtype=xp.uint32)
        log = None if phases is None else xp.zeros((self._tiles, len(LOG)), dtype=xp.uint64)
        where = (
            np.uint32(source),
            np.uint32(self._place[source]),
            np.uint32(self._delta),
            np.uint32(self._leash),
        )
        arguments = (*self._search, *where, self._mail, self._board, distance, predecessor, log)
        self._kernel(self._tiles, self._threads, arguments, shared_mem=self._shared_bytes)
        overflowed = bool(device.item(self._board, OVERFLOW_WORD) >> 32)
        if phases is not None:
            self.tile_log = dict(zip(LOG, device.asnumpy(log).T, strict=True))
            expanded, relaxed = self.tile_log["expanded"].sum(), self.tile_log["relaxed"].sum()
            time_ms = self.tile_log["total_ns"].max() / 1e6
            phases.append(Phase("tiles", int(expanded), int(relaxed), float(time_ms)))
        return Answer(distance, predecessor, None, overflowed)


def _in_unit(length: float) -> int:
    return int(min(2**32 - 2, max(1, length)))


LOG = ("phases", "expanded", "relaxed", "raises", "wakes", "holds", "idle_ns", "search_ns", "total_ns")
"""What an instrumented run tells of each tile; `Solver.tile_log` holds the last one's."""
