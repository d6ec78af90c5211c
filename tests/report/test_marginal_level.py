"""Marginals at a level: ±, ends and pictures say the same; whole counts add up."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
import pytest

import pypgm
from pypgm import Dataset, Domain, Factor, mechanisms, plot
from pypgm.models import Marginal


@pytest.fixture(scope="module")
def release():
    rng = np.random.default_rng(0)
    domain = Domain({"a": 3, "b": ["x", ""], "c": 4})
    columns = {a: rng.integers(0, k, 900) for a, k in zip(domain, domain.shape, strict=True)}
    return mechanisms.mst(Dataset(columns, domain), epsilon=1, delta=1e-9, unsafe_seed=1)


@pytest.mark.parametrize("level", [0.5, 0.9, 0.95, 0.999])
def test_every_view_of_a_marginal_has_the_reach_of_its_level(release, level):
    pytest.importorskip("matplotlib")
    pd = pytest.importorskip("pandas")
    found = release.marginal(("a", "b"), level=level)
    reach = NormalDist().inv_cdf((1 + level) / 2) * found.errors.values
    frame = found.to_frame()
    assert isinstance(frame, pd.DataFrame)
    assert list(frame.columns[-4:]) == ["count", "low", "high", "error"]
    assert frame["high"].to_numpy() == pytest.approx((found.counts.values + reach).ravel())
    assert frame["low"].to_numpy() == pytest.approx(np.maximum(found.counts.values - reach, 0).ravel())
    assert frame["error"].to_numpy() == pytest.approx(found.errors.datavector())
    shown = f"{100 * level:g} %"
    assert shown in repr(found)
    assert shown in found._repr_html_()
    axes = plot.marginal(release, ("a", "b"), level=level)
    assert shown in axes.get_title(loc="left")
    ends = np.concatenate([line.get_segments() for line in axes.collections])[:, :, 0]
    assert ends[:, 1] == pytest.approx((found.counts.values + reach).ravel())


@pytest.mark.parametrize("level", [0, 1, -1, 2, math.nan, "0.9", None])
def test_a_level_is_between_none_and_all(release, level):
    with pytest.raises((TypeError, ValueError), match="level"):
        release.marginal("a", level=level)
    with pytest.raises((TypeError, ValueError), match="level"):
        release.model.marginal("a", level=level)


def test_whole_counts_are_not_probabilities(release):
    for answers in (release, release.model):
        with pytest.raises(ValueError, match="probabilities"):
            answers.marginal("a", {"b": "x"}, rounded=True)


@pytest.mark.parametrize("seed", range(30))
def test_whole_counts_add_up(seed):
    """Tables that begin alike add up, to the rounded total; no count moves by more than its parents leave it."""
    rng = np.random.default_rng(seed)
    shape = rng.integers(1, 6, rng.integers(1, 5))
    names = [f"x{i}" for i in range(len(shape))]
    values = rng.gamma(0.3, 20.0, shape) * (rng.random(shape) < 0.8)
    whole_of = {}
    for k in range(1, len(shape) + 1):
        domain = Domain(names[:k], shape[:k].tolist())
        counts = Factor(domain, values.sum(axis=tuple(range(k, len(shape)))))
        found = Marginal(counts, counts * 0, "measured").rounded()
        whole_of[k] = found.counts.values
        assert np.array_equal(whole_of[k], np.rint(whole_of[k]))
        assert whole_of[k].min() >= 0
        assert np.abs(whole_of[k] - counts.values).max() <= k + 1
    assert whole_of[1].sum() == round(values.sum())
    for k in range(1, len(shape)):
        assert np.array_equal(whole_of[k + 1].sum(axis=-1), whole_of[k])


def test_marginals_of_a_release_are_whole_where_asked(release):
    alone, two = (release.marginal(names, rounded=True).counts for names in ("a", ("a", "c")))
    assert np.array_equal(two.values.sum(axis=1), alone.values)
    assert alone.values.sum() == round(release.model.total)
    assert pypgm.models.Marginal(two, two, "measured").rounded().counts.values.tolist() == two.values.tolist()
