"""A user's own variants and rivals, faulty ones among them: each is one line of the summary."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tiny_workflow import UNDRAWN, copied, environment, only, run_once

pytestmark = pytest.mark.slow

PLAIN = Path(__file__).parents[1] / "own_rivals/plain"
FAULTY = Path(__file__).parents[1] / "faulty_kernels"
FAULTS = {
    "kernel-write": ("invalid", "changed the graph: weights"),
    "kernel-loop": ("timeout", "not finished within timeout_s = 2"),
    "kernel-trap": ("error", "died of SIGILL|SIGTRAP"),
}
"""Status and reason by the variant, which is named for its fault; ``tests/race/test_faults.py`` has more."""

RIVALS = {
    "plain": {},
    "program": {"command": "python3 my_programs/search.py"},
    "not-here": {},
    "cheat": {},
    "hanging": {"timing": {"timeout_s": 3}},
}
OUTCOMES = {
    **FAULTS,
    "dijkstra-cpu": ("ok", "^$"),
    "plain": ("ok", "^$"),
    "program": ("ok", "^$"),
    "not-here": ("absent", "^no program no-such-program: build it$"),
    "cheat": ("invalid", "rule predecessor broken once, first at vertex 107$"),
    "hanging": ("timeout", "^not finished within timeout_s = 3, during a search$"),
}
STATUSES = {name: status for name, (status, _) in OUTCOMES.items()}
GOOD = [name for name, status in STATUSES.items() if status == "ok"]
WRONG = [name for name, status in STATUSES.items() if status not in ("ok", "absent")]
VARIANTS = {
    name: {
        "solver": "faulty-kernel",
        "fault": name.removeprefix("kernel-"),
        "timing": {"timeout_s": 2} if name == "kernel-loop" else {},
    }
    for name in FAULTS
}
CONFIG = {
    **UNDRAWN,
    "timing": {"sources": 8, "repetitions": 1, "rounds": 1, "warmup": 1, "timeout_s": 120},
    "kernels": ["faulty"],
    "rivals": ["my_rivals"],
    "sssp": only(*STATUSES, variants=VARIANTS, rivals=RIVALS),
}
TARGETS = [
    *("results/verdict.accepted", "results/tables/common/ranking.csv", "results/tables/common/winners.csv"),
    "results/pages/variants/sssp-dijkstra-cpu.html",
]


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
    """A copy in which the race has been run once, and has failed because of wrong answers."""

    def run(workflow):
        write_rivals(workflow.folder)
        shutil.copytree(FAULTY, workflow.path("faulty"), ignore=shutil.ignore_patterns("__pycache__"))
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


def test_each_is_one_line_and_only_the_good_ones_are_ranked(raced):
    table = raced.summary()
    assert table["status"].to_dict() == STATUSES
    reasons = table["reason"].fillna("")
    for name, (_, reason) in OUTCOMES.items():
        assert re.search(reason, reasons[name]), reasons[name]
    assert (table.loc[GOOD, "certified"] == 1).all()
    assert table["median_ms"].dropna().index.tolist() == GOOD
    assert table.loc[["dijkstra-cpu", *RIVALS], "class"].eq("cpu-1").all()
    assert table.loc["plain", "version"] == sys.version.split()[0]

    ranking = raced.frame("tables/common/ranking.csv", "Variant")
    ranked = ranking.index[ranking["Rank"].notna()]
    assert set(ranked.str.removesuffix(" (rival)")) == set(GOOD)
    assert all(name in raced.text("figures/common/median-times.svg") for name in GOOD)
    assert all(raced.path(target).is_file() for target in TARGETS[1:])

    verdict = raced.text("verdict.txt").splitlines()
    last = raced.path("stderr.txt").read_text(encoding="utf-8").splitlines()[-1]
    assert verdict[0] == last
    assert last.startswith(f"error: {len(WRONG)} of {len(STATUSES)} measurements are not ok: ")
    assert all(f"sssp {name} on tiny ({STATUSES[name]})" in last for name in WRONG)
    assert any(line.startswith("note: rule predecessor of sssp: every reached vertex") for line in verdict)


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
    assert said == expected
    left = again.run("--dry-run", "--quiet", "progress", "--rerun-triggers", "mtime", "--", "all").stdout
    assert "rule gather_timings:" in left
    assert "rule run_" not in left
