"""Arcs of a graph that come and go, on the device: by tail, by head, and in spare slots at the end."""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from relaxometer.core.errors import UserError
from relaxometer.device.arrays import DeviceArray
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems.dominators._predecessors import arc_tails

Keys = npt.NDArray[np.uint64]  # arcs as ``tail << 32 | head``: they sort by tail, then head
HALF = np.uint64(32)
LOW = np.uint64(2**32 - 1)
LEAST_SPARE = 1024
SPARE_SHARE = 64
"""New arcs fill spare slots: one for every 64 arcs, but at least 1,024. Then all arcs are laid out again."""

THREADS = 256


class ChangingArcs:
    """The arcs of a graph, which stays as it is, and their changes. Parallel arcs count once.

    The host knows the slot of every arc, so a change never waits for the device. A removed arc leaves a loop
    in its slot, which no search and no round follows anywhere; the arc returns to the same slot. Arcs that
    the layout has no slot for take spare ones.
    """

    by_tail: tuple[Any, Any]  # offsets, int64, and heads, uint32, without the arcs in spare slots
    n_by_head: int  # slots by head, before the spare ones
    into_offsets: Any  # places of the arcs into each vertex, int64
    tails: DeviceArray  # of all arcs, by head, then those in spare slots; uint32
    heads: DeviceArray  # of these
    _keys: Keys
    _spare: Keys
    _held: npt.NDArray[np.bool_]
    _changed: bool

    def __init__(self, graph: ResidentGraph) -> None:
        self._device, self._n = graph.device, graph.n_vertices
        self._module = self._device.module(Path(__file__).with_name("_changing_arcs.cu"))
        self._set_arcs = self._module.get_function("set_arcs")
        xp = self._device.xp
        keys = xp.unique(keys_of(arc_tails(graph), graph.targets))
        self._original: Keys = self._device.asnumpy(keys)
        self._lay_out(self._original)

    @property
    def n_spare(self) -> int:
        """Number of spare slots in use."""
        return len(self._spare)

    @property
    def n_slots(self) -> int:
        """Number of slots, whether in use or not."""
        return len(self.tails)

    @property
    def all(self) -> tuple[Any, Any]:
        """Tails and heads of all arcs, with loops for the removed ones."""
        used = self.n_by_head + self.n_spare
        return self.tails[:used], self.heads[:used]

    def restart(self) -> None:
        """Return to the initial graph."""
        if self._changed:
            self._lay_out(self._original)

    def difference(self, added: Keys, removed: Keys) -> tuple[Keys, Keys]:
        """Return which arcs go, and which come, if these, sorted and unique, are removed and then added.

        UserError if a removed arc does not exist.
        """
        _, holds = self._find(removed)
        if not holds.all():
            tail, head = divmod(int(removed[~holds][0]), 2**32)
            raise UserError(f"removed: {tail} -> {head} is not an arc of the graph")
        _, holds = self._find(added)
        return removed[~np.isin(removed, added, assume_unique=True)], added[~holds]

    def remove(self, keys: Keys) -> Any:
        """Remove arcs, which must be there; return their keys on the device."""
        return self._edit(self._find(keys)[0], keys, False)

    def add(self, keys: Keys) -> None:
        """Add arcs, which must not be there."""
        slots, _ = self._find(keys)
        without = slots < 0
        first = self.n_by_head + self.n_spare
        if first + np.count_nonzero(without) > self.n_slots:
            self._lay_out(np.union1d(self._present(), keys))
            self._changed = True
            return
        slots[without] = np.arange(first, first + np.count_nonzero(without))
        self._spare = np.concatenate([self._spare, keys[without]])
        self._edit(slots, keys, True)

    def _edit(self, slots: npt.NDArray[np.int64], keys: Keys, holds: bool) -> Any:
        """Write or remove arcs in their slots; return their keys on the device."""
        self._changed = True
        self._held[slots] = holds
        edits = self._device.asarray(np.stack([slots.astype(np.uint64), keys]))
        arguments = (np.uint64(len(keys)), edits[0], edits[1], np.uint32(holds), self._slots)
        self._set_arcs(-(-len(keys) // THREADS), THREADS, arguments)
        return edits[1]

    def _find(self, keys: Keys) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
        """Return the slots of arcs, -1 for arcs without one, and whether each arc exists."""
        slots = np.full(len(keys), -1, dtype=np.int64)
        in_order = np.argsort(self._spare)
        parts = (self._keys, None, 0), (self._spare[in_order], in_order, len(self._keys))
        for known, order, first in parts:
            if len(known):
                at = np.minimum(np.searchsorted(known, keys), len(known) - 1)
                place = at if order is None else order[at]
                slots = np.where(known[at] == keys, first + place, slots)
        return slots, (slots >= 0) & self._held[slots]

    def _present(self) -> Keys:
        n = len(self._keys)
        spare = self._spare[self._held[n : n + self.n_spare]]
        return np.concatenate([self._keys[self._held[:n]], spare])

    def _lay_out(self, keys: Keys) -> None:
        """Make room for these arcs, which are sorted and unique, and for spare ones."""
        xp, m = self._device.xp, len(keys)
        n_slots = m + max(LEAST_SPARE, m // SPARE_SHARE)
        self._keys, self._spare, self._changed = keys, np.empty(0, dtype=np.uint64), True
        self._held = np.arange(n_slots + 1) < m
        on_device = self._device.asarray(keys)
        tails, heads = (on_device >> HALF).astype(np.uint32), (on_device & LOW).astype(np.uint32)
        by_head = xp.argsort(heads, kind="stable")
        place = xp.empty(m, dtype=np.uint64)
        place[by_head] = xp.arange(m, dtype=np.uint64)
        self.n_by_head = m
        self.tails, self.heads = (xp.zeros(n_slots, dtype=np.uint32) for _ in range(2))
        self.tails[:m], self.heads[:m] = tails[by_head], heads[by_head]
        self.by_tail = self._offsets(tails), heads
        self.into_offsets = self._offsets(self.heads[:m])
        into = {"into_tails": self.tails, "into_heads": self.heads}
        self._slots = self._module.struct("Slots", n_by_tail=np.uint64(m), heads=heads, place=place, **into)
        self._changed = False  # only now, as memory may be short

    def _offsets(self, ends: Any) -> Any:
        """Return where the arcs of each vertex begin among sorted ends."""
        vertices = self._device.xp.arange(self._n + 1, dtype=np.int64)
        return self._device.xp.searchsorted(ends, vertices).astype(np.int64)


def keys_of(tails: DeviceArray, heads: DeviceArray) -> Any:
    """Pack arcs into uint64 that sort by tail, then head."""
    return (tails.astype(np.uint64) << HALF) | heads.astype(np.uint64)
