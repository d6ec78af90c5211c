"""The page to show: whole without a network, readable by everybody, and every text of a table in it harmless."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from html_page import Page, check_whole
from nasty_table import SCHEMA, raw_table, released

import pypgm
from pypgm import Budget, Domain, bayes, cli, mechanisms, mrf
from pypgm.audit import Finding
from pypgm.data import Categorical, Integer
from pypgm.reporting import drawings
from pypgm.reporting.audited import AuditReport, write_audit
from pypgm.reporting.facts import Facts, Losses
from pypgm.reporting.quality import rounded
from pypgm.reporting.words import records_text

pytest.importorskip("jinja2")

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


@pytest.fixture(scope="module")
def release():
    return released()


def network_release():
    domain = Domain({"a": 2, "b": ["x", "y", "<u>"], "c": 2})
    rng = np.random.default_rng(0)
    data = pypgm.Dataset({n: rng.integers(0, domain.size((n,)), 800) for n in domain}, domain)
    return bayes.learn_private(data, [("a", "b"), ("b", "c")], epsilon=1)


def region_release():
    domain = Domain(dict.fromkeys("abcd", 3))
    rng = np.random.default_rng(0)
    data = pypgm.Dataset({n: rng.integers(0, 3, 800) for n in domain}, domain)
    return mechanisms.wide(data, epsilon=1, delta=1e-9, oracle="region_graph")


def field_release():
    domain = Domain(dict.fromkeys("abc", 2))
    rng = np.random.default_rng(0)
    data = pypgm.Dataset({n: rng.integers(0, 2, 800) for n in domain}, domain)
    return mrf.learn_ising(data, radius=1.0, epsilon=1, delta=1e-6)


def related_release():
    rng = np.random.default_rng(0)
    parents = pypgm.Dataset({"region": rng.integers(0, 3, 500)}, Domain({"region": ["n", "s", "<e>"]}))
    parent_of = np.repeat(np.arange(500), rng.integers(0, 4, 500))
    children = pypgm.Dataset({"sex": rng.integers(0, 2, parent_of.size)}, Domain({"sex": ["F", "M"]}))
    options = {"max_children": 3, "epsilon": 1, "delta": 1e-9}
    return mechanisms.synthesize_related(parents, children, parent_of, **options)


KINDS = [network_release, region_release, field_release, related_release]


def page_of(release, path, **more):
    release.report_html(path, **more)
    text = path.read_text(encoding="utf-8")
    assert len(text) < 2_000_000
    return text, Page(text)


def test_the_page_of_a_table(release, tmp_path):
    text, page = page_of(release, tmp_path / "report.html")
    check_whole(text, page)
    for part in (
        "nobody can become sure whether any one record is in the real table at all",
        "this fact changes the odds of any conclusion at most 2.8-fold (epsilon 1.0, delta 1e-09)",
        "counting pairs of columns",
        "What not to use it for",
        "coarsened: 20 bins",
        "“other”",
        "left out: <i>name</i>",
        "(missing)",
        "<b>who</b>",
        "<script>alert(1)</script>",
        r"\x1b[2J\u202e",
        "discrete Gaussian, variance",
        release.digest[:16],
    ):
        assert part in page.text, part
    assert "<script" not in text
    assert "ot for publication" not in page.text
    lang = [attributes for tag, attributes in page.elements if tag == "html"]
    assert lang == [{"lang": "en"}]
    assert "width=device-width" in text
    assert "prefers-color-scheme: dark" in text


def test_counts_that_are_mostly_noise_are_told_of_columns_and_of_pairs(tmp_path):
    rng = np.random.default_rng(0)
    data = pypgm.Dataset({a: rng.geometric(0.3, 3000).clip(1, 12) - 1 for a in "abc"}, Domain(dict.fromkeys("abc", 12)))
    release = mechanisms.wide(data, epsilon=1, delta=1e-9, unsafe_seed=2)
    _, page = page_of(release, tmp_path / "report.html")
    told = re.search(
        r"a count below about ([\d,]+) records of one column, or ([\d,]+) of two columns together", page.text
    )
    quality = Facts(release).quality
    for size, text in zip((1, 2), told.groups(), strict=True):
        cliques = [c for c in quality.errors if len(c) == size]
        counts, errors = (
            np.concatenate([of[c].datavector() for c in cliques]) for of in (quality.answers, quality.errors)
        )
        least = int(text.replace(",", ""))
        is_good = counts >= 2 * errors
        assert is_good[counts > least + 1].mean() >= 0.9
        assert size == 1 or is_good[counts < least].mean() < 0.9


def test_few_small_counts_among_large_ones_do_not_make_noise_small(tmp_path):
    """Of a table whose counts are nearly all large the limit is twice the error, not the smallest count."""
    rng = np.random.default_rng(3)
    ward, visits = rng.choice(5, 8000, p=[0.2, 0.4, 0.2, 0.198, 0.002]), rng.integers(0, 4, 8000)
    data = pypgm.Dataset(
        {"month": rng.integers(0, 36, 8000), "ward": ward, "visits": visits},
        Domain({"month": 36, "ward": 5, "visits": 4}),
    )
    release = mechanisms.wide(data, epsilon=1, delta=1e-9, unsafe_seed=0)
    _, page = page_of(release, tmp_path / "report.html")
    told = re.search(r"a count below about ([\d,]+) records of one column, or ([\d,]+) of two columns", page.text)
    assert all(5 < int(text) < 200 for text in told.groups())


def test_the_best_pairs_are_counted_ones_and_small_ones_are_tables(tmp_path):
    rng = np.random.default_rng(0)
    data = pypgm.Dataset({a: rng.integers(0, 2, 500) for a in "abcdef"}, Domain({a: ["no", "yes"] for a in "abcdef"}))
    release = mechanisms.mst(data, epsilon=1, delta=1e-9)
    text, page = page_of(release, tmp_path / "report.html", title="of the <city>")
    check_whole(text, page)
    assert "of the <city>" in page.text
    assert "could come to look between 26 and 74 % likely" in page.text
    shown = re.findall(r"<h4>(\w) × (\w)</h4>\s*<p [^>]*>(.*?)</p>\s*<figure>(.*?)</figure>", text, re.S)
    far = Facts(release).quality.of("pairs")
    worst = [pair for pair, _ in sorted(far.items(), key=lambda item: -item[1])[:3]]
    counted = {pair for pair in far if release.model.basis(pair) == "measured"}
    n_best = min(3, len(counted - {*worst}))  # of five that are counted, noise may make some the worst of all
    assert [(a, b) for a, b, *_ in shown[n_best:]] == worst
    assert len(shown[:n_best]) == n_best > 0
    for a, b, told, figure in shown[:n_best]:
        assert release.model.basis((a, b)) == "measured"
        assert "a guess" not in told
        counts = release.model.project((b, a) if "down: {b}" in figure else (a, b)).values
        assert re.findall(r"<span>([\d,]+)</span>", figure) == [f"{c:,.0f}" for c in counts.ravel()]


def test_real_counts_come_marked_and_only_when_asked_for(release, tmp_path):
    data = SCHEMA.encode(raw_table())
    text, page = page_of(release, tmp_path / "unsafe.html", unsafe_data=data)
    check_whole(text, page)
    assert page.text.count("ot for publication") >= 3
    real = f"{data.project('city').values[0]:,.0f}"
    assert f'<span class="true">{real}</span>' in text
    quiet, _ = page_of(release, tmp_path / "quiet.html")
    assert 'class="true"' not in quiet
    assert 'class="real"' not in quiet
    with pytest.raises(ValueError, match="the records are over"):
        release.report_html(tmp_path / "no.html", unsafe_data=pypgm.Dataset({"a": [0]}, Domain({"a": 1})))
    assert not (tmp_path / "no.html").exists()


@pytest.mark.parametrize("made", KINDS)
def test_pages_of_other_releases(made, tmp_path):
    text, page = page_of(made(), tmp_path / "report.html")
    check_whole(text, page)
    assert "What is promised" in page.text
    if made is network_release:
        assert "A row of one of its tables" in page.text
        assert sum(tag == "circle" for tag, _ in page.elements) == 3
    if made is related_release:
        assert "whether any one parent, with all their children (at most 3 kept), is in the real tables" in page.text
        assert "How good it is: children" in page.text
        assert "children: counting" in page.text


def test_a_release_for_nobody_says_so(tmp_path):
    data = pypgm.Dataset({"a": [0, 1] * 50}, Domain({"a": 2}))
    release = mechanisms.wide(data, epsilon=1, delta=1e-9, unsafe_seed=1)
    text, page = page_of(release, tmp_path / "report.html")
    check_whole(text, page)
    assert "This release protects nobody" in page.text
    assert "nobody can become sure" not in page.text


def test_a_budget_without_epsilon(tmp_path):
    data = pypgm.Dataset({"a": [0, 1] * 50}, Domain({"a": 2}))
    text, page = page_of(mechanisms.mst(data, budget=Budget(rho="1/4")), tmp_path / "report.html")
    check_whole(text, page)
    assert "rho 0.25, of zero-concentrated differential privacy" in page.text


def test_bars_are_the_counts():
    """Lengths are in proportion, error bars hold nine in ten, and pooled values lose no record."""
    counts, errors = np.array([10.0, 40.0, 0.0]), np.array([2.0, 4.0, np.inf])
    found = drawings.bars("a", ["x", "y", "z"], counts, errors, is_ordinal=False)
    assert found.bars[1].high == 100
    assert [bar.length for bar in found.bars] == pytest.approx([100 * c / (40 + 4 * 1.6448536) for c in counts])
    assert found.bars[0].low == pytest.approx(100 * (10 - 2 * 1.6448536) / (40 + 4 * 1.6448536))
    assert found.bars[2].high == 0
    rng = np.random.default_rng(0)
    for size, is_ordinal in ((500, True), (500, False), (12, True)):
        counts = rng.integers(0, 50, size).astype(float)
        found = drawings.bars("a", [str(i) for i in range(size)], counts, None, counts, is_ordinal=is_ordinal)
        assert sum(bar.count for bar in (*found.bars, *found.apart)) == counts.sum()
        assert sum(bar.real for bar in (*found.bars, *found.apart)) == counts.sum()
        assert len(found.bars) <= 120
        assert found.is_histogram == (is_ordinal and size > 12)
    table = rng.integers(1, 9, (60, 3)).astype(float)
    drawn = drawings.grid(("a", "b"), [[str(i) for i in range(60)], ["x", "y", "z"]], table)
    squares = np.square(drawn.shades)
    assert (len(drawn.rows), len(drawn.columns)) == squares.shape == (24, 3)
    painted = np.zeros(squares.shape)
    for shade, path in drawn.paths:
        for j, i, width, back in re.findall(r"M(\d+) (\d+)h(\d+)v1h-(\d+)z", path):
            assert width == back
            painted[int(i), int(j) : int(j) + int(width)] += shade
    assert painted == pytest.approx(np.array(drawn.shades), abs=0.005)
    assert (squares / squares.sum()).sum(axis=0) == pytest.approx(table.sum(axis=0) / table.sum())


@pytest.mark.parametrize("seed", range(6))
def test_areas_are_the_counts_and_what_is_no_value_sets_no_scale(seed):
    """Bins of any widths, over which records are even, are of one height, whatever is missing or heaps at a number."""
    rng = np.random.default_rng(seed)
    widths = rng.integers(1, 10 ** (1 + seed % 3), 20).astype(float)
    starts = np.append(0.0, widths.cumsum())
    is_wide = widths.max() > 100 * widths.min()
    counts = np.append(1000 * widths / widths.sum(), [rng.integers(10**6), rng.integers(10**6)])
    labels = [*map(str, range(20)), "other", "(missing)"]
    found = drawings.bars("a", labels, counts, None, is_ordinal=True, n_values=20, starts=starts)
    shares = [bar.length * bar.width for bar in found.bars]
    assert sum(bar.width for bar in found.bars) == pytest.approx(100)
    assert [s / sum(shares) for s in shares] == pytest.approx(
        [b.count / sum(b.count for b in found.bars) for b in found.bars]
    )
    if not is_wide:
        assert not found.is_log
        assert [bar.length for bar in found.bars] == pytest.approx([100] * 20)
    assert max(bar.length for bar in found.bars) == pytest.approx(100)
    assert [bar.label for bar in found.apart[-2:]] == ["other", "(missing)"]
    assert [bar.length for bar in found.apart[-2:]] == pytest.approx(100 * counts[-2:] / counts.sum())


def test_a_heap_among_bins_stands_apart():
    starts = np.array([0.0, 0.01, *np.linspace(5, 1000, 20)])
    counts = np.append(9000.0, np.full(20, 50.0))
    found = drawings.bars("a", [*map(str, range(21))], counts, None, is_ordinal=True, n_values=21, starts=starts)
    assert [bar.label for bar in found.apart] == ["0"]
    assert len(found.bars) == 20


def test_the_report_command(release, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    release.save("r.pgm")
    table = raw_table()
    lines = [
        ",".join(table),
        *(",".join(f'"{v.replace(chr(34), chr(34) * 2)}"' for v in row) for row in zip(*table.values(), strict=True)),
    ]
    Path("t.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert cli.main(["report", "r.pgm", "--out", "r.html"]) == 0
    assert capsys.readouterr().err == "wrote r.html, as public as the release\n"
    assert cli.main(["report", "r.pgm", "--out", "r.html"]) == 0
    assert capsys.readouterr().err == "done already: r.html is a page of this release\n"
    Path("o.html").write_text("another page")
    assert cli.main(["report", "r.pgm", "--out", "o.html"]) == 2
    assert "already exists" in capsys.readouterr().err
    assert cli.main(["report", "r.pgm", "t.csv", "--out", "u.html"]) == 2
    assert "TABLE and --unsafe go together" in capsys.readouterr().err
    assert cli.main(["report", "r.pgm", "t.csv", "--unsafe", "--out", "u.html"]) == 0
    assert "NOT PRIVATE" in capsys.readouterr().err
    assert "Not for publication." in Path("u.html").read_text(encoding="utf-8")
    related_release().save("both")
    assert cli.main(["report", "both", "--out", "both.html", "--json"]) == 0
    assert '"parts"' in capsys.readouterr().out
    release.model.save("model.pgm")
    assert cli.main(["report", "model.pgm", "--out", "m.html"]) == 2
    assert "holds only a model" in capsys.readouterr().err
    assert not Path("m.html").exists()


def test_without_jinja_the_message_names_the_extra(release, tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(__import__("sys").modules, "jinja2", None)
    with pytest.raises(ImportError, match=r"pypgm\[report\]"):
        release.report_html(tmp_path / "r.html")
    release.save(tmp_path / "r.pgm")
    assert cli.main(["report", str(tmp_path / "r.pgm"), "--out", str(tmp_path / "r.html")]) == 2
    assert "pypgm[report]" in capsys.readouterr().err
    assert not (tmp_path / "r.html").exists()


def test_templates_are_compiled_once(release, tmp_path, monkeypatch):
    release.report_html(tmp_path / "one.html")
    monkeypatch.setattr("jinja2.Environment.compile", None)
    release.report_html(tmp_path / "other.html")
    assert (tmp_path / "one.html").read_bytes() == (tmp_path / "other.html").read_bytes()


def test_importing_the_package_leaves_pages_alone():
    import subprocess
    import sys

    code = "import sys, pypgm, pypgm.cli; sys.exit('jinja2' in sys.modules)"
    assert subprocess.run([sys.executable, "-I", "-c", code], check=False).returncode == 0


def wide_release():
    """Return a release of columns of every kind: many values, long names, quantile bins."""
    rng = np.random.default_rng(0)
    columns = {
        "a name that is as long as names of columns are in questionnaires": Categorical(
            [f"answer {i}" for i in range(30)]
        ),
        "pay": Integer(0, 999, edges=[10, 20, 50, 100]),
        "member": pypgm.data.Boolean(["no", "yes"], null=""),
        **{f"item{i}": Categorical(["never", "sometimes", "always"]) for i in range(12)},
    }
    schema = pypgm.Schema(columns)
    codes = {n: rng.integers(0, c.size, 1000) for n, c in columns.items()}
    return mechanisms.wide(schema.records(codes), epsilon=1, delta=1e-9)


def compared():
    table = raw_table()
    return pypgm.compare({name: column[::-1] for name, column in table.items()}, table)


class audited:  # noqa: N801 - it stands where functions do
    """A release whose page has an audit."""

    def report_html(self, path):
        found = tuple(Finding("calibration", "wide " * 40, how, "64 draws " * 40) for how in ("ok", "failed"))
        write_audit(path.with_suffix(".json"), AuditReport(found, ("mst",)))
        region_release().report_html(path, audit=path.with_suffix(".json"))


@pytest.fixture(scope="module")
def browser():
    sync = pytest.importorskip("playwright.sync_api", reason="needs playwright")
    with sync.sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-dev-shm-usage"])
        yield opened
        opened.close()


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")
@pytest.mark.parametrize("made", [wide_release, *KINDS, compared, audited])
def test_in_a_browser(made, browser, tmp_path):
    """No message, no request, nothing to scroll sideways on a telephone, and it prints."""
    found = made()
    found.report_html(tmp_path / "report.html")
    address = (tmp_path / "report.html").as_uri()
    heard = []
    for width in (380, 1200):
        for scheme in ("light", "dark"):
            context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme)
            page = context.new_page()
            page.on("console", lambda message: heard.append(message.text))
            page.on("pageerror", lambda error: heard.append(str(error)))
            page.on("request", lambda request: heard.append(request.url))
            page.goto(address)
            for is_open in ("false", "true"):
                page.evaluate(f"document.querySelectorAll('details').forEach(d => d.open = {is_open})")
                assert page.evaluate("document.documentElement.scrollWidth") <= width
                outside = "[...document.querySelectorAll('main *')].map(e => e.getBoundingClientRect().right)"
                assert max(page.evaluate(outside)) <= width + 1
            context.close()
    page = browser.new_page()
    page.goto(address)
    assert page.pdf()[:5] == b"%PDF-"
    page.close()
    assert [text for text in heard if text != address] == []


def test_facts_are_one_for_terminal_and_page(release, tmp_path):
    _, page = page_of(release, tmp_path / "report.html")
    quality = Facts(release).quality
    assert f"{rounded(quality.mean('columns'))} points" in page.text
    assert f"{rounded(quality.mean('pairs'))} points" in page.text


@pytest.mark.parametrize(("number", "told"), [(1, "1 real one"), (2, "2 real ones"), (0, "0 real ones")])
def test_one_of_a_thing_is_told_as_one(number, told):
    assert records_text(number, is_public=True) == told
    assert records_text(number, is_public=False) == f"about {told}, a noisy count"
    kept = Losses({}, {}, {"city": 0.25}, {"city": number}, {}, ()).sentences()[0]
    assert kept.endswith("; 1 value kept)" if number == 1 else f"; {number} values kept)")


@pytest.mark.parametrize("seed", range(20))
def test_no_arc_of_a_small_network_is_drawn_through_a_node(seed):
    rng = np.random.default_rng(seed)
    names = "abcd"[: 3 + seed % 2]
    parents = {a: [p for p in names[:i] if p == names[i - 1] or rng.random() < 0.7] for i, a in enumerate(names)}
    found = drawings.graph(parents)
    for arc in found.arcs:
        for _, x, y in found.nodes:
            if arc.y1 < y < arc.y2:
                t = (y - arc.y1) / (arc.y2 - arc.y1)
                curve = arc.x1 + t * (arc.x2 - arc.x1) + 2 * t * (1 - t) * getattr(arc, "bend", 0.0)
                assert abs(curve - x) > 5
