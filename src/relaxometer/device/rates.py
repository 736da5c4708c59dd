"""The rate at which a device copies memory, a yardstick for the bandwidth of kernels."""

from pathlib import Path
from typing import Any

import numpy as np

from relaxometer.device import Device

BYTES = {"cuda": 1 << 30, "host": 1 << 24}
"""Size of the copied array by device kind; on a GPU much larger than its caches."""

REPETITIONS = 10
BLOCK = 256


def copy_rate(device: Device) -> dict[str, Any]:
    """Measure the rate at which a device copies memory: bytes read and written, by the median of copies."""
    size = BYTES[device.kind]
    source = device.xp.arange(size // 4, dtype=np.uint32)
    target = device.xp.empty_like(source)
    copy = device.module(Path(__file__).with_name("rates.cu")).get_function("copy_words")
    groups = size // 16
    launch = (-(-groups // BLOCK), BLOCK, (np.uint32(groups), source, target))
    copy(*launch)
    times_ms = []
    for _ in range(REPETITIONS):
        with device.timer() as timer:
            copy(*launch)
        times_ms.append(timer.ms)
    rate = 2 * size / float(np.median(times_ms)) / 1e6
    return {"device_kind": device.kind, "device": device.name, "copy_gb_s": rate}
