"""Push near buckets along light arcs, then pull into the few vertices that are left."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from pydantic import PositiveFloat, PositiveInt

from relaxometer.device.signature import read_source
from relaxometer.problems import variants
from relaxometer.problems.phases import Phase
from relaxometer.problems.sssp import Answer
from relaxometer.problems.sssp._cooperative import LOG_ROWS, logged_phases, threads_per_block

if TYPE_CHECKING:
    from relaxometer.graphs.resident import ResidentGraph

BLOCK = 512

MANY_ARCS = 64
"""A vertex with more arcs than this gets a whole warp."""

SOURCE = read_source(Path(__file__).with_name("push_pull.cu"))


class Parameters(variants.Parameters):
    """Parameters of `push-pull`.

    Parameters
    ----------
    delta : int or "auto"
        Width of a bucket in the graph's weight unit. "auto" is `DELTA_FACTOR` times the mean weight, divided
        by the mean degree of the vertices that have arcs.
    beta : float
        Pull once the unsettled vertices have fewer arcs than this times the arcs read in the last bucket.
    """

    delta: PositiveInt | Literal["auto"] = "auto"
    beta: PositiveFloat = 64.0


DELTA_FACTOR = 2.0


class Solver:
    """SSSP that pushes buckets along arcs sorted by weight, then pulls into the vertices that are left.

    References
    ----------
    Chakaravarthy, Checconi, Petrini and Sabharwal, "Scalable Single Source Shortest Path Algorithms for
    Massively Parallel Systems", IPDPS 2014.
    """

    runs_on = "device"

    def __init__(self, graph: ResidentGraph, parameters: Parameters) -> None:
        self._graph, device, xp = graph, graph.device, graph.device.xp
        out, into, ids, self._rank = by_degree_and_weight(graph)
        self._n = len(ids)
        given = parameters.delta
        self._delta = automatic_delta(graph, self._n) if given == "auto" else given
        self._beta = parameters.beta
        self._best = xp.empty(self._n, dtype=xp.uint64)
        self._state = xp.zeros(SOURCE.layout("State").dtype.itemsize, dtype=xp.uint8)
        self._log = xp.empty((LOG_ROWS, 4), dtype=xp.uint64)
        module = device.module(SOURCE.path, cooperative=True)
        self._problem = module.struct("Problem", **self._members(out, into, ids))
        self._search, self._unpack = module.get_function("search"), module.get_function("unpack")
        self._block = threads_per_block(device, BLOCK)
        self._blocks = device.max_cooperative_blocks(self._search, self._block)

    def _members(self, out: tuple[Any, Any], into: tuple[Any, Any], ids: Any) -> dict[str, Any]:
        """Return the members of the kernel's `Problem`."""
        n, n_arcs, xp = self._n, self._graph.n_arcs, self._graph.device.xp
        vertices = {
            "n": np.uint32(n),
            "n_many": np.uint32(int((xp.diff(out[0]) > MANY_ARCS).sum())),
            "ids": ids,
            "best": self._best,
            "due": xp.empty(n, dtype=xp.uint32),
            "cursor": xp.empty(n, dtype=xp.uint32),
            "stamp": xp.zeros(n, dtype=xp.uint32),
        }
        return {
            "out": dict(zip(("offsets", "arcs"), out, strict=True)),
            "into": dict(zip(("offsets", "arcs"), into, strict=True)),
            "vertices": vertices,
            "n_arcs": np.uint64(n_arcs),
            "delta": np.uint64(self._delta),
            "beta": np.float32(self._beta),
            "frontiers": [xp.empty(n, dtype=xp.uint32) for _ in range(2)],
            # A window is cut only if it is longer than one task.
            "tasks": xp.empty(2 * (n_arcs // SOURCE.constants["TASK_ARCS"]) + 1, dtype=xp.uint64),
            "state": self._state,
        }

    @property
    def resolved(self) -> dict[str, Any]:
        """The width of a bucket and the threshold for pulling."""
        return {"delta": self._delta, "beta": self._beta}

    def solve(self, source: int, phases: list[Phase] | None = None) -> Answer:
        """Find the shortest paths from `source`; see :class:`relaxometer.problems.sssp.Solver`."""
        xp, n = self._graph.device.xp, self._graph.n_vertices
        distance, predecessor = (xp.empty(n, dtype=xp.uint32) for _ in range(2))
        rank = int(self._graph.device.item(self._rank[source : source + 1]))
        if rank < self._n:
            log = self._log, np.uint32(LOG_ROWS if phases is not None else 0)
            self._search(self._blocks, self._block, (self._problem, np.uint32(rank), *log))
        else:  # a source without arcs reaches only itself
            self._best.fill(2**64 - 1)
            self._state[4:12].fill(0)
        answer = (np.uint32(n), np.uint32(self._n), self._rank, self._best, np.uint32(source))
        self._unpack(self._blocks, self._block, (*answer, distance, predecessor))
        _, overflowed, logged = self._graph.device.asnumpy(self._state[:12]).view(np.uint32).tolist()
        if phases is not None:
            phases += logged_phases(self._graph.device.asnumpy(self._log[:logged]), ("push", "pull"))
        return Answer(distance, predecessor, max(logged - 1, 0), bool(overflowed))


def by_degree_and_weight(graph: ResidentGraph) -> tuple[Any, Any, Any, Any]:
    """Renumber the vertices by falling degree, and sort each vertex's arcs by weight.

    Returns
    -------
    out, into : tuple of device arrays
        Offsets of shape (n_with_arcs + 1,), int64, and arcs of shape (n_arcs,), uint64: weight << 32 | other
        end. Both are the same arrays if the graph is symmetric.
    ids : device array of shape (n_with_arcs,), uint32
        Old number of each vertex.
    rank : device array of shape (n_vertices,), uint32
        New number of each vertex; vertices without arcs come last.
    """
    from relaxometer.datasets.build import is_symmetric  # loads Numba

    xp = graph.device.xp
    tails = xp.asarray(graph.host.tails)
    degrees = xp.diff(graph.offsets)
    symmetric = is_symmetric(graph.host)
    if not symmetric:
        degrees = degrees + xp.bincount(graph.targets, minlength=graph.n_vertices)
    ids = xp.argsort(-degrees).astype(xp.uint32)
    rank = xp.empty_like(ids)
    rank[ids] = xp.arange(graph.n_vertices, dtype=xp.uint32)
    n = int((degrees > 0).sum())
    tails, heads = rank[tails], rank[graph.targets]
    out = _rows(xp, n, tails, heads, graph.weights)
    into = out if symmetric else _rows(xp, n, heads, tails, graph.weights)
    return out, into, ids[:n], rank


def _rows(xp: Any, n: int, rows: Any, ends: Any, weights: Any) -> tuple[Any, Any]:
    """Return offsets and arcs, sorted by row, weight and other end."""
    arcs = weights.astype(xp.uint64) << xp.uint64(32) | ends
    order = xp.lexsort(xp.stack([arcs, rows.astype(xp.uint64)]))
    offsets = xp.zeros(n + 1, dtype=xp.int64)
    xp.cumsum(xp.bincount(rows, minlength=n), out=offsets[1:])
    return offsets, arcs[order]


def automatic_delta(graph: ResidentGraph, n_with_arcs: int) -> int:
    """Return `DELTA_FACTOR` times the mean weight, divided by the mean degree; at least 1."""
    mean_weight = float(graph.weights.mean()) if graph.n_arcs else 1.0
    return max(1, round(DELTA_FACTOR * mean_weight * n_with_arcs / max(graph.n_arcs, 1)))
