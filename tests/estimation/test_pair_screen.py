"""A screen of pairs: what it says of a table's distance from a model, what a file keeps, and the errors that follow."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pypgm
from pypgm.estimation.pair_screen import DISTANCES, PairScreen, dependence_of, farthest, likely_distances
from pypgm.mechanisms.one_way import independent, measure_singles
from pypgm.mechanisms.pair_dependence import chances, screened
from pypgm.mechanisms.run import Run
from pypgm.privacy import Budget

DOMAIN = pypgm.Domain({"a": 2, "b": 5, "c": 8, "d": 9, "e": 7, "f": 6})
PAIRS = tuple(itertools.combinations(DOMAIN, 2))
RUN = {"epsilon": 0.5, "delta": 1e-9, "unsafe_seed": 3}


def records(n=6000, seed=0):
    """Return records of which only the first two attributes depend on each other."""
    rng = np.random.default_rng(seed)
    columns = {a: rng.integers(0, DOMAIN.size((a,)), n) for a in DOMAIN}
    columns["b"] = np.where(rng.random(n) < 0.6, columns["a"], columns["b"])
    return pypgm.Dataset(columns, DOMAIN)


@pytest.fixture(scope="module")
def release():
    return pypgm.mechanisms.wide(records(), **RUN)


def screens(seed):
    rng = np.random.default_rng(seed)
    total, noise = 10 ** rng.uniform(1, 6), 10 ** rng.uniform(-3, -1)
    scores = 2 * total * (rng.random(len(PAIRS)) + noise * rng.standard_normal(len(PAIRS)))
    by_chance = 0.1 * total * rng.random(len(PAIRS))
    return PairScreen(PAIRS, scores, by_chance, 2 * total * noise, total)


@given(st.integers(0, 2**32 - 1))
def test_files_keep_a_rounded_screen_exactly(seed):
    given_screen = screens(seed)
    kept = given_screen.rounded()
    read = PairScreen.from_fields(DOMAIN, kept.to_fields(DOMAIN))
    for name in ("scores", "by_chance"):
        assert getattr(read, name).tolist() == getattr(kept, name).tolist()
        assert np.abs(getattr(kept, name) - getattr(given_screen, name)).max() <= given_screen.stddev / 32
    assert (read.pairs, read.stddev, read.total) == (PAIRS, kept.stddev, kept.total)


def test_files_keep_scores_that_the_noise_is_tiny_beside():
    screen = PairScreen((("a", "b"),), np.array([-1e15]), np.array([1e15]), 0.125, 1e15)
    read = PairScreen.from_fields(DOMAIN, screen.to_fields(DOMAIN))
    assert (read.scores.tolist(), read.by_chance.tolist()) == ([-1e15], [1e15])
    with np.errstate(all="raise", under="ignore"):
        assert 0 <= read.dependence()[frozenset("ab")] < 0.01


@pytest.mark.parametrize(
    "change",
    [
        {"pairs": np.zeros((2, 15), dtype=np.int32)},
        {"pairs": np.full((15, 2), [0, 6], dtype=np.int32).T},
        {"pairs": np.full((15, 2), [-1, 2], dtype=np.int32).T},
        {"pairs": np.full((14, 2), [0, 1], dtype=np.int32).T},
        {"pairs": np.array([[0, 1] * 7 + [0], [1, 0] * 7 + [2]], dtype=np.int32)},
        {"scores": np.zeros(15)},
        {"scores": np.array(3, dtype=np.int32)},
        {"scores": np.zeros((15, 1), dtype=np.int32)},
        {"by_chance": np.full(15, -1, dtype=np.int32)},
        *({name: value} for name in ("stddev", "total") for value in (0.0, -1.0, 5e-324, 1e308, np.inf, np.nan)),
    ],
)
def test_fields_that_are_no_screen_are_refused(change):
    fields = screens(0).to_fields(DOMAIN)
    with pytest.raises(ValueError, match="a screen needs"):
        PairScreen.from_fields(DOMAIN, fields | change)


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf, 1e200, -1e200])
@pytest.mark.parametrize("name", ["scores", "by_chance", "stddev", "total"])
def test_a_screen_of_ones_own_that_no_file_could_keep_is_refused(name, wrong):
    screen, place = screens(0), np.arange(len(PAIRS)) == 3
    value = np.where(place, wrong, getattr(screen, name)) if name in {"scores", "by_chance"} else wrong
    with pytest.raises(ValueError, match="a screen needs finite"):
        dataclasses.replace(screen, **{name: value})
    with pytest.raises(ValueError, match="a screen needs a score"):
        dataclasses.replace(screen, pairs=PAIRS[1:])
    with pytest.raises(ValueError, match="'x'"):
        dataclasses.replace(screen, pairs=(*PAIRS[1:], ("a", "x"))).to_fields(DOMAIN)


@given(*[st.tuples(st.floats(least, 1e49), st.floats(least, 1e49)) for least in (-1e49, 0, 1e-49)])
def test_a_screen_of_any_numbers_has_distances(scores, by_chance, stddev_and_total):
    numbers = np.array(scores), np.array(by_chance), *stddev_and_total
    with np.errstate(all="raise", under="ignore"):
        likely = PairScreen((("a", "b"), ("a", "c")), *numbers).likely()
    np.testing.assert_allclose(likely.sum(axis=1), 1)


@given(st.integers(0, 2**32 - 1))
def test_pairs_with_larger_scores_are_farther_from_independence(seed):
    screen = dataclasses.replace(screens(seed), by_chance=np.full(len(PAIRS), 3.0))
    found = screen.dependence()
    far = np.array([found[frozenset(PAIRS[i])] for i in np.argsort(screen.scores)])
    assert (np.diff(far) >= -1e-9).all()
    assert ((far >= 0) & (far <= 1)).all()


@pytest.mark.parametrize(("mean", "dependent"), [(0.01, 0.1), (0.02, 0.1), (0.02, 1), (0.07, 1), (0.2, 1)])
def test_what_noise_hides_of_each_pair_is_known_of_their_mean(mean, dependent):
    rng, n, noise = np.random.default_rng(1), 4000, 0.3
    distances = rng.exponential(mean / dependent, n).clip(max=1) * (rng.random(n) < dependent)
    by_chance = rng.uniform(0.01, 0.02, n)
    scores = np.hypot(distances, by_chance) + noise * rng.standard_normal(n)
    found = likely_distances(scores, by_chance, noise) @ DISTANCES
    assert abs(found.mean() - distances.mean()) < 3 * noise / np.sqrt(n)
    unknown = likely_distances(scores[:3], by_chance[:3], 100 * noise) @ DISTANCES
    np.testing.assert_allclose(unknown, 0.07, atol=0.01)  # as in tables in general


@given(st.integers(0, 2**32 - 1))
def test_tables_of_the_same_sums_are_no_farther_apart_than_both_are_from_the_product(seed):
    rng = np.random.default_rng(seed)
    rows, columns = rng.dirichlet(np.ones(4)), rng.dirichlet(np.ones(3))
    product = np.outer(rows, columns)

    def drawn():
        change = rng.normal(size=product.shape)
        change -= change.mean(axis=0)
        change -= change.mean(axis=1, keepdims=True)
        return product + 0.9 * rng.random() * change * (product / np.maximum(np.abs(change), 1e-12)).min()

    true, model = drawn(), drawn()
    answer = pypgm.Factor(pypgm.Domain({"x": 4, "y": 3}), model * 100)
    far = farthest({frozenset(("x", "y")): dependence_of(true)}, answer)
    assert 0.5 * np.abs(true - model).sum() <= far + 1e-12
    assert farthest({frozenset(("x", "z")): 0.1}, answer) == np.inf


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_what_a_run_keeps_has_the_noise(neighbours):
    data = records()
    run = Run("wide", data, budget=Budget(rho=1), neighbours=neighbours, unsafe_seed=1)
    start = independent(run, measure_singles(run, run.rho / 10))
    screened(run, PAIRS, start, chances(PAIRS, start), run.rho / 100)
    true = [np.abs(data.project(p).datavector() - start.counts(p)).sum() for p in PAIRS]
    noise = (run.screen.scores - true) / run.screen.stddev
    assert 0.4 < noise.std() < 1.8
    assert np.abs(noise).min() > 0


def test_a_release_keeps_its_screen(release, tmp_path):
    release.save(tmp_path / "r.pgm")
    loaded = pypgm.load(tmp_path / "r.pgm")
    assert set(map(frozenset, loaded.screen.pairs)) == set(map(frozenset, PAIRS))
    assert loaded.screen.dependence() == release.screen.dependence()
    unmeasured = next(p for p in PAIRS if release.model.basis(p) == "unmeasured")
    errors = [r.expected_error(unmeasured, draws=4).values for r in (release, loaded)]
    np.testing.assert_array_equal(*errors)
    assert pypgm.mechanisms.mst(records(500), **RUN).screen is None
    assert pypgm.mechanisms.screen(records(500), **RUN).screen is not None


def test_a_screen_that_nothing_paid_is_refused(release, tmp_path):
    other = pypgm.mechanisms.mst(records(500), **RUN)
    dataclasses.replace(other, screen=release.screen).save(tmp_path / "r.pgm")
    with pytest.raises(ValueError, match="a screen of pairs that no line of its ledger charged"):
        pypgm.load(tmp_path / "r.pgm")


def test_errors_of_pairs_that_were_not_counted_are_no_more_than_the_screen_leaves(release):
    data, without = records(), dataclasses.replace(release, screen=None)
    errors = [r.expected_error_many(PAIRS, draws=4) for r in (release, without)]
    held, ratios, before = [], [], []
    for pair, now, then in zip(PAIRS, *errors, strict=True):
        if release.model.basis(pair) != "unmeasured":
            np.testing.assert_array_equal(now.values, then.values)
            continue
        assert now.values.mean() <= 1.01 * then.values.mean()
        made = np.abs(release.project(pair).values - data.project(pair).values)
        held.extend((made <= 1.645 * now.values).ravel())
        ratios.append(now.values.mean() / made.mean())
        before.append(then.values.mean() / made.mean())
    assert len(ratios) >= 8
    assert np.mean(held) >= 0.85
    assert np.median(ratios) < 3 < np.median(before)


@pytest.mark.parametrize("total", [2.0**20, 2.0**30, 2.0**36])
def test_a_screen_of_any_number_of_records_is_kept_exactly(total):
    domain = pypgm.Domain({"a": 2, "b": 2, "c": 2})
    screen = PairScreen((("a", "b"), ("c", "a")), np.array([2 * total, -3.0]), np.array([total, 0.0]), 0.7, total)
    again = PairScreen.from_fields(domain, screen.rounded().to_fields(domain))
    assert np.array_equal(again.scores, screen.rounded().scores)
    assert np.array_equal(again.by_chance, screen.rounded().by_chance)
    assert again.pairs == screen.pairs
