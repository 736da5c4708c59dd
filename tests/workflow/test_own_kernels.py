"""Variants and problems from folders outside the package go through the whole workflow."""

import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from relaxometer.graphs.graph import read_graph
from tiny_workflow import ROOT, TINY, only

FIRST_VARIANT = ("config.yaml", "sssp/my_bellman.cu", "sssp/my_bellman.py")
OWN = Path(__file__).parents[1] / "own_kernels"
FIGURE = "results/figures/common/median-times.svg"
CONFIG = {
    **TINY,
    "kernels": ["my_kernels"],
    "sssp": only("dijkstra-cpu", "my-bellman"),
    "components": {
        "graphs": ["tiny"],
        "variants": {"wide": {"solver": "label-propagation", "block": 128}},
    },
}
EDITS = {
    "sssp/my_bellman.cu": ("i < offsets[v + 1]", "i + 1 < offsets[v + 1]"),
    "components/label_propagation.cu": (
        "const u64 mine",
        "if (u % 7 == 3 || v % 7 == 3) continue; const u64 mine",
    ),
}
"""Mistakes by the kernel's file: the last arc of a vertex, or some arcs, are left out."""


@pytest.fixture
def own(workflow):
    """A workflow with the first variant of CONTRIBUTING.md and a problem of its own."""
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    files = dict(re.findall(r"^`(my_kernels/\S+)`:\n\n```\w+\n(.*?)^```$", page, re.MULTILINE | re.DOTALL))
    assert sorted(files) == [f"my_kernels/{name}" for name in FIRST_VARIANT]
    shutil.copytree(OWN, workflow.path("my_kernels"), ignore=shutil.ignore_patterns("__pycache__"))
    for name, text in files.items():
        workflow.path(name).parent.mkdir(exist_ok=True)
        workflow.path(name).write_text(text, encoding="utf-8")
    return workflow


@pytest.mark.slow
def test_a_first_variant_and_a_problem_of_ones_own_reach_the_summary_and_the_report(own):
    shutil.copy(own.path("my_kernels/config.yaml"), own.path("tiny.yaml"))
    assert ("run_variant", "my-bellman") in own.jobs_to_run()

    own.configure(CONFIG)
    own.run("--", "results/summary.csv", FIGURE)
    lines = own.summary()
    assert lines["status"].eq("ok").all()
    assert lines["certified"].eq(1).all()
    assert lines.loc["wide", ["problem", "sources"]].tolist() == ["components", 1]
    answer = own.frame("runs/components/tiny/wide/answer.parquet")
    assert str(answer["depth"].dtype) == "uint16"
    graph = read_graph(own.path("results/graphs/tiny"))
    matrix = csr_array((np.ones(graph.n_arcs), graph.targets, graph.offsets), shape=(graph.n_vertices,) * 2)
    _, expected = connected_components(matrix, directed=False)
    firsts = np.unique(expected, return_index=True)[1]
    assert np.array_equal(answer["component"].to_numpy(), firsts[expected])
    assert {"my-bellman", "components"} <= set(re.findall(r"[\w-]+", own.path(FIGURE).read_text("utf-8")))

    for file, (old, new) in EDITS.items():
        kernel = own.path(f"my_kernels/{file}")
        text = kernel.read_text(encoding="utf-8")
        assert old in text
        kernel.write_text(text.replace(old, new), encoding="utf-8")
    done = own.run("--", "results/verdict.accepted", "results/tables/common/ranking.csv", check=False)
    assert done.returncode != 0
    assert "my-bellman: invalid in SSSP on tiny: rule overstretched broken" in done.stdout
    assert "wide: invalid in components on tiny: rule crossing broken" in done.stdout
    assert own.log().count("rule run_variant:") == 2, "the run of the kernel that was not edited stays"
