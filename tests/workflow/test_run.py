"""The whole workflow on a tiny map: its results, what a change reruns, and a run with nothing to do."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from relaxometer.cli.command import call
from relaxometer.graphs.graph import read_graph
from tiny_workflow import TINY, environment, only

VARIANTS = TINY["sssp"]["only"]
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def graph(finished):
    return read_graph(finished.path("results/graphs/tiny"))


@pytest.fixture(scope="module")
def sources(finished):
    return finished.frame("sources/tiny.parquet")["source"].tolist()


def test_the_map_has_a_page(finished, graph):
    facts = json.loads(finished.text("descriptions/graphs/tiny.json"))
    counts = {2: 4, 3: 2 * (10 + 7), 4: 10 * 7}
    assert facts["degrees"] == {"value": list(counts), "count": list(counts.values())}
    assert facts["hop_diameter"]["low"] == 11 + 8
    assert facts["median_weight"] == np.median(graph.weights)
    page = finished.text("pages/graphs/tiny.html")
    assert "<td>CC0-1.0</td>" in page
    assert page.count("<img ") == 2, "the degrees and figure 3; the map has no coordinates to draw it by"


def test_the_summary_has_an_ok_line_for_every_variant(finished):
    summary = finished.summary()
    assert list(summary.index) == VARIANTS
    assert (summary["status"] == "ok").all()
    assert (summary["certified"] == 1).all()
    assert (summary["sources"] == 3).all()
    assert (summary["repetitions"] == 2).all()
    assert (summary["median_ms"] > 0).all()
    assert summary[["ci95_low_ms", "ci95_high_ms"]].isna().all(axis=None), "three sources are too few"
    assert (summary["mteps_harmonic"] > 0).all()
    assert summary.loc["dijkstra-cpu", "device_kind"] == "cpu"
    assert summary.loc["adaptive", "device_kind"] == "host"


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_search_is_a_row_with_the_right_counts(finished, graph, sources, variant):
    rows = finished.frame(f"runs/sssp/tiny/{variant}/runs.parquet").to_dict("records")
    assert [(row["repetition"], row["source"]) for row in rows] == [(r, s) for r in (0, 1) for s in sources]
    assert {row["reached"] for row in rows} == {108}
    assert {row["reached_arcs"] for row in rows} == {graph.n_arcs}
    spent = ("upload_ms", "prepare_ms", "cold_ms", "download_ms", "certify_ms")
    assert all(row[key] > 0 for row in rows for key in spent)
    assert rows[0]["call_ms"] > 0


def test_edits_rerun_only_what_depends_on_them(rerun):
    sources = rerun.path("src/relaxometer/problems/sssp")
    kernel, solver = sources / "phase_synchronous/selection.cu", sources / "dijkstra/dijkstra_cpu.py"
    kernel.write_text("// A remark.\n" + kernel.read_text(encoding="utf-8"), encoding="utf-8")
    solver.write_text("# A remark.\n" + solver.read_text(encoding="utf-8"), encoding="utf-8")
    rerun.path("tiny.gr").touch()
    assert rerun.jobs_to_run() == set()
    kernel.write_text(kernel.read_text(encoding="utf-8") + "int unused;\n", encoding="utf-8")
    solver.write_text(solver.read_text(encoding="utf-8") + "UNUSED = 1\n", encoding="utf-8")
    jobs = rerun.jobs_to_run()
    changed = {"selection", "adaptive", "dijkstra-cpu"}
    assert {variant for rule, variant in jobs if rule == "run_variant"} == changed
    assert not {rule for rule, _ in jobs} & {"build_graph", "draw_sources"}


def test_a_changed_parameter_reruns_only_its_variant_and_a_new_one_may_be_called_none(rerun):
    variants = {"adaptive": {"to_all_us": 50}, "none": {"solver": "dijkstra-cpu"}}
    rerun.configure({**TINY, "sssp": only(*VARIANTS, "none", variants=variants)})
    run = {variant for rule, variant in rerun.jobs_to_run() if rule == "run_variant"}
    assert run == {"adaptive", "none"}


def test_a_map_that_an_older_one_replaces_is_built_again(rerun):
    file = rerun.path("tiny.gr")
    text, date = file.read_text(encoding="utf-8"), file.stat().st_mtime_ns
    other = text.replace("a 1 2 ", "a 1 2 1", 1)
    assert other != text
    file.write_text(other, encoding="utf-8")
    os.utime(file, ns=(date, date))
    assert "build_graph" in {rule for rule, _ in rerun.jobs_to_run()}


def test_other_texts_of_a_dataset_build_and_measure_nothing(rerun):
    texts = {"description": "Streets of a town", "license": "CC-BY-4.0", "attribution": "Survey of the town"}
    told = {**texts, "citation": "Town, 2026", "homepage": "https://town.example/"}
    rerun.configure({**TINY, "datasets": {"tiny": {**TINY["datasets"]["tiny"], **told}}})
    rules = {rule for rule, _ in rerun.jobs_to_run()}
    assert {"describe_graph", "plot_graphs"} <= rules
    assert not rules & {"build_graph", "draw_sources", "run_variant", "gather_timings"}
    page, table = "results/pages/graphs/tiny.html", "results/tables/common/data.csv"
    rerun.run("--", page, table)
    for file, shown in {page: told, table: texts}.items():
        content = rerun.path(file).read_text(encoding="utf-8")
        assert not [text for text in shown.values() if text not in content]
        assert "CC0-1.0" not in content


def test_a_study_added_to_a_finished_run_leaves_its_summary(rerun):
    before = rerun.path("results/summary.csv").read_bytes()
    rerun.configure({**TINY, "throughput": {"graphs": ["tiny"], "searches": [1], "repetitions": 1}})
    table = "results/tables/common/throughput.csv"
    rerun.run("--", table, "results/verdict.accepted")
    assert rerun.path("results/summary.csv").read_bytes() == before
    assert rerun.path(table).is_file()


def test_sources_of_another_configuration_leave_the_last_run_alone(rerun):
    before = rerun.path("results/summary.csv").read_bytes()
    rerun.configure({**TINY, "timing": {**TINY["timing"], "sources": 2}})
    done = rerun.run("--until", "draw_sources", "--", "all")
    assert len(rerun.frame("sources/tiny.parquet")) == 2
    assert rerun.path("results/summary.csv").read_bytes() == before
    assert rerun.path("results/verdict.txt").is_file()
    said = done.stdout + done.stderr
    assert "SSSP" not in said, "no race of another run"
    assert "every answer" not in said


COMMAND = ["run", "tiny.yaml"]


class Started(Exception):  # noqa: N818 - it is none
    """Snakemake would be started."""


def start(*_):
    raise Started


def test_the_second_run_shows_the_race_without_snakemake(rerun, monkeypatch, capsys):
    command = [sys.executable, "-m", "relaxometer.cli.command", *COMMAND]
    variables = environment()
    first = subprocess.run(
        command, cwd=rerun.folder, env=variables, capture_output=True, text=True, check=True, timeout=600
    )
    assert "Nothing to be done" in first.stderr
    assert "SSSP on tiny" in first.stdout

    monkeypatch.chdir(rerun.folder)
    monkeypatch.setattr(os, "execv", start)
    monkeypatch.delenv("RELAXOMETER_DATA_MIRRORS", raising=False)
    assert call(COMMAND) == 0
    second = capsys.readouterr()
    assert second.out == first.stdout
    assert second.err.splitlines() == first.stderr.splitlines()[-1:]
    for name in ("results/sources/tiny.parquet", "results/pages/provenance.html", "tiny.gr", "tiny.yaml"):
        facts = rerun.path(name).stat()
        os.utime(rerun.path(name))
        with pytest.raises(Started):
            call(COMMAND)
        os.utime(rerun.path(name), ns=(facts.st_atime_ns, facts.st_mtime_ns))
        call(COMMAND)
    monkeypatch.setenv("VERBOSE", "1")
    with pytest.raises(Started):
        call(COMMAND)
