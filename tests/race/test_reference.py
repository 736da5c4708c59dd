"""The fixed work that shows whether the machine's speed changes."""

import json

import pytest

from race_runs import measured, run_of
from relaxometer.race import reference
from rival_runs import race


def test_the_kernel_makes_every_step(device):
    value = 0
    for _ in range(1000):
        value = (value * reference.MULTIPLIER + reference.INCREMENT) % reference.MODULUS
    ms, last = reference.kernel_ms(device, 1000)
    assert last == value
    assert ms > 0


def test_a_gpu_has_a_steady_one_and_the_emulation_none(device):
    times = [reference.device_ms(device) for _ in range(3)]
    if device.kind == "host":
        assert times == [None] * 3
    else:
        assert 0.2 < min(times) <= max(times) < min(1.2 * min(times), 10)


def test_a_process_apart_opens_the_device():
    assert reference.apart_ms("host") is None
    assert reference.apart_ms("no such device") is None


@pytest.mark.parametrize(("solver", "is_timed"), [("dijkstra-cpu", True), ("conventional", False)])
def test_a_variant_in_real_time_is_between_two(solver, is_timed):
    found = measured(run_of(solver), [7]).context["reference_ms"]
    assert found.keys() == {"before", "after"}
    assert all((ms is not None and ms > 0.1) == is_timed for ms in found.values())


def test_a_rival_is_between_two(tmp_path):
    result = race(tmp_path, "serve(Honest)")
    assert all(ms > 0.1 for ms in result.context["reference_ms"].values())
    json.dumps(result.context)
    absent = race(tmp_path / "absent", "", installed="it is not here")
    assert absent.context["reference_ms"] == {"before": None, "after": None}
