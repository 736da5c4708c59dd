"""BFS over the GPUs of one host, one persistent kernel on each, which write into each other's memory.

The scheme is Px1: each rank searches for its own vertices and knows their parents. ``hybrid_peers.cu``
describes a level.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from pydantic import Field, NonNegativeInt

from relaxometer.device.signature import read_source
from relaxometer.distributed.comm import Ranks
from relaxometer.distributed.levels import Level
from relaxometer.distributed.partition import Block
from relaxometer.distributed.peers import EPOCHS, Peers
from relaxometer.problems.bfs import UNREACHED, Answer
from relaxometer.problems.bfs._levels import GROUP_VERTICES, PIECE, WARP, WORD
from relaxometer.problems.bfs._prepare import KERNELS, prepare
from relaxometer.problems.bfs._switching import SwitchingParameters

SOURCE = read_source(Path(__file__).with_name("hybrid_peers.cu"))

BLOCK = {"cuda": 512, "host": 64}  # threads per block: as in the launch bounds, or fewer for the emulation


class Parameters(SwitchingParameters):
    """When the search changes direction."""

    threshold: NonNegativeInt = Field(32, lt=2**32)
    """A warp searches the rows of at least this many incoming arcs, a thread the others."""


class Solver:
    """Distributed BFS on one host, scheme ``Px1``; UserError if ranks cannot reach each other's memory."""

    def __init__(self, ranks: Ranks, block: Block, parameters: Parameters) -> None:
        self._ranks, self._block, self._parameters = ranks, block, parameters
        device, xp = ranks.device, ranks.device.xp
        module = ranks.module(SOURCE.path, cooperative=True)
        self._kernel = module.get_function("hybrid_peers")
        self._threads = BLOCK[device.kind]
        self._blocks = device.max_cooperative_blocks(self._kernel, self._threads)
        warps = self._blocks * self._threads // WARP
        capacity = -(-block.heads.size // GROUP_VERTICES // warps) * GROUP_VERTICES
        own_words = block.heads.size // WORD
        out, into = ({"offsets": rows.offsets, "targets": rows.targets} for rows in (block.out, block.into))
        rows = into["offsets"], into["targets"]
        # Vertices without incoming arcs need no search.
        empty, probes = prepare(device, ranks.module(KERNELS), own_words, rows[0], rows, block.out.offsets)
        many_arcs, few_vertices = parameters.limits(block.n_vertices, block.n_arcs)
        n_words = block.tails.size // WORD
        self._peers = Peers(ranks, 3 * n_words)
        self._search = module.struct(
            "Search",
            peers=self._peers.members,
            n_words=np.uint32(n_words),
            own_words=np.uint32(own_words),
            out=out,
            into={"rows": into, "probes": probes, "long_row": np.uint32(parameters.threshold)},
            empty=empty,
            degrees=block.degrees,
            many_arcs=np.uint64(many_arcs),
            few_vertices=np.uint64(few_vertices),
            closed=xp.empty(own_words, dtype=np.uint32),
            found=xp.empty(own_words, dtype=np.uint32),
            listed=xp.empty(warps * capacity, dtype=np.uint32),
            warp_capacity=np.uint32(capacity),
            list=xp.empty(block.tails.size + len(block.out.targets) // PIECE, dtype=np.uint64),
            counts=xp.zeros(EPOCHS * SOURCE.constants["COUNTS"], dtype=np.uint64),
        )
        ranks.barrier()

    @property
    def resolved(self) -> dict[str, Any]:
        """All parameters and the transport."""
        return {**self._parameters.model_dump(), "transport": "peers"}

    def solve(self, source: int, levels: list[Level] | None = None) -> Answer:
        """Find the levels from `source`; see :meth:`relaxometer.distributed.hybrid_2d.Solver.solve`.

        An instrumented run first counts the levels by another search. Its communication time begins when this
        rank's first block has searched and sent, ends after the barrier, and so includes waiting.
        """
        answer = self._run(source, None)
        if levels is None:
            return answer
        entry = SOURCE.layout("LevelRecord").dtype
        log = self._ranks.device.xp.zeros(answer.phases * entry.itemsize // 8, dtype=np.uint64)
        answer = self._run(source, log)
        self._record(self._ranks.device.asnumpy(log).view(entry), levels)
        return answer

    def _record(self, log: np.ndarray, levels: list[Level]) -> None:
        logs = np.stack(self._ranks.gather(log))
        begin, searched, end = (logs[name].astype(np.int64) for name in ("begin_ns", "searched_ns", "end_ns"))
        times_ms = (times.max(axis=0) / 1e6 for times in (end - begin, searched - begin, end - searched))
        plain = (self._ranks.size - 1) * self._ranks.size * self._block.heads.size // 8
        examined, sent = (logs[name].sum(axis=0).tolist() for name in ("examined", "sent_bytes"))
        for k, (total, computing, communication) in enumerate(zip(*times_ms, strict=True)):
            mode = "top-down" if logs[0, k]["is_top_down"] else "bottom-up"
            counts = int(logs[0, k]["found"]), examined[k]
            times = float(total), float(computing), float(communication)
            levels.append(Level(mode, *counts, *times, sent[k], plain))

    def _run(self, source: int, log: Any) -> Answer:
        """Search; `log` is None or has an entry for each level."""
        block, xp = self._block, self._ranks.device.xp
        level, predecessor = (xp.empty(block.owned.size, dtype=np.uint32) for _ in range(2))
        n_levels = xp.empty(1, dtype=np.uint32)
        own = block.owned.local_of(source)
        own_source = np.uint32(own) if own >= 0 else UNREACHED
        arguments = self._search, np.uint32(source), own_source, level, predecessor, n_levels, log
        self._kernel(self._blocks, self._threads, arguments)
        return Answer(level, predecessor, n_levels)
