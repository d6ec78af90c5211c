"""Distributions of values within bins that are drawn at random."""

from __future__ import annotations

import numpy as np
import pytest

from pypgm import Schema
from pypgm.data import Date, Difference, Integer, Real

COLUMNS = {
    "real": Real(0, 100, 4),
    "cents": Real(0, 100, 4, decimals=2, within="tapered"),
    "whole": Integer(0, 99, width=25, within="middle"),
    "day": Date("2020-01-01", "2023-12-31", "year", null=[""]),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_values_stay_in_their_bins_and_lie_otherwise(name):
    column = COLUMNS[name]
    codes = np.repeat(np.arange(4), 2000)
    own, other, same = (column.scattered(np.random.default_rng(i)) for i in (0, 1, 0))
    drawn = [c.drawn(codes, np.random.default_rng(5)) for c in (column, own, other, same)]
    for values in drawn:
        assert column.encode(values)[0].tolist() == codes.tolist()
    assert (drawn[1] == drawn[3]).all()
    medians = [[np.median(v[codes == j].astype("f8" if name != "day" else "i8")) for j in range(4)] for v in drawn]
    assert len({tuple(m) for m in medians}) == 3
    assert column.labels == own.labels


def test_of_each_bin_the_mean_part_is_a_half():
    column = Integer(0, 63, width=64)
    means = [column.scattered(np.random.default_rng(i)).drawn(np.zeros(500, int), 1).mean() for i in range(200)]
    assert np.mean(means) == pytest.approx(31.5, abs=3)
    assert 8 < np.std(means) < 16


def test_bins_of_one_value_are_left_as_they_are():
    for column in (Integer(0, 9), Difference("day", 0, 9, "day"), Schema({"a": ["x", "y"]}).columns["a"]):
        assert column.scattered(np.random.default_rng(0)) is column
    wide = Difference("day", 0, 99, "day", width=50)
    first = wide.scattered(np.random.default_rng(0))
    assert first.drawn(np.zeros(1000, int), 0).mean() != pytest.approx(24.5, abs=0.3)


def test_rules_hold_still():
    schema = Schema({"low": Integer(0, 99, width=100), "high": Integer(0, 99, width=100)}, rules=["low < high"])
    codes = {name: np.zeros(300, int) for name in schema.columns}
    cells = schema.cells(codes, np.random.default_rng(0), scattered=np.random.default_rng(1))
    assert (cells["low"].values < cells["high"].values).all()
