"""The workflow started from elsewhere: in another folder, as a module, and with another clone's package."""

import shutil
import subprocess
import sys

import pandas as pd
import pytest

from tiny_workflow import PACKAGE, ROOT, environment


def started(folder, *command, **variables):
    """Run a module of Python in a folder, with further variables."""
    return subprocess.run(
        [sys.executable, "-m", *map(str, command)],
        cwd=folder,
        env=environment() | variables,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


@pytest.mark.slow
def test_the_overlay_has_the_base_of_the_repository(workflow, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    for name in ("tiny.gr", "tiny.yaml"):
        shutil.copy(workflow.path(name), elsewhere)
    given = ("snakemake", "-s", workflow.path("Snakefile"), "--configfile")
    done = started(elsewhere, *given, "tiny.yaml", "--dry-run", "--", "all", VERBOSE="0")
    assert done.returncode == 0, done.stderr
    assert "variant=adaptive" in done.stdout
    (elsewhere / "bad.yaml").write_text("[", encoding="utf-8")
    done = started(elsewhere, *given, "bad.yaml", VERBOSE="0")
    assert done.stderr.splitlines()[-1].startswith("error: bad.yaml:1:2: invalid YAML")


@pytest.mark.slow
def test_the_race_is_shown_wherever_the_run_was_started(finished, tmp_path):
    done = started(
        *(tmp_path, "snakemake", "-s", finished.path("Snakefile"), "--directory", finished.folder),
        *("--configfile", finished.path("tiny.yaml"), "--", "all"),
        VERBOSE="0",
    )
    assert done.returncode == 0, done.stderr
    assert "Nothing to be done" in done.stderr
    assert "SSSP on tiny" in done.stdout
    assert "Report: snakemake --configfile tiny.yaml --report report.zip" in done.stdout


@pytest.fixture
def other(tmp_path_factory):
    """The folder that holds the package of another clone."""
    folder = tmp_path_factory.mktemp("clone") / "src"
    shutil.copytree(ROOT / PACKAGE, folder / PACKAGE.name, ignore=shutil.ignore_patterns("__pycache__"))
    return folder


@pytest.mark.parametrize(
    "command",
    [["snakemake", "--cores", "1", "--", "all"], ["relaxometer.cli.all_runs", "tiny.yaml"]],
    ids=["workflow", "program"],
)
def test_another_clone_in_the_path_is_one_line(workflow, other, command):
    done = started(workflow.folder, *command, PYTHONPATH=str(other))
    assert done.returncode == 1
    line = done.stderr.splitlines()[-1]
    assert line.startswith("error: this is ")
    assert "but Python imports " in line
    assert str(other.parent) in line
    assert not workflow.path("results").exists()


SNAKEFILE = """
configfile: "outer.yaml"


module relaxometer:
    snakefile: "ROOT/workflow/Snakefile"
    config: config["relaxometer"]


use rule * from relaxometer NAMES


rule fastest:
    default_target: True
    input: "results/summary.csv", "results/verdict.accepted"
    output: "fastest.txt"
    shell: "sort -t, -k10 {input[0]} | head -n 1 > {output}"
"""

CONFIG = """
threshold: 3
relaxometer:
  device: host
  timing: {sources: 2, repetitions: 1, rounds: 1, warmup: 0}
  rivals: [ROOT/tests/own_rivals]
  sssp: {graphs: [small-grid], variants: {dijkstra-cpu: {}}, rivals: {plain: {}}}
  datasets: {small-grid: {format: grid, seed: 1, parameters: {rows: 8, columns: 9}}}
"""
RENAMED = "as relaxometer_*"


@pytest.fixture
def outer(tmp_path, request):
    names = getattr(request, "param", RENAMED)
    snakefile = SNAKEFILE.replace("ROOT", str(ROOT)).replace("NAMES", names)
    (tmp_path / "Snakefile").write_text(snakefile, encoding="utf-8")
    (tmp_path / "outer.yaml").write_text(CONFIG.replace("ROOT", str(ROOT)), encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("outer", [""], indirect=True)
def test_another_workflow_plans_its_rules_under_their_own_names(outer):
    done = started(outer, "snakemake", "--cores", "1", "--dry-run")
    assert done.returncode == 0, done.stderr
    assert "rule run_variant:" in done.stdout


def test_another_workflow_runs_its_renamed_rules_and_keeps_the_screen(outer):
    done = started(outer, "snakemake", "--cores", "1", "--config", "threshold=4")
    assert done.returncode == 0, done.stderr
    summary = pd.read_csv(outer / "results/summary.csv").set_index("variant")
    assert summary["status"].to_dict() == {"dijkstra-cpu": "ok", "plain": "ok"}
    assert (outer / "fastest.txt").is_file()
    assert "run_variant:" in done.stderr, "the log of Snakemake is not led away"
    assert "localrules directive" not in done.stderr
    assert not (outer / "logs/run.log").exists()


def test_a_mistake_in_its_section_is_one_line(outer):
    mistaken = (outer / "outer.yaml").read_text(encoding="utf-8").replace("small-grid]", "small-girl]")
    (outer / "outer.yaml").write_text(mistaken, encoding="utf-8")
    done = started(outer, "snakemake", "--cores", "1", "--dry-run")
    assert done.returncode == 1
    lines = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    assert len(lines) == 1
    assert "unknown dataset 'small-girl'" in lines[0]
