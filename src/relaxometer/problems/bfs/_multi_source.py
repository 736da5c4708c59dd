"""A graph renumbered for searches from many sources at once."""

from dataclasses import dataclass
from typing import Any

from relaxometer.device.arrays import DeviceArray
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems.bfs import UNREACHED
from relaxometer.problems.bfs._incoming import HALF, incoming, rows_of

HUB = 16  # a graph has hubs if a vertex has more than this many times the mean number of arcs


@dataclass(frozen=True, eq=False)
class Renumbered:
    """The arcs of a graph between renumbered vertices: offsets, int64, and ascending ends, uint32."""

    position: Any  # new number of each vertex, uint32; `UNREACHED` for those left out, without arcs
    original: Any  # the vertices by their new numbers, uint32
    out: tuple[Any, Any]
    into: tuple[Any, Any]


def has_hubs(graph: ResidentGraph) -> bool:
    """Return whether some vertex has far more outgoing arcs than most."""
    if graph.n_arcs == 0:
        return False
    return int((graph.offsets[1:] - graph.offsets[:-1]).max()) > HUB * graph.n_arcs / graph.n_vertices


def renumber(graph: ResidentGraph, *, by_degree: bool) -> Renumbered:
    """Sort vertices by falling in-degree and drop those without arcs, or keep all; 32 bytes per arc."""
    xp, n = graph.device.xp, graph.n_vertices
    rows = incoming(graph)
    own = graph.offsets, graph.targets
    if not by_degree:
        same = xp.arange(n, dtype=xp.uint32)
        return Renumbered(same, same, own, rows)
    entering, leaving = (offsets[1:] - offsets[:-1] for offsets in (rows[0], graph.offsets))
    rank = xp.where(entering + leaving > 0, entering + 1, 0)
    keys = (rank.max() - rank).astype(xp.uint64) << HALF | xp.arange(n, dtype=xp.uint64)
    keys.sort()
    searched = int((rank > 0).sum())
    original = keys[:searched].astype(xp.uint32)
    position = xp.full(n, UNREACHED, dtype=xp.uint32)
    position[original] = xp.arange(searched, dtype=xp.uint32)
    into = _moved(xp, rows, position, searched)
    out = into if rows[0] is own[0] else _moved(xp, own, position, searched)
    return Renumbered(position, original, out, into)


def _moved(xp: Any, rows: tuple[Any, Any], position: Any, n: int) -> tuple[Any, Any]:
    """Return rows between the new numbers of their vertices, sorted."""
    offsets, ends = rows
    arcs = xp.arange(len(ends), dtype=xp.int64)
    keys = position[xp.searchsorted(offsets, arcs, side="right") - 1].astype(xp.uint64) << HALF
    del arcs
    keys |= position[ends].astype(xp.uint64)
    return rows_of(keys, n, xp)


def pieces_of_long_rows(offsets: DeviceArray, longest: int, xp: Any) -> Any:
    """Return the pieces of rows above `longest` arcs, ascending: number of the piece << 32 | vertex."""
    lengths = offsets[1:] - offsets[:-1]
    long_rows = xp.flatnonzero(lengths > longest)
    counts = -(-lengths[long_rows] // longest)
    ends = xp.cumsum(counts)
    pieces = xp.arange(int(ends[-1]) if len(ends) else 0, dtype=xp.int64)
    row = xp.searchsorted(ends, pieces, side="right")
    number = pieces - (ends - counts)[row]
    entries = number.astype(xp.uint64) << HALF | long_rows[row].astype(xp.uint64)
    entries.sort()
    return entries
