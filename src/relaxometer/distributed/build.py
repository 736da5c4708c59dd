"""Builds blocks: every rank brings some arcs and keeps those of its own block."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from relaxometer.distributed.comm import Ranks
from relaxometer.distributed.partition import Block, Layout, Numbering, Rows


@dataclass(frozen=True, eq=False)
class Arcs:
    """Some arcs of a graph, in any order, self-loops included: device arrays of shape (n_arcs,), uint32."""

    tails: Any
    heads: Any
    weights: Any = None


def build_block(
    name: str,
    ranks: Ranks,
    layout: Layout,
    batches: Iterable[Arcs],
    *,
    simple: bool,
    metadata: dict[str, Any],
    count_ends: bool = False,
) -> Block:
    """Send arcs to the ranks of their blocks, and make CSR arrays of those received.

    Every rank brings the same number of batches and sends each before it takes the next. `simple` drops
    self-loops and merges parallel arcs to the lightest; `count_ends` counts the heads of arcs as `ends`,
    before any are dropped.
    """
    xp, place = ranks.device.xp, layout.place(ranks.rank)
    heads, tails, owned = (
        Numbering(layout, pieces, xp) for pieces in (place.heads, place.tails, place.owned)
    )
    ends = xp.zeros(heads.size, dtype=np.uint32) if count_ends else None
    collected: list[Arcs] = []
    for batch in batches:
        arcs = _routed(ranks, layout, batch)
        there, here = tails.local(arcs.tails), heads.local(arcs.heads)
        if ends is not None:
            ends += xp.bincount(here, minlength=heads.size).astype(np.uint32)
        weights = arcs.weights
        if simple:
            stay = arcs.tails != arcs.heads
            there, here = there[stay], here[stay]
            weights = None if weights is None else weights[stay]
        collected.append(Arcs(there.astype(np.uint32), here.astype(np.uint32), weights))
    arcs = _joined(xp, collected)
    del collected
    out = _rows(xp, arcs.tails, arcs.heads, arcs.weights, tails.size, heads.size, merge=simple)
    into = _reversed(xp, out, tails.size, heads.size, metadata.get("directed") is False and layout.is_paired)
    degrees = owned_degrees(ranks, layout, xp.diff(out.offsets).astype(np.uint32))
    n_arcs = ranks.reduce([len(out.targets)])[0]
    parts = heads, tails, owned, into, out, degrees, int(n_arcs), ends
    return Block(name, layout, ranks.device, *parts, metadata)


def _routed(ranks: Ranks, layout: Layout, batch: Arcs) -> Arcs:
    """Send the arcs of a batch to the ranks of their blocks; return those received."""
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


def _joined(xp: Any, batches: list[Arcs]) -> Arcs:
    tails, heads = (xp.concatenate([getattr(b, name) for b in batches]) for name in ("tails", "heads"))
    weighted = batches[0].weights is not None
    return Arcs(tails, heads, xp.concatenate([b.weights for b in batches]) if weighted else None)


def _rows(
    xp: Any, rows: Any, targets: Any, weights: Any, n_rows: int, n_targets: int, *, merge: bool
) -> Rows:
    """Sort arcs by row, target and weight; with `merge`, keep the first of each row and target."""
    target_bits = max(n_targets - 1, 1).bit_length()
    weight_bits = int(weights.max()).bit_length() if weights is not None and len(weights) else 0
    keys = rows.astype(np.uint64) << np.uint64(target_bits) | targets.astype(np.uint64)
    if (max(n_rows - 1, 1)).bit_length() + target_bits + weight_bits <= 64:
        if weights is not None:
            keys = keys << np.uint64(weight_bits) | weights.astype(np.uint64)
        keys.sort()
        if weights is not None:
            weights = (keys & _low(weight_bits)).astype(np.uint32)
            keys >>= np.uint64(weight_bits)
    else:
        order = xp.lexsort(xp.stack([weights.astype(np.uint64), keys]))
        keys, weights = keys[order], weights[order]
    if merge and len(keys):
        first = xp.ones(len(keys), dtype=bool)
        first[1:] = keys[1:] != keys[:-1]
        keys, weights = keys[first], None if weights is None else weights[first]
    starts = xp.arange(n_rows + 1, dtype=np.uint64) << np.uint64(target_bits)
    offsets = xp.searchsorted(keys, starts).astype(np.int64)
    return Rows(offsets, (keys & _low(target_bits)).astype(np.uint32), weights)


def _low(bits: int) -> np.uint64:
    return np.uint64((1 << bits) - 1)


def _reversed(xp: Any, out: Rows, n_rows: int, n_targets: int, symmetric: bool) -> Rows:
    if symmetric:
        return Rows(out.offsets, out.targets)
    return _rows(xp, out.targets, out.row_of_arcs(xp), None, n_targets, n_rows, merge=False)


def owned_degrees(ranks: Ranks, layout: Layout, partial: Any) -> Any:
    """Return the degrees of the owned vertices, given those of each rank's tails within its block, uint32."""
    xp, place = ranks.device.xp, layout.place(ranks.rank)
    parts = xp.split(partial, len(place.tails))
    sends = [(layout.owner(piece), part) for piece, part in zip(place.tails, parts, strict=True)]
    sums = xp.zeros((len(place.owned), layout.piece), dtype=np.uint32)
    receives = []
    for k, piece in enumerate(place.owned):
        for rank in range(layout.n_ranks):
            if piece in layout.place(rank).tails:
                receives.append((rank, k, xp.empty(layout.piece, dtype=np.uint32)))
    ranks.exchange(sends, [(rank, part) for rank, _, part in receives])
    for _, k, part in receives:
        sums[k] += part
    return sums.reshape(-1)
