"""HTTP transfers that resume and retry."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any
from urllib.parse import urljoin

import requests
import urllib3

from relaxometer import __version__
from relaxometer.core.errors import quoted
from relaxometer.datasets.partial_file import (
    CHUNK,
    LocationError,
    Part,
    Report,
    TooSlowError,
    TransientError,
    Wanted,
    WrongContentError,
    usable_tag,
)

USER_AGENT = f"relaxometer/{__version__} (graph benchmark; python-requests)"

TRANSIENT_STATUSES = {408, 425, 429, 500, 502, 503, 504}
"""HTTP statuses worth a retry."""

PERMANENT_FAILURES = (
    requests.exceptions.SSLError,
    ValueError,  # URLs and headers that cannot be requested
)
"""Failures that a retry would repeat."""

MAX_REDIRECTS = 30


@dataclass(frozen=True)
class Retries:
    """The patience with a server.

    Parameters
    ----------
    attempts : int
        Consecutive failures without progress after which a location is given up.
    attempts_in_all : int
        Attempts after which a location is given up despite progress.
    pause_s : float
        Pause before the second attempt; doubles with each further one.
    longest_pause_s : float
    connect_timeout_s, read_timeout_s : float
        Silence after which an attempt has failed.
    slowest : float
        Minimum bytes per second, averaged over `read_timeout_s`; a slower attempt has failed.
    """

    attempts: int = 5
    attempts_in_all: int = 100
    pause_s: float = 1.0
    longest_pause_s: float = 30.0
    connect_timeout_s: float = 10.0
    read_timeout_s: float = 30.0
    slowest: float = 1000.0

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
    with _Session() as session:
        session.headers.update({"User-Agent": USER_AGENT, "Accept-Encoding": "identity"})
        for _ in range(retries.attempts_in_all):
            resumed = part.size > 0
            try:
                return _attempt(session, url, part, wanted, retries, report)
            except WrongContentError:
                # The beginning may belong to an earlier version of the file or to another server's file.
                if not resumed:
                    raise
            except TransientError as error:
                renewed = part.size > furthest and not isinstance(error, TooSlowError)
                failures = 0 if renewed else failures + 1
                furthest = max(furthest, part.size)
                if failures >= retries.attempts:
                    raise LocationError(f"{error} ({failures} attempts)") from None
                pause = retries.pause(failures, error.wait_s)
                print(f"{wanted.name}: {error}; next attempt in {pause:g} s", file=sys.stderr, flush=True)
                time.sleep(pause)
    raise LocationError(f"incomplete after {retries.attempts_in_all} attempts")


def _attempt(
    session: requests.Session, url: str, part: Part, wanted: Wanted, retries: Retries, report: Report
) -> str:
    """Request the missing bytes of `part` once, and append them."""
    headers = _range_headers(url, part, wanted)
    with _request(session, url, headers, retries) as response:
        total = _begin(response, url, part, wanted)
        part.append(_body(response, retries), total, report)
    if total is not None and part.size < total:
        raise TransientError(f"the connection ended after {part.size} of {total} bytes")
    return part.checked(wanted, total)


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
                    raise TooSlowError(f"only {received} bytes in {elapsed:.0f} s")
                start, received = time.monotonic(), 0


@contextmanager
def _plain_failures() -> Iterator[None]:
    """Turn failures of a connection into the two kinds that a download knows."""
    try:
        yield
    except PERMANENT_FAILURES as error:
        raise LocationError(_cause(error)) from None
    except (requests.RequestException, urllib3.exceptions.HTTPError) as error:
        raise TransientError(_cause(error)) from None
    except OSError as error:  # such as a bundle of certificates that is missing
        raise LocationError(_cause(error)) from None


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
        raise TransientError(_refusal(status), _retry_after(response))
    if status == 416 and part.size:
        part.discard()
        raise TransientError("the server has less of the file than was there already")
    if status not in (200, 206):
        raise LocationError(_refusal(status))
    if status == 206:
        start, total = _content_range(response)
        if start != part.size:
            part.discard()
            raise TransientError("the server sends another range than requested")
    else:
        total = _number(response.headers.get("Content-Length", ""))
        part.begin(url, _validator(response))
    wanted.check_size(total)
    return wanted.n_bytes if total is None else total


def _content_range(response: requests.Response) -> tuple[int | None, int | None]:
    """Return the start of a partial response and the size of the whole: ``bytes 10-99/100``."""
    span, _, whole = response.headers.get("Content-Range", "").removeprefix("bytes ").partition("/")
    start = span.partition("-")[0]
    return _number(start), _number(whole)


def _validator(response: requests.Response) -> str | None:
    """Return a tag of exactly this version of the file; a weak ETag is not one."""
    tag = response.headers.get("ETag")
    return usable_tag(tag if tag and not tag.startswith("W/") else response.headers.get("Last-Modified"))


def _retry_after(response: requests.Response) -> float | None:
    return _number(response.headers.get("Retry-After", ""))


def _number(text: str) -> int | None:
    """Return a number from a header; None if it is none, or larger than anything stored."""
    return int(text) if re.fullmatch("[0-9]{1,18}", text) else None


def _refusal(status: int) -> str:
    """Describe a status in our own words: the server's could be anything."""
    phrases = {known.value: known.phrase for known in HTTPStatus}
    return f"the server answers {status} {phrases.get(status, '')}".rstrip()


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
    return quoted(str(reason).rpartition(": ")[2] or type(reason).__name__)[1:-1]
