"""Studies and the figures of the survey, in one run of the workflow on a tiny map."""

from pathlib import Path

import pytest

from tiny_workflow import ONCE, TINY, only, run_once

pytestmark = pytest.mark.slow

VARIANTS = {
    "auto": {"searches": 1000},
    "dijkstra-small": {"solver": "dijkstra", "limit": 10},
    "bellman-ford-queue-order": {"solver": "bellman-ford-queue", "order": ["slf-lll"]},
    "delta-stepping-wide": {"solver": "delta-stepping", "delta": 300},
}
NAMES = ("near-far", "dijkstra-cpu", "dijkstra", "bellman-ford-queue", "delta-stepping")
CONFIG = {
    **TINY,
    "timing": ONCE,
    "sssp": only(*NAMES, *VARIANTS, variants=VARIANTS),
    "throughput": {"graphs": ["tiny"], "searches": [1, 5], "repetitions": 2},
    "bfs": {"graphs": ["tiny"], "only": ["hybrid"]},
    "bfs_throughput": {"graphs": ["tiny"], "searches": [2, 70], "repetitions": 1},
    "rivals": [str(Path(__file__).parents[1] / "own_rivals")],
    "traffic": {
        "graphs": ["tiny"],
        "variants": ["phast", "dijkstra-cpu"],
        "rivals": {"plain": {}},
        "rounds": 2,
        "searches": 2,
    },
    "all_pairs": {"graphs": ["tiny"], "table": [0, 107]},
    "report": {"papers": ["survey"], "maps": []},
}
TABLES = ("throughput", "bfs-throughput", "traffic", "all-pairs", "auto-choices", "preparation", "sssp-work")
FIGURES = [
    *(f"common/{name}/tiny" for name in ("throughput", "bfs-throughput", "traffic", "eccentricities")),
    *("common/auto-regret", "survey/extract-min", "survey/queues/tiny", "survey/widths/tiny"),
]
TARGETS = [
    *("results/verdict.txt", "results/claims.csv", "results/tables/survey/bandwidth.csv"),
    *(f"results/tables/common/{name}.csv" for name in TABLES),
    *(f"results/figures/{name}.svg" for name in FIGURES),
]


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A finished run, with the figures and tables of studies and the survey only."""

    def run(workflow):
        workflow.configure(CONFIG)
        workflow.run("--", *TARGETS, timeout_s=1800)

    return run_once(tmp_path_factory, "studies", run)


def test_every_figure_is_drawn_and_every_table_is_made(finished):
    assert all(finished.path(f"results/figures/{name}.svg").stat().st_size > 1000 for name in FIGURES)
    assert all(len(finished.frame(f"tables/common/{name}.csv")) for name in TABLES)
    listed = finished.run("--dry-run", "--quiet", "progress", "--", "all").stdout
    assert "results/figures/adaptive" not in listed


def test_all_variants_are_proven_and_a_large_graph_is_skipped(finished):
    lines = finished.summary()
    status = lines.pop("status")
    assert status.pop("dijkstra-small") == "skipped"
    assert set(status) == {"ok"}
    assert "limit = 10" in lines.loc["dijkstra-small", "reason"]


def test_throughput_has_a_row_per_launch_and_a_table_with_single_searches(finished):
    launches = finished.frame("throughput/tiny.parquet")
    assert launches["searches"].tolist() == [1, 1, 5, 5]
    assert (launches["proven"] == launches["searches"]).all()
    table = finished.frame("tables/common/throughput.csv")
    assert set(table["Variant"]) >= {"many-sources", "near-far", "auto", "dijkstra-cpu"}
    assert set(table["Proven"]) == {"100%"}


def test_throughput_of_breadth_first_searches_has_rows_and_a_table_of_its_own(finished):
    launches = finished.frame("bfs_throughput/tiny.parquet")
    assert launches["variant"].tolist() == ["multi-source"] * 2 + ["multi-source-levels"] * 2
    assert launches["proven"].tolist() == [2, 70] * 2
    table = finished.frame("tables/common/bfs-throughput.csv")
    assert set(table["Variant"]) == {"multi-source", "multi-source-levels", "hybrid"}


def test_traffic_has_a_row_per_round_and_a_table(finished):
    changes = finished.frame("traffic/tiny.parquet")
    assert changes["variant"].tolist() == ["phast"] * 2 + ["dijkstra-cpu"] * 2 + ["plain"] * 2
    assert set(changes["status"]) == {"ok"}
    assert changes["class"].fillna("").tolist() == [""] * 4 + ["cpu-1"] * 2
    assert set(finished.frame("tables/common/traffic.csv")["Proven"]) == {"100%"}
    assert "measured" in finished.text("verdict.txt")


def test_all_pairs_of_the_map_are_proven_and_shown(finished):
    sources = finished.frame("all_pairs/tiny/sources.parquet")
    assert sources["source"].tolist() == list(range(12 * 9))
    assert sources["proven"].all()
    ends = finished.frame("all_pairs/tiny/distances.parquet")
    assert ends["distance"].tolist()[::3] == [0, 0]
    assert ends["distance"].max() <= sources["eccentricity"].max()
    times = finished.frame("tables/common/all-pairs-times.csv")
    assert times["Proof"].tolist() == ["none", "every distance"]


def test_the_claims_on_extract_min_need_a_gpu(finished):
    assert len(finished.frame("tables/survey/bandwidth.csv"))
    claims = finished.frame("claims.csv", "id")
    assert set(claims["source"]) == {"survey"}
    assert claims.loc["survey-extract-min-threads", "verdict"] == "not measured: emulated time"
    table = finished.frame("tables/survey/extract-min-times.csv")
    assert set(table["Clock"]) == {"emulated", "CPU"}


def test_other_settings_of_a_study_measure_it_again_and_no_other(finished):
    flow = {"graphs": ["flow-random-1k"]}
    changed = {**CONFIG, "throughput": {"graphs": ["tiny"], "searches": [1, 6]}}
    jobs = finished.jobs_to_run({**changed, "dominators": flow, "updates": {**flow, "arcs": [1]}})
    assert {("measure_throughput", ""), ("measure_updates", "")} <= jobs
    assert ("measure_all_pairs", "") not in jobs
