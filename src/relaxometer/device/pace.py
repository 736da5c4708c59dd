"""How fast a device is at what most kernels wait for; measured once per process, in about a millisecond."""

import functools
from pathlib import Path
from typing import NamedTuple

import numpy as np

from relaxometer.device import Device

BYTES = {"cuda": 1 << 26, "host": 1 << 16}
"""Size of the copied array by device kind."""

COPIES = 4
MEETINGS = {"cuda": 64, "host": 4}
REPETITIONS = 3
THREADS = {"cuda": 1024, "host": 128}


class Pace(NamedTuple):
    """Bytes read and written per second, in GB/s, and microseconds of a barrier of all threads."""

    copy_gb_s: float
    barrier_us: float


@functools.cache
def pace_of(device: Device) -> Pace:
    """Return the pace of a device, by the fastest of a few launches."""
    size, meetings, threads = (of[device.kind] for of in (BYTES, MEETINGS, THREADS))
    module = device.module(Path(__file__).with_name("pace.cu"), cooperative=True)
    kernel = module.get_function("copy_and_meet")
    blocks = min(device.multiprocessors, device.max_cooperative_blocks(kernel, threads))
    groups = np.uint32(size // 16)
    source, target = device.empty_arrays((size // 4, np.uint32), (size // 4, np.uint32))

    def fastest(copies: int, meetings: int) -> float:
        times = []
        for _ in range(REPETITIONS):
            with device.timer() as timer:
                kernel(blocks, threads, (np.uint32(copies), groups, source, target, np.uint32(meetings)))
            times.append(timer.ms)
        return min(times)

    launch = fastest(0, 0)
    copy_ms = max(fastest(COPIES, 0) - launch, 1e-6) / COPIES
    return Pace(2 * size / copy_ms / 1e6, 1e3 * max(fastest(0, meetings) - launch, 1e-6) / meetings)
