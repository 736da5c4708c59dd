"""BFS over the GPUs of one host, one persistent kernel on each, which write into each other's memory.

The scheme is Px1: each rank searches for its own vertices and knows their parents. ``hybrid_peers.cu``
describes a level.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from relaxometer.core.errors import UserError
from relaxometer.device.signature import read_source
from relaxometer.distributed.comm import Ranks
from relaxometer.distributed.levels import Level
from relaxometer.distributed.partition import Block
from relaxometer.distributed.peers import EPOCHS, Peers
from relaxometer.problems.answers import Ahead
from relaxometer.problems.bfs import UNREACHED, Answer
from relaxometer.problems.bfs._levels import PIECE, WARP, WORD, filling
from relaxometer.problems.bfs._prepare import KERNELS
from relaxometer.problems.bfs.hybrid_packed import _best_neighbours as packed
from relaxometer.problems.bfs.hybrid_packed._parameters import GROUP_VERTICES, PackedParameters

SOURCE = read_source(Path(__file__).with_name("hybrid_peers.cu"))

BLOCK = {"cuda": SOURCE.constants["THREADS"], "host": 64}  # threads per block


class Parameters(PackedParameters):
    """Parameters of the search, which are those of `hybrid-packed`."""


class Solver:
    """Distributed BFS on one host, scheme ``Px1``.

    UserError if ranks cannot reach each other's memory, or for more than 2**28 vertices.
    """

    def __init__(self, ranks: Ranks, block: Block, parameters: Parameters) -> None:
        if block.tails.size > packed.MAX_VERTICES:
            most, given = packed.MAX_VERTICES, block.n_vertices
            raise UserError(
                f"hybrid-peers searches at most {most:,} vertices, given {given:,}; hybrid-2d searches more"
            )
        self._ranks, self._block, self._parameters = ranks, block, parameters
        device = ranks.device
        module = ranks.module(SOURCE.path, cooperative=True)
        kernel, self._threads = module.get_function("hybrid_peers"), BLOCK[device.kind]
        self._blocks = device.max_cooperative_blocks(kernel, self._threads)
        n_words, hub_words = block.tails.size // WORD, parameters.hub_words(block.tails.size)
        neighbours = self._neighbours(hub_words * WORD)
        self._peers = Peers(ranks, SOURCE.constants["FRONTIERS"] * (n_words + hub_words))
        search = module.struct(
            "Search",
            peers=self._peers.members,
            n_words=np.uint32(n_words),
            hub_words=np.uint32(hub_words),
            out={"offsets": block.out.offsets, "targets": block.out.targets},
            packed=neighbours,
            degrees=block.degrees,
            arcs_back=np.uint32(block.metadata.get("directed") is False),
            # The same on all ranks, which must decide alike, even if their GPUs are not.
            rule=parameters.rule(block.n_arcs, *ranks.reduce([self._blocks * self._threads])),
            **self._memory(),
        )
        arguments = search, np.uint32(0), UNREACHED, None, None, None, None
        self._launch = kernel.bind(self._blocks, self._threads, arguments)
        self._arrays = Ahead(self._allocate, lambda arrays: self._launch.set(**arrays))
        ranks.barrier()

    def _allocate(self) -> dict[str, Any]:
        """Return the arrays of an answer."""
        n, empty = self._block.owned.size, self._ranks.device.xp.empty
        sizes = {"level": n, "predecessor": n, "n_levels": 1}
        return {name: empty(size, dtype=np.uint32) for name, size in sizes.items()}

    def _neighbours(self, n_hubs: int) -> dict[str, Any]:
        """Return the incoming arcs and the packed neighbours of this rank's vertices."""
        ranks, block = self._ranks, self._block
        rows, n = (block.into.offsets, block.into.targets), block.heads.size
        degrees = ranks.concatenated(ranks.device.xp.diff(rows[0]).astype(np.uint32))
        first, most = ranks.rank * n, self._parameters.most
        ranks.module(packed.KERNELS)  # compiled once
        found = packed.best_neighbours(ranks.device, rows, n_hubs, most, degrees=degrees, first=first)
        return {
            "rows": {"offsets": rows[0], "targets": rows[1]},
            "long_row": np.uint32(self._parameters.threshold),
            "best": found.best,
            "best_ids": found.best_ids,
            "others": found.others,
            "rank": found.rank[first : first + n].copy(),
            "ids": found.ids[:n_hubs].copy(),
        }

    def _memory(self) -> dict[str, Any]:
        """Return bitmaps of this rank's vertices, as the first search needs them, lists and counts."""
        device, block, xp = self._ranks.device, self._block, self._ranks.device.xp
        n, own_words = block.heads.size, block.heads.size // WORD
        warps = self._blocks * self._threads // WARP
        capacity = -(-n // GROUP_VERTICES // warps) * GROUP_VERTICES
        closed = xp.empty(own_words, dtype=np.uint32)
        mark = self._ranks.module(KERNELS).get_function("mark_isolated")
        # Vertices without incoming arcs need no search.
        into, sizes = block.into.offsets, (np.uint32(n), np.uint32(own_words))
        mark(*filling(device, mark), (*sizes, into, into, closed))
        visited = xp.empty(SOURCE.constants["SNAPSHOTS"] * own_words, dtype=np.uint32)
        visited[: 2 * own_words] = xp.concatenate([closed, closed])
        return {
            "n": sizes[0],
            "own_words": sizes[1],
            "closed": closed,
            "visited": visited,
            "stored": xp.zeros(own_words, dtype=np.uint32),
            "listed": xp.empty(warps * capacity, dtype=np.uint64),
            "warp_capacity": np.uint32(capacity),
            "pieces": xp.empty(block.tails.size + len(block.out.targets) // PIECE, dtype=np.uint64),
            "counts": xp.zeros(EPOCHS * SOURCE.constants["COUNTS"], dtype=np.uint64),
        }

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
        own = self._block.owned.local_of(source)
        arrays = self._arrays.take()
        own_source = np.uint32(own) if own >= 0 else UNREACHED
        self._launch(source=np.uint32(source), own_source=own_source, log=log)
        self._arrays.prepare()
        return Answer(**arrays)
