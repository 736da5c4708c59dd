"""Numba, with a lock for each function that several jobs may compile at once.

Numba itself locks nothing. Two processes that compile a function for different types, as the builds of two
graphs at the beginning of a run, may choose one file for both, and every later process would run what was
compiled for the other type; for the same types, the work is done twice. So every module takes the decorators
of Numba from here.
"""

import fcntl
import functools
import logging
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any

import numba
from numba import get_num_threads, prange
from numba.core.caching import NullCache
from numba.core.compiler_lock import global_compiler_lock
from numba.core.dispatcher import Dispatcher
from numba.core.event import Listener, register
from numba.core.types import unliteral

__all__ = ["get_num_threads", "njit", "prange"]

# Without the entry point for C, which takes a tenth of a compilation.
njit = functools.partial(numba.njit, no_cfunc_wrapper=True)
LONG_S = 2.0  # a compilation that takes longer is said
LOGGER = logging.getLogger("relaxometer")


def _once(method: Callable[..., Any]) -> Callable[..., Any]:
    """Lock a function of the cache until it is compiled and kept: who waits finds it.

    Locks are taken from callers to callees, so no two processes wait for each other. Numba would also compile
    a callee once more for each constant argument.
    """

    @functools.wraps(method)
    def locked(self: Any, sig: Any) -> Any:
        if isinstance(self._cache, NullCache) or not self.targetoptions.get("no_cfunc_wrapper"):
            return method(self, sig)  # not kept, or not ours
        with global_compiler_lock, nullcontext() if self.is_compiling else _locked(self._cache):
            return method(self, tuple(map(unliteral, sig)) if isinstance(sig, tuple) else sig)

    return locked


@contextmanager
def _locked(cache: Any) -> Iterator[None]:
    """Lock a function for the block; not if its folder is read-only or its file system has no locks."""
    with ExitStack() as stack:
        with suppress(OSError):
            folder = Path(cache.cache_path)
            folder.mkdir(parents=True, exist_ok=True)
            file = stack.enter_context((folder / f"{cache._impl.filename_base}.lock").open("w"))
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


if not hasattr(Dispatcher.compile, "__wrapped__"):  # a second lock in one process would wait forever
    Dispatcher.compile = _once(Dispatcher.compile)  # type: ignore[method-assign]
