"""Variants and problems from folders outside the package go through the whole workflow."""

import re
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from relaxometer.graphs.graph import read_graph
from relaxometer.problems.variants import solver_names
from tiny_workflow import ROOT, TINY, Workflow

FIRST_VARIANT = ("config.yaml", "sssp/my_bellman.cu", "sssp/my_bellman.py")
OWN = Path(__file__).parents[1] / "own_kernels"
FIGURE = "results/figures/common/median-times.svg"
TABLES = [f"results/tables/common/{name}.csv" for name in ("ranking", "ranking-emulated")]
"""Which a run prints at its end."""

COMPONENTS = {
    **TINY,
    "kernels": ["my_kernels"],
    "sssp": {"graphs": []},
    "components": {"graphs": ["tiny"], "variants": {"label-propagation": {}, "wide": {}}},
}
COMPONENTS["components"]["variants"]["wide"] = {"solver": "label-propagation", "block": 128}


@pytest.fixture
def workflow(tmp_path):
    shutil.copytree(OWN, tmp_path / "my_kernels", ignore=shutil.ignore_patterns("__pycache__"))
    made = Workflow(tmp_path)
    made.configure(COMPONENTS)
    return made


@pytest.mark.slow
def test_the_first_variant_of_contributing_gets_its_bar(tmp_path):
    workflow = Workflow(tmp_path)
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    files = dict(re.findall(r"^`(my_kernels/\S+)`:\n\n```\w+\n(.*?)^```$", page, re.MULTILINE | re.DOTALL))
    assert sorted(files) == [f"my_kernels/{name}" for name in FIRST_VARIANT]
    for name, text in files.items():
        workflow.path(name).parent.mkdir(parents=True, exist_ok=True)
        workflow.path(name).write_text(text, encoding="utf-8")
    shutil.copy(workflow.path("my_kernels/config.yaml"), workflow.path("tiny.yaml"))
    assert ("run_variant", "my-bellman") in workflow.jobs_to_run()

    alone = dict.fromkeys(solver_names("sssp"), False)
    variants = {**alone, "dijkstra-cpu": None, "my-bellman": None}
    workflow.configure(
        {**TINY, "kernels": ["my_kernels"], "sssp": {"graphs": ["tiny"], "variants": variants}}
    )
    workflow.run("--", "results/summary.csv", FIGURE)
    summary = pd.read_csv(workflow.path("results/summary.csv")).set_index("variant")
    assert summary["certified"].to_dict() == {"my-bellman": 1, "dijkstra-cpu": 1}
    assert "my-bellman" in workflow.path(FIGURE).read_text(encoding="utf-8")

    kernel = workflow.path("my_kernels/sssp/my_bellman.cu")
    wrong = kernel.read_text(encoding="utf-8").replace("i < offsets[v + 1]", "i + 1 < offsets[v + 1]")
    kernel.write_text(wrong, encoding="utf-8")
    assert {job for job in workflow.jobs_to_run() if job[0] == "run_variant"} == {
        ("run_variant", "my-bellman")
    }
    done = workflow.run("--", "results/verdict.accepted", *TABLES, check=False)
    assert done.returncode != 0
    assert "my-bellman: invalid: rule overstretched broken" in done.stdout


@pytest.mark.slow
def test_a_problem_of_ones_own_reaches_the_summary_and_the_report(workflow):
    workflow.run("--", "results/summary.csv", FIGURE)
    summary = pd.read_csv(workflow.path("results/summary.csv")).set_index(["problem", "variant"])
    lines = summary.loc["components"]
    assert lines["status"].to_dict() == {"label-propagation": "ok", "wide": "ok"}
    assert lines["certified"].to_list() == [1, 1]
    assert lines["sources"].to_list() == [1, 1]
    answer = pq.read_table(workflow.path("results/runs/components/tiny/wide/answer.parquet"))
    assert str(answer.schema.field("depth").type) == "uint16"
    graph = read_graph(workflow.path("results/graphs/tiny"))
    matrix = csr_array((np.ones(graph.n_arcs), graph.targets, graph.offsets), shape=(graph.n_vertices,) * 2)
    _, expected = connected_components(matrix, directed=False)
    firsts = np.unique(expected, return_index=True)[1]
    assert np.array_equal(answer["component"].to_numpy(), firsts[expected])
    assert "components" in workflow.path(FIGURE).read_text(encoding="utf-8")

    kernel = workflow.path("my_kernels/components/label_propagation.cu")
    text = kernel.read_text(encoding="utf-8")
    left_out = "if (u % 7 == 3 || v % 7 == 3) continue;"
    wrong = text.replace("const u64 mine", left_out + " const u64 mine")
    assert wrong != text
    kernel.write_text(wrong, encoding="utf-8")
    assert {job for job in workflow.jobs_to_run() if job[0] == "run_variant"} == {
        ("run_variant", "label-propagation"),
        ("run_variant", "wide"),
    }
    done = workflow.run("--", "results/verdict.accepted", *TABLES, check=False)
    assert done.returncode != 0
    assert "label-propagation, wide: invalid: rule crossing broken" in done.stdout


def test_a_folder_that_does_not_exist_is_one_line(workflow):
    workflow.configure({**COMPONENTS, "kernels": ["my_kernel"]})
    done = workflow.run("--dry-run", "--", "all", check=False)
    assert done.returncode != 0
    assert "kernels: 'my_kernel' is not a folder" in done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr
