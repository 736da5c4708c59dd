"""All pairs of a map: eccentricities, radius, diameter and closeness, with every distance proven.

References
----------
Wasserman and Faust, "Social Network Analysis: Methods and Applications", 1994, page 201 (closeness in graphs
that are not connected).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from relaxometer.core.errors import UserError
from relaxometer.device import Device, stopwatch
from relaxometer.graphs.components import component_labels
from relaxometer.graphs.graph import UNREACHED, Graph
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems.sssp import PROBLEM
from relaxometer.problems.sssp._distance_proof import DistanceProver
from relaxometer.problems.sssp.phast import phast_many
from relaxometer.problems.variants import refuse_weights
from relaxometer.studies.reductions import Reductions, outcome_of, reduce_all
from relaxometer.studies.study import OUTCOME, WHERE, Row, outcome, study_table

PASSES = pa.schema(
    [
        ("graph", pa.string()),
        ("proof", pa.bool_()),
        ("sources", pa.int64()),
        ("prepare_ms", pa.float64()),
        ("time_ms", pa.float64()),
        ("proven", pa.int64()),
        *OUTCOME,
        *WHERE,
    ]
)
"""Two rows per graph, without and with the proof of every distance: the number of sources, the time to
prepare hierarchy and proof, the time of all sweeps, and how many sources have all distances proven."""

SOURCES = pa.schema(
    [
        ("graph", pa.string()),
        ("source", pa.uint32()),
        ("component", pa.uint32()),
        ("reached", pa.uint32()),
        ("eccentricity", pa.uint32()),
        ("total", pa.uint64()),
        ("closeness", pa.float64()),
        ("proven", pa.bool_()),
    ]
)
"""One row per source: its component, the vertices that it reaches, itself among them, the greatest and the
sum of their distances, and its closeness (:func:`closeness`). Numbers that are not proven are null."""

COMPONENTS = pa.schema(
    [
        ("graph", pa.string()),
        ("component", pa.uint32()),
        ("vertices", pa.int64()),
        ("sources", pa.int64()),
        ("proven", pa.int64()),
        ("strong", pa.bool_()),
        ("radius", pa.uint32()),
        ("centre", pa.list_(pa.uint32())),
        ("diameter", pa.uint32()),
        ("periphery", pa.list_(pa.uint32())),
        ("farthest", pa.uint32()),
    ]
)
"""One row per weakly connected component that has a proven source.

``strong`` says whether every proven source reaches the whole component. ``radius`` is the least eccentricity
of those that do, null if none does, and ``centre`` all sources that have it. ``diameter`` is the greatest
eccentricity, thus the greatest finite distance, ``periphery`` all sources that have it, and ``farthest`` a
vertex at that distance from the first of them. Unless all vertices are proven sources, ``radius`` is an upper
bound and ``diameter`` a lower one.
"""

DISTANCES = pa.schema(
    [
        ("graph", pa.string()),
        ("source", pa.uint32()),
        ("target", pa.uint32()),
        ("distance", pa.uint32()),
        ("proven", pa.bool_()),
    ]
)
"""One row per ordered pair of the chosen vertices; the distance is null if it is infinite or not proven."""

Words = npt.NDArray[np.uint32]
Vertices = npt.NDArray[np.int64]
Labels = npt.NDArray[np.int32]

NUMBERS = ("reached", "eccentricity", "farness")


def measure_all_pairs(
    graph: Graph, device: Device, *, sources: Literal["all"] | int, table: int | Sequence[int], seed: int
) -> tuple[pa.Table, pa.Table, pa.Table, pa.Table]:
    """Find and prove the distances from all vertices, or from some, and reduce them.

    `sources` is a number to draw without repetition, all if the graph has fewer. `table` is a number of
    vertices to draw, or these vertices, between which all distances are kept.

    The tables are `PASSES`, `SOURCES`, `COMPONENTS` and `DISTANCES`. If the graph is skipped or memory runs
    out, the last three have no rows. UserError if `table` names something that is not a vertex.
    """
    starts, chosen = _chosen(graph, sources, seed), _chosen(graph, table, seed)
    study = _AllPairs(graph, device, starts, chosen)
    keys = [{"proof": proof, "sources": len(starts)} for proof in (False, True)]
    passes = study_table("all pairs", graph, device, PASSES, keys, study.passes())
    return passes, study.sources, study.components, study.distances


def closeness(
    reached: npt.NDArray[np.integer], total: npt.NDArray[np.integer], n_vertices: int
) -> npt.NDArray[np.float64]:
    """Return the closeness of vertices as Wasserman and Faust define it for graphs that are not connected.

    The inverse of the mean distance to the other vertices reached, times their share of all other vertices.
    It is 0 for a vertex that reaches no other, and NaN if all that it reaches are at distance 0. `reached`
    counts the source, too, and `total` is the sum of the distances.
    """
    others = reached.astype(np.float64) - 1
    share = others / max(1, n_vertices - 1)
    inverse = np.divide(others, total, out=np.full(len(others), np.nan), where=total > 0)
    return np.where(others > 0, share * inverse, 0.0)


def _chosen(graph: Graph, which: str | int | Sequence[int], seed: int) -> Vertices:
    """Return the vertices that a key of the section chooses: all, drawn ones in ascending order, or given."""
    n = graph.n_vertices
    if which == "all":
        return np.arange(n)
    if isinstance(which, int):
        return np.sort(np.random.default_rng(seed).permutation(n)[:which])
    chosen = np.array(which, dtype=np.int64)
    for vertex in chosen[chosen >= n].tolist():
        raise UserError(
            f"graph {graph.name}: vertex {vertex} is out of range; expected 0 to {n - 1} "
            "(config: all_pairs.table)"
        )
    return chosen


class _AllPairs:
    """The study of one graph; the tables are empty until `passes` has made them."""

    def __init__(self, graph: Graph, device: Device, starts: Vertices, chosen: Vertices) -> None:
        self._graph, self._device = graph, device
        self._starts, self._chosen = starts, chosen
        self.sources = SOURCES.empty_table()
        self.components = COMPONENTS.empty_table()
        self.distances = DISTANCES.empty_table()

    def passes(self) -> Iterator[Row]:
        """Sweep from all sources without and with the proof; yield a row for each."""
        device = self._device
        refuse_weights(PROBLEM, phast_many.Solver, self._graph)
        compile_kernels(device)
        resident = ResidentGraph.upload(device, self._graph)
        with stopwatch() as contraction:
            solver = phast_many.Solver(resident, phast_many.Parameters.model_validate({}))
            device.synchronize()
        with device.timer() as timer:
            unproven = reduce_all(solver, self._starts)
        yield {"prepare_ms": contraction.ms, "time_ms": timer.ms, "proven": 0, **outcome("")}
        with stopwatch() as transposition:
            prover = DistanceProver(resident)
            device.synchronize()
        with device.timer() as timer:
            found = reduce_all(solver, self._starts, prover)
        again = _SweepsAgain(solver, prover)
        self._make_tables(found, again)
        yield {
            "prepare_ms": contraction.ms + transposition.ms,
            "time_ms": timer.ms,
            "proven": int(found.proven.sum()),
            **self._outcome(unproven, found, again),
        }

    def _outcome(self, unproven: Reductions, found: Reductions, again: _SweepsAgain) -> Row:
        if found.reason:
            return {"status": found.status, "reason": found.reason}
        if difference := _difference(unproven, found):
            return outcome(difference)
        return {"status": again.status, "reason": again.reason}

    def _make_tables(self, found: Reductions, again: _SweepsAgain) -> None:
        graph = self._graph
        _, labels = component_labels(graph.offsets, graph.targets)
        self.sources = _source_table(graph, labels, self._starts, found)
        self.components = _component_table(graph, labels, self._starts, found, again)
        self.distances = _distance_table(graph, self._chosen, again)


def compile_kernels(device: Device) -> None:
    """Sweep and prove on a graph of two vertices, so that nothing is compiled while a clock runs."""
    resident = ResidentGraph.upload(device, Graph.from_arcs("pair", 2, [0, 1], [1, 0], [1, 1]))
    solver = phast_many.Solver(resident, phast_many.Parameters.model_validate({}))
    for prover in (None, DistanceProver(resident)):
        reduce_all(solver, np.arange(2), prover)


def _difference(one: Reductions, other: Reductions) -> str:
    """Return how the numbers of both passes differ; empty if they do not."""
    for name in NUMBERS:
        if not np.array_equal(getattr(one, name), getattr(other, name)):
            return f"{name} with the proof differs from that without"
    return ""


class _SweepsAgain:
    """Proven distances from a few sources, after the passes, which keep none.

    `status` and `reason` are those of `Reductions`.
    """

    def __init__(self, solver: phast_many.Solver, prover: DistanceProver) -> None:
        self._solver, self._prover = solver, prover
        self.status, self.reason = "ok", ""

    def _rows(self, sources: Vertices) -> Iterator[tuple[Any, npt.NDArray[np.bool_]]]:
        """Yield the distances from up to k sources, device array (n_vertices, n_sources), and which hold."""
        for begin in range(0, len(sources), self._solver.k):
            part = sources[begin : begin + self._solver.k]
            sweeps = self._solver.sweep(part)
            proof = self._prover.check(sweeps.sources, sweeps.labels)
            self._note(*outcome_of(proof, self._solver, sweeps, len(part)))
            yield sweeps.labels[0][:, : len(part)], ~proof.wrong[: len(part)]

    def _note(self, status: str, reason: str) -> None:
        """Keep the first reason."""
        if not self.reason:
            self.status, self.reason = status, reason

    def between(self, sources: Vertices, targets: Vertices) -> tuple[Words, npt.NDArray[np.bool_]]:
        """Return distances, ndarray of shape (n_sources, n_targets), and which sources' are proven."""
        device = self._solver.device
        distances = [np.empty((0, len(targets)), dtype=np.uint32)]
        proven = [np.empty(0, dtype=np.bool_)]
        for labels, holds in self._rows(sources):
            distances.append(device.asnumpy(labels[device.asarray(targets)]).T)
            proven.append(holds)
        return np.concatenate(distances), np.concatenate(proven)

    def farthest(self, sources: Vertices, eccentricity: Words) -> pa.Array:
        """Return the farthest vertex from each source; null if it is not at the known eccentricity."""
        device, xp = self._solver.device, self._solver.device.xp
        ends, far, right = [], [], []
        for labels, holds in self._rows(sources):
            further = labels + xp.uint32(1)  # 0 where unreached
            ends.append(device.asnumpy(further.argmax(axis=0)))
            far.append(device.asnumpy(further.max(axis=0)) - 1)
            right.append(holds)
        is_right = np.concatenate(right) & (np.concatenate(far) == eccentricity)
        if not is_right.all():
            self._note("invalid", "a second sweep gave another eccentricity")
        return pa.array(np.concatenate(ends).astype(np.uint32), mask=~is_right)


def _source_table(graph: Graph, labels: Labels, starts: Vertices, found: Reductions) -> pa.Table:
    refused = ~found.proven
    near = closeness(found.reached, found.farness, graph.n_vertices)
    columns = {
        "graph": pa.repeat(graph.name, len(starts)),
        "source": starts,
        "component": labels[starts],
        "reached": pa.array(found.reached, mask=refused),
        "eccentricity": pa.array(found.eccentricity, mask=refused),
        "total": pa.array(found.farness, mask=refused),
        "closeness": pa.array(near, mask=refused | np.isnan(near)),
        "proven": found.proven,
    }
    return pa.table(columns).cast(SOURCES)


def _component_table(
    graph: Graph, labels: Labels, starts: Vertices, found: Reductions, again: _SweepsAgain
) -> pa.Table:
    order = np.flatnonzero(found.proven)
    order = order[np.lexsort((starts[order], labels[starts[order]]))]
    if not len(order):
        return COMPONENTS.empty_table()
    vertices, eccentricity = starts[order], found.eccentricity[order]
    present, begins = np.unique(labels[vertices], return_index=True)
    counts = np.diff(begins, append=len(order))
    sizes = np.bincount(labels)[present]
    whole = found.reached[order] == np.repeat(sizes, counts)
    radius = np.minimum.reduceat(np.where(whole, eccentricity, UNREACHED), begins)
    diameter = np.maximum.reduceat(eccentricity, begins)
    centre = _lists(vertices, whole & (eccentricity == np.repeat(radius, counts)), begins)
    periphery = _lists(vertices, eccentricity == np.repeat(diameter, counts), begins)
    first = periphery.values.to_numpy()[periphery.offsets.to_numpy()[:-1]].astype(np.int64)
    columns = {
        "graph": pa.repeat(graph.name, len(present)),
        "component": present,
        "vertices": sizes,
        "sources": np.bincount(labels[starts])[present],
        "proven": counts,
        "strong": np.logical_and.reduceat(whole, begins),
        "radius": pa.array(radius, mask=radius == UNREACHED),
        "centre": centre,
        "diameter": diameter,
        "periphery": periphery,
        "farthest": again.farthest(first, diameter),
    }
    return pa.table(columns).cast(COMPONENTS)


def _lists(vertices: Vertices, is_in: npt.NDArray[np.bool_], begins: npt.NDArray[np.int64]) -> pa.ListArray:
    """Return the marked vertices of each part of `vertices`."""
    counts = np.add.reduceat(is_in, begins, dtype=np.int64)
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    return pa.ListArray.from_arrays(offsets, vertices[is_in].astype(np.uint32))


def _distance_table(graph: Graph, chosen: Vertices, again: _SweepsAgain) -> pa.Table:
    distances, proven = again.between(chosen, chosen)
    holds, distance = np.repeat(proven, len(chosen)), distances.ravel()
    columns = {
        "graph": pa.repeat(graph.name, len(distance)),
        "source": np.repeat(chosen, len(chosen)),
        "target": np.tile(chosen, len(chosen)),
        "distance": pa.array(distance, mask=~holds | (distance == UNREACHED)),
        "proven": holds,
    }
    return pa.table(columns).cast(DISTANCES)
