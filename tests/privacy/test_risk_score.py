"""What a measurement would save: exact integers that one record changes by no more than is said."""

from __future__ import annotations

import numpy as np
import pytest

from pypgm.mechanisms._aim import GRID, hidden, saving
from pypgm.privacy.l1_selector import on_grid


@pytest.mark.parametrize("seed", range(20))
def test_savings_are_what_their_definition_says_and_change_as_little(seed):
    rng = np.random.default_rng(seed)
    counts, model = rng.poisson(3, 12), rng.gamma(0.3, 10, 12)
    goal, noise = on_grid(("a",), model, 12), float(rng.uniform(0.01, 9))
    hiding = round(GRID * hidden(model, noise))
    found = saving(counts, goal, hiding)
    assert isinstance(found, int)
    e, h = np.abs(counts - model).sum(), np.minimum(noise, 2 * model).sum()
    assert found / GRID == pytest.approx(e - (e**-2 + h**-2) ** -0.5, abs=0.01)
    for cell in np.eye(12, dtype=np.int64):
        more = saving(counts + cell, goal, hiding)
        assert abs(more - found) <= GRID


def test_a_change_of_a_record_is_never_exceeded_on_a_line():
    """Distances one grid unit apart: the saving moves by 0 or 1, whatever noise hides."""
    for hiding in (0, 1, 7, 1000, 123_457):
        found = [saving(np.array([0]), np.array([e]), hiding) for e in range(3000)]
        assert set(np.diff(found)) <= {0, 1}


def test_nothing_hidden_and_nothing_wrong():
    exact = np.array([3, 4])
    assert saving(exact, GRID * exact, 5) == 0
    assert saving(exact, GRID * exact, 0) == 0
    assert saving(exact, np.zeros(2, np.int64), 0) == 7 * GRID


def test_counts_beyond_int64_are_taken_in_whole_integers():
    counts, goal = np.array([2**45, 3]), np.array([2**40, 0])
    found = saving(counts, goal, GRID * 2**40)
    assert found <= GRID * 2**46
    assert 0 <= saving(counts + np.array([1, 0]), goal, GRID * 2**40) - found <= GRID
