"""Mechanisms that grow a junction tree round by round, on attributes whose pairs no tree can hold."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest

from pypgm import Budget, Dataset, Domain, Ledger, ModelTooLargeError, Privacy, PrivateTable, mechanisms
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
    own = {} if name == "screen" else {"rounds": 2, "tree_bytes": 1e8}
    release = MECHANISMS[name](opened(), iterations=3, **own)
    assert all(WIDE.size(m.clique) < 4e10 for m in release.measurements)
    assert release.ledger.spent() > 0


@pytest.mark.parametrize("name", ["aim", "jam", "mwem"])
def test_what_is_asked_for_and_never_measured_is_told(name):
    """The smaller ones that it holds are measured all the same; what is told is of the domain."""
    told = rf"{name} never measures 1 of 2 marginals of the workload.*, the smallest over a, b, c"
    own = {"rounds": 2, "iterations": 3, "tree_bytes": 1e8}
    with pytest.warns(RuntimeWarning, match=told):
        release = MECHANISMS[name](opened(), workload=[("c", "b", "a"), ("c", "d")], **own)
    assert all(set(m.clique) != set("abc") for m in release.measurements)
    if name == "aim":
        assert {m.clique for m in release.measurements} >= {("a",), ("b",), ("c",), ("d",)}


@pytest.mark.parametrize("name", ["aim", "dualquery", "fem", "hdmm", "jam", "mwem", "screen", "wide"])
def test_a_workload_of_no_attributes_is_refused_before_anything_is_spent(name):
    small = Dataset({"a": [0, 1], "b": [1, 0]}, Domain({"a": 2, "b": 2}))
    table = PrivateTable(small, Privacy(), Ledger(Budget(epsilon=1, delta=1e-9)))
    own = {"public": small} if name == "jam" else {}
    with pytest.raises(ValueError, match="a workload needs a marginal of at least one attribute"):
        getattr(mechanisms, name)(table, workload=[()], **own)
    assert table.ledger.spent() == 0


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
    assert MECHANISMS[name](opened(), time_limit=1e-9, tree_bytes=1e8).log == ()


SMALL = Domain(dict(zip("abcdef", (3, 7, 12, 2, 20, 5), strict=True)))
ROWS = Dataset(
    {
        a: np.minimum(RNG.integers(0, n, 900), RNG.integers(0, n, 900))
        for a, n in zip(SMALL.attributes, SMALL.shape, strict=True)
    },
    SMALL,
)


def small(name, **options):
    table = PrivateTable(ROWS, Privacy(), Ledger(Budget(epsilon=3, delta=1e-9)))
    own = {"aim": {}, "jam": {"public": ROWS}, "mwem": {"rounds": 12}}[name]
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        release = getattr(mechanisms, name)(table, iterations=5, **own, **options)
    return release, [str(w.message) for w in told]


@pytest.mark.parametrize("name", ["aim", "jam", "mwem"])
@pytest.mark.parametrize("limit", np.geomspace(1e3, 1e6, 7))
def test_on_trees_memory_never_ends_the_rounds(name, limit):
    try:
        release, told = small(name, max_bytes=float(limit))
    except ModelTooLargeError:
        assert limit < 1e5
    else:
        assert not any("model it has" in text for text in told)
        assert release.log


@pytest.mark.parametrize("name", ["aim", "jam", "mwem"])
def test_a_region_graph_that_does_not_fit_leaves_the_model_of_before(name):
    """Of attributes that are equal their pair is asked, whose table does not fit."""
    domain = Domain({"a": 30, "b": 30})
    values = np.arange(3000) % 30
    table = PrivateTable(Dataset({"a": values, "b": values}, domain), Privacy(), Ledger(Budget(rho=50)))
    own = {"public": Dataset({"a": values, "b": values[::-1].copy()}, domain)} if name == "jam" else {}
    with pytest.warns(RuntimeWarning, match="ends with the model it has.*GiB"):
        release = getattr(mechanisms, name)(table, oracle="region_graph", max_bytes=15_000, iterations=5, **own)
    assert np.isfinite(release.project("a").values).all()
    assert table.ledger.remaining() > 0
    assert release.measurements[-1].clique == ("a", "b")


def test_where_no_further_marginal_fits_the_rest_stays_unspent():
    release, told = small("mwem", tree_bytes=2500)
    assert len(told) == 1
    assert "ends with" in told[0]
    assert {len(m.clique) for m in release.measurements} == {0, 2}


@pytest.mark.parametrize("name", ["jam", "mwem"])
def test_a_limit_below_every_marginal_is_refused_before_anything_is_spent(name):
    table = PrivateTable(ROWS, Privacy(), Ledger(Budget(epsilon=3, delta=1e-9)))
    with pytest.raises(
        ModelTooLargeError, match=r"none of \d+ marginals in tree_bytes=1 and memory; the smallest is over"
    ):
        MECHANISMS[name](table, tree_bytes=1, **({"public": ROWS} if name == "jam" else {}))
    assert table.ledger.spent() == 0
