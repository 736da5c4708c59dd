"""Weights of float types: buckets of every width, lengths that hardly grow, hubs, and what refuses them."""

import numpy as np
import pytest

from relaxometer.device import get_device
from relaxometer.graphs.graph import Graph
from relaxometer.graphs.lengths import LENGTHS
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems.sssp import _maps, auto
from relaxometer.problems.sssp._distance_proof import DistanceProver
from relaxometer.problems.sssp._packed_arcs import PackedArcs
from relaxometer.problems.sssp.certify import SsspCertifier
from relaxometer.problems.sssp.near_far import many_sources, near_far
from relaxometer.problems.sssp.near_far._near_far import bucket_shift, packed_arcs
from relaxometer.problems.variants import Skipped, load_solver, solver_names, takes_weights
from relaxometer.studies.all_pairs import measure_all_pairs
from relaxometer.studies.throughput import measure_throughput
from relaxometer.studies.traffic import measure_traffic, slowed
from sample_graphs import FLOATS, as_floats, least_sums, sample_graphs

TAKES_FLOATS = [
    (name, kind)
    for kind in FLOATS
    for name in solver_names("sssp")
    if takes_weights(load_solver("sssp", name).Solver, LENGTHS[kind])
]
"""Variants with a type of floats that they take."""

of_floats = pytest.mark.parametrize("kind", FLOATS)


def floats(kind, name, n, tails, heads, weights, **given):
    return Graph.from_arcs(name, n, tails, heads, weights, weight_type=kind, **given)


def random_floats(kind, n, arcs, choose, seed=0):
    """Random arcs whose weights `choose` draws, and a path through all vertices."""
    rng = np.random.default_rng(seed)
    tails = np.append(rng.integers(n, size=arcs), np.arange(n - 1))
    heads = np.append(rng.integers(n, size=arcs), np.arange(1, n))
    return floats(kind, "random", n, tails, heads, choose(rng, arcs + n - 1))


def absorbed_chain(kind, n=400):
    """A path whose first arc is so long that all others add nothing, and arcs back along it."""
    tails, heads = np.arange(n - 1), np.arange(1, n)
    weights = np.append(FLOATS[kind].one_lost, np.full(n - 2, 0.5))
    back = np.arange(2, n)
    return floats(
        kind,
        "absorbed-chain",
        n,
        np.append(tails, back),
        np.append(heads, back - 1),
        np.append(weights, np.full(n - 2, 0.25)),
    )


def shuffled(graph, seed=0):
    """The same graph with other ids."""
    ids = np.random.default_rng(seed).permutation(graph.n_vertices)
    kind = graph.weights.dtype.name
    return floats(kind, "shuffled", graph.n_vertices, ids[graph.tails], ids[graph.targets], graph.weights)


def star_of_stars(kind, leaves=700):
    """A hub of many arcs from which each leaf leads on to another hub."""
    ids = np.arange(1, leaves + 1)
    tails = np.concatenate([np.zeros(leaves, int), ids, np.full(leaves, leaves + 1)])
    heads = np.concatenate([ids, np.full(leaves, leaves + 1), leaves + 1 + ids])
    weights = np.concatenate([ids * 0.1, 7 / ids, ids * 0.3])
    return floats(kind, "star-of-stars", 2 * leaves + 2, tails, heads, weights)


def graphs_of(kind):
    """Graphs by name."""
    lost, tiny = kind.one_lost, kind.tiny
    low, high = np.log2(tiny), np.log2(kind.largest) - 10
    weights = {
        "large-and-one": lambda rng, m: rng.choice([1.0, lost, lost + 2], m),
        "subnormal": lambda rng, m: tiny * rng.integers(0, 1000, m),
        "all-magnitudes": lambda rng, m: 2.0 ** rng.uniform(low, high, m),
        "zero-or-not": lambda rng, m: rng.choice([0.0, 0.1], m),
        "no-weight": lambda rng, m: np.zeros(m),
    }
    return {
        "absorbed-chain": absorbed_chain(kind.name),
        "shuffled-chain": shuffled(absorbed_chain(kind.name)),
        "star-of-stars": star_of_stars(kind.name),
    } | {name: random_floats(kind.name, 80, 300, choose) for name, choose in weights.items()}


GRAPHS = {name: graphs_of(kind) for name, kind in FLOATS.items()}
NAMES = list(GRAPHS["float32"])


def assert_solved(resident, source, answer):
    columns = [resident.device.asarray(column) for column in answer.columns.values()]
    certificate = SsspCertifier(resident).check(source, *columns)
    assert certificate.holds, certificate.reason
    np.testing.assert_array_equal(resident.device.asnumpy(columns[0]), least_sums(resident.host, source))


def solved(device, name, graph, source=0, **parameters):
    """Solve, prove, and return the solver and its answer."""
    resident, module = ResidentGraph.upload(device, graph), load_solver("sssp", name)
    try:
        solver = module.Solver(resident, module.Parameters(**parameters))
    except Skipped as reason:
        pytest.skip(str(reason))
    answer = solver.solve(source)
    assert_solved(resident, source, answer)
    return solver, answer


@pytest.mark.parametrize("graph", NAMES)
@pytest.mark.parametrize(("name", "kind"), TAKES_FLOATS)
def test_lengths_that_grow_little_or_much(device, name, kind, graph):
    _, answer = solved(device, name, GRAPHS[kind][graph])
    assert not answer.overflowed


BUCKETS = {
    "near-far": [
        {"narrow": narrow, "wide": 10**6, "delta": delta, "block_target": target, "grid_target": target}
        for narrow in (0, 10**6)
        for delta in (1e-30, 1e-3, 1.0, 1e30)
        for target in (1, 64)
    ]
    + [{"narrow": 0, "delta": 0.05, "grid_target": 20, "crowd": 20}],
    "many-sources": [{"delta": 1e-30, "target": 1}, {"delta": 1e30}],
    "delta-stepping": [
        {"delta": delta} for delta in (1e-45, 1e-9, 0.5, 1, 10**9, "median", "max-over-degree")
    ],
    "bellman-ford-queue": [{"order": order, "keep": 2} for order in ("fifo", "slf", "lll", "slf-lll")],
}


@of_floats
@pytest.mark.parametrize("graph", ["large-and-one", "subnormal", "all-magnitudes", "shuffled-chain"])
@pytest.mark.parametrize(
    ("name", "parameters"), [(name, given) for name, several in BUCKETS.items() for given in several]
)
def test_every_width_of_buckets_gives_the_answer(device, name, parameters, graph, kind):
    """Also widths below the distance between floats, so that a bucket more is the same length."""
    solved(device, name, GRAPHS[kind][graph], 1, **parameters)


@of_floats
def test_the_order_of_threads_does_not_matter(kind):
    for seed in (1, 2):
        device = get_device("host", order_seed=seed)
        for name in ("near-far", "delta-stepping", "bellman-ford-queue"):
            solved(device, name, GRAPHS[kind]["large-and-one"], 5)


@of_floats
def test_heavy_arcs_that_lead_back_into_their_bucket_are_followed_again(device, kind):
    # The last of 2**32 buckets of width 2**-4 begins below 2**28, so all but the source are in it. 1 comes
    # nearer when the heavy arcs of the bucket are followed, one from 2 and its own.
    weights = [2.0**28 + 128, 2.0**28, 64.0, 32.0]
    graph = floats(kind, "back", 4, [0, 0, 2, 1], [1, 2, 1, 3], weights)
    _, answer = solved(device, "delta-stepping", graph, delta=2.0**-4)
    assert device.asnumpy(answer.distance).tolist() == [0, 2.0**28 + 64, 2.0**28, 2.0**28 + 96]
    phases = []
    resident, module = ResidentGraph.upload(device, graph), load_solver("sssp", "delta-stepping")
    assert_solved(resident, 0, module.Solver(resident, module.Parameters(delta=2.0**-4)).solve(0, phases))
    assert len(phases) == answer.phases


class TestWidths:
    """The widths that solvers report are in the graph's unit, not of its bits."""

    graph = floats("float32", "widths", 3, [0, 0, 1], [1, 2, 2], [0.25, 0.5, 1.5])

    @pytest.mark.parametrize(
        ("rule", "width"),
        [("median", 0.5), ("mean", 0.75), ("max-over-degree", 0.75), (3, 3), (0.125, 0.125)],
    )
    def test_of_delta_stepping(self, device, rule, width):
        solver, _ = solved(device, "delta-stepping", self.graph, delta=rule)
        assert solver.resolved["delta"] == width

    def test_a_fraction_is_rounded_where_weights_are_integers(self, device):
        graph = Graph.from_arcs("integers", 2, [0], [1], [9])
        module = load_solver("sssp", "delta-stepping")
        for delta, width in ((0.2, 1), (3.4, 3)):
            solver = module.Solver(ResidentGraph.upload(device, graph), module.Parameters(delta=delta))
            assert solver.resolved["delta"] == width
            assert isinstance(solver.resolved["delta"], int)

    @pytest.mark.parametrize(
        ("delta", "width"), [(1.0, 0.5), (10.0, 4.0), (1e-9, 2.0**-31), (1e-60, 2.0**-126)]
    )
    @pytest.mark.parametrize("name", ["near-far", "many-sources"])
    def test_of_near_far(self, device, name, delta, width):
        solver, _ = solved(device, name, self.graph, delta=delta)
        assert solver.resolved["bucket"] == width

    @of_floats
    def test_of_near_far_from_the_weights(self, device, kind):
        def shift(factor):
            resident = ResidentGraph.upload(device, as_unit(factor))
            return bucket_shift(resident, packed_arcs(resident), None)

        def as_unit(factor):
            grid = sample_graphs()["grid"]
            return floats(kind, "unit", grid.n_vertices, grid.tails, grid.targets, grid.weights * factor)

        assert [shift(2.0**power) - shift(1.0) for power in (-20, -1, 0, 1, 20)] == [-20, -1, 0, 1, 20]
        least = {"float32": -126, "float64": -1022}[kind]
        assert shift(FLOATS[kind].tiny) == least
        assert shift(FLOATS[kind].largest / 256) == -least

    @pytest.mark.parametrize("weights", ["ordinary", "largest", "smallest", "none"])
    @of_floats
    def test_statistics_of_the_weights(self, device, kind, weights):
        largest, tiny = FLOATS[kind].largest, FLOATS[kind].tiny
        weights = {
            "ordinary": [0.1, 0.2, 0.7],
            "largest": [largest, largest, 0],
            "smallest": [tiny] * 3,
            "none": [0, 0, 0],
        }[weights]
        graph = floats(kind, "loaded", 4, [0, 0, 0], [1, 2, 3], weights)
        resident = ResidentGraph.upload(device, graph)
        packed = PackedArcs(device, *resident.csr[1:], graph.lengths)
        exact = graph.weights.astype(np.longdouble)
        found = tuple(map(np.longdouble, packed.weight_statistics()))
        assert found == pytest.approx((exact.mean(), exact.std()), rel=1e-12, abs=0)


class TestManySources:
    """Trees from many sources in one launch have the type of the weights."""

    @of_floats
    def test_every_tree_is_proven(self, device, kind):
        graph = as_floats(sample_graphs()["random-directed"], kind)
        resident = ResidentGraph.upload(device, graph)
        solver = many_sources.Solver(resident, many_sources.Parameters(sources=5))
        sources = [0, 3, 3, graph.n_vertices - 1, 7]
        distance, predecessor, _ = solver.solve_many(sources)
        assert distance.dtype == np.dtype(kind)
        certifier = SsspCertifier(resident)
        for row, source in enumerate(sources):
            np.testing.assert_array_equal(device.asnumpy(distance[row]), least_sums(graph, source))
            assert certifier.check(source, distance[row], predecessor[row]).holds

    @of_floats
    def test_a_length_beyond_the_largest_float_is_noticed(self, device, kind):
        graph = floats(kind, "too-far", 3, [0, 1], [1, 2], [FLOATS[kind].largest] * 2)
        solver = many_sources.Solver(ResidentGraph.upload(device, graph), many_sources.Parameters())
        assert solver.solve_many([2, 0]).overflowed


class TestAuto:
    """It chooses among the variants that take floats."""

    @pytest.mark.parametrize("name", ["grid", "random-directed"])
    @of_floats
    def test_it_is_proven(self, device, name, kind):
        solver, _ = solved(device, "auto", as_floats(sample_graphs()[name], kind))
        assert (solver.resolved["chosen"], kind) in TAKES_FLOATS

    def test_no_other_variant_is_expected_or_prepared(self, host_device, monkeypatch):
        for name, module in auto.CANDIDATES.items():
            types = {"uint32", "float32"} if name == "near-far" else {"uint32"}
            monkeypatch.setattr(module.Solver, "weight_types", types, raising=False)
            if name != "near-far":
                monkeypatch.setattr(module.Solver, "__init__", lambda *_: pytest.fail("was prepared"))
        resident = ResidentGraph.upload(host_device, as_floats(sample_graphs()["grid"]))
        for searches in (1, 10**6):
            solver = auto.Solver(resident, auto.Parameters(searches=searches))
            assert solver.resolved["chosen"] == "near-far"
            assert solver.resolved["expected"].count(",") == 0
        assert list(auto.expected_costs(resident, _maps.degrees_of(resident))[1]) == ["near-far"]


class TestStudies:
    """Studies refuse variants that do not take the type, and give the others the right weights."""

    @pytest.fixture(params=FLOATS)
    def graph(self, request):
        return as_floats(sample_graphs()["grid"], request.param)

    def test_throughput(self, host_device, graph):
        names = ["many-sources", "phast-many", "phast-many-distances"]
        rows = measure_throughput(
            graph, host_device, variants=names, searches=[2], repetitions=1, seed=1
        ).to_pylist()
        assert [row["status"] for row in rows] == ["ok", "skipped", "skipped"]
        assert (
            rows[1]["reason"]
            == rows[2]["reason"]
            == f"takes weights of type uint32, not {graph.weights.dtype}"
        )
        assert rows[0]["proven"] == 2

    def test_traffic(self, graph):
        given = {"rounds": 1, "searches": 2, "share": 0.5, "factor": 3.0, "seed": 1}
        rows = measure_traffic(
            graph, "host", variants=["near-far", "dijkstra-cpu", "phast"], **given
        ).to_pylist()
        assert [row["status"] for row in rows] == ["ok", "ok", "skipped"]
        assert rows[2]["reason"] == f"takes weights of type uint32, not {graph.weights.dtype}"
        assert rows[0]["slowed"] == rows[1]["slowed"] > 0

    def test_slowed_weights_are_neither_rounded_to_integers_nor_infinite(self, graph):
        rng = np.random.default_rng(1)
        weights = slowed(graph, 1.0, 3.0, rng)
        assert weights.dtype == graph.weights.dtype
        assert ((weights >= graph.weights) & (weights <= 3 * graph.weights)).all()
        assert (weights % 1 != 0).any()
        kind = FLOATS[weights.dtype.name]
        largest = floats(kind.name, "largest", 2, [0], [1], [kind.largest])
        assert slowed(largest, 1.0, 3.0, rng).tolist() == [kind.largest]

    def test_all_pairs(self, host_device, graph):
        passes, *tables = measure_all_pairs(graph, host_device, sources="all", table=0, seed=1)
        assert passes["status"].to_pylist() == ["skipped", "skipped"]
        reason = f"takes weights of type uint32, not {graph.weights.dtype}"
        assert set(passes["reason"].to_pylist()) == {reason}
        assert [len(table) for table in tables] == [0, 0, 0]

    def test_distances_without_predecessors(self, host_device, graph):
        with pytest.raises(Skipped, match=f"distances of type {graph.weights.dtype}"):
            DistanceProver(ResidentGraph.upload(host_device, graph))


def test_unreached_vertices_are_infinitely_far(device):
    for name, kind in TAKES_FLOATS:
        graph = floats(kind, "apart", 5, [0, 3], [1, 4], [0.5, 0.5])
        _, answer = solved(device, name, graph)
        assert device.asnumpy(device.asarray(answer.distance)).tolist() == [0, 0.5, *[np.inf] * 3]


@of_floats
def test_hubs_are_cut_up_and_shared(device, kind):
    for narrow in (0, 10**6):
        phases = []
        resident = ResidentGraph.upload(device, star_of_stars(kind))
        solver = near_far.Solver(resident, near_far.Parameters(narrow=narrow, wide=10**6, delta=1e6))
        assert_solved(resident, 0, solver.solve(0, phases))
        assert {phase.mode for phase in phases} == {"block" if narrow else "grid"}
