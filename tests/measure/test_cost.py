"""Energy and memory: meters made by the test, a variant that leaks, and runs without any meter."""

import builtins
import sys
import time
from types import SimpleNamespace

import numpy as np
import pytest

from relaxometer.device import cuda, get_device
from relaxometer.measure import contestant, cost
from relaxometer.measure.variant import measure
from relaxometer.plan.models import Cost, Run, Timing
from relaxometer.problems.sssp.dijkstra import dijkstra_cpu
from relaxometer.results.contexts import cost_warnings
from sample_graphs import sample_graphs

GRAPH = next(graph for graph in sample_graphs().values() if graph.n_vertices > 50)
ORIGINAL = dijkstra_cpu.Solver


class Meter:
    """A device that uses `idle_w` watts and `search_j` joules a search; its counter moves every 2 ms."""

    def __init__(self, idle_w=100.0, search_j=0.0, reasons=0):
        self.idle_w, self.search_j, self.reasons = idle_w, search_j, reasons
        self.begin, self.searches, self.mhz = time.perf_counter(), 0, iter(range(1000, 10**6))

    def joules(self):
        steps = (time.perf_counter() - self.begin) // 0.002
        return steps * 0.002 * self.idle_w + self.searches * self.search_j

    def read(self):
        return cost.Reading(time.perf_counter(), self.joules(), 1 << 20, next(self.mhz), 2600, self.reasons)

    def search(self):
        time.sleep(0.001)
        self.searches += 1


def test_the_idle_power_is_subtracted():
    meter = Meter(search_j=0.5)
    idle_w = cost.idle_watts(meter, 0.05)
    assert idle_w == pytest.approx(100, rel=0.1)
    spent = cost.spend(meter, meter.search, 0.3, 100.0)
    assert spent.energy_j == pytest.approx(0.5, rel=0.05)
    assert spent.gross_j > spent.energy_j + 0.09
    assert spent.seconds >= 0.3
    assert spent.searches <= meter.searches
    assert spent.throttled == ""


def test_clocks_and_what_holds_them_back_are_kept():
    meter = Meter(search_j=0.5, reasons=0x4 | 0x40 | 0x1)
    spent = cost.spend(meter, meter.search, 0.25, 100.0)
    assert spent.throttled == "power cap, hardware thermal"
    assert spent.sm_mhz[0] == 1000 < spent.sm_mhz[1]
    assert spent.nvml_peak_bytes == 1 << 20


def test_a_counter_that_stands_gives_nothing(monkeypatch):
    monkeypatch.setattr(cost, "STALE_S", 0.05)
    meter = Meter(idle_w=0.0)
    assert cost.idle_watts(meter, 0.0) is None
    assert cost.spend(meter, lambda: time.sleep(0.001), 0.1, 0.0) is None


@pytest.mark.parametrize(
    ("used", "leaked"),
    [
        ([1000 + 4096 * number for number in range(16)], 4096),
        ([1000] * 16, 0),
        ([1000, 9000, 70_000, *[90_000] * 13], 0),
        ([1000, 5000] * 8, 0),
        ([1000], 0),
        ([], 0),
    ],
)
def test_only_memory_that_keeps_growing_is_a_leak(used, leaked):
    assert cost.growth(used) == leaked


def test_without_the_package_there_is_no_meter(monkeypatch):
    real = builtins.__import__

    def without(name, *arguments, **options):
        if name == "pynvml":
            raise ModuleNotFoundError(name)
        return real(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", without)
    assert cost.open_nvml() is None


def nvml(**broken):
    """A module as pynvml, with a GPU."""
    functions = {
        "nvmlInit": lambda: None,
        "nvmlDeviceGetHandleByIndex": lambda number: "handle",
        "nvmlDeviceGetHandleByPciBusId": lambda bus: bus.decode(),
        "nvmlDeviceGetTotalEnergyConsumption": lambda handle: 1500,
        "nvmlDeviceGetMemoryInfo": lambda handle: SimpleNamespace(used=7),
        "nvmlDeviceGetClockInfo": lambda handle, clock: 1980 if clock == "sm" else 2619,
        "nvmlDeviceGetCurrentClocksThrottleReasons": lambda handle: 4,
        **{"NVML_CLOCK_SM": "sm", "NVML_CLOCK_MEM": "memory"},
    }
    return SimpleNamespace(**(functions | broken))


def test_the_counters_of_a_gpu_are_read(monkeypatch):
    monkeypatch.setitem(sys.modules, "pynvml", nvml())
    reading = cost.open_nvml("0000:1b:00.0").read()
    assert (reading.joules, reading.used_bytes, reading.sm_mhz, reading.memory_mhz) == (1.5, 7, 1980, 2619)
    assert cost.in_words(reading.reasons) == "power cap"


def test_a_gpu_without_the_counter_has_no_meter(monkeypatch):
    def lacking(handle):
        raise RuntimeError("Not Supported")

    monkeypatch.setitem(sys.modules, "pynvml", nvml(nvmlDeviceGetTotalEnergyConsumption=lacking))
    assert cost.open_nvml() is None


def test_the_counters_of_processors_add_up_and_wrap(tmp_path):
    for number, start in ((0, 10), (1, 900), (2, 500)):
        package = tmp_path / f"intel-rapl:{number}"
        package.mkdir()
        (package / "name").write_text("psys\n" if number == 2 else f"package-{number}\n")
        (package / "max_energy_range_uj").write_text("999\n")
        (package / "energy_uj").write_text(f"{start}\n")
    (tmp_path / "intel-rapl:0:0").mkdir()
    meter = cost.open_rapl(tmp_path)
    (tmp_path / "intel-rapl:0/energy_uj").write_text("110\n")
    (tmp_path / "intel-rapl:1/energy_uj").write_text("50\n")
    assert meter.joules() == pytest.approx((100 + 150) / 1e6)
    assert meter.joules() == pytest.approx((100 + 150) / 1e6)


def test_processors_without_counters_have_no_meter(tmp_path):
    assert cost.open_rapl(tmp_path) is None
    (tmp_path / "intel-rapl:0").mkdir()
    assert cost.open_rapl(tmp_path) is None


def run_of(energy_s):
    return Run(
        problem="sssp",
        graph="g",
        variant="v",
        solver="dijkstra-cpu",
        parameters={},
        timing=Timing(repetitions=4, rounds=1, warmup=0),
        cost=Cost(energy_s=energy_s),
    )


def test_by_default_nothing_is_repeated(monkeypatch):
    monkeypatch.setattr(cost, "open_rapl", lambda: pytest.fail("no meter is wanted"))
    result = measure(run_of(0), GRAPH, np.array([0, 1]), "host")
    assert {row["status"] for row in result.runs} == {"ok"}
    assert all(row.get("energy_j") is None and row.get("peak_bytes") is None for row in result.runs)


def test_the_energy_of_a_search_is_in_all_rows(monkeypatch):
    monkeypatch.setattr(cost, "IDLE_S", 0.05)
    meter = Meter(search_j=0.0)

    class Solver(ORIGINAL):
        def solve(self, source, phases=None):
            meter.search()
            return super().solve(source, phases)

    meter.search_j = 0.25
    monkeypatch.setattr(dijkstra_cpu, "Solver", Solver)
    monkeypatch.setattr(cost, "open_rapl", lambda: meter)
    result = measure(run_of(0.2), GRAPH, np.array([0, 1]), "host")
    energies = {row["energy_j"] for row in result.runs}
    assert len(energies) == 1
    assert energies.pop() == pytest.approx(0.25, rel=0.3)
    assert result.context["cost"]["searches"] > 20
    assert {row["status"] for row in result.runs} == {"ok"}


def test_a_variant_that_leaks_device_memory_is_seen(monkeypatch):
    """The pool of a GPU is the test's: each search of the variant keeps 4,096 bytes."""
    kept = []

    class Leaking(ORIGINAL):
        def solve(self, source, phases=None):
            kept.append(np.zeros(4096, dtype=np.uint8))
            return super().solve(source, phases)

    def pool(device):
        used = sum(array.nbytes for array in kept)
        return used, used

    monkeypatch.setattr(dijkstra_cpu, "Solver", Leaking)
    monkeypatch.setattr(contestant.cost, "pool_bytes", pool)
    result = measure(run_of(0), GRAPH, np.array([0, 1]), "host")
    assert {row["leaked_bytes"] for row in result.runs} == {4096}
    (warning,) = cost_warnings([result.context])
    assert warning == "warning: sssp v on g leaks 4,096 bytes of device memory in each search"


def test_memory_of_a_variant_adds_up_to_what_the_driver_counts(monkeypatch):
    """NVML and the pool are the test's: a context of 500 MiB, kernels of 20 MiB, arrays of 33 MiB."""
    mib, pool = 1 << 20, {"bytes": 3 << 20}
    loaded = []

    class Loading(ORIGINAL):
        def __init__(self, graph, parameters):
            loaded.append(20 * mib)
            pool["bytes"] += 30 * mib * (len(loaded) == 1)
            super().__init__(graph, parameters)

    counter = Meter(search_j=0.0)
    fake = nvml(
        nvmlDeviceGetMemoryInfo=lambda handle: SimpleNamespace(
            used=500 * mib + max([0, *loaded]) + pool["bytes"]
        ),
        nvmlDeviceGetTotalEnergyConsumption=lambda handle: counter.joules() * 1e3,
        nvmlDeviceGetCurrentClocksThrottleReasons=lambda handle: 0,
    )
    monkeypatch.setitem(sys.modules, "pynvml", fake)
    monkeypatch.setattr(Loading, "runs_on", "device", raising=False)
    monkeypatch.setattr(cost, "IDLE_S", 0.05)
    monkeypatch.setattr(dijkstra_cpu, "Solver", Loading)
    monkeypatch.setattr(contestant.cost, "pool_bytes", lambda device: (pool["bytes"], pool["bytes"]))
    monkeypatch.setattr(contestant._VariantProcess, "_open_meter", lambda self: cost.open_nvml())
    result = measure(run_of(0.1), GRAPH, np.array([0, 1]), "host")
    (row,) = {
        tuple(row[name] for name in ("peak_bytes", "nvml_before_bytes", "kernel_bytes", "nvml_peak_bytes"))
        for row in result.runs
    }
    assert row == (33 * mib, 500 * mib, 20 * mib, 553 * mib)
    assert row[0] + row[2] == row[3] - row[1]


def test_the_driver_counts_memory_without_energy_too(monkeypatch):
    """The pool of a GPU is the test's; processes that are timed have no meter."""
    monkeypatch.setitem(sys.modules, "pynvml", nvml())
    monkeypatch.setattr(contestant.cost, "pool_bytes", lambda device: (5, 6))
    monkeypatch.setattr(ORIGINAL, "runs_on", "device")
    result = measure(run_of(0), GRAPH, np.array([0, 1]), "host")
    assert {(row["peak_bytes"], row["nvml_peak_bytes"]) for row in result.runs} == {(6, 7)}
    assert all(row.get("throttled") is None for row in result.runs)


def test_a_failure_of_repeated_searches_is_one_of_the_run(monkeypatch):
    monkeypatch.setattr(cost, "IDLE_S", 0.01)
    monkeypatch.setattr(cost, "open_rapl", Meter)

    class Tiring(ORIGINAL):
        count = 0

        def solve(self, source, phases=None):
            Tiring.count += 1
            if Tiring.count > 12:
                raise MemoryError("the pool is used up")
            return super().solve(source, phases)

    monkeypatch.setattr(dijkstra_cpu, "Solver", Tiring)
    result = measure(run_of(0.2), GRAPH, np.array([0, 1]), "host")
    assert {(row["status"], row["reason"]) for row in result.runs} == {
        ("oom", "repeated searches: the pool is used up")
    }


@pytest.mark.gpu
def test_the_pool_of_a_gpu_is_read():
    if reason := cuda.obstacle():
        pytest.skip(reason)
    device = get_device("cuda")
    before = cost.pool_bytes(device)
    array = device.xp.zeros(1 << 20, dtype=np.uint8)
    used, held = cost.pool_bytes(device)
    assert used >= before[0] + array.nbytes
    assert held >= used
