"""The rate of copies in memory."""

import numpy as np

from relaxometer.device import rates


def test_a_copy_has_a_rate(device):
    rate = rates.copy_rate(device)
    assert rate["device_kind"] == device.kind
    assert rate["device"] == device.name
    assert np.isfinite(rate["copy_gb_s"])
    assert rate["copy_gb_s"] > 0


def test_the_kernel_copies_every_word(device):
    source = device.asarray(np.random.default_rng(1).integers(0, 2**32, 4 * 1000, dtype=np.uint32))
    target = device.xp.zeros_like(source)
    module = device.module(rates.Path(rates.__file__).with_name("rates.cu"))
    module.get_function("copy_words")(4, 256, (np.uint32(1000), source, target))
    np.testing.assert_array_equal(device.asnumpy(target), device.asnumpy(source))
