"""Pairs of a target in halves, where wide would measure single attributes alone: what they cost, show and predict."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

import pypgm
from pypgm import Budget, Dataset, Domain, Privacy
from pypgm.mechanisms import adaptive_grid, wide
from pypgm.mechanisms.one_way import independent, measure_singles
from pypgm.mechanisms.resolution import Resolution, Values, resolutions
from pypgm.mechanisms.run import Run
from pypgm.mechanisms.target_pairs import distance, measure_strongest
from pypgm.privacy import PrivateTable

RELATIONS = [Privacy(), Privacy("replace"), Privacy(records_per_person=3)]


def followers(seed, n_columns, n, strength, share=0.5):
    """Return a target of two values, one of which has a share, and columns of two to five values that lean to it."""
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < share).astype(int)
    columns = {"y": y}
    for i, size in enumerate(rng.integers(2, 6, n_columns)):
        own = rng.integers(0, size, n)
        columns[f"x{i}"] = np.where(rng.random(n) < strength, y * (size - 1), own)
    return Dataset(columns, Domain({a: int(c.max()) + 1 for a, c in columns.items()}))


def halves_of(release):
    return [m for m in release.measurements if len(m.clique) == 2]


@pytest.mark.parametrize("privacy", RELATIONS, ids=str)
@pytest.mark.parametrize("seed", range(2))
def test_all_pairs_of_a_target_share_half_of_the_budget_at_least(privacy, seed):
    data = followers(seed, 7, 150, 0.5)
    plain, aimed = (
        wide(data, budget=Budget(rho="1/200"), privacy=privacy, targets=t, iterations=20, unsafe_seed=seed)
        for t in ((), "y")
    )
    assert not halves_of(plain)
    asked = halves_of(aimed)
    assert sorted(m.clique for m in asked) == [("y", f"x{i}") for i in range(7)]
    cost = sum(line.cost for line in aimed.ledger.lines if line.on in {f"(y, x{i})" for i in range(7)})
    assert cost >= Fraction(1, 2) * Fraction(999, 1000) * Fraction(1, 200)
    assert Fraction(999, 1000) <= aimed.ledger.spent() * 200 <= 1
    for m in asked:
        # Brute force: the largest change of an answer by a record, from any cell to any other or to none.
        cells = np.eye(data.domain.size(m.clique))
        changes = [m.query.matvec(cell) for cell in cells]
        if privacy.neighbours == "replace":
            changes = [a - b for a, b in itertools.product(changes, repeat=2)]
        most = privacy.records_per_person * max(float(np.linalg.norm(c)) for c in changes)
        charged = next(line.cost for line in aimed.ledger.lines if line.on == f"({', '.join(m.clique)})")
        assert m.values.shape == (1,)
        assert most**2 / (2 * float(m.stddev) ** 2) <= float(charged) * (1 + 1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_the_halves_of_a_target_are_kept_where_pairs_are_not(seed):
    data = followers(seed, 12, 600, 0.5)
    kept = []
    for targets in ((), "y"):
        release = wide(data, epsilon="1/4", delta=1e-9, targets=targets, unsafe_seed=seed)
        apart = [
            np.abs(np.subtract(*(r / r.sum() for r in release.project(("y", a)).values))).sum()
            for a in data.domain
            if a != "y"
        ]
        kept.append(np.mean(apart))
    assert kept[0] < 0.1
    assert kept[1] > kept[0] + 0.15


@pytest.mark.parametrize("privacy", [Privacy(), Privacy("replace")], ids=str)
@pytest.mark.parametrize(("epsilon", "n_columns"), [("1/10", 9), ("1/4", 30)])
def test_the_column_that_a_target_follows_from_is_measured_finely(privacy, epsilon, n_columns):
    # Frequent values and rare ones lean either way: halves by frequency show little of it.
    rng = np.random.default_rng(n_columns)
    n = 5000 * (2 if privacy.neighbours == "replace" else 1)
    columns = {f"x{i}": rng.integers(0, rng.integers(2, 40), n) for i in range(n_columns)}
    columns["cause"] = rng.choice(8, n, p=[0.2, 0.18, 0.16, 0.14, 0.12, 0.1, 0.06, 0.04])
    columns["y"] = np.where(rng.random(n) < 0.05, rng.integers(0, 2, n), columns["cause"] % 2)
    data = Dataset(columns, Domain({a: [f"v{k}" for k in range(c.max() + 1)] for a, c in columns.items()}))
    release = wide(data, epsilon=epsilon, delta=1e-9, privacy=privacy, targets="y", unsafe_seed=1)
    assert any(m.clique == ("cause", "y") and m.query.shape[0] > 1 for m in release.measurements)
    given_cause = release.project(("cause", "y")).values
    assert np.mean(given_cause.argmax(axis=1)[columns["cause"]] == columns["y"]) > 0.65


@pytest.mark.parametrize("privacy", RELATIONS, ids=str)
@pytest.mark.parametrize("share", [0.5, 0.04])
def test_no_neighbour_moves_the_distances_of_picks_further_than_is_charged(privacy, share, monkeypatch):
    """Distances recomputed record by record, of neighbours that differ in one person."""
    rng = np.random.default_rng(4)
    data, charged = followers(2, 7, 80, 0.4, share), []
    run = Run("wide", data, budget=Budget(rho=50), privacy=privacy, unsafe_seed=0)
    start = independent(run, measure_singles(run, run.rho / 10))
    pairs = {("y", a): "y" for a in data.domain if a != "y"}
    own = PrivateTable.selector
    monkeypatch.setattr(PrivateTable, "selector", lambda *a, **k: (charged.append(a[1:]), own(*a, **k))[1])
    assert len(measure_strongest(run, pairs, start, (), 1.0)) == 2
    ((cliques, score),) = charged
    laws = [line.law for line in run.table.ledger.lines if line.what == "select"]
    codes = np.stack([data.columns[a] for a in data.domain], axis=1)

    def distances(rows):
        records = Dataset(dict(zip(data.domain, rows.T, strict=True)), data.domain)
        return np.array([score(i, records.project(p).datavector().astype(np.int64)) for i, p in enumerate(cliques)])

    k, base = privacy.records_per_person or 1, distances(codes)
    kept = codes if privacy.neighbours == "add-remove" else codes[k:]
    for _ in range(200):
        new = np.tile(rng.integers(0, data.domain.shape), (k, 1))
        moved = distances(np.vstack([kept, new])) - base
        assert np.ptp(moved) <= laws[0].score_range
        assert 2 * np.abs(moved).max() <= laws[0].score_range


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("large", [False, True])
def test_a_distance_is_that_of_the_conditional_shares_and_sees_no_marginal_of_the_other_attribute(axis, large):
    rng = np.random.default_rng(axis)
    for sizes in ((2, 7), (3, 12), (5, 2)):
        masses = [rng.dirichlet(np.full(n, 2.0)) for n in sizes]
        look = resolutions(*(Values(m, is_ordered=True) for m in masses), 4.0)[-1]
        shares = np.diff(np.rint(1024 * np.cumsum(look.masses[axis])), prepend=0).astype(np.int64)
        counts = rng.integers(0, 2**40 if large else 50, sizes).ravel()
        sums = [0] * look.query.shape[0]
        for cell, group in enumerate(look.query.groups):
            sums[group] += int(counts[cell])
        table = np.array(sums, dtype=object).reshape(look.sizes)
        if axis == 0:
            table = table.T
        expected = sum(abs(1024 * c - int(q) * sum(row)) for row in table for c, q in zip(row, shares, strict=True))
        assert distance(counts, look, axis, shares) == expected
    groups = (np.arange(6), np.arange(2))
    cells = Resolution("cells", groups, (np.full(6, 1 / 6), np.array([0.25, 0.75])))
    others = rng.integers(1, 1000, 6)
    independent_of = np.multiply.outer(4 * others, [1, 3]).ravel()
    assert distance(independent_of, cells, 1, np.array([256, 768])) == 0


def test_nothing_is_picked_where_picks_are_chance_or_the_screen_shows_all():
    def n_picks(n, epsilon):
        release = wide(followers(1, 8, n, 0.7), epsilon=epsilon, delta=1e-9, targets="y", unsafe_seed=0)
        return sum(line.within.startswith("top") for line in release.ledger.lines)

    assert [n_picks(*case) for case in ((300, "1/10"), (4000, "1/10"), (20_000, 8))] == [0, 2, 0]


@pytest.mark.parametrize("epsilon", ["7/10", "8/10", 1])
@pytest.mark.parametrize("seed", range(3))
def test_no_few_of_a_target_s_alike_pairs_get_the_budget_of_all(epsilon, seed):
    data = followers(seed, 24, 400, 0.5)
    release = wide(data, epsilon=epsilon, delta=1e-9, targets="y", iterations=5, unsafe_seed=seed)
    assert any(line.within.startswith("top") for line in release.ledger.lines)
    asked = {m.clique for m in release.measurements if len(m.clique) == 2 and "y" in m.clique}
    assert len(asked) >= 12


def test_counts_that_noise_explains_are_uniform_beside_halves_too():
    data = followers(0, 12, 300, 0.0)
    aimed = wide(data, epsilon="1/50", delta=1e-9, targets="y", unsafe_seed=0)
    assert halves_of(aimed)
    for a in data.domain:
        shares = aimed.project((a,)).values / aimed.model.total
        assert np.abs(shares - 1 / len(shares)).max() < 0.25


@pytest.mark.parametrize("mechanism", [wide, adaptive_grid])
def test_a_target_that_follows_from_another_column_stands_for_that_one(mechanism):
    data = followers(1, 6, 400, 0.5)
    domain = Domain({**{a: data.domain.size((a,)) for a in data.domain}, "z": 2})
    whole = Dataset({**data.columns, "z": 1 - data.columns["y"]}, domain)
    follows = pypgm.Constraint(("y", "z"), mapping=[1, 0])
    one, other = (
        mechanism(whole, epsilon="1/5", delta=1e-9, constraints=[follows], targets=t, unsafe_seed=0, iterations=20)
        for t in ("y", "z")
    )
    assert any("y" in m.clique and len(m.clique) > 1 for m in one.measurements)
    assert [m.clique for m in one.measurements] == [m.clique for m in other.measurements]
    assert [line.cost for line in one.ledger.lines] == [line.cost for line in other.ledger.lines]


def test_an_interaction_of_a_target_is_found_though_no_pair_shows():
    rng = np.random.default_rng(3)
    columns = {f"x{i}": rng.integers(0, 3, 20_000) for i in range(8)}
    columns["y"] = (columns["x0"] + columns["x1"] + columns["x2"]) % 3
    data = Dataset(columns, Domain({a: ["u", "v", "w"] for a in columns}))
    release = wide(data, epsilon="0.4", delta=1e-9, targets="y", unsafe_seed=0)
    assert any({"x0", "x1", "x2", "y"} == set(m.clique) for m in release.measurements)


def test_no_records_and_one_value_are_no_reason_to_fail():
    empty = Dataset({"y": [], "x": [], "z": []}, Domain({"y": 2, "x": 3, "z": 1}))
    for privacy in RELATIONS:
        release = wide(empty, budget=Budget(rho="1/100"), privacy=privacy, targets="y", unsafe_seed=0)
        assert release.ledger.spent() <= Fraction(1, 100)
    constant = pypgm.Dataset({"y": [0] * 50, "x": [1] * 50}, Domain({"y": 1, "x": 3}))
    assert not halves_of(wide(constant, budget=Budget(rho="1/100"), targets="y", unsafe_seed=0))
