"""Relaxometer as a module of another workflow."""

import subprocess
import sys

import pandas as pd
import pytest

from tiny_workflow import ROOT, environment

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


def snakemake(folder, *arguments):
    command = [sys.executable, "-m", "snakemake", "--cores", "1", *arguments]
    return subprocess.run(
        command, cwd=folder, env=environment(), capture_output=True, text=True, timeout=600, check=False
    )


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
    done = snakemake(outer, "--dry-run")
    assert done.returncode == 0, done.stderr
    assert "rule run_variant:" in done.stdout


def test_another_workflow_runs_its_renamed_rules_and_keeps_the_screen(outer):
    done = snakemake(outer, "--config", "threshold=4")
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
    done = snakemake(outer, "--dry-run")
    assert done.returncode == 1
    lines = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    assert len(lines) == 1
    assert "unknown dataset 'small-girl'" in lines[0]
