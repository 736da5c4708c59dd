"""`relaxometer run` with nothing to do: Snakemake is not started twice for it."""

import os
import subprocess
import sys

import pytest

from relaxometer.cli.command import call
from tiny_workflow import environment

pytestmark = pytest.mark.slow

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
