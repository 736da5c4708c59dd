"""BFS over the GPUs of one host in one persistent kernel each, which write into each other's memory.

The scheme is Px1: each rank looks for its own vertices and knows their parents. ``hybrid_peers.cu`` says how
a level goes without messages, and what it costs.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from pydantic import NonNegativeInt

from relaxometer.distributed.comm import Ranks
from relaxometer.distributed.hybrid_2d import GROUP, PIECE, Answer
from relaxometer.distributed.levels import Level, over
from relaxometer.distributed.partition import WORD, Block
from relaxometer.distributed.peers import lend
from relaxometer.problems.bfs._switching import SwitchingParameters

NOWHERE = np.uint32(2**32 - 1)
BLOCK = {"cuda": 512, "host": 64}
"""Threads a block: as the launch bounds say, or what the emulation can do quickly."""

COUNTS, ENTRIES, STATE, TOLD = 5, 7, 2, 2
"""Words of a rank's counts of a level, of an entry of the log, of the state, and of what others are told; the
same as in ``hybrid_peers.cu``."""


class Parameters(SwitchingParameters):
    """When the search changes direction.

    Parameters
    ----------
    alpha, beta, way_back
        See :class:`SwitchingParameters`.
    threshold : int
        Vertices with at least so many incoming arcs are searched by a warp, others by a thread.
    """

    threshold: NonNegativeInt = 32


class Solver:
    """Distributed BFS on one host.

    Parameters
    ----------
    ranks : Ranks
    block : Block
        Of scheme ``Px1``.
    parameters : Parameters

    Raises
    ------
    UserError
        If the ranks cannot reach each other's memory.
    """

    def __init__(self, ranks: Ranks, block: Block, parameters: Parameters) -> None:
        self._ranks, self._block, self._parameters = ranks, block, parameters
        device, xp = ranks.device, ranks.device.xp
        own_words, n_words = block.heads.size // WORD, block.tails.size // WORD
        self._region = lend(ranks, 3 * n_words + 2 * 3 * ranks.size * TOLD + ranks.size)
        folder = Path(__file__).parent
        self._kernel = ranks.module(folder / "hybrid_peers.cu", cooperative=True).get_function("hybrid_peers")
        self._threads = BLOCK[device.kind]
        self._blocks = device.max_cooperative_blocks(self._kernel, self._threads)
        warps = self._blocks * self._threads // WORD
        room = -(-block.heads.size // GROUP // warps) * GROUP
        self._own_words = own_words
        limits = parameters.limits(block.n_vertices, block.n_arcs)
        self._limits = tuple(np.uint64(limit) for limit in limits)
        empty, probes = self._prepared()
        rows = block.out.offsets, block.out.targets, block.into.offsets, block.into.targets
        self._graph = *rows, probes, empty, block.degrees
        self._work = (
            xp.empty(own_words, dtype=np.uint32),
            xp.empty(own_words, dtype=np.uint32),
            xp.empty(warps * room, dtype=np.uint32),
            np.uint32(room),
            xp.empty(block.tails.size + len(block.out.targets) // PIECE, dtype=np.uint64),
            xp.zeros(3 * COUNTS, dtype=np.uint64),
            xp.zeros(STATE, dtype=np.uint64),
        )
        ranks.barrier()

    def _prepared(self) -> tuple[Any, Any]:
        """Return the bitmap of vertices that no arc enters, and which neighbour each other probes first."""
        block, device = self._block, self._ranks.device
        module = self._ranks.module(Path(__file__).with_name("hybrid_2d.cu"))
        empty = device.xp.empty(self._own_words, dtype=np.uint32)
        into = block.into
        module.get_function("mark_empty")(
            *over(device, WORD * self._own_words), (np.uint32(self._own_words), into.offsets, empty)
        )
        probes = device.xp.empty(block.heads.size, dtype=np.uint32)
        rows = np.uint32(block.heads.size), into.offsets, into.targets, block.out.offsets
        module.get_function("choose_probes")(*over(device, WORD * block.heads.size), (*rows, probes))
        return empty, probes

    @property
    def resolved(self) -> dict[str, Any]:
        """All parameters and the scheme."""
        return {
            **self._parameters.model_dump(),
            "scheme": self._block.layout.scheme,
            "ranks": self._ranks.size,
            "transport": "peers",
        }

    def solve(self, source: int, levels: list[Level] | None = None) -> Answer:
        """Find the levels from `source`; see :meth:`relaxometer.distributed.hybrid_2d.Solver.solve`.

        An instrumented run searches twice: the first time to learn how many levels there are. Its
        communication is the time from this rank's first block having searched and sent to the end of the
        meeting, waiting for slower blocks and ranks included.
        """
        answer = self._search(source, None)
        if levels is None:
            return answer
        phases = int(self._ranks.device.item(answer.rounds))
        log = self._ranks.device.xp.zeros((phases, ENTRIES), dtype=np.uint64)
        answer = self._search(source, log)
        self._record(self._ranks.device.asnumpy(log).astype(np.int64), levels)
        return answer

    def _record(self, log: np.ndarray, levels: list[Level]) -> None:
        """Append the levels of a log, put together from all ranks."""
        logs = np.stack(self._ranks.gather(log))
        modes, updated, looks, begin, searched, met, sent = np.moveaxis(logs, 2, 0)
        plain = (self._ranks.size - 1) * self._ranks.size * self._own_words * WORD // 8
        for k in range(logs.shape[1]):
            times = met[:, k] - begin[:, k], searched[:, k] - begin[:, k], met[:, k] - searched[:, k]
            total, computing, meeting = (float(time.max()) / 1e6 for time in times)
            mode = "top-down" if modes[0, k] else "bottom-up"
            found = int(updated[0, k]), int(looks[:, k].sum())
            levels.append(Level(mode, *found, total, computing, meeting, int(sent[:, k].sum()), plain))

    def _search(self, source: int, log: Any) -> Answer:
        block, ranks, xp = self._block, self._ranks, self._ranks.device.xp
        level, predecessor = (xp.empty(block.owned.size, dtype=np.uint32) for _ in range(2))
        rounds = xp.empty(1, dtype=np.uint32)
        first = ranks.rank * block.layout.piece
        own = source - first if first <= source < first + block.layout.piece else int(NOWHERE)
        place = (
            np.uint32(self._own_words),
            self._region.addresses,
            np.uint32(ranks.rank),
            np.uint32(ranks.size),
        )
        start = np.uint32(source), np.uint32(own), *self._limits
        results = level, predecessor, rounds, None if log is None else log.reshape(-1)
        arguments = (
            *place,
            *self._graph,
            *start,
            np.uint32(self._parameters.threshold),
            *self._work,
            *results,
        )
        self._kernel(self._blocks, self._threads, arguments)
        return Answer(level, predecessor, rounds)
