"""Threads only for the vertices that changed, from a worklist (algorithms 5 and 6 of Suzuki et al.)."""

from typing import Any

import numpy as np

from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems import variants
from relaxometer.problems.sssp.phase_synchronous._phase_synchronous import Arrays, OneMode, over

Parameters = variants.NoParameters


class SelectedVertices:
    """Phases of ``select_relax`` and ``select_update`` over the first `selected` of a list, `NRa`, uint32."""

    name = "selected"

    def __init__(self, arrays: Arrays, module: Any) -> None:
        self._arrays = arrays
        self._select_relax = module.get_function("select_relax")
        self._select_update = module.get_function("select_update")
        xp = arrays.device.xp
        self.NRa = xp.empty(arrays.n, dtype=xp.uint32)
        self._NWa = xp.empty(arrays.n, dtype=xp.uint32)
        self._written = xp.zeros(1, dtype=xp.uint32)
        self._written_before = np.uint32(0)
        self.selected = 0

    def start(self, source: int) -> None:
        """List only the source."""
        self.NRa[0] = source
        self.selected = 1

    @property
    def counter(self) -> tuple[Any, np.uint32]:
        """Arguments of a kernel that appends to a list: a counter, and its value for the empty list."""
        return self._written, self._written_before

    def count(self) -> None:
        """Set `selected` to the number of vertices that a kernel has just appended; the counter may wrap."""
        written = self._arrays.device.item(self._written)
        self.selected = (written - int(self._written_before)) % 2**32
        self._written_before = np.uint32(written)

    def run(self, phase: int) -> bool:
        """Run one phase; return whether any distance changed."""
        a = self._arrays
        _, Va, Ea, Wa = a.graph.csr
        lists = (self._NWa, *self.counter, self.NRa, np.uint32(self.selected))
        self._select_relax(*over(self.selected), (Va, Ea, Wa, a.Ma, *lists, a.Ca, a.Ua, a.overflow))
        self.NRa, self._NWa = self._NWa, self.NRa
        self.count()
        if self.selected:
            update = (a.Ma, self.NRa, np.uint32(self.selected), a.Ca, a.Pa, a.Ua)
            self._select_update(*over(self.selected), update)
        return self.selected > 0


class Solver(OneMode):
    """SSSP by two kernels per phase over a list of the vertices that changed.

    References
    ----------
    Suzuki, Kan, Hayashi and Yoshikawa, "Accelerating SSSP Algorithm on GPU with Adaptive Thread
    Creation", section 5.
    """

    def __init__(self, graph: ResidentGraph, parameters: variants.NoParameters) -> None:
        super().__init__(graph, parameters, SelectedVertices, "selection.cu")
