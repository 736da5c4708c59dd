"""Keeps the compiled modules of a device, so that a second solver neither reads nor parses them again."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from pathlib import Path
from typing import Generic, TypeVar

Module = TypeVar("Module")

Stamps = dict[Path, tuple[int, int]]
"""Time of change in nanoseconds and size of each file."""


class LoadedModules(Generic[Module]):
    """Modules by the request that made them, each until one of the files that it was made from changes."""

    def __init__(self) -> None:
        self._modules: dict[Hashable, tuple[Module, Stamps]] = {}

    def get(
        self, request: Hashable, make: Callable[[], Module], files: Callable[[Module], Iterable[Path]]
    ) -> Module:
        """Return the module of a request; `make` it unless it is there and its `files` are unchanged."""
        module, stamps = self._modules.get(request, (None, {}))
        if module is None or stamps != _stamps(stamps):
            module = make()
            self._modules[request] = module, _stamps(files(module))
        return module


def _stamps(files: Iterable[Path]) -> Stamps:
    """Return the state of files; one that is gone has none."""
    found: Stamps = {}
    for file in files:
        try:
            status = file.stat()
        except OSError:
            continue
        found[file] = status.st_mtime_ns, status.st_size
    return found
