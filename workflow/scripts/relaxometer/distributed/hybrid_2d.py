"""BFS over a matrix in blocks: each rank searches its block, and ranks exchange what they find.

Numbers in comments are the twelve steps of a level in Hirakushi and Takahashi, "Breadth-first search on a GPU
cluster", figure 8. The paper exchanges parents (8 to 12) after every level. Only the answer needs them, so by
default they are exchanged once, after the last level, in long messages.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any, Literal

import numpy as np
from pydantic import Field, NonNegativeInt

from relaxometer.distributed.comm import Ranks
from relaxometer.distributed.levels import Level, LevelClock, over
from relaxometer.distributed.messages import Compression, exchange_bitmaps
from relaxometer.distributed.partition import Block
from relaxometer.distributed.transport import Message
from relaxometer.problems.bfs import NO_PREDECESSOR, UNREACHED, Answer
from relaxometer.problems.bfs._levels import BLOCK, GROUP, PIECE, WORD
from relaxometer.problems.bfs._prepare import KERNELS, prepare
from relaxometer.problems.bfs._switching import SwitchingParameters

SOURCE = Path(__file__).with_name("hybrid_2d.cu")

DIRECTIONS = ("top-down", "bottom-up")


class Parameters(SwitchingParameters):
    """When the search changes direction, and how ranks exchange what they find.

    Parameters
    ----------
    alpha, beta, way_back
        See :class:`SwitchingParameters`.
    cpu_share : float
        Share of the heads (bottom-up) and tails (top-down) that each rank's CPU searches while its device
        searches the rest. The paper's ratios 0:1, 1:3 and 1:1 of CPU to GPU are 0, 0.25 and 0.5.
    threshold : int
        A warp searches the rows of at least this many incoming arcs of a block, a thread the others.
    parents : {"end", "level", "overlapped"}
        When owners receive the parents of their vertices: after the search, after every level as in the
        paper, or during the next level.
    messages : {"bitmap", "compressed"}
        How the sets of vertices found are sent; see :mod:`relaxometer.distributed.messages`.
    """

    cpu_share: float = Field(0.0, ge=0, le=1)
    threshold: NonNegativeInt = 32
    parents: Literal["end", "level", "overlapped"] = "end"
    messages: Literal["bitmap", "compressed"] = "bitmap"


class Solver:
    """Distributed BFS; the arrays of its answers have shape (owned.size,).

    Parameters
    ----------
    ranks : Ranks
    block : Block
    parameters : Parameters
    """

    def __init__(self, ranks: Ranks, block: Block, parameters: Parameters) -> None:
        self._ranks, self._block, self._parameters = ranks, block, parameters
        self._limits = parameters.limits(block.n_vertices, block.n_arcs)
        self._search = _DeviceSearch(ranks, block, parameters.threshold, parameters.cpu_share)
        self._routes = _Routes(ranks, block, compressed=parameters.messages == "compressed")
        self._level = self._predecessor = None

    @property
    def resolved(self) -> dict[str, Any]:
        """All parameters and the transport."""
        return {**self._parameters.model_dump(), "transport": self._ranks.transport}

    def solve(self, source: int, levels: list[Level] | None = None) -> Answer:
        """Find the levels from `source`, the same on all ranks.

        Parameters
        ----------
        source : int
        levels : list, optional
            If given, the run is instrumented: a :class:`Level` is appended for each level. Such a run is not
            timed.
        """
        search, routes, parents = self._search, self._routes, self._parameters.parents
        level, predecessor = self._begin(source)
        clock = LevelClock(self._ranks, levels)
        vertices, arcs, depth, direction = 1, 0, 0, "top-down"
        while vertices:
            if direction == "top-down" and arcs > self._limits[0]:
                direction = "bottom-up"
                search.scan_next()
            elif direction == "bottom-up" and vertices < self._limits[1]:
                direction = "top-down"
            search.run(direction)  # 1 to 4
            routes.write_parents(predecessor)  # 11, 12 of the level before, if overlapped
            routes.fold(search.found)  # 5
            routes.merge()  # 6
            search.settle(routes.merged, depth, level)
            routes.expand()  # 7
            if parents != "end":
                routes.send_parents(search, search.found)  # 8 to 11
            if parents == "level":
                routes.write_parents(predecessor)  # 12
            search.close_found(routes.arrived, routes.head_slots)
            vertices, arcs = self._ranks.sum_counts(search.counts)
            clock.end(direction, vertices, search.examined() if clock.wanted else 0)
            depth += 1
        if parents == "end":
            routes.fold(search.candidates)
            routes.merge()
            routes.send_parents(search, search.candidates)
        routes.write_parents(predecessor)
        clock.end("parents", 0, 0)
        clock.close()
        return Answer(level, predecessor, depth)

    def _begin(self, source: int) -> tuple[Any, Any]:
        """Begin a search; return level and predecessor of the owned vertices."""
        xp, block = self._ranks.device.xp, self._block
        level = xp.full(block.owned.size, UNREACHED, dtype=np.uint32)
        predecessor = xp.full(block.owned.size, NO_PREDECESSOR, dtype=np.uint32)
        own = block.owned.local_of(source)
        if own >= 0:
            level[own], predecessor[own] = 0, source
        self._search.start(block.heads.local_of(source))
        self._routes.start(block.tails.local_of(source))
        self._search.frontier = self._routes.arrived[: block.tails.size // WORD]
        return level, predecessor


class _DeviceSearch:
    """A rank's part of the levels, on its device."""

    def __init__(self, ranks: Ranks, block: Block, threshold: int, cpu_share: float) -> None:
        device, xp = ranks.device, ranks.device.xp
        self._device, self._block = device, block
        module = ranks.module(SOURCE)
        names = "list_frontier", "expand", "bottom_up", "settle", "close_found", "pack_parents", "adopt"
        self._kernels = {name: module.get_function(name) for name in names}
        self._cpu = _load_cpu(ranks, block, cpu_share) if cpu_share else None
        self._cuts = (self._cpu.tail_words, self._cpu.head_words) if self._cpu else (0, 0)
        self._head_words, self._tail_words = block.heads.size // WORD, block.tails.size // WORD
        rows = block.into.offsets, block.into.targets
        # A head is closed from the start if no arc enters it.
        self._empty, probes = prepare(
            device, ranks.module(KERNELS), self._head_words, rows[0], rows, block.out.offsets
        )
        groups = block.heads.size // GROUP
        max_blocks = device.max_cooperative_blocks(self._kernels["bottom_up"], BLOCK)
        self._blocks = min(max_blocks, -(-groups * WORD // BLOCK))
        warps = self._blocks * BLOCK // WORD
        capacity = -(-groups // warps) * GROUP
        self._bottom_up = module.struct(
            "BottomUp",
            rows={"offsets": rows[0], "targets": rows[1]},
            probes=probes,
            long_row=np.uint32(threshold),
        )
        self._lists = module.struct(
            "Lists",
            listed=xp.empty(warps * capacity, dtype=np.uint32),
            warp_capacity=np.uint32(capacity),
            lengths=xp.zeros(warps, dtype=np.uint32),
        )
        self._list = xp.empty(block.tails.size + len(block.out.targets) // PIECE, dtype=np.uint64)
        self._length, self._examined = xp.zeros(1, dtype=np.uint64), xp.zeros(1, dtype=np.uint64)
        self.counts = xp.zeros(2, dtype=np.uint64)
        self.parent = xp.empty(block.heads.size, dtype=np.uint32)
        self._closed, self.found, self.candidates = (
            xp.zeros(self._head_words, dtype=np.uint32) for _ in range(3)
        )
        self.frontier = None
        self._scans = True

    def start(self, source: int) -> None:
        """Begin a search; `source` is a head, or below 0 on ranks that do not have it."""
        self._closed[...] = self._empty
        self.found.fill(0)
        self.candidates.fill(0)
        self._examined.fill(0)
        if source >= 0:
            self._closed[source // WORD] |= np.uint32(1 << source % WORD)

    def scan_next(self) -> None:
        self._scans = True

    def run(self, direction: str) -> None:
        """Search a level from `frontier`, on device and CPU at once; write `found` and `parent`."""
        self.counts.fill(0)
        if self._cpu is None:
            self._run_device(direction)
            return
        frontier, closed = (self._device.asnumpy(bitmap) for bitmap in (self.frontier, self._closed))  # 1
        self._run_device(direction)  # 2
        heads, tails = self._cpu.run(direction, frontier, closed)  # 2
        if len(heads):
            arguments = *(self._device.asarray(column) for column in (heads, tails)), self.found, self.parent
            launch = over(self._device, len(heads))
            self._kernels["adopt"](*launch, (np.uint32(len(heads)), *arguments))  # 3, 4

    def _run_device(self, direction: str) -> None:
        block = self._block
        tail_cut, head_cut = (np.uint32(cut) for cut in self._cuts)
        if direction == "top-down":
            self._length.fill(0)
            bits = tail_cut, np.uint32(self._tail_words), self.frontier
            launch = over(self._device, self._tail_words)
            self._kernels["list_frontier"](*launch, (*bits, block.out.offsets, self._list, self._length))
            rows = block.out.offsets, block.out.targets
            results = self.found, self.parent, self._examined
            self._kernels["expand"](
                *over(self._device, 1 << 18), (self._list, self._length, *rows, self._closed, *results)
            )
            return
        words = head_cut, np.uint32(self._head_words), np.uint32(self._scans)
        bitmaps = self._closed, self.frontier, self.found, self.parent
        arguments = self._bottom_up, self._lists, *words, *bitmaps, self._examined
        self._kernels["bottom_up"](self._blocks, BLOCK, arguments)
        self._scans = False

    def settle(self, merged: Any, depth: int, level: Any) -> None:
        """Write the levels of the owned vertices found, and count them and their arcs."""
        n_words = len(merged)
        arguments = np.uint32(n_words), np.uint32(depth), merged, self._block.degrees, level, self.counts
        self._kernels["settle"](*over(self._device, WORD * n_words), arguments)

    def close_found(self, arrived: Any, slots: Any) -> None:
        """Close the heads that any rank found, and clear `found`."""
        words = np.uint32(self._head_words), np.uint32(self._block.layout.words)
        bitmaps = self._closed, self.found, self.candidates
        self._kernels["close_found"](
            *over(self._device, self._head_words), (*words, arrived, slots, *bitmaps)
        )

    def packed_parents(self, bitmap: Any, through: Any, size: int) -> Any:
        """Return the parents of the heads in a bitmap, as vertices, in their order."""
        packed = self._device.xp.empty(size, dtype=np.uint32)
        bits = np.uint32(self._head_words), bitmap, through, self.parent
        tails = self._block.tails.first, np.uint32(self._block.layout.piece)
        self._kernels["pack_parents"](*over(self._device, self._head_words), (*bits, *tails, packed))
        return packed

    def examined(self) -> int:
        """Return the number of arcs examined since the last call."""
        examined = int(self._device.item(self._examined))
        self._examined.fill(0)
        if self._cpu:
            examined += self._cpu.examined
            self._cpu.examined = 0
        return examined


def _load_cpu(ranks: Ranks, block: Block, share: float) -> Any:
    """Return the CPU's part, compiled; only it needs Numba."""
    cpu = importlib.import_module("relaxometer.distributed._cpu").CpuSearch(block, share)
    with ranks.first_on_host():
        nothing = (
            np.zeros(block.tails.size // WORD, dtype=np.uint32),
            np.zeros(block.heads.size // WORD, np.uint32),
        )
        for direction in DIRECTIONS:
            cpu.run(direction, nothing[0], ~nothing[1])
    return cpu


class _Routes:
    """The messages of a rank in a level, and their buffers."""

    def __init__(self, ranks: Ranks, block: Block, *, compressed: bool) -> None:
        self._ranks, self._block = ranks, block
        with ranks.first_on_host():
            self._compressed = Compression(ranks.device, block.layout.words) if compressed else None
        layout, xp = block.layout, ranks.device.xp
        self._xp, self._words = xp, layout.words
        place = layout.place(ranks.rank)
        self._place = place
        self._owners = [layout.owner(piece) for piece in place.heads]
        self._seekers = [layout.seekers(piece) for piece in place.owned]
        self._readers = [layout.readers(piece) for piece in place.owned]
        # A rank reads the pieces of its tails, and those of its heads that are not among them.
        read = [*place.tails, *(piece for piece in place.heads if piece not in place.tails)]
        self._read_from = [layout.owner(piece) for piece in read]
        slots = [read.index(piece) for piece in place.heads]
        self.head_slots = xp.asarray(np.array(slots, dtype=np.uint32))
        words = layout.words
        self.arrived = xp.zeros(len(read) * words, dtype=np.uint32)
        self.merged = xp.zeros(len(place.owned) * words, dtype=np.uint32)
        self._folded = [xp.zeros(len(group) * words, dtype=np.uint32) for group in self._seekers]
        self._winners = xp.zeros(len(place.heads) * words, dtype=np.uint32)
        module = ranks.module(SOURCE)
        self._merge = module.get_function("merge")
        self._count_bits = module.get_function("count_bits")
        self._write_parents = module.get_function("write_parents")
        self._in_flight: tuple[Any, list[Any], list[Any]] | None = None

    def _launch(self, kernel: Any, n_words: int, arguments: tuple[Any, ...]) -> None:
        kernel(*over(self._ranks.device, n_words), (np.uint32(n_words), *arguments))

    def _pieces(self, bitmap: Any) -> list[Any]:
        return [bitmap[at : at + self._words] for at in range(0, len(bitmap), self._words)]

    def start(self, source: int) -> None:
        """Make `source` the frontier: a tail, or below 0 on ranks that do not have it."""
        self.arrived.fill(0)
        if source >= 0:
            self.arrived[source // WORD] = np.uint32(1 << source % WORD)

    def _from_seekers(self) -> list[Message]:
        """Return the bitmaps between owned pieces and the ranks that search for them."""
        return [
            message
            for group, folded in zip(self._seekers, self._folded, strict=True)
            for message in zip(group, self._pieces(folded), strict=True)
        ]

    def _exchange(self, sends: list[Message], receives: list[Message]) -> None:
        exchange_bitmaps(self._ranks, sends, receives, compressed=self._compressed)

    def fold(self, found: Any) -> None:
        """Send the pieces of a bitmap to their owners (steps 3 and 5)."""
        self._exchange(list(zip(self._owners, self._pieces(found), strict=True)), self._from_seekers())

    def merge(self) -> None:
        """Merge the bitmaps received, and decide who sends the parent of each vertex (steps 4 and 6)."""
        for merged, folded, group in zip(self._pieces(self.merged), self._folded, self._seekers, strict=True):
            self._launch(self._merge, self._words, (np.uint32(len(group)), folded, merged))

    def expand(self) -> None:
        """Send the merged bitmaps to all ranks that read them (step 7)."""
        sends = [
            (reader, merged)
            for merged, readers in zip(self._pieces(self.merged), self._readers, strict=True)
            for reader in readers
        ]
        self._exchange(sends, list(zip(self._read_from, self._pieces(self.arrived), strict=True)))

    def send_parents(self, search: _DeviceSearch, found: Any) -> None:
        """Begin to send the parents of the vertices merged last to their owners (steps 8 to 11).

        Until `write_parents`, the messages in flight and the merged bitmaps must not change.
        """
        winners = found
        if max(len(group) for group in self._seekers) > 1:
            winners = self._winners
            self._exchange(self._from_seekers(), list(zip(self._owners, self._pieces(winners), strict=True)))
        through, ends = self._through(winners)
        packed = search.packed_parents(winners, through, ends[-1])  # 8 to 10
        parts = [packed[begin:end] for begin, end in zip([0, *ends], ends, strict=False)]
        counted = [self._through(folded) for folded in self._folded]
        arrived = [self._xp.empty(ends[-1], dtype=np.uint32) for _, ends in counted]
        receives = []
        for group, (_, ends), values in zip(self._seekers, counted, arrived, strict=True):
            bounds = zip([0, *ends], ends, strict=False)
            receives += [(rank, values[a:b]) for rank, (a, b) in zip(group, bounds, strict=True)]
        sends = list(zip(self._owners, parts, strict=True))
        self._in_flight = self._ranks.start(sends, receives), counted, arrived  # 11

    def write_parents(self, predecessor: Any) -> None:
        """Wait for the parents in flight, if any, and write them (step 12)."""
        if self._in_flight is None:
            return
        pending, counted, arrived = self._in_flight
        self._in_flight = None
        pending.finish()
        piece = self._block.layout.piece
        for k, (folded, (through, _), values) in enumerate(zip(self._folded, counted, arrived, strict=True)):
            own = predecessor[k * piece : (k + 1) * piece]
            arguments = np.uint32(self._words), folded, through, values, own
            self._launch(self._write_parents, len(folded), arguments)

    def _through(self, bitmap: Any) -> tuple[Any, list[int]]:
        """Count the bits of a bitmap up to the end of each word, and up to the end of each piece."""
        counts = self._xp.empty(len(bitmap), dtype=np.uint32)
        self._launch(self._count_bits, len(bitmap), (bitmap, counts))
        through = self._xp.cumsum(counts, dtype=np.int64)
        return through, self._ranks.device.asnumpy(through[self._words - 1 :: self._words]).tolist()
