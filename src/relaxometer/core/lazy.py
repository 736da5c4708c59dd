"""Keeps pandas, whose import takes longer than most jobs, out of processes that do not use it."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import Any


class _Deferred(ModuleType):
    def __getattr__(self, name: str) -> Any:
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        return getattr(importlib.import_module(self.__name__), name)


def defer_pandas() -> None:
    """Have pandas imported when one of its attributes is first used, unless it is imported already.

    With :class:`importlib.util.LazyLoader` the second ``import pandas`` would do it.
    """
    sys.modules.setdefault("pandas", _Deferred("pandas"))


class _Absent:
    """An importer that finds no pandas."""

    @staticmethod
    def find_spec(name: str, *_: Any) -> None:
        if name == "pandas":
            raise ModuleNotFoundError(name=name)


def hide_pandas_from_pyarrow() -> None:
    """Let pyarrow, if it is imported, work without pandas, which it would import with the first array.

    Its conversions to and from pandas then fail; ``import pandas`` does not.
    """
    if pyarrow := sys.modules.get("pyarrow"):
        sys.meta_path.insert(0, _Absent)
        pyarrow.array([])
        sys.meta_path.remove(_Absent)
