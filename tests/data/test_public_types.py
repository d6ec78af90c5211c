"""What is made of types is the same for a table and for one with a value more: categories are of the records."""

from __future__ import annotations

import datetime as dt
import zipfile

import numpy as np
import pytest

import pypgm
from pypgm import Schema, _synthesizer
from pypgm.data.sources.layout import layout_of
from pypgm.data.sources.source import open_source
from pypgm.integrations import sdv, smartnoise

POOLS = {
    "texts": [f"job {i}" for i in range(400)],
    "numbers": list(range(400)),
    "reals": [i + 0.5 for i in range(400)],
    "days": [dt.date(2020, 1, 1) + dt.timedelta(i) for i in range(400)],
    "times": [dt.datetime(2020, 1, 1) + dt.timedelta(hours=i) for i in range(400)],
}
WIDTHS = [1, 2, 126, 127, 128, 255, 256]
"""Numbers of values, of which the indices of a dictionary take another byte each time one more comes."""


def pandas_frames(kind, values):
    pandas = pytest.importorskip("pandas")
    plain = {"numbers": "int64", "reals": "float64", "texts": "str", "days": object}.get(kind)
    series = pandas.Series(values, dtype=plain)
    yield "plain", series
    yield "category", series.astype("category")
    yield "ordered", series.astype(pandas.CategoricalDtype(sorted(set(values)), ordered=True))
    yield "unused", series.astype(pandas.CategoricalDtype([*dict.fromkeys(values), POOLS[kind][-1]]))
    if kind == "texts":
        yield "string", series.astype("string")
        yield "object", series.astype(object)
        arrow = pytest.importorskip("pyarrow")
        yield "arrow", pandas.Series(pandas.arrays.ArrowExtensionArray(arrow.array(values).dictionary_encode()))
        indices = arrow.int8() if len(set(values)) < 128 else arrow.int16()
        narrow = arrow.array(values).dictionary_encode().cast(arrow.dictionary(indices, arrow.string()))
        yield "narrow", pandas.Series(pandas.arrays.ArrowExtensionArray(narrow))
    if kind == "numbers":
        yield "Int64", series.astype("Int64")


def frames(kind, values):
    """Yield a table of some values, in each library and type that holds them."""
    arrow, polars = pytest.importorskip("pyarrow"), pytest.importorskip("polars")
    for name, series in pandas_frames(kind, values):
        yield f"pandas {name}", series.to_frame("a")
        yield f"mapping {name}", {"a": series}
    yield "list", {"a": values}
    yield "objects", {"a": np.array([*values, None], dtype=object)[:-1]}
    yield "array", {"a": np.array(values)}
    yield "polars", polars.DataFrame({"a": values})
    yield "pyarrow", arrow.table({"a": values})
    yield "pyarrow dictionary", arrow.table({"a": arrow.array(values).dictionary_encode()})
    if kind == "texts":
        yield "polars Categorical", polars.DataFrame({"a": values}, schema={"a": polars.Categorical})
        known = polars.Enum(POOLS[kind])
        yield "polars Enum", polars.DataFrame({"a": values}, schema={"a": known})
        yield "pyarrow Enum", polars.DataFrame({"a": values}, schema={"a": known}).to_arrow()
        yield "lazy", polars.LazyFrame({"a": values}, schema={"a": polars.Categorical})


def files(kind, values, folder):
    """Yield files and relations of a table, written by each library."""
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    polars, duckdb = pytest.importorskip("polars"), pytest.importorskip("duckdb")
    for name, series in pandas_frames(kind, values):
        frame = series.to_frame("a")
        if name in {"plain", "category", "ordered", "unused"}:
            with duckdb.connect(folder / "t.duckdb") as connection:  # of a category it makes an ENUM
                connection.register("given", frame)
                connection.execute("create or replace table t as select * from given")
                yield f"relation of pandas {name}", connection.table("t")
                yield f"query of pandas {name}", connection.sql("select * from given")
            yield f"file of DuckDB of pandas {name}", folder / "t.duckdb"
        frame.to_parquet(folder / "t.parquet")
        yield f"Parquet of pandas {name}", folder / "t.parquet"
    frame.to_csv(folder / "t.csv", index=False)
    yield "CSV", folder / "t.csv"
    polars.DataFrame({"a": values}).write_parquet(folder / "t.parquet")
    yield "Parquet of polars", folder / "t.parquet"
    parquet.write_table(arrow.table({"a": arrow.array(values).dictionary_encode()}), folder / "t.parquet")
    yield "Parquet of a dictionary", folder / "t.parquet"
    if kind == "texts":
        frame = polars.DataFrame({"a": values}, schema={"a": polars.Enum(POOLS[kind])})
        frame.write_parquet(folder / "t.parquet")
        yield "Parquet of polars Enum", folder / "t.parquet"


def tables_of_ibis(values):
    ibis, arrow, pandas = (pytest.importorskip(package) for package in ("ibis", "pyarrow", "pandas"))
    frame = arrow.table({"a": arrow.array(values).dictionary_encode()})
    yield "Ibis", ibis.memtable(frame)
    connection = ibis.duckdb.connect()
    connection.con.register("given", pandas.DataFrame({"a": values}).astype("category"))
    connection.raw_sql("create table t as select * from given")
    yield "table of DuckDB by Ibis", connection.table("t")


def refusal(call, *given, **options):
    """Return what a call gives, or the text of its refusal."""
    try:
        return call(*given, **options)
    except (TypeError, ValueError) as error:
        return type(error), str(error)


def told(source, fitted):
    """Return all that is said of a table before a record is read."""
    own = {"table": "t"} if str(source).endswith(".duckdb") else {}
    told = [refusal(Schema.from_types, source, **own), refusal(Schema.from_types, source, {"a": (0, 999)}, **own)]
    told.append(refusal(pypgm.synthesize, source, epsilon=1, delta=1e-9, **own))
    if not hasattr(source, "open"):  # no path
        told.append(layout_of(source))
        for synthesizer, how in (
            (sdv.Synthesizer({"columns": {"a": {"sdtype": "categorical"}}}), {}),
            (smartnoise.Synthesizer(), {"categorical_columns": ["a"]}),
            (smartnoise.Synthesizer(), {}),
        ):
            answer = refusal(synthesizer.fit, source, **how)
            told += [answer if isinstance(answer, tuple) else None, fitted.pop() if fitted else None]
    raw = open_source(source, **own)
    return [*told, raw.layout, raw.categories, raw.complete]


@pytest.fixture
def fitted(monkeypatch):
    """Return the schemas for which integrations release."""
    found = []
    noting = _noting(pypgm.synthesize, found)
    monkeypatch.setattr(pypgm, "synthesize", noting)
    monkeypatch.setattr(_synthesizer, "synthesize", noting)
    return found


def _noting(synthesize, found):
    def noted(source, schema=None, *budget, **options):
        return synthesize(source, **options) if schema is None else found.append(schema)

    return noted


def check(pairs, fitted):
    """Compare what is said of each table of the first with what is said of its neighbour; return their names."""
    names = []
    for (name, one), (_, other) in pairs:
        if str(one).endswith(".duckdb") or hasattr(one, "open"):
            pytest.fail("files are compared one after the other")
        assert told(one, fitted) == told(other, fitted), name
        names.append(name)
    return names


@pytest.mark.parametrize("kind", POOLS)
def test_types_of_a_frame_do_not_change_with_a_value_more(kind, fitted):
    pytest.importorskip("narwhals")
    rng = np.random.default_rng(len(kind))
    for n in WIDTHS:
        base = rng.permutation(POOLS[kind][:-1])[:n].tolist() if kind in {"texts", "numbers", "reals"} else None
        base = base or [POOLS[kind][i] for i in rng.permutation(399)[:n]]
        new = next(value for value in POOLS[kind] if value not in base)
        pairs = zip(frames(kind, base), frames(kind, [*base, new]), strict=True)
        names = check(pairs, fitted)
    assert len(names) > 10


@pytest.mark.parametrize("kind", POOLS)
def test_types_in_a_file_or_an_engine_do_not_change_with_a_value_more(kind, fitted, tmp_path):
    pytest.importorskip("narwhals")
    for n in (2, 127, 255) if kind == "texts" else (127,):
        base, new = POOLS[kind][:n], POOLS[kind][n]
        one, other = (
            {name: told(source, fitted) for name, source in files(kind, values, tmp_path)}
            for values in (base, [*base, new])
        )
        assert one == other
        assert len(one) > 10


@pytest.mark.filterwarnings("ignore:fetch_arrow_table:DeprecationWarning")
def test_types_in_ibis_do_not_change_with_a_value_more():
    pytest.importorskip("narwhals")
    base, new = POOLS["texts"][:5], POOLS["texts"][7]
    for (name, one), (_, other) in zip(tables_of_ibis(base), tables_of_ibis([*base, new]), strict=True):
        assert refusal(Schema.from_types, one) == refusal(Schema.from_types, other), name
        assert refusal(pypgm.synthesize, one, epsilon=1) == refusal(pypgm.synthesize, other, epsilon=1), name
        assert layout_of(one) == layout_of(other), name


def test_values_in_the_definition_of_a_type_are_known(tmp_path):
    polars = pytest.importorskip("polars")
    parquet = pytest.importorskip("pyarrow.parquet")
    values = ["ä", "y;3", "x" * 12]
    frame = polars.DataFrame({"a": [values[1]]}, schema={"a": polars.Enum(values)})
    frame.write_parquet(tmp_path / "polars.parquet")
    parquet.write_table(frame.to_arrow(), tmp_path / "arrow.parquet")
    for source in (frame, frame.lazy(), frame.to_arrow(), tmp_path / "polars.parquet", tmp_path / "arrow.parquet"):
        assert Schema.from_types(source, null=False).columns["a"].labels == tuple(values)
        assert Schema.from_types(source, {"a": ["y;3"]}, null=False).columns["a"].labels == ("y;3",)


@pytest.mark.parametrize("note", [b"", b"1", b"9;x", b"-1;x", b"1;x;", b"1;\xff", b"x;x", b"9" * 5000 + b";x"])
def test_a_note_that_polars_has_not_written_lists_no_values(note):
    arrow = pytest.importorskip("pyarrow")
    field = arrow.field("a", arrow.dictionary(arrow.int8(), arrow.string()), metadata={"_PL_ENUM_VALUES2": note})
    table = arrow.table({"a": arrow.array(["x", "y"]).dictionary_encode().cast(field.type)}, arrow.schema([field]))
    assert list(refusal(Schema.from_types, table).open) == ["a"]


def test_what_has_to_be_found_of_categories_takes_its_share_of_the_budget():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({f"c{i}": pandas.Series(["x", "y"], dtype="category") for i in range(20)})
    assert Schema.from_types(frame).open_share <= 0.3 + 1e-9


@pytest.mark.parametrize("library", ["pandas", "ordered", "polars", "pyarrow", "parquet"])
def test_no_category_of_the_source_comes_out(library, tmp_path):
    """One record has a value of its own: it stands in no frame, no file and no type of a release."""
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("narwhals")
    secret = "astronaut-jane"
    jobs = pandas.Series(["cook"] * 600 + ["clerk"] * 399 + [secret])
    kind = (
        pandas.CategoricalDtype(sorted(["clerk", secret, "cook", "unused"]), ordered=True)
        if library == "ordered"
        else "category"
    )
    source = pandas.DataFrame({"job": jobs.astype(kind), "smokes": [True, False] * 500})
    if library == "polars":
        source = pytest.importorskip("polars").from_pandas(source)
    elif library == "pyarrow":
        source = pytest.importorskip("pyarrow").Table.from_pandas(source)
    elif library == "parquet":
        source.to_parquet(tmp_path / "source.parquet")
        source = tmp_path / "source.parquet"
    for bounds in (None, {"job": ["cook", "clerk", secret[:5]]}):
        schema = Schema.from_types(source, bounds)
        if bounds:
            schema = Schema.from_dict(
                schema.to_dict()
                | {
                    "columns": {
                        "job": {**schema.to_dict()["columns"]["job"], "other": True},
                        "smokes": {"kind": "boolean"},
                    }
                }
            )
        release = pypgm.synthesize(source, schema, epsilon=1, delta=1e-9, mechanism="mst")
        release.save(tmp_path / "r.pgm")
        parts = zipfile.ZipFile(tmp_path / "r.pgm")
        written = b"".join(parts.read(name) for name in parts.namelist())
        for name in ("t.parquet", "t.csv"):
            release.write(tmp_path / name, rng=0)
            written += (tmp_path / name).read_bytes()
        assert secret.encode() not in written
        assert b"unused" not in written
        for name in ("pandas", "polars", "pyarrow"):
            found = release.to_frame(30, rng=0, library=name)
            column = found["job"]
            if name == "pandas":
                assert set(column.cat.categories) <= set(release.model.domain.labels["job"])
            assert secret not in str(column.to_list() if hasattr(column, "to_list") else column)
