"""Columns that depend on others: exact in every record of every mechanism, and never read where they are made."""

from __future__ import annotations

import csv
import datetime
import json
import random
import re
import sys
from decimal import Decimal

import numpy as np
import pytest

import pypgm
from pypgm import OpenSchema, Schema, cli
from pypgm.data import Blank, Categorical, Date, Derived, Difference, Fake, Id, Integer, OpenSet, QuantileBins, Real
from pypgm.data.columns.dates import last_after, span_between
from pypgm.mechanisms.tables import mechanism_named, mechanism_names

REGIONS = {"Ash": "North", "Elm": "North", "Fox": "South", "Yew": "West"}
COLUMNS = {
    "id": {"kind": "id", "format": "ID-{:05}"},
    "birth": {"kind": "date", "low": "1940-01-01", "high": "2003-12-31", "resolution": "year", "format": "%d.%m.%Y"},
    "registered": {"kind": "difference", "from": "birth", "unit": "year", "low": 18, "high": 25, "outside": "clip"},
    "city": ["Ash", "Elm", "Fox", "Yew"],
    "region": {"kind": "derived", "from": "city", "mapping": REGIONS},
    "member": {"kind": "boolean", "values": ["no", "yes"], "null": ""},
    "plan": {"kind": "categorical", "values": ["basic", "gold"], "null": ""},
    "paid": {"kind": "integer", "low": 0, "high": 999, "width": 250},
    "due": {"kind": "integer", "low": 0, "high": 999, "width": 250},
    "left": {"kind": "derived", "difference": ["paid", "due"]},
    "age": {"kind": "derived", "difference": ["birth", "registered"], "unit": "year"},
}
MEMBERS = {"blank": "plan", "unless": {"member": "yes"}}
TOLD = {"columns": COLUMNS, "rules": [MEMBERS, "paid <= due"]}
ORDER = ["id", "birth", "registered", "city", "region", "member", "plan", "paid", "due", "left", "age"]


def messy(n=600, seed=0, cities=tuple(REGIONS)):
    """Return the rows of a table as people have it, each a mapping of names to texts."""
    draw = random.Random(seed)
    rows = []
    for i in range(n):
        birth = datetime.date(1940, 1, 1) + datetime.timedelta(draw.randrange(23_000))
        registered = birth + datetime.timedelta(draw.randrange(18 * 365, 25 * 365))
        city = draw.choices(cities, [1 / (k + 1) for k in range(len(cities))])[0]
        member = draw.choice(["yes", "no", ""])
        paid, due = sorted(draw.randrange(1000) for _ in range(2))
        row = {"id": f"P{i}", "birth": f"{birth:%d.%m.%Y}", "registered": f"{registered:%d.%m.%Y}", "city": city}
        row |= {"region": REGIONS.get(city, "East"), "member": member}
        row |= {"plan": draw.choice(["basic", "gold"]) if member == "yes" else ""}
        row |= {"paid": str(paid), "due": str(due), "left": str(due - paid), "age": "?"}
        rows.append(row)
    return rows


def in_columns(rows):
    return {name: [row[name] for row in rows] for name in rows[0]}


def day(text):
    return datetime.datetime.strptime(text, "%d.%m.%Y").date()


def age(birth, other):
    return other.year - birth.year - ((other.month, other.day) < (birth.month, birth.day))


def check(rows, regions=REGIONS):
    """Check all that is known of each record, whose values are texts."""
    assert [row["id"] for row in rows] == [f"ID-{i:05}" for i in range(1, len(rows) + 1)]
    for row in rows:
        assert row["region"] == regions[row["city"]]
        assert row["member"] == "yes" or row["plan"] == ""
        assert int(row["left"]) == int(row["due"]) - int(row["paid"]) >= 0
        assert int(row["age"]) == age(day(row["birth"]), day(row["registered"]))
        assert 18 <= int(row["age"]) <= 25


def as_texts(columns):
    texts = {n: ["" if v is None or str(v) == "nan" else str(v) for v in values] for n, values in columns.items()}
    return [dict(zip(texts, row, strict=True)) for row in zip(*texts.values(), strict=True)]


def written(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("name", mechanism_names())
def test_records_of_every_mechanism_keep_what_is_known(name, tmp_path):
    schema = Schema.from_dict(TOLD)
    run = {"jam": {"public": schema.encode(in_columns(messy(50, 9)))}}.get(name, {})
    how = run | {"budget": pypgm.Budget(epsilon=3, delta=1e-9), "unsafe_seed": 1}
    release = mechanism_named(name)(schema.encode(in_columns(messy())), **how)
    release.save(tmp_path / "r.pgm")
    for found in (release, pypgm.load(tmp_path / "r.pgm")):
        found.write(tmp_path / "s.csv", 300, rng=0)
        rows = written(tmp_path / "s.csv")
        (tmp_path / "s.csv").unlink()
        assert len(rows) == 300
        assert list(rows[0]) == ORDER
        check(rows)


@pytest.mark.parametrize("kind", ["mapping", "csv", "pandas", "polars", "pyarrow", "parquet", "duckdb", "relation"])
def test_tables_of_every_kind_come_back_whole(kind, tmp_path):
    rows = messy()
    source, how = table_of(kind, rows, tmp_path)
    release = pypgm.synthesize(source, TOLD, epsilon=2, delta=1e-9, unsafe_seed=0, **how)
    release.save(tmp_path / "r.pgm")
    release = pypgm.load(tmp_path / "r.pgm")
    release.write(tmp_path / "s.csv", 200, rng=0)
    check(written(tmp_path / "s.csv"))
    assert list(written(tmp_path / "s.csv")[0]) == ORDER
    if kind == "csv":
        pytest.importorskip("pandas")
    if kind != "mapping":
        frame = release.to_frame(200, rng=0)
        names = frame.column_names if hasattr(frame, "column_names") else list(frame.columns)
        assert names == ORDER
        plain = frame.to_pydict() if hasattr(frame, "to_pydict") else {name: frame[name].to_list() for name in names}
        check(as_texts(plain))


def table_of(kind, rows, folder):
    columns = in_columns(rows)
    if kind == "csv":
        with open(folder / "t.csv", "w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, list(columns))
            writer.writeheader()
            writer.writerows(rows)
        return folder / "t.csv", {}
    if kind in {"pandas", "polars"}:
        return pytest.importorskip(kind).DataFrame(columns), {}
    if kind in {"pyarrow", "parquet", "duckdb", "relation"}:
        table = pytest.importorskip("pyarrow").table(columns)
        if kind == "parquet":
            pytest.importorskip("pyarrow.parquet").write_table(table, folder / "t.parquet")
            return folder / "t.parquet", {}
        if kind in {"duckdb", "relation"}:
            duckdb = pytest.importorskip("duckdb")
            if kind == "relation":
                return duckdb.connect().from_arrow(table), {}
            with duckdb.connect(str(folder / "t.duckdb")) as connection:
                connection.register("given", table)
                connection.execute("create table people as select * from given")
            return folder / "t.duckdb", {"table": "people"}
        return table, {}
    return columns, {}


def test_what_is_made_is_never_read(tmp_path):
    rows = messy(50)
    schema = Schema.from_dict(TOLD)
    known = schema.encode(in_columns(rows))
    for row in rows:
        row.update(id="\0", region="no such region", left="one", age=object())
    strange = schema.encode(in_columns(rows))
    bare = schema.encode({n: v for n, v in in_columns(rows).items() if n not in {"id", "region", "left", "age"}})
    for name in known.columns:
        assert known.columns[name].tolist() == strange.columns[name].tolist() == bare.columns[name].tolist()
    assert set(known.domain) == {"birth", "registered", "city", "member", "plan", "paid", "due"}


def test_an_open_column_determines_another(tmp_path):
    cities = [f"City {i}" for i in range(300)]
    regions = {city: f"Region {int(city[5:]) % 7}" for city in cities[:250]}  # and of the rest nothing is known
    with open(tmp_path / "regions.csv", "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([["region", "city"], *((r, c) for c, r in regions.items())])
    told = {
        "city": {"kind": "open", "share": 0.1},
        "region": {"kind": "derived", "from": "city", "mapping": "regions.csv", "other": "unknown"},
        "country": {
            "kind": "derived",
            "from": "region",
            "mapping": [[f"Region {i}", i % 2] for i in range(7)],
            "other": 5,
        },
    }
    (tmp_path / "schema.json").write_text(json.dumps(told))
    table = {"city": [row["city"] for row in messy(3000, 3, cities)]}
    release = pypgm.synthesize(table, tmp_path / "schema.json", epsilon=3, delta=1e-6)
    release.save(tmp_path / "r.pgm")
    found = release.schema.decode(release.synthetic_data(500, rng=0))
    again = pypgm.load(tmp_path / "r.pgm")
    assert again.schema == release.schema
    assert {"other"} < set(found["city"])
    for city, region, country in zip(found["city"], found["region"], found["country"], strict=True):
        assert region == regions.get(city, "unknown")
        assert country == (5 if region == "unknown" else int(region[7:]) % 2)
    with pytest.raises(ValueError, match="path of a file in a schema file alone"):
        Schema.from_dict(told)


def test_the_command_line_keeps_what_is_known(tmp_path):
    source, _ = table_of("csv", messy(), tmp_path)
    (tmp_path / "schema.json").write_text(json.dumps(TOLD))
    where = ["--schema", str(tmp_path / "schema.json"), "--epsilon", "2", "--delta", "1e-9", "--quiet"]
    assert cli.main(["synth", str(source), *where, "--out", str(tmp_path / "s.csv")]) == 0
    check(written(tmp_path / "s.csv"))
    told = ["sample", str(tmp_path / "s.pgm"), "--rows", "100", "--seed", "1", "--quiet"]
    assert cli.main([*told, "--out", str(tmp_path / "m.csv")]) == 0
    check(written(tmp_path / "m.csv"))
    assert list(written(tmp_path / "m.csv")[0]) == ORDER


def test_given_values_of_a_mapped_column_stand_for_those_it_is_mapped_from(tmp_path, capsys):
    schema = Schema.from_dict(TOLD)
    how = {"budget": pypgm.Budget(epsilon=5, delta=1e-9), "unsafe_seed": 1}
    pypgm.mechanisms.mst(schema.encode(in_columns(messy())), **how).save(tmp_path / "r.pgm")
    told = [
        "sample",
        str(tmp_path / "r.pgm"),
        "--rows",
        "100",
        "--seed",
        "1",
        "--quiet",
        "--out",
        str(tmp_path / "m.csv"),
    ]
    assert cli.main([*told, "--given", "region=North"]) == 0
    check(written(tmp_path / "m.csv"))
    assert {row["city"] for row in written(tmp_path / "m.csv")} == {"Ash", "Elm"}
    (tmp_path / "m.csv").unlink()
    assert cli.main([*told, "--given", "region=North", "--given", "city=Elm,Fox"]) == 0
    assert {row["city"] for row in written(tmp_path / "m.csv")} == {"Elm"}
    (tmp_path / "m.csv").unlink()
    for wrong, why in (
        (["region=East"], "column 'region' needs one of 'North', 'South', 'West'"),
        (["left=3"], "column 'left' is made when records are decoded, of 'paid', 'due'"),
        (["region=North", "city=Fox"], "no value of 'city' agrees with all the given values"),
    ):
        assert cli.main([*told, *(word for text in wrong for word in ("--given", text))]) != 0
        assert why in capsys.readouterr().err


@pytest.mark.parametrize(
    ("learner", "own"),
    [
        (pypgm.bayes.learn_private, {"structure": pypgm.bayes.PrivateStructure(max_parents=1)}),
        (pypgm.mrf.learn_pairwise, {"radius": 0.5, "steps": 7}),
    ],
)
def test_learners_keep_what_is_known(learner, own, tmp_path):
    data = Schema.from_dict(TOLD).encode(in_columns(messy()))
    release = learner(data, budget=pypgm.Budget(epsilon=20, delta=1e-9), unsafe_seed=1, **own)
    release.write(tmp_path / "s.csv", 200, rng=0)
    check(written(tmp_path / "s.csv"))


def test_spans_are_those_of_the_calendar():
    rng = np.random.default_rng(0)
    first = rng.integers(-200_000, 200_000, 3000)
    second = first + rng.integers(-20_000, 20_000, 3000)
    days = [[datetime.date(1970, 1, 1) + datetime.timedelta(int(d)) for d in ds] for ds in (first, second)]
    years = span_between(first, second, "year", False)
    months = span_between(first, second, "month", False)
    for a, b, year, month in zip(*days, years, months, strict=True):
        assert year == age(a, b)
        assert month == (b.year - a.year) * 12 + b.month - a.month - (b.day < a.day)
    for has_times, units in (
        (False, ("day", "week", "month", "year")),
        (True, ("second", "minute", "hour", "day", "week", "month", "year")),
    ):
        start = first * 86_400 + rng.integers(0, 86_400, 3000) if has_times else first
        spans = rng.integers(-40, 40, 3000)
        for unit in units:
            last = last_after(start, spans, unit, has_times)
            assert (span_between(start, last, unit, has_times) == spans).all()
            assert (span_between(start, last + 1, unit, has_times) == spans + 1).all()


def differences(n=400, seed=1, *, with_nulls=True):
    """Return a schema of differences, and columns of values of it, as objects."""
    draw = random.Random(seed)
    null = {"null": True} if with_nulls else {}
    schema = Schema(
        {
            "birth": Date("1940-01-01", "2003-12-31", "quarter", **null),
            "joined": Difference("birth", 18, 25, "year", outside="clip", **null),
            "left": Difference("joined", 0, 30, "month", edges=[1, 6, 12], outside="clip", **null),
            "first": Integer(-50, 99, width=10, **null),
            "second": Difference("first", -5, 20, width=5, outside="clip", **null),
        }
    )

    def maybe(value):
        return None if with_nulls and draw.random() < 0.1 else value

    rows = []
    for _ in range(n):
        birth = datetime.date(1940, 1, 1) + datetime.timedelta(draw.randrange(23_000))
        joined = birth + datetime.timedelta(draw.randrange(17 * 365, 27 * 365))
        left = joined + datetime.timedelta(draw.randrange(-100, 1500))
        first = draw.randrange(-50, 100)
        rows.append([*map(maybe, (birth, joined, left, first, first + draw.randrange(-9, 30)))])
    return schema, dict(zip(schema.domain, map(list, zip(*rows, strict=True)), strict=True))


def test_differences_are_counted_as_people_count():
    schema, table = differences()
    codes = schema.encode(table).columns
    months = np.array([0, 1, 6, 12])
    for i, (birth, joined, left, first, second) in enumerate(zip(*table.values(), strict=True)):
        years = None if birth is None or joined is None else min(max(age(birth, joined), 18), 25)
        assert codes["joined"][i] == (8 if years is None else years - 18)
        if joined is None or left is None:
            assert codes["left"][i] == 4
        else:
            whole = (left.year - joined.year) * 12 + left.month - joined.month - (left.day < joined.day)
            assert codes["left"][i] == np.searchsorted(months, min(max(whole, 0), 30), "right") - 1
        lost = first is None or second is None
        assert codes["second"][i] == (6 if lost else (min(max(second - first, -5), 20) + 5) // 5)


def test_a_decoded_difference_is_encoded_as_it_was():
    schema, table = differences(with_nulls=False)
    records = schema.encode(table)
    values = schema.decode(records, rng=0)
    again = schema.encode(values)
    for name in schema.domain:
        assert again.columns[name].tolist() == records.columns[name].tolist()


@pytest.mark.parametrize(
    ("first", "second", "null"),
    [
        (Integer(0, 90, width=10), {"low": 0, "high": 19, "width": 5}, ["99", "50", "51", "?"]),
        (
            Date("2000-01-01", "2003-12-31", "year"),
            {"low": 0, "high": 60, "unit": "month", "edges": [6, 12], "format": "%Y-%m"},
            ["2003-05", "?"],
        ),
    ],
)
def test_no_sum_with_a_difference_is_one_that_reads_as_null(first, second, null):
    schema = Schema({"first": first, "second": Difference("first", **second, null=null)})
    size = schema.domain.size("second")
    records = schema.records({"first": np.arange(4000) % first.size, "second": np.arange(4000) // 100 % size})
    again = schema.encode(schema.decode(records, rng=0))
    assert again.columns["second"].tolist() == records.columns["second"].tolist()
    texts = schema.cells(records.columns, np.random.default_rng(0))["second"].texts()
    assert [text in null for text in texts] == (records.columns["second"] == size - 1).tolist()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # those of the engine's own driver
def test_engines_count_differences_alike():
    ibis, arrow = pytest.importorskip("ibis"), pytest.importorskip("pyarrow")
    pytest.importorskip("duckdb")
    schema, table = differences()
    known = schema.encode(table)
    connection = ibis.duckdb.connect()
    connection.con.register("given", arrow.table(table))
    connection.raw_sql("create table t as select * from given")
    found = pypgm.data.EngineTable(connection.table("t"), schema)
    asked = [("joined",), ("left", "birth"), ("second", "first", "joined")]
    for one, other in zip(found.count(asked), known.count(asked), strict=True):
        assert one.tolist() == other.tolist()
    found.end_snapshot()
    connection.raw_sql("create table u as select * replace (cast(joined as varchar) as joined) from given")
    with pytest.raises(
        ValueError, match="column 'joined': is measured as a difference, which an engine counts of dates"
    ):
        pypgm.data.EngineTable(connection.table("u"), schema)


def test_scans_and_open_tables_have_differences(tmp_path):
    schema, table = differences(with_nulls=False)
    arrow, duckdb = pytest.importorskip("pyarrow"), pytest.importorskip("duckdb")
    known = schema.encode(table)
    found = pypgm.data.scan(duckdb.connect().from_arrow(arrow.table(table)), schema)
    for clique in [("joined",), ("left", "second")]:
        assert found.count([clique])[0].tolist() == known.count([clique])[0].tolist()
    wide = {**schema.declared, "first": QuantileBins(Integer(-50, 99), 4, share="0.1"), "town": OpenSet(share="0.1")}
    table["town"] = ["x"] * 400
    with open(tmp_path / "t.csv", "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([list(table), *zip(*table.values(), strict=True)])
    release = pypgm.synthesize(tmp_path / "t.csv", OpenSchema(wide), epsilon=3, delta=1e-6)
    rows = as_texts(release.schema.decode(release.synthetic_data(200, rng=0)))
    assert all(-5 <= int(row["second"]) - int(row["first"]) <= 24 for row in rows)
    assert all(18 <= age(*map(datetime.date.fromisoformat, (r["birth"], r["joined"]))) <= 25 for r in rows)


@pytest.mark.parametrize("rows", [[0, 3], [2]])
def test_a_difference_that_does_not_fit_is_named_by_its_row_alone(tmp_path, rows):
    schema = Schema({"a": Integer(0, 9), "b": Difference("a", 0, 3)})
    table = {"a": ["1"] * 4, "b": ["7319" if i in rows else "2" for i in range(4)]}
    told = f"column 'b', row {rows[0]} (the first is 0): needs a value that is 0 to 3 after that of 'a', and is not"
    told += ' or is empty ("outside": "clip" allows others)'
    with pytest.raises(ValueError, match="column 'b'") as caught:
        schema.encode(table)
    assert "7319" not in str(caught.value)
    table["b"] = ["9" if i in rows else "2" for i in range(4)]
    with pytest.raises(ValueError, match="column 'b'") as caught:
        schema.encode(table)
    assert told in str(caught.value)
    with open(tmp_path / "t.csv", "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([list(table), *zip(*table.values(), strict=True)])
    with pytest.raises(ValueError, match=rf"column 'b', row {rows[0] + 1} \(the header is row 0\)"):
        pypgm.read_table(tmp_path / "t.csv", schema)


def exact(columns, rules=(), rows=200, rng=0):
    """Return decoded records of a schema, all codes drawn."""
    schema = Schema(columns, rules=rules)
    draw = np.random.default_rng(rng)
    codes = {name: draw.integers(0, c.size, rows) for name, c in schema.columns.items()}
    return {n: v.tolist() for n, v in schema.decode(schema.records(codes), rng=rng).items()}


def test_sums_products_and_differences_are_those_of_decimals():
    found = exact(
        {
            "a": Real(-5, 5, 4, decimals=2, null="?"),
            "b": Integer(-3, 90, 20),
            "c": Real(0, 2, 2, decimals=3, outside="other"),
            "sum": Derived(sum=["a", "b", "c"]),
            "product": Derived(product=["a", "b", "c"]),
            "rounded": Derived(product=["a", "b"], decimals=1),
            "difference": Derived(difference=["b", "a"], null="-"),
            "of_made": Derived(difference=["b", "sum"], decimals=0),
            "twice": Derived(sum=["b", "b"]),
        }
    )
    seen = set()
    for a, b, c, total, product, rounded, difference, of_made, twice in zip(*found.values(), strict=True):
        missing, other = a is None or np.isnan(a), c == "other"
        seen |= {missing, other}
        exact_a, exact_c = (None if gone else Decimal(str(v)) for v, gone in ((a, missing), (c, other)))
        if missing or other:
            assert all(v is None or np.isnan(v) for v in (total, product, of_made))
        else:
            assert Decimal(str(total)) == exact_a + b + exact_c
            assert Decimal(str(product)) == exact_a * b * exact_c
            assert of_made == round(exact_a + exact_c)
        if missing:
            assert np.isnan(rounded)
            assert np.isnan(difference)
        else:
            assert Decimal(str(rounded)) == round(exact_a * b, 1)
            assert Decimal(str(difference)) == exact_a - b
        assert twice == 2 * b
    assert seen == {True, False}


def test_numbers_of_dependent_columns_are_written_as_those_of_the_table(tmp_path):
    whole = {"kind": "integer", "low": 0, "high": 90_000, "width": 30_000}
    for marks, how in (({"thousands": ","}, {}), ({}, {"thousands": ",", "decimal": "."})):
        told = {"a": whole | marks, "b": {"kind": "difference", "from": "a", "low": 1, "high": 9_000, "width": 3_000}}
        told |= {"c": {"kind": "derived", "sum": ["a", "b"]}}
        draw = random.Random(0)
        rows = [[f"{a:,}", f"{a + draw.randrange(1, 9000):,}"] for a in draw.choices(range(90_000), k=300)]
        with open(tmp_path / "t.csv", "w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([["a", "b"], *rows])
        release = pypgm.synthesize(tmp_path / "t.csv", told, epsilon=5, delta=1e-9, unsafe_seed=0, **how)
        release.write(tmp_path / "s.csv", 100, rng=0)
        for row in written(tmp_path / "s.csv"):
            a, b, c = (int(row[name].replace(",", "")) for name in "abc")
            assert [f"{a:,}", f"{b:,}", f"{c:,}"] == [row[name] for name in "abc"]
            assert 1 <= b - a <= 9000
            assert c == a + b
        (tmp_path / "s.csv").unlink()


def test_mappings_of_numbers_dates_and_codes():
    found = exact(
        {
            "age": Integer(0, 99, 30, null=True),
            "group": Derived("age", [({"to": 17}, "minor"), ({"from": 18, "to": 64}, "adult"), ({"from": 65}, "old")]),
            "born": Date("2000-01-01", "2003-12-31", "year", format="%d.%m.%Y"),
            "era": Derived(
                "born", [({"to": "31.12.2001"}, 1), ([f"{d:02}.03.2002" for d in range(1, 32)], 2)], other=3
            ),
            "code": 5,
            "name": Derived("code", [([0, 4], "x"), ({"from": 1, "to": 3}, "y")]),
            "flag": Derived("name", {"x": True, "y": False}),
            "height": Real(0, 2, 4),
            "tall": Derived("height", [({"from": 1.5}, "yes"), ({"to": 1.5}, "no")]),
        }
    )
    for age_, group, born, era, code, name, flag, height, tall in zip(*found.values(), strict=True):
        assert group == (None if age_ is None else "minor" if age_ < 18 else "adult" if age_ < 65 else "old")
        assert era == (1 if born.year < 2002 else 2 if (born.year, born.month) == (2002, 3) else 3)
        assert name == ("x" if code in {0, 4} else "y")
        assert flag == (name == "x")
        assert tall == ("yes" if height >= 1.5 else "no")


def test_blanks_by_any_value_and_with_open_columns():
    rows = messy(2000)
    told = {
        "columns": {
            "member": {"kind": "open", "share": 0.3, "null": ""},
            "plan": {"kind": "open", "share": 0.3, "null": ""},
        },
        "rules": [{"blank": "plan", "unless": "member"}],
    }
    table = {"member": [r["member"].replace("no", "") for r in rows], "plan": [r["plan"] for r in rows]}
    release = pypgm.synthesize(table, told, epsilon=3, delta=1e-6)
    found = release.schema.decode(release.synthetic_data(500, rng=0))
    assert {"basic", "gold", None} <= set(found["plan"]) <= {"basic", "gold", "other", None}
    assert all(plan is None or member is not None for member, plan in zip(found["member"], found["plan"], strict=True))
    table["member"][0], table["plan"][0] = "", "gold"
    with pytest.raises(ValueError, match=r"columns 'member', 'plan', row 0 \(the first is 0\): records have"):
        pypgm.synthesize(table, told, epsilon=3, delta=1e-6)


@pytest.mark.parametrize("other", [OpenSet("1/4"), QuantileBins(Integer(0, 99), 5, "1/4")])
@pytest.mark.parametrize("plan", [OpenSet("1/4", null=""), Categorical(["gold"], null="")])
def test_no_blank_is_by_a_value_that_is_still_to_be_found(other, plan):
    """Such a rule forbids more once it is found, and a table would be refused for its records after the charge."""
    for entry in ("7", ["7", "9"], {"from": 7}):
        with pytest.raises(ValueError, match=re.escape("a rule names 'other', and must name a declared column whose")):
            OpenSchema({"other": other, "plan": plan}, rules=[Blank("plan", {"other": entry})])
    known = {"other": Integer(0, 99), "plan": OpenSet("1/4", null="")}
    assert OpenSchema(known, rules=[Blank("plan", {"other": {"from": 7}})]).rules


def test_ids_are_numbers_of_the_type_of_the_table(tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"n": np.arange(50, dtype=np.int32), "sex": ["F", "M"] * 25, "k": ["x"] * 50})
    frame["k"] = frame["k"].astype("category")
    schema = {"n": {"kind": "id", "start": 100}, "k": {"kind": "id", "format": "{:03}/a"}, "sex": ["F", "M"]}
    release = pypgm.synthesize(frame, schema, epsilon=1, delta=1e-9)
    found = release.to_frame(20_000, rng=0)
    assert list(found.columns) == ["n", "sex", "k"]
    assert (found.dtypes[["n", "k"]] == frame.dtypes[["n", "k"]]).all() or found["k"].dtype == "category"
    assert found["n"].tolist() == list(range(100, 20_100))
    assert found["k"].iloc[[0, 19_999]].tolist() == ["001/a", "20000/a"]
    release.write(tmp_path / "s.csv", 20_000)
    assert [row["k"] for row in written(tmp_path / "s.csv")] == found["k"].tolist()


def test_made_up_values_follow_the_random_numbers(tmp_path):
    pytest.importorskip("faker")
    schema = {
        "name": {"kind": "fake", "faker": "name"},
        "town": {"kind": "fake", "faker": "city", "locale": "de_DE"},
        "a": 3,
    }
    release = pypgm.synthesize({"a": [0, 1, 2] * 50, "name": ["Jane Roe"] * 150}, schema, epsilon=1, delta=1e-9)
    release.save(tmp_path / "r.pgm")
    one, other = (
        r.schema.decode(r.synthetic_data(60, rng=3), rng=4) for r in (release, pypgm.load(tmp_path / "r.pgm"))
    )
    assert one["name"].tolist() == other["name"].tolist()
    assert one["name"].tolist() != release.schema.decode(release.synthetic_data(60, rng=3), rng=5)["name"].tolist()
    assert len(set(one["name"])) > 30
    for wrong in ("no_such_thing", "binary", "seed_instance", "add_provider"):
        with pytest.raises(ValueError, match=f"Faker makes no '{wrong}'"):
            pypgm.synthesize({"a": [0] * 9}, {"a": 3, "b": {"kind": "fake", "faker": wrong}}, epsilon=1, delta=1e-9)


def test_a_missing_package_is_told_before_anything_is_spent(monkeypatch):
    monkeypatch.setitem(sys.modules, "faker", None)
    with pytest.raises(ImportError, match=r"needs faker: pip install pypgm\[fake\]"):
        pypgm.synthesize({"a": [0] * 9}, {"a": 3, "b": {"kind": "fake", "faker": "name"}}, epsilon=1, delta=1e-9)


@pytest.mark.parametrize(
    ("columns", "why"),
    [
        ({"b": Derived("a", {"x": 1})}, "the mapping has no entry for 'y'; other gives the result for all such values"),
        ({"b": Derived("a", {"x": 1, "z": 2}, other=3)}, "a rule on 'a' needs one of 'x', 'y'"),
        ({"b": Derived("c", {"x": 1})}, "column 'b' is made of 'c', and no such column is declared"),
        ({"b": Derived("c", {"x": 1}), "c": Derived("b", {1: "x"})}, "made of itself, by way of others"),
        ({"b": Derived(sum=["a", "a"])}, "needs columns of numbers, or a difference of two dates"),
        ({"b": Derived("n", [({"to": 3}, "x"), ({"from": 5}, "y")])}, "the mapping has no entry for some values"),
        ({"b": Derived("n", {"few": 1}, other=2)}, "the mapping of 'n' needs a whole number from 0 to 9"),
        ({"b": Derived(difference=["n", "n"], unit="year")}, "has a unit, which only a difference of dates has"),
        ({"b": Derived(difference=["n", "d"])}, "needs columns of numbers, or a difference of two dates"),
        ({"b": Derived(difference=["d", "d"], unit="hour")}, "unit 'hour' needs dates with times"),
        ({"b": Derived("o", {"x": 1})}, "needs other, what it has for the values of 'o' that are not listed"),
        ({"b": Difference("n", 0, 5, unit="year")}, "unit and format are for dates"),
        ({"b": Difference("a", 0, 5)}, "is a difference from 'a', which needs numbers or dates"),
        ({"b": Difference("c", 0, 5), "c": Difference("b", 0, 5)}, "is the difference from itself"),
        ({"b": Difference("d", 0, 5)}, "a difference of dates needs a unit, one of day, week"),
        ({"b": Difference("m", 0, 5)}, "needs null: column 'm' may have no value"),
        ({"b": Difference("r", 0, 5)}, "a difference of numbers needs decimals"),
    ],
)
def test_what_cannot_be_is_refused_with_the_schema(columns, why):
    known = {"a": ["x", "y"], "n": Integer(0, 9), "d": Date("2020-01-01", "2020-12-31"), "o": OpenSet(share="0.1")}
    known |= {"m": Integer(0, 9, null=True), "r": Real(0, 1, 2)}
    with pytest.raises(ValueError, match=re.escape(why)):
        OpenSchema({**known, **columns})


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda: Id("ID-"), "format needs a text with one place for a number"),
        (lambda: Id("{0.real}"), "format needs a text with one place"),
        (lambda: Id("{:999999999}"), "format needs a text with one place"),
        (lambda: Id("{}{}"), "format needs a text with one place"),
        (lambda: Id(start=-1), "start needs a whole number"),
        (lambda: Fake("__class__"), "faker needs the name"),
        (lambda: Fake("name", "../x"), "locale needs a text"),
        (lambda: Derived(["a"]), "needs exactly one of mapping, sum, difference, product, or 'from' alone"),
        (lambda: Derived("a", {1: 2}, sum=["a", "b"]), "got mapping and sum"),
        (lambda: Derived(mapping={1: 2}), "needs the column that the mapping is of"),
        (lambda: Derived("a", "x.csv"), "the path of a file in a schema file alone"),
        (lambda: Derived(difference=["a", "b", "c"]), "difference needs a list of two columns"),
        (lambda: Derived(sum=["n", "n"], unit="year"), "unit is of a difference of dates"),
        (lambda: Difference("a", 5, 3), "low must be below high"),
        (lambda: Difference("a", 0, 3, unit="decade"), "unit must be one of"),
        (lambda: Schema({"a": Id()}), "at least one column that is read"),
        (lambda: Schema({"a": 2, "b": 2}, rules=[Blank("b", "a")]), "is blank by a rule, and needs null"),
        (lambda: Schema({"a": 2, "b": Id(), "c": 3}, rules=["b < c"]), "a rule names 'b', which is made"),
    ],
)
def test_declarations_that_say_nothing_are_refused(make, why):
    with pytest.raises((TypeError, ValueError), match=re.escape(why)):
        make()


def test_files_of_mappings_are_read_with_a_schema_alone(tmp_path):
    told = {"a": ["x", "y"], "b": {"kind": "derived", "from": "a", "mapping": "m.csv"}}
    (tmp_path / "s.json").write_text(json.dumps(told))
    for text, why in (
        ("a,b\nx,1\ny,2\nx,3\n", "row 3 (the header is row 0): maps a value a second time, to another"),
        ("a,c\nx,1\n", "needs a header that names the columns 'a' and 'b', once each"),
        ("a,b\nx\n", "row 1 (the header is row 0): needs 2 fields, got 1"),
    ):
        (tmp_path / "m.csv").write_text(text)
        with pytest.raises(ValueError, match=re.escape(why)):
            pypgm.read_schema(tmp_path / "s.json")
    (tmp_path / "m.csv").write_text("b,a\n1,x\n\n2,y\n")
    assert pypgm.read_schema(tmp_path / "s.json").to_dict()["columns"]["b"]["mapping"] == {"x": "1", "y": "2"}


def trips(n=4000):
    """Return a schema of trips of minutes that are counted from pickups by hour, and their records."""
    rng = np.random.default_rng(7)
    start = np.datetime64("2024-03-01T00:00:00") + rng.integers(0, 27 * 86_400, n)
    seconds = rng.integers(180, 1260, n)
    columns = {
        "start": Date("2024-03-01", "2024-03-28", "hour"),
        "end": Difference("start", 0, 59, "minute"),
        "km": Real(0, 20, bins=40, decimals=2),
    }
    return Schema(columns), {"start": start, "end": start + seconds, "km": np.round(seconds / 100, 2)}, seconds


def test_trips_of_minutes_keep_their_mean_and_their_correlation():
    schema, records, seconds = trips()
    encoded = schema.encode(records)
    assert (encoded["end"] == seconds // 60).all()
    made = schema.decode(encoded, rng=0)
    spans = (made["end"] - made["start"]).astype(np.int64)
    assert (spans // 60 == seconds // 60).all()
    assert abs(spans.mean() - seconds.mean()) < 2
    assert np.corrcoef(spans, made["km"])[0, 1] > 0.98
    again = schema.encode(made)
    assert all((again[name] == encoded[name]).all() for name in encoded.columns)


@pytest.mark.parametrize(
    ("unit", "decimals", "form"),
    [("day", 2, ""), ("day", 4, "%Y-%m-%d %H:%M:%S.%3fZ"), ("hour", 3, "%s%3f"), ("minute", 1, ""), ("week", 1, "%s")],
)
def test_differences_with_decimals_come_back_as_they_were_counted(unit, decimals, form):
    rng = np.random.default_rng(8)
    start = np.datetime64("2024-03-01T00:00:00") + rng.integers(0, 27 * 86_400, 800)
    least = Date("2024-03-01", "2024-03-28", "day" if form else "hour", form)
    span = Difference("start", -1.5, 4.5, unit, bins=12, decimals=decimals)
    schema = Schema({"start": least, "end": span})
    seconds = {"minute": 60, "hour": 3600, "day": 86_400, "week": 7 * 86_400}[unit]
    far = rng.integers(-int(1.5 * seconds), int(4.5 * seconds), 800, endpoint=True)
    encoded = schema.encode({"start": start, "end": start + far})
    for seed in range(3):
        made = schema.decode(encoded, rng=seed)
        apart = (made["end"] - made["start"]).astype("timedelta64[ms]").astype(np.int64) / 1000 / seconds
        assert -1.5 <= apart.min() < apart.max() <= 4.5
        again = schema.encode(made)
        assert all((again[name] == encoded[name]).all() for name in encoded.columns)
    texts = {name: cells.texts() for name, cells in schema.cells(encoded.columns, rng).items()}
    assert (schema.encode(texts)["end"] == encoded["end"]).all()


@pytest.mark.parametrize(("unit", "decimals"), [("month", 1), ("day", 5), ("second", 1), ("day", None)])
def test_differences_finer_than_dates_are_refused(unit, decimals):
    columns = {
        "a": Date("2024-01-01", "2024-01-02", "hour"),
        "b": Difference("a", 0, 5, unit, bins=2, decimals=decimals),
    }
    with pytest.raises(ValueError, match="needs decimals that are no finer than the dates"):
        Schema(columns)
