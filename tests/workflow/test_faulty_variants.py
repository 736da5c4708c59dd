"""A run of 12 variants, 10 of them faulty: each is one line of the summary, and everything else is made.

tests/race/test_faults.py has further faults.
"""

import re
import shutil
from pathlib import Path

import pandas as pd
import pytest

from relaxometer.problems.variants import solver_names
from tiny_workflow import TINY

FAULTY = Path(__file__).parents[1] / "faulty_kernels"
GOOD = ["good", "good-too"]
OUTCOMES = {
    "kernel-write": ("invalid", "changed the graph: weights"),
    "kernel-loop": ("timeout", "not finished within timeout_s = 2"),
    "kernel-trap": ("error", "died of SIGILL|SIGTRAP"),
    "overrun": ("error", "died of SIGSEGV"),
    "exit-0": ("error", "exited with code 0 before it had finished"),
    "kills-parent": ("error", "run_variant sssp tiny kills-parent: died of SIGKILL; see logs/"),
    "wrong-type": ("invalid", "column distance has type float64"),
    "not-json": ("error", "TypeError: resolved: set is not JSON"),
    "wrong-distances": ("invalid", "rule "),
    "out-of-memory": ("oom", "Unable to allocate"),
}


def spec(name):
    """The configuration of a variant."""
    timing = {"timeout_s": 2} if name.endswith("loop") else {}
    if name.startswith("kernel-"):
        return {"solver": "faulty-kernel", "fault": name.removeprefix("kernel-"), "timing": timing}
    # Without a value, or the report would take a good one for a point of the curve of all faults.
    return {"solver": "faulty", **({} if name in GOOD else {"fault": name}), "timing": timing}


@pytest.mark.slow
def test_10_faulty_variants_of_12_cost_their_own_lines(workflow):
    shutil.copytree(FAULTY, workflow.path("faulty"), ignore=shutil.ignore_patterns("__pycache__"))
    variants = {
        **dict.fromkeys(solver_names("sssp"), False),
        **{name: spec(name) for name in (*OUTCOMES, *GOOD)},
    }
    workflow.configure(
        {
            **TINY,
            "kernels": ["faulty"],
            "timing": {"sources": 8, "repetitions": 1, "rounds": 1, "warmup": 0, "timeout_s": 120},
            "sssp": {"graphs": ["tiny"], "variants": variants},
            "report": {"papers": [], "maps": []},
        }
    )
    done = workflow.run("--", "all", check=False)
    assert done.returncode != 0
    summary = pd.read_csv(workflow.path("results/summary.csv")).set_index("variant")
    assert sorted(summary.index) == sorted([*OUTCOMES, *GOOD])
    assert summary.loc[list(OUTCOMES), "status"].to_dict() == {
        name: one for name, (one, _) in OUTCOMES.items()
    }
    for name, (_, reason) in OUTCOMES.items():
        assert re.search(reason, summary.loc[name, "reason"]), summary.loc[name]
    assert (summary.loc[GOOD, ["status", "certified"]] == ["ok", 1]).all(axis=None)
    assert summary.loc[list(OUTCOMES), "median_ms"].isna().all()

    ranking = pd.read_csv(workflow.path("results/tables/common/ranking.csv")).set_index("Variant")
    assert set(ranking.index[ranking["Rank"].notna()]) == set(GOOD)
    figure = workflow.path("results/figures/common/median-times.svg").read_text(encoding="utf-8")
    assert all(name in figure for name in GOOD)
    workflow.run("--report", "report.zip")

    last = done.stderr.splitlines()[-1]
    assert last.startswith("error: 10 of 12 measurements are not ok: ")
    assert all(f"sssp {name} on tiny ({status})" in last for name, (status, _) in OUTCOMES.items())
    verdict = workflow.path("results/verdict.txt").read_text(encoding="utf-8").splitlines()
    assert verdict[0] == last
    assert sum(not line.startswith(("note:", "warning:")) for line in verdict) == 11
    assert any(line.startswith("note: rule predecessor of sssp: every reached vertex") for line in verdict)
