"""The screen of a run, fed with Snakemake's records."""

import io
import logging
import re
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from types import SimpleNamespace

import pytest
from snakemake_interface_logger_plugins.common import LogEvent
from snakemake_interface_logger_plugins.registry import LoggerPluginRegistry

from relaxometer.core import screen
from relaxometer.core.scripting import ERRORS


def record(event=None, message="", level=logging.INFO, **fields):
    made = logging.LogRecord("snakemake.logging", level, "", 0, message, None, None)
    vars(made).update(event=event, **fields)
    return made


def failed(jobid, **fields):
    return record(LogEvent.JOB_ERROR, level=logging.ERROR, jobid=jobid, rule_name="run_variant", **fields)


def begins(jobid, rule="run_variant", **wildcards):
    fields = {"jobid": jobid, "rule_name": rule, "wildcards": wildcards}
    return record(LogEvent.JOB_INFO, f"rule {rule}: {jobid}", **fields)


@contextmanager
def screen_of(dryrun=False):
    """A screen whose workflow has started."""
    # As in a process of its own: pytest's has no file descriptor.
    with open(2, "w", closefd=False, encoding="utf-8") as stderr, pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stderr", stderr)
        made = screen.Screen(SimpleNamespace(stdout=False, nocolor=True, dryrun=dryrun), None)
        made.handle(record(LogEvent.WORKFLOW_STARTED, "Workflow has started!"))
        try:
            yield made
        finally:
            made.close()


@contextmanager
def quiet():
    """A screen of three jobs, of which two have begun."""
    with screen_of() as made:
        made.handle(record(message="Building DAG of jobs..."))
        made.handle(record(LogEvent.RUN_INFO, "Job stats", stats={"total": 3}))
        made.begin()
        for jobid in (1, 2):
            made.handle(begins(jobid, graph=f"g{jobid}"))
        yield made


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("VERBOSE", raising=False)
    before = {number: signal.getsignal(number) for number in screen.STOPS}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def test_snakemake_finds_the_plugin():
    assert LoggerPluginRegistry().get_plugin("relaxometer").log_handler is screen.Screen


def test_all_goes_to_the_file_but_progress_and_failures(capfd):
    error = logging.ERROR
    with quiet() as shows:
        subprocess.run(["sh", "-c", "echo noise; echo noise >&2"], check=True)
        ERRORS.write_text("run_variant g1: no memory\n", encoding="utf-8")
        shows.handle(failed(1, log=["logs/g1.log"]))
        shows.handle(failed(2, log=["logs/g2.log"]))
        shows.handle(record(LogEvent.ERROR, "RuleException:\nboo", error, exception="RuleException"))
        shows.handle(record(message="Exiting because a job execution failed. Look", level=error))
        shows.handle(record(message="Cannot restore b: no backup found.", level=logging.WARNING))
        shows.handle(record(LogEvent.ERROR, "the disk is full", error, exception="OSError"))
        assert shows.failed == ["run_variant g1", "run_variant g2"]
        assert shows.untold(["run_variant g1: no memory", "plot_x: no"]) == ["plot_x: no"]
    subprocess.run(["echo", "after"], check=True)
    shown = capfd.readouterr()
    assert shown.out.splitlines() == ["after"]
    assert shown.err.splitlines() == [
        "3 jobs; full output: logs/run.log",
        "run_variant g1: no memory",
        "run_variant g2: failed without a message; see logs/g2.log",
        "the disk is full",
    ]
    log = screen.LOG.read_text(encoding="utf-8")
    assert log.startswith("Workflow has") or "Building DAG of jobs..." in log
    assert log.count("noise\n") == 2
    assert "RuleException:\nboo" in log
    assert "Cannot restore b" in log


def test_a_job_that_ends_because_the_user_stops_the_run_has_not_failed_by_itself(capfd):
    signal.signal(signal.SIGTERM, lambda *_: None)
    with quiet() as shows:
        signal.raise_signal(signal.SIGTERM)
        shows.handle(failed(1, log=["logs/g1.log"]))
    said = capfd.readouterr().err.splitlines()[1:]
    assert said == ["stopping after the running jobs", "run_variant g1: stopped"]


def test_a_bad_verdict_is_left_to_its_own_line(capfd):
    """But not another failure of the job that reads it."""
    with quiet() as shows:
        for jobid, said in ((7, "results/verdict.txt names 1 measurement that is not ok"), (8, "disk full")):
            shows.handle(begins(jobid, "accept_answers", verdict="verdict"))
            ERRORS.write_text(f"accept_answers verdict: {said}\n", encoding="utf-8")
            shows.handle(failed(jobid, log=[]))
        assert shows.failed == ["accept_answers verdict"]
    assert capfd.readouterr().err.splitlines()[1:] == ["accept_answers verdict: disk full"]


def test_a_run_without_jobs_is_up_to_date_unless_it_failed(capfd):
    for message, expected in ((None, True), ("no such file", False)):
        with screen_of() as shows:
            if message:
                fields = {"exception": "MissingInputException"}
                shows.handle(record(LogEvent.ERROR, message, logging.ERROR, **fields))
        assert shows.is_up_to_date is expected
    shown = capfd.readouterr().err.splitlines()
    assert shown == ["Nothing to be done: all files are up to date", "no such file"]


@pytest.mark.parametrize("dryrun", [False, True])
def test_verbose_and_dry_runs_show_all(monkeypatch, capfd, dryrun):
    monkeypatch.setenv("VERBOSE", "0" if dryrun else "1")
    with screen_of(dryrun) as shows:
        shows.handle(record(message="Select jobs to execute..."))
        shows.begin()
    assert "Select jobs to execute..." in capfd.readouterr().err
    assert not screen.LOG.exists()


def test_a_pipe_gets_a_line_with_the_running_job_from_time_to_time(monkeypatch):
    monkeypatch.setattr(screen, "PAUSE_S", 0.02)
    written = io.StringIO()
    lines = screen._Lines(written)
    lines.begin(400)
    lines.start("build_graph a")
    lines.start("run_variant b")
    lines.advance(36)
    time.sleep(0.2)
    lines.end("build_graph a")
    time.sleep(0.2)
    said = written.getvalue().splitlines()
    lines.close()
    assert said[0].startswith("400 jobs; ")
    first, last = said[2], said[-1]
    assert re.fullmatch(r"36 of 400 jobs done after 0:00; build_graph a \(0:00\) and 1 other", first)
    assert last.endswith("; run_variant b (0:00)")
    assert screen._clock(119.7) == "2:00", "not 1:60"
