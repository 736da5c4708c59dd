"""Distributions of weights: the same on every machine, with the right moments."""

import numpy as np
import pytest

from built import refusal
from relaxometer.datasets.parameters import LogNormal, LogUniform, Values
from relaxometer.datasets.readers.edge_weights import make_weights
from relaxometer.graphs.graph import MAX_WEIGHT


def test_log_uniform_weights_have_the_distributions_moments():
    drawn = make_weights(LogUniform(distribution="log-uniform", range=(10, 970_000)), 400_000)
    assert drawn.min() >= 10
    assert drawn.max() <= 970_000
    assert drawn.mean() == pytest.approx(84_476, rel=0.01)
    assert drawn.std() == pytest.approx(183_943, rel=0.01)


def test_lognormal_weights_have_the_distributions_moments():
    drawn = make_weights(LogNormal(distribution="lognormal", mu=10, sigma=0.5), 400_000)
    assert np.log(drawn).mean() == pytest.approx(10, abs=0.01)
    assert np.log(drawn).std() == pytest.approx(0.5, rel=0.01)


@pytest.mark.parametrize(("mu", "sigma"), [(100, 1), (1e300, 1e300)])
def test_a_lognormal_distribution_beyond_the_type_is_refused(mu, sigma):
    said = refusal(make_weights, LogNormal(distribution="lognormal", mu=mu, sigma=sigma), 1000)
    assert said.startswith("lognormal weights with mu: ")
    assert f"; expected at most {MAX_WEIGHT}: give a smaller mu or" in said


def test_the_draws_never_change():
    drawn_from = LogUniform(distribution="log-uniform", range=(10, 970_000), seed=7)
    assert make_weights(drawn_from, 5).tolist() == [515902, 13114, 25800, 297211, 7644]
    drawn_from = LogNormal(distribution="lognormal", mu=10, sigma=1.5, seed=7)
    assert make_weights(drawn_from, 5).tolist() == [35537, 147083, 68635, 7100, 10038]


@pytest.mark.parametrize(
    ("kind", "scale", "said"),
    [
        (None, 1e-9, "give a larger one, or `type: float32`"),
        (None, 1e-50, "give a larger one, or `type: float64`"),
        ("float32", 1e-50, "give a larger one, or `type: float64`"),
    ],
)
def test_a_scale_that_leaves_no_weight_above_0_is_refused(kind, scale, said):
    scaled = Values(distribution="values", type=kind, scale=scale)
    expected = f"`scale: {scale:g}` makes every weight 0, since the largest value is 93; {said}"
    assert refusal(make_weights, scaled, 2, np.array([7.0, 93.0])) == expected


def test_a_scale_may_round_some_weights_to_0_and_keeps_those_that_are():
    scaled = Values(distribution="values", scale=0.01)
    assert make_weights(scaled, 2, np.array([7.0, 93.0])).tolist() == [0, 1]
    assert make_weights(scaled, 2, np.zeros(2)).tolist() == [0, 0]
