"""CliqueVector: one buffer, views, its algebra, every refusal."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_models import models

from pypgm import CliqueVector, Domain, Factor

DOMAIN = Domain({"a": 2, "b": 3, "c": 2})


@pytest.fixture
def vector():
    return CliqueVector(DOMAIN, [("b", "a"), ("c",), (), ("b", "c"), ("a", "b")], np.arange(21.0))


def test_scopes_keep_their_order_and_get_the_domain_s_inside(vector):
    assert vector.cliques == (("a", "b"), ("c",), (), ("b", "c"), ("a", "b"))
    assert len(vector) == 5
    np.testing.assert_array_equal(vector["c"].values, [6, 7])
    np.testing.assert_array_equal(vector[()].values, 8)
    np.testing.assert_array_equal(vector.table(4), np.arange(15, 21))


def test_axes_come_as_asked_and_the_first_of_a_repeated_scope(vector):
    np.testing.assert_array_equal(vector["a", "b"].values, np.arange(6).reshape(2, 3))
    np.testing.assert_array_equal(vector["b", "a"].values, np.arange(6).reshape(2, 3).T)


def test_tables_are_views(vector):
    vector["a", "b"].values[1, 2] = -1
    assert vector.values[5] == -1
    vector["c"].datavector()[:] = 0
    assert not vector.values[6:8].any()


def test_values_are_kept_not_copied():
    values = np.zeros(6)
    assert CliqueVector(DOMAIN, [("a", "b")], values).values is values


def test_zeros_by_default_and_no_cliques():
    assert not CliqueVector(DOMAIN, ["a"]).values.any()
    empty = CliqueVector(DOMAIN, [])
    assert len(empty) == 0
    assert empty.values.shape == (0,)
    assert len(CliqueVector.from_factors(DOMAIN, [])) == 0


def test_from_factors_brings_axes_into_order():
    factor = Factor(DOMAIN.project(("b", "a")), np.arange(6))
    vector = CliqueVector.from_factors(DOMAIN, [factor])
    np.testing.assert_array_equal(vector["b", "a"].values, factor.values)
    np.testing.assert_array_equal(vector.values, factor.values.T.ravel())


def test_project_takes_the_first_smallest_table_that_holds_the_clique(vector):
    np.testing.assert_array_equal(vector.project("c").values, [6, 7])
    np.testing.assert_array_equal(vector.project("b").values, vector["a", "b"].values.sum(0))
    np.testing.assert_array_equal(vector.project(("c", "b")).values, vector["b", "c"].values.T)
    assert vector.project(()).values == 8


@given(models(zeros=False), st.integers(0, 2**32 - 1))
def test_vector_space(vector, seed):
    other = CliqueVector(vector.domain, vector.cliques, np.random.default_rng(seed).normal(size=vector.values.size))
    np.testing.assert_array_equal((vector + other).values, vector.values + other.values)
    np.testing.assert_array_equal((vector - other).values, vector.values - other.values)
    np.testing.assert_array_equal((2 * vector * 3).values, vector.values * 2 * 3)
    np.testing.assert_array_equal((vector / 2).values, vector.values / 2)
    np.testing.assert_array_equal((-vector + 1.0).values, 1.0 - vector.values)
    assert vector.dot(other) == pytest.approx(float(np.sum(vector.values * other.values)), rel=1e-9, abs=1e-6)


def test_log_exp_and_normalize(vector):
    np.testing.assert_allclose(vector.log().exp().values, vector.values, rtol=1e-14)
    assert vector.log().values[0] == -np.inf
    scaled = vector.normalize(10.0)
    for index, clique in enumerate(vector.cliques):
        assert scaled.table(index).sum() == pytest.approx(10.0)
        np.testing.assert_allclose(
            scaled.table(index), vector.table(index) * (10.0 / vector.table(index).sum()), rtol=1e-14, err_msg=clique
        )


def test_tables_of_seventy_attributes():
    domain = Domain({f"x{i}": 2 if i in (3, 60) else 1 for i in range(70)})
    vector = CliqueVector(domain, [domain.attributes], [1.0, 2.0, 3.0, 4.0])
    np.testing.assert_array_equal(vector[domain.attributes[::-1]].datavector(), [1.0, 3.0, 2.0, 4.0])
    np.testing.assert_array_equal(vector.project(("x60",)).values, [4.0, 6.0])


def test_repr_tells_cliques_and_cells(vector):
    assert repr(vector) == (
        "CliqueVector(5 cliques, 21 cells: (a, b), (c), (), (b, c), (a, b); [ 0.,  1.,  2., ..., 18., 19., 20.])"
    )
    assert "… (9 in all); [0., " in repr(CliqueVector(DOMAIN, ["a"] * 9))


REFUSED = [
    (lambda v: CliqueVector(DOMAIN, [("a", "zip")]), ValueError, "unknown attribute 'zip'"),
    (lambda v: CliqueVector(DOMAIN, [("a", "a")]), ValueError, "'a' more than once"),
    (lambda v: CliqueVector(DOMAIN, ["a"], [1.0]), ValueError, r"1 cliques need 2 values, got shape \(1,\)"),
    (lambda v: CliqueVector(DOMAIN, ["a"], [[1.0, 2.0]]), ValueError, r"need 2 values, got shape \(1, 2\)"),
    (
        lambda v: CliqueVector(DOMAIN, ["a"], np.array([1j, 2])),
        TypeError,
        "tables must be real numbers, got dtype complex",
    ),
    (lambda v: CliqueVector(DOMAIN, ["a"], np.ma.array([1.0, 2], mask=[1, 0])), TypeError, "got a masked array"),
    (lambda v: v * 1j, TypeError, "tables must be real numbers, got dtype complex"),
    (lambda v: v["a"], KeyError, r"no table over \('a',\); the cliques are \(a, b\), "),
    (lambda v: v["zip"], ValueError, "unknown attribute 'zip'"),
    (lambda v: v.project(("a", "c")), ValueError, r"no clique holds \('a', 'c'\); the cliques are \(a, b\), "),
    (lambda v: v.project("zip"), ValueError, "unknown attribute 'zip'"),
    (lambda v: v + CliqueVector(DOMAIN, ["a"]), ValueError, "both vectors need the same cliques"),
    (lambda v: v.dot(CliqueVector(DOMAIN, ["a"])), ValueError, "both vectors need the same cliques"),
    (lambda v: (v * 0).normalize(), ValueError, r"the table over \('a', 'b'\) has no weight"),
]


@pytest.mark.parametrize(("refused", "error", "message"), REFUSED)
def test_refusals(vector, refused, error, message):
    with pytest.raises(error, match=message):
        refused(vector)


def test_other_values_for_the_same_cliques_need_as_many_numbers():
    vector = CliqueVector(Domain({"a": 2, "b": 3}), [("a", "b"), ("b",)])
    assert vector.like(np.arange(9.0))["b"].values.tolist() == [6, 7, 8]
    with pytest.raises(ValueError, match="2 cliques need 9 values"):
        vector.like(np.zeros(8))


def test_a_vector_is_gone_through_by_its_cliques(vector):
    assert list(vector) == list(vector.cliques)
    assert len(vector) == len(list(vector))
    assert all(clique in vector for clique in vector)
    assert ("b", "a") in vector
    assert "c" in vector
    for absent in (("a", "c"), "unknown", ("a", "a"), 3):
        assert absent not in vector


def test_a_numpy_number_times_a_vector_is_a_vector(vector):
    doubled = np.float64(2) * vector
    assert type(doubled) is CliqueVector
    np.testing.assert_array_equal(doubled.values, 2 * vector.values)
