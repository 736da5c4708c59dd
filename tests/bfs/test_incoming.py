"""The arcs into each vertex: the graph's own where every arc has a reverse, else sorted."""

import numpy as np
import pytest

from relaxometer.graphs.graph import Graph
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems.bfs._incoming import incoming

N = 300


@pytest.mark.parametrize("removed", [0, 1])
def test_only_a_graph_whose_arcs_all_have_a_reverse_is_its_own_reverse(device, removed):
    tails, heads = np.random.default_rng(5).integers(0, N - 20, (2, 1500))
    both = Graph.from_arcs(
        "both", N, tails, heads, np.ones(1500, np.uint32), undirected=True, keep_self_loops=True
    )
    ends = both.tails[removed:], both.targets[removed:]
    graph = Graph.from_arcs("arcs", N, *ends, np.ones(len(ends[0]), np.uint32), keep_self_loops=True)
    resident = ResidentGraph.upload(device, graph)
    offsets, found = incoming(resident)
    assert (found is resident.targets) == (removed == 0)
    order = np.lexsort((graph.tails, graph.targets))
    assert np.array_equal(device.asnumpy(found), graph.tails[order])
    degrees = np.bincount(graph.targets, minlength=N)
    assert np.array_equal(np.diff(device.asnumpy(offsets)), degrees)
