"""Preparation of a graph for direction-optimising searches."""

import math
from pathlib import Path
from typing import Any

import numpy as np

from relaxometer.device import Device
from relaxometer.device.arrays import DeviceArray
from relaxometer.device.kernels import Module
from relaxometer.device.signature import read_source
from relaxometer.problems.bfs._levels import WARP, filling

KERNELS = Path(__file__).with_name("_prepare.cu")
SOURCE = read_source(KERNELS)
PROBED_ARCS = 16
"""Arcs of a row among which the neighbour to probe is chosen; simulated in docs/performance/bfs.md."""

ALL_ARCS = 2**32 - 1


def prepare(
    device: Device,
    module: Module,
    n_words: int,
    out_offsets: DeviceArray,
    incoming: tuple[Any, Any],
    degree_offsets: Any,
    arcs: int | None = PROBED_ARCS,
) -> tuple[Any, Any]:
    """Find the isolated vertices, and the neighbour that each of the others probes first.

    `out_offsets` are those of the outgoing arcs, or of the incoming ones to mark all vertices without these.
    Differences of `degree_offsets` are the degrees of neighbours. A vertex probes its neighbour of largest
    degree among the first `arcs` of its row; None for all.

    Returns a bitmap of vertices without arcs and of bits beyond the last vertex, and the probes, uint32.
    """
    xp, n_vertices = device.xp, len(incoming[0]) - 1
    isolated, probes = xp.empty(n_words, dtype=np.uint32), xp.empty(n_vertices, dtype=np.uint32)
    n = np.uint32(n_vertices)
    mark, choose = module.get_function("mark_isolated"), module.get_function("choose_probes")
    mark(*filling(device, mark), (n, np.uint32(n_words), out_offsets, incoming[0], isolated))
    most, lanes = np.uint32(arcs or ALL_ARCS), np.uint32(_lanes(arcs, len(incoming[1]) / max(1, n_vertices)))
    choose(*filling(device, choose), (n, *incoming, degree_offsets, most, lanes, probes))
    return isolated, probes


def _lanes(arcs: int | None, mean_degree: float) -> int:
    """Return the number of lanes per row, a power of two."""
    if arcs is None:
        return WARP  # for the rows of hubs
    wanted = min(arcs, mean_degree) / SOURCE.constants["IN_FLIGHT"]
    return min(WARP, 1 << max(0, math.ceil(wanted) - 1).bit_length())
