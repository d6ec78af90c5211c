"""Records that satisfy queries best: both exact ways and ascents against every record of a small domain."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from pypgm import Domain
from pypgm.reconstruction import best_records as module
from pypgm.reconstruction.best_records import best_records

DOMAIN = Domain({"a": 2, "b": ["x", "y", "z"], "c": 4, "d": 3})
CLIQUES = [("a", "b"), ("c", "b"), ("d", "a", "c"), ("b",)]


def worth(record, values, costs):
    starts = [0, 2, 5, 9]
    own = -sum(costs[s + r] for s, r in zip(starts, record, strict=True))
    for (clique, cell), value in values.items():
        codes = np.unravel_index(cell, DOMAIN.sizes(clique))
        own += value * all(record[DOMAIN.index(a)] == code for a, code in zip(clique, codes, strict=True))
    return own


@pytest.fixture(scope="module")
def cases():
    rng = np.random.default_rng(0)
    found = []
    for _ in range(20):
        cells = [(CLIQUES[i], int(rng.integers(DOMAIN.size(CLIQUES[i])))) for i in rng.integers(0, 4, 12)]
        values = {cell: float(rng.normal()) for cell in cells}
        costs = rng.exponential(0.3, (3, 12))
        records = list(itertools.product(*map(range, DOMAIN.shape)))
        found.append((values, costs, [max(worth(r, values, c) for r in records) for c in costs]))
    return found


def reached(case, optimiser):
    values, costs, _ = case
    records = best_records(DOMAIN, values, costs, np.random.default_rng(1), optimiser)
    assert records.shape == (3, 4)
    return [worth(r, values, c) for r, c in zip(records, costs, strict=True)]


@pytest.mark.parametrize("tree_cells", [1 << 20, 0])
def test_exact_optima(cases, tree_cells, monkeypatch):
    monkeypatch.setattr(module, "_TREE_CELLS", tree_cells)  # 0: integer programming
    for case in cases:
        np.testing.assert_allclose(reached(case, "exact"), case[2], atol=1e-6)


def test_ascents_mostly_reach_them(cases):
    hit = [
        np.isclose(found, best) for case in cases for found, best in zip(reached(case, "ascent"), case[2], strict=True)
    ]
    assert np.mean(hit) > 0.7


def test_nothing_wanted_and_no_attribute():
    rng = np.random.default_rng(0)
    costs = np.arange(12.0).reshape(1, 12)
    for optimiser in ("ascent", "exact"):
        assert best_records(DOMAIN, {}, costs, rng, optimiser).tolist() == [[0, 0, 0, 0]]
