import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pypgm.privacy import zcdp_delta, zcdp_epsilon, zcdp_rho

epsilons = st.floats(1e-3, 1e3)
deltas = st.floats(1e-15, 0.5)


@pytest.mark.parametrize(("rho", "epsilon"), [(0.005, 0.430), (0.05, 1.472), (0.5, 5.222)])
def test_known_numbers_at_delta_one_in_a_million(rho, epsilon):
    assert zcdp_epsilon(rho, 1e-6) == pytest.approx(epsilon, abs=6e-4)


def test_known_rho():
    assert float(zcdp_rho(1, 1e-6)) == pytest.approx(0.02436, abs=6e-6)
    assert zcdp_epsilon(0.05, 1e-9) == pytest.approx(1.8817, abs=6e-5)


@given(epsilons, deltas)
def test_round_trip_stays_on_the_safe_side(epsilon, delta):
    rho = zcdp_rho(epsilon, delta)
    assert zcdp_delta(rho, epsilon) <= delta * (1 + 1e-14)
    back = zcdp_epsilon(rho, delta)
    assert back == pytest.approx(epsilon, rel=1e-12)
    assert rho.numerator < 2**45
    assert zcdp_delta(rho * Fraction(1_000_001, 1_000_000), epsilon) > delta * (1 - 1e-12)


@pytest.mark.slow
def test_round_trip_on_a_grid_of_500_points():
    for epsilon in np.geomspace(1e-2, 100, 25):
        for delta in np.geomspace(1e-12, 1e-1, 20):
            assert zcdp_epsilon(zcdp_rho(epsilon, delta), delta) == pytest.approx(epsilon, rel=1e-12)


@given(epsilons, deltas)
def test_monotone(epsilon, delta):
    rho = zcdp_rho(epsilon, delta)
    assert rho <= zcdp_rho(epsilon * 1.01, delta)
    assert rho <= zcdp_rho(epsilon, min(0.9, delta * 1.01))
    assert zcdp_epsilon(rho, delta) <= zcdp_epsilon(rho * 2, delta)
    assert zcdp_delta(rho, epsilon) <= zcdp_delta(rho * 2, epsilon)


@given(epsilons, deltas)
def test_never_looser_than_the_classic_formula(epsilon, delta):
    rho = zcdp_rho(epsilon, delta)
    if rho > 0:
        assert zcdp_epsilon(rho, delta) <= float(rho) + 2 * math.sqrt(float(rho) * -math.log(delta))


def test_delta_never_below_the_exact_loss_of_the_discrete_gaussian():
    for sigma in (0.4, 0.7, 1.0, 2.0, 5.0, 20.0):
        variance = Fraction(str(sigma)) ** 2
        z = np.arange(-int(40 * sigma) - 40, int(40 * sigma) + 41)
        log_p = -(z**2) / (2 * float(variance))
        log_p -= np.logaddexp.reduce(log_p)
        for epsilon in np.linspace(0.01, 6, 40):
            # A neighbour's count is one larger: the same law, moved by one.
            exact = np.maximum(0, np.exp(log_p[1:]) - np.exp(epsilon + log_p[:-1])).sum()
            assert zcdp_delta(1 / (2 * variance), epsilon) >= exact


def test_the_ends():
    assert zcdp_delta(0, 1) == 0
    assert zcdp_epsilon(0, 0) == 0
    assert zcdp_epsilon(1, 0) == math.inf
    assert zcdp_delta(1000, 1) == 1
    assert zcdp_rho(10**6, 1e-9) > 9 * 10**5
    assert zcdp_rho(1e-6, 1e-300) > 0
    assert 0 < zcdp_rho(1, 0.999) < 100


@pytest.mark.parametrize(
    "call",
    [
        lambda: zcdp_rho(0, 0.1),
        lambda: zcdp_rho(1, 0),
        lambda: zcdp_rho(1, 1),
        lambda: zcdp_rho(-1, 0.1),
        lambda: zcdp_rho(math.nan, 0.1),
        lambda: zcdp_epsilon(1, 1),
        lambda: zcdp_epsilon(-1, 0.1),
        lambda: zcdp_delta(1, -1),
        lambda: zcdp_delta(math.inf, 1),
    ],
)
def test_refusals(call):
    with pytest.raises(ValueError, match=r"epsilon|delta|rho"):
        call()
