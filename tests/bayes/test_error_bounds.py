"""Bounds of errors of sums: against errors found by brute force, the cases where the published ones fail, refusals."""

from __future__ import annotations

import numpy as np
import pytest

from pypgm import Dataset, Domain
from pypgm.bayes import BayesianNetwork, error_bounds, learn_private


def naive(sizes):
    """Return a class with children of given sizes, the first size being its own."""
    domain = Domain({f"x{i}": size for i, size in enumerate(sizes)})
    parents = dict.fromkeys(domain.attributes[1:], ("x0",))
    rng = np.random.default_rng(0)
    tables = {a: rng.dirichlet([1] * domain.size(a), domain.sizes(parents.get(a, ()))) for a in domain}
    return BayesianNetwork(domain, parents, tables)


def summed_out(tables):
    """Return the sum over x0 of the product of a class with its children, shape (values of the children)."""
    total = tables[0]
    for table in tables[1:]:
        total = total[..., None] * table.reshape(len(table), *[1] * (total.ndim - 1), -1)
    return total.sum(axis=0)


@pytest.mark.parametrize("sizes", [(2, 2), (3, 3), (2, 4, 3), (5, 2, 2)])
def test_no_error_exceeds_the_safe_bound(sizes):
    net, rng = naive(sizes), np.random.default_rng(1)
    true = [t.values for t in net.tables.values()]
    for _ in range(20):
        moved = [np.clip(t + rng.uniform(-0.2, 0.2, t.shape), 0, 1) for t in true]
        errors = {a: np.abs(m - t) for a, m, t in zip(net.domain, moved, true, strict=True)}
        found = error_bounds(net, errors)
        assert found.factors == len(sizes)
        assert found.safe_lower <= np.abs(summed_out(moved) - summed_out(true)).sum() <= found.safe_upper


def test_the_published_lower_bound_is_none():
    # What one table gains, the other loses.
    domain = Domain({"x": 2, "y": 2})
    net = BayesianNetwork(domain, {"y": ["x"]}, {"x": [0.5, 0.5], "y": [[0.5, 0.5], [0.5, 0.5]]})
    moved = {"x": [0.4, 0.6], "y": [[0.8, 0.2], [0.3, 0.7]]}
    true = [t.values for t in net.tables.values()]
    errors = {a: np.abs(np.asarray(moved[a]) - net.tables[a].values) for a in domain}
    found = error_bounds(net, errors)
    assert found.paper_lower == pytest.approx(0.1, rel=1e-12)
    assert np.abs(summed_out([np.asarray(m) for m in moved.values()]) - summed_out(true)).sum() < 1e-15


def test_figures_by_hand():
    net = naive((3, 4, 2))
    found = error_bounds(net, {a: np.full(t.domain.shape, 0.01) for a, t in net.tables.items()})
    smallest = min(t.values.min() for t in net.tables.values())
    assert (found.factors, found.width, found.values, found.least, found.most) == (3, 1, 4, 0.01, 0.01)
    assert found.paper_lower == pytest.approx(2**0.5 * 0.01 * smallest, rel=1e-12)
    assert found.paper_upper == pytest.approx(2 * 3 * 4 * 0.01, rel=1e-12)
    assert found.safe_upper == pytest.approx(3 * 4**2 * 0.01, rel=1e-12)


@pytest.mark.parametrize(
    ("arcs", "factors", "eta"),
    [([("a", "c"), ("b", "c")], 2, 3), ([("a", "b"), ("b", "c")], 2, 3), ([("a", "b"), ("a", "c")], 3, 3), ([], 1, 1)],
)
def test_the_published_bounds_have_the_published_count(arcs, factors, eta):
    domain = Domain(dict.fromkeys("abc", 2))
    net = learn_private(Dataset({a: [0, 1] * 20 for a in "abc"}, domain), arcs, 1, unsafe_seed=0).model
    found = error_bounds(net, {a: np.full(t.domain.shape, 0.01) for a, t in net.tables.items()})
    assert (found.factors, found.eta) == (factors, eta)
    assert found.paper_upper == pytest.approx(2 * eta * 2**found.width * 0.01, rel=1e-12)
    assert found.safe_upper == pytest.approx(factors * 2 ** (found.width + 1) * 0.01, rel=1e-12)


def test_a_single_attribute_and_the_errors_of_a_release():
    domain = Domain({"a": 2})
    alone = error_bounds(BayesianNetwork(domain, {}, {"a": [0.5, 0.5]}), {"a": [0.1, 0.2]})
    assert (alone.paper_lower, alone.safe_upper) == (0, 0.4)
    data = Dataset({"a": [0, 1] * 50, "b": [0, 1, 1, 1] * 25}, Domain({"a": 2, "b": 2}))
    release = learn_private(data, [("a", "b")], 1, unsafe_seed=0)
    errors = {a: release.table_error(a) for a in data.domain}
    turned = {**errors, "b": errors["b"].transpose(("b", "a"))}
    assert error_bounds(release.model, errors) == error_bounds(release.model, turned)


@pytest.mark.parametrize(
    ("errors", "match"),
    [
        ({"x0": [0, 0]}, "'x1' has none"),
        ({"x0": [0, 0], "x1": [0, 0]}, "need shape"),
        ({"x0": [0, -1], "x1": np.zeros((2, 2))}, "at least 0"),
        ({"x0": [0, np.nan], "x1": np.zeros((2, 2))}, "at least 0"),
        ({"z": [0, 0]}, "'z'"),
    ],
)
def test_refused_errors(errors, match):
    with pytest.raises(ValueError, match=match):
        error_bounds(naive((2, 2)), errors)
