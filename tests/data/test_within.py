"""What a rule says of two columns holds of the values that are drawn within their bins."""

from __future__ import annotations

import contextlib
import itertools
import operator

import numpy as np
import pytest

import pypgm
from pypgm import Schema
from pypgm.data import Comparison, Date, Integer, Real
from pypgm.data.columns.within import can_hold

ORDER = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}


def column(draw, kind):
    """Return a column of a kind, of bins that are drawn."""
    null, other = {"null": True} if draw.random() < 0.4 else {}, {"outside": draw.choice(["refuse", "clip", "other"])}
    how = null | other | {"within": draw.choice(["uniform", "tapered", "tails", "middle", "lower"])}
    low = int(draw.integers(-6, 3))
    if kind == "date":
        resolution = draw.choice(["year", "month", "week", "day"])
        first = np.datetime64("2020-01-01") + np.timedelta64(9 * low, "D")
        return Date(str(first), f"202{draw.integers(0, 3)}-03-05", resolution, **how)
    if kind == "hour":
        return Date("2020-01-01T06:00", "2020-01-02", "hour", **how)
    if draw.random() < 0.5:
        return Integer(low, low + int(draw.integers(1, 12)), int(draw.integers(1, 6)), **how)
    decimals = [None, 0, 1, 2][draw.integers(4)]
    return Real(low - 0.5, low + float(draw.integers(2, 9)), int(draw.integers(1, 3)), decimals=decimals, **how)


def schemas(seed, n):
    """Yield schemas whose columns are compared: each two, or one after the other."""
    draw = np.random.default_rng(seed)
    for i in range(n):
        names = "abcd"[: 2 + i % 3]
        kind = ["number", "date", "hour"][draw.integers(3)]
        columns = {name: column(draw, kind) for name in names}
        pairs = list(itertools.pairwise(names)) + [(names[0], names[-1])] * (draw.random() < 0.5 and len(names) > 2)
        rules = [Comparison(f"{a} {draw.choice(['<', '<='])} {b}") for a, b in pairs]
        with contextlib.suppress(ValueError):  # where rules leave no record possible
            yield draw, Schema(columns, rules=rules)


def places(column, values):
    return column.steps_of(values) / (column.per_unit or 1)


def ends_of(column, code):
    first, last = column.ends()
    unit = column.per_unit or 1
    if column.per_unit == 0:
        return [first[code], (first[code] + last[code]) / 2, last[code]]
    return [step / unit for step in range(int(first[code]), int(last[code]) + 1)]


@pytest.mark.parametrize("seed", range(4))
def test_rules_hold_wherever_bins_allow_it(seed):
    n_possible = 0
    for draw, schema in schemas(seed, 60):
        codes = {name: draw.integers(0, c.size, 60) for name, c in schema.columns.items()}
        masked = np.zeros(60, dtype=bool)
        for rule in schema.rules:
            masked |= rule.mask(schema.columns)[tuple(codes[name] for name in rule.columns)]
        possible = can_hold(schema.rules, schema.columns, codes)
        fits = ~masked if possible is None else ~masked & possible
        if possible is not None:
            assert not (possible & masked).any()
        n_possible += fits.sum()
        cells = schema.cells(codes, draw)
        for rule in schema.rules:
            low, high = (cells[name] for name in rule.columns)
            both = fits & (low.codes < low.column.n_values) & (high.codes < high.column.n_values)
            a, b = places(low.column, low.values)[both], places(high.column, high.values)[both]
            assert ORDER[rule.order](a, b).all()
        for name, c in schema.columns.items():  # each is still of its own bin
            again, problem = c.encode(cells[name].texts().tolist())
            assert problem is None
            assert again.tolist() == codes[name].tolist()
    assert n_possible > 1000


def test_what_no_bins_allow_is_forbidden():
    for _, schema in schemas(9, 40):
        if any(c.n_values > 40 for c in schema.columns.values()):
            continue
        for rule in schema.rules:
            mask = rule.mask(schema.columns)
            low, high = (schema.columns[name] for name in rule.columns)
            for i, j in itertools.product(range(low.n_values), range(high.n_values)):
                a, b = min(ends_of(low, i)), max(ends_of(high, j))
                assert mask[i, j] == (not ORDER[rule.order](a, b))
            refused = rule.refused(schema.columns)
            assert not (refused & ~mask).any()


def test_values_are_distributed_as_those_that_keep_the_rule():
    schema = Schema({"a": Integer(0, 9, 10), "b": Integer(0, 9, 10)}, rules=["a < b"])
    records = schema.records({name: np.zeros(20_000, int) for name in "ab"})
    values = schema.decode(records, rng=0)
    counts = np.zeros((10, 10), int)
    np.add.at(counts, (values["a"], values["b"]), 1)
    above = np.triu(np.ones((10, 10), bool), 1)
    assert counts[~above].sum() == 0
    expected = 20_000 / 45
    assert ((counts[above] - expected) ** 2 / expected).sum() < 90  # chi-square with 44 degrees of freedom


def test_bins_that_hardly_overlap_end_too():
    wide = {"a": Real(0, 1e6, 1, decimals=2), "b": Real(0, 1e6, edges=[0.02], decimals=2)}
    schema = Schema({**wide, "c": Integer(0, 10**6, 10**6)}, rules=["a < b", "c <= a", "b > c"])
    codes = {"a": np.zeros(500, int), "b": np.zeros(500, int), "c": np.zeros(500, int)}
    values = schema.decode(schema.records(codes), rng=0)
    assert (values["a"] < values["b"]).all()
    assert (values["c"] <= values["a"]).all()
    assert set(values["b"].tolist()) == {0.01}


def test_records_whose_bins_hold_no_values_together_are_drawn_again():
    columns = {name: Integer(0, 9, 2) for name in "abc"}
    schema = Schema(columns, rules=["a < b", "b < c"])  # in one bin there are two values, for three columns
    data = schema.encode({"a": [0, 2, 4] * 100, "b": [1, 5, 6] * 100, "c": [3, 7, 9] * 100})
    release = pypgm.mechanisms.mst(data, epsilon=5, delta=1e-9, unsafe_seed=0)
    values = schema.decode(release.synthetic_data(2000, rng=0), rng=1)
    assert ((values["a"] < values["b"]) & (values["b"] < values["c"])).all()


def test_rules_hold_beside_values_that_read_as_null():
    columns = {name: Real(0, 9, 1, decimals=2, decimal=",", null=["7", "6,05", "3"]) for name in "ab"}
    schema = Schema(columns, rules=["a <= b", "b <= a"])
    codes = {name: np.zeros(5_000, int) for name in "ab"}
    cells = schema.cells(codes, np.random.default_rng(0))
    assert (np.asarray(cells["a"].values) == cells["b"].values).all()
    for name, column in columns.items():
        assert not column.encode(cells[name].texts().tolist())[0].any()


def test_equal_by_two_rules():
    schema = Schema({"a": Integer(0, 99, 50), "b": Integer(0, 99, 50)}, rules=["a <= b", "b <= a"])
    values = schema.decode(schema.records({name: np.zeros(300, int) for name in "ab"}), rng=0)
    assert (values["a"] == values["b"]).all()
    assert len(set(values["a"].tolist())) > 40


def test_values_that_were_clipped_are_no_reason_to_refuse():
    schema = Schema({"a": Integer(50, 99, 10, outside="clip"), "b": Integer(10, 99, 10)}, rules=["a < b"])
    data = schema.encode({"a": [12, 60], "b": [15, 75]})
    assert schema.rules[0].mask(schema.columns)[0, 0]
    assert not schema.rules[0].refused(schema.columns)[0, 0]
    assert data.columns["a"].tolist() == [0, 1]
