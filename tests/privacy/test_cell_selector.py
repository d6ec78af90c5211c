"""Selection among counts and their complements: scores, law, charges and refusals."""

from __future__ import annotations

import pickle
from collections import Counter

import numpy as np
import pytest

from pypgm import Budget, Dataset, Domain, Ledger, Privacy, PrivateTable
from pypgm.errors import BudgetError
from pypgm.privacy import cell_selector
from pypgm.privacy.cell_selector import CellSelector
from pypgm.privacy.sampler import Sampler

DOMAIN = Domain({"a": 2, "b": 3})
CLIQUES = [("a",), ("b", "a")]
DATA = Dataset({"a": [0, 1, 1, 1, 0], "b": [0, 2, 2, 1, 0]}, DOMAIN)
COUNTS = [2, 3, 2, 0, 0, 1, 0, 2]
ZERO = [np.zeros(2), np.zeros(6)]


def table(neighbours="add-remove", k=1, budget=None, **more):
    return PrivateTable(DATA, Privacy(neighbours, k), Ledger(budget or Budget(epsilon=10**9)), **more)


def scores(weight, offsets, total):
    counts = np.array(COUNTS)
    own = weight * counts + np.rint(np.concatenate(offsets))
    return np.concatenate([own, weight * (5 - counts) - round(weight * total) - np.rint(np.concatenate(offsets))])


@pytest.mark.parametrize("weight", [1, -3])
@pytest.mark.parametrize("total", [5.0, 7.4])
def test_the_best_score_wins(weight, total, monkeypatch):
    rng = np.random.default_rng(0)
    seen = []
    real = Sampler.select

    def look(self, given, rate):
        seen.append(given)
        return real(self, given, rate)

    monkeypatch.setattr(Sampler, "select", look)
    for _ in range(10):
        offsets = [rng.normal(0, 4, 2), rng.normal(0, 4, 6)]
        (drawn,) = table().cell_selector(CLIQUES).draw(weight, offsets, total, epsilon=10**6)
        expected = scores(weight, offsets, total)
        np.testing.assert_array_equal(seen[-1], expected)
        clique, cell, flag = drawn
        assert expected[[0, 2][clique] + cell + 8 * flag] == expected.max()


def test_the_law_is_that_of_the_exponential_mechanism():
    private = table(unsafe_seed=1, budget=Budget(epsilon=10**9))
    drawn = private.cell_selector(CLIQUES).draw(2, ZERO, 5.0, 40_000, epsilon=40_000 * 0.8)
    expected = np.exp(0.4 * scores(2, ZERO, 5.0))  # epsilon / range, range 2
    found = Counter([0, 2][clique] + cell + 8 * flag for clique, cell, flag in drawn)
    shares = np.array([found[i] for i in range(16)]) / 40_000
    np.testing.assert_allclose(shares, expected / expected.sum(), atol=0.012)


@pytest.mark.parametrize(("neighbours", "k", "unit"), [("add-remove", 1, 3), ("add-remove", 2, 6), ("replace", 2, 12)])
def test_charges(neighbours, k, unit):
    private = table(neighbours, k, Budget(rho=10))
    private.cell_selector(CLIQUES).draw(-3, ZERO, 5.0, 4, epsilon=2)
    (line,) = private.ledger.lines
    assert line.parameters["score_range"] == unit
    assert line.parameters["draws"] == line.parameters["composed"] == 4
    assert float(line.cost) == pytest.approx(4 * 0.5**2 / 8)
    assert "16 counts" in line.on
    private.cell_selector(CLIQUES).draw(cell_selector._WEIGHT_LIMIT, ZERO, 5.0, 4, rho=1)
    assert float(private.ledger.lines[1].cost) == pytest.approx(1)


def test_no_neighbour_changes_scores_by_more_than_the_range():
    rows = np.array([(a, b) for a in range(2) for b in range(3)])
    base = np.array([DATA.columns["a"], DATA.columns["b"]]).T

    def of(records, privacy):
        data = Dataset(dict(zip("ab", records.T, strict=True)), DOMAIN)
        own = PrivateTable(data, privacy, Ledger(Budget(epsilon=10))).cell_selector(CLIQUES)
        public = own._public(ZERO)
        return own._scores(1, public, 5)

    for neighbours, others in (
        ("add-remove", [np.vstack([base, row]) for row in rows]),
        ("replace", [np.vstack([base[1:], row]) for row in rows]),
    ):
        privacy = Privacy(neighbours)
        first = of(base, privacy)
        widths = [np.ptp(of(other, privacy) - first) for other in others]
        assert max(widths) == privacy.cell_score_range


def test_huge_counts_change_by_one():
    for counts in ([2**62, 5, 0], [2**40, 2**40 - 1, 3], [2**63 - 1] * 3):
        one = np.array(counts, dtype=np.int64)
        inside, outside = cell_selector._with_others(one)
        other = one.copy()
        other[2] -= 1 if other[2] == 2**63 - 1 else -1
        again = cell_selector._with_others(other)
        assert max(inside.max(), outside.max()) <= cell_selector._COUNT_LIMIT  # times a weight they stay int64
        assert np.abs(again[0] - inside).max() <= 1
        assert np.abs(again[1] - outside).max() <= 1


def test_a_total_that_no_table_has_and_none_at_all_are_taken_and_cliques_are_read_once():
    clique = ["b", "a"]
    own = table().cell_selector([("a",), clique])
    clique[:] = ["b"]
    assert own.draw(1, ZERO, 0.0, epsilon=10**6)[0][2]  # complements lose nothing
    ((position, cell, flag),) = own.draw(-1, ZERO, 1e300, epsilon=10**6)
    assert flag  # minus a weight times such a total
    assert COUNTS[[0, 2][position] + cell] == max(COUNTS)


def test_refusals():
    private = table(budget=Budget(epsilon=1))
    own = private.cell_selector(CLIQUES)
    for arguments, match in (
        ((0, ZERO, 5.0), "weight must be an integer that is not 0"),
        ((1.5, ZERO, 5.0), "weight must be"),
        ((1 << 19, ZERO, 5.0), "weight must be"),
        ((1, ZERO[:1], 5.0), "an offset for each"),
        ((1, [[0, np.nan], np.zeros(6)], 5.0), "finite"),
        ((1, [[0, 2.0**58], np.zeros(6)], 5.0), "below 2\\^58"),
        ((1, [[0, -(2.0**58)], np.zeros(6)], 5.0), "below 2\\^58"),
        ((1, ZERO, -1.0), "total"),
        ((1, ZERO, 5.0, 0), "draws"),
    ):
        with pytest.raises(ValueError, match=match):
            own.draw(*arguments, epsilon=0.1)
    with pytest.raises(ValueError, match="exactly one of rho and epsilon"):
        own.draw(1, ZERO, 5.0)
    with pytest.raises(BudgetError):
        own.draw(1, ZERO, 5.0, epsilon=2)
    with pytest.raises(ValueError, match="at least one clique"):
        private.cell_selector([])
    with pytest.raises(ValueError, match="unknown attribute"):
        private.cell_selector([("z",)])
    with pytest.raises(TypeError, match="neither pickled nor copied"):
        pickle.dumps(own)
    assert private.ledger.lines == ()
    assert repr(own) == "CellSelector(scores behind a ledger)"
    private.close()
    with pytest.raises(ValueError, match="closed"):
        own.draw(1, ZERO, 5.0, epsilon=0.1)
    assert isinstance(own, CellSelector)
