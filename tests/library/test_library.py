"""The package as a library: graphs from arrays, searches, proofs, and one line per mistake."""

import copy
import pickle
import re
import subprocess
import sys
import tomllib
import traceback
from itertools import pairwise
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csgraph

import relaxometer as rx
from heap_samples import PLAIN, text
from relaxometer.core import compiled
from relaxometer.core.errors import UserError
from relaxometer.datasets.readers.osm_tags import read_profiles
from relaxometer.device.cuda import obstacle
from tiny_workflow import write_tiny_map

N = 60


def arcs(seed=1, count=300, n=N):
    """Tails, heads and weights of random arcs."""
    rng = np.random.default_rng(seed)
    return (*rng.integers(0, n, (2, count)), rng.integers(0, 40, count))


@pytest.fixture(scope="module")
def graph():
    return rx.Graph.from_arcs(N, *arcs())


def by_networkx(graph):
    """The same graph in networkx."""
    made = nx.DiGraph()
    made.add_nodes_from(range(graph.n_vertices))
    csr = graph.csr
    ends = zip(csr.tails.tolist(), csr.targets.tolist(), csr.weights.tolist(), strict=True)
    made.add_weighted_edges_from(ends)
    return made


def as_mapping(column, unreached):
    return {vertex: value for vertex, value in enumerate(column.tolist()) if value != unreached}


def test_each_problem_answers_as_networkx_and_is_proven(graph):
    reference = by_networkx(graph)
    tree = rx.prepare(graph).search(3).verify()
    expected = nx.single_source_dijkstra_path_length(reference, 3)
    assert as_mapping(tree.distance, 2**32 - 1) == expected
    assert tree.reached.tolist() == [vertex in expected for vertex in range(N)]
    levels = rx.prepare(graph, "bfs").search(3).verify()
    assert as_mapping(levels.level, 2**32 - 1) == nx.single_source_shortest_path_length(reference, 3)
    dominators = rx.prepare(graph, "dominators").search(3).verify()
    others = {v: d for v, d in as_mapping(dominators.idom, 2**32 - 1).items() if v != 3}
    assert others == {v: d for v, d in nx.immediate_dominators(reference, 3).items() if v != 3}


def test_routes_answer_pairs_and_tables(graph):
    routes = rx.prepare(graph, "routes")
    origins, targets = [0, 5, 9, 9], [7, 5, 1, 30]
    reference = by_networkx(graph)
    expected = [nx.dijkstra_path_length(reference, *pair) for pair in zip(origins, targets, strict=True)]
    found = routes.pairs(origins, targets, paths=True).verify()
    assert found.distance.tolist() == expected
    assert found.path[: found.size[0]].tolist()[0 :: found.size[0] - 1] == [0, 7]
    assert routes.pairs(origins, targets, limit=expected[0] - 1).verify().distance[0] == 2**32 - 1
    whole = routes.table(origins, targets)
    assert whole.diagonal().tolist() == expected
    pieces = list(routes.table_in_pieces(np.array(origins), targets, rows=3))
    assert [len(piece) for piece in pieces] == [3, 1]
    assert np.array_equal(np.concatenate(pieces), whole)


@pytest.mark.parametrize(("searches", "chosen"), [(1, "trees"), (10**5, "hierarchy"), (10**9, "labels")])
def test_the_number_of_pairs_chooses_how_a_gpu_finds_routes(graph, searches, chosen):
    routes = rx.prepare(graph, "routes", searches=searches, device="host")
    assert routes.resolved["chosen"] == chosen
    before = routes.pairs([3], [40]).verify().distance
    routes.customize(2 * graph.given[2])
    assert routes.pairs([3], [40]).verify().distance == 2 * before


@settings(max_examples=30)
@given(st.integers(0, 2**32), st.sampled_from(["uint32", "float32", "float64", "int64", "int16"]))
def test_csr_in_any_order_is_the_graph_that_scipy_sees(seed, dtype):
    rng = np.random.default_rng(seed)
    matrix = sp.random_array((20, 20), density=0.15, rng=rng, format="csr")
    matrix.data = rng.integers(1, 50, matrix.nnz).astype(dtype)
    rows = pairwise(matrix.indptr.tolist())
    order = np.concatenate([start + rng.permutation(end - start) for start, end in rows]).astype(int)
    graph = rx.Graph.from_csr(matrix.indptr, matrix.indices[order], matrix.data[order])
    tree = rx.prepare(graph).search(4)
    expected = csgraph.dijkstra(matrix.astype(float), indices=4)
    assert np.array_equal(np.where(tree.reached, tree.distance, np.inf), expected)
    trees = rx.prepare(graph)
    trees.customize(2 * matrix.data[order])
    assert np.array_equal(np.where(tree.reached, trees.search(4).verify().distance, np.inf), 2 * expected)


@settings(max_examples=30)
@given(st.integers(0, 2**32), st.booleans())
def test_other_weights_are_in_the_order_of_the_arcs_given(seed, undirected):
    rng = np.random.default_rng(seed)
    tails, heads = rng.integers(0, 12, (2, 40))
    before, after = rng.integers(0, 50, (2, 40), dtype=np.uint32)
    trees = rx.prepare(rx.Graph.from_arcs(12, tails, heads, before, undirected=undirected))
    trees.customize(after)
    tree = trees.search(4).verify()
    made_anew = rx.prepare(rx.Graph.from_arcs(12, tails, heads, after, undirected=undirected))
    assert np.array_equal(tree.distance, made_anew.search(4).distance)
    whole = after.astype(np.int64)
    assert np.array_equal(tree.sums_along(whole)[tree.reached], tree.distance[tree.reached])


def test_a_scipy_matrix_stays_as_it_was():
    matrix = sp.csr_array(([3.0, 4.0, 0.0], [1, 1, 2], [0, 2, 3, 3]), shape=(3, 3))
    tree = rx.prepare(rx.Graph.from_scipy(matrix)).search(0)
    assert tree.distance.tolist() == [0, 7, 7], "duplicates add up, an explicit zero is an arc"
    assert matrix.nnz == 3


@pytest.mark.parametrize("kind", [nx.Graph, nx.DiGraph, nx.MultiDiGraph])
def test_a_networkx_graph_is_answered_by_its_nodes(kind):
    nodes = [*"abc", (1, 2)]
    made = kind([("a", "b", {"cost": 5}), ("b", (1, 2), {"cost": 2}), ("a", "c")])
    assert set(made) == set(nodes)
    graph = rx.Graph.from_networkx(made, "cost", default=9)
    trees = rx.prepare(graph, variant="dijkstra-cpu")
    tree = trees.search("a")
    assert tree.distance[graph.vertex((1, 2))] == 7
    assert repr(trees) == f"Prepared(sssp by dijkstra-cpu on cpu, {graph!r})"
    columns = f"distance {tree.distance.dtype}[4], predecessor uint32[4]"
    assert repr(tree) == f"Answer(sssp by dijkstra-cpu: {columns})"
    assert tree.path_to((1, 2)) == ["a", "b", (1, 2)]
    assert dict(zip(made, tree.distance.tolist(), strict=True)) == {"a": 0, "b": 5, "c": 9, (1, 2): 7}
    for unknown in ("z", {}):
        with pytest.raises(rx.GraphError, match="is not a node of the graph"):
            tree.path_to(unknown)
    levels = rx.prepare(rx.Graph.from_networkx(made), "bfs").search((1, 2)).level
    assert levels[0] == (2 if kind is nx.Graph else 2**32 - 1)


@pytest.mark.parametrize("place", ["cpu", "host"])
def test_a_negative_cycle(place):
    graph = rx.Graph.from_arcs(4, [0, 1, 2, 3], [1, 2, 1, 0], [1, -3, 2, 5])
    cycle = rx.prepare(graph, device=place).search(0).verify()
    with pytest.raises(rx.GraphError, match="a negative cycle"):
        cycle.path_to(1)


def test_a_wrong_answer_is_refused_with_rule_and_vertex(graph):
    answer = rx.prepare(graph).search(0)
    answer.distance[answer.distance.argmax()] -= 1
    with pytest.raises(rx.WrongAnswer, match=r"rule \w+ broken .* vertex"):
        answer.verify()


def test_an_answer_from_before_other_weights_is_not_called_wrong(graph):
    trees = rx.prepare(graph)
    before = trees.search(0).verify()
    assert np.array_equal(copy.copy(before).distance, before.distance)
    trees.customize(np.arange(graph.n_given))
    with pytest.raises(rx.GraphError, match="the weights have changed since this search"):
        before.verify()
    trees.search(0).verify()


@pytest.mark.parametrize("variant", ["dijkstra-cpu", "phast"])
def test_weights_that_a_variant_fails_to_take_change_nothing(graph, monkeypatch, variant):
    trees = rx.prepare(graph, variant=variant, device="cpu" if variant == "dijkstra-cpu" else "host")
    before, weights = trees.search(0).distance, graph.given[2]

    def fail(*_):
        raise MemoryError("full")

    solver = type(trees._solver)
    name = "customize" if hasattr(solver, "customize") else "__init__"
    with monkeypatch.context() as patch:
        patch.setattr(solver, name, fail)
        with pytest.raises(MemoryError):
            trees.customize(2 * weights)
    assert np.array_equal(trees.search(0).verify().distance, before)
    trees.customize(2 * weights)
    assert np.array_equal(trees.search(0).verify().distance, 2 * before)


def csr(offsets=(0, 1, 1), targets=(1,), weights=(5,), **options):
    return rx.Graph.from_csr(*map(np.array, (offsets, targets, weights)), **options)


def of_networkx(weight):
    return rx.Graph.from_networkx(nx.Graph([(0, 1, {"length": 5, "name": "A6"}), (1, 2)]), weight)


@pytest.mark.parametrize(
    ("make", "line"),
    [
        (lambda: csr(offsets=(0.0, 1.0, 1.0)), "offsets: type float64; expected integers"),
        (lambda: csr(offsets=((0, 1),)), r"offsets: shape \(1, 2\); expected one dimension"),
        (lambda: csr(targets=(2,)), "targets: element 0 is 2; expected 0 to 1"),
        (lambda: csr(weights=(1, 2)), r"weights: shape \(2,\); expected \(1,\)"),
        (lambda: csr(weights=((5, 6),)), r"weights: shape \(1, 2\); expected \(1,\)"),
        (lambda: rx.Graph.from_arcs(3, [0, 1], [1], [1, 1]), r"shapes \(2,\), \(1,\), \(2,\); expected eq"),
        (lambda: rx.Graph.from_arcs(-1, [], []), "n_vertices: -1"),
        (lambda: rx.Graph.from_arcs([0], [1], [5]), r"n_vertices: list; .* from_arcs\(n_vertices, "),
        (lambda: rx.prepare(csr(weights=(0.5,)), "routes"), r"float64; scale and round them: \(1000"),
        (lambda: rx.prepare(rx.Graph.from_arcs(0, [], [])), "graph: no vertices; expected at least one"),
        (lambda: rx.Graph.from_file("map.txt"), "map.txt: name the format, as in from_file"),
        (lambda: rx.prepare([1, 2], "sssp"), "graph: 'list'; expected what Graph.from_csr"),
        (lambda: rx.Graph.from_file("map.gr", format="csv"), "map.gr: unknown format 'csv'; known: dimacs, "),
        (lambda: rx.Graph.from_file("lost.zip", format="ksj-n02"), r"lost\.zip: not readable \(No such file"),
        (lambda: rx.Graph.from_file("/", format="table"), r"^/: is a folder; expected a file$"),
        (lambda: rx.Graph.from_scipy(np.eye(2)), "ndarray is not a sparse matrix"),
        (lambda: of_networkx("lenght"), "no edge has the attribute 'lenght'; did you mean 'length'"),
        (lambda: of_networkx("toll"), "no edge has the attribute 'toll'; the edges have 'length, name'"),
        (lambda: csr(weights=("a",)), "weights: type <U1; expected integers or floats"),
        (lambda: csr(weights=(2**40,)), "weight of arc 0 is 1099511627776"),
        (lambda: csr(distances="uint8"), "distances: 'uint8' for weights of type uint32; expected"),
        (lambda: rx.Graph.from_scipy(sp.csr_array((2, 3))), r"the matrix has shape \(2, 3\)"),
        (lambda: rx.prepare(csr(), "ssp"), "unknown problem 'ssp'; known: sssp, bfs"),
        (lambda: rx.prepare(csr(), variant="tield"), "unknown variant 'tield' of sssp; did you mean 'tiled'"),
        (lambda: rx.prepare(csr(), variant="tiled", device="cpu"), "tiled needs a GPU"),
        (lambda: rx.prepare(csr(), device="gpu"), "unknown device 'gpu'; known: auto, cuda, cpu, host"),
        (lambda: rx.prepare(csr(), searches=0), "searches: 0; expected at least 1"),
        (lambda: rx.prepare(csr(), "dominators", variant="batch-warp", device="host"), "takes batches"),
        (lambda: rx.prepare(csr(), variant="dijkstra-cpu", n=1), "dijkstra-cpu: n: unknown key"),
        (lambda: rx.prepare(csr()).search(2), "vertex '2': expected an integer from 0 to 1"),
        (lambda: rx.prepare(csr()).pairs([0], [1]), "sssp answers searches"),
        (lambda: rx.prepare(csr(), "routes").pairs([0], [1, 0]), "1 origins and 2 targets"),
        (lambda: rx.prepare(csr(), "routes").search(0), "routes answers pairs"),
        (lambda: rx.prepare(csr(), "routes").pairs([0], [1], limit=-1), "limit: -1"),
        (lambda: list(rx.prepare(csr(), "routes").table_in_pieces([0], [1], rows=0)), "rows: 0"),
        (lambda: rx.prepare(csr(), "dominators").search(0, limit=1), "leave out limit"),
        (lambda: rx.prepare(csr(), "dominators").nearest([0]), "dominators have one root"),
        (lambda: rx.prepare(csr(), "routes").nearest([0]), "routes answers pairs"),
        (lambda: rx.prepare(csr()).nearest([]), "sources: none; expected at least one"),
        (lambda: rx.prepare(csr()).nearest(0), "vertices: '0'; expected a list or an array of nodes"),
        (lambda: rx.prepare(csr()).nearest("01"), "vertices: '01'; expected a list or an array of nodes"),
        (lambda: rx.prepare(csr()).nearest([0, 2]), "vertex '2': expected an integer from 0 to 1"),
        (lambda: rx.prepare(csr()).nearest([[0, 1]]), r"vertices: shape \(1, 2\); expected one dimension"),
        (lambda: rx.prepare(csr(weights=(-1,))).nearest([0]), "dijkstra-cpu, which .* takes weights of type"),
        (lambda: rx.prepare(csr()).search(0, limit=np.nan), "limit: nan; expected at least 0"),
        (lambda: rx.prepare(csr()).search(0).sums_along([1, 2]), r"along: shape \(2,\); expected \(1,\)"),
        (lambda: rx.prepare(csr()).search(0).sums_along(["a"]), "along: type <U1; expected integers or fl"),
        (lambda: rx.prepare(csr()).search(0).sums_along([2**62]), "would not fit 64 bits; give floats"),
        (lambda: rx.prepare(csr(), "dominators").search(0).sums_along([1]), "no shortest-path tree"),
        (lambda: rx.prepare(csr()).customize([1, 2]), r"weights: shape \(2,\); expected \(1,\)"),
    ],
)
def test_a_mistake_is_one_line(make, line):
    with pytest.raises(rx.GraphError, match=line) as error:
        make()
    assert "\n" not in str(error.value)
    assert rx.GraphError is UserError
    assert type(pickle.loads(pickle.dumps(error.value))) is UserError
    assert traceback.format_exception_only(error.value)[0].startswith("relaxometer.GraphError: ")


@pytest.mark.skipif(obstacle() is None, reason="there is a GPU")
def test_what_a_gpu_lacks_is_one_line():
    with pytest.raises(rx.GraphError, match="device 'cuda': "):
        rx.prepare(csr(), device="cuda")


def test_a_long_compilation_is_said_once(monkeypatch, caplog):
    compiled.announce()
    monkeypatch.setattr(compiled, "LONG_S", 0)
    monkeypatch.setattr(compiled.ANNOUNCER, "said", False)
    for _ in range(2):
        compiled.njit(lambda number: number)(1)
    assert caplog.messages == ["relaxometer: compiling for the CPU, once per installation; up to two minutes"]


def test_values_that_are_not_used_are_said(tmp_path, caplog):
    path = tmp_path / "web.txt"
    path.write_text("0 1 4\n1 2 5\n", encoding="utf-8")
    rx.Graph.from_file(path, format="edge-list")
    how = 'from_file(path, weights={"distribution": "values"}) uses it'
    assert caplog.messages == [f"{path}: its third column is not used, and every weight is 1; {how}"]
    rx.Graph.from_file(path, format="edge-list", weights={"distribution": "values"})
    assert len(caplog.messages) == 1


def test_a_networkx_graph_without_the_usual_attribute_is_said(caplog):
    streets = nx.Graph([(0, 1, {"id": 7, "length": 5.5, "name": "A6"}), (1, 2, {"id": 8, "length": 2})])
    rx.Graph.from_networkx(streets)
    told = "no edge has 'weight', so each weighs 1; edges have 'length', 'id': from_networkx(graph, 'length')"
    assert caplog.messages == [told]
    for weight in ("length", None):
        rx.Graph.from_networkx(streets, weight)
    for graph in (nx.Graph(), nx.path_graph(3), nx.Graph([(0, 1, {"length": 5}), (1, 2)])):
        rx.Graph.from_networkx(graph)
    assert caplog.messages == [told]


def test_a_table_without_origins_has_the_columns_of_its_targets():
    distances, sums = rx.prepare(csr(), "routes").table([], [0, 1], along=[0.5])
    assert distances.shape == sums.shape == (0, 2)
    assert sums.dtype == np.float64


@pytest.mark.parametrize("nodes", [[(0, 0), (0, 1)], ["a", 1]])
def test_nodes_in_a_list_keep_their_types(nodes):
    trees = rx.prepare(rx.Graph.from_networkx(nx.path_graph(nodes)))
    assert [tree.path_to(nodes[1])[0] for tree in trees.search(nodes)] == nodes


@pytest.mark.gpu
@pytest.mark.skipif(obstacle() is not None, reason="needs a GPU")
def test_arrays_on_a_gpu_stay_there(graph):
    import cupy

    arrays = [cupy.asarray(one) for one in (graph.csr.offsets, graph.csr.targets, graph.csr.weights)]
    tree = rx.prepare(rx.Graph.from_csr(*arrays), searches=50).search(3).verify()
    assert isinstance(tree.distance, cupy.ndarray)
    expected = rx.prepare(graph, device="cpu").search(3).distance
    assert np.array_equal(tree.to_host().distance, expected)
    on_host = rx.prepare(graph).search([3, 4])
    assert np.array_equal(on_host[0].distance, expected)
    assert np.array_equal(rx.prepare(graph, "routes").table([3], range(N))[0], expected)


RECIPES = (Path(__file__).parents[2] / "docs/library.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "recipe", re.findall(r"```python\n(.*?)```", RECIPES, re.DOTALL), ids=lambda text: text.split("\n")[0]
)
def test_a_recipe_of_the_documentation_runs(recipe, tmp_path, monkeypatch):
    if "import torch" in recipe:
        pytest.importorskip("torch")
    monkeypatch.chdir(tmp_path)
    write_tiny_map(tmp_path / "map.gr")
    (tmp_path / "app.heapsnapshot").write_bytes(text(PLAIN))
    recipe = recipe.replace("1_000_000", "1_000")
    exec(compile(recipe, "docs/library.md", "exec"), {"streets": streets()})


def streets():
    """A graph with the attributes of osmnx's, whose nodes have ids of OpenStreetMap."""
    made = nx.MultiDiGraph(crs="epsg:4326")
    ids = [4_600_000_001, 7, 12_000_000_000]
    for place, node in enumerate(ids):
        made.add_node(node, x=5.1 + place / 100, y=52.1, street_count=2)
    for u, v, length in [(0, 1, 81.25), (1, 0, 81.25), (1, 2, 40.5), (1, 2, 99.0), (2, 1, 40.5), (2, 2, 9.0)]:
        made.add_edge(ids[u], ids[v], osmid=1, length=length, oneway=False, travel_time=length / 9)
    return made


def test_a_format_that_needs_another_package_names_it(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "yaml", None)
    monkeypatch.delitem(sys.modules, "relaxometer.core.yaml_files", raising=False)
    read_profiles.cache_clear()
    (tmp_path / "town.osm").write_text("<osm version='0.6'></osm>", encoding="utf-8")
    with pytest.raises(UserError, match=r"town\.osm: the format osm-xml needs the package yaml; pip install"):
        rx.Graph.from_file(tmp_path / "town.osm", profile="car")


def test_the_lines_of_the_readme_run_with_the_packages_that_pip_installs(tmp_path):
    """Also without a compiler: only what the extras add is missing here, and `PATH` names no program."""
    root = Path(__file__).parents[2]
    lines = re.search(r"```python\n(.*?)```", (root / "README.md").read_text(encoding="utf-8"), re.DOTALL)[1]
    extras = tomllib.loads((root / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    names = {re.split(r"[^\w-]", one)[0].replace("-", "_") for group in extras.values() for one in group}
    write_tiny_map(tmp_path / "map.gr")
    code = f"""import sys
class Missing:
    def find_spec(name, *_):
        if name in {names - {"relaxometer"} | {"yaml"}}:
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Missing)
{lines}
assert rx.prepare(rx.Graph.from_file("map.gr"), device="cpu").search(5).verify().path_to(7)[0] == 5
"""
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=tmp_path, env={"PATH": ""}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == re.search(r"print\(.*\)  # (.*)", lines)[1]


LARGE = 2**63 + 5


def roads_of(tmp_path, *lines):
    path = tmp_path / "roads.csv"
    path.write_text("\n".join(("from,to,weight", *lines)) + "\n")
    return rx.Graph.from_file(path, source="from", target="to", weight="weight")


@pytest.fixture
def towns(tmp_path):
    """A path 7 - -3 - 4600000001."""
    return roads_of(tmp_path, "7,-3,5", "-3,7,5", "-3,4600000001,2", "4600000001,-3,2")


def test_searches_pairs_and_paths_are_by_ids(towns):
    answer = rx.prepare(towns, device="cpu").search(7)
    far = towns.vertex(4600000001)
    assert answer.distance[far] == 7
    assert answer.path_to(4600000001) == [7, -3, 4600000001]
    routes = rx.prepare(towns, "routes", device="cpu")
    assert routes.pairs(np.array([7, -3]), [4600000001, -3]).distance.tolist() == [7, 0]


def test_ids_beyond_63_bits(tmp_path):
    made = roads_of(tmp_path, f"1,{LARGE},3")
    assert rx.prepare(made, device="cpu").search(np.uint64(1)).path_to(LARGE) == [1, LARGE]
    # As 64 bits, this is the same.
    for number in (LARGE - 2**64, 2**70, "1", 1.5):
        with pytest.raises(rx.GraphError, match="is not a node of the graph"):
            made.vertex(number)


@pytest.mark.parametrize("kind", ["int8", "int64", "uint64"])
def test_an_unknown_id_of_an_array_is_named(towns, kind):
    asked = np.array([7, 9, 11], kind)
    with pytest.raises(rx.GraphError, match=r"^'9' is not a node of the graph$"):
        list(rx.prepare(towns, device="cpu").search_each(asked))
