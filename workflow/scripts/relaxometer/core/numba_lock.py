"""Locks Numba's cache of compiled functions, which several jobs read and write at once."""

from __future__ import annotations

import fcntl
import functools
import importlib.util
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

LOCK = "numba.lock"
"""Name of the lock file in a cache folder."""

_CACHING = "numba.core.caching"


def lock_numba() -> None:
    """Make processes that compile at the same time take turns with Numba's cache.

    Numba itself locks nothing. Two processes that compile a function for different types, as the builds of
    two graphs at the beginning of a run, may choose one file for both, and every later process would run what
    was compiled for the other type. Numba need not be imported yet, and is not imported here.
    """
    if _CACHING in sys.modules:
        _lock_methods(sys.modules[_CACHING])
    else:
        sys.meta_path.insert(0, _LockingFinder())


class _LockingFinder:
    """Finds Numba's cache module, and adds the locks once it is imported."""

    def find_spec(self, name: str, *_: Any) -> ModuleSpec | None:
        """Return the spec of Numba's cache module, and None for all others."""
        if name != _CACHING:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec and spec.loader:
            execute = spec.loader.exec_module

            def then_lock(module: Any) -> None:
                execute(module)
                _lock_methods(module)

            spec.loader.exec_module = then_lock  # type: ignore[method-assign]
        return spec


def _lock_methods(caching: Any) -> None:
    """Lock the cache folder in the methods that read and write it."""
    file = caching.IndexDataCacheFile
    for name in ("load", "save", "flush"):
        method = getattr(file, name)
        if not hasattr(method, "__wrapped__"):  # a second lock in one process would wait forever
            setattr(file, name, _locking(method))


def _locking(method: Callable[..., Any]) -> Callable[..., Any]:
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
