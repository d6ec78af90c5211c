"""Lines of CSV files that are no records: titles, comments, lines below the names; delimiters that end records."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pypgm
from pypgm.data import Integer, read_table, scan
from pypgm.data.draft.draft import draft_schema
from pypgm.data.sources import arrow_csv
from pypgm.data.sources.dialect import Dialect

NAMES = st.text("abcxyz 1#\"'\n", min_size=1, max_size=6).map(str.strip).filter(bool)
SCHEMA = pypgm.Schema({"a": Integer(0, 99), "b": ["x", "y", "z, z"]})


def written(path, lines, repeats=1):
    path.write_text("".join(line + "\n" for line in lines) * repeats, newline="")
    return path


def records(rng, n_rows):
    return rng.integers(0, 100, n_rows).tolist(), rng.choice(["x", "y", '"z, z"'], n_rows).tolist()


def counts(data):
    return data.count([("a", "b")])[0].tolist()


@pytest.mark.parametrize("by", ["plain reader", "Arrow", "scan"])
@given(
    st.lists(st.text('ab,#" ;1', max_size=8), max_size=3),
    st.lists(st.sampled_from(["cm,kg", '"a ""question"", in\ntwo lines",k', "u,v"]), max_size=2),
    st.integers(0, 2**32),
)
def test_titles_and_lines_below_the_names_are_left_out(tmp_path_factory, by, titles, below, seed):
    if by == "Arrow" and importlib.util.find_spec("pyarrow") is None:
        pytest.skip("Arrow reads it")
    rng, folder = np.random.default_rng(seed), tmp_path_factory.mktemp("t")
    numbers, texts = records(rng, 40)
    rows = [f"{n},{text}" for n, text in zip(numbers, texts, strict=True)]
    plain = written(folder / "plain.csv", ["a,b", *rows])
    path = written(folder / "t.csv", [*titles, "a,b", *below, *rows])
    marks = {"skip": len(titles), "header_lines": 1 + len(below)}
    with pytest.MonkeyPatch.context() as patch:
        if by == "Arrow":
            patch.setattr(arrow_csv, "_MIN_BYTES", 1)
            patch.setattr(arrow_csv, "_BLOCK", 64)
        read = scan if by == "scan" else read_table
        assert counts(read(path, SCHEMA, **marks)) == counts(read_table(plain, SCHEMA))


@given(st.integers(0, 2**32), st.integers(0, 40))
def test_comments_stand_between_records_and_never_in_one(tmp_path_factory, seed, place):
    rng, folder = np.random.default_rng(seed), tmp_path_factory.mktemp("t")
    numbers, _ = records(rng, 40)
    rows = [f'"x\n#{n}",{n}' for n in numbers]
    lines = ["# made by x", "", "b,a", *rows[:place], '# a "quote', *rows[place:]]
    schema = pypgm.Schema({"a": Integer(0, 99), "b": [f"x\n#{n}" for n in range(100)]})
    data = read_table(written(folder / "t.csv", lines), schema, comment="#")
    assert data.columns["a"].tolist() == data.columns["b"].tolist() == numbers


@pytest.mark.parametrize("size", [20, 200_000])
def test_a_delimiter_may_end_records_and_not_the_header(tmp_path, size):
    path = written(tmp_path / "t.csv", ["a,b", *["1,x,", "2,y,"] * size])
    assert read_table(path, SCHEMA).n_records == 2 * size
    assert list(draft_schema(path)["columns"]) == ["a", "b"]
    for lines in (["1,x,", "2,y"], ["1,x,", "2,y,z"], ["2,y", "1,x,"]):  # a text with a delimiter in it, perhaps
        with pytest.raises(ValueError, match=r"row 2 .* got"):
            read_table(written(tmp_path / "u.csv", ["a,b", *lines]), SCHEMA)


def test_spaces_stand_before_quotes(tmp_path):
    path = written(tmp_path / "t.csv", ['"a", "b"', '1, "x"', '2,  "z, z"'])
    assert read_table(path, SCHEMA).columns["b"].tolist() == [0, 2]
    path = written(tmp_path / "u.csv", ["a,b", '"1"," ""x"""'])  # a space and a quote, both of the text
    schema = pypgm.Schema({"a": Integer(0, 99), "b": [' "x"', "x"]})
    assert read_table(path, schema).columns["b"].tolist() == [0]


@pytest.mark.parametrize("n_rows", [300, 600_000])
def test_a_long_field_is_read_in_files_of_any_size(tmp_path, n_rows):
    path = written(tmp_path / "t.csv", ["a,note", *["1,x"] * n_rows, f"2,{'z' * 200_000}"])
    schema = {"columns": {"a": {"kind": "integer", "low": 0, "high": 4}}, "drop": ["note"]}
    assert read_table(path, schema).n_records == n_rows + 1


@pytest.mark.parametrize(
    ("lines", "hint"),
    [
        (["Report 2023,", ",", "a,c"], "line 3 looks like the header, below a title: skip=2 or --skip 2"),
        (["Report", "a,c"], "line 2 looks like the header, below a title: skip=1"),
        (["# by us", "# today", "a,c"], "comment='#' or --comment"),
        (["a,c", "How old are you?,Which city?"], "line 2 looks like a part of the header: header_lines=2"),
        (["a,c", "Years,City", '"{""ImportId"": 1}x","{""ImportId"": 2}x"'], "header_lines=3 or --header-lines 3"),
        (["a,c"], ""),
        ([",c"], ""),  # the index of a frame
        (["a,c", ",u"], ""),
        (["a,c", "NA,u"], ""),
    ],
)
def test_lines_that_are_no_records_are_named_with_the_option_that_leaves_them_out(tmp_path, lines, hint):
    path = written(tmp_path / "t.csv", [*lines, *["1,x", "2,y"] * 20])
    assert hint in pypgm.data.sources.header_lines.lines_hint(path, Dialect())
    if not hint:
        assert not pypgm.data.sources.header_lines.lines_hint(path, Dialect())
        return
    with pytest.raises(ValueError, match="header") as refusal:
        read_table(path, pypgm.Schema({"a": Integer(0, 9), "c": ["x", "y"]}))
    assert hint in str(refusal.value)


@pytest.mark.parametrize(
    ("marks", "message"),
    [
        ({"skip": -1}, "skip needs a number of lines, 0 or more, got -1"),
        ({"skip": True}, "skip needs"),
        ({"header_lines": 0}, "header_lines needs a number of lines, 1 or more"),
        ({"comment": "##"}, "comment needs one character"),
        ({"comment": ","}, "comment needs one character, other than the delimiter"),
    ],
)
def test_bad_marks_are_refused(tmp_path, marks, message):
    with pytest.raises(ValueError, match=message):
        read_table(written(tmp_path / "t.csv", ["a,b", "1,x"]), SCHEMA, **marks)


def test_synthetic_files_have_no_title_and_one_line_of_names(tmp_path):
    path = written(tmp_path / "t.csv", ["of our hospital", "a;b", "years;", *["1;x", "2;y"] * 50])
    marks = {"delimiter": ";", "skip": 1, "header_lines": 2}
    release = pypgm.synthesize(path, SCHEMA, epsilon=3, delta=1e-9, unsafe_seed=1, **marks)
    release.save(tmp_path / "r.pgm")
    for made in (release, pypgm.load(tmp_path / "r.pgm")):
        made.write(tmp_path / "out.csv")
        assert (tmp_path / "out.csv").read_text().splitlines()[0] == "a;b"
        assert read_table(tmp_path / "out.csv", SCHEMA, delimiter=";").n_records > 50
