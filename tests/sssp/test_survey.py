"""The variants of the survey: their parameters, orders, buckets and counts."""

import numpy as np
import pytest
from pydantic import ValidationError

from relaxometer.device import get_device
from relaxometer.graphs.graph import MAX_WEIGHT, Graph
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems.sssp import UNREACHED
from relaxometer.problems.sssp.certify import SsspCertifier
from relaxometer.problems.sssp.label_correcting.delta_stepping import Solver as DeltaStepping
from relaxometer.problems.variants import Skipped, load_solver
from sample_graphs import reference_distances, sample_graphs

ORDERS = ["fifo", "slf", "lll", "slf-lll"]


def solver_of(variant, resident, **parameters):
    module = load_solver("sssp", variant)
    return module.Solver(resident, module.Parameters(**parameters))


def prove(solver, resident, source, phases=None):
    """Search, and check the answer against a plain heap and its certificate."""
    device = resident.device
    answer = solver.solve(source, phases)
    distance, predecessor = device.asarray(answer.distance), device.asarray(answer.predecessor)
    np.testing.assert_array_equal(device.asnumpy(distance), reference_distances(resident.host, source))
    certificate = SsspCertifier(resident).check(source, distance, predecessor)
    assert certificate.holds, certificate.reason
    return answer


def reached_arcs(graph, source):
    """Arcs that leave reachable vertices; a label-setting search relaxes each of them once."""
    return graph.degrees[reference_distances(graph, source) != UNREACHED].sum()


def town(n=6000, seed=8):
    """A random graph with zero weights and enough vertices for several blocks."""
    rng = np.random.default_rng(seed)
    ends = rng.integers(0, n, (3 * n, 2))
    return Graph.from_arcs("town", n, ends[:, 0], ends[:, 1], rng.integers(0, 40, len(ends)))


class TestDijkstra:
    """One settled vertex per step."""

    @pytest.mark.parametrize("threads", [128, 256, 512, 1024])
    def test_any_block_size_settles_every_reached_vertex_once(self, device, threads):
        graph = sample_graphs()["random-directed"]
        resident = ResidentGraph.upload(device, graph)
        phases = []
        answer = prove(solver_of("dijkstra", resident, threads=threads), resident, 3, phases)
        assert answer.phases == (reference_distances(graph, 3) != UNREACHED).sum()
        assert [phase.relaxed_arcs for phase in phases] == [reached_arcs(graph, 3)]

    def test_several_blocks_agree_on_the_nearest_vertex(self, device):
        resident = ResidentGraph.upload(device, sample_graphs()["hub"])
        solver = solver_of("dijkstra", resident, threads=128)
        assert solver.resolved["blocks"] > 1
        prove(solver, resident, 5)

    def test_a_large_graph_is_skipped_with_the_reason(self, host_device):
        resident = ResidentGraph.upload(host_device, sample_graphs()["grid"])
        with pytest.raises(Skipped, match=r"713 vertices.*limit = 700"):
            solver_of("dijkstra", resident, limit=700)


class TestBellmanFordQueue:
    """A queue per block, and a common pool."""

    @pytest.mark.parametrize("order", ORDERS)
    @pytest.mark.parametrize(
        "sizes",
        [{}, {"blocks": 1}, {"blocks": 2, "keep": 0}, {"blocks": 3, "capacity": 32, "keep": 1}],
        ids=str,
    )
    @pytest.mark.parametrize("name", ["hub", "grid", "zero-weights", "random-directed"])
    def test_every_order_is_right_with_small_queues_and_few_blocks(self, device, name, sizes, order):
        resident = ResidentGraph.upload(device, sample_graphs()[name])
        solver = solver_of("bellman-ford-queue", resident, order=order, **sizes)
        prove(solver, resident, 0)
        prove(solver, resident, resident.n_vertices // 2)

    @pytest.mark.parametrize("seed", [1, 2, 3])
    @pytest.mark.parametrize("order", ORDERS)
    def test_the_order_of_threads_does_not_matter(self, order, seed):
        resident = ResidentGraph.upload(get_device("host", order_seed=seed), town())
        parameters = {"order": order, "capacity": 32, "keep": 0}
        prove(solver_of("bellman-ford-queue", resident, **parameters), resident, 0)

    def test_an_instrumented_search_counts_vertices_and_arcs(self, device):
        graph = sample_graphs()["hub"]
        phases = []
        resident = ResidentGraph.upload(device, graph)
        answer = prove(solver_of("bellman-ford-queue", resident), resident, 0, phases)
        assert answer.phases is None
        (phase,) = phases
        assert phase.mode == "fifo"
        assert phase.updated >= graph.n_vertices
        assert phase.relaxed_arcs >= graph.n_arcs

    def test_a_chain_takes_each_vertex_once(self, host_device):
        """On a chain the queue never holds more than one vertex."""
        n = 50
        graph = Graph.from_arcs("chain", n, np.arange(n - 1), np.arange(1, n), np.ones(n - 1, dtype=int))
        phases = []
        resident = ResidentGraph.upload(host_device, graph)
        prove(solver_of("bellman-ford-queue", resident, blocks=1), resident, 0, phases)
        assert (phases[0].updated, phases[0].relaxed_arcs) == (n, n - 1)

    @pytest.mark.parametrize(
        ("order", "taken"), [("fifo", 1203), ("slf", 1113), ("lll", 603), ("slf-lll", 603)]
    )
    def test_the_order_decides_how_often_vertices_are_taken(self, host_device, order, taken):
        """Vertices 2 to 601 are at distance 1000, but 3 via 1 and 602; a batch is 256 vertices.

        First in, first out: 602 is taken with the last of the 600, and all of them are taken again. Small
        label first: 602 is at the front of the second batch, so only the 510 vertices of the first two are
        taken again. Large label last: none of the 600 is taken before 602.
        """
        far = np.arange(2, 602)
        tails = [0, *[0] * 600, 1, *[602] * 600]
        heads = [1, *far, 602, *far]
        graph = Graph.from_arcs("two-ways", 603, tails, heads, [1, *[1000] * 600, 1, *[1] * 600])
        phases = []
        resident = ResidentGraph.upload(host_device, graph)
        prove(solver_of("bellman-ford-queue", resident, order=order, blocks=1), resident, 0, phases)
        assert phases[0].updated == taken

    @pytest.mark.parametrize("capacity", [16, 100, 8192])
    def test_a_capacity_that_is_not_a_power_of_two_in_range_is_refused(self, capacity):
        with pytest.raises(ValidationError, match="capacity"):
            load_solver("sssp", "bellman-ford-queue").Parameters(capacity=capacity)

    def test_overflow_is_flagged_by_every_block(self, device):
        graph = Graph.from_arcs("too-far", 3, [0, 1], [1, 2], [MAX_WEIGHT, 1])
        resident = ResidentGraph.upload(device, graph)
        solver = solver_of("bellman-ford-queue", resident, keep=0)
        assert solver.solve(0).overflowed
        assert not solver.solve(1).overflowed


class TestDeltaStepping:
    """Buckets, and light arcs before heavy ones."""

    @pytest.mark.parametrize("delta", ["median", "mean", "max-over-degree", 1, 7, 10**6])
    @pytest.mark.parametrize("name", ["hub", "grid", "zero-weights", "random-directed", "heavy"])
    def test_every_width_is_right(self, device, name, delta):
        resident = ResidentGraph.upload(device, sample_graphs()[name])
        solver = solver_of("delta-stepping", resident, delta=delta)
        prove(solver, resident, 0)
        prove(solver, resident, resident.n_vertices // 2)

    @pytest.mark.parametrize("seed", [0, 1, 2])
    def test_answers_do_not_depend_on_the_order_of_threads(self, seed):
        graph = town()
        plain = prove_on(get_device("host"), graph)
        shuffled = prove_on(get_device("host", order_seed=seed), graph)
        np.testing.assert_array_equal(shuffled.predecessor, plain.predecessor)
        assert shuffled.phases == plain.phases

    @pytest.mark.parametrize(
        ("delta", "width"), [("median", 6), ("mean", 33), ("max-over-degree", 50), (9, 9)]
    )
    def test_the_width_follows_its_rule(self, device, delta, width):
        graph = Graph.from_arcs("few", 4, [0, 0, 1, 2, 3], [1, 2, 2, 3, 0], [2, 3, 6, 53, 100])
        solver = solver_of("delta-stepping", ResidentGraph.upload(device, graph), delta=delta)
        assert solver.resolved["delta"] == width
        assert solver.resolved["delta_rule"] == (delta if isinstance(delta, str) else "given")

    def test_light_arcs_come_first_and_no_arc_is_lost(self, device):
        graph = sample_graphs()["random-directed"]
        solver = DeltaStepping(
            ResidentGraph.upload(device, graph), load_solver("sssp", "delta-stepping").Parameters(delta=20)
        )
        targets, weights, light_end = map(device.asnumpy, solver._split())
        for v in range(graph.n_vertices):
            own = slice(graph.offsets[v], graph.offsets[v + 1])
            light = light_end[v] - graph.offsets[v]
            assert (weights[own][:light] <= 20).all()
            assert (weights[own][light:] > 20).all()
            before = sorted(zip(graph.targets[own], graph.weights[own], strict=True))
            assert sorted(zip(targets[own], weights[own], strict=True)) == before

    def test_phases_of_a_small_search(self, device):
        """Delta 10: bucket 0 holds vertices 0 and 1, bucket 1 the others."""
        graph = Graph.from_arcs("steps", 4, [0, 1, 0, 1, 2], [1, 2, 3, 3, 3], [4, 8, 30, 11, 2])
        resident = ResidentGraph.upload(device, graph)
        phases = []
        answer = prove(solver_of("delta-stepping", resident, delta=10), resident, 0, phases)
        seen = [(phase.mode, phase.updated, phase.relaxed_arcs) for phase in phases]
        assert seen == [("light", 1, 1), ("light", 1, 1), ("heavy", 1, 2), ("light", 1, 1)]
        assert answer.phases == len(phases)

    def test_an_instrumented_search_gives_the_same_answer(self, device):
        resident = ResidentGraph.upload(device, sample_graphs()["grid"])
        solver = solver_of("delta-stepping", resident)
        plain, phases = solver.solve(7), []
        instrumented = prove(solver, resident, 7, phases)
        np.testing.assert_array_equal(
            device.asnumpy(instrumented.predecessor), device.asnumpy(plain.predecessor)
        )
        assert instrumented.phases == plain.phases == len(phases)
        assert sum(phase.relaxed_arcs for phase in phases) >= reached_arcs(resident.host, 7)

    def test_wide_buckets_relax_more_in_fewer_phases(self, host_device):
        resident = ResidentGraph.upload(host_device, sample_graphs()["grid"])
        narrow, wide = [], []
        solver_of("delta-stepping", resident, delta=10).solve(0, narrow)
        solver_of("delta-stepping", resident, delta=10**6).solve(0, wide)
        assert len(wide) < len(narrow)
        assert sum(phase.relaxed_arcs for phase in wide) > sum(phase.relaxed_arcs for phase in narrow)


def prove_on(device, graph):
    resident = ResidentGraph.upload(device, graph)
    return prove(solver_of("delta-stepping", resident), resident, 0)
