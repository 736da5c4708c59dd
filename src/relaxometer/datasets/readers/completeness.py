"""The note on files that may have been cut without a trace."""

from __future__ import annotations

import sys
from pathlib import Path

from relaxometer.datasets.readers.text import is_compressed
from relaxometer.datasets.registry import DataFile

UNKNOWN = "unknown: the file's format does not show its end, and its entry has no sha256"


def note_on_completeness(file: Path, entry: DataFile) -> dict[str, str]:
    """Return what the metadata say about a file whose format does not show whether its end is missing.

    Nothing if the entry has a checksum, or if a compressed file shows its end. Otherwise stderr says so too.
    """
    if entry.sha256 or is_compressed(file):
        return {}
    print(f"{file}: its completeness is {UNKNOWN}", file=sys.stderr)
    return {"completeness": UNKNOWN}
