"""Two related tables: the join, the budget, synthetic pairs, and what is refused."""

from __future__ import annotations

import itertools
from dataclasses import fields, replace
from fractions import Fraction
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from fuzz_pgm import pack, unpack
from selfcheck.related import check_related

from pypgm import Budget, Dataset, Domain, Privacy
from pypgm._base.numeric import as_generator
from pypgm.mechanisms import RelatedRelease, parent_rows, synthesize_related
from pypgm.mechanisms.related import joined
from pypgm.privacy.ledger import LedgerReport
from pypgm.reconstruction.weighted_records import WeightedRecords

HOMES = Domain({"tenure": ["own", "rent"], "region": 3})
PEOPLE = Domain({"job": ["none", "cook", "nurse"], "sex": 2})
GENEROUS = {"budget": Budget(rho=1000), "mechanism": "mst"}


def households(n=3000, seed=0):
    """Owners have 0 to 2 members, mostly nurses; tenants 2 to 5, mostly cooks."""
    rng = np.random.default_rng(seed)
    tenure, region = rng.integers(2, size=n), rng.integers(3, size=n)
    sizes = np.where(tenure == 0, rng.integers(0, 3, size=n), rng.integers(2, 6, size=n))
    parent_of = rng.permutation(np.repeat(np.arange(n), sizes))
    common = np.where(tenure[parent_of] == 0, 2, 1)
    job = np.where(rng.random(parent_of.size) < 0.8, common, 0)
    homes = Dataset({"tenure": tenure, "region": region}, HOMES)
    return homes, Dataset({"job": job, "sex": rng.integers(2, size=job.size)}, PEOPLE), parent_of


def removed(parents, children, parent_of, row):
    """Return the tables without one parent and all their children."""
    stay = parent_of != row
    fewer = Dataset({a: np.delete(c, row) for a, c in parents.columns.items()}, parents.domain)
    rest = Dataset({a: c[stay] for a, c in children.columns.items()}, children.domain)
    of = parent_of[stay]
    return fewer, rest, of - (of > row)


def changes(one, other):
    """Return how many records one table has that the other has not, and the other way round."""
    difference = one.project(one.domain.attributes).values - other.project(one.domain.attributes).values
    return int(difference.clip(0).sum()), int((-difference).clip(0).sum())


@pytest.mark.parametrize(("most", "seed"), list(itertools.product([1, 2, 5], range(6))))
def test_one_parent_is_one_record_and_at_most_the_bound_of_children(most, seed):
    rng = np.random.default_rng(seed)
    n, m = 5, 14
    parents = Dataset({"tenure": rng.integers(2, size=n), "region": rng.integers(3, size=n)}, HOMES)
    children = Dataset({"job": rng.integers(3, size=m), "sex": rng.integers(2, size=m)}, PEOPLE)
    parent_of = rng.integers(-2, n, size=m)  # some of nobody
    whole = joined(parents, children, parent_of, max_children=most)
    for row in range(n):
        less = joined(*removed(parents, children, parent_of, row), max_children=most)
        own = min(most, int((parent_of == row).sum()))
        assert changes(whole[0], less[0]) == (1, 0)
        assert changes(whole[1], less[1]) == (own, 0)


def test_the_first_children_of_each_parent_are_kept():
    parents = Dataset({"a": [0, 1, 2]}, Domain({"a": 3}))
    children = Dataset({"b": [0, 1, 2, 3, 4, 5]}, Domain({"b": 6}))
    counted, kept = joined(parents, children, [2, 0, 2, 9, 2, -1], max_children=2, count="n")
    assert counted.columns["n"].tolist() == [1, 0, 2]
    assert kept.columns["b"].tolist() == [0, 1, 2]
    assert kept.columns["a"].tolist() == [2, 0, 2]


def test_children_of_nobody_change_nothing():
    parents, children, parent_of = households(20)
    none = np.where(parent_of == 3, 10**6, parent_of)
    stay = parent_of != 3
    fewer = Dataset({a: c[stay] for a, c in children.columns.items()}, PEOPLE)
    for one, other in zip(
        joined(parents, children, none, max_children=5),
        joined(parents, fewer, parent_of[stay], max_children=5),
        strict=True,
    ):
        assert all(np.array_equal(one.columns[a], other.columns[a]) for a in one.domain)


def test_keys_name_rows():
    assert parent_rows([7, 3], [3, 3, 7, 4]).tolist() == [1, 1, 0, -1]
    assert parent_rows([], []).tolist() == []
    with pytest.raises(ValueError, match="row 2 has that of row 0"):
        parent_rows(["x", "y", "x"], [])


def test_types_of_keys_of_different_kinds_are_refused():
    numbers, texts = np.array([1, 2]), np.array(["1", "2"])
    with pytest.raises(TypeError, match="of one kind, got numbers, and text"):
        parent_rows(numbers, texts)
    with pytest.raises(TypeError, match="of one kind, got text, and numbers"):
        parent_rows(texts, numbers)
    assert parent_rows(numbers, [2.0, np.nan, 1.0]).tolist() == [1, -1, 0]
    assert parent_rows(texts, [None, "2"]).tolist() == [-1, 1]
    assert parent_rows(numbers, [np.nan, np.nan]).tolist() == [-1, -1]
    assert parent_rows(texts, np.array([np.str_("2"), np.nan], dtype=object)).tolist() == [1, -1]
    assert parent_rows(texts, [None, None]).tolist() == [-1, -1]
    pandas, polars, arrow = (pytest.importorskip(package) for package in ("pandas", "polars", "pyarrow"))
    for make in (pandas.Series, polars.Series, arrow.array, lambda keys: arrow.chunked_array([keys])):
        assert parent_rows(make([1, 2]), make([2, 1])).tolist() == [1, 0]
        with pytest.raises(TypeError, match="of one kind, got numbers, and text"):
            parent_rows(make([1, 2]), make(["1", "2"]))


def test_whether_keys_are_refused_is_decided_by_types_and_by_each_key_alone():
    """Numbers beside texts in a list match nobody, with one more key that matches as without."""
    for keys in ([1, 2], np.array([1, 2], dtype=object)):
        assert parent_rows(keys, ["1", "2"]).tolist() == [-1, -1]
        assert parent_rows(keys, ["1", "2", 2]).tolist() == [-1, -1, 1]


def test_conditional_distributions_are_carried():
    tables = households()
    release = synthesize_related(*tables, max_children=5, **GENEROUS)
    parents, children, parent_of = release.synthetic_data(rng=1)
    assert parents.domain == HOMES
    assert children.domain == PEOPLE
    assert len(children) == len(parent_of)
    for data, people, of in (tables, (parents, children, parent_of)):
        tenure = data.columns["tenure"]
        sizes = np.bincount(of, minlength=len(data))
        assert (sizes[tenure == 0] <= 2).mean() > 0.99
        assert (sizes[tenure == 1] >= 2).mean() > 0.99
        assert abs(sizes[tenure == 1].mean() - 3.5) < 0.1
        jobs = people.columns["job"]
        assert abs((jobs[tenure[of] == 0] == 2).mean() - 0.8) < 0.03
        assert abs((jobs[tenure[of] == 1] == 1).mean() - 0.8) < 0.03
        first = np.flatnonzero(of[1:] == of[:-1]) if data is parents else []
        for value in range(len(first) and 2):  # siblings are independent given the context
            pairs = [i for i in first if tenure[of[i]] == value]
            assert abs(np.corrcoef(jobs[pairs], jobs[np.add(pairs, 1)])[0, 1]) < 0.1


def test_budgets_add_up_in_one_ledger():
    tables = households(200)
    release = synthesize_related(*tables, max_children=3, epsilon=1, delta=1e-9, mechanism="mst", parents_share="1/3")
    limits = [r.ledger.budget.limit for r in (release.parents, release.children)]
    assert sum(limits) == release.budget.limit == Budget(epsilon=1, delta=1e-9).limit
    assert limits[0] == release.budget.limit * Fraction(1, 3)
    assert release.parents.privacy == Privacy()
    assert release.children.privacy == Privacy(records_per_person=3)
    assert release.ledger.spent() == sum(r.ledger.spent() for r in (release.parents, release.children))
    assert {line.within.split(" / ")[0] for line in release.ledger.lines} == {"parents", "children"}
    assert release.ledger.privacy == Privacy(records_per_person=4)
    assert "at most 3 kept" in release.report()
    pure = synthesize_related(*tables, max_children=2, epsilon=2, mechanism="mwem", iterations=50)
    assert [r.ledger.budget for r in (pure.parents, pure.children)] == [Budget(epsilon=1)] * 2


def test_neighbouring_pairs_have_the_same_calls_and_lines():
    tables = households(50)
    options = {"max_children": 2, "epsilon": 1, "delta": 1e-9, "mechanism": "hdmm"}
    lines = [
        [(x.within, x.what, x.on, dict(x.parameters)) for x in synthesize_related(*pair, **options).ledger.lines]
        for pair in (tables, removed(*tables, 7), (*(t for t in tables[:2]), np.full(len(tables[2]), -1)))
    ]
    assert lines[0] == lines[1] == lines[2]
    assert {x[3]["squared_sensitivity"] % 4 for x in lines[0] if x[0].startswith("children")} == {0}


def test_tables_without_records_are_released():
    nobody = Dataset({"tenure": [], "region": []}, HOMES), Dataset({"job": [], "sex": []}, PEOPLE)
    release = synthesize_related(*nobody, [], max_children=2, epsilon=1, delta=1e-9, mechanism="mst")
    assert release.synthetic_data(0, rng=0).parent_of.tolist() == []


def test_the_context_is_a_choice():
    tables = households(300)
    release = synthesize_related(*tables, max_children=5, context=["tenure", "n"], count="n", **GENEROUS)
    assert release.children.model.domain.attributes == ("job", "sex", "tenure", "n")
    assert release.parents.model.domain.attributes == ("tenure", "region", "n")
    alone = synthesize_related(*tables, max_children=5, context=[], **GENEROUS)
    assert alone.children.model.domain == PEOPLE
    assert alone.synthetic_data(rng=0).children.domain == PEOPLE


def test_impossible_contexts_lose_their_last_attribute():
    domain = Domain({"c": 2, "a": 3, "b": 2})
    model = WeightedRecords(Dataset({"c": [0, 1], "a": [0, 1], "b": [0, 1]}, domain))
    children = SimpleNamespace(model=model, synthetic_data=model.synthetic_data)
    drawn = partial(RelatedRelease._children, SimpleNamespace(children=children, context=("a", "b")))
    draws = as_generator(0)
    assert drawn(3, (1, 0), draws).columns["c"].tolist() == [1, 1, 1]
    assert drawn(3, (0, 1), draws).columns["c"].tolist() == [0, 0, 0]
    assert set(drawn(99, (2, 0), draws).columns["c"].tolist()) == {0, 1}


def test_a_release_is_saved_and_loaded(tmp_path):
    release = synthesize_related(*households(100), max_children=3, epsilon=1, delta=1e-9, mechanism="mst")
    release.save(tmp_path / "both")
    again = RelatedRelease.load(tmp_path / "both")
    assert again.ledger.report() == release.ledger.report()
    assert (again.budget, again.context, again.max_children) == (release.budget, release.context, 3)
    for one, other in zip(release.synthetic_data(rng=5)[:2], again.synthetic_data(rng=5)[:2], strict=True):
        assert all(np.array_equal(one.columns[a], other.columns[a]) for a in one.domain)
    twin = synthesize_related(*households(100), max_children=3, epsilon=1, delta=1e-9, mechanism="mst")
    twin.save(tmp_path / "twin")
    for name in ("parents.pgm", "children.pgm"):
        mixed = tmp_path / f"mixed {name}"
        release.save(mixed)
        (mixed / name).write_bytes((tmp_path / "twin" / name).read_bytes())
        with pytest.raises(ValueError, match="not the two files"):
            RelatedRelease.load(mixed)
    release.parents.save(tmp_path / "both" / "parents.pgm")
    with pytest.raises(ValueError, match="not the two files"):
        RelatedRelease.load(tmp_path / "both")


@pytest.mark.parametrize(
    "changes",
    [
        {"budget": {"epsilon": "1/2", "delta": "1e-9"}},
        {"budget": {"rho": "9"}},
        {"budget": {"epsilon": 1}},
        {"budget": {}},
        {"budget": {"more": "1"}},
        {"max_children": 2},
        {"max_children": -1},
        {"max_children": "3"},
        {"context": ["nobody"]},
        {"context": "x"},
        {"count": "x"},
        {"count": None},
    ],
)
def test_files_that_contradict_what_they_share_are_refused(changes, tmp_path):
    release = synthesize_related(*households(100), max_children=3, epsilon=1, delta=1e-9, mechanism="mst")
    release.save(tmp_path)
    for name in ("parents.pgm", "children.pgm"):
        header, arrays = unpack((tmp_path / name).read_bytes())
        header["release"]["options"]["related"] |= changes
        (tmp_path / name).write_bytes(pack(header, arrays))
    with pytest.raises(ValueError, match="not a whole release of related tables"):
        RelatedRelease.load(tmp_path)


@pytest.mark.parametrize("budget", [Budget(epsilon=1, delta=1e-9), Budget(rho=2), Budget(epsilon=3)])
@pytest.mark.parametrize("share", ["1/2", "1/5", "4/5"])
def test_a_pair_that_contradicts_itself_is_refused_when_it_is_made(budget, share):
    """Every one of its parts is taken from another pair in turn."""
    mechanism = "privbayes" if budget.unit == "epsilon" else "mst"
    options = {"mechanism": mechanism, "unsafe_seed": 0, "parents_share": share}
    release = synthesize_related(*households(40), max_children=3, budget=budget, **options)
    other = synthesize_related(
        *households(40), max_children=2, context=["region"], count="m", budget=Budget(rho="0.7"), mechanism="mst"
    )
    assert replace(release) == release
    for field in fields(RelatedRelease):
        with pytest.raises(
            ValueError, match=r"children of a parent|other budgets|count 0 to|context|unknown attribute"
        ):
            replace(release, **{field.name: getattr(other, field.name)})
    whole = synthesize_related(*households(40), max_children=3, budget=Budget(rho=9), mechanism="mst")
    with pytest.raises(ValueError, match="other budgets"):  # as if each had the larger part
        replace(whole, children=replace(whole.children, ledger=_with_budget(whole.children.ledger, Budget(rho=5))))


def _with_budget(ledger, budget):
    return LedgerReport(budget, ledger.lines, ledger.privacy, ledger.not_private)


def test_seeded_releases_say_so():
    release = synthesize_related(*households(30), max_children=2, epsilon=1, delta=1e-9, mechanism="mst", unsafe_seed=1)
    assert release.not_private
    assert release.ledger.not_private


WEIGHTED = Dataset({"x": [0]}, Domain({"x": 2}), weights=[2.0])
REFUSED = [
    ({"max_children": 0}, ValueError, "max_children must be at least 1"),
    ({"max_children": True}, TypeError, "max_children must be an integer"),
    ({"neighbours": "replace"}, ValueError, "add-remove only"),
    ({"privacy": Privacy()}, TypeError, "privacy is not an option"),
    ({"children_options": {"measurements": ()}}, TypeError, "measurements is not an option"),
    ({"children_options": {"color": 1}}, TypeError, "unexpected keyword argument 'color'"),
    ({"parents_share": 1}, ValueError, "parents_share must lie between 0 and 1"),
    ({"mechanism": "none"}, ValueError, "mechanism must be one of"),
    ({"count": "tenure"}, ValueError, "'tenure' is in the table already"),
    ({"context": ["age"]}, ValueError, "unknown attribute 'age'"),
    ({"context": "tenure"}, TypeError, "context needs a sequence"),
    ({"parent_of": [0]}, ValueError, "got shape"),
    ({"parent_of": [0.0, 1.0]}, TypeError, "got dtype float64"),
    ({"parents": WEIGHTED}, ValueError, "parents needs unweighted records"),
    ({"children": WEIGHTED}, ValueError, "children needs unweighted records"),
    ({"children": [1, 2]}, TypeError, "children needs a pypgm.Dataset"),
    ({"children": Dataset({"tenure": [0, 0]}, Domain({"tenure": 2}))}, ValueError, "'tenure' is in the table already"),
    ({"epsilon": None, "delta": None}, TypeError, "needs a budget"),
]


@pytest.mark.parametrize(("wrong", "error", "words"), REFUSED, ids=[str(i) for i in range(len(REFUSED))])
def test_what_is_refused_is_refused_before_a_run(wrong, error, words, monkeypatch):
    monkeypatch.setattr("pypgm.mechanisms._mst.Run", lambda *_, **__: pytest.fail("a run began"))
    sound = {
        "parents": Dataset({"tenure": [0, 1], "region": [0, 1]}, HOMES),
        "children": Dataset({"job": [0, 1], "sex": [1, 1]}, PEOPLE),
        "parent_of": [0, 1],
        "max_children": 2,
        "epsilon": 1,
        "delta": 1e-9,
        "mechanism": "mst",
    }
    with pytest.raises(error, match=words):
        synthesize_related(**{**sound, **wrong})


def test_the_audit_looks_at_the_join():
    assert check_related().result == "ok"
