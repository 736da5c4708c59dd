"""New weights for a hierarchy on the device: order, shortcuts and layout stay.

See ``_customize.cu``, whose arrays are made here and in ``_triangles.cu``.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from relaxometer.core.compiled import get_num_threads, njit
from relaxometer.device import Device
from relaxometer.device.arrays import DeviceArray
from relaxometer.device.signature import read_source
from relaxometer.graphs.graph import UNREACHED, offsets_of
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems.sssp._cooperative import threads_per_block
from relaxometer.problems.sssp.phast import _ranges
from relaxometer.problems.sssp.phast._cch import MAX_TRIANGLES, Contraction
from relaxometer.problems.sssp.phast._hierarchy import Hierarchy, _cut_into_chains
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
MAX_BLOCKS = 1 << 16  # of a launch of ``_triangles.cu``


@dataclass(frozen=True)
class Schedule:
    """The triangles of a hierarchy by level; those with the same arc (v, u) of their lowest vertex are a fan.

    The lowest levels are those of single vertices: each is one above the highest of those below it in the
    elimination tree. Further up, where levels have few vertices, they are levels of chains, paths of the tree
    that are cut like those of the search.

    A fan is the number of the arc (v, u), the first triangle, the number of triangles, and 0; the arcs (v, w)
    of the triangles have the numbers that follow. Those with v and u in one chain are left out. A chain, of
    several vertices, is the first of its arcs, their end, its vertices and its columns.
    """

    begins: Ints  # the first fan of each level, and their number
    fans: Words  # shape (n_fans, 4)
    n_triangles: Ints  # of each level
    longest: Ints  # the triangles of the longest fan of each level
    n_low: int  # levels of single vertices
    chain_levels: Words  # the first chain of each level of chains, and their number
    chains: Words  # shape (n_chains, 4)
    chain_arcs: Words  # number of an arc from a vertex of a chain, place in the chain's matrix; shape (n, 2)


class Customizer:
    """Finds the lengths of all arcs of a hierarchy for new weights of the graph's arcs.

    The arcs of `numbered` weigh their own numbers (:func:`relaxometer.problems.sssp.phast._cch.number`), and
    `hierarchy` is cut from it; `copies` has its arcs ``inside``, ``outside`` and ``up_arcs`` on the device,
    where lengths replace the numbers. Skipped if 32 bits do not number the words of the arrays.
    """

    def __init__(
        self,
        graph: ResidentGraph,
        numbered: Contraction,
        plan: Schedule,
        hierarchy: Hierarchy | None = None,
        copies: dict[str, Any] | None = None,
    ) -> None:
        self._device = device = graph.device
        self.copies = copies or dict.fromkeys(("inside", "outside", "up_arcs"))
        module = device.module(SOURCE.path, cooperative=True)
        self._kernel = module.get_function("customize")
        self._threads = threads_per_block(device)
        up_place, down_place, n_inside = None, None, 0
        if hierarchy is not None:
            n_inside = hierarchy.inside.arcs.size
            up_place, down_place = find_places(hierarchy, self.copies, device)
        most = max(len(numbered.up), graph.n_arcs, int(np.diff(plan.begins).max(initial=0)))
        available = device.max_cooperative_blocks(self._kernel, self._threads, 8 * MAX_CELLS)
        self._blocks = max(1, min(available, -(-most // self._threads)))
        fans = device.asarray(plan.fans)
        n_triangles = int(plan.n_triangles.sum())
        self.word_of, self.targets = _find_arcs(graph, numbered, fans, n_triangles)
        arrays = {
            "levels": _with_lanes(plan, self._blocks, self._threads),
            "chain_levels": plan.chain_levels,
            "chains": plan.chains,
            "chain_arcs": plan.chain_arcs,
        }
        sizes = {
            "n_graph_arcs": graph.n_arcs,
            "n_arcs": len(numbered.up),
            "n_levels": len(plan.begins) - 1,
            "n_low_levels": plan.n_low,
            "n_inside": n_inside,
        }
        self._levels = sizes["n_levels"]
        self._shared_bytes = 8 * int((plan.chains[:, 2] * plan.chains[:, 3]).max(initial=0))
        self._n_triangles = n_triangles
        self._constants = (
            module.struct(
                "Topology",
                word_of=self.word_of,
                fans=fans,
                targets=self.targets,
                up_place=up_place,
                down_place=down_place,
                **{name: device.asarray(array) for name, array in arrays.items()},
                **{name: np.uint32(size) for name, size in sizes.items()},
            ),
            module.struct("Copies", **self.copies),
        )
        self.lengths = device.xp.empty(2 * len(numbered.up), dtype=np.uint32)
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


def schedule(cch: Contraction) -> Schedule:
    """Return the triangles of a contracted graph by level; Skipped if there are too many."""
    chain, place, level, n_low = _cut(cch)
    n_levels = int(level.max()) + 1
    degree = np.diff(cch.offsets)
    within = _count_within(cch.offsets, cch.up, chain)
    beyond = degree - within
    n_triangles = np.bincount(level, beyond * (beyond - 1) // 2, n_levels).astype(np.int64)
    if n_triangles.sum() > MAX_TRIANGLES:
        raise Skipped(f"made for maps; the hierarchy would have {n_triangles.sum()} triangles")
    n_fans = np.bincount(level, np.maximum(beyond - 1, 0), n_levels).astype(np.int64)
    begins = offsets_of(n_fans)
    *first, longest = _place_fans(cch.offsets, level, within, begins, offsets_of(n_triangles))
    fans = np.empty((begins[-1], 4), dtype=np.uint32)
    with ThreadPoolExecutor(get_num_threads()) as pool:
        _ranges.call(pool, len(degree), _list_fans, cch.offsets, within, *first, fans)

    size = np.bincount(chain, minlength=len(degree))
    tops = np.flatnonzero((chain == np.arange(len(degree))) & (size > 1))
    tops = tops[np.argsort(level[tops], kind="stable")]
    chain_levels = np.searchsorted(level[tops], np.arange(n_low, n_levels + 1)).astype(np.uint32)
    members = np.flatnonzero(size[chain] > 1)
    members = members[np.lexsort((-place[members], chain[members]))]
    begin = np.searchsorted(chain[members], tops)
    n_arcs = int(degree[members].sum())
    chains, chain_arcs = _list_chains(cch.offsets, cch.up, tops, begin, members, chain, place, n_arcs)
    return Schedule(begins, fans, n_triangles, longest, n_low, chain_levels, chains, chain_arcs)


def _cut(cch: Contraction) -> tuple[Ints, Ints, Ints, int]:
    """Return the chain of each rank, named by its highest, the place in it, the level, and `n_low`."""
    ranks = np.arange(len(cch.parent))
    height = _find_chain_levels(cch.parent, ranks, ranks >= 0)  # where each rank is a chain
    n_low = min(LOW_LEVELS, int(height.max()) + 1)
    is_high = height >= n_low
    longest_row = int(np.diff(cch.offsets)[is_high].max(initial=0))
    longest = max(1, min(CHAIN, MAX_CELLS // (longest_row + CHAIN)))
    chain, place = _cut_into_chains(is_high.astype(np.int64), cch.parent, longest)
    chain[~is_high] = ranks[~is_high]
    level = np.where(is_high, n_low + _find_chain_levels(cch.parent, chain, is_high), height)
    return chain, place, level, n_low


def find_places(hierarchy: Hierarchy, copies: dict[str, Any], device: Device) -> tuple[Any, Any]:
    """Return where the upward and the downward length of each numbered arc stands, by arc, uint32.

    The former are words of ``up_arcs``, the latter those of ``inside`` followed by those of ``outside``.
    `copies` holds the arcs of the hierarchy on the device. Skipped if 32 bits do not number the words.
    """
    xp, (inside, outside, up_arcs) = device.xp, (copies[name] for name in ("inside", "outside", "up_arcs"))
    n_words, n_arcs = inside.size + outside.size, len(up_arcs)
    if n_words > NO_WORD:
        raise Skipped(f"made for maps; arcs would take {n_words} words")
    up_place, down_place = (xp.full(n_arcs, NO_WORD, dtype=np.uint32) for _ in range(2))
    up_place[up_arcs[:, 1]] = 2 * xp.arange(n_arcs, dtype=np.uint32) + np.uint32(1)
    bounds, table = hierarchy.inside.bounds, hierarchy.inside.table
    is_chain = np.repeat(np.arange(len(bounds) - 1) % 2 == 1, np.diff(bounds))
    chains = 32 * device.asarray(table[is_chain, 0].astype(np.int64))
    is_length, in_rows = inside != UNREACHED, outside != UNREACHED
    first = int(chains.min()) if len(chains) else len(inside)
    is_length[:first, 0] = False  # tails of arcs in rows
    is_length[(chains[:, None] + xp.arange(32)).ravel(), 0] = False  # rows of the lanes of chains
    in_rows[:, 0] = False
    for arcs, chosen, begin in ((inside, is_length, 0), (outside, in_rows, inside.size)):
        words = xp.flatnonzero(chosen)
        down_place[arcs.ravel()[words]] = (words + begin).astype(np.uint32)
    return up_place, down_place


def _find_arcs(graph: ResidentGraph, cch: Contraction, fans: Any, n_triangles: int) -> tuple[Any, Any]:
    """Return the length that each arc of the graph bounds, and the arc (u, w) of each triangle."""
    device = graph.device
    words, targets = (device.xp.empty(size, dtype=np.uint32) for size in (graph.n_arcs, n_triangles))
    order, offsets = (device.asarray(array.astype(np.uint32)) for array in (cch.order, cch.offsets))
    up = device.asarray(cch.up.view(np.uint32))
    rank = device.xp.empty(len(order), dtype=np.uint32)
    rank[order] = device.xp.arange(len(order), dtype=np.uint32)
    module, threads = device.module(TRIANGLES), threads_per_block(device, 256)
    n, graph_offsets, heads, _ = graph.csr
    found = n, graph_offsets, heads, rank, offsets, up, np.uint32(NO_WORD), words
    module.get_function("find_words")(_blocks(graph.n_vertices, threads), threads, found)
    listed = np.uint32(len(fans)), fans, offsets, up, targets
    module.get_function("list_targets")(_blocks(FAN_LANES * len(fans), threads), threads, listed)
    return words, targets


def _blocks(n_threads: int, per_block: int) -> int:
    """Return the blocks of a launch whose threads stride over the remaining items."""
    return max(1, min(-(-n_threads // per_block), MAX_BLOCKS))


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
def _find_chain_levels(parent: Any, chain: Any, is_high: Any) -> Any:
    """Return the level of each high rank's chain above the lowest chains."""
    level = np.zeros(len(parent), dtype=np.int64)  # by the name of the chain, its highest rank
    for v in range(len(parent)):
        p = parent[v]
        if p >= 0 and is_high[v] and chain[p] != chain[v]:
            level[chain[p]] = max(level[chain[p]], level[chain[v]] + 1)
    return level[chain]


@njit(cache=True, nogil=True)
def _count_within(offsets: Any, up: Any, chain: Any) -> Any:
    """Return how many arcs of each rank, its first ones, lead to its own chain."""
    within = np.zeros(len(chain), dtype=np.int64)
    for v in range(len(chain)):
        while within[v] < offsets[v + 1] - offsets[v] and chain[up[offsets[v] + within[v]]] == chain[v]:
            within[v] += 1
    return within


@njit(cache=True, nogil=True)
def _list_chains(
    offsets: Any, up: Any, tops: Any, first_member: Any, members: Any, chain: Any, place: Any, n_arcs: int
) -> Any:
    """Return the chains, and where each arc of theirs stands in the chain's matrix."""
    chains = np.zeros((len(tops), 4), dtype=np.uint32)
    arcs = np.empty((n_arcs, 2), dtype=np.uint32)
    size = 0
    for k in range(len(tops)):
        top = tops[k]
        above = up[offsets[top] : offsets[top + 1]]
        rows = place[members[first_member[k]]] + 1
        columns = rows + len(above)
        chains[k, 0] = size
        for m in range(first_member[k], first_member[k] + rows):
            v = members[m]
            for e in range(offsets[v], offsets[v + 1]):
                u = up[e]
                column = rows - 1 - place[u] if chain[u] == top else rows + np.searchsorted(above, u)
                arcs[size, 0] = e
                arcs[size, 1] = (rows - 1 - place[v]) * columns + column
                size += 1
        chains[k, 1] = size
        chains[k, 2] = rows
        chains[k, 3] = columns
    return chains, arcs


@njit(cache=True, nogil=True)
def _place_fans(offsets: Any, level: Any, within: Any, first_fan: Any, first_triangle: Any) -> Any:
    """Return the numbers of each rank's first fan and first triangle, which are numbered by level.

    Also returns the triangles of the longest fan of each level.
    """
    longest = np.zeros(len(first_fan) - 1, dtype=np.int64)
    next_fan, next_triangle = first_fan.copy(), first_triangle.copy()
    fan, triangle = np.empty(len(level), dtype=np.int64), np.empty(len(level), dtype=np.int64)
    for v in range(len(level)):
        k, n_fans = level[v], max(0, offsets[v + 1] - offsets[v] - within[v] - 1)
        fan[v], triangle[v] = next_fan[k], next_triangle[k]
        next_fan[k] += n_fans
        next_triangle[k] += n_fans * (n_fans + 1) // 2
        longest[k] = max(longest[k], n_fans)
    return fan, triangle, longest


@njit(cache=True, nogil=True)
def _list_fans(
    offsets: Any, within: Any, first_fan: Any, first_triangle: Any, fans: Any, begin: int, end: int
) -> None:
    """Fill in the fans of a range of ranks; none of the arcs within a chain."""
    for v in range(begin, end):
        fan, triangle, last = first_fan[v], first_triangle[v], offsets[v + 1] - 1
        for one in range(offsets[v] + within[v], last):
            fans[fan, 0], fans[fan, 1], fans[fan, 2], fans[fan, 3] = one, triangle, last - one, 0
            triangle += last - one
            fan += 1
