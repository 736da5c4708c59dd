"""The screen of a run: its progress and the line of every failed job; all else goes to a file.

Snakemake writes some ten lines for each job, and jobs write their own. While a run is quiet, its standard
output and error go to :data:`LOG`, and only :class:`Screen`, a logger plugin, writes to the terminal.
"""

import os
import signal
import sys
import threading
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, TextIO

from snakemake.logging import ColorizingTextHandler
from snakemake_interface_logger_plugins.base import LogHandlerBase
from snakemake_interface_logger_plugins.common import LogEvent

from relaxometer.core.environment import is_verbose
from relaxometer.core.scripting import ERRORS, name_of
from relaxometer.core.unchanged import UP_TO_DATE
from relaxometer.core.words import counted

LOG = Path("logs/run.log")  # the output of Snakemake and of all jobs of the last run
PAUSE_S = 30.0  # without a bar, a line is printed this often
REFRESHES_PER_S = 1  # refreshes of the bar per second; more would disturb timed jobs

JOB_FAILED = frozenset({"RuleException", "CalledProcessError", "SpawnedJobError"})
"""Exceptions that only say that a job has failed; the job's own line says why."""

ACCEPTANCE = "accept_answers "
"""Beginning of the name of the job that fails a run; the first line of the verdict says more."""

STOPS = {signal.SIGINT: "stopping the running jobs", signal.SIGTERM: "stopping after the running jobs"}
"""What a run says to a signal."""


def needed(lines: Iterable[str]) -> list[str]:
    """Return the lines of failed jobs that say something new."""
    return [line for line in lines if not (line.startswith(ACCEPTANCE) and " names " in line)]


class Screen(LogHandlerBase):
    """Shows Snakemake's records: all of them, or while a run is quiet what the user needs.

    `failed` names the jobs that failed, but for a bad verdict. `is_up_to_date`: a run has ended because there
    was nothing to do.
    """

    writes_to_stream = True
    writes_to_file = has_filter = has_formatter = needs_rulegraph = False

    def __post_init__(self) -> None:
        """Begin like Snakemake's own handler."""
        stream = sys.stdout if self.common_settings.stdout else sys.stderr
        self._inner = ColorizingTextHandler(self.common_settings.nocolor, stream)
        self._is_quiet = not (self.common_settings.dryrun or is_verbose())
        self.failed: list[str] = []
        self.is_up_to_date = False
        self._has_started = self._has_error = self._is_closed = False
        self._total = 0
        self._held: list[Any] = []
        self._kept: list[int] = []
        self._display: _Bar | _Lines | None = None
        self._jobs: dict[int, str] = {}
        self._told: set[str] = set()
        self._stopped = False

    def emit(self, record: Any) -> None:
        """Show a record of Snakemake's, write it to the file, or keep it until there is one."""
        event = getattr(record, "event", None)
        if event == LogEvent.WORKFLOW_STARTED:
            self._has_started = True
        if self._is_quiet and event == LogEvent.JOB_INFO:
            self.begin()
        if not self._is_quiet or self._display:
            self._write(record)
        elif record.levelno < _WARNING:
            self._held.append(record)
        else:
            self._has_error |= record.levelno > _WARNING
            self._write(record)
        self._note(event, record)

    def untold(self, lines: Iterable[str]) -> list[str]:
        """Return the lines of failed jobs that were not shown yet."""
        return [line for line in lines if line not in self._told]

    def begin(self) -> None:
        """Redirect stdout and stderr to the log; a folder without permission is reported by the workflow."""
        with self.lock or threading.RLock():
            if not self._is_quiet or self._display:
                return
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
            self._inner.nocolor = True
            self._write_held()
            if self._total:
                self._display.begin(self._total)
        if threading.current_thread() is threading.main_thread():
            self._note_stops()

    def close(self) -> None:
        """Give the screen back."""
        if self._is_closed:  # at its exit, Python closes all handlers again
            return
        self._is_closed = True
        if self._display:
            self._display.close()
            self._display = None
            sys.stdout.flush()
            sys.stderr.flush()
            for number, kept in zip((1, 2), self._kept, strict=True):
                os.dup2(kept, number)
                os.close(kept)
        elif self._has_error or sys.exc_info()[0]:
            pass  # and what was held would only hide the message
        elif not self._has_started:
            self._write_held()
        elif self._is_quiet and not self._total:
            self.is_up_to_date = True
            print(UP_TO_DATE, file=sys.stderr)
        super().close()

    def _write(self, record: Any) -> None:
        self._inner.setFormatter(self.formatter)
        self._inner.handle(record)

    def _write_held(self) -> None:
        for record in self._held:
            self._write(record)
        self._held.clear()

    def _note(self, event: object, record: Any) -> None:
        display = self._display
        if event == LogEvent.RUN_INFO and getattr(record, "stats", None):
            self._total = record.stats["total"]
            if display:
                display.begin(self._total)
        elif event == LogEvent.JOB_INFO:
            self._jobs[record.jobid] = name_of(record.rule_name, (record.wildcards or {}).values())
            if display:
                display.start(self._jobs[record.jobid])
        elif event == LogEvent.JOB_FINISHED and display:
            job = self._jobs.get(record.job_id, "")
            display.end(job)
            self._say_new(self._lines_of(job))
        elif event == LogEvent.PROGRESS and display:
            display.advance(record.done)
        elif event == LogEvent.JOB_ERROR:
            self._note_failure(self._jobs.get(record.jobid, record.rule_name), record.log)
        elif event == LogEvent.ERROR and display:
            summed_up = {"WorkflowError"} if self._told else set()
            if getattr(record, "exception", None) not in JOB_FAILED | summed_up:
                display.say(self.format(record).rstrip())

    def _note_failure(self, job: str, logs: list[str]) -> None:
        """Show the lines of a failed job that the user needs."""
        why = "stopped" if self._stopped else f"failed without a message; see {' '.join(logs) or LOG}"
        if self._say_new(self._lines_of(job) or [f"{job}: {why}"]):
            self.failed.append(job)
        if self._display:
            self._display.end(job)

    def _lines_of(self, job: str) -> list[str]:
        """Return the lines of a failed job that were not shown yet."""
        lines = ERRORS.read_text(encoding="utf-8").splitlines() if ERRORS.is_file() else []
        return self.untold([line for line in lines if line.startswith(f"{job}: ")])

    def _say_new(self, lines: list[str]) -> bool:
        """Show those of some lines of a failed job that the user needs; return whether there are any."""
        self._told.update(lines)
        shown = needed(lines)
        if shown and self._display:
            self._display.say("\n".join(shown))
        return bool(shown)

    def _note_stops(self) -> None:
        """Know when the user stops the run: its jobs then fail."""
        for number in STOPS:
            previous = signal.getsignal(number)
            if not callable(previous):
                continue

            def note(received: int, frame: Any, previous: Any = previous) -> None:
                self._stopped = True
                if self._display:
                    self._display.say(STOPS[signal.Signals(received)])
                previous(received, frame)

            signal.signal(number, note)


_WARNING = 30  # the level of warnings in the module logging


def _is_live(screen: TextIO) -> bool:
    return screen.isatty() and os.environ.get("TERM", "dumb") != "dumb"


class _Progress:
    """What both displays know: the jobs that run."""

    def __init__(self) -> None:
        self._running: dict[str, float] = {}

    def start(self, job: str) -> None:
        self._running[job] = time.monotonic()

    def end(self, job: str) -> None:
        self._running.pop(job, None)

    def running(self) -> str:
        """Return the job that has run longest, and for how long."""
        jobs = dict(self._running)
        if not jobs:
            return "planning"
        job, since = min(jobs.items(), key=lambda one: one[1])
        more = f" and {counted(len(jobs) - 1, 'other')}" if jobs.keys() - {job} else ""
        return f"{job} ({_clock(time.monotonic() - since)}){more}"


class _Lines(_Progress):
    """Progress in a file or a pipe: a line from time to time."""

    def __init__(self, screen: TextIO) -> None:
        super().__init__()
        self._screen = screen
        self._total = self._done = 0
        self._start = time.monotonic()
        self._over = threading.Event()
        self._teller = threading.Thread(target=self._tell, daemon=True)
        self._teller.start()

    def begin(self, total: int) -> None:
        self._total = total
        self.say(f"{counted(total, 'job')}; full output: {LOG}")

    def advance(self, done: int) -> None:
        self._done = done

    def say(self, line: str) -> None:
        # A reader that has gone must not cost what is being computed.
        with suppress(OSError):
            print(line, file=self._screen, flush=True)

    def close(self) -> None:
        self._over.set()
        self._teller.join()
        with suppress(OSError):
            self._screen.close()

    def _tell(self) -> None:
        while not self._over.wait(PAUSE_S):
            passed = _clock(time.monotonic() - self._start)
            done = f"{self._done} of {counted(self._total, 'job')} done after {passed}"
            self.say(f"{done}; {self.running()}")


class _Bar(_Progress):
    """Progress on a terminal: a bar that disappears when it is closed."""

    def __init__(self, screen: TextIO) -> None:
        from rich import progress
        from rich.console import Console
        from rich.text import Text

        class Running(progress.ProgressColumn):
            def render(column, task: progress.Task) -> Text:  # noqa: N805 (`self` is the bar)
                return Text(self.running())

        super().__init__()
        self._screen = screen
        self._console = Console(file=screen)
        self._bar = progress.Progress(
            progress.BarColumn(),
            progress.MofNCompleteColumn(),
            progress.TimeElapsedColumn(),
            Running(),
            console=self._console,
            refresh_per_second=REFRESHES_PER_S,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._task = self._bar.add_task("", total=None)
        self._bar.start()

    def begin(self, total: int) -> None:
        self._bar.update(self._task, total=total)

    def start(self, job: str) -> None:
        super().start(job)
        self._bar.refresh()  # at once: a short job would never be shown

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
