"""Numba, with a lock on its cache of compiled functions, which several jobs read and write at once.

Numba itself locks nothing. Two processes that compile a function for different types, as the builds of two
graphs at the beginning of a run, may choose one file for both, and every later process would run what was
compiled for the other type. So every module takes the decorators of Numba from here.
"""

import fcntl
import functools
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from numba import get_num_threads, njit, prange
from numba.core.caching import IndexDataCacheFile

__all__ = ["get_num_threads", "njit", "prange"]

LOCK = "numba.lock"  # name of the lock file in a cache folder


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


for _name in ("load", "save", "flush"):
    _method = getattr(IndexDataCacheFile, _name)
    if not hasattr(_method, "__wrapped__"):  # a second lock in one process would wait forever
        setattr(IndexDataCacheFile, _name, _locking(_method))
