"""A binary heap of 64-bit words, compiled with Numba."""

from __future__ import annotations

from functools import cache
from typing import Any


@cache
def compiled_heap() -> tuple[Any, Any]:
    """Compile ``push(heap, size, entry)`` and ``pop(heap, size)``, and import Numba.

    Both work on the first `size` words of the array `heap`; the caller counts them.
    """
    from numba import njit

    @njit(cache=True)
    def push(heap, size, entry):  # type: ignore[no-untyped-def]
        child = size
        while child > 0:
            parent = (child - 1) >> 1
            if heap[parent] <= entry:
                break
            heap[child] = heap[parent]
            child = parent
        heap[child] = entry

    @njit(cache=True)
    def pop(heap, size):  # type: ignore[no-untyped-def]
        top = heap[0]
        last = heap[size - 1]
        hole = 0
        child = 1
        while child < size - 1:
            if child + 1 < size - 1 and heap[child + 1] < heap[child]:
                child += 1
            if last <= heap[child]:
                break
            heap[hole] = heap[child]
            hole = child
            child = 2 * hole + 1
        heap[hole] = last
        return top

    return push, pop
