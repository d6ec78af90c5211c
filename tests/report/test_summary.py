"""What commands say to whom the table belongs to: short, in words, as wide as the terminal; and JSON to programs."""

from __future__ import annotations

import json
import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import pypgm
from pypgm import Budget, Domain, LinearMeasurement, Schema, cli, demo, mechanisms
from pypgm._base.terminal import aligned, cells_wide, laid_out
from pypgm.data import Boolean, Categorical, Date, Integer
from pypgm.reporting.compared import compare_texts
from pypgm.reporting.facts import Facts, losses_of
from pypgm.reporting.quality import quality_of
from pypgm.reporting.shares import budget_shares

JARGON = ("clique", "rho", "sensitivity", "settle", "squared", "validated")
SCHEMA = {
    "columns": {
        "age": {"kind": "integer", "low": 0, "high": 99, "width": 10},
        "sex": ["F", "M"],
        "member": {"kind": "boolean", "values": ["no", "yes"], "null": [""]},
        "city": {"kind": "categorical", "values": ["Aba", "Bor"], "other": True},
        "pay": {"kind": "integer", "low": 0, "high": 999, "bins": {"quantiles": 4, "share": 0.1}},
    },
    "drop": ["name"],
}
BUDGET = ["--epsilon", "2", "--delta", "1e-9"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    rows = zip(
        map(str, range(2000)),
        map(str, rng.integers(20, 70, 2000)),
        rng.choice(["F", "M"], 2000),
        rng.choice(["no", "yes", ""], 2000),
        rng.choice(["Aba", "Bor", "Cam", "Dun"], 2000, p=[0.5, 0.2, 0.2, 0.1]),
        map(str, rng.integers(0, 999, 2000)),
        strict=True,
    )
    lines = ["name,age,sex,member,city,pay", *map(",".join, rows)]
    Path("people.csv").write_text("\n".join(lines) + "\n")
    Path("schema.json").write_text(json.dumps(SCHEMA))
    return tmp_path


def synth(*more):
    return cli.main(["synth", "people.csv", "--schema", "schema.json", *BUDGET, "--out", "made.csv", *more])


def test_synth_speaks_to_the_owner(folder, capsys):
    assert synth() == 0
    said = capsys.readouterr()
    assert said.out == ""
    assert not any(word in said.err for word in JARGON)
    told = " ".join(said.err.split())
    for text in (
        "guarantee epsilon 2.0, delta 1e-09: the odds of any conclusion change at most 7.4-fold",
        "whether any one record is in the real table at all",
        "coarsened: age (10 bins), pay (",
        '"other": city (',
        "left out: name",
        "made.csv the synthetic records",
        "pypgm compare made.pgm people.csv --unsafe",
    ):
        assert text in told
    assert re.search(r"columns (up to )?[\d.]+( ± [\d.]+)? points off on average: ", told)
    assert re.search(r"pairs (up to )?[\d.]+( ± [\d.]+)? points off on average, from ", told)


@pytest.mark.parametrize("width", [44, 80, 200])
def test_lines_fit_the_terminal(folder, capsys, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", str(width))
    assert synth("--ledger") == 0
    assert cli.main(["info", "made.pgm", "--ledger"]) == 0
    assert cli.main(["plan", "schema.json", "--records", "2000", *BUDGET]) == 0
    assert cli.main(["compare", "made.pgm", "people.csv", "--unsafe", "--ignore-extra"]) == 0
    said = capsys.readouterr()
    long = [line for line in (said.err + said.out).splitlines() if cells_wide(line) > min(width, 100)]
    # A single word, as of a path, stays whole, and so does a warning, which programs look for.
    assert [line for line in long if " " in line.strip() and not line.startswith("warning: ")] == []


@pytest.mark.slow
def test_synth_of_adult_is_fifteen_lines(tmp_path, monkeypatch, capsys, adult_table):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    table, domain = adult_table
    (tmp_path / "adult.csv.gz").symlink_to(table)
    (tmp_path / "domain.json").symlink_to(domain)
    command = ["synth", "adult.csv.gz", "--schema", "domain.json", "--epsilon", "1", "--delta", "1e-9"]
    assert cli.main([*command, "--out", "out.csv"]) == 0
    said = capsys.readouterr().err
    assert len(said.splitlines()) <= 15
    assert max(map(len, said.splitlines())) <= 100
    assert not any(word in said for word in JARGON)


@pytest.fixture
def adult_table(request):
    import os

    data = os.environ.get("PYPGM_DATA")
    if not data:
        pytest.skip("PYPGM_DATA is not set")
    return Path(data) / "adult" / "adult.csv.gz", Path(data) / "adult" / "domain.json"


@pytest.mark.parametrize("form", ["%d.%m.%Y %H:%M", "%d.%m.%Y %I %p", "%x %X", "%c"])
def test_a_time_of_day_that_was_read_and_not_counted_is_drawn(form):
    columns = {
        "day": Date("2024-01-01", "2024-01-02", "day", form),
        "year": Date("2023-01-01", "2024-12-31", "year", form),
        "hour": Date("2024-01-01", "2024-01-02", "hour", form),
        "plain": Date("2024-01-01", "2024-01-02", "day", "%d.%m.%Y"),
    }
    schema = Schema(columns)
    release = mechanisms.mst(schema.records(dict.fromkeys(columns, [0, 1] * 20)), 1, 1e-9)
    lost = "the time of day is drawn evenly"
    assert losses_of(release.model, schema, release.privacy).coarsened == {
        "day": f"by day, {lost}",
        "year": f"by year, {lost}",
    }


def test_every_verb_has_json(folder, capsys):
    def told(*command):
        assert cli.main([*command, "--json"]) == 0
        found = json.loads(capsys.readouterr().out)
        assert found["verb"] == " ".join(command[: 2 if command[0] == "schema" else 1])
        assert found["pypgm"] == pypgm.__version__
        return found

    command = ["synth", "people.csv", "--schema", "schema.json", *BUDGET, "--out", "made.csv"]
    made = told(*command, "--ledger")
    assert made["files"] == {"records": "made.csv", "release": "made.pgm"}
    assert (made["epsilon"], made["delta"], made["not_private"]) == (2, 1e-9, "")
    assert made["lost"]["dropped"] == ["name"]
    assert {tuple(c["columns"]) for c in made["quality"]["columns"]["each"]} == {(n,) for n in SCHEMA["columns"]}
    costs = [Fraction(c["cost"]) for share in made["budget"] for c in share.get("charges", ())]
    assert sum(costs) == pypgm.load("made.pgm").ledger.spent()
    known = told("info", "made.pgm")
    assert known["digest"] == pypgm.load("made.pgm").digest
    assert known["quality"] == made["quality"]
    assert "charges" not in known["budget"][0]
    assert told("plan", "schema.json", "--records", "2000", *BUDGET)["n_records"] == 2000
    found = told("compare", "made.csv", "people.csv", "--unsafe", "--schema", "schema.json")
    assert found["only"] == {"real": ["name"], "synthetic": []}
    assert found["answers"] is None
    assert told("query", "made.pgm", "member", "--draws", "0")["answers"][0]["cells"][2]["member"] == ""
    assert told("sample", "made.pgm", "--rows", "7", "--out", "more.csv")["records"] == 7
    assert "columns" in told("schema", "init", "people.csv")["schema"]
    assert told("schema", "init", "people.csv", "--out", "draft.json")["files"] == {"schema": "draft.json"}
    assert told("demo")["mechanism"] == "wide"


@pytest.mark.skipif(not Path("/dev/stdout").exists(), reason="needs /dev/stdout")
def test_json_and_records_do_not_share_a_stream(folder, capsys):
    assert cli.main(["synth", "people.csv", "--schema", "schema.json", *BUDGET, "--out", "/dev/stdout", "--json"]) == 2
    assert "--json is written to the standard output" in capsys.readouterr().err
    assert not list(folder.glob("*.pgm"))


def test_missing_values_are_called_so(folder, capsys):
    assert synth("--quiet") == 0
    assert cli.main(["info", "made.pgm"]) == 0
    assert "no, yes, (missing)" in capsys.readouterr().out
    assert cli.main(["query", "made.pgm", "member", "--draws", "0", "--format", "table"]) == 0
    *_, missing, total = capsys.readouterr().out.splitlines()
    assert missing.startswith("(missing)")
    assert re.fullmatch(r"\(total\) +[\d,]+\.\d", total)
    assert cli.main(["query", "made.pgm", "member", "--draws", "0"]) == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith(",")
    assert "(missing): " in repr(pypgm.load("made.pgm").project("member"))


def test_an_answer_for_people_has_few_digits_its_total_and_says_what_it_rests_on(folder, capsys):
    assert synth("--quiet") == 0
    assert cli.main(["query", "made.pgm", "member,sex", "--format", "table"]) == 0
    header, *rows, total = capsys.readouterr().out.splitlines()
    assert header.split() == ["member", "sex", "count", "expected_error", "basis"]
    counts = [re.search(r" ([\d,]+\.\d) ", row)[1] for row in rows]
    assert float(total.split()[1].replace(",", "")) == pytest.approx(
        sum(float(n.replace(",", "")) for n in counts), abs=0.05 * len(rows)
    )
    assert {row.split()[-1] for row in rows} <= {"measured", "merged", "unmeasured"}
    assert cli.main(["query", "made.pgm", "sex", "--given", "member=", "--format", "table"]) == 0
    known, _, *rows = capsys.readouterr().out.splitlines()
    assert known == "given member = (missing)"
    assert all(re.search(r" 0\.\d{4} ", row) for row in rows)
    with pytest.raises(SystemExit):
        cli.main(["query", "--help"])
    told = " ".join(capsys.readouterr().out.split())
    assert re.search(r"basis of the answer follows: measured, merged \(.*\), unmeasured \(.*\) or unknown", told)


def test_the_largest_error_is_that_of_an_answer():
    """One weak measurement beside a good one leaves a small error: info tells that, not the noise of the weak one."""
    domain = Domain({"a": 3})
    counts = np.array([400, 300, 300])
    measured = [LinearMeasurement(counts, "a", stddev=5.0), LinearMeasurement(counts, "a", stddev=500.0)]
    found = quality_of(pypgm.estimate(domain, measured, 1000))
    column, error = found.largest_error
    assert column == ("a",)
    assert 1 < error < 30


def test_expected_points_are_near_the_true_ones():
    rng = np.random.default_rng(3)
    a = rng.integers(0, 6, 4000)
    domain = Domain({"a": 6, "b": 6, "c": 4})
    data = pypgm.Dataset({"a": a, "b": (a + rng.integers(0, 2, 4000)) % 6, "c": rng.integers(0, 4, 4000)}, domain)
    release = mechanisms.wide(data, epsilon=0.5, delta=1e-9, unsafe_seed=5)
    found = quality_of(release.model)
    pairs = list(found.of("pairs"))
    true = pypgm.evaluate(release, cliques=pairs, unsafe_data=data)
    assert found.mean("pairs") == pytest.approx(100 * true.mean, rel=0.5)


def test_shares_of_the_budget_sum_to_one(folder, capsys):
    assert synth("--ledger") == 0
    release = pypgm.load("made.pgm")
    shares = budget_shares(release.ledger, release.measurements)
    assert sum(share.share for share in shares) == pytest.approx(1, abs=1e-3)
    assert sum(len(share.lines) for share in shares) == len(release.ledger.lines)
    own = {share.purpose: share for share in shares}
    assert own["finding the bins of pay"].share == pytest.approx(0.1, rel=1e-2)
    assert {"counting single columns", "counting pairs of columns"} <= set(own)
    said = capsys.readouterr().err
    assert "10 %  finding the bins of pay" in said
    assert "discrete Gaussian, variance " in " ".join(said.split())


def test_what_was_lost():
    columns = {
        "exact": Integer(0, 9),
        "wide": Integer(0, 99, width=50, outside="clip"),
        "city": Categorical(["a"], other=True),
        "flag": Boolean(["no", "yes"]),
    }
    schema = Schema(columns, drop=["id"])
    raw = {"exact": [1] * 4, "wide": [1] * 4, "city": ["a", "b", "c", "d"], "flag": ["no"] * 4}
    release = mechanisms.wide(schema.encode(raw), budget=Budget(rho=10**6))
    told = losses_of(release.model, schema, release.privacy)
    assert told.coarsened == {"wide": "2 bins"}
    assert told.cut == {"wide": "moved to the nearest bound"}
    assert told.other["city"] == pytest.approx(0.75, abs=0.01)
    assert told.dropped == ("id",)
    assert losses_of(release.model, None, release.privacy).sentences() == []


def test_how_many_records_a_mapping_has_nothing_for():
    """Values of an open column that are not found leave what follows from it unknown: often most records."""
    city = ["Ash"] * 400 + [f"town {i}" for i in range(600)]
    mapping = {"Ash": "North", **{f"town {i}": "South" for i in range(600)}}
    region = {"kind": "derived", "from": "city", "mapping": mapping, "other": "?"}
    schema = {"city": {"kind": "open", "share": 0.1}, "sex": ["F", "M"], "region": region}
    release = pypgm.synthesize({"city": city, "sex": ["F", "M"] * 500}, schema, epsilon=50, delta=1e-9)
    lost = round(100 * release.project("region")["?"] / release.model.total)
    assert lost == pytest.approx(60, abs=2)
    told = f"region (from city; {lost} % of records have '?', for values that the mapping has not)"
    assert told in " ".join(Facts(release).losses.sentences())


def test_a_release_for_nobody_promises_nothing():
    data = pypgm.Dataset({"a": [0, 1] * 50}, Domain({"a": 2}))
    release = mechanisms.wide(data, epsilon=1, delta=1e-9, unsafe_seed=1)
    assert (
        release.promise.strength == release.guarantee == "none (this release protects nobody: noise drawn from a seed)"
    )
    assert Facts(release).to_dict()["not_private"]


def test_compared_tables():
    real = {
        "n": [str(i % 50) for i in range(1000)],
        "money": [f"{1000 * i:,}.00" for i in range(1000)],
        "day": [f"{1 + i % 28:02}.03.2020" for i in range(1000)],
        "city": [f"c{i % 40}" for i in range(1000)],
        "gap": ["", "x"] * 500,
        "heap": ["0"] * 970 + [str(i) for i in range(30)],
    }
    same = compare_texts(real, {name: column[::-1] for name, column in real.items()})
    assert [c.kind for c in same.columns] == ["number", "number", "date", "text", "text", "number"]
    assert (same.score, same.column_score, same.pair_score) == (100, 100, 100)
    assert {c.name: c.missing for c in same.columns}["gap"] == (0.5, 0.5)
    assert {c.name: c.mean for c in same.columns}["money"] == (499500, 499500)
    other = {**real, "city": ["other"] * 1000, "gap": ["x"] * 1000, "n": ["49"] * 1000, "heap": ["29"] * 1000}
    points = {c.name: c.points for c in compare_texts(real, other).columns}
    # By hand: no city is left; half of the gaps are filled; 49 is in the last of 20 bins; 0 is a bin of its own.
    assert points["city"] == 100
    assert points["gap"] == 50
    assert points["n"] == pytest.approx(95, abs=1)
    assert points["heap"] > 97
    assert points["day"] == points["money"] == 0


def test_two_halves_of_a_table_are_apart_by_chance():
    rng = np.random.default_rng(1)
    halves = [{"a": list(map(str, rng.integers(0, 30, 3000))), "b": list(rng.choice(["x", "y"], 3000))} for _ in "ab"]
    found = compare_texts(*halves)
    for column in found.columns:
        assert 0.3 * column.chance < column.points < 3 * column.chance
    ((points, chance),) = found.pairs.values()
    assert points == pytest.approx(chance, rel=0.5)


@pytest.mark.parametrize("tables", [({"a": ["1"]}, {"b": ["1"]}), ({"a": ["1"]}, {"a": []})])
def test_tables_that_cannot_be_compared(tables):
    with pytest.raises(ValueError, match=r"no column in common|without records"):
        compare_texts(*tables)


def test_compare_needs_unsafe_and_tells_rows_of_bad_tables(folder, capsys):
    Path("bad.csv").write_text("a,b\n1\n")
    assert cli.main(["compare", "bad.csv", "people.csv"]) == 2
    assert "--unsafe" in capsys.readouterr().err
    assert cli.main(["compare", "bad.csv", "people.csv", "--unsafe"]) == 2
    assert "bad.csv: row 1 (the header is row 0): needs 2 fields, got 1" in capsys.readouterr().err


def test_the_demo_marks_pairs_that_were_not_counted_together():
    release = mechanisms.mst(demo.titanic(), epsilon=1, delta=1e-9, unsafe_seed=0)
    marked = ["not counted together" in title for title in demo.titles(release)]
    assert marked == [release.model.basis(pair) == "unmeasured" for pair in demo.CLIQUES]
    assert any(marked)  # a tree of four attributes has three of the four pairs at most
    synthetic = release.synthetic_data(rng=0)
    lines = demo.table_lines(
        synthetic, demo.errors(release, synthetic), demo.titles(release), unsafe_data=demo.titanic()
    )
    assert sum("±" in line for line in lines) == 1 + 8 + 8 + 4 + 4


def test_layout_of_wide_characters():
    lines = aligned([("日本", "1"), ("a", "22")], 40, numbers=[1])
    assert [cells_wide(line) for line in lines] == [8, 8]
    assert laid_out([("a", "x" * 30)], 20) == [f"a  {'x' * 30}"]
    assert aligned([("abc", "d" * 50)], 20)[0].endswith("…")
