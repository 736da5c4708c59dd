"""Progress of long steps as plain lines, readable on a terminal and in a log."""

import sys
import time

INTERVAL_S = 2.0


class Progress:
    """Prints the progress of a step of `total` parts at most every two seconds."""

    def __init__(self, what: str, total: int) -> None:
        self._what = what
        self._total = total
        self._done = 0
        self._start = self._shown = time.monotonic()

    def step(self) -> None:
        """Count one part as done."""
        self._done += 1
        now = time.monotonic()
        if now - self._shown >= INTERVAL_S:
            self._shown = now
            elapsed = now - self._start
            print(
                f"{self._what}: {self._done} of {self._total}, {elapsed:.0f} s", file=sys.stderr, flush=True
            )
