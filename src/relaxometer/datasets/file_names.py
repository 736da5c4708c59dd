"""Names of downloaded files. All downloads share a folder, so each name must be a plain one."""

import re
from urllib.parse import urlsplit

from relaxometer.core.validation import repetition

URL = r"https?://[^/]+/.*[^/]"
"""A URL that ends in a name."""

MAX_BYTES = 200
"""Longest name; file systems take 255 bytes, and the downloader appends an ending of its own."""

OWN_ENDINGS = (".part", ".part.json", ".sha256")
"""Endings of the downloader's own files."""


def checked_name(name: str) -> str:
    """Return a name that is one plain file name; ValueError with the right form for any other."""
    faults = {
        "is empty": not name,
        "has a separator of folders": "/" in name or "\\" in name,
        "begins with a dot": name.startswith("."),
        "begins or ends with a space": name != name.strip(" "),
        "has control characters": not name.isprintable(),
        "has a brace": "{" in name or "}" in name,
        f"is longer than {MAX_BYTES} bytes": len(name.encode(errors="replace")) > MAX_BYTES,
        f"ends like the downloader's own files ({', '.join(OWN_ENDINGS)})": name.endswith(OWN_ENDINGS),
    }
    fault = next((fault for fault, found in faults.items() if found), None)
    if fault:
        raise ValueError(f"should be one plain file name, as in `file: name.gr.gz`; this one {fault}")
    if flaw := repetition(name):
        raise ValueError(flaw)
    return name


def checked_url(url: str) -> str:
    """Return a URL that can be requested; ValueError with the reason for any other."""
    try:
        parts = urlsplit(url)
        possible = re.fullmatch(URL, url) and parts.hostname and parts.port != 0 and url.isprintable()
    except ValueError as error:
        raise ValueError(f"should be a URL like https://host/name.gr.gz ({error})") from None
    if not possible:
        raise ValueError("should be a URL like https://host/name.gr.gz, without control characters")
    return url
