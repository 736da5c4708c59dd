"""A file that is being fetched: its expected identity, and the part that has arrived."""

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from relaxometer.core.files import write_text

CHUNK = 1 << 18
"""Bytes in memory at a time."""

MAX_UNDECLARED = 8 << 30
"""Largest file, in bytes, of a server that does not say how large it is."""

_NO_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP}
"""Errors of file systems, such as some parallel ones, that have no locks."""

_TAG = re.compile(r"[\x21-\x7e][\x20-\x7e]{0,999}")
_HTML = re.compile(rb"(\xef\xbb\xbf)?\s*<(!doctype\s+html|html)\b", re.IGNORECASE)

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


class TooSlowError(TransientError):
    """An attempt made some progress, but too little to renew the attempts."""


@dataclass(frozen=True)
class Wanted:
    """The expected identity of a file.

    Parameters
    ----------
    name : str
    sha256 : str or None
    n_bytes : int or None
    pin : Path or None
        File that `sha256` was read from; None if the caller gave it.
    """

    name: str
    sha256: str | None
    n_bytes: int | None
    pin: Path | None = None

    def check_size(self, offered: int | None) -> None:
        """Refuse a file of another size before it is fetched."""
        if None not in (self.n_bytes, offered) and offered != self.n_bytes:
            raise LocationError(f"the file there has {offered} bytes, expected {self.n_bytes}")

    def check_hash(self, digest: str) -> None:
        """Refuse a file of another content."""
        if self.sha256 in (None, digest):
            return
        advice = f" as first read; to accept the new file, delete {self.pin}" if self.pin else ""
        raise WrongContentError(f"the file there has sha256 {digest}, expected {self.sha256}{advice}")

    def checked(self, file: Path) -> str:
        """Return the hash of a complete file in hexadecimal; refuse it if it is another one.

        The hash is that of the file, not of the bytes that have arrived: a disk may fail, and some file
        systems have no locks that keep other processes from it.
        """
        self.check_size(file.stat().st_size)
        self.check_kind(file)
        with file.open("rb") as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
        self.check_hash(digest)
        return digest

    def check_kind(self, file: Path) -> None:
        """Refuse an empty file and an HTML page where no checksum of the caller can."""
        if self.sha256 and not self.pin:
            return
        with file.open("rb") as stream:
            beginning = stream.read(1000)
        if not beginning:
            raise WrongContentError("the file there is empty")
        if _HTML.match(beginning):
            raise WrongContentError("there is an HTML page instead of the file, as for a login or an error")


class Part:
    """The part of a file that has arrived, and the server's tag of the version that it belongs to.

    Parameters
    ----------
    destination : Path
        The part is in the same folder, as ``{destination}.part``.
    """

    def __init__(self, destination: Path) -> None:
        self.path = destination.with_name(destination.name + ".part")
        self._destination = destination
        self._tag = destination.with_name(destination.name + ".part.json")
        self._lock = destination.with_name(destination.name + ".part.lock")

    @contextmanager
    def locked(self) -> Iterator[bool]:
        """Keep other processes from fetching the same file; wait if one does.

        Yields
        ------
        bool
            Whether another process completed the file in the meantime.
        """
        waited = False
        while True:
            handle = os.open(self._lock, os.O_RDWR | os.O_CREAT)
            try:
                waited |= _lock(handle, self._destination.name)
                # The last holder deletes the file, so the lock may be that of a file that is gone.
                if not _is_at(handle, self._lock):
                    waited = True
                    continue
                try:
                    yield waited and self._destination.is_file()
                finally:
                    self._lock.unlink(missing_ok=True)
                return
            finally:
                os.close(handle)

    @property
    def size(self) -> int:
        """Bytes that have arrived."""
        return self.path.stat().st_size if self.path.is_file() else 0

    def validator(self, url: str) -> str | None:
        """Return the tag that `url` gave this version of the file; None if it gave none."""
        try:
            tag = json.loads(self._tag.read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            return None
        if not isinstance(tag, dict) or tag.get("url") != url:
            return None
        return usable_tag(tag.get("validator"))

    def begin(self, url: str, validator: str | None) -> None:
        """Start over with a file from `url`."""
        self.discard()
        if validator:
            write_text(json.dumps({"url": url, "validator": validator}), self._tag)

    def append(self, chunks: Iterator[bytes], total: int | None, report: Report) -> None:
        """Append `chunks` to the part.

        Raises
        ------
        LocationError
            If the rest does not fit on the disk, or is longer than announced.
        """
        done = self.size
        rest = (total or done) - done
        free = shutil.disk_usage(self.path.parent).free
        if rest > free:
            raise LocationError(
                f"{megabytes(rest)} needed in {self.path.parent}, but only {megabytes(free)} are free"
            )
        with self.path.open("ab") as file:
            for chunk in chunks:
                done += len(chunk)
                if done > (MAX_UNDECLARED if total is None else total):
                    self.discard()
                    raise WrongContentError(_too_long(total))
                file.write(chunk)
                report(done, total)

    def checked(self, wanted: Wanted, total: int | None) -> str:
        """Return the hash of the complete file, of `total` bytes; delete the file if it is the wrong one."""
        try:
            if total not in (None, self.size):
                raise WrongContentError(f"{self.size} bytes have arrived, expected {total}")
            return wanted.checked(self.path)
        except LocationError:
            self.discard()
            raise

    def discard(self) -> None:
        """Delete the part."""
        self.path.unlink(missing_ok=True)
        self._tag.unlink(missing_ok=True)

    def finish(self, destination: Path) -> None:
        """Rename the complete file."""
        self.path.replace(destination)
        self._tag.unlink(missing_ok=True)


def _lock(handle: int, name: str) -> bool:
    """Lock an open file; return whether another process had to be waited for. Without locks, go on."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        print(f"{name}: another process is fetching it; waiting", file=sys.stderr, flush=True)
        fcntl.flock(handle, fcntl.LOCK_EX)
        return True
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise
    return False


def _is_at(handle: int, path: Path) -> bool:
    """Return whether an open file is the one that is at `path` now."""
    try:
        return os.path.samestat(os.fstat(handle), path.stat())
    except FileNotFoundError:
        return False


def _too_long(total: int | None) -> str:
    if total is not None:
        return f"the file there has more than the expected {total} bytes"
    return (
        f"the server sends more than {megabytes(MAX_UNDECLARED)} and does not say how much will come; "
        "give `bytes` in the dataset's entry"
    )


def usable_tag(text: object) -> str | None:
    """Return the tag of a version if it can be sent back in a header; else None."""
    return text if isinstance(text, str) and _TAG.fullmatch(text) else None


def megabytes(n_bytes: int) -> str:
    """Return a size for messages."""
    return f"{n_bytes / 1e6:.1f} MB"
