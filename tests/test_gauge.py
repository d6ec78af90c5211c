"""Levelled potentials: the same distribution, in smaller numbers."""

from __future__ import annotations

import numpy as np
import reference
from hypothesis import given, settings
from hypothesis import strategies as st

from pypgm import CliqueVector, Domain
from pypgm.estimation.gauge import levelled

DOMAIN = Domain({"a": 3, "b": 2, "c": 4})
CLIQUES = [("a", "b"), ("b", "c"), ("a", "b", "c"), ("c",)]


@settings(max_examples=30)
@given(st.integers(0, 2**32 - 1), st.booleans())
def test_levelling_changes_no_joint_assignment(seed, zeros):
    rng = np.random.default_rng(seed)
    size = sum(DOMAIN.size(c) for c in CLIQUES)
    values = rng.normal(size=size) * 200
    if zeros:
        values[rng.random(size) < 0.2] = -np.inf
    before = CliqueVector(DOMAIN, CLIQUES, values)
    found = levelled(before)
    assert found is not None
    after = CliqueVector(DOMAIN, CLIQUES, found)
    np.testing.assert_allclose(reference.log_joint(after), reference.log_joint(before), rtol=1e-12, atol=1e-9)


def test_tables_that_contradict_each_other_come_together():
    cliques = [("a", "b"), ("a", "c")]
    tilt = 1000.0 * np.arange(3.0)
    start = CliqueVector(DOMAIN, cliques)
    start["a", "b"].values[:] += tilt[:, None]
    start["a", "c"].values[:] -= tilt[:, None]
    assert np.abs(levelled(start)).max() < 1e-9


def test_potentials_close_together_stay():
    assert levelled(CliqueVector(DOMAIN, CLIQUES)) is None
    assert levelled(CliqueVector(DOMAIN, [])) is None
