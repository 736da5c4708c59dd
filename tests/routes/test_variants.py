"""Every variant answers every kind of query set on every sample graph, and its paths are proven."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graph_strategies import drawn_graphs
from relaxometer.core.files import write_table
from relaxometer.datasets.formats.generated import RoadParameters
from relaxometer.datasets.generators.roads import road_like
from relaxometer.device import get_device
from relaxometer.graphs.graph import MAX_WEIGHT, UNREACHED, Graph, read_graph, write_graph
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems.routes import _balls, _climbs, hierarchy
from relaxometer.problems.routes._queries import Spec, draw_queries, read_queries
from relaxometer.problems.routes.certify import RoutesCertifier
from relaxometer.problems.variants import Skipped, load_solver
from route_samples import random_queries, right_distances, some_queries, table_queries
from sample_graphs import detour_too_long, grid_edges, sample_graphs, undirected

VARIANTS = [
    ("dijkstra-cpu", {}),
    ("hierarchy", {}),
    ("hierarchy-cpu", {}),
    ("labels", {}),
    ("trees", {"sources": 7}),
    ("trees", {"grown_by": "phast-many", "sources": 40}),
]
NAMES = ["-".join([name, *map(str, parameters.values())]) for name, parameters in VARIANTS]


def solver_for(device, graph, name, **parameters):
    module = load_solver("routes", name)
    resident = ResidentGraph.upload(device, graph)
    return resident, module.Solver(resident, module.Parameters(**parameters))


def check(resident, solver, sets):
    """Compare answers with a plain search, and prove them."""
    device, certifier = resident.device, RoutesCertifier(resident)
    for queries in sets:
        asked = queries.upload(device)
        answer = solver.solve(asked)
        expected = right_distances(resident.host, queries)
        np.testing.assert_array_equal(device.asnumpy(answer.distance), expected)
        rows = queries.rows(resident.n_vertices)
        assert all(len(column) in rows[name] for name, column in answer.columns.items())
        certificate = certifier.check(asked, **answer.columns)
        assert certificate.holds, certificate.reason
        paths = np.split(device.asnumpy(answer.path), np.cumsum(device.asnumpy(answer.size))[:-1])
        assert all(len({*path.tolist()}) == len(path) for path in paths)


every_variant = pytest.mark.parametrize(("name", "parameters"), VARIANTS, ids=NAMES)


@every_variant
@pytest.mark.parametrize("graph", sample_graphs().values(), ids=lambda graph: graph.name)
def test_every_kind_of_query_on_every_sample_graph(device, graph, name, parameters):
    is_for_maps = name.startswith(("hierarchy", "labels")) or "grown_by" in parameters
    if graph.name == "hub" and is_for_maps:
        pytest.skip("it is not a map")
    resident, solver = solver_for(device, graph, name, **parameters)
    check(resident, solver, some_queries(graph))


def even(weight, side=10):
    """A street grid with many paths of equal length; without arcs of weight 0, labels are distances alone."""
    edges = grid_edges(side, side)
    return undirected("even", side * side, edges, np.full(len(edges), weight))


@every_variant
@pytest.mark.parametrize(
    "graph",
    [detour_too_long(), even(0), even(1), road_like(RoadParameters(rows=18, columns=21), seed=3)],
    ids=["detour-too-long", "free", "even", "roads"],
)
def test_maps_of_ties_and_more_queries_than_a_block_has_threads(device, graph, name, parameters):
    resident, solver = solver_for(device, graph, name, **parameters)
    check(resident, solver, [random_queries(graph, 70, paths=True), table_queries(graph, 9, 133)])


FREE = drawn_graphs(st.sampled_from([0, 0, 1, 2, 7, 2**31, MAX_WEIGHT]), most=24)
EVEN = drawn_graphs(st.sampled_from([1, 1, 2, 3, 2**31, MAX_WEIGHT]), most=24)


@settings(max_examples=15)
@given(FREE | EVEN)
def test_any_small_graph(case):
    """Directed multigraphs in several parts, with heavy and parallel arcs and loops."""
    graph, _ = case
    for name in ("hierarchy", "hierarchy-cpu", "labels", "dijkstra-cpu", "trees"):
        resident, solver = solver_for(get_device("host"), graph, name)
        sets = [
            random_queries(graph, 30, paths=True),
            table_queries(graph),
            random_queries(graph, 9, cutoff=2),
        ]
        check(resident, solver, sets)


@every_variant
def test_room_for_paths_grows(monkeypatch, device, name, parameters):
    monkeypatch.setattr(hierarchy, "PIECES_PER_QUERY", 1)
    for module in ("dijkstra_cpu", "hierarchy_cpu"):
        monkeypatch.setattr(f"relaxometer.problems.routes.{module}.ROOM", 3)
    graph = sample_graphs()["grid"]
    resident, solver = solver_for(device, graph, name, **parameters)
    check(resident, solver, [random_queries(graph, 20, paths=True)] * 2)


def test_pieces_of_paths_are_at_most_as_many_as_are_numbered(monkeypatch, device):
    monkeypatch.setattr(hierarchy, "PIECES_PER_QUERY", 2**32)
    monkeypatch.setattr(hierarchy, "MAX_PIECES", 200)
    graph = sample_graphs()["grid"]
    resident, solver = solver_for(device, graph, "hierarchy")
    check(resident, solver, [random_queries(graph, 5, paths=True)])
    with pytest.raises(MemoryError, match="pieces; 32 bits number 200"):
        check(resident, solver, [random_queries(graph, 500, paths=True)])


def test_room_for_which_there_is_no_memory_is_not_kept(monkeypatch, device):
    graph = sample_graphs()["grid"]
    resident, solver = solver_for(device, graph, "hierarchy")
    queries = random_queries(graph, 5, paths=True)
    with monkeypatch.context() as patch:
        patch.setattr(hierarchy, "PIECES_PER_QUERY", 2**50)
        patch.setattr(hierarchy, "MAX_PIECES", 2**60)
        with pytest.raises(MemoryError):
            check(resident, solver, [queries])
    check(resident, solver, [queries])


def test_the_path_with_the_fewest_arcs_is_found_among_equal_ones(device):
    ring = np.array([[i, (i + 1) % 12] for i in range(12)])
    graph = undirected("free-ring", 12, ring, np.zeros(12, dtype=int))
    _, solver = solver_for(device, graph, "hierarchy")
    queries = random_queries(graph, 30, paths=True)
    answer = solver.solve(queries.upload(device))
    apart = (queries.targets.astype(int) - queries.origins) % 12
    assert device.asnumpy(answer.size).tolist() == (np.minimum(apart, 12 - apart) + 1).tolist()


def test_no_search_compiles_anything(tmp_path):
    """Arrays from files cannot be written, and for these Numba compiles functions of their own."""
    write_graph(sample_graphs()["grid"], tmp_path / "graph")
    graph = read_graph(tmp_path / "graph")
    specs = {"pairs": Spec(pairs=9, paths=True), "table": Spec(origins=2, targets=3)}
    write_table(draw_queries(graph, specs, 1, 7), tmp_path / "queries.parquet")
    sets = read_queries(tmp_path / "queries.parquet", graph).sets.values()
    compiled = (
        _balls._search_all,
        _balls._listed,
        _climbs._find_routes,
        _climbs._climb_all,
        _climbs._fill_table,
    )
    for name in ("dijkstra-cpu", "hierarchy-cpu"):
        resident, solver = solver_for(get_device("host"), graph, name)
        before = [len(function.signatures) for function in compiled]
        for queries in sets:
            solver.solve(queries.upload(resident.device))
        assert [len(function.signatures) for function in compiled] == before


def test_the_hierarchy_skips_what_is_not_a_map(device):
    spokes = np.stack([np.zeros(1100, dtype=int), np.arange(1, 1101)], axis=1)
    star = undirected("star", 1101, spokes, np.ones(1100, dtype=int))
    with pytest.raises(Skipped, match="made for maps of at most 1024 arcs per vertex"):
        solver_for(device, star, "hierarchy")


def test_no_distance_passes_the_largest_cutoff(device):
    graph = Graph.from_arcs("long", 3, [0, 1], [1, 2], [MAX_WEIGHT, 1])
    for name, parameters in VARIANTS:
        resident, solver = solver_for(device, graph, name, **parameters)
        queries = table_queries(graph, 3, 3)
        queries.origins[:], queries.targets[:] = np.repeat([0, 1, 2], 3), np.tile([0, 1, 2], 3)
        found = device.asnumpy(solver.solve(queries.upload(device)).distance).reshape(3, 3)
        assert found.tolist() == [[0, MAX_WEIGHT, UNREACHED], [UNREACHED, 0, 1], [UNREACHED, UNREACHED, 0]]
        check(resident, solver, [queries])
