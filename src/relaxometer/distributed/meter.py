"""How much memory a rank takes on its GPU."""

from __future__ import annotations

from typing import Any

from relaxometer.device import Device


class Meter:
    """Measures the most memory taken on a rank's GPU in each phase of a run, as the driver counts it.

    CuPy's pool keeps freed memory until `release`, so the memory taken at the end of a phase is its peak. On
    the host device nothing is measured.
    """

    def __init__(self, device: Device) -> None:
        self._cupy: Any = device.xp if device.kind == "cuda" else None
        self.begin()

    def begin(self) -> None:
        """Count from what is free now; `taken` are the bytes of each phase."""
        self.taken: dict[str, int] = {}
        if self._cupy:
            self._cupy.get_default_memory_pool().free_all_blocks()
            self._before = self._free()

    def _free(self) -> int:
        return int(self._cupy.cuda.runtime.memGetInfo()[0])

    def note(self, phase: str) -> None:
        """Note the memory taken in a phase."""
        if self._cupy:
            self.taken[phase] = max(self.taken.get(phase, 0), self._before - self._free())

    def release(self, phase: str) -> None:
        """Note the memory taken, and have CuPy give back what it does not use."""
        self.note(phase)
        if self._cupy:
            self._cupy.get_default_memory_pool().free_all_blocks()
