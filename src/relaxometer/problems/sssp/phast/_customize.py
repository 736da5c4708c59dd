"""New weights for a hierarchy on the device: order, shortcuts and layout stay.

See ``_customize.cu``, whose arrays are made here and in ``_triangles.cu``.
"""

from concurrent.futures import Executor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from relaxometer.core.compiled import njit
from relaxometer.device.arrays import DeviceArray
from relaxometer.device.signature import read_source
from relaxometer.graphs.graph import UNREACHED, offsets_of
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems.sssp._cooperative import threads_per_block
from relaxometer.problems.sssp.phast import _ranges
from relaxometer.problems.sssp.phast._cch import MAX_TRIANGLES, Contraction
from relaxometer.problems.sssp.phast._hierarchy import cut_into_chains, list_chains
from relaxometer.problems.sssp.phast._placed import Placed, Ranks, blocks
from relaxometer.problems.variants import Skipped

Ints = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint32]
SOURCE = read_source(Path(__file__).with_name("_customize.cu"))
TRIANGLES = Path(__file__).with_name("_triangles.cu")
FAN_LANES = read_source(TRIANGLES).constants["FAN_LANES"]
NO_WORD, HAS_ZERO, IS_NOT_ONE = (SOURCE.constants[name] for name in ("NO_WORD", "HAS_ZERO", "IS_NOT_ONE"))
LOW_LEVELS = 32  # levels of single vertices; above, where a level has few vertices, levels consist of chains
CHAIN = 16  # maximum vertices of a chain
MAX_CELLS = 6144  # pairs of lengths in the matrix of a chain: 48 KiB of shared memory


class Schedule(NamedTuple):
    """The triangles of a hierarchy by level; those with the same arc (v, u) of their lowest vertex are a fan.

    The lowest levels are those of single vertices: each is one above the highest of those below it in the
    elimination tree. Further up, where levels have few vertices, they are levels of chains, paths of the tree
    that are cut like those of the search.

    A fan is the number of the arc (v, u), the first triangle, the number of triangles, and 0; the arcs (v, w)
    of the triangles have the numbers that follow. Those with v and u in one chain are left out. A chain, of
    several vertices, is the first of its arcs, their end, its vertices and its columns.
    """

    begins: Ints  # the first fan of each level, and their number
    n_triangles: Ints  # of each level
    longest: Ints  # the triangles of the longest fan of each level
    n_low: int  # levels of single vertices
    within: Words  # of each rank: how many of its arcs, the first ones, lead to its own chain
    first_fan: Words  # of each rank: the number of its first fan
    first_triangle: Words  # and of its first triangle
    chain_levels: Words  # the first chain of each level of chains, and their number
    chains: Words  # shape (n_chains, 4)
    chain_arcs: Words  # number of an arc from a vertex of a chain, place in the chain's matrix; shape (n, 2)


class Customizer:
    """Finds the lengths of all arcs of a hierarchy for new weights of the graph's arcs.

    `placed` holds copies of these lengths, if any.
    """

    def __init__(
        self, graph: ResidentGraph, ranks: Ranks, plan: Schedule, placed: Placed | None = None
    ) -> None:
        self._device = device = graph.device
        self.copies = {name: getattr(placed, name, None) for name in ("inside", "outside", "up_arcs")}
        module = device.module(SOURCE.path, cooperative=True)
        self._kernel = module.get_function("customize")
        self._threads = threads_per_block(device)
        most = max(len(ranks.up), graph.n_arcs, int(np.diff(plan.begins).max(initial=0)))
        available = device.max_cooperative_blocks(self._kernel, self._threads, 8 * MAX_CELLS)
        self._blocks = max(1, min(available, -(-most // self._threads)))
        fans, self.word_of, self.targets = _find_arcs(graph, ranks, plan)
        arrays = {
            "levels": _with_lanes(plan, self._blocks, self._threads),
            "chain_levels": plan.chain_levels,
            "chains": plan.chains,
            "chain_arcs": plan.chain_arcs,
        }
        sizes = {
            "n_graph_arcs": graph.n_arcs,
            "n_arcs": len(ranks.up),
            "n_levels": len(plan.begins) - 1,
            "n_low_levels": plan.n_low,
            "n_inside": 0 if placed is None else placed.inside.size,
        }
        self._levels = sizes["n_levels"]
        self._shared_bytes = 8 * int((plan.chains[:, 2] * plan.chains[:, 3]).max(initial=0))
        self._n_triangles = len(self.targets)
        self._constants = (
            module.struct(
                "Topology",
                word_of=self.word_of,
                fans=fans,
                targets=self.targets,
                up_place=getattr(placed, "up_place", None),
                down_place=getattr(placed, "down_place", None),
                **{name: device.asarray(array) for name, array in arrays.items()},
                **{name: np.uint32(size) for name, size in sizes.items()},
            ),
            module.struct("Copies", **self.copies),
        )
        self.lengths = device.xp.empty(2 * len(ranks.up), dtype=np.uint32)
        self._facts = device.xp.zeros(1, dtype=np.uint32)

    @property
    def resolved(self) -> dict[str, int]:
        """Return the number of levels and of triangles."""
        return {"customization_levels": self._levels, "triangles": self._n_triangles}

    def customize(self, weights: Any, times_ms: list[float] | None = None) -> bool:
        """Find the lengths for these weights, by the graph's arcs; return whether any weight is zero.

        `times_ms` gets the times of the graph's weights, each level, and the copies, from an instrumented
        run. ValueError if a weight is `UNREACHED`; the copies are as before.
        """
        log = None if times_ms is None else self._device.xp.zeros(self._levels + 3, dtype=np.uint64)
        self._facts.fill(0)
        arguments = (*self._constants, weights, self.lengths, self._facts, log)
        self._kernel(self._blocks, self._threads, arguments, shared_mem=self._shared_bytes)
        facts = self._device.item(self._facts)
        if facts & IS_NOT_ONE:
            raise ValueError(f"weights are 0 to {int(UNREACHED) - 1}; {int(UNREACHED)} is not one")
        if times_ms is not None:
            times_ms += (np.diff(self._device.asnumpy(log).astype(np.int64)) / 1e6).tolist()
        return bool(facts & HAS_ZERO)


def checked_weights(graph: ResidentGraph, weights: DeviceArray) -> Any:
    """Return a copy of new weights on the device; ValueError if they are not uint32, one for each arc."""
    given = graph.device.asarray(weights)
    if given.shape != (graph.n_arcs,) or given.dtype != np.uint32:
        raise ValueError(
            f"weights are uint32, one for each of {graph.n_arcs} arcs; "
            f"given {given.dtype} of shape {given.shape}"
        )
    own = graph.device.xp.empty(graph.n_arcs, dtype=np.uint32)
    own[...] = given
    return own


def schedule(cch: Contraction, pool: Executor) -> Schedule:
    """Return the triangles of a contracted graph by level; Skipped if there are too many."""
    n = len(cch.parent)
    chain, place, tallest, within = np.zeros((4, n), dtype=np.int32)  # of low ranks left 0
    level = _heights(cch.parent)
    n_low = min(LOW_LEVELS, int(level.max()) + 1)
    is_high = level >= n_low
    high = np.flatnonzero(is_high).astype(np.int32)
    if len(high):
        longest_row = int((cch.offsets[high + 1] - cch.offsets[high]).max())
        longest = max(1, min(CHAIN, MAX_CELLS // (longest_row + CHAIN)))
        cut_into_chains(high, cch.parent, is_high.astype(np.int32), longest, chain, place, tallest)
        _find_chain_levels(high, cch.parent, chain, level, n_low)
        _count_within(high, cch.offsets, cch.up, chain, within)
    n_levels = int(level.max()) + 1
    counts = np.stack(_ranges.call(pool, n, _count_fans, cch.offsets, level, within, n_levels))
    n_fans, n_triangles, longest_fan = counts[:, 0], counts[:, 1], counts[:, 2].max(axis=0)
    total = n_triangles.sum(axis=0)
    if total.sum() > MAX_TRIANGLES:
        raise Skipped(f"made for maps; the hierarchy would have {total.sum()} triangles")
    begins = offsets_of(n_fans.sum(axis=0))
    fans, triangles = (  # the first ones of each range of ranks in each level
        offsets_of(one.sum(axis=0))[:-1] + np.cumsum(one, axis=0) - one for one in (n_fans, n_triangles)
    )
    first = np.empty((2, n), dtype=np.uint32)
    _ranges.call(pool, n, _place_fans, cch.offsets, level, within, fans, triangles, _ranges.width(n), first)
    tops, lengths = list_chains(high, chain, tallest)
    in_order = np.argsort(level[tops], kind="stable")
    tops, lengths = tops[in_order], lengths[in_order]
    chain_levels = np.searchsorted(level[tops], np.arange(n_low, n_levels + 1)).astype(np.uint32)
    chains = _list_chains(cch.offsets, cch.up, tops, lengths, chain, place, tallest)
    return Schedule(
        begins, total, longest_fan, n_low, within.view(np.uint32), first[0], first[1], chain_levels, *chains
    )


def _find_arcs(graph: ResidentGraph, ranks: Ranks, plan: Schedule) -> tuple[Any, Any, Any]:
    """Return all fans, the length that each arc of the graph bounds, and the arc (u, w) of each triangle."""
    device, n_fans, n_triangles = graph.device, int(plan.begins[-1]), int(plan.n_triangles.sum())
    within, *first = device.asarrays(plan.within, plan.first_fan, plan.first_triangle)
    fans = device.xp.empty((n_fans, 4), dtype=np.uint32)
    words, targets = (device.xp.empty(size, dtype=np.uint32) for size in (graph.n_arcs, n_triangles))
    rank = device.xp.empty(len(ranks.order), dtype=np.uint32)
    rank[ranks.order] = device.xp.arange(len(rank), dtype=np.uint32)
    module, threads = device.module(TRIANGLES), threads_per_block(device, 256)

    def launch(kernel: str, n_threads: int, *arguments: Any) -> None:
        module.get_function(kernel)(blocks(n_threads, threads), threads, arguments)

    n, graph_offsets, heads, _ = graph.csr
    own = ranks.offsets, ranks.up
    launch("find_words", len(rank), n, graph_offsets, heads, rank, *own, np.uint32(NO_WORD), words)
    launch("list_fans", len(rank), np.uint32(len(rank)), ranks.offsets, within, *first, fans)
    launch("list_targets", FAN_LANES * n_fans, np.uint32(n_fans), fans, *own, targets)
    return fans, words, targets


def _with_lanes(plan: Schedule, blocks: int, threads: int) -> Words:
    """Return the first fan of each level, and the logarithm of the lanes per fan, all in one block.

    A fan has as many lanes as the mean of the level has triangles; if threads would be idle, more.
    """
    size = np.maximum(np.diff(plan.begins), 1)
    mean = np.ceil(np.log2(np.maximum(plan.n_triangles / size, 1)))
    idle = np.floor(np.log2(np.maximum(blocks * threads / size, 1)))
    most = np.minimum(np.ceil(np.log2(np.maximum(plan.longest, 1))), threads.bit_length() - 1)
    lanes = np.append(np.minimum(np.maximum(mean, idle), most), 0)
    return np.stack([plan.begins, lanes.astype(np.int64)], axis=1).astype(np.uint32)


@njit(cache=True, nogil=True)
def _heights(parent: Any) -> Any:
    """Return the height of the subtree below each rank."""
    height = np.zeros(len(parent), dtype=np.int32)
    for v in range(len(parent)):
        if parent[v] >= 0:
            height[parent[v]] = max(height[parent[v]], height[v] + 1)
    return height


@njit(cache=True, nogil=True)
def _find_chain_levels(high: Any, parent: Any, chain: Any, level: Any, n_low: int) -> None:
    """Fill in the level of each high rank's chain; the lowest chains have level `n_low`."""
    for v in high:
        level[v] = n_low
    for v in high:  # the level of a chain is that of its highest rank, of which it has the name
        p = parent[v]
        if p >= 0 and chain[p] != chain[v]:
            level[chain[p]] = max(level[chain[p]], level[chain[v]] + 1)
    for v in high:
        level[v] = level[chain[v]]


@njit(cache=True, nogil=True)
def _count_within(high: Any, offsets: Any, up: Any, chain: Any, within: Any) -> None:
    """Count how many arcs of each high rank, its first ones, lead to its own chain."""
    for v in high:
        while within[v] < offsets[v + 1] - offsets[v] and chain[up[offsets[v] + within[v]]] == chain[v]:
            within[v] += 1


@njit(cache=True, nogil=True)
def _list_chains(offsets: Any, up: Any, tops: Any, lengths: Any, chain: Any, place: Any, tallest: Any) -> Any:
    """Return the chains, and where each arc of theirs, the lowest first, stands in the chain's matrix."""
    chains, size = np.zeros((len(tops), 4), dtype=np.uint32), 0
    for k in range(len(tops)):
        chains[k, 0], v = size, tops[k]
        for _ in range(lengths[k]):
            size += offsets[v + 1] - offsets[v]
            v = tallest[v]
        chains[k, 1], chains[k, 2] = size, lengths[k]
        chains[k, 3] = lengths[k] + offsets[tops[k] + 1] - offsets[tops[k]]
    arcs = np.empty((size, 2), dtype=np.uint32)
    for k in range(len(tops)):
        v, end, columns = tops[k], chains[k, 1], chains[k, 3]
        above = up[offsets[v] : offsets[v + 1]]
        for row in range(lengths[k] - 1, -1, -1):
            end -= offsets[v + 1] - offsets[v]
            for i in range(offsets[v + 1] - offsets[v]):
                e = offsets[v] + i
                u = up[e]
                is_within = chain[u] == tops[k]
                column = lengths[k] - 1 - place[u] if is_within else lengths[k] + np.searchsorted(above, u)
                arcs[end + i, 0], arcs[end + i, 1] = e, row * columns + column
            v = tallest[v]
    return chains, arcs


@njit(cache=True, nogil=True)
def _count_fans(offsets: Any, level: Any, within: Any, n_levels: int, begin: int, end: int) -> Any:
    """Return the fans of a range of ranks, their triangles, and those of the longest fan, by level."""
    counts = np.zeros((3, n_levels), dtype=np.int64)
    for v in range(begin, end):
        n_fans = max(0, offsets[v + 1] - offsets[v] - within[v] - 1)
        counts[0, level[v]] += n_fans
        counts[1, level[v]] += n_fans * (n_fans + 1) // 2
        counts[2, level[v]] = max(counts[2, level[v]], n_fans)
    return counts


@njit(cache=True, nogil=True)
def _place_fans(
    offsets: Any,
    level: Any,
    within: Any,
    fans: Any,
    triangles: Any,
    width: int,
    first: Any,
    begin: int,
    end: int,
) -> None:
    """Fill in the first fans and triangles of a range of ranks, from those of the range and level on."""
    fan, triangle = fans[begin // width].copy(), triangles[begin // width].copy()
    for v in range(begin, end):
        k, n_fans = level[v], max(0, offsets[v + 1] - offsets[v] - within[v] - 1)
        first[0, v], first[1, v] = fan[k], triangle[k]
        fan[k] += n_fans
        triangle[k] += n_fans * (n_fans + 1) // 2
