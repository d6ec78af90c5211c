"""Whatever a column is called, what is written of it is read again; names that no table has are refused."""

from __future__ import annotations

import itertools
import json
from contextlib import closing

import numpy as np
import pytest
from engines import ENGINES

import pypgm
from pypgm.data import JSON_SCHEMA
from pypgm.data.draft import draft_schema
from pypgm.data.draft.typed import draft_text

MARKS = [
    "",
    " ",
    "\t",
    "\n",
    "\r",
    "\r\n",
    "\ufeff",
    "\x1a",
    "\x1f",
    "\x85",
    "\xa0",
    "\u2028",
    "\u200b",
    ",",
    ";",
    '"',
    "#",
]
NAMES = sorted({f"{a}{word}{b}" for a, b in itertools.product(MARKS, MARKS) for word in ("", "a")} | {"a\nb", "é", "1"})


CHEAP = {"mechanism": "hdmm", "workload": 1, "iterations": 1, "epsilon": 10, "delta": 1e-6}


def schema_of(*names):
    return pypgm.Schema({name: ["x", "y", "z"] for name in names})


def check_read_again(path, schema):
    data = pypgm.Dataset({name: [0, 1, 2, 1] for name in schema.domain}, schema.domain)
    pypgm.write_table(data, path, schema)
    read = pypgm.read_table(path, schema)
    assert all((read.columns[name] == data.columns[name]).all() for name in schema.domain), path.read_bytes()


def test_a_csv_file_with_any_name_is_read_again(tmp_path):
    for name in NAMES:
        for names in ([name], [name, "other"], ["other", name]):
            check_read_again(tmp_path / "table.csv", schema_of(*names))


def test_names_that_differ_in_their_ends_alone_are_told_apart(tmp_path):
    names = ["a", " a", "a ", "\ufeffa", "", " "]
    for order in itertools.permutations(names, 3):
        check_read_again(tmp_path / "table.csv", schema_of(*order))


def test_white_space_around_a_declared_name_is_still_none_of_it(tmp_path):
    (tmp_path / "table.csv").write_text(" a ,b\nx,y\n")
    assert pypgm.read_table(tmp_path / "table.csv", schema_of("a", "b")).n_records == 1


@pytest.mark.parametrize("name", ["", " ", "\ufeffa", " a", "a\nb", "a\r", "\u2028a"])
@pytest.mark.parametrize("library", ["pandas", "pyarrow"])
def test_synthetic_records_of_a_frame_with_any_name(name, library, tmp_path):
    module = pytest.importorskip(library)
    pytest.importorskip("narwhals")
    columns = {name: ["x", "y"] * 20, "b": ["x", "z"] * 20}
    frame = module.DataFrame(columns) if library == "pandas" else module.table(columns)
    release = pypgm.synthesize(frame, schema_of(name, "b"), epsilon=1, delta=1e-9, mechanism="mst")
    for path in (tmp_path / "out.csv", tmp_path / "out.parquet"):
        if path.suffix == ".parquet":
            pytest.importorskip("pyarrow")
        release.write(path, rows=7, rng=0)
        assert pypgm.read_table(path, release.schema).n_records == 7


@pytest.mark.parametrize("name", [" a", "a\n", "\ufeffa", "a\rb"])
def test_a_draft_of_a_parquet_file_has_its_names(name, tmp_path):
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(arrow.table({name: ["x", "y"] * 20}), tmp_path / "t.parquet")
    drafted = pypgm.Schema.from_dict(draft_schema(tmp_path / "t.parquet"))
    assert list(drafted.declared) == [name]
    assert pypgm.read_table(tmp_path / "t.parquet", drafted).n_records == 40


@pytest.mark.parametrize("name", ["a\0b", "\0", "a\ud800"])
def test_a_name_that_no_table_has_is_refused_at_once(name):
    for columns in ({name: 2}, {"b": 2, name: ["x", "y"]}):
        with pytest.raises(ValueError, match=r"the name of column .* has a NUL or half a surrogate pair"):
            pypgm.Schema(columns)
    with pytest.raises(ValueError, match="the name of column"):
        pypgm.synthesize({name: [0, 1]}, {name: 2}, epsilon=1, delta=1e-9)


def test_one_column_without_a_name(tmp_path):
    check_read_again(tmp_path / "table.csv", schema_of(""))
    with pytest.raises(ValueError, match="is empty, or begins with a blank line; it needs a header line"):
        pypgm.read_table(tmp_path / "table.csv", schema_of("a"))
    assert np.array_equal(pypgm.read_table(tmp_path / "table.csv", schema_of("")).columns[""], [0, 1, 2, 1])


def words_of(told):
    """Yield each word that the format of schemas has a meaning for."""
    for name, inner in told.items() if isinstance(told, dict) else enumerate(told if isinstance(told, list) else ()):
        yield from inner if name == "properties" else [inner] if name == "const" else ()
        yield from words_of(inner)


WORDS = sorted({"bounds", *words_of(json.loads(JSON_SCHEMA.read_text(encoding="utf-8")))})


def check_kept(folder, columns, asked):
    """Draft a schema, write and read it, spend a budget by it, and read the release again."""
    schema = pypgm.Schema.draft(columns)
    schema.save(folder / "s.json")
    (folder / "drafted.json").write_text(draft_text(draft_schema(columns)), encoding="utf-8")
    assert pypgm.read_schema(folder / "s.json") == pypgm.read_schema(folder / "drafted.json") == schema
    release = pypgm.synthesize(columns, asked or folder / "drafted.json", **CHEAP)
    release.save(folder / "r.pgm")
    assert list(pypgm.load(folder / "r.pgm").synthetic_data(5, rng=0).columns) == list(columns)


@pytest.mark.parametrize("word", WORDS)
@pytest.mark.filterwarnings("ignore::pypgm.errors.DraftWarning")
def test_a_word_of_the_format_is_the_name_of_a_column(word, tmp_path):
    columns = {word: ["cat", "dog"] * 20, "age": [i % 5 for i in range(40)]}
    check_kept(tmp_path, columns, None)
    check_kept(tmp_path, columns, {"columns": {word: ["cat", "dog"], "age": 5}})
    check_kept(tmp_path, columns, {word: ["cat", "dog"], "age": 5})


@pytest.mark.filterwarnings("ignore::pypgm.errors.DraftWarning")
def test_all_words_of_the_format_are_names_of_columns(tmp_path):
    assert {"kind", "columns", "values", "bins", "records_per_person", "drop", "warning", "open"} <= {*WORDS}
    columns = {word: [["cat", "dog", "cow"][(i * (i + k)) % 3] for i in range(60)] for k, word in enumerate(WORDS)}
    check_kept(tmp_path, columns, None)


@pytest.mark.parametrize("whole", [True, False])
def test_mappings_in_files_beside_columns_with_words_of_the_format(whole, tmp_path):
    (tmp_path / "land.csv").write_text("kind,land\nBonn,DE\nOslo,NO\n")
    told = {"kind": ["Bonn", "Oslo"], "land": {"kind": "derived", "from": "kind", "mapping": "land.csv"}}
    told = {"columns": told} if whole else told | {"columns": {"kind": "boolean"}}
    (tmp_path / "s.json").write_text(json.dumps(told))
    assert pypgm.read_schema(tmp_path / "s.json").made["land"].mapping


SQL = [
    "job title",
    "select",
    'a"b',
    "*",
    "1+1",
    "a.b",
    "(select 7)",
    "job as x",
    "a'b",
    "t.*",
    "$1",
    "?",
    "'x'",
    "a]b",
    "b`c",
]


def _held(name):
    """Return records whose column of a name holds other values than what the name means in SQL."""
    return {name: ["cook", "nurse", "cook"] * 30, "job": ["secret 1", "secret 2"] * 45, "sex": ["F", "M", "M"] * 30}


def _sources(columns, folder):
    """Yield the records in each kind of table that is there, with its options."""
    yield "mapping", columns, {}
    pypgm.write_table(_encoded_texts(columns), folder / "t.csv")
    yield "CSV", folder / "t.csv", {}
    pytest.importorskip("narwhals")
    arrow = pytest.importorskip("pyarrow").table(columns)
    yield "Arrow", arrow, {}
    pytest.importorskip("pyarrow.parquet").write_table(arrow, folder / "t.parquet")
    yield "Parquet", folder / "t.parquet", {}
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect(folder / "t.duckdb") as file:
        file.register("arrow", arrow)
        file.execute('create table "my people" as select * from arrow')
    yield "DuckDB file", folder / "t.duckdb", {"table": "my people"}
    with duckdb.connect() as connection:
        yield "relation", connection.from_arrow(arrow), {}


def _engines(columns):
    """Yield the records in each engine that needs no server."""
    ibis = pytest.importorskip("ibis")
    for name in ("duckdb", "sqlite"):
        with closing(ENGINES[name](ibis)) as engine:
            declared = ['"' + name.replace('"', '""') + '" TEXT' for name in columns]
            rows = [[f"'{text}'" for text in row] for row in zip(*columns.values(), strict=True)]
            yield f"Ibis, {engine.name}", engine.opened(engine.made(declared, rows)), {}


def _encoded_texts(columns):
    """Return texts as records of a schema that lists them."""
    return pypgm.Schema({name: sorted(set(texts)) for name, texts in columns.items()}).encode(columns)


def _check_named(name, kind, source, options):
    """Check that a column is read by its name, where its values are listed and where they are found."""
    known = {"sex": ["F", "M"]}
    for how, declared in {"listed": ["cook", "nurse"], "found": {"kind": "open", "share": 0.3}}.items():
        asked = {name: declared, **known}
        release = pypgm.synthesize(source, asked, 1000, 1e-6, mechanism="mst", ignore_extra=True, **options)
        found = dict(zip(release.model.domain.labels[name], release.model.project(name).values, strict=True))
        assert {text for text, count in found.items() if count > 9} == {"cook", "nurse"}, (kind, how)
    typed = pypgm.Schema.from_types(source, {column: ["cook"] for column in _held(name)}, **options)
    assert name in typed.domain, kind


@pytest.mark.parametrize("name", SQL)
@pytest.mark.filterwarnings("ignore::pypgm.errors.DraftWarning")
def test_a_name_is_never_run_as_sql(name, tmp_path):
    """A name means the column that is called so, whatever it means in SQL."""
    for kind, source, options in _sources(_held(name), tmp_path):
        _check_named(name, kind, source, options)
        drafted = pypgm.Schema.draft(source, **options)
        assert {*drafted.domain.labels[name]} == {"cook", "nurse"}, kind


@pytest.mark.parametrize("name", SQL)
@pytest.mark.filterwarnings("ignore")  # those of the engines' own drivers
def test_an_engine_never_runs_a_name_as_sql(name):
    for kind, source, options in _engines(_held(name)):
        _check_named(name, kind, source, options)
