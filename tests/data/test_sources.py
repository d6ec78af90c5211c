"""Every public function that takes a table, with every kind of source: the same answer, or the documented refusal."""

from __future__ import annotations

import contextlib
import functools
import importlib
import importlib.util
import json
import shutil
import tempfile
from pathlib import Path

import numpy as np
import pytest
from selfcheck.containers import TYPED, UNTYPED, Typed, is_there, reading_of, typed
from workbooks import write_workbook

import pypgm
from pypgm import Schema
from pypgm.data import Dataset, EngineTable, StreamedTable, scan
from pypgm.data.sources.dialect import Dialect
from pypgm.data.sources.opened import opened
from pypgm.data.sources.source import open_source

pytestmark = pytest.mark.filterwarnings("ignore:fetch_arrow_table:DeprecationWarning")  # of Ibis

SEXES, RNG = ("F", "M"), np.random.default_rng(0)
VALUES = {
    "age": typed(RNG.integers(0, 10, 80).tolist(), [0, 1]),
    "sex": typed(RNG.choice(SEXES, 80).tolist(), SEXES),
}
BOUNDS = {"age": (0, 9), "sex": SEXES}
SCHEMA = Schema.from_types(VALUES, BOUNDS, null=False)
BUDGET = {"epsilon": 1, "delta": 1e-9, "unsafe_seed": 3}
HALF = 37  # records in the first of two files


@contextlib.contextmanager
def folder_of(columns, held, folders=("", "")):
    """Give a folder with two files of a kind."""
    with tempfile.TemporaryDirectory() as place, contextlib.ExitStack() as stack:
        for number, rows in enumerate((slice(HALF), slice(HALF, None))):
            part = {name: Typed(values[rows], values.kind) for name, values in columns.items()}
            path = stack.enter_context(held(part))
            (Path(place) / folders[number]).mkdir(exist_ok=True)
            shutil.copy(path, Path(place) / folders[number] / f"{number}{path.suffix}")
        yield place


@contextlib.contextmanager
def csv_folder(columns):
    with folder_of(columns, TYPED["CSV"]) as folder:
        yield folder


@contextlib.contextmanager
def pattern(columns):
    with folder_of(columns, TYPED["Parquet"]) as folder:
        yield f"{folder}/*.parquet"


@contextlib.contextmanager
def file_list(columns):
    with folder_of(columns, TYPED["CSV in blocks"]) as folder:
        yield sorted(Path(folder).iterdir())


@contextlib.contextmanager
def named_folders(columns, kind="Parquet"):
    """Give a folder of files whose last column is in the names of folders alone."""
    *_, last = columns
    chosen = dict.fromkeys(columns[last])
    with tempfile.TemporaryDirectory() as place, contextlib.ExitStack() as stack:
        for value in chosen:
            rows = [i for i, other in enumerate(columns[last]) if other == value]
            part = {n: Typed([v[i] for i in rows], v.kind) for n, v in columns.items() if n != last}
            path = stack.enter_context(TYPED[kind](part))
            (Path(place) / f"{last}={value}").mkdir()
            shutil.copy(path, Path(place) / f"{last}={value}")
        yield place


@contextlib.contextmanager
def arrow_dataset(columns):
    with named_folders(columns) as folder:
        yield importlib.import_module("pyarrow.dataset").dataset(folder, partitioning="hive")


@contextlib.contextmanager
def scanned(columns):
    with TYPED["CSV"](columns) as path:
        yield scan(path, SCHEMA)


SEVERAL = {
    "CSV folder": csv_folder,
    "Parquet pattern": pattern,
    "list of CSV files": file_list,
    "Parquet in named folders": named_folders,
    "CSV in named folders": functools.partial(named_folders, kind="CSV"),
}


@contextlib.contextmanager
def json_lines(columns):
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "people.jsonl"
        rows = zip(*columns.values(), strict=True)
        path.write_text("".join(json.dumps(dict(zip(columns, row, strict=True))) + "\n" for row in rows), "utf-8")
        yield path


@contextlib.contextmanager
def workbook(columns):
    with tempfile.TemporaryDirectory() as place:
        rows = [[*columns], *zip(*columns.values(), strict=True)]
        yield write_workbook(Path(place) / "people.xlsx", {"people": rows})


SEVERAL["JSON Lines"] = json_lines
if importlib.util.find_spec("python_calamine") is not None:
    SEVERAL["workbook"] = workbook
MORE = {
    **SEVERAL,
    "pyarrow dataset": arrow_dataset,
    "lazy polars": lambda columns: contextlib.nullcontext(importlib.import_module("polars").LazyFrame(dict(columns))),
    "scan": scanned,
}
KINDS = {**TYPED, **UNTYPED, **MORE, "Dataset": lambda columns: contextlib.nullcontext(SCHEMA.encode(columns))}

FILES = {"CSV", "CSV in blocks", "Parquet", "DuckDB file"}
PATHS = {*FILES, *SEVERAL}


def drafted(source):
    """Return the columns of a draft, but for the kind of objects that only some frames have."""
    columns = Schema.draft(source, **reading_of(source)).to_dict()["columns"]
    return {name: {key: value for key, value in fields.items() if key != "objects"} for name, fields in columns.items()}


READ = {"Schema.draft", "compare"}
"""Calls that read the records of an engine's table."""


def counts(data):
    return data.count([("age", "sex")])[0].tolist()


def answers(release):
    return release.model.project(("age", "sex")).values.tolist()


def refused(kinds, error, match):
    return dict.fromkeys(kinds, (error, match))


NO_TABLE = refused({"DuckDB file"}, ValueError, "a DuckDB file needs table=")
NO_FRAME = refused({"Dataset"}, TypeError, "a table needs a mapping of columns, or a data frame .* got Dataset")
NO_PATH = refused(KINDS.keys() - PATHS, TypeError, "a path must be a text or path-like")
IN_MEMORY = refused(
    {*PATHS, "Dataset", "pyarrow dataset", "scan"}, TypeError, "a table needs a mapping of columns, or a data frame"
)

CALLS = {
    # name: (the answer, what refuses it)
    "Schema.from_types": (
        lambda source: Schema.from_types(source, BOUNDS, null=False, **reading_of(source)).to_dict(),
        NO_FRAME,
    ),
    "Schema.draft": (drafted, NO_FRAME),
    "synthesize": (
        lambda source: answers(pypgm.synthesize(source, SCHEMA, mechanism="mst", **BUDGET, **reading_of(source))),
        {},
    ),
    "a mechanism": (lambda source: answers(pypgm.mechanisms.mst(source, schema=SCHEMA, **BUDGET)), NO_TABLE),
    "compare": (lambda source: pypgm.compare(VALUES, source, schema=SCHEMA).score, {**NO_TABLE, **NO_FRAME}),
    "read_table": (
        lambda source: counts(pypgm.read_table(source, SCHEMA)),
        {**NO_PATH, **refused({"DuckDB file"}, ValueError, "must be text, but is a DuckDB database")},
    ),
    "scan": (
        lambda source: counts(scan(source, SCHEMA, **reading_of(source))),
        refused({"Dataset", "Ibis", "scan"}, TypeError, "scan needs a table that is read in pieces"),
    ),
    "Schema.encode": (lambda source: counts(SCHEMA.encode(source)), IN_MEMORY),
    "Dataset.from_frame": (lambda source: counts(Dataset.from_frame(source, SCHEMA)), IN_MEMORY),
    "EngineTable": (
        lambda source: counts(EngineTable(source, SCHEMA)),
        refused(KINDS.keys() - {"Ibis"}, TypeError, "an engine's table needs an ibis.Table"),
    ),
    "StreamedTable": (lambda source: counts(StreamedTable(lambda *_: [source], ["age", "sex"], SCHEMA)), IN_MEMORY),
    "PrivateTable": (
        lambda source: pypgm.PrivateTable(source, "add-remove", pypgm.Ledger(pypgm.Budget(rho=1))).domain,
        refused(KINDS.keys() - {"Dataset", "scan"}, TypeError, "data needs a pypgm.Dataset"),
    ),
}


def check_batches():
    """Skip where Ibis asks its engine for batches in a way that the engine has no more."""
    with KINDS["Ibis"](VALUES) as table, contextlib.suppress(AttributeError):
        assert [*table.to_pyarrow_batches()]
        return
    pytest.skip("this Ibis gets no batches from this DuckDB")


def check_there(kind):
    """Skip where the package of a kind is missing."""
    needed = {"pyarrow dataset": "Parquet", "Parquet pattern": "Parquet", "Parquet in named folders": "Parquet"}
    needed |= {"lazy polars": "polars", "list of CSV files": "CSV in blocks"}
    if not is_there({**TYPED, **UNTYPED}.get(needed.get(kind, kind), UNTYPED["lists"])):
        pytest.skip(f"{kind} has no package")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", CALLS)
def test_a_table_gives_the_same_answer_whatever_holds_it(name, kind):
    for needed in {kind, "Ibis"} if name == "EngineTable" else {kind}:
        check_there(needed)
    call, refusals = CALLS[name]
    if kind == "Ibis" and name in READ:
        check_batches()
    first = next(known for known in ("lists", "CSV", "Ibis", "Dataset") if not refusals.get(known))
    with KINDS[kind](VALUES) as source:
        if refusals.get(kind):
            error, match = refusals[kind]
            if importlib.util.find_spec("narwhals") is None:  # nor is it known what is no frame
                error, match = (error, ImportError), f"{match}|a data frame needs narwhals"
            with pytest.raises(error, match=match):
                call(source)
        else:
            with KINDS[first](VALUES) as same:
                assert call(source) == call(same)


@pytest.mark.parametrize("kind", KINDS)
def test_a_source_says_the_same_of_a_table_whatever_holds_it(kind):
    check_there(kind)
    with KINDS[kind](VALUES) as given:
        source = open_source(given, **reading_of(given))
        assert source.has_rows == (kind != "Ibis")
        assert source.has_header == ("CSV" in kind or kind == "workbook")
        assert bool(source.path) == (kind in FILES or kind in {"JSON Lines", "workbook"})
        held = opened(source, SCHEMA)
        assert counts(held.records(SCHEMA)) == counts(SCHEMA.encode(VALUES))
        held.close()
        if not source.has_header or kind == "workbook":
            with pytest.raises(ValueError, match=r"only a CSV file has a dialect|a workbook has no marks"):
                opened(open_source(given, dialect=Dialect(";"), **reading_of(given)), SCHEMA)
        if kind == "Dataset":
            return
        assert list(source.layout.types) == list(VALUES)
        if kind == "Ibis":
            check_batches()
        pieces = [*source.pieces(["sex", "age"], 7)]
        rows = [
            row for piece in pieces for row in zip(*pypgm.data.sources.frames.as_columns(piece).values(), strict=True)
        ]
        read = [(str(sex), int(age)) for sex, age in rows]
        expected = [*zip(VALUES["sex"], VALUES["age"], strict=True)]
        assert sorted(read) == sorted(expected)
        assert read == expected or "folders" in kind or kind == "pyarrow dataset"  # which group the records
