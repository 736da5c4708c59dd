"""Levels of real maps, compared with values on which independent programs agree."""

import functools

import numpy as np
import pytest

from relaxometer.datasets.readers.topology import read_edges
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems.bfs.certify import BfsCertifier
from relaxometer.problems.variants import Skipped, load_solver, solver_names
from sample_graphs import undirected

pytestmark = pytest.mark.slow

FIRST_VERTEX = 0
"""Vertex 1 of the file."""

LAST_LEVELS = {"NY": 619, "BAY": 522}


@pytest.fixture(scope="module")
def cities(road_file):
    """Return a function from a city's name to its map."""

    @functools.cache
    def read(name):
        n, one, other = read_edges(road_file(f"dimacs9-topology.{name}.gr.xz"))
        graph = undirected(name, n, np.stack([one, other], axis=1), np.ones(len(one), dtype=int))
        graph.metadata["directed"] = False
        return graph

    return read


@pytest.mark.parametrize(
    ("variant", "name"), [*((variant, "NY") for variant in solver_names("bfs")), ("hybrid", "BAY")]
)
def test_the_last_level(device, variant, name, cities):
    city = cities(name)
    resident = ResidentGraph.upload(device, city)
    module = load_solver("bfs", variant)
    parameters = {"cpu_share": 0.25} if variant == "cooperative" else {}
    try:
        solver = module.Solver(resident, module.Parameters(**parameters))
    except Skipped as reason:
        pytest.skip(str(reason))
    answer = solver.solve(FIRST_VERTEX)
    columns = {name: device.asarray(values) for name, values in answer.columns.items()}
    assert int(columns["level"].max()) == LAST_LEVELS[city.name]
    assert answer.phases == LAST_LEVELS[city.name] + 1
    certificate = BfsCertifier(resident).check(FIRST_VERTEX, **columns)
    assert certificate.holds, certificate.reason
