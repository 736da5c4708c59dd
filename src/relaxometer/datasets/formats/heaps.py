"""Heaps of programs: their objects, and the references that keep objects alive."""

from __future__ import annotations

from typing import Literal

from relaxometer.core.validation import Section
from relaxometer.datasets.formats import Format


class HeapSnapshotParameters(Section):
    """Parameters of the format ``heapsnapshot``.

    Parameters
    ----------
    rules : {"chrome", "memlab"}
        Which references keep an object alive: those that Chrome's developer tools count, or those that memlab
        does.
    """

    rules: Literal["chrome", "memlab"] = "chrome"


FORMATS = {
    "heapsnapshot": Format(
        "relaxometer.datasets.readers.heapsnapshot", needs="file", parameters=HeapSnapshotParameters
    ),
}
