"""The tail of every arc, and the arcs by their heads: the transpose of a graph."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from relaxometer.device.arrays import DeviceArray
from relaxometer.device.kernels import Module
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems.sssp.phase_synchronous._phase_synchronous import BLOCK, over

WARPS = BLOCK // 32  # warps per block


def tails_of_arcs(graph: ResidentGraph) -> Any:
    """Return the tail of every arc of a graph: a device array of shape (n_arcs,), uint32."""
    tails = graph.device.xp.empty(graph.n_arcs, dtype=np.uint32)
    write_tails = _kernels(graph).get_function("write_tails")
    blocks = -(-graph.n_vertices // WARPS)
    write_tails(blocks, BLOCK, (np.uint32(graph.n_vertices), graph.offsets, tails))
    return tails


def is_mirrored(graph: ResidentGraph, tails: DeviceArray) -> bool:
    """Return whether every arc of a graph has one of the same weight in the other direction."""
    if not graph.n_arcs:
        return True
    unmirrored = graph.device.xp.zeros(1, dtype=np.uint32)
    arguments = (np.int64(graph.n_arcs), graph.offsets, graph.targets, graph.weights, tails, unmirrored)
    _kernels(graph).get_function("find_unmirrored")(*over(graph.n_arcs), arguments)
    return graph.device.item(unmirrored) == 0


def _kernels(graph: ResidentGraph) -> Module:
    file = Path(__file__).with_name("_arcs.cu")
    return graph.device.module(file, options=graph.lengths.weight_options)


@dataclass(frozen=True, eq=False)
class IncomingArcs:
    """The arcs of a graph by head: the rows of its transposed adjacency matrix."""

    offsets: DeviceArray  # int64
    tails: DeviceArray  # uint32
    weights: DeviceArray  # uint32 or uint64

    @classmethod
    def of(cls, graph: ResidentGraph) -> IncomingArcs:
        """Return the incoming arcs of `graph`: its own arrays if it is its own transpose."""
        tails = tails_of_arcs(graph)
        if is_mirrored(graph, tails):
            return cls(graph.offsets, graph.targets, graph.weights)
        xp = graph.device.xp
        offsets = xp.zeros(graph.n_vertices + 1, dtype=np.int64)
        offsets[1:] = xp.cumsum(xp.bincount(graph.targets, minlength=graph.n_vertices))
        order = xp.argsort(graph.targets, kind="stable")
        return cls(offsets, tails[order], graph.weights[order])
