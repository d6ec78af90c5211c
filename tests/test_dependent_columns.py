"""Columns that depend on others: exact in every record of every mechanism, and never read where they are made."""

from __future__ import annotations

import csv
import datetime
import json
import random

import numpy as np
import pytest

import pypgm
from pypgm import Schema, cli
from pypgm.data import Date, Difference, Integer, OpenSet, QuantileBins
from pypgm.data.spans import last_after, span_between
from pypgm.mechanisms.registry import mechanism_named, mechanism_names

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
        (True, ("hour", "day", "week", "month", "year")),
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
    release = pypgm.synthesize(tmp_path / "t.csv", Schema(wide), epsilon=3, delta=1e-6)
    rows = as_texts(release.schema.decode(release.synthetic_data(200, rng=0)))
    assert all(-5 <= int(row["second"]) - int(row["first"]) <= 24 for row in rows)
    assert all(18 <= age(*map(datetime.date.fromisoformat, (r["birth"], r["joined"]))) <= 25 for r in rows)


@pytest.mark.parametrize("rows", [[0, 3], [2]])
def test_a_difference_that_does_not_fit_is_named_by_its_row_alone(tmp_path, rows):
    schema = Schema({"a": Integer(0, 9), "b": Difference("a", 0, 3)})
    table = {"a": ["1"] * 4, "b": ["7319" if i in rows else "2" for i in range(4)]}
    told = f"column 'b', row {rows[0]} (the first is 0): needs a value that is 0 to 3 after that of 'a', and is not"
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
