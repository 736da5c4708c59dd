"""The interface of problems whose searches answer sets of queries instead of starting from a vertex.

Such a problem has a :class:`QueryFormat` in its `PROBLEM`. Query sets are drawn once per graph, before any
search; the source of a search is the number of its set.
"""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from relaxometer.core.validation import Section
from relaxometer.device import Device
from relaxometer.graphs.graph import Graph


class QuerySet(Protocol):
    """The queries of one search, in host memory."""

    @property
    def name(self) -> str:
        """The key of the configuration that asks for it."""

    def __len__(self) -> int:
        """Return the number of queries."""

    def rows(self, n_vertices: int) -> Mapping[str, range]:
        """Return the numbers of rows that each column of an answer may have."""

    def upload(self, device: Device) -> Any:
        """Return the queries on a device, as solvers and certifiers take them in place of a source."""

    @property
    def arrays(self) -> Mapping[str, npt.NDArray[np.uint32]]:
        """The arrays that a rival reads, by name."""

    @property
    def options(self) -> Mapping[str, int]:
        """Further numbers that a rival reads, by name."""


def content_hash(queries: QuerySet) -> str:
    """Return 16 hexadecimal digits of the SHA-256 of what a set asks; its name does not count."""
    digest = hashlib.sha256(repr(sorted(queries.options.items())).encode())
    for name, array in sorted(queries.arrays.items()):
        digest.update(f"{name} {array.dtype} {array.shape}".encode())
        digest.update(np.ascontiguousarray(array).view(np.uint8).data)
    return digest.hexdigest()[:16]


@dataclass(frozen=True)
class QuerySets:
    """All query sets of a graph."""

    sets: Mapping[int, QuerySet]  # by number
    draws: Mapping[int, int | None]
    """Which draw each set is of those that its key asks for, from 0; None for sets of untimed searches."""

    def timed(self, draws: int) -> npt.NDArray[np.int64]:
        """Return the numbers of the first `draws` sets of each key, shape (n_sets,), int64."""
        chosen = [number for number, draw in self.draws.items() if draw is not None and draw < draws]
        return np.array(chosen, dtype=np.int64)

    @property
    def untimed(self) -> list[int]:
        """The numbers of the sets of untimed searches."""
        return [number for number, draw in self.draws.items() if draw is None]


@dataclass(frozen=True)
class QueryFormat:
    """How a problem's query sets are configured, drawn and read."""

    spec: type[Section]
    """An entry of the problem's key `queries` in a configuration. A field `file` names a file to read."""
    draw: Callable[[Graph, Mapping[str, Any], int, int], pa.Table]
    """``draw(graph, specs, draws, seed)`` returns the table to keep: `draws` sets for each of `specs`, a
    mapping of str to spec, and one for untimed searches."""
    read: Callable[[Path, Graph], QuerySets]
    """``read(path, graph)`` returns the sets of such a table."""
