"""A run of many faulty variants: each is one line of the summary, and everything else is made."""

import re
import shutil
from pathlib import Path

import pytest

from tiny_workflow import ONCE, UNDRAWN, only

FAULTY = Path(__file__).parents[1] / "faulty_kernels"
GOOD = ["good", "good-too"]
OUTCOMES = {
    "kernel-write": ("invalid", "changed the graph: weights"),
    "kernel-loop": ("timeout", "not finished within timeout_s = 2"),
    "kernel-trap": ("error", "died of SIGILL|SIGTRAP"),
    "kills-parent": ("error", "run_variant sssp tiny kills-parent: died of SIGKILL; see logs/"),
    "wrong-predecessors": ("invalid", "rule predecessor"),
}
"""Status and reason by variant; ``tests/race/test_faults.py`` has more faults."""

TARGETS = [
    *("results/verdict.accepted", "results/tables/common/ranking.csv", "results/tables/common/winners.csv"),
    "results/pages/variants/sssp-good.html",
]


def spec(name):
    """The configuration of a variant."""
    if name.startswith("kernel-"):
        timing = {"timeout_s": 2} if name == "kernel-loop" else {}
        return {"solver": "faulty-kernel", "fault": name.removeprefix("kernel-"), "timing": timing}
    # Without a value, or the report would take a good one for a point of the curve of all faults.
    return {"solver": "faulty", **({} if name in GOOD else {"fault": name})}


@pytest.mark.slow
def test_each_faulty_variant_costs_its_own_line(workflow):
    shutil.copytree(FAULTY, workflow.path("faulty"), ignore=shutil.ignore_patterns("__pycache__"))
    variants = {name: spec(name) for name in (*OUTCOMES, *GOOD)}
    timing = {**ONCE, "sources": 8, "timeout_s": 120}
    section = only(*variants, variants=variants)
    workflow.configure({**UNDRAWN, "kernels": ["faulty"], "timing": timing, "sssp": section})
    done = workflow.run("--", *TARGETS, check=False)
    assert done.returncode != 0
    summary = workflow.summary()
    assert sorted(summary.index) == sorted(variants)
    for name, (status, reason) in OUTCOMES.items():
        assert summary.loc[name, "status"] == status, name
        assert re.search(reason, summary.loc[name, "reason"]), summary.loc[name]
    assert (summary.loc[GOOD, ["status", "certified"]] == ["ok", 1]).all(axis=None)
    assert summary.loc[list(OUTCOMES), "median_ms"].isna().all()

    ranking = workflow.frame("tables/common/ranking.csv", "Variant")
    assert set(ranking.index[ranking["Rank"].notna()]) == set(GOOD)
    assert all(name in workflow.text("figures/common/median-times.svg") for name in GOOD)
    assert all(workflow.path(target).is_file() for target in TARGETS[1:])

    last = done.stderr.splitlines()[-1]
    assert last.startswith(f"error: {len(OUTCOMES)} of {len(variants)} measurements are not ok: ")
    assert all(f"sssp {name} on tiny ({status})" in last for name, (status, _) in OUTCOMES.items())
    verdict = workflow.text("verdict.txt").splitlines()
    assert verdict[0] == last
    assert sum(not line.startswith(("note:", "warning:")) for line in verdict) == 1 + len(OUTCOMES)
    assert any(line.startswith("note: rule predecessor of sssp: every reached vertex") for line in verdict)
