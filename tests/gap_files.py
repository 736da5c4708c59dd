"""Graphs as ``WriteSerializedGraph`` of the GAP Benchmark Suite writes them."""

import struct
from typing import Any

import numpy as np


def gap_file(n_vertices: int, arcs: list[tuple[Any, ...]], *, directed: bool) -> bytes:
    """Return arcs (tail, head) or (tail, head, weight), which are in order, and if directed the reverse."""
    content = struct.pack("<?qq", directed, len(arcs), n_vertices)
    for side in [arcs, sorted((head, tail, *weight) for tail, head, *weight in arcs)][: 1 + directed]:
        degrees = np.bincount([tail for tail, *_ in side], minlength=n_vertices)
        content += np.append(0, np.cumsum(degrees)).astype("<i8").tobytes()
        content += np.array([end for _, *end in side], "<i4").tobytes()
    return content
