"""METIS in a process of its own, since it takes random numbers from the C library, one state for all threads.

Requests come on the standard input and answers leave on the standard output: a header of five int32, which
are the number of parts (0 for a nested dissection), the seed, the number of separators to try, vertices,
and neighbours; then offsets and neighbours as int32. The answer is one int32 per vertex.
"""

from __future__ import annotations

import sys
from typing import IO, Any

import numpy as np
import numpy.typing as npt
import pymetis

IMBALANCE = 200
"""How much larger a half may be than half the graph, in thousandths: METIS's own default for separators."""

Small = npt.NDArray[np.int32]


def bisect(offsets: Any, adjacent: Any, seed: int) -> Small:
    """Return a side, 0 or 1, for each vertex."""
    options = pymetis.Options(seed=seed, ufactor=IMBALANCE)
    graph = pymetis.CSRAdjacency(offsets, adjacent)
    return np.asarray(pymetis.part_graph(2, graph, recursive=True, options=options).vertex_part, np.int32)


def dissect(offsets: Any, adjacent: Any, seed: int, separators: int) -> Small:
    """Return the vertices in an order of nested dissection."""
    if len(adjacent) == 0:
        return np.arange(len(offsets) - 1, dtype=np.int32)
    options = pymetis.Options(seed=seed, nseps=separators)
    order, _ = pymetis.nested_dissection(pymetis.CSRAdjacency(offsets, adjacent), options=options)
    return np.asarray(order, dtype=np.int32)


def serve(requests: IO[bytes], answers: IO[bytes]) -> None:
    """Answer requests until there are no more."""
    while header := requests.read(20):
        parts, seed, separators, n, size = np.frombuffer(header, dtype=np.int32).tolist()
        offsets = np.frombuffer(requests.read(4 * (n + 1)), dtype=np.int32)
        adjacent = np.frombuffer(requests.read(4 * size), dtype=np.int32)
        answer = bisect(offsets, adjacent, seed) if parts else dissect(offsets, adjacent, seed, separators)
        answers.write(answer.tobytes())
        answers.flush()


if __name__ == "__main__":
    serve(sys.stdin.buffer, sys.stdout.buffer)
