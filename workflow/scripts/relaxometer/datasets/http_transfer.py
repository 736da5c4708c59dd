"""HTTP transfers that resume and retry."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from typing import Any

import requests
import urllib3

from relaxometer import __version__
from relaxometer.datasets.partial_file import (
    CHUNK,
    LocationError,
    Part,
    Report,
    TransientError,
    Wanted,
    WrongContentError,
)

USER_AGENT = f"relaxometer/{__version__} (graph benchmark; python-requests)"

TRANSIENT_STATUSES = {408, 425, 429, 500, 502, 503, 504}
"""HTTP statuses worth a retry."""

PERMANENT_FAILURES = (
    requests.exceptions.SSLError,
    requests.exceptions.InvalidURL,
    requests.exceptions.InvalidSchema,
    requests.exceptions.TooManyRedirects,
)
"""Failures that a retry would repeat."""


@dataclass(frozen=True)
class Retries:
    """The patience with a server.

    Parameters
    ----------
    attempts : int
        Consecutive failures without progress after which a location is given up.
    pause_s : float
        Pause before the second attempt; doubles with each further one.
    longest_pause_s : float
    connect_timeout_s, read_timeout_s : float
        Silence after which an attempt has failed.
    """

    attempts: int = 5
    pause_s: float = 1.0
    longest_pause_s: float = 30.0
    connect_timeout_s: float = 10.0
    read_timeout_s: float = 30.0

    def pause(self, failures: int, asked_s: float | None) -> float:
        """Return the seconds to wait after `failures` in a row; `asked_s` is the server's own wish."""
        pause = self.pause_s * 2 ** max(failures - 1, 0) if asked_s is None else asked_s
        return min(pause, self.longest_pause_s)


def download(url: str, part: Part, wanted: Wanted, retries: Retries, report: Report) -> str:
    """Download `url` to `part` and return its hash; progress renews the attempts.

    Raises
    ------
    LocationError
        If the server does not deliver the expected file.
    """
    failures, furthest = 0, part.size
    with requests.Session() as session:
        session.headers.update({"User-Agent": USER_AGENT, "Accept-Encoding": "identity"})
        while True:
            resumed = part.size > 0
            try:
                return _attempt(session, url, part, wanted, retries, report)
            except WrongContentError:
                # The beginning may belong to an earlier version of the file or to another server's file.
                if not resumed:
                    raise
            except TransientError as error:
                failures = 0 if part.size > furthest else failures + 1
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
    headers = _range_headers(url, part, wanted)
    timeout = (retries.connect_timeout_s, retries.read_timeout_s)
    try:
        with session.get(url, headers=headers, stream=True, timeout=timeout) as response:
            total = _begin(response, url, part, wanted)
            # The body as sent: some servers declare a .gz file to be a compressed text.
            body = response.raw.stream(CHUNK, decode_content=False)
            digest = part.digest()
            part.append(body, digest, total, report)
    except PERMANENT_FAILURES as error:
        raise LocationError(_cause(error)) from None
    except (requests.RequestException, urllib3.exceptions.HTTPError) as error:
        raise TransientError(_cause(error)) from None
    if total is not None and part.size < total:
        raise TransientError(f"the connection ended after {part.size} of {total} bytes")
    return part.checked(digest, wanted)


def _range_headers(url: str, part: Part, wanted: Wanted) -> dict[str, str]:
    """Return the headers that ask for the rest of `part`; drop it if a wrong rest would go unnoticed."""
    validator = part.validator(url)
    if part.size and not (validator or wanted.sha256):
        part.discard()
    if not part.size:
        return {}
    only_if = {"If-Range": validator} if validator else {}
    return {"Range": f"bytes={part.size}-", **only_if}


def _begin(response: requests.Response, url: str, part: Part, wanted: Wanted) -> int | None:
    """Check the head of a response; return the size of the whole file if the server gives it.

    Afterwards the body of the response continues `part`.
    """
    status = response.status_code
    if status in TRANSIENT_STATUSES:
        raise TransientError(f"the server answers {status} {response.reason}", _retry_after(response))
    if status == 416 and part.size:
        part.discard()
        raise TransientError("the server has less of the file than was there already")
    if status not in (200, 206):
        raise LocationError(f"the server answers {status} {response.reason}")
    if status == 206:
        start, total = _content_range(response)
        if start != part.size:
            part.discard()
            raise TransientError("the server sends another range than requested")
    else:
        length = response.headers.get("Content-Length", "")
        total = int(length) if length.isdecimal() else None
        part.begin(url, _validator(response))
    wanted.check_size(total)
    return wanted.n_bytes if total is None else total


def _content_range(response: requests.Response) -> tuple[int | None, int | None]:
    """Return the start of a partial response and the size of the whole: ``bytes 10-99/100``."""
    span, _, whole = response.headers.get("Content-Range", "").removeprefix("bytes ").partition("/")
    start = span.partition("-")[0]
    return int(start) if start.isdecimal() else None, int(whole) if whole.isdecimal() else None


def _validator(response: requests.Response) -> str | None:
    """Return a tag of exactly this version of the file; a weak ETag is not one."""
    tag = response.headers.get("ETag")
    return tag if tag and not tag.startswith("W/") else response.headers.get("Last-Modified")


def _retry_after(response: requests.Response) -> float | None:
    value = response.headers.get("Retry-After", "")
    return float(value) if value.isdecimal() else None


def _cause(error: Exception) -> str:
    """Return the innermost cause of a failed connection, without the class names around it."""
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
