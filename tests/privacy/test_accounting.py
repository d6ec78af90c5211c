"""Second opinions on what a ledger says: exact laws, dp-accounting, and many random mechanisms."""

import json
import math
import sys
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import brentq

from pypgm import Dataset, Domain
from pypgm.mechanisms import mst
from pypgm.mechanisms.tables import mechanism_named, mechanism_names, needs_more
from pypgm.privacy import (
    Budget,
    Ledger,
    Privacy,
    PrivateTable,
    dp_events,
    realised_pld_epsilon,
    zcdp_delta,
    zcdp_epsilon,
)
from pypgm.privacy.laws import DiscreteGaussian, DiscreteLaplace, Exponential

SIZES = {"a": 3, "b": 2, "c": 4}
GRID = [(sigma, delta) for sigma in np.geomspace(0.5, 50, 25) for delta in np.geomspace(1e-12, 1e-2, 20)]


def exact_discrete_delta(variance, epsilon):
    """Delta of one discrete Gaussian and a change of 1, from its pmf."""
    reach = int(40 * math.sqrt(variance)) + 40
    z = np.arange(-reach, reach + 1)
    log_p = -(z**2) / (2 * variance)
    log_p -= np.logaddexp.reduce(log_p)
    return np.maximum(0, np.exp(log_p[1:]) - np.exp(epsilon + log_p[:-1])).sum()


@pytest.mark.slow
def test_conversion_never_below_the_exact_law_on_500_points():
    for sigma, delta in GRID:
        variance = Fraction(float(sigma)).limit_denominator(10**6) ** 2
        epsilon = zcdp_epsilon(1 / (2 * variance), delta)
        assert exact_discrete_delta(float(variance), epsilon) <= delta
        assert zcdp_delta(1 / (2 * variance), epsilon) <= delta * (1 + 1e-14)


def test_conversion_never_above_rdp_of_dp_accounting_on_500_points():
    rdp = pytest.importorskip("dp_accounting.rdp", reason="dp-accounting is not installed")
    for sigma in np.geomspace(0.5, 50, 25):
        ledger = Ledger(Budget(rho=1000))
        for share in (Fraction(1, 3), Fraction(2, 3)):
            variance = Fraction(float(sigma)).limit_denominator(10**6) ** 2 / share
            ledger.charge("measure", "a", DiscreteGaussian(variance=variance, squared_sensitivity=1))
        accountant = rdp.RdpAccountant()
        accountant.compose(dp_events(ledger))
        for delta in np.geomspace(1e-12, 1e-2, 20):
            assert ledger.realised_epsilon(delta) <= accountant.get_epsilon(delta) + 1e-9


def test_events_hold_every_line_and_no_law_that_loses_less():
    dp_accounting = pytest.importorskip("dp_accounting", reason="dp-accounting is not installed")
    for budget in (Budget(rho=10), Budget(epsilon=10)):  # in Gaussian differential privacy lines are joined
        ledger = Ledger(budget)
        ledger.charge("measure", "a", DiscreteLaplace(scale=Fraction(9), sensitivity=1))
        for _ in range(100):
            ledger.charge("select", "a", Exponential(epsilon=Fraction(1, 100), score_range=2))
        parts = dp_events(ledger).events
        allowed = dp_accounting.ZCDpEvent if budget.unit == "rho" else dp_accounting.dp_event.DiscreteLaplaceDpEvent
        assert all(isinstance(part.event, allowed) for part in parts)
        assert sorted(part.count for part in parts) == [1, 100]
    pld = pytest.importorskip("dp_accounting.pld").PLDAccountant()
    pld.compose(dp_events(ledger))
    assert pld.get_epsilon(1e-9) <= ledger.realised_epsilon() + 1e-3


WITHOUT_GAUSSIAN_NOISE = ["dualquery", "mwem", "privbayes"]


@pytest.mark.parametrize(
    ("name", "delta"), [*((n, 1e-6) for n in mechanism_names()), *((n, 0) for n in WITHOUT_GAUSSIAN_NOISE)]
)
def test_every_mechanism_costs_the_same_by_dp_accounting(name, delta):
    dp_accounting = pytest.importorskip("dp_accounting", reason="dp-accounting is not installed")
    rng = np.random.default_rng(0)
    data = Dataset({a: rng.integers(n, size=200) for a, n in SIZES.items()}, Domain(SIZES))
    more = {"public": data} if needs_more(name) else {}
    ledger = mechanism_named(name)(data, epsilon=1, delta=delta, **more).ledger
    by_orders = ledger.budget.accounting == "zcdp"
    theirs = dp_accounting.rdp.RdpAccountant() if by_orders else dp_accounting.pld.PLDAccountant()
    theirs.compose(dp_events(ledger))
    left = delta - float(ledger.spent_delta()) if delta else 1e-12
    spent = ledger.realised_epsilon(left) if delta else ledger.realised_epsilon()
    # By losses they need the room of a grid; by orders theirs are fewer than ours.
    assert theirs.get_epsilon(left) == pytest.approx(spent, abs=1e-3 if delta else 0.01)
    assert spent <= 1 + 1e-12
    if delta:
        assert realised_pld_epsilon(ledger, left) <= spent


def test_events_of_gaussian_privacy_hold_noise_selections_and_pure_steps():
    pld = pytest.importorskip("dp_accounting.pld", reason="dp-accounting is not installed")
    ledger = Ledger(Budget(epsilon=1, delta=1e-9))
    for _ in range(20):
        ledger.charge("measure", "a", DiscreteGaussian(variance=3000, squared_sensitivity=2))
    for _ in range(5):
        ledger.charge("select", "a", Exponential(epsilon=Fraction(1, 50), score_range=2))
        ledger.charge("measure", "a", DiscreteLaplace(scale=Fraction(60), sensitivity=2, largest_change=1))
    alone, accountant = Ledger(Budget(epsilon=1, delta=1e-9)), pld.PLDAccountant(value_discretization_interval=1e-5)
    accountant.compose(dp_events(ledger))
    for line in ledger.lines:
        if line.noise == "discrete Gaussian":
            alone.charge("measure", "a", line.law)
    assert alone.realised_epsilon() < accountant.get_epsilon(1e-9) <= ledger.realised_epsilon() + 1e-3
    assert accountant.get_epsilon(1e-9) <= ledger.epsilon()


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "dp_accounting", None)
    with pytest.raises(ImportError, match=r"pypgm\[accounting\]"):
        dp_events(Ledger(Budget(rho=1)))


def random_configuration(rng):
    domain = Domain({f"x{i}": int(rng.integers(1, 5)) for i in range(int(rng.integers(1, 5)))})
    n = int(rng.integers(0, 30))
    data = Dataset({a: rng.integers(0, s, n) for a, s in zip(domain, domain.shape, strict=True)}, domain)
    epsilon, delta = float(np.exp(rng.uniform(-5, 4))), float(10 ** rng.uniform(-12, -1))
    kind = int(rng.integers(3))
    budget = (
        Budget(epsilon=epsilon, delta=delta)
        if kind == 0
        else Budget(epsilon=Fraction(epsilon).limit_denominator(97) + Fraction(1, 97), delta=Fraction(1, 10**6))
        if kind == 1
        else Budget(rho=Fraction(int(rng.integers(1, 1000)), int(rng.integers(1, 1000))))
    )
    privacy = Privacy(("add-remove", "replace")[int(rng.integers(2))], int(rng.integers(1, 4)))
    return data, {"budget": budget, "privacy": privacy, "compress": bool(rng.integers(2)), "iterations": 1}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::pypgm.errors.WeakGuaranteeWarning")
def test_a_thousand_random_mechanisms_spend_at_most_their_budget_exactly():
    check_configurations(1000)


@pytest.mark.filterwarnings("ignore::pypgm.errors.WeakGuaranteeWarning")
def test_random_mechanisms_spend_at_most_their_budget_exactly():
    check_configurations(60)


def check_configurations(count):
    rng = np.random.default_rng(0)
    for _ in range(count):
        data, options = random_configuration(rng)
        ledger = mst(data, **options).ledger
        assert sum(line.cost for line in ledger.lines) == ledger.spent() <= options["budget"].limit
        again = Ledger.from_dict(json.loads(json.dumps(ledger.to_dict())))
        assert again.spent() == ledger.spent()
        assert all(isinstance(line.cost, Fraction) for line in ledger.lines)


def gaussian_epsilon(rho, delta):
    """Epsilon of the continuous Gaussian mechanism (Balle and Wang 2018), which no discrete release may be held to."""
    mu = math.sqrt(2 * rho)

    def excess(epsilon):
        upper, lower = stats.norm.logcdf([mu / 2 - epsilon / mu, -mu / 2 - epsilon / mu])
        return math.exp(upper) - math.exp(epsilon + lower) - delta

    return brentq(excess, 0, 200) if excess(0) > 0 else 0.0


@pytest.mark.parametrize("delta", [1e-12, 1e-9, 1e-6, 1e-3])
def test_the_tight_conversion_lies_between_the_exact_gaussian_and_the_classic_formula(delta):
    for rho in np.geomspace(1e-5, 20, 30):
        epsilon = zcdp_epsilon(float(rho), delta)
        assert gaussian_epsilon(rho, delta) <= epsilon <= rho + 2 * math.sqrt(rho * math.log(1 / delta))


def test_many_gaussians_are_one_of_their_joint_sensitivity():
    many, one = Ledger(Budget(rho=10)), Ledger(Budget(rho=10))
    for _ in range(7):
        many.charge("measure", "a", DiscreteGaussian(variance=Fraction(50, 3), squared_sensitivity=1))
    one.charge("measure", "a", DiscreteGaussian(variance=Fraction(50, 3), squared_sensitivity=7))
    assert many.spent() == one.spent()
    assert many.realised_epsilon(1e-9) == one.realised_epsilon(1e-9)


@pytest.mark.parametrize("k", [1, 2])
def test_replace_is_add_remove_with_twice_the_sensitivities(k):
    """Of identity marginals: variances that a mechanism emits double, scales double, at the same budget."""
    domain = Domain({"a": 2, "b": 3, "c": 2})
    data = Dataset({a: [0, 1, 1] for a in domain}, domain)
    emitted = {}
    for neighbours in ("add-remove", "replace"):
        privacy = Privacy(neighbours, k)
        release = mst(data, budget=Budget(rho="1/2"), privacy=privacy, compress=False, iterations=1)
        emitted[neighbours] = [line.parameters["variance"] for line in release.ledger.lines if line.what == "measure"]
        table = PrivateTable(data, privacy, Ledger(Budget(epsilon=100)))
        table.measure("b", scale=Fraction(3))
        emitted[neighbours].append(table.ledger.spent())
    assert [r / a for a, r in zip(*emitted.values(), strict=True)] == [2] * 6
