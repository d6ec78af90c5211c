"""One meaning of ±: whatever has one, or a whisker, reaches as far as 90 % of errors do, and names that level."""

from __future__ import annotations

import itertools
import json
import re
from statistics import NormalDist

import numpy as np
import pytest
from html_page import Page

import pypgm
from pypgm import Domain, bayes, demo, mechanisms, plot
from pypgm.cli import main
from pypgm.reporting.facts import Facts
from pypgm.reporting.words import reach_text

pytest.importorskip("jinja2")

REACH = 1.6448536  # of the normal distribution, 90 %
LEVEL = "90 %"
N = 3000
PLUS_MINUS = re.compile(r"([\d.,]+) ± ([\d.,]+\d)")


@pytest.fixture(scope="module")
def release():
    """Return a release of two columns that depend on each other, its number of records known by noise alone."""
    rng = np.random.default_rng(0)
    a = rng.integers(0, 3, N)
    columns = {"a": a, "b": np.where(rng.random(N) < 0.5, a % 2, rng.integers(0, 2, N))}
    return mechanisms.mst(pypgm.Dataset(columns, Domain({"a": ["x", "y", "z"], "b": 2})), epsilon=1, delta=1e-9)


@pytest.fixture(scope="module")
def network():
    data = pypgm.Dataset({"a": [0, 1] * 50, "b": [0, 1, 1, 0] * 25}, Domain({"a": 2, "b": 2}))
    return bayes.learn_private(data, [("a", "b")], 1.0, 1e-9)


def number(text):
    return float(text.replace(",", ""))


def test_texts_and_json_name_the_level_of_each_reach(release):
    facts = Facts(release)
    largest = max(
        float(facts.quality.errors[a,].values.max()) for a in release.model.domain if not facts.quality.reason((a,))
    )
    assert facts.to_dict()["quality"]["largest_error"]["records"] == pytest.approx(REACH * largest)
    assert json.loads(json.dumps(facts.to_dict()))["quality"]["largest_error"]["level"] == 0.9
    for text in (release.report(ledger=True), release.summary()):
        reaches = re.findall(r"± [\d.,]+\d(.{7})", text.replace("\n", " "))
        assert reaches
        assert set(reaches) == {f" ({LEVEL})"}
    total = re.search(r"about [\d,]+ ± ([\d,]+)", release.report())
    assert number(total[1]) == round(REACH * release._known.total_stddev)
    assert f"± {reach_text(REACH * largest)} ({LEVEL}) records" in release.report()


def test_the_page_has_the_errors_of_its_counts_and_names_their_level(release, tmp_path):
    release.report_html(tmp_path / "page.html")
    source = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert f"lies within its ± (the whisker) in {LEVEL} of cases" in Page(source).text
    errors = Facts(release).quality.errors
    shown = [number(reach) for reach in re.findall(r'class="quiet">± ([\d,]+)</span>', source)]
    expected = [round(REACH * error) for a in release.model.domain for error in errors[a,].datavector()]
    assert shown == expected
    labels = [text for text in re.findall(r'aria-label="([^"]*)"', source) if "±" in text]
    assert labels
    assert all(text.endswith(f"({LEVEL})") for text in labels)


def test_a_marginal_has_one_error_in_its_frame_and_the_reach_in_its_views(release):
    marginal = release.marginal("a")
    errors = marginal.errors.datavector()
    np.testing.assert_array_equal(errors, release.expected_error("a").datavector())
    cell = Page(marginal._repr_html_()).text
    assert f"± holds {LEVEL} of errors" in cell
    shown = [number(reach) for _, reach in PLUS_MINUS.findall(cell)]
    np.testing.assert_allclose(shown, REACH * errors, rtol=0.05)
    typical, level = re.search(r"± ([\d.]+) (\(.*?\)) in the median", repr(marginal)).groups()
    assert level == f"({LEVEL})"
    assert number(typical) == pytest.approx(REACH * float(np.median(errors)), rel=1e-2)
    pytest.importorskip("pandas")
    np.testing.assert_array_equal(marginal.to_frame()["error"], errors)


def whiskers(ax):
    """Return where the whiskers end to the right."""
    return np.array([segment[1, 0] for segment in ax.collections[0].get_segments()])


def test_whiskers_reach_as_far_and_name_the_level(release, network):
    pytest.importorskip("matplotlib")
    ax = plot.marginal(release, "a")
    reach = REACH * release.expected_error("a").datavector()
    np.testing.assert_allclose(whiskers(ax), release.project("a").datavector() + reach)
    assert f"whiskers hold {LEVEL} of errors" in ax.get_title(loc="left")
    ax = plot.table(network, "b")
    table, errors = network.model.tables["b"].datavector(), network.table_error("b").datavector()
    np.testing.assert_allclose(whiskers(ax), np.minimum(table + REACH * errors, 1))
    assert f"whiskers hold {LEVEL} of errors" in ax.get_title(loc="left")


def test_the_demo_has_the_same_reach_in_its_table_and_its_picture(tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    from matplotlib.axes import Axes

    data = demo.titanic()
    release = mechanisms.wide(data, epsilon=1, delta=1e-9)
    synthetic = release.synthetic_data(rng=0)
    errors, drawn = demo.errors(release, synthetic), []
    lines = demo.table_lines(synthetic, errors, demo.titles(release), unsafe_data=data)
    assert lines[0].endswith(f"± {LEVEL}")
    expected = [error.datavector() for error in errors]
    shown = [number(line.rpartition("± ")[2]) for line in lines[1:] if "±" in line]
    assert shown == [round(REACH * e) for e in itertools.chain(*expected)]
    original = Axes.errorbar

    def errorbar(ax, *places, xerr, label, **style):
        drawn.append((xerr, label))
        return original(ax, *places, xerr=xerr, label=label, **style)

    monkeypatch.setattr(Axes, "errorbar", errorbar)
    monkeypatch.chdir(tmp_path)
    demo.draw(synthetic, "", errors, demo.titles(release), unsafe_data=data)
    for (reach, label), own in zip(drawn, expected, strict=True):
        np.testing.assert_allclose(reach, REACH * own)
        assert f"({LEVEL})" in label


@pytest.mark.parametrize("clique", [("a",), ("b", "a")])
@pytest.mark.parametrize("given", [{}, {"a": "y"}])
def test_the_command_and_the_marginal_have_one_error_whatever_the_level(release, clique, given, tmp_path, capsys):
    """The error of a cell does not hang on the level; the ends of a level are as many errors away, in every frame."""
    if set(clique) & set(given):
        clique = ("b",)
    release.save(tmp_path / "r.pgm")
    conditions = [f"{name}={value}" for name, value in given.items()]
    asked = ["query", str(tmp_path / "r.pgm"), ",".join(clique), *(["--given", *conditions] if given else [])]
    assert main([*asked, "--json"]) == 0
    (answer,) = json.loads(capsys.readouterr().out)["answers"]
    assert main([*asked, "--format", "csv"]) == 0
    header, *rows = [line.split(",") for line in capsys.readouterr().out.split()]
    known = {name: np.array([cell[name] for cell in answer["cells"]]) for name in answer["cells"][0]}
    for level in (0.5, 0.9, 0.99):
        found = release.marginal(clique, given or None, level=level)
        errors, counts = found.errors.datavector(), found.counts.datavector()
        np.testing.assert_allclose(known["expected_error"], errors)
        np.testing.assert_allclose(known["probability" if given else "count"], counts)
        shown = [float(row[header.index("expected_error")]) for row in rows]
        np.testing.assert_allclose(shown, errors, rtol=0.01)
        pytest.importorskip("pandas")
        frame, reach = found.to_frame(), NormalDist().inv_cdf((1 + level) / 2)
        np.testing.assert_allclose(frame["error"], errors)
        np.testing.assert_allclose(frame["high"] - counts, reach * errors)
