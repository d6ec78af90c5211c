"""Factor: its algebra against NumPy, tables of many attributes, every refusal."""

from __future__ import annotations

import sys
import types

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_models import domains

from pypgm import Domain, Factor


@st.composite
def factors(draw, **sizes):
    domain = draw(domains(**sizes))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    return Factor(domain, rng.normal(size=domain.shape))


@st.composite
def factors_and_cliques(draw):
    factor = draw(factors())
    order = draw(st.permutations(factor.domain.attributes))
    return factor, tuple(order[: draw(st.integers(0, len(order)))])


@pytest.fixture
def table():
    return Factor(Domain({"a": 2, "b": 3}), [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])


def summed(factor, clique):
    axes = [factor.domain.index(a) for a in clique]
    return np.einsum(factor.values, list(range(len(factor.domain))), axes)


@given(factors_and_cliques())
def test_project_sums_in_the_order_asked(case):
    factor, clique = case
    result = factor.project(clique)
    assert result.domain.attributes == clique
    np.testing.assert_allclose(result.values, summed(factor, clique), rtol=1e-12, atol=1e-12)


@given(factors_and_cliques(), st.integers(0, 2**32 - 1))
def test_project_and_expand_are_adjoint(case, seed):
    large, clique = case
    domain = large.domain.project(clique)
    small = Factor(domain, np.random.default_rng(seed).normal(size=domain.shape))
    assert large.project(clique).dot(small) == pytest.approx(large.dot(small.expand(large.domain)), abs=1e-10)


@given(factors_and_cliques())
def test_sum_max_and_logsumexp_take_attributes_out(case):
    factor, clique = case
    axes = tuple(factor.domain.index(a) for a in clique)
    kept = tuple(a for a in factor.domain.attributes if a not in clique)
    for method, reduce in (("sum", np.sum), ("max", np.max), ("logsumexp", np.logaddexp.reduce)):
        result = getattr(factor, method)(clique)
        assert result.domain.attributes == kept
        wanted = factor.values
        for axis in sorted(axes, reverse=True):
            wanted = reduce(wanted, axis=axis)
        np.testing.assert_allclose(result.values, wanted, rtol=1e-12, atol=1e-12)


@given(factors())
def test_everything_goes_out_by_default(factor):
    assert factor.sum().values == pytest.approx(factor.values.sum(), abs=1e-12)
    assert factor.max().values == factor.values.max()
    assert factor.logsumexp().values == pytest.approx(np.log(np.exp(factor.values).sum()), abs=1e-12)


@given(factors(), st.randoms(use_true_random=False))
def test_transpose_moves_axes_and_back(factor, random):
    order = list(factor.domain.attributes)
    random.shuffle(order)
    moved = factor.transpose(order)
    axes = [factor.domain.index(a) for a in order]
    np.testing.assert_array_equal(moved.values, factor.values.transpose(axes))
    np.testing.assert_array_equal(moved.transpose(factor.domain.attributes).values, factor.values)


def test_arithmetic_merges_attributes(table):
    other = Factor(Domain({"b": 3, "c": 2}), np.arange(6.0).reshape(3, 2))
    left, right = table.values[:, :, None], other.values[None, :, :]
    assert (table + other).domain.attributes == ("a", "b", "c")
    np.testing.assert_array_equal((table + other).values, left + right)
    np.testing.assert_array_equal((table - other).values, left - right)
    np.testing.assert_array_equal((table * other).values, left * right)
    np.testing.assert_array_equal((other * table).values, (left * right).transpose(1, 2, 0))


def test_arithmetic_with_numbers(table):
    np.testing.assert_array_equal((table + 1).values, table.values + 1)
    np.testing.assert_array_equal((1 + table).values, table.values + 1)
    np.testing.assert_array_equal((table - 1).values, table.values - 1)
    np.testing.assert_array_equal((2 * table).values, table.values * 2)
    np.testing.assert_array_equal((table / 2).values, table.values / 2)
    np.testing.assert_array_equal((-table).values, -table.values)


def test_zero_by_zero_is_zero_and_nothing_else_is():
    domain = Domain({"a": 4})
    quotient = Factor(domain, [0.0, 1.0, 6.0, np.nan]) / Factor(domain, [0.0, 0.0, 3.0, 0.0])
    np.testing.assert_array_equal(quotient.values, [0.0, np.inf, 2.0, np.nan])
    np.testing.assert_array_equal((Factor(domain, np.zeros(4)) / 0).values, np.zeros(4))


def test_log_and_exp_know_zero():
    factor = Factor(Domain({"a": 3}), [0.0, 1.0, 2.0])
    np.testing.assert_array_equal(factor.log().values, [-np.inf, 0.0, np.log(2.0)])
    np.testing.assert_allclose(factor.log().exp().values, factor.values, rtol=1e-15)


def test_rows_without_weight_stay_minus_infinity():
    factor = Factor(Domain({"a": 2, "b": 2}), [[-np.inf, -np.inf], [0.0, -np.inf]])
    np.testing.assert_array_equal(factor.logsumexp("b").values, [-np.inf, 0.0])
    np.testing.assert_array_equal(factor.max("b").values, [-np.inf, 0.0])


def test_logsumexp_does_not_overflow():
    factor = Factor(Domain({"a": 2, "b": 2}), [[1e4, 1e4], [-1e4, -1e4]])
    np.testing.assert_allclose(factor.logsumexp("b").values, np.array([1e4, -1e4]) + np.log(2), rtol=1e-15)


def test_normalize_scales_to_a_total(table):
    np.testing.assert_allclose(table.normalize(42.0).values, table.values * 2, rtol=1e-15)
    for cell in (1.7e308, 5e-324):  # the sum, or a quotient by it, leaves the doubles
        np.testing.assert_array_equal((table * 0 + cell).normalize(6.0).values, 6 / table.values.size)
    logs = (table.log() + 2000.0).normalize(42.0, log=True)
    np.testing.assert_allclose(logs.exp().values, table.values * 2, rtol=1e-12)


def test_conversion_to_numpy(table):
    assert np.asarray(table).base is not None
    np.testing.assert_array_equal(np.asarray(table), table.values)
    assert np.asarray(table, dtype=np.float32).dtype == np.float32
    copied = np.array(table)
    copied[0, 0] = 99
    assert table.values[0, 0] == 1.0


def test_views_share_memory(table):
    assert np.shares_memory(table.values, table.datavector())
    np.testing.assert_array_equal(table.datavector(), [1, 2, 3, 4, 5, 6])


def test_flat_and_strided_values_are_accepted():
    domain = Domain({"a": 2, "b": 3})
    np.testing.assert_array_equal(Factor(domain, range(6)).values, np.arange(6.0).reshape(2, 3))
    strided = np.arange(24)[::2].reshape(2, 6)[:, ::2]
    np.testing.assert_array_equal(Factor(domain, strided).values, strided)
    column_major = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    np.testing.assert_array_equal(Factor(domain, column_major).datavector(), np.arange(6.0))


def test_labels_survive_algebra():
    domain = Domain({"sex": ["F", "M"], "b": 2})
    factor = Factor(domain, np.ones(4))
    assert factor.project("sex").domain.labels == {"sex": ("F", "M")}
    assert (factor * factor.project("b")).domain == domain


def test_seventy_attributes_of_which_most_have_one_value():
    sizes = {f"x{i}": 3 if i in (0, 35, 69) else 1 for i in range(70)}
    domain = Domain(sizes)
    cells = np.arange(27.0)
    factor = Factor(domain, cells)
    cube = cells.reshape(3, 3, 3)
    np.testing.assert_array_equal(factor.datavector(), cells)
    np.testing.assert_array_equal(factor.project(("x69", "x3", "x0")).values, cube.sum(1).T.reshape(3, 1, 3))
    backwards = factor.transpose(domain.attributes[::-1])
    np.testing.assert_array_equal(backwards.datavector(), cube.transpose(2, 1, 0).ravel())
    np.testing.assert_array_equal((factor * factor).datavector(), cells**2)
    np.testing.assert_array_equal(
        factor.project("x35").expand(domain).datavector(),
        np.repeat(cube.sum((0, 2)), 3).reshape(1, 9).repeat(3, 0).ravel(),
    )
    assert "70 in all" in repr(factor)


def test_no_attributes_is_one_number():
    factor = Factor(Domain({}), 3.0)
    assert factor.values == 3.0
    assert factor.datavector().shape == (1,)
    assert (factor + factor).sum().values == 6.0


def test_repr_tells_attributes_cells_and_sum(table):
    assert repr(table) == "Factor(Domain(a: 2, b: 3), [1., 2., 3., 4., 5., 6.], sum 21)"


REFUSED = [
    (lambda f: Factor(f.domain, np.zeros((3, 2))), r"needs shape \(2, 3\), got \(3, 2\)"),
    (lambda f: Factor(f.domain, np.zeros(5)), r"needs shape \(2, 3\), got \(5,\)"),
    (lambda f: f.transpose(("a",)), r"a transpose needs all of \('a', 'b'\), got \('a',\)"),
    (lambda f: f.expand(Domain({"a": 2, "c": 2})), r"cannot expand a table over \('a', 'b'\) to \('a', 'c'\)"),
    (lambda f: f.expand(Domain({"a": 2, "b": 4})), "attribute 'b' has 3 values in one table, 4 in the other"),
    (lambda f: f.project("zip"), "unknown attribute 'zip'"),
    (lambda f: f.project(("a", "a")), "'a' more than once"),
    (lambda f: f.sum("zip"), "unknown attribute 'zip'"),
    (lambda f: f.dot(Factor(Domain({"a": 2, "c": 3}), np.zeros(6))), "unknown attribute 'b'"),
    (lambda f: f + Factor(Domain({"b": 4}), np.zeros(4)), "attribute 'b' has 3 values in one table, 4 in the other"),
    (lambda f: (f * 0).normalize(), r"the table over \('a', 'b'\) has no weight to normalize"),
    (lambda f: (f * 0).log().normalize(log=True), r"the table over \('a', 'b'\) has no weight to normalize"),
]


@pytest.mark.parametrize(("refused", "message"), REFUSED)
def test_refusals(table, refused, message):
    with pytest.raises(ValueError, match=message):
        refused(table)


def test_a_numpy_number_times_a_factor_is_a_factor():
    table = Factor(Domain({"a": 2}), [1.0, 3.0])
    for two in (2, np.float64(2), np.int64(2), np.asarray(2.0)):
        for result, wanted in [
            (two * table, [2.0, 6.0]),
            (table * two, [2.0, 6.0]),
            (two + table, [3.0, 5.0]),
            (two - table, [1.0, -1.0]),
            (table - two, [-1.0, 1.0]),
            (two / table, [2.0, 2 / 3]),
            (table / two, [0.5, 1.5]),
        ]:
            assert type(result) is Factor
            np.testing.assert_allclose(result.values, wanted)


def test_an_array_combines_cell_by_cell_or_not_at_all():
    table = Factor(Domain({"a": 2, "b": 2}), [[1, 2], [3, 4]])
    np.testing.assert_array_equal((table * np.array([[1, 0], [0, 1]])).values, [[1, 0], [0, 4]])
    np.testing.assert_array_equal((np.array([[1, 0], [0, 1]]) * table).values, [[1, 0], [0, 4]])
    with pytest.raises(ValueError, match=r"combines with a number, got shape \(2,\)"):
        table * np.array([1, 2])


@pytest.mark.parametrize(
    ("values", "came"),
    [
        (np.array([1 + 2j, 3]), "dtype complex128"),
        ([1j, 2], "dtype complex"),
        (np.ma.array([1.0, 2.0], mask=[1, 0]), "a masked array: fill or drop"),
    ],
)
def test_only_real_numbers_make_a_table(values, came):
    with pytest.raises(TypeError, match=f"values of a table must be real numbers, got {came}"):
        Factor(Domain({"a": 2}), values)
    table = Factor(Domain({"a": 2}), [1, 2])
    for combine in (lambda: table + values, lambda: table / values, lambda: values - table, lambda: table * 1j):
        with pytest.raises(TypeError, match="what a table combines with must be real numbers"):
            combine()


def test_a_factor_keeps_what_it_was_given():
    given = np.array([1.0, 2.0])
    factor = Factor(Domain({"a": 2}), given)
    given[0] = 9
    assert factor.values.tolist() == [1.0, 2.0]
    factor.values[1] = 7
    assert given.tolist() == [9.0, 2.0]


@pytest.mark.parametrize("cells", [np.zeros(3), np.zeros(2, dtype=np.float32), np.zeros((2, 1)), np.zeros(4)[::2]])
def test_a_view_needs_cells_that_can_be_one(cells):
    with pytest.raises(ValueError, match="needs 2 contiguous float64 cells"):
        Factor.over(Domain({"a": 2}), cells)


LABELLED = Factor(Domain({"sex": ["F", "M"], "age": 2, "size": [1, 2.5]}), np.arange(8))


def test_repr_names_cells_by_their_labels():
    assert repr(LABELLED.project(("sex", "age"))) == (
        "Factor(Domain(sex: 2, age: 2), {F/0: 1, F/1: 5, M/0: 9, M/1: 13}, sum 28)"
    )
    long = Factor(Domain({"a": [f"v{i}" for i in range(30)]}), np.ones(30))
    assert "{v0: 1, v1: 1, v2: 1, ..., v27: 1, v28: 1, v29: 1}, sum 30" in repr(long)


def test_a_cell_by_labels_and_codes():
    assert LABELLED["M", 1, 2.5] == LABELLED.values[1, 1, 1] == 7
    assert LABELLED.project("sex")["F"] == 6
    assert Factor(Domain({}), [3.0])[()] == 3
    with pytest.raises(TypeError):
        list(LABELLED)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (("F", 0), "a value of each of"),
        ("F", "a value of each of"),
        (("X", 0, 1), "'sex' needs one of F, M, got 'X'"),
        (("F", 2, 1), "'age' needs a code from 0 to 1, got 2"),
        (("F", "0", 1), "'age' needs a code"),
        (("F", 0, 0), "'size' needs one of 1, 2.5, got 0"),
    ],
)
def test_refused_cells(values, message):
    with pytest.raises(KeyError, match=message):
        LABELLED[values]


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_a_frame_has_a_row_for_each_cell(monkeypatch, library):
    made = types.SimpleNamespace(DataFrame=dict, table=dict)
    monkeypatch.setitem(sys.modules, library, made)
    frame = LABELLED.to_frame(library, value="count")
    assert list(frame) == ["sex", "age", "size", "count"]
    for i in range(8):
        assert LABELLED[frame["sex"][i], frame["age"][i], frame["size"][i]] == frame["count"][i] == i


def test_refused_frames():
    with pytest.raises(ValueError, match="library must be"):
        LABELLED.to_frame(library="numpy")
    with pytest.raises(ValueError, match="has an attribute 'sex'"):
        LABELLED.to_frame(value="sex")
