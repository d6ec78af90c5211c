"""Calculators of sample sizes: the formulas by hand, and simulation where the answer is known."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

import pypgm
from pypgm import Budget, CliqueVector, Domain, mrf

STABILITY = Budget(epsilon=1, delta=1e-6)
CONSTANT = CliqueVector(Domain({"a": 1}), [("a",)], [0.0])


def test_parameters_of_an_ising_model():
    found = mrf.parameter_sample_size(10, 0.5, 0.1, Budget(rho=0.25))
    statistical = 0.25 * math.log(10) * math.exp(6) / 1e-4
    noise = math.sqrt(10) * 0.25 * math.log(10) ** 2 * math.exp(4.5) / (0.5 * 1e-3)
    assert found.statistical == pytest.approx(statistical)
    assert found.private == pytest.approx(statistical + noise)
    assert found.lower == pytest.approx(math.sqrt(10 / 0.25))


def test_parameters_of_larger_alphabets():
    found = mrf.parameter_sample_size(9, 0.5, 0.1, Budget(rho=1), n_values=4)
    statistical = 0.25 * 4**5 * math.log(36) * math.exp(6) / 1e-4
    noise = math.sqrt(9) * 0.25 * 4**5.5 * math.log(36) ** 2 * math.exp(4.5) / 1e-3
    assert found.private == pytest.approx(statistical + noise)
    assert found.lower == pytest.approx(math.sqrt(16 * 9))


def test_pure_budgets_count_as_the_rho_they_imply():
    pure, zcdp = (mrf.parameter_sample_size(9, 0.5, 0.1, b) for b in (Budget(epsilon=2), Budget(rho=2)))
    assert pure.private == pytest.approx(zcdp.private)
    assert pure.lower == pytest.approx(math.sqrt(9) / (0.1 * 2) + 9 / 2)


def test_a_necessary_number_for_a_structure_follows_from_the_strength_itself():
    assert mrf.structure_sample_size(100, 1.0, 0.2, Budget(epsilon=1)).lower == pytest.approx(150)
    assert mrf.structure_sample_size(20, 1.0, 0.1, Budget(epsilon="1/2")).lower == pytest.approx(129.443, rel=1e-5)


def test_excess_risk_by_hand_and_its_rates():
    found = mrf.excess_risk(10_000, 8, 2.0, Budget(rho="1/4"), failure=0.1)
    by_hand = 2 ** (4 / 3) * math.log(800_000) / 5000 ** (2 / 3) + 2 * math.log(10) / 100
    assert found == pytest.approx(by_hand, rel=1e-12)
    pure = mrf.excess_risk(10_000, 8, 2.0, Budget(epsilon="1/2"), failure=0.1)
    assert pure == pytest.approx(2**1.5 * math.log(800_000) / 5000**0.5 + 2 * math.log(10) / 100, rel=1e-12)
    for bad in ({"n_records": 0.5}, {"failure": 1.0}, {"n_features": 0}, {"radius": -1.0}):
        with pytest.raises(ValueError, match=next(iter(bad))):
            mrf.excess_risk(**{"n_records": 100, "n_features": 2, "radius": 1.0, "budget": Budget(rho=1)} | bad)


@pytest.mark.parametrize("pure", [False, True])
def test_the_steps_learners_take_make_the_excess_risk_least(pure):
    from pypgm.mrf.private_learning import default_steps
    from pypgm.mrf.regression_plans import ising_plan

    plan = ising_plan(pypgm.Domain(dict.fromkeys("abcd", 2)), 1.5)
    part = Fraction(1, 7)
    own = default_steps(plan, [part] * 4, 5e4, pure=pure)
    budget = Budget(epsilon=part) if pure else Budget(rho=part)
    risks = {t: mrf.excess_risk(5e4, 5, 3.0, budget, steps=t) for t in range(1, 2000)}
    assert abs(min(risks, key=risks.get) - own) <= 1
    assert risks[own] == pytest.approx(mrf.excess_risk(5e4, 5, 3.0, budget), rel=1e-4)
    assert risks[1] > risks[own // 2] > risks[own] < risks[2 * own] < risks[1999]


def test_a_release_tells_the_excess_risk_of_its_regressions(tmp_path):
    chain = CliqueVector(Domain(dict.fromkeys("abc", 2)), [("a", "b"), ("b", "c")], [0.4, -0.4, -0.4, 0.4] * 2)
    data = mrf.sample(chain, 2000, rng=0).data
    asked = {"budget": Budget(rho="1/2"), "radius": 1.0, "neighbours": "replace"}
    few, default = (mrf.learn_ising(data, steps=steps, **asked) for steps in (2, None))
    for release in (few, default):
        steps = release.options["steps"]
        n = len(data.domain)
        wanted = mrf.excess_risk(2000, n + 1, 2.0, Budget(rho=Fraction(1, 2 * n)), steps=steps)
        assert release.excess_risk == pytest.approx(wanted, rel=1e-12)
        release.save(tmp_path / "field.pgm")
        assert pypgm.load(tmp_path / "field.pgm").excess_risk == release.excess_risk
        for text in (release.summary(), release.report(ledger=True)):
            assert f"{steps} steps of each regression: its mean loss may end about {wanted:.2g} above the least" in text
    assert few.excess_risk > default.excess_risk


def test_structure_of_the_diamond_takes_1e11_records_by_the_formula():
    found = mrf.structure_sample_size(6, 0.8, 0.2, STABILITY)
    statistical = 0.64 * 16 * math.log(12) * math.exp(11.2) / 0.2**4
    assert found.statistical == pytest.approx(statistical)
    assert found.private == pytest.approx(82 * statistical)
    assert 0.5e11 < found.private < 2e11
    assert mrf.stability_threshold(STABILITY) == pytest.approx(1 + 2 * math.log(5e5))


def test_structure_under_zcdp_takes_weights_within_half_a_strength():
    found = mrf.structure_sample_size(6, 0.8, 0.2, Budget(rho=1))
    assert found.private == max(mrf.parameter_sample_size(6, 0.8, 0.1, Budget(rho=1)).private, found.statistical)
    assert mrf.structure_sample_size(6, 60.0, 0.2, Budget(rho=1)).private == math.inf


def test_simulated_size_where_success_is_known():
    # The learner finds the graph where at least one of n records is 1, which has probability 0.1.
    coin = CliqueVector(Domain({"a": 2}), [("a",)], np.log([0.9, 0.1]))
    found = mrf.simulated_block_size(
        coin, lambda data: bool(data.columns["a"].any()), True, success=0.95, simulated=400, budget=STABILITY, rng=1
    )
    sizes = dict(found.tried)
    assert sizes[found.n_records]
    assert not all(sizes.values())
    exact = math.log(0.05) / math.log(0.9)  # 28.4
    assert found.n_records == pytest.approx(exact, rel=0.25)
    assert (found.n_blocks, found.total) == (82, 82 * found.n_records)
    assert found.successes >= 380
    interval = stats.binomtest(found.successes, 400).proportion_ci(method="exact")
    assert found.interval == pytest.approx((interval.low, interval.high))
    assert mrf.simulated_block_size(coin, lambda data: len(data) >= 40, True, simulated=1, rng=0).n_blocks is None


def test_the_diamond_takes_far_fewer_records_in_simulation_than_by_the_formula():
    names = [f"x{i}" for i in range(6)]
    edges = [(names[0], name) for name in names[1:5]] + [(name, names[5]) for name in names[1:5]]
    diamond = CliqueVector(Domain(dict.fromkeys(names, 2)), edges, np.tile([0.2, -0.2, -0.2, 0.2], len(edges)))
    found = mrf.simulated_block_size(
        diamond,
        lambda data: mrf.fit_logistic(data, 0.8, tolerance=1e-5).edges(0.1),
        frozenset(edges),
        simulated=100,
        rng=0,
    )
    assert 500 < found.n_records < 2000


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: mrf.parameter_sample_size(1, 1, 0.1, STABILITY), "n_attributes must be at least 2"),
        (lambda: mrf.parameter_sample_size(9, -1, 0.1, STABILITY), "width must be positive"),
        (lambda: mrf.parameter_sample_size(9, 1, 0, STABILITY), "accuracy must be positive"),
        (lambda: mrf.structure_sample_size(9, 1, 0.1, STABILITY, n_values=1), "n_values must be at least 2"),
        (lambda: mrf.structure_sample_size(9, 1, 0, STABILITY), "eta must be positive"),
        (lambda: mrf.stability_threshold(Budget(rho=1)), "epsilon and delta"),
        (lambda: mrf.simulated_block_size(None, len, 1, success=1), r"success must be in \(0, 1\), got 1"),
        (lambda: mrf.simulated_block_size(None, len, 1, simulated=0), "simulated must be at least 1"),
        (lambda: mrf.simulated_block_size(None, len, 1, budget=Budget(epsilon=1)), "epsilon and delta"),
        (lambda: mrf.simulated_block_size(CONSTANT, len, 0, simulated=1), "has not found the graph"),
    ],
)
def test_refusals(call, message):
    with pytest.raises(ValueError, match=message):
        call()
