"""The code of a value depends on that value and the schema alone, not on its neighbours, array, piece or file."""

import datetime as dt
import itertools
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from raw_values import BERLIN, COLUMNS, ODD, VALUES, objects

import pypgm
from pypgm.data import Categorical, Date, Integer, QuantileBins, Schema, StreamedTable, scan
from pypgm.data.columns.values import plain, read_number, spelled_number
from pypgm.mechanisms import parent_rows
from pypgm.privacy.settling import _Values


def pandas(values):
    library = pytest.importorskip("pandas")
    return library.DataFrame({"a": library.Series(objects(values), dtype=object)})  # or it infers types


def pieces(values):
    return [{"a": [value]} for value in values]


def codes(column, table):
    return Schema({"a": column}).encode(table).columns["a"].tolist()


def streamed(column, values):
    table = StreamedTable(lambda *_: pieces(values), ["a"], Schema({"a": column}))
    return [code for piece in table.codes_of(["a"]) for code in piece["a"].tolist()]


FREE = {  # containers in which a value stays what it is
    "list": lambda column, values: codes(column, {"a": list(values)}),
    "tuple": lambda column, values: codes(column, {"a": tuple(values)}),
    "objects": lambda column, values: codes(column, {"a": objects(values)}),
    "pandas": lambda column, values: codes(column, pandas(values)),
    "pieces": streamed,
}


@pytest.mark.parametrize("container", FREE)
@pytest.mark.parametrize("name", COLUMNS)
def test_an_odd_record_moves_no_other(name, container):
    column, encode = COLUMNS[name], FREE[container]
    given = [value for values in VALUES.values() for value in values] + ODD
    alone = {}
    for i, value in enumerate(given):
        try:
            (alone[i],) = encode(column, [value])
        except ValueError:
            continue  # refused, wherever it is
    kept = [given[i] for i in alone]
    assert encode(column, kept) == list(alone.values())
    if container == "pieces":
        return
    ends = np.cumsum([len(values) for values in VALUES.values()])
    bases = np.split(np.arange(ends[-1]), ends[:-1]) if container == "list" else [range(ends[-1])]
    for base in bases:
        here = [i for i in base if i in alone]
        own, values = [alone[i] for i in here], [given[i] for i in here]
        for i, code in alone.items():
            assert encode(column, [*values, given[i]]) == [*own, code], given[i]
            assert encode(column, [given[i], *values]) == [code, *own], given[i]


def typed(values):
    """Yield values in the containers of one type that may hold them, nulls too."""
    pd, pl, pa = (pytest.importorskip(package) for package in ("pandas", "polars", "pyarrow"))
    kind = type(values[0])
    whole = [v for v in values if v is not None]
    yield pd.DataFrame({"a": pd.Series(values, dtype={int: "Int64", bool: "boolean", str: "string"}.get(kind))})
    yield pd.DataFrame({"a": pd.Series(pd.Categorical(values, categories=list(dict.fromkeys(whole))))})
    yield pl.DataFrame({"a": pl.Series(values)})
    array = pa.array(values)
    yield pa.table({"a": array})
    yield pa.table({"a": array.dictionary_encode()})
    yield pa.table({"a": pa.chunked_array([array.slice(0, 1), array.slice(1)])})
    yield {"a": array}
    yield {"a": pl.Series(values)}
    if len(whole) == len(values) and kind is not Decimal:
        zoneless = [v.replace(tzinfo=None) for v in values] if kind is dt.datetime else values
        yield {"a": np.array(zoneless, dtype="datetime64[us]" if kind is dt.datetime else None)}
        yield {"a": np.ma.masked_array(np.array(values), mask=False)} if kind is not dt.datetime else {"a": values}


@pytest.mark.parametrize("of", VALUES)
def test_typed_containers_have_the_codes_of_their_values(of):
    for column, missing in itertools.product(COLUMNS.values(), (False, True)):
        kept = [v for v in VALUES[of] if column.encode([v])[1] is None]
        if not kept:
            continue
        values = [*kept, None] if missing else kept
        expected = column.encode(values)[0].tolist()
        for table in typed(values):
            assert codes(column, table) == expected, (column, type(table))


@pytest.mark.parametrize("sign", [1, -1])
def test_large_integers_beside_a_null_stay_what_they_are(sign):
    values = [sign * (2**53 + 1), sign * (2**53 + 2), sign * 2**53]
    column = Categorical(values, other=True, null=True)
    for beside, expected in (([], [0, 1, 2]), ([None], [0, 1, 2, 4])):
        for table in typed([*values, *beside]):
            assert codes(column, table) == expected, type(table)


def guessed(values):
    """Yield values in containers that take one type from all of them, and what each holds then."""
    pd, pl, pa = (pytest.importorskip(package) for package in ("pandas", "polars", "pyarrow"))
    for make, held in (
        (np.array, lambda array: array.tolist()),
        (pd.Series, lambda series: series.astype(object).tolist()),
        (lambda given: pd.Series(given).astype("category"), list),
        (lambda given: pl.Series(given, strict=False), lambda series: series.to_list()),
        (pa.array, lambda array: array.to_pylist()),
    ):
        try:
            container = make(values)
        except BaseException as error:  # a panic of Polars is no Exception
            if isinstance(error, KeyboardInterrupt):
                raise
            container = None
        yield container, None if container is None else [(type(v), repr(v)) for v in held(container)]


@pytest.mark.filterwarnings("ignore")  # of what pandas will do one day
@pytest.mark.parametrize("of", VALUES)
def test_values_that_a_container_leaves_as_they_are_have_the_codes_they_had(of):
    """One that changes them, such as integers to floats beside a fraction, holds other values."""
    alone, kept = list(guessed(VALUES[of])), 0
    for odd in (None, float("nan"), "x", 1, 1.5, True, 10**19, Decimal("1.1"), dt.date(2020, 1, 2), np.float32(0.1)):
        for (one, own), (other, beside) in zip(alone, guessed([*VALUES[of], odd]), strict=True):
            if one is None or other is None or beside[:-1] != own:
                continue
            for column in (COLUMNS[name] for name in ("texts", "numbers", "boolean", "clipped", "real", "day", "hour")):
                codes, problem = column.encode(one)
                if problem is None:
                    kept += 1
                    assert column.encode(other)[0][:-1].tolist() == codes.tolist(), (type(one), odd, column)
    assert kept > 20


def test_parquet_files_and_row_groups_each_have_their_types(tmp_path):
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    pytest.importorskip("narwhals")
    columns = {n: c for n, c in COLUMNS.items() if c.encode(["40", 40, 1.5, True, "x"])[1] is None}
    assert {"texts", "numbers", "integer", "day"} <= set(columns)
    files = [[1, 2], [1.5, float("nan")], ["01", "1.0"], [True, False], [Decimal("2.50")], [dt.date(2020, 1, 31)], [3]]
    for i, values in enumerate(files):
        table = pa.table({"a": pa.array(values)})
        parquet.write_table(table, tmp_path / f"{i}.parquet", row_group_size=1, use_dictionary=i % 2 == 0)
    for column in columns.values():
        schema = Schema({"a": column})
        expected = [column.encode([value])[0][0] for values in files for value in values]
        table = scan(tmp_path / "*.parquet", schema)
        assert np.concatenate([piece["a"] for piece in table.codes_of(["a"])]).tolist() == expected
        each = [pypgm.read_table(tmp_path / f"{i}.parquet", schema).columns["a"] for i in range(len(files))]
        assert np.concatenate(each).tolist() == expected


def test_neighbours_in_a_csv_file_move_nobody(tmp_path):
    texts = ["1", "01", "1.0", "x", "-999", "2020-01-31", "", "true", "9007199254740993", "1e20"]
    border = 8192  # rows that are read at a time
    for name in ("texts", "numbers", "real", "day"):
        column = COLUMNS[name]
        kept = [text for text in texts if column.encode([text])[1] is None]
        rows = (kept * (border // len(kept) + 2))[: border + 3]
        (tmp_path / "t.csv").write_text("a,b\n" + "".join(f"{row},0\n" for row in rows))
        schema = Schema({"a": column, "b": 1})
        found = pypgm.read_table(tmp_path / "t.csv", schema).columns["a"]
        alone = {text: column.encode([text])[0][0] for text in kept}
        assert found.tolist() == [alone[row] for row in rows]
        assert (
            scan(tmp_path / "t.csv", schema).count(["a"])[0].tolist()
            == np.bincount(found, minlength=column.size).tolist()
        )


@pytest.mark.parametrize(
    ("column", "value", "code"),
    [
        ("numbers", "01", 0),
        ("numbers", Decimal("1.00"), 0),
        ("numbers", np.float64(2.5), 1),
        ("numbers", Decimal("0.1"), 2),
        ("numbers", np.float32(0.1), 5),  # which is another number
        ("numbers", 2**53 + 1, 3),
        ("numbers", float(2**53 + 1), 5),
        ("numbers", 1e20, 4),
        ("numbers", True, 5),
        ("numbers", -999.0, 6),
        ("texts", 1, 1),
        ("texts", "1", 1),
        ("texts", Fraction(5, 2), 5),
        ("texts", "2.50", 11),
        ("texts", True, 6),
        ("texts", False, 7),
        ("texts", dt.datetime(2020, 1, 31, 5, tzinfo=BERLIN), 9),
        ("texts", -999, 12),
        ("booleans", "TRUE", 0),
        ("booleans", 1, 3),
        ("boolean of numbers", 1, 0),
        ("boolean of numbers", True, 1),
        ("codes", "1e0", 1),
        ("codes", Decimal(3), 3),
        ("clipped", 10**400, 9),
        ("clipped", "1e400", 9),
        ("clipped", -999, 10),
        ("clipped", Decimal("NaN"), 10),
        ("day", np.datetime64("1900-01-01"), 367),
        ("day", np.datetime64("40000-01-01"), 366),
        ("hour", "2020-01-31 23:59:59.123456789+02:00", 47),
        ("digits", 20200131, 0),
        ("digits", 0, 13),
    ],
)
def test_what_a_value_matches(column, value, code):
    assert COLUMNS[column].encode([value])[0].tolist() == [code]
    assert COLUMNS[column].encode(["", value] if column in {"texts", "hour"} else [None, value])[0][1] == code


@pytest.mark.parametrize(
    "make",
    [
        lambda: Categorical([1, "1.0"]),
        lambda: Categorical(["01", 1]),
        lambda: Categorical([1, 1.0]),
        lambda: Categorical([True, "true"]),
        lambda: Categorical(["a", " a"]),
        lambda: Categorical([1, 2], null="1.0"),
        lambda: Categorical(["1"], null="01"),
        lambda: Categorical([1], other="1.0"),
    ],
)
def test_labels_that_are_one_are_refused(make):
    with pytest.raises(ValueError, match="are one: a value would match both"):
        make()


def test_numbers_in_texts():
    assert [read_number(text) for text in ("1e999999999999999999999", "1" * 5 + "x", "+1.", "--1")] == [
        None,
        None,
        1,
        None,
    ]
    assert [spelled_number(text) for text in ("-0", "1.50", "-1.5", "1e5")] == [None, None, Decimal("-1.5"), None]
    assert plain(np.longdouble(2)) == 2
    assert plain(np.datetime64("2020-01-31T00", "h")) == dt.datetime(2020, 1, 31)


KEYS = [1, 2**53 + 1, 2.5, "1", "a", True, dt.date(2020, 1, 1), dt.datetime(2020, 1, 2, tzinfo=BERLIN), b"k", (1, 2)]


def test_a_key_moves_no_other():
    expected = list(range(len(KEYS)))
    assert parent_rows(KEYS, KEYS).tolist() == expected
    for odd in (None, float("nan"), 0.5, 1.0, Decimal("2.5"), "x", np.datetime64("NaT", "D"), dt.datetime(2020, 1, 1)):
        assert parent_rows(KEYS, [*KEYS, odd]).tolist()[:-1] == expected
        assert parent_rows(KEYS, [odd, *KEYS]).tolist()[1:] == expected
    assert parent_rows([None, 1, float("nan")], [None, 1.0, float("nan")]).tolist() == [-1, 1, -1]
    assert parent_rows(["a", "a\0"], ["a\0", "a"]).tolist() == [1, 0]
    with pytest.raises(ValueError, match="row 1 has that of row 0"):
        parent_rows([1, Decimal("1.0")], [])
    with pytest.raises(ValueError, match="row 1 of the foreign keys is a float that stands for several"):
        parent_rows(np.array([2**60 + 1]), np.array([np.nan, 2.0**60]))
    with pytest.raises(TypeError, match="row 0 of the primary keys is a list, which cannot be a key"):
        parent_rows([[1]], [])


def test_nulls_of_open_columns_are_numbers_too():
    column = QuantileBins(Integer(0, 9, null="-999"), 2, share=0.5)
    assert list(_Values([-999, "-999", -999.0, " 3 ", True, None], column)) == [None, None, None, "3", "True", None]


@pytest.mark.parametrize("wrong", ["%Y-%m-%d %d", "%Y%Y-%m-%d"])
def test_a_format_with_a_directive_twice_is_refused(wrong):
    with pytest.raises(ValueError, match="has a directive twice"):
        Date("2024-01-01", "2024-12-31", format=wrong)


@pytest.mark.parametrize(
    ("one", "other", "labels"),
    [
        (
            dt.datetime(2020, 1, 1, 5, tzinfo=dt.timezone.utc),
            dt.datetime(2020, 1, 1, 7, tzinfo=dt.timezone(dt.timedelta(hours=2))),
            ["2020-01-01 05:00:00", "2020-01-01 07:00:00"],
        ),
        (np.timedelta64(1, "Y"), np.timedelta64(12, "M"), ["1 years", "12 months"]),
        (1, True, ["1", "True"]),
    ],
)
def test_equal_objects_that_are_two_values_have_two_codes(one, other, labels):
    """What Python calls equal may be read in two ways: a cache by equality would give both the code of the first."""
    assert one == other
    for values, wanted in (([one, other, one], [0, 1, 0]), ([other, one, other], [1, 0, 1])):
        assert Categorical(labels).encode(values)[0].tolist() == wanted


def test_an_error_of_keys_tells_rows_and_no_key():
    told = [set(), set()]
    for key in ("anna", "eve", 7, 2**70, b"k"):
        with pytest.raises(ValueError, match="primary keys") as error:
            parent_rows([key, "other", key], [])
        told[0].add(str(error.value))
    for key in (2.0**60, 2.0**61, -(2.0**70)):
        with pytest.raises(ValueError, match="foreign keys") as error:
            parent_rows([1], [1, key])
        told[1].add(str(error.value))
    assert [len(texts) for texts in told] == [1, 1]
