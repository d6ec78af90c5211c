"""What a line costs follows from its law and parameters, whoever writes it and wherever it was kept."""

import copy
import math
import pickle
from decimal import Decimal
from fractions import Fraction

import pytest

from pypgm.errors import BudgetError
from pypgm.privacy import Budget, Charge, Ledger, LedgerReport, Privacy, PrivateColumn, sparse_histogram
from pypgm.privacy.laws import DiscreteGaussian, Exponential, Stated, amplified_epsilon, law_of

GAUSSIAN = {"variance": 2, "squared_sensitivity": 1}
LAPLACE = {"scale": 2, "sensitivity": 1}
SELECTION = {"epsilon": "1/2", "score_range": 2}
SAMPLE = {"rate": "1/10", "inner_epsilon": 1, "epsilon": amplified_epsilon(Fraction(1, 10), Fraction(1))}


@pytest.mark.parametrize(
    ("noise", "parameters", "rho", "epsilon"),
    [
        ("discrete Gaussian", GAUSSIAN, Fraction(1, 4), None),
        ("discrete Laplace", LAPLACE, Fraction(1, 8), Fraction(1, 2)),
        ("exponential mechanism", SELECTION, Fraction(1, 32), Fraction(1, 2)),
        ("exponential mechanism", SELECTION | {"draws": 12, "composed": 6}, Fraction(6, 32), Fraction(3)),
        ("permute-and-flip", SELECTION, Fraction(1, 8), Fraction(1, 2)),
        ("Poisson sample", SAMPLE, SAMPLE["epsilon"] ** 2 / 2, SAMPLE["epsilon"]),
        ("stated", {"rho": 0.1}, Fraction(1, 10), None),
        ("stated", {"epsilon": 0.1}, Fraction(1, 200), Fraction(1, 10)),
    ],
)
def test_each_law_has_its_cost(noise, parameters, rho, epsilon):
    law = law_of(noise, parameters)
    line = Charge("do", "it", law)
    assert line.cost == rho
    assert Ledger(Budget(rho=10)).charge("do", "it", law).cost == rho
    for again in (pickle.loads(pickle.dumps(line)), copy.deepcopy(line), Charge.from_dict(line.to_dict())):
        assert again == line
    if epsilon is None:
        with pytest.raises(ValueError, match="no pure guarantee"):
            Charge("do", "it", law, unit="epsilon")
    else:
        assert Charge("do", "it", law, unit="epsilon").cost == epsilon


@pytest.mark.parametrize(
    "bad", [math.nan, math.inf, -math.inf, -1, 0, Decimal("NaN"), "nan", "much", None, True, [1], 1j], ids=repr
)
def test_a_charge_that_is_no_number_is_refused(bad):
    ledger = Ledger(Budget(rho=1, reserved_delta=0.5))
    for noise, parameters in (
        ("discrete Gaussian", GAUSSIAN | {"variance": bad}),
        ("discrete Laplace", LAPLACE | {"scale": bad}),
        ("exponential mechanism", SELECTION | {"epsilon": bad}),
        ("permute-and-flip", SELECTION | {"score_range": bad}),
    ):
        with pytest.raises((ValueError, TypeError)):
            law_of(noise, parameters)
    with pytest.raises((ValueError, TypeError)):
        ledger.charge("measure", "a", DiscreteGaussian(variance=bad, squared_sensitivity=1))
    if bad != 0:
        for stated in ({"rho": bad}, {"epsilon": bad}, {"rho": "1/8", "delta": bad}):
            with pytest.raises((ValueError, TypeError)):
                ledger.charge("train", "a tree", Stated(**stated))
    assert ledger.lines == ()
    assert ledger.remaining() == 1


@pytest.mark.parametrize(
    ("noise", "parameters", "delta", "message"),
    [
        ("rounded Gaussian", GAUSSIAN, 0, "one of the laws"),
        ("discrete Gaussian", LAPLACE, 0, "needs the parameters"),
        ("discrete Gaussian", {}, 0, "needs the parameters"),
        ("discrete Gaussian", GAUSSIAN | {"discount": 1}, 0, "needs the parameters"),
        ("exponential mechanism", SELECTION | {"largest_change": 1}, 0, "needs the parameters"),
        ("exponential mechanism", SELECTION | {"draws": 3}, 0, "needs the parameters"),
        ("exponential mechanism", SELECTION | {"draws": 3, "composed": 4}, 0, "cannot compose"),
        ("exponential mechanism", SELECTION | {"draws": 3, "composed": 0}, 0, "more than 0"),
        ("exponential mechanism", SELECTION | {"draws": 3, "composed": "3/2"}, 0, "integer"),
        ("permute-and-flip", SELECTION | {"draws": 3, "composed": 3}, 0, "needs the parameters"),
        ("stated", {"rho": 1, "epsilon": 1}, 0, "exactly one of"),
        ("discrete Gaussian", GAUSSIAN | {"squared_sensitivity": 0.5}, 0, "integer"),
        ("Poisson sample", SAMPLE | {"epsilon": "1/100"}, 0, "amplified"),
        ("discrete Gaussian", GAUSSIAN, 1e-9, "does not fail"),
        ("stated", {"rho": 1}, 1, r"\[0, 1\)"),
        ("stated", {"rho": 1}, -1, r"\[0, 1\)"),
        (
            "discrete Laplace",
            LAPLACE | {"largest_change": 1, "threshold": 20, "records_per_person": 1},
            1e-9,
            "fails with more than delta",
        ),
        (
            "discrete Laplace",
            LAPLACE | {"largest_change": 1, "threshold": 99, "records_per_person": 1},
            0,
            "fails with a probability",
        ),
    ],
)
def test_a_charge_that_is_no_law_is_refused(noise, parameters, delta, message):
    with pytest.raises(ValueError, match=message):
        law_of(noise, parameters, delta)


def test_names_are_text_and_a_line_of_a_part_of_a_part_names_both():
    line = Charge(3, 4, Stated(rho=1))
    assert (line.what, line.on, line.within, "within" in line.to_dict()) == ("3", "4", "", False)
    ledger = Ledger(Budget(rho=1))
    with ledger.allocate("outer", amount=1) as outer, outer.allocate("inner", amount=1) as inner:
        law = Stated(rho="1/8")
        lines = inner.charge_many(5, [(6, law), (7, law)])
    assert [(one.what, one.on) for one in lines] == [("5", "6"), ("5", "7")]
    assert [one.within for one in ledger.lines] == ["outer / inner"] * 2


def test_a_ledger_computes_costs_once_more():
    ledger, budget = Ledger(Budget(rho=1)), Budget(rho=1)
    line = Charge("measure", "(a)", DiscreteGaussian(**GAUSSIAN))
    for field, value in (("cost", Fraction(0)), ("cost", math.nan), ("law", DiscreteGaussian(9, 1))):
        forged = Charge("measure", "(a)", DiscreteGaussian(**GAUSSIAN))
        object.__setattr__(forged, field, value)
        with pytest.raises(ValueError, match="cost"):
            LedgerReport(budget, [forged])

    class FreeLine(Charge):
        __slots__ = ()

    for other in (FreeLine("measure", "(a)", DiscreteGaussian(**GAUSSIAN)), "a line", None):
        with pytest.raises(TypeError, match="lines of Charge"):
            LedgerReport(budget, [other])

    class Free(DiscreteGaussian):
        __slots__ = ()

        def cost(self, unit):
            return Fraction(0)

    forged = DiscreteGaussian(**GAUSSIAN)
    object.__setattr__(forged, "variance", Fraction(-1))
    for other in (Free(**GAUSSIAN), DiscreteGaussian, "a law", None, line, forged):
        with pytest.raises((TypeError, ValueError)):
            ledger.charge("measure", "(a)", other)
    with pytest.raises(ValueError, match="charged in rho, the budget is in epsilon"):
        LedgerReport(Budget(epsilon=1), [Charge("select", "a", Exponential(**SELECTION))])
    with pytest.raises(TypeError):
        line.parameters["variance"] = Fraction(10**9)
    assert ledger.lines == ()


def test_a_stored_ledger_is_computed_once_more():
    ledger = Ledger(Budget(rho=1))
    ledger.charge("measure", "a", DiscreteGaussian(variance=1, squared_sensitivity=1))
    for cost in ("0", "-1", "nan", "inf", "1/3"):
        stored = ledger.to_dict()
        stored["lines"][0]["cost"] = cost
        with pytest.raises(ValueError, match=r"costs 1/2|cost must"):
            LedgerReport.from_dict(stored)
    twice = ledger.to_dict()
    twice["lines"] *= 3
    with pytest.raises(BudgetError):
        LedgerReport.from_dict(twice)


def test_what_the_caller_states_is_named_so():
    ledger = Ledger(Budget(rho=1, reserved_delta=1e-6))
    ledger.charge("train", "a tree", Stated(epsilon=1, delta=1e-7))
    assert "stated by the caller, epsilon 1, delta 1e-07" in str(ledger)
    for arguments in ({}, {"rho": 1, "epsilon": 1}):
        with pytest.raises(ValueError, match="exactly one"):
            ledger.charge("train", "a tree", Stated(**arguments))
    with pytest.raises(BudgetError, match="train on a tree needs rho"):
        ledger.charge("train", "a tree", Stated(rho=1))


@pytest.mark.parametrize("k", [1, 3])
def test_a_threshold_is_a_parameter_of_its_line(k):
    ledger = Ledger(Budget(rho=100, reserved_delta=1e-6))
    column = PrivateColumn(["a"] * 100, Privacy(records_per_person=k), ledger)
    sparse_histogram(column, delta=1e-7, variance=4)
    (line,) = ledger.lines
    assert line.parameters["records_per_person"] == k
    assert line.delta == Fraction(1, 10**7)
    lower = dict(line.parameters) | {"threshold": line.parameters["threshold"] - 1}
    with pytest.raises(ValueError, match="fails with more"):
        law_of(line.noise, lower, line.delta)
