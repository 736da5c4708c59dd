"""The arcs that enter each vertex, which a bottom-up search reads."""

from pathlib import Path
from typing import Any

import numpy as np

from relaxometer.device import blocks_for
from relaxometer.graphs.resident import ResidentGraph

HALF = np.uint64(32)  # bits of an end in a key of an arc
BLOCK = 256


def incoming(graph: ResidentGraph, *, compare: bool = True) -> tuple[Any, Any]:
    """Return offsets, int64, and ascending tails, uint32, of the arcs into each vertex, on the device.

    An undirected graph's are its own arrays. Otherwise the arcs are sorted by head, which takes 24 bytes per
    arc of temporary memory, and longer than to compare their directions: unless `compare` is false, a kernel
    does that if the graph's metadata do not say whether it is undirected.
    """
    if graph.metadata.get("directed") is False or (compare and _is_symmetric(graph)):
        return graph.offsets, graph.targets
    xp = graph.device.xp
    arcs = xp.arange(graph.n_arcs, dtype=xp.int64)
    tails = xp.searchsorted(graph.offsets, arcs, side="right") - 1
    keys = graph.targets.astype(xp.uint64) << HALF | tails.astype(xp.uint64)
    del arcs, tails
    return rows_of(keys, graph.n_vertices, xp)


def _is_symmetric(graph: ResidentGraph) -> bool:
    device, n_arcs = graph.device, graph.n_arcs
    sums = device.xp.zeros(2, dtype=np.uint64)
    if n_arcs:
        kernel = device.module(Path(__file__).with_suffix(".cu")).get_function("compare_directions")
        arguments = np.uint32(graph.n_vertices), np.uint64(n_arcs), graph.offsets, graph.targets, sums
        kernel(blocks_for(device, n_arcs, BLOCK), BLOCK, arguments)
    return not device.asnumpy(sums).any()


def rows_of(keys: Any, n: int, xp: Any) -> tuple[Any, Any]:
    """Return offsets and ends of `n` rows, given arcs as row << 32 | end, which are sorted in place."""
    keys.sort()
    firsts = xp.arange(n + 1, dtype=xp.uint64) << HALF
    return xp.searchsorted(keys, firsts).astype(xp.int64), keys.astype(xp.uint32)
