"""Files that are never seen half-written, and files whose damage is an error of one line.

Each is written to a temporary name, then renamed.
"""

from __future__ import annotations

import errno
import fcntl
import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from relaxometer.core.errors import UserError, quoted

if TYPE_CHECKING:
    import pandas as pd

ROW_GROUP = 1 << 20  # rows per row group of a Parquet file


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary path, and rename it to `path` if the block succeeds; an OSError names `path`."""
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


MAKE_AGAIN = "delete it and run again, and it is made again"

RESTORE = "restore it from the repository"
"""Advice for a damaged file of ``docs/results``, which no run makes again."""


@contextmanager
def reading(path: Path, form: str, *, advice: str = MAKE_AGAIN) -> Iterator[None]:
    """Raise UserError, with file and advice, if what the block reads is missing or damaged."""
    try:
        yield
    except (OSError, pa.ArrowException, ValueError, RecursionError) as error:
        is_a_lack = isinstance(error, OSError) and error.errno not in (None, errno.ENOENT)
        if is_a_lack or isinstance(error, MemoryError):
            raise
        raise UserError(f"{path}: not readable as {form} ({quoted(error)}); {advice}") from None


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Wait until no other process, of any node, has locked `folder`, which need not exist, and lock it."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_name(folder.name + ".lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def read_json(path: Path, *, advice: str = MAKE_AGAIN) -> dict[str, Any]:
    """Return the content of a JSON file; UserError unless it has keys and values."""
    with reading(path, "JSON", advice=advice):
        content = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(content, dict):
            raise ValueError("it has no keys and values")
        return content


def read_table(path: Path, columns: list[str] | None = None) -> pa.Table:
    """Return all or some columns of a Parquet file; UserError if it is damaged, or a column is missing."""
    with reading(path, "Parquet"):
        return pq.read_table(path, columns=columns)


def read_frame(path: Path, *, advice: str = MAKE_AGAIN, **options: Any) -> pd.DataFrame:
    """Return a Parquet or CSV file for pandas, whose readers take `options`; UserError if it is damaged."""
    import pandas as pd

    with reading(path, "CSV" if path.suffix == ".csv" else "Parquet", advice=advice):
        read = read_csv if path.suffix == ".csv" else pd.read_parquet
        found: pd.DataFrame = read(path, **options)
    return found


def read_csv(source: Path | IO[bytes], **options: Any) -> pd.DataFrame:
    """Return rows as pandas reads them, but only empty fields are missing: a graph may be called `nan`."""
    import pandas as pd

    if "keep_default_na" not in options:
        options |= {"keep_default_na": False, "na_values": [""]}
    found: pd.DataFrame = pd.read_csv(source, **options)
    return found


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
