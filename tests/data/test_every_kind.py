"""Every kind of column goes through files, frames, engines and a comparison: values, types and counts come back."""

from __future__ import annotations

import datetime

import numpy as np
import pytest

import pypgm
from pypgm.data import EngineTable, Integer, OpenSchema, read_table, write_table
from pypgm.data.columns.bins import Binned
from pypgm.data.schema.schema import as_any_schema
from pypgm.data.schema.schema_file import KINDS
from pypgm.data.sources.layout import Layout

DAYS = [datetime.date(2024, 1, 31), datetime.date(2024, 6, 30), datetime.date(2024, 12, 1), datetime.date(2024, 6, 3)]
DATES = {"kind": "date", "low": "2024-01-01", "high": "2024-12-31", "resolution": "month", "format": "%Y.%m.%d"}
WHOLE = {"kind": "integer", "low": -5, "high": 1999, "width": 5, "outside": "clip", "null": True}
BASE = ({"base": WHOLE}, {"base": ("int64", [1, -5, 1999, None])})
EXAMPLES = {  # kind: entry, Arrow type, values (none where it is made), kind in a comparison, further columns
    "categorical": (["b", "a", "1"], "string", ["a", "1", "b", "a"], "text", ({}, {})),
    "boolean": ({"kind": "boolean", "null": True}, "bool", [True, None, False, True], "text", ({}, {})),
    "codes": ({"kind": "codes", "size": 9}, "int64", [8, 0, 3, 3], "number", ({}, {})),
    "integer": (WHOLE, "int64", [1, -5, 1999, None], "number", ({}, {})),
    "real": ({"kind": "real", "low": 0, "high": 9, "bins": 4}, "double", [0.5, 9.0, 2.25, 8.1], "number", ({}, {})),
    "date": (DATES, "date32[day]", DAYS, "date", ({}, {})),
    "difference": (
        {"kind": "difference", "from": "base", "unit": "day", "low": 0, "high": 30},
        "date32[day]",
        [day + datetime.timedelta(days=9) for day in DAYS],
        "date",
        ({"base": DATES}, {"base": ("date32", DAYS)}),
    ),
    "open": ({"kind": "open", "share": 0.1}, "string", ["cook", "smith", "other", "cook"], "text", ({}, {})),
    "derived": ({"kind": "derived", "sum": ["base", "base"]}, "int64", None, "number", BASE),
    "id": ({"kind": "id"}, "int64", None, "made", BASE),
    "fake": ({"kind": "fake", "faker": "name"}, "string", None, "made", BASE),
}


@pytest.fixture(params=KINDS)
def example(request):
    """Return the schema, an Arrow table, and the types and kinds in a comparison that its columns should have."""
    arrow = pytest.importorskip("pyarrow")
    entry, kind, values, compared, (further, their_values) = EXAMPLES[request.param]
    if request.param == "fake":
        pytest.importorskip("faker")
    schema = as_any_schema({**further, "x": entry})
    if isinstance(schema, OpenSchema):
        schema = schema.closed({"x": schema.open["x"].closed(["cook", "smith"])})
    columns = {name: arrow.array(rows, of) for name, (of, rows) in their_values.items()}
    if values is not None:
        columns["x"] = arrow.array(values, arrow.type_for_alias(kind.partition("[")[0]))
    return schema, arrow.table(columns), kind, compared


def same_codes(found, expected):
    assert {name: codes.tolist() for name, codes in found.columns.items()} == {
        name: codes.tolist() for name, codes in expected.columns.items()
    }


def test_values_come_back_from_files_and_frames_and_are_no_distance_apart(example, tmp_path):
    schema, table, kind, compared = example
    records = schema.encode(table)
    frame = Layout.of(table).frame(schema.cells(records.columns, np.random.default_rng(0)))
    assert str(frame.schema.field("x").type) == kind
    assert all(frame.schema.field(name).type == table.schema.field(name).type for name in table.column_names)
    same_codes(schema.encode(frame), records)
    for path in (tmp_path / "records.csv", tmp_path / "records.parquet"):
        write_table(records, path, schema, 0, layout=Layout.of(table))
        same_codes(read_table(path, schema), records)
        found = pypgm.compare(path, path, schema=schema)
        assert {column.name: column.points for column in found.columns} | dict.fromkeys(found.made, 0) == dict.fromkeys(
            frame.column_names, 0
        )
        assert next((column.kind for column in found.columns if column.name == "x"), "made") == compared
        assert not any(column.note for column in found.columns)


@pytest.mark.filterwarnings("ignore:fetch_arrow_table:DeprecationWarning")  # of Ibis
def test_an_engine_counts_what_is_encoded(example):
    pytest.importorskip("duckdb")
    ibis = pytest.importorskip("ibis")
    schema, table, _, _ = example
    connection = ibis.duckdb.connect()
    connection.con.register("records", table)
    counted = EngineTable(connection.table("records"), schema)
    cliques = [(name,) for name in schema.domain]
    for found, expected in zip(counted.count(cliques), schema.encode(table).count(cliques), strict=True):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("name", ["scale", "is_whole", "numbers_are", "reader", "shifted"])
def test_a_kind_that_leaves_out_what_it_is_makes_no_column(name):
    silent = type("Silent", (Integer,), {name: getattr(Binned, name)})
    with pytest.raises(TypeError, match=name):
        silent(0, 9)
