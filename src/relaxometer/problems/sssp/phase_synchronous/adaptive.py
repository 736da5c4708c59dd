"""Threads for selected vertices or for all, switched by the host's clock (algorithm 4 of Suzuki et al.)."""

import itertools
import time
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field, PositiveFloat

from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems import variants
from relaxometer.problems.phases import Phase
from relaxometer.problems.sssp import Answer
from relaxometer.problems.sssp.phase_synchronous._phase_synchronous import Arrays, MaskLog, over
from relaxometer.problems.sssp.phase_synchronous.conventional import AllVertices
from relaxometer.problems.sssp.phase_synchronous.selection import SelectedVertices

PAPER_RATIO = 330 / 350
"""The paper's threshold for switching back over that for switching to all vertices (section 6)."""

PROBES = 3  # searches per mode of the tuning, which takes the shortest time of each phase
CANDIDATES = 24  # values of each threshold that the tuning tries


class Parameters(variants.Parameters):
    """Thresholds of the switch."""

    to_all_us: PositiveFloat | Literal["auto"] = Field("auto")
    """Switch to all vertices after a phase over selected vertices that takes longer than this, in
    microseconds. The paper used 350 on a Tesla K20c; "auto" tunes it to the device and the graph."""
    to_selected_us: PositiveFloat | Literal["auto"] = Field("auto")
    """Switch back after an all-vertex phase that takes less than this. The paper used 330. "auto" tunes it,
    or keeps the paper's ratio to `to_all_us` if that is given."""


class Solver(variants.SolverBase):
    """SSSP with threads for selected vertices while few change, and for all while many do.

    The switch depends on the host's time of a phase, averaged over this phase and the one before (section
    6). The clock is read where the host waits for the device anyway.

    References
    ----------
    Suzuki, Kan, Hayashi and Yoshikawa, "Accelerating SSSP Algorithm on GPU with Adaptive Thread
    Creation", sections 5 and 6.
    """

    weight_types: ClassVar = {"uint32", "uint32/uint64", "float32", "float64"}

    def __init__(self, graph: ResidentGraph, parameters: Parameters) -> None:
        super().__init__(graph, parameters)
        self._arrays = Arrays(graph)
        module = self._arrays.kernels("adaptive.cu")
        self._all = AllVertices(self._arrays, module)
        self._selected = SelectedVertices(self._arrays, module)
        self._switch_to_selection = module.get_function("switch_to_selection")
        self._phase_us: list[float] = []
        self._set_thresholds(parameters)
        self.resolved = {"to_all_us": self._to_all_us, "to_selected_us": self._to_selected_us}

    def solve(self, source: int, phases: list[Phase] | None = None) -> Answer:
        """Find the shortest paths from `source`; see :class:`relaxometer.problems.sssp.Solver`."""
        self._arrays.start(source)
        self._all.start(source)
        self._selected.start(source)
        log = MaskLog(self._arrays, phases)
        selecting = True
        self._phase_us.clear()
        phase = 0
        changed = True
        while changed:
            phase += 1
            mode: AllVertices | SelectedVertices = self._selected if selecting else self._all
            start = time.perf_counter()
            changed = mode.run(phase)
            self._phase_us.append((time.perf_counter() - start) * 1e6)
            log.end_phase(mode.name)
            mean_us = sum(self._phase_us[-2:]) / len(self._phase_us[-2:])
            if selecting and mean_us > self._to_all_us:
                selecting = False
            elif not selecting and mean_us < self._to_selected_us and changed:
                selecting = True
                self._select_from_mask()
        return self._arrays.answer(phase)

    def _set_thresholds(self, parameters: Parameters) -> None:
        to_all, to_selected = parameters.to_all_us, parameters.to_selected_us
        if to_all == "auto":
            to_all, tuned = self._tune()
        else:
            tuned = to_all * PAPER_RATIO
        self._to_all_us = to_all
        self._to_selected_us = tuned if to_selected == "auto" else to_selected

    def _tune(self) -> tuple[float, float]:
        """Choose the thresholds with which a probe search would have been shortest.

        A phase updates the same vertices in either mode. So the phase times of two searches, one per mode,
        give the time of a search under any switching rule.
        """
        with_arcs = np.flatnonzero(self._graph.host.degrees)
        if not len(with_arcs):
            return float("inf"), 0.0
        source = int(with_arcs[len(with_arcs) // 2])
        selected_us = np.min([self._phase_times(source, selecting=True) for _ in range(PROBES)], axis=0)
        all_us = np.min([self._phase_times(source, selecting=False) for _ in range(PROBES)], axis=0)
        return best_thresholds(selected_us, all_us)

    def _select_from_mask(self) -> None:
        """Build the list from the mask (line 31 of algorithm 4)."""
        a, selected = self._arrays, self._selected
        self._switch_to_selection(*over(a.graph.n_vertices), (a.n, a.Ma, selected.NRa, *selected.counter))
        selected.count()

    def _phase_times(self, source: int, *, selecting: bool) -> npt.NDArray[np.float64]:
        """Return the time of every phase of a search in one mode, in microseconds."""
        self._to_all_us, self._to_selected_us = (float("inf"), 0.0) if selecting else (-1.0, -1.0)
        self.solve(source)
        return np.array(self._phase_us)


def best_thresholds(
    selected_us: npt.NDArray[np.float64], all_us: npt.NDArray[np.float64]
) -> tuple[float, float]:
    """Return, by each phase's time in either mode, the thresholds with the shortest search; few switches."""
    shares = np.linspace(0, 1, CANDIDATES)
    to_all = [*np.unique(np.quantile(selected_us, shares)).tolist(), float("inf")]
    to_selected = [0.0, *np.unique(np.quantile(all_us, shares)).tolist()]
    pairs = [(high, low) for high, low in itertools.product(to_all[::-1], to_selected) if low <= high]
    return min(pairs, key=lambda pair: predicted_us(selected_us, all_us, *pair))


def predicted_us(
    selected_us: npt.NDArray[np.float64],
    all_us: npt.NDArray[np.float64],
    to_all_us: float,
    to_selected_us: float,
) -> float:
    """Return the predicted time of a search under the switching rule, in microseconds."""
    total = before = 0.0
    selecting = True
    for phase, (of_selected, of_all) in enumerate(zip(selected_us.tolist(), all_us.tolist(), strict=True)):
        now = of_selected if selecting else of_all
        total += now
        mean = (now + before) / 2 if phase else now
        before = now
        selecting = mean <= to_all_us if selecting else mean < to_selected_us
    return total
