"""Compiled functions, which release Python's lock, called for ranges of items on all cores."""

from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from typing import Any

from relaxometer.core.compiled import get_num_threads

LEAST = 1 << 12  # vertices for which a call is worth its overhead
CALLS = 16  # at most: each takes some 30 µs of Python, during which no other begins


def threads() -> ThreadPoolExecutor:
    """Return a thread for each core."""
    return ThreadPoolExecutor(get_num_threads())


def width(n: int, least: int | None = None) -> int:
    """Return how many of n items to take in a call, at least `least`, or `LEAST`."""
    return max(least or LEAST, -(-n // CALLS))


def begin(
    pool: Executor, n: int, function: Callable[..., Any], *arguments: Any, least: int | None = None
) -> list[Future[Any]]:
    """Begin to call a function for ranges of n items, whose bounds are its last arguments."""
    step = width(n, least)
    return [pool.submit(function, *arguments, k, min(k + step, n)) for k in range(0, n, step)]


def call(
    pool: Executor, n: int, function: Callable[..., Any], *arguments: Any, least: int | None = None
) -> list[Any]:
    """Do so, and return what the calls returned."""
    return [one.result() for one in begin(pool, n, function, *arguments, least=least)]
