"""Records come back in the library, the order and the types of the table that they were made of."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import numpy as np
import pytest

import pypgm
from pypgm.data import Boolean, Categorical, Codes, Date, Integer, Real
from pypgm.data.sources.layout import Layout

DAYS = [dt.datetime(2024, 1, 1), dt.datetime(2024, 3, 31), dt.datetime(2024, 7, 2)]
DAY, HOUR = Date("2024-01-01", "2024-12-31"), Date("2024-01-01", "2024-12-31", "hour")
HOLES = [1, None, 0]
LETTERS = Categorical(["b", "a"], null=True)
FALSE_TRUE = Boolean(["no", "yes"], null=True)
AMOUNT = Real(0, 9, bins=9, decimals=2, null=True)

PANDAS = [
    ("int64", [1, 2, 0], Integer(0, 9)),
    ("int64[pyarrow]", [1, 2, 0], Integer(0, 9)),
    ("Int64", HOLES, Integer(0, 9, null=True)),
    ("uint8", [1, 2, 3], Codes(9)),
    ("float64", HOLES, Integer(0, 9, null=True)),
    ("float32", [1.5, 0.5], Real(0, 9, bins=9)),
    ("Float64", [1.5, None, 0.5], AMOUNT),
    ("bool", [True, False], Boolean(["no", "yes"])),
    ("boolean", [True, None, False], FALSE_TRUE),
    ("str", ["a", "b", None], LETTERS),
    ("string", ["a", "b", None], LETTERS),
    ("object", ["a", "b", None], LETTERS),
    ("str", ["2024-01-05"], DAY),
    ("str", ["yes", "no", None], FALSE_TRUE),
    ("category", ["b", "a", None], LETTERS),
    ("datetime64[ns]", DAYS, DAY),
    ("datetime64[s]", [DAYS[0], None], Date("2024-01-01", "2024-12-31", null=True)),
    ("datetime64[us, Europe/Berlin]", DAYS, HOUR),
    ("datetime64[ns, UTC+05:30]", DAYS, DAY),
    ("timestamp[us][pyarrow]", DAYS, DAY),
    ("int64", [20240131], Date("2024-01-01", "2024-12-31", format="%Y%m%d")),
]
POLARS = [
    ("Int8", HOLES, Integer(0, 9, null=True)),
    ("Int128", HOLES, Integer(0, 9, null=True)),
    ("Float32", [1.5, None, 0.5], AMOUNT),
    ("Boolean", [True, None, False], FALSE_TRUE),
    ("String", ["a", "b", None], LETTERS),
    ("Categorical", ["a", "b", None], LETTERS),
    ("Enum(['b', 'a'])", ["a", "b", None], LETTERS),
    ("Date", [day.date() for day in DAYS], DAY),
    ("Datetime('ms')", DAYS, DAY),
    ("Datetime('us', 'Europe/Berlin')", DAYS, HOUR),
    ("Decimal(10, 2)", [Decimal("1.25"), None], AMOUNT),
]
ARROW = [
    ("int32()", HOLES, Integer(0, 9, null=True)),
    ("float64()", [1.5, None], AMOUNT),
    ("bool_()", [True, None, False], FALSE_TRUE),
    ("string()", ["a", "b", None], LETTERS),
    ("large_string()", ["a", "b", None], LETTERS),
    ("dictionary(arrow.int8(), arrow.string())", ["a", "b", None], LETTERS),
    ("date32()", [day.date() for day in DAYS], DAY),
    ("timestamp('ms')", DAYS, DAY),
    ("timestamp('us', 'Europe/Berlin')", DAYS, HOUR),
    ("decimal128(10, 2)", ["1.25", None], AMOUNT),
]


def again(frame, column):
    """Return a frame's records laid out as they were, of values drawn within their bins, after a look at the codes."""
    schema = pypgm.Schema({"a": column})
    codes = schema.encode(frame).columns
    layout = Layout.from_dict(Layout.of(frame).to_dict())  # as a file keeps it
    found = layout.frame(schema.cells(codes, np.random.default_rng(0)))
    assert schema.encode(found).columns["a"].tolist() == codes["a"].tolist()
    return found["a"]


@pytest.mark.parametrize(("kind", "values", "column"), PANDAS)
def test_pandas_types_are_kept(kind, values, column):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("narwhals")
    if "pyarrow" in kind:
        pytest.importorskip("pyarrow")
    series = pandas.Series(values)
    zone = kind.partition(", ")[2].rstrip("]") if kind.startswith("datetime64") else ""
    frame = pandas.DataFrame({"a": (series.dt.tz_localize(zone) if zone else series).astype(kind)})
    found = again(frame, column)
    assert found.dtype == (pandas.CategoricalDtype(["b", "a"]) if kind == "category" else frame["a"].dtype)


@pytest.mark.parametrize(("kind", "values", "column"), POLARS)
def test_polars_types_are_kept(kind, values, column):
    polars = pytest.importorskip("polars")
    pytest.importorskip("narwhals")
    made = eval(f"polars.{kind}")
    zone = getattr(made, "time_zone", None)
    series = polars.Series(values, dtype=polars.Datetime("us") if zone else made)
    frame = polars.DataFrame({"a": series.dt.replace_time_zone(zone) if zone else series})
    assert again(frame, column).dtype == frame["a"].dtype


@pytest.mark.parametrize(("kind", "values", "column"), ARROW)
def test_arrow_types_are_kept(kind, values, column):
    arrow = pytest.importorskip("pyarrow")
    pytest.importorskip("narwhals")
    made = eval(f"arrow.{kind}")
    array = arrow.array(values) if kind.startswith(("dict", "dec")) else arrow.array(values, made)
    frame = arrow.table({"a": array.cast(made)})
    found = again(frame, column).type
    if hasattr(made, "value_type"):  # how wide indices are tells how many values there are, and is not kept
        made = arrow.dictionary(arrow.int32(), made.value_type)
    assert found == made


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_a_type_that_cannot_hold_other_is_text(library):
    pytest.importorskip(library)
    columns = {"a": Integer(0, 9, outside="other"), "b": Categorical([1, "more"]), "c": Codes(3)}
    kinds = {"pandas": "int64", "polars": "Int64", "pyarrow": "int64"}
    layout = Layout(library, {"c": kinds[library], "a": kinds[library], "b": kinds[library]})
    codes = {"a": np.array([3, 10]), "b": np.array([0, 1]), "c": np.array([0, 2])}
    found = layout.frame(pypgm.Schema(columns).cells(codes, np.random.default_rng(0)))
    values = {n: found[n].to_pylist() if library == "pyarrow" else found[n].to_list() for n in columns}
    assert values == {"a": ["3", "other"], "b": ["1", "more"], "c": [0, 2]}
    names = found.column_names if library == "pyarrow" else list(found.columns)
    assert names == ["c", "a", "b"]


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_nulls_of_the_schema_stand_in_a_type_that_has_some(library):
    pytest.importorskip(library)
    kind = {"pandas": "uint16", "polars": "UInt16", "pyarrow": "uint16"}[library]
    columns = {"a": Integer(0, 9, null=True)}
    cells = pypgm.Schema(columns).cells({"a": np.array([3, 10])}, np.random.default_rng(0))
    found = Layout(library, {"a": kind}).frame(cells)["a"]
    assert str(found.type if library == "pyarrow" else found.dtype).lower() == kind.lower()
    values = found.to_pylist() if library == "pyarrow" else found.to_list()
    assert values[0] == 3
    assert str(values[1]) in {"None", "<NA>"}


def test_categories_are_those_of_the_schema():
    """Those of the frame may be the values that its records have."""
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("narwhals")
    frame = pandas.DataFrame({"a": pandas.Series(["x", "a"], dtype="category")})
    schema = pypgm.Schema({"a": Categorical(["a", "b"], other="rest")})
    found = Layout.of(frame).frame(schema.cells(schema.encode(frame).columns, np.random.default_rng(0)))
    assert found["a"].cat.categories.tolist() == ["a", "b", "rest"]
    assert "'x'" not in str(Layout.of(frame))


def test_times_that_clocks_skip_are_that_much_later():
    arrow = pytest.importorskip("pyarrow")
    layout = Layout("pyarrow", {"a": "timestamp[s, tz=Europe/Berlin]"})
    column = Date("2024-03-31T02:00", "2024-03-31T02:00", "hour", within="lower")
    found = layout.frame(pypgm.Schema({"a": column}).cells({"a": np.zeros(1, int)}, np.random.default_rng(0)))["a"]
    wanted = dt.datetime(2024, 3, 31, 1, tzinfo=dt.timezone.utc)
    assert found.cast(arrow.int64()).to_pylist() == [int(wanted.timestamp())]


def test_another_library_is_refused():
    with pytest.raises(ValueError, match="library must be 'pandas', 'polars' or 'pyarrow', got 'dask'"):
        Layout("dask")


def ordered_pandas(values, categories):
    pandas = pytest.importorskip("pandas")
    return pandas.DataFrame({"a": pandas.Categorical(values, categories, ordered=True)})


def synthetic(frame, column, **options):
    """Return a column of synthetic records of a frame."""
    pytest.importorskip("narwhals")
    release = pypgm.synthesize(frame, pypgm.Schema({"a": column}), epsilon=9, delta=1e-9, mechanism="hdmm", workload=1)
    return release.to_frame(rng=0, **options)["a"]


def test_an_order_that_somebody_wrote_down_is_that_of_the_frame():
    """Whatever order the schema lists the values in; what the type does not list leaves no order."""
    frame = ordered_pandas(["lo", "hi", "mid"] * 50, ["lo", "mid", "hi"])
    found = synthetic(frame, Categorical(["hi", "lo", "mid"]))
    assert found.dtype == frame["a"].dtype
    found = synthetic(frame, Categorical(["hi", "lo"], other=True))
    assert found.cat.categories.tolist() == ["lo", "hi", "other"]
    assert not found.cat.ordered
    polars = pytest.importorskip("polars")
    kind = polars.Enum(["lo", "mid", "hi"])
    frame = polars.DataFrame({"a": polars.Series(["lo", "hi", "mid"] * 50, dtype=kind)})
    assert synthetic(frame, Categorical(["hi", "lo", "mid"])).dtype == kind
    found = synthetic(frame, Categorical(["hi", "lo"], other=True))
    assert found.dtype == polars.Enum(["lo", "hi", "other"])


def test_sorted_categories_stay_sorted_and_tell_nothing_of_the_records():
    """pandas sorts what it finds: which values of the schema are among them is not to be seen."""
    column = Categorical([33, 2, 10])
    dtypes = []
    for values in ([2, 33], [2, 10, 33]):
        frame = ordered_pandas(values * 50, values)
        release = pypgm.synthesize(
            frame, pypgm.Schema({"a": column}), epsilon=9, delta=1e-9, mechanism="hdmm", workload=1
        )
        assert not release.layout.orders
        dtypes.append(release.to_frame(rng=0)["a"].dtype)
    assert dtypes[0] == dtypes[1]
    assert dtypes[0].ordered
    assert dtypes[0].categories.tolist() == [2, 10, 33]


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_an_order_goes_through_files_and_libraries(library, tmp_path):
    polars, arrow = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    pytest.importorskip("narwhals")
    frame = ordered_pandas(["lo", "hi", "mid"] * 50, ["lo", "mid", "hi"])
    frame.to_parquet(tmp_path / "source.parquet")
    schema = pypgm.Schema({"a": Categorical(["hi", "lo", "mid"])})
    release = pypgm.synthesize(tmp_path / "source.parquet", schema, epsilon=9, delta=1e-9, mechanism="hdmm", workload=1)
    release.save(tmp_path / "r.pgm")
    release = pypgm.load(tmp_path / "r.pgm")
    release.write(tmp_path / "t.parquet", rng=0)
    pandas = pytest.importorskip("pandas")
    assert pandas.read_parquet(tmp_path / "t.parquet")["a"].dtype == frame["a"].dtype
    found = release.to_frame(rng=0, library=library)["a"]
    if library == "pyarrow":
        assert found.type == arrow.dictionary(arrow.int32(), arrow.string(), ordered=True)
        assert found.combine_chunks().dictionary.to_pylist() == ["lo", "mid", "hi"]
    else:
        assert found.dtype == (frame["a"].dtype if library == "pandas" else polars.Categorical)


@pytest.mark.parametrize("form", ["frame", "file", "Arrow"])
def test_an_enumeration_of_polars_is_one_again(form, tmp_path):
    polars = pytest.importorskip("polars")
    pytest.importorskip("pyarrow")
    pytest.importorskip("narwhals")
    kind = polars.Enum(["lo", "mid", "hi"])
    frame = polars.DataFrame({"a": polars.Series(["lo", "hi", "mid"] * 50, dtype=kind)})
    frame.write_parquet(tmp_path / "source.parquet")
    source = {"frame": frame, "file": tmp_path / "source.parquet", "Arrow": frame.to_arrow()}[form]
    schema = pypgm.Schema({"a": Categorical(["hi", "lo", "mid"])})
    release = pypgm.synthesize(source, schema, epsilon=9, delta=1e-9, mechanism="hdmm", workload=1)
    release.save(tmp_path / "r.pgm")
    release = pypgm.load(tmp_path / "r.pgm")
    release.write(tmp_path / "t.parquet", rng=0)
    assert polars.read_parquet(tmp_path / "t.parquet")["a"].dtype == kind
    assert release.to_frame(rng=0, library="polars")["a"].dtype == kind


def test_what_a_type_lists_is_the_draft_of_a_column():
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    pytest.importorskip("narwhals")
    listed = {"kind": "categorical", "values": ["lo", "mid", "hi"], "ordinal": True}
    frame = ordered_pandas(["lo", "hi"] * 50, ["lo", "mid", "hi"])
    column = pypgm.data.draft.draft_schema(frame)["columns"]["a"]
    assert column == listed
    assert pypgm.Schema.from_types(frame, null=False).columns["a"].to_dict() == listed
    enum = polars.DataFrame({"a": polars.Series(["3", None] * 50, dtype=polars.Enum(["3", "1"]))})
    assert pypgm.data.draft.draft_schema(enum)["columns"]["a"] == {
        "kind": "categorical",
        "values": ["3", "1"],
        "ordinal": True,
        "null": [""],
    }
    found = pandas.DataFrame({"a": pandas.Categorical([33, 2] * 50, [2, 10, 33])})
    column = pypgm.data.draft.draft_schema(found)["columns"]["a"]
    assert (column["values"], "warning" in column) == ([2, 10, 33], True)
    assert list(pypgm.Schema.from_types(found).open) == ["a"]


NESTED = {
    "lists": [[1], [2]],
    "records": [{"x": 1}, {"x": 2}],
    "pairs": [(1, 2), None],
}


@pytest.mark.parametrize("library", ["list", "pandas", "polars", "pyarrow"])
@pytest.mark.parametrize("name", NESTED)
def test_nested_columns_are_dropped_and_refused(library, name):
    columns = {"a": NESTED[name] * 50, "b": ["x", "y"] * 50}
    frame = columns
    if library != "list":
        pytest.importorskip("narwhals")
        module = pytest.importorskip(library)
        columns |= {"a": [list(v) if isinstance(v, tuple) else v for v in columns["a"]]} if library != "pandas" else {}
        frame = module.table(columns) if library == "pyarrow" else module.DataFrame(columns)
    draft = pypgm.data.draft.draft_schema(frame)
    assert draft["drop"]["a"].startswith("nested: unnest it first")
    assert list(draft["columns"]) == ["b"]
    schema = {"columns": {"a": {"kind": "categorical", "values": ["1"], "other": True}, "b": ["x", "y"]}}
    with pytest.raises(ValueError, match="the table: column 'a' is nested: unnest it first"):
        pypgm.synthesize(frame, schema, epsilon=1, delta=1e-9)
    made = pypgm.synthesize(frame, pypgm.Schema({"b": ["x", "y"]}, drop=["a"]), epsilon=1, delta=1e-9)
    assert list(made.schema.columns) == ["b"]


def test_values_within_bins_are_categories_and_never_missing():
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("narwhals")
    days = pandas.Series([dt.date(2024, 1, 1) + dt.timedelta(i) for i in range(90)] * 3)
    found = synthetic(pandas.DataFrame({"a": days.astype("category")}), Date("2024-01-01", "2024-03-31", "month"))
    assert found.notna().all()
    found = synthetic(pandas.DataFrame({"a": pandas.Series([*range(90)]).astype("category")}), Integer(0, 99, width=10))
    assert found.notna().all()


def test_kinds_of_objects_that_differ_are_not_kept():
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("narwhals")
    mixed = pandas.DataFrame({"a": pandas.Series([dt.date(2024, 1, 1), "2024-01-02"] * 50, dtype=object)})
    assert {type(value) for value in synthetic(mixed, DAY)} == {str}
    other = pandas.DataFrame({"a": pandas.Series([dt.date(2023, 1, 1), dt.date(2024, 1, 2)] * 50, dtype=object)})
    column = Date("2024-01-01", "2024-12-31", outside="other")
    assert {type(value) for value in synthetic(other, column)} == {str}
