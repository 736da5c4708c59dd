"""A dataset that cannot be had costs its own rows, and nothing stale survives a run that does not finish."""

import re
import threading
import zipfile
from collections import Counter
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tiny_workflow import TINY, UNDRAWN, only

pytestmark = pytest.mark.slow

FEW = only("dijkstra-cpu")
ENTRY = TINY["datasets"]["tiny"]
TARGETS = ("results/verdict.txt", "results/claims.parquet", "results/figures/common/median-times.svg")
LOST = "./results/runs/sssp/lost/dijkstra-cpu/runs.parquet"


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
            **UNDRAWN,
            "datasets": {"tiny": ENTRY, "broken": {**ENTRY, "path": "broken.gr"}, "lost": lost},
            "sssp": {**FEW, "graphs": ["broken", "tiny", "lost"]},
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
    return workflow.frame("summary.csv", ["graph", "variant"])


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
    assert len(summary) == 3
    assert summary.loc["broken", "reason"].str.match("build_graph broken: broken.gr:2: .*weight x").all()
    assert summary.loc["lost", "reason"].str.match("download_file lost.gr: .*could not be fetched").all()
    assert last_line(done).startswith(
        "error: 2 of 3 measurements are not ok: sssp dijkstra-cpu on broken (error)"
    )
    assert all(workflow.path(target).stat().st_size for target in TARGETS)
    workflow.run("--report", "report.zip")
    with zipfile.ZipFile(workflow.path("report.zip")) as report:
        named = " ".join(report.namelist())
    assert "tiny" in named
    assert not {"broken", "lost"} & set(re.findall(r"\w+", named))

    # A target that fails again does not cost the others.
    workflow.path("broken.gr").write_text("p sp 2 1\na 1 2 7\n", encoding="utf-8")
    again = workflow.run("--", LOST, *TARGETS, check=False)
    assert again.returncode != 0
    tried = Counter(executed(workflow))
    assert (tried["build_graph"], tried["download_file"]) == (2, 1), "what failed, and what it prevented"
    assert tried["run_variant"] == 2, "the run on the good graph stays"
    assert last_line(again).startswith(
        "error: 1 of 3 measurements is not ok: sssp dijkstra-cpu on lost (error)"
    )
    mended = summary_of(workflow)
    assert mended.loc[["lost", "tiny"]].equals(summary.loc[["lost", "tiny"]])
    assert mended.loc["broken", "status"].tolist() == ["ok"]


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
