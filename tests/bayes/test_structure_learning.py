"""Structures learned from records, beside all structures of small domains by brute force."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from functools import cache

import networkx as nx
import numpy as np
import pytest

from pypgm import Dataset, Domain
from pypgm.bayes import BayesianNetwork, fit_score, learn, learn_structure
from pypgm.bayes.family_scores import FamilyScores, members
from pypgm.errors import ModelTooLargeError

SCORES = ["bdeu", "bic", "aic", "k2"]


def records_of(seed, n=4, rows=60):
    """Return records of a random network of attributes of 2 or 3 values."""
    rng = np.random.default_rng(seed)
    domain = Domain([*"abcdefgh"[:n]], rng.integers(2, 4, n).tolist())
    parents = {a: [b for b in domain.attributes[:i] if rng.random() < 0.5][:2] for i, a in enumerate(domain)}
    tables = {a: rng.dirichlet(np.full(domain.size(a), 0.4), domain.sizes(p)) for a, p in parents.items()}
    return BayesianNetwork(domain, parents, tables).sample(rows, rng)


@cache
def structures_of(names):
    """Return the parents of every acyclic structure."""
    choices = [
        [c for k in range(len(names)) for c in itertools.combinations([b for b in names if b != a], k)] for a in names
    ]
    found = [dict(zip(names, parents, strict=True)) for parents in itertools.product(*choices)]
    graphs = [nx.DiGraph([(p, a) for a, of in parents.items() for p in of]) for parents in found]
    return [parents for parents, graph in zip(found, graphs, strict=True) if nx.is_directed_acyclic_graph(graph)]


def structures(domain):
    return structures_of(domain.attributes)


def scored(data, score, strength=1.0):
    """Return a function that scores parents, by `FamilyScores`, which other tests compare with `fit_score`."""
    domain = data.domain
    scores = FamilyScores(domain, data.columns, score, strength)
    return lambda parents: scores.total([sum(1 << domain.index(p) for p in parents[a]) for a in domain])


def by_definition(data, parents, score, strength):
    """Return a score record by record: priors predict each from those before it, penalties count parameters."""
    total, n = 0.0, len(data)
    for a, given in parents.items():
        size, q = data.domain.size(a), data.domain.size(tuple(given))
        rows = list(zip(*(data.columns[p].tolist() for p in given), strict=True)) or [()] * n
        seen, last = Counter(), Counter(zip(rows, data.columns[a].tolist(), strict=True))
        alpha = {"bdeu": strength / (q * size), "k2": strength}.get(score, 0.0)
        for row, value in zip(rows, data.columns[a].tolist(), strict=True):
            if alpha:
                total += math.log((seen[row, value] + alpha) / (seen[row] + alpha * size))
            else:
                total += math.log(last[row, value] / sum(last[row, v] for v in range(size)))
            seen[row, value] += 1
            seen[row] += 1
        total -= {"bic": math.log(n) / 2, "aic": 1.0}.get(score, 0.0) * q * (size - 1)
    return total


@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("rows", [1, 9, 200])
def test_scores_are_those_of_their_definitions(score, rows):
    rng = np.random.default_rng(rows)
    for seed in range(4):
        data = records_of(seed, 5, rows)
        parents = {a: [b for b in data.domain.attributes[:i] if rng.random() < 0.7] for i, a in enumerate(data.domain)}
        expected = by_definition(data, parents, score, 2.0)
        assert scored(data, score, 2.0)(parents) == pytest.approx(expected, rel=1e-9)
        assert fit_score(learn(data, parents), data, score, strength=2.0) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("score", SCORES)
def test_large_tables_are_scored_by_the_rows_that_occur(score):
    rng = np.random.default_rng(0)
    domain = Domain({"a": 60, "b": 60, "c": 60, "d": 3})
    data = Dataset({a: rng.integers(0, domain.size(a), 50) for a in domain}, domain)
    parents = {"a": (), "b": (), "c": (), "d": ("a", "b")}
    assert scored(data, score)(parents) == pytest.approx(by_definition(data, parents, score, 1.0), rel=1e-9)


@pytest.mark.parametrize("score", SCORES)
def test_scores_depend_on_the_values_that_occur_and_not_on_their_codes(score):
    rng = np.random.default_rng(1)
    codes = {a: rng.integers(0, 40, 30) for a in "abc"}
    huge = Domain(dict.fromkeys("abc", 1 << 40))
    far = {a: (1 << 40) - 1 - column for a, column in codes.items()}
    near, away = (FamilyScores(huge, columns, score, 1.0) for columns in (codes, far))
    for parents in range(0, 8, 2):
        assert near.of(0, [parents]) == pytest.approx(away.of(0, [parents]), rel=1e-12)
        assert near.most_with_more(0, parents) == away.most_with_more(0, parents)


@pytest.mark.parametrize("score", SCORES)
def test_exact_search_finds_the_best_of_all_structures(score):
    for seed in range(5):
        data = records_of(seed)
        total = scored(data, score)
        best = max(map(total, structures(data.domain)))
        found = learn_structure(data, "exact", score=score)
        assert found.score == pytest.approx(best) == pytest.approx(total(found))


@pytest.mark.parametrize("score", SCORES)
def test_limits_hold_and_exact_search_is_the_best_within_them(score):
    for seed in range(4):
        data = records_of(seed)
        a, b, c, d = data.domain
        options = {"max_parents": 2, "required": [(c, b)], "forbidden": [(b, d), (a, d)], "tiers": [[a, c], [b]]}

        def fits(p, a=a, b=b, c=c, d=d):
            few = max(map(len, p.values())) <= 2 and c in p[b] and b not in p[d] and a not in p[d]
            return few and b not in p[a] and b not in p[c]

        best = max(map(scored(data, score), filter(fits, structures(data.domain))))
        assert learn_structure(data, "exact", score=score, **options).score == pytest.approx(best)
        climbed = learn_structure(data, score=score, **options)
        assert fits(climbed)
        assert climbed.score <= best + 1e-9


def test_climbing_mostly_reaches_the_best_score():
    gaps = []
    for seed in range(12):
        data = records_of(seed, 6, 200)
        best, found = (learn_structure(data, method).score for method in ("exact", "hill_climbing"))
        gaps.append(best - found)
    assert min(gaps) > -1e-9
    assert sum(gap < 1e-9 for gap in gaps) >= 10


@pytest.mark.parametrize("score", ["bdeu", "bic", "aic"])
def test_trees_are_the_best_of_all_forests(score):
    for seed in range(5):
        data = records_of(seed)
        total, (target, *_) = scored(data, score), data.domain
        forests = [p for p in structures(data.domain) if max(map(len, p.values())) <= 1]
        assert learn_structure(data, "tree", score=score).score == pytest.approx(max(map(total, forests)))
        tans = [
            p
            for p in structures(data.domain)
            if all((target in p[a]) == (a != target) and len(p[a]) <= 2 for a in data.domain)
        ]
        best = max(map(total, filter(lambda p, t=target: not p[t], tans)))
        assert learn_structure(data, "tan", score=score, target=target).score == pytest.approx(best)
        naive = learn_structure(data, "naive", score=score, target=target)
        assert dict(naive) == {a: () if a == target else (target,) for a in data.domain}


def test_the_bound_holds_for_all_further_parents():
    for seed, score in itertools.product(range(4), SCORES):
        data = records_of(seed, 5, 40)
        scores = FamilyScores(data.domain, data.columns, score, 1.0)
        sets = [p for p in range(1 << 5) if not p & 1]
        for few, more in itertools.product(sets, sets):
            if few & ~more == 0:
                assert scores.of(0, [more])[0] <= scores.most_with_more(0, few) + 1e-9


def test_the_structure_of_many_records_is_found_up_to_equivalence():
    domain = Domain({"a": 2, "b": 2, "c": 2, "d": 2})
    tables = {"a": [0.4, 0.6], "b": [0.7, 0.3], "c": [[[0.9, 0.1], [0.6, 0.4]], [[0.5, 0.5], [0.1, 0.9]]]}
    net = BayesianNetwork(domain, [("a", "c"), ("b", "c"), ("c", "d")], tables | {"d": [[0.8, 0.2], [0.1, 0.9]]})
    data = net.sample(5000, 0)
    for method in ("hill_climbing", "exact"):
        assert set(learn_structure(data, method).arcs) == {("a", "c"), ("b", "c"), ("c", "d")}
    strengths = learn_structure(data, bootstrap=10).strengths
    assert strengths["a", "c"] == strengths["c", "d"] == pytest.approx(1)
    assert sum(strengths.values()) < 4
    frame = {a: np.where(np.random.default_rng(1).random(5000) < 0.1, None, data.columns[a]) for a in domain}
    holed = learn_structure(frame, domain=domain)
    assert set(holed.arcs) == {("a", "c"), ("b", "c"), ("c", "d")}
    assert learn(frame, holed, domain=domain).parents["c"] == ("a", "b")


def test_frames_of_labels_are_learned_from_as_records_are():
    pytest.importorskip("pandas")
    data = records_of(3, 5)
    frame = {a: [f"v{code}" for code in data.columns[a].tolist()] for a in data.domain}
    assert dict(learn_structure(frame)) == dict(learn_structure(data)) == dict(learn_structure(data.to_frame()))


def test_members_are_the_bits():
    for parents in range(64):
        assert sum(1 << p for p in members(parents)) == parents


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "pc"}, "method"),
        ({"score": "mdl"}, "score"),
        ({"method": "naive"}, "needs a target"),
        ({"target": "a"}, "takes no target"),
        ({"method": "tree", "score": "k2"}, "directions"),
        ({"method": "tree", "forbidden": [("a", "b")]}, "takes no required"),
        ({"required": [("a", "b")], "tiers": ["b", "a"]}, "against the tiers"),
        ({"required": [("a", "b"), ("b", "a")]}, "circle"),
        ({"required": [("a", "b")], "max_parents": 0}, "max_parents"),
        ({"tiers": ["a", "a"]}, "two tiers"),
        *(({"strength": strength}, "strength") for strength in (0, 1e-320, 1e17, 1e308)),
        ({"forbidden": [("a", "z")]}, "z"),
    ],
)
def test_unsuitable_options_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        learn_structure({"a": [0, 1], "b": [1, 1]}, domain=Domain({"a": 2, "b": 2}), **options)


@pytest.mark.parametrize(
    "options",
    [
        *(
            {name: given}
            for name in ("required", "forbidden")
            for given in (5, ["ab"], [5], [("a",)], [("a", "b", "a")])
        ),
        {"tiers": 5},
        {"tiers": [5]},
    ],
)
def test_what_is_no_arc_or_tier_is_refused(options):
    with pytest.raises(TypeError, match=r"pair|parents or arcs|need"):
        learn_structure({"a": [0, 1], "b": [1, 1]}, domain=Domain({"a": 2, "b": 2}), **options)


@pytest.mark.parametrize("empty", [(), [], np.empty((0, 2), dtype=str)])
def test_limits_may_be_arrays_also_where_they_must_be_empty(empty):
    data = {"a": ["x", "y"] * 9, "b": ["x", "y"] * 9}
    assert learn_structure(data, "tree", forbidden=empty).arcs == [("a", "b")]
    with pytest.raises(ValueError, match="takes no required"):
        learn_structure(data, "tree", forbidden=np.array([["a", "b"], ["b", "a"]]))


def test_unsuitable_records_are_refused():
    domain = Domain({"a": 2, "b": 2})
    for data in ({"a": [0]}, {"a": [], "b": []}, Dataset({"a": [0], "b": [0]}, domain, weights=[2.0])):
        with pytest.raises(ValueError, match=r"column|record"):
            learn_structure(data, domain=domain)
    wide = Domain([f"x{i}" for i in range(21)], [2] * 21)
    with pytest.raises(ModelTooLargeError, match=r"'b' has 1e\+90 values"):
        learn_structure(Dataset({"a": [0, 1], "b": [0, 1]}, Domain({"a": 2, "b": 10**90})))
    with pytest.raises(ModelTooLargeError, match="hill_climbing"):
        learn_structure({a: [0, 1] for a in wide}, "exact", domain=wide)
