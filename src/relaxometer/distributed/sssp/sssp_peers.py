"""Shortest paths over the GPUs of one host, one persistent kernel each, which write into each other's memory.

The search is that of `push-pull`; each rank has the arcs to its own vertices. ``sssp_peers.cu`` describes a
phase.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from relaxometer.device.arguments import Struct
from relaxometer.device.kernels import Module
from relaxometer.device.signature import read_source
from relaxometer.distributed import build
from relaxometer.distributed.build import Counter, cuts
from relaxometer.distributed.comm import Ranks
from relaxometer.distributed.levels import Level, over
from relaxometer.distributed.partition import Block, Rows
from relaxometer.distributed.peers import Peers
from relaxometer.graphs.lengths import LENGTHS
from relaxometer.problems.answers import Ahead
from relaxometer.problems.sssp import Answer
from relaxometer.problems.sssp._cooperative import LOG_ROWS, logged_phases, threads_per_block
from relaxometer.problems.sssp.push_pull import push_pull
from relaxometer.problems.sssp.push_pull.push_pull import BLOCK, MANY_ARCS, automatic_delta, bucket_width

SOURCE = read_source(Path(__file__).with_name("sssp_peers.cu"))

NO_HEAD = np.uint32(SOURCE.constants["NO_VERTEX"])

MESSAGE = 8  # bytes of a message

LAST_PULL = SOURCE.constants["PULLS"] - 1  # the only phase of pulling that sends messages


class Parameters(push_pull.Parameters):
    """Parameters of the search, which are those of `push-pull`."""


class Solver:
    """Distributed push-pull search on one host; the block is of scheme ``Px1-dealt``, with weights.

    UserError if the ranks cannot reach each other's memory.

    References
    ----------
    Chakaravarthy, Checconi, Petrini and Sabharwal, "Scalable Single Source Shortest Path Algorithms for
    Massively Parallel Systems", IPDPS 2014.
    """

    def __init__(self, ranks: Ranks, block: Block, parameters: Parameters) -> None:
        self._ranks, self._block = ranks, block
        xp = ranks.device.xp
        graph = Numbered.of(ranks, block)
        self._graph = graph
        given = parameters.delta
        fitting = automatic_delta(graph.mean_weight, graph.n_with_arcs, block.n_arcs)
        self._delta = bucket_width(fitting if given == "auto" else given, LENGTHS["uint32"])
        self._beta = parameters.beta
        self._state = xp.zeros(SOURCE.layout("State").dtype.itemsize, dtype=xp.uint8)
        self._log = xp.empty((LOG_ROWS, 4), dtype=np.uint64)
        n_tails = graph.n_heads * ranks.size
        inboxes, labels = 2 * n_tails * MESSAGE // 4, 2 * graph.n_heads
        self._peers = Peers(ranks, inboxes + labels)
        self._best = self._peers.own[inboxes : inboxes + labels].view(np.uint64)
        distance, resumed = (xp.empty(n_tails, dtype=np.uint32) for _ in range(2))
        sizes = {"n": np.uint32(n_tails), "labels": np.uint64(4 * inboxes)}
        module = ranks.module(SOURCE.path, cooperative=True)
        structs = (
            module.struct("Problem", **self._members(n_tails)),
            module.struct("Peers", **self._peers.members),
            module.struct("Tails", **sizes, distance=distance, resumed=resumed),
        )
        self._bind(module, structs)
        ranks.barrier()

    def _bind(self, module: Module, structs: tuple[Struct, ...]) -> None:
        """Check and pack the launches of a search once."""
        device, graph, nothing = self._ranks.device, self._graph, np.uint32(0)
        search, threads = module.get_function("search"), threads_per_block(device, BLOCK)
        blocks = device.max_cooperative_blocks(search, threads)
        start = *structs, graph.tail_numbers, nothing, self._log, nothing
        self._search = search.bind(blocks, threads, start)
        n = self._block.owned.size
        labels = np.uint32(n), graph.head_of, self._best, graph.ids, self._state
        written = nothing, nothing, None, None, None, None
        unpack, (blocks, threads) = module.get_function("unpack"), over(device, n)
        blocks = min(blocks, device.max_cooperative_blocks(unpack, threads))  # the module is cooperative
        self._unpack = unpack.bind(blocks, threads, (*labels, *written))
        self._arrays = Ahead(self._allocate, lambda arrays: self._unpack.set(**arrays))

    def _allocate(self) -> dict[str, Any]:
        """Return the arrays of an answer."""
        n, empty = self._block.owned.size, self._ranks.device.xp.empty
        sizes = {"distance": n, "predecessor": n, "n_phases": 1, "overflow": 1}
        return {name: empty(size, dtype=np.uint32) for name, size in sizes.items()}

    def _members(self, n_tails: int) -> dict[str, Any]:
        xp, graph = self._ranks.device.xp, self._graph
        n_heads, n_arcs = graph.n_heads, len(graph.out[1])
        vertices = {
            "n": np.uint32(n_heads),
            "n_many": np.uint32(graph.n_many),
            "best": self._best,
            "due": xp.empty(n_tails, dtype=np.uint32),
            "cursor": xp.empty(n_tails, dtype=np.uint32),
            "stamp": xp.zeros(n_heads, dtype=np.uint32),
        }
        return {
            "out": {"offsets": graph.out[0], "arcs": graph.out[1]},
            "into": {"offsets": graph.into[0], "arcs": graph.into[1]},
            "vertices": vertices,
            "n_arcs": np.uint64(self._block.n_arcs),
            "delta": np.uint64(self._delta),
            "beta": np.float32(self._beta),
            "lists": [xp.empty(n_heads, dtype=np.uint32) for _ in range(2)],
            # A window is cut only if it is longer than one task.
            "tasks": xp.empty(2 * (n_arcs // SOURCE.constants["TASK_ARCS"]) + 1, dtype=np.uint64),
            "state": self._state,
        }

    @property
    def resolved(self) -> dict[str, Any]:
        """The width of a bucket, the threshold for pulling, and the transport."""
        return {"delta": int(self._delta), "beta": self._beta, "transport": "peers"}

    def solve(self, source: int, levels: list[Level] | None = None) -> Answer:
        """Find the distances from `source`, the same on all ranks; see :class:`sssp_1d.Solver`.

        Modes are ``"push"`` and ``"pull"``. Times of phases include waiting for other ranks. Bytes are those
        of messages; the second and third phase of pulling also read 8 bytes per arc of another rank's tail.
        """
        arrays, own = self._arrays.take(), self._block.owned.local_of(source)
        rows = np.uint32(LOG_ROWS if levels is not None else 0)
        self._search(source=np.uint32(self._block.tails.local_of(source)), log_size=rows)
        self._unpack(source=np.uint32(source), own_source=np.uint32(own) if own >= 0 else NO_HEAD)
        self._arrays.prepare()
        answer = Answer(**arrays)
        if levels is not None:
            levels += self._levels(self._ranks.device.asnumpy(self._log[: (answer.phases or 0) + 1]))
        return answer

    def _levels(self, log: np.ndarray) -> list[Level]:
        """Return the phases of the logs of all ranks, which all have as many."""
        logs = [logged_phases(rows, ("push", "pull")) for rows in self._ranks.gather(log)]
        levels: list[Level] = []
        for phases in zip(*logs, strict=True):
            time_ms = max(phase.time_ms for phase in phases)
            pulls = sum(level.mode == "pull" for level in levels)
            sends = phases[0].mode == "push" or pulls == LAST_PULL
            sent = sends * phases[0].updated * (self._ranks.size - 1) * MESSAGE
            relaxed = sum(phase.relaxed_arcs for phase in phases)
            levels.append(
                Level(phases[0].mode, phases[0].updated, relaxed, time_ms, time_ms, 0.0, sent, sent)
            )
        return levels


class Numbered(NamedTuple):
    """A rank's arcs in the kernel's numbers, by falling degree: head j of rank r is tail j * P + r."""

    n_heads: int
    n_many: int
    n_with_arcs: int
    mean_weight: float
    head_of: Any
    ids: Any
    tail_numbers: Any
    out: tuple[Any, Any]
    into: tuple[Any, Any]

    @classmethod
    def of(cls, ranks: Ranks, block: Block) -> Numbered:
        """Renumber the vertices of a block, and sort the arcs of each by weight."""
        counts, head_of, tails, ids = _renumbered(ranks, block)
        ranks.memory.release("preparing")  # what is free has other sizes than the arcs need
        n_heads, batches = counts[0], partial(_arcs, block, ranks.device.xp, tails, head_of)
        out = _sorted_rows(ranks, batches, n_heads * ranks.size, n_heads)
        into = _sorted_rows(ranks, partial(batches, by_head=True), n_heads, n_heads * ranks.size)
        return cls(*counts, head_of, ids, tails, out, into)


def _renumbered(ranks: Ranks, block: Block) -> tuple[tuple[int, int, int, float], Any, Any, Any]:
    """Return the first fields of `Numbered`, the heads' and the tails' numbers, and the tails' vertices."""
    xp, size = ranks.device.xp, ranks.size
    n = block.owned.size
    incoming = xp.diff(block.into.offsets)
    degrees = 2 * block.degrees.astype(np.uint64) + (incoming > 0)
    keys = (np.uint64(2**33) - degrees) << np.uint64(30) | xp.arange(n, dtype=np.uint64)
    order = xp.argsort(keys)
    n_own = int((degrees > 0).sum())
    n_many = int((block.degrees > MANY_ARCS * size).sum())
    most_heads, most_many = ranks.reduce([max(n_own, 1), n_many], "max")
    head_of = xp.full(n, NO_HEAD, dtype=np.uint32)
    head_of[order[:n_own]] = xp.arange(n_own, dtype=np.uint32)
    own_tails = xp.where(head_of == NO_HEAD, NO_HEAD, head_of * np.uint32(size) + np.uint32(ranks.rank))
    tails = ranks.concatenated(own_tails.astype(np.uint32))
    ids = xp.zeros(most_heads * size, dtype=np.uint32)
    named = tails != NO_HEAD
    ids[tails[named]] = block.tails.vertices()[named].astype(np.uint32)
    total, with_arcs = ranks.reduce([int(block.out.weights.sum(dtype=np.uint64)), n_own])
    counts = most_heads, most_many * size, with_arcs, total / max(block.n_arcs, 1)
    return counts, head_of, tails, ids


def _arcs(
    block: Block, xp: Any, tails: Any, head_of: Any, *, by_head: bool = False
) -> Iterator[tuple[Any, Any]]:
    """Yield rows in the kernel's numbers and arcs weight << 32 | end, a piece at a time."""
    out, n_arcs = block.out, len(block.out.targets)
    for begin in range(0, n_arcs, build.PIECE):
        end = min(begin + build.PIECE, n_arcs)
        rows, ends = tails[out.row_of_arcs(xp, begin, end)], head_of[out.targets[begin:end]]
        if by_head:
            rows, ends = ends, rows
        arcs = out.weights[begin:end].astype(np.uint64)
        arcs <<= np.uint64(32)
        arcs |= ends
        yield rows, arcs


def _sorted_rows(
    ranks: Ranks, batches: Callable[[], Iterator[tuple[Any, Any]]], n_rows: int, n_ends: int
) -> tuple[Any, Any]:
    """Return CSR offsets, and arcs weight << 32 | end, sorted by row and weight in pieces."""
    xp, counter = ranks.device.xp, Counter(ranks, n_rows)
    for rows, _ in batches():
        counter.count(rows)
    offsets, arcs = counter.placed(batches())
    placed, bits = Rows(offsets, arcs), (n_ends - 1).bit_length()
    for (first, begin), (last, end) in pairwise(cuts(ranks.device, placed, build.PIECE)):
        rows = placed.row_of_arcs(xp, begin, end)
        rows -= np.uint32(first)
        arcs[begin:end] = sorted_arcs(xp, rows, arcs[begin:end], (last - first - 1).bit_length(), bits)
    return offsets, arcs


def sorted_arcs(xp: Any, rows: Any, arcs: Any, row_bits: int, end_bits: int) -> Any:
    """Return arcs weight << 32 | end, sorted by row, weight and end."""
    weight_bits = max(int(arcs.max()).bit_length() - 32, 0) if len(arcs) else 0
    if row_bits + weight_bits + end_bits > 64:
        return arcs[xp.lexsort(xp.stack([arcs, rows.astype(np.uint64)]))]
    keys = rows.astype(np.uint64) << np.uint64(weight_bits)
    keys |= arcs >> np.uint64(32)
    keys <<= np.uint64(end_bits)
    keys |= arcs & np.uint64(2**32 - 1)
    keys.sort()
    ends = keys & np.uint64((1 << end_bits) - 1)
    keys >>= np.uint64(end_bits)
    keys &= np.uint64((1 << weight_bits) - 1)
    keys <<= np.uint64(32)
    keys |= ends
    return keys
