"""The rate of copies in memory."""

import numpy as np

from relaxometer.device import rates


def test_a_copy_has_a_rate_and_copies_every_word(device, monkeypatch):
    copied = []
    monkeypatch.setattr(device.xp, "empty_like", lambda array: copied.append(array * 0) or copied[0])
    rate = rates.copy_rate(device)
    assert (rate["device_kind"], rate["device"]) == (device.kind, device.name)
    assert 0 < rate["copy_gb_s"] < float("inf")
    np.testing.assert_array_equal(device.asnumpy(copied[0]), np.arange(copied[0].size))
