"""Searches of a real map, against values that independent programs agree on."""

import numpy as np
import pytest

from relaxometer.datasets.readers.dimacs import read_gr
from relaxometer.graphs.graph import Graph
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems.problem import load_problem
from relaxometer.problems.variants import Skipped, load_solver, solver_names

pytestmark = pytest.mark.slow

LEFT_TO_A_GPU = {
    *("auto", "bellman-ford-queue", "cooperative", "delta-stepping", "dijkstra", "push-pull"),
    *("edge-bf", "edge-bf-atomic", "spmv-csr", "spmv-ell", "multi-source"),
    *("conventional", "selection", "hybrid"),
}
"""They take long in the emulation, or `adaptive` and `hybrid-packed` search by their kernels, too."""

PARAMETERS = {"adaptive": {"to_all_us": 1000}, "cooperative": {"cpu_share": 0.25}}
PHASES = dict.fromkeys(("conventional", "selection", "adaptive"), 1200)
"""Of any phase-synchronous search."""

FIRST_VERTEX = 0
"""Vertex 1 of the file."""


@pytest.fixture(scope="module")
def new_york(road_file):
    return Graph.from_arcs("usa-ny", *read_gr(road_file("USA-road-d.NY.gr.gz")))


@pytest.mark.parametrize(
    ("problem", "variant"), [(problem, name) for problem in ("sssp", "bfs") for name in solver_names(problem)]
)
def test_new_york(device, problem, variant, new_york):
    """SciPy and igraph give these distances, and others this number of levels."""
    if device.kind == "host" and variant in LEFT_TO_A_GPU:
        pytest.skip("takes long in the emulation")
    resident, module = ResidentGraph.upload(device, new_york), load_solver(problem, variant)
    try:
        solver = module.Solver(resident, module.Parameters(**PARAMETERS.get(variant, {})))
    except Skipped as reason:
        pytest.skip(str(reason))
    answer = solver.solve(FIRST_VERTEX)
    columns = {name: device.asarray(values) for name, values in answer.columns.items()}
    values = device.asnumpy(next(iter(columns.values())))
    if problem == "sssp":
        assert (int(values.max()), int(values.sum(dtype=np.uint64))) == (1_440_081, 186_686_642_878)
        assert answer.phases == PHASES.get(variant, answer.phases)
    else:
        assert (int(values.max()), answer.phases) == (619, 620)
    certificate = load_problem(problem).certifier(resident).check(FIRST_VERTEX, **columns)
    assert certificate.holds, certificate.reason
