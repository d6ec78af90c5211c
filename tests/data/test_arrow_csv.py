"""CSV files that Arrow reads: the codes, the texts and the refusals of the plain reader, whatever is in them."""

from __future__ import annotations

import random
import subprocess
import sys

import numpy as np
import pytest

import pypgm
from pypgm.data import Boolean, Categorical, Codes, Date, Integer, OpenSet, Real
from pypgm.data.sources import arrow_csv
from pypgm.data.sources.table import read_open_table, read_table

pytest.importorskip("pyarrow")

COLUMNS = {
    "whole": Integer(-5, 99, width=7, outside="other", null=["?", "-3"]),
    "real": Real(0, 100, bins=7, outside="clip", null=["", "-999"]),
    "text": Categorical(["a", "b c", 'q"x', "ä", "1", "l\nf"], null=["?", ""], other=True),
    "flag": Boolean(null=""),
    "day": Date("2020-01-01", "2020-12-31", "month", outside="null", null="?"),
    "code": Codes(4, null=""),
    "digits": Date("2020-01-01", "2020-12-31", "month", format="%d%m%Y", outside="other", null="?"),
}
SCHEMA = pypgm.OpenSchema({**COLUMNS, "open": OpenSet("1/4", null="")})
WHOLE = ["0", "7", "-3", "99", "?", " 5", "007", "5.0", "1e1", "-3.0", "150", "+4", "99999999999999999999"]
REAL = [
    "0",
    "1.5",
    "100",
    "99.99999999999999999",
    "14.285714285714286",
    "",
    "-999",
    "-999.0",
    ".5",
    "5.",
    "1e-400",
    "-0",
]
TEXT = ["a", "b c", 'q"x', "ä", "1", "l\nf", "?", "", "nan", "x,y", "\u2028", "a "]
DAY = ["2020-02-03", "?", "1999-01-01"]
DIGITS = ["01022020", "01122020", "15122020", "03032020", "9022020", "31122020", "01011999", "20200131", "?"]
FIELDS = [WHOLE, REAL, TEXT, ["true", "false", ""], DAY, ["0", "3", ""], DIGITS, [*TEXT, "z" * 40]]
ODD = ["\r", "\x00", 'a"b', '"a"b', "x" * 200_000, "\ufeff", "\x1f", '"', "\r\n", "1_0", "inf", "nan", "0x1", "１"]


def written(field, rng):
    """Return a field as some programs write it."""
    if any(c in field for c in ',"\n\r') or rng.random() < 0.1:
        return '"' + field.replace('"', '""') + '"'
    return field


def random_file(rng):
    """Return the bytes of a file, regular ones more often than not."""
    end = rng.choice(["\n", "\n", "\r\n"])
    rows = [[written(rng.choice(own), rng) for own in FIELDS] for _ in range(rng.randrange(1, 60))]
    if rng.random() < 0.4:
        row = rng.choice(rows)
        row[rng.randrange(len(row))] = rng.choice(ODD)
    if rng.random() < 0.1:
        rng.choice(rows).pop()
    lines = [",".join(SCHEMA.declared), *map(",".join, rows)]
    if rng.random() < 0.2:
        lines.insert(rng.randrange(1, len(lines) + 1), "")
    data = (end.join(lines) + end * rng.randrange(2)).encode()
    if rng.random() < 0.05:
        data = data.replace(b"a", b"\xff", 1)
    return b"\xef\xbb\xbf" + data if rng.random() < 0.1 else data


def told(read):
    try:
        codes, texts = read()
    except ValueError as error:
        return str(error)
    return {name: own.tolist() for name, own in codes.items()}, texts


@pytest.mark.parametrize("block", [150, 3000, 1 << 24])
def test_it_reads_what_the_plain_reader_reads(block, tmp_path, monkeypatch):
    monkeypatch.setattr(arrow_csv, "_BLOCK", block)
    monkeypatch.setattr(arrow_csv, "_MAX_LOOKED_UP", 3)
    path, rng, n_read = tmp_path / "t.csv", random.Random(block), 0
    found = []
    kept = arrow_csv.arrow_codes
    monkeypatch.setattr(
        "pypgm.data.sources.table.arrow_codes", lambda *a, **k: found.append(kept(*a, **k)) or found[-1]
    )
    for _ in range(150):
        path.write_bytes(random_file(rng))
        monkeypatch.setattr(arrow_csv, "_MIN_BYTES", 1 << 40)
        plain = told(lambda: read_open_table(path, SCHEMA))
        monkeypatch.setattr(arrow_csv, "_MIN_BYTES", 0)
        assert told(lambda: read_open_table(path, SCHEMA)) == plain
        n_read += bool(found) and found[-1] is not None
    assert n_read > 50


def test_other_dialects(tmp_path, monkeypatch):
    monkeypatch.setattr(arrow_csv, "_MIN_BYTES", 0)
    schema = pypgm.Schema({"a": Real(0, 10, bins=10), "b": Categorical(["x;y", "z"])})
    path = tmp_path / "t.csv"
    path.write_text('\ufeff b ;a\n"x;y";1,5\nz;9,5\n')
    data = pypgm.read_table(path, schema, delimiter=";", decimal=",")
    assert {name: codes.tolist() for name, codes in data.columns.items()} == {"a": [1, 9], "b": [0, 1]}


def test_a_large_file_is_read_by_arrow(tmp_path, monkeypatch):
    path, rng = tmp_path / "t.csv", np.random.default_rng(0)
    wages = rng.lognormal(3, 1, 100_000)
    path.write_text("wage\n" + "\n".join(map(repr, wages.tolist())))
    schema = pypgm.Schema({"wage": Real(0, 100, bins=50, outside="clip")})
    monkeypatch.setattr("pypgm.data.sources.table._read_columns", None)
    assert np.array_equal(
        pypgm.read_table(path, schema).columns["wage"], schema.encode({"wage": wages}).columns["wage"]
    )


def test_arrow_reads_memory_of_its_own(tmp_path, monkeypatch):
    """One of its threads may drop what it reads after Python has ended: an object of Python would abort the process."""
    import pyarrow
    from pyarrow import csv

    given, read = [], csv.read_csv
    monkeypatch.setattr(csv, "read_csv", lambda source, *more: given.append(source) or read(source, *more))
    monkeypatch.setattr(arrow_csv, "_MIN_BYTES", 0)
    (tmp_path / "table.csv").write_text("a\n" + "1\n" * 100)
    assert read_table(tmp_path / "table.csv", pypgm.Schema({"a": Codes(2)})).n_records == 100
    assert [type(source) for source in given] == [pyarrow.BufferReader]


def test_a_file_is_read_and_written_without_pandas(tmp_path):
    """Arrow's own conversions to NumPy import it, which takes longer than to read the file."""
    source = """
import sys, numpy as np, pypgm
from pypgm.data.sources import arrow_csv
from pypgm.data.sources.table import read_table, write_table
arrow_csv._MIN_BYTES = 0
schema = pypgm.Schema({"age": pypgm.data.Integer(0, 2999, width=100), "sex": pypgm.data.Codes(2)})
codes = {"age": np.arange(3000) % 30, "sex": np.arange(3000) % 2}
write_table(pypgm.Dataset(codes, schema.domain), "table.csv", schema)
assert all((read_table("table.csv", schema).columns[name] == own).all() for name, own in codes.items())
print(*{"pyarrow", "pandas"}.intersection(sys.modules))
"""
    ran = subprocess.run([sys.executable, "-c", source], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["pyarrow"]
