"""What nothing is known of has no figure: columns that were never counted, and such as kept no value."""

from __future__ import annotations

import copy
import json
import math
import re
from dataclasses import replace

import numpy as np
import pytest

import pypgm
from pypgm import Domain, cli, mechanisms
from pypgm._base.student import REACH
from pypgm.data import Person
from pypgm.intervals import left_out
from pypgm.reporting.facts import Facts, quality_dict
from pypgm.reporting.page import Part, page_of
from pypgm.reporting.text import quality_rows

N = 2000


@pytest.fixture(scope="module")
def partly():
    """Return a release of four columns, two of which were never counted: they are far from even in the records."""
    rng = np.random.default_rng(0)
    sizes = {"sex": 2, "smoker": 3, "ward": 12, "unit": 5}
    columns = {a: np.minimum(rng.geometric(0.6, N) - 1, n - 1) for a, n in sizes.items()}
    data = pypgm.Dataset(columns, Domain(sizes))
    return mechanisms.aim(data, epsilon=1, delta=1e-9, workload=[["sex", "smoker"]], unsafe_seed=0)


@pytest.fixture(scope="module")
def emptied():
    """Return a release of an open column whose values are all rare."""
    rng = np.random.default_rng(0)
    table = {
        "id": [f"v{i}" for i in range(N)],
        "sex": list(rng.choice(["f", "m"], N)),
        "city": list(rng.choice(["A", "B", "C"], N)),
    }
    schema = {"id": {"kind": "open", "share": 0.1}, "sex": ["f", "m"], "city": ["A", "B", "C"]}
    return pypgm.synthesize(table, schema, epsilon=1, delta=1e-9)


def page_text(facts):
    pytest.importorskip("jinja2")
    release = facts.release
    return page_of([Part("", facts)], release.ledger, release.promise)


def test_a_column_that_was_never_counted_has_no_figure(partly):
    quality = Facts(partly).quality
    assert quality.unknown("columns") == [("ward",), ("unit",)]
    assert list(quality.of("pairs")) == [("sex", "smoker")]
    assert len(quality.unknown("pairs")) == 5
    assert quality.far(("ward",)) is None
    assert quality.shown(("ward", "sex") if ("ward", "sex") in quality.cliques else ("sex", "ward")) == "never counted"
    own = [quality.cliques.index((a,)) for a in ("sex", "smoker")]
    assert quality.mean("columns") == pytest.approx(100 * quality.tables[:, own].mean())
    assert math.isfinite(quality.largest_error[1])


def test_what_was_never_counted_is_said_wherever_errors_are(partly, tmp_path, capsys):
    told = " ".join(text for _, text in quality_rows(Facts(partly).quality))
    assert "of 2 of 4" in told
    assert "never counted: ward, unit: even shares, nothing is known" in told
    assert "5 of 6 have a column of unknown error" in told
    assert "warning: never counted: ward, unit" in partly.report()
    assert any("never counted: ward, unit" in text for text in Facts(partly).warnings)
    of = {tuple(e["columns"]): e for e in quality_dict(Facts(partly).quality)["columns"]["each"]}
    assert of["ward",] == {"columns": ["ward"], "points": None, "basis": "unknown"}
    partly.save(tmp_path / "r.pgm")
    cli.main(["info", str(tmp_path / "r.pgm")])
    rows = [line for line in capsys.readouterr().out.splitlines() if line.split()[:1] in (["ward"], ["unit"])]
    assert len(rows) == 2
    assert all("never counted" in line for line in rows)
    cli.main(["info", str(tmp_path / "r.pgm"), "--json"])
    json.loads(capsys.readouterr().out)


def test_a_page_marks_what_was_never_counted(partly):
    text = page_text(Facts(partly))
    assert text.count("never counted; even shares, nothing is known") == 2  # the pictures of ward and unit
    assert "Not counted here: never counted: ward, unit" in text
    assert text.count('<td class="number">never counted</td>') == 5
    assert "Small groups: a count below" in text


def test_a_column_that_kept_no_value_is_not_the_best(emptied):
    facts = Facts(emptied)
    assert facts.losses.kept == {"id": 0}
    quality = facts.quality
    assert ("id",) not in quality.of("columns")
    assert all("id" not in pair for pair in quality.of("pairs"))
    told = " ".join(text for _, text in quality_rows(quality))
    assert 'id: all values "other", nothing kept' in told
    assert "of 2 of 3" in told
    assert "0.00 ± 0.00" not in told
    assert "nothing kept" in page_text(facts)
    assert "0.00 ± 0.00" not in page_text(facts)


@pytest.mark.parametrize("n_columns", [1, 2])
def test_a_release_whose_columns_all_kept_no_value_has_no_figure_anywhere(n_columns, tmp_path):
    names = [f"id{i}" for i in range(n_columns)]
    table = {name: [f"v{i}" for i in range(200)] for name in names}
    schema = {name: {"kind": "open", "share": 0.1} for name in names}
    release = pypgm.synthesize(table, schema, epsilon=1, delta=1e-9, mechanism="mst", unsafe_seed=0)
    release.write(tmp_path / "s.csv")
    release.card(tmp_path / "README.md", file=tmp_path / "s.csv")
    for text in (release.report(), page_text(Facts(release)), (tmp_path / "README.md").read_text()):
        assert "nothing kept" in text
        assert "off on average" not in text
        assert "is expected to be" not in text


@pytest.mark.parametrize("mechanism", [mechanisms.wide, mechanisms.aim])
def test_from_the_size_of_a_group_on_nine_in_ten_counts_are_twice_their_whiskers(mechanism):
    rng = np.random.default_rng(0)
    columns = {a: rng.geometric(0.3, 3000).clip(1, 12) - 1 for a in "abcd"}
    data = pypgm.Dataset(columns, Domain(dict.fromkeys("abcd", 12)))
    release = mechanism(data, epsilon=1, delta=1e-9, unsafe_seed=0)
    facts = Facts(release)
    told = re.search(r"a count below about ([\d,]+) records of one .*?, or ([\d,]+) of two", page_text(facts))
    for size, text in zip((1, 2), told.groups(), strict=True):
        cliques = [c for c in facts.quality.cliques if len(c) == size]
        counts = np.concatenate([release.model.project(c).datavector() for c in cliques])
        errors = np.concatenate([facts.quality.errors[c].datavector() for c in cliques])
        is_good, least = counts >= 2 * errors, int(text.replace(",", ""))
        assert is_good[counts >= least].mean() >= 0.9


def test_an_estimate_that_its_time_limit_ended_is_told(partly):
    fit = replace(partly.model.fit, status="time", iterations=2)
    cut = copy.copy(partly.model)
    cut.fit = fit
    ended = replace(partly, model=cut)
    assert "warning: the estimate was ended by its time limit after 2 iterations" in ended.report()
    assert any("time limit after 2 iterations" in text for text in Facts(ended).warnings)
    assert "time limit" not in partly.report()


def test_a_noisy_number_of_records_has_its_noise():
    rng = np.random.default_rng(0)
    data = pypgm.Dataset({"a": rng.integers(0, 3, N), "b": rng.integers(0, 4, N)}, Domain({"a": 3, "b": 4}))
    release = mechanisms.wide(data, epsilon=0.01, delta=1e-9, unsafe_seed=0)
    _, variance = pypgm.estimation.estimate_total(data.domain, release.measurements)
    told = re.fullmatch(r"about ([\d,]+) ± ([\d,]+) \(90 %\) real ones, a noisy count", Facts(release).records_text)
    assert [int(n.replace(",", "")) for n in told.groups()] == [
        round(release.model.total),
        round(1.645 * variance**0.5),
    ]
    public = mechanisms.wide(data, epsilon=1, delta=1e-9, neighbours="replace", unsafe_seed=0)
    assert Facts(public).records_text == f"{N:,} real ones"


def test_the_noise_of_the_number_of_records_is_that_of_the_released_answers(monkeypatch):
    """A model after `wide` follows denoised counts; released ones tell the number of records, and contrasts nothing."""
    rng = np.random.default_rng(0)
    sizes = {"a": 2, "b": 4, "c": 6}
    data = pypgm.Dataset({a: rng.integers(0, n, N) for a, n in sizes.items()}, Domain(sizes))
    release = mechanisms.wide(data, epsilon=1, delta=1e-9, unsafe_seed=0)
    released, followed = (
        pypgm.estimation.estimate_total(data.domain, own)[1]
        for own in (release.measurements, release.model.recipe.measurements)
    )
    assert released > 2 * followed
    facts = Facts(release)
    assert facts.records_text.endswith(f"± {1.645 * released**0.5:,.0f} (90 %) real ones, a noisy count")
    asked = []
    monkeypatch.setattr(left_out, "estimate", lambda *given, **limits: asked.append(given))
    error = facts.quality.errors["a",].values  # each of two values has half of the error of the total
    assert (error > 0.3 * released**0.5).all()
    assert not asked  # one column needs no further estimates
    np.testing.assert_allclose(error, release.expected_error("a").values, rtol=0.5)
    alone = Facts(replace(release, measurements=()))  # what the model rests on is all there is then
    assert alone.records_text.endswith(f"± {1.645 * followed**0.5:,.0f} (90 %) real ones, a noisy count")


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", ["wide", "mst"])
def test_what_a_page_says_of_counts_is_held(mechanism):
    rng = np.random.default_rng(1)
    sizes = {"a": 2, "b": 40, "c": 6}
    data = pypgm.Dataset({a: np.minimum(rng.geometric(0.25, N) - 1, n - 1) for a, n in sizes.items()}, Domain(sizes))
    held: dict[str, list[float]] = {}
    for seed in range(40):
        release = getattr(mechanisms, mechanism)(data, epsilon=1, delta=1e-9, unsafe_seed=seed)
        quality = Facts(release).quality
        for a in sizes:
            far = np.abs(release.project(a).values - data.project(a).values)
            held.setdefault(a, []).append(float((far <= REACH * quality.errors[a,].values).mean()))
    assert min(np.mean(own) for own in held.values()) > 0.85


def test_where_some_records_of_each_person_are_kept_every_view_says_that_counts_are_of_these(tmp_path):
    """The table has 900 records, of which 500 are kept: "about 500 real ones" would be false."""
    raw = {"id": [f"P{i % 300 if i < 500 else 0}" for i in range(900)], "a": [i % 3 for i in range(900)]}
    for person, known in ((Person("id", 2), "id"), (Person(["id", "b"], 2), "id, b")):
        table = raw | {"b": ["x"] * 900}
        columns = {"a": 3} if "b" in person.columns else {"a": 3, "b": ["x"]}
        schema = pypgm.Schema(columns, person=person)
        release = pypgm.synthesize(table, schema, budget=pypgm.Budget(rho=100))
        facts = Facts(release)
        said = r"about (499|500|501) ± \d+ \(90 %\) real ones kept, at most 2 of each person, a noisy count"
        assert re.fullmatch(said, facts.records_text)
        assert facts.losses.sentences()[0].startswith(f"records: at most 2 of each person, by {known}, were kept")
        assert facts.to_dict()["lost"]["persons"] == {known: 2}
        release.report_html(tmp_path / f"{len(known)}.html")
        page = (tmp_path / f"{len(known)}.html").read_text()
        for text in (
            "records of the real table (at most 2 of each person)",
            "every count is of these",
            "at most 2 of each person, by",
        ):
            assert text in page
    parents = pypgm.Schema({"a": 3}, person=Person("id", 2)).encode({name: raw[name] for name in ("id", "a")})
    children = pypgm.Dataset({"c": [0] * 900}, Domain({"c": 2}))
    both = mechanisms.synthesize_related(parents, children, range(900), max_children=3, epsilon=9, delta=1e-9)
    for part, at_most in ((both.parents, 2), (both.children, 6)):
        assert f"real ones kept, at most {at_most} of each person" in Facts(part).records_text
    whole = pypgm.synthesize({"a": raw["a"]}, pypgm.Schema({"a": 3}), budget=pypgm.Budget(rho=100))
    assert "of each person" not in Facts(whole).records_text + "; ".join(Facts(whole).losses.sentences())
