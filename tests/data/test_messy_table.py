"""One messy table in six forms: what comes back has its columns in their order, their types, and what depends holds."""

from __future__ import annotations

import csv
import datetime as dt
import random
import re
from decimal import Decimal

import pytest

import pypgm

CITIES = {"North Ash": "North", "North Elm": "North", "South Fox": "South", "East Lake": "East"}
SCHEMA = {
    "columns": {
        "person_id": {"kind": "id", "format": "NEW-{:05}"},
        "birth": {"kind": "date", "low": "1940-01-01", "high": "2002-12-31", "resolution": "year"},
        "registered": {"kind": "difference", "from": "birth", "unit": "year", "low": 18, "high": 25},
        "amount": {
            "kind": "real",
            "low": -1000,
            "high": 9000,
            "decimals": 2,
            "bins": {"quantiles": 8, "share": 0.05},
        },
        "city": {"kind": "open", "share": 0.1},
        "region": {"kind": "derived", "from": "city", "mapping": CITIES, "other": "elsewhere"},
        "member": {"kind": "boolean", "values": ["no", "yes"], "null": True},
        "fee_plan": {"kind": "categorical", "values": ["basic", "plus", "gold"], "null": True},
        "children": {"kind": "integer", "low": 0, "high": 12, "null": True},
        "sector": ["retail", "public"],
    },
    "rules": [{"blank": "fee_plan", "unless": {"member": ["yes"]}}],
}
BUDGET = {"epsilon": 1, "delta": 1e-9}
QUICK = {**BUDGET, "mechanism": "mst"}


def people(n=700):
    """Return the columns of a table, of Python's own types."""
    draw, rows = random.Random(7), []
    for i in range(n):
        birth = dt.date(1940, 1, 1) + dt.timedelta(draw.randrange(22000))
        city, member = draw.choice(list(CITIES)), draw.choice([True, False, None])
        registered = birth + dt.timedelta(draw.randrange(18 * 366, 25 * 365))
        amount = Decimal(draw.randrange(-100000, 900000)) / 100
        plan = draw.choice(["basic", "plus", "gold"]) if member else None
        rows.append((f"ID-{i}", birth, registered, amount, city, CITIES[city], member, plan, draw.choice([None, 0, 3])))
    columns = dict(zip(SCHEMA["columns"], map(list, zip(*rows, strict=True)), strict=False))
    return columns | {"sector": [draw.choice(["retail", "public"]) for _ in range(n)]}


def pandas_frame():
    pandas = pytest.importorskip("pandas")
    return pandas.DataFrame(people()).astype(
        {
            "birth": "datetime64[s]",
            "registered": "datetime64[ns]",
            "amount": "float64",
            "city": "category",
            "region": pandas.CategoricalDtype(["North", "South", "East", "elsewhere"], ordered=True),
            "member": "boolean",
            "fee_plan": "string",
            "children": "Int8",
            "sector": "category",
        }
    )


def polars_frame():
    polars = pytest.importorskip("polars")
    kinds = {
        "city": polars.Categorical,
        "sector": polars.Enum(["retail", "public"]),
        "children": polars.Int8,
        "amount": polars.Decimal(12, 2),
        "registered": polars.Datetime("ms"),
    }
    return polars.DataFrame(people()).cast(kinds)


def arrow_table():
    arrow = pytest.importorskip("pyarrow")
    table = arrow.table(people())
    kinds = {
        "birth": arrow.timestamp("ns", "UTC"),
        "region": arrow.large_string(),
        "children": arrow.int16(),
        "city": arrow.dictionary(arrow.int32(), arrow.string()),
        "sector": arrow.dictionary(arrow.int8(), arrow.large_string()),
    }
    return table.cast(arrow.schema([(n, kinds.get(n, table[n].type)) for n in table.column_names]))


FRAMES = {"pandas": pandas_frame, "polars": polars_frame, "arrow": arrow_table}


def types(frame):
    """Return what a frame calls its columns and their types, but for which categories, and how many, were found."""
    if hasattr(frame, "column_names"):
        told = [re.sub(r"indices=\w+", "indices", str(kind)) for kind in frame.schema.types]
        return list(zip(frame.column_names, told, strict=True))
    kinds = [frame[name].dtype for name in frame.columns]
    told = [(str(k), k.ordered, k.categories.dtype) if str(k) == "category" else k for k in kinds]
    return list(zip(frame.columns, told, strict=True))


def rows_of(frame):
    """Return the records of a frame, in Python's own types."""
    narwhals = pytest.importorskip("narwhals")
    return narwhals.from_native(frame, eager_only=True).rows(named=True)


def check_dependent(rows):
    ids = [row["person_id"] for row in rows]
    assert len(ids) > 400
    assert len(set(ids)) == len(ids)
    assert all(re.fullmatch(r"NEW-\d{5}", own) for own in ids)
    for row in rows:
        assert row["region"] == CITIES.get(row["city"], "elsewhere")
        assert row["fee_plan"] in {"basic", "plus", "gold"} or row["member"] in {True, "yes"} or not row["fee_plan"]
        assert row["member"] in {True, "yes"} or row["fee_plan"] not in {"basic", "plus", "gold"}
        age = row["registered"].year - row["birth"].year
        age -= (row["registered"].month, row["registered"].day) < (row["birth"].month, row["birth"].day)
        assert 18 <= age <= 25


@pytest.mark.parametrize("name", FRAMES)
def test_a_frame(name):
    pytest.importorskip("narwhals")
    source = FRAMES[name]()
    found = pypgm.synthesize(source, SCHEMA, **BUDGET).to_frame(rng=0)
    assert type(found) is type(source)
    assert types(found) == types(source)
    check_dependent(rows_of(found))


@pytest.mark.parametrize("name", [*FRAMES, "duckdb"])
def test_a_parquet_file_whoever_wrote_it(name, tmp_path):
    """What it holds is what pyarrow, pandas and polars read from it, also from one that is written as it was."""
    parquet, pandas = pytest.importorskip("pyarrow.parquet"), pytest.importorskip("pandas")
    polars, duckdb = pytest.importorskip("polars"), pytest.importorskip("duckdb")
    path, written = tmp_path / "t.parquet", tmp_path / "written.parquet"
    if name == "pandas":
        pandas_frame().to_parquet(path)
    elif name == "polars":
        polars_frame().cast({"sector": polars.Categorical}).write_parquet(path)
    elif name == "arrow":
        parquet.write_table(arrow_table(), path)
    else:
        with duckdb.connect() as connection:
            connection.register("given", arrow_table())
            connection.sql(f"copy (select * from given) to '{path}' (format parquet)")
    release = pypgm.synthesize(path, SCHEMA, **QUICK)
    release.save(tmp_path / "r.pgm")
    release = pypgm.load(tmp_path / "r.pgm")
    found = release.to_frame(rng=0)
    assert types(found) == types(parquet.read_table(path))
    assert types(found.to_pandas()) == types(pandas.read_parquet(path))
    assert types(release.to_frame(50, rng=0, library="polars")) == types(polars.read_parquet(path))
    check_dependent(rows_of(found))
    release.write(written, 50, rng=0)
    for read in (parquet.read_table, pandas.read_parquet, polars.read_parquet):
        assert types(read(written)) == types(read(path))


def test_a_table_of_a_duckdb_file(tmp_path):
    """Its types are those of SQL: a table that DuckDB makes of what comes back has them."""
    duckdb = pytest.importorskip("duckdb")
    pandas_frame(), polars_frame()  # each has types that the others have not
    for name, make in FRAMES.items():
        path = tmp_path / f"{name}.duckdb"
        with duckdb.connect(str(path)) as connection:
            connection.register("given", make())
            connection.sql("create table people as select * from given")
            source = connection.table("people").to_arrow_table()
            wanted = dict(zip(source.column_names, connection.table("people").types, strict=True))
        release = pypgm.synthesize(path, SCHEMA, table="people", **QUICK)
        found = release.to_frame(rng=0)
        assert types(found) == types(source)
        check_dependent(rows_of(found))
        with duckdb.connect() as connection:
            connection.register("found", found)
            made = connection.sql("select * from found")
            kinds = dict(zip(made.columns, made.types, strict=True))
        is_enum = {column for column, kind in wanted.items() if kind.id == "enum"}  # a table of Arrow's names no type
        assert {c: k for c, k in kinds.items() if c not in is_enum} == {
            c: k for c, k in wanted.items() if c not in is_enum
        }


def spelled(name, value):
    """Return a value as the CSV file has it: national dates, thousands, words for no and yes."""
    if value is None:
        return ""
    if isinstance(value, dt.date):
        return value.strftime("%d.%m.%Y")
    if name == "amount":
        return f"{value:,.2f}"
    return {True: "yes", False: "no"}[value] if name == "member" else str(value)


def test_a_csv_file(tmp_path):
    """A file has no types: what is written is of those that DuckDB and pandas find in the source."""
    path, written, columns = tmp_path / "t.csv", tmp_path / "written.csv", people()
    with path.open("w", newline="", encoding="utf-8-sig") as file:
        writer = csv.writer(file, delimiter=";")
        writer.writerow(columns)
        writer.writerows(zip(*([spelled(name, v) for v in values] for name, values in columns.items()), strict=True))
    declared = {**SCHEMA["columns"], "birth": {**SCHEMA["columns"]["birth"], "format": "%d.%m.%Y"}}
    asked = {"delimiter": ";", "encoding": "utf-8-sig", "thousands": ","}
    release = pypgm.synthesize(path, {**SCHEMA, "columns": declared}, **QUICK, **asked)
    release.write(written, rng=0)
    with written.open(newline="", encoding="utf-8-sig") as file:
        rows = list(csv.DictReader(file, delimiter=";"))
    assert list(rows[0]) == list(columns)
    assert all(re.fullmatch(r"-?\d{1,3}(,\d{3})*\.\d\d", row["amount"]) for row in rows)
    assert {row["member"] for row in rows} == {"yes", "no", ""}
    day = {"birth", "registered"}
    check_dependent([r | {name: dt.datetime.strptime(r[name], "%d.%m.%Y") for name in day} for r in rows])
    pandas = pytest.importorskip("pandas")
    read = [pandas.read_csv(p, sep=";", thousands=",", encoding="utf-8-sig") for p in (path, written)]
    assert types(read[0]) == types(read[1])
    assert list(release.to_frame(20, rng=0).columns) == list(columns)
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect() as connection:
        given, back = (connection.read_csv(str(p), sep=";") for p in (path, written))
        assert list(zip(back.columns, back.types, strict=True)) == list(zip(given.columns, given.types, strict=True))


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_another_library_has_the_types_that_it_makes_of_these(library):
    """Dates stay dates, and what has no value is missing: not texts, nor numbers with decimals."""
    pytest.importorskip("pandas")
    polars = pytest.importorskip("polars")
    arrow = pytest.importorskip("pyarrow")
    wanted = {
        "pandas": {"birth": "datetime64[ns, UTC]", "member": "boolean", "children": "Int16", "city": "category"},
        "polars": {
            "birth": polars.Datetime("ns", "UTC"),
            "member": polars.Boolean,
            "children": polars.Int16,
            "city": polars.Categorical,
            "amount": polars.Decimal(6, 2),
        },
        "pyarrow": {"birth": arrow.timestamp("s"), "member": arrow.bool_(), "children": arrow.int8()},
    }
    source = pandas_frame() if library == "pyarrow" else arrow_table()
    release = pypgm.synthesize(source, SCHEMA, **QUICK)
    kinds = dict(types(release.to_frame(rng=0, library=library)))
    kinds = {n: k if library == "pyarrow" or not isinstance(k, tuple) else k[0] for n, k in kinds.items()}
    assert {name: kinds[name] for name in wanted[library]} == wanted[library]
    assert list(kinds) == list(SCHEMA["columns"])
    assert type(release.to_frame(10, rng=0, library=library)).__module__.partition(".")[0] == library


def test_a_library_that_is_none_is_refused_by_name():
    release = pypgm.synthesize({"a": [0, 1] * 50}, {"a": 2}, **BUDGET)
    for call in (release.to_frame, release.marginal("a").to_frame, release.project("a").to_frame):
        with pytest.raises(ValueError, match="library must be 'pandas', 'polars' or 'pyarrow', got 'R'"):
            call(library="R")
    with pytest.raises(ValueError, match="library must be"):
        release.synthetic_data().head(library="R")
