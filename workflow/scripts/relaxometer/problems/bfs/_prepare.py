"""Preparation of a graph for direction-optimising searches."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from relaxometer.problems.bfs._levels import filling

if TYPE_CHECKING:
    from relaxometer.device import Device, Module

KERNELS = Path(__file__).with_name("_prepare.cu")


def prepare(
    device: Device,
    module: Module,
    n_words: int,
    out_offsets: Any,
    incoming: tuple[Any, Any],
    degree_offsets: Any,
    *,
    largest: bool = True,
) -> tuple[Any, Any]:
    """Find the isolated vertices, and the neighbour that each of the others probes first.

    Parameters
    ----------
    device : Device
    module : Module
        Compiled from `KERNELS`.
    n_words : int
        Words of the bitmap.
    out_offsets : device array of shape (n_vertices + 1,), int64
        Offsets of the outgoing arcs, or of the incoming ones to mark all vertices without these.
    incoming : tuple of device array
        Offsets and tails of the incoming arcs.
    degree_offsets : device array, int64
        Their differences are the degrees of neighbours.
    largest : bool, default=True
        Whether a vertex probes its neighbour of largest degree instead of its first one.

    Returns
    -------
    isolated : device array of shape (n_words,), uint32
        Bitmap of the vertices without arcs and of the bits beyond the last vertex.
    probes : device array of shape (n_vertices,), uint32
    """
    xp, n_vertices = device.xp, len(incoming[0]) - 1
    isolated, probes = xp.empty(n_words, dtype=np.uint32), xp.empty(n_vertices, dtype=np.uint32)
    n = np.uint32(n_vertices)
    mark, choose = module.get_function("mark_isolated"), module.get_function("choose_probes")
    mark(*filling(device, mark), (n, np.uint32(n_words), out_offsets, incoming[0], isolated))
    choose(*filling(device, choose), (n, *incoming, degree_offsets, np.uint32(largest), probes))
    return isolated, probes
