"""A rival's process, and our side of the protocol that ``docs/rivals.md`` describes."""

import os
import resource
import select
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Self

from relaxometer.core.environment import keep_to_one_core
from relaxometer.core.errors import Failed, escaped, quoted
from relaxometer.core.supervision import Orphans, cause_of_death, die_with_parent, settle, waited_ms

MAX_LINE = 1000  # limit on the characters of a message
KEPT_STDERR = 1 << 13  # bytes of the end of stderr that are kept; the rest is read and forgotten
CHUNK = 1 << 16  # bytes that are read at a time
GRACE_S = 5.0  # time to exit after `end`, or after closing a pipe
LONGEST_WAIT_MS = 1e8  # the longest wait that the system takes; a longer one is made of several
FAILURES = frozenset({"skipped", "oom", "error"})  # words by which an adapter says that it gives up


class Adapter:
    """A started adapter; if it cannot be started, :class:`Failed`, which every other method raises too.

    At the end of the ``with`` block it is told to end. It is killed if it does not, or if it failed before;
    so are all processes that it started, also those in another session. No file that it writes in its
    working directory `folder` may exceed `max_file_bytes`; with `one_core`, all its threads share one core.
    """

    def __init__(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        folder: Path,
        max_file_bytes: int,
        *,
        one_core: bool = False,
    ) -> None:
        self._orphans = Orphans()
        try:
            self._process = subprocess.Popen(
                command,
                bufsize=0,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=dict(environment),
                cwd=folder,
                start_new_session=True,
                preexec_fn=partial(_restrict, max_file_bytes, one_core),
            )
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            self._orphans.kill()
            why = getattr(error, "strerror", None) or error
            raise Failed("error", f"{quoted(command[0])} cannot be run: {why}") from None
        self._streams = self._process.stdin, self._process.stdout, self._process.stderr
        self._input, self._output, self._errors = (stream.fileno() for stream in self._streams if stream)
        os.set_blocking(self._errors, False)
        self._poll = select.poll()
        self._poll.register(self._output, select.POLLIN)
        self._poll.register(self._errors, select.POLLIN)
        self._received = self._stderr = b""
        self._failed = self._killed = self._has_searched = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None and not self._failed:
            with suppress(OSError, subprocess.TimeoutExpired):
                self._tell("end")
                self._process.wait(GRACE_S)
        self._kill()
        for stream in filter(None, self._streams):
            stream.close()
        if self._failed and self._stderr:
            print(*map(escaped, self._last_lines()), sep="\n", file=sys.stderr)

    def tell(self, request: str) -> None:
        """Send a message; a reply that is there before is a failure, since it would take no time."""
        self._read(0)
        if self._received:
            line = self._received.partition(b"\n")[0].decode("utf-8", "replace")
            raise self._failure("error", f"wrote {quoted(line)} to stdout unasked; only replies belong there")
        try:
            self._tell(request)
        except OSError:
            raise self._death() from None

    def expect(self, answer: str, seconds: float) -> list[str]:
        """Wait for a message and return the words that follow `answer` in it."""
        line = self._line(time.monotonic() + seconds)
        word, _, rest = line.partition(" ")
        if word in FAILURES:
            raise self._failure(word, escaped(rest) or "no reason given")
        if word != answer:
            raise self._failure(
                "error", f"wrote {quoted(line)} to stdout, expected {answer!r}; only messages belong there"
            )
        self._has_searched |= word == "done"
        return rest.split()

    def settle(self) -> None:
        """Wait until it has nothing more to do; see :func:`settle`."""
        settle(self._process.pid)

    def waited_ms(self) -> float:
        """Return how long its main thread has waited for a core until now; see :func:`waited_ms`."""
        return waited_ms(str(self._process.pid))

    def _tell(self, line: str) -> None:
        os.write(self._input, line.encode() + b"\n")

    def _line(self, deadline: float) -> str:
        while b"\n" not in self._received and len(self._received) <= MAX_LINE:
            wait_ms = (deadline - time.monotonic()) * 1e3
            if wait_ms <= 0:
                raise self._failure("timeout", "")
            self._read(min(wait_ms, LONGEST_WAIT_MS))
        line, _, self._received = self._received.partition(b"\n")
        if len(line) > MAX_LINE:
            raise self._failure("error", f"wrote a line of more than {MAX_LINE} characters to stdout")
        return line.decode("utf-8", "replace")

    def _read(self, wait_ms: float) -> None:
        """Wait for output and take a piece of it; of stderr, the end is kept."""
        for stream, _ in self._poll.poll(wait_ms):
            piece = os.read(stream, CHUNK)
            if stream == self._errors:
                self._stderr = (self._stderr + piece)[-KEPT_STDERR:]
                if not piece:
                    self._poll.unregister(stream)
            elif piece:
                self._received += piece
            else:
                raise self._death()

    def _failure(self, status: str, reason: str) -> Failed:
        self._failed = True
        return Failed(status, reason)

    def _death(self) -> Failed:
        """Return what became of the process, which has closed a pipe."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(GRACE_S)
        cause = cause_of_death(self._process.returncode)
        self._kill()
        said = "".join(f"; its last line: {quoted(line)}" for line in self._last_lines()[-1:])
        # Later, SIGILL is more likely a trap of the program's own.
        if self._process.returncode == -signal.SIGILL and not self._has_searched:
            return self._failure("absent", f"{cause}: is its program built for another CPU?{said}")
        return self._failure("error", cause + said)

    def _last_lines(self) -> list[str]:
        return self._stderr.decode("utf-8", "replace").strip().splitlines()

    def _kill(self) -> None:
        """Kill the process and all that it started, and read what they still said."""
        if self._killed:
            return
        self._killed = True
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._orphans.kill()
        with suppress(BlockingIOError):
            while piece := os.read(self._errors, CHUNK):
                self._stderr = (self._stderr + piece)[-KEPT_STDERR:]


def _restrict(max_file_bytes: int, one_core: bool) -> None:
    """Set the limits of a process that is about to become an adapter."""
    die_with_parent()
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    limit = max_file_bytes if hard == resource.RLIM_INFINITY else min(max_file_bytes, hard)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    if one_core:
        keep_to_one_core()
