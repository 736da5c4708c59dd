"""Graph500's Kronecker graphs: every rank generates a share of the edges and keeps its block."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from relaxometer.datasets.formats.generated import Graph500Parameters
from relaxometer.datasets.generators import graph500, graph500_device
from relaxometer.distributed.build import PIECE, Arcs, build_block
from relaxometer.distributed.comm import Ranks
from relaxometer.distributed.partition import Block, Layout

BATCH = 1 << 22  # edges generated and sent at a time, which bounds memory
DRAWS = 4  # candidates drawn at a time per search key; about half of the vertices have no edges


def kronecker_block(
    ranks: Ranks,
    scheme: str,
    parameters: Graph500Parameters,
    *,
    weighted: bool,
    batch: int = BATCH,
    piece: int = PIECE,
) -> Block:
    """Make a rank's block of `graph500.kronecker_graph`, with its ``search_keys`` in the metadata."""
    p = parameters
    layout = Layout(scheme, ranks.size, 1 << p.scale)
    if ranks.device.kind == "host":
        with ranks.first_on_host():
            graph500.kronecker_edges(1, 0, 1)
    n_edges = p.edge_factor << p.scale
    metadata = {
        "generator": "relaxometer.distributed.graph500",
        "directed": False,
        "input_edges": n_edges,
        "scale": p.scale,
        "edge_factor": p.edge_factor,
        "user_seeds": list(p.user_seeds),
    }
    block = build_block(
        f"kron-g500-s{p.scale}",
        ranks,
        layout,
        partial(_batches, ranks, p, n_edges, batch, weighted),
        simple=not p.keep_parallel,
        metadata=metadata,
        count_ends=True,
        piece=piece,
    )
    metadata["search_keys"] = search_keys(ranks, block, p)
    return block


def _batches(ranks: Ranks, p: Graph500Parameters, n_edges: int, batch: int, weighted: bool) -> Iterator[Arcs]:
    """Yield both arcs of each edge of this rank's share, in as many batches on every rank."""
    share = -(-n_edges // ranks.size)
    begin, end = min(ranks.rank * share, n_edges), min((ranks.rank + 1) * share, n_edges)
    for start in range(0, share, batch):
        first = min(begin + start, end)
        stop = min(first + batch, end)
        tails, heads, weights = _edges(ranks, p, first, stop, weighted)
        xp = ranks.device.xp
        yield Arcs(
            xp.concatenate([tails, heads]),
            xp.concatenate([heads, tails]),
            None if weights is None else xp.concatenate([weights, weights]),
        )


def _edges(ranks: Ranks, p: Graph500Parameters, first: int, stop: int, weighted: bool) -> tuple[Any, ...]:
    device = ranks.device
    if device.kind == "cuda":
        tails, heads, floats = graph500_device.kronecker_edges(
            device, p.scale, first, stop, user_seeds=p.user_seeds
        )
    else:
        edges = graph500.kronecker_edges(p.scale, first, stop, user_seeds=p.user_seeds)
        tails, heads, floats = edges.tails, edges.heads, edges.weights
    if not weighted:
        return tails, heads, None
    low, high = p.weight_range
    xp = device.xp
    steps = xp.floor(floats.astype(np.float64) * (high - low + 1)).astype(np.int64)
    return tails, heads, (low + xp.minimum(steps, high - low)).astype(np.uint32)


def search_keys(ranks: Ranks, block: Block, parameters: Graph500Parameters) -> list[int]:
    """Sample the same sources as the generator's `search_keys`."""
    n_vertices, count = block.n_vertices, graph500.N_SEARCH_KEYS
    numbers = graph500.root_stream(parameters.user_seeds)
    keys: dict[int, None] = {}
    for start in range(0, n_vertices, DRAWS * count):
        size = min(DRAWS * count, n_vertices - start)
        drawn = [int((next(numbers) + next(numbers)) * n_vertices) % n_vertices for _ in range(size)]
        for key, degree in zip(drawn, degrees_of(ranks, block, drawn), strict=True):
            if degree:
                keys[key] = None
            if len(keys) == count:
                return list(keys)
    return list(keys)


def degrees_of(ranks: Ranks, block: Block, vertices: list[int]) -> list[int]:
    """Return the degrees of any vertices, on every rank."""
    device = block.device
    local = device.asnumpy(block.owned.local(device.asarray(np.array(vertices, dtype=np.int64))))
    degrees = device.asnumpy(block.degrees[device.asarray(np.maximum(local, 0))]).astype(np.int64)
    return ranks.reduce(np.where(local < 0, 0, degrees).tolist())
