"""One figure for one thing: whatever of a release is said in a text, on a page, in a cell or in JSON is the same."""

from __future__ import annotations

import contextlib
import io
import itertools
import json
import re

import numpy as np
import pytest
from html_page import Page

import pypgm
from pypgm import Budget, Domain, bayes, cli, mechanisms, mrf
from pypgm.data import Categorical, Integer
from pypgm.reporting.facts import Facts
from pypgm.reporting.quality import rounded
from pypgm.reporting.shares import ledger_lines
from pypgm.reporting.words import percent, reach_text

pytest.importorskip("jinja2")

N = 800
NUMBER = r"(\d[\d,]*(?:\.\d+)?)"
SHARE = r"((?:[<>] )?\d+(?:\.\d+)? %)"


def records(n_columns, seed):
    """Return records of columns of two to five values, of which some depend on a common one."""
    rng = np.random.default_rng(seed)
    sizes = {f"x{i}": 2 + int(rng.integers(4)) for i in range(n_columns)}
    common = rng.integers(0, 60, N)
    columns = {
        a: np.where(rng.random(N) < rng.random(), common % size, rng.integers(0, size, N)) for a, size in sizes.items()
    }
    return pypgm.Dataset(columns, Domain(sizes))


def of_a_schema(seed):
    """Return a release of a table that lost detail, has missing values and "other"."""
    rng = np.random.default_rng(seed)
    table = {
        "age": list(map(int, rng.integers(0, 90, N))),
        "city": list(rng.choice(["Aba", "Bor", "Cam"], N, p=[0.5, 0.3, 0.2])),
        "member": list(rng.choice(["no", "yes", ""], N)),
    }
    columns = {
        "age": Integer(0, 99, width=5),
        "city": Categorical(["Aba"], other=True),
        "member": pypgm.data.Boolean(["no", "yes"], null=""),
    }
    return pypgm.synthesize(table, pypgm.Schema(columns), epsilon=1, delta=1e-9)


def network(seed):
    families = [("x0", "x1"), ("x1", "x2"), ("x2", "x3")]
    return bayes.learn_private(records(4, seed), families, 1.0, 1e-9)


MADE = {
    **{
        f"{name} of {n} columns, epsilon {epsilon}": lambda seed, name=name, n=n, epsilon=epsilon: getattr(
            mechanisms, name
        )(records(n, seed), budget=Budget(epsilon=epsilon, delta=1e-9))
        for name, n, epsilon in [
            *itertools.product(["wide", "mst", "aim"], [4], ["0.1", "1", "10"]),
            ("wide", 16, "1"),  # 120 pairs
            ("mst", 47, "1"),  # more than are looked at
            ("adaptive_grid", 5, "1"),
            ("hdmm", 3, "1"),
            ("fem", 3, "1"),
        ]
    },
    "privbayes of a pure budget": lambda seed: mechanisms.privbayes(records(4, seed), epsilon=1),
    "a partly measured table": lambda seed: mechanisms.aim(records(4, seed), 1, 1e-9, workload=[["x0", "x1"]]),
    "a schema": of_a_schema,
    "a network": network,
    "a field": lambda seed: mrf.learn_pairwise(records(3, seed), radius=1.0, epsilon=1, delta=1e-9, steps=5),
}
SLOW = {"mst of 47 columns, epsilon 1"}


def said_by(*arguments):
    """Return what a command writes."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(io.StringIO()):
        assert cli.main([*map(str, arguments)]) == 0
    return said.getvalue()


def texts_of(release, saved):
    """Return each text of a release by its name."""
    return {
        "report": release.report(),
        "report(ledger=True)": release.report(ledger=True),
        "summary": release.summary(),
        "pypgm info": said_by("info", saved),
        "pypgm info --model --ledger": said_by("info", saved, "--model", "--ledger"),
    }


def html_of(release, folder):
    """Yield the text of the page and of the cell of a notebook."""
    release.report_html(folder / "page.html")
    yield "page", Page((folder / "page.html").read_text(encoding="utf-8")).text
    yield "cell", Page(release._repr_html_()).text


def number(text):
    return float(text.replace(",", ""))


def check_points(name, text, quality):
    """Check all percentage points of a text: averages of columns and of pairs, and those of single ones."""
    if quality is None:
        assert not re.search(rf"{NUMBER} (?:percentage )?points off on average", text), name
        return
    kinds = {kind: quality[kind]["points"] for kind in ("columns", "pairs")}
    columns = {e["columns"][0]: e["points"] for e in quality["columns"]["each"]}
    pairs = {tuple(e["columns"]): e["points"] for e in quality["pairs"]["each"]}
    averages = re.findall(rf"(columns|pairs) {NUMBER} points off on average", text)
    averages += re.findall(rf"On average a (column) is expected to be {NUMBER} points", text)
    averages += re.findall(rf"off, a (pair) of columns {NUMBER} points", text)
    averages += re.findall(rf"{NUMBER} percentage points of a (pair) of attributes", text)
    for entry in averages:
        kind, points = sorted(entry, key=lambda part: part[0].isdigit())
        expected = kinds[kind if kind.endswith("s") else f"{kind}s"]
        assert points == rounded(expected), (name, kind, points, expected)
    for one, other, points in re.findall(rf"(x\d+) × (x\d+) {NUMBER}", text):
        assert points == rounded(pairs[one, other]), (name, one, other)
    for column, points in re.findall(rf"(?<!× )(x\d+) (?:[\d,]+ values, )?{NUMBER} points off", text):
        assert points == rounded(columns[column]), (name, column)
    for column, points in re.findall(r" (x\d+) \d+ (\d+\.\d\d)(?= )(?! records)", text.partition("column values")[2]):
        assert number(points) == number(rounded(columns[column])), (name, column)


def check_shares(name, text, shares, *, first):
    """Check each share of the budget; it stands before its purpose in texts, and behind it in tables."""
    for purpose, expected in shares.items():
        pattern = rf"{SHARE} {re.escape(purpose)}(?![\w ]*:)" if first else rf"{re.escape(purpose)} {SHARE}"
        for found in re.findall(pattern, text):
            assert found == percent(expected), (name, purpose)


def check_records(name, text, facts):
    """Check how many records there are said to be, and the largest error."""
    found = re.findall(rf"(?<!below )about {NUMBER} (?:± {NUMBER} \(90 %\) )?(?:real ones?|records)", text)
    found += re.findall(rf"(?:measurements, |: ){NUMBER}() (?:records|real ones)\b", text)
    for records_said, _ in found:
        assert number(records_said) == round(facts["records"]), name
    largest = facts["quality"] and facts["quality"]["largest_error"]
    for reach, column in re.findall(rf"largest error ± {NUMBER} \(90 %\) records, in a count of (\w+)", text):
        assert (column, reach) == (largest["column"], reach_text(largest["records"])), name


@pytest.mark.filterwarnings("ignore::pypgm.errors.WeakGuaranteeWarning", "ignore:aim never measures:UserWarning")
@pytest.mark.parametrize("made", [pytest.param(m, marks=pytest.mark.slow) if m in SLOW else m for m in MADE])
def test_each_figure_is_the_same_wherever_it_is_said(made, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")  # of a terminal
    release = MADE[made](sum(map(ord, made)))
    release.save(saved := tmp_path / "saved.pgm")
    facts = json.loads(said_by("info", saved, "--json"))
    assert {name: facts[name] for name in ("quality", "budget", "lost", "records", "warnings")} == {
        name: json.loads(json.dumps(value))
        for name, value in Facts(release).to_dict().items()
        if name in {"quality", "budget", "lost", "records", "warnings"}
    }
    shares = {share["purpose"]: share["share"] for share in facts["budget"]}
    lost = [re.sub(r"\s+", " ", text) for text in Facts(release).losses.sentences()]
    texts = texts_of(release, saved)
    joined = [(name, re.sub(r"\s+", " ", text)) for name, text in texts.items()]
    for is_text, views in ((True, joined), (False, html_of(release, tmp_path))):
        for name, text in views:
            check_points(name, text, facts["quality"])
            check_records(name, text, facts)
            check_shares(name, text, shares, first=is_text)
            assert any(purpose in text for purpose in shares), name
            if name not in {"summary", "cell"}:
                assert all(sentence in text for sentence in lost), name
                assert all(warning in text for warning in facts["warnings"]), name
                if facts["quality"] and facts["quality"]["pairs"]["points"] is not None:
                    assert f"{rounded(facts['quality']['pairs']['points'])} points" in text, name
    assert texts["report"] == texts["pypgm info"].removesuffix("\n")
    assert texts["report(ledger=True)"] == texts["pypgm info --model --ledger"].removesuffix("\n")


def test_the_ledger_is_spelled_the_same_in_each_view(tmp_path):
    release = MADE["wide of 4 columns, epsilon 1"](0)
    entries = ledger_lines(release.ledger, Facts(release).shares)
    laws = [law for _, laws in entries for law in laws]
    assert len(laws) > 4
    views = [("report", re.sub(r"\s+", " ", release.report(ledger=True))), *html_of(release, tmp_path)]
    for name, text in views:
        assert all(re.sub(r"\s+", " ", law) in text for law in laws), name


@pytest.mark.parametrize("seed", [0, 1])
def test_each_figure_of_related_tables_is_the_same_wherever_it_is_said(seed, tmp_path):
    parents, children = (pypgm.Dataset(records(3, seed + i).columns, records(3, seed + i).domain) for i in (0, 7))
    children = pypgm.Dataset(
        {f"x{i + 3}": column for i, column in enumerate(children.columns.values())},
        Domain({f"x{i + 3}": size for i, size in enumerate(children.domain.shape)}),
    )
    related = mechanisms.synthesize_related(
        parents, children, np.arange(N), max_children=2, epsilon=1, delta=1e-9, context=["x0"]
    )
    related.save(tmp_path / "saved")
    report = re.sub(r"\s+", " ", related.report())
    related.report_html(tmp_path / "page.html")
    page, cell = (
        Page(text).text for text in ((tmp_path / "page.html").read_text(encoding="utf-8"), related._repr_html_())
    )
    cell = cell[cell.index("What both cost") :]
    budget = report.partition(" parents: made by")[0]
    purposes = re.findall(rf"{SHARE} ((?:parents|children): [\w ]+\w)", budget)
    assert len(purposes) >= 3
    for share, purpose in purposes:
        for name, text in (("page", page), ("cell", cell)):
            assert re.findall(rf"{re.escape(purpose)} {SHARE}", text)[:1] == [share], (name, purpose)
    for name, release in (("parents", related.parents), ("children", related.children)):
        facts = Facts(release).to_dict()
        others = {"parents": "children", "children": "parents"}
        own = report.partition(f" {name}: made by")[2].partition(f" {others[name]}: made by")[0]
        check_points("report", own, facts["quality"])
        check_records("report", own, facts)
        for kind in ("columns", "pairs"):
            points = rounded(facts["quality"][kind]["points"])
            assert f"{points} points off on average" in own
            assert f"{points} points" in page
