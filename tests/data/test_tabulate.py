"""Counting against NumPy, over types, strides, chunks and threads."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lock import lets_others_in

from pypgm.data import tabulate
from pypgm.data._tabulate import Bits, Columns
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


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("n_rows", [1, 64, 1535, 1536, 2049, 9000])
def test_many_pairs_of_few_values_match_numpy(n_rows, threads, monkeypatch):
    """They are counted by their values' bits, a part of the rows at a time."""
    monkeypatch.setattr(tabulate, "_BIT_ROWS", 4000)
    monkeypatch.setattr(tabulate, "_GRAIN", 1)
    rng = np.random.default_rng(n_rows)
    sizes = {f"a{i}": 1 + i % 7 for i in range(16)}
    steps = [[1, -2, 3][i % 3] for i in range(len(sizes))]
    columns = {
        name: rng.integers(0, size, n_rows * abs(step)).astype(TYPES[i % 8])[::step]
        for i, ((name, size), step) in enumerate(zip(sizes.items(), steps, strict=True))
    }
    cliques = [(a, b) for a in sizes for b in sizes if a != b] + [("a3",), ("a6", "a2", "a4"), ()]
    by_bits = []
    monkeypatch.setattr(tabulate, "Bits", lambda *given: by_bits.append(given) or Bits(*given))
    counts = tabulate.count(columns, Domain(sizes), cliques, threads)
    assert len(by_bits) == -(-n_rows // 4000)
    for clique, got in zip(cliques, counts, strict=True):
        np.testing.assert_array_equal(got, reference(columns, sizes, clique) if clique else [n_rows])


def test_rows_are_read_once_for_many_pairs_of_few_values(monkeypatch):
    domain = Domain({f"a{i}": 2 + i % 3 for i in range(12)} | {"b": 40})
    columns = {a: np.random.default_rng(3).integers(0, 2, 5000) for a in domain}
    asked = []

    class Counted(Columns):
        def count(self, clique, table):
            asked.append(clique)
            return super().count(clique, table)

    monkeypatch.setattr(tabulate, "Columns", Counted)
    few, many = ([(x, y) for x in names for y in names if x < y] for names in (["a0", "a1"], domain.attributes))
    tabulate.count(columns, domain, many, 1)
    assert len(asked) == 12  # those with the column of 40 values
    tabulate.count(columns, domain, few, 1)
    assert len(asked) == 13  # one pair is counted as it is


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


@pytest.mark.parametrize("row", [0, 2047, 4100])
def test_bad_codes_are_found_among_bits_too(row):
    columns = {f"a{i}": np.zeros(4101, dtype=np.int16) for i in range(8)}
    columns["a5"][row] = -1
    pairs = [(x, y) for x in columns for y in columns if x < y]
    with pytest.raises(ValueError, match=f"'a5' needs codes from 0 to 1; row {row} "):
        tabulate.count(columns, Domain(dict.fromkeys(columns, 2)), pairs)


def test_the_lock_is_released():
    column = np.zeros(5_000_000, dtype=np.int8)
    columns = Columns([column], [1], len(column))
    table, clique = np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64)
    assert lets_others_in(lambda: columns.count(clique, table))
    bits = Bits(Columns([column], [2], len(column)), [0], 0, len(column))
    pairs, starts, tables = np.zeros(600, dtype=np.int64), np.zeros(300, dtype=np.int64), np.zeros(4, dtype=np.int64)
    assert lets_others_in(lambda: bits.count(pairs, starts, tables))


def test_the_compiled_counter_of_bits_checks_what_it_is_given():
    columns = Columns([np.array([0, 1, 1], dtype=np.uint8)] * 3, [2, 2, 3], 3)
    for first, n in ((-1, 2), (0, 4), (2, 2), (1, 0)):
        with pytest.raises(ValueError, match="are not among 3"):
            Bits(columns, [0], first, n)
    with pytest.raises(IndexError):
        Bits(columns, [3], 0, 3)
    bits, table = Bits(columns, [0, 2], 0, 3), np.zeros(6, dtype=np.int64)
    assert bits.inside
    bits.count(np.array([0, 2]), np.array([0]), table)
    assert table.tolist() == [1, 0, 0, 0, 2, 0]
    for pairs, starts in (([0, 2], [1]), ([0, 2], [-1]), ([0, 1], [0]), ([0, 2, 0, 2], [0]), ([1, 1], [0])):
        with pytest.raises(ValueError, match=r"no table of|as many pairs"):
            bits.count(np.array(pairs), np.array(starts), table)
    for pairs in ([0, 3], [-1, 0]):
        with pytest.raises(IndexError):
            bits.count(np.array(pairs), np.array([0]), table)
    with pytest.raises(TypeError):
        bits.count(np.array([0, 2], dtype=np.int32), np.array([0]), table)


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
