import copy
import json
import math
import pickle
import re
import sys
import threading
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pypgm.errors import BudgetError
from pypgm.privacy import Budget, Ledger, LedgerReport, Privacy, zcdp_epsilon, zcdp_rho
from pypgm.privacy.charge import fixed_amount
from pypgm.privacy.gdp import gdp_epsilon, gdp_rho
from pypgm.privacy.laws import DiscreteGaussian, DiscreteLaplace, Exponential, PermuteAndFlip, Stated
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
    assert approximate.limit == gdp_rho(Fraction(1), Fraction(1, 10**9))
    assert Budget(epsilon=1, delta=1e-9, accounting="zcdp").limit == zcdp_rho(1, 1e-9)
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
    assert ledger.charge(
        "measure", "a", DiscreteGaussian(variance=Fraction(3), squared_sensitivity=2)
    ).cost == Fraction(1, 3)
    assert ledger.charge("measure", "a", DiscreteLaplace(scale=Fraction(2), sensitivity=1)).cost == Fraction(1, 8)
    assert ledger.charge("select", "a", Exponential(epsilon=Fraction(1, 2), score_range=2)).cost == Fraction(1, 32)
    pure = Ledger(Budget(epsilon=10))
    assert pure.charge("measure", "a", DiscreteLaplace(scale=Fraction(2), sensitivity=1)).cost == Fraction(1, 2)
    assert pure.charge("select", "a", Exponential(epsilon=Fraction(1, 2), score_range=2)).cost == Fraction(1, 2)
    with pytest.raises(ValueError, match="no pure guarantee"):
        pure.charge("measure", "a", DiscreteGaussian(variance=Fraction(3), squared_sensitivity=2))
    assert pure.spent() == 1


@given(st.lists(st.fractions(0, 1), max_size=20))
def test_the_sum_is_exact_and_an_overdraw_changes_nothing(costs):
    ledger = Ledger(Budget(rho=3))
    entered = Fraction(0)
    for cost in costs:
        law = Stated(rho=cost)
        if entered + cost <= 3:
            ledger.charge("measure", "(a)", law)
            entered += cost
        else:
            before = ledger.lines
            with pytest.raises(BudgetError, match=r"measure on \(a\) needs rho .* is left"):
                ledger.charge("measure", "(a)", law)
            assert ledger.lines == before
        assert ledger.spent() == entered == sum(c.cost for c in ledger.lines)
        assert ledger.remaining() == 3 - entered


def test_the_last_drop_can_be_spent_and_not_one_more():
    ledger = Ledger(Budget(epsilon="0.3"))
    for _ in range(3):
        ledger.charge("measure", "a", DiscreteLaplace(scale=Fraction(10), sensitivity=1))
    assert ledger.remaining() == 0
    with pytest.raises(BudgetError, match=r"needs epsilon 1e-20, 0 of 0\.3 is left"):
        ledger.charge("measure", "a", DiscreteLaplace(scale=Fraction(10**20), sensitivity=1))


def test_threads_cannot_overdraw():
    ledger = Ledger(Budget(rho=100))
    refused = []

    def work():
        for _ in range(50):
            try:
                ledger.charge("measure", "a", Stated(rho=1))
            except BudgetError:
                refused.append(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert ledger.spent() == 100
    assert len(refused) == 100


def test_report_and_storage():
    ledger = Ledger(Budget(epsilon=1, delta=1e-9))
    ledger.charge("measure", "(age)", DiscreteGaussian(variance=Fraction(700, 3), squared_sensitivity=1))
    ledger.charge("select", "6 cliques", Exponential(epsilon=Fraction(1, 100), score_range=2))
    text = str(ledger)
    assert text.count("\n") == 3
    assert "variance 233.333" in text
    assert "measure  (age)" in text
    # Steps alone: a selection costs less in a ledger, which has noise to come.
    assert fixed_amount(ledger.lines) > ledger.spent()
    assert ledger.realised_epsilon() == gdp_epsilon(fixed_amount(ledger.lines), 1e-9)
    assert ledger.realised_epsilon() <= ledger.realised_epsilon(1e-12)
    stored = json.loads(json.dumps(ledger.to_dict()))
    for again in (Ledger.from_dict(stored), pickle.loads(pickle.dumps(ledger)), copy.deepcopy(ledger)):
        assert type(again) is LedgerReport
        assert again.lines == ledger.lines
        assert again.spent() == ledger.spent()
        assert again.budget == ledger.budget
    stored["budget"] = {"rho": "1/1000000", "accounting": "gdp"}
    with pytest.raises(ValueError, match="counts on"):
        Ledger.from_dict(stored)
    for broken in ({}, {"budget": {"rho": "1"}, "lines": [{}]}, {"budget": 3, "lines": []}):
        with pytest.raises(ValueError, match="not a stored ledger"):
            Ledger.from_dict(broken)
    rho_only = Ledger(Budget(rho="1/3"))
    assert Ledger.from_dict(rho_only.to_dict()).budget == rho_only.budget
    with pytest.raises(ValueError, match="pass delta"):
        rho_only.realised_epsilon()
    assert Ledger(Budget(epsilon=2)).realised_epsilon() == 0
    assert repr(rho_only).startswith("Ledger(Budget(rho=0.333333): 0 charges")


def test_a_budget_is_what_it_was_asked_for_and_stays_so():
    assert Budget(rho=1).arguments() == {"rho": 1}
    assert Budget(epsilon="1/2").arguments() == {"epsilon": Fraction(1, 2)}
    assert Budget(epsilon=1, delta="1e-6").arguments() == {"epsilon": 1, "delta": Fraction(1, 10**6)}
    most = Fraction(sys.float_info.max)
    assert Budget(rho=most).limit == most
    with pytest.raises(ValueError, match="the largest double"):
        Budget(rho=most + 1)
    budget = Budget(rho=1)
    ledger = Ledger(budget)
    object.__setattr__(budget, "limit", Fraction(9))
    assert ledger.budget.limit == 1


class _Other(Privacy):
    __slots__ = ()


def test_ledger_refusals():
    with pytest.raises(TypeError, match="Budget"):
        Ledger(1.0)
    ledger = Ledger(Budget(rho=1))
    with pytest.raises(TypeError, match="bound to a Privacy"):
        ledger.bind(_Other())
    for reason in ("", " ", None, 5, ["seed"]):
        with pytest.raises(ValueError, match="needs a reason"):
            ledger.mark_not_private(reason)
    part = ledger.allocate("part", amount="1/2")
    part.close()
    with pytest.raises(BudgetError, match="'part' is closed"):
        part.charge("do", "it", Stated(rho=0))


def test_a_relation_that_changes_later_is_not_that_of_the_ledger():
    ledger, relation = Ledger(Budget(rho=1)), Privacy(records_per_person=5)
    ledger.bind(relation)
    object.__setattr__(relation, "records_per_person", 1)
    assert ledger.privacy == Privacy(records_per_person=5)


def test_a_whole_ledger_does_not_end_with_a_block_and_names_are_text():
    with Ledger(Budget(rho=1)) as ledger, ledger.allocate(7, amount="1/2") as part:
        part.charge("do", "it", Stated(rho="1/4"))
    assert ledger.lines[0].within == "7"
    assert ledger.charge("do", "the rest", Stated(rho="3/4")).cost == Fraction(3, 4)
    with pytest.raises(BudgetError, match="do on it needs"):
        ledger.charge("do", "it", Stated(rho=1))


def test_relation_scales_sensitivities():
    both = [Privacy(n, records_per_person=k) for n in ("add-remove", "replace") for k in (1, 3)]
    assert [p.l1_sensitivity(Identity(4)) for p in both] == [1, 3, 2, 6]
    assert [p.squared_l2_sensitivity(Partition([0, 1, 1])) for p in both] == [1, 9, 2, 18]
    assert [p.l1_score_range for p in both] == [2, 6, 4, 12]
    assert [p.total_is_public for p in both] == [False, False, True, True]
    quarter, half = Fraction(1, 4), Fraction(1, 2)
    assert [p.quantile_score_range(quarter) for p in both] == [6, 18, 8, 24]
    assert [p.quantile_score_range(half) for p in both] == [2, 6, 4, 12]
    assert [p.sentence.partition("(")[2].partition(")")[0] for p in both] == 2 * [
        "at most 1 record",
        "at most 3 records",
    ]
    assert ["public" in p.sentence for p in both] == [False, False, True, True]
    with pytest.raises(ValueError, match="neighbours"):
        Privacy("bounded")
    for k in (0, 1.5, True):
        with pytest.raises(ValueError, match="records_per_person"):
            Privacy(records_per_person=k)


def test_an_allocation_is_held_charged_under_its_name_and_returned():
    ledger = Ledger(Budget(rho=1, reserved_delta="1e-6"))
    with ledger.allocate("one", fraction="1/2", reserved_delta="1e-7") as one:
        assert (ledger.remaining(), ledger.spent()) == (Fraction(1, 2), 0)
        assert ledger.remaining_delta() == Fraction(9, 10**7)
        one.charge("measure", "(a)", Stated(rho="1/8", delta=1e-8))
        with one.allocate("inner", amount="1/4") as inner:
            inner.charge("measure", "(b)", DiscreteLaplace(scale=Fraction(2), sensitivity=1))
            with pytest.raises(BudgetError, match=r"needs rho 0\.5, 0\.125 of 0\.25 is left"):
                inner.charge("measure", "(b)", DiscreteLaplace(scale=Fraction(1), sensitivity=1))
            with pytest.raises(BudgetError, match="needs rho"):
                one.charge("measure", "(b)", DiscreteLaplace(scale=Fraction(3, 2), sensitivity=1))  # the rest is held
            with pytest.raises(ValueError, match="open allocations"):
                one.close()
        assert "0.5 allocated" not in str(ledger)
        assert "allocated" in str(ledger)
    assert ledger.spent() == Fraction(1, 4)
    assert ledger.remaining() == Fraction(3, 4)
    assert ledger.spent_delta() == Fraction(1, 10**8)
    assert ledger.remaining_delta() == Fraction(99, 10**8)
    assert [line.within for line in ledger.lines] == ["one", "one / inner"]
    assert [line.within for line in one.lines] == ["", "inner"]
    assert "one / inner: measure" in str(ledger)
    assert one.remaining() == one.remaining_delta() == 0
    one.close()
    assert ledger.remaining() == Fraction(3, 4)
    for closed in (one, inner):
        with pytest.raises(BudgetError, match="is closed"):
            closed.charge("measure", "(b)", DiscreteLaplace(scale=Fraction(10**9), sensitivity=1))
        with pytest.raises(BudgetError, match="is closed"):
            closed.allocate("more", amount="1/1000")
    assert Ledger.from_dict(json.loads(json.dumps(ledger.to_dict()))).lines == ledger.lines


@given(st.lists(st.tuples(st.integers(0, 3), st.fractions(0, 1)), max_size=25))
def test_no_order_of_allocations_and_charges_overdraws(steps):
    ledger = Ledger(Budget(epsilon=3))
    tree = [ledger]
    for where, amount in steps:
        part = tree[where % len(tree)]
        try:
            if where == 0:
                tree.append(part.allocate("part", amount=amount))
            elif where == 3 and len(tree) > 1:
                tree.pop().close()
            else:
                part.charge("measure", "a", Stated(epsilon=amount))
        except (BudgetError, ValueError):
            pass
        for own in tree:
            assert own.spent() == sum(line.cost for line in own.lines)
            assert own.remaining() >= 0
        assert ledger.spent() <= 3
    for own in reversed(tree):
        own.close()
    assert ledger.remaining() == 3 - ledger.spent()


def test_allocations_refused():
    ledger = Ledger(Budget(rho=1))
    for arguments, error, message in (
        ({"amount": 2}, BudgetError, r"allocation 'part' needs rho 2, 1 of 1 is left"),
        ({"fraction": "3/2"}, BudgetError, "needs rho"),
        ({"amount": 1, "reserved_delta": "1e-9"}, BudgetError, "pass reserved_delta"),
        ({"amount": 0}, ValueError, "more than 0"),
        ({}, ValueError, "exactly one"),
        ({"amount": 1, "fraction": 1}, ValueError, "exactly one"),
    ):
        with pytest.raises(error, match=message):
            ledger.allocate("part", **arguments)
        assert ledger.remaining() == 1
    part = ledger.allocate("part", amount="1/2")
    part.mark_not_private("a test")
    assert ledger.not_private == "a test"
    ledger.close()  # a ledger of its own stays open
    assert ledger.remaining() == Fraction(1, 2)


def test_probabilities_of_failure_are_charged_and_taken_off_delta():
    budget = Budget(epsilon=1, delta="2e-6", reserved_delta="1e-6")
    assert budget.limit == gdp_rho(Fraction(1), Fraction(1, 10**6))
    assert repr(budget) == "Budget(epsilon=1, delta=2e-06, reserved_delta=1e-06)"
    ledger = Ledger(budget)
    variance = ledger.variance_of(budget.limit, 1)
    ledger.charge("measure", "a", DiscreteGaussian(variance=variance, squared_sensitivity=1))
    assert ledger.realised_epsilon() == pytest.approx(gdp_epsilon(budget.limit, 2e-6), rel=1e-4)
    with pytest.raises(BudgetError, match="needs delta 2e-06, 1e-06 of the reserved 1e-06"):
        ledger.charge("histogram", "keys", Stated(rho=0, delta=2e-6))
    ledger.charge("histogram", "keys", Stated(rho=0, delta=1e-6))
    assert 0.9999 < ledger.realised_epsilon() <= 1 + 1e-12
    assert "delta 1e-06" in str(ledger)
    assert Ledger.from_dict(ledger.to_dict()).budget == budget
    with pytest.raises(ValueError, match="delta must be more than"):
        ledger.realised_epsilon(1e-6)
    for reserved in (2, "2e-6"):
        with pytest.raises(ValueError, match="delta"):
            Budget(epsilon=1, delta="2e-6", reserved_delta=reserved)
    assert Budget(epsilon=1, reserved_delta=1e-9).unit == "epsilon"


def test_the_guarantee_is_that_of_the_budget_and_what_was_realised_is_named_so():
    for ledger in (Ledger(Budget(epsilon="1/3", delta=1e-6)), Ledger(Budget(epsilon="1/3"))):
        guaranteed = ledger.epsilon()
        assert 0 <= Fraction(guaranteed) - Fraction(1, 3) < 1e-16
        assert ledger.realised_epsilon() == 0
        ledger.charge("measure", "a", DiscreteLaplace(scale=200, sensitivity=1))
        assert ledger.epsilon() == guaranteed
        assert 0 < ledger.realised_epsilon() < guaranteed
        assert LedgerReport.from_dict(ledger.to_dict()).epsilon() == guaranteed
    rho = Ledger(Budget(rho="1/10", reserved_delta=1e-7))
    assert rho.epsilon(1e-6) == zcdp_epsilon(Fraction(1, 10), Fraction(9, 10**7))
    with pytest.raises(ValueError, match="pass delta"):
        rho.epsilon()


def test_a_delta_without_room_for_failures_is_refused_in_both_units():
    pure, rho = Ledger(Budget(epsilon=1, reserved_delta=1e-6)), Ledger(Budget(rho=1, reserved_delta=1e-6))
    for ledger in (pure, rho):
        for delta in (0, 1e-7, 1, -1):
            with pytest.raises(ValueError, match="delta must be"):
                ledger.epsilon(delta)
        ledger.charge("histogram", "keys", Stated(epsilon="1/2", delta=1e-7))
        for delta in (0, 1e-8, 1, -1):
            with pytest.raises(ValueError, match="delta must be"):
                ledger.realised_epsilon(delta)
    assert pure.epsilon() == pure.epsilon(1e-6) == pure.epsilon(0.5) == 1
    assert pure.realised_epsilon() == pure.realised_epsilon(delta=1e-7) == 0.5
    with pytest.raises(ValueError, match="more than 1e-06"):
        rho.epsilon(1e-6)


def test_permute_and_flip_costs_four_times_the_exponential_mechanism():
    ledger, pure = Ledger(Budget(rho=1)), Ledger(Budget(epsilon=1))
    arguments = {"epsilon": Fraction(1, 2), "score_range": 2}
    assert ledger.charge("select", "a", PermuteAndFlip(**arguments)).cost == Fraction(1, 8)
    assert ledger.charge("select", "a", Exponential(**arguments)).cost == Fraction(1, 32)
    assert pure.charge("select", "a", PermuteAndFlip(**arguments)).cost == Fraction(1, 2)
    assert pure.realised_epsilon() >= 0.5


def test_a_long_report_groups_equal_charges_and_shows_the_dearest():
    ledger = Ledger(Budget(rho=10))
    for i in range(60):
        ledger.charge("select", "6 cliques", Exponential(epsilon=Fraction(1, 8), score_range=2))
        ledger.charge("measure", f"(x{i})", DiscreteGaussian(variance=100 + i, squared_sensitivity=1))
    lines = ledger.report(4).splitlines()
    noise = "exponential mechanism, epsilon 0.125, score range 2"
    assert re.split(r"\s{2,}", lines[1]) == ["select, 60 times", "6 cliques", noise, "0.117188"]
    assert [line.split()[1] for line in lines[2:5]] == ["(x0)", "(x1)", "(x2)"]
    assert lines[5].startswith("57 more, each of less")
    assert sum(float(line.split()[-1]) for line in lines[1:6]) == pytest.approx(float(ledger.spent()), rel=1e-5)
    assert len(ledger.report().splitlines()) == 122
    assert len(ledger.report(61).splitlines()) == 63


def test_a_part_that_counts_on_the_whole_ledger_has_no_guarantee_of_its_own():
    ledger = Ledger(Budget(epsilon=1, delta=1e-6))
    for alone in (True, False):
        with ledger.allocate("a tenth", fraction="1/10", alone=alone) as part:
            part.charge("select", "a", Exponential(part.epsilon_of(part.remaining(), has_range=True), 1))
            asked = (part.snapshot, part.epsilon, part.realised_epsilon, part.to_dict, lambda: copy.copy(part))
            for ask in asked if not alone else ():
                with pytest.raises(ValueError, match="alone=False"):
                    ask()
            if alone:
                assert gdp_epsilon(fixed_amount(part.lines), 1e-6) <= part.epsilon(1e-6) * (1 + 1e-9)


def test_steps_of_bounded_loss_cost_by_what_is_left_and_a_report_checks_it():
    ledger = Ledger(Budget(epsilon=1, delta=1e-6))
    law = Exponential("1/10", 1)
    first, *_, last = (ledger.charge("select", "a", law) for _ in range(15))
    assert law.cost("rho") < first.cost < last.cost < law.cost("rho") * Fraction(355, 226)
    fields = ledger.to_dict()
    assert Ledger.from_dict(fields).lines == ledger.lines
    fields["lines"][-1] |= {key: fields["lines"][0][key] for key in ("left", "cost")}
    with pytest.raises(ValueError, match="counts on"):
        Ledger.from_dict(fields)
    del fields["budget"]["accounting"]
    with pytest.raises(ValueError, match="an amount left"):
        Ledger.from_dict(fields)
    with pytest.raises(ValueError, match="no cost in Gaussian"):
        ledger.charge("train", "a model", Stated(rho="1/1000"))
    with pytest.raises(BudgetError, match="a charge of 2 steps"):
        ledger.charge_many("select", [("a", Exponential(1, 1)), ("b", Exponential("1/2", 1))])
