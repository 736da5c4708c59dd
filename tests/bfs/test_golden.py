"""Levels of a real map, compared with a value on which independent programs agree."""

import pytest

from relaxometer.datasets.build import build_graph
from relaxometer.datasets.registry import Dataset
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems.bfs.certify import BfsCertifier
from relaxometer.problems.variants import Skipped, load_solver, solver_names

pytestmark = pytest.mark.slow

FIRST_VERTEX = 0
"""Vertex 1 of the file."""

LAST_LEVEL = 619

TOO_SLOW = {
    "cooperative": "half of its work is emulated, and the other half waits for it",
    "auto": "searches by variants that are tested here by themselves",
}
"""Left to a GPU."""


@pytest.fixture(scope="module")
def new_york(road_file):
    file = road_file("dimacs9-topology.NY.gr.xz")
    return build_graph("NY", Dataset(format="topology", path=str(file)), files=[file])


@pytest.mark.parametrize("variant", solver_names("bfs"))
def test_the_last_level(device, variant, new_york):
    if device.kind == "host" and variant in TOO_SLOW:
        pytest.skip(TOO_SLOW[variant])
    resident = ResidentGraph.upload(device, new_york)
    module = load_solver("bfs", variant)
    parameters = {"cpu_share": 0.25} if variant == "cooperative" else {}
    try:
        solver = module.Solver(resident, module.Parameters(**parameters))
    except Skipped as reason:
        pytest.skip(str(reason))
    answer = solver.solve(FIRST_VERTEX)
    columns = {name: device.asarray(values) for name, values in answer.columns.items()}
    assert int(columns["level"].max()) == LAST_LEVEL
    assert answer.phases == LAST_LEVEL + 1
    certificate = BfsCertifier(resident).check(FIRST_VERTEX, **columns)
    assert certificate.holds, certificate.reason
