"""Block sizes and logs of the kernels that run a whole search in one launch."""

from typing import Any

import numpy as np

from relaxometer.device import Device
from relaxometer.device.kernels import Kernel, Launch
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems.answers import Ahead, arrays_ahead
from relaxometer.problems.phases import Phase
from relaxometer.problems.variants import Skipped

LOG_ROWS = 1 << 17  # phases that an instrumented run can record separately


def threads_per_block(device: Device, on_gpu: int = 1024) -> int:
    """Return the threads per block: `on_gpu` on a GPU, 128 in the emulation, which runs them in turn."""
    return on_gpu if device.kind == "cuda" else 128


def blocks_at_once(device: Device, kernel: Kernel, threads: int, shared_bytes: int) -> int:
    """Return the blocks of a cooperative launch that run at once; Skipped if one does not fit the device."""
    blocks = device.max_cooperative_blocks(kernel, threads, shared_bytes)
    if blocks == 0:
        raise Skipped(f"a block needs {shared_bytes:,} bytes of shared memory, more than the device has")
    return blocks


def trees_ahead(graph: ResidentGraph, launch: Launch, *words: str) -> Ahead[dict[str, Any]]:
    """Return the arrays for answers: `distance`, `predecessor`, and `words` of one element each."""
    n = graph.n_vertices
    return arrays_ahead(graph, launch, distance=n, predecessor=n, **dict.fromkeys(words, 1))


def logged_phases(rows: np.ndarray[Any, np.dtype[np.uint64]], modes: tuple[str, ...]) -> list[Phase]:
    """Read the phases of a kernel's log.

    A row is the place of the mode in `modes`, vertices updated, arcs relaxed, and the clock at the end in
    nanoseconds; the first row is the start.
    """
    times_ms = np.diff(rows[:, 3].astype(np.int64)) / 1e6
    return [
        Phase(modes[mode], updated, relaxed, ms)
        for (mode, updated, relaxed, _), ms in zip(rows[1:].tolist(), times_ms.tolist(), strict=True)
    ]
