"""Expected errors of values as files have them are near those that a comparison with the real table finds."""

from __future__ import annotations

import numpy as np
import pytest

import pypgm
from pypgm.data import Categorical, Date, Integer, Real
from pypgm.reporting.as_values import _Sloped
from pypgm.reporting.facts import Facts

N = 6000


def table(seed):
    """Return records of amounts of several shapes, and of texts of which some are not listed."""
    rng = np.random.default_rng(seed)
    names = [f"town {i}" for i in range(30)]
    often = 1.0 / np.arange(1, 31) ** rng.uniform(0.6, 1.2)
    return {
        "height": np.round(rng.normal(170, 9, N), 1).clip(100, 220).tolist(),
        "pay": np.round(rng.lognormal(7, 0.8, N), 2).clip(0, 20_000).tolist(),
        "day": rng.integers(0, 366, N).tolist(),
        "age": rng.integers(0, 90, N).tolist(),
        "town": rng.choice(names, N, p=often / often.sum()).tolist(),
    }


def columns(seed):
    rng = np.random.default_rng([seed, 1])
    return {
        "height": Real(100, 220, bins=int(rng.integers(12, 40)), decimals=1),
        "pay": Real(0, 20_000, edges=(200, 400, 600, 800, 1000, 1200, 1500, 2000, 3000, 5000), bins=None, decimals=2),
        "day": Integer(0, 365, width=7),
        "age": Integer(0, 99),
        "town": Categorical([f"town {i}" for i in range(int(rng.integers(2, 15)))], other=True),
    }


@pytest.mark.parametrize("seed", range(8))
def test_what_a_summary_expects_of_values_is_what_compare_finds(seed):
    real, epsilon = table(seed), [0.5, 1, 3][seed % 3]
    release = pypgm.synthesize(real, pypgm.Schema(columns(seed)), epsilon=epsilon, delta=1e-9, unsafe_seed=seed)
    facts = Facts(release)
    found = {c.name: c.points for c in pypgm.compare(release, real).columns}
    expected = facts.as_values
    assert expected.mean == pytest.approx(np.mean(list(found.values())), rel=0.3)
    assert expected.points["town"] == pytest.approx(found["town"], rel=0.1)
    for name in ("height", "pay", "day"):
        assert expected.points[name] < 3 * found[name] + 1
        assert found[name] < 3 * expected.points[name] + 1
    assert facts.to_dict()["as_values"]["points"] == expected.mean
    report = " ".join(str(release.report()).split())
    assert f"as values {expected.mean:.{0 if expected.mean >= 9.95 else 1}f} points off on average" in report


def test_nothing_is_said_of_values_where_none_is_lost():
    real = {"age": [31, 7, 44] * 100, "sex": ["F", "M", "F"] * 100}
    release = pypgm.synthesize(real, {"sex": ["F", "M"]}, epsilon=1, delta=1e-9, unsafe_seed=0, ignore_extra=True)
    facts = Facts(release)
    assert facts.as_values.mean == pytest.approx(facts.quality.mean("columns"))
    assert "as values" not in str(release.report())


@pytest.mark.parametrize("seed", range(5))
def test_a_slope_is_that_of_the_bins_beside(seed):
    rng = np.random.default_rng(seed)
    n_bins = int(rng.integers(3, 30))
    column = Real(0, float(n_bins), bins=n_bins)
    codes, places = np.repeat(np.arange(n_bins), 4001), np.tile(np.linspace(0, 1, 4001), n_bins)
    even = _Sloped(column, np.full(n_bins, 10.0)).moved(codes, places)
    np.testing.assert_allclose(even, places, atol=1e-12)
    counts = 100 + rng.uniform(-2, 2) * np.arange(n_bins)  # a density that is linear all over
    moved = _Sloped(column, counts).moved(codes, places)
    assert moved.min() >= 0
    assert moved.max() <= 1 + 1e-12
    assert (np.diff(moved.reshape(n_bins, -1), axis=1) > 0).all()
    slope = np.diff(counts)[0] / counts
    np.testing.assert_allclose(moved.reshape(n_bins, -1).mean(axis=1), 0.5 + slope / 12, atol=1e-3)


def test_a_bin_of_more_than_a_third_of_the_records_is_named():
    rng = np.random.default_rng(0)
    real = {
        "savings": np.where(rng.random(3000) < 0.8, rng.integers(0, 500, 3000), rng.integers(0, 10_000, 3000)).tolist(),
        "zero": np.where(rng.random(3000) < 0.6, 0, rng.integers(0, 10_000, 3000)).tolist(),
        "even": rng.integers(0, 10_000, 3000).tolist(),
    }
    names = {
        "savings": Integer(0, 9999, width=1000),
        "zero": Integer(0, 9999, width=1, edges=(1, *range(1000, 10_000, 1000))),
        "even": Integer(0, 9999, width=1000),
    }
    release = pypgm.synthesize(real, pypgm.Schema(names), epsilon=5, delta=1e-9, unsafe_seed=0)
    lost = Facts(release).losses
    assert list(lost.heavy) == ["savings"]  # a heap that is alone in its bin loses nothing
    assert lost.heavy["savings"].endswith("% of records in [0, 1000)")
    (sentence,) = (text for text in lost.sentences() if "medians and means are coarse" in text)
    assert sentence.startswith("in one bin: savings (8")


def test_months_lose_nothing_where_no_day_is_written():
    names = {
        "month": Date("2020-01-01", "2022-12-31", "month", "%b-%Y"),
        "day": Date("2020-01-01", "2022-12-31", "month", "%d.%m.%Y"),
    }
    schema = pypgm.Schema(names)
    rng = np.random.default_rng(0)
    codes = {name: rng.integers(0, 36, 3000) for name in names}
    release = pypgm.mechanisms.mst(schema.records(codes), epsilon=5, delta=1e-9, unsafe_seed=0)
    facts = Facts(release)
    assert facts.losses.coarsened == {"day": "by month"}
    points, in_bins = facts.as_values.points, facts.quality.of("columns")
    assert points["month"] < in_bins["month",]
    assert points["day"] > points["month"]


@pytest.mark.parametrize("seed", range(20))
def test_bins_of_any_widths_and_counts_have_densities_that_slope_within_them(seed):
    rng = np.random.default_rng(seed)
    span = 10.0 ** rng.integers(-200, 200)
    edges = np.unique(span * rng.random(4) ** rng.choice([1, 20]))
    column = Real(0, span, edges=edges[(edges > 0) & (edges < span)].tolist() or [span / 2])
    n_bins = column.n_values
    sloped = _Sloped(column, rng.choice([0, 1, 1e6, 1e15], n_bins) * rng.random(n_bins))
    places = sloped.moved(np.repeat(np.arange(n_bins), 9), np.tile(np.linspace(0, 1, 9), n_bins)).reshape(n_bins, -1)
    np.testing.assert_allclose(places[:, [0, -1]], np.tile([0, 1], (n_bins, 1)), atol=1e-12)
    assert (np.diff(places, axis=1) > 0).all()
