"""Files that are never seen half-written: each is written to a temporary name, then renamed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

if TYPE_CHECKING:
    import pandas as pd

ROW_GROUP = 1 << 20
"""Rows per row group of a Parquet file."""


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary path, and rename it to `path` if the block succeeds; delete it if not.

    Raises
    ------
    OSError
        If the file cannot be written; names `path`.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(path.name + ".part")
    try:
        yield temporary
        temporary.replace(path)
    except BaseException as error:
        if isinstance(error, OSError) and error.errno and error.filename in (None, str(temporary)):
            error.filename = str(path)
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise


def write_table(table: pa.Table, path: Path, dictionaries: bool | list[str] = True) -> None:
    """Write `table` as zstd-compressed Parquet.

    `dictionaries` names the columns with few distinct values; by default every column gets a dictionary.
    Trying one on a column of many values takes half of the writing time.
    """
    with replacing(path) as temporary:
        pq.write_table(
            table, temporary, compression="zstd", row_group_size=ROW_GROUP, use_dictionary=dictionaries
        )


def write_csv(table: pd.DataFrame, path: Path, **options: Any) -> None:
    """Write `table` as CSV without its index."""
    with replacing(path) as temporary:
        table.to_csv(temporary, index=False, **options)


def write_json(content: Any, path: Path) -> None:
    """Write `content` as indented JSON."""
    write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", path)


def write_text(text: str, path: Path) -> None:
    """Write `text` as UTF-8."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
