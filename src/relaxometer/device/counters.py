"""Counters of a device's energy, memory and clocks: NVML's of a GPU, RAPL's of processors.

NVML needs the package ``nvidia-ml-py``, which comes with CuPy. RAPL counts all processors of the machine.
"""

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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

    `seconds` are by the host's clock, `joules` of an ever growing counter, `used_bytes` of device memory by
    all processes, and `reasons` bits of `THROTTLED`.
    """

    seconds: float
    joules: float
    used_bytes: int | None = None
    sm_mhz: int | None = None
    memory_mhz: int | None = None
    reasons: int = 0


class Nvml:
    """The counters of a GPU."""

    def __init__(self, nvml: Any, handle: Any, bus_id: str | None) -> None:
        self._nvml, self._handle, self._bus_id = nvml, handle, bus_id

    def arguments(self) -> list[str]:
        """Return the words from which `open_named` opens the same counters in another process."""
        return ["nvml", *([self._bus_id] if self._bus_id else [])]

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

    def arguments(self) -> list[str]:
        """Return how `open_named` opens them in another process."""
        return ["rapl", str(self._packages[0].parent)]

    def read(self) -> Reading:
        """Return the only counter there is."""
        return Reading(time.perf_counter(), self.joules())


Meter = Nvml | Rapl
"""A device's counters."""


def _number(file: Path) -> int:
    return int(file.read_text(encoding="ascii"))


def open_nvml(bus_id: str | None = None) -> Nvml | None:
    """Return the counters of a GPU, by default of the first; None without the package, a driver or a counter.

    `bus_id` is as CUDA writes it, such as ``0000:1b:00.0``.
    """
    try:
        meter = Nvml(*_nvml_of(bus_id), bus_id)
        meter.read()
    except Exception:  # a package, driver, permission or counter is missing: no values
        return None
    return meter


def _nvml_of(bus_id: str | None) -> tuple[Any, Any]:
    """Return NVML and its handle of a GPU, by default of the first."""
    import pynvml

    pynvml.nvmlInit()
    if bus_id:
        return pynvml, pynvml.nvmlDeviceGetHandleByPciBusId(bus_id.encode())
    return pynvml, pynvml.nvmlDeviceGetHandleByIndex(0)


def state_of(bus_id: str | None) -> dict[str, str]:
    """Return a GPU's driver, clocks, temperature, power and modes; without what NVML does not tell."""
    try:
        nvml, gpu = _nvml_of(bus_id)
    except Exception:  # the package or the driver is missing
        return {}

    def megahertz(of: str, clock: int) -> str:
        return str(getattr(nvml, f"nvmlDeviceGet{of}")(gpu, clock))

    def watts(of: str) -> str:
        return f"{getattr(nvml, f'nvmlDeviceGetPower{of}')(gpu) / 1e3:.2f}"

    def mode(is_on: int) -> str:
        return "Enabled" if is_on else "Disabled"

    sm, memory = nvml.NVML_CLOCK_SM, nvml.NVML_CLOCK_MEM
    asked: dict[str, Callable[[], str]] = {
        "driver": nvml.nvmlSystemGetDriverVersion,
        "sm_clock_mhz": lambda: megahertz("ClockInfo", sm),
        "memory_clock_mhz": lambda: megahertz("ClockInfo", memory),
        "max_sm_clock_mhz": lambda: megahertz("MaxClockInfo", sm),
        "max_memory_clock_mhz": lambda: megahertz("MaxClockInfo", memory),
        "temperature_c": lambda: str(nvml.nvmlDeviceGetTemperature(gpu, nvml.NVML_TEMPERATURE_GPU)),
        "power_w": lambda: watts("Usage"),
        "power_limit_w": lambda: watts("ManagementLimit"),
        "persistence_mode": lambda: mode(nvml.nvmlDeviceGetPersistenceMode(gpu)),
        "ecc": lambda: mode(nvml.nvmlDeviceGetEccMode(gpu)[0]),
        "clocks_event_reasons": lambda: f"{nvml.nvmlDeviceGetCurrentClocksThrottleReasons(gpu):#018x}",
    }
    told = {}
    for name, ask in asked.items():
        with suppress(nvml.NVMLError):  # not of this GPU
            told[name] = ask()
    return told


def open_rapl(folder: Path = RAPL) -> Rapl | None:
    """Return the counters of the processors; None where they are not readable."""
    zones = sorted(path for path in folder.glob("intel-rapl:*") if path.name.count(":") == 1)
    try:
        # A zone of the whole platform, "psys", contains the packages.
        packages = [zone for zone in zones if (zone / "name").read_text("ascii").startswith("package")]
        return Rapl(packages) if packages else None
    except (OSError, ValueError):
        return None


def open_named(kind: str, *place: str) -> Meter | None:
    """Return the counters that the ``arguments()`` of others describe."""
    return open_nvml(*place) if kind == "nvml" else open_rapl(*map(Path, place))


def in_words(reasons: int) -> str:
    """Return the names of the reasons that hold clocks back."""
    return ", ".join(name for bit, name in THROTTLED.items() if reasons & bit)
