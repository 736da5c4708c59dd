"""Which figures and tables a plan wants, and what their records promise."""

from pathlib import Path

import pandas as pd
import pytest
import yaml

from relaxometer.core import provenance
from relaxometer.core.errors import UserError
from relaxometer.plan.plan import Plan
from relaxometer.report import papers, targets
from relaxometer.report.catalogue import Inputs, drawings, exhibits, swept
from relaxometer.report.catalogue import targets as wanted
from relaxometer.report.papers.hybrid_bfs import graph500_results
from synthetic_runs import searches

ROOT = Path(__file__).parents[2]
CAPTIONS = ROOT / "workflow/report"
IN_RULES = {"provenance", "graph", "degrees", "batch", "batch-sizes", "variant", "graph500-result"}
"""Captions that rules of their own name."""


def plan(**config):
    return Plan({"report": {"papers": [], "maps": []}, **config}, ROOT / "resources/datasets.yaml")


def default(*names):
    """The default run with the figures of some papers."""
    config = yaml.safe_load((ROOT / "config/config.yaml").read_text(encoding="utf-8"))
    return plan(**{**config, "report": {"papers": list(names), "maps": []}})


def test_each_paper_adds_its_own_figures_and_results():
    common = set(wanted(default()))
    assert "results/tables/common/sssp-work.csv" in common
    assert set(wanted(default("adaptive"))) - common == {
        *(
            f"results/figures/adaptive/figure-{number}/{graph}.svg"
            for number in (4, 5, 6)
            for graph in ("japan-highways", "kanto-highways", "kanto-highways-seconds")
        ),
        "results/figures/adaptive/figure-7.svg",
    }
    levels = "results/figures/hybrid-bfs/levels/kanto-highways.svg"
    assert set(wanted(default("hybrid-bfs"))) - common == {levels}
    bfs = {"graphs": ["kanto-highways", "kron-g500-s10"], "variants": {"top-down": {}, "hybrid": {}}}
    assert graph500_results(plan(bfs=bfs)) == []
    assert graph500_results(plan(bfs=bfs, report={"papers": ["hybrid-bfs"]})) == [
        "results/graph500/kron-g500-s10-top-down.txt",
        "results/graph500/kron-g500-s10-hybrid.txt",
    ]


@pytest.mark.parametrize(("thresholds", "is_swept"), [([1, 2, 3], False), ([1, 2, 3, 4], True)])
def test_four_variants_that_differ_in_values_are_a_curve(thresholds, is_swept):
    variants = {"adaptive": {}, "tuned": {"solver": "adaptive", "to_all_us": thresholds}}
    asked = plan(sssp={"graphs": ["usa-ny"], "variants": variants}, report={"papers": ["adaptive"]})
    names = [f"tuned-{value}" for value in thresholds]
    assert swept(asked) == (names if is_swept else [])
    assert ("results/figures/adaptive/figure-8/usa-ny.svg" in wanted(asked)) == is_swept
    assert exhibits()["thresholds"].params(asked, "usa-ny")["points"] == (names if is_swept else [])
    assert "adaptive" in exhibits()["mean-times"].params(asked, "")["variants"]


def test_pages_and_the_table_over_ranks_are_there_where_a_plan_needs_them():
    graphs, variants = ["flow-source", "cfg-python-stdlib"], {"semi-nca": {}, "batch-warp": {}}
    ranks = {"weak": {"ranks": [1, 2], "scale_per_rank": 4}}
    asked = plan(dominators={"graphs": graphs, "variants": variants}, distributed=ranks)
    found = targets.results(asked)
    assert "results/pages/graphs/flow-source.html" in found
    assert "results/pages/batches/cfg-python-stdlib.html" in found
    assert "results/distributed_verdict.txt" in found
    assert "results/figures/common/scaling-over-ranks.svg" in wanted(asked)
    assert "results/distributed.csv" not in targets.results(default())
    comparison = "results/pages/common/comparison.html"
    assert comparison in wanted(plan(report={"papers": [], "base": "old"}))
    assert comparison not in found


def test_every_record_has_a_caption_and_files_of_its_own():
    captions = {one.caption(view) for one in exhibits().values() for view in one.views if view.category}
    files = {str(path.relative_to(CAPTIONS)) for path in CAPTIONS.glob("*/**/*.rst")}
    assert captions <= files
    assert {Path(name).stem for name in files - captions} == IN_RULES
    paths = [one.path(view) for one in exhibits().values() for view in one.views]
    assert len(set(paths)) == len(paths)
    assert all(one.paper in {"common", *papers.names()} for one in exhibits().values())


@pytest.mark.parametrize("paper", [None, *papers.names()])
def test_every_record_is_drawn_by_one_job(paper):
    asked = plan(report={"papers": [paper]}) if paper else default()
    jobs = drawings(asked)
    assert sorted(one.name for job in jobs for one in job.exhibits) == sorted(exhibits())
    assert len({job.rule for job in jobs}) == len(jobs)
    for job in jobs:
        names = [name for _, name, _ in job.outputs()]
        assert len(set(names)) == len(names)
        assert len(job.exhibits) == 1 or not any(one.per_graph for one in job.exhibits)


def test_one_job_draws_what_needs_only_the_tables_of_all_runs():
    overview = next(job for job in drawings(default()) if job.rule == "plot_common_overview")
    files = {"summary": "results/summary.csv", "timings": "results/timings.parquet"}
    assert overview.inputs(default(), "") == {**files, "machine": "results/tables/common/machine.csv"}
    drawn = {one.name for one in overview.exhibits}
    assert {"lead", "summary", "winners", "sssp-pareto", "bfs-work"} <= drawn
    assert not drawn & {"all-pairs", "graphs", "claims", "dominators-pareto"}


def test_papers_are_found_by_their_modules():
    assert papers.names() == ["adaptive", "dominators", "edge-bf", "hybrid-bfs", "survey"]
    papers.check(["edge-bf"], "my.yaml")
    said = r"my\.yaml: report\.papers: unknown paper 'survy'; did you mean 'survey'\?"
    with pytest.raises(UserError, match=said):
        papers.check(["adaptive", "survy"], "my.yaml")


@pytest.mark.parametrize("paper", papers.names())
def test_an_edit_of_a_paper_draws_its_figures_only(paper):
    edited = provenance.PACKAGE / f"report/papers/{paper.replace('-', '_')}.py"
    drawn = {one.paper for one in exhibits().values() if edited in provenance.files_used(one.module)}
    assert drawn == {paper}


def test_figures_do_not_depend_on_the_code_of_the_plan():
    for one in exhibits().values():
        files = provenance.files_used(one.module, without=("plan.models", "plan.plan"))
        left = {file.relative_to(provenance.PACKAGE).as_posix() for file in files}
        assert not {"plan/plan.py", "plan/models.py", "datasets/registry.py"} & left, one.name


def test_inputs_select_the_searches_of_a_graph(tmp_path):
    path = tmp_path / "timings.csv"
    town = [searches("a", [1.0]), searches("b", [1.0]), searches("a", [1.0], problem="bfs")]
    runs = pd.concat([*town, searches("a", [1.0], graph="village")])
    runs[runs["repetition"] == 0].to_csv(path, index=False)
    inputs = Inputs({"timings": str(path)}, {}, "town")
    assert len(inputs.searches()) == 3
    assert inputs.searches("sssp")["variant"].tolist() == ["a", "b"]
    assert inputs.searches("sssp", variants=["b"])["variant"].tolist() == ["b"]
    assert Inputs({"timings": str(path)}, {"swept": ["a"]}, "town").searches()["variant"].tolist() == ["b"]
    assert len(Inputs({"timings": str(path)}, {}).searches("sssp")) == 3
