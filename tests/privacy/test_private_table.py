import copy
import gc
import math
import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pypgm import Domain
from pypgm.data import Dataset
from pypgm.errors import BudgetError, ReleaseError
from pypgm.privacy import Budget, Ledger, Privacy
from pypgm.privacy.private_table import GRID_BITS, PrivateTable, on_grid
from pypgm.queries import Identity, Partition, Prefix

DOMAIN = Domain({"a": 2, "b": 3, "c": 1})
RELATIONS = ("add-remove", "replace")


class Untouchable:
    """Records that fail the test when anything but what is public is asked of them."""

    domain = DOMAIN
    weights = None

    @property
    def n_records(self):
        raise AssertionError("the number of records was read")

    @property
    def columns(self):
        raise AssertionError("columns were read")

    def count(self, cliques, n_threads=0):
        raise AssertionError("records were counted")


def dataset(n=60, seed=0):
    rng = np.random.default_rng(seed)
    return Dataset({a: rng.integers(0, s, n) for a, s in zip(DOMAIN, DOMAIN.shape, strict=True)}, DOMAIN)


def table(data=None, neighbours="add-remove", k=1, budget=None):
    ledger = Ledger(budget or Budget(rho=10**12))
    return PrivateTable(dataset() if data is None else data, Privacy(neighbours, k), ledger)


def test_a_measurement_is_the_count_plus_noise_in_the_order_of_the_clique():
    data = dataset()
    private = table(data)
    m = private.measure(("b", "a"), variance=Fraction(1, 1000))
    assert m.values.dtype == np.int64
    assert m.values.tolist() == data.count([("b", "a")])[0].tolist()
    assert (m.clique, m.query, m.noise) == (("b", "a"), None, "gaussian")
    grouped = private.measure("b", Partition([0, 1, 0]), scale=Fraction(1, 60))
    exact = data.count([("b",)])[0]
    assert grouped.values.tolist() == [exact[0] + exact[2], exact[1]]
    assert grouped.noise == "laplace"
    assert private.measure_total(variance=Fraction(1, 1000)).values.tolist() == [60]
    noisy = private.measure(("a", "b"), variance=Fraction(10**12))
    assert np.abs(noisy.values).max() > 60
    assert noisy.stddev == 10**6


@pytest.mark.parametrize("neighbours", RELATIONS)
@pytest.mark.parametrize("k", [1, 4])
def test_the_ledger_holds_what_was_drawn_with(neighbours, k):
    private = table(neighbours=neighbours, k=k)
    squared = (1 if neighbours == "add-remove" else 2) * k**2
    private.measure("a", rho=Fraction(1, 7))
    private.measure("a", variance=Fraction(3**50, 2**80 + 1))
    private.measure("b", scale=Fraction(5, 3))
    private.measure(("c",), variance=Fraction(2))
    gauss, awkward, laplace, single = private.ledger.lines
    assert gauss.parameters["variance"] == Fraction(7 * squared, 2)
    assert gauss.cost == Fraction(1, 7)
    assert awkward.parameters["variance"] >= Fraction(3**50, 2**80 + 1)
    assert awkward.cost == squared / (2 * awkward.parameters["variance"])
    sensitivity = k * (1 if neighbours == "add-remove" else 2)
    assert laplace.cost == Fraction(sensitivity * 3, 5) ** 2 / 2
    # One cell is the number of records: private under add-remove, public under replace.
    assert single.cost == (Fraction(k**2, 4) if neighbours == "add-remove" else 0)
    assert (private.public_total == 60) == (neighbours == "replace")
    assert neighbours == "replace" or private.public_total is None


@pytest.mark.parametrize(
    "ask",
    [
        lambda t: t.measure("a", rho=Fraction(2)),
        lambda t: t.measure(("a", "b"), Partition([0] * 6), variance=Fraction(1, 100)),
        lambda t: t.measure("a", scale=Fraction(1, 100)),
        lambda t: t.measure_total(rho=Fraction(2)),
        lambda t: t.l1_selector([("a",), ("b",)], lambda c: np.zeros(DOMAIN.size(c))).select([0, 1], rho=Fraction(2)),
        lambda t: t.l1_selector([("a",)], lambda c: np.zeros(2)).select([0], epsilon=Fraction(100)),
    ],
)
def test_an_overdraw_raises_before_any_record_is_read(ask):
    private = table(Untouchable(), budget=Budget(rho=1))
    with pytest.raises(BudgetError, match="needs rho"):
        ask(private)
    assert private.ledger.lines == ()


def test_a_charge_comes_before_the_count():
    private = table(Untouchable(), budget=Budget(rho=1))
    with pytest.raises(ReleaseError, match="failed after it was charged"):
        private.measure("a", rho=Fraction(1, 2))
    assert private.ledger.spent() == Fraction(1, 2)


def test_selection_takes_the_worst_estimate_among_those_asked():
    data = dataset()
    private = table(data)
    cliques = [("a",), ("b",), ("a", "b")]
    off = {("a",): 3.0, ("b",): 1.0, ("a", "b"): 2.0}
    selector = private.l1_selector(cliques, lambda c: data.count([c])[0] + off[c])
    assert selector.select([0, 1, 2], epsilon=Fraction(10**6)) == 2  # 12 in all
    assert selector.select([0, 1], epsilon=Fraction(10**6)) == 0
    assert selector.select([1], epsilon=Fraction(10**6)) == 1
    line = private.ledger.lines[0]
    assert line.cost == line.parameters["epsilon"] ** 2 / 8
    assert 0 <= 1 - line.parameters["epsilon"] / 10**6 < 1e-12
    grouped = private.l1_selector(
        [("a",), ("b",)], lambda _: [10, 50], lambda c: Partition([0, 1, 1][: DOMAIN.size(c)])
    )
    grouped.select([0, 1], rho=Fraction(1))
    assert private.ledger.lines[-1].cost <= 1


def test_selection_epsilon_uses_nearly_all_of_its_rho_and_never_more():
    for rho in (Fraction(1, 7), Fraction(10**9), Fraction(1, 10**12), Fraction(2**40 + 1, 3**40)):
        private = table()
        private.l1_selector([("a",), ("b",)], lambda c: np.zeros(DOMAIN.size(c))).select([0, 1], rho=rho)
        assert 0 <= 1 - private.ledger.spent() / rho < 1e-6


@given(st.lists(st.integers(0, 5), max_size=6), st.integers(0, 5), st.integers(0, 5), st.integers(0, 2**32))
def test_score_sensitivity_by_brute_force(cells, extra, other, seed):
    """Integer equality, over all neighbours of small tables, for the query of every cell and for a partition."""
    clique = ("a", "b")
    estimate = np.random.default_rng(seed).uniform(-3, 9, 6)
    for query in (Identity(6), Partition([0, 0, 1, 2, 2, 1])):
        public = on_grid(clique, query.matvec(estimate), query.shape[0])

        def score(records, query=query, public=public):
            answers = query.matvec(np.bincount(np.array(records, dtype=int), minlength=6))
            return int(np.abs((answers << GRID_BITS) - public).sum())

        unit = 1 << GRID_BITS
        assert abs(score([*cells, extra]) - score(cells)) <= unit
        assert abs(score([*cells, extra]) - score([*cells, other])) <= 2 * unit


def test_it_tells_nothing_of_itself():
    private = table()
    selector = private.l1_selector([("a",)], lambda c: np.zeros(2))
    selector.select([0], rho=Fraction(1))
    for show in (repr, str, format):
        assert show(private) == show(table(dataset(7))) == "PrivateTable(records behind a ledger)"
    assert not hasattr(private, "__dict__")
    assert bool(private)
    for act in (
        len,
        list,
        lambda t: t["a"],
        copy.copy,
        copy.deepcopy,
        pickle.dumps,
        lambda _: pickle.dumps(selector),
        lambda _: copy.deepcopy(selector),
    ):
        with pytest.raises(TypeError, match="private"):
            act(private)


def test_tables_that_differ_fail_with_the_same_words():
    def message(data):
        with pytest.raises(ValueError, match="finite") as failure:
            table(data).l1_selector([("a",)], lambda c: np.full(2, np.nan)).select([0], rho=Fraction(1))
        return str(failure.value)

    assert message(dataset(60)) == message(dataset(3, seed=1))


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda t: t.measure("z", rho=Fraction(1)), "unknown attribute 'z'"),
        (lambda t: t.measure("a", Identity(3), rho=Fraction(1)), "2 cells, the query is for 3"),
        (lambda t: t.measure("a"), "exactly one of"),
        (lambda t: t.measure("a", rho=Fraction(1), variance=Fraction(1)), "exactly one of"),
        (lambda t: t.measure("a", rho=Fraction(0)), "rho must be more than 0"),
        (lambda t: t.measure("a", variance=Fraction(0)), "variance must be more than 0"),
        (lambda t: t.l1_selector([("a",)], np.zeros).select([1], rho=Fraction(1)), r"positions in 0\.\.0"),
        (lambda t: t.l1_selector([("a",)], np.zeros).select([], rho=Fraction(1)), "positions in"),
        (lambda t: t.l1_selector([("a",)], np.zeros).select([0]), "exactly one of"),
        (
            lambda t: t.l1_selector([("a",)], np.zeros, lambda _: Prefix(2)).select([0], rho=Fraction(1)),
            "compares cells or sums",
        ),
        (lambda t: t.l1_selector([("a",)], np.zeros).select([0], epsilon=Fraction(0)), "rate of at least"),
    ],
)
def test_refusals_read_nothing(ask, message):
    private = table(Untouchable())
    with pytest.raises(ValueError, match=message):
        ask(private)
    assert private.ledger.lines == ()


@pytest.mark.parametrize("estimate", [[1.0], [math.inf, 0], [1e14, 0]])
def test_estimates_are_checked(estimate):
    with pytest.raises(ValueError, match="clique"):
        on_grid(("a",), estimate, 2)


def test_more_refusals():
    with pytest.raises(ValueError, match="no record changes"):
        table(neighbours="replace").measure("c", rho=Fraction(1))
    columns = {a: np.zeros(2, dtype=int) for a in DOMAIN}
    with pytest.raises(ValueError, match="unweighted"):
        table(Dataset(columns, DOMAIN, weights=[1.0, 2.0]))


@pytest.mark.parametrize("neighbours", RELATIONS)
def test_a_closed_table_has_let_go_of_its_records_and_charges_nothing(neighbours):
    data = dataset()
    with table(data, neighbours=neighbours) as private:
        selector = private.l1_selector([("a",)], lambda c: np.zeros(2))
        selector.select([0], rho=Fraction(1))
        released = private.measure("a", variance=Fraction(4))
        assert not private.closed
    spent = private.ledger.spent()
    for ask in (
        lambda: private.measure("a", variance=Fraction(4)),
        lambda: private.measure_total(scale=Fraction(4)),
        lambda: private.l1_selector([("a",)], lambda c: np.zeros(2)),
        lambda: selector.select([0], rho=Fraction(1)),
        lambda: selector.permute_and_flip([0], rho=Fraction(1)),
    ):
        with pytest.raises(ValueError, match="closed"):
            ask()
    if neighbours == "replace":
        with pytest.raises(ValueError, match="closed"):
            _ = private.public_total
    else:
        with pytest.raises(ValueError, match="closed"):
            private.subsample(0.5, epsilon=1)
    assert private.closed
    assert private.ledger.spent() == spent
    assert private.domain == DOMAIN
    assert released.values.size == 2
    held = gc.get_referrers(data)
    assert not any(isinstance(owner, PrivateTable) for owner in held)
