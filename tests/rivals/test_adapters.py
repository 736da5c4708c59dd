"""The rivals that ship: each is small, pinned, and right on graphs that programs tend to get wrong."""

import importlib.util
import re
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from dominator_samples import all_graphs_of_four, random_batch, random_parts, rooted_graphs, united
from relaxometer.graphs.batch import Batch
from relaxometer.graphs.graph import Graph
from relaxometer.problems.problem import load_problem
from relaxometer.problems.queries import QuerySets
from relaxometer.race.measurement import Measurement
from relaxometer.rivals.definition import HELPERS, REQUIREMENTS, Rival, find_rivals
from relaxometer.rivals.exchange import export
from relaxometer.rivals.installation import Absent, Installed, install, installation
from rival_runs import run_on
from route_samples import random_queries, some_queries
from sample_graphs import sample_graphs

SHIPPED = find_rivals([])
RIVALS = {name: rival for name, rival in SHIPPED.items() if rival.definition.adapter}


def runs() -> list[Any]:
    """Every rival with every problem that it solves."""
    return [
        pytest.param(name, problem, marks=[pytest.mark.gpu] if rival.definition.class_ == "gpu" else [])
        for name, rival in RIVALS.items()
        for problem in rival.definition.problems
    ]


def side_by_side(name: str, graphs: list[Graph]) -> tuple[Graph, list[int]]:
    """Unite graphs without joining them; return the first vertex of each, too, and the last one of all."""
    first = np.cumsum([0, *(graph.n_vertices for graph in graphs)])
    pairs = list(zip(graphs, first[:-1].tolist(), strict=True))
    columns = [
        np.concatenate([graph.tails.astype(np.int64) + begin for graph, begin in pairs]),
        np.concatenate([graph.targets.astype(np.int64) + begin for graph, begin in pairs]),
        np.concatenate([graph.weights for graph in graphs]),
    ]
    whole = Graph.from_arcs(name, int(first[-1]), *columns, keep_self_loops=True, keep_parallel=True)
    return whole, [*first[:-1].tolist(), whole.n_vertices - 1]


@cache
def samples(problem: str) -> list[tuple[Graph | Batch, list[int]]]:
    """Graphs and sources; most samples are parts of one graph, since each graph takes a process."""
    if problem == "dominators":
        parts = [(graph, [root]) for graph, root, _ in united(random_parts(60))]
        rooted = list(rooted_graphs().values())
        return [side_by_side("rooted", rooted), *parts, (random_batch(60), [0]), (all_graphs_of_four(), [0])]
    graphs = sample_graphs()
    apart = ("one-vertex",) if problem == "bfs" else ("one-vertex", "heavy")
    together = [graph for name, graph in graphs.items() if name not in apart]
    return [side_by_side("samples", together), *((graphs[name], [0]) for name in apart)]


def measured(
    rival: Rival,
    problem: str,
    graph: Graph | Batch,
    sources: list[int],
    folder: Path,
    parameters: dict[str, Any] | None = None,
    **timing: Any,
) -> Measurement:
    """Run a rival; skip the test if it is absent. Searches of query sets do not use `sources`."""
    queries = None
    if load_problem(problem).queries and isinstance(graph, Graph):
        sets = dict(enumerate(some_queries(graph)))
        queries = QuerySets(
            {**sets, len(sets): random_queries(graph, seed=9)}, {**dict.fromkeys(sets, 0), len(sets): None}
        )
        sources = list(sets)
    try:
        installed = install(rival)
    except Absent as why:
        pytest.skip(f"{rival.name}: {why}")
    timing = {"timeout_s": 120, "warmup": 0, "calls": 1} | timing
    what = {"problem": problem, "queries": queries, "timing": timing, "believed": False}
    what |= {"parameters": parameters or {}}
    result = run_on(graph, rival, installed, folder, sources=sources, **what)
    for row in result.runs:
        if row.status == "absent":
            pytest.skip(f"{rival.name}: {row.reason}")
    return result


@pytest.mark.parametrize(("name", "problem"), runs())
def test_answers_are_proven(name: str, problem: str, tmp_path: Path) -> None:
    rival = RIVALS[name]
    takes = rival.definition.problems[problem].takes
    for graph, sources in samples(problem):
        if takes not in ("either", "batch" if isinstance(graph, Batch) else "graph"):
            continue
        result = measured(rival, problem, graph, sources, tmp_path / graph.name)
        found = {(row.status, row.reason) for row in result.runs}
        if (name, graph.name) in TOO_HEAVY:
            assert found == {("skipped", TOO_HEAVY[name, graph.name])}
            continue
        # A loaded machine delays messages: then the times are disputed, not the answers.
        assert {status for status, _ in found} <= {"ok", "disputed"}, (graph.name, found)
        searches = len({row.source for row in result.runs})
        assert len(result.certificates) == len(result.runs) == searches
        assert all(row["holds"] for row in result.certificates)
        assert result.context["parameters"]["version"] not in ("unknown", "none")


TOO_HEAVY = {
    ("routingkit", "heavy"): "RoutingKit's distances and weights stay below 2,147,483,647",
    ("routingkit-cpp", "heavy"): "RoutingKit's distances and weights stay below 2,147,483,647",
    ("gap", "heavy"): "its weights stay below 1073741823",
    ("wasp", "heavy"): "its weights stay below 1073741823",
    ("cugraph", "heavy"): "distance reaches 16,777,216, from where float32 rounds integers",
}
"""What a library cannot represent, and how the adapter or the reader of answers says so."""


@pytest.mark.parametrize(
    ("name", "infinite"),
    [("routingkit", 2**31 - 1), ("routingkit-cpp", 2**31 - 1), ("gap", 2**30 - 1), ("wasp", 2**30 - 1)],
)
def test_a_far_vertex_is_told_from_an_unreached_one(name: str, infinite: int, tmp_path: Path) -> None:
    chain = Graph.from_arcs("chain", 4, [0, 1], [1, 2], [infinite - 3, 2])
    far = Graph.from_arcs("far", 4, [0, 1], [1, 2], [infinite - 3, 3])
    wide = {"delta": 2**20} if "delta" in RIVALS[name].definition.parameters else {}
    row = measured(RIVALS[name], "sssp", chain, [0], tmp_path / "chain", wide).runs[0]
    assert row.status in ("ok", "disputed")
    row = measured(RIVALS[name], "sssp", far, [0], tmp_path / "far", wide).runs[0]
    reason = TOO_HEAVY[name, "heavy"].replace("its weights", "its distances")
    assert (row.status, row.reason) == ("skipped", reason)


def test_a_rival_tells_what_it_chose_and_how_long_its_preparation_took_in_parts(tmp_path: Path) -> None:
    grid = sample_graphs()["grid"]
    # The parts are those of the first preparation.
    result = measured(RIVALS["routingkit"], "sssp", grid, [0], tmp_path / "routingkit", calls=0)
    parts = [
        float(result.context["parameters"][name])
        for name in ("order_ms", "contract_ms", "customize_ms", "targets_ms")
    ]
    assert 0 < sum(parts) <= result.runs[0].prepare_ms
    result = measured(RIVALS["graphblas"], "sssp", grid, [0], tmp_path / "graphblas")
    delta = 32 * grid.weights.mean() / grid.degrees.mean()
    assert int(result.context["parameters"]["delta"]) == 1 + int(delta)


@pytest.mark.parametrize("name", sorted(SHIPPED.keys() - RIVALS.keys()))
def test_without_an_adapter_a_command_is_asked_for(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("relaxometer.rivals.installation._has_gpu", lambda: True)
    url = SHIPPED[name].definition.url
    assert installation(SHIPPED[name]) == f"no program: build it as {url} says, and let `command` start it"
    assert isinstance(installation(SHIPPED[name], "true"), Installed)


@pytest.mark.parametrize(
    "name", [name for name in RIVALS if RIVALS[name].definition.adapter == "adapter.cpp"]
)
def test_results_depend_on_every_header_of_ours(name: str) -> None:
    files = {path.name: path.read_text(encoding="utf-8") for path in RIVALS[name].files}
    included = {header for text in files.values() for header in re.findall(r'#include "(\w+\.hpp)"', text)}
    assert "rival.hpp" in included <= files.keys()


@pytest.mark.parametrize("name", RIVALS)
def test_every_package_is_pinned_with_its_hashes(name: str) -> None:
    requirements = RIVALS[name].folder / REQUIREMENTS
    if RIVALS[name].definition.adapter == "adapter.cpp":
        assert not requirements.exists()
        return
    text = requirements.read_text(encoding="utf-8").replace("\\\n", " ")
    packages = [line for line in text.splitlines() if line.strip()]
    assert any(line.startswith("numpy==") for line in packages)  # the helper needs it
    for line in packages:
        assert re.match(r"[a-z0-9.-]+==\S+ (; .+ )?(\s+--hash=sha256:[0-9a-f]{64})+$", line), line[:80]


def test_without_a_gpu_cugraph_is_absent_and_nothing_is_downloaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("relaxometer.rivals.installation._has_gpu", lambda: False)
    monkeypatch.setattr("relaxometer.rivals.installation._environment", lambda rival: pytest.fail(rival.name))
    assert installation(RIVALS["cugraph"]) == "it needs an NVIDIA GPU"


def test_for_other_machines_only_packages_are_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The machine that starts a run on a cluster may lack the GPU, and has another CPU."""
    made: list[str] = []
    monkeypatch.setattr("relaxometer.rivals.installation._has_gpu", lambda: False)
    monkeypatch.setattr("relaxometer.rivals.installation._compiled", lambda rival: pytest.fail(rival.name))
    monkeypatch.setattr("relaxometer.rivals.installation._environment", lambda rival: made.append(rival.name))
    for name in ("cugraph", "boost", "llvm"):
        assert installation(RIVALS[name], elsewhere=True) == Installed([])
    assert made == ["cugraph"]


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("no-such-config --libs", "No such file or directory"),
        ("sh -c 'echo no package llvm >&2; exit 3'", "no package llvm"),
        ("llvm-config '--libs", "No closing quotation"),
        ("printf '\\377'", "can't decode byte 0xff"),
    ],
)
def test_a_command_without_flags_makes_a_rival_absent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, why: str
) -> None:
    rival = Rival(RIVALS["llvm"].folder)
    rival.definition = rival.definition.model_copy(update={"flags_command": command, "needs": None})
    monkeypatch.setenv("RELAXOMETER_CACHE", str(tmp_path))
    said = installation(rival)
    assert isinstance(said, str)
    assert said.startswith(f"its flags_command fails: {command}: ")
    assert why in said


@pytest.fixture(scope="module")
def helper() -> ModuleType:
    """The module that adapters import."""
    spec = importlib.util.spec_from_file_location("rival_helper", HELPERS / "rival.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_levels_follow_from_predecessors(helper: ModuleType) -> None:
    chain = np.array([4, 0, 1, 2, -1, 1, -1], dtype=np.int32)  # that of the source, vertex 0, is not read
    assert helper.levels(chain, 0).tolist() == [0, 1, 2, 3, -1, 2, -1]
    assert helper.levels(np.arange(-1, 999), 0).tolist() == list(range(1000))
    assert helper.levels(np.array([-1, 2, 3, 1, 0]), 0).tolist() == [0, -1, -1, -1, 1], "a cycle"


def test_a_batch_comes_apart_and_a_graph_is_its_own_part(helper: ModuleType, tmp_path: Path) -> None:
    batch = Batch.from_graphs("two", [("a", 2, [0], [1], 0), ("b", 3, [0, 0, 1], [1, 2, 2], 0)])
    export(batch, tmp_path / "two", ())
    parts = [
        (n, tails.tolist(), heads.tolist(), entry)
        for n, tails, heads, entry in helper.Graph(tmp_path / "two").parts()
    ]
    assert parts == [(2, [0], [1], 0), (3, [0, 0, 1], [1, 2, 2], 0)]
    graph = sample_graphs()["two-islands"]
    export(graph, tmp_path / "one", ())
    [(n, tails, heads, entry)] = helper.Graph(tmp_path / "one").parts()
    assert (n, entry) == (6, None)
    assert tails.tolist() == graph.tails.tolist()
    assert heads.tolist() == graph.targets.tolist()
