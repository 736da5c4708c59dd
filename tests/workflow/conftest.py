"""Copies of the workflow to run in."""

import shutil

import pytest

from tiny_workflow import Workflow


@pytest.fixture
def workflow(tmp_path):
    """A fresh copy of the workflow, not yet run."""
    return Workflow(tmp_path)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A copy in which `all` has been run once; tests must leave it as it is."""
    workflow = Workflow(tmp_path_factory.mktemp("finished"))
    workflow.run("--", "all")
    return workflow


@pytest.fixture
def rerun(finished, tmp_path):
    """A copy of the finished run, to be changed and run again."""
    shutil.copytree(finished.folder, tmp_path, dirs_exist_ok=True, symlinks=True)
    copy = object.__new__(Workflow)
    copy.folder = tmp_path
    return copy
