"""A tree that reaches what the root reaches, grown on the device from a forest of smallest predecessors."""

from functools import cached_property, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from relaxometer.device import Device
from relaxometer.device.arrays import DeviceArray
from relaxometer.graphs.graph import UNREACHED

THREADS = 512  # threads per block, as in the launch bounds
MOST_TOPS = 1 / 64
"""Maximum share of vertices without a smaller predecessor for which a forest gives the first tree."""

LONG_CHAIN = 65536  # rounds on a tree with longer chains have tables of ancestors


class Tree(NamedTuple):
    """A tree that reaches what the root reaches; its arrays are those of :class:`BreadthFirst`."""

    number: Any
    order: DeviceArray
    parent: Any
    reached: Any
    longest_chain: Any
    depth: int  # how many vertices are on the longest chain


class Forest:
    """Trees of a graph whose order is close to one in which every vertex has a smaller predecessor.

    `tails` and `heads` are the ends of every arc; `tops` counts vertices but 0 without a smaller predecessor.
    """

    def __init__(self, device: Device, n_vertices: int, tails: DeviceArray, heads: DeviceArray) -> None:
        self._device = device
        xp, n, n_arcs = device.xp, n_vertices, len(tails)
        module = device.module(Path(__file__).with_name("_forest.cu"), cooperative=True)
        self._kernel = module.get_function("grow_tree")
        wanted = max(1, -(-max(n, n_arcs) // THREADS))
        self._blocks = min(device.max_cooperative_blocks(self._kernel, THREADS), wanted)
        lowest = xp.full(n, UNREACHED, dtype=np.uint32)
        arcs = np.uint64(n_arcs), tails, heads
        module.get_function("lowest_predecessors")(self._blocks, THREADS, (*arcs, lowest))
        self._vertices = xp.arange(n, dtype=np.uint32)
        self.tops = int((lowest[1:] >= self._vertices[1:]).sum())
        self._parent, top = (xp.empty(n, dtype=np.uint32) for _ in range(2))
        self._module, self._lowest, self._arcs = module, lowest, arcs
        self._struct = partial(
            module.struct,
            "Forest",
            n=np.uint32(n),
            n_arcs=np.uint64(n_arcs),
            tails=tails,
            heads=heads,
            parent=self._parent,
            top=top,
            paths=xp.empty(n, dtype=np.uint64),
            unfinished=xp.empty(6, dtype=np.uint32),
        )
        self._forest = self._struct(lowest=lowest)
        self._depth = xp.empty(n, dtype=np.uint32)

    @property
    def serves(self) -> bool:
        """Whether few vertices are tops, so that a tree takes few rounds."""
        return self.tops <= MOST_TOPS * len(self._vertices)

    def tree_of(self, root: int) -> Tree:
        """Find a tree from `root` and number its vertices by depth."""
        return self._numbered(*self._grow(root))

    @cached_property
    def _only(self) -> DeviceArray:
        """The only predecessor of each vertex, or the vertex itself."""
        highest = self._device.xp.zeros(len(self._vertices), dtype=np.uint32)
        kernel = self._module.get_function("highest_predecessors")
        kernel(self._blocks, THREADS, (*self._arcs, highest))
        only: DeviceArray = self._device.xp.where(self._lowest == highest, highest, self._vertices)
        return only

    def extended(self, root: int, begun: Tree) -> Tree | None:
        """Go on with a tree from `root`, and number by depth; None if many left have several predecessors."""
        xp = self._device.xp
        left = begun.number == UNREACHED
        tops = int((left & (self._only == self._vertices)).sum())
        if tops > MOST_TOPS * int(left.sum()):
            return None
        extent = xp.zeros(2, dtype=np.uint32)
        kernel = self._module.get_function("extend_tree")
        blocks = min(self._blocks, self._device.max_cooperative_blocks(kernel, THREADS))
        found = begun.number, begun.order, begun.parent
        forest = self._struct(lowest=self._only)
        kernel(blocks, THREADS, (forest, np.uint32(root), *found, self._depth, extent))
        return self._numbered(extent, *self._device.asnumpy(extent).tolist())

    def _numbered(self, extent: Any, reached: int, depth: int) -> Tree:
        """Return the tree that was found, its vertices numbered by depth."""
        # Vertices that are not reached have the largest depth and come last.
        order = self._device.xp.argsort(self._depth).astype(np.uint32)
        number = self._device.xp.full(len(order), UNREACHED, dtype=np.uint32)
        number[order[:reached]] = self._vertices[:reached]
        return Tree(number, order, number[self._parent[order]], extent[:1], extent[1:], depth)

    def tree_in_order(self) -> Tree:
        """Find a tree from vertex 0 in the order of the input; no vertex may be a top."""
        extent, _, depth = self._grow(0)
        return Tree(self._vertices, self._vertices, self._parent.copy(), extent[:1], extent[1:], depth)

    def _grow(self, root: int) -> tuple[Any, int, int]:
        """Find parents and depths by vertex; return how many are reached, and on the longest chain."""
        extent = self._device.xp.zeros(2, dtype=np.uint32)
        self._kernel(self._blocks, THREADS, (self._forest, np.uint32(root), self._depth, extent))
        reached, depth = self._device.asnumpy(extent).tolist()
        return extent, reached, depth
