"""Many cliques measured at once: one pass, noise by share, and numbers as people write them."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import pypgm
from pypgm import Budget, Dataset, Domain, Ledger, Privacy, PrivateTable
from pypgm.errors import BudgetError
from pypgm.privacy.laws import DiscreteGaussian
from pypgm.privacy.observer import Observer
from pypgm.privacy.rational import as_fraction, exact_sum
from pypgm.queries import Partition, Prefix, total

DOMAIN = Domain({"a": 2, "b": 3, "c": 1})
RNG = np.random.default_rng(0)
DATA = Dataset({a: RNG.integers(0, s, 60) for a, s in zip(DOMAIN, DOMAIN.shape, strict=True)}, DOMAIN)
CLIQUES = ["a", ("b", "a"), (), ("a", "b")]


class Passes(Dataset):
    """Records that note what is counted at a time."""

    def count(self, cliques, n_threads=0):
        self.passes = [*getattr(self, "passes", []), list(cliques)]
        return super().count(cliques, n_threads)


def table(privacy=None, budget=None, data=DATA, **more):
    return PrivateTable(data, privacy or Privacy(), Ledger(budget or Budget(rho=10**12)), **more)


@pytest.mark.parametrize("k", [1, 3])
def test_each_gets_its_share_and_together_they_cost_no_more(k):
    private = table(Privacy(records_per_person=k), Budget(rho=10))
    measured = private.measure_many(CLIQUES, rho=0.7, weights=[1, "1/3", 2.5, Decimal("0.1")])
    shares = [Fraction(1), Fraction(1, 3), Fraction(5, 2), Fraction(1, 10)]
    costs = [line.cost for line in private.ledger.lines]
    for cost, share, m in zip(costs, shares, measured, strict=True):
        assert 0 <= 1 - cost / (Fraction(7, 10) * share / sum(shares)) < 1e-12
        assert m.stddev == pytest.approx(float(k**2 / (2 * cost)) ** 0.5)
    assert private.ledger.spent() == sum(costs) <= Fraction(7, 10)
    assert private.ledger.remaining() == 10 - sum(costs)
    assert [line.within for line in private.ledger.lines] == ["4 cliques"] * 4
    equal = table()
    equal.measure_many(["a", "b"], rho=1)
    assert [line.cost for line in equal.ledger.lines] == [Fraction(1, 2)] * 2


def test_values_are_counts_plus_noise_in_the_order_asked():
    queries = [None, Partition([0, 1, 0, 1, 0, 1]), None, Prefix(6)]
    measured = table().measure_many(CLIQUES, queries, rho=10**6)
    for m, clique, query in zip(measured, [("a",), ("b", "a"), (), ("a", "b")], queries, strict=True):
        exact = DATA.count([clique])[0]
        assert m.clique == clique
        assert m.query == query
        assert m.values.dtype == np.int64
        assert m.values.tolist() == (exact if query is None else query.matvec(exact)).tolist()


def test_the_records_are_counted_in_few_passes(monkeypatch):
    data = Passes(DATA.columns, DOMAIN)
    table(data=data).measure_many(CLIQUES, rho=1)
    assert data.passes == [[("a",), ("b", "a"), (), ("a", "b")]]
    monkeypatch.setattr(Observer, "batch_cells", 8)
    table(data=data).measure_many(CLIQUES, rho=1)
    assert data.passes[1:] == [[("a",), ("b", "a")], [(), ("a", "b")]]


def test_seeds_and_marks_are_those_of_the_table():
    runs = [table(unsafe_seed=5).measure_many(CLIQUES, rho=1e-6) for _ in range(2)]
    assert [m.values.tolist() for m in runs[0]] == [m.values.tolist() for m in runs[1]]
    assert {m.not_private for m in runs[0]} == {"noise drawn from a seed"}
    assert len(pypgm.estimate(DOMAIN, runs[0], iterations=2).not_private) > 0


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"cliques": []}, ValueError, "at least one"),
        ({"weights": [1]}, ValueError, "as many"),
        ({"queries": [None]}, ValueError, "as many"),
        ({"weights": [1, 1, 1, 0]}, ValueError, "above 0"),
        ({"weights": [1, 1, 1, float("nan")]}, ValueError, "finite"),
        ({"rho": 0}, ValueError, "more than 0"),
        ({"rho": float("inf")}, ValueError, "finite"),
        ({"rho": 2}, BudgetError, "4 cliques needs rho 2"),
        ({"cliques": ["a", "z"]}, ValueError, "unknown attribute"),
        ({"queries": [None, None, None, Prefix(5)]}, ValueError, "the query is for 5"),
    ],
)
def test_refusals_read_and_charge_nothing(arguments, error, message):
    data = Passes(DATA.columns, DOMAIN)
    private = table(budget=Budget(rho=1), data=data)
    with pytest.raises(error, match=message):
        private.measure_many(**({"cliques": CLIQUES, "rho": 1} | arguments))
    assert private.ledger.lines == ()
    assert private.ledger.remaining() == 1
    assert not hasattr(data, "passes")


def test_answers_that_nobody_changes_need_no_rho():
    private = table(Privacy("replace"))
    for cliques, queries in ((["a", ()], None), (["a", "c"], None), (["a", "b"], [None, total(3)])):
        with pytest.raises(ValueError, match="need no noise"):
            private.measure_many(cliques, queries, rho=1)
    assert private.ledger.lines == ()


@pytest.mark.parametrize("tenth", [0.1, "0.1", "1/10", Decimal("0.1"), Fraction(1, 10), np.float64(0.1)], ids=repr)
def test_a_number_means_its_shortest_decimal_everywhere(tenth):
    private = table()
    private.measure("a", rho=tenth)
    private.measure("a", variance=tenth)
    private.measure_total(scale=tenth)
    private.measure_many(["a"], rho=tenth)
    private.l1_selector([("a",)], lambda c: [0, 0]).select([0], epsilon=tenth)
    private.ledger.charge("measure", "a", DiscreteGaussian(variance=tenth, squared_sensitivity=1))
    costs = [line.cost for line in private.ledger.lines]
    assert costs[0] == costs[3] == Fraction(1, 10)
    assert costs[1] == costs[5] == 5
    assert costs[2] == 50
    assert 0 <= Fraction(1, 800) - costs[4] < 1e-12


def test_the_toolkit_is_exported():
    for name in ("PrivateTable", "PrivateColumn", "LedgerReport", "Release", "Fit", "read_domain", "write_table"):
        assert name in pypgm.__all__
        assert getattr(pypgm, name).__name__ == name


def test_thousands_of_different_costs_are_added_up_as_integers():
    """Of weights that give no cost that noise can be drawn for, the cost is rounded down to 32 bits: powers of two."""
    data = Dataset({f"x{i}": [0, 1, 1] for i in range(30)}, Domain({f"x{i}": 2 for i in range(30)}))
    table = PrivateTable(data, Privacy(), Ledger(Budget(rho=1)))
    weights = np.random.default_rng(3).uniform(0.1, 1.0, 30)
    table.measure_many([(a,) for a in data.domain], rho=1, weights=weights.tolist())
    whole = exact_sum(as_fraction("a weight", w) for w in weights.tolist())
    for line, weight in zip(table.ledger.lines, weights.tolist(), strict=True):
        asked = as_fraction("a weight", weight) / whole
        assert asked * (1 - Fraction(1, 2**31)) < line.cost <= asked
        assert line.cost == asked or line.cost.denominator.bit_count() == 1
        assert line.cost == Fraction(line.law.squared_sensitivity) / (2 * line.law.variance)
    assert 0 <= table.ledger.remaining() < Fraction(1, 2**31)
