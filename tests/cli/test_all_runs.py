"""All runs of a configuration in one process write what the workflow's jobs would."""

import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from relaxometer.cli.command import call
from relaxometer.core.files import write_table
from relaxometer.device import cuda
from relaxometer.distributed.launch import obstacle
from relaxometer.problems.variants import solver_names
from relaxometer.race.requests import request_for_sources, with_request
from tiny_workflow import without_rivals

ROOT = Path(__file__).parents[2]

NOTHING = {"sssp": {"graphs": []}, "bfs": {"graphs": []}, "report": {"maps": []}}
SMALL_GRID = {"format": "grid", "seed": 1, "parameters": {"rows": 8, "columns": 9}}


def only(problem, *graphs, **variants):
    """Return the section of a problem with these variants alone; underscores stand for hyphens."""
    named = {name.replace("_", "-"): parameters for name, parameters in variants.items()}
    return {"graphs": list(graphs), "variants": {**dict.fromkeys(solver_names(problem), False), **named}}


OVERLAY = {
    **NOTHING,
    "timing": {"sources": 3, "repetitions": 2, "rounds": 1, "warmup": 0, "calls": 1},
    "sssp": only("sssp", "small-grid", conventional={}, dijkstra_cpu={}, near_far={"timing": {"sources": 2}}),
    "bfs": only("bfs", "small-grid", top_down={}),
    "datasets": {"small-grid": SMALL_GRID},
}
QUICK = {"sources": 1, "repetitions": 1, "warmup": 0, "calls": 1}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The current folder, with what a checkout configures."""
    for name in ("config", "resources"):
        shutil.copytree(ROOT / name, tmp_path / name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def all_runs(folder, capfd):
    """A function that makes all runs of an overlay; it returns the line of a failure, and the outputs."""

    def run(overlay, *arguments):
        (folder / "tiny.yaml").write_text(yaml.safe_dump(without_rivals(overlay)))
        try:
            end = call(["all-runs", "tiny.yaml", *arguments]) or ""
        except SystemExit as stop:
            end = str(stop.code)
        assert "\n" not in end
        return end, *capfd.readouterr()

    return run


@pytest.fixture
def refused(all_runs):
    """A function that returns the line by which an overlay is refused."""
    return lambda overlay, *arguments: all_runs(overlay, *arguments)[0]


@pytest.fixture
def summary(folder):
    """The summary of an earlier run."""
    file = folder / "results/summary.csv"
    file.parent.mkdir()
    file.touch()
    return file


def names_of_runs(done):
    """Return what the lines of a run say after the seconds."""
    end, out, _ = done
    assert end == ""
    return [line.split(" s ")[1] for line in out.splitlines() if " s " in line]


def test_every_run_is_there_and_certified_and_a_bundle_needs_no_workflow(folder, capsys):
    (folder / "tiny.yaml").write_text(yaml.safe_dump(without_rivals(OVERLAY)))
    command = [sys.executable, "-m", "relaxometer.cli.command", "all-runs", "tiny.yaml"]
    done = subprocess.run(command, env={"PATH": "/usr/bin:/bin"}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 4
    found = {
        "/".join(path.parts[-4:-1]): pq.read_table(path).num_rows
        for path in folder.glob("results/runs/*/*/*/runs.parquet")
    }
    assert found == {
        "sssp/small-grid/conventional": 6,
        "sssp/small-grid/dijkstra-cpu": 6,
        "sssp/small-grid/near-far": 4,
        "bfs/small-grid/top-down": 6,
    }
    certificates = list(folder.glob("results/runs/*/*/*/certificates.parquet"))
    assert len(certificates) == len(found)
    assert all(all(pq.read_table(path)["holds"].to_pylist()) for path in certificates)
    (folder / "results/runs/sssp/small-grid/near-far/answer.parquet").unlink()
    call(["bundle", "tiny.yaml", "--target", "tiny.zip", "--most-vertices", "100"])
    call(["verify", "tiny.zip", "--device", "host"])
    said = capsys.readouterr().out
    assert "tables: 4 runs, 22 searches, their certificates and the summary" in said
    assert "answers: 3 of 4 proven" in said
    assert "not checked: the answer of sssp near-far on small-grid: its file was not kept" in said


def test_inputs_come_in_the_order_of_the_configuration_and_updates_with_them(folder, all_runs):
    overlay = {
        **NOTHING,
        "timing": {**QUICK, "rounds": 1},
        "dominators": {"graphs": ["flow-random-30", "flow-source"], "variants": {"semi-nca": {}}},
        "updates": {"graphs": ["flow-random-30"], "arcs": [1, 2], "repetitions": 1},
    }
    assert names_of_runs(all_runs(overlay)) == [
        "dominators flow-random-30 semi-nca: ok",
        "updates flow-random-30: ok",
        "dominators flow-source semi-nca: ok",
    ]
    assert pq.read_table(folder / "results/updates/flow-random-30.parquet").num_rows == 4


def test_each_graph_has_all_rounds_in_mirrored_order_and_only_what_is_missing_is_made(folder, all_runs):
    overlay = {
        **NOTHING,
        "timing": {**QUICK, "sources": 2},
        "datasets": {"small-grid": SMALL_GRID, "other": {**SMALL_GRID, "seed": 2}},
        "sssp": only("sssp", "small-grid", "other", dijkstra_cpu={}, tiled={}),
        "bfs": only("bfs", "small-grid", hybrid_cpu={}),
        "device": "host",
    }
    found = names_of_runs(all_runs(overlay))
    assert sorted(found[:5]) + found[5:] == [
        "bfs small-grid hybrid-cpu round 2: ok",
        "bfs small-grid hybrid-cpu: ok",
        "sssp small-grid dijkstra-cpu round 2: ok",
        "sssp small-grid dijkstra-cpu: ok",
        "sssp small-grid tiled: ok",
        "sssp other tiled: ok",
        "sssp other dijkstra-cpu: ok",
        "sssp other dijkstra-cpu round 2: ok",
    ]
    timed = [one.split(":")[0] for one in found[:5] if "tiled" not in one]
    assert timed[2:] == [f"{one} round 2" for one in reversed(timed[:2])]
    second = folder / "results/runs/sssp/other/dijkstra-cpu/rounds/2"
    shutil.rmtree(second)
    overlay["bfs"]["variants"]["hybrid-cpu"] = {"timing": {"sources": 1}}
    left = all_runs(overlay, "--missing")
    changed = ["bfs small-grid hybrid-cpu round 2: ok", "bfs small-grid hybrid-cpu: ok"]
    assert sorted(names_of_runs(left)) == [*changed, "sssp other dijkstra-cpu round 2: ok"]
    there = "results/runs/bfs/small-grid/hybrid-cpu: of another configuration; made again\n"
    assert left[2].startswith(there)
    assert pq.read_table(second / "runs.parquet")["round"].to_pylist() == [2, 2]
    assert all_runs(overlay, "--missing") == ("", "", "")


def test_sources_and_query_sets_of_another_configuration_are_drawn_anew(folder, all_runs):
    drawn = folder / "results/sources/small-grid.parquet"
    write_table(with_request(pa.table({"source": [1, 2, 3]}), request_for_sources([1, 2, 3], 5)), drawn)
    overlay = {
        **NOTHING,
        "timing": {**QUICK, "sources": 2, "rounds": 1},
        "datasets": {"small-grid": SMALL_GRID},
        "sssp": only("sssp", "small-grid", dijkstra_cpu={}),
        "routes": {**only("routes", "small-grid", dijkstra_cpu={}), "queries": {"near": {"pairs": 4}}},
    }
    said = "results/sources/small-grid.parquet: drawn for another configuration; drawn again"
    end, _, errors = all_runs(overlay)
    assert (end, errors.splitlines()) == ("", [said])
    sources = pq.read_table(drawn)["source"].to_pylist()
    assert len(sources) == 2
    runs = pq.read_table(folder / "results/runs/sssp/small-grid/dijkstra-cpu/runs.parquet")
    assert runs["source"].to_pylist() == sources
    drawn.unlink()
    all_runs(overlay)
    assert pq.read_table(drawn)["source"].to_pylist() == sources
    overlay["routes"]["queries"]["near"] = {"pairs": 99, "paths": True}
    end, _, errors = all_runs(overlay)
    assert (end, len(errors.splitlines())) == ("", 1)
    sets = pq.read_table(folder / "results/queries/routes/small-grid.parquet").to_pylist()
    assert {(one["queries"], one["paths"]) for one in sets} == {(99, True)}
    overlay["routes"]["queries"]["near"] = {"pairs": 98}
    said, *_ = all_runs(overlay, "--missing")
    assert said.startswith("error: results/queries/routes/small-grid.parquet: drawn for another")


def test_runs_left_out_are_named(all_runs):
    said, out, _ = all_runs(OVERLAY, "--limit-s", "0")
    assert said == "error: 4 runs were not made in 0 s; raise --limit-s"
    assert "not run: sssp small-grid near-far" in out


@pytest.mark.parametrize(
    ("overlay", "message"),
    [
        ({**NOTHING, "sssp": {"graphs": ["usa-ny"]}}, "results/graphs/usa-ny is missing"),
        ({**NOTHING, "sssp": {"graphs": ["usa-nx"]}}, "unknown dataset 'usa-nx'; did you mean 'usa-ny'?"),
    ],
)
def test_a_mistake_is_one_line_and_costs_no_results(summary, refused, overlay, message):
    assert message in refused(overlay)
    assert summary.is_file()


@pytest.mark.skipif(cuda.missing() != cuda.NO_DRIVER, reason="there is an NVIDIA driver")
def test_a_gpu_that_is_not_there_is_one_line(summary, refused):
    said = refused({**OVERLAY, "device": "cuda"})
    assert said == (
        "error: config/config.yaml + tiny.yaml: device: cuda, but this machine has no NVIDIA driver; "
        "device: host emulates the kernels"
    )
    assert summary.is_file()


def test_a_graph_of_another_entry_is_one_line(folder, refused):
    made = folder / "results/graphs/small-grid"
    made.mkdir(parents=True)
    (made / "arcs.parquet").touch()
    (made / "graph.json").write_text('{"format": "grid", "seed": 2}')
    said = refused(OVERLAY)
    assert said.startswith("error: seed of graph small-grid was 2, is now 1; let the workflow make it")


@pytest.mark.mpi
@pytest.mark.slow
@pytest.mark.skipif(obstacle() is not None, reason=str(obstacle()))
def test_a_run_over_ranks_that_fails_is_named_with_those_behind_it_and_leaves_those_on_fewer_ranks(all_runs):
    run = {"scale": 7, "ranks": 2, "roots": 1}
    absent = {"graph": "small-grid", "ranks": 2, "roots": 1}  # has not been made
    runs = {"first": run, "second": absent, "third": run, "alone": {**run, "ranks": 1}}
    overlay = {**NOTHING, "device": "host", "timing": QUICK, "distributed": runs}
    end, out, errors = all_runs({**overlay, "datasets": {"small-grid": SMALL_GRID}})
    assert end == "error: 2 runs were not made"
    assert "Traceback" not in errors
    assert "expected kron:SCALE, kron:SCALE:SEED or a folder with a graph.json" in errors
    assert "first, ranks: 2" in out
    assert "alone, ranks: 1" in out
    said = [line for line in out.splitlines() if line.startswith("not run: ")]
    assert said == ["not run: distributed second, which failed", "not run: distributed third"]


@pytest.mark.mpi
@pytest.mark.slow
@pytest.mark.skipif(obstacle() is not None, reason=str(obstacle()))
def test_runs_over_several_ranks_are_there_and_certified(folder, all_runs):
    overlay = {
        **NOTHING,
        "device": "host",
        "timing": {**QUICK, "sources": 2},
        "distributed": {
            "grid": {"scale_per_rank": 7, "ranks": [1, 2], "roots": 2},
            "rows": {"engine": "hybrid-peers", "scale": 8, "ranks": 2, "roots": 2},
            "paths": {"problem": "sssp", "scale": 7, "ranks": 2, "roots": 2},
        },
    }
    said = names_of_runs(all_runs(overlay))
    assert said == ["grid-2, ranks: 2", "paths, ranks: 2", "rows, ranks: 2", "grid-1, ranks: 1"]
    for name, engine in (("grid-2", "hybrid-2d"), ("rows", "hybrid-peers"), ("paths", "sssp-1d")):
        times = pq.read_table(folder / "results/runs/distributed" / name / "times.parquet")
        assert set(times["engine"].to_pylist()) == {engine}
        assert times["status"].to_pylist() == ["ok"] * 2
    assert all_runs(overlay, "--missing")[:2] == ("", "")
    end, out, _ = all_runs(overlay, "--limit-s", "0")
    assert end
    assert out.splitlines()[0] == "not run: distributed grid-1"
