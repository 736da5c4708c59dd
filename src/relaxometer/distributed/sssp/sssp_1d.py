"""Shortest paths over several ranks: near-far search; a rank relaxes the outgoing arcs of its vertices.

Once per phase, a rank sends requests: the shorter distances that it has found, to the owners of the vertices.
All ranks process the vertices nearer than a common limit. When none is left, the limit becomes the distance
of the nearest waiting vertex plus delta.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from relaxometer.device.signature import read_source
from relaxometer.distributed.comm import Ranks
from relaxometer.distributed.levels import Level, LevelClock, over
from relaxometer.distributed.partition import Block
from relaxometer.problems import variants
from relaxometer.problems.bfs._levels import PIECE, WORD
from relaxometer.problems.sssp import Answer

SOURCE = read_source(Path(__file__).with_name("sssp_1d.cu"))

NEAR, LEAST, RELAXED, OVERFLOWED, REQUEST, WARP = (
    SOURCE.constants[name] for name in ("NEAR", "LEAST", "RELAXED", "OVERFLOWED", "REQUEST", "WARP")
)

NONE_WAITS = 2**62  # the least distance of no waiting vertices


class Parameters(variants.Parameters):
    """How far a search looks ahead, and how often ranks communicate."""

    delta: Annotated[int, Field(ge=1, lt=2**32)] | Literal["auto"] = "auto"
    """Distance of the limit beyond the nearest waiting vertex. "auto" is 32 (a warp) times the mean weight
    over the mean degree, after Davidson, Baxter, Garland and Owens (IPDPS 2014)."""
    local_phases: Annotated[int, Field(ge=1, lt=2**32)] = 1
    """Maximum number of phases that a rank runs on its own vertices before requests are exchanged. More
    phases save exchanges if neighbours mostly belong to the same rank, as on a road map, and cost relaxations
    otherwise."""


class Solver:
    """Distributed near-far search; the block is of scheme ``1xP``, arrays of answers of shape (owned.size,).

    A rank needs 64 bits for each vertex of the graph. A phase ends with an exchange of requests.

    References
    ----------
    Meyer and Sanders, "Delta-stepping: a parallelizable shortest path algorithm", 2003. Near and far sets
    replace the buckets: Davidson et al., above.
    """

    def __init__(self, ranks: Ranks, block: Block, parameters: Parameters) -> None:
        self._ranks, self._block, self._parameters = ranks, block, parameters
        xp = ranks.device.xp
        module = ranks.module(SOURCE.path)
        names = ("take_near", "relax", "count_requests", "write_requests", "apply_requests")
        self._kernels = {name: module.get_function(name) for name in names}
        self._n_words = block.heads.size // WORD
        own = ranks.rank * block.layout.words
        self._own_words = own, own + block.layout.words
        self._own = slice(ranks.rank * block.layout.piece, (ranks.rank + 1) * block.layout.piece)
        self._best = xp.empty(block.heads.size, dtype=np.uint64)
        self._changed = xp.empty(self._n_words, dtype=np.uint32)
        self._pending = xp.empty(block.layout.words, dtype=np.uint32)
        self._list = xp.empty(block.tails.size + len(block.out.targets) // PIECE, dtype=np.uint64)
        self._length, self._counts = xp.zeros(1, dtype=np.uint64), xp.zeros(4, dtype=np.uint64)
        self._bits = xp.empty(self._n_words, dtype=np.uint32)
        self._delta = self._chosen_delta()

    def _chosen_delta(self) -> int:
        if self._parameters.delta != "auto":
            return self._parameters.delta
        weights = self._block.out.weights
        total = self._ranks.reduce([int(weights.sum(dtype=np.int64))])[0]
        mean_degree = self._block.n_arcs / self._block.n_vertices
        return max(1, round(WARP * total / max(self._block.n_arcs, 1) / max(mean_degree, 1)))

    @property
    def resolved(self) -> dict[str, Any]:
        """All parameters, delta as chosen, and the transport."""
        return {**self._parameters.model_dump(), "delta": self._delta, "transport": self._ranks.transport}

    def solve(self, source: int, levels: list[Level] | None = None) -> Answer:
        """Find the distances from `source`; with a list of `levels` the search is instrumented, not timed."""
        self._begin(source)
        clock = LevelClock(self._ranks, levels)
        limit, phases = self._delta, 0
        while True:
            near, least = self._take_near(limit)
            least, some_near = self._ranks.reduce([least, -int(near > 0)], "min")
            if not some_near:
                if least == NONE_WAITS:
                    break
                limit = least + self._delta
                continue
            relaxed = self._relax(near, limit)
            received = self._exchange_requests()
            phases += 1
            clock.end("near", self._ranks.reduce([received])[0] if clock.wanted else 0, relaxed)
        clock.close()
        overflowed = bool(self._ranks.reduce([self._ranks.device.item(self._counts, OVERFLOWED)], "max")[0])
        own = self._best[self._own]
        return Answer((own >> np.uint64(32)).astype(np.uint32), own.astype(np.uint32), phases, overflowed)

    def _begin(self, source: int) -> None:
        self._best.fill(np.uint64(2**64 - 1))
        for array in (self._changed, self._pending, self._counts):
            array.fill(0)
        if self._own.start <= source < self._own.stop:
            self._best[source] = source
            self._changed[source // WORD] = np.uint32(1 << source % WORD)

    def _take_near(self, limit: int) -> tuple[int, int]:
        """List the near vertices; return their number and the least distance of the waiting ones."""
        self._length.fill(0)
        self._counts[NEAR], self._counts[LEAST] = 0, NONE_WAITS
        begin, end = self._own_words
        owned = self._changed[begin:end], self._pending, self._best[self._own]
        rows = self._block.out.offsets, self._list, self._length, self._counts
        n_words = np.uint32(end - begin)
        self._kernels["take_near"](
            *over(self._ranks.device, end - begin), (n_words, np.uint64(limit), *owned, *rows)
        )
        near, least, *_ = self._ranks.device.asnumpy(self._counts).tolist()
        return near, least

    def _relax(self, near: int, limit: int) -> int:
        """Relax the arcs of near vertices for up to `local_phases`; return the number of arcs."""
        self._counts[RELAXED] = 0
        out, first = self._block.out, np.uint32(self._own.start)
        for phase in range(self._parameters.local_phases):
            if phase:
                near, _ = self._take_near(limit)
            if not near:
                break
            rows = self._list, self._length, first, out.offsets, out.targets, out.weights
            self._kernels["relax"](
                *over(self._ranks.device, 1 << 18), (*rows, self._best, self._changed, self._counts)
            )
        return int(self._ranks.device.item(self._counts, RELAXED))

    def _exchange_requests(self) -> int:
        """Send shorter distances to owners and apply those received; return the number received."""
        device, words = self._ranks.device, self._block.layout.words
        launch = over(self._ranks.device, self._n_words)
        bounds = np.uint32(self._n_words), *(np.uint32(word) for word in self._own_words)
        self._kernels["count_requests"](*launch, (*bounds, self._changed, self._bits))
        through = device.xp.cumsum(self._bits, dtype=np.int64)
        ends = device.asnumpy(through[words - 1 :: words]).tolist()
        requests = device.xp.empty(max(1, ends[-1]) * REQUEST, dtype=np.uint32)
        results = self._best, self._changed, requests
        self._kernels["write_requests"](*launch, (*bounds, through, *results))
        parts = [requests[a * REQUEST : b * REQUEST] for a, b in zip([0, *ends], ends, strict=False)]
        received = 0
        for array in self._ranks.exchange_sized(parts, np.uint32):
            count = len(array) // REQUEST
            received += count
            if count:
                arguments = np.uint32(count), array, self._best, self._changed
                self._kernels["apply_requests"](*over(self._ranks.device, count), arguments)
        return received
