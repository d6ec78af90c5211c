"""How tables are written: marks of numbers, of fields and of encodings are read, or named in the error."""

from __future__ import annotations

import inspect
import random

import pytest

import pypgm
from pypgm.data import Categorical, Integer, Real
from pypgm.data.columns.number_text import WRITTEN, marked_number, plain_number, written_as
from pypgm.data.draft import draft_schema
from pypgm.data.sources import arrow_csv
from pypgm.data.sources.dialect import Dialect, DialectOptions
from pypgm.data.sources.table import read_open_table

SCHEMA = pypgm.Schema({"a": Integer(0, 9), "b": Categorical(["x", "y", "x\ry", "ü"])})
CODES = {"a": [1, 2], "b": [0, 1]}


def read(path, schema=SCHEMA, **how):
    return {name: codes.tolist() for name, codes in pypgm.read_table(path, schema, **how).columns.items()}


READ = {
    "byte order mark": (b"\xef\xbb\xbfa,b\n1,x\n2,y\n", {}),
    "UTF-16": ("a,b\n1,x\n2,y\n".encode("utf-16"), {"encoding": "utf-16"}),
    "UTF-16 with a mark of its own": ("\ufeffa,b\n1,x\n2,y\n".encode("utf-16-le"), {"encoding": "utf-16-le"}),
    "carriage returns": (b"a,b\r1,x\r2,y\r", {}),
    "both": (b"a,b\r\n1,x\r\n2,y\r\n", {}),
    "a line for Excel": (b"sep=;\r\na;b\r\n1;x\r\n2;y\r\n", {"delimiter": ";"}),
    "such a line after a mark": (b"\xef\xbb\xbfsep=,\na,b\n1,x\n2,y\n", {}),
    "an index": (b",a,b\n0,1,x\n1,2,y\n", {"ignore_extra": True}),
    "1.0": (b"a,b\n1.0,x\n2.00,y\n", {}),
}
REFUSED = {
    "another separator": (
        b"sep=;\na;b\n1;x\n",
        {},
        r"begins with a line that says sep=;.*delimiter=';' or --delimiter",
    ),
    "UTF-16": ("a,b\n1,x\n".encode("utf-16"), {}, r"byte order mark of utf-16.*encoding='utf-16' or --encoding utf-16"),
    "UTF-8": ("\ufeffa,b\n1,x\n".encode(), {"encoding": "latin-1"}, r"byte order mark of utf-8.*encoding='utf-8'"),
    "a name twice": (b"a,b,b\n1,x,x\n", {}, "more than one column for 'b'"),
    "a delimiter": (b"a;b\n1;x\n", {}, "delimiter=';' or --delimiter says so"),
    "an index": (b",a,b\n0,1,x\n", {}, "ignore_extra=True"),
    "a quote": (b'sep=,\na,b\n1,x\n"2,y\n', {}, "in the row that begins in line 4"),
}


@pytest.mark.parametrize("what", READ)
@pytest.mark.parametrize("is_large", [False, True])
def test_dialects_are_read(what, is_large, tmp_path, monkeypatch):
    monkeypatch.setattr(arrow_csv, "_MIN_BYTES", 0 if is_large else 1 << 40)
    data, how = READ[what]
    (tmp_path / "t.csv").write_bytes(data)
    assert read(tmp_path / "t.csv", **how) == CODES
    marks = {name: value for name, value in how.items() if name != "ignore_extra"}
    assert pypgm.data.scan(tmp_path / "t.csv", SCHEMA, **how).count(["a"])[0].tolist()[:3] == [0, 1, 1]
    assert pypgm.Schema.from_dict(draft_schema(tmp_path / "t.csv", **marks)).domain.shape == (2, 2)


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_not_read_is_named(what, tmp_path):
    data, how, told = REFUSED[what]
    (tmp_path / "t.csv").write_bytes(data)
    with pytest.raises(ValueError, match=told):
        read(tmp_path / "t.csv", **how)


def test_a_carriage_return_in_a_field_is_of_it(tmp_path):
    (tmp_path / "t.csv").write_bytes(b'a,b\n1,"x\ry"\n2,y\n')
    assert read(tmp_path / "t.csv") == {"a": [1, 2], "b": [2, 1]}


@pytest.mark.parametrize("marks", WRITTEN)
def test_numbers_are_written_and_read_with_marks(marks):
    draw = random.Random(str(marks))
    for _ in range(200):
        number = f"{draw.choice([-1, 1]) * draw.random() * 10 ** draw.randrange(12):.{draw.randrange(4)}f}"
        assert plain_number(marked_number(number, *marks), *marks) == number


@pytest.mark.parametrize("text", ["1,2", "12,34", "1,2345", ",123", "1,,234", "1,234,", "1.234.5", "1,23a", ""])
def test_misplaced_marks_make_no_number(text):
    _, problem = Real(-1e9, 1e9, bins=2, thousands=",").encode([text])
    assert problem is not None
    assert text not in problem.what or not text


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("62,347.69", "may have thousands separators: thousands=',' or --thousands , says so"),
        ("0,5", "may have a decimal comma: decimal=',' or --decimal , says so"),
        ("1.234,5", "decimal=',', thousands='.' or --decimal , --thousands . say so"),
        ("1’234.5", "thousands='’'"),
        ("twelve", "is not a number"),
    ],
)
def test_the_error_names_the_marks(text, hint):
    schema = pypgm.Schema({"a": Real(0, 1e6, bins=9)})
    with pytest.raises(ValueError, match="row 0") as caught:
        schema.encode({"a": [text]})
    assert hint in str(caught.value)
    assert (written_as(text) is None) == (hint == "is not a number")


def amounts(n, marks):
    draw = random.Random(3)
    return [marked_number(f"{draw.uniform(-9e6, 9e6):.2f}", *marks) for _ in range(n)]


@pytest.mark.parametrize("marks", [(".", ","), (",", "."), (",", " "), (",", "")])
def test_marks_of_a_file_and_of_a_column_read_the_same_by_any_reader(marks, tmp_path, monkeypatch):
    told = dict(zip(("decimal", "thousands"), marks, strict=True))
    column = Real(-1e7, 1e7, bins=5000, decimals=2)
    plain, own = pypgm.Schema({"a": column}), pypgm.Schema({"a": Real(-1e7, 1e7, bins=5000, decimals=2, **told)})
    path = tmp_path / "t.csv"
    values = amounts(6000, marks)
    path.write_text("a\n" + "\n".join(f'"{value}"' for value in values))
    right = plain.encode({"a": [plain_number(value, *marks) for value in values]}).columns["a"].tolist()
    for least in (0, 1 << 40):
        monkeypatch.setattr(arrow_csv, "_MIN_BYTES", least)
        assert read(path, plain, delimiter=";", **told)["a"] == right
        assert read(path, own, delimiter=";")["a"] == right
    assert own.encode({"a": values}).columns["a"].tolist() == right
    counts = plain.encode({"a": [plain_number(value, *marks) for value in values]}).count(["a"])[0].tolist()
    assert pypgm.data.scan(path, plain, delimiter=";", **told).count(["a"])[0].tolist() == counts
    assert pypgm.data.scan(path, own, delimiter=";").count(["a"])[0].tolist() == counts


@pytest.mark.parametrize("of", ["file", "column"])
def test_quantiles_of_numbers_with_marks_and_the_table_is_written_as_it_was(of, tmp_path):
    path, marks = tmp_path / "t.csv", {"decimal": ",", "thousands": "."}
    values = amounts(3000, (",", "."))
    path.write_text("\ufeffa;b\n" + "\n".join(f"{value};{'xy'[i % 2]}" for i, value in enumerate(values)))
    column = {"kind": "real", "low": -1e7, "high": 1e7, "decimals": 2, "bins": {"quantiles": 4, "share": 0.3}}
    schema = {"a": column | (marks if of == "column" else {}), "b": ["x", "y"]}
    how = {"delimiter": ";", **(marks if of == "file" else {})}
    release = pypgm.synthesize(path, schema, epsilon=20, delta=1e-9, **how)
    edges = release.schema.columns["a"].edges
    assert [abs(edge - right) < 1e6 for edge, right in zip(edges, (-4.5e6, 0, 4.5e6), strict=True)] == [True] * 3
    release.write(tmp_path / "out.csv", 400, rng=0)
    text = (tmp_path / "out.csv").read_text(encoding="utf-8")
    assert text.startswith("\ufeffa;b\n")
    found = [line.partition(";")[0] for line in text.splitlines()[1:]]
    assert all(marked_number(plain_number(value, ",", "."), ",", ".") == value for value in found)
    assert len(pypgm.read_table(tmp_path / "out.csv", release.schema, **how)) == 400


def test_texts_of_open_columns_are_those_of_the_file(tmp_path):
    (tmp_path / "t.csv").write_text('a,b\n"1,250",p\n7,q\n')
    schema = pypgm.Schema.from_dict(
        {
            "a": {"kind": "integer", "low": 0, "high": 9999, "bins": {"quantiles": 2, "share": 0.1}},
            "b": {"kind": "open", "share": 0.1},
        }
    )
    _, texts = read_open_table(tmp_path / "t.csv", schema, Dialect(thousands=","))
    assert texts == {"a": ["1250", "7"], "b": ["p", "q"]}


@pytest.mark.parametrize("wrong", [{"thousands": "ab"}, {"thousands": "1"}, {"thousands": "."}, {"decimal": ";"}])
def test_marks_that_are_none_are_refused(wrong):
    with pytest.raises(ValueError, match=r"thousands|decimal"):
        Real(0, 1, bins=1, **wrong)


def test_marks_are_keywords_of_all_functions_that_read_a_file():
    assert tuple(DialectOptions.__annotations__) == Dialect._fields
    for read in (pypgm.synthesize, pypgm.read_table, pypgm.data.scan, pypgm.Schema.draft):
        parameters = inspect.signature(read).parameters
        assert {name: parameters[name].default for name in Dialect._fields} == Dialect()._asdict()


@pytest.mark.parametrize("read", [pypgm.read_table, pypgm.data.scan])
def test_a_misspelt_mark_is_refused_with_the_one_that_is_meant(read):
    with pytest.raises(TypeError, match=r"unexpected keyword argument 'delimeter'; the nearest is 'delimiter'"):
        read("t.csv", {"a": 2}, delimeter=";")
    with pytest.raises(TypeError, match=r"unexpected keyword argument 'delimeter'; the nearest is 'delimiter'"):
        pypgm.Schema.draft("t.csv", delimeter=";")
