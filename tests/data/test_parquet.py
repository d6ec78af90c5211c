"""Parquet files: what is written is read again, in the types its columns have; without pyarrow they are refused."""

from __future__ import annotations

import sys
import tracemalloc

import numpy as np
import pytest

import pypgm
from pypgm.cli import main
from pypgm.data import Boolean, Categorical, Date, Integer, Real
from pypgm.data.draft import draft_schema

SCHEMA = pypgm.Schema(
    {
        "sex": ["F", "M"],
        "code": 5,
        "age": Integer(0, 99, width=10, null="?"),
        "wage": Real(0, 100, bins=4, outside="other"),
        "hired": Date("2020-01-01", "2021-12-31", "month", null=""),
        "shift": Date("2020-01-01", "2020-01-02", "hour"),
        "active": Boolean(),
        "floor": Categorical([-1, 0, "attic"], null="none"),
    },
    drop=["id"],
)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    return pypgm.Dataset({a: rng.integers(0, SCHEMA.domain.size(a), 3000) for a in SCHEMA.domain}, SCHEMA.domain)


def same(one, other):
    assert one.domain == other.domain
    for name in one.domain:
        np.testing.assert_array_equal(one.columns[name], other.columns[name])


def test_a_table_comes_back(data, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "table.parquet"
    pypgm.write_table(data, path, SCHEMA, rng=0)
    same(pypgm.read_table(path, SCHEMA), data)
    types = {f.name: str(f.type).partition("[m")[0] for f in parquet.read_schema(path)}
    assert types == {
        "sex": "string",
        "code": "int64",
        "age": "int64",
        "wage": "string",
        "hired": "date32[day]",
        "shift": "timestamp",
        "active": "bool",
        "floor": "string",
    }
    again = tmp_path / "again.parquet"
    pypgm.write_table(data, again, SCHEMA, rng=0)
    assert parquet.read_table(again).equals(parquet.read_table(path))
    plain = pypgm.Dataset({"sex": [0, 1]}, pypgm.Domain({"sex": ["F", "M"]}))
    pypgm.write_table(plain, path)
    same(pypgm.read_table(path, plain.domain), plain)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["again.parquet", "table.parquet"]


def test_neither_the_file_nor_a_second_copy_of_its_codes_is_held(tmp_path):
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    given = np.random.default_rng(0).integers(0, 250, 4_000_000).astype(np.uint8)
    path = tmp_path / "many.parquet"
    schema = pypgm.Schema({"n": Integer(0, 249)})
    for some in (given[:100], given):
        parquet.write_table(arrow.table({"n": some}), path, row_group_size=1 << 17)
        tracemalloc.start()  # the first time it imports what it needs
        codes = pypgm.read_table(path, schema).columns["n"]
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    np.testing.assert_array_equal(codes, given)
    assert most < 1.25 * codes.nbytes + 2**21  # and a piece, as numbers of eight bytes


def test_what_is_wrong_is_told(data, tmp_path):
    pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "table.parquet"
    pypgm.write_table(data, path, SCHEMA, rng=0)
    with pytest.raises(ValueError, match=r"table.parquet has columns that the domain does not: 'code', 'age'"):
        pypgm.read_table(path, pypgm.Domain({"sex": ["F", "M"]}))
    assert len(pypgm.read_table(path, pypgm.Domain({"sex": ["F", "M"]}), ignore_extra=True)) == 3000
    with pytest.raises(ValueError, match=r"table.parquet: column 'code', row \d+ \(the first is 0\): needs an integer"):
        pypgm.read_table(path, pypgm.Schema({**SCHEMA.columns, "code": 3}))
    with pytest.raises(ValueError, match="only a CSV file has a dialect"):
        pypgm.read_table(path, SCHEMA, delimiter=";")
    path.write_bytes(path.read_bytes()[:1000])
    with pytest.raises(ValueError, match="is damaged, or a piece of it") as caught:
        pypgm.read_table(path, SCHEMA)
    with pytest.raises(FileNotFoundError):
        pypgm.read_table(tmp_path / "none.parquet", SCHEMA)
    assert caught.value.__context__ is caught.value.__cause__ is None  # which quote what they read


def test_the_command_reads_and_writes_it(data, tmp_path, capsys):
    pytest.importorskip("pyarrow.parquet")
    SCHEMA.save(tmp_path / "schema.json")
    pypgm.write_table(data, tmp_path / "table.parquet", SCHEMA, rng=0)
    out = tmp_path / "out.parquet"
    budget = ["--epsilon", "10", "--delta", "1e-9"]
    arguments = [tmp_path / "table.parquet", "--schema", tmp_path / "schema.json", *budget, "--out", out]
    assert main(["synth", *map(str, arguments), "--mechanism", "mst", "--model", str(tmp_path / "r.pgm")]) == 0
    assert len(pypgm.read_table(out, SCHEMA)) > 2900
    assert main(["sample", str(tmp_path / "r.pgm"), "--rows", "7", "--out", str(tmp_path / "more.parquet")]) == 0
    assert len(pypgm.read_table(tmp_path / "more.parquet", SCHEMA)) == 7
    capsys.readouterr()


def test_without_pyarrow_it_is_refused_before_anything_is_spent(data, tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(ImportError, match=r"table.parquet is Parquet, which needs pyarrow: pip install pypgm"):
        pypgm.write_table(data, tmp_path / "table.parquet", SCHEMA)
    SCHEMA.save(tmp_path / "schema.json")
    pypgm.write_table(data, tmp_path / "table.csv", SCHEMA, rng=0)
    arguments = [tmp_path / "table.csv", "--schema", tmp_path / "schema.json", "--out", tmp_path / "out.parquet"]
    assert main(["synth", *map(str, arguments), "--epsilon", "1", "--delta", "1e-9"]) == 2
    assert "pip install pypgm[parquet]" in capsys.readouterr().err
    assert sorted(p.name for p in tmp_path.iterdir()) == ["schema.json", "table.csv"]


def test_a_draft_takes_bytes_for_the_text_that_they_are(tmp_path):
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "bytes.parquet"
    parquet.write_table(pyarrow.table({"job": pyarrow.array(["cook", "é", None] * 20).cast("binary")}), path)
    drafted = pypgm.Schema.from_dict(draft_schema(path))
    assert set(drafted.columns["job"].value_labels) == {"cook", "é"}
    assert pypgm.read_table(path, drafted).n_records == 60
    parquet.write_table(pyarrow.table({"id": [1, 2] * 20, "job": pyarrow.array([b"a", b"\xff"] * 20)}), path)
    with pytest.raises(ValueError, match="column 'job' has bytes that are no text in UTF-8"):
        draft_schema(path)
