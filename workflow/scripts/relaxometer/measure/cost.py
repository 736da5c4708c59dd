"""What a search costs besides time: energy, device memory, and whether the clocks were held back.

Energy is that of a counter over repeated searches, less what the idle device uses in the same time. On a GPU
it is NVML's (package ``nvidia-ml-py``), on a CPU that of RAPL, for all processors of the machine. Values are
empty where a counter or the package is missing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Protocol

from relaxometer.device import Device

IDLE_S = 1.0
"""Seconds over which the idle power is measured."""

READ_EVERY_S = 0.1
"""Least seconds between two readings of clocks and memory."""

ENERGY_EVERY_S = 0.001
"""Least seconds between two readings of the energy counter while searches are made."""

IDLE_EVERY_S = 0.005
"""The same while the device does nothing, so that reading costs little energy."""

STALE_S = 1.3
"""A counter that has not moved for this many seconds does not move at all."""

LEAK_BYTES = 1 << 10
"""Smaller growth over all searches is not reported as a leak."""

RAPL = Path("/sys/class/powercap")

THROTTLED = {
    0x0000000000000004: "power cap",
    0x0000000000000008: "hardware slowdown",
    0x0000000000000010: "sync boost",
    0x0000000000000020: "software thermal",
    0x0000000000000040: "hardware thermal",
    0x0000000000000080: "power brake",
}
"""Bits of NVML's clock event reasons that hold clocks back; others say that the GPU is idle or set so."""


@dataclass(frozen=True)
class Reading:
    """One reading of the counters; unavailable ones are None.

    Parameters
    ----------
    seconds : float
        By the host's clock.
    joules : float
        Of an ever growing counter.
    used_bytes : int, optional
        Of device memory, by all processes.
    sm_mhz, memory_mhz : int, optional
    reasons : int
        Bits of `THROTTLED`.
    """

    seconds: float
    joules: float
    used_bytes: int | None = None
    sm_mhz: int | None = None
    memory_mhz: int | None = None
    reasons: int = 0


class Meter(Protocol):
    """A device's counters."""

    def joules(self) -> float:
        """Return the energy since some fixed time."""

    def read(self) -> Reading:
        """Return all counters."""


class Nvml:
    """The counters of a GPU."""

    def __init__(self, nvml: Any, handle: Any) -> None:
        self._nvml, self._handle = nvml, handle

    def joules(self) -> float:
        """Return the energy since the driver was loaded."""
        return float(self._nvml.nvmlDeviceGetTotalEnergyConsumption(self._handle)) / 1e3

    def used_bytes(self) -> int:
        """Return the device memory in use, by all processes."""
        return int(self._nvml.nvmlDeviceGetMemoryInfo(self._handle).used)

    def reasons(self) -> int:
        """Return why the clocks are not at their highest, as bits."""
        return int(self._nvml.nvmlDeviceGetCurrentClocksThrottleReasons(self._handle))

    def read(self) -> Reading:
        """Return all counters."""
        nvml, handle = self._nvml, self._handle
        return Reading(
            time.perf_counter(),
            self.joules(),
            self.used_bytes(),
            int(nvml.nvmlDeviceGetClockInfo(handle, nvml.NVML_CLOCK_SM)),
            int(nvml.nvmlDeviceGetClockInfo(handle, nvml.NVML_CLOCK_MEM)),
            self.reasons(),
        )


class Rapl:
    """The counters of a machine's processors."""

    def __init__(self, packages: list[Path]) -> None:
        self._packages = packages
        self._ranges = [_number(one / "max_energy_range_uj") for one in packages]
        self._last = [_number(one / "energy_uj") for one in packages]
        self._total = 0.0

    def joules(self) -> float:
        """Return the energy since the meter was opened; the counters wrap around."""
        for place, package in enumerate(self._packages):
            now = _number(package / "energy_uj")
            self._total += (now - self._last[place]) % (self._ranges[place] + 1)
            self._last[place] = now
        return self._total / 1e6

    def read(self) -> Reading:
        """Return the only counter there is."""
        return Reading(time.perf_counter(), self.joules())


def _number(file: Path) -> int:
    return int(file.read_text(encoding="ascii"))


def open_nvml(bus_id: str | None = None) -> Nvml | None:
    """Return the counters of a GPU, by default of the first; None without the package, a driver or a counter.

    Parameters
    ----------
    bus_id : str, optional
        As CUDA writes it, such as ``0000:1b:00.0``.
    """
    try:
        import pynvml

        pynvml.nvmlInit()
        if bus_id:
            handle = pynvml.nvmlDeviceGetHandleByPciBusId(bus_id.encode())
        else:
            handle = pynvml.nvmlDeviceGetHandleByIndex(0)
        meter = Nvml(pynvml, handle)
        meter.read()
    except Exception:  # a package, driver, permission or counter is missing: no values
        return None
    return meter


def open_rapl(folder: Path = RAPL) -> Rapl | None:
    """Return the counters of the processors; None where they are not readable."""
    zones = sorted(path for path in folder.glob("intel-rapl:*") if path.name.count(":") == 1)
    try:
        # A zone of the whole platform, "psys", contains the packages.
        packages = [zone for zone in zones if (zone / "name").read_text("ascii").startswith("package")]
        return Rapl(packages) if packages else None
    except (OSError, ValueError):
        return None


@dataclass(frozen=True)
class Spent:
    """What repeated searches cost, each.

    Parameters
    ----------
    energy_j : float
        Less what the idle device uses in the same time.
    gross_j : float
        All that the device used.
    idle_w : float
    searches : int
    seconds : float
        That they took together.
    sm_mhz, memory_mhz : tuple of int, optional
        Lowest and highest clock.
    throttled : str
        Why the clocks were held back, joined by ", "; empty if they were not.
    nvml_peak_bytes : int, optional
        Most device memory in use, by all processes.
    """

    energy_j: float
    gross_j: float
    idle_w: float
    searches: int
    seconds: float
    sm_mhz: tuple[int, int] | None = None
    memory_mhz: tuple[int, int] | None = None
    throttled: str = ""
    nvml_peak_bytes: int | None = None


def idle_watts(meter: Meter, seconds: float = IDLE_S) -> float | None:
    """Return the power of a device that does nothing; None if its counter does not move."""
    begin = _tick(meter, lambda: time.sleep(IDLE_EVERY_S))
    if begin is None:
        return None
    time.sleep(seconds)
    end = _tick(meter, lambda: time.sleep(IDLE_EVERY_S))
    return (end.joules - begin.joules) / (end.seconds - begin.seconds) if end else None


def spend(meter: Meter, search: Callable[[], None], seconds: float, idle_w: float) -> Spent | None:
    """Repeat a search for some seconds; return what one costs, or None if the counter does not move.

    Parameters
    ----------
    meter : Meter
    search : callable
        Makes a search and waits for its end.
    seconds : float
    idle_w : float
        As :func:`idle_watts` has it.
    """
    begin = _tick(meter, search)
    if begin is None:
        return None
    count, readings = 0, [begin]

    def counted() -> None:
        nonlocal count
        search()
        count += 1

    while (now := time.perf_counter()) < begin.seconds + seconds:
        while time.perf_counter() < now + READ_EVERY_S:
            counted()
        readings.append(meter.read())
    end = _tick(meter, counted)
    if end is None or not count:
        return None
    readings.append(end)
    elapsed, joules = end.seconds - begin.seconds, end.joules - begin.joules
    bits = 0
    for reading in readings:
        bits |= reading.reasons
    return Spent(
        (joules - idle_w * elapsed) / count,
        joules / count,
        idle_w,
        count,
        elapsed,
        _ends(reading.sm_mhz for reading in readings),
        _ends(reading.memory_mhz for reading in readings),
        in_words(bits),
        max((reading.used_bytes for reading in readings if reading.used_bytes is not None), default=None),
    )


def _tick(meter: Meter, work: Callable[[], None]) -> Reading | None:
    """Work until the energy counter moves, which it does in steps; return the counters then."""
    first, begin = meter.joules(), time.perf_counter()
    read = begin
    while True:
        work()
        now = time.perf_counter()
        if now < read + ENERGY_EVERY_S:
            continue
        read = now
        if meter.joules() != first:
            return meter.read()
        if now > begin + STALE_S:
            return None


def _ends(values: Iterator[int | None]) -> tuple[int, int] | None:
    known = [value for value in values if value is not None]
    return (min(known), max(known)) if known else None


def in_words(reasons: int) -> str:
    """Return the names of the reasons that hold clocks back."""
    return ", ".join(name for bit, name in THROTTLED.items() if reasons & bit)


def pool_bytes(device: Device) -> tuple[int, int] | None:
    """Return the bytes in use and the peak size of a GPU's memory pool; None on other devices."""
    if device.kind != "cuda":
        return None
    pool = device.xp.get_default_memory_pool()
    # The pool never shrinks by itself, so its size is its peak.
    return int(pool.used_bytes()), int(pool.total_bytes())


def bytes_outside_pool(meter: Meter | None, device: Device) -> int | None:
    """Return the device memory in use, by all processes, outside this process's pool; None if unknown.

    Contexts, kernels and other processes are there. CuPy allocates all arrays in the pool.
    """
    pool = pool_bytes(device)
    return meter.used_bytes() - pool[1] if pool is not None and isinstance(meter, Nvml) else None


def growth(used: Sequence[int]) -> int:
    """Return by how many bytes each search lets the memory in use grow; 0 if it does not keep growing.

    Parameters
    ----------
    used : sequence of int
        Bytes in use after each search. Growth that stops after the first searches, such as a cache's, is not
        a leak.
    """
    later = used[len(used) // 4 :]
    steps = [after - before for before, after in pairwise(later)]
    up, down = (sum(sign * step > 0 for step in steps) for sign in (1, -1))
    grows = up > len(steps) / 2 and down < up / 4
    return (later[-1] - later[0]) // len(steps) if grows and later[-1] - later[0] >= LEAK_BYTES else 0


def bus_id_of(device: Device) -> str | None:
    """Return the PCI bus id of a GPU; None of other devices."""
    with suppress(Exception):  # not a CUDA device
        return str(device.xp.cuda.runtime.deviceGetPCIBusId(device.xp.cuda.Device().id))
    return None
