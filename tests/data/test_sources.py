"""Every public function that takes a table, with every kind of source: the same answer, or the documented refusal."""

from __future__ import annotations

import contextlib
import importlib.util

import numpy as np
import pytest
from selfcheck.containers import TYPED, UNTYPED, is_there, reading_of, typed

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
KINDS = {**TYPED, **UNTYPED, "Dataset": lambda columns: contextlib.nullcontext(SCHEMA.encode(columns))}

FILES = {"CSV", "CSV in blocks", "Parquet", "DuckDB file"}
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
NO_PATH = refused(KINDS.keys() - FILES, TypeError, "a path must be a text or path-like")
IN_MEMORY = refused({*FILES, "Dataset"}, TypeError, "a table needs a mapping of columns, or a data frame")

CALLS = {
    # name: (the answer, what refuses it)
    "Schema.from_types": (
        lambda source: Schema.from_types(source, BOUNDS, null=False, **reading_of(source)).to_dict(),
        NO_FRAME,
    ),
    "Schema.draft": (lambda source: Schema.draft(source, **reading_of(source)).to_dict()["columns"], NO_FRAME),
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
        lambda source: counts(scan(source, SCHEMA)),
        {
            **refused(KINDS.keys() - FILES, TypeError, "scan needs paths or a DuckDB relation"),
            **refused({"DuckDB file"}, ValueError, "must be text, but is a DuckDB database"),
            "DuckDB relation": None,
        },
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
        refused(KINDS.keys() - {"Dataset"}, TypeError, "data needs a pypgm.Dataset"),
    ),
}


def check_batches():
    """Skip where Ibis asks its engine for batches in a way that the engine has no more."""
    with KINDS["Ibis"](VALUES) as table, contextlib.suppress(AttributeError):
        assert [*table.to_pyarrow_batches()]
        return
    pytest.skip("this Ibis gets no batches from this DuckDB")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", CALLS)
def test_a_table_gives_the_same_answer_whatever_holds_it(name, kind):
    for needed in {kind, "Ibis"} if name == "EngineTable" else {kind}:
        if not is_there({**TYPED, **UNTYPED}.get(needed, UNTYPED["lists"])):
            pytest.skip(f"{needed} has no package")
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
    if not is_there({**TYPED, **UNTYPED}.get(kind, UNTYPED["lists"])):
        pytest.skip(f"{kind} has no package")
    with KINDS[kind](VALUES) as given:
        source = open_source(given, **reading_of(given))
        assert source.has_rows == (kind != "Ibis")
        assert source.has_header == (kind in {"CSV", "CSV in blocks"})
        assert bool(source.path) == (kind in FILES)
        held = opened(source, SCHEMA)
        assert counts(held.records(SCHEMA)) == counts(SCHEMA.encode(VALUES))
        held.close()
        if not source.has_header:
            with pytest.raises(ValueError, match="only a CSV file has a dialect"):
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
        assert [(str(sex), int(age)) for sex, age in rows] == [*zip(VALUES["sex"], VALUES["age"], strict=True)]
