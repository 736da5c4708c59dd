"""Rivals in changes of weights: they take the same weights as the variants, and every answer is proven."""

import re
import sys

import numpy as np
import pytest

from relaxometer.core.files import write_table
from relaxometer.graphs.graph import Graph
from relaxometer.plan.models import RivalRun, Timing
from relaxometer.race import entrant
from relaxometer.race.clocks import CONVERT_NS
from relaxometer.results.verdict import verdict
from relaxometer.rivals.definition import HELPERS
from relaxometer.rivals.installation import Installed, installation
from relaxometer.studies.traffic import measure_traffic, slowed
from rival_runs import ADAPTERS, GRID, deriving, make_rival

SOLVES = {"sssp": {"answers": ["distance", "predecessor"], "customizes": True}}
ROUNDS = 2

IN_CPP = r"""
#include <algorithm>
#include "rival.hpp"

// Bellman-Ford on a connected graph.
struct Changing : rival::Adapter {
    const rival::Graph& graph;
    std::vector<uint32_t> weights, taken;
    std::vector<int64_t> distance;

    Changing(const rival::Graph& whole, const rival::Job&) : graph(whole), weights(whole.weights) {}
    std::string facts() const override { return "version=1 first=" + std::to_string(weights[0]); }
    void take(std::vector<uint32_t> others) override { taken = std::move(others); }
    void customize() override { weights = taken; }
    void solve(int64_t source) override
    {
        distance.assign(graph.vertices(), INT32_MAX);
        distance[source] = 0;
        for (size_t round = 0; round < graph.vertices(); ++round)
            for (size_t v = 0; v < graph.vertices(); ++v)
                for (int64_t arc = graph.offsets[v]; arc < graph.offsets[v + 1]; ++arc) {
                    int64_t& best = distance[graph.targets[arc]];
                    best = std::min(best, distance[v] + weights[arc]);
                }
    }
    void answer(rival::Answer& out) override { out.column("distance", distance); }
};

int main(int count, char** arguments) { return rival::serve<Changing>(count, arguments); }
"""


@pytest.fixture
def rows(tmp_path, monkeypatch):
    """A function that measures a rival of the given code, after some variants, and returns the rows."""
    monkeypatch.chdir(tmp_path)

    def measured(code, *, graph=GRID, installed=None, run=None, problems=SOLVES, variants=(), **definition):
        rival = make_rival(tmp_path / "rivals/own", code, problems=problems, **definition)
        command = Installed(
            [sys.executable, str(rival.folder / "adapter.py")], {"PYTHONPATH": f"{HELPERS}:{ADAPTERS}"}
        )
        monkeypatch.setattr(entrant, "installation", lambda *_: installed or command)
        names = {"problem": "sssp", "graph": graph.name, "variant": "mine", "solver": "own"}
        given = {**names, "parameters": {}, "timing": Timing(timeout_s=30), "kind": rival.definition.class_}
        made = {"rounds": ROUNDS, "searches": 3, "share": 0.5, "factor": 4.0, "seed": 1}
        rivals = [RivalRun(**given | (run or {})).model_dump()]
        folders = [str(tmp_path / "rivals")]
        table = measure_traffic(
            graph, "host", variants=variants, rivals=rivals, rival_folders=folders, **made
        )
        write_table(table, tmp_path / "traffic.parquet")
        return table.to_pylist()

    return measured


def outcomes(found):
    """Return the statuses and reasons that occur."""
    return {(row["status"], row["reason"]) for row in found}


def test_a_rival_takes_the_weights_of_the_variants_and_is_proven(rows):
    of_variant, found = np.split(np.array(rows("serve(Customizing)", variants=["dijkstra-cpu"])), 2)
    assert outcomes([*of_variant, *found]) == {("ok", "")}
    assert [(row["variant"], row["round"], row["way"]) for row in found] == [
        ("mine", number, "customized") for number in range(ROUNDS)
    ]
    assert {(row["class"], row["threads"], row["device_kind"]) for row in found} == {("cpu-1", 1, "cpu")}
    assert {(row["searches"], row["proven"]) for row in found} == {(3, 3)}
    assert all(row[time] > 0 for row in found for time in ("update_ms", "first_ms", "tree_ms"))
    rng = np.random.default_rng(1)
    for row, other in zip(found, of_variant, strict=True):
        weights = slowed(GRID, 0.5, 4.0, rng)
        assert re.fullmatch(rf"version=1\.0 sum={weights.sum()} weights_ms=\d+\.\d\d\d", row["facts"])
        assert row["slowed"] == other["slowed"] == (weights != GRID.weights).sum()


def test_weights_that_a_rival_ignores_are_noticed(rows, tmp_path):
    found = rows("Customizing.customize = lambda self: None\nserve(Customizing)")
    assert {row["status"] for row in found} == {"invalid"}
    assert all(row["proven"] < 3 and row["reason"].startswith("source ") for row in found)
    summary = tmp_path / "summary.csv"
    summary.write_text("problem,graph,variant,status,reason\nsssp,grid,dijkstra-cpu,ok,\n", encoding="utf-8")
    head = verdict(summary, {"traffic": [tmp_path / "traffic.parquet"]}).splitlines()[0]
    assert head.startswith(
        "error: 2 of 3 measurements are not ok: mine on grid after change 0 of its weights"
    )


@pytest.mark.parametrize(("change", "status"), [("", "ok"), ("+ (np.arange(self.n) == 7)", "invalid")])
def test_a_rival_that_gives_only_distances_is_proven_against_the_new_weights(rows, change, status):
    answer = f"{{'distance': np.array(self.distance) {change}}}"
    code = f"Customizing.answer = lambda self: {answer}\nserve(Customizing)"
    solves = {"sssp": {"answers": ["distance"], "customizes": True}}
    assert {row["status"] for row in rows(code, problems=solves)} == {status}


@pytest.mark.parametrize(
    ("code", "installed", "outcome"),
    [
        ("serve(Honest)", None, ("error", "the adapter does not take new weights")),
        ("", "no program gap: build it", ("absent", "no program gap: build it")),
    ],
)
def test_a_rival_that_cannot_take_part_says_why(rows, code, installed, outcome):
    found = rows(code, installed=installed)
    assert outcomes(found) == {outcome}
    assert [row["update_ms"] for row in found] == [None] * ROUNDS


def test_a_rival_that_hangs_in_a_round_is_stopped(rows):
    lines = "time.sleep(1000 if self.facts else 0)", "super().customize()"
    code = deriving("customize(self)", *lines, of="Customizing")
    found = rows(code, run={"timing": Timing(timeout_s=3)})
    assert [row["status"] for row in found] == ["ok", "timeout"]
    assert found[1]["reason"] == "not finished within timeout_s = 3, during a change of weights"


@pytest.mark.parametrize("where", ["take", "customize"])
def test_work_on_new_weights_outside_the_adapters_clock_counts(rows, where):
    late = deriving(f"{where}(self, *given)", "time.sleep(0.2)", f"super().{where}(*given)", of="Customizing")
    silent = "time.perf_counter = lambda: 0.0\n"  # it says 0 milliseconds of everything
    found = rows(silent + late)
    assert outcomes(found) == {("ok", "")}
    assert all(row["update_ms"] > 150 for row in found)


@pytest.mark.parametrize(
    ("adapter", "command", "is_charged"),
    [("adapter.py", None, False), ("adapter.py", "own", True), ("adapter.cpp", None, True)],
)
def test_a_customization_made_while_weights_are_read_counts(rows, tmp_path, adapter, command, is_charged):
    """Python may take 100 ns per arc; a command of one's own may not, whatever it starts."""
    rng = np.random.default_rng(4)
    wide = Graph.from_arcs("wide", 700, *rng.integers(0, 700, (2, 400_000)), np.ones(400_000, dtype=int))
    assert wide.n_arcs * CONVERT_NS > 25e6
    code = """
class Early(Customizing):
    def use(self, weights):
        self.late = weights

    def take(self, weights):
        time.sleep(0.03)
        self.late = weights

    def customize(self):
        pass

    def solve(self, source):
        Honest.use(self, self.late)
        super().solve(source)

serve(Early)
"""
    (tmp_path / "rivals/own").mkdir(parents=True)
    (tmp_path / "rivals/own/adapter.cpp").write_text("")
    found = rows(code, graph=wide, run={"command": command}, adapter=adapter)
    assert outcomes(found) == {("ok", "")}
    assert all((row["update_ms"] > 10) == is_charged for row in found)
    assert all(float(row["facts"].rpartition("weights_ms=")[2]) > 25 for row in found)


@pytest.mark.parametrize("then", ["self.source = None", "pass"])
def test_work_that_is_left_for_the_answer_counts(rows, then):
    """Also if it is done again whenever the answer is asked for."""
    code = f"""
class Lazy(Customizing):
    def solve(self, source):
        self.source = source

    def answer(self):
        if self.source is not None:
            super().solve(self.source)
            time.sleep(0.2)
            {then}
        return super().answer()

serve(Lazy)
"""
    found = rows(code)
    assert outcomes(found) == {("ok", "")}
    assert all(row["first_ms"] > 150 and row["tree_ms"] > 150 for row in found)


def test_rivals_of_other_graphs_are_left_out(rows):
    assert rows("serve(Customizing)", run={"graph": "other"}) == []


def test_a_program_in_cpp_takes_new_weights(rows, tmp_path):
    (tmp_path / "cpp").mkdir()
    (tmp_path / "cpp/adapter.cpp").write_text(IN_CPP, encoding="utf-8")
    solves = {"sssp": {"answers": ["distance"], "customizes": True}}
    started = installation(make_rival(tmp_path / "cpp", adapter="adapter.cpp"))
    assert isinstance(started, Installed), started
    found = rows("", installed=started, problems=solves)
    assert outcomes(found) == {("ok", "")}
    rng = np.random.default_rng(1)
    for row in found:
        assert row["facts"].startswith(f"version=1 first={slowed(GRID, 0.5, 4.0, rng)[0]} weights_ms=")
