"""A run in another folder than that of the workflow, as `-s` and `--directory` start it."""

import shutil
import subprocess
import sys

import pytest

from tiny_workflow import environment

pytestmark = pytest.mark.slow


def snakemake(folder, *arguments):
    """Run Snakemake in a folder without a workflow."""
    return subprocess.run(
        [sys.executable, "-m", "snakemake", *map(str, arguments)],
        cwd=folder,
        env=environment() | {"VERBOSE": "0"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_overlay_has_the_base_of_the_repository(workflow, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    for name in ("tiny.gr", "tiny.yaml"):
        shutil.copy(workflow.path(name), elsewhere)
    given = ("-s", workflow.path("Snakefile"), "--configfile", "tiny.yaml", "--dry-run", "--", "all")
    done = snakemake(elsewhere, *given)
    assert done.returncode == 0, done.stderr
    assert "variant=adaptive" in done.stdout
    (elsewhere / "bad.yaml").write_text("[", encoding="utf-8")
    done = snakemake(elsewhere, *given[:2], "--configfile", "bad.yaml")
    assert done.stderr.splitlines()[-1].startswith("error: bad.yaml:1:2: invalid YAML")


def test_the_race_is_shown_wherever_the_run_was_started(finished, tmp_path):
    done = snakemake(
        *(tmp_path, "-s", finished.path("Snakefile"), "--directory", finished.folder),
        *("--configfile", finished.path("tiny.yaml"), "--", "all"),
    )
    assert done.returncode == 0, done.stderr
    assert "Nothing to be done" in done.stderr
    assert "SSSP on tiny" in done.stdout
    assert "Report: snakemake --configfile tiny.yaml --report report.zip" in done.stdout
