"""What is checked when a run begins."""

import os
import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from built import refusal
from relaxometer.core.errors import UserError
from relaxometer.core.failures import note_failure
from relaxometer.device import cuda
from relaxometer.plan import session


def workflow(rule="run_variant", *, local=True, deployed=(), **params):
    """Return what the check reads of a workflow with one job."""
    job = SimpleNamespace(rule=SimpleNamespace(name=rule), params=params)
    return SimpleNamespace(
        touch=False,
        local_exec=local,
        dag=SimpleNamespace(needrun_jobs=lambda: [job]),
        deployment_settings=SimpleNamespace(deployment_method={*deployed}),
    )


@pytest.fixture
def lacks_a_driver(monkeypatch):
    monkeypatch.setattr(cuda, "missing", lambda *, cupy: cuda.NO_DRIVER)


@pytest.mark.usefixtures("lacks_a_driver")
@pytest.mark.parametrize("params", [{"device": "cuda"}, {"run": {"device": "cuda"}}])
def test_cuda_without_a_driver_is_refused(params):
    message = refusal(session.check_device, workflow(**params), "config/config.yaml")
    assert message == (
        "config/config.yaml: device: cuda, but this machine has no NVIDIA driver; "
        "device: host emulates the kernels"
    )


@pytest.mark.usefixtures("lacks_a_driver")
@pytest.mark.parametrize(
    "given",
    [
        workflow(device="auto"),
        workflow(device="host", run={"variant": "near-far"}),
        workflow("build_graph", device="cuda"),
        workflow(device="cuda", local=False),
    ],
)
def test_what_needs_no_gpu_on_this_machine_runs(given):
    session.check_device(given, "config/config.yaml")


def test_cupy_is_looked_for_only_where_the_jobs_have_the_same_python(monkeypatch):
    monkeypatch.setattr(cuda, "missing", lambda *, cupy: "CuPy is not installed" if cupy else None)
    session.check_device(workflow(device="cuda", deployed=["conda"]), "c")
    with pytest.raises(UserError, match=r"^c: device: cuda, but CuPy is not installed$"):
        session.check_device(workflow(device="cuda"), "c")


def run_of(variant):
    """A run of a variant on the graph town."""
    return SimpleNamespace(problem="sssp", graph="town", variant=variant, folder=lambda: f"runs/{variant}")


def test_a_report_is_of_the_configuration_that_was_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tiled, near_far = map(run_of, ("tiled", "near-far"))
    assert "does not exist; run the workflow" in refusal(session.check_report, [], [tiled])
    session.SUMMARIES[0].parent.mkdir()
    session.SUMMARIES[0].write_text("problem,graph,variant\nsssp,town,tiled\n", encoding="utf-8")
    session.check_report([], [tiled])
    for runs, said in (
        ([tiled, near_far], "it lacks sssp near-far on town"),
        ([], "it has sssp tiled on town"),
    ):
        with pytest.raises(UserError, match=f"is of another configuration: {said}; name that one"):
            session.check_report([], runs)
    with pytest.raises(UserError, match=r"^page.html does not exist; run the workflow"):
        session.check_report(["page.html"], [tiled])
    for damaged in ("", "problem,variant\nsssp,tiled\n"):
        session.SUMMARIES[0].write_text(damaged, encoding="utf-8")
        with pytest.raises(UserError, match=r"^results/summary.csv: not readable as CSV"):
            session.check_report([], [tiled])


def test_a_report_needs_a_run_that_was_made(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    runs = [*map(run_of, ("tiled", "near-far"))]
    session.SUMMARIES[0].parent.mkdir()
    session.SUMMARIES[0].write_text(
        "problem,graph,variant\nsssp,town,near-far\nsssp,town,tiled\n", encoding="utf-8"
    )
    note_failure(["runs/tiled/runs.parquet"], "build_graph town: no file")
    session.check_report([], runs)
    note_failure(["runs/near-far/runs.parquet"], "build_graph town: no file")
    with pytest.raises(UserError, match=r"^a report needs a run .*; results/verdict.txt says why there is"):
        session.check_report([], runs)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Path("results").touch(), "results: not a folder"),
        (lambda: Path("logs").symlink_to("nothing"), "logs: not a folder"),
        (lambda: session.SUMMARIES[0].mkdir(parents=True), "results/summary.csv: a folder, not a file"),
    ],
)
def test_a_file_or_folder_in_the_place_of_the_other_is_one_line(tmp_path, monkeypatch, make, said):
    monkeypatch.chdir(tmp_path)
    make()
    with pytest.raises(UserError, match=f"^{said}; move it away, then run again$"):
        session.check_places()


def test_a_folder_that_may_not_be_read_is_one_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "results").mkdir()
    session.check_places()
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert refusal(session.check_places) == "results: not readable; give permission, then run again"


def rule_of(name, output):
    """What the check reads of a rule that makes one file, or with a wildcard files of a folder."""
    folder, wildcard, _ = output.partition("{")
    return SimpleNamespace(
        name=name,
        output=[output],
        input=[],
        has_wildcards=lambda: bool(wildcard),
        is_producer=lambda file: file == output or bool(wildcard and file.startswith(folder)),
    )


@pytest.mark.parametrize(
    ("named", "said"),
    [
        ({"targets": ["some/file"]}, "no rule makes 'some/file'; `snakemake --summary` lists the files"),
        ({"targets": ["plot_map"]}, "rule plot_map has wildcards; name one of its files: maps/{graph}.png"),
        ({"targets": ["sumary.csv"]}, "no rule makes 'sumary.csv'; did you mean 'summary.csv'?"),
        ({"forcerun": ["summarize"]}, "no rule makes 'summarize'; did you mean 'summarise'?"),
        ({"targets": ["summarise", "maps/town.png"], "until": ["./summary.csv"]}, None),
    ],
)
def test_a_target_that_no_rule_makes_is_named(named, said):
    given = SimpleNamespace(
        storage_settings=SimpleNamespace(default_storage_provider=None),
        dag_settings=SimpleNamespace(
            **dict.fromkeys(("targets", "forcerun", "until", "omit_from"), ()) | named
        ),
        scheduling_settings=None,
        rules=[rule_of("summarise", "summary.csv"), rule_of("plot_map", "maps/{graph,[a-z]+}.png")],
    )
    if said is None:
        session.check_targets(given)
        return
    with pytest.raises(UserError, match=f"^{re.escape(said)}"):
        session.check_targets(given)
