"""The first sentence of every view of a release: what is not protected stands in it, before anything is promised."""

from __future__ import annotations

import contextlib
import io
import itertools
import json
import math
import re

import numpy as np
import pytest
from html_page import Page

import pypgm
from pypgm import Budget, bayes, cli, mechanisms, mrf
from pypgm.data import Integer
from pypgm.privacy.promise import Promise, chances, rare_chance, weakness

pytest.importorskip("jinja2")

N = 200
PROMISED = re.compile(r"(epsilon|rho) \d|any one |Budget\(|protects wh")
WHERE = {  # a warning may be left: what is said of it
    "nowhere": "",
    "a column": "of age)",
    "both columns": "of age, sex)",
    "bins": "of wage)",
    "the top": "at its top)",
    "a rule": "at its top)",
    "the top and a column": "at its top and of age)",
    "the person": "at its person)",
    "the person and a column": "at its person and of age)",
}


def fields_with(where):
    """Return what a schema file has, with a warning at a place."""
    columns = {"age": {"kind": "integer", "low": 0, "high": 9}, "sex": {"kind": "categorical", "values": ["F", "M"]}}
    fields = {"columns": columns, "drop": {"name": "a different value in each record"}}
    if where in {"a column", "both columns"} or where.endswith(" and a column"):
        columns["age"]["warning"] = "low and high were read from the records"
    if where == "both columns":
        columns["sex"]["warning"] = "do these values name people?"
    if where == "bins":
        bins = {"quantiles": 4, "share": 0.05, "warning": "as many as the records let"}
        columns["wage"] = {"kind": "integer", "low": 0, "high": 99, "bins": bins}
    if "person" in where:
        fields["person"] = {"column": "name", "at_most": 2, "warning": "one has up to 9 records"}
        del fields["drop"]
    if "top" in where:
        fields["warning"] = "values come again"
    if where == "a rule":
        fields["rules"] = [{"columns": ["age", "sex"], "forbidden": [[0, "M"]], "warning": "seen in no record"}]
    return fields


def frame():
    rng = np.random.default_rng(0)
    age = rng.integers(0, 10, N)
    sex = np.where(age == 0, "F", rng.choice(["F", "M"], N))
    read = {"age": age, "sex": sex, "wage": rng.integers(0, 99, N)}
    return {**{name: column.tolist() for name, column in read.items()}, "name": [f"x{i // 2}" for i in range(N)]}


def released(kind, where, options):
    """Return a release of a kind by a schema with a warning somewhere."""
    schema = pypgm.Schema.from_dict(fields_with(where))
    if kind == "table":
        return pypgm.synthesize(frame(), schema, mechanism="mst", ignore_extra=True, **options)
    data = schema.provisional.encode(frame(), ignore_extra=True)
    if kind == "mechanism":
        return mechanisms.mst(data, **options)
    if kind == "network":
        return bayes.learn_private(data, [("sex", "age")], **options)
    if kind == "field":
        return mrf.learn_pairwise(data, radius=1.0, steps=1, **options)
    options.pop("neighbours")
    other = pypgm.Schema({"size": Integer(0, 3)}).encode({"size": [i % 4 for i in range(N)]})
    tables = (data, other) if "person" in where else (other, data)  # a parent is of a person, a child is not
    return mechanisms.synthesize_related(*tables, range(N), max_children=2, mechanism="mst", **options)


def commanded(*arguments):
    """Return what a command says."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        assert cli.main([*map(str, arguments)]) == 0
    return said.getvalue()


def views(release, folder):
    """Yield each view of a release as text, by its name."""
    release.report_html(folder / "page.html")
    yield "page", Page((folder / "page.html").read_text(encoding="utf-8")).text
    yield "notebook", Page(release._repr_html_()).text
    yield "report", release.report()
    yield "repr", repr(release)
    is_one = isinstance(release, pypgm.Release)
    saved, page = folder / ("saved.pgm" if is_one else "saved"), folder / "again.html"
    release.save(saved)
    for more in ([], ["--json"]):
        yield f"pypgm report {more}", commanded("report", saved, "--out", page, *more)
        page.unlink()
    if is_one:
        yield "summary", release.summary()
        yield "pypgm info", commanded("info", saved)
        yield "pypgm info --json", commanded("info", saved, "--json")
        yield "loaded", pypgm.load(saved).report()


def check_first(name, text, expected):
    """Check that all caveats, and none but these, stand in a view before it promises anything."""
    text = " ".join(text.split())
    words = ["protects nobody", "Hardly anybody", "hardly anybody", "ot protected: ", "therwise"]
    if not expected:
        assert not [word for word in words if word in text], name
        return
    begin = min(
        text.find(word) for word in ("This release", "this release", "ot protected", "ardly any") if word in text
    )
    first = text[begin:]
    for caveat in expected:
        assert caveat in first, (name, caveat)
        first = first.replace(caveat, "")
    promised = PROMISED.search(text[: begin + 1])
    assert promised is None, (name, promised)
    sentence = re.split(r"\. |otherwise|\)\n|\", ", text[begin:])[0]
    assert all(caveat in sentence for caveat in expected), (name, sentence)


def caveats_of(where, delta, seed):
    """Return what the first sentence has to say."""
    found = ["rotects nobody: noise drawn from a seed"] if seed else []
    found += [f"a draft's warnings are still in the schema, {WHERE[where]}"] if WHERE[where] else []
    return found + (["delta 0.01 lets a release show one person in 100 as they are"] if delta == "0.01" else [])


# Any two of a place, a delta, a seed or none, and a relation stand together in one of them.
COMBINED = [
    (where, ("1e-9", "0.01")[bit], (None, 1)[bit ^ i % 2], ("add-remove", "replace")[bit ^ i // 2 % 2])
    for i, where in enumerate(WHERE)
    for bit in (0, 1)
]


def test_any_two_stand_together():
    for one, other in itertools.combinations(zip(*COMBINED, strict=True), 2):
        assert len(set(zip(one, other, strict=True))) == len(set(one)) * len(set(other))


@pytest.mark.filterwarnings("ignore::pypgm.errors.DraftWarning", "ignore::pypgm.errors.WeakGuaranteeWarning")
@pytest.mark.parametrize("first", [0, pytest.param(1, marks=pytest.mark.slow), pytest.param(2, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", ["mechanism", "table", "network", "field", "related"])
def test_what_is_not_protected_is_in_the_first_sentence_of_every_view(kind, first, tmp_path):
    for where, delta, seed, neighbours in COMBINED[first::3]:
        possible = "add-remove" if "person" in where else neighbours  # the one that a person needs
        options = {"epsilon": 1, "delta": delta, "unsafe_seed": seed, "neighbours": possible}
        release = released(kind, where, options)
        expected = caveats_of(where, delta, seed)
        if kind == "related":  # whose tables are of the records that are kept
            expected = [caveat.replace("its person", "its top") for caveat in expected]
        for name, text in views(release, tmp_path):
            check_first(name, text, expected)


@pytest.mark.filterwarnings("ignore::pypgm.errors.DraftWarning", "ignore::pypgm.errors.WeakGuaranteeWarning")
@pytest.mark.parametrize("where", WHERE)
@pytest.mark.parametrize("delta", ["1e-9", "0.01"])
def test_so_it_is_in_what_is_said_before_and_while_records_are_read(where, delta, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.json").write_text(json.dumps(fields_with(where)), encoding="utf-8")
    columns = frame()
    rows = [",".join(columns), *(",".join(map(str, row)) for row in zip(*columns.values(), strict=True))]
    (tmp_path / "t.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    budget = ["--schema", "s.json", "--epsilon", "1", "--delta", delta, "--mechanism", "mst", "--ignore-extra"]
    expected = caveats_of(where, delta, None)
    check_first("plan", commanded("plan", "s.json", "--records", N, *budget[2:-1]), expected)
    synth = ["synth", "t.csv", *budget, "--out"]
    check_first("synth", commanded(*synth, "o.csv"), expected)
    check_first("synth --json", commanded(*synth, "p.csv", "--json"), expected)
    quiet = commanded(*synth, "q.csv", "--quiet")
    assert all(caveat in quiet for caveat in expected)
    data = pypgm.Schema.from_dict(fields_with(where)).provisional.encode(columns, ignore_extra=True)
    table = pypgm.PrivateTable(data, None, pypgm.Ledger(Budget(epsilon=1, delta=delta)))
    check_first("table", Page(table._repr_html_()).text, expected)


@pytest.mark.parametrize("budget", [Budget(epsilon=31), Budget(rho=7), Budget(rho=1, reserved_delta="0.01")])
def test_budgets_that_are_next_to_nothing_are_so_in_any_unit(budget):
    assert weakness(budget).startswith("Hardly anybody is protected: ")
    assert Promise(budget, "whether any one person is in the table").guarantee.startswith("Hardly anybody")


@pytest.mark.parametrize("budget", [Budget(epsilon=30), Budget(rho=6), Budget(rho=1, reserved_delta=1e-9)])
def test_other_budgets_are_not(budget):
    assert not weakness(budget)


def test_the_budget_of_related_tables_is_that_of_both(tmp_path):
    """Each table has a part of it, whose delta or rho may be none to warn of."""
    homes = pypgm.Dataset({"size": [0, 1] * 50}, pypgm.Domain({"size": 2}))
    people = pypgm.Dataset({"sex": [0, 1] * 50}, pypgm.Domain({"sex": 2}))
    with pytest.warns(pypgm.errors.WeakGuaranteeWarning) as heard:
        release = mechanisms.synthesize_related(
            homes, people, range(100), max_children=1, mechanism="mst", epsilon=1, delta="0.01"
        )
    assert {w.filename for w in heard} == {__file__}
    assert release.promise.caveats == (weakness(Budget(epsilon=1, delta="0.01")),)
    assert not release.parents.promise.caveats


@pytest.mark.filterwarnings("ignore::pypgm.errors.DraftWarning")
def test_a_file_of_one_of_two_tables_says_what_its_columns_of_the_other_do():
    parents = pypgm.Schema.from_dict(fields_with("the top and a column"))
    children = pypgm.Schema({"size": 3})
    both = parents.encode(frame(), ignore_extra=True), children.encode({"size": [0, 1] * (N // 2)})
    options = {"max_children": 2, "mechanism": "mst", "epsilon": 1, "delta": 1e-9}
    release = mechanisms.synthesize_related(*both, range(N), **options)
    assert "at its top and of age" in release.children.guarantee
    assert "at its top and of age" in release.report()


@pytest.mark.parametrize("where", WHERE)
def test_a_schema_keeps_its_warnings_in_what_is_made_of_it(where, tmp_path):
    schema = pypgm.Schema.from_dict(fields_with(where))
    schema.save(tmp_path / "s.json")
    read = pypgm.data.read_schema(tmp_path / "s.json")
    again = pypgm.Schema.from_dict(schema.to_dict())
    assert read == again == schema
    assert {m.draft_warning for m in (read, again, schema.provisional)} == {schema.draft_warning}
    whole = schema.provisional
    for other in (whole.extended({"n": Integer(0, 3)}, 2), whole.of_records()):  # which know no person
        assert other.draft_warning == schema.draft_warning.replace("its person", "its top")
    assert bool(schema.draft_warning) == bool(WHERE[where])
    assert (read.warning, read.warned) == (schema.warning, schema.warned)


@pytest.mark.parametrize("where", WHERE)
def test_texts_of_warnings_are_in_files_of_schemas_alone(where, tmp_path):
    fields = fields_with(where)
    schema = pypgm.Schema.from_dict(fields)
    shown = json.dumps(schema.to_dict()) + schema.draft_warning
    schema.save(tmp_path / "s.json")
    saved = (tmp_path / "s.json").read_text(encoding="utf-8")
    texts = re.findall(r'"warning": "(.*?)"', json.dumps(fields))
    assert bool(texts) == bool(WHERE[where])
    for text in texts:
        assert text in saved
        assert text not in shown


def test_warnings_beside_columns_without_more_are_at_the_top():
    assert pypgm.Schema.from_dict({"age": 85, "warning": "low is a guess"}).warning == "low is a guess"
    assert pypgm.Schema.from_dict({"age": 85, "warning": ["low", "high"]}).domain.shape == (85, 2)
    assert not pypgm.Schema.from_dict({"columns": {"age": 85}, "warning": ""}).draft_warning


def test_a_page_says_of_no_weak_budget_that_nobody_can_tell(tmp_path):
    data = pypgm.Dataset({"a": [0, 1] * 50}, pypgm.Domain({"a": 2}))
    for budget in (Budget(epsilon=1), Budget(epsilon=40), Budget(rho=50)):
        table = pypgm.PrivateTable(data, None, pypgm.Ledger(budget))
        mechanisms.mwem(table, workload=1, rounds=1).report_html(tmp_path / "page.html")
        text = Page((tmp_path / "page.html").read_text(encoding="utf-8")).text
        assert ("nobody can become sure" in text) == (not weakness(budget))
        assert re.search(r"(protects|become sure) whether any one record is in the real table at all", text)


def test_pictures_of_a_budget_say_it(tmp_path):
    pytest.importorskip("matplotlib")
    data = pypgm.Dataset({"a": [0, 1] * 50}, pypgm.Domain({"a": 2}))
    seeded = mechanisms.mst(data, epsilon=1, delta=1e-9, unsafe_seed=1)
    for spent in (seeded, seeded.ledger):
        for draw in (pypgm.plot.budget, pypgm.plot.privacy):
            assert draw(spent).get_title(loc="left").startswith("This release protects nobody")


@pytest.mark.parametrize("epsilon", [0.1, 1, 3, 3.8])
def test_a_rare_suspicion_stays_below_its_bound(epsilon):
    """Bayes' rule with the largest likelihood ratio, e^epsilon, on either side of what is said."""
    budget = Budget(epsilon=epsilon)
    for before, most in ((0.5, chances(budget)[1]), (0.01, rare_chance(budget))):
        ratio = math.exp(epsilon) * before / (1 - before)
        after = 100 * ratio / (1 + ratio)
        assert after <= most <= 1.1 * after + 1
    assert chances(Budget(epsilon=5)) is rare_chance(Budget(epsilon=5)) is None


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({}, "It is about single records"),
        ({"records_per_person": 1}, "It assumes that each person has at most 1 record in the real table"),
        ({"person": {"column": "id", "at_most": 2}}, "It assumes that 'id' tells persons apart"),
    ],
)
def test_pages_and_cards_say_what_a_promise_assumes(fields, said, tmp_path):
    names = {"a": [0, 1] * 50, **({"id": list(range(100))} if "person" in fields else {})}
    columns = {"a": 2, **({"id": {"kind": "id", "format": "N{}"}} if "person" in fields else {})}
    release = pypgm.synthesize(names, {"columns": columns, **fields}, epsilon=1, delta=1e-9)
    release.report_html(tmp_path / "page.html")
    release.card(tmp_path / "card.md")
    release.save(tmp_path / "r.pgm")
    assert said in Page((tmp_path / "page.html").read_text(encoding="utf-8")).text
    assert said in (tmp_path / "card.md").read_text(encoding="utf-8")
    assert pypgm.load(tmp_path / "r.pgm").promise.assumes == release.promise.assumes
