"""METIS in processes of their own: it takes random numbers from the C library, one state for all threads.

One interpreter starts and forks a process for each pair of pipes whose descriptors it was given, one for
requests and one for answers. A request is a header of five int32, which are the number of parts (0 for a
nested dissection), the seed, the number of separators to try, vertices, and neighbours; then offsets and
neighbours, and for parts the weights of edges and of vertices, all int32. The answer is one int32 per vertex.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import IO, Any

import numpy as np
import numpy.typing as npt
import pymetis

IMBALANCE = 200
"""How much larger a half may be than half the graph, in thousandths: METIS's own default for separators."""

Small = npt.NDArray[np.int32]


def bisect(offsets: Any, adjacent: Any, edge_weights: Any, vertex_weights: Any, seed: int) -> Small:
    """Return a side, 0 or 1, for each vertex of a graph."""
    options = pymetis.Options(seed=seed, ufactor=IMBALANCE)
    graph = pymetis.CSRAdjacency(offsets, adjacent)
    cut = pymetis.part_graph(
        2, graph, vweights=vertex_weights, eweights=edge_weights, recursive=True, options=options
    )
    return np.asarray(cut.vertex_part, np.int32)


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
        sizes = [n + 1, size, size, n] if parts else [n + 1, size]
        offsets, adjacent, *weights = (np.frombuffer(requests.read(4 * k), dtype=np.int32) for k in sizes)
        if parts:
            answer = bisect(offsets, adjacent, weights[0], weights[1], seed)
        else:
            answer = dissect(offsets, adjacent, seed, separators)
        answers.write(answer.tobytes())
        answers.flush()


def fork(ends: list[int]) -> int:
    """Fork a process for each pair of pipes, and wait for all; return the first status that is not 0."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever gets it, too, closes the pipes
    for k in range(0, len(ends), 2):
        if os.fork() == 0:
            for end in ends[:k] + ends[k + 2 :]:  # so that a pipe ends with its process
                os.close(end)
            with os.fdopen(ends[k], "rb") as requests, os.fdopen(ends[k + 1], "wb") as answers:
                serve(requests, answers)
            return 0
    for end in ends:
        os.close(end)
    for _ in ends[::2]:
        if status := os.waitstatus_to_exitcode(os.wait()[1]):
            return status
    return 0


if __name__ == "__main__":
    sys.exit(fork(list(map(int, sys.argv[1:]))))
