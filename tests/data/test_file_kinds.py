"""Readers say what a file is that is not theirs, and read what other tools write, or say how it can be read."""

from __future__ import annotations

import gzip
import io
import os
import re
import sqlite3
import zipfile

import numpy as np
import pytest

import pypgm
from pypgm._base.file_kind import START, file_kind
from pypgm.bayes import BayesianNetwork
from pypgm.cli import main
from pypgm.data.draft import draft_schema
from pypgm.data.sources.dialect import Dialect
from pypgm.data.sources.streamed import scan

SCHEMA = pypgm.Schema({"a": ["x", "y"], "b": 3})
XML = '<?xml version="1.0"?>\n<!-- a\nnetwork -->\n'
BIF = "network n { }\nvariable a { type discrete [2] { x, y }; }\nprobability (a) { table 0.5, 0.5; }\n"


def zipped(name):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(name, "x")
    return buffer.getvalue()


def database(folder):
    path = folder / "x.db"
    with sqlite3.connect(path) as connection:
        connection.execute("create table t (a text)")
    connection.close()
    return path.read_bytes()


def numpy_file():
    buffer = io.BytesIO()
    np.save(buffer, np.zeros(3))
    return buffer.getvalue()


BINARY = {
    "a workbook of Excel (.xlsx)": zipped("[Content_Types].xml"),
    "an OpenDocument file": zipped("mimetype"),
    "a zip archive": zipped("people.csv"),
    "a workbook of Excel (.xls)": b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(500),
    "a Parquet file": b"PAR1\x15\x04" + bytes(50),
    "an Arrow or Feather file": b"ARROW1\0\0" + bytes(50),
    "a DuckDB database": bytes(8) + b"DUCK" + bytes(50),
    "an array of NumPy": numpy_file(),
    "a PDF": b"%PDF-1.7\n",
    "compressed with xz": b"\xfd7zXZ\0\0",
}
TEXTS = {
    "XMLBIF": XML + "<BIF VERSION='0.3'>\n<NETWORK/></BIF>",
    "XDSL": XML + '<smile version="1.0" id="n">\n</smile>',
    "XML": XML + "<people><person/></people>",
    "a web page": "<!DOCTYPE html><html><body>not found</body></html>",
    "a NET file": '% made by hand\nnet\n{\n}\nnode a\n{\n states = ("x" "y");\n}\n',
    "a DSC file": 'belief network "n"\nnode a { type : discrete [2] = {"x", "y"}; }\n',
    "a BIF network": BIF,
    "a UAI model": "MARKOV\n1\n2\n1\n1 0\n2\n1 1\n",
    "JSON": '{"columns": {"a": ["x", "y"]}}\n',
    "a CSV table": "k,v,w\n1,2,3\n",
}


@pytest.mark.parametrize(("kind", "data"), BINARY.items())
def test_files_that_are_no_text_are_named(tmp_path, kind, data):
    for name, read in readers().items():
        for content in (data, gzip.compress(data)):
            if name == ".pgm" and (content is not data or kind == "a zip archive"):
                continue
            path = tmp_path / f"x{name}"
            path.write_bytes(content)
            with pytest.raises(ValueError, match=f"x{re.escape(name)}.* is {re.escape(kind)}"):
                read(path)


@pytest.mark.parametrize(("kind", "text"), TEXTS.items())
def test_texts_of_another_format_are_named(tmp_path, kind, text):
    assert file_kind(text.encode()[:START]).startswith(kind)
    own = {".bif": "a BIF network", ".uai": "a UAI model", ".json": "JSON", ".csv": "a CSV table"}
    own |= {".net": "a NET file", ".dsc": "a DSC file", ".xdsl": "XDSL"}
    for name, read in readers().items():
        if own.get(name) == kind or name == ".evid" or (name, kind) == (".csv", "a UAI model"):
            continue
        path = tmp_path / f"x{name}"
        path.write_text(text)
        with pytest.raises(ValueError, match=rf"x{re.escape(name)}.* {re.escape(kind)}"):
            read(path)


def readers():
    return {
        ".bif": BayesianNetwork.read_bif,
        ".uai": pypgm.read_uai,
        ".net": pypgm.read_network,
        ".xdsl": pypgm.read_network,
        ".dsc": pypgm.read_network,
        ".evid": pypgm.io.read_uai_evidence,
        ".json": pypgm.read_schema,
        ".csv": lambda path: pypgm.read_table(path, SCHEMA),
        ".pgm": pypgm.load,
    }


def test_a_database_is_named(tmp_path):
    assert file_kind(database(tmp_path)[:START]) == "an SQLite database"


def test_own_files_are_what_they_are(tmp_path):
    model = pypgm.GraphicalModel(pypgm.CliqueVector(pypgm.Domain({"a": 2}), [("a",)]), 10.0)
    model.save(tmp_path / "m.pgm")
    assert file_kind((tmp_path / "m.pgm").read_bytes()[:START]) == "a release or model of pypgm"
    assert file_kind(b"") == file_kind(b"some words\nand more") == file_kind(b"x" * START) == ""


def test_a_table_is_no_parquet_file(tmp_path):
    pytest.importorskip("pyarrow")
    (tmp_path / "t.parquet").write_text("a,b\nx,1\n")
    for read in (lambda path: pypgm.read_table(path, SCHEMA), draft_schema):
        with pytest.raises(ValueError, match=r"t\.parquet is not a Parquet file: it is a CSV table"):
            read(tmp_path / "t.parquet")


def test_a_command_names_what_it_was_given(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text("a,b\nx,1\n")
    (tmp_path / "n.xdsl").write_text(TEXTS["XDSL"])
    for arguments, text in (
        (["info", "t.csv"], "t.csv: not a whole pypgm model file (it is a CSV table)"),
        (
            ["info", "n.xdsl"],
            "n.xdsl: not a whole pypgm model file (it is XDSL (of GeNIe); pypgm.read_network reads it)",
        ),
    ):
        assert main(arguments) == 2
        assert text in capsys.readouterr().err


# BIF.


def test_a_network_in_another_encoding(tmp_path):
    path = tmp_path / "n.bif"
    path.write_bytes(
        "variable w { type discrete [2] { schön, trüb }; } probability (w) { table 0.5, 0.5; }".encode("latin-1")
    )
    assert BayesianNetwork.read_bif(path, encoding="latin-1").domain.labels["w"] == ("schön", "trüb")
    with pytest.raises(
        ValueError, match=r"must be text in UTF-8, but is not; another is chosen with encoding or --enc"
    ):
        BayesianNetwork.read_bif(path)


def test_a_command_with_a_network_in_another_encoding(tmp_path, capsys):
    path = tmp_path / "n.bif"
    path.write_bytes(
        "variable w { type discrete [2] { schön, trüb }; } probability (w) { table 0.5, 0.5; }".encode("latin-1")
    )
    assert main(["query", str(path), "w", "--encoding", "latin-1"]) == 0
    assert "schön,0.5" in capsys.readouterr().out


def test_rows_that_no_record_had(tmp_path):
    (tmp_path / "n.bif").write_text(BIF.replace("0.5, 0.5", "NaN, NaN"))
    with pytest.raises(ValueError, match="got 'NaN'; unseen='uniform' reads a row of values that no record had"):
        BayesianNetwork.read_bif(tmp_path / "n.bif")


# Evidence.


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("1\n2 0 1 3 0\n", {"0": 1, "3": 0}),
        ("1 1 4 2", {"4": 2}),
        ("1 4 2", {"4": 2}),
        ("2 0 1 3 0", {"0": 1, "3": 0}),
        ("0\n2 0", {}),
        ("", {}),
    ],
)
def test_evidence_of_both_forms(tmp_path, text, found):
    (tmp_path / "m.evid").write_text(text)
    assert pypgm.io.read_uai_evidence(tmp_path / "m.evid") == found


@pytest.mark.parametrize("text", ["2 0 1 3 0 5", "2\n1 0 1\n1 3 0", "1 2 0 1 3 0 7 7", "1 4 2 words", "3 0 1"])
def test_words_left_over_are_refused(tmp_path, text):
    (tmp_path / "m.evid").write_text(text)
    with pytest.raises(ValueError, match=r"m\.evid"):
        pypgm.io.read_uai_evidence(tmp_path / "m.evid")


# Tables.


@pytest.mark.parametrize("label", ["x\ry", "x\r\ny", "x\ny", 'x"\ry', "x,y"])
def test_line_breaks_in_labels_are_quoted(tmp_path, label):
    for schema in (
        pypgm.Schema({f"n{label}": [label, "z"], "b": 2}),
        pypgm.Domain({f"n{label}": [label, "z"], "b": 2}),
    ):
        own = pypgm.Schema.of(schema) if isinstance(schema, pypgm.Domain) else schema
        data = own.encode({f"n{label}": [label, "z"], "b": [0, 1]})
        pypgm.write_table(data, tmp_path / "t.csv", own if own is schema else None)
        assert (tmp_path / "t.csv").read_bytes().endswith(b"\nz,1\n")
        read = pypgm.read_table(tmp_path / "t.csv", schema)
        assert all((read.columns[a] == data.columns[a]).all() for a in data.columns)


def test_a_backslash_is_no_way_to_write_a_quote(tmp_path):
    (tmp_path / "t.csv").write_bytes(b'a,b\n"p\\"q",1\n')
    with pytest.raises(ValueError, match="in line 2; a quote within a field is written twice, with no backslash"):
        pypgm.read_table(tmp_path / "t.csv", SCHEMA)


def test_advice_for_files_of_windows(tmp_path):
    (tmp_path / "t.csv").write_bytes("a,b\n€,1\n".encode("cp1252"))
    with pytest.raises(ValueError, match="such as cp1252, of Windows, or latin-1"):
        pypgm.read_table(tmp_path / "t.csv", SCHEMA)


def test_half_a_surrogate_pair_is_refused_before_anything_is_read(tmp_path, capsys):
    (tmp_path / "s.json").write_text('{"a": ["\\ud800", "y"], "b": 3}')
    (tmp_path / "t.csv").write_text("a,b\ny,1\n")
    with pytest.raises(ValueError, match="half a surrogate pair"):
        pypgm.read_schema(tmp_path / "s.json")
    files = [str(tmp_path / name) for name in ("t.csv", "s.json", "o.csv")]
    assert main(["synth", files[0], "--schema", files[1], "--epsilon", "1", "--delta", "1e-9", "--out", files[2]]) == 2
    assert "half a surrogate pair" in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["s.json", "t.csv"]


def test_half_a_surrogate_pair_in_an_open_column_is_refused_before_anything_is_spent(tmp_path):
    (tmp_path / "t.csv").write_bytes("a\n".encode("utf-7") + "\ud800\n".encode("utf-7", "surrogatepass"))
    schema = pypgm.Schema.from_dict({"a": {"kind": "open", "share": 0.5}})
    with pytest.raises(ValueError, match="column 'a': a text has half a surrogate pair"):
        pypgm.data.sources.table.read_open_table(tmp_path / "t.csv", schema, Dialect(encoding="utf-7"))


def test_half_a_surrogate_pair_is_not_written(tmp_path):
    domain = pypgm.Domain({"a": ["\ud800", "y"]})
    with pytest.raises(ValueError, match=r"t\.csv: a text has half a surrogate pair") as refused:
        pypgm.write_table(pypgm.Dataset({"a": [0]}, domain), tmp_path / "t.csv")
    assert type(refused.value) is ValueError
    assert list(tmp_path.iterdir()) == []


# YAML.


def yaml_schema(tmp_path, text):
    pytest.importorskip("yaml")
    (tmp_path / "s.yaml").write_text(text)
    return pypgm.read_schema(tmp_path / "s.yaml")


def test_yaml_words_and_zeros_are_texts(tmp_path):
    text = "columns:\n  a: [no, yes, on, 01234, 1:30, 2020-01-01]\n  b: {kind: categorical, values: [x], null: ''}\n"
    schema = yaml_schema(tmp_path, text + "  2020: {kind: boolean, values: [no, yes]}\n  no: [1, 2.5, -3, 1e3]\n")
    assert schema.domain.labels["a"] == ("no", "yes", "on", "01234", "1:30", "2020-01-01")
    assert schema.domain.labels["b"] == ("x", "")
    assert schema.domain.labels["2020"] == ("no", "yes")
    assert schema.domain.labels["no"] == (1, 2.5, -3, 1000.0)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: &x [p, q]\nb: *x\n", "line 2: aliases such as .x are not read"),
        ("a: &x [p, q]\n<<: *x\n", "line 2: aliases such as .x are not read"),
        ("a: !!python/object/apply:os.system ['true']\n", "line 1: tags such as .*python/object"),
        ("a: !!set {p, q}\n", "tags such as"),
        ("? [a, b]\n: 3\n", "a name must be a text, but is a collection"),
        ("a: 2\n---\nb: 3\n", "must be one YAML document"),
        ("a: 2\na: 3\n", "attribute 'a' comes more than once"),
        ("a: " + "[" * 5000, "nested too deep"),
        ("a: " + "9" * 5000, "an integer has 5000 digits"),
        ('a: ["\\ud800", y]', "half a surrogate pair"),
        ('a: "\\U99999999"', "s.yaml must be YAML"),
        ("a: [x, y\n", "must be YAML, but is not at line 2"),
        ("a:\tx: 1\n", "must be YAML, but is not at line 1"),
    ],
)
def test_yaml_that_is_not_read(tmp_path, text, message):
    with pytest.raises(ValueError, match=message):
        yaml_schema(tmp_path, text)


def test_many_names_of_yaml_and_bombs_end(tmp_path):
    names = "".join(f"n{i}: 2\n" for i in range(3000))
    with pytest.raises(ValueError, match="'n1' comes more than once"):
        yaml_schema(tmp_path, names + "n1: 2\n")
    bomb = "a0: &a0 [x, y]\n" + "".join(f"a{i}: &a{i} [*a{i - 1}, *a{i - 1}]\n" for i in range(1, 60))
    with pytest.raises(ValueError, match="aliases"):
        yaml_schema(tmp_path, bomb)


# Drafts.


def test_numbers_of_many_digits_are_no_numbers_of_a_draft(tmp_path):
    rows = "".join(f"{123456789012345670 + i % 8},{'9' * 400},1e400,{i % 3}\n" for i in range(200))
    (tmp_path / "t.csv").write_text("id,big,far,k\n" + rows)
    draft = draft_schema(tmp_path / "t.csv")
    assert draft["columns"]["id"]["kind"] == draft["columns"]["big"]["kind"] == "categorical"
    schema = pypgm.Schema.from_dict(draft)
    assert pypgm.read_table(tmp_path / "t.csv", schema).n_records == 200


@pytest.mark.parametrize("value", ["1e99", "-1e-99", "123456789012345678901234567890.5", "1e22", "0.1", "1e-5"])
def test_a_draft_of_one_number_fits_its_table(tmp_path, value):
    (tmp_path / "t.csv").write_text("a,k\n" + f"{value},x\n{value},y\n" * 40)
    schema = pypgm.Schema.from_dict(draft_schema(tmp_path / "t.csv"))
    assert pypgm.read_table(tmp_path / "t.csv", schema).n_records == 80


def test_a_column_without_a_name_is_named_by_its_place(tmp_path):
    (tmp_path / "t.csv").write_text(",b,\n0,1,x\n1,2,y\n")
    with pytest.raises(ValueError, match=r"needs a header line with a name for each column.*columns 1 and 3 have none"):
        draft_schema(tmp_path / "t.csv")
    (tmp_path / "t.csv").write_text("a,b,a\n0,1,x\n")
    with pytest.raises(ValueError, match="'a' comes more than once"):
        draft_schema(tmp_path / "t.csv")


@pytest.mark.parametrize("value", ["\u0661\u0662", "2020-05-101000000", "2020-W05-3", "2020-05-10Z"])
def test_a_draft_takes_only_what_the_table_reader_takes(tmp_path, value):
    is_date = "-" in value
    rows = "".join(f"{value if i == 7 else f'2020-01-{i % 28 + 1:02}' if is_date else i},{i % 3}\n" for i in range(200))
    (tmp_path / "t.csv").write_text("a,k\n" + rows)
    schema = pypgm.Schema.from_dict(draft_schema(tmp_path / "t.csv"))
    assert "a" in schema.drop or schema.open or pypgm.read_table(tmp_path / "t.csv", schema).n_records == 200


def test_rules_on_too_many_combinations_are_refused_before_memory_is_taken():
    codes = {"kind": "codes", "size": 1 << 31}
    told = {"columns": {"a": ["x", "y"], "b": codes}, "rules": [{"columns": ["a", "b"], "forbidden": [["x", 1]]}]}
    with pytest.raises(pypgm.ModelTooLargeError, match=r"the rule on a, b needs 4.29e.09 cells"):
        pypgm.Schema.from_dict(told)


# Parquet.


@pytest.fixture
def parquet(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    writer = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "t.parquet"
    writer.write_table(pyarrow.table({"a": ["x", "y"] * 20, "b": [0, 1, 2, 1] * 10}), path, compression="gzip")
    return path


def test_damaged_parquet_raises_errors_of_ours_alone(parquet):
    whole, rng, read, refused = parquet.read_bytes(), np.random.default_rng(0), [], []
    kept = pypgm.read_table(parquet, SCHEMA)
    for place in rng.choice(len(whole), 150, replace=False).tolist():
        damaged = bytearray(whole)
        damaged[place] ^= 1 << int(rng.integers(8))
        parquet.write_bytes(damaged)
        for reader in (lambda path: pypgm.read_table(path, SCHEMA), draft_schema):
            try:
                read.append(reader(parquet))
            except ValueError as error:
                refused.append(error)
    assert {type(error) for error in refused} == {ValueError}
    assert all(str(error).startswith(str(parquet)) for error in refused)
    assert {found.n_records for found in read if isinstance(found, pypgm.Dataset)} == {kept.n_records}


def test_a_name_with_a_zero_byte_is_damage(parquet):
    parquet.write_bytes(parquet.read_bytes().replace(b"\x01a", b"\x01\x00"))
    with pytest.raises(ValueError, match=r"t\.parquet"):
        draft_schema(parquet)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
@pytest.mark.parametrize("read", [pypgm.synthesize, pypgm.compare, scan, pypgm.Schema.draft, pypgm.Schema.from_types])
def test_a_pipe_is_no_table_which_is_opened_more_than_once(read, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    own = {
        pypgm.synthesize: {"schema": {"a": ["x"]}, "epsilon": 1, "delta": 1e-9},
        pypgm.compare: {"unsafe_data": {"a": ["x"]}},
        scan: {"schema": {"a": ["x"]}},
    }
    with pytest.raises(ValueError, match="pipe is a pipe, and a table is read more than once: write it to a file"):
        read(tmp_path / "pipe", **own.get(read, {}))
