"""One-way counts: the nearest ones, smoothing, and when the independent model is the uniform one."""

import tracemalloc
from fractions import Fraction

import numpy as np
import pytest

import pypgm
from pypgm.mechanisms import one_way
from pypgm.mechanisms.one_way import denoised, independent, measure_singles, nearest, smoothed
from pypgm.mechanisms.run import Run
from pypgm.privacy import Budget, Privacy
from pypgm.queries import Contrasts

RNG = np.random.default_rng(11)


def test_nearest_counts():
    np.testing.assert_allclose(nearest(np.array([5.0, 1.0, -4.0]), 4.0), [4.0, 0.0, 0.0])
    np.testing.assert_allclose(nearest(np.array([5.0, 4.0, -4.0]), 12.0), [6.5, 5.5, 0.0])
    for seed in range(20):
        noisy = np.random.default_rng(seed).normal(0, 9, 7)
        kept = nearest(noisy, 10.0)
        moved = noisy - kept
        assert kept.sum() == pytest.approx(10.0)
        assert kept.min() >= 0
        # Stationary: moved by the same amount where positive, by no more elsewhere.
        assert np.ptp(moved[kept > 0]) < 1e-9
        assert (moved[kept == 0] <= moved[kept > 0].max() + 1e-9).all()


@pytest.mark.parametrize("n", [4, 5, 16, 73, 100])
def test_smoothing_leaves_clear_counts_and_helps_where_neighbours_are_alike(n):
    counts = 1000.0 * np.exp(-0.5 * ((np.arange(n) - n / 3) / (n / 5)) ** 2)
    np.testing.assert_allclose(smoothed(counts, 1e-3), counts, atol=0.05)
    rng = np.random.default_rng(n)
    errors = []
    for _ in range(20):
        noisy = counts + rng.normal(0, 30, n)
        errors.append([np.abs(smoothed(noisy, 30.0) - counts).mean(), np.abs(noisy - counts).mean()])
    denoised, raw = np.mean(errors, axis=0)
    assert denoised < (1.08 if n <= 16 else 0.8) * raw


def test_all_shifts_are_smoothed_at_once_as_one_by_one(monkeypatch):
    noisy = 1000.0 / np.arange(1, 86) + np.random.default_rng(0).normal(0, 30, 85)
    shrunk, rows = one_way._shrunk, []
    monkeypatch.setattr(
        one_way, "_shrunk", lambda details, stddev: rows.append(len(details)) or shrunk(details, stddev)
    )
    together = smoothed(noisy, 30.0)
    assert rows == [8] * 7  # a level of 128 values each
    monkeypatch.setattr(one_way, "_MOST_FITTED", 128)
    np.testing.assert_array_equal(together, smoothed(noisy, 30.0))
    assert rows[7:] == [1] * 8 * 7


@pytest.mark.parametrize("n", [2, 3, 4, 85, 5000])
def test_each_row_is_smoothed_by_itself(n):
    noisy = 1000.0 / np.arange(1, n + 1) + np.random.default_rng(0).normal(0, 30, (3, n))
    np.testing.assert_array_equal(smoothed(noisy, 30.0), [smoothed(row, 30.0) for row in noisy])


@pytest.mark.parametrize("half_squares", [0.0, 1e-9, 3.0, 700.0, 1e6, 1e12])
def test_densities_of_the_mixture_are_those_of_its_parts(half_squares):
    variances = 1 + np.square(one_way._SIGNALS)
    with np.errstate(all="raise", under="ignore"):
        found = one_way._log_densities(np.array([half_squares]), variances)
    wanted = np.logaddexp(*one_way._logs(np.array([half_squares]), one_way._RATES, variances))
    np.testing.assert_allclose(found, wanted, rtol=1e-13, atol=1e-14)


def test_two_or_three_values_are_not_smoothed():
    np.testing.assert_array_equal(smoothed(np.array([3.0, 1.0, 9.0]), 5.0), [3.0, 1.0, 9.0])


@pytest.mark.parametrize("counts", [np.zeros, lambda n: 1e6 / np.arange(1, n + 1), lambda n: 5e3 * (np.arange(n) == 7)])
def test_many_values_are_smoothed_as_one_by_one_in_little_memory(monkeypatch, counts):
    noisy = counts(30_000) + np.random.default_rng(0).normal(0, 30, 30_000)
    tracemalloc.start()
    quick = smoothed(noisy, 30.0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 45 * noisy.nbytes
    monkeypatch.setattr(one_way, "_MOST_FITTED", noisy.size)
    np.testing.assert_array_equal(quick, smoothed(noisy, 30.0))


def model_of(counts, stddev):
    """Return the independent model from noisy counts of two attributes of 40 values."""
    domain = pypgm.Domain({"a": 40, "b": 40})
    run = Run("wide", pypgm.Dataset({"a": [0], "b": [0]}, domain), 1, 1e-9)
    singles = [pypgm.LinearMeasurement(counts + RNG.normal(0, stddev, 40), a, stddev=stddev) for a in domain]
    return independent(run, singles, alone=True).shares.values()


def test_counts_that_noise_explains_leave_the_uniform_model():
    uniform = [all((s == 1 / 40).all() for s in model_of(np.full(40, 10.0), 50.0)) for _ in range(60)]
    assert 40 <= sum(uniform) <= 58  # a standard deviation above the mean is 84 % of chi-squares
    assert not any((s == 1 / 40).all() for s in model_of(np.linspace(0, 400, 40), 50.0))


def run_of(privacy, rho=1):
    domain = pypgm.Domain({"a": 2, "b": 5, "c": 1})
    columns = {a: RNG.integers(0, n, 900) for a, n in zip(domain, domain.shape, strict=True)}
    data = pypgm.Dataset(columns, domain)
    return data, Run("wide", data, budget=Budget(rho=rho), privacy=privacy, unsafe_seed=1)


@pytest.mark.parametrize("privacy", [Privacy(), Privacy("replace"), Privacy(records_per_person=3)], ids=str)
def test_contrasts_of_attributes_cost_what_one_record_changes_and_have_less_noise(privacy):
    _, run = run_of(privacy)
    counts, contrasts = (measure_singles(run, Fraction(1, 4), contrasts=told) for told in (False, True))
    assert [m.clique for m in contrasts] == [m.clique for m in counts]
    charged = [line.cost for line in run.table.ledger.lines][len(counts) :]
    for m, cost in zip(contrasts, charged, strict=True):
        answers = np.stack([m.linear_map.matvec(cell) for cell in np.eye(m.linear_map.shape[1])])  # of a record in each
        changes = answers if privacy.neighbours == "add-remove" else answers[:, None] - answers[None]
        change = privacy.records_per_person**2 * np.square(changes).sum(axis=-1).max()
        assert float(cost) == pytest.approx(change / (2 * float(m.stddev) ** 2), rel=1e-6)
    assert any(isinstance(m.query, Contrasts) for m in contrasts) == (privacy.neighbours == "add-remove")
    noise, less = (independent(run, singles).stddevs for singles in (counts, [*counts[2:], *contrasts[:2]]))
    assert all(less[a] < (0.95 if privacy.neighbours == "add-remove" else 1.01) * noise[a] for a in "ab")


def test_counts_and_contrasts_tell_the_same():
    data, run = run_of(Privacy(), rho=10**7)
    singles = [*measure_singles(run, Fraction(10**6)), *measure_singles(run, Fraction(10**6), contrasts=True)]
    start = independent(run, singles)
    for m in denoised(start, singles):
        assert m.query is None
        assert m.not_private
        np.testing.assert_allclose(m.values, data.project(m.clique).values, atol=0.1)
