"""Arrays and instruments that the phase-synchronous variants share."""

from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems.phases import Phase, PhaseLog
from relaxometer.problems.sssp import NO_PREDECESSOR, Answer
from relaxometer.problems.sssp._tight_tree import TightTree, leave_two_bits
from relaxometer.problems.variants import NoParameters, SolverBase

BLOCK = 256  # threads per block of all kernels here


def over(threads: int) -> tuple[int, int]:
    """Return grid and block for at least `threads` threads."""
    return (threads + BLOCK - 1) // BLOCK, BLOCK


class Arrays:
    """The arrays of algorithms 1 and 4 of Suzuki et al., on a device.

    Ca has the distances settled so far, as words of the graph's `Lengths`; Ua those proposed, uint64, each
    packed with its predecessor or a flag (see ``_phase_synchronous.cuh``); Pa the predecessors, uint32; Ma 1
    where the distance changed in the phase before, uint8. Skipped if integers may need more than 62 bits.
    """

    def __init__(self, graph: ResidentGraph) -> None:
        self.graph, self.device = graph, graph.device
        xp, n = self.device.xp, graph.n_vertices
        self.n = np.uint32(n)
        lengths = graph.lengths
        self._tree = None
        if lengths.is_wide:
            leave_two_bits(graph)
            self._tree = TightTree(graph)
        self._settled = np.uint64(1 if lengths.is_wide else 32)
        self.Ca = xp.empty(n, dtype=lengths.word)
        self.Ua = xp.empty(n, dtype=xp.uint64)
        self.Pa = xp.empty(n, dtype=xp.uint32)
        self.Ma = xp.empty(n, dtype=xp.uint8)
        self.overflow = xp.zeros(1, dtype=xp.uint32)

    def kernels(self, file: str) -> Any:
        """Compile a ``.cu`` file of this folder."""
        return self.device.module(Path(__file__).with_name(file), options=self.graph.lengths.options)

    def start(self, source: int) -> None:
        """Set the arrays for a search from `source` (lines 2 to 4 of algorithms 1 and 4).

        The paper leaves Ua of the source infinite; here it is zero: an arc back to it improves nothing.
        """
        lengths, self._source = self.graph.lengths, source
        self.Ca.fill(lengths.unreached)
        self.Ua.fill(np.uint64(lengths.unreached) << self._settled)
        self.Pa.fill(NO_PREDECESSOR)
        self.Ma.fill(0)
        self.overflow.fill(0)
        self.Ca[source] = 0
        self.Ua[source] = 0
        self.Pa[source] = source
        self.Ma[source] = 1

    def answer(self, phases: int) -> Answer:
        """Return copies of distances and predecessors, which the next search does not overwrite."""
        overflowed = bool(self.device.item(self.overflow))
        words = self.Ca.copy()
        predecessor = self.Pa.copy() if self._tree is None else self._tree.predecessors(self._source, words)
        return Answer(self.graph.lengths.distance(words), predecessor, phases, overflowed)

    def tally(self) -> tuple[int, int]:
        """Count the vertices set in the mask and their arcs."""
        changed, offsets = self.device.xp.flatnonzero(self.Ma), self.graph.offsets
        return len(changed), int((offsets[changed + 1] - offsets[changed]).sum())


class MaskLog(PhaseLog):
    """A log of phases that update the vertices set in the mask."""

    def __init__(self, arrays: Arrays, phases: list[Phase] | None) -> None:
        self._arrays = arrays
        if phases is not None:
            _, self._arcs = arrays.tally()
        super().__init__(arrays.device, phases)

    def end_phase(self, mode: str) -> None:
        """Record the phase that has just ended."""
        if self.wanted:
            elapsed_ms = self.elapsed_ms()
            updated, following = self._arrays.tally()
            self.end(mode, updated, self._arcs, elapsed_ms)
            self._arcs = following


class OneMode(SolverBase):
    """Base of the solvers whose phases all run in one mode, `AllVertices` or `SelectedVertices`."""

    weight_types: ClassVar = {"uint32", "uint32/uint64", "float32", "float64"}

    def __init__(self, graph: ResidentGraph, parameters: NoParameters, mode: Any, file: str) -> None:
        super().__init__(graph, parameters)
        self._arrays = Arrays(graph)
        self._mode = mode(self._arrays, self._arrays.kernels(file))

    def solve(self, source: int, phases: list[Phase] | None = None) -> Answer:
        """Find the shortest paths from `source`; see :class:`relaxometer.problems.sssp.Solver`."""
        self._arrays.start(source)
        self._mode.start(source)
        log = MaskLog(self._arrays, phases)
        phase = 0
        changed = True
        while changed:
            phase += 1
            changed = self._mode.run(phase)
            log.end_phase(self._mode.name)
        return self._arrays.answer(phase)
