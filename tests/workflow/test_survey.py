"""The survey's variants, figures and tables in a run of the workflow, on a tiny map."""

import pandas as pd
import pytest

from tiny_workflow import TINY, run_once

pytestmark = pytest.mark.slow

CONFIG = {
    **TINY,
    "timing": {"sources": 2, "repetitions": 1, "rounds": 1, "warmup": 0},
    "sssp": {
        "graphs": ["tiny"],
        "variants": {
            "selection": False,
            "adaptive": False,
            "near-far": False,
            "tiled": False,
            "phast": False,
            "dijkstra": {},
            "dijkstra-small": {"solver": "dijkstra", "limit": 10},
            "bellman-ford-queue": {},
            "bellman-ford-queue-order": {"solver": "bellman-ford-queue", "order": ["slf", "lll", "slf-lll"]},
            "delta-stepping": {},
            "delta-stepping-sweep": {
                "solver": "delta-stepping",
                "delta": ["median", "max-over-degree", 5, 300],
            },
        },
    },
    "report": {"papers": ["survey"], "maps": []},
}


TARGETS = [
    *("results/summary.csv", "results/claims.csv", "results/tables/common/sssp-work.csv"),
    *(f"results/figures/survey/{name}.svg" for name in ("extract-min", "queues/tiny", "widths/tiny")),
    "results/tables/survey/bandwidth.csv",
]


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A finished run, with everything that is of the survey."""

    def run(workflow):
        workflow.configure(CONFIG)
        workflow.run("--", *TARGETS)

    return run_once(tmp_path_factory, "survey", run)


def test_every_figure_of_the_survey_is_there(finished):
    for name in ("extract-min", "queues/tiny", "widths/tiny"):
        assert finished.path(f"results/figures/survey/{name}.svg").stat().st_size > 1000
    assert len(pd.read_csv(finished.path("results/tables/survey/bandwidth.csv")))
    listed = finished.run("--dry-run", "--quiet", "progress", "--", "all").stdout
    assert "results/figures/adaptive" not in listed


def test_all_variants_are_proven_and_a_large_graph_is_skipped(finished):
    lines = pd.read_csv(finished.path("results/summary.csv")).set_index("variant")
    status = lines.pop("status")
    assert status.pop("dijkstra-small") == "skipped"
    assert set(status) == {"ok"}
    assert "limit = 10" in lines.loc["dijkstra-small", "reason"]


def test_the_table_of_work_counts_relaxations(finished):
    table = pd.read_csv(finished.path("results/tables/common/sssp-work.csv")).set_index("Variant")
    assert table.loc["dijkstra", "Relaxations per arc"] == 1
    assert (table["Relaxations per arc"].dropna() >= 1).all()
    assert {"bellman-ford-queue-order-slf-lll", "delta-stepping"} <= set(table.index)
    assert not any(name.startswith("delta-stepping-sweep") for name in table.index)


def test_the_claims_on_extract_min_need_a_gpu(finished):
    claims = pd.read_csv(finished.path("results/claims.csv")).set_index("id")
    assert set(claims["source"]) == {"survey"}
    assert claims.loc["survey-extract-min-threads", "verdict"] == "not measured: emulated time"
    table = pd.read_csv(finished.path("results/tables/survey/extract-min-times.csv"))
    assert set(table["Clock"]) == {"emulated", "CPU"}
