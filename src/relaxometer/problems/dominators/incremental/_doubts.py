"""Vertices whose dominators removed arcs put in doubt: which they are, and the arcs that may move them."""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from relaxometer.device import Device
from relaxometer.device.arrays import DeviceArray
from relaxometer.device.kernels import Kernel
from relaxometer.graphs.graph import UNREACHED
from relaxometer.problems.dominators.incremental._changing_arcs import ChangingArcs

THREADS = 256
CAPACITIES = 4096, 2048, 1024
"""Vertices around a removed arc among which detours are sought: the most that fit into shared memory."""

MAX_LOST = 2**16  # if unreached vertices lose more arcs than this, an update solves from scratch


class Known(NamedTuple):
    """The tree of a search and dominators, as device arrays of shape (n_vertices,), uint32."""

    number: Any  # by vertex; `UNREACHED` if it is not reached
    order: DeviceArray  # the vertex by number
    parent: Any  # the number of its parent in the tree of the search
    idom: DeviceArray  # that of its immediate dominator


class Doubts:
    """Doubts about the dominators of a graph with `n_vertices`."""

    def __init__(self, device: Device, n_vertices: int) -> None:
        self._device, xp = device, device.xp
        detours = device.module(Path(__file__).with_name("_detours.cu"), cooperative=True)
        self._find_detours = detours.get_function("find_detours")
        steps = device.module(Path(__file__).with_name("_doubts.cu"), cooperative=True)
        self._mark_below = steps.get_function("mark_below")
        self._leave_tree = steps.get_function("leave_tree")
        self._enter_by_spare = steps.get_function("enter_by_spare")
        self._list_arcs = steps.get_function("list_arcs")
        self._blocks = min(self._most_blocks(self._mark_below), -(-n_vertices // THREADS))
        self._list_blocks = self._most_blocks(self._list_arcs)
        self._capacity = next(
            size for size in CAPACITIES if self._most_blocks(self._find_detours, _bytes_for(size))
        )
        self._shared_bytes = _bytes_for(self._capacity)
        self._detour_blocks = self._most_blocks(self._find_detours, self._shared_bytes)
        self._doubt, self._stays = (xp.empty(n_vertices, dtype=np.uint32) for _ in range(2))
        self._words = xp.empty(n_vertices, dtype=np.uint64)
        self._votes = xp.empty(4, dtype=np.uint32)
        self._tails, self._heads = (xp.empty(0, dtype=np.uint32) for _ in range(2))
        self._lost = xp.empty(MAX_LOST, dtype=np.uint64)
        self._counts = xp.empty(2, dtype=np.uint64)

    @property
    def no_arcs(self) -> tuple[Any, Any]:
        """Tails and heads of no arcs."""
        return self._tails[:0], self._heads[:0]

    def clear(self) -> None:
        """Forget all doubts."""
        self._doubt.fill(0)

    def add(self, gone: Any, arcs: ChangingArcs, before: Known, number: Any, reached: int) -> int:
        """Add what the keys of `gone` arcs put in doubt; return the number of vertices in doubt.

        `arcs` are those that are there, and `before` the tree and the dominators with the gone ones, of
        `reached` vertices. `number` is `UNREACHED` for vertices that no detour passes.
        """
        tree, into = before._asdict(), {"offsets": arcs.into_offsets, "tails": arcs.tails, "number": number}
        sees_all, capacity = np.uint32(arcs.n_spare == 0), np.uint32(self._capacity)
        arguments = (np.uint32(len(gone)), gone, into, tree, sees_all, capacity, self._doubt)
        blocks = min(self._detour_blocks, len(gone))
        self._find_detours(blocks, THREADS, arguments, shared_mem=self._shared_bytes)
        self._votes.fill(0)
        outputs = self._words, self._votes[:3], self._stays, self._votes[3:]
        self._mark_below(self._blocks, THREADS, (np.uint32(reached), tree, self._doubt, *outputs))
        return int(self._device.item(self._votes, 3))

    def leave_tree(self, before: Known, after: Known, reached: int) -> None:
        """Reduce a tree of `reached` vertices to those not in doubt, in their old order."""
        up_to = self._device.xp.cumsum(self._stays[:reached], dtype=np.uint32)
        after.number.fill(UNREACHED)
        arguments = (np.uint32(reached), before._asdict(), self._stays, up_to, after._asdict())
        self._leave_tree(self._blocks, THREADS, arguments)

    def enter_by_spare(self, arcs: ChangingArcs, tree: Known, reached: Any) -> bool:
        """Give numbers to unreached heads of arcs in spare slots; return whether there are any."""
        first, end = arcs.n_by_head, arcs.n_by_head + arcs.n_spare
        ends = np.uint32(arcs.n_spare), arcs.tails[first:end], arcs.heads[first:end]
        self._enter_by_spare(1, THREADS, (*ends, tree._asdict(), reached, self._votes))
        return bool(self._device.item(self._votes))

    def list_arcs(self, arcs: ChangingArcs, begin: int, before: Known, number: Any) -> tuple[Any, Any]:
        """List tails and heads of the arcs into the vertices that were reached again, and lost arcs.

        `begin` is the smallest number of a vertex that was reached again, and `number` has the numbers now.
        Lost are the keys of arcs from vertices that became unreachable to reachable ones, except where the
        head dominated the tail nearby; None if there are more than `MAX_LOST`.
        """
        if len(self._tails) < arcs.n_slots:
            xp = self._device.xp
            self._tails, self._heads = (xp.empty(arcs.n_slots, dtype=np.uint32) for _ in range(2))
        tails, heads = arcs.all
        self._counts.fill(0)
        lists = {"tails": self._tails, "heads": self._heads, "lost": self._lost, "counts": self._counts}
        lists["max_lost"] = np.uint64(len(self._lost))
        arguments = (np.uint64(len(tails)), tails, heads, np.uint32(begin), before._asdict(), number, lists)
        blocks = max(1, min(self._list_blocks, -(-len(tails) // THREADS)))
        self._list_arcs(blocks, THREADS, arguments)
        n_into, n_lost = self._device.asnumpy(self._counts).tolist()
        lost = self._lost[:n_lost] if n_lost <= len(self._lost) else None
        return (self._tails[:n_into], self._heads[:n_into]), lost

    def _most_blocks(self, kernel: Kernel, shared_bytes: int = 0) -> int:
        return self._device.max_cooperative_blocks(kernel, THREADS, shared_bytes)


def _bytes_for(capacity: int) -> int:
    """Return the shared memory in which a block finds detours, as in the kernel."""
    return 4 * (5 * capacity + 1)
