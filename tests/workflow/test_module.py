"""Relaxometer as a module of another workflow."""

import subprocess
import sys

import pandas as pd
import pytest

from tiny_workflow import ROOT, environment

SNAKEFILE = f"""
configfile: "outer.yaml"


module relaxometer:
    snakefile: "{ROOT}/workflow/Snakefile"
    config: config["relaxometer"]


use rule * from relaxometer


rule fastest:
    default_target: True
    input: "results/summary.csv"
    output: "fastest.txt"
    shell: "sort -t, -k10 {{input}} | head -n 1 > {{output}}"
"""

CONFIG = """
threshold: 3
relaxometer:
  device: host
  timing: {sources: 2, repetitions: 1, rounds: 1, warmup: 0}
  sssp: {graphs: [small-grid], variants: {dijkstra-cpu: {}}}
  datasets: {small-grid: {format: grid, seed: 1, parameters: {rows: 8, columns: 9}}}
"""


def snakemake(folder, *arguments):
    command = [sys.executable, "-m", "snakemake", "--cores", "1", *arguments]
    return subprocess.run(
        command, cwd=folder, env=environment(), capture_output=True, text=True, timeout=600, check=False
    )


@pytest.fixture
def outer(tmp_path):
    (tmp_path / "Snakefile").write_text(SNAKEFILE, encoding="utf-8")
    (tmp_path / "outer.yaml").write_text(CONFIG, encoding="utf-8")
    return tmp_path


def test_another_workflow_uses_its_rules_and_keeps_the_screen(outer):
    done = snakemake(outer, "--config", "threshold=4")
    assert done.returncode == 0, done.stderr
    assert pd.read_csv(outer / "results/summary.csv")["status"].tolist() == ["ok"]
    assert (outer / "fastest.txt").is_file()
    assert "rule run_variant:" in done.stderr, "the log of Snakemake is not led away"
    assert not (outer / "logs/run.log").exists()


def test_a_mistake_in_its_section_is_one_line(outer):
    (outer / "outer.yaml").write_text(CONFIG.replace("small-grid]", "small-girl]"), encoding="utf-8")
    done = snakemake(outer, "--dry-run")
    assert done.returncode == 1
    lines = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    assert len(lines) == 1
    assert "unknown dataset 'small-girl'" in lines[0]
