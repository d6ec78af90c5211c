"""Thinned measurements: what is fitted and what validates, and how far to go on the measurements themselves."""

from __future__ import annotations

import numpy as np
import pytest

import pypgm
from pypgm.estimation import stop_rule
from pypgm.estimation.stop_rule import BEYOND, left_to_validate, unthinned_count

DOMAIN = pypgm.Domain(["a", "b"], [40, 50])


def thinned(values, clique=("a", "b"), stddev=3.0, rng=None):
    own = [pypgm.LinearMeasurement(values, clique, stddev=stddev).ordered(DOMAIN)]
    fitted = stop_rule.thinned(own, rng)
    return fitted[0].values, left_to_validate(own, fitted)[0].values


def test_both_parts_together_are_the_measurement():
    values = np.random.default_rng(1).normal(size=2000)
    fitted, validation = thinned(values)
    np.testing.assert_allclose((BEYOND * fitted + validation) / (BEYOND + 1), values, atol=1e-12)


def test_both_parts_have_the_same_mean_and_independent_noise():
    noise = 3.0 * np.random.default_rng(2).normal(size=2000)
    fitted, validation = thinned(7.0 + noise)
    covariance = np.cov(fitted, validation)
    assert np.mean(fitted) == pytest.approx(7, abs=0.3)
    assert np.mean(validation) == pytest.approx(7, abs=0.6)
    assert covariance[0, 0] == pytest.approx(9 * (1 + 1 / BEYOND), rel=0.1)
    assert covariance[1, 1] == pytest.approx(9 * (1 + BEYOND), rel=0.1)
    assert abs(covariance[0, 1]) < 0.1 * np.sqrt(covariance[0, 0] * covariance[1, 1])


def test_thinning_does_not_depend_on_the_order_a_clique_is_written_in():
    table = np.random.default_rng(3).normal(size=(40, 50))
    stddev = 1.0 + np.arange(2000).reshape(40, 50)
    one = thinned(table, ("a", "b"), stddev.ravel())
    two = thinned(table.T, ("b", "a"), stddev.T.ravel())
    for a, b in zip(one, two, strict=True):
        np.testing.assert_array_equal(a, b)  # both stand in the domain's order


def test_thinning_is_the_same_each_time_unless_noise_is_given():
    values = np.zeros(2000)
    assert np.array_equal(thinned(values)[0], thinned(values)[0])
    assert not np.array_equal(thinned(values)[0], thinned(values, rng=5)[0])
    assert np.array_equal(thinned(values, rng=5)[0], thinned(values, rng=np.random.default_rng(5))[0])


def test_more_iterations_are_taken_on_the_measurements_themselves():
    counts = [unthinned_count(best) for best in range(1, 1000)]
    # A path of few iterations takes one more, too: rounding does not take it away.
    assert all(best < count <= 1.1 * best + 1 for best, count in enumerate(counts, 1))
    assert counts == sorted(counts)
