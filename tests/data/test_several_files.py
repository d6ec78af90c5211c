"""Folders, patterns and lists of files as one table: what they stand for, and what is refused before any charge."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

import pypgm
from pypgm.cli import main
from pypgm.data import Integer, read_table, scan
from pypgm.data.draft.draft import draft_schema
from pypgm.data.sources.paths import _values as values_in_folders
from pypgm.data.sources.paths import is_several, places_of

SCHEMA = pypgm.Schema({"a": Integer(0, 9), "b": ["x", "y"]})
BUDGET = {"epsilon": 3, "delta": 1e-9, "unsafe_seed": 1}
ROWS = "1,x\n2,y\n" * 150


def write(path, text=f"a,b\n{ROWS}"):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


NAMES = st.text("ab =%é01_", min_size=1, max_size=4).filter(lambda name: name.strip() == name)


@given(st.dictionaries(NAMES.filter(lambda name: "=" not in name), st.lists(NAMES, min_size=1, max_size=2), max_size=2))
def test_folders_give_their_values_as_they_are_written(tmp_path_factory, values):
    root = tmp_path_factory.mktemp("t")
    folders = [(root, {})]
    for name, given_values in values.items():
        folders = [
            (folder / f"{quote(name)}={quote(value)}", {**known, name: value})
            for folder, known in folders
            for value in dict.fromkeys(given_values)
        ]
    for folder, _ in folders:
        write(folder / "x.csv")
    pattern = os.path.join(root, *["*"] * len(values), "*.csv")
    for source in (root, pattern, pattern.replace(f"{os.sep}*.csv", "") if values else root):
        assert is_several(source)
        places = places_of(source)
        values_of = [sorted(place.values.items()) for place in places]
        assert sorted(values_of) == sorted(sorted(known.items()) for _, known in folders)


@given(st.lists(st.tuples(st.sampled_from(["x", "y%"]), NAMES), min_size=1, max_size=3))
def test_a_column_that_folders_give_twice_is_refused(pairs):
    path = Path(*(f"{quote(name)}={quote(value)}" for name, value in pairs), "t.csv")
    if len({name for name, _ in pairs}) == len(pairs):
        assert values_in_folders("", path) == dict(pairs)
    else:
        with pytest.raises(ValueError, match="have to stand once around a file"):
            values_in_folders("", path)


def test_columns_of_folders_need_no_declaration_and_a_missing_value_has_a_folder(tmp_path):
    for month in ("01", "02", "__HIVE_DEFAULT_PARTITION__"):
        write(tmp_path / f"month={month}" / "x.csv")
    assert read_table(tmp_path, SCHEMA).n_records == scan(tmp_path, SCHEMA).n_records == 900
    schema = pypgm.Schema({"a": Integer(0, 9), "month": pypgm.data.Categorical(["01", "02"], null="")})
    for data in (read_table(tmp_path, schema, ignore_extra=True), scan(tmp_path, schema, ignore_extra=True)):
        assert data.count([("month",)])[0].tolist() == [300, 300, 300]
    release = pypgm.synthesize(tmp_path, schema, ignore_extra=True, **BUDGET)
    release.write(tmp_path.parent / "out.csv")
    assert set(read_table(tmp_path.parent / "out.csv", schema).columns) == {"a", "month"}
    assert draft_schema(tmp_path)["columns"]["month"]["values"] == ["01", "02"]


def test_open_columns_are_settled_over_all_files(tmp_path):
    for name in ("1", "2"):
        write(tmp_path / f"{name}.csv", f"a,b\n{ROWS}" + f"3,only in {name}\n" * 200)
    schema = {"columns": {"a": {"kind": "integer", "low": 0, "high": 9}, "b": {"kind": "open", "share": 0.3}}}
    release = pypgm.synthesize(tmp_path, schema, **BUDGET)
    assert {"x", "y", "only in 1", "only in 2"} <= set(release.synthetic_data(rng=0).domain.labels["b"])


def refusals(tmp_path):
    write(tmp_path / "ok.csv")
    yield tmp_path / "none*.csv", FileNotFoundError, r"no such file can be read: .*none\*\.csv"
    yield [tmp_path / "ok.csv", tmp_path / "gone.csv"], FileNotFoundError, r"gone\.csv"
    yield [tmp_path / "ok.csv"] * 2, ValueError, "comes more than once: each record would count twice"
    write(tmp_path / "empty" / "_SUCCESS")
    yield tmp_path / "empty", FileNotFoundError, "is a folder without a table"
    write(tmp_path / "blank" / "1.csv", "")
    yield tmp_path / "blank", ValueError, r"1\.csv is empty"
    write(tmp_path / "kinds" / "1.csv")
    write(tmp_path / "kinds" / "2.jsonl", '{"a": 1, "b": "x"}\n')
    yield tmp_path / "kinds", ValueError, "files of one kind"
    write(tmp_path / "headers" / "1.csv")
    write(tmp_path / "headers" / "2.csv", "a,c\n1,x\n")
    yield tmp_path / "headers", ValueError, r"2\.csv lacks (a column for )?'b'"
    write(tmp_path / "values" / "1.csv")
    write(tmp_path / "values" / "2.csv", "a,b\n1,x\n1,secret\n")
    yield tmp_path / "values", ValueError, "column 'b', row"
    write(tmp_path / "apart" / "month=1" / "1.csv")
    write(tmp_path / "apart" / "2.csv")
    yield tmp_path / "apart", ValueError, "folders as month="
    for name, target in (("out.csv", tmp_path / "ok.csv"), ("out", tmp_path / "headers")):
        write(tmp_path / f"link{name}" / "1.csv")
        (tmp_path / f"link{name}" / name).symlink_to(target)
        yield tmp_path / f"link{name}", ValueError, "is a link out of the folder"
    write(tmp_path / "pipes" / "1.csv")
    os.mkfifo(tmp_path / "pipes" / "2.csv")
    yield tmp_path / "pipes", ValueError, r"2\.csv is a pipe"


@pytest.mark.skipif(os.name == "nt", reason="there are no pipes in folders")
def test_files_that_make_no_table_are_refused_before_anything_is_charged(tmp_path):
    for source, error, message in refusals(tmp_path):
        for call in (read_table, scan, pypgm.synthesize):
            how = BUDGET if call is pypgm.synthesize else {}
            with pytest.raises(error, match=message) as refusal:
                call(source, SCHEMA, **how)
            assert "secret" not in str(refusal.value)


def test_headers_of_a_draft_are_the_same(tmp_path):
    write(tmp_path / "1.csv")
    write(tmp_path / "2.csv", "a,c\n1,x\n")
    with pytest.raises(ValueError, match=r"files of one table have the same columns: .*2\.csv lacks 'b'"):
        draft_schema(tmp_path)
    write(tmp_path / "2.csv", "b,a,c\nx,1,x\n")
    with pytest.raises(ValueError, match=r"2\.csv has 'c', .*1\.csv has not"):
        draft_schema(tmp_path)
    write(tmp_path / "2.csv", "b,a\nx,1\n")
    assert list(draft_schema(tmp_path)["columns"]) == ["a", "b"]


def test_a_folder_of_hundreds_of_files_is_one_table(tmp_path):
    for number in range(300):
        write(tmp_path / f"{number:05}.csv", "a,b\n1,x\n")
    assert read_table(tmp_path, SCHEMA).n_records == scan(f"{tmp_path}/*.csv", SCHEMA).n_records == 300


def test_a_file_that_vanishes_is_named(tmp_path):
    write(tmp_path / "1.csv")
    gone = write(tmp_path / "2.csv")
    table = scan(tmp_path, SCHEMA)
    gone.unlink()
    with pytest.raises(pypgm.errors.SourceError, match=r"2\.csv cannot be reached any more: FileNotFoundError"):
        list(table.codes_of(["a"]))


def test_a_scan_is_taken_with_its_schema_or_without(tmp_path):
    for name in ("1.csv", "2.csv"):
        write(tmp_path / name)
    table = scan(tmp_path, SCHEMA)
    releases = [pypgm.synthesize(table, SCHEMA, **BUDGET), pypgm.synthesize(table, **BUDGET)]
    assert len({release.synthetic_data(rng=0).count([("a", "b")])[0].tobytes() for release in releases}) == 1
    other = pypgm.Schema({"a": Integer(0, 99), "b": ["x", "y"]})
    with pytest.raises(ValueError, match="counted by another schema"):
        pypgm.synthesize(table, other, **BUDGET)


@pytest.mark.parametrize("name", ["*.csv", ""])
def test_the_command_takes_a_pattern_and_a_folder(tmp_path, capsys, name):
    for file in ("1.csv", "2.csv"):
        write(tmp_path / "t" / file)
    source, schema, out = f"{tmp_path}/t/{name}", str(tmp_path / "s.json"), str(tmp_path / "out.csv")
    assert main(["schema", "init", source, "--out", schema]) == 0
    assert main(["synth", source, "--schema", schema, "--epsilon", "3", "--delta", "1e-9", "--out", out]) == 0
    assert main(["compare", str(tmp_path / "out.pgm"), source, "--unsafe"]) == 0
    assert main(["compare", out, source, "--unsafe"]) == 0
    assert Path(out).read_text().startswith("a,b\n")
    capsys.readouterr()


def test_a_person_is_one_in_all_files(tmp_path):
    rows = [f"{i % 10},{'xy'[i % 2]},p{i % 40}\n" for i in range(300)]
    for number in range(3):
        write(tmp_path / "t" / f"{number}.csv", "".join(["a,b,who\n", *rows[number::3]]))
    whole = write(tmp_path / "whole.csv", "".join(["a,b,who\n", *rows]))
    columns = {"a": {"kind": "integer", "low": 0, "high": 9}, "b": ["x", "y"]}
    schema = {"columns": columns, "person": {"column": "who", "at_most": 2}}
    sizes = {
        pypgm.synthesize(source, schema, **BUDGET).synthetic_data(rng=0).n_records
        for source in (tmp_path / "t", whole, scan(tmp_path / "t", schema))
    }
    assert len(sizes) == 1  # the noise is the same, and so is the number of kept records
    assert abs(sizes.pop() - 80) < 30


@pytest.mark.parametrize(
    ("given", "named"), [([], "an empty list"), (["a.csv", 1], "int"), (["a.csv", None], "NoneType")]
)
def test_lists_of_files_hold_paths_alone(given, named):
    for door in (lambda: pypgm.synthesize(given, {"x": 2}, 1, 1e-9), lambda: scan(given, {"x": 2})):
        with pytest.raises(TypeError, match=f"a list of files needs one path or more, and nothing else, got {named}"):
            door()
