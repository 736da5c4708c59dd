"""Breadth-first search (BFS): one module per variant, with its kernels in a ``.cu`` file of the same name.

``problems/problem.py`` defines the interface of variants, and ``problems/variants.py`` finds them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from relaxometer.device.arrays import DeviceArray, value_of
from relaxometer.graphs.graph import NO_PREDECESSOR, UNREACHED, Graph
from relaxometer.problems.bfs._certify_cpu import BfsCpuCertifier
from relaxometer.problems.bfs.certify import RULES, BfsCertifier
from relaxometer.problems.problem import Problem, Solver

__all__ = ["NO_PREDECESSOR", "PROBLEM", "UNREACHED", "Answer", "Solver"]


def _complete(graph: Graph, source: int, columns: Mapping[str, Any]) -> dict[str, Any]:
    from relaxometer.graphs.tree import shortest_path_tree  # loads Numba

    return {"predecessor": shortest_path_tree(graph, source, columns["level"], hops=True)}


PROBLEM = Problem(
    {"level": np.uint32, "predecessor": np.uint32},
    RULES,
    BfsCertifier,
    cpu_certifier=BfsCpuCertifier,
    complete=_complete,
)


@dataclass(frozen=True)
class Answer:
    """Levels of a breadth-first search from one source and the tree that proves them; arrays of uint32."""

    level: DeviceArray  # arcs on a shortest path from the source; `UNREACHED` where no path leads
    predecessor: DeviceArray  # a vertex one level nearer with an arc to this one, or `NO_PREDECESSOR`
    n_levels: Any  # levels searched from, also the last, which finds nothing; int or device array of one word

    @property
    def phases(self) -> int:
        """Levels searched from."""
        return int(value_of(self.n_levels))

    @property
    def columns(self) -> dict[str, Any]:
        """The columns that are stored and proven."""
        return {"level": self.level, "predecessor": self.predecessor}
