"""What a screen says of pairs, and which of them are then asked: against brute force and tables that are known."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pypgm
from pypgm.estimation.pair_screen import PairScreen
from pypgm.mechanisms.one_way import independent, measure_singles
from pypgm.mechanisms.pair_allocation import PairAllocation, cheapest
from pypgm.mechanisms.pair_dependence import Dependence, chances, dependence, screened
from pypgm.mechanisms.pair_forecasts import PairForecasts
from pypgm.mechanisms.resolution import Values, resolutions
from pypgm.mechanisms.run import Run
from pypgm.privacy import Budget


def run_of(data, rho=1, **more):
    run = Run("wide", data, budget=Budget(rho=rho), unsafe_seed=1, **more)
    return run, independent(run, measure_singles(run, run.rho / 10))


def of_scores(start, scores, stddev):
    """Return a screen of these scores, and what chance makes of each pair."""
    chance, wrong = chances(PAIRS, start), {a: start.denoising_error(a) for a in start.shares}
    by_chance = [math.hypot(c, wrong[a], wrong[b]) for c, (a, b) in zip(chance, PAIRS, strict=True)]
    return PairScreen(tuple(PAIRS), scores, 2 * start.total * np.array(by_chance), stddev, start.total), chance


def table(n=20_000, seed=0):
    """Return eight attributes of four values, of which only the first two depend, by .3 of the records."""
    rng = np.random.default_rng(seed)
    columns = {f"x{i}": rng.integers(0, 4, n) for i in range(8)}
    columns["x1"] = np.where(rng.random(n) < 0.4, columns["x0"], columns["x1"])
    return pypgm.Dataset(columns, pypgm.Domain(list(columns), [4] * 8))


PAIRS = list(itertools.combinations([f"x{i}" for i in range(8)], 2))


@given(st.integers(0, 2**32 - 1), st.floats(0.1, 5))
def test_nothing_that_costs_as_little_leaves_less_risk(seed, budget):
    rng = np.random.default_rng(seed)
    risks, prices = rng.random((2, 4, 3))
    prices[:, 0] = 0
    risks[rng.random((4, 3)) < 0.2] = np.inf
    risks[:, 0] = rng.random(4)
    chosen = cheapest(risks, prices, budget)
    rows = np.arange(4)
    cost = prices[rows, chosen].sum()
    assert cost <= budget
    for other in itertools.product(range(3), repeat=4):
        if prices[rows, other].sum() <= cost:
            assert risks[rows, chosen].sum() <= risks[rows, other].sum() + 1e-9


@pytest.mark.parametrize("stddev", [0.001, 0.02, 0.2])
def test_a_pair_that_stands_out_is_known_and_the_others_are_held_for_what_they_are(stddev):
    _, start = run_of(table(), 10)
    rng = np.random.default_rng(1)
    true = np.where([p == ("x0", "x1") for p in PAIRS], 0.3, 0.0)
    scores = 2 * start.total * (true + 0.01 + stddev * rng.standard_normal(len(PAIRS)))
    found = dependence(*of_scores(start, scores, 2 * start.total * stddev), start)
    means = {p: d.mean(d.distances) for p, d in found.items()}
    others = np.mean([m for p, m in means.items() if p != ("x0", "x1")])
    assert all(d.likely.sum() == pytest.approx(1) for d in found.values())
    if stddev < 0.1:
        assert means["x0", "x1"] == pytest.approx(0.3, abs=0.1 * 0.3 + 2 * stddev)
        assert others < 0.03
    else:  # all that is known is how far they are in the mean
        assert np.ptp(list(means.values())) < 0.1
        assert others < 0.15


def test_a_pair_is_as_far_as_what_its_third_attribute_would_make_of_it():
    _, start = run_of(table(), 10)
    far = {("x0", "x7"): 0.4, ("x1", "x7"): 0.3}
    scores = np.array([2 * start.total * far.get(p, 0.0) for p in PAIRS])
    found = dependence(*of_scores(start, scores, 2.0), start)
    assert found["x0", "x1"].distances.min() == pytest.approx(2 * 0.4 * 0.3, rel=0.15)
    assert found["x2", "x3"].distances.min() < 0.01


@given(st.integers(0, 1000), st.floats(0, 1), st.booleans())
def test_what_is_told_and_what_is_not_are_all_there_is(seed, part, whole):
    rng = np.random.default_rng(seed)
    pair = Dependence(rng.random(5), rng.dirichlet(np.ones(5)), rng.random())
    told, untold = pair.split(part, whole)
    np.testing.assert_allclose(told + untold, pair.distances**2 + pair.chance**2)
    assert pair.error == pytest.approx(pair.mean(np.sqrt(told + untold)))


@pytest.mark.parametrize("privacy", ["add-remove", "replace"])
def test_scores_of_a_screen_are_the_distances_with_its_noise(privacy):
    data = table(3000)
    run, start = run_of(data, 1000, neighbours=privacy)
    screen = screened(run, PAIRS, start, chances(PAIRS, start), run.rho / 10)
    true = [np.abs(data.project(p).datavector() - start.counts(p)).sum() for p in PAIRS]
    assert screen.stddev == pytest.approx(math.sqrt(len(PAIRS) * (1 if privacy == "add-remove" else 4) / 200), rel=0.01)
    assert np.abs(screen.scores - true).max() < 6 * screen.stddev


def _screened_dependence(run, start):
    chance = chances(PAIRS, start)
    return dependence(screened(run, PAIRS, start, chance, run.rho / 30), chance, start)


@pytest.mark.parametrize("rho", [1e-2, 30])
def test_pairs_are_asked_for_the_budget_and_more_of_it_where_they_depend(rho):
    data = table()
    run, start = run_of(data, rho)
    found = _screened_dependence(run, start)
    weights = dict.fromkeys(PAIRS, 1.0)
    asked, more = PairAllocation(run, weights, start, set(), found).chosen(0.8 * rho, 0.1 * rho)
    assert 0 <= more <= 0.8 * rho
    assert ("x0", "x1") in asked
    cost = sum((run.stddev(1.0) / a.stddev) ** 2 * math.prod(1 - 1 / n for n in a.resolution.sizes)
               for a in asked.values())  # fmt: skip
    assert cost == pytest.approx(0.8 * rho - more, rel=1e-6)
    assert asked["x0", "x1"].worth == max(a.worth for a in asked.values())
    if rho == 1e-2:
        assert len(asked) < 5


@pytest.mark.parametrize("rho", [1e-2, 30])
def test_without_the_part_it_can_spare_the_forecast_error_of_all_pairs_grows_by_so_much(rho):
    run, start = run_of(table(), rho)
    found = _screened_dependence(run, start)
    weights = {pair: 1.0 + i for i, pair in enumerate(PAIRS)}
    allocation = PairAllocation(run, weights, start, set(), found)
    asked, _ = allocation.chosen(0.8 * rho, 0.1 * rho)
    of_noise = sum(question.worth for question in asked.values())
    others = sum(weights[pair] * float(found[pair].error) for pair in PAIRS if pair not in asked)
    parts = [allocation.spared(asked, loss) for loss in (0.0, 0.001, 0.02, 0.5)]
    for loss, part in zip((0.0, 0.001, 0.02, 0.5), parts, strict=True):
        assert of_noise / math.sqrt(1 - part) + others == pytest.approx((1 + loss) * (of_noise + others))
    assert parts == sorted(parts)
    assert allocation.spared({}, 0.02) == 1


@pytest.mark.parametrize("rho", [0.0, -0.01])
def test_where_choices_and_products_leave_nothing_no_pair_is_asked(rho):
    run, start = run_of(table())
    found = _screened_dependence(run, start)
    assert PairAllocation(run, dict.fromkeys(PAIRS, 1.0), start, set(), found).chosen(rho, 0.9) == ({}, 0.0)


def _forecast_alone(start, ordered, pair, of_pair, stddev):
    """Return the resolution of a pair with the least error left, the error from noise and what is left, in a loop."""
    values = [Values(start.shares[a], a in ordered) for a in pair]
    cells = values[0].size * values[1].size
    least = None
    for resolution in resolutions(*values, min(max(4.0, 0.25 * start.total / stddev), cells)):
        noise = sum(
            min(0.4 * stddev / start.total, a * b)
            for a, b in itertools.product(*(m.tolist() for m in resolution.masses))
        )
        part = 1.0
        for a, v, groups in zip(pair, values, resolution.sizes, strict=True):
            part *= 1 - (0.25 if a in ordered else 1.0) * (1 - (groups - 1) / (v.size - 1))
        signal, residual = of_pair.split(part, whole=resolution.name == "cells")
        left = float(of_pair.mean(np.sqrt(residual + signal * noise**2 / (signal + noise**2 + 1e-300))))
        if least is None or left < least[2] - 1e-12:
            least = resolution, noise, left
    return least


@pytest.mark.parametrize("seed", range(3))
def test_pairs_of_any_shapes_side_by_side_are_forecast_as_each_alone(seed):
    rng = np.random.default_rng(seed)
    sizes = [2, 2, *rng.integers(2, 40, 5).tolist()]
    columns = {f"x{i}": rng.integers(0, 1 + rng.integers(0, n, 3000), 3000) for i, n in enumerate(sizes)}
    run, start = run_of(pypgm.Dataset(columns, pypgm.Domain(list(columns), sizes)), 10)
    pairs, ordered = list(itertools.combinations(columns, 2)), {"x1", "x3", "x5"}
    chance, total = chances(pairs, start), start.total
    scores = 2 * total * rng.random(len(pairs)) / 3
    found = dependence(PairScreen(tuple(pairs), scores, 2 * total * chance, 0.02 * total, total), chance, start)
    forecasts = PairForecasts(pairs, start, ordered, found, run.table.privacy)
    stddevs = [1.0, 20.0, 500.0]
    for stddev, best in zip(stddevs, forecasts.best(np.arange(len(pairs)), stddevs), strict=True):
        assert best.pairs.tolist() == list(range(len(pairs)))
        signal, noise_errors = forecasts.of(best, np.full(len(pairs), stddev))
        np.testing.assert_allclose(noise_errors, best.noise_errors, rtol=1e-12)
        for i, scheme in enumerate(best.schemes):
            options, chosen = forecasts.resolutions(i, scheme, stddev)
            alone, noise, left = _forecast_alone(start, ordered, pairs[i], found[pairs[i]], stddev)
            assert chosen.name in {r.name for r in options}
            assert (chosen.name, chosen.sizes) == (alone.name, alone.sizes)
            assert best.noise_errors[i] == pytest.approx(noise)
            assert best.left[i] == pytest.approx(left)
            assert signal[i] >= 0
