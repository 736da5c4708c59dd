"""Shared by the variants for maps, which give every block a part of the map and nearly all shared memory."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from relaxometer.device import Device, blocks_for
from relaxometer.device.arguments import Struct
from relaxometer.device.arrays import DeviceArray
from relaxometer.device.kernels import Kernel, Launch
from relaxometer.device.signature import Layout, read_source
from relaxometer.graphs.graph import Graph
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems.answers import Ahead
from relaxometer.problems.sssp._cooperative import threads_per_block
from relaxometer.problems.variants import Skipped

SHARED_BYTES = 226 * 1024  # maximum dynamic shared memory of a block, so that static variables still fit
MIN_VERTICES = 64  # do not cut a map into parts of fewer vertices
MAP_DEGREE = 8  # maximum mean degree of a map
HUB = 64  # a vertex of higher degree is a hub: a warp needs more than two steps to read it
BLOCK = 256
SURVEYS = read_source(Path(__file__).with_name("_survey.cu"))
HOPS, ENOUGH, BALL_THREADS = (SURVEYS.constants[name] for name in ("HOPS", "ENOUGH", "THREADS"))
N_BALLS = 8
WORTH_BALLS = 10  # searches from which on it pays to grow balls
MAX_ARCS, MAX_MEAN = 1024, 8.0
"""Maximum and mean arcs per vertex of what is contracted as a map; ordering other graphs would take long."""


class Degrees(NamedTuple):
    """Out-degrees of a graph: vertices with arcs, their mean degree, the largest degree, and squares.

    The squares of the degrees are added up. They are NaN if nobody has looked.
    """

    with_arcs: int
    mean: float
    largest: int
    squares: float = math.nan

    def __str__(self) -> str:
        return f"mean degree {self.mean:.3g}, largest {self.largest}"

    @classmethod
    def found(cls, graph: ResidentGraph, with_arcs: int, largest: int) -> Degrees:
        """Return the degrees of a graph, of which a survey found these."""
        return cls(with_arcs, graph.n_arcs / max(with_arcs, 1), largest)

    @property
    def is_map(self) -> bool:
        """Whether they are those of a map, small and without hubs."""
        return self.largest <= HUB and self.mean <= MAP_DEGREE


def may_be_map(graph: ResidentGraph) -> bool:
    """Return whether the degrees may be those of a map, by the numbers of vertices and arcs only."""
    return graph.n_arcs <= MAP_DEGREE * graph.n_vertices


def degrees_of(graph: ResidentGraph) -> Degrees:
    """Return the degrees of a graph, by one launch: a pass of the host takes longer than a search."""
    n, device = graph.n_vertices, graph.device
    found = device.xp.zeros(3, dtype=np.uint64)
    kernel = _surveys(device)["survey_degrees"]
    kernel(blocks_for(device, n, BLOCK), BLOCK, (np.uint32(n), graph.offsets, found))
    with_arcs, squares, largest = device.asnumpy(found).tolist()
    return Degrees.found(graph, with_arcs, largest)._replace(squares=squares)


class Balls:
    """Balls that grow from a few vertices of a graph while the host goes on; they tell how deep it is."""

    def __init__(self, graph: ResidentGraph) -> None:
        self._graph, device = graph, graph.device
        self._sizes = device.xp.zeros((N_BALLS, HOPS + 1), dtype=np.uint32)
        arguments = np.uint32(graph.n_vertices), graph.offsets, graph.targets, self._sizes
        _surveys(device)["grow_balls"](N_BALLS, threads_per_block(device, BALL_THREADS), arguments)

    def depth(self) -> float:
        """Return about how many levels a breadth-first search has, within a factor of three.

        As far as a ball shows, it grows by a power of the hops; a map, whose balls hold few vertices, by
        their square. A ball that grows no more holds all that its vertex reaches. Their median counts.
        """
        sizes = self._graph.device.asnumpy(self._sizes).tolist()  # NumPy would take longer
        depths = sorted(_depth(ball, self._graph.n_vertices) for ball in sizes)
        return (depths[N_BALLS // 2 - 1] + depths[N_BALLS // 2]) / 2


def depth_of(graph: ResidentGraph, searches: int) -> Callable[[], float]:
    """Return what tells the depth of a graph; for few searches a guess, since balls take up to 1 ms."""
    if searches < WORTH_BALLS:
        guess = 0.5 * graph.n_vertices**0.5 if may_be_map(graph) else 10.0
        return lambda: guess
    return Balls(graph).depth


def _depth(ball: list[int], n_vertices: int) -> float:
    whole = max(ball)
    hops = ball.index(whole)
    if hops < 2 or (hops < HOPS and whole < ENOUGH):
        return max(hops, 2)
    dimension = math.log(whole / ball[hops // 2]) / math.log(hops / (hops // 2))
    if 1.5 < dimension < 3.2:
        dimension = 2
    return float(hops * (n_vertices / whole) ** (1 / dimension))


@functools.cache
def _surveys(device: Device) -> dict[str, Kernel]:
    module = device.module(SURVEYS.path)
    return {name: module.get_function(name) for name in ("survey_degrees", "grow_balls")}


def refuse_all_but_maps(graph: Graph) -> None:
    """Raise `Skipped` if a graph has too many arcs per vertex to be contracted."""
    largest, mean = int(graph.degrees.max()), graph.n_arcs / graph.n_vertices
    if largest > MAX_ARCS or mean > MAX_MEAN:
        limits = f"{MAX_ARCS} arcs per vertex, {MAX_MEAN:g} in the mean"
        raise Skipped(f"made for maps of at most {limits}; here {largest} and {mean:.3g}")


def max_blocks(device: Device, kernel: Kernel, threads: int) -> int:
    """Return how many blocks with this much shared memory run at once; Skipped if none does."""
    blocks = device.max_cooperative_blocks(kernel, threads, SHARED_BYTES)
    if blocks == 0:
        raise Skipped(f"a block of this device has less than {SHARED_BYTES // 1024} KiB of shared memory")
    return blocks


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


def graph_members(graph: ResidentGraph, zero_arcs: tuple[int, Any] | None = None) -> dict[str, Any]:
    """Return the members of the struct ``Graph`` in ``_tight_arcs.cuh``.

    `zero_arcs` gives the arcs of weight zero, if they have been found already: their number, and their tails
    and heads, device array of shape (count, 2), uint32, or None. No kernel needs them if sums are rounded.
    """
    n, offsets, targets, weights = graph.csr
    count, ends = _zero_arcs(graph) if zero_arcs is None else zero_arcs
    return {
        "n": n,
        "offsets": offsets,
        "targets": targets,
        "weights": weights,
        "zero_arcs": ends,
        "n_zero_arcs": np.uint32(count),
    }


def _zero_arcs(graph: ResidentGraph) -> tuple[int, Any]:
    host = graph.host
    zero = np.flatnonzero(host.weights == 0) if graph.lengths.dtype == np.uint32 else ()
    if not len(zero):
        return 0, None
    ends = np.stack([host.tails[zero], host.targets[zero]], axis=1).astype(np.uint32)
    return len(zero), graph.device.asarray(ends)
