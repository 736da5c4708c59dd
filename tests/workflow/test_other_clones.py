"""Another clone's package in the path of Python is refused, not measured."""

import shutil
import subprocess
import sys

import pytest

from tiny_workflow import PACKAGE, ROOT, environment


@pytest.fixture
def other(tmp_path_factory):
    """The folder that holds the package of another clone."""
    folder = tmp_path_factory.mktemp("clone") / "src"
    shutil.copytree(ROOT / PACKAGE, folder / PACKAGE.name, ignore=shutil.ignore_patterns("__pycache__"))
    return folder


@pytest.mark.parametrize(
    "command",
    [["-m", "snakemake", "--cores", "1", "--", "all"], ["-m", "relaxometer.cli.all_runs", "tiny.yaml"]],
    ids=["workflow", "program"],
)
def test_another_clone_in_the_path_is_one_line(workflow, other, command):
    done = subprocess.run(
        [sys.executable, *command],
        cwd=workflow.folder,
        env=environment() | {"PYTHONPATH": str(other)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    line = done.stderr.splitlines()[-1]
    assert line.startswith("error: this is ")
    assert "but Python imports " in line
    assert str(other.parent) in line
    assert not workflow.path("results").exists()
