"""How costs follow from the pace of a device."""

from types import SimpleNamespace

import pytest

from choices import FAMILIES
from relaxometer.device.pace import Pace, pace_of
from relaxometer.problems import choosing
from relaxometer.problems.choosing import AS_H200, H200, Scale
from relaxometer.problems.sssp import auto


def test_a_device_has_a_pace(device):
    pace = pace_of(device)
    assert pace.copy_gb_s > 0
    assert pace.barrier_us > 0
    assert pace_of(device) is pace


def test_the_emulation_chooses_as_the_device_of_the_fit(host_device):
    assert Scale.of(host_device) == AS_H200 == (1, 1)


def test_costs_follow_the_pace_of_the_device(monkeypatch):
    pace = Pace(copy_gb_s=H200.copy_gb_s / 2, barrier_us=3 * H200.barrier_us)
    monkeypatch.setattr(choosing, "pace_of", lambda device: pace)
    scale = Scale.of(SimpleNamespace(kind="cuda"))
    assert scale == pytest.approx((2, 3))
    city = FAMILIES["city"]
    assert scale.sizes(city) == pytest.approx((2 * 0.264346, 2 * 0.7301, 3 * 413))
    here, there = auto.expected_costs(city)["near-far"], auto.expected_costs(city, scale)["near-far"]
    assert there.search - 0.15 == pytest.approx(2 * 0.03 * 0.7301 + 3 * 0.015 * 413)
    assert here.search < there.search
