"""Builds blocks: every rank brings some arcs and keeps those of its own block."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from relaxometer.device import Device
from relaxometer.distributed.comm import Ranks
from relaxometer.distributed.levels import over
from relaxometer.distributed.partition import Block, Layout, Numbering, Rows

PIECE = 1 << 25  # arcs sorted at a time, which bounds memory


@dataclass(frozen=True, eq=False)
class Arcs:
    """Some arcs of a graph, in any order, self-loops included: device arrays of shape (n_arcs,), uint32."""

    tails: Any
    heads: Any
    weights: Any = None


class Counter:
    """Counts the arcs of rows and places them: a CSR matrix from batches of arcs, each brought twice.

    It needs no more memory than the matrix: the offsets count first, and then say where rows end so far. A
    row is counted two entries behind its offset, so that its sum is where it begins, one entry behind.
    """

    def __init__(self, ranks: Ranks, n_rows: int) -> None:
        self._device, module = ranks.device, ranks.module(Path(__file__).with_name("build.cu"))
        names = "count_arcs", "place_arcs", "place_packed"
        self._count, self._place, self._place_packed = (module.get_function(name) for name in names)
        self._ends = ranks.device.xp.zeros(n_rows + 2, dtype=np.uint64)

    @property
    def counts(self) -> Any:
        """Arcs counted of each row, uint64."""
        return self._ends[2:]

    def count(self, rows: Any) -> None:
        """Count a batch of arcs."""
        size = len(rows)
        self._count(*over(self._device, size), (np.uint64(size), rows, self.counts))

    def begins(self) -> Any:
        """Return the offsets of the arcs counted, int64; nothing is counted afterwards."""
        self._device.xp.cumsum(self._ends, out=self._ends)
        return self._ends[1:].view(np.int64)

    def allocate(self, *, weighted: bool) -> None:
        """Allocate the targets of all arcs counted and, if `weighted`, their weights."""
        n_arcs, empty = int(self._device.item(self.begins(), -1)), self._device.xp.empty
        targets = empty(n_arcs, dtype=np.uint32)
        self._arrays = targets, empty(n_arcs, dtype=np.uint32) if weighted else None

    def place(self, rows: Any, targets: Any, weights: Any = None) -> None:
        """Place a batch of arcs."""
        size = len(rows)
        arcs = np.uint64(size), rows, targets, weights
        self._place(*over(self._device, size), (*arcs, self._ends[1:], *self._arrays))

    def placed(self, batches: Iterable[tuple[Any, Any]]) -> tuple[Any, Any]:
        """Return the offsets, and arcs of 64 bits placed from batches of their rows and themselves."""
        arcs = self._device.xp.empty(int(self._device.item(self.begins(), -1)), dtype=np.uint64)
        for rows, batch in batches:
            size = len(rows)
            launch = over(self._device, size)
            self._place_packed(*launch, (np.uint64(size), rows, batch, self._ends[1:], arcs))
        return self._ends[:-1].view(np.int64), arcs

    def rows(self, n_targets: int, *, merge: bool, piece: int) -> Rows:
        """Return the rows, sorted about `piece` arcs at a time; see `_sorted`."""
        offsets = self._ends[:-1].view(np.int64)
        return _sorted(self._device, Rows(offsets, *self._arrays), n_targets, merge, piece)


def build_block(
    name: str,
    ranks: Ranks,
    layout: Layout,
    batches: Callable[[], Iterable[Arcs]],
    *,
    simple: bool,
    metadata: dict[str, Any],
    count_ends: bool = False,
    piece: int = PIECE,
) -> Block:
    """Send arcs to the ranks of their blocks, and make CSR arrays of those received.

    Every rank brings the same number of batches, sends each before it takes the next, and brings all twice.
    `simple` drops self-loops and merges parallel arcs to the lightest; `count_ends` counts the heads of arcs
    as `ends`, before any are dropped. `piece` arcs are sorted at a time.
    """
    xp, place = ranks.device.xp, layout.place(ranks.rank)
    heads, tails, owned = (
        Numbering(layout, pieces, xp) for pieces in (place.heads, place.tails, place.owned)
    )
    arriving = partial(_arriving, ranks, layout, tails, heads)
    csr, ends, weighted = Counter(ranks, tails.size), Counter(ranks, heads.size * count_ends), False
    for arcs, stay in arriving(batches()):
        if count_ends:
            ends.count(arcs.heads)
        csr.count(arcs.tails[stay] if simple else arcs.tails)
        weighted = arcs.weights is not None
    of_heads = ends.counts.astype(np.uint32) if count_ends else None
    del ends
    csr.allocate(weighted=weighted)
    for arcs, stay in arriving(batches()):
        columns = vars(arcs).values()
        csr.place(*(c[stay] if simple and c is not None else c for c in columns))
    ranks.memory.release("building")
    out = csr.rows(heads.size, merge=simple, piece=piece)
    if metadata.get("directed") is False and place.heads == place.tails:
        into = Rows(out.offsets, out.targets)
    else:
        into = _reversed(ranks, out, heads.size, piece, only_counted=weighted)
    degrees = owned_degrees(ranks, layout, out.offsets)
    n_arcs = ranks.reduce([len(out.targets)])[0]
    parts = heads, tails, owned, into, out, degrees, int(n_arcs), of_heads
    return Block(name, layout, ranks.device, *parts, metadata)


def _arriving(
    ranks: Ranks, layout: Layout, tails: Numbering, heads: Numbering, batches: Iterable[Arcs]
) -> Iterator[tuple[Arcs, Any]]:
    """Yield the arcs of batches that are in this rank's block, in local numbers, and which have two ends."""
    for batch in batches:
        arcs = _routed(ranks, layout, batch)
        there, here = tails.local(arcs.tails), heads.local(arcs.heads)
        local = Arcs(there.astype(np.uint32), here.astype(np.uint32), arcs.weights)
        yield local, arcs.tails != arcs.heads


def _routed(ranks: Ranks, layout: Layout, batch: Arcs) -> Arcs:
    """Send the arcs of a batch to the ranks of their blocks; return those received."""
    if ranks.size == 1:
        return batch
    xp = ranks.device.xp
    to = layout.rank_of_arcs(batch.tails, batch.heads).astype(np.uint16)
    order = xp.argsort(to, kind="stable") if xp is np else xp.argsort(to)
    bounds = ranks.device.asnumpy(xp.cumsum(xp.bincount(to, minlength=ranks.size)))[:-1].tolist()
    columns: list[Any] = []
    for column in (batch.tails, batch.heads, batch.weights):
        if column is None:
            columns.append(None)
            continue
        parts = [xp.ascontiguousarray(part) for part in xp.split(column[order], bounds)]
        columns.append(xp.concatenate(ranks.exchange_sized(parts, np.uint32)))
    return Arcs(*columns)


def _sorted(device: Device, rows: Rows, n_targets: int, merge: bool, piece: int) -> Rows:
    """Sort arcs by row, target and weight, in place; with `merge`, keep the first of each row and target."""
    xp, bits = device.xp, max(n_targets - 1, 1).bit_length()
    offsets, targets, weights = rows.offsets, rows.targets, rows.weights
    kept = 0
    for (first, begin), (last, end) in pairwise(cuts(device, rows, piece)):
        keys = rows.row_of_arcs(xp, begin, end).astype(np.uint64)
        keys -= np.uint64(first)
        keys <<= np.uint64(bits)
        keys |= targets[begin:end]
        key_bits = bits + (last - first - 1).bit_length()
        keys, loads = _in_order(xp, keys, None if weights is None else weights[begin:end], key_bits)
        if merge and len(keys):
            is_first = xp.ones(len(keys), dtype=bool)
            is_first[1:] = keys[1:] != keys[:-1]
            keys, loads = keys[is_first], None if loads is None else loads[is_first]
        offsets[first:last] = xp.searchsorted(
            keys, xp.arange(last - first, dtype=np.uint64) << np.uint64(bits)
        )
        offsets[first:last] += kept
        stop = kept + len(keys)
        targets[kept:stop] = keys & _low(bits)
        if weights is not None:
            weights[kept:stop] = loads
        kept = stop
    offsets[-1] = kept
    return Rows(offsets, targets[:kept], None if weights is None else weights[:kept])


def cuts(device: Device, rows: Rows, piece: int) -> list[tuple[int, int]]:
    """Cut rows where they reach another `piece` arcs; return row and arc of each cut, both ends included."""
    xp, n_arcs = device.xp, len(rows.targets)
    arcs = xp.arange(piece, n_arcs, piece, dtype=np.int64)
    inner = device.asnumpy(xp.searchsorted(rows.offsets, arcs, side="right") - 1)
    cut = np.unique(np.array([0, *inner, len(rows.offsets) - 1], dtype=np.int64))
    return list(zip(cut.tolist(), device.asnumpy(rows.offsets[device.asarray(cut)]).tolist(), strict=True))


def _in_order(xp: Any, keys: Any, weights: Any, key_bits: int) -> tuple[Any, Any]:
    """Sort keys, and the weights of equal ones."""
    weight_bits = int(weights.max()).bit_length() if weights is not None and len(weights) else 0
    if key_bits + weight_bits > 64:
        order = xp.lexsort(xp.stack([weights.astype(np.uint64), keys]))
        return keys[order], weights[order]
    if weights is not None:
        keys <<= np.uint64(weight_bits)
        keys |= weights
    keys.sort()
    if weights is not None:
        weights = (keys & _low(weight_bits)).astype(np.uint32)
        keys >>= np.uint64(weight_bits)
    return keys, weights


def _low(bits: int) -> np.uint64:
    return np.uint64((1 << bits) - 1)


def _reversed(ranks: Ranks, out: Rows, n_rows: int, piece: int, *, only_counted: bool) -> Rows:
    """Return the rows of the reversed arcs, or only their offsets."""
    csr, n_arcs = Counter(ranks, n_rows), len(out.targets)
    for begin in range(0, n_arcs, piece):
        csr.count(out.targets[begin : begin + piece])
    if only_counted:
        return Rows(csr.begins(), None)
    csr.allocate(weighted=False)
    for begin in range(0, n_arcs, piece):
        end = min(begin + piece, n_arcs)
        csr.place(out.targets[begin:end], out.row_of_arcs(ranks.device.xp, begin, end))
    return csr.rows(len(out.offsets) - 1, merge=False, piece=piece)


def owned_degrees(ranks: Ranks, layout: Layout, offsets: Any) -> Any:
    """Return the degrees of the owned vertices, uint32, given the offsets of each rank's tails."""
    xp, place, size = ranks.device.xp, layout.place(ranks.rank), layout.piece
    parts = [
        xp.diff(offsets[k * size : (k + 1) * size + 1]).astype(np.uint32) for k in range(len(place.tails))
    ]
    sends = [(layout.owner(piece), part) for piece, part in zip(place.tails, parts, strict=True)]
    sums = xp.zeros((len(place.owned), size), dtype=np.uint32)
    receives = []
    for k, piece in enumerate(place.owned):
        for rank in range(layout.n_ranks):
            if piece in layout.place(rank).tails:
                receives.append((rank, k, xp.empty(size, dtype=np.uint32)))
    ranks.exchange(sends, [(rank, part) for rank, _, part in receives])
    for _, k, part in receives:
        sums[k] += part
    return sums.reshape(-1)
