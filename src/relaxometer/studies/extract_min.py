"""Table 1 of the survey: times of ExtractMin by reductions with several block sizes and by other methods.

Every round extracts the smallest of `n` values and puts it back larger. CUB only searches.

References
----------
"Single-source shortest paths in parallel with CUDA" (survey, in Chinese), section 3.2 and table 1.
"""

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from relaxometer.core.environment import cpu_model
from relaxometer.device import Device, stopwatch
from relaxometer.problems.sssp.dijkstra._extract_min import THREADS, blocks_for

SIZES = tuple(10**exponent for exponent in range(8))

VALUES_BELOW = 2**30

STEP = 2**20

TRIALS = 9
"""Repetitions of a measurement; below six there would be no verdict on it."""

MAX_ROUNDS = 1000
"""As in the survey; no value exceeds 2**32 in this many rounds."""

TRIAL_MS = {"cuda": 100.0, "cpu": 100.0, "host": 5.0}
"""Approximate length of a trial by device kind."""

TABLE = pa.schema(
    [
        *[("method", pa.string()), ("threads", pa.int32()), ("values", pa.int64()), ("trial", pa.int32())],
        *[("rounds", pa.int32()), ("time_ms", pa.float64()), ("device_kind", pa.string())],
        ("device", pa.string()),
    ]
)
"""One row per trial: the mean time of its rounds. `threads` is null for methods without blocks."""

Method = Callable[[int], float]
"""Runs a number of rounds and returns their time in milliseconds."""


class Reduction:
    """ExtractMin by the kernels of `dijkstra`, on uint32 `values` with this many threads per block."""

    def __init__(self, device: Device, values: npt.NDArray[np.uint32], threads: int) -> None:
        module = device.module(Path(__file__).with_name("extract_min.cu"))
        self._minima_of_blocks = module.get_function("minima_of_blocks")
        self._extract = module.get_function("extract")
        self._device = device
        self._threads = threads
        self._blocks = blocks_for(len(values), threads)
        self._values = device.asarray(values)
        self._minima = device.xp.empty(self._blocks, dtype=np.uint64)
        self.order = device.xp.empty(MAX_ROUNDS, dtype=np.uint32)

    def __call__(self, rounds: int) -> float:
        """Run this many rounds; return their time in milliseconds."""
        n, blocks = np.uint32(len(self._values)), np.uint32(self._blocks)
        with self._device.timer() as timer:
            for number in range(rounds):
                self._minima_of_blocks(self._blocks, self._threads, (n, self._values, self._minima))
                arguments = (blocks, self._minima, np.uint32(STEP), np.uint32(number))
                self._extract(1, self._threads, (*arguments, self._values, self.order))
        return timer.ms


def cub(device: Device, values: npt.NDArray[np.uint32]) -> Method:
    """Return only the search, on a GPU, by CuPy's ``argmin``, which calls CUB's device-wide reduction."""
    on_device = device.asarray(values)

    def search(rounds: int) -> float:
        with device.timer() as timer:
            for _ in range(rounds):
                on_device.argmin()
        return timer.ms

    return search


class OnCpu:
    """ExtractMin on one CPU core, by a ``"loop"`` over all values or by a ``"heap"``."""

    def __init__(self, name: str, values: npt.NDArray[np.uint32]) -> None:
        self._run = _compiled()[name]
        if name == "heap":
            self._state = values.astype(np.uint64) << np.uint64(32) | np.arange(len(values), dtype=np.uint64)
            self._state.sort()
        else:
            self._state = values.copy()
        self.order = np.empty(MAX_ROUNDS, dtype=np.uint32)

    def __call__(self, rounds: int) -> float:
        """Run this many rounds; return their time in milliseconds."""
        with stopwatch() as timer:
            self._run(self._state, rounds, self.order)
        return timer.ms


@cache
def _compiled() -> dict[str, Any]:
    """Compile the loop and the heap; Numba is imported only where they run."""
    from relaxometer.core.compiled import njit
    from relaxometer.problems.sssp.dijkstra._heap import pop, push

    step = np.uint32(STEP)
    heap_step = np.uint64(STEP << 32)

    @njit(cache=True)
    def loop(values, rounds, order):  # type: ignore[no-untyped-def]
        for number in range(rounds):
            smallest = 0
            for i in range(1, len(values)):
                if values[i] < values[smallest]:
                    smallest = i
            order[number] = smallest
            values[smallest] += step

    @njit  # not kept: Numba would not find a function with compiled ones in its closure
    def heap(words, rounds, order):  # type: ignore[no-untyped-def]
        for number in range(rounds):
            smallest = pop(words, len(words))
            order[number] = np.uint32(smallest)
            push(words, len(words) - 1, smallest + heap_step)

    return {"loop": loop, "heap": heap}


def draw_values(n: int, seed: int) -> npt.NDArray[np.uint32]:
    """Draw the values to search, shape (n,), uint32."""
    return np.random.default_rng(seed).integers(0, VALUES_BELOW, n, dtype=np.uint32)


def methods(device: Device, values: npt.NDArray[np.uint32]) -> Iterator[tuple[str, int | None, str, Method]]:
    """Yield name, threads per block, device kind and the method, for each one available on the device."""
    for threads in THREADS:
        yield "reduction", threads, device.kind, Reduction(device, values, threads)
    if device.kind == "cuda":
        yield "cub", None, device.kind, cub(device, values)
    for name in ("loop", "heap"):
        yield name, None, "cpu", OnCpu(name, values)


def time_all(device: Device, *, seed: int, trials: int = TRIALS, sizes: tuple[int, ...] = SIZES) -> pa.Table:
    """Time every method on every size, `trials` times after one untimed round; `seed` draws the values."""
    names = {device.kind: device.name, "cpu": cpu_model()}
    rows = []
    for n in sizes:
        values = draw_values(n, seed)
        for name, threads, kind, method in methods(device, values):
            method(1)
            rounds = int(np.clip(TRIAL_MS[kind] / method(1), 1, MAX_ROUNDS // (trials + 1)))
            for trial in range(trials):
                time_ms = method(rounds) / rounds
                row = {"method": name, "threads": threads, "values": n, "trial": trial, "rounds": rounds}
                rows.append(row | {"time_ms": time_ms, "device_kind": kind, "device": names[kind]})
    return pa.Table.from_pylist(rows, TABLE)
