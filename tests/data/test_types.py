"""Every type of every library goes in and comes out, by one call; what a type cannot hold comes out as text."""

from __future__ import annotations

import datetime as dt
import random
from decimal import Decimal

import pytest

import pypgm

N = 400
DRAW = random.Random(5)
DAYS = [dt.date(2020, 1, 1) + dt.timedelta(DRAW.randrange(900)) for _ in range(N)]
TIMES = [dt.datetime.combine(day, dt.time(DRAW.randrange(24), 30)) for day in DAYS]
WHOLE = [DRAW.randrange(50) for _ in range(N)]
HOLES = [None if DRAW.random() < 0.2 else n for n in WHOLE]
REALS = [None if n is None else n / 4 for n in HOLES]
WORDS = [DRAW.choice(["lo", "mid", "hi"]) for _ in range(N)]
GAPS = [None if DRAW.random() < 0.2 else w for w in WORDS]
FLAGS = [None if DRAW.random() < 0.2 else DRAW.random() < 0.5 for _ in range(N)]
AMOUNTS = [None if n is None else Decimal(n) / 4 for n in HOLES]


def pandas_frame():
    pandas = pytest.importorskip("pandas")
    zoned = pandas.Series(TIMES).dt.tz_localize("UTC").dt.tz_convert("Europe/Berlin")
    columns = {
        "category": pandas.Categorical(GAPS, ["lo", "mid", "hi"]),
        "ordered": pandas.Categorical(GAPS, ["lo", "mid", "hi"], ordered=True),
        "numbers": pandas.Categorical(WHOLE),
        "boolean": pandas.array(FLAGS, "boolean"),
        "bool": [f is True for f in FLAGS],
        "string": pandas.array(GAPS, "string"),
        "str": pandas.Series(GAPS, dtype="str"),
        "object": pandas.Series(GAPS, dtype=object),
        "zoned": zoned,
        **{kind: pandas.array(HOLES, kind) for kind in ("Int64", "Int8", "UInt32")},
        **{kind: pandas.array(REALS, kind) for kind in ("Float64", "Float32")},
        **{kind: pandas.Series(WHOLE, dtype=kind) for kind in ("int64", "uint8", "float32", "float64")},
        **{unit: pandas.Series(TIMES).astype(f"datetime64[{unit}]") for unit in ("s", "ms", "us", "ns")},
        **{f"zoned {unit}": zoned.dt.as_unit(unit) for unit in ("s", "ns")},
    }
    return pandas.DataFrame(columns)


def polars_frame():
    polars = pytest.importorskip("polars")
    zoned = polars.Series(TIMES).dt.replace_time_zone("UTC").dt.convert_time_zone("America/New_York")
    columns = {
        "cat": polars.Series(GAPS, dtype=polars.Categorical),
        "enum": polars.Series(GAPS, dtype=polars.Enum(["lo", "mid", "hi"])),
        "text": polars.Series(GAPS),
        "flag": polars.Series(FLAGS),
        "day": polars.Series(DAYS),
        "zoned": zoned,
        "decimal": polars.Series(AMOUNTS, dtype=polars.Decimal(12, 2)),
        **{k: polars.Series(HOLES, dtype=getattr(polars, k)) for k in ("Int8", "UInt16", "Int64", "Int128")},
        **{k: polars.Series(REALS, dtype=getattr(polars, k)) for k in ("Float32", "Float64")},
        **{unit: polars.Series(TIMES).cast(polars.Datetime(unit)) for unit in ("ms", "us", "ns")},
    }
    return polars.DataFrame(columns)


def arrow_frame():
    arrow = pytest.importorskip("pyarrow")
    words = arrow.array(GAPS)
    columns = {
        "dictionary": words.dictionary_encode(),
        "ordered": arrow.DictionaryArray.from_arrays(
            words.dictionary_encode().indices, ["lo", "mid", "hi"], ordered=True
        ),
        "bool": arrow.array(FLAGS),
        "string": words,
        "large": words.cast(arrow.large_string()),
        "view": words.cast(arrow.string_view()) if hasattr(arrow, "string_view") else words,
        "decimal": arrow.array(AMOUNTS, arrow.decimal128(12, 2)),
        "wide": arrow.array(AMOUNTS, arrow.decimal256(40, 2)),
        "date64": arrow.array(DAYS, arrow.date64()),
        "date32": arrow.array(DAYS, arrow.date32()),
        **{kind: arrow.array(HOLES, getattr(arrow, kind)()) for kind in ("int8", "uint64", "int64")},
        **{kind: arrow.array(REALS, getattr(arrow, kind)()) for kind in ("float32", "float64")},
        **{unit: arrow.array(TIMES, arrow.timestamp(unit)) for unit in ("s", "ms", "us", "ns")},
        **{f"{unit} zoned": arrow.array(TIMES, arrow.timestamp(unit, "Europe/Berlin")) for unit in ("s", "ns")},
    }
    return arrow.table(columns)


def types(frame):
    if hasattr(frame, "column_names"):
        return {name: frame[name].type for name in frame.column_names}
    return {
        name: getattr(frame[name].dtype, "categories", None) is None and str(frame[name].dtype)
        for name in frame.columns
    }


@pytest.mark.parametrize("make", [pandas_frame, polars_frame, arrow_frame])
@pytest.mark.filterwarnings("ignore::pypgm.errors.DraftWarning")
def test_types_come_back(make):
    pytest.importorskip("narwhals")
    frame = make()
    schema = pypgm.Schema.draft(frame)
    assert schema.drop == ()
    release = pypgm.synthesize(frame, schema, epsilon=10, delta=1e-9, mechanism="hdmm", workload=1)
    found = release.to_frame(50, rng=0)
    assert types(found) == types(frame)
    assert schema.provisional.encode(found).n_records == 50
    if make is pandas_frame:
        assert found["ordered"].cat.ordered
        assert not found["category"].cat.ordered


@pytest.mark.parametrize("make", [pandas_frame, polars_frame, arrow_frame])
def test_what_a_type_cannot_hold_is_text(make):
    """A column of "other", of labels of several kinds: never a crash after the budget is spent."""
    pytest.importorskip("narwhals")
    frame = make()
    whole = {pandas_frame: "int64", polars_frame: "Int64", arrow_frame: "int64"}[make]
    words = {pandas_frame: "category", polars_frame: "enum", arrow_frame: "dictionary"}[make]
    frame = frame.select([whole, words]) if hasattr(frame, "select") else frame[[whole, words]]
    schema = pypgm.Schema.from_dict(
        {
            whole: {"kind": "integer", "low": 0, "high": 20, "outside": "other", "null": True},
            words: {"kind": "categorical", "values": ["lo", 1, 2.5], "other": "rest", "null": "?"},
        }
    )
    found = pypgm.synthesize(frame, schema, epsilon=50, delta=1e-9, mechanism="mst").to_frame(rng=0)
    values = found[whole].to_pylist() if hasattr(found[whole], "to_pylist") else found[whole].to_list()
    assert "other" in values
    assert {type(v) for v in values if isinstance(v, str)} == {str}
    assert any(str(v).isdigit() for v in values)
