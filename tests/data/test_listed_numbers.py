"""Lists of numbers are numbers: of an order, with decimals, in sums, differences, products, rules and ranges."""

from __future__ import annotations

import itertools
import json
import operator
from decimal import Decimal

import numpy as np
import pytest

import pypgm
from pypgm import Schema
from pypgm.data import Categorical, EngineTable, read_table, write_table
from pypgm.data.schema.evidence import codes_of_text
from pypgm.data.schema.schema_file import with_orders
from pypgm.data.sources.layout import Layout

TABLES = 60


def lists(rng):
    """Return a list of different numbers, rising or not, and its largest number of decimals."""
    decimals = int(rng.integers(0, 4))
    steps = rng.choice(np.arange(-2000, 2000), int(rng.integers(1, 9)), replace=False)
    numbers = [float(Decimal(int(step)).scaleb(-decimals)) for step in steps]
    numbers = sorted(numbers) if rng.random() < 0.5 else numbers
    return [int(n) if n.is_integer() and rng.random() < 0.7 else n for n in numbers], decimals


def exact(text):
    return Decimal(str(text))


def test_sums_differences_and_products_are_exact():
    for seed in range(TABLES):
        rng = np.random.default_rng(seed)
        (a, _), (b, _) = lists(rng), lists(rng)
        null = {"98": "does not know", "99": "refused"} if seed % 2 and not {98, 99} & {*a, *b} else ()
        schema = Schema.from_dict(
            {
                "columns": {
                    "a": {"kind": "categorical", "values": a, "null": null or False},
                    "b": b,
                    "n": {"kind": "real", "low": 0, "high": 50, "bins": 10, "decimals": 1},
                    "sum": {"kind": "derived", "sum": ["a", "b", "n"]},
                    "apart": {"kind": "derived", "difference": ["a", "n"]},
                    "times": {"kind": "derived", "product": ["a", "b"], "null": "none"},
                }
            }
        )
        rows = {"a": rng.choice([*map(str, a), *null], 200), "b": rng.choice(list(map(str, b)), 200)}
        rows["n"] = np.round(rng.uniform(0, 50, 200), 1)
        records = schema.encode(rows)
        cells = schema.cells(records.columns, rng)
        texts = {name: of.texts().tolist() for name, of in cells.items()}
        assert texts["a"] == rows["a"].tolist()
        for first, second, n, total, apart, times in zip(*texts.values(), strict=True):
            if first in null:
                assert total == apart == next(iter(null))
                assert times == "none"
            else:
                assert exact(total) == exact(first) + exact(second) + exact(n)
                assert exact(apart) == exact(n) - exact(first)
                assert exact(times) == exact(first) * exact(second)


@pytest.mark.parametrize("sign", ["<", "<=", ">", ">="])
def test_comparisons_hold_between_lists_and_bins(sign):
    compare = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}[sign]
    for seed in range(TABLES):
        rng = np.random.default_rng(seed)
        a, _ = lists(rng)
        b = [a[0], *(n for n in lists(rng)[0] if n not in a), 2001, -2001]
        bins = {"kind": "integer", "low": -3000, "high": 3000, "width": 500}
        columns = {"a": a, "b": b, "n": bins}
        for first, second in (("a", "b"), ("n", "a"), ("a", "n")):
            schema = Schema.from_dict({"columns": columns, "rules": [f"{first} {sign} {second}"]})
            rows = {"a": rng.choice(a, 300), "b": rng.choice(b, 300), "n": rng.integers(-3000, 3001, 300)}
            keeps = compare(rows[first], rows[second])
            kept = {name: values[keeps].tolist() for name, values in rows.items()}
            records = schema.encode(kept)
            decoded = schema.decode(records, rng)
            assert decoded["a"].tolist() == kept["a"]
            assert compare(decoded[first].astype(float), decoded[second].astype(float)).all()
            if "n" not in (first, second):
                broken = {name: values[~keeps][:1].tolist() for name, values in rows.items()}
                if broken["a"]:
                    with pytest.raises(ValueError, match="a rule forbids"):
                        schema.encode(broken)


def test_values_within_bins_keep_the_rules_of_a_list():
    schema = Schema.from_dict(
        {
            "columns": {
                "low": [30, 10, 20],
                "n": {"kind": "integer", "low": 0, "high": 99, "width": 100},
                "high": [25, 40],
            },
            "rules": ["low < n", "n <= high"],
        }
    )
    rows = [(low, high) for low, high in itertools.product([10, 20, 30], [25, 40]) if low < high]
    records = schema.encode(
        {"low": [r[0] for r in rows] * 50, "n": [99] * 0 + [r[1] for r in rows] * 50, "high": [r[1] for r in rows] * 50}
    )
    decoded = schema.decode(records, 0)
    assert (decoded["low"] < decoded["n"]).all()
    assert (decoded["n"] <= decoded["high"]).all()


def test_a_difference_may_begin_at_a_listed_number(tmp_path):
    pytest.importorskip("pyarrow")
    fields = {
        "base": {"kind": "categorical", "values": [100, 20, 50], "null": {"998": "unknown", "": ""}},
        "then": {
            "kind": "difference",
            "from": "base",
            "low": 0,
            "high": 9,
            "width": 5,
            "null": {"998": "unknown", "": ""},
        },
    }
    schema = Schema.from_dict({"columns": fields})
    rows = {"base": ["100", "20", "50", "998", "", "20"], "then": ["104", "29", "50", "998", "", "998"]}
    records = schema.encode(rows)
    assert records.columns["then"].tolist() == [0, 1, 0, 2, 3, 2]
    write_table(records, tmp_path / "t.csv", schema, 0)
    assert read_table(tmp_path / "t.csv", schema).columns["then"].tolist() == [0, 1, 0, 2, 3, 2]
    decoded = schema.decode(records, 0)
    for base, then in zip(decoded["base"][:3], decoded["then"][:3], strict=True):
        assert 0 <= then - base <= 9


@pytest.mark.filterwarnings("ignore:fetch_arrow_table:DeprecationWarning")  # of Ibis
def test_engines_take_differences_from_listed_numbers():
    arrow, ibis = pytest.importorskip("pyarrow"), pytest.importorskip("ibis")
    pytest.importorskip("duckdb")
    schema = Schema.from_dict(
        {
            "columns": {
                "base": {"kind": "categorical", "values": [100, 20, 50], "null": {"998": "", "999": "refused"}},
                "then": {
                    "kind": "difference",
                    "from": "base",
                    "low": 0,
                    "high": 9,
                    "null": {"998": "", "999": "refused"},
                },
            }
        }
    )
    table = arrow.table({"base": [100, 20, 50, 999, 20, None], "then": [104, 29, 50, 999, 998, None]})
    connection = ibis.duckdb.connect()
    connection.con.register("t", table)
    counted = EngineTable(connection.table("t"), schema)
    for name in ("base", "then"):
        np.testing.assert_array_equal(counted.count([(name,)])[0], schema.encode(table).count([(name,)])[0])


def test_decimals_are_written_and_values_are_numbers(tmp_path):
    column = Categorical([0, 6.55, 12.75], decimals=2, null=True)
    assert column.texts(np.arange(4)).tolist() == ["0.00", "6.55", "12.75", ""]
    assert column.encode(["0.00", 0, "6.55", "6.550", ""])[0].tolist() == [0, 0, 1, 1, 3]
    assert column.decode(np.arange(3)).tolist() == [0, 6.55, 12.75]
    assert Schema.from_dict({"columns": {"x": column.to_dict()}}).columns["x"] == column
    for wrong, why in (
        ({"decimals": 1}, "more than 1 decimals"),
        ({"decimals": -1}, "whole number"),
        ({"decimals": True}, "whole"),
    ):
        with pytest.raises(ValueError, match=why):
            Categorical([0, 6.55], **wrong)
    with pytest.raises(ValueError, match="numbers"):
        Categorical(["0.00", "6.55"], decimals=2)


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_frames_have_numbers_of_one_type(library):
    pytest.importorskip(library)
    columns = {"x": [0, 6.55], "y": [1, 2], "z": {"kind": "categorical", "values": [0, 6.55], "null": {"9": "refused"}}}
    schema = Schema.from_dict({"columns": columns})
    records = schema.encode({"x": [0, 6.55], "y": [1, 2], "z": [0, 9]})
    frame = Layout(library).frame(schema.cells(records.columns, np.random.default_rng(0)))
    kinds = frame.schema.types if library == "pyarrow" else frame.dtypes
    assert [str(kind).lower()[:3] for kind in kinds] == [["flo", "int", "flo"], ["dou", "int", "dou"]][
        library == "pyarrow"
    ]


def test_a_frame_of_texts_keeps_their_decimals():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"x": ["0.00", "6.55", "12.75"] * 500})
    schema = {"columns": {"x": {"kind": "categorical", "values": [0, 6.55, 12.75], "decimals": 2}}}
    made = pypgm.synthesize(frame, schema, epsilon=3, delta=1e-9).to_frame()
    assert set(made.x) == set(frame.x)
    floats = pypgm.synthesize(frame.astype(float), schema, epsilon=3, delta=1e-9).to_frame()
    assert str(floats.x.dtype) == "float64"
    assert set(floats.x) == {0, 6.55, 12.75}


@pytest.mark.parametrize(
    ("values", "is_ordinal"),
    [
        ([1, 2, 3], True),
        ([-0.5, 0, 2], True),
        ([3, 1, 2], False),
        ([2, True], False),
        (["1", "2"], False),
        ([1, "2"], False),
    ],
)
def test_numbers_that_rise_are_ordinal_unless_it_is_said(values, is_ordinal):
    assert Categorical(values).is_ordinal is is_ordinal
    for stated in (True, False, None):
        column = Categorical(values, ordinal=stated)
        assert column.is_ordinal is (is_ordinal if stated is None else stated)
        stored = json.loads(json.dumps({"columns": {"x": column.to_dict()}}))
        assert Schema.from_dict(stored).columns["x"] == column
        assert Schema.from_dict(with_orders(stored)).columns["x"] == column
    old = {"columns": {"x": {"kind": "categorical", "values": values}}}
    assert not Schema.from_dict(with_orders(old)).columns["x"].is_ordinal, "releases before did not say so"


def test_ranges_are_of_numbers_not_of_places_in_the_list():
    values = [60614, 10001, 94110, 33139]
    schema = Schema.from_dict(
        {"columns": {"x": {"kind": "categorical", "values": values, "other": True, "null": True}}}
    )

    def within(text):
        return [values[code] for code in codes_of_text(schema.domain, "x", text, schema)]

    assert within("30000..70000") == [60614, 33139]
    assert within("..33139") == [10001, 33139]
    assert within("60614..") == [60614, 94110]
    assert within("10001,94110") == [10001, 94110]
    for wrong in ("20000..30000", "a..b", "..b"):
        with pytest.raises(ValueError, match="'x'"):
            within(wrong)
    rule = {"columns": ["x", "y"], "forbidden": [[{"from": 30000, "to": 70000}, "p"]]}
    ruled = Schema.from_dict({"columns": {"x": values, "y": ["p", "q"]}, "rules": [rule]})
    assert ruled.rules[0].mask(ruled.columns)[:, 0].tolist() == [True, False, False, True]
    mapped = {"kind": "derived", "from": "x", "mapping": [[{"to": 20000}, "east"]], "other": "west"}
    made = Schema.from_dict({"columns": {"x": values, "z": mapped}})
    assert made.decode(made.encode({"x": values}))["z"].tolist() == ["west", "east", "west", "west"]
