"""Medians and ratios with their intervals, and the correction for several comparisons."""

import numpy as np
import pytest

from relaxometer.results.statistics import (
    FEWEST,
    Estimate,
    Part,
    holm,
    log_mean,
    log_median,
    log_ratio_of_means,
    median_of,
)

NONE = Part(0.0, float("inf"))
RNG = np.random.default_rng(0)


@pytest.mark.parametrize("n", [6, 8, 16, 33])
def test_the_error_of_a_median_is_that_of_many_medians_and_rather_more(n):
    samples = RNG.normal(0, 1, (2_000, n))
    assumed = np.mean([log_median(one)[1].variance for one in samples]) ** 0.5
    assert 1 <= assumed / np.median(samples, axis=1).std() <= 1 + 2.4 / n


def test_intervals_hold_the_true_median_and_widen_with_few_degrees_of_freedom():
    held = 0
    for samples in np.exp(RNG.normal(0, 0.3, (500, 12))):
        low, high = median_of(samples, NONE).interval()
        held += low <= 1 <= high
    assert 0.93 <= held / 500 <= 0.995
    sure, unsure = (Estimate(0.0, (Part(1e-4, df),), 9).interval()[1] for df in (1e6, 3))
    assert np.log(unsure) / np.log(sure) == pytest.approx(3.182 / 1.960, rel=1e-3)


@pytest.mark.parametrize(("n", "is_judged"), [(1, False), (FEWEST - 1, False), (FEWEST, True)])
def test_below_six_samples_there_is_no_interval_and_no_verdict(n, is_judged):
    one = median_of(np.full(n, 2.0), Part(1e-4, 9))
    assert np.isfinite(one.interval()).all() == is_judged
    assert (one.p_value() < 1e-6) == is_judged
    assert one.value == pytest.approx(2)


def test_no_samples_is_an_error():
    with pytest.raises(ValueError, match="no samples"):
        log_median([])


def test_a_mean_and_a_ratio_of_means():
    assert log_mean([1.0, 2.0, 6.0], NONE).value == pytest.approx(3)
    slow = RNG.uniform(1, 100, 30)
    ratio = log_ratio_of_means(2 * slow, slow, NONE, Part(1e-4, 20))
    assert ratio.value == pytest.approx(2)
    low, high = ratio.interval()
    assert (low, high) == pytest.approx((2 / 1.0211, 2 * 1.0211), rel=1e-3), "sources do not widen it"
    ratio = median_of([6.0] * 9, Part(1e-4, 5)).over(median_of([2.0] * 7, Part(1e-4, 5)))
    assert (ratio.value, ratio.n) == (pytest.approx(3), 7)
    assert len(ratio.parts) == 4


def test_holms_correction():
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.9, 0.8]) == [1, 1]
    assert holm([]) == []
