"""Features of a graph that tell which variant suits it, from one launch and one copy of a few words."""

import functools
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from relaxometer.device import Device
from relaxometer.device.arrays import DeviceArray
from relaxometer.device.kernels import Kernel
from relaxometer.device.signature import read_source

SOURCE = read_source(Path(__file__).with_name("survey.cu"))
THREADS, BALLS, WORDS, RANGES = (SOURCE.constants[name] for name in ("THREADS", "BALLS", "WORDS", "RANGES"))
VERTICES_PER_THREAD = 4
HUB = 64  # a vertex of higher degree is a hub: a warp needs more than two steps to read it
SKEWED = 1.25
"""Mean degree at the ends of arcs, without the arc itself, over the mean degree: 1 if arcs are random."""


class Features(NamedTuple):
    """Vertices and arcs, in the large and by samples.

    `ends` is the mean out-degree of a vertex met by following an arc, were the arcs undirected. `crossing`
    and `one_way` are the shares of sampled arcs that lead to another of 128 ranges of ids, and that have no
    reverse. `depth` is about the number of levels of a breadth-first search.
    """

    n_vertices: int
    n_arcs: int
    with_arcs: int
    largest: int
    ends: float
    crossing: float
    one_way: float
    depth: float

    @property
    def mean(self) -> float:
        """Mean degree of the vertices that have arcs."""
        return self.n_arcs / max(1, self.with_arcs)

    @property
    def mean_undirected(self) -> float:
        """Mean degree of these vertices, were each arc an edge and each arc with its reverse one edge."""
        return self.mean * (1 + self.one_way)

    @property
    def has_hubs(self) -> bool:
        """Whether few vertices have many of the arcs."""
        return self.largest > HUB or self.ends - 1 > SKEWED * self.mean

    def __str__(self) -> str:
        kind = "hubs" if self.has_hubs else "even degrees"
        return f"{kind} (mean degree {self.mean:.3g}, largest {self.largest}, about {self.depth:.2g} levels)"


def start(device: Device, offsets: DeviceArray, targets: DeviceArray) -> Callable[[], Features]:
    """Start the survey of a graph; what is returned waits for its features."""
    n, m = len(offsets) - 1, len(targets)
    found = device.xp.zeros(WORDS, dtype=np.uint64)
    threads = THREADS if device.kind == "cuda" else 128
    blocks = BALLS + max(1, min(device.multiprocessors - BALLS, -(-n // (threads * VERTICES_PER_THREAD))))
    _kernel(device)(blocks, threads, (np.uint32(n), offsets, targets, found))
    arrived = device.fetch(found)

    def features() -> Features:
        with_arcs, squares, arcs, crossing, one_way, largest, *levels = arrived().tolist()
        arcs = max(1, arcs)
        levels.sort()
        depth = max(2, (levels[BALLS // 2 - 1] + levels[BALLS // 2]) / 2)
        return Features(n, m, with_arcs, largest, squares / max(1, m), crossing / arcs, one_way / arcs, depth)

    return features


@functools.cache
def _kernel(device: Device) -> Kernel:
    return device.module(SOURCE.path).get_function("survey")
