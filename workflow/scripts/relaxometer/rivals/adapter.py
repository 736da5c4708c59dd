"""A rival's process, and our side of the protocol that ``docs/rivals.md`` describes."""

from __future__ import annotations

import os
import resource
import select
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Self

from relaxometer.core.errors import quoted
from relaxometer.core.supervision import cause_of_death, die_with_parent

MAX_LINE = 1000
"""Limit on the characters of a message."""

KEPT_STDERR = 1 << 13
"""Bytes of the end of stderr that are kept; the rest is read and forgotten."""

GRACE_S = 5.0
"""Time to exit after ``end``."""

FAILURES = frozenset({"skipped", "oom", "error"})
"""Words by which an adapter says that it gives up."""


class AdapterFailed(Exception):  # noqa: N818 - a status
    """The adapter gave up, died, broke the protocol or was too slow: status and reason."""

    def __init__(self, status: str, reason: str) -> None:
        super().__init__(reason)
        self.status, self.reason = status, reason


class Adapter:
    """A started adapter; at the end of the ``with`` block it is told to end, and killed if it does not.

    Parameters
    ----------
    command : sequence of str
    environment : mapping
        The whole environment of the process.
    folder : Path
        Its working directory.
    max_file_bytes : int
        Limit on the size of each file that it writes.

    Raises
    ------
    AdapterFailed
        If the program cannot be started; every other method raises it too.
    """

    def __init__(
        self, command: Sequence[str], environment: Mapping[str, str], folder: Path, max_file_bytes: int
    ) -> None:
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=dict(environment),
                cwd=folder,
                start_new_session=True,
                preexec_fn=die_with_parent,
            )
        except OSError as error:
            raise AdapterFailed("error", f"{quoted(command[0])} cannot be run: {error.strerror}") from None
        resource.prlimit(self._process.pid, resource.RLIMIT_FSIZE, (max_file_bytes, max_file_bytes))
        self._input, self._output = _pipe(self._process.stdin), _pipe(self._process.stdout)
        os.set_blocking(self._output.fileno(), False)
        self._poll = select.poll()
        self._poll.register(self._output, select.POLLIN)
        self._received = b""
        self._stderr = b""
        self._drain = threading.Thread(target=self._read_stderr, daemon=True)
        self._drain.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            with suppress(OSError):
                self.tell("end")
                self._input.close()
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(GRACE_S)
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._drain.join(GRACE_S)

    @property
    def stderr(self) -> str:
        """The end of what the adapter wrote to stderr."""
        return self._stderr.decode("utf-8", "replace")

    def tell(self, line: str) -> None:
        """Send a message."""
        self._input.write(line.encode() + b"\n")
        self._input.flush()

    def ask(self, request: str, answer: str, seconds: float) -> list[str]:
        """Send a message and return the words that follow `answer` in the reply."""
        try:
            self.tell(request)
        except OSError:
            self._fail()
        return self.expect(answer, seconds)

    def expect(self, answer: str, seconds: float) -> list[str]:
        """Return the words that follow `answer` in the next message."""
        line = self._line(time.monotonic() + seconds)
        word, _, rest = line.partition(" ")
        if word in FAILURES:
            raise AdapterFailed(word, rest or "no reason given")
        if word != answer:
            raise AdapterFailed(
                "error", f"wrote {quoted(line)} to stdout, expected {answer!r}; only messages belong there"
            )
        return rest.split()

    def _line(self, deadline: float) -> str:
        while b"\n" not in self._received:
            if len(self._received) > MAX_LINE:
                raise AdapterFailed("error", f"wrote a line of more than {MAX_LINE} characters to stdout")
            wait_ms = (deadline - time.monotonic()) * 1e3
            if wait_ms <= 0 or not self._poll.poll(wait_ms):
                raise AdapterFailed("timeout", "")
            received = self._output.read(1 << 16)
            if not received:
                self._fail()
            self._received += received
        line, _, self._received = self._received.partition(b"\n")
        if len(line) > MAX_LINE:
            raise AdapterFailed("error", f"wrote a line of more than {MAX_LINE} characters to stdout")
        return line.decode("utf-8", "replace")

    def _fail(self) -> None:
        """Raise what became of the process, which has closed a pipe."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(GRACE_S)
        self._drain.join(GRACE_S)
        last = self.stderr.strip().rpartition("\n")[2]
        said = f"; its last line: {quoted(last)}" if last else ""
        raise AdapterFailed("error", cause_of_death(self._process.returncode) + said)

    def _read_stderr(self) -> None:
        stream = _pipe(self._process.stderr)
        while received := os.read(stream.fileno(), 1 << 16):
            self._stderr = (self._stderr + received)[-KEPT_STDERR:]


def _pipe(stream: IO[bytes] | None) -> IO[bytes]:
    assert stream is not None
    return stream
