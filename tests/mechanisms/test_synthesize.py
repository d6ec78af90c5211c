"""A table goes in, a table of the same look comes out: one call for all kinds of tables."""

from __future__ import annotations

import contextlib
import csv
import gc
import json
import random

import numpy as np
import pytest

import pypgm
from pypgm.data import Codes, Integer
from pypgm.mechanisms.tables import mechanism_names

SCHEMA = {
    "columns": {
        "age": {"kind": "integer", "low": 0, "high": 99, "width": 10},
        "job": {"kind": "open", "share": 0.1},
        "wage": {"kind": "real", "low": 0, "high": 100, "decimals": 2, "bins": {"quantiles": 4, "share": 0.1}},
        "member": {"kind": "boolean", "values": ["no", "yes"], "null": True},
    },
    "drop": ["id"],
}
ORDER = ["member", "age", "wage", "job"]
BUDGET = {"epsilon": 5, "delta": 1e-9}


def people(n=2000):
    draw = random.Random(0)
    return {
        "id": list(range(n)),
        "member": [draw.choice([True, False, None]) for _ in range(n)],
        "age": [draw.randrange(100) for _ in range(n)],
        "wage": [round(draw.random() * 100, 2) for _ in range(n)],
        "job": [draw.choice(["cook", "nurse", "spy"]) for _ in range(n)],
    }


def pandas_frame():
    pandas = pytest.importorskip("pandas")
    return pandas.DataFrame(people()).astype({"member": "boolean", "age": "int16", "job": "category"})


def polars_frame():
    polars = pytest.importorskip("polars")
    return polars.DataFrame(people()).cast({"age": polars.Int16, "job": polars.Categorical})


def arrow_frame():
    return pytest.importorskip("pyarrow").table(people())


def types(frame):
    """Return the names and types of a frame's columns."""
    if hasattr(frame, "schema") and hasattr(frame.schema, "types"):
        return dict(zip(frame.schema.names, map(str, frame.schema.types), strict=True))
    return {name: str(frame[name].dtype) for name in frame.columns}


def checked(release, source):
    pytest.importorskip("narwhals")
    found = release.to_frame(300, rng=0)
    assert type(found) is type(source)
    wanted = types(source)
    wanted.pop("id")
    assert types(found) == wanted
    assert list(types(found)) == ORDER
    assert len(found) == 300
    assert release.ledger.lines[0].within.startswith("settle / job")
    assert isinstance(release.schema, pypgm.Schema)


@pytest.mark.parametrize("make", [pandas_frame, polars_frame, arrow_frame])
def test_a_frame_comes_back_as_it_went_in(make, tmp_path):
    pytest.importorskip("narwhals")
    source = make()
    release = pypgm.synthesize(source, SCHEMA, **BUDGET)
    checked(release, source)
    release.save(tmp_path / "r.pgm")
    checked(pypgm.load(tmp_path / "r.pgm"), source)


def test_a_lazy_frame_is_collected():
    pytest.importorskip("narwhals")
    source = polars_frame()
    checked(pypgm.synthesize(source.lazy(), SCHEMA, **BUDGET), source)


def test_parquet_keeps_types(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    source = arrow_frame()
    parquet.write_table(source, tmp_path / "t.parquet")
    release = pypgm.synthesize(tmp_path / "t.parquet", SCHEMA, **BUDGET)
    checked(release, source)
    release.write(tmp_path / "out.parquet", 50, rng=0)
    wanted = types(source)
    wanted.pop("id")
    assert types(parquet.read_table(tmp_path / "out.parquet")) == wanted


def test_a_table_of_a_duckdb_file(tmp_path):
    duckdb = pytest.importorskip("duckdb")
    source = arrow_frame()
    with duckdb.connect(str(tmp_path / "t.duckdb")) as connection:
        connection.register("given", source)
        connection.sql("create table people as select * from given")
    with pytest.raises(ValueError, match="a DuckDB file needs table="):
        pypgm.synthesize(tmp_path / "t.duckdb", SCHEMA, **BUDGET)
    checked(pypgm.synthesize(tmp_path / "t.duckdb", SCHEMA, table="people", **BUDGET), source)


def test_an_error_of_a_lazy_frame_holds_no_record():
    polars = pytest.importorskip("polars")
    lazy = polars.LazyFrame({"a": ["1", "Alice Smith"]}).with_columns(polars.col("a").cast(polars.Int64))
    with pytest.raises(ValueError, match=r"^collecting the frame failed") as caught:
        pypgm.synthesize(lazy, {"a": 2}, **BUDGET)
    assert caught.value.__context__ is caught.value.__cause__ is None
    assert "Alice" not in str(caught.value)


def test_a_view_of_a_duckdb_file_is_a_query_of_who_made_it(tmp_path):
    duckdb = pytest.importorskip("duckdb")
    (tmp_path / "other.csv").write_text("a,b\n" + "1,x\n" * 99)
    path = tmp_path / "t.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.sql("create table own as select 1 as a, 'x' as b from range(99)")
        connection.sql('create schema "s.t"')
        connection.sql('create table "s.t"."o""wn" as select * from own')
        connection.sql(f"create view beyond as select * from read_csv('{tmp_path / 'other.csv'}')")
        connection.sql('create view "s.t".own as select * from own')
        endless = "with recursive r as (select 1 as a union all select a from r) select a, 'x' as b from r"
        connection.sql(f"create view endless as {endless}")
    asked = {"schema": {"a": 2, "b": ["x", "y"]}, "epsilon": 1, "delta": 1e-9}
    for name in ("own", "main.own", 'o"wn', 's.t.o"wn'):
        assert pypgm.synthesize(path, table=name, **asked).model.total > 0
    for name in ("beyond", "endless", "s.t.own", "nothing", "duckdb_tables()", "own where 1=0"):
        with pytest.raises(ValueError, match=r"t\.duckdb has no table .*only 'own'"):
            pypgm.synthesize(path, table=name, **asked)


@pytest.mark.filterwarnings("ignore:fetch_arrow_table:DeprecationWarning")  # of Ibis
def test_a_duckdb_relation_and_an_ibis_table():
    duckdb, ibis = pytest.importorskip("duckdb"), pytest.importorskip("ibis")
    source = arrow_frame()
    connection = duckdb.connect()
    connection.register("people", source)
    checked(pypgm.synthesize(connection.sql("select * from people"), SCHEMA, **BUDGET), source)
    engine = ibis.duckdb.connect()
    engine.con.register("given", source)
    engine.raw_sql("create table people as select * from given")
    checked(pypgm.synthesize(engine.table("people"), SCHEMA, **BUDGET), source)


def test_csv_is_written_as_it_was_read(tmp_path):
    table = people()
    members = [{True: "yes", False: "no", None: ""}[member] for member in table["member"]]
    wages = [f"{wage:.2f}".replace(".", ",") for wage in table["wage"]]
    jobs = [job.replace("cook", "Köchin") for job in table["job"]]
    with (tmp_path / "t.csv").open("w", encoding="latin-1", newline="") as file:
        writer = csv.writer(file, delimiter=";")
        writer.writerow(["id", *ORDER])
        writer.writerows(zip(table["id"], members, table["age"], wages, jobs, strict=True))
    marks = {"delimiter": ";", "encoding": "latin-1", "decimal": ","}
    release = pypgm.synthesize(tmp_path / "t.csv", SCHEMA, **BUDGET, **marks)
    release.write(tmp_path / "out.csv", 200, rng=0)
    lines = (tmp_path / "out.csv").read_text(encoding="latin-1").splitlines()
    assert lines[0] == "member;age;wage;job"
    members, _, wages, jobs = zip(*(line.split(";") for line in lines[1:]), strict=True)
    assert set(members) == {"yes", "no", ""}
    assert all("," in wage and "." not in wage for wage in wages)
    assert "Köchin" in jobs
    again = pypgm.read_table(tmp_path / "out.csv", release.schema, **marks)
    assert len(again) == 200


def test_records_need_no_extra_package():
    release = pypgm.synthesize(
        {"a": [0, 1, 1] * 50, "b": [2, 0, 1] * 50}, {"a": 2, "b": 3}, epsilon=1, mechanism="mwem"
    )
    assert release.mechanism == "mwem"
    assert release.ledger.budget.unit == "epsilon" or release.ledger.spent() > 0


def test_the_schema_binds(tmp_path):
    path = tmp_path / "schema.json"
    column = {"kind": "integer", "low": 0, "high": 3}
    schema = {"columns": {"a": column, "b": column}, "records_per_person": 3, "rules": ["a <= b"]}
    path.write_text(json.dumps(schema))
    table = {"a": [0, 1, 2] * 99, "b": [3, 1, 2] * 99}
    release = pypgm.synthesize(table, path, **BUDGET)
    assert release.privacy.records_per_person == 3
    records = release.synthetic_data(rng=0).columns
    assert (records["a"] <= records["b"]).all()


@pytest.mark.parametrize("workload", [1, "up-to-2", [("a",), ("b", "a")]])
def test_a_workload_in_words(workload):
    release = pypgm.synthesize({"a": [0, 1] * 50, "b": [1, 0] * 50}, {"a": 2, "b": 2}, **BUDGET, workload=workload)
    assert release.measurements


def refused(match, error=ValueError, **change):
    given = {"source": {"a": [0, 1]}, "schema": {"a": 2}, **BUDGET} | change
    with pytest.raises(error, match=match):
        pypgm.synthesize(**given)


def test_what_is_wrong_is_said_before_anything_is_read():
    refused("mechanism must be one of", mechanism="magic")
    refused("mst chooses what it measures itself", mechanism="mst", workload=2)
    refused("needs a budget", TypeError, epsilon=None, delta=None)
    refused("only a CSV file has", delimiter=";")
    refused("no other source takes it", table="t")
    refused("got an unexpected keyword argument 'time_limits'", TypeError, time_limits=3)
    refused("a workload needs a number K", workload="pairs")
    refused("schema needs a Schema, a Domain, a mapping or a path, got int", TypeError, schema=3)
    refused("row 1 .* needs an integer from 0 to 1", source={"a": [0, 2]})
    opened = {"a": {"kind": "open", "share": 0.5}}
    refused("delta must be more than 0", schema=opened, delta=None)
    refused("leave nothing of the budget", schema={"a": {"kind": "open", "share": 1}})


def test_a_record_that_does_not_fit_is_found_before_open_columns_are_paid_for(monkeypatch):
    monkeypatch.setattr("pypgm.privacy.settling.settle", lambda *_, **__: pytest.fail("paid"))
    table = people(30)
    table["age"][7] = 100
    with pytest.raises(ValueError, match="column 'age', row 7"):
        pypgm.synthesize(table, SCHEMA, **BUDGET)


def test_without_a_schema_there_is_a_draft_of_types():
    pytest.importorskip("narwhals")
    frame = polars_frame()
    with pytest.raises(TypeError, match="what is publicly known") as caught:
        pypgm.synthesize(frame, None, **BUDGET)
    assert '"age": {"kind": "integer", "low": "? what is publicly known"' in str(caught.value)
    assert '"member": {"kind": "boolean"' in str(caught.value)
    assert "cook" not in str(caught.value)


def test_a_schema_from_types():
    polars = pytest.importorskip("polars")
    pytest.importorskip("narwhals")
    kinds = {
        "n": polars.Int64,
        "x": polars.Float64,
        "b": polars.Boolean,
        "e": polars.Enum(["lo", "hi"]),
        "s": polars.String,
        "d": polars.Date,
    }
    frame = polars.DataFrame(schema=kinds)
    bounds = {"n": (0, 199), "x": (0.0, 1.0), "d": ("2024-01-01", "2024-12-31"), "s": ["u", "v"]}
    schema = pypgm.Schema.from_types(frame, bounds)
    assert schema.provisional.domain.shape == (51, 2, 3, 3, 3, 13)
    assert (schema.open["x"].quantiles, schema.open["x"].heaps) == (20, (0,))
    assert schema.declared["e"].values == ("lo", "hi")
    with pytest.raises(ValueError, match="needs bounds of 'x'"):
        pypgm.Schema.from_types(frame, {"n": (0, 9), "d": ("2024-01-01", "2024-12-31")})
    with pytest.raises(ValueError, match="'y', and the table has no such column"):
        pypgm.Schema.from_types(frame, bounds | {"y": (0, 1)})
    assert list(pypgm.Schema.from_types(frame.drop("s"), {k: v for k, v in bounds.items() if k != "s"}).open) == ["x"]


def test_a_schema_from_types_reads_no_record():
    """Two tables with nothing in common but their types give one schema."""
    arrow = pytest.importorskip("pyarrow")
    one, two = arrow.table({"a": [1, 2], "s": ["x", "y"]}), arrow.table({"a": [70], "s": ["z"]})
    schemas = [pypgm.Schema.from_types(table, {"a": (0, 99)}) for table in (one, two)]
    assert schemas[0] == schemas[1]


def test_records_of_a_release_without_a_source():
    pandas = pytest.importorskip("pandas")
    data = pypgm.Dataset({"a": np.array([0, 1, 1] * 50)}, pypgm.Domain({"a": ["F", "M"]}))
    release = pypgm.mechanisms.mst(data, **BUDGET)
    found = release.to_frame(10, rng=0)
    assert isinstance(found, pandas.DataFrame)
    assert set(found["a"]) <= {"F", "M"}
    polars = pytest.importorskip("polars")
    assert isinstance(release.to_frame(10, rng=0, library="polars"), polars.DataFrame)


def test_a_dataset_is_a_source():
    data = pypgm.Schema({"a": Codes(2)}).encode({"a": [0, 1, 1] * 50})
    assert pypgm.synthesize(data, data.schema, **BUDGET).model.domain == data.domain
    with pytest.raises(ValueError, match="the records are over"):
        pypgm.synthesize(data, {"b": 2}, **BUDGET)


def test_what_a_schema_promises_of_records_that_are_codes_binds():
    whole = {"a": Integer(0, 2), "b": Integer(0, 2)}
    schema = pypgm.Schema(whole, rules=["a <= b"], records_per_person=3)
    columns = {"a": [0, 1, 1, 2] * 50, "b": [0, 1, 2, 2] * 50}
    codes = pypgm.Dataset(columns, schema.domain)
    release = pypgm.synthesize(codes, schema, **BUDGET)
    assert release.privacy.records_per_person == 3
    assert release.schema == schema
    drawn = release.synthetic_data(500, rng=0).columns
    assert (drawn["a"] <= drawn["b"]).all()
    with pytest.raises(ValueError, match="a combination that a rule forbids"):
        pypgm.synthesize(pypgm.Dataset({"a": [2], "b": [0]}, schema.domain), schema, **BUDGET)
    other = pypgm.Schema(whole)
    with pytest.raises(ValueError, match="encoded by another schema"):
        pypgm.synthesize(other.encode(columns), schema, **BUDGET)


def tables(tmp_path):
    """Return the same people as tables of every kind, those that are installed."""
    table = {name: values for name, values in people(1500).items() if name != "id"}
    yield table
    path = tmp_path / "t.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(table)
        writer.writerows(zip(*table.values(), strict=True))
    yield path
    pandas = pytest.importorskip("pandas")
    yield pandas.DataFrame(table)
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    yield arrow.table(table)
    parquet.write_table(arrow.table(table), tmp_path / "t.parquet")
    yield tmp_path / "t.parquet"
    polars = pytest.importorskip("polars")
    yield polars.DataFrame(table).lazy()
    duckdb = pytest.importorskip("duckdb")
    connection = duckdb.connect()
    connection.register("people", arrow.table(table))
    yield connection.sql("select * from people")


BOTH = {
    "age": {"kind": "integer", "low": 0, "high": 99, "width": 25},
    "job": ["cook", "nurse", "spy"],
    "member": {"kind": "boolean", "values": ["False", "True"], "null": True},
}


@pytest.mark.parametrize("name", mechanism_names())
def test_every_mechanism_takes_any_table_with_a_schema(name, tmp_path):
    run, schema = getattr(pypgm.mechanisms, name), pypgm.Schema.from_dict({"columns": BOTH, "drop": ["wage"]})
    own = {"jam": {"rounds": 1}, "mwem": {"rounds": 1}, "fem": {"rounds": 1}, "dualquery": {"rounds": 1}}.get(name, {})
    own |= {"adaptive_grid": {"targets": "job"}}.get(name, {})
    if name == "jam":
        public = {key: values for key, values in people(100).items() if key in BOTH}
        own["public"] = schema.encode(public)
    found = [run(table, schema=schema, **BUDGET, unsafe_seed=1, **own) for table in tables(tmp_path)]
    assert {release.schema for release in found} == {schema}
    assert len({tuple(m.values.tobytes() for m in release.measurements) for release in found}) == 1


def test_a_mechanism_finds_what_a_schema_leaves_open_and_keeps_how_the_table_looks():
    polars = pytest.importorskip("polars")
    pytest.importorskip("narwhals")
    table = polars_frame()
    release = pypgm.mechanisms.mst(table, schema=SCHEMA, privacy=pypgm.Privacy(records_per_person=1), **BUDGET)
    checked(release, table)
    assert isinstance(release.to_frame(5), polars.DataFrame)


def test_a_mechanism_says_how_it_takes_a_table():
    table = {"a": [0, 1] * 50}
    with pytest.raises(TypeError, match="mechanisms take frames and files with schema="):
        pypgm.mechanisms.mst(table, **BUDGET)
    with pytest.raises(TypeError, match="either neighbours or privacy"):
        pypgm.mechanisms.mst(table, schema={"a": 2}, neighbours="replace", privacy=pypgm.Privacy(), **BUDGET)
    data = pypgm.Dataset(table, pypgm.Domain({"a": 2}))
    private = pypgm.PrivateTable(data, pypgm.Privacy(), pypgm.Ledger(pypgm.Budget(rho=1)))
    with private, pytest.raises(TypeError, match="has its schema already"):
        pypgm.mechanisms.mst(private, schema={"a": 2})


def test_a_missing_schema_is_refused_with_a_draft_that_reads_no_record_and_how_to_complete_it(tmp_path):
    table = {"city": ["Bonn", "Ulm"] * 50, "age": np.arange(100), "day": np.array(["2024-01-01"] * 100, "M8[D]")}
    with pytest.raises(TypeError, match="a schema is needed") as caught:
        pypgm.synthesize(table, **BUDGET)
    said = str(caught.value)
    assert '"age": {"kind": "integer", "low": "? what is publicly known"' in said
    assert '"city": {"kind": "? what is publicly known"' in said  # a list has no type
    assert "Complete it with what is publicly known, never from the records: city, age, day" in said
    assert "pypgm.Schema.from_types" in said
    assert "pypgm.Schema.draft" in said
    assert not any(value in said for value in ("Bonn", "99", "2024"))
    (tmp_path / "t.csv").write_text("city;age\nBonn;99\n")
    with pytest.raises(TypeError, match="never from the records: city, age") as caught:
        pypgm.synthesize(tmp_path / "t.csv", delimiter=";", **BUDGET)
    assert "Bonn" not in str(caught.value)


def test_bounds_complete_a_schema_where_there_are_names_alone(tmp_path):
    (tmp_path / "t.csv").write_text("city,age,wage,day\nBonn,7,1.5,2024-02-01\n")
    bounds = {"city": ["Bonn", "Ulm"], "age": (0, 120), "wage": (0.0, 9.5), "day": ("2024-01-01", "2024-12-31")}
    schema = pypgm.Schema.from_types(tmp_path / "t.csv", bounds)
    assert {name: column.kind for name, column in schema.provisional.columns.items()} == {
        "city": "categorical",
        "age": "integer",
        "wage": "real",
        "day": "date",
    }
    assert schema.declared["day"].resolution == "month"
    with pytest.raises(ValueError, match=r"needs bounds of 'wage', 'day', .* or a list of all"):
        pypgm.Schema.from_types(tmp_path / "t.csv", {name: bounds[name] for name in ("city", "age")})


def test_a_draft_of_any_kind_of_table_is_one(tmp_path):
    drafts = []
    for table in tables(tmp_path):
        draft = pypgm.Schema.draft(table)
        assert draft.notes["wage"].startswith("low and high were read from the records")
        drafts.append(
            {name: column.kind if hasattr(column, "kind") else "open" for name, column in draft.declared.items()}
        )
    assert len({tuple(sorted(draft.items())) for draft in drafts}) == 1
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect(str(tmp_path / "t.duckdb")) as connection:
        connection.execute(f"create table people as select * from '{tmp_path / 't.parquet'}'")
    assert pypgm.Schema.draft(tmp_path / "t.duckdb", table="people") == draft
    with pytest.raises(ValueError, match="a DuckDB file needs table="):
        pypgm.Schema.draft(tmp_path / "t.duckdb")


def test_a_dataset_needs_no_schema():
    data = pypgm.Schema({"a": Codes(2)}).encode({"a": [0, 1, 1] * 50})
    assert pypgm.synthesize(data, **BUDGET).schema == data.schema
    assert pypgm.synthesize(pypgm.Dataset(data.columns, data.domain), **BUDGET).model.domain == data.domain


def test_a_database_is_closed_when_it_was_read(tmp_path, monkeypatch):
    """Also where values are found first, a draft is made, or what was asked is refused: without garbage collection."""
    duckdb = pytest.importorskip("duckdb")
    pytest.importorskip("pyarrow")
    monkeypatch.chdir(tmp_path)
    with duckdb.connect("people.duckdb") as connection:
        connection.execute("create table people as select (i % 50)::int as age, 'x' as sex from range(500) t(i)")
    bins = {"kind": "integer", "low": 0, "high": 49, "bins": {"quantiles": 3, "share": 0.1}}
    closed = {"kind": "integer", "low": 0, "high": 49, "width": 10}
    gc.disable()
    try:
        for age in (closed, bins, closed | {"high": 40}):
            with contextlib.suppress(ValueError):
                pypgm.synthesize("people.duckdb", {"age": age, "sex": ["x", "y"]}, 1, 1e-9, table="people")
            duckdb.connect("people.duckdb").close()
        pypgm.Schema.draft("people.duckdb", table="people")
        duckdb.connect("people.duckdb").close()
    finally:
        gc.enable()


@pytest.mark.parametrize("name", ["real.csv", "./real.csv", "link.csv", "real.parquet"])
def test_a_release_never_writes_over_the_records_that_it_was_made_of(name, tmp_path, monkeypatch):
    """As the command never does; where they are is not kept in its file."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / ("real.parquet" if name == "real.parquet" else "real.csv")
    if path.suffix == ".parquet":
        pytest.importorskip("pyarrow.parquet").write_table(arrow_frame(), path)
    else:
        with path.open("w", newline="", encoding="utf-8") as file:
            rows = csv.writer(file)
            rows.writerows([people(), *zip(*people().values(), strict=True)])
    (tmp_path / "link.csv").symlink_to("real.csv")
    before = path.read_bytes()
    schema = {"columns": SCHEMA["columns"] | {"member": {"kind": "boolean", "null": ["", "None"]}}, "drop": ["id"]}
    if path.suffix == ".csv":
        schema["columns"]["member"]["values"] = ["False", "True"]
    release = pypgm.synthesize(path.name, schema, **BUDGET)
    monkeypatch.chdir(tmp_path.parent)
    place = tmp_path / name
    for write in (release.write, release.save, release.report_html):
        with pytest.raises(ValueError, match="would be overwritten"):
            write(place)
    assert path.read_bytes() == before
    release.write(tmp_path / "made.csv", 10)
    release.write(tmp_path / "made.csv", 10)
    assert str(tmp_path) not in json.dumps(release.archive(), default=str)
    release.save(tmp_path / "r.pgm")
    assert pypgm.load(tmp_path / "r.pgm").digest == release.digest
