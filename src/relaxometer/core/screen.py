"""The screen of a run: its progress and the line of every failed job; all else goes to a file.

Snakemake writes some ten lines for each job, and jobs write their own. While a run is quiet, its standard
output and error go to :data:`LOG`, and only :class:`Screen` writes to the terminal.
"""

from __future__ import annotations

import logging
import os
import re
import sys
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, TextIO

from snakemake.common import NOTHING_TO_BE_DONE_MSG
from snakemake_interface_logger_plugins.common import LogEvent

from relaxometer.core.scripting import ERRORS, name_of
from relaxometer.core.words import counted

LOG = Path("logs/run.log")
"""The output of Snakemake and of all jobs of the last run."""

STEP = 0.34
"""Without a bar, a line is printed whenever this share of the jobs has finished."""

PAUSE_S = 20.0
"""Shortest time between two such lines."""

REFRESHES_PER_S = 1
"""Refreshes of the bar per second; more would disturb timed jobs."""

JOB_FAILED = frozenset({"RuleException", "CalledProcessError", "SpawnedJobError"})
"""Exceptions that only say that a job has failed; the job's own line says why."""

SAID_ELSEWHERE = (
    "Exiting because a job execution failed",
    "WorkflowError:\nAt least one job did not complete",
    "Restored previous version of ",
    "Cannot restore ",
)
"""Beginnings of Snakemake's errors and warnings that add nothing to the lines of failed jobs."""

BAD_VERDICT = re.compile(r"accept_answers \w+: \S+ names ")
"""Beginning of the line of the job that fails a run; the first line of the verdict says more."""

STOPPING = "Terminating processes on user request"
"""Beginning of the message that a user has stopped the run; its jobs then fail."""

SHOWN = (STOPPING, "Will exit after finishing")
"""Beginnings of the messages below warnings that are shown all the same."""

PLANNING = "Building DAG of jobs"
"""Beginning of the message that Snakemake gives before it plans jobs, to execute them or not."""

NEEDLESS = ("Assuming unrestricted shared filesystem usage", PLANNING)
"""Beginnings of messages that Snakemake gives before it says that a workflow starts, if it does."""


def is_verbose() -> bool:
    """Return whether the user wants to see everything: the variable ``VERBOSE`` is neither empty nor 0."""
    return os.environ.get("VERBOSE", "") not in ("", "0")


def needed(lines: Iterable[str]) -> list[str]:
    """Return the lines of failed jobs that say something new."""
    return [line for line in lines if not BAD_VERDICT.match(line)]


class Screen(logging.Handler):
    """Replaces the handler by which Snakemake writes to the terminal.

    Parameters
    ----------
    inner : StreamHandler
        Snakemake's own handler, which writes to the file while the workflow runs.
    when_up_to_date : callable
        Called if there is nothing to be done: for such a run Snakemake has no hook.
    """

    def __init__(self, inner: logging.StreamHandler[TextIO], when_up_to_date: Callable[[], object]) -> None:
        super().__init__()
        self.name = inner.name
        self._inner = inner
        self._when_up_to_date = when_up_to_date
        self._kept: list[int] = []
        self._display: _Bar | _Lines | None = None
        self._jobs: dict[int, str] = {}
        self._told: set[str] = set()
        self._stopped = False

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record of Snakemake's to the file, and show it if the user needs it."""
        event = getattr(record, "event", None)
        if event == LogEvent.WORKFLOW_STARTED:
            self._begin()
        if self._display or not record.getMessage().startswith(NEEDLESS):
            self._inner.handle(record)
        if self._display:
            self._show(self._display, event, record)

    def untold(self, lines: Iterable[str]) -> list[str]:
        """Return the lines of failed jobs that were not shown yet."""
        return [line for line in lines if line not in self._told]

    def close(self) -> None:
        """Give the screen back."""
        if self._display:
            self._display.close()
            self._display = None
            sys.stdout.flush()
            sys.stderr.flush()
            for number, kept in zip((1, 2), self._kept, strict=True):
                os.dup2(kept, number)
                os.close(kept)
        self._inner.close()
        super().close()

    def _begin(self) -> None:
        """Redirect stdout and stderr to the log; a folder without permission is reported by the workflow."""
        try:
            LOG.parent.mkdir(parents=True, exist_ok=True)
            log = os.open(LOG, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o666)
        except OSError:
            return
        sys.stdout.flush()
        sys.stderr.flush()
        self._kept = [os.dup(1), os.dup(2)]
        screen = os.fdopen(os.dup(2), "w", encoding=sys.stderr.encoding, errors="replace", buffering=1)
        self._display = _Bar(screen) if _is_live(screen) else _Lines(screen)
        for number in (1, 2):
            os.dup2(log, number)
        os.close(log)
        vars(self._inner)["nocolor"] = True

    def _show(self, display: _Bar | _Lines, event: object, record: Any) -> None:
        if event == LogEvent.RUN_INFO and getattr(record, "stats", None):
            display.begin(record.stats["total"])
        elif event == LogEvent.JOB_INFO:
            self._jobs[record.jobid] = name_of(record.rule_name, (record.wildcards or {}).values())
            display.start(self._jobs[record.jobid])
        elif event == LogEvent.PROGRESS:
            display.advance(record.done)
        elif record.getMessage() == NOTHING_TO_BE_DONE_MSG:
            display.say(NOTHING_TO_BE_DONE_MSG)
            self._when_up_to_date()
        elif record.getMessage().startswith(STOPPING):
            self._stopped = True
            display.say(self._inner.format(record).rstrip())
        elif event == LogEvent.JOB_ERROR:
            if lines := self._lines_of(self._jobs.get(record.jobid, record.rule_name), record.log):
                display.say("\n".join(lines))
        elif self._is_needed(event, record):
            display.say(self._inner.format(record).rstrip())

    @staticmethod
    def _is_needed(event: object, record: Any) -> bool:
        """Return whether a message is for the user and not shown in another way."""
        if record.levelno < logging.WARNING:
            return record.getMessage().startswith(SHOWN)
        if event == LogEvent.GROUP_ERROR or getattr(record, "exception", None) in JOB_FAILED:
            return False
        return not record.getMessage().startswith(SAID_ELSEWHERE)

    def _lines_of(self, job: str, logs: list[str]) -> list[str]:
        """Return the lines of a failed job that the user needs."""
        lines = ERRORS.read_text(encoding="utf-8").splitlines() if ERRORS.is_file() else []
        own = self.untold([line for line in lines if line.startswith(f"{job}: ")])
        why = "stopped" if self._stopped else f"failed without a message; see {' '.join(logs) or LOG}"
        own = own or [f"{job}: {why}"]
        self._told.update(own)
        return needed(own)


def take_over(when_up_to_date: Callable[[], object]) -> Screen | None:
    """Replace Snakemake's handler with a `Screen`; return None if the user has chosen another one."""
    logger = logging.getLogger("snakemake.logging")
    for handler in logger.handlers:
        if handler.name == "DefaultStreamHandler" and isinstance(handler, logging.StreamHandler):
            screen = Screen(handler, when_up_to_date)
            logger.removeHandler(handler)
            logger.addHandler(screen)
            return screen
    return None


class AtStart(logging.Handler):
    """Calls a function when Snakemake begins to execute a workflow, before it asks which jobs must run.

    Snakemake has no hook for that moment, but writes a record.

    Parameters
    ----------
    call : callable
    plans : bool
        Call it also where jobs are only planned, as for a report or a summary of files: such a command
        executes nothing. A run then has two such moments.
    """

    def __init__(self, call: Callable[[], object], *, plans: bool = False) -> None:
        super().__init__()
        self._call, self._plans = call, plans

    def emit(self, record: logging.LogRecord) -> None:
        """Call the function if this is that record."""
        is_plan = self._plans and record.getMessage().startswith(PLANNING)
        if is_plan or getattr(record, "event", None) == LogEvent.WORKFLOW_STARTED:
            self._call()


def _is_live(screen: TextIO) -> bool:
    """Return whether a bar can be drawn."""
    return screen.isatty() and os.environ.get("TERM", "dumb") != "dumb"


class _Lines:
    """Progress in a file or a pipe: a line from time to time."""

    def __init__(self, screen: TextIO) -> None:
        self._screen = screen
        self._total = self._told = 0
        self._start = self._last = time.monotonic()

    def begin(self, total: int) -> None:
        self._total = total
        self.say(f"{counted(total, 'job')}; everything that they write: {LOG}")

    def start(self, job: str) -> None:
        """Do nothing: a job has no line."""

    def advance(self, done: int) -> None:
        now = time.monotonic()
        if done - self._told >= STEP * self._total and now - self._last >= PAUSE_S and done < self._total:
            self._told, self._last = done, now
            self.say(f"{done} of {counted(self._total, 'job')} done after {_clock(now - self._start)}")

    def say(self, line: str) -> None:
        # A reader that has gone must not cost what is being computed.
        with suppress(OSError):
            print(line, file=self._screen, flush=True)

    def close(self) -> None:
        with suppress(OSError):
            self._screen.close()


class _Bar:
    """Progress on a terminal: a bar that disappears when it is closed."""

    def __init__(self, screen: TextIO) -> None:
        from rich import progress
        from rich.console import Console

        self._screen = screen
        self._console = Console(file=screen)
        columns = (
            progress.BarColumn(),
            progress.MofNCompleteColumn(),
            progress.TimeElapsedColumn(),
            progress.TextColumn("{task.description}", markup=False),
        )
        self._bar = progress.Progress(
            *columns,
            console=self._console,
            refresh_per_second=REFRESHES_PER_S,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._task = self._bar.add_task("planning", total=None)
        self._bar.start()

    def begin(self, total: int) -> None:
        self._bar.update(self._task, total=total)

    def start(self, job: str) -> None:
        self._bar.update(self._task, description=job)

    def advance(self, done: int) -> None:
        self._bar.update(self._task, completed=done)

    def say(self, line: str) -> None:
        self._console.print(line, markup=False, highlight=False, soft_wrap=True)

    def close(self) -> None:
        self._bar.stop()
        self._screen.close()


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}:{rest:02}"
