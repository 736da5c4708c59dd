"""BFS on maps with one tile of the map in the shared memory of each block, several levels per phase."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from pydantic import Field, PositiveInt

from relaxometer.device.signature import read_source
from relaxometer.problems import variants
from relaxometer.problems.bfs import Answer
from relaxometer.problems.bfs.tiled._rows import Heads, Rows
from relaxometer.problems.phases import Phase
from relaxometer.problems.sssp import _maps
from relaxometer.problems.sssp._cooperative import threads_per_block
from relaxometer.problems.sssp.tiled._tiles import Tiling, cut
from relaxometer.problems.variants import Skipped

if TYPE_CHECKING:
    from relaxometer.graphs.resident import ResidentGraph

SOURCE = read_source(Path(__file__).with_name("tiled.cu"))

LOG = tuple(SOURCE.layout("TileLog").members)
"""Names of what an instrumented run records per tile; `Solver.tile_log` holds those of the last one."""

QUEUE_BYTES = 2 * 2 * SOURCE.constants["QUEUE"]
WORD_BYTES, ENTRY_BYTES = 4, 2

MAX_ARCS = 4096
"""Skip graphs with more arcs at a vertex: one thread follows nearly all of them."""

MAX_THREADS = 1024
"""Threads of the largest block; with all the shared memory, one has a multiprocessor to itself."""

LENGTHS = (16, 8, 7, 6, 4)
"""Entries per row, as tried by "auto"; without shared memory the last."""


class Parameters(variants.Parameters):
    """Number of tiles, and how many levels a phase covers.

    Parameters
    ----------
    row : int or "auto"
        Entries of a vertex's row: a phase reaches as many hops as fit. "auto": the most of 16, 8, 7, 6 and 4
        with which the rows fit in shared memory, else 4.
    reach : int
        Maximum number of hops of a phase.
    tiles : int or "auto"
        "auto": one per multiprocessor, of at least 64 vertices.
    threads : int or "auto"
        Threads per block, a multiple of 32. "auto": 1024; 128 in the emulation, which runs threads one after
        another.
    """

    row: Annotated[int, Field(ge=2, le=32)] | Literal["auto"] = Field("auto")
    reach: PositiveInt = 8
    tiles: PositiveInt | Literal["auto"] = Field("auto")
    threads: Annotated[int, Field(ge=32, le=1024, multiple_of=32)] | Literal["auto"] = Field("auto")


class Solver:
    """BFS on maps: each block searches its tile and sends levels across its borders.

    Raises
    ------
    Skipped
        If a tile does not fit in shared memory, or a vertex has too many arcs for a map.

    References
    ----------
    Blelloch, Gu, Sun and Tangwongsan, "Parallel Shortest Paths Using Radius Stepping", SPAA 2016, for rows of
    several hops; see ``tiled.cu`` for the rest.
    """

    runs_on = "device"

    def __init__(self, graph: ResidentGraph, parameters: Parameters) -> None:
        self._graph, self._parameters = graph, parameters
        device, host = graph.device, graph.host
        max_arcs = int(host.degrees.max())
        if max_arcs > MAX_ARCS:
            raise Skipped(f"made for maps; a vertex has {max_arcs} arcs, more than {MAX_ARCS}")
        module = device.module(SOURCE.path, cooperative=True)
        self._kernel = module.get_function("tiled")
        max_tiles = _maps.max_blocks(device, self._kernel, MAX_THREADS)
        if parameters.tiles == "auto":
            self._tiles = _maps.parts_for(graph.n_vertices, max_tiles)
        else:
            self._tiles = min(parameters.tiles, graph.n_vertices)
        self._threads = threads_per_block(device, MAX_THREADS)
        if parameters.threads != "auto":
            self._threads = parameters.threads
        tiling = cut(host, self._tiles)
        self._place = tiling.place
        rows = self._rows(Heads(tiling))
        xp = device.xp
        self._structs = (
            module.struct(
                "Graph", n=np.uint32(graph.n_vertices), offsets=graph.offsets, targets=graph.targets
            ),
            module.struct("Tiling", **self._members(tiling, rows)),
            module.struct(
                "State",
                mail=xp.empty(max(1, int(tiling.mail_begins[-1])), dtype=np.uint32),
                idle=xp.empty(1, dtype=np.uint64),
                confirmed=xp.empty(self._tiles, dtype=np.uint32),
            ),
        )

    def _rows(self, heads: Heads) -> Rows:
        """Return rows of the length that suits, and set a block's shared memory."""
        needed = QUEUE_BYTES + WORD_BYTES * (heads.capacity + heads.slots.shape[1])
        if needed > _maps.SHARED_BYTES:
            raise Skipped(
                f"{self._tiles} tiles of {heads.capacity} vertices; shared memory holds "
                f"{(_maps.SHARED_BYTES - QUEUE_BYTES) // WORD_BYTES}"
            )
        lengths = LENGTHS if self._parameters.row == "auto" else (self._parameters.row,)
        for self._length in lengths:
            with_rows = needed + ENTRY_BYTES * self._length * heads.n_rows(self._length)
            self._rows_in_shared = self._fits(with_rows)
            if self._rows_in_shared:
                break
        self._shared_bytes = with_rows if self._rows_in_shared else needed
        if not self._fits(self._shared_bytes):
            raise Skipped(f"{self._tiles} tiles of {heads.capacity} vertices; fewer blocks run at once")
        rows = heads.rows(self._length, self._parameters.reach)
        self._reach = min(self._parameters.reach, rows.max_hops)
        return rows

    def _fits(self, shared_bytes: int) -> bool:
        """Return whether all tiles run at once with this much shared memory each."""
        if shared_bytes > _maps.SHARED_BYTES:
            return False
        blocks = self._graph.device.max_cooperative_blocks(self._kernel, self._threads, shared_bytes)
        return blocks >= self._tiles

    def _members(self, tiling: Tiling, rows: Rows) -> dict[str, Any]:
        """Return the members of the struct ``Tiling`` in ``_tile.cuh``."""
        device = self._graph.device
        return {
            "begins": device.asarray(tiling.begins),
            "mail_begins": device.asarray(tiling.mail_begins),
            "order": device.asarray(tiling.order),
            "rows": device.asarray(rows.entries.reshape(-1).view(np.uint32).reshape(-1, 4)),
            "slots": device.asarray(rows.slots) if rows.outside else None,
            "capacity": np.uint32(rows.capacity),
            "outside": np.uint32(rows.outside),
            "n_rows": np.uint32(rows.entries.shape[1]),
            "row_length": np.uint32(self._length),
            "row_lanes": np.uint32((self._length - 1).bit_length()),
            "index_bits": np.uint32(rows.index_bits),
            "rows_in_shared": np.uint32(self._rows_in_shared),
        }

    @property
    def resolved(self) -> dict[str, Any]:
        """Return tiles, entries and hops of rows and where they are, and threads per block."""
        return {
            "row": self._length,
            "reach": self._reach,
            "tiles": self._tiles,
            "threads": self._threads,
            "rows_in_shared_memory": self._rows_in_shared,
        }

    def solve(self, source: int, phases: list[Phase] | None = None) -> Answer:
        """Find the levels from `source`; see :class:`relaxometer.problems.problem.Solver`.

        Levels are not searched one by one; an instrumented run records the whole search as one phase.
        """
        device, xp = self._graph.device, self._graph.device.xp
        level, predecessor = (xp.empty(self._graph.n_vertices, dtype=xp.uint32) for _ in range(2))
        rounds = xp.empty(1, dtype=xp.uint32)
        log = None if phases is None else xp.zeros((self._tiles, len(LOG)), dtype=xp.uint64)
        places = np.uint32(source), np.uint32(self._place[source])
        arguments = (*self._structs, *places, level, predecessor, rounds, log)
        self._kernel(self._tiles, self._threads, arguments, shared_mem=self._shared_bytes)
        if phases is not None:
            self.tile_log = dict(zip(LOG, device.asnumpy(log).T, strict=True))
            expanded, examined = self.tile_log["expanded"].sum(), self.tile_log["examined"].sum()
            time_ms = self.tile_log["total_ns"].max() / 1e6
            phases.append(Phase("tiles", int(expanded), int(examined), float(time_ms)))
        return Answer(level, predecessor, rounds)
