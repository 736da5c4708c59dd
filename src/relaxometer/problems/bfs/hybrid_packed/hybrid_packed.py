"""Direction-optimising, in one launch, with packed best neighbours and answers written once."""

from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from relaxometer.device.arrays import DeviceArray
from relaxometer.device.signature import read_source
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems import variants
from relaxometer.problems.bfs._incoming import incoming
from relaxometer.problems.bfs._levels import PIECE, WARP, WORD, OneLaunch, filling
from relaxometer.problems.bfs._prepare import KERNELS
from relaxometer.problems.bfs.hybrid_packed import _best_neighbours as packed
from relaxometer.problems.bfs.hybrid_packed._parameters import GROUP_VERTICES, PackedParameters
from relaxometer.problems.sssp._cooperative import threads_per_block

KERNEL = Path(__file__).with_name("hybrid_packed.cu")
SOURCE = read_source(KERNEL)
SMALL = 2**21  # smaller blocks are faster on graphs of at most this many vertices


class Parameters(PackedParameters):
    """When the search changes direction, and how bottom-up levels search for parents."""

    tail: Annotated[int, Field(ge=0, lt=2**31)] | Literal["auto"] = "auto"
    """One block searches alone, without barriers of the grid, once at most this many vertices are open and at
    most an eighth of this have several neighbours. "auto": one of 2048 vertices, at least 1024."""
    threads: Literal[512, 768, 1024, "auto"] = "auto"
    """Threads per block, one block per multiprocessor. "auto": 512 on graphs of up to 2**21 vertices, else
    1024; 128 in the emulation, which runs threads one after another."""


class Solver(OneLaunch):
    """BFS that changes direction, for graphs with hubs, in a single cooperative launch.

    References
    ----------
    Beamer, Asanovic and Patterson, "Direction-Optimizing Breadth-First Search", SC 2012.
    """

    def __init__(self, graph: ResidentGraph, parameters: Parameters) -> None:
        if graph.n_vertices > packed.MAX_VERTICES:
            raise variants.Skipped(f"more than {packed.MAX_VERTICES} vertices")
        super().__init__(graph, parameters)
        n, device = graph.n_vertices, graph.device
        self._tail = max(1024, n // 2048) if parameters.tail == "auto" else parameters.tail
        on_gpu = parameters.threads
        if on_gpu == "auto":
            on_gpu = 512 if n <= SMALL else 1024
        self._threads = threads_per_block(device, on_gpu)
        options = (f"-DTHREADS={on_gpu}",) if device.kind == "cuda" else ()
        module = device.module(KERNEL, options=options, cooperative=True)
        kernel = module.get_function("hybrid_packed")
        most = device.max_cooperative_blocks(kernel, self._threads)
        self._blocks = min(most, -(-n // self._threads))
        rows = incoming(graph)
        rule = parameters.rule(graph.n_arcs, self._blocks * self._threads) | {"tail": np.uint64(self._tail)}
        self._hub_words = parameters.hub_words(n)
        members = self._memory(rows[0]) | self._neighbours(rows) | {"rule": rule}
        arguments = module.struct("Search", **members), np.uint32(0), None, None, None, None
        launch = kernel.bind(self._blocks, self._threads, arguments)
        self._bind(launch, SOURCE.layout("LevelRecord").dtype)
        self.resolved |= {"tail": self._tail, "threads": self._threads}

    def _memory(self, in_offsets: DeviceArray) -> dict[str, Any]:
        """Return sizes and bitmaps, as the first search needs them, and the memory of lists and counts."""
        graph, xp, n = self._graph, self._graph.device.xp, self._graph.n_vertices
        groups, warps = -(-n // GROUP_VERTICES), self._blocks * self._threads // WARP
        n_words, capacity = groups * GROUP_VERTICES // WORD, -(-groups // warps) * GROUP_VERTICES
        pieces = n + graph.n_arcs // PIECE
        closed = xp.empty(n_words, dtype=xp.uint32)
        visited = xp.empty(SOURCE.constants["SNAPSHOTS"] * n_words, dtype=xp.uint32)
        mark = graph.device.module(KERNELS).get_function("mark_isolated")
        sizes = np.uint32(n), np.uint32(n_words)
        mark(*filling(graph.device, mark), (*sizes, graph.offsets, in_offsets, closed))
        visited[:n_words] = closed
        return {
            "n": sizes[0],
            "n_words": sizes[1],
            "hub_words": np.uint32(self._hub_words),
            "out": {"offsets": graph.offsets, "targets": graph.targets},
            "closed": closed,
            "visited": visited,
            "hubs": xp.zeros(3 * self._hub_words, dtype=xp.uint32),
            "stored": xp.zeros(n_words, dtype=xp.uint32),
            "listed": xp.empty(warps * capacity, dtype=xp.uint64),
            "warp_capacity": np.uint32(capacity),
            "found": xp.empty(2 * n, dtype=xp.uint32),
            "pieces": xp.empty(pieces, dtype=xp.uint64),
            "tail": xp.empty(max(self._tail, 1), dtype=xp.uint64),
            "tail_parents": xp.empty(max(self._tail, 1), dtype=xp.uint32),
            "counts": xp.zeros(2 * 3 * SOURCE.constants["COUNTS"], dtype=xp.uint64),
            "epoch": xp.zeros(1, dtype=xp.uint32),
        }

    def _neighbours(self, rows: tuple[Any, Any]) -> dict[str, Any]:
        """Return the packed neighbours and the incoming arcs."""
        n_hubs = self._hub_words * WORD
        found = packed.best_neighbours(self._graph.device, rows, n_hubs, self._parameters.most)
        return {
            "packed": {
                "rows": {"offsets": rows[0], "targets": rows[1]},
                "long_row": np.uint32(self._parameters.threshold),
                "best": found.best,
                "best_ids": found.best_ids,
                "others": found.others,
                "rank": found.rank,
                "ids": found.ids,
            }
        }
