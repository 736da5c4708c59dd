"""Transfers over HTTP that resume and retry, into a part of the file that other processes leave alone."""

import fcntl
import hashlib
import json
import os
import re
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import requests
import urllib3

from relaxometer import __version__
from relaxometer.core.errors import quoted

CHUNK = 1 << 18
"""Bytes in memory at a time."""

MAX_UNDECLARED = 8 << 30
"""Largest file, in bytes, of a server that does not say how large it is."""

HEADERS = {
    "User-Agent": f"relaxometer/{__version__} (graph benchmark; python-requests)",
    "Accept-Encoding": "identity",
}
ENCODINGS = ("gzip", "x-gzip", "deflate", "br", "zstd")
"""Compressions that a server may apply on the way."""

COMPRESSED = (".gz", ".tgz", ".br", ".zst")
"""Ends of names of files that are compressed themselves, which some servers declare to be done on the way."""

TRANSIENT_STATUSES = {408, 425, 429, 500, 502, 503, 504}
"""HTTP statuses worth a retry."""

MAX_REDIRECTS = 30

_TAG = re.compile(r"[\x21-\x7e][\x20-\x7e]{0,999}")
_HTML = re.compile(rb"(\xef\xbb\xbf)?\s*<(!doctype\s+html|html)\b", re.IGNORECASE)

Report = Callable[[int, int | None], None]
"""Called with the bytes fetched so far and the total, if known."""


class LocationError(Exception):
    """A location does not have the file; a retry would not help."""


class WrongContentError(LocationError):
    """A location has a complete file, but not the expected one."""


class TransientError(Exception):
    """An attempt failed in a way that a retry may cure; `wait_s` is the pause that the server asked for."""

    def __init__(self, reason: str, wait_s: float | None = None) -> None:
        super().__init__(reason)
        self.wait_s = wait_s


@dataclass(frozen=True)
class Retries:
    """The patience with a server.

    A location is given up after `attempts` consecutive failures without progress, which is `progress` more
    bytes. The pause doubles with each attempt up to the longest. An attempt fails after silence of a timeout,
    or if it is slower than `slowest` bytes per second, averaged over `read_timeout_s`.
    """

    attempts: int = 5
    progress: int = CHUNK
    pause_s: float = 1.0
    longest_pause_s: float = 30.0
    connect_timeout_s: float = 10.0
    read_timeout_s: float = 30.0
    slowest: float = 1000.0

    def pause(self, failures: int, asked_s: float | None) -> float:
        """Return the seconds to wait after `failures` in a row; `asked_s` is the server's own wish."""
        pause = self.pause_s * 2 ** max(failures - 1, 0) if asked_s is None else asked_s
        return min(pause, self.longest_pause_s)


@dataclass(frozen=True)
class Wanted:
    """The expected identity of a file; `pin` is the file that `sha256` was read from, if it was not given."""

    name: str
    sha256: str | None
    n_bytes: int | None
    pin: Path | None = None

    def check_size(self, offered: int | None) -> None:
        """Refuse a file of another size before it is fetched."""
        if None not in (self.n_bytes, offered) and offered != self.n_bytes:
            raise LocationError(f"the file there has {offered} bytes, expected {self.n_bytes}")

    def checked(self, file: Path) -> str:
        """Return the hash of a complete file in hexadecimal; refuse it if it is another one.

        The hash is that of the file, not of the bytes that have arrived: a disk may fail, and some file
        systems have no locks that keep other processes from it. Where no checksum of the caller can, an
        empty file and an HTML page are refused too.
        """
        self.check_size(file.stat().st_size)
        with file.open("rb") as stream:
            beginning = stream.read(1000)
            stream.seek(0)
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
        is_named = self.sha256 and not self.pin
        if not (beginning or is_named):
            raise WrongContentError("the file there is empty")
        if _HTML.match(beginning) and not is_named:
            raise WrongContentError("there is an HTML page instead of the file, as for a login or an error")
        if self.sha256 not in (None, digest):
            advice = f" as first read; to accept the new file, delete {self.pin}" if self.pin else ""
            raise WrongContentError(f"the file there has sha256 {digest}, expected {self.sha256}{advice}")
        return digest


class Part:
    """The part ``{destination}.part`` that has arrived, and the server's tag of the version of its file."""

    def __init__(self, destination: Path) -> None:
        self.path = destination.with_name(destination.name + ".part")
        self._destination = destination
        self._tag = destination.with_name(destination.name + ".part.json")

    @contextmanager
    def locked(self) -> Iterator[bool]:
        """Keep other processes from fetching the same file; wait if one does.

        Yields whether another process completed the file in the meantime.
        """
        waited = False
        while True:
            with self.path.open("ab") as file:
                waited |= _lock(file.fileno(), self._destination.name)
                # The last holder renames or deletes the file, so the lock may be that of one that is gone.
                if not self._is(file.fileno()):
                    continue
                try:
                    yield waited and self._destination.is_file()
                finally:
                    if self._is(file.fileno()) and not self.size:
                        self.path.unlink()
                return

    def _is(self, handle: int) -> bool:
        """Return whether an open file is the one that has the part's name now."""
        return self.path.exists() and os.path.samestat(self.path.stat(), os.fstat(handle))

    @property
    def size(self) -> int:
        """Bytes that have arrived."""
        return self.path.stat().st_size if self.path.is_file() else 0

    def validator(self, url: str) -> str | None:
        """Return the tag that `url` gave this version of the file; None if it gave none."""
        with suppress(OSError, ValueError, RecursionError):
            match json.loads(self._tag.read_text(encoding="utf-8")):
                case [origin, str(tag)] if origin == url and _TAG.fullmatch(tag):
                    return tag
        return None

    def begin(self, url: str, validator: str | None) -> None:
        """Start over with a file from `url`."""
        self.discard()
        if validator:
            self._tag.write_text(json.dumps([url, validator]), encoding="utf-8")

    def append(self, chunks: Iterator[bytes], total: int | None, report: Report) -> None:
        """Append `chunks` to the part; LocationError if the rest does not fit on the disk or is too long."""
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

    def checked(self, wanted: Wanted) -> str:
        """Return the hash of the complete file; delete the content if it is the wrong one."""
        try:
            return wanted.checked(self.path)
        except LocationError:
            self.discard()
            raise

    def discard(self) -> None:
        """Empty the part; the file itself is the lock."""
        with suppress(FileNotFoundError):
            os.truncate(self.path, 0)
        self._tag.unlink(missing_ok=True)

    def finish(self) -> None:
        """Rename the complete file."""
        self._tag.unlink(missing_ok=True)
        self.path.replace(self._destination)


def _lock(handle: int, name: str) -> bool:
    """Lock an open file; return whether another process had to be waited for."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        print(f"{name}: another process is fetching it; waiting", file=sys.stderr, flush=True)
        fcntl.flock(handle, fcntl.LOCK_EX)
        return True
    except OSError:
        return False  # some file systems have no locks
    return False


def _too_long(total: int | None) -> str:
    if total is not None:
        return f"the file there has more than the expected {total} bytes"
    return (
        f"the server sends more than {megabytes(MAX_UNDECLARED)} and does not say how much will come; "
        "give `bytes` in the dataset's entry"
    )


def download(url: str, part: Part, wanted: Wanted, retries: Retries, report: Report) -> str:
    """Download `url` to `part` and return its hash; progress renews the attempts.

    LocationError if the server does not deliver the expected file.
    """
    failures, furthest = 0, part.size
    with _Session() as session:
        session.headers.update(HEADERS)
        while True:
            resumed = part.size > 0
            try:
                return _attempt(session, url, part, wanted, retries, report)
            except WrongContentError:
                # The beginning may belong to an earlier version of the file or to another server's file.
                if not resumed:
                    raise
            except TransientError as error:
                failures = 0 if part.size >= furthest + retries.progress else failures + 1
                furthest = max(furthest, part.size)
                if failures >= retries.attempts:
                    raise LocationError(f"{error} ({failures} attempts)") from None
                pause = retries.pause(failures, error.wait_s)
                print(f"{wanted.name}: {error}; next attempt in {pause:g} s", file=sys.stderr, flush=True)
                time.sleep(pause)


def _attempt(
    session: requests.Session, url: str, part: Part, wanted: Wanted, retries: Retries, report: Report
) -> str:
    """Request the missing bytes of `part` once, and append them."""
    validator = part.validator(url)
    if not (validator or wanted.sha256):
        part.discard()  # a wrong rest would go unnoticed
    headers = {"Range": f"bytes={part.size}-"} if part.size else {}
    if headers and validator:
        headers["If-Range"] = validator
    with _request(session, url, headers, retries) as response:
        total = _begin(response, url, part, wanted)
        part.append(_body(response, retries), total, report)
    if total is not None and part.size < total:
        raise TransientError(f"the connection ended after {part.size} of {total} bytes")
    return part.checked(wanted)


class _Session(requests.Session):
    """A session that follows no redirects, since it would read their bodies into memory."""

    def get_redirect_target(self, resp: requests.Response) -> None:
        """Return no target."""


def _request(
    session: requests.Session, url: str, headers: dict[str, str], retries: Retries
) -> requests.Response:
    """Send a request, follow redirects, and return the response, whose body is not yet read."""
    timeout = (retries.connect_timeout_s, retries.read_timeout_s)
    for _ in range(MAX_REDIRECTS + 1):
        with _plain_failures():
            response = session.get(url, headers=headers, stream=True, timeout=timeout)
            if not response.is_redirect:
                return response
            response.close()
            url = urljoin(url, response.headers["Location"])
    raise LocationError(f"more than {MAX_REDIRECTS} redirects")


def _body(response: requests.Response, retries: Retries) -> Iterator[bytes]:
    """Yield the body as sent: some servers declare a .gz file to be a compressed text."""
    start, received = time.monotonic(), 0
    with _plain_failures():
        while chunk := response.raw.read1(CHUNK, decode_content=False):
            yield chunk
            received += len(chunk)
            elapsed = time.monotonic() - start
            if elapsed > retries.read_timeout_s:
                if received < retries.slowest * elapsed:
                    raise TransientError(f"only {received} bytes in {elapsed:.0f} s")
                start, received = time.monotonic(), 0


@contextmanager
def _plain_failures() -> Iterator[None]:
    """Turn failures of a connection into the two kinds that a download knows."""
    try:
        yield
    except (requests.RequestException, urllib3.exceptions.HTTPError, OSError, ValueError) as error:
        # A retry would repeat bad certificates, odd URLs, and a bundle of certificates that is missing.
        is_lasting = isinstance(error, requests.exceptions.SSLError | ValueError) or not isinstance(
            error, requests.RequestException | urllib3.exceptions.HTTPError
        )
        raise (LocationError if is_lasting else TransientError)(_cause(error)) from None


def _begin(response: requests.Response, url: str, part: Part, wanted: Wanted) -> int | None:
    """Check the head of a response; return the size of the whole file if the server gives it.

    Afterwards the body of the response continues `part`.
    """
    status, headers = response.status_code, response.headers
    if status in TRANSIENT_STATUSES:
        raise TransientError(_refusal(status), _number(headers.get("Retry-After", "")))
    if status == 416 and part.size:
        part.discard()
        raise TransientError("the file on the server is shorter than the part already downloaded")
    if status not in (200, 206):
        raise LocationError(_refusal(status))
    _refuse_encoded(headers.get("Content-Encoding", "").lower(), wanted.name)
    if status == 206:  # Content-Range: bytes 10-99/100
        span, _, whole = headers.get("Content-Range", "").removeprefix("bytes ").partition("/")
        total = _number(whole)
        if _number(span.partition("-")[0]) != part.size:
            part.discard()
            raise TransientError("the server sends another range than requested")
    else:
        total = _number(headers.get("Content-Length", ""))
        # A weak ETag is not that of exactly this version of the file.
        tag = headers.get("ETag", "W/")
        tag = headers.get("Last-Modified", "") if tag.startswith("W/") else tag
        part.begin(url, tag if _TAG.fullmatch(tag) else None)
    wanted.check_size(total)
    return wanted.n_bytes if total is None else total


def _refuse_encoded(encoding: str, name: str) -> None:
    """Refuse a body that the server compresses although it was asked not to."""
    if encoding not in ENCODINGS or name.lower().endswith(COMPRESSED):
        return
    remedy = f"fetch it with `curl --compressed -o {name} URL`, and give its `path` in the entry"
    if encoding in ("gzip", "x-gzip"):
        remedy = f"give `file: {name}.gz` in the entry, or {remedy}"
    raise LocationError(f"the server compresses it on the way (Content-Encoding: {encoding}); {remedy}")


def _number(text: str) -> int | None:
    """Return a number from a header; None if it is none, or larger than anything stored."""
    return int(text) if re.fullmatch("[0-9]{1,18}", text) else None


def _refusal(status: int) -> str:
    """Describe a status in our own words: the server's could be anything."""
    phrases = {known.value: known.phrase for known in HTTPStatus}
    return f"the server answers {status} {phrases.get(status, '')}".rstrip()


def _cause(error: Exception) -> str:
    """Return the innermost cause of a failed connection, without the class names around it."""
    if isinstance(error, requests.Timeout | urllib3.exceptions.TimeoutError):
        return "no answer in time"
    reason: Any = error
    while inner := [
        one for one in (getattr(reason, "reason", 0), *reason.args) if isinstance(one, Exception)
    ]:
        reason = inner[0]
    return quoted(str(reason).rpartition(": ")[2] or type(reason).__name__)[1:-1]


def megabytes(n_bytes: int) -> str:
    """Return a size for messages."""
    return f"{n_bytes / 1e6:.1f} MB"
