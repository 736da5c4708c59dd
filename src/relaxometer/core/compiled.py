"""Numba, with a lock on its cache of compiled functions, which several jobs read and write at once.

Numba itself locks nothing. Two processes that compile a function for different types, as the builds of two
graphs at the beginning of a run, may choose one file for both, and every later process would run what was
compiled for the other type. So every module takes the decorators of Numba from here.
"""

import fcntl
import functools
import logging
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from numba import get_num_threads, njit, prange
from numba.core.caching import IndexDataCacheFile
from numba.core.event import Listener, register

__all__ = ["get_num_threads", "njit", "prange"]

LOCK = "numba.lock"  # name of the lock file in a cache folder
LONG_S = 2.0  # a compilation that takes longer is said
LOGGER = logging.getLogger("relaxometer")


def _locking(method: Callable[..., Any]) -> Callable[..., Any]:
    """Lock the cache folder while a method reads or writes it."""

    @functools.wraps(method)
    def locked(self: Any, *arguments: Any) -> Any:
        with _locked(Path(self._cache_path)):
            return method(self, *arguments)

    return locked


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Lock a folder for the block; without a lock if it is read-only or its file system has none."""
    with ExitStack() as stack:
        with suppress(OSError):
            file = stack.enter_context((folder / LOCK).open("w"))
            fcntl.flock(file, fcntl.LOCK_EX)
            # Closing would not do if a process forked in the meantime still has the file.
            stack.callback(fcntl.flock, file, fcntl.LOCK_UN)
        yield


class _Announcer(Listener):
    """Says once per process that functions are being compiled, if that takes long."""

    def __init__(self) -> None:
        self.said = False
        self._depth, self._since, self._spent = 0, 0.0, 0.0

    def on_start(self, event: Any) -> None:
        if not self._depth:
            self._since = time.monotonic() - self._spent
        self._depth += 1
        self._look()

    def on_end(self, event: Any) -> None:
        self._depth -= 1
        self._spent = self._look()

    def _look(self) -> float:
        spent = time.monotonic() - self._since
        if spent > LONG_S and not self.said:
            self.said = True
            LOGGER.warning("relaxometer: compiling for the CPU, once per installation; up to two minutes")
        return spent


ANNOUNCER = _Announcer()


@functools.cache
def announce() -> None:
    """Let the logger ``relaxometer`` say from now on if this process compiles for long."""
    register("numba:compile", ANNOUNCER)  # type: ignore[no-untyped-call]


for _name in ("load", "save", "flush"):
    _method = getattr(IndexDataCacheFile, _name)
    if not hasattr(_method, "__wrapped__"):  # a second lock in one process would wait forever
        setattr(IndexDataCacheFile, _name, _locking(_method))
