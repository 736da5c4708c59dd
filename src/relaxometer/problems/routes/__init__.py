"""Point-to-point shortest paths: distances, or paths, of thousands of pairs of vertices at once.

A search answers one set of queries (`_queries.py`). One module per variant, its kernels in the ``.cu`` of the
same name; ``problems/problem.py`` defines the interface of variants.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from relaxometer.device.arrays import DeviceArray
from relaxometer.graphs.graph import UNREACHED, offsets_of
from relaxometer.problems.problem import Problem, Solver
from relaxometer.problems.queries import QueryFormat
from relaxometer.problems.routes._queries import Queries, ResidentQueries, Spec, draw_queries, read_queries
from relaxometer.problems.routes.certify import RULES, RoutesCertifier

__all__ = ["PROBLEM", "UNREACHED", "Answer", "Queries", "ResidentQueries", "Solver"]


def _as_table(columns: Mapping[str, Any]) -> pa.Table:
    """Return distances and, where they were asked for, paths as lists of vertices.

    Of a wrong answer, sizes may not be those of the paths; then distances only.
    """
    size, path = columns["size"], columns["path"]
    if not len(size) or size.sum(dtype=np.uint64) != len(path):
        return pa.table({"distance": columns["distance"]})
    paths = pa.LargeListArray.from_arrays(offsets_of(size.astype(np.int64)), path)
    return pa.table({"distance": columns["distance"], "path": paths})


PROBLEM = Problem(
    {"distance": np.uint32, "size": np.uint32, "path": np.uint32},
    RULES,
    RoutesCertifier,
    lengths=("distance",),
    proof_reads_arcs=False,
    queries=QueryFormat(Spec, draw_queries, read_queries),
    as_table=_as_table,
)


@dataclass(frozen=True)
class Answer:
    """Distances of pairs and, if asked for, their paths; arrays of uint32."""

    distance: DeviceArray  # in the graph's weight unit; `UNREACHED` without a path within the cutoff
    size: Any  # vertices of each path with both ends, 0 without a path; empty if not asked for
    path: Any  # the vertices of all paths, from origin to target, query after query

    @property
    def phases(self) -> None:
        """No variant has phases."""
        return

    @property
    def columns(self) -> dict[str, Any]:
        """The columns that are stored and proven."""
        return {"distance": self.distance, "size": self.size, "path": self.path}
