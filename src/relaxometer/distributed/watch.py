"""Notices a rank that hangs, while others wait for it, and ends the job.

The ranks of a host share a page. Each notes there when it began to wait for others, how often it has, and how
long it may take until it does so again. A thread of each rank reads the page: if this rank waits, and another
one has neither waited nor got on for longer than it may, that one hangs.
"""

from __future__ import annotations

import mmap
import os
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from relaxometer.distributed import process

WORKING_S = 600.0
"""Seconds that a rank may take between two steps that it shares with others, except in a search."""

MARGIN_S = 4.0
"""Seconds by which a search may exceed its patience, since a kernel that waited too long knows more."""

INTERVAL_S = 0.5

STEPS, SINCE, LIMIT, ALIVE = range(4)
"""Columns of the page: steps taken; since when a rank waits, else 0; seconds that a step may take; and when
the rank's thread last ran."""


class Watch:
    """The watch of one rank, given the communicator of its host's ranks, and their ranks in the whole job."""

    def __init__(self, host: Any, names: list[int], size: int, kind: str) -> None:
        self._page, path = _shared_page(host)
        self._me, self._names, self._size = int(host.rank), names, size
        self._depth, self._kind = 0, kind
        self._page[self._me] = 0, 0, WORKING_S, time.monotonic()
        if host.size > 1:
            threading.Thread(target=self._run, daemon=True).start()
        with self.waiting():
            host.Barrier()
        if host.rank == 0:
            path.unlink()

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Mark a block in which this rank waits for others."""
        own = self._page[self._me]
        self._depth += 1
        if self._depth == 1:
            own[STEPS] += 1
            own[SINCE] = time.monotonic()
        try:
            yield
        finally:
            self._depth -= 1
            if self._depth == 0:
                own[SINCE] = 0

    @contextmanager
    def searching(self) -> Iterator[None]:
        """Mark a block whose steps are short."""
        own = self._page[self._me]
        own[LIMIT] = self._patience_s
        try:
            yield
        finally:
            own[LIMIT] = WORKING_S

    @property
    def _patience_s(self) -> float:
        return process.PATIENCE_S[self._kind] + MARGIN_S

    def _run(self) -> None:
        changed = np.full(len(self._page), time.monotonic())
        steps = self._page[:, STEPS].copy()
        while True:
            time.sleep(INTERVAL_S)
            now = time.monotonic()
            self._page[self._me, ALIVE] = now
            page = self._page.copy()
            changed[page[:, STEPS] != steps] = now
            steps = page[:, STEPS].copy()
            reason = self._reason(page, now - changed, now)
            if reason is not None:
                print(f"error: {reason}", file=sys.stderr, flush=True)
                os._exit(1)  # the launcher ends the others

    def _reason(self, page: np.ndarray, idle_s: np.ndarray, now: float) -> str | None:
        """Say which rank hangs, if this one is the first to notice."""
        waits, silent_s = page[:, SINCE] > 0, now - page[:, ALIVE]
        witnesses = np.flatnonzero(waits & (silent_s < MARGIN_S))
        if not len(witnesses) or witnesses[0] != self._me:
            return None
        has_begun = page[:, ALIVE] > 0  # written last: before, the row may be empty
        late = idle_s > np.where(has_begun, page[:, LIMIT], WORKING_S)
        stopped = has_begun & (np.minimum(idle_s, silent_s) > self._patience_s)
        guilty = np.flatnonzero(stopped | late & ~waits)
        if len(guilty):
            rank = int(guilty[0])
            state = "has stopped" if stopped[rank] else "hangs"
            return f"rank {self._names[rank]} of {self._size} {state}: no progress for {idle_s[rank]:.0f} s"
        if late.all():
            return f"all ranks of this host wait for each other: no progress for {idle_s.min():.0f} s"
        return None


def _shared_page(host: Any) -> tuple[np.ndarray, Path]:
    """Return zeros of shape (n_ranks, 4) that the ranks of a host share, and the file that holds them."""
    n_bytes = int(host.size) * 4 * 8
    name = None
    if host.rank == 0:
        handle, name = tempfile.mkstemp(prefix="relaxometer-ranks-")
        os.ftruncate(handle, n_bytes)
        os.close(handle)
    path = Path(host.bcast(name))
    with path.open("r+b") as file:
        memory = mmap.mmap(file.fileno(), n_bytes)
    return np.frombuffer(memory, dtype=np.float64).reshape(-1, 4), path
