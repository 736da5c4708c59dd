"""Fixed work, timed before and after each contestant to show whether the speed of the machine changed."""

import math
from pathlib import Path

import numpy as np

from relaxometer.core.errors import UserError
from relaxometer.core.supervision import Child, ChildDied, Link
from relaxometer.device import Device, get_device, stopwatch

CPU_STEPS = 100_000
CPU_TRIES = 4  # about 20 ms together

DEVICE_STEPS = 80_000
DEVICE_TRIES = 20  # about 1.1 ms each on an H200; the first ones bring an idle GPU up to its clock

WARP = 32
MULTIPLIER, INCREMENT, MODULUS = 1_664_525, 1_013_904_223, 1 << 32
"""Constants of the linear congruential generator whose steps are timed."""


def cpu_ms() -> float:
    """Return the milliseconds of a fixed loop on a core, the fastest of several: others may interrupt it."""
    return min(_loop_ms() for _ in range(CPU_TRIES))


def _loop_ms() -> float:
    value = 0
    with stopwatch() as loop:
        for _ in range(CPU_STEPS):
            value = (value * MULTIPLIER + INCREMENT) % MODULUS
    return loop.ms


def device_ms(device: Device) -> float | None:
    """Return the milliseconds of a fixed kernel on a GPU, the fastest of several; None on the emulation."""
    if device.kind == "host":
        return None
    return min(kernel_ms(device, DEVICE_STEPS)[0] for _ in range(DEVICE_TRIES))


def kernel_ms(device: Device, steps: int) -> tuple[float, int]:
    """Return the milliseconds of the kernel, and the number that its first thread ended with."""
    kernel = device.module(Path(__file__).with_name("reference.cu")).get_function("count")
    last = device.xp.zeros(WARP, dtype=np.uint32)
    with device.timer() as timer:
        kernel(1, WARP, (np.uint32(steps), last))
    return timer.ms, int(device.item(last))


def apart_ms(device: str) -> float | None:
    """Return :func:`device_ms` of a process of its own, for one that must not open a device."""
    with Child(_serve, device) as child:
        try:
            found: float | None = child.ask(math.inf)["ms"]
        except ChildDied:
            return None
    return found


def _serve(link: Link, device: str) -> None:
    try:
        link.reply(ms=device_ms(get_device(device)))
    except UserError:  # a missing device, which the prover reports
        link.reply(ms=None)
