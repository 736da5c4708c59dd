"""The frame of every script that Snakemake runs: a log file, and one line per user error."""

from __future__ import annotations

import sys
import threading
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr
from pathlib import Path
from typing import Any, TextIO

from relaxometer.core.errors import UserError

ERRORS = Path("logs/errors.txt")
"""Failed jobs append their line here; the workflow repeats them at its end."""

SILENCE_S = 2.0
"""Silence after which a line says that the job is still running."""


class Tee:
    """A stream that writes to several others; `last_write` is on the monotonic clock, in seconds."""

    def __init__(self, *streams: TextIO) -> None:
        self._streams = streams
        self.last_write = time.monotonic()

    def write(self, text: str) -> int:
        """Write to every stream."""
        self.last_write = time.monotonic()
        for stream in self._streams:
            stream.write(text)
            stream.flush()
        return len(text)

    def flush(self) -> None:
        """Do nothing: every write is flushed."""

    def isatty(self) -> bool:
        """Return whether the first stream is a terminal."""
        return self._streams[0].isatty()


@contextmanager
def job(snakemake: Any) -> Iterator[None]:
    """Run a script's body and copy its stderr to the rule's log.

    A :class:`UserError` ends the job with its message only; any other exception keeps its traceback.
    """
    path = Path(snakemake.log[0])
    path.parent.mkdir(parents=True, exist_ok=True)
    what = " ".join([snakemake.rule, *map(str, snakemake.wildcards)])
    with path.open("w", encoding="utf-8") as log:
        tee = Tee(sys.stderr, log)
        with redirect_stderr(tee), _signs_of_life(what, tee):
            try:
                yield
            except UserError as error:
                _fail(f"{what}: {error}")
            except Exception as error:
                traceback.print_exc()
                first_line = f"{type(error).__name__}: {error}".splitlines()[0]
                _fail(f"{what}: {first_line} (traceback in {path})")


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


def _fail(line: str) -> None:
    """Say `line` and end the job."""
    print(f"error: {line}", file=sys.stderr)
    ERRORS.parent.mkdir(parents=True, exist_ok=True)
    with ERRORS.open("a", encoding="utf-8") as errors:
        errors.write(f"{line}\n")
    raise SystemExit(1)
