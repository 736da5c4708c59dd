"""Throughput, all pairs, the choice of auto and preparation in a run of the workflow, on a tiny map."""

from pathlib import Path

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
            "conventional": False,
            "selection": False,
            "adaptive": False,
            "tiled": False,
            "phast": False,
            "auto": {"searches": 1000},
        },
    },
    "throughput": {"graphs": ["tiny"], "searches": [1, 5], "repetitions": 2},
    "bfs": {
        "graphs": ["tiny"],
        "variants": dict.fromkeys(("top-down", "hybrid-cpu", "queue-cpu", "tiled"), False),
    },
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
    "report": {"papers": [], "maps": []},
}


TABLES = ("throughput", "bfs-throughput", "traffic", "all-pairs", "auto-choices", "preparation")
FIGURES = ("throughput", "bfs-throughput", "traffic", "eccentricities")
TARGETS = [
    "results/verdict.txt",
    *(f"results/tables/common/{name}.csv" for name in TABLES),
    *(f"results/figures/common/{name}/tiny.svg" for name in FIGURES),
]


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A finished run, with the figures and tables of studies only."""

    def run(workflow):
        workflow.configure(CONFIG)
        workflow.run("--", *TARGETS)

    return run_once(tmp_path_factory, "studies", run)


def test_throughput_has_a_row_per_launch_and_a_table_with_single_searches(finished):
    launches = pd.read_parquet(finished.path("results/throughput/tiny.parquet"))
    assert launches["searches"].tolist() == [1, 1, 5, 5]
    assert (launches["proven"] == launches["searches"]).all()
    table = pd.read_csv(finished.path("results/tables/common/throughput.csv"))
    assert set(table["Variant"]) >= {"many-sources", "near-far", "auto", "dijkstra-cpu"}
    assert set(table["Proven"]) == {"100%"}
    assert finished.path("results/figures/common/throughput/tiny.svg").stat().st_size > 1000


def test_throughput_of_breadth_first_searches_has_rows_and_a_table_of_its_own(finished):
    launches = pd.read_parquet(finished.path("results/bfs_throughput/tiny.parquet"))
    assert launches["variant"].tolist() == ["multi-source"] * 2 + ["multi-source-levels"] * 2
    assert launches["proven"].tolist() == [2, 70] * 2
    table = pd.read_csv(finished.path("results/tables/common/bfs-throughput.csv"))
    assert set(table["Variant"]) == {"multi-source", "multi-source-levels", "hybrid"}
    assert finished.path("results/figures/common/bfs-throughput/tiny.svg").stat().st_size > 1000


def test_traffic_has_a_row_per_round_and_a_table(finished):
    changes = pd.read_parquet(finished.path("results/traffic/tiny.parquet"))
    assert changes["variant"].tolist() == ["phast"] * 2 + ["dijkstra-cpu"] * 2 + ["plain"] * 2
    assert set(changes["status"]) == {"ok"}
    assert changes["class"].fillna("").tolist() == [""] * 4 + ["cpu-1"] * 2
    table = pd.read_csv(finished.path("results/tables/common/traffic.csv"))
    assert dict(zip(table["Variant"], table["New weights"], strict=True)) == {
        "phast": "customized",
        "dijkstra-cpu": "prepared anew",
        "plain": "customized",
    }
    assert set(table["Proven"]) == {"100%"}
    assert finished.path("results/figures/common/traffic/tiny.svg").stat().st_size > 1000
    assert "measured" in finished.path("results/verdict.txt").read_text(encoding="utf-8")


def test_all_pairs_of_the_map_are_proven_and_shown(finished):
    sources = pd.read_parquet(finished.path("results/all_pairs/tiny/sources.parquet"))
    assert sources["source"].tolist() == list(range(12 * 9))
    assert sources["proven"].all()
    table = pd.read_csv(finished.path("results/tables/common/all-pairs.csv"), dtype=str).iloc[0]
    ends = pd.read_parquet(finished.path("results/all_pairs/tiny/distances.parquet"))
    assert ends["distance"].tolist()[::3] == [0, 0]
    assert ends["distance"].max() <= sources["eccentricity"].max()
    assert [table["Radius"], table["Diameter"]] == [
        str(sources["eccentricity"].agg(which)) for which in ("min", "max")
    ]
    assert [table["Proven"], table["Exact"], table["Unit"]] == ["100%", "yes", "metres"]
    times = pd.read_csv(finished.path("results/tables/common/all-pairs-times.csv"))
    assert times["Proof"].tolist() == ["none", "every distance"]
    assert finished.path("results/figures/common/eccentricities/tiny.svg").stat().st_size > 1000


def test_auto_says_what_it_chose_and_why(finished):
    table = pd.read_csv(finished.path("results/tables/common/auto-choices.csv"))
    line = table.iloc[0]
    assert line["Chosen"] in ("tiled", "near-far")
    assert line["Why"].startswith("even degrees (mean degree 3.6")
    assert "near-far" in line["Why"]
    assert table["Graph"].tolist() == [
        "tiny",
        "No graph has real times of both auto and another variant",
    ]
    assert finished.path("results/figures/common/auto-regret.svg").stat().st_size > 1000


def test_the_preparation_of_every_variant_is_tabulated(finished):
    table = pd.read_csv(finished.path("results/tables/common/preparation.csv")).set_index("Variant")
    assert {"near-far", "auto", "dijkstra-cpu"} <= set(table.index)
    shown = table["Preparation [ms]"].astype(str).str.replace(",", "").str.removeprefix("<")
    assert (shown.astype(float) >= 0).all()
    assert table.loc["dijkstra-cpu", "Pays after [searches]"] == "first from the start"


def test_updates_are_measured_whatever_the_report_shows(finished):
    flow = {"graphs": ["flow-random-1k"]}
    jobs = finished.jobs_to_run({**CONFIG, "dominators": flow, "updates": {**flow, "arcs": [1]}})
    assert ("measure_updates", "") in jobs


def test_another_number_of_searches_measures_again(finished):
    jobs = finished.jobs_to_run({**CONFIG, "throughput": {"graphs": ["tiny"], "searches": [1, 6]}})
    assert ("measure_throughput", "") in jobs
    assert ("measure_all_pairs", "") not in jobs
