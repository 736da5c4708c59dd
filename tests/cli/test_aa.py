"""The A/A test of the comparison, on runs whose times are written by the test."""

import json
import shutil
from contextlib import chdir
from itertools import combinations
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from built import refusal
from relaxometer.cli import aa
from relaxometer.core.files import write_json, write_table
from relaxometer.plan.load import load_plan
from relaxometer.results.processes import PROCESS, with_processes
from relaxometer.results.published import read_samples
from relaxometer.results.rows import KEY
from relaxometer.results.samples import source_times
from relaxometer.results.statistics import FEWEST
from synthetic_runs import searches

ROOT = Path(__file__).parents[2]
SUITES = {"aa": 100, "aa-host": 200}
SAMPLES = ["source", "round", "repetition", "time_ms", "prepare_ms", "cold_ms", "phases", "reached_arcs"]
SAMPLES += ["status", "reason"]


@pytest.fixture(scope="module")
def plan():
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        return load_plan([ROOT / "config/suites/aa.yaml"])


@pytest.mark.parametrize("suite", SUITES)
def test_a_suite_has_the_pairs_that_it_promises(suite, monkeypatch):
    monkeypatch.chdir(ROOT)
    groups = aa.namesakes(load_plan([ROOT / f"config/suites/{suite}.yaml"]))
    assert sum(len(group) * (len(group) - 1) // 2 for group in groups) >= SUITES[suite]
    for group in groups:
        assert len({(run.problem, run.graph, run.solver) for run in group}) == 1
        assert len({run.variant for run in group}) == len(group)


def write_runs(plan, rng, *, sd, sources=12, slow=()):
    """Write two rounds of every run, as jobs do; `slow` names variants that take 1.3 times as long."""
    for run in plan.runs.values():
        factors = np.exp(rng.normal(0, sd, 2)) * (1.3 if run.variant in slow else 1)
        times = np.linspace(1, 4, sources) * rng.normal(1, 0.003, sources)
        table = searches(run.variant, times.tolist(), rounds=factors.tolist())
        context = {"run": run.model_dump(), "device_kind": "cuda", "device": "X", "parameters": {}}
        folder = Path("results/runs", run.problem, run.graph, run.variant)
        for number, place in ((1, folder), (2, folder / "rounds/2")):
            place.mkdir(parents=True, exist_ok=True)
            rows = table.loc[table["round"] == number, SAMPLES]
            write_table(pa.Table.from_pandas(rows, preserve_index=False), place / "runs.parquet")
            write_json(context, place / "context.json")


@pytest.fixture(scope="module")
def folder(plan, tmp_path_factory):
    """A folder of runs that do not differ, but for one name of `near-far`."""
    made = tmp_path_factory.mktemp("runs")
    with chdir(made):
        write_runs(plan, np.random.default_rng(2), sd=0.005, slow=("near-far-b",))
    return made


def pairs_alike(plan):
    races = aa.pairs_of(plan, aa.read_timings(plan))
    return [[pair for pair in race if "near-far-b" not in pair[0]] for race in races]


def test_runs_are_told_apart_if_they_differ_and_slowdowns_are_found(plan, folder, monkeypatch):
    monkeypatch.chdir(folder)
    alike = pairs_alike(plan)
    assert sum(map(len, alike)) == 110 - 4 * 3
    alone, corrected = (len(aa.told_apart(alike, alone=alone)) for alone in (True, False))
    assert corrected <= alone <= 0.02 * 110
    assert aa.found_slowdowns(alike, 1.05) >= 0.95 * (110 - 4 * 3)
    text = aa.report(plan)
    assert text.startswith("110 pairs of runs that differ only in their name")
    told = [line for line in text.splitlines() if "near-far-b" in line]
    assert len(told) == 4 * 3, "of five names on three graphs"
    assert "sssp on grid-1000: near-far and near-far-b (+" in text
    assert "gpu: 55 runs, 55 of them in several processes, which differ by 0." in text


def test_runs_of_one_process_are_said_to_be(plan, folder, tmp_path, monkeypatch):
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    for second in Path("results/runs").glob("*/*/*/rounds/2/runs.parquet"):
        second.unlink()
    text = aa.report(plan)
    assert "gpu: 55 runs, 0 of them in several processes, which differ by 3.0% (s.d.)" in text
    assert aa.found_slowdowns(pairs_alike(plan), 1.05) == 0


def test_without_results_and_of_few_sources_there_is_nothing_to_compare(plan, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert "make them with relaxometer all-runs" in refusal(aa.report, plan)
    write_runs(plan, np.random.default_rng(3), sd=0.005, sources=FEWEST - 1)
    said = refusal(aa.report, plan)
    assert "no two runs differ only in their name and have 6 samples" in said


@pytest.mark.parametrize("problem", ["sssp", "bfs"])
def test_the_pairs_of_the_published_suite_of_auto_are_those_of_the_documents(problem):
    """It has runs of the same kernels under several names, on real maps; one process each."""
    folder = ROOT / "docs/results/auto"
    runs = json.loads((folder / "context.json").read_text(encoding="utf-8"))["runs"]
    chosen = {run["run"]: run["parameters.chosen"] for run in runs if "parameters.chosen" in run}
    samples = read_samples(folder / "samples.parquet").to_pandas().drop(columns=PROCESS)
    times = source_times(with_processes(samples[samples["problem"] == problem]))
    races = {}
    for key, rows in times.groupby(KEY, sort=False):
        races.setdefault(key[1], {}).setdefault(chosen.get("/".join(key), key[2]), []).append(("", rows))
    pairs = [
        [(name, (one, other)) for of in race.values() for (name, one), (_, other) in combinations(of, 2)]
        for race in races.values()
    ]
    mirrored = [[(name, (other, one)) for name, (one, other) in race] for race in pairs]
    count, apart = sum(map(len, pairs)), len(aa.told_apart(pairs, alone=True))
    found = sum(aa.found_slowdowns(one, aa.SLOWDOWN) for one in (pairs, mirrored))
    corrected = aa.told_apart(pairs, alone=False)
    assert not corrected
    said = f"{count} pairs, {apart} are told apart before and {len(corrected)} after Holm's correction"
    page = " ".join((ROOT / "docs/statistics.md").read_text(encoding="utf-8").split())
    assert f"{said}; {found} of {2 * count}" in page
