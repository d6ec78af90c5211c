"""Synthetic tables come back as the source is written: a strict reader of the source accepts them.

A way to write values, or a type of a library, is one row of a table below. Each generated table has some of them.
"""

from __future__ import annotations

import csv
import datetime as dt
import math
import random
import re
import uuid
from collections.abc import Callable
from decimal import Decimal
from typing import NamedTuple

import pytest

import pypgm

N = 160  # records
QUICK = {"epsilon": 30, "delta": 1e-9, "mechanism": "hdmm", "workload": 1}
pytestmark = pytest.mark.filterwarnings("ignore::pypgm.errors.DraftWarning")


class Spelling(NamedTuple):
    """Values as a file spells them, and what a strict reader takes."""

    make: Callable[[random.Random], object]
    pattern: str
    read: Callable[[str], object] = str


def day(draw):
    return dt.date(2019, 1, 1) + dt.timedelta(draw.randrange(900))


def clock(draw):
    return dt.datetime.combine(day(draw), dt.time(draw.randrange(24), draw.randrange(60), draw.randrange(60)))


def dated(form):
    """Return the spelling of dates in a format."""
    digits = {"%d": r"\d\d", "%m": r"\d\d", "%Y": r"\d{4}", "%H": r"\d\d", "%M": r"\d\d", "%S": r"\d\d", "%b": r"\w{3}"}
    pattern = re.sub("%.", lambda match: digits[match[0]], form.replace(".", r"\."))
    return Spelling(lambda draw: clock(draw).strftime(form), pattern, lambda text: dt.datetime.strptime(text, form))


ISO = r"\d{{4}}-\d\d-\d\d{}\d\d:\d\d:\d\d{}"
BRACKETS = r"\(?\d{1,3}(,\d{3})*\)?"
SPELLINGS = {
    "whole": Spelling(lambda draw: draw.randrange(-500, 500), r"-?\d+", int),
    "few whole": Spelling(lambda draw: draw.choice([0, 1, 2, 7]), r"[0127]", int),
    "floats that are whole": Spelling(lambda draw: f"{draw.randrange(900)}.0", r"\d+\.0", float),
    "few floats that are whole": Spelling(lambda draw: f"{draw.choice([0, 1, 5])}.0", r"[015]\.0", float),
    "with a plus": Spelling(lambda draw: f"{draw.randrange(-99, 900):+}", r"[+-]\d+", int),
    "cents": Spelling(lambda draw: f"{draw.randrange(99999) / 100:.2f}", r"\d+\.\d\d", Decimal),
    "halves with zeros": Spelling(lambda draw: f"{draw.randrange(900) / 2:.2f}", r"\d+\.\d\d", Decimal),
    "thousands": Spelling(lambda draw: f"{draw.randrange(10**6):,}", r"\d{1,3}(,\d{3})*"),
    "dollars": Spelling(lambda draw: f"${draw.randrange(10**6) / 100:,.2f}", r"\$[\d,]+\.\d\d"),
    "percent": Spelling(lambda draw: f"{draw.randrange(999) / 10:.1f}%", r"\d+\.\d%"),
    "kilograms": Spelling(lambda draw: f"{draw.randrange(40, 140)} kg", r"\d+ kg"),
    "padded codes": Spelling(lambda draw: f"{draw.randrange(40):03}", r"\d{3}"),
    "codes with letters": Spelling(lambda draw: f"{draw.choice('AB')}{draw.randrange(9):02}", r"[AB]\d\d"),
    "TRUE": Spelling(lambda draw: draw.choice(["TRUE", "FALSE"]), "TRUE|FALSE"),
    "True": Spelling(lambda draw: draw.choice(["True", "False"]), "True|False"),
    "Yes": Spelling(lambda draw: draw.choice(["Yes", "No"]), "Yes|No"),
    "y": Spelling(lambda draw: draw.choice("yn"), "[yn]"),
    "0 and 1": Spelling(lambda draw: draw.choice("01"), "[01]", int),
    "words": Spelling(lambda draw: draw.choice(["lo", "mid, high", 'a "word"', "ä"]), '(lo|mid, high|a "word"|ä)'),
    "two lines": Spelling(lambda draw: draw.choice(["one\ntwo", "one"]), "one(\ntwo)?"),
    "ISO days": dated("%Y-%m-%d"),
    "ISO times": dated("%Y-%m-%d %H:%M:%S"),
    "days": dated("%d.%m.%Y"),
    "American days and times": dated("%m/%d/%Y %H:%M"),
    "named months": dated("%d-%b-%Y"),
    "digits": dated("%Y%m%d"),
    "ISO with a T": Spelling(lambda draw: clock(draw).isoformat(), ISO.format("T", ""), dt.datetime.fromisoformat),
    "ISO in UTC": Spelling(lambda draw: f"{clock(draw).isoformat()}Z", ISO.format("T", "Z")),
    "with an offset": Spelling(lambda draw: f"{clock(draw)}+02:00", ISO.format(" ", r"\+02:00")),
    "named zone": Spelling(lambda draw: f"{clock(draw)} UTC", ISO.format(" ", " UTC")),
    "milliseconds": Spelling(lambda draw: f"{clock(draw)}.{draw.randrange(1000):03}", ISO.format(" ", r"\.\d{3}")),
    "unpadded": Spelling(lambda draw: "{0.month}/{0.day}/{0.year}".format(day(draw)), r"[1-9]\d?/[1-9]\d?/\d{4}"),
    "in capitals": Spelling(lambda draw: f"{day(draw):%d%b%Y}".upper(), r"\d\d[A-Z]{3}\d{4}"),
    "months with names": Spelling(lambda draw: f"{day(draw):%b-%Y}", r"[A-Z][a-z]{2}-\d{4}"),
    "months in digits": Spelling(lambda draw: f"{day(draw):%Y%m}", r"\d{4}(0[1-9]|1[0-2])"),
    "clock": Spelling(lambda draw: f"{clock(draw):%H%M}", r"[0-2]\d[0-5]\d"),
    "hours and minutes": Spelling(lambda draw: f"{clock(draw):%H:%M}", r"[0-2]\d:[0-5]\d"),
    "quarters": Spelling(lambda draw: f"{day(draw).year}Q{(day(draw).month + 2) // 3}", r"\d{4}Q[1-4]"),
    "brackets": Spelling(lambda draw: draw.choice(["{:,}", "({:,})"]).format(draw.randrange(1, 9999)), BRACKETS),
    "euros": Spelling(lambda draw: f"{draw.randrange(10**6) / 100:.2f}".replace(".", ",") + " €", r"\d+,\d\d €"),
}
"""Ways to write values in a file of texts."""

WORDS = ["lo", "mid", "hi"]
WHEN = {  # a value of each kind
    "whole": lambda draw: draw.randrange(100),
    "real": lambda draw: draw.randrange(999) / 8,
    "cents": lambda draw: Decimal(draw.randrange(9999)) / 100,
    "flag": lambda draw: draw.random() < 0.5,
    "word": lambda draw: draw.choice(WORDS),
    "digits": lambda draw: f"{draw.randrange(30):02}",
    "number": lambda draw: str(draw.randrange(300)),
    "day": day,
    "time": clock,
    "aware": lambda draw: clock(draw).replace(tzinfo=dt.timezone(dt.timedelta(hours=2))),
    "of day": lambda draw: dt.time(draw.randrange(24), 30),
    "span": lambda draw: dt.timedelta(minutes=15 * draw.randrange(9)),
    "uuid": lambda draw: uuid.UUID(int=draw.randrange(9)),
    "bytes": lambda draw: draw.choice([b"a", b"b"]),
}
PANDAS = {
    **dict.fromkeys(("int8", "int64", "uint16", "Int64*", "Int8*", "int64[pyarrow]*", "category of whole"), "whole"),
    **dict.fromkeys(("float32*", "float64*", "Float64*", "double[pyarrow]*"), "real"),
    **dict.fromkeys(("bool", "boolean*", "bool[pyarrow]*"), "flag"),
    **dict.fromkeys(("str*", "string*", "category*", "ordered*", "string[pyarrow]*"), "word"),
    **{f"datetime64[{unit}]*": "time" for unit in ("s", "ms", "us", "ns")},
    "date32[day][pyarrow]*": "day",
    "timestamp[ms][pyarrow]*": "time",
    **{f"object of {name}*": name for name in WHEN},
}
POLARS = {
    **dict.fromkeys(("Int8*", "Int64*", "UInt16*", "Int128*"), "whole"),
    **dict.fromkeys(("Float32*", "Float64*"), "real"),
    **dict.fromkeys(("String*", "Categorical*", "Enum(['lo', 'none', 'mid', 'hi'])*"), "word"),
    **{f"Datetime('{unit}')*": "time" for unit in ("ms", "us", "ns")},
    "Boolean*": "flag",
    "Decimal(10, 2)*": "cents",
    "Date*": "day",
    "Time*": "of day",
    "Duration('ms')*": "span",
}
ARROW = {
    **dict.fromkeys(("int8()*", "int64()*", "uint64()*"), "whole"),
    **dict.fromkeys(("float32()*", "float64()*"), "real"),
    **dict.fromkeys(("string()*", "large_string()*", "dictionary(int32(), string())*"), "word"),
    **{f"timestamp('{unit}')*": "time" for unit in ("s", "ms", "us", "ns")},
    "bool_()*": "flag",
    "decimal128(10, 2)*": "cents",
    "date32()*": "day",
    "date64()*": "day",
    "time32('s')*": "of day",
    "time64('us')*": "of day",
    "duration('s')*": "span",
    "ordered": "word",
}
"""Types of each library and the kind of their values; one with a star may have missing ones."""


def some(draw, make, *, with_blanks):
    values = [make(draw) for _ in range(N)]
    return [None if with_blanks and draw.random() < 0.1 else value for value in values]


def series_of_pandas(kind, values):
    pandas = pytest.importorskip("pandas")
    if kind.startswith("object of "):
        return pandas.Series(values, dtype=object)
    if kind == "ordered":
        return pandas.Series(pandas.Categorical(values, ["lo", "none", "mid", "hi"], ordered=True))
    kind = "category" if kind.startswith("category") else kind
    return pandas.Series(values, dtype=object if "pyarrow" in kind else None).astype(kind)


def series_of_polars(kind, values):
    polars = pytest.importorskip("polars")
    return polars.Series(values, dtype=eval(kind, vars(polars)))


def series_of_arrow(kind, values):
    arrow = pytest.importorskip("pyarrow")
    if kind == "ordered":
        codes = arrow.array([None if value is None else WORDS.index(value) for value in values], arrow.int32())
        return arrow.DictionaryArray.from_arrays(codes, WORDS, ordered=True)
    if kind.startswith("dictionary"):
        return arrow.array(values).dictionary_encode()
    made = eval(kind, vars(arrow))
    return arrow.array(values, None if "decimal" in kind or kind == "date64()" else made).cast(made)


LIBRARIES = {
    "pandas": (PANDAS, series_of_pandas),
    "polars": (POLARS, series_of_polars),
    "pyarrow": (ARROW, series_of_arrow),
}


def frame_of(library, draw):
    """Return a frame of some types, each with a name of its own."""
    types, series = LIBRARIES[library]
    columns = {}
    for name in draw.sample(sorted(types), 4):
        blanks = name.endswith("*") and draw.random() < 0.5
        columns[name] = series(name.rstrip("*"), some(draw, WHEN[types[name]], with_blanks=blanks))
    module = pytest.importorskip(library)
    return module.table(columns) if library == "pyarrow" else module.DataFrame(columns)


def type_of(frame, name):
    """Return the type of a column, with its categories where they are ordered; not how wide their indices are."""
    if hasattr(frame, "column_names"):
        kind = frame[name].type
        listed = frame[name].combine_chunks().dictionary.to_pylist() if getattr(kind, "ordered", False) else None
        return re.sub(r"indices=\w+", "", str(kind)), listed
    kind = frame[name].dtype
    if str(kind) == "category":
        return kind if kind.ordered else (kind.categories.dtype, kind.ordered)
    return kind


def kinds_of(frame, name):
    """Return the Python types of values, with the decimals and zones of such as have them."""
    column = frame[name]
    values = column.to_pylist() if hasattr(column, "to_pylist") else column.to_list()
    found = set()
    for value in values:
        if (
            value is None
            or (isinstance(value, float) and math.isnan(value))
            or type(value).__name__ in {"NAType", "NaTType"}
        ):
            continue
        details = value.as_tuple().exponent if isinstance(value, Decimal) else getattr(value, "tzinfo", None)
        found.add((type(value), details))
    return found


def check_frame(seed):
    """Check that a frame of synthetic records has the types and kinds of objects of a generated one."""
    draw = random.Random(seed)
    library = draw.choice(list(LIBRARIES))
    pytest.importorskip("narwhals")
    frame = frame_of(library, draw)
    schema = pypgm.Schema.draft(frame)
    assert {*schema.drop} <= {"object of uuid*"}  # which are keys
    made = pypgm.synthesize(frame, schema, **QUICK).to_frame(60, rng=seed)
    for name in made.column_names if library == "pyarrow" else list(made.columns):
        assert type_of(made, name) == type_of(frame, name), name
        given = kinds_of(frame, name)
        if "cents" in name:
            given = {(Decimal, exponent) for exponent in (0, -1, -2)}
        assert kinds_of(made, name) <= given, name


def written(path, columns, encoding, **marks):
    with open(path, "w", newline="", encoding=encoding) as file:
        rows = csv.writer(file, **marks)
        rows.writerow(columns)
        rows.writerows(zip(*columns.values(), strict=True))


def check_file(seed, folder):
    """Check that a file of synthetic records has the marks of a generated one, and that its texts are spelled alike."""
    draw = random.Random(seed)
    names = draw.sample(sorted(SPELLINGS), 4)
    blanks = {name: draw.random() < 0.4 for name in names}
    columns = {name: some(draw, SPELLINGS[name].make, with_blanks=blanks[name]) for name in names}
    columns = {name: ["" if value is None else value for value in values] for name, values in columns.items()}
    delimiter, line_end = draw.choice(",;\t|"), draw.choice(["\n", "\r\n"])
    encoding = draw.choice(["utf-8", "utf-8-sig", "cp1252"])
    path, out = folder / "source.csv", folder / "synthetic.csv"
    quoting = draw.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL])
    written(path, columns, encoding, delimiter=delimiter, lineterminator=line_end, quoting=quoting)
    marks = {"delimiter": delimiter, "encoding": encoding.removesuffix("-sig")}
    schema = pypgm.Schema.draft(path, **marks)
    assert not schema.drop
    pypgm.synthesize(path, schema, **QUICK, **marks).write(out, 60, rng=seed)
    assert out.read_bytes().startswith(b"\xef\xbb\xbf") == (encoding == "utf-8-sig")
    text = out.read_bytes().decode(encoding)
    assert text.partition("\n")[0].endswith("\r") == (line_end == "\r\n")
    header, *rows = csv.reader(text.splitlines(keepends=True), delimiter=delimiter, strict=True)
    assert header == names
    for name, values in zip(names, zip(*rows, strict=True), strict=True):
        for value in values:
            if value or not blanks[name]:
                assert re.fullmatch(SPELLINGS[name].pattern, value), (name, value)
                SPELLINGS[name].read(value)


@pytest.mark.parametrize("seed", range(20))
def test_frames_come_back_as_they_are(seed):
    check_frame(seed)


@pytest.mark.parametrize("seed", range(20))
def test_files_come_back_as_they_are(seed, tmp_path):
    check_file(seed, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 250, 25))
def test_many_tables_come_back_as_they_are(first, tmp_path):
    for seed in range(1000 + first, 1025 + first):
        check_frame(seed)
        check_file(seed, tmp_path)
