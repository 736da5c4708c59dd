"""The variants of the survey: their parameters, orders, buckets and counts."""

import numpy as np
import pytest
from pydantic import ValidationError

from relaxometer.graphs.graph import Graph
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems.sssp import UNREACHED
from relaxometer.problems.variants import Skipped, load_solver
from sample_graphs import reference_distances, sample_graphs
from sssp.searches import graph_of, solved


def reached_arcs(graph, source):
    """Arcs that leave reachable vertices; a label-setting search relaxes each of them once."""
    return graph.degrees[reference_distances(graph, source) != UNREACHED].sum()


class TestDijkstra:
    """One settled vertex per step."""

    def test_every_reached_vertex_is_settled_once_by_several_blocks(self, device):
        graph, phases = sample_graphs()["hub"], []
        solver, answer = solved(device, "dijkstra", graph, 5, phases=phases, threads=128)
        assert solver.resolved["blocks"] > 1
        assert answer.phases == graph.n_vertices
        assert [phase.relaxed_arcs for phase in phases] == [reached_arcs(graph, 5)]

    def test_a_large_graph_is_skipped_with_the_reason(self, host_device):
        resident = ResidentGraph.upload(host_device, sample_graphs()["grid"])
        module = load_solver("sssp", "dijkstra")
        with pytest.raises(Skipped, match=r"713 vertices.*limit = 700"):
            module.Solver(resident, module.Parameters(limit=700))


class TestBellmanFordQueue:
    """A queue per block, and a common pool."""

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
        solved(host_device, "bellman-ford-queue", graph, 0, phases=phases, order=order, blocks=1)
        assert phases[0].updated == taken

    @pytest.mark.parametrize("capacity", [16, 100, 8192])
    def test_a_capacity_that_is_not_a_power_of_two_in_range_is_refused(self, capacity):
        with pytest.raises(ValidationError, match="capacity"):
            load_solver("sssp", "bellman-ford-queue").Parameters(capacity=capacity)


class TestDeltaStepping:
    """Buckets, and light arcs before heavy ones."""

    @pytest.mark.parametrize(
        ("delta", "width"), [("median", 6), ("mean", 33), ("max-over-degree", 50), (9, 9), (0.2, 1), (3.4, 3)]
    )
    def test_the_width_follows_its_rule(self, device, delta, width):
        graph = Graph.from_arcs("few", 4, [0, 0, 1, 2, 3], [1, 2, 2, 3, 0], [2, 3, 6, 53, 100])
        solver, _ = solved(device, "delta-stepping", graph, 0, delta=delta)
        assert solver.resolved["delta"] == width
        assert isinstance(solver.resolved["delta"], int)
        assert solver.resolved["delta_rule"] == (delta if isinstance(delta, str) else "given")

    def test_widths_of_floats_are_not_rounded(self, device):
        graph = graph_of("float32", 3, [0, 0, 1], [1, 2, 2], [0.25, 0.5, 1.5])
        for delta, width in (("median", 0.5), ("mean", 0.75), ("max-over-degree", 0.75), (0.125, 0.125)):
            assert solved(device, "delta-stepping", graph, 0, delta=delta)[0].resolved["delta"] == width

    @pytest.mark.parametrize("kind", ["float32", "float64"])
    def test_heavy_arcs_that_lead_back_into_their_bucket_are_followed_again(self, device, kind):
        # The last of 2**32 buckets of width 2**-4 begins below 2**28, so all but the source are in it. 1
        # comes nearer when the heavy arcs of the bucket are followed, one from 2 and its own.
        weights, phases = [2.0**28 + 128, 2.0**28, 64.0, 32.0], []
        graph = graph_of(kind, 4, [0, 0, 2, 1], [1, 2, 1, 3], weights)
        _, answer = solved(device, "delta-stepping", graph, 0, phases=phases, delta=2.0**-4)
        assert len(phases) == answer.phases

    def test_a_vertex_that_waits_offers_nothing_along_its_heavy_arcs(self, device):
        """Else 2 and 6, one arc of no effect apart, could become each other's predecessor.

        All but the source are in the last bucket. In the emulation, a thread has the requests 0, 256 and 512
        of a phase, the next one those one further: 4 lowers 6, which then lowers 2, before 2 offers 6 the
        same distance, with a smaller predecessor.
        """
        near, far = 2.0**28, 2.0**28 + 256
        tails = [*[0] * 6, 1, 2, *[3] * 254, 4, *[5] * 255, 6]
        heads = [*range(1, 7), 0, 6, *[0] * 254, 6, *[0] * 255, 2]
        weights = [near, far, near, near, near, far, *[1.0] * (len(tails) - 6)]
        graph = graph_of("float32", 7, tails, heads, weights)
        _, answer = solved(device, "delta-stepping", graph, 0, delta=2.0**-4)
        assert device.asnumpy(answer.predecessor)[[2, 6]].tolist() == [6, 4]

    def test_phases_of_a_small_search(self, device):
        """Delta 10: bucket 0 holds vertices 0 and 1, bucket 1 the others."""
        graph = Graph.from_arcs("steps", 4, [0, 1, 0, 1, 2], [1, 2, 3, 3, 3], [4, 8, 30, 11, 2])
        phases = []
        _, answer = solved(device, "delta-stepping", graph, 0, phases=phases, delta=10)
        seen = [(phase.mode, phase.updated, phase.relaxed_arcs) for phase in phases]
        assert seen == [("light", 1, 1), ("light", 1, 1), ("heavy", 1, 2), ("light", 1, 1)]
        assert answer.phases == len(phases)
