"""Copies of the workflow to run in."""

import pytest

from tiny_workflow import Workflow, copied, run_once


@pytest.fixture
def workflow(tmp_path):
    """A fresh copy of the workflow, not yet run."""
    return Workflow(tmp_path)


@pytest.fixture(scope="session")
def finished(tmp_path_factory):
    """A copy in which `all` has been run once; tests must leave it as it is."""
    return run_once(tmp_path_factory, "tiny", lambda workflow: workflow.run("--", "all"))


@pytest.fixture
def rerun(finished, tmp_path):
    """A copy of the finished run, to be changed and run again."""
    return copied(finished, tmp_path)
