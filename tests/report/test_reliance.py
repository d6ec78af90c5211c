"""What a page says to rely on: pairs by what was counted and is related, combinations that hardly occur."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import pypgm
from pypgm import Dataset, Domain, LinearMeasurement
from pypgm.reporting.facts import Facts
from pypgm.reporting.quality import rounded
from pypgm.reporting.reliance import more, reliance_of
from pypgm.reporting.sentences import advice_of

N = 4000


def release_of(data, cliques, stddev=2.0):
    release = pypgm.mechanisms.mst(data, epsilon=100, delta=1e-9, unsafe_seed=0)
    answers = [LinearMeasurement(data.project(c).values.ravel(), c, stddev=stddev) for c in cliques]
    object.__setattr__(release, "model", pypgm.estimate(data.domain, answers, N))
    return release


@pytest.mark.parametrize("seed", range(4))
def test_each_pair_is_listed_as_what_it_is(seed):
    """Pairs counted are counted ones; of the others, those that are independent in the model are the unrelated."""
    rng = np.random.default_rng(seed)
    domain = Domain({a: int(rng.integers(2, 4)) for a in "abcde"})
    columns = {a: rng.integers(0, domain.size(a), N) for a in domain}
    columns["b"] = np.where(rng.random(N) < 0.9, columns["a"] % domain.size("b"), columns["b"])
    columns["c"] = np.where(rng.random(N) < 0.9, columns["b"] % domain.size("c"), columns["c"])
    cliques = [("a", "b"), ("b", "c"), ("d",), ("e",)]
    facts = Facts(release_of(Dataset(columns, domain), cliques))
    found = reliance_of(facts)
    assert {text.split(" (")[0] for text in found.counted} == {"a and b", "b and c"}
    pairs = set(itertools.combinations("abcde", 2))
    table = facts.release.model.project(("a", "c")).values / N
    related = np.abs(table - table.sum(1, keepdims=True) * table.sum(0, keepdims=True)).sum() / 2 >= 0.01
    assert found.implied == (("a and c",) if related else ())
    assert found.n_unrelated == len(pairs) - 2 - len(found.implied)
    assert more(found.n_unrelated, found.unrelated) == f" and {found.n_unrelated - 5} more pairs"


def test_of_counted_pairs_only_clearly_related_ones_are_recommended():
    rng = np.random.default_rng(1)
    a, c = rng.integers(0, 3, (2, N))
    b = np.where(rng.random(N) < 0.7, a, rng.integers(0, 3, N))
    data = Dataset({"a": a, "b": b, "c": c}, Domain(dict.fromkeys("abc", 3)))
    facts = Facts(release_of(data, [("a", "b"), ("b", "c")], stddev=40.0))
    found = reliance_of(facts)
    uses = advice_of(facts).uses
    assert [text.split(" (")[0] for text in found.counted] == ["a and b"]
    assert found.unclear == ("b and c",)
    assert [("a and b" in text, "b and c" in text) for text in uses[-2:]] == [(True, False), (False, True)]
    points = facts.quality.of("pairs")
    parts = facts.quality.means_by_basis()
    counted = np.mean([points["a", "b"], points["b", "c"]])
    assert parts.startswith(f"{rounded(counted)} where")
    assert f", {rounded(points['a', 'c'])} where" in parts


def test_combinations_that_do_not_occur_are_named():
    rng = np.random.default_rng(0)
    age, ward = rng.integers(0, 4, N), rng.integers(0, 3, N)
    ward = np.where((age == 0) & (ward == 2), 0, ward)
    domain = Domain(["age", "ward"], [4, 3], {"ward": ("a", "b", "maternity")})
    found = reliance_of(Facts(release_of(Dataset({"age": age, "ward": ward}, domain), [("age", "ward")])))
    assert found.hardly == ("age 0 with ward maternity",)


def test_where_no_error_is_known_nothing_is_said():
    data = Dataset({"a": [0, 1] * 50, "b": [0, 0, 1, 1] * 25}, Domain({"a": 2, "b": 2}))
    learnt = pypgm.bayes.learn_private(data, {"a": (), "b": ("a",)}, epsilon=1, unsafe_seed=0)
    assert reliance_of(Facts(learnt)).counted == ()
