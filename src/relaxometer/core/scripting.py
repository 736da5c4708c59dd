"""The frame of every script that Snakemake runs: a log file, and one line per user error."""

import atexit
import errno
import gc
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, redirect_stderr, suppress
from pathlib import Path
from typing import Any, NoReturn, TextIO

from relaxometer.core.checkout import refuse_other_package
from relaxometer.core.environment import is_full
from relaxometer.core.errors import UserError, naming_lacks
from relaxometer.core.failures import Prevented, note_failure, note_success, refuse_failed
from relaxometer.core.occupancy import occupy

ERRORS = Path("logs/errors.txt")
"""Failed jobs append their line here; the workflow repeats them at its end."""

SILENCE_S = 2.0
"""Silence after which a line says that the job is still running."""


def _is_process_of_a_job() -> bool:
    """Return whether Snakemake has started this process for a script, and not a test or a script itself."""
    main = sys.modules["__main__"]
    given = type(getattr(main, "snakemake", None)).__module__
    return main.__name__ == "__main__" and given.startswith("snakemake.")


if _is_process_of_a_job():
    # Imports produce no garbage, and the collector takes a sixth of their time. `job` turns it on again.
    gc.disable()


class Tee:
    """A stream that writes to several others; `last_write` is on the monotonic clock, in seconds.

    A stream that fails is left out from then on: a full disk must not cost what is being computed.
    """

    def __init__(self, *streams: TextIO) -> None:
        self._streams = list(streams)
        self.last_write = time.monotonic()

    def write(self, text: str) -> int:
        """Write to every stream."""
        self.last_write = time.monotonic()
        for stream in self._streams[:]:
            try:
                stream.write(text)
                stream.flush()
            except OSError as error:
                self._streams.remove(stream)
                self.write(f"{getattr(stream, 'name', 'a stream')}: cannot be written: {error.strerror}\n")
        return len(text)

    def flush(self) -> None:
        """Do nothing: every write is flushed."""

    def isatty(self) -> bool:
        """Return whether the first stream is a terminal."""
        return bool(self._streams) and self._streams[0].isatty()


def name_of(rule: str, wildcards: Iterable[object]) -> str:
    """Return the name of a job in messages."""
    return " ".join([rule, *map(str, wildcards)])


@contextmanager
def job(snakemake: Any, *, isolated: bool = False) -> Iterator[None]:
    """Run the body of a script, which has the object `snakemake`, and copy its stderr to the rule's log.

    A :class:`UserError` ends the job with its message only, and so does a lack of space, permission or
    memory; any other exception keeps its traceback. A failure of an `isolated` job costs only what depends
    on it: see :mod:`relaxometer.core.failures`.
    """
    gc.enable()
    occupy()
    path = Path(snakemake.log[0])
    what = name_of(snakemake.rule, snakemake.wildcards)
    is_process = _is_process_of_a_job()
    isolated &= is_process
    outputs = list(snakemake.output)
    if isolated:
        _supervise(what, outputs, path)
        _hide_pandas_from_pyarrow()
    with ExitStack() as stack:
        tee = Tee(sys.stderr, *_log(path, stack))
        stack.enter_context(redirect_stderr(tee))
        stack.enter_context(_signs_of_life(what, tee))
        try:
            refuse_other_package(Path(getattr(snakemake, "scriptdir", "")).parent.parent)
            with naming_lacks():
                if isolated:
                    refuse_failed(snakemake.input)
                yield
                if is_process:
                    note_success(outputs, snakemake.input)
        except Prevented as reason:
            print(f"{what}: not made: {reason}", file=sys.stderr)
            note_failure(outputs, str(reason))
        except UserError as error:
            _fail(f"{what}: {error}", outputs if isolated else ())
        except Exception as error:
            traceback.print_exc()
            first_line = f"{type(error).__name__}: {error}".splitlines()[0]
            _fail(f"{what}: {first_line} (traceback in {path})", outputs if isolated else ())
    if is_process:
        end(0)


class _Absent:
    """An importer that finds no pandas."""

    @staticmethod
    def find_spec(name: str, *_: Any) -> None:
        if name == "pandas":
            raise ModuleNotFoundError(name=name)


def _hide_pandas_from_pyarrow() -> None:
    """Keep pyarrow, if it is imported, from importing pandas with the first array, which takes long.

    pyarrow looks for pandas again when a conversion needs it.
    """
    if pyarrow := sys.modules.get("pyarrow"):
        sys.meta_path.insert(0, _Absent)
        pyarrow.array([])
        sys.meta_path.remove(_Absent)


def _supervise(what: str, outputs: list[str], log: Path) -> None:
    """Return in a child process; the parent waits for it, notes a violent death, and ends."""
    from relaxometer.core.supervision import cause_of_death, die_with_parent  # other jobs need not load it

    child, stopped = 0, []

    def forward(number: int, _: object) -> None:
        stopped.append(number)
        if child and number != signal.SIGINT:  # which a terminal sends to both
            with suppress(ProcessLookupError):
                os.kill(child, number)

    # Before the fork, since the child may be quick.
    former = {number: signal.signal(number, forward) for number in (signal.SIGINT, signal.SIGTERM)}
    if not (child := os.fork()):
        for number, handler in former.items():
            signal.signal(number, handler)
        die_with_parent()
        return
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code < 0 and not stopped:
        code = _note(f"{what}: {cause_of_death(code)}; see {log}", outputs)
    os._exit(1 if stopped else code)


def end(code: int) -> NoReturn:
    """End this process without the shutdown of the interpreter, which takes a quarter of a second.

    It has also aborted, under load, with "terminate called without an active exception": a C++ thread was
    still joinable, and only Arrow has such threads here.
    """
    atexit._run_exitfuncs()
    for stream in sys.stdout, sys.stderr:
        with suppress(OSError):
            stream.flush()
    os._exit(code)


def _log(path: Path, stack: ExitStack) -> list[TextIO]:
    """Open the log of a job; the job goes on without one if it cannot be written."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        log = path.open("w", encoding="utf-8")
    except OSError as error:
        print(f"{path}: cannot be written: {error.strerror}; this job has no log", file=sys.stderr)
        return []
    stack.callback(_close, log)
    return [log]


def _close(log: TextIO) -> None:
    """Close a log, whose last lines may not fit on the disk."""
    with suppress(OSError):
        log.close()


def check_folders(*folders: Path) -> None:
    """Raise UserError if a folder, or one inside, is read-only or on a full disk.

    Snakemake would fail later, in the middle.
    """
    for top in filter(Path.is_dir, folders):
        for folder, _, _ in os.walk(top):
            if not os.access(folder, os.W_OK | os.X_OK):
                raise UserError(f"{folder}: not writable; give permission, then run again")
        if is_full(top):
            raise UserError(f"{top}: {os.strerror(errno.ENOSPC)}; make room, then run again")


@contextmanager
def _signs_of_life(what: str, tee: Tee) -> Iterator[None]:
    """Print a line whenever the block has been silent for a while."""
    start = time.monotonic()
    over = threading.Event()

    def watch() -> None:
        while not over.wait(SILENCE_S):
            now = time.monotonic()
            if now - tee.last_write >= SILENCE_S:
                print(f"{what}: still running after {now - start:.0f} s", file=tee)

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()


def _fail(line: str, outputs: Iterable[str]) -> None:
    """Print `line`, note the failure, and end the job, which failed unless its failure is a result."""
    print(f"error: {line}", file=sys.stderr)
    raise SystemExit(_note(line, outputs))


def _note(line: str, outputs: Iterable[str]) -> int:
    """Add `line` to `ERRORS`, and leave it as the result if there are outputs; return the exit code."""
    with suppress(OSError):
        ERRORS.parent.mkdir(parents=True, exist_ok=True)
        with ERRORS.open("a", encoding="utf-8") as errors:
            errors.write(f"{line}\n")
    try:
        note_failure(outputs, line)
    except OSError:
        return 1  # and Snakemake makes nothing of it
    return 0 if outputs else 1
