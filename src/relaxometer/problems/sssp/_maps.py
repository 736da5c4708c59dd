"""Shared by the variants for maps, which give every block a part of the map and nearly all shared memory."""

from typing import Any, NamedTuple

import numpy as np

from relaxometer.device import Device
from relaxometer.device.arguments import Struct
from relaxometer.device.arrays import DeviceArray
from relaxometer.device.kernels import Kernel, Launch
from relaxometer.device.signature import Layout
from relaxometer.graphs.graph import Graph
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems.answers import Ahead
from relaxometer.problems.variants import Skipped

STATIC_BYTES = 1024  # of a block's shared memory, left to static variables
MIN_VERTICES = 64  # do not cut a map into parts of fewer vertices
MAX_ARCS, MAX_MEAN = 1024, 8.0
"""Maximum and mean arcs per vertex of what is contracted as a map; ordering other graphs would take long."""


def refuse_all_but_maps(graph: Graph) -> None:
    """Raise `Skipped` if a graph has too many arcs per vertex to be contracted."""
    largest, mean = int(graph.degrees.max()), graph.n_arcs / graph.n_vertices
    if largest > MAX_ARCS or mean > MAX_MEAN:
        limits = f"{MAX_ARCS} arcs per vertex, {MAX_MEAN:g} in the mean"
        raise Skipped(f"made for maps of at most {limits}; here {largest} and {mean:.3g}")


def shared_bytes(device: Device) -> int:
    """Return the maximum dynamic shared memory of a block: 226 KiB on an H100, 162 on an A100."""
    return device.shared_bytes - STATIC_BYTES


def max_blocks(device: Device, kernel: Kernel, threads: int) -> int:
    """Return how many blocks with all shared memory run at once."""
    return device.max_cooperative_blocks(kernel, threads, shared_bytes(device))


def parts_for(n_vertices: int, blocks: int) -> int:
    """Return the number of parts: one per block, as far as there are enough vertices."""
    return max(1, min(blocks, n_vertices // MIN_VERTICES))


class AnswerArrays(NamedTuple):
    """Device arrays of an answer, uint32 but for distances, and the board on which blocks communicate."""

    distance: DeviceArray
    predecessor: DeviceArray
    board: Any
    overflow: Any  # the word of the board that is not 0 if some path was too long


def answers_ahead(graph: ResidentGraph, launch: Launch, state: Struct, board: Layout) -> Ahead[AnswerArrays]:
    """Return the arrays for the answers of a kernel that takes `distance` and `predecessor`.

    It also takes the struct `state`, with a pointer to a struct of the layout `board`, in which a member
    ``overflowed`` tells whether some path was too long.
    """
    n, empty, lengths = graph.n_vertices, graph.device.xp.empty, graph.lengths
    place = board.offset("overflowed") // 4

    def allocate() -> AnswerArrays:
        predecessor, words = (empty(size, dtype=np.uint32) for size in (n, board.size // 4))
        return AnswerArrays(empty(n, dtype=lengths.distances), predecessor, words, words[place : place + 1])

    def use(arrays: AnswerArrays) -> None:
        launch.set(distance=lengths.words(arrays.distance), predecessor=arrays.predecessor)
        state.set(board=arrays.board)

    return Ahead(allocate, use)


def graph_members(graph: ResidentGraph, known: tuple[int, Any] | None = None) -> dict[str, Any]:
    """Return the members of the struct ``Graph`` in ``_tight_arcs.cuh``.

    `known` gives the arcs of weight zero, if they have been found already: their number, and their tails
    and heads, device array of shape (count, 2), uint32, or None. No kernel needs them if sums are rounded.
    """
    n, offsets, targets, weights = graph.csr
    count, ends = zero_arcs(graph) if known is None else known
    return {
        "n": n,
        "offsets": offsets,
        "targets": targets,
        "weights": weights,
        "zero_arcs": ends,
        "n_zero_arcs": np.uint32(count),
    }


def zero_arcs(graph: ResidentGraph) -> tuple[int, Any]:
    """Return the number of arcs of weight zero, and their tails and heads as in `graph_members`."""
    host = graph.host
    zero = np.flatnonzero(host.weights == 0) if graph.lengths.dtype == np.uint32 else ()
    if not len(zero):
        return 0, None
    ends = np.stack([host.tails[zero], host.targets[zero]], axis=1).astype(np.uint32)
    return len(zero), graph.device.asarray(ends)
