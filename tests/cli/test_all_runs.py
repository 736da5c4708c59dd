"""All runs of a configuration in one process write what the workflow's jobs would."""

import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from relaxometer.core.files import write_table
from relaxometer.device import cuda
from relaxometer.distributed.launch import obstacle
from relaxometer.problems.variants import solver_names
from relaxometer.race.requests import request_for_sources, with_request
from tiny_workflow import without_rivals

ROOT = Path(__file__).parents[2]

OVERLAY = {
    "timing": {"sources": 3, "repetitions": 2, "rounds": 1, "warmup": 0},
    "sssp": {
        "graphs": ["small-grid"],
        "variants": {
            "selection": False,
            "adaptive": False,
            "tiled": False,
            "phast": False,
            "near-far": {"timing": {"sources": 2}},
        },
    },
    "bfs": {
        "graphs": ["small-grid"],
        "variants": {
            "top-down": {},
            "hybrid": False,
            "tiled": False,
            "hybrid-cpu": False,
            "queue-cpu": False,
        },
    },
    "report": {"maps": []},
    "datasets": {"small-grid": {"format": "grid", "seed": 1, "parameters": {"rows": 8, "columns": 9}}},
}


@pytest.fixture
def folder(tmp_path):
    for name in ("config", "resources"):
        shutil.copytree(ROOT / name, tmp_path / name)
    return tmp_path


def all_runs(folder, overlay, *arguments):
    (folder / "tiny.yaml").write_text(yaml.safe_dump(without_rivals(overlay)))
    return program(folder, "all-runs", "tiny.yaml", *arguments)


def program(folder, name, *arguments):
    command = [sys.executable, "-m", "relaxometer.cli.command", name, *arguments]
    environment = {"PATH": "/usr/bin:/bin"}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_every_run_is_there_and_certified(folder):
    done = all_runs(folder, OVERLAY)
    assert done.returncode == 0, done.stderr
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


@pytest.mark.skipif(cuda.missing() != cuda.NO_DRIVER, reason="there is an NVIDIA driver")
def test_a_gpu_that_is_not_there_is_one_line(folder):
    done = all_runs(folder, {**OVERLAY, "device": "cuda"})
    assert done.returncode != 0
    assert done.stderr.splitlines() == [
        "error: config/config.yaml + tiny.yaml: device: cuda, but this machine has no NVIDIA driver; "
        "device: host emulates the kernels"
    ]
    assert not (folder / "results").exists()


def test_a_bundle_needs_no_workflow(folder):
    assert all_runs(folder, OVERLAY).returncode == 0
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
        "timing": {"sources": 1, "repetitions": 1, "rounds": 1, "warmup": 0},
        "sssp": {"graphs": []},
        "bfs": {"graphs": []},
        "dominators": {"graphs": ["flow-random-30", "flow-source"], "variants": {"semi-nca": {}}},
        "updates": {"graphs": ["flow-random-30"], "arcs": [1, 2], "repetitions": 1},
        "report": {"maps": []},
    }
    done = all_runs(folder, overlay)
    assert done.returncode == 0, done.stderr
    assert [line.split(" s ")[1] for line in done.stdout.splitlines() if " s " in line] == [
        "dominators flow-random-30 semi-nca: ok",
        "updates flow-random-30: ok",
        "dominators flow-source semi-nca: ok",
    ]
    assert pq.read_table(folder / "results/updates/flow-random-30.parquet").num_rows == 4


def test_each_graph_has_all_rounds_in_mirrored_order(folder):
    overlay = {
        **OVERLAY,
        "timing": {"sources": 1, "repetitions": 1, "warmup": 0},
        "datasets": {**OVERLAY["datasets"], "other": {**OVERLAY["datasets"]["small-grid"], "seed": 2}},
        "sssp": {
            "graphs": ["small-grid", "other"],
            "variants": {**dict.fromkeys(solver_names("sssp"), False), "dijkstra-cpu": {}, "tiled": {}},
        },
        "bfs": {
            "graphs": ["small-grid"],
            "variants": {**dict.fromkeys(solver_names("bfs"), False), "hybrid-cpu": {}},
        },
        "device": "host",
    }
    done = all_runs(folder, overlay)
    assert done.returncode == 0, done.stderr
    found = [line.split(" s ")[1] for line in done.stdout.splitlines()]
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
    left = all_runs(folder, overlay, "--missing")
    assert [line.split(" s ")[1] for line in left.stdout.splitlines()] == [
        "sssp other dijkstra-cpu round 2: ok"
    ]
    assert pq.read_table(second / "runs.parquet")["round"].to_pylist() == [2]


def test_sources_and_query_sets_of_another_configuration_are_drawn_anew(folder):
    drawn = folder / "results/sources/small-grid.parquet"
    write_table(with_request(pa.table({"source": [1, 2, 3]}), request_for_sources([1, 2, 3], 5)), drawn)
    overlay = {
        "timing": {"sources": 2, "repetitions": 1, "rounds": 1, "warmup": 0},
        "datasets": OVERLAY["datasets"],
        "sssp": {
            "graphs": ["small-grid"],
            "variants": {**dict.fromkeys(solver_names("sssp"), False), "dijkstra-cpu": {}},
        },
        "bfs": {"graphs": []},
        "routes": {
            "graphs": ["small-grid"],
            "variants": {**dict.fromkeys(solver_names("routes"), False), "dijkstra-cpu": {}},
            "queries": {"near": {"pairs": 4}},
        },
        "report": {"maps": []},
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
    mixed = all_runs(folder, overlay, "--missing")
    assert mixed.returncode == 1
    assert mixed.stderr.startswith("error: results/queries/routes/small-grid.parquet: drawn for another")


def test_a_run_of_another_configuration_is_not_passed_over(folder):
    variants = {**dict.fromkeys(solver_names("sssp"), False), "dijkstra-cpu": {}, "bellman-ford-cpu": {}}
    overlay = {**OVERLAY, "bfs": {"graphs": []}, "sssp": {"graphs": ["small-grid"], "variants": variants}}
    assert all_runs(folder, overlay).returncode == 0
    variants["dijkstra-cpu"] = {"timing": {"sources": 1}}
    done = all_runs(folder, overlay, "--missing")
    assert done.returncode == 0, done.stderr
    assert [line.split(" s ")[1] for line in done.stdout.splitlines()] == ["sssp small-grid dijkstra-cpu: ok"]
    there = "results/runs/sssp/small-grid/dijkstra-cpu"
    assert done.stderr == f"{there}: of another configuration; made again\n"
    again = all_runs(folder, overlay, "--missing")
    assert (again.returncode, again.stdout, again.stderr) == (0, "", "")


def test_runs_left_out_are_named(folder):
    done = all_runs(folder, OVERLAY, "--limit-s", "0")
    assert done.returncode == 1
    assert "not run: sssp small-grid near-far" in done.stdout
    assert done.stderr == "error: 4 runs were not made in 0 s; raise --limit-s\n"


@pytest.mark.parametrize(
    ("overlay", "message"),
    [
        ({"sssp": {"graphs": ["usa-ny"]}, "bfs": {"graphs": []}}, "results/graphs/usa-ny is missing"),
        ({"sssp": {"graphs": ["usa-nx"]}}, "unknown dataset 'usa-nx'; did you mean 'usa-ny'?"),
    ],
)
def test_a_mistake_is_one_line_and_costs_no_results(folder, overlay, message):
    summary = folder / "results/summary.csv"
    summary.parent.mkdir(parents=True, exist_ok=True)
    summary.touch()
    done = all_runs(folder, {**overlay, "report": {"maps": []}})
    assert done.returncode == 1
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert summary.is_file()


def test_a_graph_of_another_entry_is_one_line(folder):
    made = folder / "results/graphs/small-grid"
    made.mkdir(parents=True)
    (made / "arcs.parquet").touch()
    (made / "graph.json").write_text('{"format": "grid", "seed": 2}')
    done = all_runs(folder, OVERLAY)
    assert done.returncode == 1
    assert done.stderr.startswith("error: seed of graph small-grid was 2, is now 1; let the workflow make it")
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "sssp:\n  graphs\n  variants: {}\n",
            "wrong.yaml:3:11: invalid YAML: mapping values are not allowed here",
        ),
        ("sssp", "wrong.yaml: expected keys and values, found 'sssp'"),
    ],
)
def test_an_overlay_that_cannot_be_read_is_one_line(folder, text, message):
    (folder / "wrong.yaml").write_text(text)
    done = all_runs(folder, OVERLAY, "wrong.yaml")
    assert (done.returncode, done.stderr) == (1, f"error: {message}\n")


@pytest.mark.mpi
@pytest.mark.slow
@pytest.mark.skipif(obstacle() is not None, reason=str(obstacle()))
def test_a_run_over_several_ranks_that_fails_is_named_with_those_behind_it(folder):
    run = {"scale": 7, "ranks": 2, "roots": 1}
    (folder / "results/runs/distributed").mkdir(parents=True)
    (folder / "results/runs/distributed/second").write_text("in the way of a folder")
    overlay = {
        "device": "host",
        "timing": {"sources": 1, "repetitions": 1, "warmup": 0},
        "sssp": {"graphs": []},
        "bfs": {"graphs": []},
        "distributed": {"first": run, "second": run, "third": run, "alone": {**run, "ranks": 1}},
        "report": {"maps": []},
    }
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
        "device": "host",
        "timing": {"sources": 2, "repetitions": 1, "warmup": 0},
        "sssp": {"graphs": []},
        "bfs": {"graphs": []},
        "distributed": {
            "grid": {"scale_per_rank": 7, "ranks": [1, 2], "roots": 2},
            "rows": {"engine": "hybrid-peers", "scale": 8, "ranks": 2, "roots": 2},
            "paths": {"problem": "sssp", "scale": 7, "ranks": 2, "roots": 2},
        },
        "report": {"maps": []},
    }
    done = all_runs(folder, overlay)
    assert done.returncode == 0, done.stderr
    said = [line.split(" s ")[1] for line in done.stdout.splitlines() if " s " in line]
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
    overlay = {
        "device": "host",
        "timing": {"sources": 1, "repetitions": 1, "warmup": 0},
        "datasets": OVERLAY["datasets"],
        "sssp": {"graphs": []},
        "bfs": {"graphs": []},
        # Its graph has not been made.
        "distributed": {
            "absent": {"graph": "small-grid", "ranks": 2, "roots": 1},
            "made": {"scale": 7, "ranks": 1, "roots": 1},
        },
        "report": {"maps": []},
    }
    done = all_runs(folder, overlay)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "expected kron:SCALE, kron:SCALE:SEED or a folder with a graph.json" in done.stderr
    assert "made, ranks: 1" in done.stdout
    assert "not run: distributed absent, which failed" in done.stdout.splitlines()
    assert done.stderr.splitlines()[-1] == "error: 1 run was not made"
