import copy
import json
import math
import pickle
import threading
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pypgm.errors import BudgetError
from pypgm.privacy import Budget, Charge, Ledger, Privacy, zcdp_epsilon, zcdp_rho
from pypgm.privacy.rational import as_fraction, isqrt_down, round_down, round_up, significant_down
from pypgm.queries import Identity, Partition


@pytest.mark.parametrize(
    "written", [0.1, np.float64(0.1), np.float32(0.1), Decimal("0.1"), "0.1", "1/10", Fraction(1, 10)], ids=repr
)
def test_a_number_means_what_is_written(written):
    assert as_fraction("epsilon", written) == Fraction(1, 10)
    assert Budget(epsilon=written).limit == Fraction(1, 10)
    assert Budget(rho=written).limit == Fraction(1, 10)


def test_units_and_limits():
    assert Budget(epsilon=1).unit == "epsilon"
    assert Budget(epsilon=1, delta=0) == Budget(epsilon=1)
    approximate = Budget(epsilon=1, delta=1e-9)
    assert approximate.unit == "rho"
    assert approximate.limit == zcdp_rho(1, 1e-9)
    assert Budget(rho=np.int64(2)).limit == 2
    assert repr(approximate) == "Budget(epsilon=1, delta=1e-09)"
    assert repr(Budget(rho=0.5)) == "Budget(rho=0.5)"


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"epsilon": 0}, ValueError),
        ({"epsilon": -1}, ValueError),
        ({"epsilon": math.nan}, ValueError),
        ({"epsilon": math.inf, "delta": 0.1}, ValueError),
        ({"epsilon": 1, "delta": 1}, ValueError),
        ({"epsilon": 1, "delta": -0.1}, ValueError),
        ({"epsilon": 1, "delta": math.nan}, ValueError),
        ({"epsilon": "much"}, ValueError),
        ({"epsilon": "1/0"}, ValueError),
        ({"rho": 0}, ValueError),
        ({"rho": 1, "epsilon": 1}, ValueError),
        ({"rho": 1, "delta": 0.1}, ValueError),
        ({"delta": 0.1}, ValueError),
        ({}, ValueError),
        ({"epsilon": True}, TypeError),
        ({"epsilon": [1]}, TypeError),
    ],
    ids=repr,
)
def test_budgets_refused(arguments, error):
    with pytest.raises(error, match=r"epsilon|delta|rho"):
        Budget(**arguments)


positive = st.fractions(min_value=Fraction(1, 10**9), max_value=10**9)


@given(positive, st.integers(4, 62))
def test_rounding_keeps_its_side(value, bits):
    assert significant_down(value, bits) <= value < significant_down(value, bits) * (1 + Fraction(1, 2 ** (bits - 2)))
    root = isqrt_down(value, bits)
    assert root**2 <= value
    assert (root * (1 + Fraction(1, 2 ** (bits - 3)))) ** 2 > value
    down = round_down(value, bits)
    assert down <= value
    assert max(down.numerator, down.denominator) < 2**bits
    if value < 2**bits - 1:
        up = round_up(value, bits)
        assert up >= value
        assert max(up.numerator, up.denominator) < 2**bits


def test_costs_follow_from_the_parameters():
    ledger = Ledger(Budget(rho=10))
    assert ledger.charge_gaussian("measure", "a", variance=Fraction(3), squared_sensitivity=2).cost == Fraction(1, 3)
    assert ledger.charge_laplace("measure", "a", scale=Fraction(2), sensitivity=1).cost == Fraction(1, 8)
    assert ledger.charge_exponential("select", "a", epsilon=Fraction(1, 2), score_range=2).cost == Fraction(1, 32)
    pure = Ledger(Budget(epsilon=10))
    assert pure.charge_laplace("measure", "a", scale=Fraction(2), sensitivity=1).cost == Fraction(1, 2)
    assert pure.charge_exponential("select", "a", epsilon=Fraction(1, 2), score_range=2).cost == Fraction(1, 2)
    with pytest.raises(ValueError, match="no pure guarantee"):
        pure.charge_gaussian("measure", "a", variance=Fraction(3), squared_sensitivity=2)
    assert pure.spent == 1


@given(st.lists(st.fractions(0, 1), max_size=20))
def test_the_sum_is_exact_and_an_overdraw_changes_nothing(costs):
    ledger = Ledger(Budget(rho=3))
    entered = Fraction(0)
    for cost in costs:
        line = Charge("measure", "(a)", cost, "discrete Gaussian")
        if entered + cost <= 3:
            ledger.charge(line)
            entered += cost
        else:
            before = ledger.lines
            with pytest.raises(BudgetError, match=r"measure on \(a\) needs rho .* is left"):
                ledger.charge(line)
            assert ledger.lines == before
        assert ledger.spent == entered == sum(c.cost for c in ledger.lines)
        assert ledger.remaining == 3 - entered


def test_the_last_drop_can_be_spent_and_not_one_more():
    ledger = Ledger(Budget(epsilon="0.3"))
    for _ in range(3):
        ledger.charge_laplace("measure", "a", scale=Fraction(10), sensitivity=1)
    assert ledger.remaining == 0
    with pytest.raises(BudgetError, match=r"needs epsilon 1e-20, 0 of 0\.3 is left"):
        ledger.charge_laplace("measure", "a", scale=Fraction(10**20), sensitivity=1)


def test_threads_cannot_overdraw():
    ledger = Ledger(Budget(rho=100))
    refused = []

    def work():
        for _ in range(50):
            try:
                ledger.charge(Charge("measure", "a", Fraction(1), "discrete Gaussian"))
            except BudgetError:
                refused.append(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert ledger.spent == 100
    assert len(refused) == 100


def test_report_and_storage():
    ledger = Ledger(Budget(epsilon=1, delta=1e-9))
    ledger.charge_gaussian("measure", "(age)", variance=Fraction(700, 3), squared_sensitivity=1)
    ledger.charge_exponential("select", "6 cliques", epsilon=Fraction(1, 100), score_range=2)
    text = str(ledger)
    assert text.count("\n") == 3
    assert "variance 233.333" in text
    assert "measure  (age)" in text
    assert ledger.epsilon() == zcdp_epsilon(ledger.spent, 1e-9)
    assert ledger.epsilon() <= ledger.epsilon(1e-12)
    stored = json.loads(json.dumps(ledger.to_dict()))
    for again in (Ledger.from_dict(stored), pickle.loads(pickle.dumps(ledger)), copy.deepcopy(ledger)):
        assert again.lines == ledger.lines
        assert again.spent == ledger.spent
        assert again.budget == ledger.budget
    stored["budget"] = {"rho": "1/1000000"}
    with pytest.raises(BudgetError):
        Ledger.from_dict(stored)
    for broken in ({}, {"budget": {"rho": "1"}, "lines": [{}]}, {"budget": 3, "lines": []}):
        with pytest.raises(ValueError, match="not a stored ledger"):
            Ledger.from_dict(broken)
    rho_only = Ledger(Budget(rho="1/3"))
    assert Ledger.from_dict(rho_only.to_dict()).budget == rho_only.budget
    with pytest.raises(ValueError, match="pass delta"):
        rho_only.epsilon()
    assert Ledger(Budget(epsilon=2)).epsilon() == 0
    assert repr(rho_only).startswith("Ledger(Budget(rho=0.333333): 0 charges")


def test_ledger_refusals():
    with pytest.raises(TypeError, match="Budget"):
        Ledger(1.0)
    with pytest.raises(ValueError, match="at least 0"):
        Charge("measure", "a", Fraction(-1), "discrete Gaussian")


def test_relation_scales_sensitivities():
    both = [Privacy(n, records_per_person=k) for n in ("add-remove", "replace") for k in (1, 3)]
    assert [p.l1_sensitivity(Identity(4)) for p in both] == [1, 3, 2, 6]
    assert [p.squared_l2_sensitivity(Partition([0, 1, 1])) for p in both] == [1, 9, 2, 18]
    assert [p.l1_score_range for p in both] == [2, 6, 4, 12]
    assert [p.total_is_public for p in both] == [False, False, True, True]
    with pytest.raises(ValueError, match="neighbours"):
        Privacy("bounded")
    for k in (0, 1.5, True):
        with pytest.raises(ValueError, match="records_per_person"):
            Privacy(records_per_person=k)
