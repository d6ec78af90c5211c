"""Tables in files by a schema: dialects of CSV, and raw tables to synthetic ones by the command."""

from __future__ import annotations

import csv
import json
import os
import re
from pathlib import Path

import numpy as np
import pytest

import pypgm
from pypgm import Schema, cli
from pypgm.data import Categorical, Date, Integer, Real

SCHEMA = Schema(
    {
        "wage": Real(0, 1000, bins=4, decimals=2, outside="clip", null=["", "n.a."]),
        "name": Categorical(["Zoë", "Ann"]),
        "hired": Date("2020-01-01", "2024-12-31", "month", format="%d.%m.%Y"),
        "age": Integer(0, 99, width=10),
    },
    drop=["id"],
)
BUDGET = ["--epsilon", "5", "--delta", "1e-9", "--mechanism", "mst", "--quiet"]


@pytest.mark.parametrize(
    ("text", "how"),
    [
        ("id,wage,name,hired,age\n7,250.5,Zoë,31.12.2024,7\n7,n.a.,Ann,01.01.2020,99\n", {}),
        ("age;hired;name;wage\n7;31.12.2024;Zoë;250,5\n99;01.01.2020;Ann;n.a.\n", {"delimiter": ";", "decimal": ","}),
        (
            "age\thired\tname\twage\n7,0\t31.12.2024\tZoë\t2505e-1\n99\t01.01.2020\tAnn\t\n",
            {"delimiter": "\t", "decimal": ","},
        ),
        (
            "age|hired|name|wage|x\n7|31.12.2024|Zoë|499.99|\n99|01.01.2020|Ann||\n",
            {"delimiter": "|", "ignore_extra": True},
        ),
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "latin-1", "cp1252", "utf-16"])
def test_dialects_are_declared(tmp_path, text, how, encoding):
    (tmp_path / "t.csv").write_bytes(text.encode(encoding))
    data = pypgm.read_table(tmp_path / "t.csv", SCHEMA, encoding=encoding, **how)
    found = {name: column.tolist() for name, column in data.columns.items()}
    assert found == {"wage": [1, 4], "name": [0, 1], "hired": [59, 0], "age": [0, 9]}
    assert data.domain == SCHEMA.domain


@pytest.mark.parametrize(
    ("text", "how", "message"),
    [
        (
            "wage;name\n1;Zoe\n",
            {},
            "the first line names none of them; it has ';' in it: delimiter=';' or --delimiter says so",
        ),
        ("age\n1\n", {}, "lacks a column for 'wage', 'name', 'hired'"),
        ("id,x\n1,2\n", {}, "t.csv lacks a column for 'wage', 'name', 'hired', 'age': needs a header line"),
        ("age,wage,name,hired\n1,2\n", {}, "row 1 (the header is row 0): needs 4 fields, got 2"),
        ("age;wage;name;hired\n7;1.250,5;Ann;01.01.2020\n", {"delimiter": ";", "decimal": ","}, "and is not a number"),
        ("age;wage;name;hired\n7;1.250;Ann;01.01.2020\n", {"delimiter": ";", "decimal": ","}, "and is not a number"),
        ("", {"delimiter": ";;"}, "delimiter needs one character, got ';;'"),
        ("", {"delimiter": '"'}, "delimiter needs one character"),
        ("", {"decimal": ";"}, "decimal must be one of ('.', ',')"),
        ("", {"decimal": ","}, "fields and decimals have the same mark"),
        ("", {"encoding": "klingon"}, "no text encoding is called 'klingon'; latin-1"),
        ("", {"encoding": "base64"}, "no text encoding is called 'base64'"),
        ("Zoë", {"encoding": "ascii"}, "must be text in ascii, but is not"),
    ],
)
def test_dialects_that_do_not_fit(tmp_path, text, how, message):
    (tmp_path / "t.csv").write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=re.escape(message)):
        pypgm.read_table(tmp_path / "t.csv", SCHEMA, **how)


def test_all_problems_of_a_table_are_told_at_once(tmp_path):
    rows = ["7,1,Ann,01.01.2020,x"] * 20_000
    rows[9_000] = "secret,1,Ann,01.01.2020,x"
    rows[9_001] = "secret,secret,Ann,01.01.2020,x"
    rows[17_000] = "7,1,secret,2020-01-01,x"
    rows[17_001] = "7"
    (tmp_path / "t.csv").write_text("\n".join(["age,wage,name,hired,more", *rows]), encoding="utf-8")
    with pytest.raises(ValueError, match=r"t\.csv has 6 problems:") as caught:
        pypgm.read_table(tmp_path / "t.csv", SCHEMA)
    lines = str(caught.value).splitlines()
    assert [line.strip().split(":")[0] for line in lines[1:]] == [
        "has columns that the domain does not",
        "column 'wage', row 9002 (the header is row 0)",
        "column 'age', row 9001 (the header is row 0)",
        "column 'name', row 17001 (the header is row 0)",
        "column 'hired', row 17001 (the header is row 0)",
        "row 17002 (the header is row 0)",
    ]
    assert "secret" not in str(caught.value)


def test_written_tables_have_values_and_read_back(tmp_path):
    rng = np.random.default_rng(0)
    data = pypgm.Dataset({n: rng.integers(0, c.size, 20_000) for n, c in SCHEMA.columns.items()}, SCHEMA.domain)
    pypgm.write_table(data, tmp_path / "t.csv.gz", SCHEMA, rng=1)
    back = pypgm.read_table(tmp_path / "t.csv.gz", SCHEMA)
    assert all((back.columns[n] == data.columns[n]).all() for n in data.domain)
    pypgm.write_table(data, tmp_path / "same.csv.gz", SCHEMA, rng=1)
    assert (tmp_path / "same.csv.gz").read_bytes() == (tmp_path / "t.csv.gz").read_bytes()
    pypgm.write_table(data, tmp_path / "other.csv.gz", SCHEMA, rng=2)
    assert (tmp_path / "other.csv.gz").read_bytes() != (tmp_path / "t.csv.gz").read_bytes()
    with pytest.raises(ValueError, match="the schema is over"):
        pypgm.write_table(data, tmp_path / "no.csv", Schema({"a": 3}))
    assert not (tmp_path / "no.csv").exists()


# Adult as its source has it: numbers, words and question marks. The names here stand for codes of the coded table.
WORDS = {
    "workclass": 9,
    "marital-status": 7,
    "occupation": 15,
    "relationship": 6,
    "race": 5,
    "sex": 2,
    "native-country": 42,
    "income>50K": 2,
}


def raw_adult(path, n):
    """Write records of the coded table as its source has them, and return the schema that fits."""
    folder = Path(os.environ.get("PYPGM_DATA", "none"), "adult")
    if not folder.is_dir():
        pytest.skip("needs PYPGM_DATA")
    domain = pypgm.read_domain(folder / "domain.json")
    data = pypgm.read_table(folder / "adult.csv.gz", domain)
    raw, columns = {}, {}
    for name, size in zip(domain, domain.shape, strict=True):
        codes = data.columns[name][:n]
        if name in WORDS:
            nullable = name in {"workclass", "occupation", "native-country"}
            words = [*("?" if nullable else ()), *(f"{name} no. {i}" for i in range(size - nullable))]
            raw[name] = [words[c] for c in codes.tolist()]
            columns[name] = {"kind": "categorical", "values": words[nullable:]} | ({"null": "?"} if nullable else {})
        elif name == "fnlwgt":
            raw[name] = (codes.astype(int) * 12_000 + 13_000).tolist()
            columns[name] = {"kind": "integer", "low": 10_000, "high": 1_500_000, "width": 60_000}
        else:
            raw[name] = (codes.astype(int) + 1).tolist()
            columns[name] = {"kind": "integer", "low": 1, "high": size, "width": 1 + (size > 20) * 9}
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", *raw])
        writer.writerows((i, *row) for i, row in enumerate(zip(*raw.values(), strict=True)))
    return {"columns": columns, "drop": ["id"]}, raw


def test_adult_from_its_raw_text_to_synthetic_records(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    told, raw = raw_adult(tmp_path / "adult.csv", 4000)
    Path("schema.json").write_text(json.dumps(told))
    assert cli.main(["synth", "adult.csv", "--schema", "schema.json", "--out", "out.csv", *BUDGET]) == 0
    with open("out.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == list(raw)
    assert 3500 < len(rows) < 4500
    assert {r["workclass"] for r in rows} <= {"?", *told["columns"]["workclass"]["values"]}
    assert "?" in {r["workclass"] for r in rows}
    assert all(10_000 <= int(r["fnlwgt"]) <= 1_500_000 for r in rows)
    assert len({int(r["fnlwgt"]) for r in rows}) > 1000
    share = sum(r["sex"] == "sex no. 0" for r in rows) / len(rows)
    assert abs(share - raw["sex"].count("sex no. 0") / 4000) < 0.05
    schema = pypgm.read_schema("schema.json")
    assert pypgm.read_table("out.csv", schema).n_records == len(rows)
    release = pypgm.load("out.pgm")
    assert release.schema == schema

    sample = ["sample", "out.pgm", "--rows", "50", "--seed", "3", "--given", "sex=sex no. 1", "--given", "age=5"]
    assert cli.main([*sample, "--out", "a.csv", "--quiet"]) == 0
    assert cli.main([*sample, "--out", "b.csv", "--quiet"]) == 0
    assert Path("a.csv").read_bytes() == Path("b.csv").read_bytes()
    with open("a.csv", newline="") as file:
        assert all(r["sex"] == "sex no. 1" and 1 <= int(r["age"]) <= 10 for r in csv.DictReader(file))
    assert cli.main(["query", "out.pgm", "age", "--draws", "0", "--given", "age=[1, 11)", "--given", "age=12"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "age,probability"
    assert lines[1].startswith('"[1, 11)",0.')
    assert lines[3] == '"[21, 31)",0'
    assert cli.main(["query", "out.pgm", "sex", "--given", "age=1000"]) == 2
    assert "attribute 'age' needs a whole number from 1 to 85" in capsys.readouterr().err
    assert cli.main(["info", "out.pgm"]) == 0
    assert "left out: id" in " ".join(capsys.readouterr().out.split())
    assert cli.main(["compare", "out.pgm", "adult.csv", "--unsafe"]) == 0
    assert cli.main(["plan", "schema.json", "--records", "4000", *BUDGET[:6]]) == 0


def test_records_per_person_of_a_schema_are_protected(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text("a;b\n" + "1;0,5\n2;0,75\n" * 300)
    b = {"kind": "real", "low": 0, "high": 1, "bins": 2, "decimals": 2}
    Path("s.json").write_text(json.dumps({"columns": {"a": 3, "b": b}, "records_per_person": 4}))
    more = ["--delimiter", ";", "--decimal", ","]
    assert cli.main(["synth", "t.csv", "--schema", "s.json", "--out", "o.csv", *BUDGET, *more]) == 0
    assert pypgm.load("o.pgm").privacy.records_per_person == 4
    assert cli.main(["synth", "t.csv", "--domain", "s.json", "--out", "p.csv", *BUDGET]) == 3
    assert "needs a header line that names the columns" in capsys.readouterr().err


def test_a_schema_that_a_release_does_not_fit():
    data = pypgm.Dataset({"a": [0, 1]}, pypgm.Domain({"a": 2}))
    release = pypgm.mechanisms.mst(data, epsilon=1, delta=1e-9)
    with pytest.raises(ValueError, match="the schema is over"):
        type(release)(release.model, release.measurements, release.ledger, "mst", schema=Schema({"a": 3}))


def test_a_yaml_schema_without_its_package_is_one_line(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(__import__("sys").modules, "yaml", None)
    (tmp_path / "s.yml").write_text("a: 3")
    assert cli.main(["plan", str(tmp_path / "s.yml"), "--records", "9", "--epsilon", "1", "--delta", "1e-9"]) == 2
    assert "needs the extra: pip install pypgm[yaml]" in capsys.readouterr().err
