"""Records in JSON and in workbooks: read as they are, refused by name, and JSON written back."""

from __future__ import annotations

import datetime
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from workbooks import write_workbook

import pypgm
from pypgm.cli import main
from pypgm.data import Boolean, Categorical, Codes, Date, Integer, Real, read_table
from pypgm.data.draft.draft import draft_schema

SCHEMA = pypgm.Schema(
    {
        "a": Integer(0, 9, null=""),
        "b": Categorical(["x", "yé", "2"], null=""),
        "c": Boolean(null=""),
        "r": Real(0, 10, bins=10, decimals=2, null=""),
        "d": Date("2020-01-01", "2020-12-31", null=""),
    }
)
RECORDS = st.lists(
    st.fixed_dictionaries(
        {
            "a": st.none() | st.integers(0, 9),
            "b": st.none() | st.sampled_from(["x", "yé", "2"]),
            "c": st.none() | st.booleans(),
            "r": st.none() | st.sampled_from([0, 0.25, 9.5, 10]),
            "d": st.none() | st.dates(datetime.date(2020, 1, 1), datetime.date(2020, 12, 31)),
        }
    ),
    min_size=1,
)


def columns_of(records):
    values = {name: np.empty(len(records), object) for name in SCHEMA.declared}
    for i, record in enumerate(records):
        for name, column in values.items():
            column[i] = record[name]
    return values


def same(data, records):
    expected = SCHEMA.encode(columns_of(records))
    return all(np.array_equal(data.columns[name], expected.columns[name]) for name in expected.columns)


@given(RECORDS, st.sampled_from(["lines", "list", "no nulls"]), st.sampled_from([".jsonl", ".json", ".ndjson.gz"]))
def test_json_is_read_as_a_frame_of_its_values(tmp_path_factory, records, form, suffix):
    if form == "no nulls":
        given_records = [{n: v for n, v in record.items() if v is not None} for record in records]
        given_records[0] = records[0]  # all names come
    else:
        given_records = records
    path = tmp_path_factory.mktemp("t") / f"t{suffix}"
    lines = [json.dumps(record, default=str, ensure_ascii=form == "list") for record in given_records]
    text = f"[{','.join(lines)}]" if form == "list" else "\n\n".join(lines)
    with pypgm.data.sources.files.replacing_text(path) as file:
        file.write(text)
    assert same(read_table(path, SCHEMA), records)


@given(RECORDS)
def test_json_that_is_written_reads_back(tmp_path_factory, records):
    path = tmp_path_factory.mktemp("t") / "t.jsonl"
    data = SCHEMA.encode(columns_of(records))
    pypgm.write_table(data, path, SCHEMA, rng=0)
    again = read_table(path, SCHEMA)
    assert all(np.array_equal(data.columns[name], again.columns[name]) for name in data.columns)
    for line in path.read_text("utf-8").splitlines():
        kinds = {name: type(value) for name, value in json.loads(line).items() if value is not None}
        assert kinds.items() <= {"a": int, "b": str, "c": bool, "r": float, "d": str}.items()


NULLS = [(), "", ["NA", "-9"], {"98": "does not know", "99": "refused"}]
KINDS = {
    "codes": lambda null: Codes(4, null=null),
    "integer": lambda null: Integer(-3, 9, width=4, null=null),
    "real": lambda null: Real(-1, 10, bins=5, decimals=2, null=null),
    "date": lambda null: Date("2020-01-01", "2020-12-31", "month", null=null),
    "boolean": lambda null: Boolean(null=null),
    "texts": lambda null: Categorical(["x", "yé", "2"], other=True, null=null),
    "numbers": lambda null: Categorical([1, 2, 30], null=null),
}


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
@pytest.mark.parametrize("kind", KINDS)
def test_every_code_of_every_kind_of_column_reads_back_as_it_was_written(kind, suffix, tmp_path):
    if suffix == ".parquet":
        pytest.importorskip("pyarrow")
    nulls = NULLS[:3] if suffix == ".parquet" else NULLS  # whose dates and booleans have one kind of null
    schema = pypgm.Schema({f"a{i}": KINDS[kind](null) for i, null in enumerate(nulls)})
    codes = {name: np.arange(60) % column.size for name, column in schema.columns.items()}
    pypgm.write_table(schema.records(codes), tmp_path / f"t{suffix}", schema, rng=0)
    again = read_table(tmp_path / f"t{suffix}", schema)
    for name, of_column in codes.items():
        assert again.columns[name].tolist() == of_column.tolist(), name


def test_a_release_of_json_is_written_as_json(tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_text('{"a": 1, "b": "x"}\n{"b": "yé"}\n' * 100, "utf-8")
    schema = pypgm.Schema({name: column for name, column in SCHEMA.declared.items() if name in "ab"})
    release = pypgm.synthesize(path, schema, epsilon=3, delta=1e-9, unsafe_seed=1)
    release.write(tmp_path / "out.jsonl")
    assert read_table(tmp_path / "out.jsonl", schema).n_records == release.synthetic_data(rng=0).n_records
    assert list(draft_schema(path)["columns"]) == ["a", "b"]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("t.jsonl", '{"a": 1}\n{"a": {"secret": 1}}\n', "line 2: a field holds an object or a list of JSON"),
        ("t.json", '[{"a": ["secret"]}]', "object 1: a field holds an object or a list"),
        (
            "t.json",
            '{\n "a": 1\n}',
            "line 1 is no object of JSON with each name once; a table needs one object in each",
        ),
        ("t.jsonl", '{"a": 1}\nsecret\n', "line 2 is no object of JSON"),
        ("t.jsonl", '{"a": 1, "a": 2}\n', "line 1 is no object of JSON with each name once"),
        ("t.jsonl", '{"a": "\\ud800"}\n', "line 1: a text has half a surrogate pair"),
        ("t.jsonl", "[" * 10**6, "needs one object in each line, or a list of objects"),
        ("t.jsonl", '{"a":' * 10**5 + "1" + "}" * 10**5, "line 1 is no object of JSON"),
        ("t.jsonl", "", "has no records"),
        ("t.jsonl", '{"a": "secret"}\n', "column 'a', row 0"),
        ("t.jsonl", '{"a": 1, "e": 2}\n', "has records with names that the schema does not declare"),
        ("t.csv", '{"a": 1}\n{"a": 2}\n', "is no CSV file: it is JSON; give it a name that ends in .jsonl"),
        ("t.csv", "<html><table>\n", "is no CSV file: it is a web page .*; save the table in it as CSV"),
    ],
)
def test_what_is_no_flat_json_is_refused_by_line(tmp_path, name, text, message):
    (tmp_path / name).write_text(text)
    with pytest.raises(ValueError, match=message) as refusal:
        read_table(tmp_path / name, pypgm.Schema({"a": Integer(0, 9)}))
    seen, at = "", refusal.value
    while at is not None:
        seen, at = seen + str(at), at.__cause__ or at.__context__
    assert "secret" not in seen


@pytest.mark.parametrize(
    ("start", "message"),
    [
        (b"$FL3" + bytes(9), "SPSS.*pandas.read_spss"),
        (b"q\x01\x01\0", "Stata.*pandas.read_stata"),
        (bytes(12) + b"\xc2\xea\x81\x60", "SAS.*pandas.read_sas"),
        (b"ORC\x12\0\0", "ORC.*pyarrow.orc.read_table"),
        (b"Obj\x01", "Avro.*polars.read_avro"),
        (b"\x89HDF\r\n\x1a\n", "HDF5.*pandas.read_hdf"),
        (b"\x80\x04\x95", "objects of Python"),
        (b"PAR1", "Parquet file; give it a name that ends in .parquet"),
        (b"PK\x03\x04" + bytes(22) + b"\x13\0\0\0[Content_Types].xml", "Excel.*a name that ends in .xlsx"),
    ],
)
def test_kinds_of_files_are_named_with_the_next_step(tmp_path, start, message):
    (tmp_path / "t.dat").write_bytes(start)
    with pytest.raises(ValueError, match=message):
        read_table(tmp_path / "t.dat", SCHEMA)


def test_a_text_may_begin_as_a_file_of_orc_does(tmp_path):
    (tmp_path / "t.csv").write_text("ORCID,a\n1,1\n")
    assert read_table(tmp_path / "t.csv", pypgm.Schema({"a": Integer(0, 9)}), ignore_extra=True).n_records == 1


@given(RECORDS)
def test_a_sheet_is_read_as_a_frame_of_its_cells(tmp_path_factory, records):
    pytest.importorskip("python_calamine")
    kept = [record for record in records if any(value is not None for value in record.values())]
    rows = [[*SCHEMA.declared, None], *([record[name] for name in SCHEMA.declared] for record in kept)]
    path = write_workbook(tmp_path_factory.mktemp("t") / "t.xlsx", {"s": [["title"], [None], *rows]})
    assert same(read_table(path, SCHEMA, skip=2), kept)


def test_sheets_are_chosen_and_faults_of_workbooks_named(tmp_path, capsys):
    pytest.importorskip("python_calamine")
    rows = [["a", "b"], *[[1, "x"], [2, "yé"]] * 100]
    path = write_workbook(tmp_path / "t.xlsx", {"first": rows, "other": [["a"], [1, 2]]})
    schema = pypgm.Schema({name: column for name, column in SCHEMA.declared.items() if name in "ab"})
    how = {"epsilon": 3, "delta": 1e-9, "unsafe_seed": 1}
    release = pypgm.synthesize(path, schema, table="first", **how)
    assert sorted(release.to_frame(library="pandas").columns) == ["a", "b"]
    for table, message in (
        (None, "has the sheets 'first', 'other': table= or --table names one"),
        ("third", "has no sheet 'third', only 'first', 'other'"),
        ("other", r"row 1 .* has a value in a column without a name"),
    ):
        with pytest.raises(ValueError, match=message):
            pypgm.synthesize(path, schema, table=table, **how)
    with pytest.raises(ValueError, match="a workbook has no marks but skip and header_lines"):
        pypgm.synthesize(path, schema, table="first", delimiter=";", **how)
    assert main(["schema", "init", str(path), "--table", "first", "--out", str(tmp_path / "s.json")]) == 0
    made = ["--schema", str(tmp_path / "s.json"), "--epsilon", "3", "--delta", "1e-9", "--out", str(tmp_path / "o.csv")]
    assert main(["synth", str(path), "--table", "first", *made]) == 0
    assert main(["compare", str(tmp_path / "o.pgm"), str(path), "--table", "first", "--unsafe"]) == 0
    (tmp_path / "bad.xlsx").write_text("secret")
    with pytest.raises(ValueError, match=r"bad\.xlsx failed with .*, whose text is not shown"):
        read_table(tmp_path / "bad.xlsx", schema)
    with pytest.raises(
        ValueError, match=r"o\.xlsx has a name of no format that is written here: .*; Excel opens \.csv"
    ):
        release.write(tmp_path / "o.xlsx")
    capsys.readouterr()


def test_a_workbook_without_its_reader_names_the_extra(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(__import__("sys").modules, "python_calamine", None)
    with pytest.raises(ImportError, match=r"t\.xlsx is a workbook, which needs python_calamine: pip install pypgm"):
        read_table(tmp_path / "t.xlsx", SCHEMA)
    assert main(["schema", "init", str(tmp_path / "t.xlsx")]) == 2
    assert "pip install pypgm[excel]" in capsys.readouterr().err
