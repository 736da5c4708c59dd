"""Energy and memory: meters made by the test, a variant that leaks, and runs without any meter."""

import dataclasses
import json
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import race_runs
from race_runs import ORIGINAL, measured
from relaxometer.device import counters, cuda, get_device
from relaxometer.device.counters import Reading
from relaxometer.plan.models import Cost
from relaxometer.problems.sssp.dijkstra import dijkstra_cpu
from relaxometer.race import contestant, cost, counter_log
from relaxometer.race.counter_log import CounterLog
from relaxometer.results.contexts import cost_warnings

IDLE_W, SEARCHING_W = 100.0, 180.0


def readings_of(busy, idle, step_s=0.1, drift_w=0.0):
    """The readings of a counter in steps, 20 ms late, of a device with two powers that drift."""
    end, joules, found = max(one.end for one in [*busy, *idle]), 0.0, []
    for millisecond in range(round(end * 1000)):
        now = millisecond / 1000
        searches = any(one.begin - 0.25 <= now - 0.02 < one.end for one in busy)
        joules += ((SEARCHING_W if searches else IDLE_W) + drift_w * now) / 1000
        if millisecond % round(step_s * 1000) == 0:
            found.append(Reading(now, joules, 1 << 20, 1000 + millisecond, 2600, 0x1))
    return found


def in_turn(repeats, searches):
    """Intervals of 1 and 1.5 s in which the device idles and searches, each after 0.25 s."""
    begins = [3 * at for at in range(repeats + 1)]
    idle = [cost.Interval(begin + 0.25, begin + 1.25) for begin in begins]
    busy = [
        cost.Interval(begin + 1.5, begin + 3, number) for begin, number in zip(begins, searches, strict=False)
    ]
    return busy, idle


def test_the_idle_power_is_subtracted_from_each_repeat():
    busy, idle = in_turn(3, [1500, 1000, 3000])
    found = cost.spent(readings_of(busy, idle), busy, idle)
    assert (found.energy_low_j, found.energy_high_j) == pytest.approx((0.04, 0.12), rel=0.001)
    assert (found.energy_j, found.gross_j) == pytest.approx((0.08, 0.18), rel=0.001)
    assert found.idle_w == pytest.approx(IDLE_W, rel=0.001)
    assert (found.searches, found.seconds) == (5500, pytest.approx(4.5))
    assert found.throttled == ""
    assert found.searches_s == pytest.approx((0.001, 0.0015, 0.0005))
    assert found.powers_w == pytest.approx([SEARCHING_W] * 3, rel=0.001)
    assert found.idle_powers_w == pytest.approx([IDLE_W] * 4, rel=0.001)


@pytest.mark.parametrize("drift_w", [-0.08, 0.08, 1])
def test_idle_power_is_that_around_the_searches(drift_w):
    busy, idle = in_turn(3, [1500, 1500, 1500])
    found = cost.spent(readings_of(busy, idle, drift_w=drift_w), busy, idle)
    assert (found.energy_low_j, found.energy_high_j) == pytest.approx((0.08, 0.08), rel=0.005)
    assert found.idle_w == pytest.approx(IDLE_W + 5 * drift_w, rel=0.005)


@pytest.mark.parametrize(
    ("idle_w", "at_repeats"),
    [
        ([100, 100, 104.2, 100, 100], [100, 100, 100, 100]),
        ([104.2, 104.3, 100, 100], [100, 100, 100]),
        ([100, 103.5, 100, 100, 104.3, 101.7], [100, 100, 100, 100, 100]),
        ([100, 100.2, 104.5, 100.6, 100.7], [100.1, 100.3, 100.5, 100.65]),  # a device that warms up
        ([100.6, 100.4, 100.3, 100.3], [100.5, 100.35, 100.3]),
        ([100, 104], [100]),
        # Fewer than half would be left: noise, and a device that warms up fast.
        ([100, 100, 97, 100, 100, 100], [100, 98.5, 98.5, 100, 100]),
        ([100, 100.5, 101.2, 101.4, 101.4, 101.4], [100.25, 100.85, 101.3, 101.4, 101.4]),
    ],
)
def test_idle_intervals_that_something_else_disturbed_are_left_out(idle_w, at_repeats):
    assert cost.undisturbed(idle_w) == pytest.approx(at_repeats)


@pytest.mark.parametrize("stalls_s", [{}, {25: 0.045, 60: 0.08}, {18: 0.08, 30: 0.095, 70: 0.06}])
def test_steps_of_a_slow_counter_are_even_though_their_readings_are_late(stalls_s):
    """The log misses some steps, and reads others late since searches use all cores."""
    busy, idle = in_turn(3, [1500, 1500, 1500])
    random = np.random.default_rng(7)
    late = []
    for number, one in enumerate(readings_of(busy, idle)):
        if number not in (17, 40, 41):
            seconds = one.seconds + stalls_s.get(number, random.uniform(0, 0.024))
            late.append(dataclasses.replace(one, seconds=seconds))
    assert cost.period_of(late) == pytest.approx(0.1, rel=0.005)
    found = cost.spent(late, busy, idle)
    assert found.energy_j == pytest.approx(0.08, rel=0.01)
    assert found.energy_high_j - found.energy_low_j < 0.05 * found.energy_j


@pytest.mark.parametrize("pause_s", [0.0237, 0.02, 0.028])
def test_steps_are_even_if_the_log_reads_at_a_pace_of_its_own(pause_s):
    busy, idle = in_turn(3, [1500, 1500, 1500])
    exact = readings_of(busy, idle)
    late = [dataclasses.replace(one, seconds=pause_s * np.ceil(one.seconds / pause_s)) for one in exact]
    assert cost.spent(late, busy, idle).energy_high_j == pytest.approx(0.08, rel=0.01)


@pytest.mark.parametrize("gaps_s", [[0.011] * 50, [0.1, 0.32, 0.05, 0.17] * 10, []])
def test_fast_and_uneven_counters_have_no_period(gaps_s):
    times = np.cumsum([0.0, *gaps_s])
    assert cost.period_of([Reading(float(at), 5.0 * at) for at in times]) is None


def test_clocks_and_what_holds_them_back_are_those_of_searches():
    busy, idle = in_turn(1, [10])
    (one,) = busy
    readings = [
        dataclasses.replace(reading, reasons=0x44 if one.begin <= reading.seconds <= one.end else 0x8)
        for reading in readings_of(busy, idle)
    ]
    found = cost.spent(readings, busy, idle)
    assert found.throttled == "power cap, hardware thermal"
    assert found.sm_mhz == (2500, 4000)
    assert found.nvml_peak_bytes == 1 << 20


def test_a_counter_that_moves_too_rarely_gives_nothing():
    busy, idle = in_turn(2, [10, 10])
    assert cost.spent(readings_of(busy, idle, step_s=0.5), busy, idle) is None
    assert cost.spent([], busy, idle) is None


class VirtualDevice:
    """A device whose time passes only in sleeps and searches, with a counter of its energy.

    It replaces the module `time` and `CounterLog`, so that no load on the machine changes what is measured.
    """

    def __init__(self, idle_w=IDLE_W, search_s=0.005, search_j=0.0, step_s=0.01):
        self.idle_w, self.search_s, self.step_s = idle_w, search_s, step_s
        self.searching_w = idle_w + search_j / search_s
        self.now, self.energy_j, self.logged = 0.0, 0.0, []

    def perf_counter(self):
        return self.now

    def sleep(self, seconds):
        self.use(self.idle_w, seconds)

    def search(self):
        self.use(self.searching_w, self.search_s)

    def use(self, watts, seconds):
        end = self.now + seconds
        while (step := len(self.logged) * self.step_s) <= end:
            self.logged.append(Reading(step, self.energy_j + watts * (step - self.now)))
        self.now, self.energy_j = end, self.energy_j + watts * seconds

    def __call__(self, meter):
        return self

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def readings(self):
        return self.logged


@pytest.fixture
def virtual(monkeypatch):
    """A function that replaces time and the log of the counter by those of a `VirtualDevice`."""

    def make(**options):
        device = VirtualDevice(**options)
        monkeypatch.setattr(cost, "time", device)
        monkeypatch.setattr(cost, "CounterLog", device)
        return device

    return make


@pytest.mark.parametrize(("sources", "search_s", "passes"), [(4, 0.03, 2), (1, 0.03, 7), (3, 0.5, 1)])
def test_a_repeat_has_whole_passes_unless_these_are_long(virtual, sources, search_s, passes):
    found = cost._searches(virtual(search_s=search_s).search, sources, 0.2)
    assert found.searches == (2 if search_s == 0.5 else sources * passes)
    assert found.end - found.begin == pytest.approx(found.searches * search_s)


@pytest.mark.parametrize("search_s", [0.01, 0.3, 2.0])
def test_intervals_take_no_longer_than_planned(virtual, search_s):
    device, planned = virtual(search_s=search_s), Cost.model_construct(energy_s=0.5, repeats=3)
    cost.spend(None, device.search, 7, planned)
    assert 3.5 < device.now <= cost.planned_s(planned, search_s)


@pytest.fixture
def short(monkeypatch):
    """Intervals of tenths of a second, for counters that move every few milliseconds."""
    monkeypatch.setattr(cost, "SETTLE_S", 0.1)


@pytest.fixture
def gpu(monkeypatch, tmp_path):
    """The file with the memory in use of a GPU whose energy grows by 1 J every 10 ms, here and in the log."""
    used = tmp_path / "used"
    used.write_text("0")
    (tmp_path / "pynvml.py").write_text(
        textwrap.dedent(
            f"""
            import time
            from types import SimpleNamespace
            class NVMLError(Exception): pass
            NVML_CLOCK_SM, NVML_CLOCK_MEM, NVML_TEMPERATURE_GPU = 1, 2, 0
            nvmlInit = lambda: None
            nvmlDeviceGetHandleByIndex = lambda number: number
            nvmlDeviceGetHandleByPciBusId = lambda bus: bus.decode()
            nvmlDeviceGetTotalEnergyConsumption = lambda gpu: int(time.perf_counter() * 100) * 1000
            nvmlDeviceGetMemoryInfo = lambda gpu: SimpleNamespace(used=int(open({str(used)!r}).read()))
            nvmlDeviceGetClockInfo = lambda gpu, clock: 1980 if clock == NVML_CLOCK_SM else 2619
            nvmlDeviceGetCurrentClocksThrottleReasons = lambda gpu: 4
            nvmlDeviceGetMaxClockInfo = nvmlDeviceGetClockInfo
            nvmlSystemGetDriverVersion = lambda: "580.159.03"
            nvmlDeviceGetTemperature = lambda gpu, sensor: 41
            nvmlDeviceGetPowerUsage = lambda gpu: 115260
            nvmlDeviceGetPowerManagementLimit = lambda gpu: 700000
            nvmlDeviceGetPersistenceMode = lambda gpu: 1
            def nvmlDeviceGetEccMode(gpu): raise NVMLError
            """
        )
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "pynvml", raising=False)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))  # for the process that logs
    monkeypatch.setattr(contestant._VariantProcess, "_open_meter", lambda self: counters.open_nvml())
    return used


def test_the_log_has_the_steps_of_the_counter_and_ends_with_its_context(gpu):
    with CounterLog(counters.open_nvml()) as log:
        deadline = time.monotonic() + 20
        while len(readings := log.readings()) < 10 and time.monotonic() < deadline:
            time.sleep(0.02)
        process = log._process
        assert process.poll() is None
    assert process.poll() is not None
    joules, seconds = ([getattr(one, name) for one in readings] for name in ("joules", "seconds"))
    assert len(readings) >= 10
    assert min(np.diff(joules)) > 0
    assert min(np.diff(seconds)) >= counter_log.READ_EVERY_S
    assert seconds[-1] <= time.perf_counter()


def test_the_log_reads_evenly_and_misses_no_step(monkeypatch, capsys):
    """The counter moves every 100 ms, and a reading takes 1 ms."""
    device, reads = VirtualDevice(), []

    def joules():
        device.sleep(0.001)
        reads.append(device.now)
        return float(device.now // 0.1)

    meter = SimpleNamespace(joules=joules, read=lambda: Reading(device.now, joules()))
    monkeypatch.setattr(counter_log, "time", device)
    monkeypatch.setattr(counter_log.os, "getppid", lambda: 1 if device.now < 1.5 else 0)
    counter_log.log(meter, 1)
    readings = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [one["joules"] for one in readings] == list(range(15))
    assert all(one["seconds"] % 0.1 < 0.022 for one in readings)
    assert len(reads) == pytest.approx(1.5 / 0.021 + len(readings), abs=2)


def test_the_log_ends_with_its_parent(gpu):
    script = (
        "import os\n"
        "from relaxometer.race.counter_log import CounterLog\n"
        "from relaxometer.device.counters import open_nvml\n"
        "log = CounterLog(open_nvml()).__enter__()\n"
        "print(log._process.pid, flush=True); os._exit(0)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    status = Path("/proc", done.stdout.strip(), "status")
    deadline = time.monotonic() + 20
    while status.is_file() and "zombie" not in status.read_text() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not status.is_file() or "zombie" in status.read_text()


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


def test_the_counters_of_a_gpu_are_read(monkeypatch, gpu):
    gpu.write_text("7")
    meter = counters.open_nvml("0000:1b:00.0")
    reading = meter.read()
    assert (reading.used_bytes, reading.sm_mhz, reading.memory_mhz) == (7, 1980, 2619)
    assert 0 <= time.perf_counter() - reading.joules / 100 < 10
    assert counters.in_words(reading.reasons) == "power cap"
    assert counters.open_named(*meter.arguments()).used_bytes() == 7
    monkeypatch.delattr("pynvml.nvmlDeviceGetTotalEnergyConsumption")
    assert counters.open_nvml() is None, "a GPU without the counter"
    monkeypatch.setitem(sys.modules, "pynvml", None)
    assert counters.open_nvml() is None, "the package is not installed"


def test_the_state_of_a_gpu_is_told_as_far_as_known(monkeypatch, gpu):
    state = counters.state_of("0000:1b:00.0")
    assert state["driver"] == "580.159.03"
    assert (state["sm_clock_mhz"], state["max_memory_clock_mhz"]) == ("1980", "2619")
    assert (state["power_w"], state["power_limit_w"]) == ("115.26", "700.00")
    assert state["clocks_event_reasons"] == "0x0000000000000004"
    assert "ecc" not in state
    monkeypatch.setitem(sys.modules, "pynvml", None)
    assert counters.state_of("0000:1b:00.0") == {}


def test_the_counters_of_processors_add_up_and_wrap(tmp_path):
    for number, start in ((0, 10), (1, 900), (2, 500)):
        package = tmp_path / f"intel-rapl:{number}"
        package.mkdir()
        (package / "name").write_text("psys\n" if number == 2 else f"package-{number}\n")
        (package / "max_energy_range_uj").write_text("999\n")
        (package / "energy_uj").write_text(f"{start}\n")
    (tmp_path / "intel-rapl:0:0").mkdir()
    meter = counters.open_rapl(tmp_path)
    (tmp_path / "intel-rapl:0/energy_uj").write_text("110\n")
    (tmp_path / "intel-rapl:1/energy_uj").write_text("50\n")
    assert meter.joules() == pytest.approx((100 + 150) / 1e6)
    assert meter.read().joules == pytest.approx((100 + 150) / 1e6)
    assert counters.open_named(*meter.arguments()).joules() == 0


def test_processors_without_counters_have_no_meter(tmp_path):
    assert counters.open_rapl(tmp_path) is None
    (tmp_path / "intel-rapl:0").mkdir()
    assert counters.open_rapl(tmp_path) is None


def run_of(energy_s):
    cost = Cost.model_construct(energy_s=energy_s, repeats=2)
    return race_runs.run_of(repetitions=4).model_copy(update={"cost": cost})


ENERGIES = ("energy_j", "energy_low_j", "energy_high_j", "idle_w")


def test_the_energy_of_a_search_is_in_all_rows(monkeypatch, virtual):
    device = virtual(idle_w=10, search_s=0.005, search_j=0.25)

    class Solver(ORIGINAL):
        def solve(self, source, phases=None):
            device.search()
            return super().solve(source, phases)

    monkeypatch.setattr(dijkstra_cpu, "Solver", Solver)
    monkeypatch.setattr(counters, "open_rapl", lambda: "a counter")
    result = measured(run_of(0.4))
    (row,) = {tuple(getattr(row, name) for name in ENERGIES) for row in result.runs}
    assert row == pytest.approx((0.25, 0.25, 0.25, 10))
    found = result.context["cost"]
    assert found["searches"] == pytest.approx(2 * 0.4 / 0.005, abs=4)
    assert found["powers_w"] == pytest.approx([60, 60])
    assert found["idle_powers_w"] == pytest.approx([10, 10, 10])
    assert {row.status for row in result.runs} == {"ok"}


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
    monkeypatch.setattr(counters, "open_rapl", lambda: pytest.fail("no meter is wanted"))
    result = measured(run_of(0))
    assert {(row.status, row.leaked_bytes, row.energy_j) for row in result.runs} == {("ok", 4096, None)}
    (warning,) = cost_warnings([result.context])
    assert warning == "warning: sssp v on g leaks 4,096 bytes of device memory in each search"


@pytest.mark.parametrize("energy_s", [0.3, 0])
def test_memory_of_a_variant_adds_up_to_what_the_driver_counts(monkeypatch, gpu, short, energy_s):
    """The pool is the test's, too: a context of 500 MiB, kernels of 20 MiB, arrays of 33 MiB."""
    mib, pool = 1 << 20, {"bytes": 3 << 20}
    gpu.write_text(str(503 * mib))

    class Loading(ORIGINAL):
        def __init__(self, graph, parameters):
            pool["bytes"] = 33 * mib
            gpu.write_text(str(553 * mib))
            super().__init__(graph, parameters)

    monkeypatch.setattr(Loading, "runs_on", "device", raising=False)
    monkeypatch.setattr(dijkstra_cpu, "Solver", Loading)
    monkeypatch.setattr(contestant.cost, "pool_bytes", lambda device: (pool["bytes"], pool["bytes"]))
    result = measured(run_of(energy_s))
    (row,) = {
        tuple(
            getattr(row, name)
            for name in ("peak_bytes", "nvml_before_bytes", "kernel_bytes", "nvml_peak_bytes")
        )
        for row in result.runs
    }
    if not energy_s:  # processes that are timed have no meter
        assert row == (33 * mib, None, None, 553 * mib)
        assert all(row.throttled is None for row in result.runs)
        return
    assert row == (33 * mib, 500 * mib, 20 * mib, 553 * mib)
    assert row[0] + row[2] == row[3] - row[1]
    assert all(row.energy_low_j <= row.energy_j <= row.energy_high_j for row in result.runs)


def test_a_failure_of_repeated_searches_is_one_of_the_run(monkeypatch, gpu):
    class Tiring(ORIGINAL):
        count = 0

        def solve(self, source, phases=None):
            Tiring.count += 1
            if Tiring.count > 12:
                raise MemoryError("the pool is used up")
            return super().solve(source, phases)

    monkeypatch.setattr(dijkstra_cpu, "Solver", Tiring)
    result = measured(run_of(0.2))
    assert {(row.status, row.reason) for row in result.runs} == {
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
