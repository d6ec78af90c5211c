"""How a budget is divided among the tables of a network, and how noisy tables are made to agree."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import minimize

from pypgm import Domain
from pypgm.bayes import BayesianNetwork
from pypgm.bayes.private_learning import (
    co_varied,
    error_coefficient,
    mean_derivatives,
    shares,
    structural_weights,
)
from pypgm.reconstruction.consistency import consistent

DOMAIN = Domain({"a": 2, "b": 3, "c": 2, "d": 2, "e": 3})
PARENTS = {"a": (), "b": ("a",), "c": ("a", "b"), "d": ("c",), "e": ("b",)}


def network(seed=0):
    rng = np.random.default_rng(seed)
    tables = {a: rng.dirichlet(np.ones(DOMAIN.size(a)), DOMAIN.sizes(PARENTS[a])) for a in DOMAIN}
    return BayesianNetwork(DOMAIN, PARENTS, tables)


def child_probabilities(net, tables, child):
    """Return P(child) of tables whose rows need not sum to 1, by the product over the child's ancestors."""
    ancestors, waiting = {child}, [child]
    while waiting:
        for parent in PARENTS[waiting.pop()]:
            if parent not in ancestors:
                ancestors.add(parent)
                waiting.append(parent)
    names = [a for a in DOMAIN if a in ancestors]
    letters = {a: chr(97 + i) for i, a in enumerate(DOMAIN)}
    terms = ",".join("".join(letters[x] for x in (*PARENTS[a], a)) for a in names)
    return np.einsum(f"{terms}->{letters[child]}", *(tables[a] for a in names))


def children(a):
    return [c for c in DOMAIN if a in PARENTS[c]]


def test_mean_derivatives_are_those_of_finite_differences():
    net, step = network(), 1e-6
    plain = {a: np.array(net.tables[a].values) for a in DOMAIN}
    for a, found in mean_derivatives(DOMAIN, PARENTS).items():
        slopes = []
        for child in children(a):
            for cell in np.ndindex(plain[a].shape):
                moved = dict(plain) | {a: plain[a].copy()}
                moved[a][cell] += step
                change = child_probabilities(net, moved, child) - child_probabilities(net, plain, child)
                slopes.append(change.mean() / step)
        assert found == pytest.approx(np.mean(slopes) if slopes else 0.0, abs=1e-8)


def test_co_varied_derivatives_are_those_of_finite_differences():
    net, step = network(1), 1e-6
    plain = {a: np.array(net.tables[a].values) for a in DOMAIN}
    for a, found in co_varied(net).items():
        slopes = []
        for child in children(a):
            for cell in np.ndindex(plain[a].shape):
                moved = dict(plain) | {a: plain[a].copy()}
                row = moved[a][cell[:-1]]
                theta = row[cell[-1]]
                row *= (1 - theta - step) / (1 - theta)
                row[cell[-1]] = theta + step
                change = child_probabilities(net, moved, child) - child_probabilities(net, plain, child)
                slopes.append(np.abs(change).mean() / step)
        assert found == pytest.approx(np.mean(slopes) if slopes else 0.0, abs=1e-6)


def test_rows_without_anything_to_give_way_change_nothing():
    tables = {"a": [1.0, 0.0], "b": [[0.2, 0.8], [0.6, 0.4]]}
    found = co_varied(BayesianNetwork(Domain({"a": 2, "b": 2}), {"b": ["a"]}, tables))
    assert found == {"a": 0.0, "b": 0.0}
    single = BayesianNetwork(Domain({"a": 1, "b": 2}), {"b": ["a"]}, {"a": [1.0], "b": [[0.2, 0.8]]})
    assert co_varied(single) == {"a": 0.0, "b": 0.0}


def test_structural_weights_by_hand():
    # heights: a 3 (a-b-c-d), b 2, c 1, d 0, e 0; children: a 2, b 2, c 1
    zero = dict.fromkeys(DOMAIN, 0.0)
    assert structural_weights(DOMAIN, PARENTS, zero).tolist() == [12, 9, 4, 1, 1]
    alone = structural_weights(Domain({"a": 2, "b": 2}), {"a": (), "b": ()}, {"a": 0.0, "b": 0.0})
    assert alone.tolist() == [1, 1]


@pytest.mark.parametrize(("unit", "power"), [("epsilon", 1), ("rho", 2)])
@pytest.mark.parametrize("seed", range(4))
def test_shares_are_those_of_a_convex_solver(unit, power, seed):
    weights = np.random.default_rng(seed).uniform(0.1, 4, 6)
    found = shares(weights, unit)
    assert sum(found) == 1

    # Minimise sum w / e over e^power = share, on the simplex, in logarithms: convex, with its gradient.
    def loss(logs):
        each = np.exp(logs - np.log(np.exp(logs).sum()))
        terms = weights * each ** (-1 / power)
        gradient = -terms / power
        return terms.sum(), gradient - each * gradient.sum()

    best = minimize(loss, np.zeros(6), jac=True, method="BFGS", options={"gtol": 1e-13, "maxiter": 2000})
    solved = np.exp(best.x) / np.exp(best.x).sum()
    for _ in range(3):  # Newton's steps on what is stationary: w / share^(1 + 1/power) is one number for all
        level = np.mean(np.log(weights) - (1 + 1 / power) * np.log(solved))
        solved = solved * np.exp((np.log(weights) - level) / (1 + 1 / power) - np.log(solved))
        solved /= solved.sum()
    np.testing.assert_allclose([float(s) for s in found], solved, rtol=0, atol=1e-9)
    np.testing.assert_allclose(solved, np.exp(best.x) / np.exp(best.x).sum(), atol=1e-6)


@pytest.mark.parametrize("unit", ["epsilon", "rho"])
def test_equal_weights_get_equal_shares_and_none_goes_without(unit):
    assert shares([0.3] * 4, unit) == [Fraction(1, 4)] * 4
    assert shares([0.0, 0.0], unit) == [Fraction(1, 2)] * 2
    assert shares([7.0], unit) == [1]
    tiny = shares([1e-300, 1.0, 1.0], unit)
    assert sum(tiny) == 1
    assert float(tiny[0]) == pytest.approx(1e-3 / 3, rel=1e-3)


def test_error_coefficients_by_hand():
    counts = np.array([[30.0, 10.0], [-5.0, 60.0]])
    theta, rows = np.array([[0.75, 0.25], [0.0, 1.0]]), np.array([[40.0], [60.0]])
    assert error_coefficient(counts, 1.0, "paper") == pytest.approx((np.sqrt(1 + theta**2) / rows).mean())
    squared = (1 - theta) ** 2 + theta**2
    assert error_coefficient(counts, 1.0, "delta") == pytest.approx((np.sqrt(squared) / rows).mean())
    # Nothing but noise: the row is as uncertain as its noise, never divided by zero.
    assert error_coefficient(np.zeros((1, 2)), 3.0, "paper") == pytest.approx(1.25**0.5 / (3 * 2**0.5))
    assert error_coefficient(np.zeros((1, 2)), 0.1, "paper") == pytest.approx(1.25**0.5)


def test_the_delta_model_foretells_the_spread_of_ratios():
    rng, truth = np.random.default_rng(3), np.array([300.0, 200.0, 500.0])
    drawn = truth + rng.normal(0, 4, (200_000, 3))
    spread = (drawn / drawn.sum(axis=1, keepdims=True)).std(axis=0).mean()
    assert 4 * error_coefficient(truth, 4.0, "delta") == pytest.approx(spread, rel=0.01)


CLIQUES = [("a",), ("b", "a"), ("a", "b", "c"), ("c", "d"), ("b", "e")]


def noisy(seed):
    rng = np.random.default_rng(seed)
    return [rng.normal(20, 9, DOMAIN.sizes(c)) for c in CLIQUES], rng.uniform(0.2, 3, len(CLIQUES)).tolist()


def joint_operator(clique):
    """Return the matrix from the joint table's cells to those of a clique."""
    cells = np.arange(DOMAIN.size(clique)).reshape(DOMAIN.sizes(clique))
    index = np.indices(DOMAIN.shape)
    where = cells[tuple(index[DOMAIN.attributes.index(a)] for a in clique)].ravel()
    return np.eye(cells.size)[:, where]


def test_consistency_with_precisions_is_generalised_least_squares():
    tables, weights = noisy(0)
    found = consistent(DOMAIN, CLIQUES, tables, weights)
    stack = np.vstack([w**0.5 * joint_operator(c) for c, w in zip(CLIQUES, weights, strict=True)])
    wanted = np.concatenate([w**0.5 * t.ravel() for t, w in zip(tables, weights, strict=True)])
    joint = np.linalg.lstsq(stack, wanted, rcond=None)[0]
    for clique, table in zip(CLIQUES, found, strict=True):
        np.testing.assert_allclose(table.ravel(), joint_operator(clique) @ joint, atol=1e-8)


@pytest.mark.parametrize("by_cells", [True, False])
def test_consistent_tables_agree_and_stay(by_cells):
    tables, weights = noisy(1)
    found = consistent(DOMAIN, CLIQUES, tables, weights, by_cells=by_cells)
    assert np.ptp([t.sum() for t in found]) < 1e-9
    np.testing.assert_allclose(found[1].sum(axis=0), found[0])
    np.testing.assert_allclose(found[2].sum(axis=2), found[1].T)
    np.testing.assert_allclose(found[4].sum(axis=1), found[1].sum(axis=1))
    again = consistent(DOMAIN, CLIQUES, found, weights, by_cells=by_cells)
    for one, other in zip(found, again, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-9)


def test_weights_of_tables_are_those_of_their_sums():
    tables = [np.array([4.0, 0.0]), np.array([[1.0, 1.0], [1.0, 1.0]])]
    found = consistent(Domain({"a": 2, "b": 2}), [("a",), ("a", "b")], tables, [1.0, 3.0], by_cells=False)
    np.testing.assert_allclose(found[0], [2.5, 1.5])
