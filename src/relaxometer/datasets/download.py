"""Fetches data files from mirrors and URLs, and checks them."""

import os
import re
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import BinaryIO
from urllib.parse import quote

from relaxometer.core.errors import UserError, quoted
from relaxometer.datasets.file_names import checked_name
from relaxometer.datasets.pins import pin_of, pinned
from relaxometer.datasets.transfer import (
    CHUNK,
    LocationError,
    Part,
    Report,
    Retries,
    Wanted,
    download,
    megabytes,
)

_INTERVAL_S = 5.0
"""Seconds between two lines of progress."""

_MIRROR = re.compile(r"https?://[^/:]+(?::\d+)?[^:]*|[^:]+")
"""A folder or base URL in a list separated by colons."""


def all_mirrors(configured: Sequence[str]) -> list[str]:
    """Return the mirrors of a configuration and those of the environment."""
    return [*configured, *_MIRROR.findall(os.environ.get("RELAXOMETER_DATA_MIRRORS", ""))]


def fetch(
    urls: Sequence[str],
    destination: Path,
    *,
    sha256: str | None = None,
    expected_bytes: int | None = None,
    mirrors: Sequence[str] = (),
    terms: str | None = None,
    retries: Retries | None = None,
) -> None:
    """Fetch a file and check it; an interrupted download is resumed from ``{destination}.part``.

    If another process fetches the same file, its end is awaited. A file that is there with the checksum of
    `sha256` is not fetched again. Without `sha256`, the checksum of the first file that was read counts
    (:mod:`.pins`), if there is one. Mirrors, which are folders and base URLs that may hold a file of the same
    name, are tried first, then `urls`, in order. `terms` are printed before the download.

    UserError if no location has the file, with every location and its problem, if the name of `destination`
    could lead out of its folder, or if the folder is not writable.
    """
    wanted = _wanted(destination, sha256, expected_bytes)
    if terms:
        _say(f"{destination.name}: {terms}")
    locations = [*(_in_mirror(mirror, wanted.name) for mirror in mirrors), *urls]
    with shown(destination.name) as report:
        origin, digest = _first_success(locations, destination, wanted, retries or Retries(), report)
    checked = "as expected" if wanted.sha256 else f"{digest}, expected from now on if the file can be read"
    size = megabytes(destination.stat().st_size)
    _say(f"{destination.name}: {size} from {origin}, sha256 {checked}")


def _wanted(destination: Path, sha256: str | None, expected_bytes: int | None) -> Wanted:
    """Return the expected identity of a file: its entry's, or else that of the first file that was read."""
    try:
        name = checked_name(destination.name)
    except ValueError as error:
        raise UserError(f"{quoted(destination)} {error}") from None
    pin = None if sha256 else pinned(destination)
    return Wanted(name, sha256 or pin, expected_bytes, pin_of(destination) if pin else None)


def _first_success(
    locations: Sequence[str], destination: Path, wanted: Wanted, retries: Retries, report: Report
) -> tuple[str, str]:
    """Fetch from the first location that has the right file; return the location and the hash."""
    part = Part(destination)
    tried = []
    with _errors_of_the_folder(destination):
        destination.parent.mkdir(parents=True, exist_ok=True)
        with part.locked() as already_there:
            # The entry's own checksum holds wherever the file comes from; a pinned one may be of another URL.
            is_named = wanted.sha256 is not None and wanted.pin is None
            if already_there or (is_named and destination.is_file()):
                with suppress(LocationError):
                    origin = "another process" if already_there else "an earlier run"
                    return origin, wanted.checked(destination)
            for location in locations:
                shown_location = location if _is_plain(location) else quoted(location)
                try:
                    if _is_url(location):
                        digest = download(location, part, wanted, retries, report)
                    else:
                        digest = _copy(Path(location), part, wanted, report)
                    part.finish()
                    return shown_location, digest
                except LocationError as error:
                    tried.append(f"{shown_location}: {error}")
    raise UserError(
        f"{wanted.name} could not be fetched; tried {'; '.join(tried) or 'nothing: no URL given'}"
    )


def _is_plain(location: str) -> bool:
    """Return whether a message may show a location as it is."""
    return location.isprintable() and len(location) <= 200


@contextmanager
def _errors_of_the_folder(destination: Path) -> Iterator[None]:
    """Turn the errors of writing into one line that names the file or folder."""
    try:
        yield
    except OSError as error:
        where = error.filename or destination.parent
        raise UserError(f"{where}: cannot be written: {error.strerror or error}") from None


def _in_mirror(mirror: str, name: str) -> str:
    if _is_url(mirror):
        return f"{mirror.rstrip('/')}/{quote(name)}"
    return str(Path(mirror) / name)


def _is_url(location: str) -> bool:
    return location.startswith(("http://", "https://"))


def _copy(original: Path, part: Part, wanted: Wanted, report: Report) -> str:
    """Copy a file from a folder to `part`; return its hash."""
    with _unreadable():
        path = original.expanduser()
        if not path.is_file():
            raise LocationError("no such file")
        stream = path.open("rb")
    with stream:
        total = path.stat().st_size
        wanted.check_size(total)
        part.discard()
        part.append(_chunks(stream), total, report)
    return part.checked(wanted)


def _chunks(stream: BinaryIO) -> Iterator[bytes]:
    with _unreadable():
        yield from iter(partial(stream.read, CHUNK), b"")


@contextmanager
def _unreadable() -> Iterator[None]:
    """Let the next location be tried if this one cannot be read."""
    try:
        yield
    except (OSError, ValueError, RuntimeError) as error:
        raise LocationError(getattr(error, "strerror", None) or str(error)) from None


@contextmanager
def shown(name: str) -> Iterator[Report]:
    """Show the progress of a download on stderr: a bar on a terminal, otherwise a line every few seconds."""
    if not sys.stderr.isatty():
        yield _lines(name)
        return
    from rich import progress
    from rich.console import Console

    columns = (*progress.Progress.get_default_columns(), progress.DownloadColumn())
    # The terminal itself: `sys.stderr` may also write to a log file, where a bar would be noise.
    console = Console(file=sys.__stderr__)
    with progress.Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(name, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _lines(name: str) -> Report:
    last = time.monotonic()

    def report(done: int, total: int | None) -> None:
        nonlocal last
        if time.monotonic() - last >= _INTERVAL_S:
            last = time.monotonic()
            _say(f"{name}: {megabytes(done)}" + (f" of {megabytes(total)}" if total else ""))

    return report


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
