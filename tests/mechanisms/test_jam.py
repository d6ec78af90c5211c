"""JAM: what it spends, from where it takes each marginal, and the scores that choose."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import pypgm
from pypgm import Budget, Dataset, Domain, Ledger, workloads
from pypgm.mechanisms import aim, jam

DOMAIN = Domain({"a": 2, "b": 3, "c": 4, "d": 2})


def records(n, seed, *, shifted=False):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 4, n)
    first = (codes > 1) ^ (rng.random(n) < 0.2)
    columns = {"a": first.astype(int), "b": codes % 3, "c": codes, "d": (codes + rng.integers(0, 2, n)) % 2}
    if shifted:
        columns["b"] = (columns["b"] + 1) % 3
    return Dataset(columns, DOMAIN)


DATA, PUBLIC = records(2000, 0), records(3000, 1)
PAIRS = list(itertools.combinations(DOMAIN, 2))


def error(release, data=DATA):
    return np.mean([np.abs(release.project(c).values - data.project(c).values).sum() for c in PAIRS]) / len(data)


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_no_more_than_the_budget_is_spent(neighbours):
    release = jam(DATA, budget=Budget(rho=1), public=PUBLIC, neighbours=neighbours, rounds=6)
    assert release.ledger.spent() <= 1
    private = [row for row in release.log if row["source"] == "private"]
    assert len(release.log) == 6
    assert len(release.measurements) == len(private) + (neighbours == "add-remove")
    assert [m.clique for m in release.measurements if m.clique] == [row["clique"] for row in private]
    selections = [float(line.cost) for line in release.ledger.lines if line.what == "select"]
    left = 0.99 if neighbours == "add-remove" else 1.0
    assert selections[0] == pytest.approx(left / 6 * 0.2, rel=1e-3)


def test_the_noise_is_that_of_a_round():
    release = jam(DATA, budget=Budget(rho=1), public=PUBLIC, neighbours="replace", rounds=5)
    assert release.log[0]["stddev"] == pytest.approx(math.sqrt(2 / (2 * 0.8 / 5)))


@pytest.mark.slow
def test_good_public_records_are_taken_where_noise_is_large_and_left_where_it_is_none():
    tiny = Budget(rho="1/500")
    noisy = [jam(DATA, budget=tiny, public=PUBLIC, rounds=8, unsafe_seed=seed) for seed in range(6)]
    alone = [aim(DATA, budget=tiny, unsafe_seed=seed) for seed in range(6)]
    assert np.mean([row["source"] == "public" for release in noisy for row in release.log]) > 0.3
    assert np.mean([*map(error, noisy)]) < 0.9 * np.mean([*map(error, alone)])
    exact = jam(DATA, budget=Budget(rho=10**7), public=PUBLIC, rounds=12)
    assert {row["source"] for row in exact.log[1:7]} == {"private"}
    assert error(exact) < 0.01


def test_bad_public_records_are_not_taken():
    release = jam(DATA, budget=Budget(rho=20), public=records(3000, 1, shifted=True), rounds=8, unsafe_seed=2)
    taken = [row["clique"] for row in release.log if row["source"] == "public"]
    assert not any("b" in clique for clique in taken)


def test_a_public_table_is_taken_once():
    release = jam(DATA, budget=Budget(rho="1/10000"), public=PUBLIC, rounds=25, unsafe_seed=3)
    taken = [row["clique"] for row in release.log if row["source"] == "public"]
    assert len(set(taken)) == len(taken) > 5
    assert {len(c) for c in taken} == {1, 2}


@pytest.mark.filterwarnings("ignore:no further marginal fits")
def test_small_trees_and_regions():
    narrow = jam(DATA, budget=Budget(rho=1), public=PUBLIC, tree_bytes=700, rounds=4)
    assert 0 < len(narrow.log) <= 4
    wide = jam(DATA, budget=Budget(rho=1), public=PUBLIC, tree_bytes=1, rounds=4, oracle="region_graph")
    assert len(wide.log) == 4


def test_the_log_is_kept_in_the_file(tmp_path):
    release = jam(DATA, epsilon=1, delta=1e-9, public=PUBLIC, rounds=3)
    release.save(tmp_path / "release.pgm")
    assert pypgm.load(tmp_path / "release.pgm").log == release.log


def test_a_callback_that_ends_an_estimate_ends_the_rounds():
    release = jam(DATA, epsilon=1, delta=1e-9, public=PUBLIC, callback=lambda state: True)
    assert len(release.log) == 1


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [1e20, 1e300])
def test_with_a_budget_beyond_the_finest_noise_public_tables_have_that_noise(epsilon):
    release = jam(DATA, epsilon=epsilon, delta=1e-9, public=DATA, unsafe_seed=1)
    assert "public" in {row["source"] for row in release.log}
    assert min(row["stddev"] for row in release.log) > 6e-10
    assert error(release) < 1e-5


@pytest.mark.parametrize(
    ("options", "error", "match"),
    [
        ({"public": 3}, TypeError, "public needs a pypgm.Dataset"),
        ({"public": Dataset({"z": [0]}, Domain({"z": 2}))}, ValueError, "the public records are over"),
        ({"public": Dataset({a: [] for a in DOMAIN}, DOMAIN)}, ValueError, "one public record"),
        ({"rounds": 0}, ValueError, "rounds must be at least 1"),
        ({"tree_bytes": 0}, ValueError, "tree_bytes must be positive"),
        ({"delta": None}, ValueError, "delta"),
        ({"workload": workloads.Workload(Domain({"z": 2}), ["z"])}, ValueError, "the workload is over"),
    ],
)
def test_refused_before_anything_is_spent(monkeypatch, options, error, match):
    monkeypatch.setattr(Ledger, "charge", lambda *_: pytest.fail("something was charged"))
    with pytest.raises(error, match=match):
        jam(DATA, **({"epsilon": 1, "delta": 1e-9, "public": PUBLIC} | options))


def test_a_model_beyond_what_scores_hold_is_refused():
    """Its counts would leave the integers of the scores, which a record then changes by more than is charged for."""
    domain = pypgm.Domain({"a": 3, "b": 2})
    public = pypgm.Dataset({"a": [0], "b": [0]}, domain)
    given = [pypgm.LinearMeasurement([1e17] * 3, "a", stddev=1.0)]
    for rows in ([0], []):
        data = pypgm.Dataset({"a": rows, "b": rows}, domain)
        with pytest.raises(ValueError, match=r"must be finite and sum to less than 2\^44"):
            jam(data, epsilon=1, delta=1e-9, public=public, measurements=given, iterations=1)
