"""A file that is being fetched: its expected identity, and the part that has arrived."""

from __future__ import annotations

import errno
import hashlib
import json
import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from relaxometer.core.errors import UserError
from relaxometer.core.files import write_text

CHUNK = 1 << 18
"""Bytes in memory at a time."""

Report = Callable[[int, int | None], None]
"""Called with the bytes fetched so far and the total, if known."""


class LocationError(Exception):
    """A location does not have the file; a retry would not help."""


class WrongContentError(LocationError):
    """A location has a complete file, but not the expected one."""


class TransientError(Exception):
    """An attempt failed in a way that a retry may cure.

    Parameters
    ----------
    reason : str
    wait_s : float, optional
        Pause that the server asked for.
    """

    def __init__(self, reason: str, wait_s: float | None = None) -> None:
        super().__init__(reason)
        self.wait_s = wait_s


@dataclass(frozen=True)
class Wanted:
    """The expected identity of a file.

    Parameters
    ----------
    name : str
    sha256 : str or None
    n_bytes : int or None
    lock : Path or None
        Lock file that `sha256` was read from, if any.
    """

    name: str
    sha256: str | None
    n_bytes: int | None
    lock: Path | None = None

    @classmethod
    def known(cls, name: str, sha256: str | None, n_bytes: int | None, lock: Path) -> Wanted:
        """Return the identity given by the caller, or else by the lock file."""
        if sha256 is not None or not lock.is_file():
            return cls(name, sha256, n_bytes)
        locked = lock.read_text(encoding="utf-8").partition(" ")[0]
        if not re.fullmatch("[0-9a-f]{64}", locked):
            raise UserError(f"{lock}: expected a line '<sha256>  {name}'; delete it to accept the file anew")
        return cls(name, locked, n_bytes, lock)

    def check_size(self, offered: int | None) -> None:
        """Refuse a file of another size before it is fetched."""
        if None not in (self.n_bytes, offered) and offered != self.n_bytes:
            raise LocationError(f"the file there has {offered} bytes, expected {self.n_bytes}")

    def check_hash(self, digest: str) -> None:
        """Refuse a file of another content."""
        if self.sha256 and digest != self.sha256:
            origin = f" (the first download, {self.lock})" if self.lock else ""
            raise WrongContentError(f"{self.name} has sha256 {digest}, expected {self.sha256}{origin}")


class Part:
    """The part of a file that has arrived, and the server's tag of the version that it belongs to.

    Parameters
    ----------
    destination : Path
        The part is in the same folder, as ``{destination}.part``.
    """

    def __init__(self, destination: Path) -> None:
        self.path = destination.with_name(destination.name + ".part")
        self._tag = destination.with_name(destination.name + ".part.json")

    @property
    def size(self) -> int:
        """Bytes that have arrived."""
        return self.path.stat().st_size if self.path.is_file() else 0

    def digest(self) -> hashlib._Hash:
        """Return the running hash of the part."""
        if not self.path.is_file():
            return hashlib.sha256()
        with self.path.open("rb") as file:
            return hashlib.file_digest(file, "sha256")

    def validator(self, url: str) -> str | None:
        """Return the tag that `url` gave this version of the file; None if it gave none."""
        try:
            tag = json.loads(self._tag.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return tag["validator"] if tag.get("url") == url else None

    def begin(self, url: str, validator: str | None) -> None:
        """Start over with a file from `url`."""
        self.discard()
        if validator:
            write_text(json.dumps({"url": url, "validator": validator}), self._tag)

    def append(
        self, chunks: Iterator[bytes], digest: hashlib._Hash, total: int | None, report: Report
    ) -> None:
        """Append `chunks` to the part and to its running hash.

        Raises
        ------
        OSError
            If the rest does not fit on the disk.
        """
        done = self.size
        free = shutil.disk_usage(self.path.parent).free
        if (total or done) - done > free:
            needed = megabytes((total or done) - done)
            raise OSError(errno.ENOSPC, f"{needed} needed in {self.path.parent}, {megabytes(free)} free")
        with self.path.open("ab") as file:
            for chunk in chunks:
                file.write(chunk)
                digest.update(chunk)
                done += len(chunk)
                report(done, total)

    def checked(self, digest: hashlib._Hash, wanted: Wanted) -> str:
        """Return the hash of the complete file in hexadecimal; delete the file if it is the wrong one."""
        try:
            wanted.check_size(self.size)
            wanted.check_hash(digest.hexdigest())
        except LocationError:
            self.discard()
            raise
        return digest.hexdigest()

    def discard(self) -> None:
        """Delete the part."""
        self.path.unlink(missing_ok=True)
        self._tag.unlink(missing_ok=True)

    def finish(self, destination: Path) -> None:
        """Rename the complete file."""
        self.path.replace(destination)
        self._tag.unlink(missing_ok=True)


def megabytes(n_bytes: int) -> str:
    """Return a size for messages."""
    return f"{n_bytes / 1e6:.1f} MB"
