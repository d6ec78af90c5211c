"""Histograms of unknown keys, quantiles, bounds, real queries, samples, and selection of several candidates."""

import itertools
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pypgm import Dataset, Domain
from pypgm.errors import BudgetError
from pypgm.privacy import (
    Budget,
    Ledger,
    Privacy,
    PrivateColumn,
    PrivateTable,
    measure_real,
    private_bounds,
    private_quantiles,
    sparse_histogram,
)
from pypgm.privacy.laws import amplified_epsilon
from pypgm.privacy.noise import gaussian_threshold, laplace_threshold
from pypgm.privacy.quantiles import rank_scores
from pypgm.queries import Kronecker, Matrix, Prefix

DOMAIN = Domain({"a": 2, "b": 3})
RELATIONS = ("add-remove", "replace")
PRECISE = Fraction(1, 1000)


def dataset(n=60):
    rng = np.random.default_rng(0)
    return Dataset({a: rng.integers(0, s, n) for a, s in zip(DOMAIN, DOMAIN.shape, strict=True)}, DOMAIN)


def table(budget=None, privacy=None, data=None, **options):
    ledger = Ledger(budget or Budget(rho=10**12))
    return PrivateTable(data or dataset(), privacy or Privacy(), ledger, **options)


def tail(weights, z, t):
    return weights[z >= t].sum() / weights.sum()


@given(st.fractions(Fraction(1, 3), 40, max_denominator=1000), st.integers(1, 12))
def test_thresholds_bound_the_tail_and_one_less_does_not(parameter, digits):
    probability = Fraction(1, 10**digits)
    z = np.arange(-4000, 4001)
    for threshold, weights in (
        (laplace_threshold(parameter, probability), np.exp(-np.abs(z) / float(parameter))),
        (gaussian_threshold(parameter, probability), np.exp(-(z**2) / (2 * float(parameter)))),
    ):
        assert tail(weights, z, threshold) <= float(probability) * (1 + 1e-9)
        assert threshold == 1 or tail(weights, z, threshold - 1) > float(probability) * 0.5


def test_a_histogram_of_unknown_keys_shows_what_many_share():
    keys = ["tea"] * 800 + ["coffee"] * 700 + [f"secret {i}" for i in range(200)]
    # Each of the secrets is shown with at most this probability.
    budget = Budget(epsilon=1, delta=1e-6, reserved_delta=1e-12)
    for noise in ({"scale": Fraction(9)}, {"variance": Fraction(400)}):
        ledger = Ledger(budget)
        column = PrivateColumn(keys, Privacy(), ledger)
        found = sparse_histogram(column, delta=1e-12, **noise)
        assert list(found) == ["coffee", "tea"]
        assert abs(found["tea"] - 800) < 300
        assert all(type(count) is int for count in found.values())
        (line,) = ledger.lines
        assert line.delta == Fraction(1, 10**12)
        with pytest.raises(BudgetError, match="reserved"):
            sparse_histogram(column, delta=1e-12, **noise)
    ledger = Ledger(Budget(rho=1, reserved_delta=1e-7))
    column = PrivateColumn([3] * 99 + [1] * 99, Privacy(), ledger, unsafe_seed=1)
    numbers = sparse_histogram(column, delta=1e-7, scale=Fraction(5))
    assert list(numbers) == [1, 3]


@pytest.mark.parametrize("neighbours", RELATIONS)
@pytest.mark.parametrize("k", [1, 3])
def test_a_key_of_one_person_comes_out_with_at_most_delta(neighbours, k):
    """Exactly: the probability that k keys of count 1, or one of count k, reach the threshold."""
    privacy, delta = Privacy(neighbours, k), Fraction(1, 50)
    scale = Fraction(2)
    threshold = k + laplace_threshold(scale, delta / k)
    z = np.arange(-400, 401)
    weights = np.exp(-np.abs(z) / float(scale))
    for counts in ([1] * k, [k]):
        silent = math.prod(1 - tail(weights, z, threshold - c) for c in counts)
        assert 1 - silent <= delta
    ledger = Ledger(Budget(rho=100, reserved_delta="0.1"))
    sparse_histogram(PrivateColumn([], privacy, ledger), delta=delta, scale=scale)
    sensitivity = k * (2 if neighbours == "replace" else 1)
    assert ledger.lines[0].parameters["sensitivity"] == sensitivity
    assert ledger.lines[0].parameters["threshold"] == threshold
    released = 0
    for _ in range(2000):
        poor = PrivateColumn(["x"] * k, privacy, Ledger(Budget(rho=100, reserved_delta="0.1")))
        released += bool(sparse_histogram(poor, delta=delta, scale=scale))
    assert released <= 2000 * float(delta) + 8 * math.sqrt(2000 * float(delta))


def scores_of(records, quantile, points):
    numbers = np.sort(np.array(records, dtype=np.float64))
    return rank_scores(numbers, np.ones(numbers.size, dtype=np.int64), quantile, points)


@given(
    st.lists(st.integers(0, 5), max_size=7),
    st.integers(0, 5),
    st.integers(0, 5),
    st.sampled_from([0, 1, "1/2", "1/4", "3/10"]),
)
def test_rank_scores_change_by_no_more_than_their_range(values, extra, other, quantile):
    q, points = Fraction(quantile), np.array([0.0, 1, 2.5, 3, 4, 6])

    def scores(records):
        return scores_of(records, q, points)

    added = scores([*values, extra])
    for relation, change in (("add-remove", added - scores(values)), ("replace", added - scores([*values, other]))):
        score_range = Privacy(relation).quantile_score_range(q)
        assert np.abs(change).max() <= score_range // 2
        assert change.max() - change.min() <= score_range


@pytest.mark.parametrize("quantile", ["1/2", "1/4", "9/10"])
@pytest.mark.parametrize("relation", RELATIONS)
def test_rank_score_sensitivity_is_attained(quantile, relation):
    q, points = Fraction(quantile), np.arange(-0.5, 6)
    widest = 0
    for values in itertools.product(range(6), repeat=4):
        for extra, other in ((0, 5), (5, 0)):
            one = scores_of([*values, extra], q, points)
            without = [*values] if relation == "add-remove" else [*values, other]
            widest = max(widest, np.abs(one - scores_of(without, q, points)).max())
    assert widest == Privacy(relation).quantile_score_range(q) // 2


def column(values, budget, privacy=None, **more):
    return PrivateColumn(values, privacy or Privacy(), Ledger(budget), **more)


@pytest.mark.parametrize("unit", ["rho", "epsilon"])
def test_parts_of_the_cost_of_quantiles_make_up_the_whole(unit):
    ledger = Ledger(Budget(**{unit: 2}))
    numbers = PrivateColumn(range(101), Privacy("add-remove"), ledger)
    private_quantiles(numbers, ["1/4", "1/2", "3/4"], range(101), **{unit: 1}, parts=[4, 1, 4])
    costs = [line.law.cost(unit) for line in ledger.lines]
    assert 0.999 < sum(costs) <= 1
    assert costs[0] == costs[2]
    assert abs(costs[0] / costs[1] - 4) < 1e-3
    for wrong in ([1, 1], [1, 0, 1], []):
        with pytest.raises(ValueError, match="parts needs a number above 0 for each of 3"):
            private_quantiles(numbers, ["1/4", "1/2", "3/4"], range(101), **{unit: 1}, parts=wrong)
    assert len(ledger.lines) == 3
    with pytest.raises(ValueError, match="epsilon"):
        private_quantiles(numbers, ["1/2"], range(101), parts=[1])


def test_quantiles_are_found_and_rise():
    numbers = column(np.arange(10_001), Budget(epsilon=10))
    grid = np.arange(-1000, 20_000, 50)
    found = private_quantiles(numbers, [0.75, 0.25, "1/2"], grid, epsilon=3)
    np.testing.assert_allclose(found, [7500, 2500, 5000], atol=400)
    assert 3 - Fraction(1, 10**6) < numbers.ledger.spent() <= 3
    assert [line.within for line in numbers.ledger.lines] == ["quantiles"] * 3
    constant = private_quantiles(column([5.0] * 1000, Budget(rho=9)), [0.1, 0.9], range(11), rho=Fraction(1))
    assert constant.tolist() == [5, 5]
    none = column([], Budget(rho=1), Privacy("replace", 2))
    private_quantiles(none, [0, 1], [3.0], rho=Fraction(1, 3))
    assert Fraction(1, 3) - Fraction(1, 10**6) < none.ledger.spent() <= Fraction(1, 3)
    assert none.ledger.lines[0].parameters["score_range"] == 4
    seeded = [
        private_quantiles(column([], Budget(rho=1), unsafe_seed=3), [0.5], range(1000), rho=Fraction(1, 9))
        for _ in range(2)
    ]
    assert seeded[0] == seeded[1]


def test_bounds_are_tight_where_records_are_many():
    """Unseeded, an empty cell would widen them once in a thousand times."""
    powers = [-(2.0**i) for i in range(9, -1, -1)] + [2.0**i for i in range(10)]
    for noise in ({"scale": Fraction(2)}, {"variance": Fraction(9)}):
        numbers = column(np.linspace(-3, 30, 5000), Budget(rho=10), unsafe_seed=1)
        assert private_bounds(numbers, powers, **noise) == (-4, 32)
        assert numbers.ledger.lines[0].parameters["largest_change"] == 1
    assert private_bounds(column([1e9] * 500, Budget(rho=10), unsafe_seed=1), powers, scale=2) == (256, 512)
    assert private_bounds(column([-np.inf] * 500, Budget(rho=10), unsafe_seed=1), powers, scale=2) == (-512, -256)
    missed = column([], Budget(rho=10), unsafe_seed=1)
    private_bounds(missed, powers, scale=2)
    assert missed.ledger.not_private


def test_many_empty_cells_widen_bounds_as_seldom_as_few():
    """Once in a thousand times whatever the grid is; once in six if each cell by itself had that."""
    own = column([100.5] * 500, Budget(epsilon=10**4), unsafe_seed=1)
    found = [private_bounds(own, range(200), scale=2) for _ in range(400)]
    assert sum(bounds != (100, 101) for bounds in found) <= 4  # .4 are expected; more than 4 once in 10^4 times


def test_bounds_of_nothing_are_those_of_the_grid_and_quantiles_are_of_few_digits():
    nobody = column([], Budget(rho=10), unsafe_seed=1)
    found = private_bounds(nobody, range(4), scale=2)
    assert found == (0, 3)
    assert [type(end) for end in found] == [float, float]
    for bad, match in ((Fraction(1, 1 << 18), "denominator below"), (Fraction(5, 4), r"in \[0, 1\]")):
        with pytest.raises(ValueError, match=match):
            private_quantiles(nobody, [bad], range(3), rho=1)
    for grid in ([[0, 1], [2, 3]], [], [0, np.nan], [1, 1]):
        with pytest.raises(ValueError, match="rise strictly"):
            private_quantiles(nobody, ["1/2"], grid, rho=1)
    assert len(nobody.ledger.lines) == 1


def test_bounds_depend_on_noisy_counts():
    """A cell with as many records as noise reaches once in 3000 is seen about every other time."""
    threshold = laplace_threshold(Fraction(20), Fraction(1, 3000))
    found = {private_bounds(column([1.5] * threshold, Budget(rho=10)), range(4), scale=20) for _ in range(60)}
    assert (1, 2) in found
    assert len(found) > 1


def test_real_queries_are_post_processing_or_on_a_lattice():
    data = dataset()
    exact = data.count([("a", "b")])[0]
    entries = np.array([[0.5, 0.25, 0, 0, -1.5, 0], [0, 0, 0.1, 0, 0, 1]])
    plain = measure_real(table(), ("a", "b"), entries, variance=PRECISE)
    np.testing.assert_allclose(plain.values, entries @ exact)
    np.testing.assert_allclose(plain.stddev, np.sqrt(1e-3 * (entries**2).sum(axis=1)))
    assert plain.measurement.values.dtype == np.int64
    private = table()
    on_lattice = measure_real(private, ("a", "b"), entries, lattice=4, variance=PRECISE)
    rounded = np.rint(4 * entries) / 4
    np.testing.assert_allclose(on_lattice.values, rounded @ exact)
    np.testing.assert_allclose(on_lattice.stddev, [math.sqrt(1e-3) / 4] * 2)
    assert private.ledger.lines[0].parameters["squared_sensitivity"] == 36
    for wrong in ([[1.0]], np.full((1, 6), np.nan), np.ones(6)):
        with pytest.raises(ValueError, match=r"shape \(answers, 6\)"):
            measure_real(table(), ("a", "b"), wrong, variance=PRECISE)


@pytest.mark.parametrize("neighbours", RELATIONS)
def test_every_query_is_measured_exactly_with_its_own_sensitivity(neighbours):
    data, k = dataset(), 3
    exact = data.count([("a", "b")])[0]
    for query in (Prefix(6), Matrix([[1, -1, 2, 0, 0, 3]]), Kronecker([Prefix(2), Prefix(3)])):
        private = table(privacy=Privacy(neighbours, k))
        measured = private.measure(("a", "b"), query, variance=PRECISE)
        assert measured.values.tolist() == query.matvec(exact).tolist()
        private.measure(("a", "b"), query, scale=Fraction(7))
        gauss, laplace = private.ledger.lines
        assert gauss.parameters["squared_sensitivity"] == k**2 * query.squared_l2_sensitivity(neighbours)
        assert laplace.parameters["sensitivity"] == k * query.l1_sensitivity(neighbours)


def test_top_q_and_permute_and_flip_on_a_table():
    data = dataset()
    off = {("a",): 3.0, ("b",): 1.0, ("a", "b"): 2.0}
    for budget in (Budget(rho=10**12), Budget(epsilon=10**9)):
        private = table(budget)
        selector = private.l1_selector(list(off), lambda c: data.count([c])[0] + off[c])
        assert selector.select_top([0, 1, 2], 2, epsilon=Fraction(10**6)) == [2, 0]
        assert [line.within for line in private.ledger.lines] == ["top 2"] * 2
        assert selector.permute_and_flip([0, 1], epsilon=Fraction(10**6)) == 0
        line = private.ledger.lines[-1]
        used = line.parameters["epsilon"]
        assert line.cost == (used**2 / 2 if budget.unit == "rho" else used)
        selector.permute_and_flip([0], rho=Fraction(1, 2))
        assert selector.select_top([2], 1, rho=Fraction(1, 2)) == [2]
    poor = table(Budget(rho=1))
    selector = poor.l1_selector(list(off), lambda c: np.zeros(DOMAIN.size(c)))
    with pytest.raises(BudgetError, match="top 3"):
        selector.select_top([0, 1, 2], 3, rho=Fraction(2))
    with pytest.raises(BudgetError, match="select on 3 cliques"):
        selector.permute_and_flip([0, 1, 2], rho=Fraction(2))
    assert poor.ledger.remaining() == 1
    for count in (0, 4):
        with pytest.raises(ValueError, match=r"takes 1\.\.3"):
            selector.select_top([0, 1, 2], count, rho=Fraction(1))
    with pytest.raises(ValueError, match="positions"):
        selector.permute_and_flip([9], rho=Fraction(1))
    with pytest.raises(ValueError, match="rho above 0"):
        selector.permute_and_flip([0], rho=Fraction(0))


@given(st.fractions(Fraction(1, 10**6), 1, max_denominator=10**9), st.fractions(Fraction(1, 10**9), 50))
def test_amplification_is_the_formula_rounded_up(rate, epsilon):
    found = amplified_epsilon(rate, epsilon)
    formula = (
        1 + Decimal(rate.numerator) / rate.denominator * ((Decimal(epsilon.numerator) / epsilon.denominator).exp() - 1)
    ).ln()
    assert float(found) == pytest.approx(float(formula), rel=1e-9, abs=1e-18)
    assert found <= epsilon
    assert max(found.numerator, found.denominator) < 2**63


def test_amplification_bounds_the_exact_loss_of_a_sampled_mechanism():
    """Randomized response on whether anybody was sampled: the mixture's ratio attains the formula."""
    rate, epsilon = 0.1, 1.0
    yes = 1 / (1 + math.exp(-epsilon))
    mixed = (1 - rate) * (1 - yes) + rate * yes
    assert math.log(mixed / (1 - yes)) == pytest.approx(float(amplified_epsilon(Fraction(1, 10), Fraction(1))))


def test_a_sample_is_charged_once_and_keeps_each_record_by_its_own_coin():
    data = dataset(20_000)
    private = table(Budget(epsilon=1), data=data)
    sample = private.subsample("1/10", epsilon=2)
    (line,) = private.ledger.lines
    assert line.cost == amplified_epsilon(Fraction(1, 10), Fraction(2)) == line.parameters["epsilon"]
    total = sample.measure_total(scale=Fraction(1)).values[0]
    assert abs(total - 2000) < 8 * math.sqrt(1800) + 40
    assert sample.ledger.remaining() == 1
    with pytest.raises(BudgetError):
        sample.measure("a", scale=Fraction(1, 2))
    assert private.ledger.lines == (line,)
    whole = table(data=data).subsample(1, epsilon=10**5)
    assert whole.measure_total(scale=Fraction(1, 1000)).values[0] == 20_000
    zcdp = table(Budget(rho=1))
    zcdp.subsample(0.01, epsilon=1)
    assert zcdp.ledger.spent() == amplified_epsilon(Fraction(1, 100), Fraction(1)) ** 2 / 2
    seeded = [table(data=data, unsafe_seed=4).subsample(0.5, epsilon=1) for _ in range(2)]
    assert seeded[0].ledger.not_private
    assert len({int(s.measure_total(scale=Fraction(1)).values[0]) for s in seeded}) == 1


def test_samples_refused():
    for privacy in (Privacy("replace"), Privacy(records_per_person=2)):
        with pytest.raises(ValueError, match="one per person"):
            table(privacy=privacy).subsample(0.1, epsilon=1)
    for rate in (0, 2, Fraction(1, 2**50)):
        with pytest.raises(ValueError, match="rate"):
            table().subsample(rate, epsilon=1)
    with pytest.raises(ValueError, match=r"10\^6"):
        table().subsample(0.5, epsilon=10**7)
    with pytest.raises(BudgetError):
        table(Budget(rho="1/1000")).subsample(0.5, epsilon=1)

    class Counted:
        domain, weights, n_records = DOMAIN, None, 3

    with pytest.raises(TypeError, match="only records can be sampled"):
        table(data=Counted()).subsample(0.5, epsilon=1)


def held(values):
    return column(values, Budget(rho=1, reserved_delta="0.5"))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: sparse_histogram(held(["a"]), delta=0, scale=1), ValueError, "delta"),
        (lambda: sparse_histogram(held(["a"]), delta=0.1), ValueError, "exactly one"),
        (lambda: sparse_histogram(held(["a"]), delta=0.1, scale=2, variance=2), ValueError, "exactly one"),
        (lambda: sparse_histogram(held(["a"]), delta=0.1, scale="1/9"), BudgetError, "needs"),
        (lambda: private_quantiles(held([1]), [1.5], [1], rho=1), ValueError, "quantile"),
        (lambda: private_quantiles(held([1]), [], [1], rho=1), ValueError, "at least one"),
        (lambda: private_quantiles(held([1]), [0.5], [], rho=1), ValueError, "rise"),
        (lambda: private_quantiles(held([1]), [0.5], [2, 1], rho=1), ValueError, "rise"),
        (lambda: private_quantiles(held([1]), [0.5], [1]), ValueError, "exactly one"),
        (lambda: private_quantiles(held([1]), [0.5], [1], rho=2), BudgetError, "quantile 1/2"),
        (lambda: private_bounds(held([1]), [1], scale=1), ValueError, "two points"),
        (lambda: private_bounds(held([1]), [1, 2]), ValueError, "exactly one"),
        (lambda: private_bounds(held([1]), [1, 2], scale="1/9"), BudgetError, "needs"),
        (lambda: held("text"), TypeError, "sequence of values"),
        (lambda: held(iter([1])), TypeError, "sequence of values"),
        (lambda: held(np.zeros((2, 2))), ValueError, "one dimension"),
    ],
)
def test_refusals(call, error, message):
    with pytest.raises(error, match=message):
        call()
