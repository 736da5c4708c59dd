"""PHAST: hierarchies cut into parts, and what is no map."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relaxometer.certify import SsspCertifier
from relaxometer.datasets.registry import RoadParameters
from relaxometer.datasets.roads import road_like
from relaxometer.graph import Graph
from relaxometer.resident import ResidentGraph
from relaxometer.sssp import _hierarchy
from relaxometer.sssp.phast import Parameters, Solver
from relaxometer.variants import Skipped
from sample_graphs import reference_distances

UNREACHED = 2**32 - 1


def directed_grid(side=24, seed=1):
    """A grid whose edges weigh differently either way, some of them one-way and some of them free."""
    rng = np.random.default_rng(seed)
    number = np.arange(side * side).reshape(side, side)
    tails = np.concatenate([number[:, :-1].ravel(), number[:-1].ravel()])
    heads = np.concatenate([number[:, 1:].ravel(), number[1:].ravel()])
    tails, heads = np.concatenate([tails, heads]), np.concatenate([heads, tails])
    kept = rng.random(len(tails)) < 0.9
    weights = rng.integers(0, 40, len(tails))
    return Graph.from_arcs("directed-grid", side * side, tails[kept], heads[kept], weights[kept])


def roads():
    return road_like(RoadParameters(rows=28, columns=33), seed=3)


@pytest.mark.parametrize("tasks", [1, 3, 20])
@pytest.mark.parametrize("make", [directed_grid, roads])
def test_distances_are_right_however_the_hierarchy_is_cut(device, make, tasks):
    graph = make()
    resident = ResidentGraph.upload(device, graph)
    solver, certifier = Solver(resident, Parameters(tasks=tasks)), SsspCertifier(resident)
    assert solver.resolved["top"] > 0
    assert solver.resolved["tasks"] == tasks
    for source in (0, 17, graph.n_vertices - 1):
        answer = solver.solve(source)
        np.testing.assert_array_equal(device.asnumpy(answer.distance), reference_distances(graph, source))
        certificate = certifier.check(source, answer.distance, answer.predecessor)
        assert certificate.holds, certificate.reason


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_a_hierarchy_keeps_every_distance(data):
    """Climbing and descending by the hierarchy alone, without a kernel, gives Dijkstra's distances."""
    n = data.draw(st.integers(1, 30))
    vertex = st.integers(0, n - 1)
    arcs = data.draw(st.lists(st.tuples(vertex, vertex, st.integers(0, 2**32 - 2)), max_size=70))
    columns = np.array(arcs, dtype=np.int64).reshape(-1, 3).T
    graph = Graph.from_arcs("drawn", n, *columns)
    hierarchy = _hierarchy.build(graph, data.draw(st.integers(1, 4)), 16.0)
    source = data.draw(vertex)
    expected = reference_distances(graph, source)
    np.testing.assert_array_equal(climbed_and_swept(hierarchy, source), expected)


def climbed_and_swept(hierarchy, source):
    """Search in plain Python, by the arrays that the kernel reads."""
    n = len(hierarchy.order)
    position = int(np.flatnonzero(hierarchy.order == source)[0])
    distance = np.full(n, UNREACHED, dtype=object)
    depth = hierarchy.depth
    path = [position]
    while depth[path[-1]]:
        path.append(int(hierarchy.jumps[0][path[-1]]))
    for k in range(1, len(path)):
        above = position
        for bit in range(k.bit_length()):
            if k >> bit & 1:
                above = int(hierarchy.jumps[bit][above])
        assert above == path[k]
    distance[position] = 0
    for a in path:
        for i in range(hierarchy.up_offsets[a], hierarchy.up_offsets[a + 1]):
            to, weight = hierarchy.up_arcs[i]
            b = path[depth[position] - to]
            distance[b] = min(distance[b], distance[a] + int(weight), UNREACHED)
    for task in range(len(hierarchy.task_begins) - 1):
        first = int(hierarchy.task_begins[task])
        sweep(hierarchy.outside, range(task, task + 1), first, distance, 0)
        levels = range(int(hierarchy.task_levels[task]), int(hierarchy.task_levels[task + 1]))
        sweep(hierarchy.inside, levels, first, distance, first)
    result = np.empty(n, dtype=np.uint32)
    result[hierarchy.order] = distance.astype(np.uint32)
    return result


def sweep(slices, groups, first, distance, first_of_tails):
    for group in groups:
        before = distance.copy()  # what a level needs is finished before it
        for begin, word in slices.table[slices.bounds[group] : slices.bounds[group + 1]].tolist():
            row, rows, lanes, arcs = word & 0xFFFF, (word >> 16 & 31) + 1, 1 << (word >> 21 & 7), word >> 24
            block = slices.arcs[32 * begin : 32 * (begin + arcs)].reshape(arcs, 32, 2)
            for k in range(32):
                owner = first + row + k // lanes
                for tail, weight in block[:, k].tolist():
                    if k // lanes >= rows:
                        assert weight == UNREACHED
                    elif weight != UNREACHED:
                        length = before[first_of_tails + tail] + weight
                        distance[owner] = min(distance[owner], length, UNREACHED)


def test_lengths_that_32_bits_do_not_hold_are_noticed(device):
    arcs = np.array([(0, 1, 2**31), (1, 2, 2**31 - 1), (2, 3, 1), (0, 3, 2**32 - 2)])
    solver = Solver(ResidentGraph.upload(device, Graph.from_arcs("long", 4, *arcs.T)), Parameters())
    answer = solver.solve(0)
    assert answer.overflowed
    assert device.asnumpy(answer.distance).tolist() == [0, 2**31, UNREACHED, 2**32 - 2]


def test_a_graph_that_is_no_map_is_skipped(device):
    rng = np.random.default_rng(4)
    graph = Graph.from_arcs("random", 1500, *rng.integers(0, 1500, (2, 6000)), np.ones(6000, dtype=int))
    with pytest.raises(Skipped, match="made for maps; the hierarchy would have more than fill = 4 arcs"):
        Solver(ResidentGraph.upload(device, graph), Parameters(fill=4))
