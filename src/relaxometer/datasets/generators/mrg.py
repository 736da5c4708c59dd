"""The random numbers of Graph500's reference generator: a multiple recursive generator with jumps.

A state is the last five numbers, the newest first; the next is ``107374182 z1 + 104480 z5`` modulo 2**31 - 1.
A step is linear, so a jump of any number of steps is one product with a power of the transition matrix.

References
----------
L'Ecuyer, Blouin and Couture, "A Search for Good Multiple Recursive Random Number Generators", ACM
Transactions on Modeling and Computer Simulation 3, 1993, table 3.
"""

from functools import cache

import numpy as np

from relaxometer.core.compiled import njit

MODULUS = 2**31 - 1
NEWEST, OLDEST = 107374182, 104480
"""The two nonzero multipliers."""

State = tuple[int, ...]
Matrix = tuple[tuple[int, ...], ...]

_TRANSITION: Matrix = (
    (NEWEST, 0, 0, 0, OLDEST),
    (1, 0, 0, 0, 0),
    (0, 1, 0, 0, 0),
    (0, 0, 1, 0, 0),
    (0, 0, 0, 1, 0),
)


def seeded(first: int, second: int) -> State:
    """Spread two 64-bit user seeds over a state, as the reference implementation does; no element is 0."""
    low = 2**30 - 1
    return (
        (first & low) + 1,
        (first >> 30 & low) + 1,
        (second & low) + 1,
        (second >> 30 & low) + 1,
        (second >> 60 << 4) + (first >> 60) + 1,
    )


def advanced(state: State, steps: int) -> State:
    """Return the state `steps` steps later."""
    for bit in range(steps.bit_length()):
        if steps >> bit & 1:
            state = _applied(_power_of_two(bit), state)
    return state


def transition(steps: int) -> Matrix:
    """Return the matrix that advances a state by `steps`."""
    columns = [advanced(tuple(int(i == j) for i in range(5)), steps) for j in range(5)]
    return tuple(zip(*columns, strict=True))


def following(state: State) -> State:
    """Return the next state; its first element is the number drawn."""
    return _applied(_TRANSITION, state)


def _applied(matrix: Matrix, state: State) -> State:
    return tuple(sum(a * z for a, z in zip(row, state, strict=True)) % MODULUS for row in matrix)


@cache
def _power_of_two(bit: int) -> Matrix:
    """Return the matrix of 2**bit steps."""
    if bit == 0:
        return _TRANSITION
    half = _power_of_two(bit - 1)
    columns = [_applied(half, column) for column in zip(*half, strict=True)]
    return tuple(zip(*columns, strict=True))


_MODULUS, _BITS = np.uint64(MODULUS), np.uint64(31)
_NEWEST, _OLDEST = np.uint64(NEWEST), np.uint64(OLDEST)


@njit(cache=True)
def reduced(x: np.uint64) -> np.uint64:
    """Return `x` modulo 2**31 - 1 without a division."""
    x = (x & _MODULUS) + (x >> _BITS)
    x = (x & _MODULUS) + (x >> _BITS)
    return x - _MODULUS if x >= _MODULUS else x


@njit(cache=True)
def drawn(z1: np.uint64, z5: np.uint64) -> np.uint64:
    """Return the number that follows the state (`z1`, ..., `z5`)."""
    return reduced(z1 * _NEWEST + z5 * _OLDEST)


@njit(cache=True)
def apply(matrix: np.ndarray, state: np.ndarray, result: np.ndarray) -> None:
    """Advance `state` into `result`: uint64 arrays of shape (5, 5), (5,) and (5,)."""
    for row in range(5):
        # Each product is below 2**62, so four of them fit; the fifth is added after a reduction.
        total = matrix[row, 0] * state[0] + matrix[row, 1] * state[1]
        total += matrix[row, 2] * state[2] + matrix[row, 3] * state[3]
        result[row] = reduced(reduced(total) + matrix[row, 4] * state[4])
