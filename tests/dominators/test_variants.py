"""Every dominators variant on every sample and device, against two references and the certificate."""

import dataclasses
import subprocess
import sys
from functools import cache

import numpy as np
import pytest

from dominator_samples import (
    NONE,
    all_graphs_of_four,
    graph_of,
    random_batch,
    random_parts,
    reference_by_removal,
    reference_of_batch,
    rooted_graphs,
    semi_nca,
    united,
)
from relaxometer.device import get_device
from relaxometer.device.cuda import obstacle
from relaxometer.graphs.batch import Batch
from relaxometer.graphs.graph import Graph
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.graphs.resident_batch import ResidentBatch
from relaxometer.problems.dominators import _breadth_first, _forest
from relaxometer.problems.dominators.certify import DominatorsCertifier
from relaxometer.problems.dominators.cpu import cooper_harvey_kennedy
from relaxometer.problems.variants import Skipped, load_solver, solver_names

VARIANTS = solver_names("dominators")
OF_GRAPHS = [name for name in VARIANTS if load_solver("dominators", name).Solver.takes != "batch"]
OF_BATCHES = [name for name in VARIANTS if load_solver("dominators", name).Solver.takes != "graph"]
OF_ANY_GRAPHS = [name for name in OF_GRAPHS if name != "biconnected"]
WAYS = [
    *((name, {}) for name in OF_ANY_GRAPHS),
    *(("iterative-tree", {"lift_above": least}) for least in (1, 16)),
    *(("biconnected", {"tree": tree}) for tree in ("union", "search")),
]
"""Variants, with parameters that reach other branches."""
LISTS = [
    *((82, v) for v in (0, 40, 41)),
    *((v, (v + 7) % 40) for v in range(33)),
    *((v, v - 1) for v in range(79, 41, -1)),
    *((v, 80) for v in range(0, 80, 3)),
    *((41, 79), (81, 81), (40, 81)),
]
"""From 82, lists in any order that share an object, and cycles that are not reached."""

MANY_SEARCHES = """
import relaxometer as rx
from relaxometer.datasets.formats.generated import RoadParameters
from relaxometer.datasets.generators.roads import road_like

graph = road_like(RoadParameters(rows=1000, columns=1100), 1)
prepared = rx.prepare(rx.Graph.from_csr(graph.offsets, graph.targets), "dominators", variant="biconnected")
for root in range(200):
    prepared.search(root)
"""

ON_DEVICE = [
    name for name in OF_ANY_GRAPHS + OF_BATCHES if load_solver("dominators", name).Solver.runs_on == "device"
]


def make_solver(variant, resident, **parameters):
    """The solver; skips the test if it does not support the graph or needs a missing package."""
    module = load_solver("dominators", variant)
    try:
        return module.Solver(resident, module.Parameters(**parameters))
    except Skipped as reason:
        pytest.skip(str(reason))


def answer_of(solver, device, source=None, phases=None):
    return device.asnumpy(device.asarray(solver.solve(source, phases).idom))


@cache
def both_ways(graph: Graph, root: int | None = None) -> Graph:
    """The graph with the reverse of every arc; arcs at `root` only as they are."""
    tails, heads = graph.tails, graph.targets
    turned = np.ones(len(tails), dtype=bool) if root is None else (tails != root) & (heads != root)
    ends = np.concatenate([tails, heads[turned]]), np.concatenate([heads, tails[turned]])
    weights = np.ones(len(ends[0]), dtype=np.uint32)
    return Graph.from_arcs(graph.name, graph.n_vertices, *ends, weights, keep_self_loops=True)


def check(variant, resident, *roots, **parameters):
    """Prove answers, the last with its phases, and compare them with the references; return the phases."""
    device, graph, phases = resident.device, resident.host, []
    solver, certifier = make_solver(variant, resident, **parameters), DominatorsCertifier(resident)
    for root in roots:
        idom = answer_of(solver, device, root, phases if root == roots[-1] else None)
        np.testing.assert_array_equal(idom, semi_nca(device, graph, root))
        if graph.n_vertices < 1000:
            np.testing.assert_array_equal(idom, reference_by_removal(graph, root))
        certificate = certifier.check(root, device.asarray(idom))
        assert certificate.holds, certificate.reason
    assert phases or not graph.n_arcs
    assert all(phase.time_ms >= 0 for phase in phases)
    return phases


@pytest.mark.parametrize("graph", rooted_graphs().values(), ids=lambda graph: graph.name)
@pytest.mark.parametrize(("variant", "parameters"), WAYS)
def test_dominators_are_right_and_certified(device, variant, parameters, graph):
    graph = both_ways(graph) if variant == "biconnected" else graph
    resident, n = ResidentGraph.upload(device, graph), graph.n_vertices
    check(variant, resident, *{0, n // 2, n - 1}, **parameters)


@pytest.mark.parametrize("batch", [random_batch(), all_graphs_of_four()], ids=lambda batch: batch.name)
@pytest.mark.parametrize("variant", OF_BATCHES)
def test_dominators_of_thousands_of_graphs(device, variant, batch):
    resident, phases = ResidentBatch.upload(device, batch), []
    solver = make_solver(variant, resident)
    idom = answer_of(solver, device)
    np.testing.assert_array_equal(idom, reference_of_batch(batch))
    np.testing.assert_array_equal(answer_of(solver, device, None, phases), idom)
    assert all(phase.time_ms >= 0 for phase in phases)
    certificate = DominatorsCertifier(resident).check(None, device.asarray(idom))
    assert certificate.holds, certificate.reason


@pytest.mark.parametrize("variant", OF_ANY_GRAPHS)
def test_thousands_of_random_graphs(device, variant):
    """They are united as far as the variant allows."""
    parts, most = (random_parts()[:600], 32) if variant == "persistent-warp" else (random_parts(), None)
    for graph, root, expected in united(parts, most):
        resident = ResidentGraph.upload(device, graph)
        answer = answer_of(make_solver(variant, resident), device, root)
        np.testing.assert_array_equal(answer, expected)


@pytest.mark.parametrize("variant", ON_DEVICE)
def test_answers_do_not_depend_on_the_order_of_threads(variant):
    device = get_device("host", order_seed=1)
    if variant in OF_BATCHES:
        resident, root = ResidentBatch.upload(device, random_batch()), None
        expected = reference_of_batch(random_batch())
    else:
        graph = rooted_graphs()["of-lengauer-and-tarjan" if variant == "persistent-warp" else "ladder"]
        resident, root = ResidentGraph.upload(device, graph), 0
        expected = reference_by_removal(graph, 0)
    np.testing.assert_array_equal(answer_of(make_solver(variant, resident), device, root), expected)


def check_from_host(device, chosen):
    """Solve the chosen graphs of a batch twice, from host to host; answers are the caller's."""
    whole = random_batch()
    batch = whole.select(chosen)
    solver = make_solver("batch-warp", ResidentBatch.upload(device, batch), host_to_host=True)
    expected = reference_of_batch(whole)[np.repeat(chosen, whole.sizes)]
    for _ in range(2):
        answer = solver.solve().idom
        np.testing.assert_array_equal(answer, expected)
        answer[:] = 0


class TestBatches:
    """Streams, replay, and trees in global memory."""

    @pytest.mark.parametrize("parameters", [{"streams": 1}, {"streams": 3}, {"replay": True}], ids=str)
    @pytest.mark.parametrize("variant", ["batch-warp", "batch-block"])
    def test_streams_and_replay_change_nothing(self, device, variant, parameters):
        solver = make_solver(variant, ResidentBatch.upload(device, random_batch()), **parameters)
        for _ in range(2):
            np.testing.assert_array_equal(answer_of(solver, device), reference_of_batch(random_batch()))
        assert not parameters.get("streams") or isinstance(solver.solve().idom, np.ndarray)

    @pytest.mark.parametrize(
        ("given", "message"),
        [
            ({"streams": 2, "replay": True}, "exclude each other"),
            ({"host_to_host": True, "replay": True}, "host_to_host excludes streams and replay"),
        ],
    )
    def test_what_excludes_each_other(self, given, message):
        with pytest.raises(ValueError, match=message):
            load_solver("dominators", "batch-warp").Parameters(**given)

    @pytest.mark.parametrize("kept", [2011, 50, 1], ids=["all", "small", "one"])
    def test_from_host_to_host(self, device, kept):
        """Large batches are uploaded; small ones are read from page-locked memory."""
        check_from_host(device, np.arange(len(random_batch())) < kept)

    def test_one_graph_from_host_to_host(self, device):
        """Up to 64 vertices, the kernel reads all of it at once."""
        whole = random_batch()
        sizes = set(whole.sizes[whole.sizes <= 65].tolist())
        assert {1, 2, 32, 33, 64, 65} <= sizes
        for size in sizes:
            check_from_host(device, np.arange(len(whole)) == np.flatnonzero(whole.sizes == size)[0])

    def test_parallel_arcs_do_not_pass_the_shared_memory_of_one_graph(self, device):
        """A batch made by hand may have them; the kernel for one graph holds 64 * 64 arcs."""
        targets = np.array([1] * 6000 + [0] * 100, dtype=np.uint32)
        offsets = np.array([0, 6000, 6100])
        names, entries = np.array(["f"], dtype=object), np.zeros(1, dtype=np.uint32)
        batch = Batch("parallel", names, np.array([0, 2]), entries, offsets, targets)
        solver = make_solver("batch-warp", ResidentBatch.upload(device, batch), host_to_host=True)
        np.testing.assert_array_equal(solver.solve().idom, [0, 0])

    @pytest.mark.parametrize("kept", [2011, 3, 1])
    @pytest.mark.parametrize("variant", ["cooper-harvey-kennedy", "semi-nca", "lengauer-tarjan"])
    def test_cores_share_a_batch(self, host_device, variant, kept):
        batch = random_batch().select(np.arange(len(random_batch())) < kept)
        solver = make_solver(variant, ResidentBatch.upload(host_device, batch), cores=2)
        assert solver.resolved["cores"] == min(2, kept)
        expected = reference_of_batch(random_batch())[: batch.n_vertices]
        for _ in range(2):
            np.testing.assert_array_equal(answer_of(solver, host_device), expected)

    @pytest.mark.parametrize("variant", ["batch-warp", "batch-block"])
    def test_a_tree_too_large_for_shared_memory(self, host_device, variant, monkeypatch):
        monkeypatch.setattr("relaxometer.problems.dominators._batch.TREE_WORDS", 100)
        solver = make_solver(variant, ResidentBatch.upload(host_device, random_batch()))
        np.testing.assert_array_equal(answer_of(solver, host_device), reference_of_batch(random_batch()))

    @pytest.mark.parametrize("variant", OF_BATCHES)
    def test_a_batch_of_one_graph_of_one_vertex(self, host_device, variant):
        batch = Batch.from_graphs("one", [("only", 1, [0], [0], 0)])
        solver = make_solver(variant, ResidentBatch.upload(host_device, batch))
        assert answer_of(solver, host_device).tolist() == [0]


@pytest.mark.parametrize(
    ("variant", "graph", "given", "message"),
    [
        ("persistent-warp", graph_of("chain", 33, [(0, 1)]), {}, r"up to 32 vertices, the graph has 33"),
        (
            "multiword",
            rooted_graphs()["hub"],
            {"memory_mib": 2},
            r"masks of 5,003 vertices take 3 MiB, memory_mib is 2",
        ),
        (
            "biconnected",
            rooted_graphs()["chain-of-32"],
            {},
            "31 arcs lead one way, and not all at one vertex",
        ),
    ],
)
def test_graphs_that_do_not_suit_are_skipped(host_device, variant, graph, given, message):
    module = load_solver("dominators", variant)
    with pytest.raises(Skipped, match=message):
        module.Solver(ResidentGraph.upload(host_device, graph), module.Parameters(**given))


def test_masks_in_global_memory(host_device, monkeypatch):
    monkeypatch.setattr("relaxometer.problems.dominators.multiword.SHARED_WORDS", 100)
    check("multiword", ResidentGraph.upload(host_device, rooted_graphs()["ladder"]), 3)


@pytest.mark.parametrize("variant", ["semi-nca", "lengauer-tarjan", "cooper-harvey-kennedy"])
@pytest.mark.parametrize("kind", ["graph", "read-only graph", "batch", "read-only batch"])
def test_the_constructor_compiles(host_device, variant, kind):
    if kind.endswith("graph"):
        data, upload, root = rooted_graphs()["grid"], ResidentGraph.upload, 0
    else:
        data, upload, root = random_batch(), ResidentBatch.upload, None
    copies = {name: array.copy() for name, array in vars(data).items() if isinstance(array, np.ndarray)}
    for array in copies.values():
        array.flags.writeable = not kind.startswith("read-only")
    solver = make_solver(variant, upload(host_device, dataclasses.replace(data, **copies)))
    from_host = variant == "cooper-harvey-kennedy" and root is None
    find = cooper_harvey_kennedy._find_from_host if from_host else solver.find
    find = getattr(find, "func", find)  # without bound arguments
    compiled = list(find.signatures)
    assert len(compiled) == 1
    solver.solve(root)
    assert list(find.signatures) == compiled


class TestIterativeTree:
    """Arcs out of core, the order of the input, and shortcuts up long chains."""

    @pytest.mark.parametrize("name", sorted(set(rooted_graphs()) - {"hub", "one-vertex"}))
    def test_arcs_in_pieces(self, device, name):
        graph = rooted_graphs()[name]
        resident = ResidentGraph.upload(device, graph, arcs=False)
        solver = make_solver("iterative-tree", resident, resident_arcs=max(1, graph.n_arcs // 3))
        assert solver.resolved["out_of_core"]
        for root in (0, graph.n_vertices - 1):
            phases = []
            idom = answer_of(solver, device, root, phases)
            np.testing.assert_array_equal(idom, reference_by_removal(graph, root))
            assert {phase.mode for phase in phases} == {"round out of core"}

    def test_arcs_that_fit_stay(self, host_device):
        resident = ResidentGraph.upload(host_device, rooted_graphs()["grid"])
        solver = make_solver("iterative-tree", resident, resident_arcs=10**6)
        assert not solver.resolved["out_of_core"]

    @pytest.mark.parametrize(
        ("name", "serves"), [("deep-tree", True), ("ladder", True), ("grid", False), ("islands", False)]
    )
    def test_the_input_order_replaces_the_search(self, device, name, serves):
        resident = ResidentGraph.upload(device, rooted_graphs()[name])
        solver = make_solver("iterative-tree", resident, first_tree="search")
        assert solver.resolved["input_order"] == serves
        phases = []
        solver.solve(0, phases)
        assert (phases[0].mode == "breadth-first") != serves

    @pytest.mark.parametrize(("name", "grows"), [("deep-tree", True), ("hub", True), ("islands", False)])
    def test_a_forest_replaces_the_search(self, device, name, grows):
        phases = check("iterative-tree", ResidentGraph.upload(device, rooted_graphs()[name]), 1)
        assert phases[0].mode == ("forest" if grows else "breadth-first")

    @pytest.mark.parametrize(("begins_with", "most_tops"), [("forest", 1), ("search", 0), ("search", 1)])
    @pytest.mark.parametrize("name", [*sorted(rooted_graphs()), "lists"])
    def test_a_forest_goes_on_where_a_search_has_left_chains(
        self, device, name, begins_with, most_tops, monkeypatch
    ):
        """Or the search goes on if too many vertices have several predecessors."""
        graph = graph_of("lists", 83, LISTS) if name == "lists" else rooted_graphs()[name]
        monkeypatch.setattr(_forest, "MOST_TOPS", most_tops)
        if begins_with == "search":
            monkeypatch.setattr(_breadth_first, "MANY_LEVELS", 2)
            monkeypatch.setattr(_forest.Forest, "serves", False)
        last = graph.n_vertices - 1
        check("iterative-tree", ResidentGraph.upload(device, graph), 0, graph.n_vertices // 2, last)

    @pytest.mark.parametrize(
        ("lift_above", "root", "modes"),
        [
            (1, 0, ["lifted round"] * 2),
            (16, 0, ["lifted round", "round"]),
            # Chains stay long: the first round moves one rail only.
            (1, 1, ["forest", *["lifted round"] * 5]),
        ],
    )
    def test_tables_of_ancestors_while_chains_are_long(self, device, lift_above, root, modes):
        resident = ResidentGraph.upload(device, rooted_graphs()["ladder"])
        solver = make_solver("iterative-tree", resident, lift_above=lift_above)
        phases = []
        assert solver.solve(root, phases).phases == solver.solve(root).phases
        assert [phase.mode for phase in phases] == modes

    @pytest.mark.parametrize("seed", [1, 2])
    def test_shortcuts_on_deep_random_graphs(self, seed):
        """Dominator trees hundreds of vertices deep, with irreducible loops."""
        rng = np.random.default_rng(seed)
        n = 1500
        chain = [(v, v + 1) for v in range(n - 1)]
        near = [(int(v), int(max(0, v + d))) for v, d in rng.integers([0, -30], [n - 30, 30], (n // 9, 2))]
        far = [(int(a), int(b)) for a, b in rng.integers(0, n, (4, 2))]
        graph = graph_of("deep", n, chain + near + far)
        check("iterative-tree", ResidentGraph.upload(get_device("host", order_seed=seed), graph), 0)


class TestBiconnected:
    """Undirected graphs, by biconnected components."""

    @pytest.mark.parametrize("tree", ["union", "search"])
    @pytest.mark.parametrize("seed", [0, 1])
    def test_random_graphs(self, seed, tree):
        device = get_device("host", order_seed=seed)
        directed, root, _ = next(united(random_parts()[1000 * seed : 1000 * seed + 1000]))
        graph = both_ways(directed)
        check("biconnected", ResidentGraph.upload(device, graph), root, 5, tree=tree)

    @pytest.mark.parametrize("tree", ["union", "search"])
    @pytest.mark.parametrize("root", [0, 4])
    @pytest.mark.parametrize("name", ["irreducible", "of-the-paper", "ladder", "grid"])
    def test_arcs_at_the_root_lead_one_way(self, device, name, root, tree):
        graph = both_ways(rooted_graphs()[name], root)
        solver = make_solver("biconnected", ResidentGraph.upload(device, graph), tree=tree)
        np.testing.assert_array_equal(answer_of(solver, device, root), semi_nca(device, graph, root))
        if solver.resolved["one_way_arcs"] > 1:
            with pytest.raises(Skipped, match=r"arcs lead one way, and not all at the root 3"):
                solver.solve(3)

    @pytest.mark.gpu
    @pytest.mark.skipif(obstacle() is not None, reason="needs a GPU")
    def test_no_search_of_a_large_map_hangs(self):
        """If a thread undoes what another has compressed, the tour falls apart, and the search never ends."""
        subprocess.run([sys.executable, "-c", MANY_SEARCHES], check=True, timeout=120)

    def test_a_tree_of_many_levels(self, host_device, monkeypatch):
        monkeypatch.setattr("relaxometer.problems.dominators.biconnected._biconnected_levels.MOST_LEVELS", 1)
        graph = both_ways(rooted_graphs()["hub"])
        labelled = dataclasses.replace(graph, metadata={"directed": False})
        solver = make_solver("biconnected", ResidentGraph.upload(host_device, labelled))
        assert solver.resolved["tree"] == "search"
        for root in (0, 5002):
            phases = check("biconnected", ResidentGraph.upload(host_device, labelled), root)
            assert "tour" in [phase.mode for phase in phases]


@pytest.fixture
def solve(device):
    """Return a function that runs the Qiita paper's method on a sample, and returns idom and the solver.

    Its kernel is wrong on some inputs, the errata.
    """

    def run(name, root=0, phases=None):
        solver = make_solver("persistent-warp", ResidentGraph.upload(device, rooted_graphs()[name]))
        return answer_of(solver, device, root, phases), solver

    return run


def printed_rule(dominators: np.ndarray, root: int) -> list[int]:
    """The paper's immediate dominators: the highest-numbered strict dominator, -1 for the root."""
    found = []
    for v, word in enumerate(dominators.tolist()):
        strict = word & ~(1 << v)
        found.append(-1 if v == root or not strict else strict.bit_length() - 1)
    return found


def test_the_printed_example(device, solve):
    idom, solver = solve("of-the-paper")
    assert idom.tolist() == [0, 0, 0, 0, 3]
    sets = device.asnumpy(solver.dominators)
    assert [[d for d in range(5) if word >> d & 1] for word in sets.tolist()] == [
        [0],
        [0, 1],
        [0, 2],
        [0, 3],
        [0, 3, 4],
    ]
    assert device.asnumpy(solver.gray).tolist() == [0, 1, 3, 2, 6]
    assert printed_rule(sets, 0) == [-1, 0, 0, 0, 3]


def test_the_steps_that_the_paper_times_are_recorded(solve):
    phases = []
    solve("of-the-paper", 0, phases)
    assert [phase.mode for phase in phases] == ["prepare", "initialize", "persistent", "total"]
    assert phases[-1].time_ms >= max(phase.time_ms for phase in phases[:-1])


def test_the_highest_number_is_not_the_nearest_dominator(device, solve):
    idom, solver = solve("against-the-numbers")
    assert idom.tolist() == [0, 2, 3, 4, 0]
    assert printed_rule(device.asnumpy(solver.dominators), 0) == [-1, 4, 4, 4, 0]


@pytest.mark.parametrize("name", ["islands", "loop-on-the-root"])
def test_unreached_vertices_have_no_dominator(device, solve, name):
    graph = rooted_graphs()[name]
    idom, solver = solve(name)
    np.testing.assert_array_equal(idom, reference_by_removal(graph, 0))
    unreached = np.flatnonzero(idom == NONE)
    assert len(unreached)
    full = 2**graph.n_vertices - 1
    # The sets are as in the paper, whose rule then finds a dominator.
    assert set(device.asnumpy(solver.dominators)[unreached].tolist()) == {full}
    assert -1 not in [printed_rule(device.asnumpy(solver.dominators), 0)[v] for v in unreached]
