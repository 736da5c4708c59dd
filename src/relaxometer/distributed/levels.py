"""The record of each level of an instrumented run, over all ranks; and the shape of launches."""

from __future__ import annotations

import time
from dataclasses import dataclass

from relaxometer.device import Device
from relaxometer.distributed.comm import Ranks
from relaxometer.problems.bfs._levels import BLOCK

MAX_BLOCKS = {"cuda": 1 << 16, "host": 8}


def over(device: Device, threads: int) -> tuple[int, int]:
    """Return grid and block for `threads` threads, or fewer that take several items each."""
    return max(1, min(-(-threads // BLOCK), MAX_BLOCKS[device.kind])), BLOCK


@dataclass(frozen=True)
class Level:
    """One level of an instrumented search: vertices found, arcs examined and bytes sent by all ranks.

    `mode` is ``"top-down"`` or ``"bottom-up"``; ``"parents"`` for the exchange after the last level;
    ``"near"``. Times are those of the slowest rank, `computing_ms` and `communication_ms` without waiting for
    other ranks. `plain_bytes` are without compression.
    """

    mode: str
    updated: int
    relaxed_arcs: int
    time_ms: float
    computing_ms: float
    communication_ms: float
    sent_bytes: int
    plain_bytes: int


class LevelClock:
    """Appends a :class:`Level` for each level of an instrumented run; does nothing without a list."""

    def __init__(self, ranks: Ranks, levels: list[Level] | None) -> None:
        self._ranks, self._levels = ranks, levels
        self.wanted = levels is not None
        self._ranks.traffic.timed = self.wanted
        self._begin()

    def _begin(self) -> None:
        if self.wanted:
            self._ranks.barrier()
            self._ranks.traffic.reset()
            self._start = time.perf_counter()

    def end(self, mode: str, updated: int, relaxed_arcs: int) -> None:
        """Record a level and begin the next; `relaxed_arcs` are this rank's."""
        if self._levels is None:
            return
        self._ranks.device.synchronize()
        elapsed = time.perf_counter() - self._start
        traffic = self._ranks.traffic
        computing = elapsed - traffic.seconds - traffic.waiting_s
        times = self._ranks.reduce([elapsed * 1e3, computing * 1e3, traffic.seconds * 1e3], "max")
        relaxed, *sent = self._ranks.reduce([relaxed_arcs, traffic.bytes, traffic.plain_bytes])
        self._levels.append(Level(mode, updated, relaxed, times[0], times[1], times[2], sent[0], sent[1]))
        self._begin()

    def close(self) -> None:
        """Stop timing the traffic."""
        self._ranks.traffic.timed = False
