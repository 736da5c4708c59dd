"""Single-source shortest paths (SSSP): one module per variant, its kernels in the ``.cu`` of the same name.

``problems/problem.py`` defines the interface of variants, and ``problems/variants.py`` finds them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from relaxometer.device.arrays import DeviceArray, value_of
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
    for the vertices on it; all others count as unreached. Arrays of one word are read only by `phases` and
    `overflowed`, so a search need not wait for them.
    """

    distance: DeviceArray  # in the graph's type of distances and unit; `unreached` without a path
    predecessor: DeviceArray  # the vertex before on a shortest path, uint32; `NO_PREDECESSOR` without a path
    n_phases: Any  # int, None where the variant has none, or device array of one word
    overflow: Any  # whether some path was too long for the type; bool or device array of one word

    @property
    def phases(self) -> int | None:
        """Phases of the search; None where the variant has none."""
        return None if self.n_phases is None else int(value_of(self.n_phases))

    @property
    def overflowed(self) -> bool:
        """Whether some path was too long for the type, so that it was not followed."""
        return bool(value_of(self.overflow))

    @property
    def columns(self) -> dict[str, Any]:
        """What is kept of the answer and proven."""
        return {"distance": self.distance, "predecessor": self.predecessor}


class Trees(NamedTuple):
    """Shortest distances from many sources and the trees that prove them."""

    distance: Any  # item i is as in `Answer`, for source i
    predecessor: Any  # so is this
    overflowed: bool  # whether any search met a length that the type does not hold
