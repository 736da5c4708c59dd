"""The labels of the label-correcting variants; see ``_labels.cuh``."""

from pathlib import Path
from typing import Any

import numpy as np

from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems import variants
from relaxometer.problems.sssp import Answer
from relaxometer.problems.sssp._tight_tree import TightTree, leave_two_bits

BLOCK = 256  # threads per block of the kernels that work on labels
WAITS = 1 << 31
"""The bit of a vertex that waits to be relaxed; the bits below hold its predecessor.

If distances have 64 bits, it is the last bit.
"""


class Labels:
    """Distance, predecessor and waiting bit of every vertex.

    Skipped if ids need more than 31 bits, or 64-bit integers are distances and paths may need more than 62.
    """

    def __init__(self, graph: ResidentGraph) -> None:
        if graph.n_vertices > WAITS:
            raise variants.Skipped(f"{graph.n_vertices:,} vertices; labels hold 31 bits of a predecessor")
        self._graph, self._lengths = graph, graph.lengths
        module = graph.device.module(Path(__file__).with_name("_labels.cu"), options=self._lengths.options)
        xp, n, is_wide = graph.device.xp, graph.n_vertices, self._lengths.is_wide
        self._tree = None
        if is_wide:
            leave_two_bits(graph)
            self._tree = TightTree(graph)
        self._shift = np.uint64(1 if is_wide else 32)
        self.words = xp.empty(n, dtype=xp.uint64)
        self._split = module.get_function("split_labels").bind(
            (n + BLOCK - 1) // BLOCK, BLOCK, (np.uint32(n), self.words, None, None)
        )
        self.overflow = xp.zeros(1, dtype=xp.uint32)

    def start(self, source: int) -> None:
        """Let only `source` wait, at distance 0."""
        self._source = source
        self.words.fill(np.uint64(self._lengths.unreached) << self._shift)
        zero = int(self._lengths.zero)
        self.words[source] = zero << 1 | 1 if self._tree else zero << 32 | WAITS | source
        self.overflow.fill(0)

    @property
    def distances(self) -> Any:
        """Current distances, device array of shape (n_vertices,), uint64, shifted for comparisons only."""
        return self.words >> self._shift

    def answer(self, phases: int | None) -> Answer:
        """Return distances and predecessors in new arrays."""
        n, xp = self._graph.n_vertices, self._graph.device.xp
        distance, predecessor = (xp.empty(n, dtype=dtype) for dtype in (self._lengths.word, np.uint32))
        self._split(distances=distance, predecessors=predecessor)
        if self._tree is not None:
            predecessor = self._tree.predecessors(self._source, distance)
        overflowed = bool(self._graph.device.item(self.overflow))
        return Answer(self._lengths.distance(distance), predecessor, phases, overflowed)
