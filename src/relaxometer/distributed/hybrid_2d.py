"""BFS over a matrix in blocks: each rank searches its block, and ranks exchange what they find.

Numbers in comments are the twelve steps of a level in Hirakushi and Takahashi, "Breadth-first search on a GPU
cluster", figure 8. The paper exchanges parents (8 to 12) after every level. Only the answer needs them, so by
default they are exchanged once, after the last level, in long messages. In scheme ``Rx1`` only the owner of a
vertex searches for it, and tails are all vertices: it sends what it found, and its parents are the answer.
"""

from __future__ import annotations

import importlib
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
from pydantic import Field, NonNegativeInt

from relaxometer.device.arrays import DeviceArray
from relaxometer.device.signature import read_source
from relaxometer.distributed.comm import Ranks
from relaxometer.distributed.levels import Level, LevelClock, over
from relaxometer.distributed.messages import Compression, address_of, exchange_bitmaps
from relaxometer.distributed.partition import Block
from relaxometer.distributed.process import PATIENCE_S
from relaxometer.distributed.recording import Recording, words_on_host
from relaxometer.distributed.transport import Message
from relaxometer.problems.bfs import UNREACHED, Answer
from relaxometer.problems.bfs._levels import BLOCK, GROUP_VERTICES, PIECE, WARP, WORD
from relaxometer.problems.bfs._prepare import KERNELS, prepare
from relaxometer.problems.bfs._switching import SwitchingParameters

SOURCE = read_source(Path(__file__).with_name("hybrid_2d.cu"))

DIRECTIONS = ("top-down", "bottom-up")


class Parameters(SwitchingParameters):
    """When the search changes direction, and how ranks exchange what they find."""

    cpu_share: float = Field(0.0, ge=0, le=1)
    """Share of the heads (bottom-up) and tails (top-down) that each rank's CPU searches while its device
    searches the rest. The paper's ratios 0:1, 1:3 and 1:1 of CPU to GPU are 0, 0.25 and 0.5."""
    threshold: NonNegativeInt = Field(32, lt=2**32)
    """A warp searches the rows of at least this many incoming arcs of a block, a thread the others."""
    parents: Literal["dense", "end", "level"] = "dense"
    """When owners receive the parents of their vertices: after the search, or after every level as in the
    paper. "dense" is also after the search: ranks send whole arrays instead of the chosen parents, which
    needs no lengths and hence no host, but more bytes."""
    messages: Literal["bitmap", "compressed"] = "bitmap"
    """How the sets of vertices found are sent: as bitmaps, or compressed where that is shorter."""


class Solver:
    """Distributed BFS; its answers have arrays of shape (owned.size,), which the next search overwrites.

    The device decides the direction of a level, so all kernels and messages of a level are launched at once,
    as a CUDA graph where messages go from GPU to GPU. The host launches a level while the last one runs, and
    one more than there are. With `cpu_share`, compressed messages, parents before the end, and in an
    instrumented run, it waits for the decision and launches kernel by kernel.
    """

    def __init__(self, ranks: Ranks, block: Block, parameters: Parameters) -> None:
        self._ranks, self._block, self._parameters = ranks, block, parameters
        limits = parameters.limits(block.n_vertices, block.n_arcs)
        compressed = parameters.messages == "compressed"
        self._search = _DeviceSearch(ranks, block, parameters.threshold, parameters.cpu_share, limits)
        self._routes = _Routes(ranks, block, compressed=compressed)
        self._search.read(self._routes)
        self._at_end = parameters.parents in ("dense", "end")
        self._needs_host = compressed or not self._at_end or parameters.cpu_share > 0
        self._recording = Recording(ranks, self._unattended_level)
        self._last = None
        if parameters.parents == "dense" and not block.layout.only_owners_seek:
            dense = _DenseParents(ranks, block, self._search, self._routes)
            self._share_parents = dense.share
            self._last = Recording(ranks, dense.share)

    @property
    def resolved(self) -> dict[str, Any]:
        """All parameters, the transport, and how levels are launched."""
        launched = {"transport": self._ranks.transport, "launches": self._recording.kind}
        return {**self._parameters.model_dump(), **launched}

    def solve(self, source: int, levels: list[Level] | None = None) -> Answer:
        """Find the levels from `source`; with a list of `levels` the search is instrumented, not timed."""
        search, routes = self._search, self._routes
        search.begin(source)
        clock = LevelClock(self._ranks, levels)
        attended = self._needs_host or clock.wanted
        depth = self._run_levels(clock) if attended else self._launch_levels()
        if self._last is not None:
            self._share_parents() if clock.wanted else self._last.launch()
        elif self._parameters.parents == "end":
            routes.merge(search.candidates)
            routes.share_parents(search, search.candidates)
        clock.end("parents", 0, 0)
        clock.close()
        return Answer(search.level, search.predecessor, depth)

    def _unattended_level(self) -> None:
        self._search.decide()
        self._search.run_device(DIRECTIONS)
        self._share_found()

    def _launch_levels(self) -> int:
        """Run all levels, each launched while the last one runs; return their number."""
        number = 0
        while True:
            self._recording.launch()
            number += 1
            if not self._search.goes_on(number):
                return number - 1

    def _run_levels(self, clock: LevelClock) -> int:
        search = self._search
        search.examined()
        number = 0
        while True:
            search.decide()
            number += 1
            if not search.goes_on(number):
                return number - 1
            direction = search.direction()
            search.run(direction)  # 1 to 4
            self._share_found()  # 5 to 12
            if clock.wanted:
                clock.end(direction, search.found_by_all(), search.examined())

    def _share_found(self) -> None:
        search, routes = self._search, self._routes
        routes.merge(search.found)  # 5, 6
        search.settle(routes.merged)
        routes.expand(search.counts_of)  # 7
        if not self._at_end:
            routes.share_parents(search, search.found)  # 8 to 12
        search.close_found(routes.arrived, routes.head_slots)  # and 7 for what only this rank seeks


class _DeviceSearch:
    """A rank's part of the levels, on its device."""

    def __init__(
        self, ranks: Ranks, block: Block, threshold: int, cpu_share: float, limits: tuple[int, int]
    ) -> None:
        device, xp = ranks.device, ranks.device.xp
        self._device, self._block, self._n_ranks = device, block, ranks.size
        module = self._module = ranks.module(SOURCE.path)
        names = (
            *("begin", "decide", "list_frontier", "expand", "bottom_up", "settle", "close_found"),
            *("pack_parents", "adopt"),
        )
        self._kernels = {name: module.get_function(name) for name in names}
        self._cpu = _load_cpu(ranks, block, cpu_share) if cpu_share else None
        self._cuts = (self._cpu.tail_words, self._cpu.head_words) if self._cpu else (0, 0)
        self._head_words, self._tail_words = block.heads.size // WORD, block.tails.size // WORD
        rows = block.into.offsets, block.into.targets
        # A head is closed from the start if no arc enters it.
        self._empty, probes = prepare(
            device, ranks.module(KERNELS), self._head_words, rows[0], rows, block.out.offsets
        )
        groups = block.heads.size // GROUP_VERTICES
        max_blocks = device.max_cooperative_blocks(self._kernels["bottom_up"], BLOCK)
        self._blocks = min(max_blocks, -(-groups * WARP // BLOCK))
        warps = self._blocks * BLOCK // WARP
        capacity = -(-groups // warps) * GROUP_VERTICES
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
        self._closed, self.found, self.candidates = (
            xp.zeros(self._head_words, dtype=np.uint32) for _ in range(3)
        )
        self.counts_of = xp.zeros(2 * ranks.size, dtype=np.uint64)
        self._counts = self.counts_of[2 * ranks.rank : 2 * ranks.rank + 2]
        self._arcs_back = np.uint32(block.metadata.get("directed") is False)
        plan = np.zeros((), dtype=SOURCE.layout("Plan").dtype)
        plan["many_arcs"], plan["few_vertices"] = limits
        self._plan = device.asarray(np.frombuffer(plan.tobytes(), dtype=np.uint32).copy())
        self._notes, self._notes_on_device = words_on_host(device, SOURCE.constants["NOTES"])
        self.level, self.predecessor = (xp.empty(block.owned.size, dtype=np.uint32) for _ in range(2))
        alone = block.layout.only_owners_seek
        self.parent = self.predecessor if alone else xp.empty(block.heads.size, dtype=np.uint32)

    def read(self, routes: _Routes) -> None:
        """Read the frontier from what arrives by `routes`."""
        self.frontier = routes.arrived[: self._tail_words]
        self._blank = self._module.struct(
            "Blank",
            n_own=np.uint32(self._block.owned.size),
            head_words=np.uint32(self._head_words),
            arrived_words=np.uint32(len(routes.arrived)),
            n_ranks=np.uint32(self._n_ranks),
            level=self.level,
            predecessor=self.predecessor,
            empty=self._empty,
            closed=self._closed,
            found=self.found,
            candidates=self.candidates,
            arrived=routes.arrived,
            counts_of=self.counts_of,
            plan=self._plan,
        )

    def begin(self, source: int) -> None:
        """Begin a search from a vertex."""
        block = self._block
        numbers = (part.local_of(source) for part in (block.heads, block.tails, block.owned))
        head, tail, own = (np.uint32(number) if number >= 0 else UNREACHED for number in numbers)
        at = self._module.struct("Source", head=head, tail=tail, own=own, vertex=np.uint32(source))
        self._notes[:] = 0
        self._kernels["begin"](*over(self._device, block.heads.size), (self._blank, at))

    def decide(self) -> None:
        """Begin a level: decide its direction, from what all ranks found in the last one."""
        counts = self._plan, self._counts, self._length, self._notes_on_device
        self._kernels["decide"](1, 1, (np.uint32(self._n_ranks), self._arcs_back, self.counts_of, *counts))

    def goes_on(self, number: int) -> bool:
        """Wait until a level begins; return whether it can find any vertex."""
        slot, begin, patience_s = number % len(self._notes), time.monotonic(), PATIENCE_S[self._device.kind]
        while int(self._notes[slot]) >> 1 != number:
            if time.monotonic() - begin > patience_s:
                self._device.synchronize()  # raises the error of a kernel, if any
                raise RuntimeError(f"level {number} did not begin within {patience_s:g} s")
        return bool(int(self._notes[slot]) & 1)

    def direction(self) -> str:
        """Return the direction of the level that has begun."""
        plan = self._device.asnumpy(self._plan).view(SOURCE.layout("Plan").dtype)
        return DIRECTIONS[int(plan["bottom_up"][0])]

    def found_by_all(self) -> int:
        """Return how many vertices all ranks found in the last level."""
        return int(self._device.asnumpy(self.counts_of)[0::2].sum())

    def run(self, direction: str) -> None:
        """Search a level from `frontier`, on device and CPU at once; write `found` and `parent`."""
        if self._cpu is None:
            self.run_device((direction,))
            return
        frontier, closed = (self._device.asnumpy(bitmap) for bitmap in (self.frontier, self._closed))  # 1
        self.run_device((direction,))  # 2
        heads, tails = self._cpu.run(direction, frontier, closed)  # 2
        if len(heads):
            arguments = *(self._device.asarray(column) for column in (heads, tails)), self.found, self.parent
            launch = over(self._device, len(heads))
            self._kernels["adopt"](*launch, (np.uint32(len(heads)), *arguments))  # 3, 4

    def run_device(self, directions: Sequence[str]) -> None:
        """Launch the kernels of some directions, of which only those of the level's search."""
        block = self._block
        tail_cut, head_cut = (np.uint32(cut) for cut in self._cuts)
        if "top-down" in directions:
            bits = tail_cut, np.uint32(self._tail_words), self.frontier
            launch = over(self._device, self._tail_words)
            lists = block.out.offsets, self._list, self._length
            self._kernels["list_frontier"](*launch, (self._plan, *bits, *lists))
            rows = block.out.offsets, block.out.targets
            results = self.found, self.parent, self._examined
            arguments = self._plan, self._list, self._length, *rows, self._closed, *results
            self._kernels["expand"](*over(self._device, 1 << 18), arguments)
        if "bottom-up" in directions:
            words = head_cut, np.uint32(self._head_words)
            bitmaps = self._closed, self.frontier, self.found, self.parent
            search = self._plan, self._bottom_up, self._lists
            self._kernels["bottom_up"](self._blocks, BLOCK, (*search, *words, *bitmaps, self._examined))

    def settle(self, merged: Any) -> None:
        """Write the levels of the owned vertices found, and count them and their arcs."""
        n_words = len(merged)
        arguments = self._plan, np.uint32(n_words), merged, self._block.degrees, self.level, self._counts
        self._kernels["settle"](*over(self._device, n_words), arguments)

    def close_found(self, arrived: Any, slots: DeviceArray) -> None:
        """Close the heads that any rank found, and clear `found`."""
        layout = self._block.layout
        words = np.uint32(self._head_words), np.uint32(layout.words), np.uint32(layout.only_owners_seek)
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
        module = ranks.module(SOURCE.path)
        self._merge = module.get_function("merge")
        self._count_bits = module.get_function("count_bits")
        self._write_parents = module.get_function("write_parents")

    def _launch(self, kernel: Any, n_words: int, arguments: tuple[Any, ...]) -> None:
        kernel(*over(self._ranks.device, n_words), (np.uint32(n_words), *arguments))

    def to_owners(self, found: Any) -> list[Message]:
        """Return the pieces of a bitmap of heads, with their owners."""
        return list(zip(self._owners, self._pieces(found), strict=True))

    def _pieces(self, bitmap: Any) -> list[Any]:
        return [bitmap[at : at + self._words] for at in range(0, len(bitmap), self._words)]

    def from_seekers(self) -> list[Message]:
        """Return the bitmaps between owned pieces and the ranks that search for them."""
        return [
            message
            for group, folded in zip(self._seekers, self._folded, strict=True)
            for message in zip(group, self._pieces(folded), strict=True)
        ]

    def _exchange(self, sends: list[Message], receives: list[Message], counts: Any | None = None) -> None:
        exchange_bitmaps(self._ranks, sends, receives, compressed=self._compressed, counts=counts)

    def merge(self, found: Any) -> None:
        """Merge at the owners what their seekers have found; those decide who sends each parent (3 to 6).

        If only the owner seeks its vertices, it has found them all, and nothing is sent or copied.
        """
        if self._block.layout.only_owners_seek:
            self.merged, self._folded = found, [found]
            return
        self._exchange(self.to_owners(found), self.from_seekers())
        for merged, folded, group in zip(self._pieces(self.merged), self._folded, self._seekers, strict=True):
            self._launch(self._merge, self._words, (np.uint32(len(group)), folded, merged))

    def expand(self, counts: Any) -> None:
        """Send the merged bitmaps to all ranks that read them (step 7), and counts to all."""
        sends = [
            (reader, merged)
            for merged, readers in zip(self._pieces(self.merged), self._readers, strict=True)
            for reader in readers
        ]
        receives = list(zip(self._read_from, self._pieces(self.arrived), strict=True))
        if self._block.layout.only_owners_seek:
            me = self._ranks.rank
            sends, receives = ([one for one in ways if one[0] != me] for ways in (sends, receives))
        self._exchange(sends, receives, counts)

    def share_parents(self, search: _DeviceSearch, found: Any) -> None:
        """Send the parents of the vertices merged last to their owners, who write them (steps 8 to 12)."""
        winners = found
        if not self._block.layout.only_owners_seek:
            winners = self._winners
            self._exchange(self.from_seekers(), list(zip(self._owners, self._pieces(winners), strict=True)))
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
        self._ranks.exchange(sends, receives)  # 11
        piece = self._block.layout.piece
        for k, (folded, (through, _), values) in enumerate(zip(self._folded, counted, arrived, strict=True)):
            own = search.predecessor[k * piece : (k + 1) * piece]
            arguments = np.uint32(self._words), folded, through, values, own
            self._launch(self._write_parents, len(folded), arguments)

    def _through(self, bitmap: Any) -> tuple[Any, list[int]]:
        """Count the bits of a bitmap up to the end of each word, and up to the end of each piece."""
        counts = self._xp.empty(len(bitmap), dtype=np.uint32)
        self._launch(self._count_bits, len(bitmap), (bitmap, counts))
        through = self._xp.cumsum(counts, dtype=np.int64)
        return through, self._ranks.device.asnumpy(through[self._words - 1 :: self._words]).tolist()


class _DenseParents:
    """Sends the parents of all heads to their owners, who choose; always the same messages."""

    def __init__(self, ranks: Ranks, block: Block, search: _DeviceSearch, routes: _Routes) -> None:
        device, layout, me = ranks.device, block.layout, ranks.rank
        self._ranks, self._predecessor, self._piece = ranks, search.predecessor, layout.piece
        self._kernel = ranks.module(SOURCE.path).get_function("choose_parents")
        place = layout.place(me)
        parts = [search.parent[k * layout.piece : (k + 1) * layout.piece] for k in range(len(place.heads))]
        owners = [layout.owner(piece) for piece in place.heads]
        own = dict(
            zip(place.heads, zip(routes.to_owners(search.candidates), parts, strict=True), strict=True)
        )
        self._sends = [
            *(message for message in routes.to_owners(search.candidates) if message[0] != me),
            *((owner, part) for owner, part in zip(owners, parts, strict=True) if owner != me),
        ]
        bitmaps = [message for message in routes.from_seekers() if message[0] != me]
        arrived: list[Message] = []
        self._choices = []
        folded = iter(routes.from_seekers())
        for number, piece in enumerate(place.owned):
            found, parents, first = [], [], []
            for rank in layout.seekers(piece):
                bitmap = next(folded)[1]
                if rank == me:
                    (_, bitmap), values = own[piece]
                else:
                    values = device.xp.zeros(layout.piece, dtype=np.uint32)
                    arrived.append((rank, values))
                found.append(address_of(device, bitmap))
                parents.append(address_of(device, values))
                first.append([piece * layout.piece for piece in layout.place(rank).tails])
            tables = (device.asarray(np.array(table, dtype=np.uint64)) for table in (found, parents))
            firsts = device.asarray(np.array(first, dtype=np.uint32).reshape(-1))
            self._choices.append((number, len(found), *tables, firsts, len(first[0])))
        self._receives = [*bitmaps, *arrived]

    def share(self) -> None:
        """Send the parents, and write those of the owned vertices."""
        self._ranks.exchange(self._sends, self._receives)
        for number, n_ranks, found, parents, first, n_first in self._choices:
            predecessor = self._predecessor[number * self._piece : (number + 1) * self._piece]
            shape = np.uint32(self._piece), np.uint32(n_ranks)
            arguments = *shape, found, parents, first, np.uint32(n_first), predecessor
            self._kernel(*over(self._ranks.device, self._piece), arguments)
