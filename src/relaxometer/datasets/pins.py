"""Checksums of downloads whose entry has none: the first file that could be read fixes it.

The checksum is the only line of ``{file}.sha256`` in the file's folder. It is written once a reader has
accepted the file, so a cut download or an error page does not count.
"""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

from relaxometer.core.errors import UserError
from relaxometer.core.files import write_text
from relaxometer.datasets.registry import Dataset

_HASH = re.compile(rb"[0-9a-f]{64}(?= |\s*$)")


def pin_of(file: Path) -> Path:
    """Return the file that holds the checksum of a download."""
    return file.with_name(file.name + ".sha256")


def pinned(file: Path) -> str | None:
    """Return the checksum that the first file of this name had; None if none was ever read."""
    path = pin_of(file)
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UserError(f"{path}: not readable ({error.strerror})") from None
    found = _HASH.match(content)
    if not found:
        raise UserError(f"{path}: expected a line '<sha256>  {file.name}'; delete it to accept the file")
    return found[0].decode()


def pin_downloads(dataset: Dataset[Any], files: list[Path], metadata: Mapping[str, str]) -> None:
    """Fix the checksums, as in the metadata of a graph or batch, of the downloads that it was made from."""
    for role, file in _unpinned(dataset, files):
        pin = pin_of(file)
        # Another job that reads the same file may write its line now; with one temporary file for both, a
        # third could see it empty.
        mine = pin.with_name(f"{pin.name}.{uuid4().hex}")
        write_text(f"{metadata[f'{role}_sha256']}  {file.name}\n", mine)
        mine.replace(pin)


@contextmanager
def advice_for_unpinned(dataset: Dataset[Any], files: list[Path]) -> Iterator[None]:
    """Add to a user error in the block how to fetch the files anew that have no checksum yet."""
    try:
        yield
    except UserError as error:
        suspects = [str(file) for _, file in _unpinned(dataset, files)]
        if not suspects:
            raise
        raise UserError(
            f"{error}; no checksum is known of {' and '.join(suspects)}: if a download may be incomplete, "
            "delete it and run again"
        ) from None


def _unpinned(dataset: Dataset[Any], files: list[Path]) -> list[tuple[str, Path]]:
    """Return role and path of the downloads whose checksum is neither given nor pinned."""
    roles = ["file", str(dataset.kind.companion)]
    return [
        (role, file)
        for role, file, entry in zip(roles, files, dataset.files, strict=False)
        if entry.urls and not entry.sha256 and not pin_of(file).exists()
    ]
