"""Fetches data files from mirrors and URLs, and checks them."""

from __future__ import annotations

import hashlib
import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from urllib.parse import quote

from relaxometer.core.errors import UserError
from relaxometer.core.files import write_text
from relaxometer.datasets.http_transfer import Retries, download
from relaxometer.datasets.partial_file import CHUNK, LocationError, Part, Report, Wanted, megabytes

_INTERVAL_S = 5.0
"""Seconds between two lines of progress."""


def all_mirrors(configured: Sequence[str]) -> list[str]:
    """Return the mirrors of a configuration and those of the environment."""
    named = os.environ.get("RELAXOMETER_DATA_MIRRORS", "").split(os.pathsep)
    return [*configured, *filter(None, named)]


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
    """Fetch a file and check it; an interrupted download is resumed from ``{destination}.part``.

    Parameters
    ----------
    urls : sequence of str
        Tried in order, after the mirrors.
    destination : Path
        Appears only once it is complete and checked.
    sha256 : str, optional
        Without it, `lock` keeps the hash of the first download, and any other file is refused later.
    expected_bytes : int, optional
    mirrors : sequence of str
        Folders and base URLs that may hold a file of the same name.
    lock : Path, optional
        ``{destination}.sha256`` if left out.
    terms : str, optional
        Licence and attribution, printed before the download.
    retries : Retries, optional
    progress : callable, optional
        Called with the bytes fetched and the total. By default a bar on a terminal, plain lines elsewhere.

    Raises
    ------
    UserError
        If no location has the file; names every location and its problem.
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
    _say(f"{destination.name}: {megabytes(destination.stat().st_size)} from {location}, sha256 {checked}")


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
                digest = download(location, part, wanted, retries, report)
            else:
                digest = _copy(Path(location), part, wanted, report)
            part.finish(destination)
        except LocationError as error:
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


def _copy(original: Path, part: Part, wanted: Wanted, report: Report) -> str:
    """Copy a file from a folder to `part`; return its hash."""
    if not original.is_file():
        raise LocationError("no such file")
    total = original.stat().st_size
    wanted.check_size(total)
    try:
        stream = original.open("rb")
    except OSError as error:
        raise LocationError(error.strerror or "not readable") from None
    part.discard()
    digest = hashlib.sha256()
    with stream:
        part.append(iter(lambda: stream.read(CHUNK), b""), digest, total, report)
    return part.checked(digest, wanted)


@contextmanager
def shown(name: str) -> Iterator[Report]:
    """Show the progress of a download on stderr: a bar on a terminal, otherwise a line every few seconds.

    Parameters
    ----------
    name : str
        Name of the file.

    Yields
    ------
    Report
    """
    if not sys.stderr.isatty():
        yield _lines(name)
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
