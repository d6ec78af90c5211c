"""Levelled potentials: the same distribution, in smaller numbers."""

from __future__ import annotations

import numpy as np
import pytest
import reference
from hypothesis import given, settings
from hypothesis import strategies as st

from pypgm import CliqueVector, Domain, JunctionTree, _core

DOMAIN = Domain({"a": 3, "b": 2, "c": 4, "d": 2})
FILLED = [("a", "b"), ("b", "c"), ("b",), ("c", "d"), ("c", "d")]
CYCLE = [("a", "b"), ("b", "c"), ("c", "d"), ("a", "d"), ("c",)]


def levelled(vector: CliqueVector) -> CliqueVector:
    return vector.like(_core.levelled(JunctionTree(vector.domain, vector.cliques).plan, vector.values))


@pytest.mark.parametrize("cliques", [FILLED, CYCLE])
@settings(max_examples=30)
@given(st.integers(0, 2**32 - 1), st.booleans())
def test_levelling_changes_no_ratio_of_joint_assignments(cliques, seed, zeros):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=sum(DOMAIN.size(c) for c in cliques)) * 60
    if zeros:
        values[rng.random(values.size) < 0.2] = -np.inf
    before = CliqueVector(DOMAIN, cliques, values)
    one, two = (reference.log_joint(v) for v in (before, levelled(before)))
    np.testing.assert_array_equal(np.isneginf(one), np.isneginf(two))
    if np.isfinite(one).any():
        one, two = (j[np.isfinite(j)] for j in (one, two))
        np.testing.assert_allclose(two - two.max(), one - one.max(), rtol=1e-12, atol=1e-9)


def test_tables_that_contradict_each_other_come_together():
    # No clique of the tree is one of the given: the cycle needs a chord.
    tilt = 1000.0 * np.arange(3.0)
    start = CliqueVector(DOMAIN, CYCLE)
    start["a", "b"].values[:] += tilt[:, None]
    start["a", "d"].values[:] -= tilt[:, None]
    assert np.abs(levelled(start).values).max() < 1e-9


def test_potentials_close_together_stay():
    start = CliqueVector(DOMAIN, FILLED, np.random.default_rng(1).normal(size=sum(DOMAIN.size(c) for c in FILLED)))
    np.testing.assert_array_equal(levelled(start).values, start.values)
    assert levelled(CliqueVector(DOMAIN, [])).values.size == 0


def test_levelling_needs_a_number_for_every_cell():
    with pytest.raises(ValueError, match="potentials"):
        _core.levelled(JunctionTree(DOMAIN, FILLED).plan, np.zeros(3))
