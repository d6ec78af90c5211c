"""Very large and very small numbers: right answers for what doubles hold, a range that is said for what they do not."""

from __future__ import annotations

import math

import numpy as np
import pytest

import pypgm
from pypgm import Domain, LinearMeasurement
from pypgm.estimation import estimate_total

DOMAIN = Domain({"a": 3, "b": 2})
COUNTS = np.array([10.0, 20.0, 30.0])
EVERY = [{"method": m} for m in ("accelerated", "mirror_descent", "lbfgs", "universal")] + [{"oracle": "region_graph"}]


def pair(stddev):
    return [LinearMeasurement(COUNTS, "a", stddev), LinearMeasurement([25.0, 35.0], "b", stddev)]


@pytest.mark.parametrize("stddev", [1e160, 1e-160, 1e300, 1e-300])
@pytest.mark.parametrize("oracle", ["exact", "region_graph"])
def test_a_stddev_whose_square_is_no_double_is_refused(stddev, oracle):
    for total in (None, 60.0):
        with pytest.raises(ValueError, match=r"stddev of the measurement of \('a',\) must be from 1e-100 to 1e\+100"):
            pypgm.estimate(DOMAIN, pair(stddev), total, oracle=oracle)
    with pytest.raises(ValueError, match="stddev"):
        estimate_total(DOMAIN, pair(stddev))


@pytest.mark.parametrize("options", EVERY, ids=str)
@pytest.mark.parametrize("stddev", [1e-100, 1e-50, 1e-20, 1e20, 1e100])
def test_conflicting_measurements_meet_half_way(stddev, options):
    both = [LinearMeasurement(y, "a", stddev) for y in (COUNTS, COUNTS[::-1])]
    for total in (None, 60.0):
        model = pypgm.estimate(DOMAIN, both, total, stop="optimum", iterations=300, **options)
        np.testing.assert_allclose(model.project("a").values, 20.0, rtol=1e-6)
        assert model.fit.loss == pytest.approx(200.0 / stddev**2, rel=1e-6)


@pytest.mark.parametrize("oracle", ["exact", "region_graph"])
def test_hardly_any_noise_leaves_the_counts(oracle):
    model = pypgm.estimate(DOMAIN, pair(1e-100), oracle=oracle)
    np.testing.assert_allclose(model.project("a").values, COUNTS, rtol=1e-9)
    np.testing.assert_allclose(model.project("b").values, [25.0, 35.0], rtol=1e-9)


@pytest.mark.parametrize(
    ("values", "stddev", "total", "message"),
    [
        ([1e300, 1.0, 1.0], 1.0, None, "values of the measurement .* at most 1e\\+100"),
        ([1e300, 1.0, 1.0], 1.0, 50.0, "values of the measurement .* at most 1e\\+100"),
        (COUNTS, 1.0, 1e308, "total must be 0, or from 1e-100 to 1e\\+100, got 1e\\+308"),
        ([1e50, 1.0, 1.0], 1e-80, 5.0, "at most 1e\\+120 times its stddev"),
        (-COUNTS, 1.0, None, "counts sum to -60, with a standard error of 1.7: pass total="),
    ],
)
def test_what_cannot_be_is_refused(values, stddev, total, message):
    with pytest.raises(ValueError, match=message):
        pypgm.estimate(DOMAIN, [LinearMeasurement(values, "a", stddev)], total)


def test_negative_counts_that_noise_explains_give_one_record():
    assert pypgm.estimate(DOMAIN, [LinearMeasurement(-COUNTS, "a", 30.0)]).total == 1.0


def test_laplace_noise_explains_more_than_gaussian():
    """A total of one Laplace draw lies six standard deviations below an empty table once in 10,000 times."""
    for total, noise, credible in (
        (-80, "gaussian", False),
        (-80, "laplace", True),
        (-170, "laplace", True),
        (-190, "laplace", False),
    ):
        measured = [LinearMeasurement([total], (), 10.0, noise=noise)]
        if credible:
            assert pypgm.estimate(DOMAIN, measured).total == 1.0
        else:
            with pytest.raises(ValueError, match=f"counts sum to {total}"):
                pypgm.estimate(DOMAIN, measured)


def test_the_least_noise_of_integers_is_explained():
    """At scale 1/7 one draw in a thousand is below 0, 24 standard deviations from it."""
    measured = [LinearMeasurement([-2.0], (), math.sqrt(2) * math.exp(-3.5), noise="laplace")]
    assert pypgm.estimate(DOMAIN, measured).total == 1.0


@pytest.mark.parametrize("total", [1e50, 1e100])
def test_a_large_total_is_shared_out(total):
    model = pypgm.estimate(DOMAIN, [LinearMeasurement(COUNTS, "a")], total)
    np.testing.assert_allclose(model.project("a").values, total / 3, rtol=1e-6)
