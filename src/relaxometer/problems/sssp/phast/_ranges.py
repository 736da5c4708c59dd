"""Compiled functions, which release Python's lock, called for ranges of items on all cores."""

from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any

import numpy as np

LEAST = 1 << 12  # vertices for which a call is worth its overhead
CALLS = 16  # at most: each takes some 30 µs of Python, during which no other begins


def width(n: int, least: int | None = None) -> int:
    """Return how many of n items to take in a call, at least `least`, or `LEAST`."""
    return max(least or LEAST, -(-n // CALLS))


def begin(
    pool: Executor, n: int, function: Callable[..., Any], *arguments: Any, least: int | None = None
) -> list[Future[Any]]:
    """Begin to call a function for ranges of n items, whose bounds are its last arguments."""
    step = width(n, least)
    return [pool.submit(function, *arguments, k, min(k + step, n)) for k in range(0, n, step)]


def call(pool: Executor, n: int, function: Callable[..., Any], *arguments: Any) -> list[Any]:
    """Do so, and return what the calls returned."""
    return [one.result() for one in begin(pool, n, function, *arguments)]


def table(rows: int, columns: int, dtype: Any) -> tuple[Any, ...]:
    """Return the rows of a new table; compiled functions take them apart."""
    return tuple(np.empty((rows, columns), dtype=dtype))
