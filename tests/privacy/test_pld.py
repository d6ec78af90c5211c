import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from pypgm import Dataset, Domain
from pypgm.privacy import Budget, Ledger, Privacy, realised_pld_epsilon, zcdp_epsilon
from pypgm.privacy.laws import DiscreteGaussian, DiscreteLaplace, Exponential, PermuteAndFlip, Stated
from pypgm.privacy.private_table import PrivateTable
from pypgm.queries import Prefix

GAUSSIAN, LAPLACE, RANGE, RESPONSE = "gaussian", "laplace", "range", "response"


def ledger_of(*steps):
    """A ledger of (law, parameter) lines, every answer of which changes by 1 at most."""
    ledger = Ledger(Budget(rho=10**6))
    for law, parameter in steps:
        value = Fraction(parameter)
        if law == GAUSSIAN:
            ledger.charge("measure", "a", DiscreteGaussian(variance=value, squared_sensitivity=1, largest_change=1))
        elif law == LAPLACE:
            ledger.charge("measure", "a", DiscreteLaplace(scale=value, sensitivity=1, largest_change=1))
        elif law == RANGE:
            ledger.charge("select", "a", Exponential(epsilon=value, score_range=2))
        else:
            ledger.charge("select", "a", PermuteAndFlip(epsilon=value, score_range=2))
    return ledger


def pair(law, parameter):
    """Exact probabilities of one output each under two neighbours (Gaussian: all but 1e-40 of them)."""
    if law == RESPONSE:
        p = 1 / (1 + math.exp(-parameter))
        return np.array([p, 1 - p]), np.array([1 - p, p])
    if law == RANGE:  # the pair of range epsilon that is worst at epsilon = 0
        p = (math.exp(parameter) - math.exp(parameter / 2)) / math.expm1(parameter)
        return np.array([p, 1 - p]), np.array([p * math.exp(-parameter / 2), (1 - p) * math.exp(parameter / 2)])
    reach = 15 * math.ceil(math.sqrt(parameter)) + 2 if law == GAUSSIAN else 60 * math.ceil(parameter)
    z = np.arange(-reach, reach + 1)
    weights = np.exp(-(z**2) / (2 * parameter)) if law == GAUSSIAN else np.exp(-np.abs(z) / parameter)
    weights /= weights.sum()
    return np.append(weights, 0), np.append(0, weights)


def exact_delta(steps, epsilon):
    """Delta of the composition, summed over every combination of outputs."""
    one = two = np.ones(1)
    for law, parameter in steps:
        p, q = pair(law, float(parameter))
        one, two = np.multiply.outer(one, p).ravel(), np.multiply.outer(two, q).ravel()
    return np.maximum(0, one - math.exp(epsilon) * two).sum()


SMALL = [
    [(GAUSSIAN, "1/4")],
    [(GAUSSIAN, 4)],
    [(GAUSSIAN, 100)],
    [(LAPLACE, 2)],
    [(RESPONSE, "1/2")],
    [(RANGE, 1)],
    [(RANGE, "1/10")] * 6,
    [(GAUSSIAN, 1), (GAUSSIAN, 1), (GAUSSIAN, 1)],
    [(GAUSSIAN, 2), (LAPLACE, 3), (RESPONSE, "1/3"), (RANGE, "1/2")],
    [(RESPONSE, 1)] * 10,
]


@pytest.mark.parametrize("steps", SMALL, ids=lambda s: f"{len(s)} {s[0][0]} {s[0][1]}")
def test_never_below_the_exact_loss_and_never_above_zcdp(steps):
    ledger = ledger_of(*steps)
    for delta in (1e-2, 1e-4, 1e-7, 1e-10):
        epsilon = realised_pld_epsilon(ledger, delta)
        assert epsilon <= ledger.realised_epsilon(delta)
        assert exact_delta([(law, Fraction(p)) for law, p in steps], epsilon) <= delta


# Discrete Gaussian noise enters by a normal law, whose mu^2 is larger by about 1 / (12 variance).
TIGHT = [s for s in SMALL if all(law != RANGE and (law != GAUSSIAN or Fraction(p) > 10) for law, p in s)]


@pytest.mark.parametrize("steps", TIGHT, ids=len)
def test_close_to_the_exact_loss(steps):
    for delta in (1e-2, 1e-4, 1e-7):
        epsilon = realised_pld_epsilon(ledger_of(*steps), delta)
        assert epsilon == 0 or exact_delta([(law, Fraction(p)) for law, p in steps], 0.995 * epsilon - 1e-6) > delta


def test_the_range_hull_is_the_worst_of_all_pairs():
    """One exponential mechanism: at delta = tanh(epsilon / 4) nothing is left of epsilon."""
    for epsilon in (0.1, 1, 4):
        least = math.tanh(epsilon / 4)
        assert realised_pld_epsilon(ledger_of((RANGE, epsilon)), least * 1.001) == 0
        assert realised_pld_epsilon(ledger_of((RANGE, epsilon)), least * 0.99) > 0


def test_it_helps_where_it_should():
    for steps in ([(GAUSSIAN, 600)] * 20, [(LAPLACE, 20)] * 100, [(GAUSSIAN, 600)] * 20 + [(RANGE, "1/50")] * 20):
        ledger = ledger_of(*steps)
        assert realised_pld_epsilon(ledger, 1e-9) < 0.97 * ledger.realised_epsilon(1e-9)


@pytest.mark.parametrize("accounting", ["gdp", "zcdp"])
def test_scores_may_depend_on_what_was_released_before(accounting):
    """Noise of variance 20, then a fair choice of epsilon .15 that is made only where the noise was telling."""
    ledger = Ledger(Budget(rho=1, accounting=accounting))
    ledger.charge("measure", "a", DiscreteGaussian(20, squared_sensitivity=1))
    ledger.charge("select", "a", Exponential(epsilon="0.15", score_range=1))
    p, q = pair(GAUSSIAN, 20)
    higher = 1 / (1 + math.exp(-0.15 / 2))
    for epsilon in (ledger.realised_epsilon(1e-6), realised_pld_epsilon(ledger, 1e-6)):
        grown = math.exp(epsilon)
        alone = np.maximum(p - grown * q, 0)
        chosen = np.maximum(p * higher - grown * q * (1 - higher), 0) + np.maximum(
            p * (1 - higher) - grown * q * higher, 0
        )
        assert np.maximum(alone, chosen).sum() <= 1e-6


def test_many_draws_of_one_line_are_as_many_lines():
    repeated = Ledger(Budget(rho=10))
    repeated.charge("select", "a", Exponential(epsilon=Fraction(1, 50), score_range=2, draws=20, composed=20))
    # One by one they count on those that follow.
    each = realised_pld_epsilon(ledger_of(*[(RANGE, "1/50")] * 20), 1e-9)
    assert each <= realised_pld_epsilon(repeated, 1e-9) <= 1.05 * each
    # Where a person may change more of them than compose, each by less, their cost alone is known.
    for budget in (Budget(rho=10), Budget(epsilon=10)):
        shared = Ledger(budget)
        shared.charge("select", "a", Exponential(epsilon=Fraction(1, 50), score_range=2, draws=30, composed=20))
        assert shared.spent() == (20 * Fraction(1, 50) if budget.unit == "epsilon" else 20 * Fraction(1, 50) ** 2 / 8)
        assert realised_pld_epsilon(shared, 1e-9) <= shared.realised_epsilon(1e-9)


def test_a_change_counts_by_its_square():
    """A change of 9 answers by 1 is 9 unit changes, and as much as one by 3; a pure one is taken by its epsilon."""
    known = Ledger(Budget(rho=10))
    known.charge("measure", "a", DiscreteGaussian(variance=Fraction(900), squared_sensitivity=9, largest_change=1))
    assert realised_pld_epsilon(known, 1e-6) == pytest.approx(
        realised_pld_epsilon(ledger_of(*[(GAUSSIAN, 900)] * 9), 1e-6), rel=1e-9
    )
    for change in (None, 3):
        unknown = Ledger(Budget(rho=10))
        unknown.charge(
            "measure", "a", DiscreteGaussian(variance=Fraction(900), squared_sensitivity=9, largest_change=change)
        )
        assert realised_pld_epsilon(unknown, 1e-6) == realised_pld_epsilon(known, 1e-6)
    mixed = ledger_of(*[(GAUSSIAN, 600)] * 20)
    before = realised_pld_epsilon(mixed, 1e-6)
    mixed.charge("measure", "b", Stated(rho="1/1000000"))
    assert before < realised_pld_epsilon(mixed, 1e-6) <= mixed.realised_epsilon(1e-6)
    laplace = Ledger(Budget(epsilon=10))
    laplace.charge("measure", "a", DiscreteLaplace(scale=Fraction(4), sensitivity=2, largest_change=2))
    assert realised_pld_epsilon(laplace, 1e-9) == pytest.approx(0.5, rel=1e-6)
    laplace.charge("other", "b", Stated(epsilon=0.1))
    assert realised_pld_epsilon(laplace, 1e-9) == pytest.approx(0.6, rel=1e-6)
    vast = Ledger(Budget(rho=10))
    vast.charge("m", "a", DiscreteGaussian(variance=Fraction(2**50), squared_sensitivity=1, largest_change=1))
    assert realised_pld_epsilon(vast, 1e-6) < vast.realised_epsilon(1e-6)


def test_a_table_says_what_the_accountant_needs():
    data = Dataset({"a": [0, 1, 1]}, Domain({"a": 30}))
    for neighbours, cost in (("add-remove", 30), ("replace", 29)):
        ledger = Ledger(Budget(rho=10))
        PrivateTable(data, Privacy(neighbours), ledger).measure("a", Prefix(30), variance=Fraction(2000))
        assert ledger.lines[0].parameters["squared_sensitivity"] == cost
        assert realised_pld_epsilon(ledger, 1e-6) < ledger.realised_epsilon(1e-6)
    ledger = Ledger(Budget(rho=10))
    PrivateTable(data, Privacy(records_per_person=2), ledger).measure("a", variance=Fraction(2000))
    assert realised_pld_epsilon(ledger, 1e-6) < ledger.realised_epsilon(1e-6)


def test_probabilities_of_failure_are_taken_off():
    ledger = Ledger(Budget(rho=10, reserved_delta="1e-6"))
    ledger.charge("m", "a", DiscreteLaplace(scale=Fraction(9), sensitivity=1, largest_change=1))
    ledger.charge("m", "a", Stated(rho=0, delta=1e-6))
    clean = ledger_of((LAPLACE, 9))
    assert realised_pld_epsilon(ledger, 2e-6) == pytest.approx(realised_pld_epsilon(clean, 1e-6), rel=1e-9)
    for delta, message in ((1e-6, "exceed"), (None, "names no delta"), (2, "must lie"), (0, "must lie")):
        with pytest.raises(ValueError, match=message):
            realised_pld_epsilon(ledger, delta)
    assert realised_pld_epsilon(Ledger(Budget(epsilon=1, delta=1e-9))) == 0


def test_against_dp_accounting_where_it_is_installed():
    pld = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution", reason="dp-accounting is not installed")
    for variance, times, delta in itertools.product((4, 400), (1, 30), (1e-4, 1e-9)):
        laws = pld.from_discrete_gaussian_mechanism(math.sqrt(variance), value_discretization_interval=1e-4)
        theirs = laws.self_compose(times).get_epsilon_for_delta(delta)
        ours = realised_pld_epsilon(ledger_of(*[(GAUSSIAN, variance)] * times), delta)
        # mu^2 of the discrete law is larger than that of the normal one by about 1 / (12 variance) of it.
        assert ours == pytest.approx(theirs, rel=2e-3 + 1 / (6 * variance), abs=2e-3)
        assert ours >= theirs - 2e-3
        assert ours <= zcdp_epsilon(Fraction(times, 2 * variance), delta)
