"""Data frames in and out: pandas, polars, pyarrow and the Arrow C stream say the same."""

from __future__ import annotations

import dataclasses
import datetime

import numpy as np
import pytest

import pypgm
from pypgm.data import Boolean, Categorical, Codes, Date, Integer, Real, as_frame

pytest.importorskip("narwhals")

DOMAIN = pypgm.Domain({"sex": ["F", "M"], "age": 90, "floor": [-1, 0, 1]})
COLUMNS = {"age": [31, 7, 89], "sex": ["M", "F", "M"], "floor": [1, -1, 0]}
CODES = {"sex": [1, 0, 1], "age": [31, 7, 89], "floor": [2, 0, 1]}
LIBRARIES = ["pandas", "polars", "pyarrow"]


class Stream:
    """What offers the Arrow C stream, and nothing else."""

    def __init__(self, table):
        self.__arrow_c_stream__ = table.__arrow_c_stream__


def framed(library, columns):
    module = pytest.importorskip(library)
    return module.table(columns) if library == "pyarrow" else module.DataFrame(columns)


def codes(data):
    return {name: column.tolist() for name, column in data.columns.items()}


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_frame_becomes_records_and_a_frame_again(library):
    frame = framed(library, COLUMNS)
    data = pypgm.Dataset.from_frame(frame, DOMAIN)
    assert codes(data) == CODES
    back = data.to_frame(library)
    assert type(back) is type(frame)
    assert codes(pypgm.Dataset.from_frame(back, DOMAIN)) == CODES
    assert list(back["sex"] if library != "pyarrow" else back["sex"].to_pylist()) == COLUMNS["sex"]


def test_a_missing_half_float_is_missing():
    pyarrow = pytest.importorskip("pyarrow")
    schema = pypgm.Schema.from_dict({"x": {"kind": "real", "low": 0, "high": 1, "bins": 4, "null": ""}})
    halves = [np.float16(0.25), np.float16(0.75)]
    for column in (halves, [*halves, None]):
        found = schema.encode({"x": pyarrow.array(column, pyarrow.float16())}).columns["x"]
        assert found.tolist() == [1, 3, 4][: len(column)]


def test_the_arrow_stream_and_categories():
    pandas = pytest.importorskip("pandas")
    table = framed("pyarrow", COLUMNS)
    assert codes(pypgm.Dataset.from_frame(Stream(table), DOMAIN)) == CODES
    frame = pandas.DataFrame(COLUMNS).astype({"sex": "category", "age": "Int64", "floor": "float64"})
    assert codes(pypgm.Dataset.from_frame(frame, DOMAIN)) == CODES


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_schema_reads_dates_numbers_and_nulls(library):
    schema = pypgm.Schema(
        {
            "hired": Date("2020-01-01", "2021-12-31", "year"),
            "wage": Integer(0, 99, width=50, null="?"),
            "active": Boolean(),
            "job": Categorical(["a", "b"], null="none"),
        }
    )
    columns = {
        "hired": [datetime.date(2021, 3, 1), datetime.date(2020, 3, 1), datetime.date(2020, 1, 1)],
        "wage": [10, None, 99],
        "active": [True, False, True],
        "job": ["b", None, "a"],
    }
    data = schema.encode(framed(library, columns))
    assert codes(data) == {"hired": [1, 0, 0], "wage": [0, 2, 1], "active": [1, 0, 1], "job": [1, 2, 0]}
    decoded = schema.decode(data, rng=0)
    assert codes(schema.encode(as_frame(decoded, library))) == codes(data)


@pytest.mark.parametrize("unit", ["s", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "UTC", "America/New_York"])
def test_times_of_pandas_have_nulls_and_zones(unit, zone):
    pandas = pytest.importorskip("pandas")
    times = pandas.Series(pandas.to_datetime(["2000-12-31 23:30", None, "2003-01-01 00:00"])).dt.as_unit(unit)
    frame = pandas.DataFrame({"d": times.dt.tz_localize(zone), "a": [0, 1, 1]})
    schema = pypgm.Schema({"d": Date("2000-01-01", "2009-12-31", "year", null="")})
    assert codes(schema.encode(frame, ignore_extra=True)) == {"d": [0, 10, 3]}
    found = pypgm.Dataset.from_frame(frame, pypgm.Domain({"a": 2}), ignore_extra=True)
    assert codes(found) == {"a": [0, 1, 1]}


@pytest.mark.parametrize("library", ["polars", "pyarrow"])
@pytest.mark.parametrize("zone", [None, "America/New_York"])
def test_times_of_arrow_have_nulls_and_zones(library, zone):
    arrow = pytest.importorskip("pyarrow")
    times = arrow.array([datetime.datetime(2001, 1, 1, 4, 30), None], arrow.timestamp("us", tz=zone))
    table = arrow.table({"d": times})
    frame = table if library == "pyarrow" else pytest.importorskip("polars").from_arrow(table)
    schema = pypgm.Schema({"d": Date("2000-01-01", "2009-12-31", "year", null="")})
    assert codes(schema.encode(frame)) == {"d": [1 if zone is None else 0, 10]}  # in New York it is 2000 still


@pytest.mark.parametrize("library", LIBRARIES)
def test_columns_with_nulls_are_what_they_are_without(library):
    large = (1 << 53) + 1
    schema = pypgm.Schema(
        {
            "wage": Real(0, 10, bins=2, null="?"),
            "floor": Categorical([-1, 0, large], null="?"),
            "code": Codes(9, null="?"),
            "day": Date("2020-01-01", "2020-12-31", "month", null="?"),
        }
    )
    columns = {
        "wage": [7.5, None, 0.5],
        "floor": [large, None, -1],
        "code": [8, None, 0],
        "day": [datetime.date(2020, 2, 29), None, datetime.date(2020, 1, 1)],
    }
    frame = (
        framed(library, columns)
        if library != "pandas"
        else framed("pyarrow", columns).to_pandas(types_mapper=pytest.importorskip("pandas").ArrowDtype)
    )
    assert codes(schema.encode(frame)) == {"wage": [1, 2, 0], "floor": [2, 3, 0], "code": [8, 9, 0], "day": [1, 12, 0]}
    empty = framed("pyarrow", columns).slice(1, 1)
    assert codes(schema.encode(empty)) == {"wage": [2], "floor": [3], "code": [9], "day": [12]}


@pytest.mark.parametrize("library", LIBRARIES)
def test_what_is_wrong_is_told_at_once_and_no_value(library):
    frame = framed(library, {"age": [31, 7, 99], "sex": ["M", "zebra", None], "other": [1, 2, 3]})
    with pytest.raises(ValueError, match="3 problems") as caught:
        pypgm.Dataset.from_frame(frame, DOMAIN)
    text = str(caught.value)
    assert "lacks a column for 'floor'" in text
    assert "column 'sex', row 1 (the first is 0)" in text
    assert "column 'age', row 2 (the first is 0)" in text
    assert "zebra" not in text
    assert "99" not in text
    with pytest.raises(ValueError, match="columns that the domain does not: 'other'"):
        pypgm.Dataset.from_frame(framed(library, COLUMNS | {"other": [1, 2, 3]}), DOMAIN)
    found = pypgm.Dataset.from_frame(framed(library, COLUMNS | {"other": [1, 2, 3]}), DOMAIN, ignore_extra=True)
    assert codes(found) == CODES


def test_refusals(monkeypatch):
    data = pypgm.Dataset.from_frame(COLUMNS, DOMAIN)
    with pytest.raises(ValueError, match="library must be 'pandas', 'polars' or 'pyarrow', got 'R'"):
        data.to_frame("R")
    with pytest.raises(TypeError, match="a data frame of pandas, polars, pyarrow or the Arrow C stream, got list"):
        pypgm.Dataset.from_frame([1, 2], DOMAIN)
    weighted = pypgm.Dataset(data.columns, DOMAIN, weights=np.ones(3))
    assert weighted.to_frame(value="w")["w"].tolist() == [1.0] * 3
    with pytest.raises(ValueError, match="name the column of weights differently"):
        weighted.to_frame(value=next(iter(DOMAIN)))


def test_synthetic_records_as_a_frame():
    pandas = pytest.importorskip("pandas")
    schema = pypgm.Schema({"sex": ["F", "M"], "age": Integer(0, 99, width=10)})
    data = schema.encode({"sex": ["F", "M"] * 50, "age": list(range(100))})
    release = pypgm.mechanisms.mst(data, 10, 1e-9, unsafe_seed=0)
    assert release.schema == schema
    frame = dataclasses.replace(release, schema=None).to_frame(rng=0)
    assert isinstance(frame, pandas.DataFrame)
    assert set(frame["sex"]) == {"F", "M"}
    assert frame["age"].iloc[0] in schema.domain.labels["age"]
    known = release.to_frame(rng=0)
    assert known["age"].between(0, 99).all()
    assert len(known) == len(frame)


@pytest.mark.parametrize(
    ("names", "error", "message"),
    [
        (["a", "a"], ValueError, "the frame has more than one column 'a'"),
        ([0, 1], TypeError, "names of columns are text, got 0: rename"),
        ([("a", 1), ("b", 2)], TypeError, "names of columns are text"),
    ],
)
def test_names_of_pandas_that_are_no_names_of_columns_are_refused(names, error, message):
    pandas = pytest.importorskip("pandas")
    index = pandas.MultiIndex.from_tuples(names) if isinstance(names[0], tuple) else names
    with pytest.raises(error, match=message):
        pypgm.Dataset.from_frame(pandas.DataFrame([[0, 1]], columns=index), pypgm.Domain({"a": 2, "b": 2}))


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_objects_are_of_one_kind(library):
    pytest.importorskip(library)
    columns = {"mixed": [1, "other", None], "whole": [1, None, 2], "truth": [True, None, False]}
    frame = as_frame({name: np.array(column, dtype=object) for name, column in columns.items()}, library)
    types = {n: str(frame[n].type if library == "pyarrow" else frame[n].dtype).lower() for n in columns}
    assert types["mixed"] in {"str", "string", "object"}
    assert types["whole"] == "int64"
    assert types["truth"] in {"bool", "boolean"}
    found = {n: frame[n].to_pylist() if library == "pyarrow" else frame[n].to_list() for n in columns}
    assert found["mixed"][:2] == ["1", "other"]


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
@pytest.mark.parametrize("unit", ["D", "s", "ms", "us", "ns"])
def test_times_of_any_unit_come_back(library, unit):
    pytest.importorskip(library)
    times = np.array(["2024-03-01", "NaT", "1969-12-31"], dtype=f"M8[{unit}]")
    column = as_frame({"t": times}, library)["t"]
    found = np.asarray(column.to_numpy()).astype("M8[us]")
    assert np.array_equal(found, times.astype("M8[us]"), equal_nan=True)


def test_containers_go_all_the_way():
    pandas = pytest.importorskip("pandas")
    domain = pypgm.Domain({"age": 3, "sex": ["F", "M"]})
    data = pypgm.Dataset({"age": [2, 0, 1, 1, 0, 2], "sex": [0, 1, 1, 0, 0, 1]}, domain)
    assert data["age"].tolist() == [2, 0, 1, 1, 0, 2]
    assert list(data) == list(domain) == ["age", "sex"]
    assert "sex" in data
    assert len(data.head()) == 5
    assert data.head(2).to_dict("list") == {"age": [2, 0], "sex": ["F", "M"]}
    assert (domain["age"], domain["sex"]) == (3, ("F", "M"))
    for there in (data, domain):
        with pytest.raises(KeyError, match="unknown attribute 'sxe'"):
            there["sxe"]
        with pytest.raises(KeyError, match="unknown attribute 0"):
            there[0]
    factor = data.project(("age", "sex"))
    assert isinstance(factor.to_frame(), pandas.DataFrame)
    assert list(factor.to_frame(value="n")) == ["age", "sex", "n"]


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_records_and_tables_name_their_library_in_one_way(library):
    module = pytest.importorskip(library)
    data = pypgm.Dataset({"a": [1, 0]}, pypgm.Domain({"a": ["x", "y"]}))
    kind = module.Table if library == "pyarrow" else module.DataFrame
    assert isinstance(data.to_frame(library), kind)
    assert isinstance(data.project("a").to_frame(library, value="n"), kind)
    with pytest.raises(ValueError, match="library must be"):
        data.project("a").to_frame("count")


def test_a_table_of_numbers_is_a_frame_of_arrow():
    polars = pytest.importorskip("polars")
    pytest.importorskip("pyarrow")
    factor = pypgm.Factor(pypgm.Domain({"a": ["x", "y"], "b": 2}), [[1, 2], [3, 4]])
    rows = [("x", 0, 1.0), ("x", 1, 2.0), ("y", 0, 3.0), ("y", 1, 4.0)]
    assert polars.DataFrame(factor).rows() == rows


def test_what_is_no_frame_is_told_how_to_become_one():
    pytest.importorskip("narwhals")
    schema = pypgm.Schema({"a": 3})
    with pytest.raises(TypeError, match=r"got list of records; pandas.DataFrame\(records\) makes a frame"):
        schema.encode([{"a": 1}, {"a": 2}])
    with pytest.raises(TypeError, match=r"an array has no names of columns: pandas\.DataFrame"):
        schema.encode(np.zeros((2, 2)))


def test_a_lazy_frame_is_collected():
    polars = pytest.importorskip("polars")
    pytest.importorskip("narwhals")
    lazy = polars.LazyFrame({"a": [0, 2, 1]})
    assert pypgm.Schema({"a": 3}).encode(lazy).columns["a"].tolist() == [0, 2, 1]
    assert pypgm.Dataset.from_frame(lazy, pypgm.Domain({"a": 3})).columns["a"].tolist() == [0, 2, 1]


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
@pytest.mark.parametrize("labels", [["x", "y", "z"], [3, 1, 2], [True, False], [0.5, 1.5], ["other", 1, 2], 3], ids=str)
def test_many_records_have_the_values_and_types_of_few(library, labels):
    pytest.importorskip(library)
    domain = pypgm.Domain({"a": labels})
    kinds = set()
    for codes in ([1], [1] * 20, [1, 0] * 20):
        column = pypgm.Dataset({"a": codes}, domain).to_frame(library)["a"]
        kinds.add(str(getattr(column, "dtype", None) or column.type))
        values = domain.labels.get("a", range(3))
        told = [values[c] for c in codes]
        mixed = len({type(v) for v in told}) > 1
        assert (column.to_pylist() if library == "pyarrow" else column.to_list()) == [
            str(v) if mixed else v for v in told
        ]
    assert len(kinds) == 1 + (labels == ["other", 1, 2])  # the texts of "other" and numbers are another kind


@pytest.mark.parametrize("resolution", ["month", "hour"])
@pytest.mark.parametrize("unit", ["s", "ms", "h"])
def test_times_beyond_what_a_finer_unit_holds_are_where_they_are(resolution, unit):
    """NumPy wraps them: a time of a far year came out within the bounds. A near one beside them stays its own."""
    schema = pypgm.Schema({"a": Date("2020-01-01", "2020-03-31", resolution=resolution, outside="clip")})
    near = np.datetime64("2020-02-15", unit)
    codes = [schema.columns["a"].size - 1, int(schema.encode({"a": [near]})["a"][0]), 0]
    places = [2**62, int(near.astype(np.int64)), -(2**62)]
    times = np.array(places, f"datetime64[{unit}]")
    tables = {"array": {"a": times}, "list": {"a": list(times)}}
    if unit != "h":
        tables["pandas"] = pytest.importorskip("pandas").DataFrame({"a": times})
        arrow = pytest.importorskip("pyarrow")
        tables["pyarrow"] = arrow.table({"a": arrow.array(places).cast(arrow.timestamp(unit))})
    if unit == "ms":
        polars = pytest.importorskip("polars")
        tables["polars"] = polars.DataFrame({"a": polars.Series(places).cast(polars.Datetime("ms"))})
    for name, table in tables.items():
        assert schema.encode(table)["a"].tolist() == codes, name


@pytest.mark.parametrize("kind", ["Int64", "Float64", "boolean", "string", "category"])
def test_a_column_may_miss_all_values(kind):
    """As it may miss all but one: that a number is there must not decide whether a table is taken."""
    pandas = pytest.importorskip("pandas")
    schema = pypgm.Schema({"a": Integer(0, 9, outside="other", null=True)})
    for values in ([None, None], [None, True if kind == "boolean" else 3]):
        frame = pandas.DataFrame({"a": pandas.Series(values, dtype=object).astype(kind)})
        assert schema.encode(frame)["a"].tolist()[0] == schema.columns["a"].null_code
