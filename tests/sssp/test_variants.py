"""Every SSSP variant on every sample graph, on every device."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from relaxometer.device import get_device
from relaxometer.graphs.graph import MAX_WEIGHT, Graph
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems.sssp import NO_PREDECESSOR, UNREACHED
from relaxometer.problems.sssp.certify import SsspCertifier
from relaxometer.problems.sssp.phase_synchronous.adaptive import PAPER_RATIO, best_thresholds, predicted_us
from relaxometer.problems.variants import Skipped, load_solver, solver_names
from sample_graphs import reference_distances, reference_phases, sample_graphs

VARIANTS = solver_names("sssp")
PHASE_SYNCHRONOUS = ["conventional", "selection", "adaptive"]


def make_solver(variant, resident, **parameters):
    module = load_solver("sssp", variant)
    try:
        return module.Solver(resident, module.Parameters(**parameters))
    except Skipped as reason:
        pytest.skip(str(reason))


def test_the_variants_of_the_adaptive_source_are_there():
    assert set(VARIANTS) >= {*PHASE_SYNCHRONOUS, "dijkstra-cpu"}


@pytest.mark.parametrize("graph", sample_graphs().values(), ids=lambda graph: graph.name)
@pytest.mark.parametrize("variant", VARIANTS)
def test_distances_are_right_and_certified(device, variant, graph):
    resident = ResidentGraph.upload(device, graph)
    solver = make_solver(variant, resident)
    certifier = SsspCertifier(resident)
    for source in {0, graph.n_vertices // 2, graph.n_vertices - 1}:
        answer = solver.solve(source)
        distance, predecessor = device.asarray(answer.distance), device.asarray(answer.predecessor)
        expected = reference_distances(graph, source)
        np.testing.assert_array_equal(device.asnumpy(distance), expected)
        unreached = device.asnumpy(predecessor) == NO_PREDECESSOR
        np.testing.assert_array_equal(unreached, expected == UNREACHED)
        certificate = certifier.check(source, distance, predecessor)
        assert certificate.holds, certificate.reason


@pytest.mark.parametrize("graph", sample_graphs().values(), ids=lambda graph: graph.name)
@pytest.mark.parametrize("variant", PHASE_SYNCHRONOUS)
def test_phases_are_those_of_a_phase_synchronous_search(device, variant, graph):
    solver = make_solver(variant, ResidentGraph.upload(device, graph))
    phases = []
    answer = solver.solve(0, phases)
    expected = reference_phases(graph, 0)
    assert [phase.updated for phase in phases] == expected
    assert answer.phases == len(expected)
    frontier_arcs = graph.degrees[0]
    assert phases[0].relaxed_arcs == frontier_arcs


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("variant", PHASE_SYNCHRONOUS)
def test_answers_do_not_depend_on_the_order_of_threads(variant, seed):
    graph = sample_graphs()["random-directed"]
    plain = make_solver(variant, ResidentGraph.upload(get_device("host"), graph)).solve(3)
    shuffled = ResidentGraph.upload(get_device("host", order_seed=seed), graph)
    answer = make_solver(variant, shuffled).solve(3)
    np.testing.assert_array_equal(answer.distance, plain.distance)
    np.testing.assert_array_equal(answer.predecessor, plain.predecessor)
    assert answer.phases == plain.phases


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_path_that_passes_32_bits_is_detected(device, variant):
    graph = Graph.from_arcs("too-far", 3, [0, 1], [1, 2], [MAX_WEIGHT, 1])
    answer = make_solver(variant, ResidentGraph.upload(device, graph)).solve(0)
    assert answer.overflowed
    assert device.asnumpy(device.asarray(answer.distance)).tolist() == [0, MAX_WEIGHT, 2**32 - 1]


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_detour_that_passes_32_bits_does_no_harm(device, variant):
    graph = Graph.from_arcs("detour", 3, [0, 1, 0], [1, 2, 2], [MAX_WEIGHT, 1, 5])
    answer = make_solver(variant, ResidentGraph.upload(device, graph)).solve(0)
    assert device.asnumpy(device.asarray(answer.distance)).tolist() == [0, MAX_WEIGHT, 5]


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_search_leaves_the_answer_before_alone(device, variant):
    graph = sample_graphs()["grid"]
    solver = make_solver(variant, ResidentGraph.upload(device, graph))
    first = solver.solve(0)
    kept = device.asnumpy(device.asarray(first.distance)).copy()
    for source in (5, 6, 7):
        solver.solve(source)
    np.testing.assert_array_equal(device.asnumpy(device.asarray(first.distance)), kept)


@pytest.mark.parametrize("variant", VARIANTS)
def test_each_answer_has_its_own_overflow(device, variant):
    """The first path from vertex 0 is too long, none from vertex 2 is."""
    graph = Graph.from_arcs("too-far", 4, [0, 1, 2], [1, 2, 3], [MAX_WEIGHT, 1, 1])
    solver = make_solver(variant, ResidentGraph.upload(device, graph))
    answers = [solver.solve(source) for source in (0, 2, 0, 2)]
    assert [answer.overflowed for answer in answers] == [True, False, True, False]


@st.composite
def small_graphs(draw):
    n = draw(st.integers(1, 20))
    vertex = st.integers(0, n - 1)
    arcs = draw(st.lists(st.tuples(vertex, vertex, st.integers(0, 12)), max_size=60))
    tails, heads, weights = zip(*arcs, strict=True) if arcs else ((), (), ())
    loops = draw(st.booleans())
    graph = Graph.from_arcs("drawn", n, tails, heads, weights, keep_self_loops=loops, keep_parallel=loops)
    return graph, draw(vertex)


@pytest.mark.parametrize("variant", VARIANTS)
@given(case=small_graphs())
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_small_graph(variant, case):
    graph, source = case
    resident = ResidentGraph.upload(get_device("host"), graph)
    parameters = {"to_all_us": 50.0} if variant.startswith("adaptive") else {}
    answer = make_solver(variant, resident, **parameters).solve(source)
    np.testing.assert_array_equal(answer.distance, reference_distances(graph, source))
    certificate = SsspCertifier(resident).check(source, answer.distance, answer.predecessor)
    assert certificate.holds, certificate.reason


class TestAdaptive:
    """The switch between the two ways to make threads."""

    @pytest.mark.parametrize(
        ("thresholds", "modes"),
        [
            ({"to_all_us": 1e12, "to_selected_us": 1.0}, {"selected"}),
            ({"to_all_us": 1e-3, "to_selected_us": 1e-6}, {"selected", "all"}),
        ],
    )
    def test_modes_follow_the_thresholds(self, host_device, thresholds, modes):
        resident = ResidentGraph.upload(host_device, sample_graphs()["grid"])
        phases = []
        make_solver("adaptive", resident, **thresholds).solve(0, phases)
        assert {phase.mode for phase in phases} == modes
        assert phases[0].mode == "selected"

    def test_the_list_is_rebuilt_on_the_way_back(self, host_device):
        graph = sample_graphs()["grid"]
        resident = ResidentGraph.upload(host_device, graph)
        phases = []
        solver = make_solver("adaptive", resident, to_all_us=1e-3, to_selected_us=1e12)
        answer = solver.solve(0, phases)
        modes = [phase.mode for phase in phases]
        assert modes[:4] == ["selected", "all", "selected", "all"]
        np.testing.assert_array_equal(answer.distance, reference_distances(graph, 0))

    def test_the_way_back_keeps_the_sources_ratio(self, host_device):
        resident = ResidentGraph.upload(host_device, sample_graphs()["grid"])
        solver = make_solver("adaptive", resident, to_all_us=350)
        assert solver.resolved == {"to_all_us": 350, "to_selected_us": 350 * PAPER_RATIO}
        assert pytest.approx(330) == 350 * PAPER_RATIO

    def test_tuning_prefers_the_cheaper_mode_of_each_stretch(self):
        selected = np.array([10.0] * 20 + [100.0] * 20 + [10.0] * 20)
        everything = np.array([30.0] * 20 + [50.0] * 20 + [30.0] * 20)
        high, low = best_thresholds(selected, everything)
        assert predicted_us(selected, everything, high, low) < 1.05 * (400 + 1000 + 400)

    def test_tuning_never_switches_where_selection_always_wins(self):
        selected, everything = np.full(50, 10.0), np.full(50, 11.0)
        high, low = best_thresholds(selected, everything)
        assert predicted_us(selected, everything, high, low) == pytest.approx(500)
