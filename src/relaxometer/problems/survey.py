"""Features of a graph that tell which variant suits it, from one launch and one copy of a few words."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import NamedTuple

import numpy as np

from relaxometer.device import Device
from relaxometer.device.kernels import Kernel
from relaxometer.device.signature import read_source
from relaxometer.graphs.resident import ResidentGraph

SOURCE = read_source(Path(__file__).with_name("survey.cu"))
THREADS, BALLS, ENOUGH, WORDS, RANGES = (
    SOURCE.constants[name] for name in ("THREADS", "BALLS", "ENOUGH", "WORDS", "RANGES")
)
VERTICES_PER_THREAD = 4
HUB = 64  # a vertex of higher degree is a hub: a warp needs more than two steps to read it


class Features(NamedTuple):
    """Vertices and arcs, in the large and by samples.

    `ends` is the mean out-degree of a vertex met by following an arc, were the arcs undirected. `crossing`,
    `one_way` and `clustering` are the shares of sampled arcs that lead to another of 128 ranges of ids, that
    have no reverse, and of pairs of arcs from a vertex whose heads are joined. `depth` is about the number of
    levels of a breadth-first search.
    """

    n_vertices: int
    n_arcs: int
    with_arcs: int
    largest: int
    ends: float
    crossing: float
    one_way: float
    clustering: float
    depth: float

    @property
    def mean(self) -> float:
        """Mean degree of the vertices that have arcs."""
        return self.n_arcs / max(1, self.with_arcs)

    @property
    def has_hubs(self) -> bool:
        """Whether a vertex has so many arcs that a warp needs more than two steps to read them."""
        return self.largest > HUB

    def __str__(self) -> str:
        kind = "hubs" if self.has_hubs else "even degrees"
        return f"{kind} (mean degree {self.mean:.3g}, largest {self.largest}, about {self.depth:.2g} levels)"


def guessed(graph: ResidentGraph) -> Features:
    """Return features that a graph of this size may have: those of a small world."""
    n, m = graph.n_vertices, graph.n_arcs
    mean = m / max(1, n)
    return Features(n, m, n, min(HUB, 8 + int(3 * mean)), mean + 1, 1, 0, 0, 10)


def features_of(graph: ResidentGraph) -> Features:
    """Return the features of a graph."""
    return features(graph, start(graph))


def start(graph: ResidentGraph, hops: int = 24, enough: int = 1024) -> np.ndarray:
    """Start the survey of a graph; return the array that its words will be in."""
    n, device = graph.n_vertices, graph.device
    found = device.xp.zeros(WORDS, dtype=np.uint64)
    threads = THREADS if device.kind == "cuda" else 128
    blocks = BALLS + max(1, min(device.multiprocessors - BALLS, -(-n // (threads * VERTICES_PER_THREAD))))
    arguments = np.uint32(n), graph.offsets, graph.targets, np.uint32(hops), np.uint32(enough), found
    _kernel(device)(blocks, threads, arguments)
    return found


def features(graph: ResidentGraph, found: np.ndarray) -> Features:
    """Wait for a survey and return what it found."""
    words = graph.device.asnumpy(found).tolist()
    n, m = graph.n_vertices, graph.n_arcs
    with_arcs, squares, arcs, crossing, one_way, pairs, joined, largest, *levels = words
    arcs, pairs = max(1, arcs), max(1, pairs)
    levels.sort()
    depth = max(2, (levels[BALLS // 2 - 1] + levels[BALLS // 2]) / 2)
    return Features(
        n, m, with_arcs, largest, squares / max(1, m), crossing / arcs, one_way / arcs, joined / pairs, depth
    )


@functools.cache
def _kernel(device: Device) -> Kernel:
    return device.module(SOURCE.path).get_function("survey")
