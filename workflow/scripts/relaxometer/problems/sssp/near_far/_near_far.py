"""What the near-far variants share: the sizes of their piles and the width of their buckets."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from relaxometer.problems.phases import Phase

if TYPE_CHECKING:
    from relaxometer.graphs.resident import ResidentGraph

QUEUE = 2048
QUEUE_BYTES = 2 * QUEUE * 16
"""Near entries of a block's own search, and the shared memory that those of two phases take."""

PILES = 36
"""Piles of a search."""

MODES = ("block", "grid")
"""How wide a phase was run, as the kernels number it."""

SPARSE = 8
"""Mean degree up to which a graph is sparse."""

LOG_ROOM = 1 << 17
"""Phases that an instrumented run tells apart."""


def bucket_shift(graph: ResidentGraph, delta: float | None) -> int:
    """Return the power of two that a bucket is wide.

    Parameters
    ----------
    graph : ResidentGraph
    delta : float or None
        Width of a bucket in mean weights. None stands for a sixth of the near pile's width of Davidson et
        al., 32 mean weights over the mean degree, since here a phase takes the next buckets along when it
        has room; for a 24th on graphs that are not sparse. Where the weights' coefficient of variation is
        above 1 it is divided by that: the mean says little then of the step from a vertex to the next.
    """
    if graph.n_arcs == 0:
        return 0
    # A million of the weights tell enough; all of them take seconds on the largest graphs.
    weights = graph.host.weights[:: 1 + graph.n_arcs // 2**20]
    mean = float(weights.mean())
    if delta is None:
        delta = 32 / (6 if is_sparse(graph) else 24) / (graph.n_arcs / graph.n_vertices)
        delta /= max(1.0, float(weights.std()) / mean) if mean else 1
    return min(31, max(0, int(np.log2(max(1.0, delta * mean)))))


def is_sparse(graph: ResidentGraph) -> bool:
    """Return whether vertices have 8 arcs on average, or fewer."""
    return graph.n_arcs <= SPARSE * graph.n_vertices


def logged_phases(records: np.ndarray) -> list[Phase]:
    """Make phases of a kernel's log.

    Parameters
    ----------
    records : ndarray of shape (n_phases + 1, 4), uint64
        Mode, vertices expanded, arcs relaxed, and the clock at the end in nanoseconds; the first
        row is the beginning.
    """
    times = np.diff(records[:, 3].astype(np.float64)) / 1e6
    return [
        Phase(MODES[int(mode)], int(expanded), int(relaxed), float(ms))
        for (mode, expanded, relaxed, _), ms in zip(records[1:], times, strict=True)
    ]
