"""Tables and domains in files: what comes in goes out, and what is wrong is told without showing a value."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import random
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pypgm.data import Dataset, read_domain, read_table, write_table
from pypgm.data.columns.codebook import label_texts
from pypgm.data.schema.evidence import codes_of_text
from pypgm.data.sources.dialect import Dialect
from pypgm.data.sources.files import MAX_FIELD, csv_rows, replacing, replacing_text, write_rows
from pypgm.domain import Domain

DOMAIN = Domain({"age": 85, "sex": ["F", "M"]})
SECRET = "zebra"


@pytest.fixture
def write(tmp_path):
    def write(text, name="t.csv"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


def test_labels_become_codes(write):
    data = read_table(write("sex,age\nM,7\nF,84\n"), DOMAIN)
    assert {name: column.tolist() for name, column in data.columns.items()} == {"age": [7, 84], "sex": [1, 0]}
    assert data.columns["age"].dtype == np.uint8


@pytest.mark.parametrize(
    "text",
    [
        "age,sex\r\n7,M\r\n",
        "\ufeffage,sex\n7,M",
        ' age , sex \n"7"," M "\n\n',
        "age,sex\n\n\n007,M\n\n",
        "age,sex\n+7,M\n",
    ],
)
def test_ways_to_write_the_same(write, text):
    data = read_table(write(text), DOMAIN)
    assert (data.columns["age"].tolist(), data.columns["sex"].tolist()) == ([7], [1])


def test_a_header_alone_is_a_table_without_records(write):
    assert read_table(write("age,sex\n"), DOMAIN).n_records == 0


def test_extra_columns(write):
    path = write("age,zip,sex,zip\n7,a,M,b\n")
    with pytest.raises(ValueError, match="columns that the domain does not: 'zip'"):
        read_table(path, DOMAIN)
    assert read_table(path, DOMAIN, ignore_extra=True).n_records == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("\n", "is empty"),
        ("7,zebra\n8,F\n", "needs a header line"),
        ("age,zebra\n7,M\n", "lacks a column for 'sex'"),
        ("age,sex,age\n7,M,8\n", "more than one column for 'age'"),
        ("age,sex\n7,M\n7\n", r"row 2 \(the header is row 0\): needs 2 fields, got 1"),
        ("age,sex\n7,M,zebra\n", "row 1 .* needs 2 fields, got 3"),
        ("age,sex\n7,M\n7,zebra\n", r"column 'sex', row 2 \(.*\): needs one of 'F', 'M', and has another value"),
        ("age,sex\n85,M\n", "column 'age', row 1 .* an integer from 0 to 84"),
        ("age,sex\n-1,M\n", "column 'age', row 1"),
        ("age,sex\n7.5,M\n", "column 'age', row 1"),
        ("age,sex\n,M\n", "column 'age', row 1"),
        ("age,sex\n1e2,M\n", "column 'age', row 1"),
        ("age,sex\n\u0667,M\n", "column 'age', row 1"),
        ("age,sex\n99999999999999999999999,M\n", "column 'age', row 1"),
        ('age,sex\n7,"M\n', "not a CSV file: .*begins in line 2"),
        ('age,sex\n7,"' + "M" * MAX_FIELD + '"\n', "not a CSV file: .*begins in line 2"),
        (b"age,sex\n7,\xff\n", "text in UTF-8"),
        (b"\x1f\x8b" + b"zebra" * 20, "damaged"),
        (gzip.compress(b"age,sex\n" + b"7,M\n" * 100_000, mtime=0)[:-20], "truncated"),
        (gzip.compress(b"age,sex\n7,M\n", mtime=0)[:-4] + b"\0\0\0\0", "damaged"),
    ],
)
def test_refused_tables(write, text, message):
    with pytest.raises(ValueError, match=message) as caught:
        read_table(write(text), DOMAIN)
    assert "t.csv" in str(caught.value)
    assert SECRET not in str(caught.value).rpartition("t.csv")[2]
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


def test_rows_are_numbered_across_chunks(write):
    rows = ["7,M"] * 20_000
    rows[17_000] = "7,zebra"
    with pytest.raises(ValueError, match="row 17001 "):
        read_table(write("\n".join(["age,sex", *rows])), DOMAIN)
    rows[17_000] = "7"
    with pytest.raises(ValueError, match="row 17001 "):
        read_table(write("\n".join(["age,sex", *rows])), DOMAIN)


def test_a_file_that_cannot_be_read(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_table(tmp_path / "none.csv", DOMAIN)
    with pytest.raises(OSError, match=str(tmp_path.name)):
        read_table(tmp_path, DOMAIN)


@given(st.lists(st.tuples(st.integers(0, 300), st.integers(0, 5)), max_size=30), st.sampled_from(["t.csv", "t.csv.gz"]))
def test_written_tables_read_back(tmp_path_factory, rows, name):
    labels = ["plain", "with, comma", 'with "quote"', " spaced ", "", "line\nbreak"]
    domain = Domain({"size": 301, "word": labels})
    sizes, words = zip(*rows, strict=True) if rows else ((), ())
    path = tmp_path_factory.mktemp("t") / name
    write_table(Dataset({"size": sizes, "word": words}, domain), path)
    back = read_table(path, domain)
    assert back.columns["size"].tolist() == list(sizes)
    assert back.columns["word"].tolist() == list(words)
    assert [p.name for p in path.parent.iterdir()] == [name]


def test_one_column_with_an_empty_label(tmp_path):
    domain = Domain({"word": ["", "x"]})
    write_table(Dataset({"word": [0, 1, 0]}, domain), tmp_path / "t.csv")
    assert read_table(tmp_path / "t.csv", domain).columns["word"].tolist() == [0, 1, 0]


def test_the_same_table_gives_the_same_bytes(tmp_path):
    data = Dataset({"age": [1], "sex": [0]}, DOMAIN)
    for name in ("a.csv.gz", "b.csv.gz"):
        write_table(data, tmp_path / name)
    assert (tmp_path / "a.csv.gz").read_bytes() == (tmp_path / "b.csv.gz").read_bytes()


def test_refused_data_are_not_written(tmp_path):
    with pytest.raises(ValueError, match="weights"):
        write_table(Dataset({"age": [1], "sex": [0]}, DOMAIN, weights=[1.0]), tmp_path / "t.csv")
    twins = Domain({"a": [1, "1"]})
    with pytest.raises(ValueError, match="'a' has two labels that read the same"):
        write_table(Dataset({"a": [0]}, twins), tmp_path / "t.csv")
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_left_when_writing_fails(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("old")
    with pytest.raises(ZeroDivisionError), replacing_text(path) as file:
        file.write(f"half {1 / 0}")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_directory_that_is_not_there(tmp_path):
    path = tmp_path / "none" / "t.csv"
    with pytest.raises(FileNotFoundError) as caught, replacing(path):
        pass
    assert caught.value.filename == str(path)


@pytest.mark.skipif(not Path(os.devnull).is_char_device(), reason="needs a device to write to")
def test_a_device_is_written_to_and_stays():
    with replacing_text(os.devnull) as file:
        file.write("text")
    assert Path(os.devnull).is_char_device()


def test_links_stay_links(tmp_path):
    (tmp_path / "real.csv").write_text("old")
    (tmp_path / "link.csv").symlink_to(tmp_path / "real.csv")
    with replacing_text(tmp_path / "link.csv") as file:
        file.write("new")
    assert (tmp_path / "link.csv").is_symlink()
    assert (tmp_path / "real.csv").read_text() == "new"


def test_domain_from_json(write):
    domain = read_domain(write(json.dumps({"age": 85, "sex": ["F", "M"], "rate": [0.5, 1, True and 2]})))
    assert domain == Domain({"age": 85, "sex": ["F", "M"], "rate": [0.5, 1, 2]})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "must be JSON, but is not at line 1, column 1"),
        ('{"age": 85', "must be JSON"),
        ("[]", "needs an object of attributes"),
        ("{}", "needs an object of attributes"),
        ('{"age": 0}', "'age' needs at least one value, got size 0"),
        ('{"age": -3}', "'age'"),
        ('{"age": 8.5}', "'age' needs a size or a list of labels, got 8.5"),
        ('{"age": NaN}', "'age'"),
        ('{"age": true}', "'age'"),
        ('{"age": "85"}', "'age'"),
        ('{"age": null}', "'age'"),
        ('{"age": {"low": 0}}', "'age'"),
        ('{"age": []}', "'age' needs at least one label"),
        ('{"sex": ["F", "F"]}', "label 'F' comes more than once"),
        ('{"sex": ["F", null]}', "'sex' needs labels that are text or numbers, got None"),
        ('{"sex": [["F"]]}', "'sex'"),
        ('{"age": 85, "age": 84}', "attribute 'age' comes more than once"),
        (b"\xff\xfe", "UTF-8"),
    ],
)
def test_refused_domains(write, text, message):
    with pytest.raises(ValueError, match=message) as caught:
        read_domain(write(text, "domain.json"))
    assert "domain.json" in str(caught.value)


def test_label_texts():
    assert label_texts(DOMAIN, "age") is None
    assert label_texts(Domain({"a": [1, 2.5, "x"]}), "a") == ["1", "2.5", "x"]
    with pytest.raises(ValueError, match="read the same"):
        label_texts(Domain({"a": [1.0, "1.0"]}), "a")


def test_a_long_list_of_labels_is_cut():
    with pytest.raises(ValueError, match=r"'v7', … \(20 in all\)$"):
        codes_of_text(Domain({"a": [f"v{i}" for i in range(20)]}), "a", "none", None)


@pytest.mark.skipif("PYPGM_DATA" not in os.environ, reason="needs outside tables: set PYPGM_DATA")
def test_a_real_table(tmp_path):
    folder = Path(os.environ["PYPGM_DATA"], "adult")
    domain = read_domain(folder / "domain.json")
    data = read_table(folder / "adult.csv.gz", domain)
    with gzip.open(folder / "adult.csv.gz", "rt") as file:
        rows = list(csv.DictReader(file))
    for name in domain:
        assert data.columns[name].tolist() == [int(row[name]) for row in rows]
    write_table(data, tmp_path / "out.csv")
    with gzip.open(folder / "adult.csv.gz", "rb") as file:
        assert (tmp_path / "out.csv").read_bytes() == file.read()


class Counting(io.StringIO):
    """A text that counts how often it is read or written."""

    calls = 0

    def read(self, size=-1):
        self.calls += 1
        return super().read(size)

    def readline(self, size=-1):
        self.calls += 1
        return super().readline(size)

    def write(self, text):
        self.calls += 1
        return super().write(text)


def test_files_are_read_and_written_many_rows_at_a_time():
    file, rows = Counting(newline=""), [["1", "x"]] * 9000
    write_rows(file, rows)
    assert file.calls < 9
    assert file.getvalue() == "1,x\n" * 9000
    file.seek(0)
    file.calls = 0
    assert list(csv_rows("t.csv", file)) == rows
    assert file.calls < 9


def test_only_rows_with_line_breaks_in_them_keep_those():
    file = io.StringIO(newline="")
    write_rows(file, [["1", "a\r\nb"], ["2", "c"]])
    assert file.getvalue() == '1,"a\r\nb"\n2,c\n'


@pytest.mark.parametrize("delimiter", [",", ";", "\t", " "])
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
@pytest.mark.parametrize("width", [1, 2, 5])
def test_rows_are_written_as_the_module_csv_writes_them(delimiter, line_end, width):
    fields = ["", "a", "b c", '"', "1,5", "x;y", "t\tt", "é", "a\nb", "a\rb", "a\r\nb", 7, None, 0.5, "'", "\x85"]
    fields += ["\0"] if sys.version_info >= (3, 11) else []  # the module refuses it before
    choose = random.Random(width).choices
    for n_fields in (4, len(fields)):  # few of them, without a reason for quotes
        for _ in range(40):
            rows = [choose(fields[:n_fields], k=width) for _ in range(3)]
            file, wanted = io.StringIO(newline=""), io.StringIO(newline="")
            write_rows(file, rows, Dialect(delimiter=delimiter), line_end=line_end)
            for row in rows:
                line = io.StringIO(newline="")
                csv.writer(line, delimiter=delimiter, lineterminator="\r\n").writerow(row)
                wanted.write(line.getvalue()[:-2] + line_end)
            assert file.getvalue() == wanted.getvalue()
