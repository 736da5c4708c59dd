"""The watch over ranks that hang."""

from __future__ import annotations

import time

import numpy as np

from relaxometer.distributed import watch
from relaxometer.distributed.watch import ALIVE, LIMIT, SINCE, WORKING_S, Watch


def watch_of(rank: int, size: int) -> Watch:
    """Return the watch of a rank without a job or a thread; `_reason` is all that it can do."""
    made = object.__new__(Watch)
    made._me, made._names, made._size, made._kind = rank, list(range(size)), size, "host"
    return made


def page_of(size: int, now: float) -> np.ndarray:
    """Return the page of ranks that work."""
    page = np.zeros((size, 4))
    page[:, LIMIT], page[:, ALIVE] = WORKING_S, now
    return page


def test_a_rank_that_has_not_begun_does_not_hang():
    """Its row is empty: it has not yet noted how long it may take."""
    now = time.monotonic()
    page = page_of(2, now)
    page[0, SINCE], page[1] = now - watch.INTERVAL_S, 0
    assert watch_of(0, 2)._reason(page, np.full(2, watch.INTERVAL_S), now) is None
    assert watch_of(0, 2)._reason(page, np.full(2, WORKING_S - 1), now) is None


def test_a_rank_that_never_begins_hangs():
    now = time.monotonic()
    page = page_of(2, now)
    page[0, SINCE], page[1] = now - WORKING_S - 1, 0
    reason = watch_of(0, 2)._reason(page, np.full(2, WORKING_S + 1), now)
    assert reason == "rank 1 of 2 hangs: no progress for 601 s"
