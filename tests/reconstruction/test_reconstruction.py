"""Reconstructions that are no graphical model: against dense least squares, each other, and the truth."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

import pypgm
from pypgm import Dataset, Domain, LinearMeasurement
from pypgm.errors import ModelTooLargeError
from pypgm.queries import Contrasts, Prefix
from pypgm.reconstruction import (
    FullTable,
    ProductMixture,
    least_squares,
    local_least_squares,
    priview,
    relaxed_projection,
    residual_least_squares,
    reweight,
)
from pypgm.reconstruction.marginals import on_simplex, without_negatives
from pypgm.reconstruction.mixture import _slopes, _softmax

DOMAIN = Domain({"a": 2, "b": 3, "c": 4, "d": 2})
CYCLE = [("a", "b"), ("c", "b"), ("c", "d"), ("d", "a"), ("c",)]


def summed(table, clique):
    """Return the marginal, axes as asked."""
    kept = [DOMAIN.index(a) for a in clique]
    sums = table.sum(axis=tuple(i for i in range(len(DOMAIN)) if i not in kept))
    order = sorted(kept)
    return np.transpose(sums, [order.index(i) for i in kept])


def truth(seed=0, total=5000.0):
    return np.random.default_rng(seed).dirichlet(np.ones(DOMAIN.size())).reshape(DOMAIN.shape) * total


def measured(cliques=CYCLE, seed=0, stddev=3.0):
    rng, table = np.random.default_rng(seed), truth(seed)
    spreads = stddev * np.linspace(1.0, 2.0, len(cliques))
    return [
        LinearMeasurement(summed(table, c) + rng.normal(0, s, DOMAIN.sizes(c)), c, float(s))
        for c, s in zip(cliques, spreads, strict=True)
    ]


def dense(measurements):
    """Return the shortest weighted least squares table, by matrices written out."""
    eye = np.eye(DOMAIN.size()).reshape(*DOMAIN.shape, DOMAIN.size())
    rows, wanted = [], []
    for m in measurements:
        sums = np.stack([summed(eye[..., j], m.clique).reshape(-1) for j in range(DOMAIN.size())], axis=1)
        query = m.linear_map.apply(np.eye(m.linear_map.shape[1]))
        rows.append(query @ sums / m.spread()[:, None])
        wanted.append(m.values / m.spread())
    return np.linalg.lstsq(np.concatenate(rows), np.concatenate(wanted), rcond=None)[0].reshape(DOMAIN.shape)


@pytest.mark.parametrize("query", [None, Prefix(6)])
def test_least_squares_is_that_of_dense_matrices(query):
    measurements = measured()
    if query is not None:
        measurements.append(LinearMeasurement(np.arange(6.0), ("a", "b"), np.linspace(1, 2, 6), query))
    np.testing.assert_allclose(least_squares(DOMAIN, measurements).counts.values, dense(measurements), atol=1e-6)


def with_contrasts():
    rng, found = np.random.default_rng(3), measured(CYCLE[:3])
    for clique in (("c", "b"), ("d", "a"), ("b", "a", "d")):
        query = Contrasts(DOMAIN.sizes(clique))
        exact = query.matvec(summed(truth(), clique).reshape(-1))
        found.append(LinearMeasurement(exact + rng.normal(0, 5, exact.size), clique, 5.0, query))
    return found


@pytest.mark.parametrize("measurements", [measured(), with_contrasts(), measured([()])], ids=["whole", "mixed", "sum"])
def test_residuals_are_least_squares_on_every_clique(measurements):
    """Least squares of shortest tables leaves at 0 what is not measured, as the residuals do."""
    expected, found = dense(measurements), residual_least_squares(DOMAIN, measurements)
    for k in range(4):
        for clique in itertools.permutations(DOMAIN, k):
            np.testing.assert_allclose(found.project(clique).values, summed(expected, clique), atol=1e-7)
    assert found.total == pytest.approx(expected.sum())


def test_standard_errors_are_those_of_the_covariance():
    for measurements in (measured(), with_contrasts()):
        found = residual_least_squares(DOMAIN, measurements)
        rng, answers = np.random.default_rng(0), []
        for _ in range(400):
            again = [m.answered(rng.normal(0, m.stddev, m.values.size)) for m in measurements]
            answers.append(residual_least_squares(DOMAIN, again))
        for clique in [("a", "b"), ("b", "d"), ("c",), ("a", "b", "c")]:
            draws = np.stack([a.project(clique).values for a in answers])
            assert np.sqrt((draws**2).mean()) == pytest.approx(found.standard_error(clique), rel=0.08)


def test_closed_forms_reproduce_published_errors():
    """Root mean squared error a cell at unit cost: all pairs of the CPS sizes, by contrasts of the best strategy."""
    domain = Domain(dict(zip("vwxyz", (100, 50, 7, 4, 2), strict=True)))
    workload = pypgm.workloads.all_k_way(domain, 2)
    best = pypgm.mechanisms.strategies.contrast_strategy(workload, pypgm.Privacy())
    rng, measurements = np.random.default_rng(0), []
    for clique, share in zip(best.cliques, best.shares, strict=True):
        query = Contrasts(domain.sizes(clique))
        sigma = float((query.squared_l2_sensitivity("add-remove") / share) ** 0.5)
        measurements.append(LinearMeasurement(rng.normal(0, sigma, query.shape[0]), clique, sigma, query))
    found = residual_least_squares(domain, measurements)
    pairs = list(itertools.combinations(domain, 2))
    cells = np.array([domain.size(c) for c in pairs])
    squared = np.array([found.standard_error(c) ** 2 for c in pairs])
    assert np.sqrt((cells * squared).sum() / cells.sum()) == pytest.approx(2.035, abs=5e-4)


def test_views_without_clipping_are_least_squares():
    measurements = measured()
    expected, views = residual_least_squares(DOMAIN, measurements), priview(DOMAIN, measurements, nonnegative=False)
    for clique, table in views.tables.items():
        np.testing.assert_allclose(table.values, expected.project(clique).values, atol=1e-9)


def test_views_agree_and_have_no_negative_counts():
    measurements = measured(stddev=150.0)
    assert any((m.values < -50).any() for m in measurements)
    views = priview(DOMAIN, measurements)
    assert views.least_count >= -1e-6 * views.total
    for first, second in itertools.combinations(views.tables.values(), 2):
        shared = [a for a in first.domain if a in second.domain]
        np.testing.assert_allclose(first.project(shared).values, second.project(shared).values, atol=1e-6)
        assert first.values.sum() == pytest.approx(views.total)


def test_views_that_agree_stay_and_their_sum_is_the_best_of_all():
    views = priview(DOMAIN, measured(stddev=150.0))
    answers = [LinearMeasurement(table.values, clique, 9.0) for clique, table in views.tables.items()]
    again = priview(DOMAIN, answers)
    for clique, table in views.tables.items():
        np.testing.assert_allclose(again.tables[clique].values, table.values, atol=1e-5)
    plain = priview(DOMAIN, measured(), nonnegative=False)
    variances = np.array([m.stddev**2 * m.values.size for m in measured()])
    sums = np.array([m.values.sum() for m in measured()])
    assert plain.total == pytest.approx((sums / variances).sum() / (1 / variances).sum(), rel=1e-9)


def test_an_unmeasured_table_of_views_has_most_entropy():
    measurements = measured([("a", "b"), ("b", "c"), ("c", "a")], stddev=0.1)
    views = priview(DOMAIN, measurements)
    found = views.project(("b", "a", "c"))
    for pair in (("a", "b"), ("b", "c"), ("a", "c")):
        np.testing.assert_allclose(found.project(pair).values, views.project(pair).values, atol=1e-5)
    log = np.log(found.values)
    three = log - log.mean(0, keepdims=True)
    three = three - three.mean(1, keepdims=True)
    np.testing.assert_allclose(three - three.mean(2, keepdims=True), 0, atol=1e-6)
    np.testing.assert_allclose(views.project(("a", "d")).values.sum(1), views.project("a").values)


def test_local_tables_know_nothing_of_each_other():
    query = Prefix(4)
    both = [
        LinearMeasurement(summed(truth(), ("c", "b")), ("c", "b"), 2.0),
        LinearMeasurement(summed(truth(1), ("b", "c")), ("b", "c"), 1.0),
        LinearMeasurement(query.matvec(np.array([4.0, 3.0, 2.0, 1.0])), "c", 1.0, query),
    ]
    found = local_least_squares(DOMAIN, both)
    mean = 0.2 * summed(truth(), ("b", "c")) + 0.8 * summed(truth(1), ("b", "c"))
    np.testing.assert_allclose(found.project(("b", "c")).values, mean, rtol=1e-9)
    np.testing.assert_allclose(found.project("c").values, [4, 3, 2, 1], atol=1e-8)
    with pytest.raises(ValueError, match="no clique holds"):
        found.project(("a", "b"))


def test_local_least_squares_of_one_clique_is_the_model_where_nothing_is_negative():
    query = Prefix(4)
    m = LinearMeasurement(query.matvec(np.array([403.0, 295.0, 206.0, 96.0])), "c", 5.0, query)
    found = local_least_squares(DOMAIN, [m])
    model = pypgm.estimate(DOMAIN, [m], total=found.project("c").values.sum(), stop="optimum", tolerance=1e-9)
    np.testing.assert_allclose(model.project("c").values, found.project("c").values, rtol=1e-3)


def test_all_agree_with_the_model_where_measurements_are_exact():
    """Of a chain: what none of them measures is left to most entropy by the model alone."""
    chain = [("a", "b"), ("b", "c"), ("c", "d")]
    measurements = measured(chain, stddev=1e-6)
    model = pypgm.estimate(DOMAIN, measurements, stop="optimum")
    others = [f(DOMAIN, measurements) for f in (least_squares, local_least_squares, residual_least_squares, priview)]
    for clique in chain:
        for other in others:
            np.testing.assert_allclose(other.project(clique).values, model.project(clique).values, atol=1e-2)
            assert other.total == pytest.approx(model.total, rel=1e-6)


def test_a_mixture_fits_what_was_measured():
    measurements = measured(stddev=0.1)
    found = relaxed_projection(DOMAIN, measurements, kinds=50)
    error = sum(np.abs(found.project(c).values - summed(truth(), c)).sum() for c in CYCLE)
    assert error < 0.02 * len(CYCLE) * found.total
    assert isinstance(found, ProductMixture)
    everything = found.project(tuple(DOMAIN))
    for clique in [("c", "a"), ("b", "d", "a"), ()]:
        np.testing.assert_allclose(found.project(clique).values, everything.project(clique).values, rtol=1e-9)
    again = relaxed_projection(DOMAIN, measurements, kinds=50)
    assert again.project("a").values.tolist() == found.project("a").values.tolist()


def test_as_many_kinds_as_cells_fit_any_table():
    table = np.array([[90.0, 700, 20, 120], [250, 40, 300, 30], [60, 90, 10, 400]])
    found = relaxed_projection(DOMAIN, [LinearMeasurement(table, ("b", "c"), 1.0)], kinds=12)
    np.testing.assert_allclose(found.project(("b", "c")).values, table, atol=5)


def test_one_kind_with_single_attributes_is_independence():
    measurements = measured([("a",), ("b",), ("c",)], stddev=1e-3)
    found = relaxed_projection(DOMAIN, measurements, kinds=1, iterations=2000, stepsize=0.02)
    for m in measurements:
        np.testing.assert_allclose(found.project(m.clique).values, m.values, rtol=2e-3)
    np.testing.assert_allclose(
        found.project(("a", "b")).values * found.total,
        np.outer(found.project("a").values, found.project("b").values),
    )


def test_slopes_of_a_mixture_are_differences():
    rng = np.random.default_rng(0)
    measurements = [*measured(), LinearMeasurement(rng.normal(0, 1, 6), ("b", "a"), 2.0, Prefix(6))]
    logits = [rng.normal(size=(3, n)) for n in DOMAIN.shape]
    _, slopes = _slopes(DOMAIN, measurements, [_softmax(x) for x in logits], 5000.0)
    for x, slope in zip(logits, slopes, strict=True):
        for at in [(0, 0), (2, 1)]:
            losses = []
            for step in (1e-5, -1e-5):
                x[at] += step
                losses.append(_slopes(DOMAIN, measurements, [_softmax(y) for y in logits], 5000.0)[0])
                x[at] -= step
            assert slope[at] == pytest.approx((losses[0] - losses[1]) / 2e-5, rel=1e-4)


def records(n=3000, seed=0):
    table = truth(seed)
    cells = np.random.default_rng(seed).choice(table.size, n, p=table.reshape(-1) / table.sum())
    return Dataset(dict(zip(DOMAIN, np.unravel_index(cells, DOMAIN.shape), strict=True)), DOMAIN)


def test_public_records_take_the_measured_marginals():
    public, private = records(), records(2000, 1)
    measurements = [LinearMeasurement(private.project(c).values, c, 1.0) for c in CYCLE]
    found = reweight(public, measurements, iterations=500)
    for c in CYCLE:
        np.testing.assert_allclose(found.project(c).values, private.project(c).values, atol=2.0)
    assert found.total == pytest.approx(2000)
    near = reweight(public, measurements, iterations=1)
    start = public.project("c").values * (2000 / 3000)
    assert np.abs(near.project("c").values - start).sum() < np.abs(private.project("c").values - start).sum() * 1.5


def test_public_weights_are_the_minimum():
    public = Dataset({"a": [0, 0, 1, 1], "b": [0, 1, 2, 0], "c": [0, 1, 2, 3], "d": [0, 1, 0, 1]}, DOMAIN)
    measurements = [LinearMeasurement([5.0, 3.0], "a", 1.0), LinearMeasurement([4.0, 2.0, 1.0], "b", 0.5)]

    def loss(w):
        table = Dataset(public.columns, DOMAIN, weights=w)
        return sum((((table.project(m.clique).values - m.values) / m.stddev) ** 2).sum() for m in measurements)

    found = reweight(public, measurements, total=8.0, iterations=1000)
    bounds, on_sum = [(0, None)] * 4, {"type": "eq", "fun": lambda w: w.sum() - 8}
    best = minimize(loss, np.full(4, 2.0), bounds=bounds, constraints=on_sum, method="SLSQP", tol=1e-12)
    assert loss(found.data.weights) == pytest.approx(best.fun, rel=1e-4)


RECORDS = {
    "least squares": lambda m: least_squares(DOMAIN, m),
    "local": lambda m: local_least_squares(DOMAIN, m),
    "residuals": lambda m: residual_least_squares(DOMAIN, m, nonnegative=True),
    "views": lambda m: priview(DOMAIN, m),
    "mixture": lambda m: relaxed_projection(DOMAIN, m, iterations=300),
    "public records": lambda m: reweight(records(), m),
}


@pytest.mark.parametrize("reconstruct", RECORDS.values(), ids=RECORDS)
def test_records_have_the_marginals_of_the_answers(reconstruct):
    found = reconstruct(measured())
    data = found.synthetic_data(40_000, rng=1)
    for clique in CYCLE:
        answer = np.maximum(found.project(clique).values, 0)
        distance = np.abs(data.project(clique).values / 40_000 - answer / answer.sum()).sum() / 2
        assert distance < 0.02
    assert found.synthetic_data(rng=0).n_records == round(found.total)
    assert found.synthetic_data(0).n_records == 0
    same = [found.synthetic_data(100, rng=2).columns["c"].tolist() for _ in range(2)]
    assert same[0] == same[1]


def test_answers_without_negative_counts_are_nearest():
    measurements = measured(stddev=300.0)
    plain, cut = (residual_least_squares(DOMAIN, measurements, nonnegative=flag) for flag in (False, True))
    assert (plain.project(("a", "b", "c")).values < 0).any()
    values = cut.project(("c", "b", "a")).values
    assert values.min() >= 0
    assert values.sum() == pytest.approx(plain.total)


@given(st.lists(st.floats(-50, 50), min_size=1, max_size=8), st.floats(0.5, 40))
@settings(max_examples=60, deadline=None)
def test_projection_on_the_simplex_satisfies_its_conditions(values, total):
    x = np.array(values)
    found = on_simplex(x, total)
    assert found.min() >= 0
    assert found.sum() == pytest.approx(total)
    moved = x - found
    inside = found > 0
    assert np.ptp(moved[inside]) == pytest.approx(0, abs=1e-9)
    assert (moved[~inside] <= moved[inside].max() + 1e-9).all()


@given(st.lists(st.integers(-20, 20), min_size=1, max_size=8))
def test_negative_counts_are_paid_by_the_smallest(values):
    x = np.array(values, dtype=float)
    found = without_negatives(x)
    assert found.min() >= 0
    assert found.sum() == pytest.approx(max(0.0, x.sum()))
    assert (found <= np.maximum(x, 0)).all()
    cut = (found < np.maximum(x, 0)) & (found > 0)
    assert cut.sum() <= 1  # one is cut in part, those below it wholly
    if cut.any():
        assert found[(x > 0) & (x < x[cut].min())].sum() == 0


def test_a_time_limit_ends_long_work():
    assert relaxed_projection(DOMAIN, measured(), iterations=10**9, time_limit=0.05).total > 0
    assert reweight(records(), measured(), iterations=10**9, time_limit=0.05).total > 0


WHOLE = LinearMeasurement(np.ones(6), ("a", "b"))
REFUSED = {
    "nothing": (lambda: least_squares(DOMAIN, []), ValueError, "at least one measurement"),
    "one for several": (lambda: priview(DOMAIN, WHOLE), TypeError, "sequence"),
    "another domain": (lambda: local_least_squares(DOMAIN, [LinearMeasurement([1, 2], "z")]), ValueError, "'z'"),
    "too large": (lambda: least_squares(Domain(dict.fromkeys("abcdefgh", 50)), [WHOLE]), ValueError, "6"),
    "too many cells": (
        lambda: least_squares(Domain(dict.fromkeys("abcdefgh", 50)), [LinearMeasurement(np.ones(50), "a")]),
        ModelTooLargeError,
        "least squares on all",
    ),
    "another query": (
        lambda: priview(DOMAIN, [LinearMeasurement(np.ones(6), ("a", "b"), 1, Prefix(6))]),
        ValueError,
        "every cell",
    ),
    "noise each": (lambda: priview(DOMAIN, [LinearMeasurement(np.ones(2), "a", [1, 2])]), ValueError, "one stddev"),
    "ranges as residuals": (
        lambda: residual_least_squares(DOMAIN, [LinearMeasurement(np.ones(4), "c", 1, Prefix(4))]),
        ValueError,
        "contrasts",
    ),
    "no total": (
        lambda: residual_least_squares(DOMAIN, [LinearMeasurement([1.0], ("a", "d"), 1, Contrasts([2, 2]))]),
        ValueError,
        "total",
    ),
    "iterations": (lambda: priview(DOMAIN, [WHOLE], iterations=0), ValueError, "iterations"),
    "kinds": (lambda: relaxed_projection(DOMAIN, [WHOLE], kinds=0), ValueError, "kinds"),
    "steps": (lambda: relaxed_projection(DOMAIN, [WHOLE], iterations=0), ValueError, "iterations"),
    "stepsize": (lambda: relaxed_projection(DOMAIN, [WHOLE], stepsize=-1), ValueError, "stepsize"),
    "sum": (lambda: relaxed_projection(DOMAIN, [WHOLE], total=-1), ValueError, "total"),
    "no public records": (
        lambda: reweight(Dataset({a: [] for a in DOMAIN}, DOMAIN), [WHOLE]),
        ValueError,
        "one public",
    ),
    "no records": (lambda: reweight([1, 2], [WHOLE]), TypeError, "Dataset"),
    "rows": (lambda: least_squares(DOMAIN, [WHOLE]).synthetic_data(-1), ValueError, "rows"),
    "all negative": (
        lambda: FullTable(pypgm.Factor(Domain({"a": 2}), [-1, -2])).synthetic_data(1),
        ValueError,
        "no count is positive",
    ),
}


@pytest.mark.parametrize(("call", "error", "text"), REFUSED.values(), ids=REFUSED)
def test_bad_input_is_refused(call, error, text):
    with pytest.raises(error, match=text):
        call()
