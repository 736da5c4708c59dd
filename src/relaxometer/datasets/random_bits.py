"""Random numbers by index: any part of a stream can be generated on its own, in any order.

The number at index `i` is the output of SplitMix64 after `i` + 1 steps from the stream's key.

References
----------
Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014.
"""

from enum import IntEnum
from typing import Any

import numpy as np
import numpy.typing as npt

from relaxometer.core.compiled import njit, prange

Bits = npt.NDArray[np.uint64]


class Purpose(IntEnum):
    """The purpose of a stream; each purpose has its own numbers."""

    ENDS = 1
    WEIGHTS = 2
    ORDER = 3
    DIAGONALS = 4
    JITTER = 5
    TREE = 6
    BRANCHES = 7
    LOOPS = 8
    GOTOS = 9
    POTENTIALS = 10
    POINTS = 11
    REWIRED = 12


_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FACTORS = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_SHIFTS = np.uint64(30), np.uint64(27), np.uint64(31)
_HALF = np.uint64(32)


def stream(seed: int, purpose: Purpose) -> np.uint64:
    """Return the key of the stream for `seed` and `purpose`."""
    of_seed = np.uint64(number(np.uint64(seed % 2**64), 0))
    return np.uint64(number(of_seed, int(purpose)))


def bits(key: np.uint64, start: int, stop: int) -> Bits:
    """Return the numbers `start` to `stop` - 1 of a stream: uint64, all bits random."""
    result = np.empty(stop - start, dtype=np.uint64)
    _fill(key, start, result)
    return result


@njit(cache=True)
def number(key: np.uint64, index: int) -> np.uint64:
    """Return one number of a stream."""
    x = key + (np.uint64(index) + np.uint64(1)) * _GOLDEN
    x = (x ^ (x >> _SHIFTS[0])) * _FACTORS[0]
    x = (x ^ (x >> _SHIFTS[1])) * _FACTORS[1]
    return x ^ (x >> _SHIFTS[2])


@njit(cache=True)
def below(number: Any, limit: np.uint64) -> Any:
    """Map a number, or an array of them, to 0 .. `limit` - 1; the limit is at most 2**32.

    All values are equally likely up to a relative error of `limit` / 2**32.
    """
    return ((number >> _HALF) * limit) >> _HALF


@njit(parallel=True, cache=True)
def _fill(key: np.uint64, start: int, result: np.ndarray) -> None:
    for i in prange(len(result)):
        result[i] = number(key, start + i)
