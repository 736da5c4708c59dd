"""A child process that answers requests, and that its parent kills at a deadline.

Requests and replies are JSON; arrays follow a reply as raw bytes. Nothing that a child sends is executed or
unpickled, and its death is an exception in the parent.
"""

import ctypes
import gc
import json
import multiprocessing
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

MAX_REPLY_BYTES = 1 << 30  # limit on a reply without its arrays
SPIN_S = 0.02  # time for which a child waits for a request without sleeping
SETTLE_S = 0.1  # the longest wait for a process to be blocked
GRACE_S = 5.0  # time to exit after the end of the requests; then the child is killed

# Options of Linux's prctl.
_DIE_WITH_PARENT, _SET_CHILD_SUBREAPER, _GET_CHILD_SUBREAPER = 1, 36, 37


class ChildDied(Exception):  # noqa: N818 - may be a deadline, not an error
    """The child ended before it answered; the message says how."""


class DeadlinePassed(ChildDied):
    """The child was killed at its deadline."""


class Link:
    """The child's end of the connection."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def requests(self) -> Iterator[dict[str, Any]]:
        """Yield the parent's requests until it closes the connection.

        A process that slept runs slower at first, perhaps on another core. So this one spins for a while
        before it sleeps.
        """
        with suppress(EOFError):
            while True:
                patience = time.monotonic() + SPIN_S
                while not self._connection.poll() and time.monotonic() < patience:
                    pass
                yield json.loads(self._connection.recv_bytes())

    def reply(self, **content: Any) -> None:
        """Answer a request; TypeError, which names the part, if `content` is not JSON."""
        parts = (f"{json.dumps(name)}: {_as_json(name, value)}" for name, value in content.items())
        self._connection.send_bytes(f"{{{', '.join(parts)}}}".encode())

    def send_array(self, array: npt.NDArray[Any]) -> None:
        """Send the bytes of an array that a reply announced."""
        self._connection.send_bytes(_bytes_of(np.ascontiguousarray(array)))


class Child:
    """The function `serve` of a link and arguments in a separate process and process group.

    It shares the memory of its parent until either writes to it. A process that has opened CUDA, or used GNU
    OpenMP, cannot fork one that will. `reply_ms` are the milliseconds from the last request to its reply, and
    `reply_waited_ms` how many of them either side waited for a core.
    """

    def __init__(self, serve: Callable[..., None], *arguments: Any) -> None:
        context: Any = multiprocessing.get_context("fork")
        self._connection, theirs = context.Pipe()
        self._process = context.Process(target=_begin, args=(serve, theirs, self._connection, arguments))
        self._orphans = Orphans()
        try:
            self._process.start()
        except OSError:
            self._orphans.kill()
            raise
        theirs.close()
        self._expired = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """End the child, and everything that it started; at once if the block has failed."""
        self._connection.close()
        self._process.join(GRACE_S if kind is None else 0)
        self._kill()

    def ask(self, seconds: float, **request: Any) -> dict[str, Any]:
        """Send a request and return the reply; ChildDied, or after `seconds` DeadlinePassed, without one."""
        with self._watched(seconds):
            waited, begin = self._waited_ms(), time.perf_counter()
            if request:
                self._connection.send_bytes(json.dumps(request).encode())
            received = self._connection.recv_bytes(MAX_REPLY_BYTES)
            self.reply_ms = (time.perf_counter() - begin) * 1e3
            self.reply_waited_ms = self._waited_ms() - waited
            reply = json.loads(received)
        if not isinstance(reply, dict):
            raise ChildDied("sent a reply that is not an object")
        return reply

    def _waited_ms(self) -> float:
        """Return how long the child and this thread were ready to run but had no core."""
        return waited_ms() + waited_ms(str(self._process.pid))

    def receive_array(self, seconds: float, array: npt.NDArray[Any]) -> None:
        """Fill `array` with the bytes of an array; raises as :meth:`ask`."""
        with self._watched(seconds):
            received = self._connection.recv_bytes_into(_bytes_of(array))
        if received != array.nbytes:
            raise ChildDied(f"sent {received} bytes of {array.nbytes}")

    @contextmanager
    def _watched(self, seconds: float) -> Iterator[None]:
        """Kill the child if the block takes longer than `seconds`."""
        watchdog = threading.Timer(min(max(0.0, seconds), threading.TIMEOUT_MAX), self._expire)
        watchdog.daemon = True
        watchdog.start()
        try:
            yield
        except (EOFError, OSError, multiprocessing.ProcessError) as error:
            self._process.join(GRACE_S)
            if self._expired:
                raise DeadlinePassed from error
            raise ChildDied(cause_of_death(self._process.exitcode)) from error
        except (ValueError, RecursionError) as error:
            raise ChildDied("sent a reply that is not JSON") from error
        finally:
            watchdog.cancel()

    def _expire(self) -> None:
        self._expired = True
        self._kill()

    def _kill(self) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        with suppress(ProcessLookupError):
            self._process.kill()
        self._process.join()
        self._orphans.kill(self._process.pid)


class Orphans:
    """The processes that a child leaves behind, also those in another session.

    From now on, descendants of this process whose parents end become its children. Of several such objects,
    the first one kills them all. On systems other than Linux, none are found.
    """

    def __init__(self) -> None:
        self._before = _children()
        self._lock = threading.Lock()
        self._is_first = _adopts_orphans() is False
        if self._is_first:
            _adopt_orphans(True)

    def kill(self, *spared: int | None) -> None:
        """Kill every child of this process that was not there before, and adopt no more."""
        # The thread of a watchdog may call this as well, and must not kill children that are started later.
        with self._lock:
            if not self._is_first:
                return
            while orphans := _children() - self._before - {*spared}:  # their own children become ours
                for pid in orphans:
                    with suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
                    with suppress(ChildProcessError):
                        os.waitpid(pid, 0)
            self._is_first = False
            _adopt_orphans(False)


def _adopt_orphans(on: bool) -> None:
    """Let descendants whose parent has ended become children of this process, or no longer."""
    ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, int(on))


def _adopts_orphans() -> bool | None:
    """Return whether descendants become children; None where the system cannot do that."""
    if sys.platform != "linux":
        return None
    adopts = ctypes.c_int()
    ctypes.CDLL(None).prctl(_GET_CHILD_SUBREAPER, ctypes.byref(adopts))
    return bool(adopts.value)


def _children() -> set[int]:
    """Return the children of this process; none where the system does not list them."""
    children: set[int] = set()
    with suppress(OSError):
        for task in Path("/proc/self/task").iterdir():
            children.update(map(int, (task / "children").read_text(encoding="ascii").split()))
    return children


def die_with_parent() -> None:
    """Have this process killed when the one that started it ends; no effect outside Linux."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGKILL)


def _begin(
    serve: Callable[..., None], connection: Connection, parents: Connection, arguments: tuple[Any, ...]
) -> None:
    # Otherwise the child would hold the pipe open after its parent's death.
    parents.close()
    gc.freeze()  # to look through all that the parent has made would take long
    os.setsid()
    die_with_parent()
    code = 1
    try:
        serve(Link(connection), *arguments)
        code = 0
    except BrokenPipeError:
        code = 0
    except Exception:
        traceback.print_exc()
    finally:
        connection.close()
        sys.stdout.flush()
        sys.stderr.flush()
        # Handlers at exit are the parent's.
        os._exit(code)


def _bytes_of(array: npt.NDArray[Any]) -> memoryview:
    return array.reshape(-1).view(np.uint8).data


def _as_json(name: str, value: Any) -> str:
    try:
        return json.dumps(value, default=_number)
    except TypeError as error:
        raise TypeError(f"{name}: {error}") from None


def _number(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{type(value).__name__} is not JSON")


def waited_ms(process: str = "thread-self") -> float:
    """Return the milliseconds that a thread, of a folder in ``/proc``, waited for a core; 0 where unknown."""
    try:
        return int(Path("/proc", process, "schedstat").read_text(encoding="ascii").split()[1]) / 1e6
    except (OSError, ValueError, IndexError):
        return 0.0


def settle(process: int) -> None:
    """Return when the main thread of a process is blocked, or after `SETTLE_S`.

    A wait for a core is counted when it ends. One that began before a request would shorten its time.
    """
    end = time.monotonic() + SETTLE_S
    with suppress(OSError):
        while time.monotonic() < end:
            stat = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace")
            if not stat.rpartition(")")[2].startswith(" R"):
                return
            time.sleep(1e-4)


def cause_of_death(exit_code: int | None) -> str:
    """Describe how a process ended."""
    if exit_code is None:
        return "closed its connection"
    if exit_code < 0:
        known = {one.value: one.name for one in signal.Signals}
        return f"died of {known.get(-exit_code, f'signal {-exit_code}')}"
    return f"exited with code {exit_code} before it had finished"
