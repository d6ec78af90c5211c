"""Cards of synthetic records: every figure is the release's, nothing in a name is a mark, catalogues can read them."""

from __future__ import annotations

import hashlib
import json
import re

import numpy as np
import pytest
from nasty_table import NASTY, released

import pypgm
from pypgm import Dataset, Domain, bayes, cli, mechanisms, mrf
from pypgm.data import Date, Integer, Real
from pypgm.reporting.card import SPDX, Licence
from pypgm.reporting.facts import Facts
from pypgm.reporting.quality import rounded
from pypgm.reporting.words import percent, reach_text


@pytest.fixture(scope="module")
def release():
    return released()


def header_of(text):
    """Return the header of a card, by the rules that catalogues follow: between lines of three hyphens, YAML."""
    yaml = pytest.importorskip("yaml")
    _, header, body = re.split(r"^---$", text, maxsplit=2, flags=re.MULTILINE)
    return yaml.safe_load(header), body


def shown(markdown):
    """Return what a reader of Markdown sees, and the kinds of its elements."""
    parser = pytest.importorskip("markdown_it").MarkdownIt("commonmark").enable("table")
    found = [t for token in parser.parse(markdown) for t in (token, *(token.children or ()))]
    text = " ".join(t.content for t in found if t.type in {"text", "text_special", "code_inline"})
    return text, {t.type.removesuffix("_open") for t in found}


def tables_of(seed):
    """Return a table of all types, and its schema."""
    rng = np.random.default_rng(seed)
    n = 400
    table = {
        "age": [str(x) for x in rng.integers(0, 90, n)],
        "paid": [f"{x:.2f}" for x in rng.random(n) * 99],
        "day": [f"2020-01-{x:02}" for x in rng.integers(1, 29, n)],
        "code": [f"0{x}" for x in rng.integers(1, 4, n)],
        "is_new": list(rng.choice(["True", "False", ""], n)),
    }
    schema = {
        "age": Integer(0, 99, width=5),
        "paid": Real(0, 100, bins=5),
        "day": Date("2020-01-01", "2020-01-31"),
        "code": ["01", "02", "03"],
        "is_new": pypgm.data.Boolean(["False", "True"], null=""),
    }
    return table, pypgm.Schema(schema)


def test_every_figure_of_a_card_is_the_releases(release, tmp_path):
    release.write(tmp_path / "people.csv", rng=0)
    release.card(tmp_path / "README.md", file=tmp_path / "people.csv", title="People")
    text = (tmp_path / "README.md").read_text(encoding="utf-8")
    facts = Facts(release)
    content = (tmp_path / "people.csv").read_bytes()
    for figure in (
        f"{rounded(facts.quality.mean('columns'))} points off on average",
        f"{rounded(facts.quality.mean('pairs'))} points off on average",
        f"{reach_text(facts.quality.largest_error[1])} records (90 %)",
        facts.records_text,
        release.digest,
        hashlib.sha256(content).hexdigest(),
        f"{len(content):,}",
        f"{round(release.model.total):,} synthetic records of 4 columns in people.csv",
        *(percent(share.share) for share in facts.shares),
        *(f"| {facts.quality.shown((name,))} |" for name in release.model.domain),
    ):
        assert figure in text, figure
    seen, _ = shown(header_of(text)[1])
    for line in (*facts.losses.sentences(), release.promise.protects, "epsilon 1.0, delta 1e-09"):
        assert " ".join(line.split()) in " ".join(seen.split()), line


def test_nothing_in_a_name_is_a_mark(release, tmp_path):
    """Names and labels with marks of Markdown, HTML and YAML are read as they are, and change nothing else."""
    marks = ["*a*", "_b_", "`c`", "[d](e)", "f | g", "<h>", "# i", "~~j~~", "&amp;", "\\k", "l\u202em", "- n", "a_b"]
    domain = Domain(marks, [2] * len(marks), {marks[0]: ("**x**", "y|z")})
    data = Dataset({a: np.arange(200) % 2 for a in marks}, domain)
    made = mechanisms.mst(data, epsilon=1, delta=1e-9)
    for title in (" ".join((*marks, *NASTY)), "---", 'a: "b"'):
        made.card(tmp_path / "card.md", title=title)
        text = (tmp_path / "card.md").read_text(encoding="utf-8")
        header, body = header_of(text)
        assert header["pretty_name"] == title.replace("\u202e", r"\u202e").replace("\x1b", r"\x1b")
        seen, kinds = shown(body)
        assert kinds <= {
            *("heading", "paragraph", "inline", "text", "text_special", "bullet_list", "list_item", "strong"),
            *("table", "thead", "tbody", "tr", "th", "td", "softbreak"),
            *(f"{kind}_close" for kind in ("heading", "paragraph", "bullet_list", "list_item", "strong")),
            *(f"{kind}_close" for kind in ("table", "thead", "tbody", "tr", "th", "td")),
        }
        joined = re.sub(r"\s", "", seen)
        for name in (*marks, title, "**x**", "y|z"):
            escaped = name.replace("\u202e", r"\u202e").replace("\x1b", r"\x1b")
            assert re.sub(r"\s", "", escaped) in joined, name
        assert all(c.isprintable() or c == "\n" for c in text)


@pytest.mark.parametrize("suffix", ["csv", "csv.gz", "parquet"])
def test_types_in_the_file_are_those_of_its_values(suffix, tmp_path):
    pytest.importorskip("pyarrow" if suffix == "parquet" else "numpy")
    table, schema = tables_of(0)
    made = pypgm.synthesize(table, schema, epsilon=1, delta=1e-9)
    path = tmp_path / f"people.{suffix}"
    made.write(path)
    made.card(tmp_path / "croissant.json", file=path)
    card = json.loads((tmp_path / "croissant.json").read_text(encoding="utf-8"))
    (file,), (records,) = card["distribution"], card["recordSet"]
    assert file["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
    types = {field["source"]["extract"]["column"]: field["dataType"] for field in records["field"]}
    wanted = {"age": "Integer", "paid": "Float", "day": "Date", "code": "Text", "is_new": "Boolean"}
    assert types == {name: f"sc:{kind}" for name, kind in wanted.items()}
    made.card(tmp_path / "README.md", file=path)
    text = (tmp_path / "README.md").read_text(encoding="utf-8")
    assert header_of(text)[0]["configs"] == [
        {"config_name": "default", "data_files": [{"split": "train", "path": path.name}]}
    ]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of what the reader uses itself
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_croissant_is_what_its_readers_read(suffix, tmp_path, monkeypatch):
    """The reader of MLCommons finds no error in a card, and reads by it the records that were drawn."""
    reader = pytest.importorskip("mlcroissant")
    pytest.importorskip("pyarrow")
    table, schema = tables_of(1)
    made = pypgm.synthesize(
        {**table, 'a "b" <c>': table["code"]},
        pypgm.Schema({**schema.columns, 'a "b" <c>': ["01", "02", "03"]}),
        epsilon=1,
        delta=1e-9,
    )
    monkeypatch.chdir(tmp_path)
    made.write(f"people.{suffix}", rng=0)
    made.card("croissant.json", file=f"people.{suffix}", license="CC-BY-4.0")
    dataset = reader.Dataset("croissant.json")
    assert not dataset.metadata.ctx.issues.errors
    assert not dataset.metadata.ctx.issues.warnings
    rows = list(dataset.records("records"))
    drawn = pypgm.read_table(f"people.{suffix}", made.schema)
    assert len(rows) == len(drawn)
    ages = np.array([row["records/age"] for row in rows]) // 5
    assert np.array_equal(ages, drawn.columns["age"])


@pytest.mark.parametrize("name", [*SPDX.values(), "https://example.org/terms", "Open Government Licence, v3", ""])
def test_a_licence_is_named_as_catalogues_name_it(release, name, tmp_path):
    for given in {name, name.lower() if name in SPDX.values() else name}:
        licence = Licence.of(given)
        assert licence.name == name
        assert licence.url == (
            f"https://spdx.org/licenses/{name}" if name in SPDX.values() else name if ":" in name else ""
        )
    if not name or name not in SPDX.values():
        release.card(tmp_path / "card.md", license=name)
        header, body = header_of((tmp_path / "card.md").read_text(encoding="utf-8"))
        assert header["license"] == ("other" if name else "unknown")
        assert ("None is stated" in body) == (not name)


@pytest.mark.parametrize(
    "name", ["http://x>) <b>", "https://e.org/a b", "http://x\n---\nlicense: mit", "http://", "\u0085"]
)
def test_what_is_no_address_is_the_name_of_a_licence_and_ends_no_line(release, name, tmp_path):
    assert Licence.of(name).url == ""
    release.card(tmp_path / "card.md", license=name)
    header, body = header_of((tmp_path / "card.md").read_text(encoding="utf-8"))
    assert header["license"] == "other"
    assert "license_link" not in header
    assert "<b>" not in body
    for wrong in ({"license": None}, {"license": 5}, {"title": None}, {"title": ["a"]}):
        with pytest.raises(TypeError, match=next(iter(wrong))):
            release.card(tmp_path / "card.md", **wrong)


def test_the_header_names_a_file_with_odd_marks_as_it_is(release, tmp_path):
    path = tmp_path / "a|b\u0085\u2028 é.csv"
    release.write(path, rng=0)
    release.card(tmp_path / "card.md", file=path)
    header, _ = header_of((tmp_path / "card.md").read_text(encoding="utf-8"))
    assert header["configs"][0]["data_files"][0]["path"] == path.name


def test_the_separator_of_a_file_is_in_the_header(tmp_path):
    (tmp_path / "t.csv").write_text("a;b\n" + "1;0\n0;1\n" * 100)
    schema = pypgm.Schema({"a": Integer(0, 1), "b": Integer(0, 1)})
    made = pypgm.synthesize(tmp_path / "t.csv", schema, epsilon=1, delta=1e-9, delimiter=";")
    made.write(tmp_path / "s.csv")
    made.card(tmp_path / "card.md", file=tmp_path / "s.csv")
    assert header_of((tmp_path / "card.md").read_text())[0]["configs"][0]["sep"] == ";"


def test_releases_of_every_kind_have_a_card(tmp_path):
    data = Dataset({a: np.arange(400) // (i + 1) % 2 for i, a in enumerate("abc")}, Domain(dict.fromkeys("abc", 2)))
    network = bayes.learn_private(data, [("a", "b"), ("b", "c")], epsilon=1)
    for made in (network, mrf.learn_ising(data, radius=1.0, epsilon=1, delta=1e-6)):
        made.write(tmp_path / "r.csv")
        made.card(tmp_path / "card.md", file=tmp_path / "r.csv")
        assert "not known" in (tmp_path / "card.md").read_text(encoding="utf-8")
        made.card(tmp_path / "card.json", file=tmp_path / "r.csv")
        (tmp_path / "card.md").unlink()


def test_what_is_not_protected_comes_first(tmp_path):
    data = Dataset({"a": [0, 1] * 50}, Domain({"a": 2}))
    made = mechanisms.mst(data, epsilon=1, delta=1e-9, unsafe_seed=0)
    made.write(tmp_path / "r.csv")
    made.card(tmp_path / "card.md", file=tmp_path / "r.csv")
    promise = (tmp_path / "card.md").read_text(encoding="utf-8").split("## What is promised\n\n")[1]
    assert promise.startswith("**This release protects nobody")
    assert "nobody can become sure" not in promise
    made.card(tmp_path / "card.json", file=tmp_path / "r.csv")
    card = json.loads((tmp_path / "card.json").read_text(encoding="utf-8"))
    assert card["rai:personalSensitiveInformation"].startswith("This release protects nobody")


def test_records_are_not_promised_what_persons_are(tmp_path):
    """Whoever has several records is protected less than one of them is."""
    domain = Domain({"a": 2})
    weight = pypgm.Schema({"a": 2}, weight={"column": "w", "at_most": 2})
    firm = {}
    for name, data, privacy in (
        ("record", Dataset({"a": [0, 1] * 500}, domain), None),
        ("weighted", Dataset({"a": [0, 1] * 500}, weight.domain, [2] * 1000, schema=weight), None),
        ("person", Dataset({"a": [0, 1] * 500}, domain), pypgm.Privacy(records_per_person=2)),
    ):
        made = mechanisms.mst(data, epsilon=1, delta=1e-9, privacy=privacy)
        made.card(tmp_path / "c.md")
        text = (tmp_path / "c.md").read_text()
        assert ("any one person" in text, "any one record" in text) == (name == "person", name != "person")
        firm[name] = next(line for line in text.splitlines() if "How firm" in line)
    assert "person" not in firm["record"]
    assert len(set(firm.values())) == 1


def test_what_is_no_file_of_the_releases_records_is_refused(tmp_path):
    pytest.importorskip("pandas")
    table, schema = tables_of(2)
    (tmp_path / "real.csv").write_text("name,age\nAnn,3\n")
    made = pypgm.synthesize(table, schema, epsilon=1, delta=1e-9)
    text = "\n".join(",".join(made.to_frame(2)) for _ in range(2))
    for records, words in (
        ("", "lacks '[a-z]+':"),
        (text.splitlines()[0] + ",more\n", "has 'more' too"),
        (text + ",5\n", "record 1 has"),
    ):
        (tmp_path / "odd.csv").write_text(records)
        with pytest.raises(ValueError, match=words):
            made.card(tmp_path / "card.md", file=tmp_path / "odd.csv")
    (tmp_path / "odd.csv").unlink()
    for records, path, words in (
        ("real.csv", "card.md", "lacks 'code' and has 'name' too: file needs records that this release drew"),
        (None, "card.json", "Croissant describes a file of records, and needs its name as file"),
        (None, "card.html", "a name of no format that is written here: .md, .json"),
        ("real.csv", "real.csv", "a name of no format"),
        ("real.jsonl", "card.md", "a name of no format"),
    ):
        with pytest.raises(ValueError, match=words):
            made.card(tmp_path / path, file=None if records is None else tmp_path / records)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["real.csv"]
    with pytest.raises(OSError, match="none"):
        made.card(tmp_path / "card.md", file=tmp_path / "none.csv")


def test_the_original_records_are_never_taken_for_synthetic_ones(tmp_path):
    (tmp_path / "t.csv").write_text("a\n" + "1\n0\n" * 100)
    made = pypgm.synthesize(tmp_path / "t.csv", pypgm.Schema({"a": Integer(0, 1)}), epsilon=1, delta=1e-9)
    with pytest.raises(ValueError, match="the records that the release was made of"):
        made.card(tmp_path / "card.md", file=tmp_path / "t.csv")


def test_the_command_writes_the_same_cards(release, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    release.save("r.pgm")
    release.write("s.csv")
    pages = ["--card", "README.md", "--card", "croissant.json", "--file", "s.csv", "--license", "CC0-1.0"]
    call = ["report", "r.pgm", *pages, "--title", "People", "--json"]
    assert cli.main(call) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["files"] == {"cards": ["README.md", "croissant.json"]}
    assert told["done"] == "now"
    for name in ("README.md", "croissant.json"):
        release.card(f"again-{name}", file="s.csv", license="CC0-1.0", title="People")
        again = (tmp_path / f"again-{name}").read_text(encoding="utf-8")
        assert (tmp_path / name).read_text(encoding="utf-8") == again
    assert cli.main(call) == 0
    assert json.loads(capsys.readouterr().out)["done"] == "already"
    for wrong in (
        ["report", "r.pgm"],
        ["report", "r.pgm", "--out", "p.html", "--file", "s.csv"],
        ["report", "r.pgm", "--card", "README.md", "--file", "s.csv"],  # with another licence
        ["report", "r.pgm", "--card", "s.csv"],
        ["report", "r.pgm", "--card", "c.json"],
    ):
        assert cli.main(wrong) == 2
        assert capsys.readouterr().err
    assert not list(tmp_path.glob("*.html"))
