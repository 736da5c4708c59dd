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
from sample_graphs import as_floats, least_sums, sample_graphs

TAKES_FLOATS = [
    name
    for name in solver_names("sssp")
    if "float32" in getattr(load_solver("sssp", name).Solver, "weight_types", ())
]
INFINITE = unreached(np.float32)


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
@pytest.mark.parametrize("variant", TAKES_FLOATS)
def test_floats_are_summed_to_the_least_rounded_sums(device, variant, graph):
    graph = as_floats(graph)
    for source in {0, graph.n_vertices - 1}:
        _, distance, predecessor, certificate = solve(device, variant, graph, source)
        expected = least_sums(graph, source)
        np.testing.assert_array_equal(device.asnumpy(distance), expected)
        assert distance.dtype == np.float32
        np.testing.assert_array_equal(device.asnumpy(predecessor) == NO_PREDECESSOR, expected == INFINITE)
        assert certificate.holds, certificate.reason


WEIGHTS = st.one_of(
    st.sampled_from([0.0, 1e-45, 2.0**-149 * 3, 1e-38, 1.0, 2.0**24, 2.0**24 + 2, 1e30]),
    st.floats(0, 2**30, width=32),
)


@st.composite
def small_graphs(draw):
    n = draw(st.integers(1, 12))
    vertex = st.integers(0, n - 1)
    arcs = draw(st.lists(st.tuples(vertex, vertex, WEIGHTS), max_size=40))
    tails, heads, weights = zip(*arcs, strict=True) if arcs else ((), (), ())
    return Graph.from_arcs("drawn", n, tails, heads, weights, weight_type="float32"), draw(vertex)


@pytest.mark.parametrize("variant", TAKES_FLOATS)
@given(case=small_graphs())
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_weights_of_very_different_size(variant, case):
    """Small weights vanish in large lengths, and zero-length cycles appear where no weight is zero."""
    graph, source = case
    _, distance, _, certificate = solve(get_device("host"), variant, graph, source)
    np.testing.assert_array_equal(distance, least_sums(graph, source))
    assert certificate.holds, certificate.reason


@pytest.mark.parametrize("variant", TAKES_FLOATS)
def test_a_length_beyond_the_largest_float_is_an_overflow(device, variant):
    largest = float(np.finfo(np.float32).max)
    graph = Graph.from_arcs("too-far", 3, [0, 1], [1, 2], [largest, largest], weight_type="float32")
    answer, distance, _, certificate = solve(device, variant, graph, 0)
    assert answer.overflowed
    assert device.asnumpy(distance).tolist() == [0, largest, INFINITE]
    assert certificate.violations["left_out"] == 1


class TestCertificate:
    """It tells the least rounded sums from everything else, to the last bit."""

    @pytest.fixture
    def answer(self, device):
        graph = as_floats(sample_graphs()["grid"])
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
        distance[furthest] = np.nextafter(distance[furthest], np.float32(towards))
        assert "predecessor" in self.broken(device, graph, distance, predecessor)

    def test_nan_is_wrong(self, device, answer):
        graph, distance, predecessor = answer
        distance[5] = np.nan
        assert self.broken(device, graph, distance, predecessor)

    def test_a_negative_zero_is_wrong(self, device, answer):
        graph, distance, predecessor = answer
        distance[0] = -0.0
        assert "source" in self.broken(device, graph, distance, predecessor)

    def test_a_cycle_of_vanishing_weights_is_no_tree(self, device):
        """1 and 2 are as far as each other, since their arcs are too light to change 2**24."""
        arcs = [0, 1, 2], [1, 2, 1], [2.0**24, 0.5, 0.5]
        graph = Graph.from_arcs("vanishing", 3, *arcs, weight_type="float32")
        distance = np.float32([0, 2**24, 2**24])
        assert not self.broken(device, graph, distance, np.uint32([0, 0, 1]))
        assert self.broken(device, graph, distance, np.uint32([0, 2, 1])) == {"tree"}
