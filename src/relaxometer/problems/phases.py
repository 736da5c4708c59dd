"""The record of one phase of an instrumented run, the same for every problem."""

import time
from dataclasses import dataclass

from relaxometer.device import Device


@dataclass(frozen=True)
class Phase:
    """One phase of a search."""

    mode: str  # how it was run, in the variant's own terms, such as "all" vertices or "top-down"
    updated: int  # vertices whose part of the answer changed
    relaxed_arcs: int  # arcs examined
    time_ms: float  # without the counting


class PhaseLog:
    """Appends a :class:`Phase` for each phase that the host launches and times; nothing without a list."""

    def __init__(self, device: Device, phases: list[Phase] | None) -> None:
        self._device, self._phases = device, phases
        self.wanted = phases is not None
        self.begin()

    def begin(self) -> None:
        """Start timing a phase; counting between two phases is not timed."""
        if self.wanted:
            self._device.synchronize()
            self._begin = time.perf_counter()

    def elapsed_ms(self) -> float:
        """Return the time since the phase began."""
        self._device.synchronize()
        return (time.perf_counter() - self._begin) * 1e3

    def end(self, mode: str, updated: int, relaxed_arcs: int, elapsed_ms: float) -> None:
        """Record a phase and begin the next."""
        if self._phases is not None:
            self._phases.append(Phase(mode, updated, relaxed_arcs, elapsed_ms))
            self.begin()
