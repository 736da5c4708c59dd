"""The arcs of a hierarchy on the device, in the order of the search; see ``_placed.cu``."""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from relaxometer.device import Device
from relaxometer.problems.sssp._cooperative import threads_per_block
from relaxometer.problems.sssp.phast._cch import Contraction
from relaxometer.problems.sssp.phast._hierarchy import PLACE_BIT, Hierarchy
from relaxometer.problems.sssp.phast._slices import WARP
from relaxometer.problems.variants import Skipped

SOURCE = Path(__file__).with_name("_placed.cu")
MAX_BLOCKS = 1 << 16  # of a launch
MAX_WORDS = 2**32 - 1  # that 32 bits number, without the word that stands for none


class Ranks(NamedTuple):
    """A contracted graph on the device; arrays are uint32."""

    order: Any  # the vertex of each rank
    offsets: Any  # of the arcs of each rank
    up: Any  # its higher neighbours


class Placed(NamedTuple):
    """A hierarchy on the device, by position. Weights of arcs are `UNREACHED`; arrays are uint32."""

    order: Any  # the graph's vertex
    depth: Any  # number of ancestors
    parent: Any  # position of the parent, or its own
    up_offsets: Any  # of the upward arcs
    up_arcs: Any  # depth of the head, and weight; shape (n_arcs, 2)
    inside: Any  # arcs in slices: tail, numbered in its task, and weight; shape (n_places, 2)
    outside: Any  # the same from earlier stages, with positions of tails
    up_place: Any  # of each arc, by rank: the word of `up_arcs` for its upward length
    down_place: Any  # and that of `inside` followed by `outside` for its downward length


def upload(device: Device, cch: Contraction) -> Ranks:
    """Copy a contracted graph to the device."""
    offsets = cch.offsets.astype(np.uint32)
    return Ranks(*device.asarrays(cch.order.view(np.uint32), offsets, cch.up.view(np.uint32)))


def place(device: Device, graph: Ranks, hierarchy: Hierarchy) -> Placed:
    """List the arcs of a hierarchy; Skipped if 32 bits do not number the words that they take."""
    cuts = hierarchy.rows, hierarchy.chains, hierarchy.outside
    sizes = [cut.n_places for cut in cuts]
    if 2 * sum(sizes) > MAX_WORDS:
        raise Skipped(f"made for maps; arcs would take {2 * sum(sizes)} words")
    xp, n, n_arcs = device.xp, len(graph.order), len(graph.up)
    names = "places", "first_inside", "first_outside", "depth"
    places, first_inside, first_outside, depth = (getattr(hierarchy, name) for name in names)
    ranks, places, first_inside, first_outside, depth, members, *slices = device.asarrays(
        *(hierarchy.ranks.view(np.uint32), places, first_inside, first_outside, depth),
        *(hierarchy.members.view(np.uint32), *(cut.table for cut in cuts)),
        *(cut.first.astype(np.uint32) for cut in cuts),
    )
    position, parent, up_offsets = (xp.empty(size, dtype=np.uint32) for size in (n, n, n + 1))
    position[ranks] = xp.arange(n, dtype=np.uint32)
    up_offsets[0] = 0
    up_offsets[1:] = xp.cumsum(xp.diff(graph.offsets)[ranks])
    up_arcs, inner, outer = (xp.empty((k, 2), dtype=np.uint32) for k in (n_arcs, sum(sizes[:2]), sizes[2]))
    up_place, down_place = (xp.empty(n_arcs, dtype=np.uint32) for _ in range(2))

    module, threads = device.module(SOURCE), threads_per_block(device, 256)

    def launch(kernel: str, n_threads: int, *arguments: Any) -> None:
        module.get_function(kernel)(blocks(n_threads, threads), threads, arguments)

    upward = graph.offsets, graph.up, position, depth, up_offsets, parent, up_arcs, up_place
    launch("list_upward", n, np.uint32(n), ranks, *upward)
    in_rows = ranks, first_inside, first_outside, graph.up, places, np.uint32((1 << PLACE_BIT) - 1)
    in_chains = members, graph.offsets, first_inside, graph.up, places, np.uint32(PLACE_BIT)
    others = ranks, first_outside, graph.offsets[1:], graph.up, position, np.uint32(MAX_WORDS)
    parts = (
        ("list_rows", in_rows, inner[: sizes[0]]),
        ("list_chains", in_chains, inner[sizes[0] :]),
        ("list_rows", others, outer),
    )
    word = 0
    for (kernel, given, arcs), table, first in zip(parts, slices[:3], slices[3:], strict=True):
        listed = np.uint32(len(table)), table, first, *given, np.uint32(word), arcs, down_place
        launch(kernel, WARP * len(table), *listed)
        word += arcs.size
    by_position = graph.order[ranks], depth[ranks], parent, up_offsets
    return Placed(*by_position, up_arcs, inner, outer, up_place, down_place)


def blocks(n_threads: int, per_block: int) -> int:
    """Return the blocks of a launch whose threads stride over the remaining items."""
    return max(1, min(-(-n_threads // per_block), MAX_BLOCKS))
