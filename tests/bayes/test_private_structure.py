"""Structures chosen from private records: scores and their sensitivities, sets of parents, PrivBayes."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import networkx as nx
import numpy as np
import pytest

import pypgm
from pypgm import Budget, Dataset, Domain, Ledger, LinearMeasurement, Privacy, PrivateTable
from pypgm.bayes import BayesianNetwork, CountedNetwork, PrivateStructure, learn, learn_private
from pypgm.bayes.private_structure import chance, dependence, largest_change, parent_sets, select_parents
from pypgm.mechanisms import privbayes

HUGE = 10**5
UNIT = {"R": 256, "F": 2, "MI": 256}


def tables(total, cells):
    """Yield all counts of so many records in so many cells."""
    for bars in itertools.combinations(range(total + cells - 1), cells - 1):
        edges = (-1, *bars, total + cells - 1)
        yield tuple(b - a - 1 for a, b in itertools.pairwise(edges))


def by_definition(score, counts):
    n = counts.sum()
    p = counts / n
    independent = p.sum(axis=1, keepdims=True) * p.sum(axis=0, keepdims=True)
    if score == "R":
        return n * np.abs(p - independent).sum() / 2
    if score == "MI":
        some = p > 0
        return n * (p[some] * np.log2(p[some] / independent[some])).sum()
    choices = itertools.product([0, 1], repeat=len(p))
    sums = [(p[[c == 0 for c in given], 0].sum(), p[[c == 1 for c in given], 1].sum()) for given in choices]
    return -n * min(max(0.5 - zero, 0) + max(0.5 - one, 0) for zero, one in sums)


@pytest.mark.parametrize("score", ["R", "F", "MI"])
def test_scores_are_those_of_their_definitions(score):
    rng = np.random.default_rng(2)
    for _ in range(60):
        counts = rng.multinomial(rng.integers(1, 200), rng.dirichlet(np.full(8, 0.4))).reshape(4, 2)
        rounding = 1 / UNIT[score] if score != "F" else 1e-9
        assert dependence(score, counts) / UNIT[score] == pytest.approx(by_definition(score, counts), abs=rounding)
    assert dependence(score, np.zeros((4, 2), dtype=np.int64)) == 0


def test_scores_of_very_many_records_are_exact():
    large = np.array([[2**40, 0], [0, 2**40]])
    assert dependence("R", large) == 256 * 2**40
    assert dependence("MI", large) == 256 * 2**41


@pytest.mark.parametrize("shape", [(2, 2), (3, 3), (4, 2)], ids=str)
@pytest.mark.parametrize(
    ("score", "neighbours"),
    [("R", "add-remove"), ("R", "replace"), ("F", "add-remove"), ("F", "replace"), ("MI", "replace")],
)
def test_no_record_changes_a_score_by_more_than_is_said(score, neighbours, shape):
    if score == "F" and shape[1] != 2:
        pytest.skip("F is for binary attributes")
    cells = math.prod(shape)
    for n in range(7 if cells == 4 else 4):
        bound = largest_change(score, neighbours, n, binary=shape[1] == 2)
        scores = {c: dependence(score, np.array(c).reshape(shape)) for m in (n, n + 1) for c in tables(m, cells)}
        for counts in tables(n, cells):
            plus = [tuple(c + (i == j) for i, c in enumerate(counts)) for j in range(cells)]
            if neighbours == "add-remove":
                others = plus
            else:
                moved = [(np.array(p), i) for p in plus for i in range(cells) if p[i] > 0]
                others = [tuple(p - (np.arange(cells) == i)) for p, i in moved]
            assert max(abs(scores[o] - scores[counts]) for o in others) <= bound


@pytest.mark.parametrize(("binary", "shape"), [(True, (2, 2)), (False, (3, 3))])
def test_the_bound_of_mutual_information_is_reached(binary, shape):
    n = 5
    cells = math.prod(shape)
    scores = {c: dependence("MI", np.array(c).reshape(shape)) for c in tables(n, cells)}
    largest = 0
    for counts, i, j in itertools.product(scores, range(cells), range(cells)):
        if counts[i]:
            moved = np.array(counts) - (np.arange(cells) == i) + (np.arange(cells) == j)
            largest = max(largest, abs(scores[tuple(moved)] - scores[counts]))
    assert largest == pytest.approx(largest_change("MI", "replace", n, binary=binary), rel=0.005)


def test_a_replaced_record_changes_a_distance_by_more_than_one_that_comes():
    counts = np.array([[85, 0, 0, 279], [0, 0, 0, 14], [0, 8, 3, 6], [5, 0, 0, 0]])  # found by a search
    moved = counts.copy()
    moved[2, 2], moved[1, 0] = 2, 1
    change = abs(dependence("R", moved) - dependence("R", counts))
    assert 2.6 * UNIT["R"] < change <= largest_change("R", "replace", 400, binary=False)


@pytest.mark.parametrize("shape", [(2, 2, 2), (2, 3, 4), (3, 2, 2), (3, 3, 2)], ids=str)
@pytest.mark.parametrize("score", ["R", "MI"])
def test_the_bound_of_a_choice_is_that_of_its_widest_attribute(score, shape):
    rng = np.random.default_rng(0)
    data = Dataset(
        {a: rng.integers(n, size=30) for a, n in zip("abc", shape, strict=True)}, Domain(tuple("abc"), shape)
    )
    table = opened(data, privacy=Privacy("replace", records_per_person=2))
    select_parents(table, PrivateStructure(score))
    change = 2 * largest_change(score, "replace", 30, binary=set(shape) == {2})
    assert {line.parameters["score_range"] for line in table.ledger.lines} == {2 * change}


def test_parent_sets_are_the_largest_that_fit():
    rng = np.random.default_rng(0)
    for _ in range(20):
        domain = Domain({a: int(s) for a, s in zip("abcdef", rng.integers(1, 6, 6), strict=True)})
        cells, most = int(rng.integers(1, 100)), int(rng.integers(0, 5))
        fit = [set(s) for k in range(most + 1) for s in itertools.combinations(domain, k) if domain.size(s) <= cells]
        largest = [s for s in fit if not any(s < other for other in fit)]
        found = [set(s) for s in parent_sets(domain, domain.attributes, cells, most)]
        assert sorted(map(sorted, found)) == sorted(map(sorted, largest))
        every = [set(s) for s in parent_sets(domain, domain.attributes, cells, most, every=True)]
        assert sorted(map(sorted, every)) == sorted(map(sorted, fit))


def chain(n=4000, size=3, names="abcdef", keep=0.7, seed=0):
    rng = np.random.default_rng(seed)
    columns, x = {}, rng.integers(0, size, n)
    for a in names:
        x = np.where(rng.random(n) < keep, x, rng.integers(0, size, n))
        columns[a] = x
    return Dataset(columns, Domain(dict.fromkeys(names, size)))


def opened(data, budget=None, privacy=None, seed=None):
    return PrivateTable(data, privacy or Privacy(), Ledger(budget or Budget(epsilon=HUGE)), unsafe_seed=seed)


@pytest.mark.parametrize(("score", "size"), [("R", 3), ("F", 2), ("MI", 3)])
def test_with_a_huge_budget_a_tree_is_found_again(score, size):
    table = opened(chain(size=size), privacy=Privacy("replace"))
    parents, measured = select_parents(table, PrivateStructure(score, max_parents=1))
    assert {frozenset((a, *own)) for a, own in parents.items() if own} == set(
        map(frozenset, itertools.pairwise("abcdef"))
    )
    assert measured == []  # the number of records is public


@pytest.mark.parametrize(("score", "neighbours"), [("R", "add-remove"), ("R", "replace"), ("MI", "replace")])
def test_with_a_huge_budget_and_a_penalty_no_arc_is_too_many(score, neighbours):
    for keep, arcs in ((0.7, set(map(frozenset, itertools.pairwise("abcdef")))), (0, set())):
        for usefulness in (None, 4):
            table = opened(chain(keep=keep), privacy=Privacy(neighbours))
            how = PrivateStructure(score, usefulness=usefulness, penalty=2)
            parents, measured = select_parents(table, how)
            assert {frozenset((a, p)) for a, own in parents.items() for p in own} == arcs
            assert len(measured) == (neighbours == "add-remove")  # the penalty is one for their number


def test_a_penalty_is_what_independent_attributes_seem_to_depend_on_each_other():
    rng = np.random.default_rng(0)
    for shape in ((2, 2), (3, 4), (8, 2)):
        cells = rng.multinomial(2000, np.full(math.prod(shape), 1 / math.prod(shape)), size=2000)
        seen = np.mean([dependence("R", own.reshape(shape)) for own in cells])
        assert chance("R", 2000, shape) == pytest.approx(seen, rel=0.03)
    assert chance("MI", 1024, (3, 4)) == 256 * 10 * 6 / 2  # of the BIC
    assert chance("R", -5, (2, 2)) == chance("R", 1, (2, 2)) > 0  # a noisy number may be negative


def test_the_tree_is_one_of_largest_dependence():
    data = chain(keep=0.3, n=300)
    parents, _ = select_parents(opened(data), PrivateStructure(max_parents=1))
    graph = nx.Graph()
    for a, b in itertools.combinations(data.domain, 2):
        graph.add_edge(a, b, weight=by_definition("R", data.project((a, b)).values))
    best = nx.maximum_spanning_tree(graph).size("weight")
    assert sum(graph[a][own[0]]["weight"] for a, own in parents.items() if own) == pytest.approx(best, abs=0.1)


def test_the_choice_costs_its_share_and_counts_the_records_where_they_are_private():
    data = chain()
    table = opened(data, Budget(epsilon=1))
    _, measured = select_parents(table, PrivateStructure())
    lines = table.ledger.lines
    assert [m.clique for m in measured] == [()]
    assert float(lines[0].cost) == pytest.approx(0.3 / 20)
    np.testing.assert_allclose([float(line.cost) for line in lines[1:]], 0.3 * 19 / 20 / 5, rtol=1e-6)
    assert table.ledger.spent() <= Fraction(3, 10)
    without = opened(data, Budget(rho=1))
    select_parents(without, PrivateStructure(usefulness=None, share="1/2"))
    assert len(without.ledger.lines) == 5
    assert float(without.ledger.spent()) == pytest.approx(0.5, rel=1e-6)


@pytest.mark.parametrize("budget", [Budget(epsilon=1), Budget(rho="1/2")], ids=["pure", "rho"])
def test_tables_are_as_large_as_is_useful(budget):
    data, sizes = chain(), []
    for usefulness in ("1/10", 4, 40, 10**6):
        parents, _ = select_parents(opened(data, budget), PrivateStructure(usefulness=usefulness, max_parents=5))
        sizes.append(max(len(own) for own in parents.values()))
    assert sizes[0] > sizes[2] >= sizes[3] == 0
    assert sizes == sorted(sizes, reverse=True)


def test_a_limit_of_candidates_lowers_the_number_of_parents():
    data = chain()
    most = [
        max(len(own) for own in select_parents(opened(data), PrivateStructure(max_candidates=m))[0].values())
        for m in (10_000, 20, 1)
    ]
    assert most[0] == 3 > most[1] >= most[2] == 1


def test_nothing_to_choose_spends_nothing():
    for data, how in ((chain(names="a"), PrivateStructure()), (chain(), PrivateStructure(max_parents=0))):
        table = opened(data)
        parents, measured = select_parents(table, how)
        assert set(parents.values()) == {()}
        assert measured == []
        assert table.ledger.spent() == 0


@pytest.mark.parametrize("empty", [True, False])
def test_few_records_have_no_parents_that_are_useful(empty):
    none = Dataset({a: [0] * (not empty) for a in "abc"}, Domain(dict.fromkeys("abc", 2)))
    release = learn_private(none, PrivateStructure(usefulness=1000), 1)
    assert set(release.model.parents.values()) == {()}
    assert learn_private(none, PrivateStructure(score="MI"), 1, neighbours="replace").model.total == len(none)


REFUSED = {
    "score": ({"score": "chi2"}, "score must be one of"),
    "share 0": ({"share": 0}, "share"),
    "share 1": ({"share": 1}, "share"),
    "usefulness": ({"usefulness": 0}, "usefulness"),
    "max_parents": ({"max_parents": -1}, "max_parents"),
    "penalty": ({"penalty": -1}, "penalty must be at least 0"),
    "penalty of F": ({"score": "F", "penalty": 1}, "takes no penalty"),
    "half a parent": ({"max_parents": 1.5}, "max_parents"),
    "max_candidates": ({"max_candidates": 0}, "max_candidates"),
}


@pytest.mark.parametrize(("options", "match"), REFUSED.values(), ids=REFUSED)
def test_refused_options(options, match):
    with pytest.raises(ValueError, match=match):
        PrivateStructure(**options)


@pytest.mark.parametrize("learner", [learn_private, lambda d, s, e, **o: privbayes(d, e, structure=s, **o)])
def test_scores_for_others_are_refused_before_anything_is_spent(monkeypatch, learner):
    monkeypatch.setattr(pypgm.Ledger, "charge", lambda *_: pytest.fail("something was charged"))
    with pytest.raises(ValueError, match="needs neighbours='replace'"):
        learner(chain(), PrivateStructure("MI"), 1)
    with pytest.raises(ValueError, match="'a' has 3 values"):
        learner(chain(), PrivateStructure("F"), 1)
    with pytest.raises(ValueError, match="at least one attribute"):
        learner(Dataset({}, Domain({})), PrivateStructure(), 1)


def test_what_depends_on_a_structure_is_refused_where_it_is_chosen(monkeypatch):
    monkeypatch.setattr(pypgm.Ledger, "charge", lambda *_: pytest.fail("something was charged"))
    with pytest.raises(ValueError, match="covary"):
        learn_private(chain(), PrivateStructure(), 1, allocation="data-dependent", sensitivity="covary")


@pytest.mark.parametrize("options", [{}, {"paper": True}, {"delta": 1e-6, "noise": "gaussian"}], ids=str)
def test_a_network_of_a_chosen_structure_is_learned_with_the_rest(options):
    release = learn_private(chain(), PrivateStructure(max_parents=2), 3, **options)
    limit = release.ledger.budget.limit
    assert release.ledger.spent() <= limit
    assert float(release.ledger.spent()) == pytest.approx(float(limit), rel=1e-5)
    left = 0.7 * (0.9 if "paper" in options else 1)  # the number of records was measured where it was chosen
    assert float(sum(release.allocation.values())) == pytest.approx(left * float(limit), rel=1e-4)
    assert release.table_error("c").domain.attributes == (*release.model.parents["c"], "c")
    assert max(map(len, release.model.parents.values())) == 2


def test_with_a_huge_budget_privbayes_gives_the_conditional_tables_of_its_structure():
    data = chain()
    release = privbayes(data, HUGE, estimator="tables", structure=PrivateStructure(max_parents=2))
    assert isinstance(release.model, CountedNetwork)
    best = learn(data, release.model)
    for a in data.domain:
        np.testing.assert_allclose(release.model.tables[a].values, best.tables[a].values, atol=1e-3)
    assert release.model.total == pytest.approx(len(data), abs=1)


def test_no_table_that_is_part_of_another_is_measured():
    release = privbayes(chain(), 5, structure=PrivateStructure(max_parents=2))
    total, *cliques = [m.clique for m in release.measurements]
    assert total == ()
    assert len(cliques) == 4  # of six attributes: the first two tables are part of the third one's
    assert not any(set(a) < set(b) for a, b in itertools.permutations(cliques, 2))
    assert {m.noise for m in release.measurements} == {"laplace"}
    assert {m.noise for m in privbayes(chain(), 5, 1e-6).measurements} == {"gaussian"}


def test_independent_attributes_have_tables_of_their_own():
    release = privbayes(chain(), 2, structure=PrivateStructure(max_parents=0))
    assert [m.clique for m in release.measurements] == [(a,) for a in "abcdef"]
    assert [float(line.cost) for line in release.ledger.lines] == pytest.approx([1 / 3] * 6)


def test_a_single_table_is_what_the_model_answers():
    data = chain(names="ab")
    release = privbayes(data, 5, tolerance=1e-9, iterations=2000)
    measured = release.measurements[-1]
    np.testing.assert_allclose(release.project(measured.clique).values.ravel(), measured.values, rtol=0.02, atol=2)


def test_the_model_errs_less_than_tables_alone():
    data = chain(n=1500)
    truth = [data.project(pair).values for pair in itertools.combinations(data.domain, 2)]

    def error(estimator, seed):
        release = privbayes(data, 1, estimator=estimator, unsafe_seed=seed)
        found = [release.project(pair).values for pair in itertools.combinations(data.domain, 2)]
        return sum(np.abs(f - t).sum() for f, t in zip(found, truth, strict=True))

    errors = np.array([[error(e, seed) for e in ("model", "tables")] for seed in range(5)])
    assert errors[:, 0].mean() < errors[:, 1].mean()


def test_a_model_that_does_not_fit_gives_way_to_tables():
    wide = chain(names=[f"x{i}" for i in range(12)], size=8, n=3000)
    release = privbayes(wide, 50, oracle="exact", max_bytes=2**17, structure=PrivateStructure(max_parents=2))
    assert isinstance(release.model, CountedNetwork)
    assert release.synthetic_data(rng=0).n_records == round(release.model.total)


def test_a_model_of_a_chosen_structure_that_does_not_fit_gives_way_to_tables():
    data, how = chain(names="abcdefgh"), PrivateStructure(max_parents=1)
    assert learn_private(data, how, 10, max_bytes=10**7, unsafe_seed=0).model.fit is not None
    release = learn_private(data, how, 10, max_bytes=3000, unsafe_seed=0)
    assert release.model.fit is None
    assert sum(line.cost for line in release.ledger.lines) == 10


def test_refused_calls_of_privbayes():
    with pytest.raises(TypeError, match="structure needs a PrivateStructure, got list"):
        privbayes(chain(), 1, structure=[("a", "b")])
    with pytest.raises(ValueError, match="estimator must be one of"):
        privbayes(chain(), 1, estimator="graph")
    with pytest.raises(ValueError, match="measurements of the run alone"):
        privbayes(chain(), 1, estimator="tables", measurements=[LinearMeasurement([1, 2, 3], "a")])


def test_both_kinds_of_release_are_saved_loaded_and_resumed(tmp_path):
    data = chain()
    for estimator in ("model", "tables"):
        release = privbayes(data, 2, estimator=estimator)
        release.save(tmp_path / "release.npz")
        again = pypgm.load(tmp_path / "release.npz")
        np.testing.assert_array_equal(again.project(("a", "f")).values, release.project(("a", "f")).values)
        more = privbayes(again.resume(data, Budget(epsilon=3)), measurements=again.measurements)
        assert float(more.ledger.spent()) == pytest.approx(3, rel=1e-5)
    net = release.model
    assert isinstance(net, BayesianNetwork)
    assert sorted(net.to_networkx().nodes) == list("abcdef")


class Turning(PrivateStructure):
    """Options whose score is another one when it is read again."""

    def __getattribute__(self, name):
        if name != "score":
            return super().__getattribute__(name)
        reads.append(name)
        return "F" if len(reads) == 1 else "R"


reads = []


def test_options_are_read_once():
    """The score whose sensitivity is charged is the one that is computed."""
    data = Dataset({"a": np.arange(60) % 2, "b": np.arange(60) % 2}, Domain({"a": 2, "b": 2}))
    turning = Turning("F", max_parents=1)
    reads.clear()
    table = opened(data)
    select_parents(table, turning)
    own = opened(data)
    select_parents(own, PrivateStructure("F", max_parents=1))
    assert [line.parameters for line in table.ledger.lines] == [line.parameters for line in own.ledger.lines]
    assert len(reads) == 1
