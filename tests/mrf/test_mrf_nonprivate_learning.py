"""Learners of pairwise fields without privacy: exact populations, generic solvers, algorithms written out."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize

from pypgm import CliqueVector, Dataset, Domain, JunctionTree, _core, mrf
from pypgm.mrf.encoding import centred_field
from pypgm.mrf.nonprivate_learning import Regressions, project, solve


def random_field(shape, scale, seed=0, edges=None):
    """Return a centred field of random weights; on some edges alone if they are given."""
    rng = np.random.default_rng(seed)
    domain = Domain({f"x{i}": k for i, k in enumerate(shape)})
    owner = np.repeat(np.arange(len(shape)), shape)
    weights = rng.uniform(-scale, scale, size=(len(owner),) * 2)
    weights = np.triu(weights) + np.triu(weights, 1).T
    if edges is not None:
        linked = np.zeros((len(shape),) * 2, dtype=bool)
        for i, j in edges:
            linked[i, j] = linked[j, i] = True
        weights = np.where(linked[owner][:, owner], weights, 0.0)
    return centred_field(domain, weights, rng.uniform(-scale, scale, size=len(owner)))


def population(field):
    """Return all records, weighted by their probabilities."""
    domain = field.domain
    potentials = field.to_potentials()
    joint = CliqueVector(
        domain, [*potentials.cliques, tuple(domain)], np.append(potentials.values, np.zeros(domain.size()))
    )
    weights = JunctionTree(domain, joint.cliques).marginals(joint)[tuple(domain)].datavector()
    codes = np.indices(domain.shape).reshape(len(domain), -1)
    return Dataset(dict(zip(domain, codes, strict=True)), domain, weights)


def check_equal(found, field, tolerance):
    np.testing.assert_allclose(found.weights, field.weights, atol=tolerance)
    np.testing.assert_allclose(found.fields, field.fields, atol=tolerance)


@pytest.mark.parametrize("norm", ["l1", "group"])
@pytest.mark.parametrize("shape", [(2, 2, 2, 2), (3, 3, 3, 3), (2, 3, 4)])
def test_logistic_regressions_recover_a_population(shape, norm):
    field = random_field(shape, 0.3)
    check_equal(mrf.fit_logistic(population(field), 4.0, norm=norm, tolerance=1e-13), field, 1e-5)


@pytest.mark.parametrize("shape", [(2, 2, 2, 2), (3, 3, 3, 3), (2, 3, 4)])
def test_pseudo_likelihood_recovers_a_population(shape):
    field = random_field(shape, 0.3)
    check_equal(mrf.fit_pseudo_likelihood(population(field), ridge=0, tolerance=1e-8), field, 1e-5)


def test_learners_find_the_edges_of_a_ring_in_records():
    field = random_field((2, 2, 2, 2, 2), 0.8, seed=4, edges=[(0, 1), (1, 2), (2, 3), (3, 4), (0, 4)])
    data = mrf.sample(field.to_potentials(), 60_000, rng=0).data
    learned = [
        mrf.fit_logistic(data, 2.0),
        mrf.fit_sparsitron(data, 2.0, rng=0),
        mrf.fit_pseudo_likelihood(data),
    ]
    for found, tolerance in zip(learned, (0.02, 0.1, 0.02), strict=True):
        check_equal(found, field, tolerance)


def test_the_sparsitron_learns_larger_alphabets():
    field = random_field((3, 4, 3), 0.7, seed=1)
    found = mrf.fit_sparsitron(mrf.sample(field.to_potentials(), 100_000, rng=0).data, 2.0, rng=0)
    check_equal(found, field, 0.15)
    assert np.abs(field.weights).max() > 0.5


def test_a_small_radius_binds():
    field = random_field((2, 2, 2), 0.8)
    found = mrf.fit_logistic(population(field), 0.1)
    owner = np.repeat(np.arange(3), 2)
    for node in range(3):
        own = owner == node
        assert found.strengths()[node].sum() + np.abs(found.fields[own]).max() <= 0.3 + 1e-9
    assert np.abs(found.weights).max() < np.abs(field.weights).max() / 2


def problem(groups, radius, seed=0):
    rng = np.random.default_rng(seed)
    shape, allowed = (40, 3), np.ones((len(groups), 3), dtype=bool)
    allowed[0, 0] = allowed[2, 1] = False
    features = rng.integers(-1, 2, size=(40, len(groups))).astype(float)
    shares = rng.random(shape)
    labels = rng.choice([-1.0, 1.0], size=shape)
    return Regressions(features, labels, shares / shares.sum(axis=0), allowed, np.array(groups), radius)


@pytest.mark.parametrize("radius", [0.2, 1.0, 30.0])
@pytest.mark.parametrize("groups", [(0, 1, 2, 3, 4), (0, 0, 1, 1, 2)])
def test_regressions_reach_the_optimum_of_a_generic_solver(groups, radius):
    stated = problem(groups, radius)
    weights, gaps = solve(stated, 1e-10, 20_000)
    assert (gaps <= 1e-10).all()
    assert (weights[~stated.allowed] == 0).all()
    for r in range(3):
        free = stated.allowed[:, r]

        def loss(w, r=r, free=free):
            full = np.zeros((5, 3))
            full[free, r] = w
            return stated.loss(full)[r]

        def left(w, free=free):
            full = np.zeros(5)
            full[free] = w
            norms = np.bincount(groups, full**2 + 1e-18) ** 0.5
            return radius - norms.sum()

        rules = [{"type": "ineq", "fun": left}]
        other = optimize.minimize(
            loss, np.full(free.sum(), 1e-3), constraints=rules, method="SLSQP", options={"maxiter": 500}
        )
        assert stated.loss(weights)[r] <= other.fun + 1e-7
        assert other.fun <= stated.loss(weights)[r] + 1e-4


def test_gradients_are_those_of_the_loss():
    stated = problem((0, 0, 1, 1, 2), 1.0)
    weights = np.where(stated.allowed, np.random.default_rng(2).normal(size=(5, 3)), 0)
    for f, r in zip(*np.nonzero(stated.allowed), strict=True):
        ahead, behind = weights.copy(), weights.copy()
        ahead[f, r] += 1e-5
        behind[f, r] -= 1e-5
        slope = (stated.loss(ahead) - stated.loss(behind))[r] / 2e-5
        assert stated.gradient(weights)[f, r] == pytest.approx(slope, abs=1e-8)


@pytest.mark.parametrize("groups", [(0, 1, 2, 3, 4), (0, 0, 1, 1, 2), (2, 0, 1, 4, 3)])
def test_projections_are_nearest_points(groups):
    rng = np.random.default_rng(1)
    groups, points = np.array(groups), rng.normal(size=(5, 50)) * 3

    def norm(x):
        return sum(np.linalg.norm(x[groups == g], axis=0) for g in range(groups.max() + 1))

    near = project(points, groups, 2.0)
    np.testing.assert_allclose(norm(near), np.minimum(norm(points), 2.0))
    # The nearest point P of x in a convex set has <x - P, v - P> <= 0 for all of its v.
    for _ in range(200):
        others = rng.normal(size=(5, 50)) * rng.exponential(size=(5, 1)) ** 3
        others *= 2.0 / norm(others)
        assert (((points - near) * (others - near)).sum(axis=0) <= 1e-12).all()


def published_sparsitron(features, labels, held_features, held_labels, radius):
    """Return weights by Hedge as it is published, all experts updated, every iterate a candidate."""
    experts = np.column_stack([features, -features, np.zeros(len(features))]).astype(float)
    beta = 1 / (1 + np.sqrt(np.log(experts.shape[1]) / len(experts)))
    weights, best = np.ones(experts.shape[1]), (np.inf, None)
    n = features.shape[1]
    for x, y in zip(experts, labels, strict=True):
        prediction = 1 / (1 + np.exp(-radius * (weights / weights.sum()) @ x))
        weights *= beta ** (0.5 * (1 + (prediction - (y > 0)) * x))
        p = radius * weights / weights.sum()
        w = p[:n] - p[n : 2 * n]
        error = ((1 / (1 + np.exp(-held_features @ w)) - (held_labels > 0)) ** 2).sum()
        if error <= best[0]:
            best = (error, w)
    return best[1]


def test_the_sparsitron_is_the_published_one():
    rng = np.random.default_rng(3)
    features = rng.integers(-1, 2, size=(600, 6)).astype(np.int8)
    labels = np.where(rng.random(600) < 1 / (1 + np.exp(-features @ [1, -0.5, 0, 0, 0.3, 0])), 1, -1).astype(np.int8)
    arguments = (features[:500], labels[:500], features[500:], labels[500:], 2.0)
    np.testing.assert_allclose(_core.sparsitron(*arguments, 500), published_sparsitron(*arguments), rtol=1e-9)


def test_thin_data():
    pair = Domain({"a": 2, "b": 2})
    lonely = Domain({"a": 3})
    constant = Dataset({"a": [1, 1, 1], "b": [0, 1, 0]}, pair)
    for learn in (
        lambda data: mrf.fit_logistic(data, 1.0),
        lambda data: mrf.fit_logistic(data, 1.0, norm="l1"),
        mrf.fit_pseudo_likelihood,
        lambda data: mrf.fit_sparsitron(data, 1.0, rng=0),
    ):
        for data in (constant, Dataset({"a": [0, 0, 1, 1]}, lonely), Dataset({"a": [0, 1], "b": [0, 1]}, pair)):
            found = learn(data)
            assert np.isfinite(found.weights).all()
            np.testing.assert_array_equal(found.weights, found.weights.T)
    one = mrf.fit_logistic(Dataset({"a": [0], "b": [1]}, pair), 1.0)
    assert one.fields[0] > 0 > one.fields[1]
    alone = mrf.fit_pseudo_likelihood(Dataset({"a": [0, 1, 1, 2]}, lonely), ridge=0, tolerance=1e-9)
    np.testing.assert_allclose(np.exp(alone.fields) / np.exp(alone.fields).sum(), [0.25, 0.5, 0.25], atol=1e-6)


def test_fields_keep_their_density_when_they_are_centred():
    rng = np.random.default_rng(0)
    domain = Domain({"a": 2, "b": 3, "c": 2})
    weights, fields = rng.normal(size=(7, 7)), rng.normal(size=7)
    weights = (weights + weights.T) / 2
    found = centred_field(domain, weights, fields)
    offsets = np.array([0, 2, 5])
    energy = []
    for w, h in ((weights, fields), (found.weights, found.fields)):
        rows = [np.array(codes) + offsets for codes in np.ndindex(2, 3, 2)]
        energy.append([h[r].sum() + sum(w[r[i], r[j]] for i in range(3) for j in range(i)) for r in rows])
    np.testing.assert_allclose(np.ptp(np.subtract(*energy)), 0, atol=1e-12)
    np.testing.assert_allclose([found.fields[:2].sum(), found.weights[:2].sum(axis=0).max()], 0, atol=1e-12)
    potentials = found.to_potentials()
    np.testing.assert_array_equal(potentials["a", "c"].values, found.weights[:2, 5:])
    np.testing.assert_array_equal(potentials["b"].values, found.fields[2:5])


DATA = Dataset({"a": [0, 1, 1], "b": [0, 1, 0]}, Domain({"a": 2, "b": 2}))
EMPTY = Dataset({"a": [], "b": []}, Domain({"a": 2, "b": 2}))


@pytest.mark.parametrize(
    ("learn", "message"),
    [
        (lambda: mrf.fit_logistic(DATA, 0), "radius must be positive"),
        (lambda: mrf.fit_logistic(DATA, 1, norm="l2"), "norm must be"),
        (lambda: mrf.fit_logistic(DATA, 1, tolerance=0), "tolerance must be positive"),
        (lambda: mrf.fit_logistic(EMPTY, 1), "at least one record"),
        (lambda: mrf.fit_pseudo_likelihood(EMPTY), "at least one record"),
        (lambda: mrf.fit_pseudo_likelihood(DATA, ridge=-1), "ridge must be"),
        (lambda: mrf.fit_sparsitron(EMPTY, 1), "at least two records"),
        (lambda: mrf.fit_sparsitron(Dataset(DATA.columns, DATA.domain, [1.0, 1, 1]), 1), "without weights"),
        (lambda: mrf.fit_sparsitron(DATA, 1, held_out=1), "held_out must be below 1"),
        (lambda: mrf.fit_sparsitron(DATA, np.inf), "radius must be positive"),
    ],
)
def test_refusals(learn, message):
    with pytest.raises(ValueError, match=message):
        learn()
