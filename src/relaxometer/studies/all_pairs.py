"""All pairs of a graph: eccentricities, radius, diameter, closeness and harmonic centrality, with proofs.

References
----------
Wasserman and Faust, "Social Network Analysis: Methods and Applications", 1994, page 201 (closeness in graphs
that are not connected).
Marchiori and Latora, "Harmony in the small-world", Physica A 285, 2000 (harmonic centrality).
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from relaxometer.core.errors import UserError
from relaxometer.device import Device, stopwatch
from relaxometer.graphs.components import component_labels
from relaxometer.graphs.graph import UNREACHED, Graph
from relaxometer.graphs.lengths import LENGTHS
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems.bfs import multi_source
from relaxometer.problems.sssp import PROBLEM
from relaxometer.problems.sssp._distance_proof import DistanceProver, Proof
from relaxometer.problems.sssp.phast import phast_many
from relaxometer.problems.sweeps import Sweeps, inverse_unit
from relaxometer.problems.variants import Skipped, refuse_weights
from relaxometer.studies.study import OUTCOME, WHERE, Row, outcome, study_table

PASSES = pa.schema(
    [
        *[("graph", pa.string()), ("hops", pa.bool_()), ("proof", pa.bool_()), ("sources", pa.int64())],
        *[("prepare_ms", pa.float64()), ("time_ms", pa.float64()), ("proven", pa.int64())],
        *(*OUTCOME, *WHERE),
    ]
)
"""Two rows per graph, without and with the proof of every distance: whether distances count arcs, the number
of sources, the time to prepare sweeps and proof, the time of all sweeps, and how many sources have all
distances proven."""

SOURCES = pa.schema(
    [
        *[("graph", pa.string()), ("source", pa.uint32()), ("component", pa.uint32())],
        *[("reached", pa.uint32()), ("eccentricity", pa.uint32()), ("total", pa.uint64())],
        *[("closeness", pa.float64()), ("harmonic", pa.float64()), ("proven", pa.bool_())],
    ]
)
"""One row per source: its component, the vertices that it reaches, itself among them, the greatest and the
sum of their distances, its closeness (:func:`closeness`), and with `hops` its harmonic centrality, the sum of
the inverses of all positive distances. Numbers whose proof fails are null."""

COMPONENTS = pa.schema(
    [
        *[("graph", pa.string()), ("hops", pa.bool_())],
        *[("component", pa.uint32()), ("vertices", pa.int64())],
        *[("sources", pa.int64()), ("proven", pa.int64()), ("strong", pa.bool_())],
        *[("radius", pa.uint32()), ("centre", pa.list_(pa.uint32())), ("diameter", pa.uint32())],
        *[("periphery", pa.list_(pa.uint32())), ("farthest", pa.uint32())],
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
        *[("graph", pa.string()), ("source", pa.uint32()), ("target", pa.uint32())],
        *[("distance", pa.uint32()), ("proven", pa.bool_())],
    ]
)
"""One row per ordered pair of the chosen vertices; the distance is null if it is infinite or not proven."""

Words = npt.NDArray[np.uint32]
Vertices = npt.NDArray[np.int64]
Labels = npt.NDArray[np.int32]
Sweeper = phast_many.Solver | multi_source.Solver

TOO_LONG = LENGTHS["uint32"].too_long

MEMORY_SHARE = 4
"""Distances that wait for their proof take at most one over this of the device's memory."""

EMULATED_BYTES = 1 << 26
"""The same limit for the emulated device."""

LAUNCHES_AT_ONCE = 4
"""Sources per launch that stores no distances, in multiples of those that the device sweeps at once."""

NUMBERS = ("reached", "eccentricity", "farness", "inverses")
"""What both passes find of each source; the last only for hops."""

SUMS = ("reached", "farthest", "total", "inverses")
"""The same, as sweeps and proofs call it."""


def measure_all_pairs(
    graph: Graph,
    device: Device,
    *,
    hops: bool,
    sources: Literal["all"] | int,
    proven: Literal["all"] | int,
    table: int | Sequence[int],
    seed: int,
) -> tuple[pa.Table, ...]:
    """Find the distances from all vertices, or from some, reduce them, and prove those from all or some.

    Parameters are those of :class:`relaxometer.plan.models.AllPairs`. The tables are `PASSES`, `SOURCES`,
    `COMPONENTS` and `DISTANCES`. If the graph is skipped or memory runs out, the last three have no rows.
    UserError if `table` names something that is not a vertex.
    """
    starts, chosen = _chosen(graph, sources, seed), _chosen(graph, table, seed)
    sample = np.arange(len(starts))
    if proven != "all":
        sample = np.sort(np.random.default_rng([seed, 1]).permutation(sample)[:proven])
    if hops:
        graph = replace(graph, weights=np.ones(graph.n_arcs, dtype=np.uint32), distance_type=None)
    tables = [schema.empty_table() for schema in (SOURCES, COMPONENTS, DISTANCES)]
    keys = [
        {"hops": hops, "proof": proof, "sources": len(of)} for proof, of in ((False, starts), (True, sample))
    ]
    rows = _passes(graph, device, hops, starts, sample, chosen, tables)
    passes = study_table("all pairs", graph, device, PASSES, keys, rows)
    return passes, *tables


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


def _passes(
    graph: Graph,
    device: Device,
    hops: bool,
    starts: Vertices,
    sample: Vertices,
    chosen: Vertices,
    tables: list[pa.Table],
) -> Iterator[Row]:
    """Sweep from all sources, then with the proof from those at `sample`; yield a row for each.

    Then make the other tables.
    """
    refuse_weights(PROBLEM, phast_many.Solver, graph)
    compile_kernels(device, hops)
    resident = ResidentGraph.upload(device, graph)
    with stopwatch() as contraction:
        solver = prepared_sweeps(resident, hops)
        device.synchronize()
    with device.timer() as timer:
        unproven = reduce_all(solver, starts, inverses=hops)
    yield {"prepare_ms": contraction.ms, "time_ms": timer.ms, "proven": 0, **outcome("")}
    with stopwatch() as transposition:
        prover = DistanceProver(resident)
        device.synchronize()
    with device.timer() as timer:
        found = reduce_all(solver, starts[sample], prover, inverses=hops)
    again = _SweepsAgain(solver, prover)
    _, labels = component_labels(graph.offsets, graph.targets)
    tables[:] = [
        _source_table(graph, hops, labels, starts, unproven, sample, found.proven),
        _component_table(graph, hops, labels, starts[sample], found, again),
        _distance_table(graph, chosen, again),
    ]
    said = {"status": again.status, "reason": again.reason}
    if found.reason:
        said = {"status": found.status, "reason": found.reason}
    elif difference := _difference(unproven, sample, found):
        said = outcome(difference)
    prepare_ms, proven = contraction.ms + transposition.ms, int(found.proven.sum())
    yield {"prepare_ms": prepare_ms, "time_ms": timer.ms, "proven": proven, **said}


def prepared_sweeps(resident: ResidentGraph, hops: bool) -> Sweeper:
    """Return `phast-many`, or `multi-source` for hops in a graph that is not a map."""
    try:
        return phast_many.Solver(resident, phast_many.Parameters.model_validate({}))
    except Skipped:
        if not hops:
            raise
        return multi_source.Solver(resident, multi_source.Parameters.model_validate({}))


def compile_kernels(device: Device, hops: bool) -> None:
    """Sweep and prove on a star, so that nothing is compiled while a clock runs."""
    n = 40  # of which the centre is a hub
    star = Graph.from_arcs("star", n, [0] * (n - 1), range(1, n), [1] * (n - 1))
    resident = ResidentGraph.upload(device, star)
    modules: list[Any] = [phast_many, multi_source]
    for module in modules[: 1 + hops]:
        solver = module.Solver(resident, module.Parameters.model_validate({}))
        for prover in (None, DistanceProver(resident)):
            reduce_all(solver, np.arange(2), prover, inverses=hops)


def _difference(unproven: Reductions, sample: Vertices, found: Reductions) -> str:
    for name in NUMBERS:
        if not np.array_equal(getattr(unproven, name)[sample], getattr(found, name)):
            return f"{name} with the proof differs from that without"
    return ""


class _SweepsAgain:
    """Proven distances from a few sources, after the passes, which keep none.

    `status` and `reason` are those of `Reductions`.
    """

    def __init__(self, solver: Sweeper, prover: DistanceProver) -> None:
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


def _source_table(
    graph: Graph,
    hops: bool,
    labels: Labels,
    starts: Vertices,
    found: Reductions,
    sample: Vertices,
    holds: npt.NDArray[np.bool_],
) -> pa.Table:
    proven, refused = (np.zeros(len(starts), dtype=np.bool_) for _ in range(2))
    proven[sample], refused[sample] = holds, ~holds
    near = closeness(found.reached, found.farness, graph.n_vertices)
    columns = {
        "graph": pa.repeat(graph.name, len(starts)),
        "source": starts,
        "component": labels[starts],
        "reached": pa.array(found.reached, mask=refused),
        "eccentricity": pa.array(found.eccentricity, mask=refused),
        "total": pa.array(found.farness, mask=refused),
        "closeness": pa.array(near, mask=refused | np.isnan(near)),
        "harmonic": pa.array(found.inverses / inverse_unit(graph.n_vertices), mask=refused | (not hops)),
        "proven": proven,
    }
    return pa.table(columns).cast(SOURCES)


def _component_table(
    graph: Graph, hops: bool, labels: Labels, starts: Vertices, found: Reductions, again: _SweepsAgain
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
        "hops": pa.repeat(hops, len(present)),
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


@dataclass(frozen=True, eq=False)
class Reductions:
    """Statistics of the distances from each source: arrays of shape (n_sources,).

    `reached` counts the vertices reached, the source among them; `eccentricity` is the greatest and `farness`
    the sum of their distances, and `inverses` the sum of the inverses in `inverse_unit`. `proven` says
    whether the distances were proven and these numbers found again from them. If not, `status` and `reason`
    say why: ``error`` if a path is too long, else ``invalid``; they are ``ok`` and empty if all are proven,
    or if no proof was asked for.
    """

    reached: Words
    eccentricity: Words
    farness: npt.NDArray[np.uint64]
    inverses: npt.NDArray[np.uint64]
    proven: npt.NDArray[np.bool_]
    status: str = "ok"
    reason: str = ""


def reduce_all(
    solver: Sweeper,
    sources: npt.NDArray[np.integer],
    prover: DistanceProver | None = None,
    *,
    inverses: bool = False,
) -> Reductions:
    """Sweep from many sources, in any order, and reduce the distances on the device.

    Those that are neighbours by `position_of` are swept together. With a `prover`, all distances from every
    source are stored until the proof has read them, else never.
    """
    device, n = solver.device, solver.n_vertices
    order = np.argsort(solver.position_of(sources), kind="stable")
    size = _sources_at_once(solver, device, prover is not None)
    labels, refused = None, []
    none = np.zeros(len(sources), dtype=np.uint32)
    total = none.astype(np.uint64)
    found = Reductions(none, none.copy(), total, total.copy(), none.astype(np.bool_))
    for begin in range(0, len(sources), size):
        places = order[begin : begin + size]
        count = -(-len(places) // solver.k)
        if prover is not None and labels is None:
            labels = device.xp.empty((count, n, solver.k), dtype=np.uint32)
        sweeps = solver.sweep(
            sources[places], labels=False if labels is None else labels[:count], sums=True, inverses=inverses
        )
        proven = np.zeros(len(places), dtype=np.bool_)
        if prover is not None:
            proof = prover.check(sweeps.sources, sweeps.labels, inverses=inverses)
            same = [getattr(proof, one) == getattr(sweeps, one) for one in SUMS[: 3 + inverses]]
            agrees = device.asnumpy(functools.reduce(operator.and_, same))
            proven = (agrees & ~proof.wrong)[: len(places)]
            if not proof.certificate.holds:
                refused.append(outcome_of(proof, solver, sweeps, len(places)))
            elif not agrees.all():
                refused.append(("invalid", "sums differ from those of the proof"))
        for number, of_sweeps in zip(NUMBERS[: 3 + inverses], SUMS, strict=False):
            getattr(found, number)[places] = device.asnumpy(getattr(sweeps, of_sweeps))[: len(places)]
        found.proven[places] = proven
    # A wrong distance matters more than a path that is too long.
    status, reason = min(refused, key=lambda one: one[0] != "invalid", default=("ok", ""))
    return replace(found, status=status, reason=reason)


def outcome_of(proof: Proof, solver: Sweeper, sweeps: Sweeps, n_sources: int) -> tuple[str, str]:
    """Return status and reason of sweeps whose labels were stored and checked."""
    if proof.certificate.holds:
        return "ok", ""
    too_long = solver.met_too_long(sweeps, n_sources)
    return proof.certificate.outcome(overflowed=too_long, too_long=TOO_LONG, rule="overstretched")


def _sources_at_once(solver: Sweeper, device: Device, stored: bool) -> int:
    """Return the sources per launch, a multiple of those of a sweep."""
    if not stored:
        return LAUNCHES_AT_ONCE * solver.at_once
    memory = device.context().get("memory_bytes")
    limit = EMULATED_BYTES if memory is None else memory // MEMORY_SHARE
    return max(1, limit // (4 * solver.n_vertices * solver.k)) * solver.k
