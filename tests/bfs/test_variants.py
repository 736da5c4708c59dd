"""Every BFS variant on every sample graph, on every device."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bfs.test_certify import solve as solved_by_scipy
from graph_strategies import drawn_graphs
from relaxometer.device import get_device
from relaxometer.graphs.graph import Graph
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems.bfs import NO_PREDECESSOR, UNREACHED
from relaxometer.problems.bfs._incoming import incoming
from relaxometer.problems.bfs._switching import SwitchingParameters
from relaxometer.problems.bfs.certify import BfsCertifier
from relaxometer.problems.bfs.hybrid_packed import _best_neighbours
from relaxometer.problems.bfs.tiled import tiled
from relaxometer.problems.sssp import _maps
from relaxometer.problems.variants import Skipped, load_solver, solver_names
from sample_graphs import as_type, sample_graphs, undirected

VARIANTS = solver_names("bfs")
SWITCHING = ("hybrid", "hybrid-cpu", "cooperative", "multi-source")

ALWAYS_BOTTOM_UP = {"alpha": 1e12, "beta": 1e12}
ALWAYS_TOP_DOWN = {"alpha": 1e-12}
TO_AND_FRO = {"alpha": 1e12, "beta": 1e-12}
LIKE_BEAMER = {"alpha": 4, "beta": 5, "way_back": "beamer"}
SWITCHES = [ALWAYS_BOTTOM_UP, ALWAYS_TOP_DOWN, TO_AND_FRO, LIKE_BEAMER]

SETTINGS = [
    *((variant, {}) for variant in VARIANTS),
    *((variant, switch) for variant in ("hybrid", "hybrid-cpu") for switch in SWITCHES),
    *(("cooperative", {**switch, "cpu_share": 0.5}) for switch in SWITCHES),
    *(("bottom-up", {"threshold": threshold}) for threshold in (0, 3, 2**32 - 1)),
    *(("hybrid", {**ALWAYS_BOTTOM_UP, "threshold": threshold}) for threshold in (0, 3)),
    ("hybrid", {**ALWAYS_BOTTOM_UP, "first_probe": "first"}),
    ("hybrid-packed", {"alpha": 1e12, "hubs": 32, "tail": 0}),
    ("hybrid-packed", {"alpha": 1e12, "hubs": 32, "threshold": 3}),
    ("hybrid-packed", {"alpha": 1e12, "beta": 1e-12, "patience": 0, "tail": 0}),
    *(("hybrid-packed", {"alpha": 1e12, "best_of": best_of}) for best_of in (1, 7, "all")),
    ("hybrid-packed", {"alpha": 1e-12}),
    # Levels from a twelfth of the arcs on only mark what they find.
    ("hybrid-packed", {"alpha": 1.5}),
    ("hybrid-packed", {"alpha": 1.5, "hubs": 32, "beta": 1e-12, "patience": 0, "tail": 0}),
    *(("cooperative", {**TO_AND_FRO, "cpu_share": share}) for share in (0, 0.25, 1)),
    ("multi-source", {**ALWAYS_BOTTOM_UP, "order": "degree"}),
    ("multi-source", {**ALWAYS_TOP_DOWN, "order": "given"}),
    ("multi-source", {**TO_AND_FRO, "order": "degree"}),
    *(
        ("tiled", {"tiles": 5, "cut": cut, "ball": ball, "reach": reach})
        for cut, ball, reach in (("ranges", 2, 1), ("grow", 7, 2), ("ranges", 16, 3), ("grow", 32, 16))
    ),
]
"""Variants, with parameters that cover their branches."""


def name_of(value):
    if isinstance(value, dict):
        return ",".join(f"{key}={setting}" for key, setting in value.items()) or "defaults"
    return getattr(value, "name", value)


def make_solver(variant, resident, **parameters):
    module = load_solver("bfs", variant)
    return module.Solver(resident, module.Parameters(**parameters))


def sizes_of_levels(levels):
    """Vertices found from each level, including the last, which finds none."""
    reached = levels[levels != UNREACHED]
    return [*np.bincount(reached)[1:].tolist(), 0]


def checked(resident, solver, source, phases=None):
    """Search, and compare with SciPy and the certificate; return answer and levels."""
    device = resident.device
    answer = solver.solve(source, phases)
    columns = {name: device.asarray(values) for name, values in answer.columns.items()}
    levels = device.asnumpy(columns["level"])
    expected, _ = solved_by_scipy(resident.host, source)
    np.testing.assert_array_equal(levels, expected)
    certificate = BfsCertifier(resident).check(source, **columns)
    assert certificate.holds, certificate.reason
    unreached = device.asnumpy(columns["predecessor"]) == NO_PREDECESSOR
    np.testing.assert_array_equal(unreached, levels == UNREACHED)
    assert answer.phases == len(sizes_of_levels(levels))
    return answer, levels


@pytest.mark.parametrize("graph", sample_graphs().values(), ids=name_of)
@pytest.mark.parametrize(("variant", "parameters"), SETTINGS, ids=name_of)
def test_levels_and_phases_are_right_and_certified(device, variant, parameters, graph):
    resident = ResidentGraph.upload(device, graph)
    solver = make_solver(variant, resident, **parameters)
    checked(resident, solver, graph.n_vertices - 1)
    phases = []
    _, levels = checked(resident, solver, 0, phases)
    assert all(phase.time_ms >= 0 for phase in phases)
    if variant in ("auto", "tiled"):
        return  # which do not search level by level
    assert [phase.updated for phase in phases] == sizes_of_levels(levels)
    assert {phase.mode for phase in phases} <= {"top-down", "bottom-up"}
    for depth, phase in enumerate(phases):
        if phase.mode == "top-down":
            assert phase.relaxed_arcs == graph.degrees[levels == depth].sum()


@pytest.mark.parametrize(("variant", "parameters"), SETTINGS, ids=name_of)
def test_levels_do_not_depend_on_the_order_of_threads(variant, parameters):
    resident = ResidentGraph.upload(get_device("host", order_seed=1), sample_graphs()["random-directed"])
    checked(resident, make_solver(variant, resident, **parameters), 3)


def hubs_and_leaves(n=3000):
    """Three hubs of the largest ids with common leaves; rows of many lengths; a third isolated."""
    rng = np.random.default_rng(11)
    leaves = rng.integers(3, 2 * n // 3, 2500)
    edges = np.concatenate(
        [
            np.stack([rng.integers(0, 3, len(leaves)), leaves], axis=1),
            (2 * n // 3 * rng.random((4000, 2)) ** 2).astype(int),
        ]
    )
    return undirected("hubs-and-leaves", n, n - 1 - edges, np.ones(len(edges), dtype=int))


@pytest.mark.parametrize(("variant", "parameters"), SETTINGS, ids=name_of)
def test_rows_longer_than_a_piece(device, variant, parameters):
    """In a graph that says that it is undirected."""
    graph = hubs_and_leaves()
    assert graph.degrees.max() > 4 * 128
    graph.metadata["directed"] = False
    resident = ResidentGraph.upload(device, graph)
    solver = make_solver(variant, resident, **parameters)
    for source in (0, 2999):
        checked(resident, solver, source)


@pytest.mark.parametrize("variant", VARIANTS)
@given(case=drawn_graphs(st.just(1), most=70), data=st.data())
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_small_graph(variant, case, data):
    graph, source = case
    parameters = data.draw(st.sampled_from([given for name, given in SETTINGS if name == variant]))
    resident = ResidentGraph.upload(get_device("host"), graph)
    checked(resident, make_solver(variant, resident, **parameters), source)


class TestDirections:
    """When direction-optimising searches switch direction."""

    @pytest.mark.parametrize(
        ("variant", "parameters", "modes"),
        [
            *((variant, ALWAYS_BOTTOM_UP, ["bottom-up"] * 4) for variant in SWITCHING),
            *((variant, ALWAYS_TOP_DOWN, ["top-down"] * 4) for variant in SWITCHING),
            *((variant, TO_AND_FRO, ["bottom-up", "top-down"] * 2) for variant in SWITCHING),
            ("hybrid-packed", {"alpha": 1e12, "tail": 0}, ["top-down"] + ["bottom-up"] * 9),
            ("hybrid-packed", {"alpha": 1e-12}, ["top-down"] * 9),
            ("hybrid-packed", {**TO_AND_FRO, "patience": 0, "tail": 0}, ["top-down", "bottom-up"] * 4),
        ],
        ids=name_of,
    )
    def test_modes_follow_the_parameters(self, host_device, variant, parameters, modes):
        resident = ResidentGraph.upload(host_device, sample_graphs()["grid"])
        phases = []
        make_solver(variant, resident, **parameters).solve(0, phases)
        assert [phase.mode for phase in phases][: len(modes)] == modes

    @pytest.mark.parametrize("variant", SWITCHING)
    @pytest.mark.parametrize("way_back", ["hirakushi", "beamer"])
    def test_modes_follow_the_printed_rules(self, host_device, variant, way_back):
        graph, alpha, beta = hubs_and_leaves(), 3.0, 2.0
        n, m = graph.n_vertices, graph.n_arcs
        few = n**2 / (beta * m) if way_back == "hirakushi" else n / beta
        resident = ResidentGraph.upload(host_device, graph)
        solver = make_solver(variant, resident, alpha=alpha, beta=beta, way_back=way_back)
        phases = []
        _, levels = checked(resident, solver, 1500, phases)
        mode = "top-down"
        for depth, phase in enumerate(phases):
            frontier = levels == depth
            if mode == "top-down" and graph.degrees[frontier].sum() > m / alpha:
                mode = "bottom-up"
            elif mode == "bottom-up" and frontier.sum() < few:
                mode = "top-down"
            assert phase.mode == mode
        assert {phase.mode for phase in phases} == {"top-down", "bottom-up"}

    def test_a_packed_neighbour_saves_arcs(self, host_device):
        resident = ResidentGraph.upload(host_device, hubs_and_leaves())
        examined = {}
        for first_probe in ("largest", 4, "first"):
            phases = []
            solver = make_solver("hybrid", resident, first_probe=first_probe)
            solver.solve(1500, phases)
            examined[first_probe] = sum(phase.relaxed_arcs for phase in phases)
        assert examined["largest"] <= examined[4] < examined["first"]


class TestCooperative:
    """How CPU and GPU divide the work."""

    def test_the_tuned_shares_are_shares(self, host_device):
        resident = ResidentGraph.upload(host_device, hubs_and_leaves())
        resolved = make_solver("cooperative", resident).resolved
        assert resolved["cpu_share"] == "auto"
        assert 0 < resolved["cpu_share_top_down"] < 1
        assert 0 < resolved["cpu_share_bottom_up"] < 1

    @pytest.mark.parametrize(("share", "words"), [(0, 0), (0.5, 12), (1, 23)])
    def test_the_cut_is_at_the_share_of_the_arcs(self, host_device, share, words):
        resident = ResidentGraph.upload(host_device, sample_graphs()["grid"])
        solver = make_solver("cooperative", resident, cpu_share=share)
        resolved = solver.resolved
        assert resolved["cpu_share_top_down"] == resolved["cpu_share_bottom_up"] == share
        assert solver._cut("top-down") == pytest.approx(words, abs=1)


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_type_of_weights_does_not_matter(host_device, variant):
    resident = ResidentGraph.upload(host_device, as_type(sample_graphs()["grid"], "float64"))
    checked(resident, make_solver(variant, resident), 4)


@pytest.mark.parametrize("way_back", ["hirakushi", "beamer"])
@pytest.mark.parametrize("extreme", [5e-324, 1e-30, 1e308])
def test_extreme_switching_parameters_have_limits(extreme, way_back):
    parameters = SwitchingParameters(alpha=extreme, beta=extreme, way_back=way_back)
    for n_vertices, n_arcs in ((1, 0), (1000, 3), (2**31, 2**35)):
        many, few = parameters.limits(n_vertices, n_arcs)
        assert 0 <= many <= 2**63
        assert 0 <= few <= 2**63


@pytest.mark.parametrize("removed", [0, 1])
def test_only_a_graph_whose_arcs_all_have_a_reverse_is_its_own_reverse(device, removed):
    tails, heads = np.random.default_rng(5).integers(0, 280, (2, 1500))
    both = Graph.from_arcs(
        "both", 300, tails, heads, np.ones(1500, np.uint32), undirected=True, keep_self_loops=True
    )
    ends = both.tails[removed:], both.targets[removed:]
    graph = Graph.from_arcs("arcs", 300, *ends, np.ones(len(ends[0]), np.uint32), keep_self_loops=True)
    resident = ResidentGraph.upload(device, graph)
    offsets, found = incoming(resident)
    assert (found is resident.targets) == (removed == 0)
    order = np.lexsort((graph.tails, graph.targets))
    assert np.array_equal(device.asnumpy(found), graph.tails[order])
    degrees = np.bincount(graph.targets, minlength=300)
    assert np.array_equal(np.diff(device.asnumpy(offsets)), degrees)


@pytest.mark.parametrize("id_bits", [0, 24])
def test_vertices_are_ranked_by_falling_degree_with_narrow_and_wide_keys(host_device, monkeypatch, id_bits):
    """Narrow keys hold four binary digits of a degree, so that a rank may be wrong by an eighth of it."""
    monkeypatch.setattr(_best_neighbours, "FEW_ID_BITS", id_bits)
    n, rng = 500, np.random.default_rng(6)
    tails, heads = rng.integers(0, n, 9000), (n * rng.random(9000) ** 4).astype(int)
    resident = ResidentGraph.upload(host_device, Graph.from_arcs("skewed", n, tails, heads, [1] * 9000))
    rows = incoming(resident)
    ranked = _best_neighbours.best_neighbours(host_device, rows, 32)
    assert sorted(ranked.ids.tolist()) == list(range(n))
    np.testing.assert_array_equal(ranked.rank[ranked.ids], np.arange(n))
    degrees = np.diff(rows[0])[ranked.ids]
    assert degrees[0] > 300
    assert degrees[-1] == 0
    slack = 1 if id_bits == 0 else 9 / 8
    assert (degrees <= slack * np.minimum.accumulate(degrees)).all()


def wide(n):
    """A vertex with more heads than a phase has room for, and arcs among them."""
    rng = np.random.default_rng(8)
    spokes = np.stack([np.zeros(n - 1, dtype=int), np.arange(1, n)], axis=1)
    arcs = np.concatenate([spokes[: n // 2], rng.integers(0, n, (n, 2))])
    return Graph.from_arcs("wide", n, arcs[:, 0], arcs[:, 1], np.ones(len(arcs), dtype=int))


class TestTiled:
    """Maps in tiles: queues that overflow, shared memory, and graphs that do not suit."""

    def test_a_queue_that_overflows_loses_nothing(self, device):
        resident = ResidentGraph.upload(device, wide(6000))
        solver = tiled.Solver(resident, tiled.Parameters(tiles=1))
        checked(resident, solver, 0, [])
        assert solver.tile_log["sweeps"].sum() > 0

    def test_balls_stay_in_global_memory_where_shared_memory_is_short(self, device, monkeypatch):
        resident = ResidentGraph.upload(device, sample_graphs()["grid"])
        monkeypatch.setattr(_maps, "shared_bytes", lambda _: tiled.QUEUE_BYTES + 1400)
        solver = tiled.Solver(resident, tiled.Parameters(tiles=4))
        assert not solver.resolved["balls_in_shared_memory"]
        assert solver.resolved["ball"] == tiled.SIZES[-1]
        checked(resident, solver, 0)

    @pytest.mark.parametrize(
        ("graph", "tiles", "message"),
        [
            (
                Graph.from_arcs("large", 32768 * 5, [0], [1], [1]),
                5,
                "163840 vertices; 5 tiles hold at most 163835",
            ),
            (
                Graph.from_arcs("large", 32767 * 2, [0], [1], [1]),
                2,
                "a tile has 32768 balls and 0 arcs that leave it",
            ),
        ],
    )
    def test_graphs_that_do_not_suit_are_skipped(self, host_device, graph, tiles, message):
        with pytest.raises(Skipped, match=message):
            tiled.Solver(ResidentGraph.upload(host_device, graph), tiled.Parameters(tiles=tiles))

    def test_a_tile_that_shared_memory_does_not_hold_is_skipped(self, host_device, monkeypatch):
        monkeypatch.setattr(_maps, "shared_bytes", lambda _: tiled.QUEUE_BYTES + 300)
        resident = ResidentGraph.upload(host_device, sample_graphs()["grid"])
        with pytest.raises(Skipped, match=r"4 tiles of [0-9]+ vertices; fewer blocks run at once"):
            tiled.Solver(resident, tiled.Parameters(tiles=4))
