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
    "timing": {"sources": 3, "repetitions": 2, "rounds": 1, "warmup": 0},
    "sssp": only("sssp", "small-grid", conventional={}, dijkstra_cpu={}, near_far={"timing": {"sources": 2}}),
    "bfs": only("bfs", "small-grid", top_down={}),
    "datasets": {"small-grid": SMALL_GRID},
}
QUICK = {"sources": 1, "repetitions": 1, "warmup": 0}


@pytest.fixture
def folder(tmp_path):
    for name in ("config", "resources"):
        shutil.copytree(ROOT / name, tmp_path / name)
    return tmp_path


def all_runs(folder, overlay, *arguments):
    (folder / "tiny.yaml").write_text(yaml.safe_dump(without_rivals(overlay)))
    return program(folder, "all-runs", "tiny.yaml", *arguments)


def refused(folder, overlay, monkeypatch, *arguments):
    """Return the line by which `all-runs` refuses an overlay, in this process."""
    monkeypatch.chdir(folder)
    (folder / "tiny.yaml").write_text(yaml.safe_dump(without_rivals(overlay)))
    with pytest.raises(SystemExit) as end:
        call(["all-runs", "tiny.yaml", *arguments])
    assert "\n" not in str(end.value.code)
    return str(end.value.code)


def program(folder, name, *arguments):
    command = [sys.executable, "-m", "relaxometer.cli.command", name, *arguments]
    environment = {"PATH": "/usr/bin:/bin"}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def names_of_runs(done):
    """Return what the lines of a run say after the seconds."""
    assert done.returncode == 0, done.stderr
    return [line.split(" s ")[1] for line in done.stdout.splitlines() if " s " in line]


def test_every_run_is_there_and_certified_and_a_bundle_needs_no_workflow(folder):
    assert len(names_of_runs(all_runs(folder, OVERLAY))) == 4
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
    for path in certificates:
        assert all(pq.read_table(path)["holds"].to_pylist())
    (folder / "results/runs/sssp/small-grid/near-far/answer.parquet").unlink()
    done = program(folder, "bundle", "tiny.yaml", "--target", "tiny.zip", "--most-vertices", "100")
    assert done.returncode == 0, done.stderr
    done = program(folder, "verify", "tiny.zip", "--device", "host")
    assert done.returncode == 0, done.stderr
    assert "tables: 4 runs, 22 searches, their certificates and the summary" in done.stdout
    assert "answers: 3 of 4 proven" in done.stdout
    assert "not checked: the answer of sssp near-far on small-grid: its file was not kept" in done.stdout


def test_inputs_come_in_the_order_of_the_configuration_and_updates_with_them(folder):
    overlay = {
        **NOTHING,
        "timing": {**QUICK, "rounds": 1},
        "dominators": {"graphs": ["flow-random-30", "flow-source"], "variants": {"semi-nca": {}}},
        "updates": {"graphs": ["flow-random-30"], "arcs": [1, 2], "repetitions": 1},
    }
    assert names_of_runs(all_runs(folder, overlay)) == [
        "dominators flow-random-30 semi-nca: ok",
        "updates flow-random-30: ok",
        "dominators flow-source semi-nca: ok",
    ]
    assert pq.read_table(folder / "results/updates/flow-random-30.parquet").num_rows == 4


def test_each_graph_has_all_rounds_in_mirrored_order_and_only_what_is_missing_is_made(
    folder, monkeypatch, capsys
):
    overlay = {
        **NOTHING,
        "timing": {**QUICK, "sources": 2},
        "datasets": {"small-grid": SMALL_GRID, "other": {**SMALL_GRID, "seed": 2}},
        "sssp": only("sssp", "small-grid", "other", dijkstra_cpu={}, tiled={}),
        "bfs": only("bfs", "small-grid", hybrid_cpu={}),
        "device": "host",
    }
    found = names_of_runs(all_runs(folder, overlay))
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
    left = all_runs(folder, overlay, "--missing")
    changed = ["bfs small-grid hybrid-cpu round 2: ok", "bfs small-grid hybrid-cpu: ok"]
    assert sorted(names_of_runs(left)) == [*changed, "sssp other dijkstra-cpu round 2: ok"]
    there = "results/runs/bfs/small-grid/hybrid-cpu: of another configuration; made again\n"
    assert left.stderr.startswith(there)
    assert pq.read_table(second / "runs.parquet")["round"].to_pylist() == [2, 2]
    monkeypatch.chdir(folder)
    assert not call(["all-runs", "tiny.yaml", "--missing"])
    assert capsys.readouterr() == ("", "")


def test_sources_and_query_sets_of_another_configuration_are_drawn_anew(folder, monkeypatch):
    drawn = folder / "results/sources/small-grid.parquet"
    write_table(with_request(pa.table({"source": [1, 2, 3]}), request_for_sources([1, 2, 3], 5)), drawn)
    overlay = {
        **NOTHING,
        "timing": {**QUICK, "sources": 2, "rounds": 1},
        "datasets": {"small-grid": SMALL_GRID},
        "sssp": only("sssp", "small-grid", dijkstra_cpu={}),
        "routes": {**only("routes", "small-grid", dijkstra_cpu={}), "queries": {"near": {"pairs": 4}}},
    }
    done = all_runs(folder, overlay)
    assert done.returncode == 0, done.stderr
    said = "results/sources/small-grid.parquet: drawn for another configuration; drawn again"
    assert done.stderr.splitlines() == [said]
    sources = pq.read_table(drawn)["source"].to_pylist()
    assert len(sources) == 2
    runs = pq.read_table(folder / "results/runs/sssp/small-grid/dijkstra-cpu/runs.parquet")
    assert runs["source"].to_pylist() == sources
    overlay["routes"]["queries"]["near"] = {"pairs": 99, "paths": True}
    done = all_runs(folder, overlay)
    assert done.returncode == 0, done.stderr
    sets = pq.read_table(folder / "results/queries/routes/small-grid.parquet").to_pylist()
    assert {(one["queries"], one["paths"]) for one in sets} == {(99, True)}
    assert len(done.stderr.splitlines()) == 1
    overlay["routes"]["queries"]["near"] = {"pairs": 98}
    said = refused(folder, overlay, monkeypatch, "--missing")
    assert said.startswith("error: results/queries/routes/small-grid.parquet: drawn for another")


def test_runs_left_out_are_named(folder, monkeypatch, capsys):
    said = refused(folder, OVERLAY, monkeypatch, "--limit-s", "0")
    assert said == "error: 4 runs were not made in 0 s; raise --limit-s"
    assert "not run: sssp small-grid near-far" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("overlay", "message"),
    [
        ({**NOTHING, "sssp": {"graphs": ["usa-ny"]}}, "results/graphs/usa-ny is missing"),
        ({**NOTHING, "sssp": {"graphs": ["usa-nx"]}}, "unknown dataset 'usa-nx'; did you mean 'usa-ny'?"),
    ],
)
def test_a_mistake_is_one_line_and_costs_no_results(folder, monkeypatch, overlay, message):
    summary = folder / "results/summary.csv"
    summary.parent.mkdir(parents=True, exist_ok=True)
    summary.touch()
    assert message in refused(folder, overlay, monkeypatch)
    assert summary.is_file()


@pytest.mark.skipif(cuda.missing() != cuda.NO_DRIVER, reason="there is an NVIDIA driver")
def test_a_gpu_that_is_not_there_is_one_line(folder, monkeypatch):
    said = refused(folder, {**OVERLAY, "device": "cuda"}, monkeypatch)
    assert said == (
        "error: config/config.yaml + tiny.yaml: device: cuda, but this machine has no NVIDIA driver; "
        "device: host emulates the kernels"
    )
    assert not (folder / "results").exists()


def test_a_graph_of_another_entry_is_one_line(folder, monkeypatch):
    made = folder / "results/graphs/small-grid"
    made.mkdir(parents=True)
    (made / "arcs.parquet").touch()
    (made / "graph.json").write_text('{"format": "grid", "seed": 2}')
    said = refused(folder, OVERLAY, monkeypatch)
    assert said.startswith("error: seed of graph small-grid was 2, is now 1; let the workflow make it")


def test_an_overlay_that_cannot_be_read_is_one_line(folder, monkeypatch):
    (folder / "wrong.yaml").write_text("sssp:\n  graphs\n  variants: {}\n")
    said = refused(folder, OVERLAY, monkeypatch, "wrong.yaml")
    assert said == "error: wrong.yaml:3:11: invalid YAML: mapping values are not allowed here"


@pytest.mark.mpi
@pytest.mark.slow
@pytest.mark.skipif(obstacle() is not None, reason=str(obstacle()))
def test_a_run_over_several_ranks_that_fails_is_named_with_those_behind_it(folder):
    run = {"scale": 7, "ranks": 2, "roots": 1}
    (folder / "results/runs/distributed").mkdir(parents=True)
    (folder / "results/runs/distributed/second").write_text("in the way of a folder")
    runs = {"first": run, "second": run, "third": run, "alone": {**run, "ranks": 1}}
    overlay = {**NOTHING, "device": "host", "timing": QUICK, "distributed": runs}
    done = all_runs(folder, overlay)
    assert done.returncode == 1
    assert "alone, ranks: 1" in done.stdout
    said = [line for line in done.stdout.splitlines() if line.startswith("not run: ")]
    assert said == ["not run: distributed second, which failed", "not run: distributed third"]
    assert done.stderr.splitlines()[-1] == "error: 2 runs were not made"


@pytest.mark.mpi
@pytest.mark.slow
@pytest.mark.skipif(obstacle() is not None, reason=str(obstacle()))
def test_runs_over_several_ranks_are_there_and_certified(folder):
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
    said = names_of_runs(all_runs(folder, overlay))
    assert said == ["grid-2, ranks: 2", "paths, ranks: 2", "rows, ranks: 2", "grid-1, ranks: 1"]
    for name, engine in (("grid-2", "hybrid-2d"), ("rows", "hybrid-peers"), ("paths", "sssp-1d")):
        times = pq.read_table(folder / "results/runs/distributed" / name / "times.parquet")
        assert set(times["engine"].to_pylist()) == {engine}
        assert times["status"].to_pylist() == ["ok"] * 2
    done = all_runs(folder, overlay, "--missing")
    assert (done.returncode, done.stdout) == (0, "")
    done = all_runs(folder, overlay, "--limit-s", "0")
    assert done.returncode == 1
    assert done.stdout.splitlines()[0] == "not run: distributed grid-1"


@pytest.mark.mpi
@pytest.mark.slow
@pytest.mark.skipif(obstacle() is not None, reason=str(obstacle()))
def test_a_run_over_ranks_that_fails_leaves_those_on_fewer_ranks(folder):
    absent = {"graph": "small-grid", "ranks": 2, "roots": 1}  # has not been made
    runs = {"absent": absent, "made": {"scale": 7, "ranks": 1, "roots": 1}}
    overlay = {**NOTHING, "device": "host", "timing": QUICK, "distributed": runs}
    overlay["datasets"] = {"small-grid": SMALL_GRID}
    done = all_runs(folder, overlay)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "expected kron:SCALE, kron:SCALE:SEED or a folder with a graph.json" in done.stderr
    assert "made, ranks: 1" in done.stdout
    assert "not run: distributed absent, which failed" in done.stdout.splitlines()
    assert done.stderr.splitlines()[-1] == "error: 1 run was not made"
