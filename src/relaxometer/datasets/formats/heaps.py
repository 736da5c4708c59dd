"""Heaps of programs: their objects, and the references that keep objects alive."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, NonNegativeInt

from relaxometer.core.validation import Section
from relaxometer.datasets.formats import Format
from relaxometer.datasets.parameters import VertexCount


class HeapSnapshotParameters(Section):
    """Parameters of the format ``heapsnapshot``.

    Parameters
    ----------
    rules : {"chrome", "memlab"}
        Which references keep an object alive: those that Chrome's developer tools count, or those that memlab
        does.
    """

    rules: Literal["chrome", "memlab"] = "chrome"


class HeapLikeParameters(Section):
    """Parameters of the format ``heap-like``.

    Parameters
    ----------
    objects : int
        Number of objects.
    links : int
        How many of them form one list.
    """

    objects: Annotated[VertexCount, Field(ge=2)]
    links: NonNegativeInt = 0


FORMATS = {
    "heap-like": Format(
        "relaxometer.datasets.generators.heaps", "heap_like", needs="seed", parameters=HeapLikeParameters
    ),
    "heapsnapshot": Format(
        "relaxometer.datasets.readers.heapsnapshot", needs="file", parameters=HeapSnapshotParameters
    ),
    "hprof": Format("relaxometer.datasets.readers.hprof", needs="file"),
}
