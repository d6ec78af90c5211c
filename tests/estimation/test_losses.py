"""Losses: values, gradients, smoothness, what approaches what is not smooth, and a mechanism's own likelihood."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import reference
from estimation.test_estimators import METHODS, random_problem
from hypothesis import given, settings
from hypothesis import strategies as st

import pypgm
from pypgm import CliqueVector, Domain, LinearMeasurement, losses, queries
from pypgm.graphs import JunctionTree

DOMAIN = Domain({"a": 2, "b": 3, "c": 2})
MEASURED = [
    LinearMeasurement([10.0, 20.0], "a", 2.0),
    LinearMeasurement([3.0, 4.0, 20.0], ("c", "b"), [1.0, 2.0, 3.0], queries.Matrix(np.eye(3, 6))),
]


def by_hand(measurement, loss, joint, domain):
    residual = reference.query_matrix(domain, measurement) @ joint.ravel() - measurement.values
    u = residual / measurement.stddev
    if loss == "l2":
        return 0.5 * np.sum(u**2)
    u = u * np.sqrt(2)
    if loss == "l1":
        return np.sum(np.abs(u))
    return np.sum(np.where(np.abs(u) <= 0.05, u**2 / 0.1, np.abs(u) - 0.025))


@settings(max_examples=30)
@given(st.integers(0, 10**6), st.sampled_from(["l2", "l1", "huber"]))
def test_values_and_gradients(seed, name):
    domain, measurements, total = random_problem(seed)
    loss = {"l2": losses.L2, "l1": losses.L1, "huber": losses.Huber}[name](measurements)
    rng = np.random.default_rng(seed)
    joint = rng.dirichlet(np.ones(domain.size())).reshape(domain.shape) * total
    cliques = [domain.canonical(m.clique) for m in measurements]
    marginals = CliqueVector(domain, list(dict.fromkeys(cliques)))
    for clique in marginals.cliques:
        marginals[clique].datavector()[:] = reference.project(domain, joint, clique).ravel()
    wanted = sum(by_hand(m, name, joint, domain) for m in measurements)
    assert loss.on(domain, marginals.cliques)(marginals.values)[0] == pytest.approx(wanted, rel=1e-9, abs=1e-9)
    if name != "l1":
        assert losses.check_gradient(loss, marginals, step=1e-7) < 1e-4


@settings(max_examples=40)
@given(st.integers(0, 10**6))
def test_the_smoothness_bounds_every_pair_of_columns_and_is_tight_for_cells(seed):
    domain, measurements, _ = random_problem(seed)
    cliques = list(dict.fromkeys(domain.canonical(m.clique) for m in measurements))
    found = losses.L2(measurements).smoothness(JunctionTree(domain, cliques))
    stacked = np.vstack(
        [reference.query_matrix(domain, m) / m.spread()[:, None] for m in measurements]
    )  # one column a joint assignment
    distances = [np.sum((a - b) ** 2) for a, b in itertools.combinations(stacked.T, 2)] or [0.0]
    assert found >= max(distances) / 4 * (1 - 1e-12)
    if all(m.query is None and np.ptp(m.spread()) == 0 and domain.size(m.clique) > 1 for m in measurements):
        # Two assignments that differ in all attributes reach the bound; attributes of one value never differ.
        assert found == pytest.approx(max(distances) / 4)


def test_cells_of_equal_noise_have_the_known_constant_and_signs_the_larger_one():
    star = Domain(["hub", *(f"x{i}" for i in range(7))], [2] * 8)
    edges = [("hub", f"x{i}") for i in range(7)]
    cells = losses.L2([LinearMeasurement(np.zeros(4), e) for e in edges])
    assert cells.smoothness(JunctionTree(star, edges)) == pytest.approx(3.5)  # the eigenvalue bound is 448
    signed = [LinearMeasurement([0.0], "a", query=queries.Matrix([[1, -1]]))]
    assert losses.L2(signed).smoothness(JunctionTree(Domain({"a": 2}), ["a"])) == pytest.approx(1.0)
    assert losses.Huber(signed, 0.5).smoothness(JunctionTree(Domain({"a": 2}), ["a"])) == pytest.approx(4.0)


def test_columns_of_one_norm_need_no_search_for_the_largest_sum(monkeypatch):
    tree = JunctionTree(Domain({"a": 3, "b": 2, "c": 2}), [("a", "b"), ("b", "c")])
    even = [LinearMeasurement(np.zeros(n), clique, 2.0) for clique, n in ((("a", "b"), 6), (("b", "c"), 4))]
    sums = LinearMeasurement([0.0, 0.0], "a", [1.0, 2.0], queries.Partition([0, 0, 1]))
    assert losses.L2([*even, sums]).smoothness(tree) == pytest.approx((2 * 2 / 4 + 1.25) / 4)
    monkeypatch.setattr(tree, "plan", None)  # nor a plan
    assert losses.L2(even).smoothness(tree) == pytest.approx(2 * 2 / 4 / 4)


class Bare:
    """A user's operator that is no class of pypgm: halves of two cells."""

    shape = (2, 2)

    def matvec(self, x):
        return 0.5 * np.asarray(x)

    def rmatvec(self, y):
        return 0.5 * np.asarray(y)


class Normed(Bare):
    def column_norms(self, norm):
        return np.full(2, 0.5)


def test_queries_of_many_entries_are_called_not_stored(monkeypatch):
    """Grouped contrasts are dense: their matrix would take answers times cells numbers."""
    groups = [np.arange(900) % 4, np.arange(700) % 4]
    query = pypgm.queries.Contrasts([4, 4], groups)
    monkeypatch.setattr(type(query), "to_sparse", None)
    domain = pypgm.Domain({"a": 900, "b": 700})
    measured = pypgm.LinearMeasurement(np.arange(16.0), ("a", "b"), query=query, stddev=2.0)
    marginal = np.random.default_rng(0).random(900 * 700)
    value, gradient = losses.L2([measured]).on(domain, [("a", "b")])(marginal)
    left = (query.matvec(marginal) - np.arange(16)) / 4
    assert value == pytest.approx(2 * left @ left)
    np.testing.assert_allclose(gradient, query.rmatvec(left))


def test_any_object_with_products_is_a_query():
    measured = LinearMeasurement([15.0, 5.0], "a", 1.0, Normed())
    model = pypgm.estimate(Domain({"a": 2}), [measured], stop="optimum", tolerance=1e-8)
    assert model.total == pytest.approx(40.0)
    np.testing.assert_allclose(model.project("a").values, [30.0, 10.0], atol=1e-3)
    with pytest.raises(ValueError, match=r"\('a',\) needs column_norms"):
        pypgm.estimate(Domain({"a": 2}), [LinearMeasurement([15.0, 5.0], "a", 1.0, Bare())])
    with pytest.raises(TypeError, match="needs shape, matvec and rmatvec"):
        LinearMeasurement([15.0, 5.0], "a", 1.0, object())
    with pytest.raises(TypeError, match=r"got KroneckerQuery; measure its factors as a queries\.Kronecker"):
        LinearMeasurement([15.0, 5.0], "a", 1.0, pypgm.KroneckerQuery({"a": np.eye(2)}))


@settings(max_examples=30)
@given(st.integers(0, 10**6))
def test_the_total_of_any_queries_is_that_of_dense_least_squares(seed):
    domain, measurements, _ = random_problem(seed)
    by_clique = {}
    for m in measurements:
        by_clique.setdefault(domain.canonical(m.clique), []).append(m)
    weighted, weight = 0.0, 0.0
    for group in by_clique.values():
        matrix = np.vstack([reference.query_matrix(domain, m) for m in group])
        if np.abs(matrix.T @ np.linalg.lstsq(matrix.T, np.ones(matrix.shape[1]), rcond=None)[0] - 1).max() > 1e-7:
            continue
        answers = np.concatenate([m.values for m in group])
        total, variance = reference.total_by_least_squares(
            matrix, answers, np.concatenate([m.spread() ** 2 for m in group])
        )
        weighted, weight = weighted + total / variance, weight + 1 / variance
    from pypgm.estimation import estimate_total

    if weight == 0:
        with pytest.raises(ValueError, match="no measurement tells the total"):
            estimate_total(domain, measurements)
        return
    found, variance = estimate_total(domain, measurements)
    assert found == pytest.approx(max(1.0, weighted / weight), rel=1e-5)
    assert variance == pytest.approx(1 / weight, rel=1e-5)


def test_consistent_measurements_have_one_answer_whatever_the_loss():
    rng = np.random.default_rng(1)
    truth = rng.dirichlet(np.ones(12)).reshape(DOMAIN.shape) * 500
    cliques = [("a", "b"), ("b", "c")]
    exact = [LinearMeasurement(reference.project(DOMAIN, truth, c), c, 5.0) for c in cliques]
    for loss in ("l2", "l1", "huber"):
        model = pypgm.estimate(DOMAIN, exact, loss=loss, stop="optimum", tolerance=1e-4, iterations=20000)
        for c in cliques:
            np.testing.assert_allclose(model.project(c).values, reference.project(DOMAIN, truth, c), atol=0.5)


def test_absolute_differences_shrug_off_an_outlier():
    counts = np.array([40.0, 30.0, 30.0])
    wild = [LinearMeasurement(counts, "b", 1.0) for _ in range(4)] + [LinearMeasurement([90.0, 5.0, 5.0], "b", 1.0)]
    squares, absolute = (
        pypgm.estimate(Domain({"b": 3}), wild, 100.0, loss=loss, stop="optimum", tolerance=1e-4)
        for loss in ("l2", "l1")
    )
    np.testing.assert_allclose(absolute.project("b").values, counts, atol=0.1)
    assert squares.project("b").values[0] == pytest.approx(50.0, abs=0.2)


def test_losses_add_up():
    first, second = losses.L2(MEASURED[:1]), losses.L2(MEASURED[1:])
    both = first + second
    assert both.cliques == (("a",), ("c", "b"))
    cliques = [("a",), ("b", "c")]
    at = np.random.default_rng(0).uniform(1, 10, 8)
    whole = losses.L2(MEASURED).on(DOMAIN, cliques)(at)
    parts = both.on(DOMAIN, cliques)(at)
    assert parts[0] == pytest.approx(whole[0])
    np.testing.assert_allclose(parts[1], whole[1])
    options = {"stop": "optimum", "tolerance": 1e-6}
    one = pypgm.estimate(DOMAIN, MEASURED, 60.0, **options)
    other = pypgm.estimate(DOMAIN, [], 60.0, loss=both, **options)
    assert one.fit.loss == pytest.approx(other.fit.loss, abs=1e-5)
    assert pypgm.estimate(DOMAIN, MEASURED, 60.0, loss=both).fit.status in {"validated", "converged"}
    mixed = losses.Sum([losses.L1(MEASURED), losses.L2(MEASURED)])
    assert not mixed.smooth
    assert mixed.stages()[-1].smooth
    assert mixed.smoothness(JunctionTree(DOMAIN, cliques)) is None
    assert repr(first + second) == "L2(1 measurements) + L2(1 measurements)"


def test_a_validated_estimate_of_any_loss_and_any_query():
    rng = np.random.default_rng(2)
    domain = Domain({"a": 20, "b": 10})
    truth = rng.dirichlet(np.full(200, 2.0)).reshape(20, 10) * 2000
    query = queries.Kronecker([queries.Prefix(20), queries.Identity(10)])
    spread = 40.0
    answers = query.matvec(truth.ravel()) + rng.laplace(size=200) * spread / np.sqrt(2)
    measured = [LinearMeasurement(answers, ("a", "b"), spread, query, "laplace")]
    for loss in ("l2", "l1", "huber"):
        stops = {s: pypgm.estimate(domain, measured, 2000.0, loss=loss, stop=s) for s in ("validated", "optimum")}
        assert stops["validated"].fit.status == "validated"
        errors = {s: np.abs(m.project(("a", "b")).values - truth).sum() for s, m in stops.items()}
        assert errors["validated"] < errors["optimum"]


# The likelihood of DualQuery (its Algorithm 5): what a mechanism that released no linear answers left of the data.


def dual_query(domain, rng):
    """Return the negative log-likelihood of a simulated run of DualQuery, a bound of its bend, and its cliques."""
    rounds, samples, eta, records = 12, 8, 0.3, 200
    cliques = [("a", "b"), ("b", "c")]
    cells = [domain.size(c) for c in cliques]
    truth = rng.dirichlet(np.full(domain.size(), 0.3)).reshape(domain.shape)
    exact = np.concatenate([reference.project(domain, truth, c).ravel() for c in cliques])
    exact = np.concatenate([exact, 1 - exact])
    weights = np.zeros(2 * sum(cells))
    counts, released = [], []
    for _ in range(rounds):
        odds = np.exp(weights - weights.max())
        drawn = rng.choice(weights.size, samples, p=odds / odds.sum())
        record = [rng.integers(n) for n in domain.shape]
        own = np.concatenate(
            [
                np.eye(n)[np.ravel_multi_index([record[domain.index(a)] for a in c], domain.sizes(c))]
                for c, n in zip(cliques, cells, strict=True)
            ]
        )
        counts.append(np.bincount(drawn, minlength=weights.size))
        released.append(np.concatenate([own, 1 - own]))
        weights = weights - eta * (exact - released[-1])
    summed = np.cumsum([np.zeros(weights.size), *released], axis=0)

    def loss(marginals):
        y = marginals.values / records
        y = np.concatenate([y, 1 - y])
        value, slope = 0.0, np.zeros(y.size)
        for t in range(1, rounds + 1):
            z = -eta * ((t - 1) * y - summed[t - 1])
            top = z.max()
            mass = np.exp(z - top)
            value -= counts[t - 1] @ z - samples * (top + np.log(mass.sum()))
            slope += eta * (t - 1) * (counts[t - 1] - samples * mass / mass.sum())
        half = slope.size // 2
        return value, CliqueVector(domain, cliques, (slope[:half] - slope[half:]) / records)

    bend = samples * eta**2 * sum((t - 1) ** 2 for t in range(1, rounds + 1)) / records**2
    return loss, bend, cliques


def test_the_likelihood_of_dual_query_through_every_estimator():
    loss, bend, cliques = dual_query(DOMAIN, np.random.default_rng(0))
    known = losses.Custom(loss, cliques, lipschitz=bend)
    at = CliqueVector(DOMAIN, cliques, np.random.default_rng(1).uniform(5, 30, 12))
    assert losses.check_gradient(known, at) < 1e-4
    fits = {m: pypgm.estimate(DOMAIN, [], 200.0, loss=known, method=m, tolerance=1e-5) for m in ("auto", *METHODS)}
    least = min(m.fit.loss for m in fits.values())
    for method, model in fits.items():
        assert model.fit.status == "converged", method
        assert model.fit.loss - least <= model.fit.gap + 1e-9 * abs(least)
        assert model.fit.gap <= 2e-5 * (1 + abs(least))


def test_estimators_say_why_they_refuse_a_loss():
    loss, _, cliques = dual_query(DOMAIN, np.random.default_rng(0))
    cases = [
        (losses.Custom(loss, cliques), ("dual_averaging", "interior_gradient"), "needs to know how smooth"),
        (losses.Custom(loss, cliques, smooth=False), set(METHODS) - {"mirror_descent", "universal"}, "a smooth loss"),
        (losses.Custom(loss, cliques, convex=False), set(METHODS) - {"mirror_descent", "lbfgs"}, "a convex loss"),
        (losses.Custom(loss, cliques, convex=False, smooth=False), ["mirror_descent"], "neither smooth nor convex"),
    ]
    for custom, methods, reason in cases:
        for method in methods:
            with pytest.raises(ValueError, match=reason):
                pypgm.estimate(DOMAIN, [], 200.0, loss=custom, method=method)
    rough = pypgm.estimate(DOMAIN, [], 200.0, loss=cases[1][0], iterations=50)
    assert rough.fit.gap is not None
    bent = pypgm.estimate(DOMAIN, [], 200.0, loss=cases[2][0], iterations=50)
    assert bent.fit.gap is None


def test_a_callable_is_a_loss_over_the_measured_cliques():
    measured = [LinearMeasurement([10.0, 30.0], "a")]

    def squares(marginals):
        assert marginals.cliques == (("a",),)
        miss = marginals.values - np.array([10.0, 30.0])
        return 0.5 * float(miss @ miss), CliqueVector(marginals.domain, ["a"], miss)

    model = pypgm.estimate(Domain({"a": 2}), measured, loss=squares, tolerance=1e-8)
    np.testing.assert_allclose(model.project("a").values, [10, 30], atol=1e-3)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e4])
def test_a_loss_of_unknown_smoothness_finds_its_steps(scale):
    wanted = np.array([70.0, 20.0, 10.0])

    def squares(marginals):
        miss = marginals.values - wanted
        return 0.5 * scale * float(miss @ miss), CliqueVector(marginals.domain, ["b"], scale * miss)

    def surprise(marginals):
        p = np.maximum(marginals.values, 1e-200)
        return -scale * float(wanted @ np.log(p)), CliqueVector(marginals.domain, ["b"], -scale * wanted / p)

    for loss in (squares, surprise):
        for method in ("auto", "mirror_descent", "universal", "lbfgs"):
            custom = losses.Custom(loss, ["b"])
            model = pypgm.estimate(Domain({"b": 3}), [], 100.0, loss=custom, method=method, tolerance=1e-3)
            assert model.fit.gap <= 1.1e-3 * (1 + abs(model.fit.loss)), (loss.__name__, method)


REFUSED = [
    (lambda: losses.Sum([]), "at least one"),
    (lambda: pypgm.estimate(DOMAIN, [], 1.0, loss=losses.Custom(lambda m: (np.nan, m), ["a"])), "finite value"),
    (
        lambda: pypgm.estimate(
            DOMAIN, [], 1.0, loss=losses.Custom(lambda m: (0.0, CliqueVector(DOMAIN, ["b"])), ["a"])
        ),
        "gradient of 2 cells",
    ),
    (
        lambda: losses.check_gradient(
            losses.Custom(lambda m: (float(m.values.sum()), 2.0 * m), ["a"]), CliqueVector(DOMAIN, ["a"], [1.0, 2.0])
        ),
        "differs from differences",
    ),
]


@pytest.mark.parametrize(("call", "message"), REFUSED)
def test_refusals(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("returned", [5.0, (1.0, np.zeros(2))])
def test_what_a_custom_loss_returns(returned):
    with pytest.raises(TypeError, match=r"the loss must return \(value, gradient\)"):
        pypgm.estimate(DOMAIN, [], 1.0, loss=losses.Custom(lambda _: returned, ["a"]))


def test_a_loss_that_cannot_be_negative_converges_at_zero():
    exact = LinearMeasurement([30.0, 50.0, 20.0], "b", 10.0)
    fit = pypgm.estimate(DOMAIN, [exact], 100.0, loss="l1", method="mirror_descent", stop="optimum").fit
    assert fit.status == "converged"
    assert fit.gap <= 0.01 * (1 + fit.loss)
