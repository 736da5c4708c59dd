"""push-pull and tiled on weights of float types: thresholds in rounded sums, widths, preparation.

Certificates prove the answers: they hold for the least rounded sums only.
"""

import numpy as np
import pytest

from relaxometer.graphs.graph import MAX_WEIGHT, Graph
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems.sssp._packed_arcs import PackedArcs
from relaxometer.problems.sssp.push_pull import push_pull
from relaxometer.problems.sssp.push_pull._prepare import prepare
from relaxometer.problems.sssp.tiled import tiled
from relaxometer.problems.sssp.tiled._device_tiles import Cutter
from sample_graphs import FLOATS, grid_edges, sample_graphs
from sssp.searches import proven

of_floats = pytest.mark.parametrize("kind", FLOATS.values(), ids=FLOATS)


def floats(kind, name, n, arcs, weights, **options):
    return Graph.from_arcs(name, n, *np.transpose(arcs), weights, weight_type=kind.name, **options)


@of_floats
class TestDifferences:
    """2**bits + 2 less 1 rounds to 2**bits, but 2**bits plus 1 does not round to 2**bits + 2."""

    def solve(self, device, graph, delta):
        resident = ResidentGraph.upload(device, graph)
        solver = push_pull.Solver(resident, push_pull.Parameters(delta=delta, beta=1e9))
        return device.asnumpy(proven(solver, resident, 0).distance).tolist()

    def test_a_pull_examines_an_arc_that_is_a_rounded_difference(self, device, kind):
        """Vertex 1, of many arcs, pulls before vertex 2 is reached, and again with the bound 1."""
        near, far = kind.one_lost, kind.one_lost + 2
        leaves = np.arange(3, 9)
        arcs = [(0, 1), (0, 2), (2, 1), *((1, leaf) for leaf in leaves), (0, 9)]
        graph = floats(kind, "pull", 10, arcs, [far, 1.0, near, *np.zeros(len(leaves)), 0.5])
        assert self.solve(device, graph, 1.0) == [0, near, 1, *[near] * len(leaves), 0.5]

    def test_a_window_ends_where_rounded_sums_do(self, device, kind):
        """The bucket ends at 2**bits + 2; vertex 1, of many arcs, pushes the arc to vertex 2 in it."""
        near, far = kind.one_lost, kind.one_lost + 2
        leaves, further = np.arange(4, 84), np.arange(84, 184)
        arcs = [
            (0, 1),
            (1, 2),
            (2, 3),
            (0, 3),
            *((1, leaf) for leaf in leaves),
            *((3, leaf) for leaf in further),
        ]
        weights = [1.0, near, 0.0, far, *np.full(len(leaves), 2 * near), *np.zeros(len(further))]
        distance = self.solve(device, floats(kind, "window", 184, arcs, weights), far)
        assert distance == [0, 1, *[near] * 2, *[2 * near] * len(leaves), *[near] * len(further)]


RANDOM = np.random.default_rng(4)
LOADS = [
    *(("uint32", loads) for loads in ([MAX_WEIGHT] * 5, [0, MAX_WEIGHT], [0, 0, 0], [])),
    ("uint32", [2**31 - 1] * 2 + [2**31 + 1] * 2),
    ("uint32", np.arange(70_000) % 2 * 2),
    *(
        (kind.name, loads)
        for kind in FLOATS.values()
        for loads in (
            *([0.1, 0.2, 0.7], [kind.largest, kind.largest, 0], [kind.tiny] * 3, [0, 0, 0]),
            RANDOM.choice([0.0, 0.5, 1.0, 1.0, 3.0, kind.one_lost, kind.one_lost + 2], 400),
            2.0 ** RANDOM.uniform(-60, 60, 400),
        )
    ),
]
"""Types and weights whose sums are beyond 64 bits or infinite, and whose squares vanish."""


@pytest.mark.parametrize(("kind", "loads"), LOADS, ids=lambda value: getattr(value, "name", None))
def test_mean_and_deviation_are_exact_however_they_are_found(device, kind, loads):
    m = len(loads)
    graph = Graph.from_arcs("star", m + 1, np.zeros(m, dtype=int), 1 + np.arange(m), loads, weight_type=kind)
    resident, weights = ResidentGraph.upload(device, graph), graph.weights.astype(np.longdouble)
    mean, deviation = (weights.mean(), weights.std()) if m else (0, 0)
    packed = PackedArcs(device, *resident.csr[1:], graph.lengths).weight_statistics()
    assert tuple(map(np.longdouble, packed)) == pytest.approx((mean, deviation), rel=1e-12, abs=0)
    facts = Cutter(resident, min(5, m + 1)).facts()
    assert facts.mean == pytest.approx(float(mean), rel=1e-12, abs=0)
    lost = 1e-3 * float(mean) if kind == "uint32" else 0  # of squares, which are summed up as floats
    assert facts.deviation == pytest.approx(float(deviation), rel=1e-9, abs=lost)
    assert facts.zero_arcs == (weights == 0).sum()
    assert prepare(resident, many=20).mean_weight == pytest.approx(float(mean), rel=1e-9, abs=0)


class TestWidths:
    """Widths are in the type of the weights."""

    @of_floats
    def test_without_weight_there_is_no_width(self, device, kind):
        edges = grid_edges(14, 14)
        graph = floats(kind, "free", 14 * 14, edges, np.zeros(len(edges)), undirected=True)
        resident = ResidentGraph.upload(device, graph)
        for module in (push_pull, tiled):
            solver = module.Solver(resident, module.Parameters())
            assert solver.resolved["delta"] == 0
            proven(solver, resident, 3)

    def test_integers_take_rounded_ones_of_at_least_1(self, device):
        resident = ResidentGraph.upload(device, sample_graphs()["grid"])
        for given_delta, expected in ((0.2, 1), (2.6, 3), (7, 7), (1e30, 2**32 - 2)):
            solver = push_pull.Solver(resident, push_pull.Parameters(delta=given_delta))
            assert solver.resolved["delta"] == expected
