"""Workload error: against plain NumPy, between all kinds of sides, and what is refused or marked."""

from __future__ import annotations

import itertools
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pypgm
from pypgm import CliqueVector, Dataset, Domain, Factor, LinearMeasurement, evaluate

DOMAIN = Domain({"a": 3, "b": ["x", "y"], "c": 4})
CLIQUES = [("a", "b"), ("c", "a"), "b", ("c", "b", "a")]


def records(seed, n=50, domain=DOMAIN, weights=None):
    rng = np.random.default_rng(seed)
    return Dataset(
        {a: rng.integers(0, s, n) for a, s in zip(domain.attributes, domain.shape, strict=True)}, domain, weights
    )


@pytest.fixture(scope="module")
def model():
    return pypgm.estimate(DOMAIN, [LinearMeasurement([20, 21, 12], "a"), LinearMeasurement([30, 25], "b")])


def by_hand(metric, left, right):
    left, right = np.ravel(left), np.ravel(right)
    if metric == "tv":
        return 0.5 * np.abs(left / left.sum() - right / right.sum()).sum()
    difference = left - right
    return {
        "l1": np.linalg.norm(difference, 1),
        "l2": np.linalg.norm(difference),
        "rmse": np.sqrt(np.mean(difference**2)),
    }[metric]


@pytest.mark.parametrize("metric", ["tv", "l1", "l2", "rmse"])
def test_is_the_formula_clique_by_clique(model, metric):
    data = records(0)
    found = evaluate(model, data, cliques=CLIQUES, metric=metric)
    wanted = [by_hand(metric, model.project(c).values, data.project(c).values) for c in CLIQUES]
    np.testing.assert_allclose(found.values, wanted, rtol=1e-12)
    assert found.mean == pytest.approx(np.mean(wanted))
    assert found.cliques == (("a", "b"), ("c", "a"), ("b",), ("c", "b", "a"))
    assert found.worst == (found.cliques[int(np.argmax(wanted))], pytest.approx(max(wanted)))
    stacked = [np.concatenate([s.project(c).datavector() for c in CLIQUES]) for s in (model, data)]
    assert found.pooled == pytest.approx(np.mean(wanted) if metric == "tv" else by_hand(metric, *stacked))


def test_every_kind_of_side_gives_the_same_answer(model):
    data = records(1)
    release = pypgm.mechanisms.mst(data, epsilon=5, delta=1e-6)
    tables = [data.project(c) for c in CLIQUES]
    turned = [t.transpose(t.domain.attributes[::-1]) for t in tables]
    vector = CliqueVector.from_factors(DOMAIN, [data.project(("a", "b", "c"))])
    weighted = Dataset(data.columns, DOMAIN, np.ones(len(data)))
    wanted = evaluate(release.model, data, cliques=CLIQUES).values
    for other in (tables, turned, vector, weighted):
        np.testing.assert_allclose(evaluate(release, other, cliques=CLIQUES).values, wanted, rtol=1e-12)
        np.testing.assert_allclose(evaluate(other, release, cliques=CLIQUES).values, wanted, rtol=1e-12)


@given(st.integers(0, 1000), st.sampled_from(["tv", "l1", "l2", "rmse"]))
def test_is_a_distance(seed, metric):
    sides = [records(seed + i, 30 + i) for i in range(3)]
    pairs = list(itertools.combinations(DOMAIN.attributes, 2))
    xy, yx, yz, xz = (
        evaluate(sides[i], sides[j], cliques=pairs, metric=metric).values for i, j in ((0, 1), (1, 0), (1, 2), (0, 2))
    )
    np.testing.assert_array_equal(xy, yx)
    assert (xz <= xy + yz + 1e-12).all()
    assert evaluate(sides[0], sides[0], cliques=pairs, metric=metric).mean == 0
    assert metric != "tv" or xy.max() <= 1


def test_many_cliques_go_through_a_bounded_buffer(model, monkeypatch):
    data = records(2)
    wanted = evaluate(model, data, cliques=CLIQUES).values
    # The package's attribute of that name is the function.
    monkeypatch.setattr(sys.modules["pypgm.evaluation"], "_CELLS_AT_ONCE", 7)
    np.testing.assert_array_equal(evaluate(model, data, cliques=CLIQUES).values, wanted)


def test_real_records_mark_the_result(model):
    data = records(0)
    marked = evaluate(model, unsafe_data=data, cliques=CLIQUES)
    assert marked.not_private
    assert "not private" in str(marked)
    assert "not private" in repr(marked)
    safe = evaluate(model, data, cliques=CLIQUES)
    assert safe.not_private == ""
    assert "not private" not in str(safe)
    np.testing.assert_array_equal(marked.values, safe.values)


def test_a_release_drawn_from_a_seed_marks_the_result(model):
    release = pypgm.mechanisms.mst(records(0), epsilon=1, delta=1e-6, unsafe_seed=1)
    for sides in ((release, model), (model, release.model)):
        assert evaluate(*sides, cliques=CLIQUES).not_private == release.ledger.not_private != ""


def test_a_result_does_not_change(model):
    found = evaluate(model, model, cliques=CLIQUES)
    with pytest.raises(AttributeError):
        found.metric = "l1"
    with pytest.raises(ValueError, match="read-only"):
        found.values[0] = 1


OTHER = Domain({"a": 4, "b": ["x", "y"], "c": 4})
RENAMED = Domain({"a": 3, "b": ["x", "z"], "c": 4})


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"b": None}, ValueError, "exactly one of b and unsafe_data, got none"),
        ({"unsafe_data": records(0)}, ValueError, "exactly one of b and unsafe_data, got b and unsafe_data"),
        ({"metric": "kl"}, ValueError, "metric must be one of"),
        ({"cliques": "ab"}, TypeError, "sequence of cliques"),
        ({"cliques": []}, ValueError, "at least one clique"),
        ({"cliques": [("a", "z")]}, ValueError, "unknown attribute 'z'"),
        ({"cliques": [("a", "a")]}, ValueError, "more than once"),
        ({"b": 3.0}, TypeError, "b must be a model"),
        ({"b": None, "unsafe_data": "adult.csv"}, TypeError, "unsafe_data must be a model"),
        ({"b": records(0, domain=OTHER)}, ValueError, "'a' has 3 values on one side, 4"),
        ({"b": records(0, domain=RENAMED)}, ValueError, "'b' has labels x, y on one side, x, z"),
        ({"b": [Factor(DOMAIN.project("a"), [1, 2, 3])]}, ValueError, "a table for each of 4 cliques, got 1"),
        (
            {"b": [Factor(DOMAIN.project("a"), [1, 2, 3])], "cliques": ["b"]},
            ValueError,
            r"clique \('b',\) needs a table",
        ),
        ({"b": [Factor(DOMAIN.project("a"), [0, 0, 0])], "cliques": ["a"]}, ValueError, "records on both sides"),
        ({"b": CliqueVector(DOMAIN, ["a"])}, ValueError, "no clique holds"),
    ],
)
def test_refusals(model, change, error, message):
    options = {"a": model, "b": records(0), "cliques": CLIQUES, **change}
    with pytest.raises(error, match=message):
        evaluate(options.pop("a"), **options)
