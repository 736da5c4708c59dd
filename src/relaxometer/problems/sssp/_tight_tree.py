"""Predecessors for searches whose words hold a 64-bit distance and no predecessor."""

from pathlib import Path
from typing import Any

import numpy as np

from relaxometer.device.arrays import DeviceArray
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems.sssp import NO_PREDECESSOR
from relaxometer.problems.sssp._cooperative import threads_per_block
from relaxometer.problems.sssp._maps import graph_members
from relaxometer.problems.variants import Skipped

MAX_ROW = 128  # arcs that one thread follows at most; longer rows are cut into pieces
MAX_ARCS = 1024  # arcs of a piece, which a warp follows
MAX_VERTICES = 1 << 30  # a path of 32-bit weights through this many vertices is less than 2**62 long


def leave_two_bits(graph: ResidentGraph) -> None:
    """Raise `Skipped` unless lengths leave bits for a flag and a sign; floats have their sign's bit."""
    if graph.n_vertices > MAX_VERTICES and not graph.lengths.is_float:
        raise Skipped(f"{graph.n_vertices:,} vertices; lengths of paths may need more than 62 bits")


class TightTree:
    """Finds predecessors through the tight arcs, those that end shortest paths (``_tight_arcs.cuh``)."""

    def __init__(self, graph: ResidentGraph) -> None:
        self._graph, device = graph, graph.device
        file = Path(__file__).with_name("_tight_tree.cu")
        module = device.module(file, cooperative=True, options=graph.lengths.options)
        kernel, threads = module.get_function("find_tree"), threads_per_block(device, 256)
        self._state = device.xp.zeros(4, dtype=np.uint32)
        arrays = None, None, self._state[3:], self._state[:3]
        members = module.struct("Graph", **graph_members(graph))
        count, pieces = _pieces(graph)
        sizes = {"count": np.uint32(count), "max_arcs": np.uint32(MAX_ARCS), "max_row": np.uint32(MAX_ROW)}
        long_rows = module.struct("Pieces", row_and_index=pieces, **sizes)
        blocks = device.max_cooperative_blocks(kernel, threads)
        self._launch = kernel.bind(blocks, threads, (members, long_rows, *arrays))

    def predecessors(self, source: int, distance: DeviceArray) -> Any:
        """Return the predecessors that shortest distances, as words, imply; device array, uint32."""
        n, xp = self._graph.n_vertices, self._graph.device.xp
        predecessor = xp.full(n, NO_PREDECESSOR, dtype=np.uint32)
        predecessor[source] = source
        self._state.fill(0)
        self._launch(distance=distance, predecessor=predecessor)
        return predecessor


def _pieces(graph: ResidentGraph) -> tuple[int, Any]:
    """Return the number of pieces of long rows, and row and index of each, shape (n_pieces, 2), uint32."""
    xp = graph.device.xp
    degrees = xp.diff(graph.offsets)
    rows = xp.flatnonzero(degrees > MAX_ROW)
    if not len(rows):
        return 0, None
    counts = -(-degrees[rows] // MAX_ARCS)
    ends = xp.cumsum(counts)
    pieces = xp.arange(int(ends[-1]))
    place = xp.searchsorted(ends, pieces, side="right")
    index = pieces - (ends - counts)[place]
    return len(pieces), xp.stack([rows[place], index], axis=1).astype(np.uint32)
