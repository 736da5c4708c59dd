"""Downloads that resume, retry, and end with the right file or one line that says why not."""

from __future__ import annotations

import errno
import hashlib
import json
import re
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import requests
import urllib3

from relaxometer import __version__
from relaxometer.core.errors import UserError
from relaxometer.core.files import write_text

USER_AGENT = f"relaxometer/{__version__} (graph benchmark; python-requests)"
CHUNK = 1 << 18
WORTH_ANOTHER_TRY = {408, 425, 429, 500, 502, 503, 504}
"""Answers of a server that is there but not well, or busy."""

HOPELESS = (
    requests.exceptions.SSLError,
    requests.exceptions.InvalidURL,
    requests.exceptions.InvalidSchema,
    requests.exceptions.TooManyRedirects,
)
"""Failures of a request that another try would repeat."""

Report = Callable[[int, int | None], None]
"""Is told how many bytes are there and how many there will be, if that is known."""


@dataclass(frozen=True)
class Retries:
    """How long a server is given.

    Parameters
    ----------
    attempts : int
        Failures in a row, none of which brought the file further than before, until a location is given up.
    pause_s : float
        Before the second attempt; doubles with each further one.
    longest_pause_s : float
    connect_timeout_s, read_timeout_s : float
        Silence after which an attempt has failed.
    """

    attempts: int = 5
    pause_s: float = 1.0
    longest_pause_s: float = 30.0
    connect_timeout_s: float = 10.0
    read_timeout_s: float = 30.0

    def pause(self, failures: int) -> float:
        """Return the seconds to wait after so many failures in a row."""
        return self.pause_s * 2 ** max(failures - 1, 0)


def fetch(
    urls: Sequence[str],
    destination: Path,
    *,
    sha256: str | None = None,
    expected_bytes: int | None = None,
    mirrors: Sequence[str] = (),
    lock: Path | None = None,
    terms: str | None = None,
    retries: Retries | None = None,
    progress: Report | None = None,
) -> None:
    """Bring a file to `destination` and make sure that it is the right one.

    What an interrupted download left in ``{destination}.part`` is taken up again.

    Parameters
    ----------
    urls : sequence of str
        Tried in order, after the mirrors.
    destination : Path
        Appears only once it is complete and checked.
    sha256 : str, optional
        Without it, the hash of the first download is kept in `lock`, and any other file is refused later.
    expected_bytes : int, optional
    mirrors : sequence of str
        Folders and base URLs that may hold a file of the same name.
    lock : Path, optional
        ``{destination}.sha256`` if left out.
    terms : str, optional
        Licence and attribution, printed ahead of the download.
    retries : Retries, optional
    progress : callable, optional
        Called with bytes done and total; a bar on a terminal and plain lines elsewhere if left out.

    Raises
    ------
    UserError
        If no location has the file; names each and what was wrong with it.
    """
    lock = lock or destination.with_name(destination.name + ".sha256")
    wanted = Wanted.known(destination.name, sha256, expected_bytes, lock)
    if terms:
        _say(f"{destination.name}: {terms}")
    with nullcontext(progress) if progress else shown(destination.name) as report:
        location, digest = _first_success(urls, mirrors, destination, wanted, retries or Retries(), report)
    if sha256 is None:
        write_text(f"{digest}  {destination.name}\n", lock)
    checked = "as expected" if wanted.sha256 else f"{digest}, from now on expected ({lock})"
    _say(f"{destination.name}: {_size(destination.stat().st_size)} from {location}, sha256 {checked}")


@dataclass(frozen=True)
class Wanted:
    """What is known of a file before it is there.

    Parameters
    ----------
    name : str
    sha256 : str or None
    n_bytes : int or None
    lock : Path or None
        The lock file that `sha256` was read from, if it was.
    """

    name: str
    sha256: str | None
    n_bytes: int | None
    lock: Path | None = None

    @classmethod
    def known(cls, name: str, sha256: str | None, n_bytes: int | None, lock: Path) -> Wanted:
        """Return what the caller or else the lock file knows."""
        if sha256 is not None or not lock.is_file():
            return cls(name, sha256, n_bytes)
        locked = lock.read_text(encoding="utf-8").partition(" ")[0]
        if not re.fullmatch("[0-9a-f]{64}", locked):
            raise UserError(f"{lock}: expected a line '<sha256>  {name}'; delete it to accept the file anew")
        return cls(name, locked, n_bytes, lock)

    def check_size(self, offered: int | None) -> None:
        """Refuse a file of another size before it is fetched."""
        if None not in (self.n_bytes, offered) and offered != self.n_bytes:
            raise _LocationError(f"the file there has {offered} bytes, expected {self.n_bytes}")

    def check_hash(self, digest: str) -> None:
        """Refuse a file of another content."""
        if self.sha256 and digest != self.sha256:
            source = f" (the first download, {self.lock})" if self.lock else ""
            raise _WrongContentError(f"{self.name} has sha256 {digest}, expected {self.sha256}{source}")


class _LocationError(Exception):
    """A location does not have the file; another try would not help."""


class _WrongContentError(_LocationError):
    """A location has a complete file that is not the right one."""


class _PassingError(Exception):
    """An attempt failed in a way that may pass.

    Parameters
    ----------
    reason : str
    wait_s : float, optional
        The pause that the server asked for.
    """

    def __init__(self, reason: str, wait_s: float | None = None) -> None:
        super().__init__(reason)
        self.wait_s = wait_s


class Part:
    """The unfinished file, and the server's mark of which version of the file it is a part of.

    Parameters
    ----------
    destination : Path
    """

    def __init__(self, destination: Path) -> None:
        self.path = destination.with_name(destination.name + ".part")
        self._mark = destination.with_name(destination.name + ".part.json")

    @property
    def size(self) -> int:
        """Bytes that are there."""
        return self.path.stat().st_size if self.path.is_file() else 0

    def digest(self) -> hashlib._Hash:
        """Return the hash of what is there, to be continued."""
        if not self.path.is_file():
            return hashlib.sha256()
        with self.path.open("rb") as file:
            return hashlib.file_digest(file, "sha256")

    def validator(self, url: str) -> str | None:
        """Return the mark that `url` gave the version that this is a part of; None if it gave none."""
        try:
            mark = json.loads(self._mark.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return mark["validator"] if mark.get("url") == url else None

    def begin(self, url: str, validator: str | None) -> None:
        """Start from nothing with a file from `url`."""
        self.discard()
        if validator:
            write_text(json.dumps({"url": url, "validator": validator}), self._mark)

    def discard(self) -> None:
        """Delete what is there."""
        self.path.unlink(missing_ok=True)
        self._mark.unlink(missing_ok=True)

    def finish(self, destination: Path) -> None:
        """Rename the complete file."""
        self.path.replace(destination)
        self._mark.unlink(missing_ok=True)


def _first_success(
    urls: Sequence[str],
    mirrors: Sequence[str],
    destination: Path,
    wanted: Wanted,
    retries: Retries,
    report: Report,
) -> tuple[str, str]:
    """Fetch from the first location that has the right file; return the location and the hash."""
    part = Part(destination)
    tried = []
    for location in [*(_in_mirror(mirror, wanted.name) for mirror in mirrors), *urls]:
        try:
            destination.parent.mkdir(parents=True, exist_ok=True)
            if _is_url(location):
                digest = _download(location, part, wanted, retries, report)
            else:
                digest = _copy(Path(location), part, wanted, report)
            part.finish(destination)
        except _LocationError as error:
            tried.append(f"{location}: {error}")
        except OSError as error:
            raise UserError(f"{destination}: cannot be written: {error.strerror or error}") from None
        else:
            return location, digest
    raise UserError(
        f"{wanted.name} could not be fetched; tried {'; '.join(tried) or 'nothing: no URL given'}"
    )


def _in_mirror(mirror: str, name: str) -> str:
    if _is_url(mirror):
        return f"{mirror.rstrip('/')}/{quote(name)}"
    return str(Path(mirror).expanduser() / name)


def _is_url(location: str) -> bool:
    return location.startswith(("http://", "https://"))


def _copy(source: Path, part: Part, wanted: Wanted, report: Report) -> str:
    """Copy a file from a folder to `part`; return its hash."""
    if not source.is_file():
        raise _LocationError("no such file")
    total = source.stat().st_size
    wanted.check_size(total)
    part.discard()
    _check_space(part.path, total)
    try:
        stream = source.open("rb")
    except OSError as error:
        raise _LocationError(error.strerror or "not readable") from None
    with stream:
        digest = _append(iter(lambda: stream.read(CHUNK), b""), part, hashlib.sha256(), total, report)
    return _accepted(digest, part, wanted)


def _download(url: str, part: Part, wanted: Wanted, retries: Retries, report: Report) -> str:
    """Download `url` to `part`, with as many attempts as bring it further; return its hash."""
    failures, furthest = 0, part.size
    with requests.Session() as session:
        session.headers.update({"User-Agent": USER_AGENT, "Accept-Encoding": "identity"})
        while True:
            resumed = part.size > 0
            try:
                return _attempt(session, url, part, wanted, retries, report)
            except _WrongContentError:
                # The beginning may have come from an earlier version of the file or from another server.
                if not resumed:
                    raise
            except _PassingError as error:
                failures = 0 if part.size > furthest else failures + 1
                furthest = max(furthest, part.size)
                if failures >= retries.attempts:
                    raise _LocationError(f"{error} ({failures} attempts)") from None
                pause = retries.pause(failures) if error.wait_s is None else error.wait_s
                pause = min(pause, retries.longest_pause_s)
                _say(f"{wanted.name}: {error}; next attempt in {pause:g} s")
                time.sleep(pause)


def _attempt(
    session: requests.Session, url: str, part: Part, wanted: Wanted, retries: Retries, report: Report
) -> str:
    """Ask once for what `part` lacks, and append it."""
    headers = _range_headers(url, part, wanted)
    try:
        with session.get(
            url, headers=headers, stream=True, timeout=(retries.connect_timeout_s, retries.read_timeout_s)
        ) as response:
            total = _begin(response, url, part, wanted)
            _check_space(part.path, (total or part.size) - part.size)
            # The body as sent: some servers declare a .gz file to be a compressed text.
            body = response.raw.stream(CHUNK, decode_content=False)
            digest = _append(body, part, part.digest(), total, report)
    except HOPELESS as error:
        raise _LocationError(_cause(error)) from None
    except (requests.RequestException, urllib3.exceptions.HTTPError) as error:
        raise _PassingError(_cause(error)) from None
    if total is not None and part.size < total:
        raise _PassingError(f"the connection ended after {part.size} of {total} bytes")
    return _accepted(digest, part, wanted)


def _range_headers(url: str, part: Part, wanted: Wanted) -> dict[str, str]:
    """Return the headers that ask for the rest of `part`; drop it if nothing would show a wrong rest."""
    validator = part.validator(url)
    if part.size and not (validator or wanted.sha256):
        part.discard()
    if not part.size:
        return {}
    only_if = {"If-Range": validator} if validator else {}
    return {"Range": f"bytes={part.size}-", **only_if}


def _begin(response: requests.Response, url: str, part: Part, wanted: Wanted) -> int | None:
    """Judge the head of an answer; return the size of the whole file if the server tells it.

    Leaves `part` as long as the body of the answer continues it.
    """
    status = response.status_code
    if status in WORTH_ANOTHER_TRY:
        raise _PassingError(f"the server answers {status} {response.reason}", _retry_after(response))
    if status == 416 and part.size:
        part.discard()
        raise _PassingError("the server has less of the file than was there already")
    if status not in (200, 206):
        raise _LocationError(f"the server answers {status} {response.reason}")
    if status == 206:
        start, total = _content_range(response)
        if start != part.size:
            part.discard()
            raise _PassingError("the server sends another part than it was asked for")
    else:
        length = response.headers.get("Content-Length", "")
        total = int(length) if length.isdecimal() else None
        part.begin(url, _validator(response))
    wanted.check_size(total)
    return wanted.n_bytes if total is None else total


def _content_range(response: requests.Response) -> tuple[int | None, int | None]:
    """Return where a partial answer starts and how long the whole is: ``bytes 10-99/100``."""
    span, _, whole = response.headers.get("Content-Range", "").removeprefix("bytes ").partition("/")
    start = span.partition("-")[0]
    return int(start) if start.isdecimal() else None, int(whole) if whole.isdecimal() else None


def _validator(response: requests.Response) -> str | None:
    """Return what names this very version of the file; a weak ETag does not."""
    tag = response.headers.get("ETag")
    return tag if tag and not tag.startswith("W/") else response.headers.get("Last-Modified")


def _retry_after(response: requests.Response) -> float | None:
    value = response.headers.get("Retry-After", "")
    return float(value) if value.isdecimal() else None


def _append(
    chunks: Iterator[bytes], part: Part, digest: hashlib._Hash, total: int | None, report: Report
) -> hashlib._Hash:
    """Append `chunks` to `part` and to the hash of what is there already."""
    done = part.size
    with part.path.open("ab") as file:
        for chunk in chunks:
            file.write(chunk)
            digest.update(chunk)
            done += len(chunk)
            report(done, total)
    return digest


def _accepted(digest: hashlib._Hash, part: Part, wanted: Wanted) -> str:
    """Return the hash in hexadecimal digits; delete a complete file that is not the right one."""
    try:
        wanted.check_size(part.size)
        wanted.check_hash(digest.hexdigest())
    except _LocationError:
        part.discard()
        raise
    return digest.hexdigest()


def _check_space(path: Path, needed: int) -> None:
    free = shutil.disk_usage(path.parent).free
    if needed > free:
        raise OSError(errno.ENOSPC, f"{_size(needed)} needed in {path.parent}, {_size(free)} free")


def _cause(error: Exception) -> str:
    """Return the innermost cause of a connection's failure without the names of classes around it."""
    reason: Any = error
    while True:
        nested = (getattr(reason, "reason", None), *reason.args)
        inner = next((one for one in nested if isinstance(one, Exception)), None)
        if inner is None:
            break
        reason = inner
    if isinstance(error, requests.Timeout | urllib3.exceptions.TimeoutError):
        return "no answer in time"
    return str(reason).rpartition(": ")[2] or type(reason).__name__


@contextmanager
def shown(name: str) -> Iterator[Report]:
    """Show progress on stderr: as a bar on a terminal, as a line now and then elsewhere.

    Parameters
    ----------
    name : str
        Of the file.

    Yields
    ------
    Report
    """
    if not sys.stderr.isatty():
        yield _Lines(name)
        return
    from rich import progress
    from rich.console import Console

    columns = (
        progress.TextColumn("{task.description}"),
        progress.BarColumn(),
        progress.DownloadColumn(),
        progress.TransferSpeedColumn(),
        progress.TimeRemainingColumn(),
    )
    # The terminal itself, since `sys.stderr` may also go to a log file, where a bar would be noise.
    console = Console(file=sys.__stderr__)
    with progress.Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(name, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


class _Lines:
    """Reports progress as lines, some seconds apart.

    Parameters
    ----------
    name : str
    """

    INTERVAL_S = 5.0

    def __init__(self, name: str) -> None:
        self._name = name
        self._last = time.monotonic()

    def __call__(self, done: int, total: int | None) -> None:
        if time.monotonic() - self._last >= self.INTERVAL_S:
            self._last = time.monotonic()
            _say(f"{self._name}: {_size(done)}" + (f" of {_size(total)}" if total else ""))


def _size(n_bytes: int) -> str:
    return f"{n_bytes / 1e6:.1f} MB"


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
