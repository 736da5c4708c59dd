"""push-pull and tiled on weights of float types: thresholds in rounded sums, widths, preparation.

Certificates prove the answers: they hold for the least rounded sums only.
"""

import numpy as np
import pytest

from relaxometer.graphs.graph import Graph
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems.sssp import _maps
from relaxometer.problems.sssp.push_pull import push_pull
from relaxometer.problems.sssp.push_pull._prepare import prepare
from relaxometer.problems.sssp.tiled import tiled
from relaxometer.problems.sssp.tiled._device_tiles import Cutter
from sample_graphs import FLOATS, grid_edges, sample_graphs
from sssp.searches import proven

of_floats = pytest.mark.parametrize("kind", FLOATS.values(), ids=FLOATS)


def floats(kind, name, n, arcs, weights, **options):
    return Graph.from_arcs(name, n, *np.transpose(arcs), weights, weight_type=kind.name, **options)


def street_grid(kind, weights_of, side=14):
    """A street grid with weights by a function of a random generator and their number."""
    edges = grid_edges(side, side)
    weights = weights_of(np.random.default_rng(4), len(edges), kind)
    name = f"grid-{weights_of.__name__}-{kind.name}"
    return floats(kind, name, side * side, edges, weights, undirected=True)


def tenths(rng, count, kind):
    return 0.1 * rng.integers(0, 60, count)


def vanishing(rng, count, kind):
    """Most are below half a unit in the last place of the others, some just at it."""
    return rng.choice([0.0, 0.5, 1.0, 1.0, 3.0, kind.one_lost, kind.one_lost + 2], count)


def subnormal(rng, count, kind):
    return rng.integers(0, 9, count) * kind.tiny


def heavy_tailed(rng, count, kind):
    return 2.0 ** rng.uniform(-60, 60, count)


GRIDS = [
    street_grid(kind, weights)
    for kind in FLOATS.values()
    for weights in (tenths, vanishing, subnormal, heavy_tailed)
]


def exactly(value):
    """A value but for rounding, however small."""
    return pytest.approx(value, rel=1e-9, abs=0)


def solvers(resident):
    for delta in (1e-30, 1.0, 3e38):
        for beta in (1e-9, 1e9):
            yield push_pull.Solver(resident, push_pull.Parameters(delta=delta, beta=beta))
        for leash in ("none", delta):
            yield tiled.Solver(resident, tiled.Parameters(tiles=2, delta=delta, leash=leash))


@of_floats
def test_a_threshold_advances_by_less_than_a_unit_in_the_last_place(device, kind):
    """From 2**bits on, an arc of weight 1 leaves a length as it is; so does a width of 1."""
    lost = kind.one_lost
    chain = np.stack([np.arange(29), np.arange(1, 30)], axis=1)
    graph = floats(kind, "chain", 30, chain, [lost, *[1.0] * 14, lost, *[3.0] * 13], undirected=True)
    resident = ResidentGraph.upload(device, graph)
    expected = [0, *[lost] * 15, *(2 * lost + 4 * np.arange(14))]
    for solver in solvers(resident):
        assert device.asnumpy(proven(solver, resident, 0).distance).tolist() == expected
        proven(solver, resident, 29)


@of_floats
def test_lengths_up_to_the_largest_float_are_found_and_longer_ones_flagged(device, kind):
    """Thresholds beyond the largest float are infinite."""
    largest = kind.largest
    half, below = largest / 2, kind.next_to(largest, 0)
    far = [(0, 1), (1, 2), (0, 3), (3, 4)], [half, half, below, 1.0]
    too_far = [(0, 1), (1, 2), (2, 3), (2, 4)], [largest, largest / 4, 1.0, 0.0]
    for arcs, expected in ((far, [half, largest, below, below]), (too_far, [largest, *[np.inf] * 3])):
        resident = ResidentGraph.upload(device, floats(kind, "far", 5, *arcs))
        for solver in solvers(resident):
            answer = proven(solver, resident, 0)
            assert device.asnumpy(answer.distance).tolist() == [0, *expected]
            assert answer.overflowed == (arcs is too_far)


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


class TestWidths:
    """Widths are in the type of the weights, and follow from their mean."""

    @pytest.mark.parametrize("graph", GRIDS, ids=lambda graph: graph.name)
    def test_the_mean_is_that_of_the_floats(self, device, graph):
        resident = ResidentGraph.upload(device, graph)
        weights = graph.weights.astype(np.longdouble)
        mean, deviation = (exactly(float(value)) for value in (weights.mean(), weights.std()))
        facts = Cutter(resident, 5).facts()
        assert (facts.mean, facts.deviation) == (mean, deviation)
        assert facts.zero_arcs == (weights == 0).sum()
        assert prepare(resident, many=20).mean_weight == mean

    @pytest.mark.parametrize("in_shared", [True, False], ids=["shared", "global"])
    @pytest.mark.parametrize("spread", [1, 20])
    def test_the_leash_does_not_depend_on_the_unit(self, device, monkeypatch, spread, in_shared):
        """Squares of the weights are 0 or infinite, and both leashes occur."""
        if not in_shared:
            monkeypatch.setattr(tiled, "_bytes_in_shared", lambda *_: _maps.SHARED_BYTES + 1)
        found = []
        for unit in (1.0, 2.0**-600, 2.0**900):

            def weights(rng, count, _, unit=unit):
                return unit * 2.0 ** rng.uniform(-spread, spread, count)

            resident = ResidentGraph.upload(device, street_grid(FLOATS["float64"], weights))
            chosen = tiled.Solver(resident, tiled.Parameters(tiles=8, leash="auto")).resolved
            leash = chosen["leash"]
            found.append((chosen["delta"] / unit, np.inf if leash == "none" else leash / unit))
        assert found[1:] == [pytest.approx(found[0], rel=1e-12)] * 2
        assert (found[0][1] == np.inf) == (in_shared and spread == 1)

    @of_floats
    def test_statistics_whose_sums_are_infinite(self, device, kind):
        graph = floats(kind, "far", 3, [(0, 1), (1, 2)], [kind.largest, kind.largest / 2])
        resident = ResidentGraph.upload(device, graph)
        facts, quarter = Cutter(resident, 2).facts(), kind.largest / 4
        assert (facts.mean, facts.deviation) == pytest.approx((3 * quarter, quarter), rel=1e-12)
        assert prepare(resident, many=20).mean_weight == pytest.approx(3 * quarter)

    @of_floats
    def test_without_weight_there_is_no_width(self, device, kind):
        resident = ResidentGraph.upload(device, street_grid(kind, lambda rng, count, _: np.zeros(count)))
        for module in (push_pull, tiled):
            solver = module.Solver(resident, module.Parameters())
            assert solver.resolved["delta"] == 0
            proven(solver, resident, 3)

    def test_integers_take_rounded_ones_of_at_least_1(self, device):
        resident = ResidentGraph.upload(device, sample_graphs()["grid"])
        for given_delta, expected in ((0.2, 1), (2.6, 3), (7, 7), (1e30, 2**32 - 2)):
            solver = push_pull.Solver(resident, push_pull.Parameters(delta=given_delta))
            assert solver.resolved["delta"] == expected
