"""Point-to-point queries through the whole workflow, from drawn and given pairs to the report."""

import sys

import pytest
import yaml

from relaxometer.graphs.graph import read_graph
from relaxometer.rivals.definition import HELPERS
from rival_runs import ADAPTERS, DEFINITION
from sample_graphs import reference_distances
from tiny_workflow import ONCE, UNDRAWN, copied, run_once

pytestmark = pytest.mark.slow

QUERIES = {
    "a-file": {"file": "pairs.csv", "paths": True},
    "b-random": {"pairs": 20},
    "c-table": {"origins": 3, "targets": 4},
    "d-ranks": {"origins": 2, "ranks": [4, 16, 64], "cutoff": 100},
}
VARIANTS = {"dijkstra-cpu": {}, "hierarchy": {}, "trees": {"timing": {"sources": 1}}}
NAMES = [*VARIANTS, "asked"]
ROUTES = {
    **UNDRAWN,
    "timing": {**ONCE, "warmup": 1},
    "sssp": {"graphs": []},
    "rivals": ["my_rivals"],
    "routes": {
        "graphs": ["tiny"],
        "queries": QUERIES,
        "variants": VARIANTS,
        "rivals": {"asked": {"command": f"{sys.executable} my_rivals/asked/program.py"}},
    },
}
TARGETS = ("results/verdict.txt", "results/tables/common/routes.csv", "results/tables/common/ranking.csv")
PAIRS = [[0, 107], [5, 5], [107, 0]]
RIVAL = {**DEFINITION, "problems": {"routes": {"answers": ["distance", "size", "path"]}}}
PROGRAM = f"""
import sys
sys.path += [{str(HELPERS)!r}, {str(ADAPTERS)!r}]
from asked import Asked
from rival import serve
serve(Asked)
"""


@pytest.fixture(scope="module")
def finished_routes(tmp_path_factory):
    """A copy in which queries have been run."""

    def run(workflow):
        text = "\n".join(f"{origin},{target}" for origin, target in PAIRS)
        workflow.path("pairs.csv").write_text(text, encoding="utf-8")
        folder = workflow.path("my_rivals/asked")
        folder.mkdir(parents=True)
        definition = {key: value for key, value in RIVAL.items() if key != "adapter"}
        (folder / "rival.yaml").write_text(yaml.safe_dump(definition), encoding="utf-8")
        (folder / "program.py").write_text(PROGRAM, encoding="utf-8")
        workflow.configure(ROUTES)
        workflow.run("--", *TARGETS)

    return run_once(tmp_path_factory, "routes", run)


def test_every_variant_answers_and_is_proven(finished_routes):
    summary = finished_routes.summary()
    assert set(summary["problem"]) == {"routes"}
    # A loaded machine delays messages: then the times of a rival are disputed, not the answers.
    assert summary["status"].replace("disputed", "ok").to_dict() == dict.fromkeys(NAMES, "ok")
    assert summary["certified"].to_dict() == dict.fromkeys(NAMES, 1)
    # A file is one set; the others are drawn twice.
    assert summary["sources"].to_dict() == {"dijkstra-cpu": 7, "hierarchy": 7, "trees": 4, "asked": 7}
    assert summary["mteps"].isna().all(), "a query traverses no part of the graph that could be counted"
    assert finished_routes.text("verdict.txt").startswith("4 runs measured, every answer proven correct")


def test_the_first_answer_has_the_paths_of_the_given_pairs(finished_routes):
    graph = read_graph(finished_routes.path("results/graphs/tiny"))
    expected = [int(reference_distances(graph, origin)[target]) for origin, target in PAIRS]
    for name in NAMES:
        answer = finished_routes.frame(f"runs/routes/tiny/{name}/answer.parquet")
        assert answer["distance"].tolist() == expected
        assert [[path[0], path[-1]] for path in answer["path"]] == PAIRS


def test_an_edited_file_draws_again_and_an_unknown_vertex_is_named(finished_routes, tmp_path):
    workflow = copied(finished_routes, tmp_path)
    workflow.path("pairs.csv").write_text("0,107\n5,108\n", encoding="utf-8")
    done = workflow.run("--", "results/queries/routes/tiny.parquet", check=False)
    assert done.returncode
    assert "pairs.csv:2: '5,108': target 108 is not an integer from 0 to 107" in done.stderr
