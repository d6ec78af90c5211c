"""Counting against NumPy, over types, strides, chunks and threads."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lock import lets_others_in

from pypgm.data import tabulate
from pypgm.data._tabulate import Columns
from pypgm.domain import Domain

TYPES = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"]


def reference(columns, sizes, clique, weights=None):
    table = np.zeros([sizes[a] for a in clique])
    np.add.at(table, tuple(columns[a].astype(np.int64) for a in clique), 1 if weights is None else weights)
    return table.reshape(-1)


@st.composite
def tables(draw):
    n_columns = draw(st.integers(1, 5))
    n_rows = draw(st.sampled_from([0, 1, 7, 2047, 2048, 2049, 5000]))
    sizes = {f"a{i}": draw(st.integers(1, 6)) for i in range(n_columns)}
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    columns = {}
    for name, size in sizes.items():
        step = draw(st.sampled_from([1, 2, 3, -1, -2]))
        codes = rng.integers(0, size, n_rows * abs(step)).astype(draw(st.sampled_from(TYPES)))
        columns[name] = codes[::step]
    cliques = draw(st.lists(st.permutations(list(sizes)).map(lambda p: tuple(p[: 1 + len(p) // 2])), min_size=1))
    return columns, sizes, cliques


@given(tables())
def test_counts_match_numpy(table):
    columns, sizes, cliques = table
    counts = tabulate.count(columns, Domain(sizes), cliques)
    for clique, got in zip(cliques, counts, strict=True):
        assert got.dtype == np.int64
        np.testing.assert_array_equal(got, reference(columns, sizes, clique))


@given(tables(), st.integers(0, 2**32))
def test_weights_match_numpy(table, seed):
    columns, sizes, cliques = table
    weights = np.random.default_rng(seed).uniform(size=len(columns["a0"]))
    got = tabulate.add_weights(columns, Domain(sizes), cliques[0], weights)
    np.testing.assert_array_equal(got, reference(columns, sizes, cliques[0], weights))


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("step", [1, -2])
def test_range_is_checked_for_every_type(dtype, step):
    codes = np.zeros(10_000, dtype=dtype)[::step]
    domain = Domain({"a": 100})
    for row in (0, 2048, len(codes) - 1):
        for outside in [100, 127, np.iinfo(dtype).max, np.iinfo(dtype).min or 100]:
            codes[row] = outside
            with pytest.raises(ValueError, match=f"'a' needs codes from 0 to 99; row {row} "):
                tabulate.check_codes({"a": codes}, domain)
            with pytest.raises(ValueError, match=f"row {row} "):
                tabulate.count({"a": codes}, domain, [("a",)])
        codes[row] = 99
    tabulate.check_codes({"a": codes}, domain)


@pytest.mark.parametrize("dtype", TYPES)
def test_sizes_about_what_a_type_holds(dtype):
    """No negative code passes where the size is beyond the type, and every code that is allowed does."""
    held = np.iinfo(dtype)
    for size in {1, 127, 128, 129, 255, 256, 257, 2**15, 2**16 + 1, 2**31, 2**32, 2**63}:
        for code in {0, size - 1, size, held.max, held.min, held.max // 2 + 1}:
            if held.min <= code <= held.max:
                columns = Columns([np.array([0, code, 0], dtype=dtype)], [size], 3)
                assert columns.first_outside(0) == (-1 if 0 <= code < size else 1), (size, code)


def test_the_empty_clique_counts_all_records():
    columns = {"a": np.array([0, 1, 1])}
    assert tabulate.count(columns, Domain({"a": 2}), [()])[0].tolist() == [3]


def test_no_cliques():
    assert tabulate.count({"a": np.array([0])}, Domain({"a": 2}), []) == []


def test_forty_attributes():
    domain = Domain([f"x{i}" for i in range(40)], [1] * 38 + [2, 3])
    rng = np.random.default_rng(1)
    columns = {n: rng.integers(0, s, 100) for n, s in zip(domain.attributes, domain.shape, strict=True)}
    counts = tabulate.count(columns, domain, [domain.attributes])[0]
    np.testing.assert_array_equal(counts, reference(columns, {"x38": 2, "x39": 3}, ("x38", "x39")))


def test_sizes_beyond_64_bits():
    domain = Domain({"a": 2**70, "b": 2})
    columns = {"a": np.array([2**63 - 1, 0]), "b": np.array([1, 0])}
    tabulate.check_codes(columns, domain)
    assert tabulate.count(columns, domain, [("b",)])[0].tolist() == [1, 1]


def test_threads_do_not_change_counts():
    rng = np.random.default_rng(2)
    columns = {name: rng.integers(0, 9, 200_000).astype(np.int8) for name in "abcd"}
    domain = Domain(dict.fromkeys("abcd", 9))
    cliques = [(x, y) for x in "abcd" for y in "abcd" if x < y]
    one, two = (tabulate.count(columns, domain, cliques, n_threads=n) for n in (1, 2))
    assert all(np.array_equal(x, y) for x, y in zip(one, two, strict=True))


def test_bad_codes_are_found_by_threads_too():
    columns = {"a": np.zeros(600_000, dtype=np.int8), "b": np.zeros(600_000, dtype=np.int8)}
    columns["b"][599_999] = 5
    with pytest.raises(ValueError, match="'b' needs codes from 0 to 1; row 599999"):
        tabulate.count(columns, Domain({"a": 2, "b": 2}), [("a",), ("b",)], n_threads=2)


def test_the_lock_is_released():
    column = np.zeros(5_000_000, dtype=np.int8)
    columns = Columns([column], [1], len(column))
    table, clique = np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64)
    assert lets_others_in(lambda: columns.count(clique, table))


def test_the_compiled_counter_checks_what_it_is_given():
    column = np.zeros(3, dtype=np.int8)
    columns = Columns([column], [2], 3)
    here, table = np.zeros(1, dtype=np.int64), np.zeros(2, dtype=np.int64)
    with pytest.raises(ValueError, match="as many sizes"):
        Columns([column], [2, 2], 3)
    with pytest.raises(ValueError, match="needs 4 codes, got 3"):
        Columns([column], [2], 4)
    for other in (column.astype(float), column.astype(bool), column.astype(">i4"), np.zeros((3, 1), dtype=np.int8)):
        with pytest.raises(TypeError, match="needs one axis of integers, got"):
            Columns([other], [2], 3)
    for weights in (np.ones((3, 0)), np.ones(3, dtype=np.float32), np.ones(3, dtype=int)):
        with pytest.raises(TypeError, match="one axis of eight-byte numbers is needed, got"):
            columns.add_weights([0], weights, np.zeros(2))
    with pytest.raises(ValueError, match="needs 2 cells, got 3"):
        columns.count(here, np.zeros(3, dtype=np.int64))
    with pytest.raises(ValueError, match="less than 4294967296 cells"):
        Columns([column, column], [2**16, 2**16], 3).count(np.arange(2), table)
    with pytest.raises(ValueError, match="3 rows need as many weights"):
        columns.add_weights(here, np.ones(2), np.zeros(2))
    with pytest.raises(IndexError):
        columns.count(here + 1, table)
    with pytest.raises(IndexError):
        columns.first_outside(1)
    with pytest.raises(TypeError):
        Columns([np.zeros(3)], [2], 3)
