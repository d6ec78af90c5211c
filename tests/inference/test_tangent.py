"""The derivative of marginals along a direction of the potentials, against differences and automatic algebra."""

from __future__ import annotations

import numpy as np
import pytest

from pypgm import _core

SIZES = [3, 2, 4, 2]
CLIQUES = [[0, 1], [1, 2], [2, 3], [0], [1, 2]]
CELLS = 6 + 8 + 8 + 3 + 8


@pytest.fixture(scope="module")
def plan():
    return _core.JunctionTree(SIZES, CLIQUES)


def test_the_tangent_is_what_central_differences_say(plan):
    rng = np.random.default_rng(0)
    potentials, direction = rng.normal(size=(2, CELLS))
    potentials[[2, 9]] = -np.inf
    marginals, tangent = _core.tangent(plan, potentials, direction, 100.0)
    np.testing.assert_allclose(marginals, plan.marginals(potentials, [], 100.0)[0], rtol=1e-12)
    h = 1e-5
    ahead, behind = (plan.marginals(potentials + s * h * direction, [], 100.0)[0] for s in (1, -1))
    np.testing.assert_allclose(tangent, (ahead - behind) / (2 * h), atol=1e-6)
    assert (tangent[[2, 9]] == 0).all()


def test_the_derivative_is_a_symmetric_positive_semidefinite_matrix(plan):
    potentials = np.random.default_rng(1).normal(size=CELLS)
    matrix = np.array([_core.tangent(plan, potentials, row, 1.0)[1] for row in np.eye(CELLS)])
    np.testing.assert_allclose(matrix, matrix.T, atol=1e-14)
    assert np.linalg.eigvalsh(matrix).min() > -1e-13
    # A constant added to a table changes nothing.
    np.testing.assert_allclose(matrix[:, :6].sum(axis=1), 0, atol=1e-14)


def test_huge_potentials_give_finite_tangents(plan):
    rng = np.random.default_rng(2)
    potentials = 1e4 * rng.normal(size=CELLS)
    marginals, tangent = _core.tangent(plan, potentials, rng.normal(size=CELLS), 5.0)
    assert np.isfinite(tangent).all()
    assert np.abs(tangent[marginals == 0]).max() == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((np.zeros(3), np.zeros(CELLS), 1.0), "potentials must hold 33 entries, got 3"),
        ((np.zeros(CELLS), np.zeros(3), 1.0), "direction must hold 33 entries, got 3"),
        ((np.zeros(CELLS), np.zeros(CELLS), 1.0, -1), "n_threads"),
        ((np.full(CELLS, -np.inf), np.zeros(CELLS), 1.0), "no joint assignment any weight"),
    ],
)
def test_refusals(plan, arguments, message):
    with pytest.raises(ValueError, match=message):
        _core.tangent(plan, *arguments)
