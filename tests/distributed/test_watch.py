"""The watch over ranks that hang."""

import time

import numpy as np
import pytest

from relaxometer.distributed import watch
from relaxometer.distributed.watch import ALIVE, LIMIT, SINCE, WORKING_S, Watch


def watch_of(rank: int, size: int) -> Watch:
    """Return the watch of a rank without a job or a thread; `_reason` is all that it can do."""
    made = object.__new__(Watch)
    made._me, made._names, made._size, made._kind = rank, list(range(size)), size, "host"
    return made


@pytest.mark.parametrize(
    ("idle_s", "reason"),
    [
        (watch.INTERVAL_S, None),
        (WORKING_S - 1, None),
        (WORKING_S + 1, "rank 1 of 2 hangs: no progress for 601 s"),
    ],
)
def test_a_rank_that_has_not_begun_hangs_only_after_a_while(idle_s, reason):
    """Its row is empty: it has not yet noted how long it may take."""
    now = time.monotonic()
    page = np.zeros((2, 4))
    page[0, SINCE], page[0, LIMIT], page[0, ALIVE] = now - idle_s, WORKING_S, now
    assert watch_of(0, 2)._reason(page, np.full(2, idle_s), now) == reason
