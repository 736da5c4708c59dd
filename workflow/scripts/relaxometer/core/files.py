"""Files that are never seen half-written: each is written to a temporary name, then renamed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

ROW_GROUP = 1 << 20
"""Rows per row group of a Parquet file."""


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary path, and rename it to `path` if the block succeeds."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(path.name + ".part")
    yield temporary
    temporary.replace(path)


def write_table(table: pa.Table, path: Path, dictionaries: bool | list[str] = True) -> None:
    """Write `table` as zstd-compressed Parquet.

    `dictionaries` names the columns with few distinct values; by default every column gets a dictionary.
    Trying one on a column of many values takes half of the writing time.
    """
    with replacing(path) as temporary:
        pq.write_table(
            table, temporary, compression="zstd", row_group_size=ROW_GROUP, use_dictionary=dictionaries
        )


def write_json(content: Any, path: Path) -> None:
    """Write `content` as indented JSON."""
    write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", path)


def write_text(text: str, path: Path) -> None:
    """Write `text` as UTF-8."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
