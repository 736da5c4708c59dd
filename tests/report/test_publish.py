"""Which files of a run are published, which stay, and that its samples give its summary and ranks."""

import shutil
from contextlib import chdir
from io import BytesIO
from pathlib import Path
from zipfile import ZipFile

import pandas as pd
import pyarrow.parquet as pq
import pytest

import bundles
from built import refusal
from relaxometer.cli import publish as publishing
from relaxometer.cli.publish import add_bundle, publish, replace, stage
from relaxometer.core.errors import UserError
from relaxometer.results.gather import gather
from relaxometer.results.published import BUNDLE, RANK_SAMPLES, SAMPLES
from relaxometer.results.recorded import read_recorded
from relaxometer.results.rows import KEY
from relaxometer.results.verify import differences
from synthetic_runs import rival, searches, spread

RESULTS = Path(__file__).parents[2] / "docs/results"
CONFIG = {
    **{name: bundles.CONFIG[name] for name in ("device", "bfs", "datasets")},
    "timing": {"sources": 2, "repetitions": 1, "rounds": 1, "warmup": 0},
    "sssp": {"graphs": ["small-grid"], "variants": {"dijkstra-cpu": {}}},
}


def timings():
    """Searches of three variants and a rival, of which one was wrong and one disputed."""
    tables = [
        searches("adaptive", spread(1.0)),
        searches("conventional", spread(1.3)),
        searches("selection", spread(0.9), status="invalid"),
        rival("boost", spread(5.0), status="disputed"),
    ]
    more = {"upload_ms": 0.2, "download_ms": 0.1, "clock_ms": float("nan"), "relaxed_arcs": 7}
    return pd.concat(tables, ignore_index=True).assign(**more)


COPIED = (
    *("summary.csv", "claims.csv", "context.json", "distributed.csv"),
    *("figures/adaptive/figure-7.svg", "figures/adaptive/figure-4/town.svg"),
    *("figures/common/map/town.png", "figures/common/scaling-over-ranks.svg"),
    *("tables/survey/bandwidth.csv", "tables/common/winners.csv"),
)
LEFT = tuple(f"tables/common/{name}.csv" for name in ("ranking", "ranking-emulated", "winners-in-short"))


@pytest.fixture
def results(tmp_path):
    """Results of a run on town, with a figure left by an earlier run on another graph."""
    folder = tmp_path / "results"
    for name in (*COPIED, *LEFT, "figures/adaptive/figure-4/village.svg"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("{}" if name.endswith("json") else "id\n", encoding="utf-8")
    summary = "problem,graph,variant\nsssp,town,adaptive\n"
    (folder / "summary.csv").write_text(summary, encoding="utf-8")
    timings().to_parquet(folder / "timings.parquet")
    return folder


def test_tables_and_figures_of_the_run_are_copied(results, tmp_path):
    target = tmp_path / "docs/results/suite"
    written = stage(results, target)
    names = {str(path.relative_to(target)) for path in written}
    assert names == {*COPIED, SAMPLES}
    assert {str(path.relative_to(target)) for path in target.rglob("*") if path.is_file()} == names


def test_an_earlier_publication_is_replaced_and_the_findings_stay(results, tmp_path):
    target = tmp_path / "suite"
    old = [
        *("figures/figure-9.svg", "device_rates.json", "distributed.csv", RANK_SAMPLES),
        *("graph500/weak-2.txt", BUNDLE),
    ]
    kept = ["README.md", "facts.csv", "page.md", "run-weak-4.json", "graph500/README.md"]
    for name in (*old, *kept):
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        (target / name).write_text("of an earlier run", encoding="utf-8")
    (results / "distributed.csv").unlink()
    stage(results, tmp_path / "staged")
    replace(tmp_path / "staged", target)
    assert [name for name in old if (target / name).exists()] == []
    assert [name for name in kept if (target / name).exists()] == kept


def test_an_unfinished_run_is_not_published(results, tmp_path):
    (results / "claims.csv").unlink()
    assert "claims.csv is not there; run the workflow first" in refusal(stage, results, tmp_path / "suite")
    assert not (tmp_path / "suite").exists()


def test_searches_over_several_ranks_are_kept_with_their_series(results, tmp_path):
    run = "problem,graph,variant,series,ranks\nbfs,kron,weak-2,weak,2\nbfs,kron,lost,weak,4\n"
    (results / "distributed.csv").write_text(run, encoding="utf-8")
    folder = results / "runs/distributed/weak-2"
    folder.mkdir(parents=True)
    pd.DataFrame({"source": [3], "time_ms": [1.5], "status": ["ok"]}).to_parquet(folder / "times.parquet")
    written = stage(results, tmp_path / "suite")
    assert tmp_path / "suite" / RANK_SAMPLES in written
    rows = pq.read_table(tmp_path / "suite" / RANK_SAMPLES).to_pylist()
    common = {"problem": "bfs", "graph": "kron", "variant": "weak-2", "series": "weak", "ranks": 2}
    assert rows == [{**common, "source": 3, "time_ms": 1.5, "status": "ok"}]


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A folder with the results of a small run, and those published from it in ``suite``."""
    folder = tmp_path_factory.mktemp("run")
    plan = bundles.plan(CONFIG)
    with chdir(folder):
        bundles.make_run(plan)
        Path("results/claims.csv").write_text("id\n", encoding="utf-8")
        assert publish(plan, Path("results"), Path("suite"))[1] == BUNDLE
    return folder


def test_what_another_suite_left_is_not_published(finished, tmp_path, monkeypatch):
    monkeypatch.chdir(finished)
    shutil.copytree("results", tmp_path / "results")
    own = ["figures/common/degrees/small-grid.svg"]
    left = [
        "figures/adaptive/figure-7.svg",
        "figures/survey/extract-min.svg",
        "tables/survey/bandwidth.csv",
        "tables/common/routes.csv",
    ]
    for name in (*own, *left):
        path = tmp_path / "results" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("drawn", encoding="utf-8")
    suite = tmp_path / "suite"
    publish(bundles.plan(CONFIG), tmp_path / "results", suite, Path("suite", BUNDLE))
    assert [name for name in own if not (suite / name).is_file()] == []
    assert [name for name in left if (suite / name).exists()] == []


def published_files(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("made", [None, Path("suite", BUNDLE)])
def test_results_of_another_suite_do_not_replace_one(finished, tmp_path, monkeypatch, made):
    monkeypatch.chdir(finished)
    shutil.copytree("suite", tmp_path / "suite")
    before = published_files(tmp_path / "suite")
    smaller = {key: value for key, value in CONFIG.items() if key != "bfs"}
    with pytest.raises(UserError, match="bfs small-grid hybrid-cpu: measured, but not in this configuration"):
        publish(bundles.plan(smaller), Path("results"), tmp_path / "suite", made)
    assert published_files(tmp_path / "suite") == before


def test_a_suite_that_lacks_runs_without_a_reason_is_not_published(finished, tmp_path, monkeypatch):
    monkeypatch.chdir(finished)
    larger = CONFIG | {"bfs": {"graphs": ["small-grid"], "variants": {"hybrid-cpu": {}, "hybrid": {}}}}
    with pytest.raises(UserError, match="bfs small-grid hybrid: in the suite, but neither measured nor"):
        publish(bundles.plan(larger), Path("results"), tmp_path / "suite", Path("suite", BUNDLE))
    assert not (tmp_path / "suite").exists()
    shutil.copytree("results", tmp_path / "results")
    with (tmp_path / "results/summary.csv").open("a", encoding="utf-8") as summary:
        summary.write("bfs,small-grid,hybrid,,,error,not run\n")
    publish(bundles.plan(larger), tmp_path / "results", tmp_path / "suite", Path("suite", BUNDLE))
    assert (tmp_path / "suite" / BUNDLE).is_file()


@pytest.mark.parametrize("name", ["timings.parquet", "summary.csv"])
def test_a_damaged_folder_is_not_published(finished, tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(finished / "results", "results")
    Path("results", name).write_bytes(b"\xff")
    with pytest.raises(UserError, match=rf"^results/{name}: not readable as .*; delete it and run again"):
        publish(bundles.plan(CONFIG), Path("results"), Path("suite"), finished / "suite" / BUNDLE)
    assert not Path("suite").exists()


@pytest.mark.parametrize("name", [SAMPLES, "context.json"])
def test_a_damaged_suite_is_not_compared(finished, tmp_path, name):
    shutil.copytree(finished / "suite", tmp_path / "suite")
    (tmp_path / "suite" / name).write_bytes(b"[]")
    with pytest.raises(UserError, match=rf"suite/{name}: not readable as .*; restore it from the repository"):
        read_recorded(tmp_path / "suite")


def test_ranks_of_another_suite_are_not_published(finished, tmp_path, monkeypatch):
    monkeypatch.chdir(finished)
    shutil.copytree("results", tmp_path / "results")
    runs = "problem,graph,variant,series,ranks\nbfs,kron,weak-2,weak,2\n"
    (tmp_path / "results/distributed.csv").write_text(runs, encoding="utf-8")
    with pytest.raises(UserError, match=r"distributed\.csv: weak-2: not of this suite"):
        publish(bundles.plan(CONFIG), tmp_path / "results", tmp_path / "suite", Path("suite", BUNDLE))


def test_a_bundle_of_another_run_or_too_large_is_refused(finished, results, tmp_path, monkeypatch):
    made = finished / "suite" / BUNDLE
    stage(results, tmp_path / "suite")
    with pytest.raises(UserError, match="its searches are not the published ones; pack the run that is pub"):
        add_bundle(bundles.plan(CONFIG), results, tmp_path / "suite", made)
    monkeypatch.setattr(publishing, "MOST_BYTES", 1000)
    with pytest.raises(UserError, match="more than 1,000 bytes; pack it with --most-bytes 1000"):
        add_bundle(bundles.plan(CONFIG), finished / "results", finished / "suite", made)
    with pytest.raises(UserError, match="not readable"):
        add_bundle(bundles.plan(CONFIG), finished / "results", finished / "suite", tmp_path / "missing.zip")
    assert not (tmp_path / "suite" / BUNDLE).exists()


def test_searches_over_ranks_only_have_no_bundle(results, tmp_path):
    pq.write_table(gather([], "runs.parquet"), results / "timings.parquet")
    stage(results, tmp_path / "suite")
    said = add_bundle(bundles.plan(CONFIG), results, tmp_path / "suite")
    assert said == "no bundle: searches over several ranks are not in one"


def test_a_suite_stays_as_it_was_if_its_bundle_is_refused(finished, tmp_path, monkeypatch):
    monkeypatch.chdir(finished)
    shutil.copytree("suite", tmp_path / "suite")
    files = published_files(tmp_path / "suite")
    (tmp_path / "wrong.zip").write_bytes(b"no bundle")
    with pytest.raises(UserError, match="not a bundle, or its end"):
        publish(bundles.plan(CONFIG), Path("results"), tmp_path / "suite", tmp_path / "wrong.zip")
    assert published_files(tmp_path / "suite") == files
    monkeypatch.setattr(publishing, "MOST_BYTES", 1000)
    _, said = publish(bundles.plan(CONFIG), Path("results"), tmp_path / "suite")
    assert said.startswith("no bundle: it would have")
    assert not (tmp_path / "suite" / BUNDLE).exists()


@pytest.mark.parametrize("file", sorted(RESULTS.glob(f"*/{BUNDLE}")), ids=lambda file: file.parent.name)
def test_a_published_bundle_and_summary_are_those_of_the_samples(file):
    assert differences(file, file.parent) == []
    assert file.stat().st_size <= publishing.MOST_BYTES
    # The bundle's summary follows from its searches, which are those of the samples.
    tables = ZipFile(file).read("summary.csv"), file.with_name("summary.csv").read_bytes()
    found, published = (pd.read_csv(BytesIO(table)).set_index(KEY) for table in tables)
    runs = pd.read_parquet(file.with_name(SAMPLES), columns=KEY).drop_duplicates()
    parts = (table.loc[pd.MultiIndex.from_frame(runs)] for table in (published, found))
    pd.testing.assert_frame_equal(*parts, rtol=1e-5, check_dtype=False)


def test_the_documents_name_the_suites_without_a_bundle():
    text = (RESULTS.parent / "bundle.md").read_text(encoding="utf-8")
    section = text.partition("## Published suites")[2].partition("\n## ")[0]
    folders = [file.parent for file in RESULTS.glob("*/summary.csv")]
    kept = {folder.name: folder / BUNDLE for folder in folders}
    without = {name for name, bundle in kept.items() if not bundle.is_file()}
    members = {name: "".join(ZipFile(kept[name]).namelist()) for name in kept.keys() - without}
    unanswered = {name for name, names in members.items() if "answers/" not in names}
    lacks, _, rest = section.partition("The bundles of")
    assert {name for name in kept if f"`{name}`" in lacks} == without
    assert {name for name in kept if f"`{name}`" in rest.partition(" have no first answers")[0]} == unanswered
