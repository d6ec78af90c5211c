"""Arithmetic that nobody's settings reach, noise that is some, scores that do not wrap, samples that end."""

import decimal
import gc
import weakref
from fractions import Fraction

import numpy as np
import pytest

from pypgm import Dataset, Domain
from pypgm.errors import BudgetError
from pypgm.privacy import (
    Budget,
    Ledger,
    Privacy,
    PrivateColumn,
    PrivateTable,
    private_bounds,
    sparse_histogram,
    zcdp_delta,
    zcdp_epsilon,
    zcdp_rho,
)
from pypgm.privacy.l1_selector import GRID_BITS, SCORE_LIMIT, l1_distance, on_grid
from pypgm.privacy.laws import amplified_epsilon
from pypgm.privacy.noise import gaussian_threshold, laplace_stddev, laplace_threshold
from pypgm.privacy.quantiles import rank_scores

CONTEXTS = [
    decimal.Context(prec=1),
    decimal.Context(prec=6),
    decimal.Context(prec=6, rounding=decimal.ROUND_FLOOR),
    decimal.Context(prec=3, Emin=-5, Emax=5),
    decimal.Context(prec=28, traps=[decimal.Inexact, decimal.FloatOperation, decimal.Subnormal]),
    decimal.Context(capitals=0, clamp=1, prec=2, rounding=decimal.ROUND_UP),
]


def computed():
    """All that decimals take part in."""
    return [
        *(zcdp_epsilon(rho, "1e-9") for rho in ("0.001", "0.05", "3")),
        *(zcdp_delta("0.05", epsilon) for epsilon in ("0.1", "1.4", "10")),
        *(zcdp_rho(epsilon, "1e-9") for epsilon in ("0.01", "1", "30")),
        *(amplified_epsilon(Fraction(1, q), Fraction(e)) for q in (3, 1000) for e in (1, "1/1000", 30)),
        *(laplace_threshold(Fraction(7), Fraction(1, 10**k)) for k in (1, 9)),
        *(gaussian_threshold(Fraction(49), Fraction(1, 10**k)) for k in (1, 9)),
        Budget(epsilon=decimal.Decimal("0.123456789012345678901234567890"), delta=1e-9).limit,
    ]


@pytest.mark.parametrize("context", CONTEXTS, ids=range(len(CONTEXTS)))
def test_no_decimal_context_of_the_caller_changes_a_charge(context):
    usual = computed()
    with decimal.localcontext(context):
        assert computed() == usual
        assert decimal.getcontext().prec == context.prec


def test_nor_does_the_default_context(monkeypatch):
    usual = computed()
    for name, value in (("prec", 2), ("rounding", decimal.ROUND_DOWN)):
        monkeypatch.setattr(decimal.DefaultContext, name, value)
    assert computed() == usual


# --- noise that is none ---


@pytest.mark.parametrize("scale", ["1/1500", "1/100000", "1e-300", "1e-400", Fraction(1, 2**2000)])
def test_a_scale_whose_standard_deviation_underflows_is_refused_before_the_charge(scale):
    domain = Domain({"a": 2})
    ledger = Ledger(Budget(epsilon="1e308", reserved_delta=0.1))
    table = PrivateTable(Dataset({"a": [0, 1]}, domain), Privacy(), ledger)
    for ask in (
        lambda: table.measure("a", scale=scale),
        lambda: table.measure_total(scale=scale),
        lambda: private_bounds(table.column("a"), [0, 1], scale=scale),
        lambda: sparse_histogram(table.column("a"), delta=0.01, scale=scale),
    ):
        with pytest.raises(ValueError, match="0 in floating point"):
            ask()
    assert ledger.lines == ()


def test_the_smallest_scales_that_are_taken_have_a_standard_deviation():
    assert laplace_stddev(Fraction(1, 1400)) > 0
    assert laplace_stddev(Fraction(1, 10**9)) == 0


# --- counts beyond 2^44 ---


@pytest.mark.parametrize("count", [2**43, 2**44, 2**46, 2**47, 2**47 + 2**20, 2**60, 2**63 - 1])
def test_scores_of_large_counts_do_not_wrap(count):
    answers = np.array([count, 0, 3], dtype=np.int64)
    estimate = on_grid(("a",), [1.5, 2.0, 0.0], 3)
    exact = abs((count << GRID_BITS) - (3 << GRID_BITS) // 2) + (5 << GRID_BITS)
    assert l1_distance(answers, estimate) == min(exact, SCORE_LIMIT)
    one_more = answers + np.array([0, 1, 0])
    assert abs(l1_distance(one_more, estimate) - l1_distance(answers, estimate)) <= 1 << GRID_BITS


@pytest.mark.parametrize("count", [2**44, 2**47, 2**60])
def test_a_selection_on_large_counts_takes_the_worst_estimate(count):
    domain = Domain({"a": 2, "b": 2})
    counts = {("a",): [count, 0], ("b",): [2**43, 2**43 - 1]}

    class Counted:
        weights = n_records = None

        def count(self, cliques, n_threads=0):
            return [np.array(counts[c], dtype=np.int64) for c in cliques]

    Counted.domain = domain
    table = PrivateTable(Counted(), Privacy(), Ledger(Budget(rho=10**12)))
    estimate = {("a",): [0, 0], ("b",): [2**43, 2**43 - 1]}
    assert table.l1_selector(list(counts), estimate.get).select([0, 1], rho=10**6) == 0


@pytest.mark.parametrize("count", [2**44, 2**47, 2**62])
def test_ranks_of_large_counts_do_not_wrap(count):
    quantile = Fraction(1, 2**18 - 1)
    scores = rank_scores(np.array([1.0]), np.array([count]), quantile, np.array([0.0, 1.0, 2.0]))
    away = [min(SCORE_LIMIT, a * count) for a in (1, 0, 2**18 - 2)]
    assert scores.tolist() == [-a for a in away]


# --- samples end with their tables ---


def test_a_sample_ends_with_its_table():
    data = Dataset({"a": [0, 1] * 500}, Domain({"a": 2}))
    table = PrivateTable(data, Privacy(), Ledger(Budget(epsilon=10)))
    with table:
        sample = table.subsample("1/2", epsilon=2)
        deeper = sample.subsample("1/2", epsilon=1)
        column = sample.column("a")
        selector = deeper.l1_selector([("a",)], lambda c: [0, 0])
        selector.select([0], epsilon="1/10")
        sample.measure("a", scale=10)
    spent = sample.ledger.spent()
    for ask in (
        lambda: sample.measure("a", scale=100),
        lambda: deeper.measure_total(scale=100),
        lambda: deeper.subsample("1/2", epsilon="1/100"),
        lambda: selector.select([0], epsilon="1/100"),
        lambda: private_bounds(column, [0, 1], scale=100),
    ):
        with pytest.raises(ValueError, match="closed"):
            ask()
    assert sample.closed
    assert deeper.closed
    assert sample.ledger.spent() == spent


def test_a_sample_that_nobody_holds_is_let_go():
    data = Dataset({"a": [0, 1] * 500}, Domain({"a": 2}))
    table = PrivateTable(data, Privacy(), Ledger(Budget(epsilon=10)))
    sample = weakref.ref(table.subsample("1/2", epsilon=1))
    gc.collect()
    assert sample() is None


def test_a_sample_is_bound_to_the_relation_it_holds_for():
    data = Dataset({"a": [0, 1] * 500}, Domain({"a": 2}))
    sample = PrivateTable(data, Privacy(), Ledger(Budget(epsilon=10))).subsample("1/2", epsilon=1)
    with pytest.raises(ValueError, match="charges are for"):
        PrivateColumn([1], Privacy(records_per_person=2), sample.ledger)
    with pytest.raises(BudgetError):
        sample.measure("a", scale="1/9")
