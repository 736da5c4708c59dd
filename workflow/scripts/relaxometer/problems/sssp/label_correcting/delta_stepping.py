"""Buckets of vertices by distance, light arcs before heavy ones (algorithm 3 of the survey)."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from pydantic import Field

from relaxometer.problems import variants
from relaxometer.problems.phases import Phase
from relaxometer.problems.sssp import Answer
from relaxometer.problems.sssp.label_correcting._labels import BLOCK, Labels

if TYPE_CHECKING:
    from relaxometer.graphs.resident import ResidentGraph

NONE = np.uint32(2**32 - 1)
"""The bucket of a vertex that is in none."""

BUCKET, NEXT, PHASES, RELAXED, FINISHED, CONTROL_WORDS = 0, 1, 5, 6, 7, 8
"""Places in the kernel's ``control``, and its length."""

MOST_ARCS = 2**33
"""The kernel counts the arcs of a phase in so many bits less one."""

VERTICES_A_THREAD = 4
"""So many vertices a thread looks through on small graphs: fewer blocks make shorter barriers."""

MOST_SPLITTING_BLOCKS = 65_536
NO_LIMIT = np.uint32(2**32 - 1)


class Parameters(variants.Parameters):
    """The width of a bucket.

    Parameters
    ----------
    delta : {"median", "mean", "max-over-degree"} or int
        Median or mean of the weights, or the largest weight over the largest out-degree (the survey's three
        choices), rounded and at least 1; or the width itself, in the graph's weight unit.
    """

    delta: Literal["median", "mean", "max-over-degree"] | Annotated[int, Field(ge=1, le=2**32 - 1)] = "mean"


class Solver:
    """SSSP by delta-stepping.

    Parameters
    ----------
    graph : ResidentGraph
    parameters : Parameters

    Raises
    ------
    Skipped
        If the graph has 2**31 vertices or 2**33 arcs or more.

    References
    ----------
    "Single-source shortest paths in parallel with CUDA" (survey, in Chinese), section 5.
    Meyer and Sanders, "Delta-Stepping: A Parallelizable Shortest Path Algorithm", J. Algorithms 49, 2003.
    """

    runs_on = "device"

    def __init__(self, graph: ResidentGraph, parameters: Parameters) -> None:
        if graph.n_arcs >= MOST_ARCS:
            raise variants.Skipped(f"{graph.n_arcs:,} arcs; delta-stepping counts up to {MOST_ARCS - 1:,}")
        self._graph = graph
        device, xp, n = graph.device, graph.device.xp, graph.n_vertices
        self._labels = Labels(graph, device.module(Path(__file__).with_name("_labels.cu")))
        module = device.module(Path(__file__).with_name("delta_stepping.cu"), cooperative=True)
        self._delta_stepping = module.get_function("delta_stepping")
        most = device.max_cooperative_blocks(self._delta_stepping, BLOCK)
        self._blocks = min(-(-n // (BLOCK * VERTICES_A_THREAD)), most)
        self._rule = parameters.delta
        self._delta = np.uint32(_width(graph, parameters.delta))
        self._arcs = self._split()
        self._buckets = xp.empty(n, dtype=xp.uint32)
        self._last_bucket = xp.empty(n, dtype=xp.uint32)
        vertices, arcs_before = (xp.uint32, xp.uint64)
        self._lists = tuple(
            xp.empty(n, dtype=dtype) for dtype in (vertices, arcs_before, xp.uint32, vertices, arcs_before)
        )
        self._control = xp.zeros(CONTROL_WORDS, dtype=xp.uint64)

    @property
    def resolved(self) -> dict[str, Any]:
        """Return the width of a bucket in force, the rule behind it, and the number of blocks."""
        rule = self._rule if isinstance(self._rule, str) else "given"
        return {"delta": int(self._delta), "delta_rule": rule, "blocks": self._blocks}

    def solve(self, source: int, phases: list[Phase] | None = None) -> Answer:
        """Find the shortest paths from `source`; see :class:`relaxometer.problems.sssp.Solver`.

        Light and heavy phases are counted alike, as far as they have arcs to relax.
        """
        self._labels.start(source)
        self._buckets.fill(NONE)
        self._buckets[source] = 0
        self._last_bucket.fill(NONE)
        self._control.fill(0)
        self._control[BUCKET : NEXT + 1] = NONE
        if phases is None:
            self._run(NO_LIMIT)
        else:
            self._run_phase_by_phase(phases)
        return self._labels.answer(self._graph.device.item(self._control, PHASES))

    def _run(self, phases: np.uint32) -> None:
        """Run up to so many phases."""
        n, Va, _, _ = self._graph.csr
        state = (self._labels.words, self._buckets, self._last_bucket, *self._lists, self._control)
        self._delta_stepping(
            self._blocks,
            BLOCK,
            (n, Va, *self._arcs, self._delta, *state, phases, self._labels.overflow),
        )

    def _run_phase_by_phase(self, phases: list[Phase]) -> None:
        """Run the search with a launch for every phase, and record each."""
        device = self._graph.device
        control = device.asnumpy(self._control)
        while not control[FINISHED]:
            distances = self._labels.words >> np.uint64(32)
            device.synchronize()
            start = time.perf_counter()
            self._run(np.uint32(1))
            device.synchronize()
            elapsed_ms = (time.perf_counter() - start) * 1e3
            before, control = control, device.asnumpy(self._control)
            if control[PHASES] > before[PHASES]:
                updated = int((self._labels.words >> np.uint64(32) != distances).sum())
                relaxed = int(control[RELAXED] - before[RELAXED])
                mode = "heavy" if control[BUCKET] == NONE else "light"
                phases.append(Phase(mode, updated, relaxed, elapsed_ms))

    def _split(self) -> tuple[Any, Any, Any]:
        """Return targets and weights with the light arcs of each vertex first, and where these end."""
        graph, xp = self._graph, self._graph.device.xp
        targets = xp.empty(graph.n_arcs, dtype=xp.uint32)
        weights = xp.empty(graph.n_arcs, dtype=xp.uint32)
        light_end = xp.empty(graph.n_vertices, dtype=xp.int64)
        module = graph.device.module(Path(__file__).with_name("delta_stepping.cu"))
        blocks = min((graph.n_vertices * 32 + BLOCK - 1) // BLOCK, MOST_SPLITTING_BLOCKS)
        arguments = (*graph.csr, self._delta, targets, weights, light_end)
        module.get_function("split_arcs")(blocks, BLOCK, arguments)
        return targets, weights, light_end


def _width(graph: ResidentGraph, rule: str | int) -> int:
    """Work out the width of a bucket."""
    if isinstance(rule, int):
        return rule
    if graph.n_arcs == 0:
        return 1
    weights, middle = graph.weights, graph.n_arcs // 2
    if rule == "median":
        width = float(graph.device.xp.partition(weights, middle)[middle])
    elif rule == "mean":
        width = float(weights.mean())
    else:
        width = float(weights.max()) / int(graph.host.degrees.max())
    return max(1, round(width))
