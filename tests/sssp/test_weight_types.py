"""Variants and certificate on graphs whose weights are not uint32."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from relaxometer.device import get_device
from relaxometer.graphs.graph import Graph
from relaxometer.graphs.lengths import unreached
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems.sssp import NO_PREDECESSOR
from relaxometer.problems.sssp.certify import SsspCertifier
from relaxometer.problems.variants import Skipped, load_solver, solver_names
from sample_graphs import FLOATS, as_floats, least_sums, sample_graphs

TAKES_FLOATS = [
    (name, kind)
    for kind in FLOATS
    for name in solver_names("sssp")
    if kind in getattr(load_solver("sssp", name).Solver, "weight_types", ())
]
"""Variants with a type of floats that they take."""

of_floats = pytest.mark.parametrize("kind", FLOATS.values(), ids=FLOATS)


def test_the_variants_that_take_floats():
    taken = {kind: {name for name, its in TAKES_FLOATS if its == kind} for kind in FLOATS}
    assert taken["float32"] == taken["float64"] | {"dijkstra"}
    assert len(taken["float64"]) == 14
    assert all(unreached(kind.number) == np.inf for kind in FLOATS.values())


def solve(device, variant, graph, source):
    resident = ResidentGraph.upload(device, graph)
    module = load_solver("sssp", variant)
    try:
        answer = module.Solver(resident, module.Parameters()).solve(source)
    except Skipped as reason:
        pytest.skip(str(reason))
    columns = device.asarray(answer.distance), device.asarray(answer.predecessor)
    return answer, *columns, SsspCertifier(resident).check(source, *columns)


@pytest.mark.parametrize("graph", sample_graphs().values(), ids=lambda graph: graph.name)
@pytest.mark.parametrize(("variant", "kind"), TAKES_FLOATS)
def test_floats_are_summed_to_the_least_rounded_sums(device, variant, kind, graph):
    graph = as_floats(graph, kind)
    for source in {0, graph.n_vertices - 1}:
        _, distance, predecessor, certificate = solve(device, variant, graph, source)
        expected = least_sums(graph, source)
        np.testing.assert_array_equal(device.asnumpy(distance), expected)
        assert distance.dtype == np.dtype(kind)
        np.testing.assert_array_equal(device.asnumpy(predecessor) == NO_PREDECESSOR, expected == np.inf)
        assert certificate.holds, certificate.reason


def special_weights(kind):
    """Weights that sums round, lose, or keep."""
    lost = kind.one_lost
    return [
        0.0,
        kind.tiny,
        3 * kind.tiny,
        float(np.finfo(kind.number).smallest_normal),
        1.0,
        lost,
        lost + 2,
        1e30,
    ]


@st.composite
def small_graphs(draw, kind):
    n = draw(st.integers(1, 12))
    vertex = st.integers(0, n - 1)
    ordinary = st.floats(0, 2**30, width=8 * np.dtype(kind.name).itemsize)
    weight = st.one_of(st.sampled_from(special_weights(kind)), ordinary)
    arcs = draw(st.lists(st.tuples(vertex, vertex, weight), max_size=40))
    tails, heads, weights = zip(*arcs, strict=True) if arcs else ((), (), ())
    return Graph.from_arcs("drawn", n, tails, heads, weights, weight_type=kind.name), draw(vertex)


@pytest.mark.parametrize(("variant", "kind"), TAKES_FLOATS)
@given(data=st.data())
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_weights_of_very_different_size(variant, kind, data):
    """Small weights vanish in large lengths, and zero-length cycles appear where no weight is zero."""
    graph, source = data.draw(small_graphs(FLOATS[kind]))
    _, distance, _, certificate = solve(get_device("host"), variant, graph, source)
    np.testing.assert_array_equal(distance, least_sums(graph, source))
    assert certificate.holds, certificate.reason


def thousand_graphs(kind):
    """1,000 random graphs of up to 12 vertices; arcs of weight 0 lead from vertex 0 to a source in each."""
    rng = np.random.default_rng(3)
    tails, heads, weights, n = [], [], [], 1
    for _ in range(1000):
        size, arcs = rng.integers(1, 13), rng.integers(0, 41)
        tails += [0, *(n + rng.integers(size, size=arcs))]
        heads += [n + rng.integers(size), *(n + rng.integers(size, size=arcs))]
        special = rng.choice(special_weights(kind), arcs)
        weights += [0.0, *np.where(rng.random(arcs) < 0.5, special, rng.uniform(0, 2.0**30, arcs))]
        n += int(size)
    kept = {"keep_self_loops": True, "keep_parallel": True}
    return Graph.from_arcs("thousand", n, tails, heads, weights, weight_type=kind.name, **kept)


THOUSANDS = {name: thousand_graphs(kind) for name, kind in FLOATS.items()}
EXPECTED = {name: least_sums(graph, 0) for name, graph in THOUSANDS.items()}


@pytest.mark.parametrize(("variant", "kind"), TAKES_FLOATS)
def test_a_thousand_random_graphs(device, variant, kind):
    answer, distance, _, certificate = solve(device, variant, THOUSANDS[kind], 0)
    np.testing.assert_array_equal(device.asnumpy(distance), EXPECTED[kind])
    assert certificate.holds, certificate.reason
    assert not answer.overflowed


@pytest.mark.parametrize(("variant", "kind"), TAKES_FLOATS)
def test_a_length_beyond_the_largest_float_is_an_overflow(device, variant, kind):
    largest = FLOATS[kind].largest
    graph = Graph.from_arcs("too-far", 3, [0, 1], [1, 2], [largest, largest], weight_type=kind)
    answer, distance, _, certificate = solve(device, variant, graph, 0)
    assert answer.overflowed
    assert device.asnumpy(distance).tolist() == [0, largest, np.inf]
    assert certificate.violations["left_out"] == 1


class TestCertificate:
    """It tells the least rounded sums from everything else, to the last bit."""

    @pytest.fixture(params=FLOATS)
    def answer(self, device, request):
        graph = as_floats(sample_graphs()["grid"], request.param)
        _, distance, predecessor, certificate = solve(device, "conventional", graph, 0)
        assert certificate.holds
        return graph, device.asnumpy(distance).copy(), device.asnumpy(predecessor).copy()

    @staticmethod
    def broken(device, graph, distance, predecessor):
        certifier = SsspCertifier(ResidentGraph.upload(device, graph))
        found = certifier.check(0, device.asarray(distance), device.asarray(predecessor))
        return {rule for rule, count in found.violations.items() if count}

    @pytest.mark.parametrize("towards", [0, np.inf])
    def test_the_next_float_is_wrong(self, device, answer, towards):
        graph, distance, predecessor = answer
        furthest = int(distance.argmax())
        distance[furthest] = np.nextafter(distance[furthest], distance.dtype.type(towards))
        assert "predecessor" in self.broken(device, graph, distance, predecessor)

    def test_nan_is_wrong(self, device, answer):
        graph, distance, predecessor = answer
        distance[5] = np.nan
        assert self.broken(device, graph, distance, predecessor)

    def test_a_negative_zero_is_wrong(self, device, answer):
        graph, distance, predecessor = answer
        distance[0] = -0.0
        assert "source" in self.broken(device, graph, distance, predecessor)

    @of_floats
    def test_a_cycle_of_vanishing_weights_is_no_tree(self, device, kind):
        """1 and 2 are as far as each other, since their arcs are too light to change the first length."""
        arcs = [0, 1, 2], [1, 2, 1], [kind.one_lost, 0.5, 0.5]
        graph = Graph.from_arcs("vanishing", 3, *arcs, weight_type=kind.name)
        distance = np.array([0, kind.one_lost, kind.one_lost], dtype=kind.number)
        assert not self.broken(device, graph, distance, np.uint32([0, 0, 1]))
        assert self.broken(device, graph, distance, np.uint32([0, 2, 1])) == {"tree"}

    @pytest.mark.parametrize("bit", range(64))
    def test_every_bit_of_a_double_counts(self, device, bit):
        graph = as_floats(sample_graphs()["grid"], "float64")
        distance = least_sums(graph, 0)
        answer = solve(device, "dijkstra-cpu", graph, 0)[0]
        words = distance.view(np.uint64)
        words[350] ^= np.uint64(1 << bit)
        assert self.broken(device, graph, distance, answer.predecessor)
