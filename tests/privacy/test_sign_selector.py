"""Selection among sets of signs: sums, scores, law, charges and refusals, compared with products record by record."""

from __future__ import annotations

import pickle
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pypgm import Budget, Dataset, Domain, Ledger, Privacy, PrivateTable
from pypgm.errors import BudgetError
from pypgm.privacy import counts, sign_selector
from pypgm.privacy.l1_selector import GRID_BITS
from pypgm.privacy.sampler import Sampler

DOMAIN = Domain({"a": 2, "b": 3, "c": 4})
SIGNS = {"a": [[0, 1]], "b": [[0, 1, 0], [1, 1, 0]], "c": [[0, 0, 1, 1], [1, 0, 0, 1], [0, 0, 0, 0]]}
SETS = [np.array(sets, np.uint16) for sets in ([[0, 1], [1, 2], [3, 5]], [[0, 1, 3], [0, 2, 4], [2, 4, 5]])]
N_SETS = 6


def dataset(rows):
    return Dataset(dict(zip("abc", np.array(rows).reshape(-1, 3).T, strict=True)), DOMAIN)


def table(data, neighbours="add-remove", k=1, budget=None, **more):
    return PrivateTable(data, Privacy(neighbours, k), Ledger(budget or Budget(epsilon=10**9)), **more)


def random_rows(seed, n):
    return np.random.default_rng(seed).integers(0, DOMAIN.shape, (n, 3))


def products(data):
    """Return for each set the sum of its product over the records, one record at a time."""
    flat = [(a, 1 - 2 * np.array(sign)) for a, of_attribute in SIGNS.items() for sign in of_attribute]
    sums = []
    for one in (s for sets in SETS for s in sets.tolist()):
        total = 0
        for i in range(data.n_records):
            total += np.prod([flat[j][1][data.columns[flat[j][0]][i]] for j in one])
        sums.append(int(total))
    return np.array(sums)


def seen_scores(private, monkeypatch, *arguments, **named):
    """Return the scores from which a selection drew, in records, and its choice."""
    seen = []
    with monkeypatch.context() as patch:
        real = Sampler.select
        patch.setattr(Sampler, "select", lambda self, given, rate: (seen.append(given), real(self, given, rate))[1])
        chosen = private.sign_selector(SIGNS, SETS).select(*arguments, **named)
    return np.asarray(seen[-1]), chosen


@pytest.mark.parametrize("n", [0, 1, 63, 64, 65, 300])
def test_scores_are_weighted_distances_of_sums_in_one_piece_or_many(n, monkeypatch):
    rng = np.random.default_rng(n)
    data = dataset(random_rows(n, n))
    estimates, weights = rng.normal(0, 20, N_SETS), rng.random(N_SETS)
    expected = np.floor(weights * 2**16) * np.abs(products(data) - np.rint(estimates * 2**16) / 2**16)
    for piece in (7, 64, 1 << 18):
        monkeypatch.setattr(counts, "_PIECE", piece)
        scores, chosen = seen_scores(table(data), monkeypatch, estimates, weights, epsilon=10**7)
        np.testing.assert_allclose(scores, expected, atol=1)
        assert chosen == scores.argmax()
    np.testing.assert_array_equal(
        sign_selector.sign_sums({a: np.array(s, bool) for a, s in SIGNS.items()}, SETS, data.columns), products(data)
    )


@pytest.mark.parametrize(("neighbours", "most"), [("add-remove", 1), ("replace", 2)])
def test_no_neighbour_moves_a_score_by_more_than_is_charged_and_some_move_by_it(neighbours, most, monkeypatch):
    rows = random_rows(3, 9)
    cells = np.array(list(np.ndindex(*DOMAIN.shape)))
    others = [np.vstack([rows[:-1] if neighbours == "replace" else rows, cell]) for cell in cells]
    estimates = np.array([0.5, -3.25, 100, 0, 1 / 3, -8])
    for weights in (np.ones(N_SETS), np.array([1, 0.9, 0.81, 1, 1 / 3, 0])):
        here, _ = seen_scores(table(dataset(rows), neighbours), monkeypatch, estimates, weights, epsilon=1)
        tables = [table(dataset(other), neighbours) for other in others]
        there = [seen_scores(one, monkeypatch, estimates, weights, epsilon=1)[0] for one in tables]
        moved = np.abs(np.array(there) - here).max(axis=0)
        assert (moved <= most * np.floor(weights * 2**16)).all()
        assert moved.max() == most << GRID_BITS
    private = table(dataset(rows), neighbours)
    private.sign_selector(SIGNS, SETS).select(estimates, epsilon=1)
    assert private.ledger.lines[0].parameters["score_range"] == 2 * most


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**60), st.integers(-(2**16), 2**16), st.integers(0, 2**16))
def test_weights_round_changes_down_but_never_up(score, change, factor):
    scores = np.array([score, max(0, score + change)])
    weighted = sign_selector._weighted(scores, np.array([factor, factor]))
    assert abs(weighted[1] - weighted[0]) <= min(2**16, factor)
    assert int(weighted[0]) == score * factor >> 16


def test_the_law_is_that_of_the_exponential_mechanism():
    data = dataset(random_rows(5, 6))
    private = table(data, unsafe_seed=1)
    own = private.sign_selector(SIGNS, SETS)
    among = np.array([True, True, False, True, True, True])
    drawn = Counter(own.select(np.zeros(N_SETS), among=among, epsilon=1.2) for _ in range(20_000))
    expected = np.exp(0.6 * np.abs(products(data))) * among  # epsilon / range, range 2
    shares = np.array([drawn[i] for i in range(N_SETS)]) / 20_000
    np.testing.assert_allclose(shares, expected / expected.sum(), atol=0.015)


@pytest.mark.parametrize(("neighbours", "k", "unit"), [("add-remove", 1, 2), ("add-remove", 3, 6), ("replace", 2, 8)])
def test_charges(neighbours, k, unit):
    private = table(dataset(random_rows(0, 50)), neighbours, k, Budget(rho=10))
    own = private.sign_selector(SIGNS, SETS)
    own.select(np.zeros(N_SETS), rho=1)
    own.select(np.zeros(N_SETS), among=[True, True, False, False, False, False], epsilon=2)
    first, second = private.ledger.lines
    assert first.parameters["score_range"] == second.parameters["score_range"] == unit
    assert float(first.cost) == pytest.approx(1)
    assert float(second.cost) == pytest.approx(0.5)
    assert "6 sets of signs" in first.on
    assert "2 sets of signs" in second.on


def test_arguments_are_copied_and_sums_are_of_the_records_at_the_first_draw():
    signs, sets = {"a": np.array([[False, True]])}, [np.array([[0]])]
    private = table(dataset(random_rows(1, 30)), unsafe_seed=0)
    own = private.sign_selector(signs, sets)
    signs["a"][:], sets[0][:] = False, 7
    assert own.select([0.0], epsilon=1) == 0


def test_refusals_come_before_any_charge():
    private = table(dataset(random_rows(0, 20)), budget=Budget(epsilon=1))
    zero = np.zeros(N_SETS)
    own = private.sign_selector(SIGNS, SETS)
    for arguments, match in (
        ((zero[:1],), "as many estimates"),
        ((zero, zero[:1]), "as many estimates"),
        ((zero, None, [True]), "as many estimates"),
        ((zero + np.nan,), "finite"),
        ((zero + 2.0**44,), "finite"),
        ((zero, zero + 1.5), r"weights in \[0, 1\]"),
        ((zero, zero - 0.1), r"weights in \[0, 1\]"),
        ((zero, None, zero > 0), "at least one candidate"),
    ):
        with pytest.raises(ValueError, match=match):
            own.select(*arguments, epsilon=0.1)
    with pytest.raises(ValueError, match="exactly one of rho and epsilon"):
        own.select(zero)
    with pytest.raises(BudgetError):
        own.select(zero, epsilon=2)
    for signs, sets, match in (
        ({"z": [[0, 1]]}, SETS, "unknown attribute"),
        ({"a": [[0, 1, 1]]}, SETS, "with 2 values"),
        ({"a": [0, 1]}, SETS, "with 2 values"),
        (SIGNS, [], "at least one set"),
        (SIGNS, [np.zeros((0, 2), int)], "at least one set"),
        (SIGNS, [np.array([[0, 6]])], "below 6"),
        (SIGNS, [np.array([[-1, 0]])], "below 6"),
        (SIGNS, [np.array([0, 1])], "row of integers"),
        (SIGNS, [np.array([[0.0, 1.0]])], "row of integers"),
    ):
        with pytest.raises(ValueError, match=match):
            private.sign_selector(signs, sets)
    with pytest.raises(TypeError, match="neither pickled nor copied"):
        pickle.dumps(own)
    assert private.ledger.lines == ()
    assert repr(own) == "SignSelector(scores behind a ledger)"
    private.close()
    with pytest.raises(ValueError, match="closed"):
        own.select(zero, epsilon=0.1)


class OnlyCounts:
    """A table that counts and has no rows."""

    domain, weights, n_records = DOMAIN, None, 5

    def count(self, cliques, n_threads=0):
        return [np.zeros(DOMAIN.size(c), np.int64) for c in cliques]


def test_a_table_of_counts_has_no_signs():
    private = table(OnlyCounts())
    assert not private.has_rows
    with pytest.raises(TypeError, match="only records have signs"):
        private.sign_selector(SIGNS, SETS)
