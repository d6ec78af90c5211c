"""Mechanisms that grow a junction tree round by round, on attributes whose pairs no tree can hold."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pypgm import Budget, Dataset, Domain, Ledger, ModelTooLargeError, Privacy, PrivateTable
from pypgm.mechanisms import aim, jam, mwem, screen

WIDE = Domain({"a": 200_000, "b": 200_000, "c": 2, "d": 3})
RNG = np.random.default_rng(0)
DATA = Dataset({a: RNG.integers(0, n, 500) for a, n in zip(WIDE.attributes, WIDE.shape, strict=True)}, WIDE)
MECHANISMS = {
    "aim": aim,
    "jam": lambda table, public=DATA, **options: jam(table, public=public, **options),
    "mwem": mwem,
    "screen": screen,
}


def opened():
    return PrivateTable(DATA, Privacy(), Ledger(Budget(epsilon=1, delta=1e-9)))


@pytest.mark.parametrize("name", MECHANISMS)
def test_pairs_too_large_for_the_tree_are_left_out(name):
    own = {} if name == "screen" else {"rounds": 2}
    release = MECHANISMS[name](opened(), iterations=3, **own)
    assert all(WIDE.size(m.clique) < 4e10 for m in release.measurements)
    assert release.ledger.spent() > 0


@pytest.mark.parametrize("name", ["aim", "jam", "mwem"])
@pytest.mark.parametrize("options", [{"oracle": "region_graph"}, {"tree_bytes": math.inf}], ids=str)
def test_without_a_limit_they_are_refused_before_anything_is_spent(name, options):
    table = opened()
    with pytest.raises(ModelTooLargeError, match=r"compares \d+ marginals of 4e\+10 cells.*'a', 'b'.*bins wider"):
        MECHANISMS[name](table, **options)
    assert table.ledger.spent() == 0


@pytest.mark.parametrize("name", ["aim", "jam", "mwem"])
def test_attributes_too_large_for_any_model_are_refused_before_anything_is_spent(name):
    domain = Domain({"a": 1 << 40, "c": 2})
    data = Dataset({"a": [0], "c": [1]}, domain)
    table = PrivateTable(data, Privacy(), Ledger(Budget(epsilon=1, delta=1e-9)))
    with pytest.raises(ModelTooLargeError, match="a"):
        MECHANISMS[name](table, **({"public": data} if name == "jam" else {}))
    assert table.ledger.spent() == 0


@pytest.mark.parametrize("name", ["aim", "jam", "mwem"])
def test_no_round_follows_where_the_time_is_over(name):
    assert MECHANISMS[name](opened(), time_limit=1e-9).log == ()
