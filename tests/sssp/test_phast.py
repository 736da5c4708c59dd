"""PHAST: hierarchies cut into parts, and graphs that are not maps."""

import numpy as np
import pytest

from relaxometer.datasets.formats.generated import RoadParameters
from relaxometer.datasets.generators.roads import road_like
from relaxometer.graphs.graph import Graph
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems.sssp import _maps
from relaxometer.problems.sssp.phast import _cch, _hierarchy, _ranges, _slices
from relaxometer.problems.sssp.phast.phast import Parameters, Solver
from relaxometer.problems.variants import Skipped
from sample_graphs import reference_distances
from sssp.searches import proven, solved

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


CLIQUE = 50 * _slices.AHEAD


def clique_among_islands(side=CLIQUE, seed=2):
    """Rows longer than what a warp reads ahead; vertices without arcs, so that the mean is that of a map."""
    rng = np.random.default_rng(seed)
    tails, heads = np.divmod(np.arange(side * side), side)
    arcs = tails != heads
    n = side * side // 6
    members = rng.permutation(n)[:side]
    weights = rng.integers(1000, 2000, side * side)  # no detour is as short as an arc
    return Graph.from_arcs("clique", n, members[tails[arcs]], members[heads[arcs]], weights[arcs])


def archipelago():
    """Grids and many pairs that no path joins, and vertices of their own: a forest of elimination trees.

    The pairs make a level wider than all warps of a block take at once.
    """
    pairs = Graph.from_arcs("pairs", 2400, np.arange(0, 2400, 2), np.arange(1, 2400, 2), np.arange(1200))
    parts = [*(directed_grid(side, seed) for side, seed in ((9, 1), (14, 2), (5, 3))), pairs]
    first = np.cumsum([0, *(part.n_vertices + 7 for part in parts)])
    tails = np.concatenate([part.tails + begin for part, begin in zip(parts, first, strict=False)])
    heads = np.concatenate([part.targets + begin for part, begin in zip(parts, first, strict=False)])
    weights = np.concatenate([part.weights for part in parts])
    return Graph.from_arcs("archipelago", int(first[-1]), tails, heads, weights)


def built(graph, tasks, middle=()):
    with _ranges.threads() as pool:
        return _hierarchy.lay_out(_cch.number(graph, 16.0, pool), tasks, middle, pool)


@pytest.mark.parametrize(("tasks", "middle"), [(1, 0), (20, 0), (20, 3), (4, 9)])
@pytest.mark.parametrize("make", [directed_grid, roads, clique_among_islands, archipelago])
def test_distances_are_right_however_the_hierarchy_is_cut(device, make, tasks, middle):
    graph = make()
    resident = ResidentGraph.upload(device, graph)
    solver = Solver(resident, Parameters(tasks=tasks, middle=middle))
    assert solver.resolved["top"] > 0 or tasks == 1
    assert solver.resolved["tasks"] == tasks
    hierarchy = built(graph, tasks)
    of_most_arcs = np.argmax(np.diff(hierarchy.cch.offsets))
    of_top, of_most_arcs = hierarchy.cch.order[[hierarchy.ranks[0], of_most_arcs]].tolist()
    for source in (0, graph.n_vertices - 9, of_top, of_most_arcs):
        proven(solver, resident, source)


def test_long_rows_take_several_arcs_a_lane_beyond_those_read_ahead():
    hierarchy = built(clique_among_islands(), 1)
    assert (hierarchy.outside.table[:, 1] >> 24).max() > _slices.AHEAD
    assert np.diff(hierarchy.cch.offsets).max() > 32 * _slices.AHEAD


@pytest.mark.parametrize("there_and_back", [(256, 0), (128, 128)])
def test_many_parallel_arcs_are_one_edge(device, there_and_back):
    there, back = there_and_back
    tails = np.concatenate([np.arange(99), np.full(there, 50), np.full(back, 51)])
    heads = np.concatenate([np.arange(1, 100), np.full(there, 51), np.full(back, 50)])
    chosen = np.arange(len(tails)) != 50  # the path's own arc that is parallel to the others
    tails, heads = tails[chosen], heads[chosen]
    weights = 1 + np.arange(len(tails)) % 7
    graph = Graph.from_arcs("parallel", 100, tails, heads, weights, keep_parallel=True)
    solved(device, "phast", graph, 0, tasks=3)


def test_an_instrumented_run_records_the_parts_of_the_search(device):
    graph = archipelago()
    solver = Solver(ResidentGraph.upload(device, graph), Parameters(tasks=20, middle=3))
    phases = []
    answer = solver.solve(0, phases)
    assert answer.phases is None
    assert [phase.mode for phase in phases] == ["climb", "top", "middle", "parts", "predecessors"]
    climb, top, middle, parts, predecessors = phases
    reached = (reference_distances(graph, 0) < UNREACHED).sum()
    assert top.updated + middle.updated + parts.updated == predecessors.updated == reached < graph.n_vertices
    assert 0 < climb.updated <= solver.resolved["height"] + 1
    assert all(phase.time_ms >= 0 for phase in phases)
    assert sum(phase.time_ms for phase in phases) > 0
    cch = built(graph, 20, [3]).cch
    assert sum(phase.relaxed_arcs for phase in phases[1:]) == len(cch.up)
    path = [int(np.flatnonzero(cch.order == 0)[0])]
    while cch.parent[path[-1]] >= 0:
        path.append(int(cch.parent[path[-1]]))
    assert climb.updated == len(path)
    assert climb.relaxed_arcs == np.diff(cch.offsets)[path].sum()


def test_a_graph_that_is_no_map_is_skipped(device):
    rng = np.random.default_rng(4)

    def prepare(arcs):
        ends = rng.integers(0, 1500, (2, arcs))
        graph = Graph.from_arcs("random", 1500, *ends, np.ones(arcs, dtype=int))
        Solver(ResidentGraph.upload(device, graph), Parameters(fill=4))

    with pytest.raises(
        Skipped, match="made for maps; the hierarchy would have more than fill = 4 arcs per edge"
    ):
        prepare(6000)
    with pytest.raises(Skipped, match=r"at most 1024 arcs per vertex, 8 in the mean; here \d+ and 13\.3"):
        prepare(20_000)


def test_a_map_that_shared_memory_does_not_hold_is_skipped(device, monkeypatch):
    resident = ResidentGraph.upload(device, directed_grid(48))
    monkeypatch.setattr(_maps, "shared_bytes", lambda _: 6144)  # enough for the climb
    with pytest.raises(Skipped, match=r"made for maps; parts of .* there are 6144"):
        Solver(resident, Parameters(tasks=1))
    monkeypatch.setattr(_maps, "shared_bytes", lambda _: 4096)
    with pytest.raises(Skipped, match="2304 vertices; shared memory holds at most 2048"):
        Solver(resident, Parameters(tasks=1))


@pytest.mark.parametrize(
    ("module", "limit", "value", "message"),
    [
        (_hierarchy, "MAX_ROWS", 100, r"a part would have \d+ vertices, over 100"),
        (_cch, "MAX_ROW", 5, r"a vertex would have \d+ upward arcs, over 5"),
        (_cch, "MAX_UPWARD", 500, "the hierarchy would have more than fill = 16 arcs per edge"),
    ],
)
def test_hierarchies_too_large_for_slices_are_skipped(monkeypatch, module, limit, value, message):
    monkeypatch.setattr(module, limit, value)
    with pytest.raises(Skipped, match=message):
        built(directed_grid(), 1)
