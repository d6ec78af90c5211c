"""Drafts of schemas: what is guessed from a table, marked, and good enough to be read back."""

from __future__ import annotations

import csv
import datetime
import json
import random
import re
import warnings

import numpy as np
import pytest

import pypgm
from pypgm import Schema, cli, read_table
from pypgm.data import OpenSet
from pypgm.data.draft import draft_schema
from pypgm.data.draft.typed import draft_text
from pypgm.data.draft.warnings import meaning
from pypgm.data.sources.frames import as_frame
from pypgm.errors import DraftWarning, WeakGuaranteeWarning
from pypgm.privacy import settle


@pytest.fixture
def write(tmp_path):
    def write(columns, **how):
        path = tmp_path / "t.csv"
        with path.open("w", newline="", encoding="utf-8") as file:
            rows = csv.writer(file, **how)
            rows.writerow(columns)
            rows.writerows(zip(*columns.values(), strict=True))
        return path

    return write


def without_warnings(draft):
    return {name: {k: v for k, v in c.items() if k != "warning"} for name, c in draft["columns"].items()}


N = 200
DRAW = random.Random(0)
TABLE = {
    "id": [f"P{i}" for i in range(N)],
    "name": [f"n {i % 150}" for i in range(N)],
    "age": [17 + i % 70 for i in range(N)],
    "wage": [f"{i * 100.25:.2f}" for i in range(N)],
    "big": [i * 10**6 for i in range(N)],
    "tiny": [f"{i * 1e-9:.3e}" for i in range(N)],
    "same": ["5.5"] * N,
    "born": [f"{1950 + i % 50}-03-{1 + i % 28:02}" for i in range(N)],
    "seen": [f"2024-01-01 {i % 24:02}:30:00" for i in range(N)],
    "day": [f"{1 + i % 28:02}.01.2024" for i in range(N)],
    "us": [f"0{1 + i % 9}/0{1 + i % 5}/2024" for i in range(N)],
    "active": [DRAW.choice(["Yes", "Yes", "No"]) for i in range(N)],
    "bit": [DRAW.randrange(2) for i in range(N)],
    "job": [["cook", "clerk", "?"][i % 3] for i in range(N)],
    "zip": [f"0{i % 30:04}" for i in range(N)],
    "town": [f"town {i % 80}" for i in range(N)],
    "void": [""] * N,
}


def test_kinds_are_guessed(write):
    draft = draft_schema(write(TABLE))
    found = without_warnings(draft)
    assert draft["drop"] == {
        "id": "a different value in each record, as names and ids have: kind id or fake makes new ones",
        "name": "a different value in nearly each record, as names and ids have: kind id or fake makes new ones",
        "void": "it is empty",
    }
    assert found["age"] == {"kind": "integer", "low": 17, "high": 86, "width": 1}
    assert found["wage"] == {"kind": "real", "low": 0, "high": 20000, "bins": 40, "decimals": 2}
    assert found["big"] == {"kind": "integer", "low": 0, "high": 199_999_999, "width": 5_000_000}
    assert found["tiny"] == {"kind": "real", "low": 0, "high": 2e-7, "bins": 40}
    assert found["same"] == {"kind": "categorical", "values": [5.5]}
    assert found["born"] == {"kind": "date", "low": "1950-01-01", "high": "1999-12-31", "resolution": "year"}
    form = "%Y-%m-%d %H:%M:%S"  # a space, where ISO has a T
    seen = {"kind": "date", "low": "2024-01-01", "high": "2024-01-01", "resolution": "hour", "format": form}
    assert found["seen"] == seen
    assert found["day"] == {
        "kind": "date",
        "low": "2024-01-01",
        "high": "2024-01-28",
        "resolution": "day",
        "format": "%d.%m.%Y",
    }
    assert found["us"]["format"] == "%d/%m/%Y"
    assert "the format may be '%m/%d/%Y' as well" in meaning(draft["columns"]["us"]["warning"])
    assert found["active"] == {"kind": "boolean", "values": ["No", "Yes"]}
    assert found["bit"] == {"kind": "boolean", "values": ["0", "1"]}
    assert found["job"] == {"kind": "categorical", "values": ["clerk", "cook"], "null": ["?"]}
    assert found["zip"]["kind"] == "categorical"
    assert found["town"] == {"kind": "open", "share": 0.05}
    assert {n for n, c in draft["columns"].items() if "warning" not in c} == {"active", "bit"}
    assert "no value comes twice" in meaning(draft["columns"]["big"]["warning"])
    assert "no value comes twice" not in meaning(draft["columns"]["age"]["warning"])


def test_a_draft_reads_its_table(write, tmp_path):
    path = write(TABLE)
    (tmp_path / "s.json").write_text(draft_text(draft_schema(path)), encoding="utf-8")
    schema = pypgm.read_schema(tmp_path / "s.json").provisional
    data = pypgm.read_table(path, schema)
    assert data.n_records == N
    assert schema.warned == tuple(n for n in schema.columns if n not in {"active", "bit"})
    assert Schema.from_dict(schema.to_dict()).warned == schema.warned
    pypgm.write_table(data, tmp_path / "back.csv", schema)
    again = pypgm.read_table(tmp_path / "back.csv", schema)
    assert all((again.columns[n] == data.columns[n]).all() for n in data.domain)


def test_dialects(write):
    path = write({"wage": [f"{i},{i:02}" for i in range(80)] * 2, "age": [1, 2] * 80}, delimiter=";")
    found = without_warnings(draft_schema(path, delimiter=";", decimal=","))
    assert found["wage"]["kind"] == "real"
    assert found["wage"]["decimals"] == 2
    assert found["wage"]["decimal"] == ","
    assert without_warnings(draft_schema(path, delimiter=";")) == found


def test_marks_of_numbers_are_found_for_each_column(write, tmp_path):
    marks = {
        "english": ("1,234.5", "12,345,678.25", {"thousands": ","}),
        "german": ("1.234,5", "12.345.678,25", {"thousands": ".", "decimal": ","}),
        "french": ("1\u202f234,5", "12\u202f345\u202f678,25", {"thousands": "\u202f", "decimal": ","}),
        "swiss": ("1’234.5", "12’345’678.25", {"thousands": "’"}),
        "indian": ("1,234", "1,23,45,678", {"thousands": ","}),
        "comma": ("1234,5", "0,25", {"decimal": ","}),
        "whole": ("1.234", "12.345.678", {"thousands": ".", "decimal": ","}),
        "plain": ("1234.5", "0.25", {}),
    }
    path = write(
        {name: [a, *(f"{b[:-2]}{i}" for i in range(10, 90))] for name, (a, b, _) in marks.items()}, delimiter=";"
    )
    draft = draft_schema(path, delimiter=";")
    for name, (_, _, told) in marks.items():
        column = draft["columns"][name]
        assert {k: column[k] for k in ("thousands", "decimal") if k in column} == told, name
        assert "is taken for the mark" not in meaning(column["warning"])
    schema = Schema.from_dict(draft).provisional
    data = read_table(path, schema, delimiter=";")
    pypgm.write_table(data, tmp_path / "out.csv", schema, rng=0)
    assert (read_table(tmp_path / "out.csv", schema).columns["german"] == data.columns["german"]).all()
    assert "1’" in (tmp_path / "out.csv").read_text(encoding="utf-8")


@pytest.mark.parametrize(("value", "taken"), [("1,234", "',' is taken for the thousands mark"), ("1.234", "'.' is")])
def test_marks_that_may_be_others_are_pointed_out(write, value, taken):
    draft = draft_schema(write({"a": [value, *range(900, 980)], "b": ["x"] * 81}))
    assert taken in meaning(draft["columns"]["a"]["warning"])


def test_a_column_of_heaps_or_of_skewed_amounts_has_quantiles(write):
    draw = random.Random(1)
    columns = {
        "amount": [f"{draw.lognormvariate(8, 1):,.2f}" for _ in range(2000)],
        "fee": [f"{40 if draw.random() < 0.6 else draw.randrange(100_000) / 100:.2f}" for _ in range(2000)],
        "hours": [40 if draw.random() < 0.6 else draw.randrange(400) for _ in range(2000)],
        "even": [draw.randrange(400) for _ in range(2000)],
        "children": [min(12, int(draw.expovariate(0.7))) for _ in range(2000)],
    }
    found = draft_schema(write(columns))["columns"]
    bins = {name: column["bins"] for name, column in found.items() if isinstance(column.get("bins"), dict)}
    heaps = {name: of_column.get("heaps") for name, of_column in bins.items()}
    assert heaps == {"amount": None, "fee": [40], "hours": [40]}


def test_frequent_values_are_found_though_most_come_once(write):
    values = [f"title {i}" for i in range(600)] + ["clerk", "nurse"] * 100
    found = draft_schema(write({"a": values, "b": [f"n{i}" for i in range(800)]}))
    assert found["columns"]["a"]["kind"] == "open"
    assert list(found["drop"]) == ["b"]


def test_columns_that_depend_on_others_are_pointed_out(write):
    draw = random.Random(2)
    city = [draw.choice(["Bonn", "Oslo", "Bern", "Rome"]) for _ in range(500)]
    land = [{"Bonn": "DE", "Oslo": "NO", "Bern": "CH", "Rome": "IT"}[c] for c in city]
    north = [{"Oslo": "yes"}.get(c, "no") for c in city]
    free = [draw.choice("xyz") for _ in city]
    draft = draft_schema(write({"city": city, "land": land, "north": north, "free": free}))
    found = draft["columns"]
    assert "it follows from 'city' in each record" in meaning(found["north"]["warning"])
    assert "follows" not in meaning(found["city"]["warning"]) + meaning(found["free"]["warning"])
    rule = {"kind": "derived", "from": "city", "mapping": {"Bern": "CH", "Bonn": "DE", "Oslo": "NO", "Rome": "IT"}}
    assert draft["proposals"]["land"] == {"follows city": [rule]}
    Schema.from_dict({"city": found["city"], "land": rule})


def test_nothing_is_derived_from_what_is_found_privately(write):
    """Each city that is not found would be one of no region: of half of the records nothing would be left."""
    draw = random.Random(2)
    city = [f"{draw.choice(['Ash', 'Elm'])} {draw.randrange(150)}" for _ in range(3000)]
    draft = draft_schema(write({"city": city, "region": [name[:3] for name in city]}))
    found = draft["columns"]
    assert found["city"]["kind"] == "open"
    assert "it follows from 'city'" in meaning(found["region"]["warning"])
    assert "found privately" in meaning(found["region"]["warning"])
    assert "proposals" not in draft


def test_columns_that_are_blank_by_others_are_pointed_out(write):
    draw = random.Random(3)
    member = [draw.choice(["yes", "no", ""]) for _ in range(500)]
    plan = [draw.choice(["gold", "plus", ""]) if m == "yes" else "" for m in member]
    free = [draw.choice(["x", ""]) for _ in member]
    draft = draft_schema(write({"member": member, "plan": plan, "free": free}))
    found = draft["columns"]
    assert draft["proposals"] == {"plan": {"blank member": [{"blank": "plan", "unless": {"member": "yes"}}]}}
    assert "blank" not in meaning(found["free"]["warning"])
    Schema.from_dict({"columns": found, "rules": [{"blank": "plan", "unless": {"member": "yes"}}]})
    ages = [7 if draw.random() < 0.5 else draw.randrange(19_000) for _ in range(3000)]
    cards = [draw.choice(["gold", "plus"]) if age >= 9000 else "" for age in ages]
    found = draft_schema(write({"age": ages, "card": cards}))["columns"]
    assert found["age"]["bins"]["quantiles"]
    assert "blank" not in meaning(found["card"]["warning"])  # no rule names a value that has still to be found


def test_the_index_of_a_frame_is_dropped(tmp_path):
    (tmp_path / "t.csv").write_text(",a\n" + "".join(f"{i},{i % 3}\n" for i in range(90)))
    draft = draft_schema(tmp_path / "t.csv")
    assert draft["drop"] == {"": "it has no name: the index of a data frame, which pandas leaves out with index=False"}
    assert len(read_table(tmp_path / "t.csv", Schema.from_dict(draft))) == 90


def test_a_first_line_that_looks_like_a_record_is_told(tmp_path):
    for text, is_record in [("1,cook\n2,cook\n2,nurse\n", True), ("1,job\n2,cook\n2,nurse\n", False)]:
        (tmp_path / "t.csv").write_text(text)
        assert ("looks like a record" in meaning(draft_schema(tmp_path / "t.csv").get("warning"))) == is_record


def test_another_separator_is_told(write):
    path = write({"a": [1, 2], "b": [3, 4]})
    with pytest.raises(ValueError, match=r"has one column; it has ',' in it: delimiter=',' or --delimiter says so"):
        draft_schema(path, delimiter=";")
    assert list(draft_schema(write({"a,b": [1, 2]}))["columns"]) == ["a,b"]


def test_many_open_columns_share_what_they_may(write):
    columns = {f"c{j}": [f"v{i % 70}" for i in range(N)] for j in range(10)}
    assert {c["share"] for c in draft_schema(write(columns))["columns"].values()} == {0.03}


def test_many_rows_and_values(write):
    values = [str(i) for i in range(120_000)]
    values[110_000] = "x"
    assert list(draft_schema(write({"a": values, "b": ["x"] * 120_000}))["drop"]) == ["a"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("\na\n1\n", "is empty, or begins with a blank line; it needs a header line"),
        ("a,a\n1,2\n", "needs a header line with a name for each column, each once"),
        ("a,,\n1,2,3\n", "needs a header line with a name for each column, each once: columns 2 and 3 have none"),
        ("a,b\n1,2\n1\n", "row 2 (the header is row 0): needs 2 fields, got 1"),
        ('a,b\n1,"2\n', "in the row that begins in line 2"),
        ("a,b\n", "has no column to declare: each is empty, a key, or has a different value in each record"),
        ("a;b\n1;2\n", "has one column; it has ';' in it: delimiter=';' or --delimiter says so"),
        (
            b"a,b\n1,\xff\n",
            "t.csv must be text in UTF-8, but is not; another is chosen with encoding or --encoding, such as cp1252",
        ),
    ],
)
def test_tables_that_are_none(tmp_path, text, message):
    (tmp_path / "t.csv").write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(ValueError, match=re.escape(message)):
        draft_schema(tmp_path / "t.csv")


@pytest.mark.parametrize(
    "values",
    [
        [2**63 + 5, 2**70, 3],
        [-(2**63) - 5, 2**53 + 1, 2**53 + 3],
        ["-0", "-0.0", "0", "+1"],
        ["1e300", "-1e300", "3.25"],
    ],
    ids=["huge", "negative", "zeros", "exponents"],
)
def test_numbers_of_any_size_have_a_draft_that_reads_them(tmp_path, values):
    (tmp_path / "t.csv").write_text("a,b\n" + "".join(f"{v},x\n" for v in values * 20))
    schema = Schema.from_dict(draft_schema(tmp_path / "t.csv"))
    data = read_table(tmp_path / "t.csv", schema)
    assert data.n_records == 20 * len(values)
    back = np.asarray(schema.decode(data, rng=0)["a"][: len(values)], dtype=np.float64)
    spread = max(map(float, values)) - min(map(float, values))
    assert (np.abs(back - np.array(values, dtype=np.float64)) < 0.11 * spread).all()


@pytest.mark.parametrize(
    "values",
    [["4.1e-307", "13.88"], ["1e308", "-1.7e308"], ["5e-324", "0"], ["99999999999999999999e288", "1"]],
)
def test_what_is_drafted_of_any_exponents_reads_the_table(values, tmp_path):
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    (tmp_path / "t.csv").write_text("a,b\n" + "".join(f"{v},x\n" for v in values * 20))
    columns = {"a": [float(v) for v in values] * 20, "b": ["x"] * 20 * len(values)}
    parquet.write_table(pyarrow.table(columns), tmp_path / "t.parquet")
    for name in ("t.csv", "t.parquet"):
        schema = Schema.from_dict(draft_schema(tmp_path / name)).provisional
        assert read_table(tmp_path / name, schema).n_records == 20 * len(values)


def test_the_command(write, tmp_path, monkeypatch, capsys):
    write(TABLE)
    monkeypatch.chdir(tmp_path)
    assert cli.main(["schema", "init", "t.csv"]) == 0
    printed = capsys.readouterr().out
    assert cli.main(["schema", "init", "t.csv", "--out", "s.json"]) == 0
    said = capsys.readouterr().err
    (line,) = [line for line in said.splitlines() if "NOT private" in line]
    assert "questions are open, about the table, age, wage" in line
    assert "do these values name people? then drop the column" in printed
    assert printed.endswith("}\n")
    assert "dropped: id, a different value in each record" in said
    assert "dropped: void, it is empty" in said
    assert (tmp_path / "s.json").read_text(encoding="utf-8") == printed
    assert json.loads(printed)["comment"].startswith("Drafted from a table")
    synth = ["synth", "t.csv", "--schema", "s.json", "--out", "o.csv", "--epsilon", "1", "--delta", "1e-9"]
    assert cli.main([*synth, "--mechanism", "mst"]) == 0
    assert capsys.readouterr().err.count("a draft's warnings are still in the schema, at its top and of age, wage") == 1
    assert cli.main(["schema", "init", "t.csv", "--out", "t.csv"]) == 2
    assert cli.main(["schema", "init", "t.csv", "--out", "s.json"]) == 2
    assert "s.json already exists and is not overwritten" in capsys.readouterr().err
    assert cli.main(["schema", "init", "none.csv"]) == 2
    assert cli.main(["schema"]) == 2


def test_parquet_is_drafted_as_the_same_table_in_csv(tmp_path):
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    days = [datetime.date(2000, 1, 1) + datetime.timedelta(i % 300) for i in range(500)]
    table = {
        "age": [i % 90 for i in range(500)],
        "job": [["cook", "nurse", None][i % 3] for i in range(500)],
        "paid": [i % 2 == 0 for i in range(500)],
        "wage": [(i % 70) / 8 for i in range(500)],
        "hired": days,
    }
    parquet.write_table(arrow.table(table), tmp_path / "t.parquet")
    lines = [",".join(table)]
    for row in zip(*table.values(), strict=True):
        texts = ("" if x is None else str(x).lower() if isinstance(x, bool) else str(x) for x in row)
        lines.append(",".join(texts))
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    draft = draft_schema(tmp_path / "t.parquet")
    assert draft == draft_schema(tmp_path / "t.csv")
    (tmp_path / "s.json").write_text(json.dumps(draft), encoding="utf-8")
    schema = pypgm.read_schema(tmp_path / "s.json")
    assert len(pypgm.read_table(tmp_path / "t.parquet", schema)) == 500
    (tmp_path / "bad.parquet").write_bytes(b"none")
    with pytest.raises(ValueError, match="is not a Parquet file"):
        draft_schema(tmp_path / "bad.parquet")


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ([-999, *range(20_000, 90_000, 1000)], "read as missing: '-999'"),
        ([1e12, *range(50)], "far from the others: '1e+12'"),
        ([1e12, -1, *range(50)], "read as missing: '-1'"),
        ([*range(100)], ""),
        ([-1, 0, 1, 2, 3], ""),
        ([-5, -4, *range(50)], "read as missing: '-5', '-4'"),
    ],
)
def test_values_far_from_all_others_are_pointed_out(values, told, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("wage\n" + "".join(f"{v}\n" * 2 for v in values))
    warning = meaning(draft_schema(path)["columns"]["wage"]["warning"])
    assert told in warning
    assert ("far from" in warning or "read as missing" in warning) == bool(told)


def drafted(tmp_path, values, name="a"):
    """Return what a draft says of a column of texts, after the table has been read by it."""
    path = tmp_path / "t.csv"
    path.write_text("a,k\n" + "".join(f"{value},{'xyz'[i % 3]}\n" for i, value in enumerate(values)))
    draft = draft_schema(path)
    read_table(path, Schema.from_dict(draft).provisional)
    return draft["columns"][name]


def test_whole_numbers_that_are_all_days_are_dates(tmp_path):
    days = [f"{datetime.date(2022, 1, 1) + datetime.timedelta(i):%Y%m%d}" for i in range(900)]
    told = drafted(tmp_path, days)
    assert (told["kind"], told["format"], told["low"]) == ("date", "%Y%m%d", "2022-01-01")
    assert drafted(tmp_path, [*days, "20221301"])["kind"] == "integer"  # no such month


@pytest.mark.parametrize("code", ["99", "9"])
def test_a_code_for_no_answer_is_pointed_out(tmp_path, code):
    """Else values between, which nobody gave, are in synthetic records."""
    told = drafted(tmp_path, [*["1", "2", "3"] * 60, code])
    assert told["null"] == [code]
    assert "null" not in drafted(tmp_path, [str(i % 100) for i in range(300)])
    assert [*drafted(tmp_path, ["1", "5", "98", "99"] * 60)["null"]] == ["98", "99"]


@pytest.mark.parametrize("width", [300, 550, 985, 3000])
def test_rounded_bounds_hold_no_code_for_no_answer(tmp_path, width):
    """Else a bin draws a code as if it were a value, and it is read as a missing one."""
    code = int("9" * len(str(width)))
    numbers = [str(i * 7919 % width) for i in range(4 * width)]
    told = drafted(tmp_path, [*numbers, *[str(code), str(code - 1)] * 40])
    assert [*told["null"]] == [str(code - 1), str(code)]
    assert width - 1 <= told["high"] < code - 1
    column = Schema.from_dict({"a": {k: v for k, v in told.items() if k != "warning"}}).provisional.columns["a"]
    assert not {code - 1, code} & set(column.decode(np.arange(column.n_values).repeat(200), 0).tolist())


@pytest.mark.parametrize(
    ("form", "sign"),
    [
        ("{},{} %", "a percent sign"),
        ("{}.{}%", "a percent sign"),
        ("{}.{} EUR", "a currency"),
        ("{}.{}-", "a minus behind it"),
        ("({}.{})", "brackets"),
        ("\u2212{}.{}", "U+2212"),
    ],
)
def test_numbers_beside_a_sign_are_named_in_the_error_and_in_two_forms_pointed_out(write, form, sign):
    for times in (1, 40):  # as dropped, and as open
        values = [form.format(100 + i // 10, i % 10) for i in range(300)] * times
        mixed = [f"{100 + i // 10}.{i % 10}" if i % 2 else value for i, value in enumerate(values)]
        draft = draft_schema(write({"a": mixed, "k": [*"xyz" * (100 * times)]}))
        told = meaning(draft["columns"]["a"]["warning"] if "a" in draft["columns"] else draft["drop"]["a"])
        assert ("not all in one form" in told and sign in told) or sign not in {"a percent sign", "a currency"}
        draft = draft_schema(write({"a": values, "k": [*"xyz" * (100 * times)]}))
        assert draft["columns"]["a"]["kind"] == "real"
    with pytest.raises(ValueError, match="is not a number, but may have") as caught:
        Schema({"a": pypgm.data.Real(0, 999, bins=9)}).encode({"a": values})
    assert sign in str(caught.value)
    assert values[0] not in str(caught.value)


def test_years_of_two_digits_are_none_to_come(tmp_path):
    """Python takes 53 for 2053: births of eighty years come out of a release as they went in."""
    year = datetime.date.today().year
    days = [datetime.date(year - 96 + i % 80, 1 + i % 12, 1 + i % 28) for i in range(1680)]
    texts = [f"{day:%d.%m.%y}" for day in days]
    told = drafted(tmp_path, texts)
    assert (told["format"], told["low"], told["high"]) == ("%d.%m.%y", f"{year - 96}-01-01", f"{year - 17}-12-31")
    assert "years have two digits" in meaning(told["warning"])
    schema = Schema({"birth": pypgm.data.Date(told["low"], told["high"], "year", format="%d.%m.%y", within="lower")})
    records = schema.encode({"birth": texts})
    assert (records.columns["birth"] == [day.year - year + 96 for day in days]).all()
    written = schema.encode({"birth": schema.columns["birth"].texts(records.columns["birth"], rng=0)})
    assert (written.columns["birth"] == records.columns["birth"]).all()
    assert "two digits" not in meaning(drafted(tmp_path, [f"{day:%d.%m.%Y}" for day in days])["warning"])


@pytest.mark.parametrize("pair", [["FALSE", "TRUE"], ["No", "Yes"], ["n", "Y"]])
def test_booleans_are_spelled_as_in_the_table(tmp_path, pair):
    assert drafted(tmp_path, pair[::-1] * 40)["values"] == pair


def test_numbers_with_a_zero_after_the_point_are_whole(tmp_path):
    assert drafted(tmp_path, ["1.0", "2.0", "3.0", ""] * 50)["kind"] == "integer"
    assert drafted(tmp_path, [f"{i / 2}" for i in range(99)] * 2)["kind"] == "real"


def test_words_that_may_be_values_are_named_where_they_are_taken_for_none(tmp_path):
    assert "read as missing: 'NA'" in meaning(drafted(tmp_path, ["NA", "DE", "FR", ""] * 50)["warning"])
    assert "NA" not in meaning(drafted(tmp_path, ["7", "8", "NA"] * 50)["warning"])


def test_times_with_a_space_keep_it(tmp_path):
    told = drafted(tmp_path, [f"2024-01-0{i % 2 + 1} {i % 24:02}:30:00" for i in range(200)])
    assert told["format"] == "%Y-%m-%d %H:%M:%S"
    assert "format" not in drafted(tmp_path, [f"2024-01-0{i % 2 + 1}T{i % 24:02}:30:00" for i in range(200)])


def days(draw, n=400):
    """Return dates of which the second is never before the first, the third is of days alone, and the last is free."""
    start = [datetime.datetime(2022, 1, 1) + datetime.timedelta(hours=draw.randrange(20_000)) for _ in range(n)]
    end = [day + datetime.timedelta(hours=int(draw.expovariate(0.02))) for day in start]
    free = [draw.choice(start) for _ in start]
    return {
        "in": start,
        "out": end,
        "paid": [day + datetime.timedelta(days=draw.randrange(90)) for day in end],
        "free": free,
    }


@pytest.mark.parametrize("form", ["%Y-%m-%d", "%d.%m.%Y", "%m/%d/%Y %H:%M", "%Y%m%d"])
@pytest.mark.filterwarnings("ignore::pypgm.errors.DraftWarning")
def test_the_order_of_dates_is_pointed_out_and_kept(form, write):
    columns = {n: [day.strftime(form) for day in own] for n, own in days(random.Random(4)).items()}
    columns["out"] = ["" if i % 7 == 0 else text for i, text in enumerate(columns["out"])]
    path = write(columns)
    draft = draft_schema(path)
    found = draft["columns"]
    assert [n for n, c in found.items() if "never before" in meaning(c["warning"])] == ["out", "paid"]
    assert "never before 'out'" in meaning(found["paid"]["warning"])  # which is the nearer one
    ((rule, span),) = draft["proposals"]["out"].values()
    assert (rule, span["low"], span["unit"]) == ("in <= out", 0, "day")
    columns_of = {"rule": found, "difference": {**found, "out": span}}
    n_broken = {}
    for way, rules in (("none", []), ("rule", [rule]), ("difference", [])):
        schema = {**draft, "columns": columns_of.get(way, found), "rules": rules}
        release = pypgm.synthesize(path, schema, epsilon=1, delta=1e-9, mechanism="mst", unsafe_seed=0)
        made = release.schema.decode(release.synthetic_data(300, rng=0), rng=0)
        pairs = [(a, b) for a, b in zip(made["in"].tolist(), made["out"].tolist(), strict=True) if b is not None]
        n_broken[way] = sum(a > b for a, b in pairs)
    assert n_broken["none"] > 0
    assert n_broken["rule"] == n_broken["difference"] == 0


def test_an_order_that_one_record_breaks_is_none():
    columns = {n: [f"{day:%Y-%m-%d}" for day in own] for n, own in days(random.Random(5), 20_000).items()}
    assert "never before" in meaning(draft_schema(columns)["columns"]["out"]["warning"])
    for row in (0, 19_999):  # of the first piece and of the last
        broken = {**columns, "out": list(columns["out"])}
        broken["out"][row] = "2021-12-31"
        warnings_of = draft_schema(broken)["columns"]
        assert "never before 'in'" not in meaning(warnings_of["out"]["warning"])
        assert "never before 'in'" in meaning(warnings_of["paid"]["warning"])


def test_an_order_is_of_dates_as_they_are_read_in_the_end():
    start = ["01/02/2020", "03/04/2020"] * 5_000 + ["13/01/2020"] * 5_000  # the last piece says what the day is
    later = ["02/02/2020" if day[:2] == "01" else "04/04/2020" for day in start[:10_000]] + ["14/01/2020"] * 5_000
    assert "order" not in json.dumps(draft_schema({"start": start, "end": later}))  # the first were read otherwise


def test_dates_that_cannot_be_out_of_order_are_not_pointed_out():
    year = {"a": "2020", "b": "2021"}
    apart = {n: [f"{y}-{1 + i % 12:02}-{1 + i * 7 % 28:02}" for i in range(400)] for n, y in year.items()}
    twice = {"a": apart["a"], "b": apart["a"]}
    for columns in (apart, twice):
        assert "order" not in json.dumps(draft_schema(columns))


def test_an_order_of_names_that_a_rule_cannot_have_is_kept_by_a_difference():
    columns = days(random.Random(6))
    draft = draft_schema({"in <= x": columns["in"], "out": columns["out"]})
    assert [span["from"] for (span,) in draft["proposals"]["out"].values()] == ["in <= x"]


def test_hours_are_not_compared_with_days():
    draw = random.Random(7)
    start = [datetime.datetime(2024, 1, 1 + draw.randrange(2), draw.randrange(24)) for _ in range(400)]
    ends = {n: [time + datetime.timedelta(hours=draw.randrange(n)) for time in start] for n in (3, 2000)}
    for n, is_told in ((3, True), (2000, False)):
        draft = draft_schema({"start": start, "end": ends[n]})["columns"]
        assert ("never before" in meaning(draft["end"]["warning"])) == is_told
        assert draft["start"]["resolution"] == "hour"
    ((_, span),) = draft_schema({"start": start, "end": ends[3]})["proposals"]["end"].values()
    assert span["unit"] == "minute"


@pytest.mark.parametrize("form", ["%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M:%S", "%d.%m.%Y %H:%M:%S", None])
@pytest.mark.parametrize("span", [1, 60, 3000])
def test_a_time_of_day_is_kept_or_said_to_be_drawn(form, span):
    times = [
        datetime.datetime(2020, 1, 1) + datetime.timedelta(days=i % span, hours=i % 24, minutes=30) for i in range(400)
    ]
    midnights = [time.replace(hour=0, minute=0) for time in times]
    for own in (times, midnights):
        told = draft_schema({"a": own if form is None else [f"{t:{form}}" for t in own]})["columns"]["a"]
        is_drawn = own is times and told["resolution"] != "hour"
        said = "the time of day is drawn evenly: the resolution hour keeps it" in meaning(told["warning"])
        assert said == is_drawn
    mixed = [f"{t:%Y-%m-%d}{f' {t:%H:%M}' * (i % 2)}" for i, t in enumerate(times)]
    assert meaning(draft_schema({"a": mixed})["columns"]["a"]["warning"]).endswith("; the time of day is left out")


def test_times_without_seconds_are_written_as_they_are():
    told = draft_schema({"a": [f"2024-01-0{i % 2 + 1} {i % 24:02}:30" for i in range(200)]})["columns"]["a"]
    assert (told["format"], told["resolution"]) == ("%Y-%m-%d %H:%M", "hour")


ODD = {
    "integer": (list(range(18, 90)), ["unknown", "85+"]),
    "comma": ([f"{i},50" for i in range(100)], ["<5"]),
    "thousands": ([f"1.{i:03},25" for i in range(90)], ["#NV", "n.a.", "(null)"]),
    "date": ([f"{1 + i % 28:02}.0{1 + i % 9}.2020" for i in range(200)], ["31.02.2020", "soon"]),
    "infinite": ([i / 8 for i in range(100)], [float("inf")]),
}


@pytest.mark.parametrize("name", ODD)
@pytest.mark.filterwarnings("ignore::pypgm.errors.DraftWarning")
def test_a_few_texts_among_numbers_or_dates_are_taken_for_missing_ones(name, write):
    values, odd = ODD[name]
    frame = {"a": [*values, *odd], "b": [i % 3 for i in range(len(values) + len(odd))]}
    for source, how in ((frame, {}), (write(frame, delimiter=";"), {"delimiter": ";"})):
        told = draft_schema(source, **how)["columns"]["a"]
        assert told["kind"] == {"integer": "integer", "date": "date"}.get(name, "real")
        assert [*told["null"]] == sorted(map(str, odd))
        assert all(repr(str(text)) in meaning(told["warning"]) for text in odd)
        assert "read as missing, since they cannot be read as the others are" in meaning(told["warning"])
        schema = Schema.draft(source, **how)
        counts = schema.encode(source).project("a") if source is frame else None
        release = pypgm.synthesize(source, schema, epsilon=5, delta=1e-6, mechanism="mst", **how)
        assert release.schema.columns["a"].null_code is not None
        assert counts is None or counts.values[-len(odd) :].sum() == len(odd)


@pytest.mark.parametrize("read", [Schema.draft, lambda table: pypgm.compare(table, table)])
def test_columns_of_unequal_lengths_are_no_table(read):
    with pytest.raises(ValueError, match="columns need equal lengths, got 2 for 'a' and 1 for 'b'"):
        read({"a": [1, 2], "b": ["x"]})


def test_many_texts_among_numbers_are_no_missing_ones():
    values = [*range(150), *range(150), *(f"A{i}" for i in range(11))]
    assert list(draft_schema({"a": values, "b": ["x"] * 311})["drop"]) == ["a"]
    assert draft_schema({"a": values[:-1], "b": ["x"] * 310})["columns"]["a"]["kind"] == "integer"


@pytest.mark.parametrize(
    ("make", "told"),
    [
        ("{:.1f}M".format, "numbers with 'a letter for thousands or millions', not all in one form"),
        (lambda n: f"{n:.2f} {'€$'[int(n) % 2]}".replace(".", ","), "numbers with 'a currency', not all in one form"),
        (lambda n: f"{int(n) % 240}:{int(n * 7) % 60:02}", "spans, such as 36:15, that no format reads"),
        ("P{:.0f}".format, "as names and ids have"),
    ],
)
def test_why_numbers_that_no_column_reads_are_left_out(make, told):
    once = [make(n * 3.7) for n in range(300)]
    draft = draft_schema({"a": once, "b": ["x", "y"] * 150})
    assert told in meaning(draft["drop"]["a"])
    again = draft_schema({"a": once[:90] * 5, "b": ["x", "y"] * 225})["columns"]["a"]
    assert again["kind"] == "open"
    assert (told in meaning(again["warning"])) == ("as names" not in told)


def test_a_draft_warns_in_python_as_on_the_command_line(write, tmp_path, monkeypatch, capsys):
    path = write({"age": [i % 60 for i in range(N)], "sex": ["F", "M"] * (N // 2)})
    drafted = Schema.draft(path)
    drafted.save(tmp_path / "s.json")
    monkeypatch.chdir(tmp_path)
    budget = {"epsilon": 1, "delta": 1e-9}
    for schema in (drafted, tmp_path / "s.json"):
        for private in (pypgm.synthesize, pypgm.mechanisms.mst):
            with pytest.warns(DraftWarning) as heard:
                release = private(path, schema=schema, **budget)
            (one,) = heard
            assert one.filename == __file__
            assert " ".join(release.report().split()).startswith(f"warning: {one.message} ")
    synth = ["synth", "t.csv", "--schema", "s.json", "--out", "o.csv", "--epsilon", "1", "--delta", "1e-9"]
    assert cli.main([*synth, "--release", "r.pgm"]) == 0
    assert capsys.readouterr().err.splitlines().count(f"warning: {one.message}") == 1
    assert " ".join(pypgm.load("r.pgm").report().split()).startswith(f"warning: {one.message} ")
    assert cli.main(["info", "r.pgm", "--json"]) == 0
    assert str(one.message) in json.loads(capsys.readouterr().out)["warnings"]
    closed = {"age": {"kind": "integer", "low": 0, "high": 99, "width": 5}, "sex": ["F", "M"]}
    assert "draft" not in pypgm.synthesize(path, closed, **budget).report()


def open_table(data, **budget):
    return pypgm.PrivateTable(data, None, pypgm.Ledger(pypgm.Budget(**budget)))


DOORS = {
    "mechanism": pypgm.mechanisms.mst,
    "synthesize": pypgm.synthesize,
    "network": lambda data, **budget: pypgm.bayes.learn_private(data, [("sex", "age")], **budget),
    "field": lambda data, **budget: pypgm.mrf.learn_pairwise(data, **budget, radius=1.0, steps=1),
    "table": open_table,
    "open table": lambda data, **budget: pypgm.mechanisms.mst(open_table(data, **budget)),
    "parts": lambda data, **budget: open_table(data, **budget).over(data.domain.project(["age"])),
    "resumed": lambda data, **budget: pypgm.mechanisms.mst(pypgm.Dataset(data.columns, data.domain), **budget).resume(
        data, pypgm.Budget(**budget)
    ),
}


@pytest.mark.parametrize("door", DOORS.values(), ids=DOORS)
def test_records_of_a_draft_warn_once_by_whatever_door_they_come(door):
    frame = {"age": [i % 60 for i in range(N)], "sex": ["F", "M"] * (N // 2)}
    schema = Schema.draft(frame)
    data = schema.encode(frame)  # which spends nothing, and warns of nothing
    with pytest.warns(DraftWarning) as heard:
        door(data, epsilon=1, delta=1e-9)
    (one,) = heard
    assert (str(one.message), one.filename) == (schema.draft_warning, __file__)


@pytest.mark.parametrize("door", DOORS.values(), ids=DOORS)
def test_a_delta_that_protects_hardly_anybody_warns_once_by_whatever_door_records_come(door):
    """By itself, and never by how many records there are."""
    schema = Schema({"age": 60, "sex": ["F", "M"]})
    for n in (N, 40 * N) if door is open_table else (N,):
        data = schema.encode({"age": [i % 60 for i in range(n)], "sex": ["F", "M"] * (n // 2)})
        for delta in (".5", "0.05", 1e-3):
            with pytest.warns(WeakGuaranteeWarning, match="Hardly anybody is protected") as heard:
                door(data, epsilon=1, delta=delta)
            assert {w.filename for w in heard} == {__file__}
            assert {str(w.message) for w in heard} == {str(heard[0].message)}
        door(data, epsilon=1, delta="9e-4")


def test_a_draft_warns_before_what_it_leaves_open_is_paid_for():
    schema = pypgm.OpenSchema({"job": OpenSet("1/4"), "sex": ["F", "M"]}, warned=["sex"])
    frame = {"job": ["cook"] * N, "sex": ["F", "M"] * (N // 2)}
    ledger = pypgm.Ledger(pypgm.Budget(rho=1, reserved_delta=1e-9))
    with warnings.catch_warnings():
        warnings.simplefilter("error", DraftWarning)
        with pytest.raises(DraftWarning):
            settle(schema, frame, None, ledger)
    assert not ledger.lines
    with pytest.warns(DraftWarning) as heard:
        pypgm.synthesize(frame, schema, epsilon=1, delta=1e-9)
    (one,) = heard
    assert one.filename == __file__


@pytest.mark.parametrize("library", ["list", "pandas", "polars", "pyarrow"])
def test_a_draft_lists_spans_and_times_of_day_as_they_are_encoded(library):
    columns = {
        "span": [datetime.timedelta(days=i % 2, hours=i % 3) for i in range(60)],
        "time": [datetime.time(9 + i % 2) for i in range(60)],
    }
    frame = columns
    if library != "list":
        pytest.importorskip("narwhals")
        pytest.importorskip(library)
        frame = as_frame({name: np.array([*v, None], object)[:-1] for name, v in columns.items()}, library)
    draft = Schema.draft(frame)
    assert draft.columns["span"].labels[0] == "0:00:00"
    assert draft.encode(frame).n_records == draft.encode(columns).n_records == 60


def test_python_hears_what_the_command_says_of_a_whole_draft(tmp_path):
    (tmp_path / "t.csv").write_text("7,3\n" * 50)
    with pytest.warns(DraftWarning, match="the first line looks like a record"):
        Schema.draft(tmp_path / "t.csv")
