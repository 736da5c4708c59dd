"""Single-source shortest paths (SSSP): one module per variant, its kernels in the ``.cu`` of the same name.

``problems/problem.py`` defines the interface of variants, and ``problems/variants.py`` finds them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from relaxometer.device.arrays import DeviceArray
from relaxometer.graphs.graph import NO_PREDECESSOR, UNREACHED, Graph
from relaxometer.problems.problem import Problem, Solver
from relaxometer.problems.sssp._certify_cpu import SsspCpuCertifier
from relaxometer.problems.sssp.certify import RULES, SsspCertifier

__all__ = ["NO_PREDECESSOR", "PROBLEM", "UNREACHED", "Answer", "Solver", "Trees"]


def _complete(graph: Graph, source: int, columns: Mapping[str, Any]) -> dict[str, Any]:
    from relaxometer.graphs.tree import shortest_path_tree  # loads Numba

    return {"predecessor": shortest_path_tree(graph, source, columns["distance"])}


PROBLEM = Problem(
    {"distance": np.uint32, "predecessor": np.uint32},
    RULES,
    SsspCertifier,
    cpu_certifier=SsspCpuCertifier,
    lengths=("distance",),
    complete=_complete,
)


@dataclass(frozen=True)
class Answer:
    """Shortest distances from one source and the tree that proves them, or a negative cycle.

    If the source reaches a negative cycle, walks have no least length, and the answer is one such cycle:
    `distance` is :data:`relaxometer.graphs.lengths.ON_CYCLE` and `predecessor` the vertex before on the cycle
    for the vertices on it; all others count as unreached.

    Parameters
    ----------
    distance : array of shape (n_vertices,)
        In the graph's type of distances and the unit of its weights;
        :func:`relaxometer.graphs.lengths.unreached` where no path leads.
    predecessor : array of shape (n_vertices,), uint32
        The vertex before on a shortest path; `NO_PREDECESSOR` where no path leads.
    n_phases : int, None or device array of shape (1,), uint32
        Phases of the search; None where the variant has none.
    overflow : bool or device array of shape (1,), uint32
        Whether some path was too long for the type, so that it was not followed. Arrays are read only
        by `phases` and `overflowed`, so a search need not wait for them.
    """

    distance: DeviceArray
    predecessor: DeviceArray
    n_phases: Any
    overflow: Any

    @property
    def phases(self) -> int | None:
        """Phases of the search; None where the variant has none."""
        is_read = self.n_phases is None or isinstance(self.n_phases, int)
        return self.n_phases if is_read else int(self.n_phases[0])

    @property
    def overflowed(self) -> bool:
        """Whether some path was too long for the type, so that it was not followed."""
        return self.overflow if isinstance(self.overflow, bool) else bool(self.overflow[0])

    @property
    def columns(self) -> dict[str, Any]:
        """What is kept of the answer and proven."""
        return {"distance": self.distance, "predecessor": self.predecessor}


class Trees(NamedTuple):
    """Shortest distances from many sources and the trees that prove them.

    Parameters
    ----------
    distance, predecessor : sequence of device arrays of shape (n_vertices,)
        Item i is as in `Answer`, for source i.
    overflowed : bool
        Whether any search met a length that the type does not hold, as in `Answer`.
    """

    distance: Any
    predecessor: Any
    overflowed: bool
