"""Predicted costs of distributed breadth-first searches: exact bytes, and seconds from a machine's rates.

``python -m relaxometer.distributed.model`` prints the tables of ``docs/scaling.md``, which states the origins
of the rates and the assumptions.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass, replace

from relaxometer.distributed.partition import Layout
from relaxometer.problems.bfs._levels import PIECE

EDGE_FACTOR = 16
OFFSET, INDEX, ENTRY = 8, 4, 8
"""Bytes of a CSR offset, of a vertex's local number, and of an entry of the list of rows."""

STORE_BITS = 128  # bits of a write into another rank's memory; writes without a set bit are skipped

PROFILE = (2, 22_168, 5_391_155, 3_427_480, 24_228, 62, 1)
"""Vertices found in each level of a search at SCALE 24, medians over the 16 searches of ``weak-peers-2`` in
``docs/results/hybrid-bfs-2d``."""

PROFILE_SCALE = 24


UNCACHED = 2.8
"""How many times as much a head costs at most; assumed: 2.5 words, from memory 75 billion per second."""


@dataclass(frozen=True)
class Engine:
    """Seconds of a search on a GPU, without moving bytes.

    `search_s` and `level_s` are per search and level, whatever it finds; `head_s` per head of a rank, over
    all levels; `exchange_s` and `message_s` per exchange, and per message of a rank in it; `barrier_s` per
    level and other rank, in the inter-GPU barrier. A head costs twice as much if the bitmap of the tails, in
    which its neighbours are looked up, has `cache` bytes, and at most `UNCACHED` times.
    """

    search_s: float
    level_s: float
    head_s: float
    exchange_s: float = 0.0
    message_s: float = 0.0
    barrier_s: float = 0.0
    cache: float = 93e6


@dataclass(frozen=True)
class Machine:
    """GPUs, the links between them, and the rates of the engines.

    `messages` are the rates of ``hybrid-2d``, `peers` those of ``hybrid-peers``. A GPU sends `near_bytes_s`
    within its host, `far_bytes_s` to other hosts, and has `memory` bytes.
    """

    messages: Engine
    peers: Engine
    near_bytes_s: float
    far_bytes_s: float
    gpus_per_host: int
    memory: float


H200 = Machine(
    messages=Engine(search_s=24e-6, level_s=24e-6, head_s=32e-12, exchange_s=30e-6, message_s=1e-6),
    peers=Engine(search_s=63e-6, level_s=12e-6, head_s=18.8e-12, barrier_s=3.3e-6),
    near_bytes_s=450e9,
    far_bytes_s=50e9,
    gpus_per_host=8,
    memory=141e9,
)
"""Engines are fitted to runs on one and two GPUs; for the other rates see ``docs/scaling.md``."""


@dataclass(frozen=True)
class Messages:
    """Number and bytes of a rank's messages in one exchange."""

    count: int
    bytes: float


@dataclass(frozen=True)
class Cost:
    """Cost of a search, or of a part of it: seconds, and bytes sent by each rank.

    `computing` is proportional to the vertices, `latency` fixed per search, level and exchange, and `volume`
    the time of moving bytes.
    """

    computing: float
    latency: float
    volume: float
    bytes: float

    @property
    def seconds(self) -> float:
        """Total time: nothing overlaps."""
        return self.computing + self.latency + self.volume

    def __add__(self, other: Cost) -> Cost:
        return Cost(*map(sum, zip(astuple(self), astuple(other), strict=True)))


def fold(layout: Layout) -> Messages:
    """Return a rank's messages to the owners of its heads: the bitmap of a piece to each."""
    others = 2 * (layout.columns - 1) if layout.is_paired else layout.columns - 1
    return Messages(others, others * layout.piece / 8)


def expand(layout: Layout) -> Messages:
    """Return an owner's messages to the ranks that read its pieces."""
    if layout.is_paired:
        return fold(layout)
    others = layout.rows + layout.columns - 2
    return Messages(others, others * layout.piece / 8)


def profile(scale: int) -> list[float]:
    """Return the share of all vertices that each level finds.

    Large levels have the same shares at every SCALE. Every 8 SCALEs add a small level: 6 levels were measured
    at 23, 7 at 24 and 25.
    """
    more = (scale - PROFILE_SCALE) // 8
    finding = PROFILE[: len(PROFILE) + more] + PROFILE[-1:] * more
    return [found / (1 << PROFILE_SCALE) for found in finding]


def message_bytes(plain: float, filled: float) -> float:
    """Return a bitmap's compressed bytes: one per set bit and 7 bits of the mean distance between these."""
    if filled <= 0:
        return 0.0
    digits, distance = 1, 1 / filled
    while distance >= 2 ** (7 * digits):
        digits += 1
    return min(plain, plain * 8 * filled * digits)


def level_cost(
    machine: Machine, layout: Layout, found: float, *, compressed: bool, peers: bool = False
) -> Cost:
    """Return the cost of a level that finds the share `found`, without work proportional to the vertices."""
    engine = machine.peers if peers else machine.messages
    exchanges = [expand(layout)] if layout.columns == 1 else [fold(layout), expand(layout)]
    if layout.n_ranks == 1:
        exchanges = []
    latency = engine.level_s + engine.barrier_s * (layout.n_ranks - 1)
    if peers:
        sent = sum(e.bytes for e in exchanges) * min(1.0, found * STORE_BITS)
    else:
        sent = sum(message_bytes(e.bytes, found) if compressed else e.bytes for e in exchanges)
        latency += _exchange_seconds(engine, exchanges)
    return Cost(0.0, latency, _seconds(machine, layout, sent), sent)


def _exchange_seconds(engine: Engine, exchanges: list[Messages]) -> float:
    return sum(engine.exchange_s + engine.message_s * e.count for e in exchanges)


def _seconds(machine: Machine, layout: Layout, sent: float) -> float:
    """Return the time of sending bytes in equal parts to the other ranks."""
    others = layout.n_ranks - 1
    if not others:
        return 0.0
    near = min(machine.gpus_per_host - 1, others) / others
    return max(sent * near / machine.near_bytes_s, sent * (1 - near) / machine.far_bytes_s)


def search_cost(
    machine: Machine, scale: int, scheme: str, n_ranks: int, *, compressed: bool = False, peers: bool = False
) -> Cost:
    """Return the cost of a search of a Graph500 graph for a rank; see :func:`level_cost`, :class:`Layout`."""
    layout = Layout(scheme, n_ranks, 1 << scale)
    engine = machine.peers if peers else machine.messages
    heads = layout.n_vertices / layout.rows * (2 if layout.is_paired else 1)
    bitmap = len(layout.place(0).tails) * layout.piece / 8
    computing = engine.head_s * heads * min(1 + bitmap / engine.cache, UNCACHED)
    total = Cost(computing, engine.search_s, 0.0, 0.0)
    for found in profile(scale):
        total += level_cost(machine, layout, found, compressed=compressed, peers=peers)
    if layout.columns > 1:
        total += _parents_cost(machine, layout)
    return total


def _parents_cost(machine: Machine, layout: Layout) -> Cost:
    """Return the cost of the final exchange: candidates, and parents of the heads that other ranks own."""
    exchange = fold(layout)
    sent = (1 + 8 * INDEX) * exchange.bytes
    latency = _exchange_seconds(machine.messages, [exchange])
    return Cost(0.0, latency, _seconds(machine, layout, sent), sent)


def memory_bytes(scale: int, scheme: str, n_ranks: int) -> float:
    """Return an upper bound of a rank's memory: merged parallel edges are counted."""
    layout = Layout(scheme, n_ranks, 1 << scale)
    grids = 2 if layout.is_paired else 1
    heads = layout.piece * layout.columns * grids
    tails = layout.piece * (layout.columns * grids if layout.is_paired else layout.rows)
    arcs = 2 * EDGE_FACTOR * (1 << scale) / n_ranks
    rows = OFFSET * heads + INDEX * arcs
    if not layout.is_paired:
        rows += OFFSET * tails + INDEX * arcs
    work = 3 * INDEX * heads + ENTRY * (tails + arcs / PIECE) + 6 * heads / 8 + 2 * tails / 8
    owned = 3 * INDEX * layout.piece * grids
    return rows + work + owned


def edges_per_second(scale: int, cost: Cost) -> float:
    """Return input edges per second; all count, since almost all are in the component searched."""
    return EDGE_FACTOR * (1 << scale) / cost.seconds


def best_grid(machine: Machine, scale: int, n_ranks: int, *, compressed: bool) -> tuple[str, Cost]:
    """Return the fastest scheme RxC of powers of two that fits the memory, and its cost."""
    grids = [f"{n_ranks >> k}x{1 << k}" for k in range(n_ranks.bit_length())]
    grids = [grid for grid in grids if memory_bytes(scale, grid, n_ranks) <= machine.memory]
    costs = [(search_cost(machine, scale, grid, n_ranks, compressed=compressed), grid) for grid in grids]
    cost, grid = min(costs, key=lambda pair: pair[0].seconds)
    return grid, cost


def table(rows: list[tuple[str, ...]], header: tuple[str, ...]) -> str:
    """Return a Markdown table."""
    rule = "| " + " | ".join("---" if k < 2 else "---:" for k in range(len(header))) + " |"
    lines = ["| " + " | ".join(row) + " |" for row in [header, *rows]]
    return "\n".join([lines[0], rule, *lines[1:]])


def _row(
    name: str, scale: int, scheme: str, n_ranks: int, cost: Cost, base: Cost | None = None
) -> tuple[str, ...]:
    ms = (1e3 * s for s in (cost.computing, cost.latency, cost.volume, cost.seconds))
    gteps = edges_per_second(scale, cost) / 1e9
    numbers = *ms, gteps, gteps / n_ranks, memory_bytes(scale, scheme, n_ranks) / 1e9
    efficiency = f"{base.seconds / cost.seconds:.0%}" if base else ""
    return name, scheme, str(n_ranks), str(scale), *(f"{number:.3g}" for number in numbers), efficiency


HEADER = (
    *("engine", "scheme", "P", "SCALE", "computing ms", "latency ms", "volume ms", "search ms"),
    *("GTEPS", "per GPU", "GB per GPU", "weak efficiency"),
)


def weak_scaling(machine: Machine, first_scale: int, doublings: int) -> str:
    """Return the table of both engines; vertices and GPUs double together, from one GPU."""
    rows = []
    for name, peers in (("hybrid-peers", True), ("hybrid-2d", False)):
        base = None
        for k in range(doublings + 1):
            n_ranks, scale = 1 << k, first_scale + k
            cost = search_cost(machine, scale, f"{n_ranks}x1", n_ranks, peers=peers)
            base = base or cost
            rows.append(_row(name, scale, f"{n_ranks}x1", n_ranks, cost, base))
    return table(rows, HEADER)


def projection(machine: Machine, scale: int, n_ranks: int) -> str:
    """Return the table of schemes, with and without compressed messages."""
    side = 1 << n_ranks.bit_length() // 2
    rows = []
    for scheme in (f"{n_ranks}x1", f"{4 * side}x{n_ranks // side // 4}", f"{side}x{n_ranks // side}"):
        for compressed in (False, True):
            cost = search_cost(machine, scale, scheme, n_ranks, compressed=compressed)
            name = "hybrid-2d, compressed" if compressed else "hybrid-2d"
            rows.append(_row(name, scale, scheme, n_ranks, cost))
    grid, cost = best_grid(machine, scale, n_ranks, compressed=True)
    rows.append(_row("the best grid, compressed", scale, grid, n_ranks, cost))
    one_host = replace(machine, gpus_per_host=n_ranks)
    grid, cost = best_grid(one_host, scale, n_ranks, compressed=True)
    rows.append(_row("the same, all links as within a host", scale, grid, n_ranks, cost))
    return table([row[:-1] for row in rows], HEADER[:-1])


if __name__ == "__main__":
    print(weak_scaling(H200, 23, 3), projection(H200, 36, 1024), sep="\n\n")
