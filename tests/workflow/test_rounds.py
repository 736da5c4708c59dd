"""Each run in two processes in mirrored order: A B C, then C B A."""

import json
import shutil
from pathlib import Path

import pytest

from tiny_workflow import UNDRAWN, copied, only, run_once

pytestmark = pytest.mark.slow

PLAIN = Path(__file__).parents[1] / "own_rivals/plain"

FRAGILE = '''"""Dijkstra's algorithm in a driver that kills the job of its second process."""

import os
import signal
from pathlib import Path

from relaxometer.problems.sssp.dijkstra import dijkstra_cpu

Parameters = dijkstra_cpu.Parameters
MARK = Path("second")


class Solver(dijkstra_cpu.Solver):
    def solve(self, source, phases=None):
        if MARK.exists():
            os.kill(os.getppid(), signal.SIGKILL)
        return super().solve(source, phases)
'''

VARIANTS = {
    "conventional": {"graphs": ["tiny"]},
    "dijkstra-cpu": {},
    "fragile": {"graphs": ["tiny"]},
}
RIVALS = {"hanging": {"graphs": ["tiny"], "timing": {"timeout_s": 2}}, "plain": {"graphs": ["tiny"]}}
GRID = {"format": "grid", "seed": 1, "parameters": {"rows": 8, "columns": 9}}
CONFIG = {
    **UNDRAWN,
    "timing": {"sources": 3, "repetitions": 3, "warmup": 0},
    "datasets": {**UNDRAWN["datasets"], "grid": GRID},
    "kernels": ["my_kernels"],
    "rivals": ["my_rivals"],
    "sssp": {
        **only(*VARIANTS, *RIVALS, variants=VARIANTS, rivals=RIVALS),
        "graphs": ["tiny", "grid"],
    },
}
TARGETS = ("results/summary.csv", "results/verdict.txt", "results/context.json")

FIRST = [
    *("conventional tiny", "dijkstra-cpu tiny", "dijkstra-cpu grid", "fragile tiny"),
    *("hanging tiny", "plain tiny"),
]
"""The runs in the order of the configuration."""

AGAIN = ["plain tiny", "fragile tiny", "dijkstra-cpu grid", "dijkstra-cpu tiny"]
"""Those in real time whose first round was good, in mirrored order."""


def write_own(folder):
    """Write two rivals, of which one never answers, and a variant that can be made to fail."""
    for name in ("plain", "hanging"):
        shutil.copytree(PLAIN, folder / "my_rivals" / name, ignore=shutil.ignore_patterns("__pycache__"))
    adapter = folder / "my_rivals/hanging/adapter.py"
    text = adapter.read_text(encoding="utf-8")
    assert "while heap:" in text
    adapter.write_text(text.replace("while heap:", "time.sleep(99)\n    while heap:"), "utf-8")
    kernels = folder / "my_kernels/sssp"
    kernels.mkdir(parents=True)
    (kernels / "fragile.py").write_text(FRAGILE, encoding="utf-8")


@pytest.fixture(scope="module")
def raced(tmp_path_factory):
    """A copy in which the summary has been made once; tests must leave it as it is."""

    def run(workflow):
        write_own(workflow.folder)
        workflow.configure(CONFIG)
        workflow.run("--cores", "2", "--", *TARGETS)

    return run_once(tmp_path_factory, "rounds", run)


@pytest.fixture
def again(raced, tmp_path):
    return copied(raced, tmp_path)


def contexts(workflow):
    """Return the context of each process."""
    files = workflow.path("results/runs").rglob("context.json")
    return [json.loads(file.read_text(encoding="utf-8")) for file in files]


def name(context):
    return f"{context['run']['variant']} {context['run']['graph']}"


def summary(workflow):
    return workflow.frame("summary.csv", ["variant", "graph"])


def measurements(workflow):
    """Return (rule, variant) of the measurements that the next run would make."""
    return {job for job in workflow.jobs_to_run() if job[0].startswith(("run_", "repeat_"))}


def test_processes_begin_in_mirrored_order(raced):
    measured = sorted((one for one in contexts(raced) if "began" in one), key=lambda one: one["began"])
    assert [(one["round"], name(one)) for one in measured] == [
        *((1, one) for one in FIRST),
        *((2, one) for one in AGAIN),
    ]


def test_all_rounds_are_gathered(raced):
    certificates = raced.frame("certificates.parquet")
    assert certificates["holds"].all()
    assert len(certificates) == 3 * (2 + 4 * len(AGAIN))
    table = summary(raced)
    assert table["repetitions"].to_dict() == {
        ("conventional", "tiny"): 2,
        ("hanging", "tiny"): 2,
        **{tuple(one.split()): 4 for one in AGAIN},
    }
    assert (table.drop(("hanging", "tiny"))["certified"] == 1).all()


def test_a_first_round_that_failed_has_no_other(raced):
    assert summary(raced).loc[("hanging", "tiny"), "status"] == "timeout"
    folder = "runs/sssp/tiny/hanging/rounds/2"
    context = json.loads(raced.text(f"{folder}/context.json"))
    assert context["not_measured"] == "the first round: timeout"
    assert raced.frame(f"{folder}/runs.parquet").empty
    assert raced.frame(f"{folder}/certificates.parquet").empty
    provenance = json.loads(raced.text("context.json"))
    assert len(provenance["runs"]) == len(FIRST) + len(AGAIN)


def test_an_edit_reruns_both_rounds(again):
    solver = again.path("my_kernels/sssp/fragile.py")
    solver.write_text(solver.read_text(encoding="utf-8") + "\nMORE = 1\n", encoding="utf-8")
    adapter = again.path("my_rivals/plain/adapter.py")
    adapter.write_text(adapter.read_text(encoding="utf-8") + "# the end\n", encoding="utf-8")
    assert measurements(again) == {
        ("run_variant", "fragile"),
        ("repeat_run", "fragile"),
        ("run_rival", "plain"),
        ("repeat_rival", "plain"),
    }


def test_a_second_round_that_fails_leaves_the_rows_of_the_first(again):
    rounds = again.path("results/runs/sssp/tiny/fragile/rounds")
    before = summary(again)
    shutil.rmtree(rounds)
    for made_of_it in ("timings.parquet", "summary.csv"):
        again.path(f"results/{made_of_it}").unlink()
    again.path("second").touch()
    done = again.run("--", *TARGETS, check=False)
    assert done.returncode != 0
    table = summary(again)
    assert table.loc[("fragile", "tiny"), ["status", "repetitions", "certified"]].tolist() == ["ok", 2, 1]
    # The others are slowed compared with the quietest round, which may have been the one that is gone.
    others = [one.drop(("fragile", "tiny")).drop(columns="slowed") for one in (table, before)]
    assert others[0].equals(others[1])
    verdict = again.text("verdict.txt").splitlines()
    assert verdict[0].startswith("error: 2 of 7 measurements are not ok: ")
    why = "a further round: error (repeat_run sssp tiny fragile 2: died of SIGKILL; see logs/"
    assert any(line.startswith(why) for line in verdict)

    again.path("second").unlink()
    again.run("--", *TARGETS)
    assert summary(again)["repetitions"].equals(before["repetitions"])
    assert (rounds / "2/runs.parquet").is_file()
