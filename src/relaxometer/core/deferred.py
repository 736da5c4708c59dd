"""Packages that take long to import and that a process may not need."""

import importlib.util
import sys
from types import ModuleType
from typing import Any


class _Deferred(ModuleType):
    """Stands for a package until one of its names is used; `importlib.util.LazyLoader` ends at an import."""

    def __getattr__(self, name: str) -> Any:
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        return getattr(importlib.import_module(self.__name__), name)


def defer(package: str) -> None:
    """Let statements that import `package` load it when one of its names is first used."""
    if package not in sys.modules and (spec := importlib.util.find_spec(package)):
        sys.modules[package] = module = _Deferred(package)
        module.__spec__ = spec
