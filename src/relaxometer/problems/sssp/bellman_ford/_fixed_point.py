"""The main loop of the Bellman-Ford variants, which examine every arc in every phase."""

from collections.abc import Callable
from typing import Any

import numpy as np

from relaxometer.device.arrays import DeviceArray
from relaxometer.graphs.lengths import Lengths
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems.phases import Phase
from relaxometer.problems.sssp import Answer
from relaxometer.problems.sssp._negative_cycles import FIRST_WATCHED, NegativeCycles, Watch


class FixedPoint:
    """Runs phases, each of which examines `arcs` arcs, until one changes nothing.

    Kernels write the last phase with a change to `last_phase`.

    With negative weights a search may have no end, or end with distances that are too short. So it looks for
    a negative cycle after 32, 64, 128, ... phases, and :meth:`verdict` does if the answer has overflowed.
    """

    def __init__(self, graph: ResidentGraph, arcs: int) -> None:
        self._device = graph.device
        self._arcs = arcs
        self.last_phase = self._device.xp.zeros(1, dtype=np.uint32)
        self._lengths = graph.lengths
        self._cycles = NegativeCycles(graph) if graph.lengths.is_signed else None
        self._watch: Watch | None = None

    def run(
        self, relax: Callable[[np.uint32], None], distance: Callable[[], Any], phases: list[Phase] | None
    ) -> int:
        """Run `relax` with the number of each phase, starting at 1, until a phase changes nothing.

        `distance` returns the distances that the next phase reads: words of lengths, or numbers of type
        float64. Returns the number of phases, including the last one, which changed nothing; with a negative
        cycle, the number until it was found.
        """
        self.last_phase.fill(0)
        if self._cycles is not None:
            is_double = distance().dtype == np.float64
            infinite = np.inf if is_double else self._lengths.unreached
            self._watch = Watch(self._cycles, lambda: distance() < infinite)
        phase, watched = 0, FIRST_WATCHED
        while True:
            phase += 1
            if phases is None:
                relax(np.uint32(phase))
            else:
                phases.append(self._observed(phase, relax, distance))
            if self._device.item(self.last_phase) < phase:
                return phase
            if self._watch and phase >= watched:
                if self._watch.sees_cycle():
                    return phase
                watched *= 2

    def verdict(self, finish: Callable[[], Answer], phases: int) -> Answer:
        """Return what `finish` returns for the last search, or the negative cycle that it came upon."""
        return finish() if self._watch is None else self._watch.verdict(finish, phases)

    def _observed(self, phase: int, relax: Callable[[np.uint32], None], distance: Callable[[], Any]) -> Phase:
        """Time one phase, and compare the distances before and after."""
        before = distance().copy()
        with self._device.timer() as timer:
            relax(np.uint32(phase))
        updated = int((distance() != before).sum())
        return Phase("all", updated, self._arcs, timer.ms)


def drop_too_short(lengths: Lengths, words: Any) -> bool:
    """Make distances too short for the type (word 0 of signed ones) unreached; return whether any was."""
    if not lengths.is_signed:
        return False
    too_short = words == 0
    words[too_short] = lengths.unreached
    return bool(too_short.any())


def keeps_whole_paths(xp: Any, predecessor: DeviceArray, fits: Any) -> Any:
    """Return which vertices fit together with their whole chain of predecessors, shape (n_vertices,), bool.

    A length may fit again after one on the way did not, if weights may be negative. Predecessors are a tree
    on the vertices that fit and perhaps more; its root is its own predecessor.
    """
    n = len(predecessor)
    ahead = xp.full(n + 1, n, dtype=np.uint32)  # place n is where chains end that are cut off
    ahead[:n][fits] = predecessor[fits]
    for _ in range(n.bit_length()):
        ahead = ahead[ahead]
    return ahead[:n] < n
