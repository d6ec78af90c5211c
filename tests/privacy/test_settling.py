"""What a schema leaves open is found privately, charged, and used."""

from __future__ import annotations

import csv
import datetime
import json
import math
import re
import uuid
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pypgm
from pypgm import Budget, BudgetError, Ledger, OpenSchema, Privacy, PrivateTable, Schema, cli, mechanisms
from pypgm.data import Categorical, Integer, OpenSet, QuantileBins, Real
from pypgm.data.schema.schema import as_any_schema, as_schema
from pypgm.data.sources.frames import as_columns, as_frame
from pypgm.data.sources.table import read_open_table
from pypgm.privacy import settle, settling
from pypgm.privacy.laws import DiscreteLaplace
from pypgm.privacy.sampler import Sampler
from pypgm.reporting.words import percent

OPEN = OpenSchema(
    {
        "town": OpenSet("1/4", null="?"),
        "wage": QuantileBins(Real(0, 1000, bins=1, decimals=2, outside="clip", null=True, within="tails"), 4, "1/8"),
        "sex": ["F", "M"],
        "age": QuantileBins(Integer(0, 99, within="tails"), 3, share=0.125),
    },
    drop=["id"],
)
FILE = {
    "columns": {
        "town": {"kind": "open", "share": "1/4", "null": ["?"]},
        "wage": {
            "kind": "real",
            "low": 0,
            "high": 1000,
            "bins": {"quantiles": 4, "share": "1/8"},
            "decimals": 2,
            "outside": "clip",
            "null": True,
        },
        "sex": ["F", "M"],
        "age": {"kind": "integer", "low": 0, "high": 99, "bins": {"quantiles": 3, "share": 0.125}},
    },
    "drop": ["id"],
}


def raw(n, seed=0):
    rng = np.random.default_rng(seed)
    return {
        "town": [["here", "there", "?"][i % 3] if i > 3 else f"lone {i}" for i in range(n)],
        "wage": [f"{w:.2f}" if i % 10 else "" for i, w in enumerate(rng.lognormal(5, 1, n))],
        "sex": ["FM"[i % 2] for i in range(n)],
        "age": rng.integers(18, 66, n).tolist(),
    }


def test_open_columns_are_found_and_charged():
    table, ledger = raw(3000), Ledger(Budget(rho=4, reserved_delta=1e-12))
    found = settle(OPEN, table, Privacy(), ledger)
    assert found.columns["town"] == Categorical(["here", "there"], other=True, null="?")
    wages = np.array([float(w) for w in table["wage"] if w])
    edges = np.array(found.columns["wage"].edges)
    assert np.allclose([(wages < e).mean() for e in edges], [0.25, 0.5, 0.75], atol=0.05)
    assert found.columns["wage"].decimals == 2
    assert np.allclose(found.columns["age"].edges, [34, 50], atol=2)
    spent = {}
    for line in ledger.lines:
        name = line.within.split(" / ")[1]
        spent[name] = spent.get(name, 0) + line.cost
    assert {n: float(c) for n, c in spent.items()} == pytest.approx({"town": 1, "wage": 0.5, "age": 0.5}, rel=1e-6)
    assert ledger.spent() <= 2
    assert 0 < ledger.spent_delta() <= Fraction(1, 10**12)
    data = found.encode(table)
    with PrivateTable(data, Privacy(), ledger) as records:
        release = pypgm.mechanisms.mst(records)
    assert release.ledger.lines[: len(ledger.lines)] == ledger.lines
    assert release.ledger.spent() <= 4


def test_pure_budgets_find_bins_but_no_sets():
    schema = OpenSchema({"age": QuantileBins(Integer(0, 99), 2, "1/2")})
    ledger = Ledger(Budget(epsilon=4))
    assert abs(settle(schema, {"age": range(100)}, Privacy(), ledger).columns["age"].edges[0] - 50) < 15
    assert ledger.spent() <= 2


@given(
    st.sampled_from([Budget(rho=8), Budget(epsilon=8), Budget(epsilon=8, delta=1e-9)]),
    st.integers(-40, 39),
    st.sampled_from([-1, 1]),
    st.sampled_from([None, 0, 2]),
    st.integers(0, 2**32),
)
@settings(max_examples=25)
def test_bounds_of_any_magnitude_are_found_within_the_share(budget, power, sign, decimals, seed):
    wide = QuantileBins(Real(-1e12, 1e12, bins=1, decimals=decimals, outside="clip"), 4, "1/2", find_bounds=True)
    unit = 2.0**-20 if decimals is None else 10.0**-decimals
    top = max(2.0**power, 4 * unit)
    values = sign * np.linspace(top / 2, top, 4000)
    ledger = Ledger(budget)
    found = settle(OpenSchema({"a": wide}), {"a": values}, None, ledger, sampler=Sampler(seed)).columns["a"]
    assert 0.8 * budget.limit / 2 <= ledger.spent() <= budget.limit / 2  # in Gaussian privacy selections cost less
    assert {line.within for line in ledger.lines} == {"settle / a", "settle / a / quantiles"}
    low, high = values.min(), values.max()
    assert found.low <= low + unit
    assert high <= found.high + unit
    # At most a power of 2 away, and no point of the grid lies between.
    assert found.high - found.low <= 2 * top + 2 * unit
    assert len(found.edges) >= 2


@given(st.integers(0, 49), st.sampled_from([-1, 1]), st.integers(0, 2**32))
@settings(max_examples=15)
def test_bounds_of_whole_numbers_of_any_magnitude_are_found(power, sign, seed):
    most = 10**15
    wide = QuantileBins(Integer(-most, most, width=2 * most + 1, outside="clip"), 4, "1/2", find_bounds=True)
    values = sign * np.repeat([2**power // 2, 2**power], 2000)
    for column in (values, []):  # of nothing, it is mostly the bounds that are declared
        ledger = Ledger(Budget(epsilon=2))
        found = settle(OpenSchema({"a": wide}), {"a": column}, None, ledger, sampler=Sampler(seed)).columns["a"]
        assert ledger.spent() <= 1
        assert all(found.low <= value <= found.high for value in column)


@pytest.mark.parametrize("most", [1e25, 1e300, 5e307])
@pytest.mark.parametrize("find_bounds", [False, True])
def test_quantiles_are_found_between_bounds_of_any_size(most, find_bounds):
    column = QuantileBins(Real(-most, most, bins=1, outside="clip"), 4, "1/2", find_bounds=find_bounds)
    for values in ([], [most / 3, -most / 3] * 4000):
        ledger = Ledger(Budget(rho=1))
        found = settle(OpenSchema({"a": column}), {"a": values}, None, ledger, sampler=Sampler(0)).columns["a"]
        assert ledger.spent() <= Fraction(1, 2)
        assert -most <= found.low < found.high <= most


def test_bounds_that_nobody_finds_are_those_that_are_declared():
    wide = QuantileBins(Integer(-1000, 1000, outside="clip"), 2, "1/2", find_bounds=True)
    schema = OpenSchema({"a": wide})
    assert as_any_schema(schema.to_dict()).open["a"].find_bounds
    found = settle(schema, {"a": []}, None, Ledger(Budget(rho=1)), sampler=Sampler(0)).columns["a"]
    assert (found.low, found.high) == (-1000, 1000)
    with pytest.raises(ValueError, match='find_bounds needs "outside"'):
        QuantileBins(Integer(0, 9), 2, "1/2", find_bounds=True)


def test_what_cannot_be_settled_costs_nothing():
    for budget in (Budget(rho=1), Budget(epsilon=1), Budget(epsilon=1, delta=1e-6)):
        ledger = Ledger(budget)
        with pytest.raises(ValueError, match="the budget needs delta, and part of it reserved"):
            settle(OPEN, raw(9), Privacy(), ledger)
        assert not ledger.lines
    ledger = Ledger(Budget(rho=1, reserved_delta=1e-6))
    with pytest.raises(ValueError, match="column 'wage' is open and its values are missing"):
        settle(OPEN, {"town": ["a"]}, Privacy(), ledger)
    ledger.charge("measure", "()", DiscreteLaplace(scale=1, sensitivity=Fraction(1)))
    ledger.charge("measure", "()", DiscreteLaplace(scale=2, sensitivity=Fraction(1)))
    before = ledger.lines
    with pytest.raises(BudgetError):
        settle(OPEN, raw(9), Privacy(), ledger)
    assert ledger.lines == before


def test_nothing_at_all_is_found_in_few_records():
    table = {name: values[:2] for name, values in raw(9).items()}
    found = settle(OPEN, table, Privacy(), Ledger(Budget(rho=4, reserved_delta=1e-12)))
    assert found.columns["town"].labels == ("other", "?")
    assert found.encode(table).columns["town"].tolist() == [0, 0]


def test_values_are_read_as_the_column_reads_them():
    texts = [" cook ", True, np.bool_(False), "?", " ?", 7, None]
    job, age = OpenSet("1/4", null="?"), QuantileBins(Real(0, 9, bins=3, null=["-1", "?"]), 2, "1/8")
    assert list(settling._Values(texts, job)) == ["cook", "True", "False", None, None, 7, None]
    numbers = ["-1", -1, -1.0, "-1.0", " 3 ", np.int64(3), True, "?"]
    assert list(settling._Values(numbers, age)) == [None, None, None, "-1.0", "3", 3, "True", None]
    wage = QuantileBins(Real(0, 9, bins=3, null="-1", decimal=","), 2, "1/8")
    assert list(settling._Values(["1,5", "-1", 2.5], wage)) == ["1.5", None, 2.5]


@given(
    st.floats(-1e6, 1e6),
    st.floats(0.01, 1e6),
    st.none() | st.integers(0, 6),
    st.lists(st.integers(0, 10**6), max_size=6),
)
def test_any_points_of_a_grid_are_bins(low, span, decimals, places):
    try:
        column = Real(low, low + span, bins=1, decimals=decimals)
    except ValueError:
        return  # no number of so many decimals
    made = QuantileBins(column, 4, "1/2")
    grid = made.grid
    assert (np.diff(grid) > 0).all()
    found = made.closed([grid[p % len(grid)] for p in places])
    codes = np.arange(found.size)
    assert (found.encode(found.decode(codes, 0))[0] == codes).all()


@given(st.integers(-(10**9), 10**9), st.integers(0, 10**6), st.lists(st.integers(0, 10**6), max_size=6))
def test_any_points_of_a_grid_are_bins_of_integers(low, span, places):
    made = QuantileBins(Integer(low, low + span, width=span + 1), 4, "1/2")
    grid = made.grid
    assert (np.diff(grid) > 0).all()
    found = made.closed([grid[p % len(grid)] for p in places])
    codes = np.arange(found.size)
    assert (found.encode(found.decode(codes, 0))[0] == codes).all()


def test_files_have_open_columns(tmp_path):
    (tmp_path / "s.json").write_text(json.dumps(FILE))
    schema = pypgm.read_schema(tmp_path / "s.json")
    assert schema == OPEN
    assert Schema.from_dict(schema.to_dict()) == schema
    assert list(schema.open) == ["town", "wage", "age"]
    assert repr(schema) == "OpenSchema(town: open, wage: open, sex: categorical 2, age: open)"
    with pytest.raises(ValueError, match="open columns 'town', 'wage', 'age' have to be found privately first"):
        as_schema(schema)


@pytest.mark.filterwarnings("ignore::pypgm.errors.DraftWarning")
def test_open_and_closed_schemas_are_two_types(tmp_path):
    """What is closed encodes, what is open does not, and a file, a draft or types give the one that fits."""
    closed = {name: column for name, column in OPEN.declared.items() if name not in OPEN.open}
    assert (
        type(Schema.from_dict(FILE)) is type(Schema.draft({"t": [f"name {i % 150}" for i in range(450)]})) is OpenSchema
    )
    assert type(Schema.from_dict({"sex": ["F", "M"]})) is type(OPEN.provisional) is type(OPEN.assumed(3)) is Schema
    assert not any(hasattr(OPEN, name) for name in ("columns", "domain", "encode", "decode", "ordinal"))
    known = Schema(closed)
    assert known.open == {}
    assert known.provisional is known
    with pytest.raises(TypeError, match=re.escape("columns 'town', 'wage', 'age' are open: pypgm.OpenSchema")):
        Schema(OPEN.declared)
    with pytest.raises(ValueError, match="needs a column that is open"):
        OpenSchema(closed)
    data = OPEN.provisional.encode(raw(9))
    with pytest.raises(ValueError, match="have to be found privately first"):
        pypgm.write_table(data, tmp_path / "t.csv", OPEN)
    with pytest.raises(TypeError, match="got OpenSchema"):
        mechanisms.plan("mst", OPEN, epsilon=1, delta=1e-9, n_records=9)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ({"kind": "open"}, "'a' needs share"),
        ({"kind": "open", "share": 0}, "share needs a part of the budget, more than 0 and at most 1"),
        ({"kind": "open", "share": 2}, "share needs a part of the budget"),
        ({"kind": "open", "share": "much"}, "share needs a part of the budget"),
        ({"kind": "open", "share": True}, "share needs a part of the budget"),
        ({"kind": "open", "share": 0.5, "null": "other"}, "label 'other' comes more than once"),
        (
            {"kind": "integer", "low": 0, "high": 9, "bins": {"quantiles": 1, "share": 1}},
            "quantiles needs a whole number from 2 to 1,000",
        ),
        (
            {"kind": "real", "low": 0, "high": 9, "bins": {"quantiles": 10**9, "share": 1}},
            "quantiles needs a whole number from 2 to 1,000",
        ),
        ({"kind": "integer", "low": 0, "high": 9, "bins": {"quantiles": 3}}, "share"),
        ({"kind": "integer", "low": 9, "high": 0, "bins": {"quantiles": 3, "share": 1}}, "low must be below high"),
        ({"kind": "integer", "low": 0, "bins": {"quantiles": 3, "share": 1}}, "high"),
        (
            {"kind": "integer", "low": 0, "high": 9, "width": 2, "bins": {"quantiles": 3, "share": 1}},
            "bins by quantiles need no width",
        ),
        ({"kind": "integer", "low": 0, "high": 9, "bins": 3}, "integer has no 'bins'"),
    ],
)
def test_open_columns_that_do_not_fit(column, message):
    with pytest.raises(ValueError, match=message):
        Schema.from_dict({"a": column})


def test_open_columns_in_python_that_do_not_fit():
    with pytest.raises(TypeError, match="quantiles are for an Integer or a Real, got Categorical"):
        QuantileBins(Categorical(["a"]), 2, 1)
    with pytest.raises(ValueError, match="shares of open columns come to more than the budget"):
        OpenSchema({"a": OpenSet("0.7"), "b": OpenSet(0.4)})


def test_an_open_table_is_refused_before_anything_is_spent(tmp_path):
    (tmp_path / "t.csv").write_text("town,wage,sex,age\n,x,F,7\nhere,1,Z,200\n")
    with pytest.raises(ValueError, match="has 4 problems"):
        read_open_table(tmp_path / "t.csv", OPEN)
    with pytest.raises(ValueError, match="have to be found privately first"):
        pypgm.read_table(tmp_path / "t.csv", OPEN)


@pytest.mark.parametrize("dialect", [[], ["--delimiter", ";", "--decimal", ","]])
def test_the_command_settles(tmp_path, monkeypatch, capsys, dialect):
    monkeypatch.chdir(tmp_path)
    table = raw(4000)
    if dialect:
        table["wage"] = [w.replace(".", ",") for w in table["wage"]]
    with open("t.csv", "w", newline="") as file:
        rows = csv.writer(file, delimiter=dialect[1] if dialect else ",")
        rows.writerow(table)
        rows.writerows(zip(*table.values(), strict=True))
    (tmp_path / "s.json").write_text(json.dumps(FILE))
    synth = [
        "synth",
        "t.csv",
        "--schema",
        "s.json",
        "--out",
        "o.csv",
        "--delta",
        "1e-12",
        "--mechanism",
        "mst",
        *dialect,
    ]
    assert cli.main([*synth, "--epsilon", "5"]) == 0
    said = capsys.readouterr().err
    assert "epsilon 5.0, delta 1e-12" in said
    release = pypgm.load("o.pgm")
    share = release.project("town").values[2] / release.model.total
    assert f'"other": town ({percent(share)} of records; 2 values kept)' in " ".join(said.split())
    settled = {line.within.split(" / ")[1] for line in release.ledger.lines if line.within.startswith("settle")}
    assert settled == {"town", "wage", "age"}
    assert release.schema.columns["town"].labels == ("here", "there", "other", "?")
    assert release.ledger.spent() <= release.ledger.budget.limit
    assert release.ledger.budget.delta == Fraction(1, 10**12)
    with open("o.csv", newline="") as file:
        found = list(csv.DictReader(file, delimiter=dialect[1] if dialect else ","))
    assert list(found[0]) == list(table)
    assert {r["town"] for r in found} <= {"here", "there", "other", "?"}
    assert "lone" not in (tmp_path / "o.csv").read_text()
    wages = [r["wage"].replace(",", ".") if dialect else r["wage"] for r in found]
    assert all("." not in r["wage"] for r in found if dialect)
    assert abs(np.mean([float(wage) < 150 for wage in wages if wage]) - 0.5) < 0.1
    (tmp_path / "o.csv").unlink()
    assert cli.main([*synth, "--epsilon", "5", "--release", "p.pgm", "--delta", "0"]) == 2
    assert "delta must be more than 0: values of 'town' are open in the schema" in capsys.readouterr().err
    assert cli.main(["plan", "s.json", "--records", "99", "--epsilon", "1", "--delta", "1e-6"]) == 0
    assert "town " in capsys.readouterr().out


@pytest.mark.parametrize("values", [[True] * 900 + [False] * 300, np.array([True] * 900 + [False] * 300)])
def test_booleans_of_an_open_set_are_found_and_encoded(values):
    ledger = Ledger(Budget(epsilon=50, delta=1e-6, reserved_delta=1e-7))
    settled = settle(OpenSchema({"x": OpenSet(0.5)}), {"x": values}, Privacy(), ledger)
    assert settled.columns["x"].labels == ("False", "True", "other")
    assert settled.encode({"x": values}).count(["x"])[0].tolist() == [300, 900, 0]


@pytest.mark.parametrize(
    ("column", "found", "edges"),
    [
        (Integer(0, 9), [3, 3, 5], (3, 4, 5)),
        (Integer(0, 9), [3, 4, 5], (3, 4, 5)),
        (Integer(0, 9), [9, 9], (9,)),
        (Real(0, 9, bins=1, decimals=1), [0.5, 0.5], (0.5, 0.6)),
        (Real(0, 9, bins=1), [4.0, 4.0], (4.0, 4.000000000000001)),
        (Integer(0, 10**6, width=10), [999, 999], (999, 1000)),
        (Real(0, 1000, bins=1, decimals=2), [40.0, 40.0, 41.0], (40.0, 40.01, 41.0)),
    ],
)
def test_a_number_that_is_several_quantiles_is_a_bin_of_its_own(column, found, edges):
    assert QuantileBins(column, 4, 0.1).closed(found).edges == edges


@pytest.mark.parametrize("form", ["{:.0f}", "{:.2f}"])
@pytest.mark.filterwarnings("ignore::pypgm.errors.DraftWarning")
def test_a_heap_comes_back_as_one(form):
    """Of numbers that are too many for each to be a point of the grid: 60 % at 40 exactly."""
    draw = np.random.default_rng(0)
    values = np.where(draw.random(20_000) < 0.6, 40, draw.lognormal(6, 1.5, 20_000))
    table = {"fee": [form.format(min(value, 9e5)) for value in values], "k": ["x", "y"] * 10_000}
    told = Schema.draft(table).to_dict()["columns"]["fee"]
    assert told["bins"]["quantiles"] == 20
    schema = {"fee": told | {"low": 0, "high": 999_999}, "k": ["x", "y"]}
    release = pypgm.synthesize(table, schema, epsilon=5, delta=1e-9, mechanism="mst")
    found = release.schema.decode(release.synthetic_data(rng=0), rng=0)["fee"]
    assert abs((found == 40).mean() - 0.6) < 0.02
    assert abs(np.log(np.median(found[found != 40])) - 6) < 0.2


def two_of_each_kind():
    """Yield two values of every kind that an open column may hold, and their labels."""
    day = datetime.date(2020, 1, 31)
    yield [7, 7.0], {"7"}
    yield [1.5, Decimal("2.50")], {"1.5", "2.5"}
    yield [1e20, Decimal("3.00")], {"1e+20", "3"}
    yield [True, False], {"True", "False"}
    yield [day, np.datetime64("2020-02-01")], {"2020-01-31", "2020-02-01"}
    yield [datetime.datetime(2020, 1, 31, 5), day], {"2020-01-31 05:00:00", "2020-01-31"}
    yield [datetime.time(9), datetime.time(17, 30)], {"09:00:00", "17:30:00"}
    yield [datetime.timedelta(hours=26), np.timedelta64(90, "m")], {"1 day, 2:00:00", "1:30:00"}
    yield [np.timedelta64(3, "M"), np.timedelta64(1500, "ns")], {"3 months", "0:00:00.000001"}
    yield [b"tea", uuid.UUID(int=1)], {"tea", str(uuid.UUID(int=1))}


@pytest.mark.parametrize(("values", "labels"), list(two_of_each_kind()))
def test_what_is_found_of_an_open_column_is_what_its_values_are_encoded_to(values, labels):
    """No kind of value is found nowhere and counted as others, in silence."""
    raw = {"a": values * 500}
    ledger = Ledger(Budget(rho=100, reserved_delta=1e-9))
    found = settle(OpenSchema({"a": OpenSet("1/2"), "b": 2}), raw, None, ledger)
    assert {str(label) for label in found.columns["a"].value_labels} == labels
    codes, problem = found.columns["a"].encode(raw["a"])
    assert problem is None
    assert found.columns["a"].other_code not in codes


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_spans_and_times_of_frames_are_those_of_python(library):
    pytest.importorskip("narwhals")
    pytest.importorskip(library)
    raw = {"s": [datetime.timedelta(days=1, microseconds=5)] * 500, "t": [datetime.time(9, 30)] * 500}
    frame = as_frame({name: np.array([*values, None], object)[:-1] for name, values in raw.items()}, library)
    schema = OpenSchema({"s": OpenSet("1/4"), "t": OpenSet("1/4"), "b": 2})
    columns = as_columns(frame)
    for values in (raw, columns, raw | {"s": np.array(raw["s"], "timedelta64[us]"), "t": columns["t"]}):
        found = settle(schema, values, None, Ledger(Budget(rho=100, reserved_delta=1e-9)))
        assert found.columns["s"].labels == ("1 day, 0:00:00.000005", "other")
        assert found.columns["t"].labels == ("09:30:00", "other")
        assert found.columns["s"].encode(columns["s"])[0].tolist() == [0] * 500


@pytest.mark.parametrize("value", [10**5000, -(10**400), Fraction(10**5000), "half \ud800"], ids=range(4))
def test_what_no_file_or_text_holds_is_another_value(value):
    """A release was paid for and raised, or could not be written."""
    raw = {"a": [value, "tea"] * 500}
    found = settle(OpenSchema({"a": OpenSet("1/2"), "b": 2}), raw, None, Ledger(Budget(rho=9, reserved_delta=1e-9)))
    assert found.columns["a"].labels == ("tea", "other")
    assert found.columns["a"].encode(raw["a"])[0].tolist() == [1, 0] * 500


@pytest.mark.parametrize("values", [[7, 0, 9], ["tea", "", "milk"], [2.5, 0, 7]])
def test_what_is_masked_is_no_value(values):
    """Its text, which an array has for it, is no key."""
    masked = np.ma.masked_array(np.array(values * 500), mask=[False, True, False] * 500)
    column = OpenSet("1/2", null="")
    found = settle(OpenSchema({"a": column, "b": 2}), {"a": masked}, None, Ledger(Budget(rho=9, reserved_delta=1e-9)))
    assert found.columns["a"].value_labels == tuple(sorted(str(value) for value in values if value))
    assert found.columns["a"].encode(masked)[0].tolist()[1::3] == [found.columns["a"].null_code] * 500


class Loud:
    def __init__(self, error):
        self._error = error

    def __str__(self):
        raise self._error


@pytest.mark.parametrize("error", [ValueError("a secret"), KeyError("a secret"), SystemExit(7), GeneratorExit()])
def test_a_value_that_raises_is_found_nowhere_and_tells_nothing(error):
    raw = {"a": ["tea"] * 500 + [Loud(error), [Loud(error)]]}
    found = settle(
        OpenSchema({"a": OpenSet("1/2", null="-9"), "b": 2}), raw, None, Ledger(Budget(rho=9, reserved_delta=1e-9))
    )
    assert found.columns["a"].value_labels == ("tea",)


@settings(max_examples=25)
@given(
    kind=st.sampled_from(["int8", "int64", "uint64", "float32", "float64"]),
    values=st.lists(st.sampled_from([0, 1, 3, 7, 17, 50, 99, 101, 0.5, 2**60, float("nan")]), max_size=60),
    nulls=st.sampled_from([(), ("99",), ("0.5", "0")]),
    heaps=st.sampled_from([(), (0,), (0, 17)]),
)
def test_numbers_of_an_array_are_those_of_its_list(kind, values, nulls, heaps):
    column = QuantileBins(Real(0, 1000, bins=1, null=nulls, outside="clip"), 4, 0.25, heaps=heaps)
    schema = OpenSchema({"x": column, "y": OpenSet(0.5, null=nulls)})
    with np.errstate(all="ignore"):
        some = [v for v in values if np.dtype(kind).kind == "f" or not math.isnan(v)]
        array = np.array(some).astype(kind) if some else np.zeros(0, kind)

    def found(numbers):
        ledger = Ledger(Budget(rho=1000, reserved_delta=1e-9))
        return settle(schema, {"x": numbers, "y": numbers}, None, ledger, sampler=Sampler(5))

    assert found(array) == found(array.tolist()) == found(array.astype(object))


def test_a_record_with_several_numbers_counts_once():
    ledger = Ledger(Budget(rho=1000, reserved_delta=1e-9))
    found = settle(OpenSchema({"y": OpenSet(0.5)}), {"y": np.full((500, 2), 7)}, None, ledger).columns["y"]
    assert found.labels == ("[7, 7]", "other")
