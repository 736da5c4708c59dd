"""Compiled functions, which release Python's lock, called for ranges of items on all cores."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any

RANGE = 1 << 15  # vertices of a map that a thread takes at a time


def begin(
    pool: Executor, n: int, function: Callable[..., Any], *arguments: Any, width: int | None = None
) -> list[Future[Any]]:
    """Begin to call a function for ranges of n items, whose bounds are its last arguments."""
    step = width or RANGE
    return [pool.submit(function, *arguments, k, min(k + step, n)) for k in range(0, n, step)]


def call(
    pool: Executor, n: int, function: Callable[..., Any], *arguments: Any, width: int | None = None
) -> list[Any]:
    """Do so, and return what the calls returned."""
    return [one.result() for one in begin(pool, n, function, *arguments, width=width)]
