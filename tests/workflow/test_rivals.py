"""A user's own rivals in a run of the workflow: each is one line of the summary, whatever it does."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tiny_workflow import UNDRAWN, copied, environment, only, run_once

pytestmark = pytest.mark.slow

PLAIN = Path(__file__).parents[1] / "own_rivals/plain"
RIVALS = {
    "plain": {},
    "program": {"command": "python3 my_programs/search.py"},
    "not-here": {},
    "cheat": {},
    "hanging": {"timing": {"timeout_s": 3}},
}
STATUSES = {
    "dijkstra-cpu": "ok",
    "plain": "ok",
    "program": "ok",
    "not-here": "absent",
    "cheat": "invalid",
    "hanging": "timeout",
}
CONFIG = {
    **UNDRAWN,
    "timing": {"sources": 8, "repetitions": 1, "rounds": 1, "warmup": 1},
    "rivals": ["my_rivals"],
    "sssp": only(*STATUSES, rivals=RIVALS),
}
TARGETS = ("results/verdict.accepted", "results/tables/common/ranking.csv")


def write_rivals(folder):
    """Five rivals: the plain one, one that `command` starts, and three with something wrong."""
    definition = yaml.safe_load((PLAIN / "rival.yaml").read_text(encoding="utf-8"))
    adapter = (PLAIN / "adapter.py").read_text(encoding="utf-8")
    lacking = {"needs": {"program": "no-such-program", "how": "build it"}}
    for name, changes, old, new in (
        ("plain", {}, "", ""),
        ("program", {"adapter": None}, "", ""),
        ("not-here", lacking, "", ""),
        ("cheat", {}, "return distance, predecessor", "distance[-1] += 1\n    return distance, predecessor"),
        ("hanging", {}, "while heap:", "time.sleep(99)\n    while heap:"),
    ):
        path = folder / "my_rivals" / name
        path.mkdir(parents=True)
        (path / "rival.yaml").write_text(yaml.safe_dump(definition | changes), encoding="utf-8")
        assert old in adapter
        (path / "adapter.py").write_text(adapter.replace(old, new) if old else adapter, encoding="utf-8")
    (folder / "my_programs").mkdir()
    (folder / "my_rivals/program/adapter.py").rename(folder / "my_programs/search.py")


@pytest.fixture(scope="module")
def raced(tmp_path_factory):
    """A copy in which the race has been run once, and has failed because of the cheat."""

    def run(workflow):
        write_rivals(workflow.folder)
        workflow.configure(CONFIG)
        done = workflow.run("--", *TARGETS, check=False)
        workflow.path("stderr.txt").write_text(done.stderr, encoding="utf-8")
        assert done.returncode != 0

    return run_once(tmp_path_factory, "rivals", run)


@pytest.fixture
def again(raced, tmp_path):
    return copied(raced, tmp_path)


def measurements(workflow):
    """Return the measurements that the next run would make."""
    jobs = workflow.jobs_to_run(targets=TARGETS)
    return {job for job in jobs if job[0] in ("run_variant", "run_rival")}


def test_each_rival_is_one_line_and_only_the_good_ones_are_ranked(raced):
    table = raced.summary()
    assert table["status"].to_dict() == STATUSES
    assert table["reason"].fillna("").to_dict() == {
        "dijkstra-cpu": "",
        "plain": "",
        "program": "",
        "not-here": "no program no-such-program: build it",
        "cheat": table.loc["cheat", "reason"],
        "hanging": "not finished within timeout_s = 3",
    }
    assert table.loc["cheat", "reason"].endswith("rule predecessor broken once, first at vertex 107")
    good = [name for name, status in STATUSES.items() if status == "ok"]
    assert (table.loc[good, "certified"] == 1).all()
    assert table["median_ms"].dropna().index.tolist() == good
    assert table["class"].eq("cpu-1").all()
    assert table.loc["plain", "version"] == sys.version.split()[0]

    ranking = raced.frame("tables/common/ranking.csv", "Variant")
    ranked = ranking.index[ranking["Rank"].notna()]
    assert set(ranked.str.removesuffix(" (rival)")) == set(good)
    assert all(name in raced.text("figures/common/median-times.svg") for name in good)

    last = raced.path("stderr.txt").read_text(encoding="utf-8").splitlines()[-1]
    assert last == (
        "error: 2 of 6 measurements are not ok: sssp cheat on tiny (invalid), sssp hanging on tiny (timeout)"
    )
    assert raced.text("verdict.txt").splitlines()[0] == last


def test_the_next_run_tries_the_absent_one_again(again):
    assert again.jobs_to_run(targets=TARGETS) == {("accept_answers", "")}, "no table is drawn again"
    rival = again.path("my_rivals/not-here/rival.yaml")
    programs = again.path("bin")
    programs.mkdir()
    (programs / "no-such-program").write_text("#!/bin/sh\n", encoding="utf-8")
    (programs / "no-such-program").chmod(0o755)
    before = rival.stat().st_mtime_ns
    command = again.command("--", *TARGETS)
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"
    subprocess.run(command, cwd=again.folder, env=environment() | {"PATH": path}, capture_output=True)
    assert rival.stat().st_mtime_ns == before
    assert again.summary()["status"].to_dict() == STATUSES | {"not-here": "ok"}
    assert measurements(again) == set()


def test_edits_of_an_adapter_and_of_a_program_rerun_their_rivals(again):
    for file in ("my_rivals/plain/adapter.py", "my_programs/search.py"):
        path = again.path(file)
        path.write_text(path.read_text(encoding="utf-8") + "# the end\n", encoding="utf-8")
    assert measurements(again) == {("run_rival", "plain"), ("run_rival", "program")}


def test_a_program_that_was_not_there_runs_when_it_is(again):
    rivals = RIVALS | {"program": {"command": "./search"}}
    again.configure(CONFIG | {"sssp": CONFIG["sssp"] | {"rivals": rivals}})
    again.run("--", "results/summary.csv")
    assert again.summary().loc["program", "reason"] == "no program './search', which `command` names"
    assert measurements(again) == set()
    again.path("search").write_text("#!/bin/sh\n", encoding="utf-8")
    again.path("search").chmod(0o755)
    assert measurements(again) == {("run_rival", "program")}


def test_all_runs_does_rivals_too_and_snakemake_takes_their_files(again):
    shutil.rmtree(again.path("results/runs"))
    again.configure(CONFIG | {"timing": CONFIG["timing"] | {"warmup": 0}})
    command = [sys.executable, "-m", "relaxometer.cli.all_runs", "tiny.yaml"]
    done = subprocess.run(command, cwd=again.folder, env=environment(), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    said = dict(line.split(" s ")[1].split(": ") for line in done.stdout.splitlines())
    expected = {f"sssp tiny {name}": status for name, status in STATUSES.items()}
    assert said == expected | {"sssp tiny hanging": "timeout"}
    left = again.run("--dry-run", "--quiet", "progress", "--rerun-triggers", "mtime", "--", "all").stdout
    assert "rule gather_timings:" in left
    assert "rule run_" not in left
