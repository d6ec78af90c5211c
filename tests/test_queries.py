import itertools
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pypgm.queries import Identity, Partition

RELATIONS = ("add-remove", "replace")
groups = st.lists(st.integers(0, 4), min_size=1, max_size=7)


def queries():
    return st.one_of(st.integers(1, 7).map(Identity), groups.map(Partition), groups.map(lambda g: Partition(g, 6)))


def matrix(query):
    return np.stack([query.matvec(row) for row in np.eye(query.shape[1], dtype=np.int64)], axis=1)


def by_brute_force(query, neighbours, norm):
    columns = matrix(query).T
    if neighbours == "add-remove":
        differences = list(columns)
    else:
        differences = [a - b for a, b in itertools.product(columns, repeat=2)]
    return max(int((np.abs(d) ** norm).sum()) for d in differences)


@given(queries())
def test_sensitivities_equal_brute_force(query):
    for neighbours in RELATIONS:
        squared = query.squared_l2_sensitivity(neighbours)
        assert query.sensitivity(neighbours, 1) == by_brute_force(query, neighbours, 1)
        assert squared == by_brute_force(query, neighbours, 2)
        assert query.sensitivity(neighbours, 2) == pytest.approx(squared**0.5)
        assert isinstance(squared, int)


@given(queries(), st.integers(0, 2**32))
def test_adjoint_and_total(query, seed):
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=query.shape[1]), rng.normal(size=query.shape[0])
    assert query.matvec(x) @ y == pytest.approx(x @ query.rmatvec(y))
    np.testing.assert_allclose(query.matvec(x), matrix(query) @ x)
    assert query.supports_total
    assert query.matvec(x).sum() == pytest.approx(x.sum())


def test_integer_sums_are_exact_beyond_float64():
    large = 2**53
    assert Partition([0, 0, 1]).matvec(np.array([large, 1, 3])).tolist() == [large + 1, 3]
    assert Identity(1).matvec(np.array([large + 1])).tolist() == [large + 1]


def test_partition_is_a_value():
    a = Partition([0, 1, 1])
    assert a == Partition(np.array([0, 1, 1], dtype=np.int8))
    assert hash(a) == hash(Partition([0, 1, 1]))
    assert a != Partition([0, 1, 1], 3)
    assert pickle.loads(pickle.dumps(a)) == a
    with pytest.raises(AttributeError):
        a.groups = 3
    with pytest.raises(ValueError, match="read-only"):
        a.groups[0] = 1
    assert repr(a) == "Partition(3 cells into 2 groups)"


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: Identity(0), ValueError, "at least one cell"),
        (lambda: Identity(2).matvec([1]), ValueError, r"x needs shape \(2,\)"),
        (lambda: Identity(2).rmatvec([1]), ValueError, r"y needs shape \(2,\)"),
        (lambda: Identity(2).sensitivity("swap", 1), ValueError, "add-remove"),
        (lambda: Identity(2).sensitivity("replace", 3), ValueError, "norm must be 1 or 2"),
        (lambda: Partition([]), ValueError, "one entry a cell"),
        (lambda: Partition([0.5]), TypeError, "integers"),
        (lambda: Partition([0, -1]), ValueError, "must lie in"),
        (lambda: Partition([0, 3], 3), ValueError, r"0\.\.2"),
        (lambda: Partition([0, 1]).matvec([1]), ValueError, r"x needs shape \(2,\)"),
        (lambda: Partition([0, 1, 1]).rmatvec([1]), ValueError, r"y needs shape \(2,\)"),
        (lambda: Partition([0, 1]).squared_l2_sensitivity("bounded"), ValueError, "neighbours"),
    ],
)
def test_refusals(call, error, message):
    with pytest.raises(error, match=message):
        call()
