"""What a search costs besides time: energy, device memory, and whether the clocks were held back.

Energy is power times time. The device searches and idles in turn; the power of each interval is the slope of
a line through the steps of the energy counter, which another process logs. The power above that of the idle
device at the same time, times the time of a search, is its energy: idle power drifts by a watt while a device
warms up, which is as much as some searches add. Values are empty where a counter or a package is missing.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from relaxometer.device import Device
from relaxometer.device.counters import Meter, Nvml, Reading, in_words
from relaxometer.plan.models import Cost
from relaxometer.race.counter_log import CounterLog

SETTLE_S = 0.25  # seconds before each interval, with the same load: the counter lags, and clocks change
MIN_STEPS = 5  # minimum number of steps of the counter in an interval; with fewer, its power is unknown
SLOW_S = 0.05  # minimum period of a slow counter, whose steps are even, though each is read a little late
EVEN = 0.7  # minimum evenness of the steps, from 0 to 1; readings of others keep their times

MAX_DRIFT_W = 0.3
"""An idle interval may exceed another by this much per repeat between them; others are left out."""

MAX_STRETCH = 4
"""An interval ends after whole passes over all sources, but within this multiple of its length."""

LEAK_BYTES = 1 << 10  # smaller growth over all searches is not reported as a leak


@dataclass(frozen=True)
class Spent:
    """The cost of a search, by repeats; energies are medians of the repeats, with the lowest and the highest.

    `energy_j` is minus what the idle device uses in the same time, `gross_j` all that the device used.
    `idle_w` is the mean of :func:`undisturbed`; `seconds` are those that all `searches` took together.
    `powers_w` and `searches_s` are the power during each repeat and the time of a search in it,
    `idle_powers_w` the power before the first repeat and after each. Clocks are the lowest and highest during
    searches; `throttled` says why they were held back, joined by ", ". `nvml_peak_bytes`: most device memory
    in use, by all processes.
    """

    energy_j: float
    energy_low_j: float
    energy_high_j: float
    gross_j: float
    idle_w: float
    searches: int
    seconds: float
    powers_w: tuple[float, ...]
    searches_s: tuple[float, ...]
    idle_powers_w: tuple[float, ...]
    sm_mhz: tuple[int, int] | None = None
    memory_mhz: tuple[int, int] | None = None
    throttled: str = ""
    nvml_peak_bytes: int | None = None


@dataclass(frozen=True)
class Interval:
    """Time in which a device searches, or idles if there are no `searches`, by the clock of the readings."""

    begin: float
    end: float
    searches: int = 0

    @property
    def search_s(self) -> float:
        """Return the seconds of a search."""
        return (self.end - self.begin) / self.searches

    def within(self, readings: Sequence[Reading]) -> list[Reading]:
        """Return the readings in this interval."""
        return [one for one in readings if self.begin <= one.seconds <= self.end]

    def watts(self, readings: Sequence[Reading], period: float | None) -> float | None:
        """Return the power, by least squares; None with fewer than `MIN_STEPS` steps of the counter."""
        steps = self.within(readings)
        if len(steps) < MIN_STEPS:
            return None
        times = np.array([one.seconds for one in steps]) - steps[0].seconds
        if period is not None:
            times = period * np.round(times / period)
        return float(np.polyfit(times, [one.joules for one in steps], 1)[0])


def planned_s(cost: Cost, search_s: float) -> float:
    """Return the seconds that all intervals may take, if a search takes at most `search_s`."""
    # A search may begin just before the device has settled, and another just before the interval ends.
    searching = SETTLE_S + MAX_STRETCH * cost.energy_s + 2 * search_s
    return cost.repeats * searching + (cost.repeats + 1) * (SETTLE_S + cost.energy_s)


def spend(meter: Meter, search: Callable[[], None], sources: int, cost: Cost) -> Spent | None:
    """Search and idle in turn; return the cost of a search, or None if the counter has too few steps.

    `search` makes a search from the next of the `sources`, whose number is given, and waits for its end.
    """
    with CounterLog(meter) as log:
        idle, busy = [_idle(cost.energy_s)], []
        for _ in range(cost.repeats):
            busy.append(_searches(search, sources, cost.energy_s))
            idle.append(_idle(cost.energy_s))
        readings = log.readings()
    return spent(readings, busy, idle)


def period_of(readings: Sequence[Reading]) -> float | None:
    """Return the seconds between two steps of a slow, even counter, such as NVML's; None of others."""
    times = np.array([one.seconds for one in readings[1:]])  # the first reading is between two steps
    gaps = np.diff(times)
    if not len(gaps) or np.median(gaps) < SLOW_S:
        return None
    since = times - times[0]
    # Gaps are longer where the log missed steps, and a late reading may look as one more.
    steps = np.round(gaps / np.median(gaps)).sum()
    tried = since[-1] / (steps + np.arange(-2, 2.25, 0.25))
    evenness, period = max((abs(np.exp(2j * np.pi * since / period).mean()), period) for period in tried)
    return float(period) if evenness >= EVEN else None


def spent(readings: Sequence[Reading], busy: Sequence[Interval], idle: Sequence[Interval]) -> Spent | None:
    """Return the cost of a search, None if the counter has too few steps; it idles around each repeat."""
    period = period_of(readings)
    powers = [watts for one in busy if (watts := one.watts(readings, period)) is not None]
    idle_w = [watts for one in idle if (watts := one.watts(readings, period)) is not None]
    if len(powers) < len(busy) or len(idle_w) < len(idle):
        return None
    searches_s = [one.search_s for one in busy]
    at_repeats = undisturbed(idle_w)
    gross = np.multiply(powers, searches_s)
    net = gross - at_repeats * searches_s
    during = [reading for one in busy for reading in one.within(readings)]
    bits = 0
    for reading in during:
        bits |= reading.reasons
    return Spent(
        energy_j=float(np.median(net)),
        energy_low_j=float(net.min()),
        energy_high_j=float(net.max()),
        gross_j=float(np.median(gross)),
        idle_w=float(at_repeats.mean()),
        searches=sum(one.searches for one in busy),
        seconds=sum(one.end - one.begin for one in busy),
        powers_w=tuple(powers),
        searches_s=tuple(searches_s),
        idle_powers_w=tuple(idle_w),
        sm_mhz=_ends(reading.sm_mhz for reading in during),
        memory_mhz=_ends(reading.memory_mhz for reading in during),
        throttled=in_words(bits),
        nvml_peak_bytes=max((one.used_bytes for one in during if one.used_bytes is not None), default=None),
    )


def undisturbed(idle_powers_w: Sequence[float]) -> npt.NDArray[np.float64]:
    """Return the idle power at each repeat, from the powers before the first and after each.

    Now and then another process on the machine raises the idle power by some watts; in searches this was not
    seen. An interval is left out if its power exceeds that of any other by more than `MAX_DRIFT_W` per
    repeat between them, and lines join the rest. If that leaves fewer than half, the power is noisy, or the
    device warms up faster, so all are used.
    """
    watts, number = np.array(idle_powers_w), np.arange(len(idle_powers_w))
    allowed = watts + MAX_DRIFT_W * abs(number[:, np.newaxis] - number)
    kept = watts <= allowed.min(axis=1)
    if 2 * kept.sum() < len(watts):
        kept[:] = True
    return np.interp(number[:-1] + 0.5, number[kept], watts[kept])


def _idle(seconds: float) -> Interval:
    time.sleep(SETTLE_S)
    begin = time.perf_counter()
    time.sleep(seconds)
    return Interval(begin, time.perf_counter())


def _searches(search: Callable[[], None], sources: int, seconds: float) -> Interval:
    """Search from all sources in turn for some seconds, after others that let the device settle."""
    settled = time.perf_counter() + SETTLE_S
    while time.perf_counter() < settled:
        search()
    begin, count = time.perf_counter(), 0
    while True:
        search()
        count += 1
        now = time.perf_counter()
        if now >= begin + (MAX_STRETCH if count % sources else 1) * seconds:
            return Interval(begin, now, count)


def _ends(values: Iterator[int | None]) -> tuple[int, int] | None:
    known = [value for value in values if value is not None]
    return (min(known), max(known)) if known else None


def pool_bytes(device: Device) -> tuple[int, int] | None:
    """Return the bytes in use and the peak size of a GPU's memory pool; None on other devices."""
    if device.kind != "cuda":
        return None
    pool = device.xp.get_default_memory_pool()
    # The pool never shrinks by itself, so its size is its peak.
    return int(pool.used_bytes()), int(pool.total_bytes())


def bytes_outside_pool(meter: Meter | None, device: Device) -> int | None:
    """Return the device memory in use, by all processes, outside this process's pool; None if unknown."""
    pool = pool_bytes(device)
    return meter.used_bytes() - pool[1] if pool is not None and isinstance(meter, Nvml) else None


def growth(used: Sequence[int]) -> int:
    """Return by how many bytes each search lets the memory in use grow; 0 if it does not keep growing.

    `used` are the bytes in use after each search. Growth that stops after the first searches, such as a
    cache's, is not a leak.
    """
    later = used[len(used) // 4 :]
    steps = [after - before for before, after in pairwise(later)]
    up, down = (sum(sign * step > 0 for step in steps) for sign in (1, -1))
    grows = up > len(steps) / 2 and down < up / 4
    return (later[-1] - later[0]) // len(steps) if grows and later[-1] - later[0] >= LEAK_BYTES else 0
