"""The screen of a run, fed with Snakemake's records."""

import io
import logging
import subprocess
import sys
from contextlib import contextmanager

import pytest
from snakemake_interface_logger_plugins.common import LogEvent

from relaxometer.core import screen
from relaxometer.core.scripting import ERRORS


def record(event=None, message="", level=logging.INFO, **fields):
    made = logging.LogRecord("snakemake.logging", level, "", 0, message, None, None)
    vars(made).update(event=event, **fields)
    return made


def failed(jobid, **fields):
    return record(LogEvent.JOB_ERROR, level=logging.ERROR, jobid=jobid, rule_name="run_variant", **fields)


STARTED = record(LogEvent.WORKFLOW_STARTED, "Workflow has started!")


@contextmanager
def quiet():
    """A screen whose workflow has started with three jobs, of which two have begun."""
    # As in a process of its own: pytest's has no file descriptor.
    with (
        open(2, "w", closefd=False, encoding="utf-8") as stderr,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setattr(sys, "stderr", stderr)
        made = screen.Screen(logging.StreamHandler(stderr), when_up_to_date=lambda: None)
        made.handle(STARTED)
        made.handle(record(LogEvent.RUN_INFO, "Job stats", stats={"total": 3}))
        for jobid in (1, 2):
            fields = {"jobid": jobid, "rule_name": "run_variant", "wildcards": {"graph": f"g{jobid}"}}
            made.handle(record(LogEvent.JOB_INFO, f"rule run_variant: {jobid}", **fields))
        try:
            yield made
        finally:
            made.close()


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_all_goes_to_the_file_but_progress_and_failures(capfd):
    error = logging.ERROR
    with quiet() as shows:
        subprocess.run(["sh", "-c", "echo noise; echo noise >&2"], check=True)
        ERRORS.write_text("run_variant g1: no memory\n", encoding="utf-8")
        shows.handle(failed(1, log=["logs/g1.log"]))
        shows.handle(failed(2, log=["logs/g2.log"]))
        shows.handle(record(LogEvent.ERROR, "RuleException:\nboo", error, exception="RuleException"))
        shows.handle(record(message="Exiting because a job execution failed. Look", level=error))
        for said in (
            "Restored previous version of a (updating job failed).",
            "Cannot restore b: no backup found.",
        ):
            shows.handle(record(message=said, level=logging.WARNING))
        shows.handle(record(LogEvent.ERROR, "the disk is full", error, exception="OSError"))
    subprocess.run(["echo", "after"], check=True)
    shown = capfd.readouterr()
    assert shown.out.splitlines() == ["after"]
    assert shown.err.splitlines() == [
        "3 jobs; everything that they write: logs/run.log",
        "run_variant g1: no memory",
        "run_variant g2: failed without a message; see logs/g2.log",
        "the disk is full",
    ]
    log = screen.LOG.read_text(encoding="utf-8")
    assert log.count("noise\n") == 2
    assert "rule run_variant: 1\n" in log
    assert "RuleException:\nboo" in log
    assert "Cannot restore b" in log


def test_a_bad_verdict_is_left_to_its_own_line(capfd):
    """But not another failure of the job that reads it."""
    verdict = {"rule_name": "accept_answers", "wildcards": {"verdict": "verdict"}}
    with quiet() as shows:
        for jobid, said in ((7, "results/verdict.txt names 1 measurement that is not ok"), (8, "disk full")):
            shows.handle(record(LogEvent.JOB_INFO, "rule accept_answers:", jobid=jobid, **verdict))
            ERRORS.write_text(f"accept_answers verdict: {said}\n", encoding="utf-8")
            shows.handle(failed(jobid, log=[]))
    assert capfd.readouterr().err.splitlines()[1:] == ["accept_answers verdict: disk full"]


def test_lines_that_were_shown_are_not_told_again(capfd):
    with quiet() as shows:
        ERRORS.write_text("run_variant g1: no memory\n", encoding="utf-8")
        shows.handle(failed(1, log=[]))
        assert shows.untold(["run_variant g1: no memory", "plot_x: no"]) == ["plot_x: no"]


@pytest.mark.parametrize(("seconds", "most"), [(0.01, 0), (1.0, 2), (60.0, 2)])
def test_a_pipe_gets_few_lines_however_long_the_run_is(monkeypatch, seconds, most):
    now = 0.0
    monkeypatch.setattr(screen.time, "monotonic", lambda: now)
    written = io.StringIO()
    lines = screen._Lines(written)
    lines.begin(400)
    for done in range(1, 401):
        now += seconds
        lines.advance(done)
    said = written.getvalue().splitlines()[1:]
    assert len(said) <= most
    assert bool(said) == bool(most)
    if said:
        assert said[0].startswith("136 of 400 jobs done after ")


@pytest.mark.parametrize(("value", "verbose"), [(None, False), ("", False), ("0", False), ("1", True)])
def test_verbose(monkeypatch, value, verbose):
    monkeypatch.delenv("VERBOSE", raising=False)
    if value is not None:
        monkeypatch.setenv("VERBOSE", value)
    assert screen.is_verbose() is verbose


@pytest.mark.parametrize(
    ("seconds", "shown"), [(0, "0:00"), (59.4, "0:59"), (119.7, "2:00"), (3600, "60:00")]
)
def test_the_time_has_no_sixtieth_second(seconds, shown):
    assert screen._clock(seconds) == shown
