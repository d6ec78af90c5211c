"""Kinds of columns: values to codes and back, and what is refused."""

from __future__ import annotations

import datetime
import itertools
import re
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pypgm.data import Boolean, Categorical, Codes, Date, Integer, OpenSet, Real
from pypgm.data.columns.bins import MOST_BINS

WITHIN = st.sampled_from(["uniform", "tapered", "tails", "middle", "lower"])
NULLS = st.sampled_from([(), True, "n/a", ["?", "n/a"]])
WHOLE = st.integers(-(10**6), 10**6)


@st.composite
def outsides(draw, null):
    return draw(st.sampled_from(["refuse", "clip", "other", *(["null"] if null else [])]))


@st.composite
def integers(draw):
    null = draw(NULLS)
    how = {"null": null, "within": draw(WITHIN), "outside": draw(outsides(null))}
    low, span = draw(WHOLE), draw(st.integers(1, 500))
    if draw(st.booleans()):
        return Integer(low, low + span, draw(st.integers(1, 40)), **how)
    edges = sorted(draw(st.sets(st.integers(low + 1, low + span), max_size=6)))
    return Integer(low, low + span, edges=edges, **how)


@st.composite
def reals(draw):
    null = draw(NULLS)
    how = {"null": null, "within": draw(WITHIN), "outside": draw(outsides(null))}
    low = draw(st.floats(-1e6, 1e6))
    if draw(st.booleans()):
        decimals = draw(st.none() | st.integers(2, 6))
        return Real(low, low + draw(st.floats(1, 1e6)), bins=draw(st.integers(1, 20)), decimals=decimals, **how)
    edges = sorted(draw(st.sets(st.floats(low, low + 1, exclude_min=True), min_size=1, max_size=6)))
    return Real(low, low + 1, edges=edges, **how)


@st.composite
def dates(draw):
    null = draw(NULLS)
    how = {"null": null, "within": draw(WITHIN), "outside": draw(outsides(null))}
    low = draw(st.dates(datetime.date(1600, 1, 1), datetime.date(2900, 1, 1)))
    high = low + datetime.timedelta(draw(st.integers(0, 500)))
    resolution = draw(st.sampled_from(["year", "quarter", "month", "week", "day", "hour"]))
    return Date(low.isoformat(), high.isoformat(), resolution, **how)


@st.composite
def closed(draw):
    null = draw(NULLS)
    kind = draw(st.sampled_from(["codes", "boolean", "labels", "numbers"]))
    if kind == "codes":
        return Codes(draw(st.integers(1, 300)), null=null)
    if kind == "boolean":
        return Boolean(["no", "yes"], null=null)
    other = draw(st.sampled_from([False, True, "elsewhere"]))
    if kind == "numbers":
        return Categorical(draw(st.lists(WHOLE, min_size=1, max_size=5, unique=True)), other=other, null=null)
    return Categorical(["a", "b c", 3, 2.5, True][: draw(st.integers(1, 5))], other=other, null=null)


@given(st.one_of(integers(), reals(), dates(), closed()), st.data())
def test_what_is_decoded_has_the_same_code(column, data):
    codes = np.array(data.draw(st.lists(st.integers(0, column.size - 1), max_size=30)), dtype=np.int64)
    seed = data.draw(st.integers(0, 2**32 - 1))
    for values in (column.decode(codes, seed), column.texts(codes, seed), column.texts(codes, seed).tolist()):
        found, problem = column.encode(values)
        assert problem is None
        assert found.tolist() == codes.tolist()
        assert found.dtype == column.dtype


@given(st.one_of(integers(), reals(), dates(), closed()))
def test_labels_are_distinct_and_as_many_as_codes(column):
    labels = column.labels
    if labels is None:
        assert isinstance(column, Codes)
    else:
        assert len(labels) == len(set(map(str, labels))) == column.size


@given(integers(), st.lists(st.integers(-(10**7), 10**7), min_size=1, max_size=20))
def test_integers_of_any_type_are_in_the_same_bin(column, values):
    inside = [min(max(v, column.low), column.high) for v in values]
    ways = [
        inside,
        np.array(inside),
        np.array(inside, dtype=float),
        list(map(str, inside)),
        [f" {v}.0 " for v in inside],
    ]
    ways += [list(map(Decimal, inside)), list(map(Fraction, inside)), [np.float32(v) for v in inside]]
    codes = {tuple(column.encode(way)[0].tolist()) for way in ways}
    starts = [column.low, *column.edges] if column.edges else range(column.low, column.high + 1, column.width)
    assert codes == {tuple(sum(s <= v for s in starts) - 1 for v in inside)}


@given(reals(), st.floats(0, 1))
def test_a_real_is_in_the_bin_that_it_decodes_to(column, share):
    value = column.low + share * (column.high - column.low)
    value = min(max(value, column.low), column.high)
    code = column.encode([value])[0]
    back = column.decode(code, 0)
    assert column.encode(np.array([value]))[0] == code == column.encode([repr(float(value))])[0]
    assert column.encode(back)[0] == code


@given(dates(), st.data())
def test_a_date_of_any_type_is_in_the_same_bin(column, data):
    low, high = (datetime.date.fromisoformat(d) for d in (column.low, column.high))
    day = data.draw(st.dates(low, high))
    time = datetime.datetime.combine(day, data.draw(st.times()))
    ways = [[time], [time.isoformat()], [str(time)], np.array([time], dtype="datetime64[us]")]
    if column.resolution != "hour":
        ways += [[day], [day.isoformat()], [np.datetime64(day)], np.array([day], dtype="datetime64[D]")]
    codes = {int(column.encode(way)[0][0]) for way in ways}
    assert len(codes) == 1
    iso = day.isocalendar()
    label = {
        "year": f"{day.year:04}",
        "quarter": f"{day.year:04}-Q{(day.month + 2) // 3}",
        "month": f"{day.year:04}-{day.month:02}",
        "week": f"{iso[0]}-W{iso[1]:02}",
        "day": day.isoformat(),
        "hour": time.isoformat()[:13],
    }[column.resolution]
    assert column.labels[codes.pop()] == label


def test_policies_choose_the_value_within_a_bin():
    codes = np.zeros(1000, dtype=int)
    for column, values in [
        (Integer(10, 19, width=5), ["10", "12", *"01234"]),
        (Real(10, 20, bins=2), ["10.0", "12.5", *"01234"]),
        (Real(10, 20, bins=2, decimals=1), ["10.0", "12.4", *"01234"]),
        (Date("2024-01-01", "2024-12-31", "month"), ["2024-01-01", "2024-01-16"]),
    ]:
        lower, middle, uniform = (
            type(column)(**{**vars_of(column), "within": within}).texts(codes, 0)
            for within in ("lower", "middle", "uniform")
        )
        assert set(lower) == {values[0]}
        assert set(middle) == {values[1]}
        assert len(set(uniform)) > 4
    drawn = Real(0, 10, bins=1).decode(codes, 1)
    assert abs(drawn.mean() - 5) < 0.4
    assert abs(Integer(0, 9, width=10).decode(codes, 1).mean() - 4.5) < 0.4


@pytest.mark.parametrize("column", [Real(0, 5000, edges=(100, 110, 120)), Integer(0, 5000, edges=(100, 110, 120))])
def test_outer_bins_taper_off_as_far_as_the_bin_beside_is_wide(column):
    own = type(column)(**{**vars_of(column), "within": "tapered"})
    values = own.decode(np.repeat([0, 1, 2, 3], 20_000), 5).reshape(4, -1)
    low, inner, _, high = values.astype(float)
    assert abs((100 - low).mean() - 10) < 0.6
    assert abs((high - 120).mean() - 10) < 0.6
    assert abs(np.median(high) - 120 - 10 * np.log(2)) < 0.6
    assert abs(inner.mean() - 105) < 0.6
    for code, part in enumerate(values):
        assert set(own.encoder()(part)[0].tolist()) == {code}
    even = type(column)(**{**vars_of(column), "within": "uniform"}).decode(np.full(20_000, 3), 5)
    assert even.mean() > 2000


def test_two_bins_have_none_beside_them_that_is_no_outer_one():
    drawn = Real(0, 1000, edges=(10,), within="tapered").decode(np.full(20_000, 1), 3)
    assert abs(drawn.mean() - 505) < 15


def vars_of(column):
    return {name: value for name, value in column.to_dict().items() if name != "kind"}


@pytest.mark.parametrize("within", ["uniform", "lower", "middle", "tapered"])
@pytest.mark.parametrize(
    ("made", "nulls"),
    [
        (lambda **how: Integer(-3, 9, width=4, **how), ["-1", "-3", "4", "5", "6"]),
        (lambda **how: Real(0, 9, bins=3, decimals=1, **how), ["0", "3.0", "8.9", "4.5"]),
        (lambda **how: Real(1, 2, bins=2, decimals=2, **how), [str(n / 100) for n in range(101, 200, 2)]),
        (lambda **how: Real(0, 9, bins=3, **how), ["0", "3", "4.5"]),
        (lambda **how: Date("1900-01-01", "1901-12-31", resolution="year", **how), ["1900-01-01", "1901-07-02"]),
        (
            lambda **how: Date("1900-01-01", "1900-01-02", resolution="day", format="%Y-%m-%d %H:%M", **how),
            ["1900-01-01 00:00", "1900-01-02 12:00", "1900-01-02 12:01"],
        ),
    ],
)
def test_no_value_of_a_bin_is_drawn_that_reads_as_null(made, nulls, within):
    column = made(null=nulls, within=within)
    codes = np.repeat(np.arange(column.n_values), 200)
    values = column.drawn(codes, 0)
    assert column.encode(column.written(codes, values))[0].tolist() == codes.tolist()
    assert column.encode(column.shown(codes, values))[0].tolist() == codes.tolist()


MARKS = [(".", ","), (",", "."), (",", ""), (".", "'")]
KINDS_WITH_TEXTS = {
    "integer": lambda rng: (Integer, (-3000, 3999), {"width": int(rng.choice([5, 50, 1000]))}),
    "real": lambda rng: (Real, (-2500.0, 1500.0), {"bins": 7, "decimals": int(rng.integers(3))}),
    "doubles": lambda rng: (Real, (-2500.0, 1500.0), {"bins": 7}),
    "month": lambda rng: (Date, ("1999-04-01", "2003-05-02"), {"resolution": "quarter", "format": "%m.%Y"}),
    "name": lambda rng: (Date, ("1999-04-01", "2003-05-02"), {"resolution": "quarter", "format": "%b %Y"}),
    "year": lambda rng: (Date, ("1998-07-01", "2003-03-02"), {"resolution": "year", "format": "%Y-%m"}),
}


@pytest.mark.parametrize("name", KINDS_WITH_TEXTS)
def test_no_value_of_a_bin_is_drawn_whose_text_is_that_of_a_null(name):
    """Texts of nulls are those of values, with marks, or of days whose format has none."""
    rng = np.random.default_rng(len(name))
    for _ in range(12):
        kind, bounds, how = KINDS_WITH_TEXTS[name](rng)
        how |= {"within": str(rng.choice(["uniform", "tapered", "middle", "lower"]))}
        if kind is not Date:
            decimal, thousands = MARKS[rng.integers(len(MARKS))]
            how |= {"decimal": decimal, "thousands": thousands, "prefix": str(rng.choice(["", "$"]))}
            how |= {"minus": str(rng.choice(["-", "brackets"]))}
        plain = kind(*bounds, **how)
        codes = rng.integers(0, plain.n_values, 3)
        texts = plain.texts(codes, rng)
        if name == "name":  # of months, which are read in capitals, too
            texts = [text.upper() for text in texts]
        column = kind(*bounds, null=list(dict.fromkeys(["?", *texts])), **how)
        many = np.repeat(codes, 30)
        values = column.drawn(many, rng)
        assert column.encode(column.written(many, values))[0].tolist() == many.tolist()
        assert column.encode(column.shown(many, values))[0].tolist() == many.tolist()


def test_other_values_and_nulls_have_codes_of_their_own():
    age = Integer(0, 9, width=5, outside="other", null=["", "?"])
    assert age.labels == ("[0, 5)", "[5, 9]", "other", "")
    assert age.encode(["7", "-3", "zebra", "", "?", None, float("nan"), 1.5, [1]])[0].tolist() == [
        1,
        2,
        2,
        3,
        3,
        3,
        3,
        2,
        2,
    ]
    assert age.decode([0, 2, 3], 0).tolist()[1:] == ["other", None]
    assert age.texts([0, 2, 3], 0).tolist()[1:] == ["other", ""]
    assert Integer(0, 9, outside="null", null=True).encode([99, "x", "3"])[0].tolist() == [10, 10, 3]
    assert Integer(0, 9, outside="clip").encode([99, "-7", 10**400, -(10**400)])[0].tolist() == [9, 0, 9, 0]
    job = Categorical(["clerk", 7], other=True, null="?")
    assert job.labels == ("clerk", 7, "other", "?")
    assert job.encode(["clerk", " 7", "king", "?", None, "other", 7.0, ["x"]])[0].tolist() == [0, 1, 2, 3, 3, 2, 1, 2]
    assert job.decode([0, 1, 2, 3]).tolist() == ["clerk", 7, "other", None]
    wage = Real(0, 10, bins=2, null=True)
    assert np.isnan(wage.decode([0, 2], 0)).tolist() == [False, True]
    assert np.isnat(Date("2024-01-01", "2024-01-09", null=True).decode([0, 9], 0)).tolist() == [False, True]
    assert Codes(3, null="?").decode([0, 3]).tolist() == [0, None]
    assert Codes(3, null="?").labels == (0, 1, 2, "?")
    assert Boolean(null="?").decode([0, 1, 2]).tolist() == [False, True, None]
    assert Boolean(["No", "Yes"], null="?").decode([0, 1, 2]).tolist() == ["No", "Yes", None]
    assert Boolean(["False", "True"]).decode([0, 1]).dtype == bool


def test_arrays_of_any_type_are_read():
    sizes = Categorical([1, 2, 4], null=True)
    assert sizes.encode(np.array([4.0, np.nan, 1]))[0].tolist() == [2, 3, 0]
    assert sizes.encode(np.array([4, 2], dtype=np.int8))[0].tolist() == [2, 1]
    assert sizes.encode(np.ma.array([4, 2], mask=[True, False]))[0].tolist() == [3, 1]
    assert Categorical([1.5, 2.0]).encode([2, 1.5, "2.0"])[0].tolist() == [1, 0, 1]
    assert Boolean().encode(np.array([True, False]))[0].tolist() == [1, 0]
    assert Boolean().encode([1, 0.0, "TRUE", " false"])[0].tolist() == [1, 0, 1, 0]
    assert Integer(0, 9, null=True).encode(np.ma.array([4, 2], mask=[True, False]))[0].tolist() == [10, 2]
    assert Real(0, 9, bins=9, null=True).encode(np.array([np.nan, 2.5, 9]))[0].tolist() == [9, 2, 8]
    assert Codes(4).encode(np.array([3, 0], dtype=np.int16))[0].tolist() == [3, 0]
    assert Codes(4).encode([])[0].tolist() == []
    time = Date("2024-01-01", "2024-01-02", "hour")
    assert time.encode(["2024-01-01 23:59:59.9", "2024-01-02T23:00"])[0].tolist() == [23, 47]


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        (Categorical(["F", "M"]), "zebra", "needs one of 'F', 'M', and has another value"),
        (Categorical(["F", "M"]), "", '("null": "" allows empty ones, "other": true allows all others)'),
        (Categorical(["F", "M"], null=True), "x", 'and has another value ("other": true allows all others)'),
        (Boolean(), "x", 'and has another value ("null": "" allows empty ones)'),
        (Categorical(["F", "M"]), None, "and has another value"),
        (Categorical(["F", "M"], other=True), "  ", "and has another value"),
        (Categorical(["F", "M"], null="?"), "", "and has another value"),
        (Categorical(["F", "M"]), ["F"], "and has another value"),
        (Categorical(["F", "M"]), np.array(["F", "M"]), "and has another value"),
        (Boolean(), 2, "needs 'false' or 'true', and has another value"),
        (Boolean(), "yes", "needs 'false' or 'true', and has another value"),
        (Codes(3), 3, "needs an integer from 0 to 2, and has another value"),
        (Codes(3), -1, "and has another value"),
        (Codes(3), "1.5", "and has another value"),
        (Codes(3), True, "and has another value"),
        (
            Integer(0, 9),
            10,
            'needs a whole number from 0 to 9, and is beyond them ("outside": "clip" or "other" allows them)',
        ),
        (Integer(0, 9), "-1", "and is beyond them"),
        (Integer(0, 9), 1.5, "and is not a whole number"),
        (Integer(0, 9, outside="clip"), "1.5", "and is not a whole number"),
        (Integer(0, 9), True, "and is not a whole number"),
        (Integer(0, 9), "1_0", "and is not a whole number"),
        (Integer(0, 9), "", "and is empty"),
        (Integer(0, 9, null="?"), "", "and is empty"),
        (Integer(0, 9, outside="other"), None, "and is empty"),
        (Integer(0, 9), float("nan"), "and is empty"),
        (Integer(0, 9), b"\xff", "and is not a whole number"),
        (Integer(0, 9), [1], "and is not a whole number"),
        (Real(0, 9.5, bins=2), 9.6, "needs a number from 0 to 9.5, and is beyond them"),
        (Real(0, 9.5, bins=2), float("inf"), "and is beyond them"),
        (Real(0, 9.5, bins=2), "nan", "and is not a number"),
        (Real(0, 9.5, bins=2), "inf", "and is not a number"),
        (Real(0, 9.5, bins=2), "٣", "and is not a number"),
        (Real(0, 9.5, bins=2), "1,5", "and is not a number"),
        (Real(0, 9.5, bins=2), 1j, "and is not a number"),
        (Real(0, 9.5, bins=2), Decimal("sNaN"), "and is empty"),
        (
            Date("2024-01-01", "2024-02-01"),
            "2024-02-02",
            "an ISO date from 2024-01-01 to 2024-02-01, and is beyond",
        ),
        (Date("2024-01-01", "2024-02-01"), "2024-01-32", "and is not an ISO date"),
        (Date("2024-01-01", "2024-02-01"), "01/02/2024", "and is not an ISO date"),
        (Date("2024-01-01", "2024-02-01"), "2024-01-01T10:00Z", None),
        (Date("2024-01-01", "2024-02-01"), "2024-01-01Z", "and is not an ISO date"),
        (Date("2024-01-01", "2024-02-01"), "2024-01-01T25:00", "and is not an ISO date"),
        (Date("2024-01-01", "2024-02-01"), 20240101, "and is not an ISO date"),
        (
            Date("2024-01-01", "2024-02-01"),
            datetime.datetime(2024, 1, 1, tzinfo=datetime.timezone.utc),
            None,
        ),
        (Date("2024-01-01", "2024-02-01", "hour"), "2024-01-01", "and is not an ISO date with a time"),
        (Date("2024-01-01", "2024-02-01", "hour"), np.datetime64("2024-01-01T10"), None),
        (Date("2024-01-01", "2024-02-01", format="%d.%m.%Y"), "2024-01-01", "not a date in the format %d.%m.%Y"),
        (Date("2024-01-01", "2024-02-01"), None, "and is empty"),
    ],
)
def test_values_that_do_not_fit(column, value, message):
    good = column.decode([0], 0).tolist()[0] if not isinstance(column, Date) else column.texts([0], 0)[0]
    _, problem = column.encode([good, value])
    if message is None:
        assert problem is None
        return
    assert problem.row == 1
    assert message in problem.what
    _, problem = column.encode(np.array([good, good, value, good, None], dtype=object)[: 4 if value is not None else 5])
    assert problem.row == 2


def test_the_row_is_that_of_the_first_value_in_an_array_too():
    assert Integer(0, 9).encode(np.array([1, 2, 2.5, 77]))[1].row == 2
    assert Integer(0, 9).encode(np.array([1, 77, 2.5]))[1].row == 1
    assert Codes(3).encode(np.array([0, 2, 3, -1]))[1].row == 2
    assert Categorical([1, 2]).encode(np.array([2, 2, 3, 0]))[1].row == 2
    assert Date("2024-01-01", "2024-02-01").encode(np.array(["2024-01-01", "NaT"], dtype="datetime64[D]"))[1].row == 1
    assert Date("2024-01-01", "2024-02-01", "hour").encode(np.array(["2024-01-01"], dtype="datetime64[D]"))[1].row == 0


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Categorical([]), "needs at least one label"),
        (lambda: Categorical(["a", "a"]), "label 'a' comes more than once"),
        (lambda: Categorical(["1", 1]), "label '1' comes more than once"),
        (lambda: Categorical(["a", None]), "needs labels that are text or numbers, got None"),
        (lambda: Categorical([float("nan")]), "needs labels that are text or numbers, got nan"),
        (lambda: Categorical(["a", "other"], other=True), "label 'other' comes more than once"),
        (lambda: Categorical(["a", "?"], null="?"), "label '?' comes more than once"),
        (lambda: Categorical(["a"], null=[7]), "null needs texts"),
        (lambda: Categorical(["a"], null=["x", "x"]), "a text of null comes more than once"),
        (lambda: Boolean(["a"]), "needs two texts"),
        (lambda: Boolean(["Yes", "yes"]), "needs two texts"),
        (lambda: Boolean(null="TRUE"), "a text of null is that of a value"),
        (lambda: Codes(0), "needs at least one value, got size 0"),
        (lambda: Codes(4.5), "needs a whole number of codes, got 4.5"),
        (lambda: Codes(4, null="3"), "a text of null is that of a code"),
        (lambda: Integer(0.5, 3), "need whole numbers below 2^53"),
        (lambda: Integer(0, 2**53), "need whole numbers below 2^53"),
        (lambda: Integer(3, 2), "low must be below high"),
        (lambda: Integer(0, 9, edges=[0]), "edges must rise, between low and high"),
        (lambda: Integer(0, 9, edges=[5, 5]), "edges must rise, between low and high"),
        (lambda: Integer(0, 9, edges=[10]), "edges must rise, between low and high"),
        (lambda: Integer(0, 9, width=0), "width must be at least 1"),
        (lambda: Integer(0, 9, width=2, edges=[5]), "width and edges are given both"),
        (lambda: Integer(0, MOST_BINS), "at most 1,000,000 bins"),
        (lambda: Integer(0, 9, outside="drop"), "outside must be one of refuse, clip, null, other"),
        (lambda: Integer(0, 9, within="mean"), "within must be one of uniform, tapered, tails, middle, lower"),
        (lambda: Integer(0, 9, outside="null"), 'outside "null" needs null'),
        (lambda: Integer(0, 9, outside="other", null="other"), "'other' is a null and the label of other values"),
        (lambda: Real(0, float("inf"), bins=2), "need finite numbers"),
        (lambda: Real(1, 0, bins=2), "low must be below high"),
        (lambda: Real(1, 1, bins=2), "low must be below high"),
        (lambda: Real(0, 1), "needs either bins or edges"),
        (lambda: Real(0, 1, bins=2, edges=[0.5]), "needs either bins or edges"),
        (lambda: Real(0, 1, bins=0), "bins needs a whole number"),
        (lambda: Real(0, 1, edges=[1, 1]), "edges must rise"),
        (lambda: Real(0, 1, edges=[1.5]), "edges must rise"),
        (lambda: Real(1e9, 1e9 + 1e-5, bins=1000), "bins are too narrow"),
        (lambda: Real(0, 1, bins=20, decimals=1), "a bin holds no number with these decimals"),
        (lambda: Real(0, 1, bins=2, decimals=-1), "decimals needs a whole number"),
        (lambda: Real(0, 1e12, bins=2, decimals=9), "more digits than a double"),
        (lambda: Date("2024-13-01", "2024-02-01"), "low and high need ISO dates"),
        (lambda: Date(2024, 2025), "low and high need ISO dates"),
        (lambda: Date("2024-03-01", "2024-02-01"), "low must be before high"),
        (lambda: Date("2024-01-01", "2024-02-01", "decade"), "resolution must be one of year, quarter"),
        (lambda: Date("1000-01-01", "2024-02-01", "hour"), "at most 1,000,000 bins"),
        (lambda: Date("2024-01-01", "2024-02-01", format="%m.%Y"), "does not tell one day from another"),
    ],
)
def test_declarations_that_do_not_fit(make, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        make()


def test_labels_need_a_list():
    with pytest.raises(TypeError, match="needs a list of labels"):
        Categorical("FM")


def test_a_million_distinct_numbers_are_read_in_seconds():
    values = np.random.default_rng(0).normal(50, 10, 10**6)
    column = Real(0, 100, bins=50, outside="clip")
    codes = column.encode(values)[0]
    assert (codes == np.clip(values // 2, 0, 49)).all()
    assert (column.encode(values[:20_000].tolist())[0] == codes[:20_000]).all()
    assert (column.encode(list(map(repr, values[:20_000].tolist())))[0] == codes[:20_000]).all()


def test_dates_of_a_format():
    column = Date("2020-01-01", "2024-12-31", "quarter", format="%d.%m.%Y")
    assert column.encode(["31.03.2020", "01.04.2020"])[0].tolist() == [0, 1]
    assert column.texts([0], 0)[0].endswith("2020")
    assert Date(datetime.date(2024, 1, 1), datetime.date(2024, 1, 2)).labels == ("2024-01-01", "2024-01-02")


@pytest.mark.parametrize("column", [Codes(2, null=["", "?"]), Boolean(["0", "1"], null=["", "?"])])
def test_nulls_before_a_value_that_does_not_fit(column):
    codes, problem = column.encode(["", " ?", "1"])
    assert (codes.tolist(), problem) == ([2, 2, 1], None)
    _, problem = column.encode(["", " ?", "1", "9"])
    assert problem is not None
    assert problem.row == 3


def test_an_empty_cell_of_an_open_column_says_what_may_be_declared():
    open_set = OpenSet("0.05")
    _, problem = open_set.provisional.encode(["acme", ""])
    assert problem is not None
    assert problem.what == 'needs a value that is not empty, and has another value ("null": "" allows empty ones)'
    assert OpenSet("0.05", null=True).provisional.encode(["acme", ""])[1] is None


@pytest.mark.parametrize("kind", ["M", "m"])
def test_times_beyond_a_finer_unit_are_told_by_whole_numbers(kind):
    from pypgm.data.columns.values import beyond_unit

    nanoseconds = {
        "W": 604800 * 10**9,
        "D": 86400 * 10**9,
        "h": 3600 * 10**9,
        "s": 10**9,
        "ms": 10**6,
        "us": 1000,
        "ns": 1,
    }
    rng, most = np.random.default_rng(0), 2**63 - 1
    for coarse, fine in itertools.combinations(nanoseconds, 2):
        ratio = nanoseconds[coarse] // nanoseconds[fine]
        numbers = [0, most // ratio, most // ratio + 1, -(most // ratio), -(most // ratio) - 1, 2**62]
        numbers += rng.integers(-(2**62), 2**62, 20).tolist()
        times = np.array(numbers, f"{kind}8[{coarse}]")
        assert beyond_unit(times, fine).tolist() == [abs(n) * ratio > most for n in numbers]
