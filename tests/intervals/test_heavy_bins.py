"""Intervals of means and quantiles of amounts of which most lie in one bin: they hold the bin, and say so."""

from __future__ import annotations

import numpy as np
import pytest

import pypgm

pytest.importorskip("pandas")
pytest.importorskip("narwhals")

STATISTICS = {
    "median": lambda t: float(np.median(t["x"])),
    "mean": lambda t: float(np.mean(t["x"])),
    "both": lambda t: [float(np.quantile(t["x"], 0.3)), float(np.mean(t["x"] > 500))],
    "rate": lambda t: float(np.mean(t["g"] == 1)),
    "correlation": lambda t: float(np.corrcoef(t["x"], t["g"])[0, 1]),
}


@pytest.fixture(scope="module", params=range(3))
def released(request):
    import pandas as pd

    rng, n = np.random.default_rng(request.param), 3000
    amounts = np.where(rng.random(n) < 0.35, 0, rng.lognormal(7.5, 1.5, n))
    table = pd.DataFrame({"x": np.round(amounts.clip(0, 1e6), 2), "g": rng.integers(0, 3, n)})
    bins = {"kind": "real", "low": 0, "high": 1_000_000, "bins": 50, "decimals": 2}
    schema = {"columns": {"x": bins, "g": {"kind": "integer", "low": 0, "high": 2}}, "records_per_person": 1}
    return table, pypgm.synthesize(table, schema, epsilon=1, delta=1e-9, unsafe_seed=request.param)


def interval_of(released, name):
    table, release = released
    found = release.interval(STATISTICS[name], worlds=3, truths=3)
    return STATISTICS[name](table), found


@pytest.mark.parametrize("name", ["median", "mean"])
def test_a_mean_or_median_within_a_heavy_bin_has_its_interval(released, name):
    true, found = interval_of(released, name)
    assert found.low <= 0 <= true <= 19_999 <= found.high
    assert "[0, 20000)" in found.promise
    assert "[0, 20000)" in repr(found)


def test_of_several_numbers_only_those_within_a_bin_have_its_interval(released):
    (quantile, _), found = interval_of(released, "both")
    assert found.low[0] <= quantile <= found.high[0]
    assert found.high[0] >= 19_999
    assert found.high[1] < 2


@pytest.mark.parametrize("name", ["rate", "correlation"])
def test_no_other_statistic_has_the_interval_of_a_bin(released, name):
    _, found = interval_of(released, name)
    assert found.high < 5
    assert not found.heavy_bins


def test_of_bins_without_much_of_the_records_nothing_changes():
    import pandas as pd

    rng = np.random.default_rng(0)
    table = pd.DataFrame({"x": rng.integers(0, 1000, 2000), "g": rng.integers(0, 2, 2000)})
    columns = {
        "x": {"kind": "integer", "low": 0, "high": 999, "width": 100},
        "g": {"kind": "integer", "low": 0, "high": 1},
    }
    release = pypgm.synthesize(
        table, {"columns": columns, "records_per_person": 1}, epsilon=1, delta=1e-9, unsafe_seed=0
    )
    found = release.interval(STATISTICS["median"], worlds=3, truths=3)
    assert not found.heavy_bins
    assert found.high - found.low < 200
