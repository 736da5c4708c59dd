"""A dataset that cannot be had costs its own rows, and nothing stale survives a run that does not finish."""

import re
import threading
import zipfile
from collections import Counter
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pandas as pd
import pytest

from relaxometer.problems.variants import solver_names
from tiny_workflow import TINY

pytestmark = pytest.mark.slow

FEW = {**dict.fromkeys(solver_names("sssp"), False), "conventional": {}, "dijkstra-cpu": {}}
REPORT = {"papers": [], "maps": []}
ENTRY = TINY["datasets"]["tiny"]
TARGETS = ("results/verdict.txt", "results/claims.parquet", "results/figures/common/median-times.svg")


@pytest.fixture
def config(tmp_path):
    """A configuration with a graph, one from a damaged file, and one from a server that does not have it."""
    folder = tmp_path / "served"
    folder.mkdir()
    handler = partial(SimpleHTTPRequestHandler, directory=folder)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}/lost.gr"
        lost = {"format": "dimacs", "license": "CC0-1.0", "url": url}
        yield {
            **TINY,
            "datasets": {"tiny": ENTRY, "broken": {**ENTRY, "path": "broken.gr"}, "lost": lost},
            "sssp": {"graphs": ["broken", "tiny", "lost"], "variants": FEW},
            "report": REPORT,
        }
        server.shutdown()


def executed(workflow):
    """The rules of the jobs that the last run started."""
    return re.findall(r"^(?:local)?rule (\w+):$", workflow.log(), re.MULTILINE)


def last_line(done):
    """The last line that a user sees."""
    return done.stderr.splitlines()[-1]


def summary_of(workflow):
    """The lines of the summary by graph and variant."""
    return pd.read_csv(workflow.path("results/summary.csv")).set_index(["graph", "variant"])


def test_a_dataset_that_cannot_be_had_costs_only_its_own_rows(workflow, config):
    workflow.path("broken.gr").write_text("p sp 2 1\na 1 2 x\n", encoding="utf-8")
    workflow.configure(config)
    done = workflow.run("--", "all", check=False)
    assert done.returncode != 0
    summary = summary_of(workflow)
    assert summary["status"].groupby("graph").unique().map(list).to_dict() == {
        "tiny": ["ok"],
        "broken": ["error"],
        "lost": ["error"],
    }
    assert len(summary) == 6
    assert summary.loc["broken", "reason"].str.match("build_graph broken: broken.gr:2: .*weight x").all()
    assert summary.loc["lost", "reason"].str.match("download_file lost.gr: .*could not be fetched").all()
    assert last_line(done).startswith(
        "error: 4 of 6 measurements are not ok: sssp conventional on broken (error)"
    )
    assert all(workflow.path(target).stat().st_size for target in TARGETS)
    workflow.run("--report", "report.zip")
    with zipfile.ZipFile(workflow.path("report.zip")) as report:
        named = " ".join(report.namelist())
    assert "tiny" in named
    assert not {"broken", "lost"} & set(re.findall(r"\w+", named))

    again = workflow.run("--", *TARGETS, check=False)
    assert again.returncode != 0
    tried = Counter(executed(workflow))
    assert (tried["build_graph"], tried["download_file"]) == (2, 1), "what failed, and what it prevented"
    assert tried["run_variant"] == 4, "the runs on the good graph stay"
    assert last_line(again) == last_line(done)
    assert summary_of(workflow).equals(summary)

    workflow.path("broken.gr").write_text("p sp 2 1\na 1 2 7\n", encoding="utf-8")
    workflow.configure({**config, "sssp": {"graphs": ["broken", "tiny"], "variants": FEW}})
    mended = workflow.run("--", "results/summary.csv", "results/verdict.txt")
    assert executed(workflow).count("run_variant") == 2, "only the runs on the mended graph"
    assert (summary_of(workflow)["status"] == "ok").all()
    said, _, _ = last_line(mended).partition("; the machine's speed changed by up to ")
    assert said == "4 runs measured, every answer proven correct"


def test_a_target_that_failed_does_not_cost_the_others(workflow, config):
    workflow.configure({**config, "sssp": {"graphs": ["lost", "tiny"], "only": ["dijkstra-cpu"]}})
    lost = "./results/runs/sssp/lost/dijkstra-cpu/runs.parquet"
    done = workflow.run("--", lost, "results/summary.csv", "results/verdict.txt", check=False)
    assert done.returncode != 0
    assert summary_of(workflow)["status"].to_dict() == {
        ("tiny", "dijkstra-cpu"): "ok",
        ("lost", "dijkstra-cpu"): "error",
    }
    assert last_line(done) == "error: 1 of 2 measurements is not ok: sssp dijkstra-cpu on lost (error)"


def test_a_download_outlives_a_change_of_its_entry(workflow, config):
    def build(entry, **options):
        workflow.configure({**config, "datasets": {"lost": entry}, "sssp": {"graphs": []}})
        return workflow.run("--", "results/graphs/lost/graph.json", **options)

    entry, served = config["datasets"]["lost"], workflow.folder / "served/lost.gr"
    workflow.path("tiny.gr").rename(served)
    build(entry)
    served.unlink()
    build({**entry, "weight_unit": "seconds"})
    assert executed(workflow) == ["build_graph"]
    assert build({**entry, "url": f"{entry['url']}?new"}, check=False).returncode != 0
    assert workflow.path("results/downloads/lost.gr").is_file()
