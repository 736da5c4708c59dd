"""Memory of a rank: how much a run will take, counted before its graph is made.

`docs/scaling.md` explains the counts, and shows what ``python -m relaxometer.distributed.memory`` prints.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import psutil  # type: ignore[import-untyped]

from relaxometer.core.errors import UserError
from relaxometer.datasets.formats.generated import Graph500Parameters
from relaxometer.distributed import build, certify, stored
from relaxometer.distributed.comm import Ranks
from relaxometer.distributed.engines import ENGINES
from relaxometer.distributed.model import table
from relaxometer.distributed.partition import Layout
from relaxometer.problems.bfs._levels import PIECE

SENT, SORTED, CHECKED = 112, 80, 96
"""Bytes for each arc that is sent at a time, for each that is sorted, and for each vertex that is checked.

The arrays of a sort take 48. With 80 here, and 108 below, the forecast agrees with measured peaks; why more
is taken than the arrays was not looked into."""

SORTED_TWICE = 108  # the same for arcs with weights, which are sorted by tail and by head
NCCL = 670_000_000  # bytes of its buffers, as measured on two GPUs


@dataclass(frozen=True)
class Size:
    """Arcs of a graph as brought, whether each has a reverse, and the shares of arcs and vertices that stay.

    Parallel arcs are merged, and some engines leave out vertices without arcs.
    """

    n_vertices: int
    n_arcs: int
    symmetric: bool
    arcs_left: float = 1.0
    vertices_left: float = 1.0

    @classmethod
    def generated(cls, p: Graph500Parameters) -> Size:
        """Return the size of a Kronecker graph; its shares are fitted to SCALE 20 to 27 with 16 edges."""
        merged = 0.0 if p.keep_parallel else 0.0167 * 0.83 ** (p.scale - 27)
        isolated = 0.53 + 0.02 * (p.scale - 27)
        return cls(1 << p.scale, 2 * p.edge_factor << p.scale, True, max(0.0, 1 - merged), 1 - isolated)


class Share:
    """What a rank has of a graph: heads, tails and owned vertices, and arcs as brought and as they stay."""

    def __init__(self, layout: Layout, size: Size) -> None:
        place = layout.place(0)
        self.layout, self.size = layout, size
        pieces = place.heads, place.tails, place.owned
        self.heads, self.tails, self.owned = (len(part) * layout.piece for part in pieces)
        self.brought = size.n_arcs / layout.n_ranks
        self.arcs = self.brought * size.arcs_left
        self.is_shared = size.symmetric and place.heads == place.tails

    def rows(self, *, weighted: bool) -> tuple[float, float]:
        """Return the bytes of the arcs by tail, and of those by head."""
        out = 8 * self.tails + (8 if weighted else 4) * self.brought
        return out, 0 if self.is_shared else 8 * self.heads + (0 if weighted else 4 * self.arcs)

    @property
    def frontier(self) -> float:
        """Bytes of a list of pieces of rows."""
        return 8 * (self.tails + self.arcs / PIECE)


@dataclass(frozen=True)
class Needs:
    """Bytes that an engine allocates in addition to a block, to prepare and to search."""

    weighted: bool
    preparing: Callable[[Share], float]
    searching: Callable[[Share], float]


def _hybrid_2d(s: Share) -> float:
    """Probes, parents and a list 12, bitmaps; parents that other ranks send; an answer.

    Where only owners seek, the parents are the answer's.
    """
    layout = s.layout
    parents = 0 if layout.only_owners_seek else 4 * s.heads
    sent = sum(len(layout.seekers(piece)) - 1 for piece in layout.place(0).owned) * layout.piece
    return 8.75 * s.heads + parents + s.tails / 8 + s.frontier + 4.125 * sent + 8.25 * s.owned


def _hybrid_peers(s: Share) -> float:
    """Packed neighbours 28, a list 8, bitmaps; frontiers; two answers."""
    return 37.75 * s.heads + s.tails / 2 + s.frontier + 16 * s.owned


def _rank_vertices(s: Share) -> float:
    """Keys of all vertices are sorted, or their ranks are there while neighbours are packed."""
    return max(20 * s.tails, 12 * s.tails + 28 * s.heads)


def _sssp_peers(s: Share) -> float:
    """Arcs by tail and by head, and tasks; vertices renumbered, and what is kept of those with arcs."""
    kept = s.size.vertices_left * (28 * s.heads + 44 * s.tails)
    return 16.125 * s.arcs + 4 * (s.heads + s.tails) + kept + 8 * s.owned


def _renumber(s: Share) -> float:
    """Arcs by tail and by head, of which a piece is sorted, and their offsets; vertices renumbered."""
    kept = s.size.vertices_left * (8 * s.heads + 12 * s.tails)
    return 16 * s.arcs + SORTED_TWICE * min(build.PIECE, s.arcs) + 4 * (s.heads + s.tails) + kept


NEEDS = {
    "hybrid-2d": Needs(False, lambda s: 0, _hybrid_2d),
    "hybrid-peers": Needs(False, _rank_vertices, _hybrid_peers),
    # Labels 8, bitmaps and their sums; an answer.
    "sssp-1d": Needs(True, lambda s: 0, lambda s: 8.5 * s.heads + s.frontier + 8 * s.owned),
    "sssp-peers": Needs(True, _renumber, _sssp_peers),
}


def forecast(engine: str, layout: Layout, size: Size) -> dict[str, int]:
    """Return the bytes that a rank will have allocated at most in each phase of a run."""
    s, needs = Share(layout, size), NEEDS[engine]
    out, into = s.rows(weighted=needs.weighted)
    ends, degrees = 4 * s.heads, 4 * s.owned
    sent = 4 * s.tails + max(8 * layout.piece, (1 + layout.rows) * degrees)
    sorting = SORTED * min(build.PIECE, s.brought)
    making = max(out + SENT * min(stored.BATCH, s.brought), out + into + max(sorting, sent))
    block = out + into + ends + degrees
    searching = block + needs.searching(s)
    preparing = max(block + needs.preparing(s), searching)
    phases = {
        "building": ends + making,
        "preparing": preparing,
        "searching": searching,
        "proving": searching + 12 * s.heads + 4 * s.tails + CHECKED * min(certify.PART, s.heads),
    }
    buffers = NCCL if layout.n_ranks > 1 else 0
    return {phase: int(count) + buffers for phase, count in phases.items()}


def refuse_too_large(ranks: Ranks, engine: str, scheme: str, parameters: Graph500Parameters) -> None:
    """Raise `UserError`, with the largest scale that fits, if a rank has too little free memory."""
    free = ranks.reduce([_free_bytes(ranks)], "min")[0]

    def needed(scale: int) -> int:
        size = Size.generated(parameters.model_copy(update={"scale": scale}))
        return max(forecast(engine, Layout(scheme, ranks.size, size.n_vertices), size).values())

    if needed(parameters.scale) <= free:
        return
    fitting = [scale for scale in range(1, parameters.scale) if needed(scale) <= free]
    advice = f"kron:{fitting[-1]} fits" if fitting else "no scale fits"
    raise UserError(
        f"graph kron:{parameters.scale} needs about {needed(parameters.scale) / 1e9:.3g} GB on each of "
        f"{ranks.size} ranks, but only {free / 1e9:.3g} GB are free; {advice}"
    )


def _free_bytes(ranks: Ranks) -> int:
    """Return the free memory of this rank's device; ranks share that of a host, and GPUs that they share."""
    if ranks.device.kind == "host":
        return int(psutil.virtual_memory().available) // ranks.local_size
    free = int(ranks.device.xp.cuda.runtime.memGetInfo()[0])
    pool = int(ranks.device.xp.get_default_memory_pool().free_bytes())
    return (free + pool) // (1 if ranks.have_own_gpus else ranks.local_size)


RUNS = (
    *(("hybrid-peers", "auto", 1, scale) for scale in (27, 28)),
    *(("hybrid-peers", "auto", 2, 28), ("hybrid-2d", "auto", 2, 28), ("hybrid-2d", "paired", 2, 28)),
    *(("sssp-1d", "auto", 2, 27), ("sssp-peers", "auto", 2, 27)),
)


def forecasts() -> str:
    """Return a table of some forecasts."""
    engines = {name: engine for known in ENGINES.values() for name, engine in known.items()}
    rows = []
    for engine, given, n_ranks, scale in RUNS:
        size = Size.generated(Graph500Parameters(scale=scale))
        scheme = engines[engine].scheme(given, n_ranks)
        phases = forecast(engine, Layout(scheme, n_ranks, size.n_vertices), size)
        rows.append((engine, scheme, str(scale), *(f"{count / 1e9:.1f}" for count in phases.values())))
    return table(rows, ("engine", "scheme", "SCALE", *phases))


if __name__ == "__main__":
    print(forecasts())
