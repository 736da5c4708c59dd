"""The main loop of the Bellman-Ford variants, which examine every arc in every phase."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from relaxometer.problems.phases import Phase

if TYPE_CHECKING:
    from relaxometer.graphs.resident import ResidentGraph


class FixedPoint:
    """Runs phases, each of which examines `arcs` arcs, until one changes nothing.

    A check for a change makes the host wait for the device. With one check in `check_every` phases, up to
    ``check_every - 1`` may run in vain at the end.

    Attributes
    ----------
    last_phase : device array of shape (1,), uint32
        The last phase that changed a distance, written by the kernels (``report_change``).
    """

    def __init__(self, graph: ResidentGraph, arcs: int, check_every: int) -> None:
        self._device = graph.device
        self._arcs = arcs
        self._check_every = check_every
        self.last_phase = self._device.xp.zeros(1, dtype=np.uint32)

    def run(
        self, relax: Callable[[np.uint32], None], distance: Callable[[], Any], phases: list[Phase] | None
    ) -> int:
        """Run `relax` with the number of each phase, starting at 1, until a phase changes nothing.

        `distance` returns the distances that the next phase reads, for instrumented runs. Returns the number
        of phases, including the last one, which changed nothing.
        """
        self.last_phase.fill(0)
        phase = 0
        while True:
            for _ in range(self._check_every):
                phase += 1
                if phases is None:
                    relax(np.uint32(phase))
                else:
                    phases.append(self._observed(phase, relax, distance))
            if self._device.item(self.last_phase) < phase:
                return phase

    def _observed(self, phase: int, relax: Callable[[np.uint32], None], distance: Callable[[], Any]) -> Phase:
        """Time one phase, and compare the distances before and after."""
        before = distance().copy()
        self._device.synchronize()
        begin = time.perf_counter()
        relax(np.uint32(phase))
        self._device.synchronize()
        elapsed_ms = (time.perf_counter() - begin) * 1e3
        updated = int((distance() != before).sum())
        return Phase("all", updated, self._arcs, elapsed_ms)
