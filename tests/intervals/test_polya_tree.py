"""How values that were read as one group share its count: against draws weighted by hand, and for a mean."""

from __future__ import annotations

import numpy as np
import pytest

from pypgm import Dataset, Domain, mechanisms
from pypgm.intervals import left_out
from pypgm.intervals.left_out import PolyaTree


@pytest.mark.parametrize("concentrations", [[0.25], [0.25, 2.0]])
def test_shares_have_the_conditional_distribution(concentrations, monkeypatch):
    """By trees drawn from the prior without a look at the answers, each weighted by their density."""
    monkeypatch.setattr(left_out, "_CONCENTRATIONS", np.array(concentrations))
    monkeypatch.setattr(left_out, "_DRAWS", 1000)
    rng, answers, variances = np.random.default_rng(0), np.array([40.0, 10, -5]), np.array([100.0, 60, 100])
    own = PolyaTree(answers, variances, np.arange(3), 60.0)
    found = np.array([own.drawn(rng) for _ in range(2000)])
    assert found.sum(axis=1) == pytest.approx(60)

    one, other = rng.choice(concentrations, (2, 200_000))
    first, second = (
        rng.beta(one * 4 / 3, one * 2 / 3),
        rng.beta(other, other),
    )  # the first two values, the first of them
    trees = 60 * np.stack([first * second, first * (1 - second), 1 - first], axis=1)
    logs = -np.square(answers - trees) @ (0.5 / variances)
    weights = np.exp(logs - logs.max()) / np.exp(logs - logs.max()).sum()
    mean = weights @ trees
    assert found.mean(axis=0) == pytest.approx(mean, abs=1)
    assert found.std(axis=0) == pytest.approx(np.sqrt(weights @ np.square(trees - mean)), abs=1)


def test_answers_tell_that_most_values_are_empty():
    """All records lie in an eighth of its values: in the others draws are nearer to none than the answers are."""
    n, noise = 32, 5.0
    true = np.where(np.arange(n) < 4, 200.0, 0)
    answers = true + np.random.default_rng(1).normal(0, noise, n)
    own = PolyaTree(answers, np.full(n, noise**2), np.arange(n), 800.0)
    drawn = np.array([own.drawn(np.random.default_rng(i)) for i in range(30)])
    assert np.sqrt(np.mean(drawn[:, 4:] ** 2)) < 0.6 * noise
    assert np.sqrt(np.mean((drawn[:, :4] - true[:4]) ** 2)) < 2 * noise


def amounts(seed, n=1500):
    rng = np.random.default_rng(seed)
    a = np.minimum(rng.exponential(7.0, n), 39).astype(int)
    return Dataset({"a": a, "b": np.where(rng.random(n) < 0.1, 0, a > 5)}, Domain({"a": 40, "b": 2}))


def test_a_mean_over_merged_values_is_held():
    """Made-up tables and groups shared at random hold one of five: the values' own answers were not read."""
    held = []
    for seed in range(5, 13):
        data = amounts(seed)
        release = mechanisms.mst(data, epsilon="1/2", delta=1e-9, unsafe_seed=seed)
        found = release.interval(lambda records: np.mean(records["a"]), attributes="a", worlds=2, truths=20)
        held.append(found.low <= np.mean(data["a"]) <= found.high)
        assert found.basis == "merged"
    assert sum(held) >= 6


@pytest.mark.parametrize("mechanism", ["wide", "aim"])
def test_true_tables_follow_the_answers_where_the_estimate_was_shrunk(mechanism):
    """About the model's counts, which are near to even ones, drawn tables held the mean once in six releases."""
    held = []
    for seed in range(6):
        data = amounts(seed)
        release = getattr(mechanisms, mechanism)(data, epsilon="1/10", delta=1e-9, unsafe_seed=seed)
        found = release.interval(lambda records: np.mean(records["a"]), attributes="a", worlds=2, truths=20)
        held.append(abs(found.answer - np.mean(data["a"])) <= found.views["truths"])
    assert sum(held) >= 4
