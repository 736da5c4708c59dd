"""Keeps pandas, whose import takes longer than most jobs, out of processes that do not use it."""

from __future__ import annotations

import sys
from typing import Any


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
