"""Two tables side by side from Python and on a page: frames, files and releases, missing values, SDV's own report."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from html_page import Page, check_whole

import pypgm
from pypgm import Domain, cli

NASTY = "<script>alert(1)</script>\x1b[2J\u202e"


def tables(n=400):
    rng = np.random.default_rng(0)
    days = np.datetime64("2020-01-01") + rng.integers(0, 300, n)
    real = {
        NASTY: list(rng.choice([NASTY, "b"], n)),
        "n": [float(v) if v < 90 else None for v in rng.integers(0, 100, n)],
        "day": [str(day) for day in days],
    }
    made = real | {NASTY: [NASTY] * n, "more": ["x"] * n}
    return made, real


def test_scores_are_the_share_of_records_to_change():
    made, real = tables()
    found = pypgm.compare(made, real)
    points = {c.name: c.points for c in found.columns}
    share = 100 * np.mean([v == "b" for v in real[NASTY]])
    assert points == pytest.approx({NASTY: share, "n": 0, "day": 0})
    assert found.columns[1].missing == pytest.approx((np.mean([v is None for v in real["n"]]),) * 2)
    assert found.column_score == pytest.approx(100 - share / 3)
    assert found.pairs[NASTY, "n"][0] == pytest.approx(share)
    assert found.only == ((), ("more",))
    assert "score" in str(found)
    assert "alert(1)</script>" not in found._repr_html_()


def test_a_release_is_compared_by_records_drawn_from_it():
    data = pypgm.Dataset({"a": [0, 1] * 500}, Domain({"a": ["x", "y"]}))
    release = pypgm.mechanisms.wide(data, epsilon=5, delta=1e-9)
    assert pypgm.compare(release, {"a": ["x", "y"] * 500}).score > 95
    assert pypgm.compare(release.model, {"a": ["y"] * 500}).score < 60


def test_a_table_without_records_is_named_whatever_it_is_compared_with(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    data = pypgm.Dataset({"a": [0, 1] * 50}, Domain({"a": ["x", "y"]}))
    pypgm.mechanisms.mst(data, epsilon=5, delta=1e-9, iterations=1).save("made.pgm")
    Path("made.csv").write_text("a\nx\n")
    Path("none.csv").write_text("a\n")
    for made in ("made.pgm", "made.csv"):
        assert cli.main(["compare", made, "none.csv", "--unsafe"]) == 3
        assert "a table without records cannot be compared" in capsys.readouterr().err


def test_frames_and_files_say_the_same(tmp_path):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("narwhals")
    made, real = (pandas.DataFrame({"n": own["n"], "day": pandas.to_datetime(own["day"])}) for own in tables())
    real.to_csv(tmp_path / "real.csv", index=False)
    of_frames, of_file = pypgm.compare(made, real), pypgm.compare(made, tmp_path / "real.csv")
    assert of_frames.score == of_file.score == 100
    assert [c.kind for c in of_file.columns] == ["number", "date"]


def test_the_page_of_two_tables(tmp_path, capsys, monkeypatch):
    pytest.importorskip("jinja2")
    made, real = tables()
    pypgm.compare(made, real).report_html(tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    page = Page(text)
    check_whole(text, page)
    assert page.text.count("ot for publication") >= 2
    for part in (
        "The score is",
        "mean",
        "median",
        "missing",
        "by chance",
        "Only the synthetic table has: more",
        "2020-",
    ):
        assert part in page.text, part
    monkeypatch.chdir(tmp_path)
    for name, table in (("real", real), ("made", made)):
        lines = zip(table["n"], table["day"], strict=True)
        rows = [f"{'' if n is None else n},{day}" for n, day in lines]
        Path(f"{name}.csv").write_text("\n".join(["n,day", *rows]) + "\n")
    assert cli.main(["compare", "made.csv", "real.csv", "--unsafe", "--out", "two.html", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["files"] == {"report": "two.html"}
    assert "The score is <strong>100.0</strong>" in Path("two.html").read_text(encoding="utf-8")
    assert cli.main(["compare", "made.csv", "real.csv", "--out", "no.html"]) == 2
    assert cli.main(["report", "made.csv", "real.csv", "--unsafe", "--out", "no.html"]) == 2
    assert "pypgm compare made.csv real.csv --unsafe --out no.html" in capsys.readouterr().err
    assert not Path("no.html").exists()


def test_the_report_of_sdv(monkeypatch):
    made, real = tables()
    found = pypgm.compare({**made, "k": made["n"]}, {**real, "k": real["n"]})
    with monkeypatch.context() as without:
        without.setitem(__import__("sys").modules, "sdmetrics.reports", None)
        without.setitem(__import__("sys").modules, "pandas", None)
        with pytest.raises(ImportError, match=r"pypgm\[sdmetrics\]"):
            found.sdmetrics()
    pytest.importorskip("sdmetrics")
    scores = found.sdmetrics_scores()
    shapes = found.sdmetrics().get_details("Column Shapes").set_index("Column")
    assert scores["overall"] == pytest.approx((scores["Column Shapes"] + scores["Column Pair Trends"]) / 2)
    assert shapes.loc["n", "Score"] == 1
    assert shapes.loc[NASTY, "Score"] == pytest.approx(1 - found.columns[0].points / 100)
    assert list(shapes["Metric"]) == ["TVComplement", "KSComplement", "KSComplement", "KSComplement"]


@pytest.mark.parametrize("seed", range(8))
def test_the_score_does_not_change_with_columns_that_are_made_up(seed, tmp_path, monkeypatch, capsys):
    rng = np.random.default_rng(seed)
    n = 300 + 20 * seed
    age = rng.integers(0, 90, n)
    real = {
        "age": list(map(int, age)),
        "job": list(map(str, rng.choice(["cook", "nurse", "spy"], n, p=[0.6, 0.39, 0.01]))),
    }
    columns = {"age": {"kind": "integer", "low": 0, "high": 89, "width": 1 + 5 * (seed % 3)}}
    columns |= {"job": {"kind": "categorical", "values": ["cook", "nurse"], "other": True}}
    ids = {"key": {"kind": "id"}, "case": {"kind": "id", "format": "c-{:05d}"}}
    scores = []
    for more in ({}, dict(list(ids.items())[: 1 + seed % 2])):
        release = pypgm.synthesize(real, {"columns": columns | more}, epsilon=3, delta=1e-9, unsafe_seed=seed)
        given = real | {name: [f"real {i}" for i in range(n)] for name in more}
        found = pypgm.compare(release, given)
        assert found.made == tuple(more)
        assert [c.name for c in found.columns] == ["age", "job"]
        scores.append((found.score, found.column_score, found.pair_score, found.in_bins, found.columns, found.pairs))
    assert scores[0] == scores[1]
    pypgm.Schema.from_dict({"columns": columns | ids}).save(tmp_path / "s.json")
    with pytest.raises(ValueError, match="no column in common but those that are made up"):
        pypgm.compare({"key": ["1"]}, {"key": ["2"]}, schema=pypgm.read_schema(tmp_path / "s.json"))
    release.save(tmp_path / "r.pgm")
    lines = [",".join(given), *map(",".join, zip(*(map(str, c) for c in given.values()), strict=True))]
    (tmp_path / "t.csv").write_text("\n".join([*lines, ""]), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert cli.main(["compare", "r.pgm", "t.csv", "--unsafe"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert f"left out {', '.join(more)}: made up, and like no real value" in said
    assert re.search(
        r"columns [\d.]+ points off on average, as values; [\d.]+ in the bins and values of the schema", said
    )


@pytest.mark.parametrize("seed", range(6))
def test_losses_of_bins_and_other_values_are_counted_apart(seed):
    rng = np.random.default_rng(seed)
    n, width = 2000, int(rng.integers(20, 40))
    rare = float(rng.uniform(0.05, 0.4))
    numbers = (rng.integers(0, 10, n) * width).tolist()  # each the first of its bin
    texts = list(rng.choice(["a", "b", "c"], n, p=[0.5, 0.5 - rare, rare]).tolist())
    schema = pypgm.Schema.from_dict(
        {
            "columns": {
                "n": {"kind": "integer", "low": 0, "high": 10 * width - 1, "width": width},
                "t": {"kind": "categorical", "values": ["a", "b"], "other": True},
            }
        }
    )
    coarse = schema.decode(schema.encode({"n": numbers, "t": texts}), rng=seed)
    found = {c.name: c for c in pypgm.compare(coarse, {"n": numbers, "t": texts}, schema=schema).columns}
    assert [found[name].in_bins for name in "nt"] == [0, 0]
    assert found["n"].points > 80
    assert found["t"].points == pytest.approx(100 * np.mean(np.array(texts) == "c"))
