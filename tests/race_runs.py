"""Short runs of variants on a small graph."""

from typing import Any

import numpy as np

from relaxometer.plan.models import Run, Timing
from relaxometer.problems.sssp.dijkstra import dijkstra_cpu
from relaxometer.race.measurement import Measurement
from relaxometer.race.variant import measure
from sample_graphs import sample_graphs

GRAPH = next(graph for graph in sample_graphs().values() if graph.n_vertices > 50)
ORIGINAL = dijkstra_cpu.Solver
"""Tests put subclasses of it in its place."""


def run_of(
    solver: str = "dijkstra-cpu",
    problem: str = "sssp",
    parameters: dict[str, Any] | None = None,
    **timing: Any,
) -> Run:
    """Return the run of a variant; `timing` has keys of `Timing`, by default one pass without warm-up."""
    timing = {"repetitions": 1, "rounds": 1, "warmup": 0, **timing}
    what = {"problem": problem, "graph": "g", "variant": "v", "solver": solver}
    return Run(**what, parameters=parameters or {}, timing=Timing(**timing))


def measured(run: Run | None = None, sources: Any = (0, 1), number: int = 1) -> Measurement:
    """Measure a variant on `GRAPH`, by default Dijkstra's algorithm on the CPU."""
    return measure(run or run_of(), GRAPH, np.array(sources), "host", number)
