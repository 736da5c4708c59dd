import numpy as np
import pytest

from relaxometer.results.statistics import bootstrap_median, is_faster


def test_median_and_interval_of_known_samples():
    samples = np.random.default_rng(0).normal(10, 1, 400)
    median, low, high = bootstrap_median(samples)
    assert median == np.median(samples)
    assert low < median < high
    assert high - low == pytest.approx(2 * 1.96 * 1.2533 / 20, rel=0.3)


def test_one_sample_has_no_width():
    assert bootstrap_median([3.0]) == (3.0, 3.0, 3.0)


def test_no_samples_is_an_error():
    with pytest.raises(ValueError, match="no samples"):
        bootstrap_median([])


def test_faster_only_where_the_paired_test_says_so():
    rng = np.random.default_rng(1)
    baseline = rng.uniform(1, 100, 40)
    assert is_faster(baseline * 0.98, baseline)[0]
    assert not is_faster(baseline * 1.02, baseline)[0]
    assert not is_faster(baseline, baseline)[0]
    assert not is_faster(baseline + rng.normal(0, 1, 40), baseline)[0]


def test_few_sources_prove_nothing():
    assert not is_faster([1.0, 1.0, 1.0], [2.0, 2.0, 2.0])[0]
