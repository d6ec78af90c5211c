"""Schemas of types and bounds alone: what bounds say is taken, and what does not fit names the column."""

from __future__ import annotations

import datetime as dt
import re

import numpy as np
import pytest

import pypgm
from pypgm import Schema

FRAMES = ["pandas", "polars"]


def frame_of(library, columns):
    pytest.importorskip("narwhals")
    return pytest.importorskip(library).DataFrame(columns)


@pytest.mark.parametrize("library", FRAMES)
def test_bounds_say_what_texts_are(library):
    texts = {"when": ["2021-03-01", "2022-05-05"], "n": ["1", "7"], "x": ["1.5", "2.5"], "job": ["cook", "clerk"]}
    bounds = {"when": ("2021-01-01", "2022-12-31"), "n": (0, 9), "x": (0.5, 3.0), "job": ("cook", "clerk")}
    kinds = ["date", "integer", "real", "categorical"]
    for given in (texts, frame_of(library, texts)):  # the first has no types
        schema = Schema.from_types(given, bounds)
        assert [column.kind for column in schema.provisional.columns.values()] == kinds
        assert schema.provisional.encode(given).n_records == 2


def test_whole_numbers_may_be_given_as_floats():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"i": range(50)})
    assert Schema.from_types(frame, {"i": (0.0, 49.0)}) == Schema.from_types(frame, {"i": (0, 49)})


@pytest.mark.parametrize(
    ("bounds", "error", "told"),
    [
        ({"i": 49}, TypeError, "bounds of column 'i' need the lowest and the highest value, or a list of all, got 49"),
        ({"i": "49"}, TypeError, "bounds of column 'i' need"),
        ({"i": (0, 49), "b": (0, 1)}, ValueError, "column 'b' holds booleans, which need no bounds"),
    ],
)
def test_bounds_that_are_none_name_their_column(bounds, error, told):
    frame = frame_of("pandas", {"i": range(50), "b": [True, False] * 25})
    with pytest.raises(error, match=told):
        Schema.from_types(frame, bounds)


def nullable(schema):
    return [name for name, column in schema.provisional.columns.items() if column.null]


@pytest.mark.parametrize("source", ["arrow", "parquet", "ibis", "duckdb", "relation", "query"])
def test_a_field_that_lets_no_value_be_missing_is_declared_so(source, tmp_path):
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    fields = [arrow.field("a", arrow.string(), nullable=False), arrow.field("b", arrow.string())]
    fields += [arrow.field("c", arrow.int64(), nullable=False), arrow.field("d", arrow.int64())]
    table = arrow.table({"a": ["x"], "b": ["x"], "c": [1], "d": [1]}, schema=arrow.schema(fields))
    if source == "parquet":
        parquet.write_table(table, tmp_path / "t.parquet")
        table = tmp_path / "t.parquet"
    elif source == "ibis":
        ibis = pytest.importorskip("ibis")
        table = ibis.table({"a": "!string", "b": "string", "c": "!int64", "d": "int64"}, name="t")
    elif source in {"duckdb", "relation", "query"}:
        connection = pytest.importorskip("duckdb").connect(tmp_path / "t.duckdb")
        connection.execute("create table t (a varchar not null, b varchar, c bigint primary key, d bigint)")
        table = connection.table("t") if source == "relation" else connection.sql("from t")
    bounds, own = {"c": (0, 9), "d": (0, 9)}, {}
    if source == "duckdb":
        connection.close()
        table, own = tmp_path / "t.duckdb", {"table": "t"}
    kept = ["a", "b", "c", "d"] if source == "query" else ["b", "d"]  # a query may be a join, which makes nulls
    assert nullable(Schema.from_types(table, bounds, **own)) == kept


@pytest.mark.parametrize("library", ["pyarrow", "pandas", "polars", "duckdb", "ibis"])
def test_decimals_of_a_type_are_kept_where_bins_hold_them(library):
    arrow = pytest.importorskip("pyarrow")
    for package in ("narwhals", library):
        pytest.importorskip(package)
    places = {"cents": 2, "whole": 0, "long": 18}
    table = arrow.table({n: arrow.array([1, 2] * 20, arrow.decimal128(30, k)) for n, k in places.items()})
    if library == "pandas":
        pandas = pytest.importorskip("pandas")
        frame = table.to_pandas(types_mapper=pandas.ArrowDtype)
    elif library == "polars":
        frame = pytest.importorskip("polars").from_arrow(table)
    elif library == "duckdb":
        frame = pytest.importorskip("duckdb").from_arrow(table)
    else:
        frame = table if library == "pyarrow" else pytest.importorskip("ibis").memtable(table)
    for high, told in ((1000, [2, 0, None]), (0.4, [2, 0, None])):
        schema = Schema.from_types(frame, dict.fromkeys(places, (0, high)))
        assert [column.decimals for column in schema.provisional.columns.values()] == told
    with pytest.raises(ValueError, match=re.escape('"bins": {"quantiles": 20, "share": 0.1}, "decimals": 2')):
        Schema.from_types(frame)


def test_arrays_of_numbers_miss_none_but_masked_ones():
    masked = np.ma.masked_array([1, 2], [False, True])
    frame = {"a": np.array([1, 2]), "b": masked, "c": np.array([True, False]), "d": np.array([1.0, 2.0])}
    schema = Schema.from_types(frame, {"a": (0, 9), "b": (0, 9), "d": (0.0, 9.0)})
    assert nullable(schema) == ["b", "d"]
    schema = schema.provisional
    assert schema.encode(frame)["b"].tolist()[1] == schema.columns["b"].null_code


@pytest.mark.parametrize(
    ("null", "declared"), [(True, ["job", "x"]), (False, []), (["x"], ["x"]), (("i", "job"), ["i", "job"])]
)
def test_who_knows_which_values_may_be_missing_says_so(null, declared):
    frame = frame_of("pandas", {"i": range(50), "job": ["cook", "clerk"] * 25, "x": [0.5] * 50})
    schema = Schema.from_types(frame, {"i": (0, 49), "job": ["cook", "clerk"], "x": (0.0, 1.0)}, null=null)
    assert nullable(schema) == declared
    release = pypgm.synthesize(frame, schema, epsilon=0.05, delta=1e-9)
    synthetic = release.to_frame()
    assert [name for name in frame if synthetic[name].isna().any() and name not in declared] == []
    missing = " ".join(release.report().split()).partition("missing (allowed")[2].partition(" of records")[0]
    assert [name for name in frame if f" {name} " in missing] == declared
    frame.loc[7, "job"] = None
    if "job" not in declared:
        with pytest.raises(ValueError, match="column 'job', row 7"):
            pypgm.synthesize(frame, schema, epsilon=1, delta=1e-9)


def test_null_names_columns_of_the_table():
    frame = {"a": ["x", "y"]}
    with pytest.raises(ValueError, match="null names 'b', and the table has no such column"):
        Schema.from_types(frame, null=["b"])
    for wrong in ("a", 1, None):
        with pytest.raises(TypeError, match="null needs true, false or a list of columns"):
            Schema.from_types(frame, null=wrong)


@pytest.mark.parametrize(
    ("values", "labels"),
    [
        ([dt.datetime(2020, 1, 1), dt.datetime(2020, 2, 1, 5)], ("2020-01-01 00:00:00", "2020-02-01 05:00:00")),
        ([dt.date(2020, 1, 1), dt.date(2020, 2, 1)], ("2020-01-01", "2020-02-01")),
        ([dt.timedelta(hours=1), dt.timedelta(hours=26)], ("1:00:00", "1 day, 2:00:00")),
        ([1.0, 2.5], (1.0, 2.5)),
    ],
)
def test_categories_of_any_type_are_labels_as_their_values_are_encoded(values, labels):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("narwhals")
    frame = pandas.DataFrame({"a": pandas.Categorical([values[1], values[0]], categories=values)})
    schema = Schema.from_types(frame, {"a": values}, null=False)
    assert schema.columns["a"].labels == labels
    assert schema.encode(frame)["a"].tolist() == [1, 0]


def odd_columns():
    """Yield columns of types that no kind of column reads."""
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    pytest.importorskip("pyarrow")
    spans = [dt.timedelta(hours=i % 5) for i in range(40)]
    yield pandas.DataFrame({"d": pandas.to_timedelta(spans)})
    yield pandas.DataFrame({"d": pandas.period_range("2020-01", periods=40, freq="M")})
    for values in (spans, [dt.time(i % 5) for i in range(40)], [[i] for i in range(40)]):
        yield polars.DataFrame({"d": values})
        yield polars.DataFrame({"d": values}).to_arrow()


def test_types_that_no_column_reads_are_refused_by_name():
    for frame in odd_columns():
        with pytest.raises(ValueError, match=r"column 'd' has the type .*: make it numbers"):
            Schema.from_types(frame)


def strange_tables():
    """Yield what is no table, and what is to be said of it."""
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    twice = pandas.DataFrame(np.zeros((5, 2)), columns=["a", "a"])
    yield twice, ValueError, "the frame has more than one column 'a'"
    arrow = pytest.importorskip("pyarrow")
    yield arrow.table([[1], [2]], names=["a", "a"]), ValueError, "the frame has more than one column 'a'"
    for unordered in ({0, 1}, frozenset("01"), {0: 1, 1: 0}, "01", b"01"):
        kind = type(unordered).__name__
        yield {"a": unordered}, TypeError, f"column 'a' needs a list or an array, a value for each record, got {kind}"
    for series in (pandas.Series([1, 2], name="a"), polars.Series("a", [1, 2])):
        yield series, TypeError, "got Series; a series is one column"
    yield np.zeros((3, 2)), TypeError, "got ndarray; an array has no names of columns"
    yield [{"a": 1}], TypeError, "got list of records"
    yield [1, 2], TypeError, "a table needs a mapping of columns"


def test_what_is_no_table_is_refused_alike():
    budget = {"epsilon": 1, "delta": 1e-9}
    doors = [
        lambda table: Schema.from_types(table, {"a": (0, 1)}),
        Schema.draft,
        lambda table: pypgm.synthesize(table, {"a": 2}, **budget),
        lambda table: pypgm.synthesize(table, **budget),
    ]
    for table, error, told in strange_tables():
        for door in doors:
            with pytest.raises(error, match=told):
                door(table)


@pytest.mark.parametrize("name", ["a.xlsx", "a.txt", "a.csv.zip"])
def test_names_of_other_formats_are_not_written(name, tmp_path):
    data = pypgm.Dataset({"a": [0, 1, 1]}, pypgm.Domain({"a": 2}))
    release = pypgm.mechanisms.mst(data, epsilon=1, delta=1e-9)
    for write in (release.write, lambda path: pypgm.write_table(data, path)):
        with pytest.raises(ValueError, match=r"a name of no format that is written here: \.csv, "):
            write(tmp_path / name)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("values", [[12, 24, 36], [0.5, 1.5, 2.0, -3.0], [7.0, 8.0, 9.0], [3, 1, 2]])
@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_more_than_two_numbers_are_the_values_of_a_column(library, values):
    frame = frame_of(library, {"term": values * 40})
    schema = Schema.from_types(frame, {"term": values})
    assert schema.columns["term"].values == tuple(values)
    release = pypgm.synthesize(frame, schema, epsilon=100, delta=1e-9)
    synthetic = release.to_frame()["term"].drop_nulls() if library == "polars" else release.to_frame()["term"].dropna()
    assert set(synthetic.to_list()) == set(values)
    with pytest.raises(ValueError, match="column 'term', row 0"):
        Schema.from_types(frame, {"term": [100, 200, 300]}).encode(frame)
