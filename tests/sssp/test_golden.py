"""Shortest paths of a real map, against values that independent programs agree on."""

import numpy as np
import pytest

from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems.sssp.certify import SsspCertifier
from relaxometer.problems.variants import Skipped, load_solver, solver_names

pytestmark = pytest.mark.slow

PHASE_SYNCHRONOUS = ["conventional", "selection", "adaptive"]

TOO_SLOW = {
    "dijkstra": "looks at all vertices in each of 264,346 steps",
    "delta-stepping": "some ten thousand launches, each of a new set of emulated threads",
    "spmv-csr": "multiplies by all arcs in each of 1,200 phases",
    "spmv-ell": "multiplies by all arcs in each of 1,200 phases",
    "auto": "searches by four variants, which are tested here by themselves",
    "edge-bf": "relaxes all arcs in each phase, as `edge-bf-atomic` does",
    "bellman-ford-queue": "takes vertices ten times as often as on a GPU",
    "push-pull": "is not made for maps: every bucket is a round",
    "selection": "`adaptive` has its phases",
}
"""Left to a GPU."""

FIRST_VERTEX = 0
"""Vertex 1 of the file."""


@pytest.fixture(scope="module")
def new_york(road_file):
    from relaxometer.datasets.readers.dimacs import read_gr
    from relaxometer.graphs.graph import Graph

    return Graph.from_arcs("usa-ny", *read_gr(road_file("USA-road-d.NY.gr.gz")))


@pytest.mark.parametrize("variant", solver_names("sssp"))
def test_new_york(device, variant, new_york):
    """SciPy and igraph give these distances; the phases are those of any phase-synchronous search."""
    if device.kind == "host" and variant in TOO_SLOW:
        pytest.skip(TOO_SLOW[variant])
    resident = ResidentGraph.upload(device, new_york)
    module = load_solver("sssp", variant)
    parameters = {"to_all_us": 1000} if variant == "adaptive" else {}
    try:
        answer = module.Solver(resident, module.Parameters(**parameters)).solve(FIRST_VERTEX)
    except Skipped as reason:
        pytest.skip(str(reason))
    distance = device.asarray(answer.distance)
    values = device.asnumpy(distance)
    assert int(values.max()) == 1_440_081
    assert int(values.sum(dtype=np.uint64)) == 186_686_642_878
    if variant in PHASE_SYNCHRONOUS:
        assert answer.phases == 1200
    certificate = SsspCertifier(resident).check(FIRST_VERTEX, distance, device.asarray(answer.predecessor))
    assert certificate.holds, certificate.reason
