"""Keeps the compiled modules of a device, so that a second solver neither reads nor parses them again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

Stamps = dict[Path, tuple[int, int]]
"""Time of change in nanoseconds and size of each file."""


class Compiled(Protocol):
    """A module; `files` are those that it was made from."""

    files: tuple[Path, ...]


Module = TypeVar("Module", bound=Compiled)


class LoadedModules(Generic[Module]):
    """Modules by the request that made them, each until one of the files that it was made from changes.

    `make` takes the parameters of :meth:`relaxometer.device.Device.module`.
    """

    def __init__(self, make: Callable[..., Module]) -> None:
        self._make = make
        self._modules: dict[Any, tuple[Module, Stamps]] = {}

    def get(
        self,
        path: Path,
        *,
        options: tuple[str, ...] = (),
        cooperative: bool = False,
        name_expressions: Sequence[str] = (),
    ) -> Module:
        """Return the module of a request, made anew if a file has changed."""
        request = path.absolute(), tuple(options), cooperative, tuple(name_expressions)
        module, stamps = self._modules.get(request, (None, {}))
        if module is None or stamps != _stamps(stamps):
            module = self._make(
                path,
                options=tuple(options),
                cooperative=cooperative,
                name_expressions=tuple(name_expressions),
            )
            self._modules[request] = module, _stamps(module.files)
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
