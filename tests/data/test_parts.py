"""Tables in parts at both doors: every form gives the records that memory has, in pieces where they may not fit it."""

from __future__ import annotations

import gzip
import json
from functools import partial

import numpy as np
import pytest

import pypgm
from pypgm.cli import main
from pypgm.data import StreamedTable, scan
from pypgm.data.sources import opened
from pypgm.privacy.counts import has_rows, part_of, pieces_of

pyarrow = pytest.importorskip("pyarrow")
pandas = pytest.importorskip("pandas")
parquet = pytest.importorskip("pyarrow.parquet")

FIELDS = {
    "columns": {
        "a": {"kind": "integer", "low": 0, "high": 99, "width": 10},
        "job": {"kind": "open", "share": 0.2},
        "wage": {"kind": "real", "low": 0, "high": 100, "bins": {"quantiles": 4, "share": 0.2}},
        "month": ["01", "02"],
    }
}
BUDGET = {"epsilon": 5, "delta": 1e-9, "unsafe_seed": 3}
N = 3000


def table():
    rng = np.random.default_rng(4)
    return pandas.DataFrame(
        {
            "a": rng.integers(0, 100, N),
            "job": np.array(["cook", "smith", "nurse"])[rng.integers(0, 3, N)],
            "wage": (rng.random(N) * 100).round(3),
            "month": np.repeat(["01", "02"], N // 2),
        }
    )


def halves():
    whole = table()
    return {month: part.drop(columns="month") for month, part in whole.groupby("month", sort=True)}


def in_folders(tmp_path):
    for month, part in halves().items():
        (tmp_path / f"month={month}").mkdir()
        part.to_parquet(tmp_path / f"month={month}" / "0.parquet", index=False)
    return tmp_path


def in_files(tmp_path):
    for i, first in enumerate(range(0, N, 1000)):
        table()[first : first + 1000].to_parquet(tmp_path / f"{i}.parquet", index=False)
    return tmp_path


def in_packed_csv(tmp_path):
    for i, first in enumerate(range(0, N, 1000)):
        text = table()[first : first + 1000].to_csv(index=False)
        (tmp_path / f"{i}.csv.gz").write_bytes(gzip.compress(text.encode()))
    return str(tmp_path / "*.csv.gz")


def in_one_file(tmp_path):
    table().to_parquet(tmp_path / "t.parquet", index=False)
    return tmp_path / "t.parquet"


def as_dataset(tmp_path):
    return pytest.importorskip("pyarrow.dataset").dataset(in_files(tmp_path))


def as_hive_dataset(tmp_path):
    types = pyarrow.schema([("month", pyarrow.string())])
    dataset = pytest.importorskip("pyarrow.dataset")
    return dataset.dataset(in_folders(tmp_path), partitioning=dataset.partitioning(types, flavor="hive"))


def as_lazy_frame(tmp_path):
    return pytest.importorskip("polars").scan_parquet(in_files(tmp_path) / "*.parquet")


def as_dask_frame(tmp_path):
    return pytest.importorskip("dask.dataframe").from_pandas(table(), npartitions=3)


def behind_addresses(tmp_path, suffix="parquet"):
    store = pytest.importorskip("fsspec").filesystem("memory")
    store.rm("/t", recursive=True) if store.exists("/t") else None
    for i, first in enumerate(range(0, N, 1000)):
        part = table()[first : first + 1000]
        packed = gzip.compress(part.to_csv(index=False).encode())
        store.pipe(f"/t/{i}.{suffix}", part.to_parquet(index=False) if suffix == "parquet" else packed)
    return f"memory://t/*.{suffix}"


def in_a_folder_behind_an_address(tmp_path):
    folder = behind_addresses(tmp_path).partition("*")[0]
    store = pytest.importorskip("fsspec").filesystem("memory")
    for name in ("_delta_log/9.parquet", ".old/day=1/0.parquet", "_0.parquet", "notes.txt"):
        store.pipe(f"/t/{name}", store.cat("/t/0.parquet"))
    return folder


FORMS = {
    "addresses": behind_addresses,
    "addresses of packed CSV": lambda tmp_path: behind_addresses(tmp_path, "csv.gz"),
    "a folder behind an address": in_a_folder_behind_an_address,
    "folder": in_files,
    "pattern": lambda tmp_path: str(in_files(tmp_path) / "*.parquet"),
    "list": lambda tmp_path: sorted(in_files(tmp_path).glob("*.parquet")),
    "hive folders": in_folders,
    "packed CSV": in_packed_csv,
    "one file": in_one_file,
    "dataset": as_dataset,
    "hive dataset": as_hive_dataset,
    "lazy frame": as_lazy_frame,
    "dask frame": as_dask_frame,
}


@pytest.fixture
def small(monkeypatch):
    """A machine in whose memory no table fits."""
    monkeypatch.setattr(opened, "_PARTS", 1 << 60)


def same(release, other):
    assert release.schema == other.schema
    for found, right in zip(release.measurements, other.measurements, strict=True):
        np.testing.assert_array_equal(found.values, right.values)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("form", FORMS)
def test_each_form_is_read_in_pieces_and_releases_what_memory_does(form, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(opened, "read_source", None)  # reads a table whole
    source = FORMS[form](tmp_path)
    assert isinstance(scan(source, FIELDS), StreamedTable)
    release = pypgm.synthesize(source, FIELDS, **BUDGET, progress=True)
    same(release, pypgm.synthesize(table(), FIELDS, **BUDGET))
    assert "pieces" not in capsys.readouterr().err  # which would tell of the number of records


def test_what_fits_is_read_whole(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("pypgm.data.sources.streamed.in_pieces", None)
    pypgm.synthesize(in_files(tmp_path), FIELDS, **BUDGET, progress=True)
    assert "in pieces" not in capsys.readouterr().err


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(
    "form", ["folder", "pattern", "addresses", "addresses of packed CSV", "hive folders", "packed CSV", "one file"]
)
def test_the_command_reads_them_in_pieces(form, tmp_path, monkeypatch):
    monkeypatch.setattr(opened, "read_source", None)
    (tmp_path / "in").mkdir()
    source, out, schema = FORMS[form](tmp_path / "in"), tmp_path / "out.parquet", tmp_path / "schema.json"
    schema.write_text(json.dumps(FIELDS))
    assert not main(f"synth {source} --schema {schema} --epsilon 5 --delta 1e-9 --out {out} --rows 50 --quiet".split())
    assert parquet.read_table(out).num_rows == 50


def test_a_file_behind_an_address_that_was_written_again_is_noticed(tmp_path):
    source = behind_addresses(tmp_path)
    scanned = scan(source, FIELDS)
    pytest.importorskip("fsspec").filesystem("memory").pipe("/t/1.parquet", table()[:7].to_parquet(index=False))
    with pytest.raises(pypgm.errors.SourceError, match=r"1\.parquet changed while it was counted"):
        list(scanned.codes_of(["a"]))


def test_results_are_not_written_behind_addresses(tmp_path, capsys):
    release = pypgm.synthesize({"a": [0, 1, 1] * 99}, {"a": 2}, epsilon=1, delta=1e-9)
    release.save(tmp_path / "r.pgm")
    refused = "is an address: write a file of this machine, and copy it there"
    for write in (release.write, release.save, partial(release.write, rows=10, parts=2)):
        with pytest.raises(ValueError, match=f"memory://t/out.csv {refused}"):
            write("memory://t/out.csv")
    assert main(["sample", str(tmp_path / "r.pgm"), "--out", "memory://t/out.csv"]) == 2
    assert refused in capsys.readouterr().err


def test_addresses_without_files_are_refused(tmp_path):
    pytest.importorskip("fsspec")
    with pytest.raises(FileNotFoundError, match=r"no such file can be read: memory://nothing/\*\.parquet"):
        scan("memory://nothing/*.parquet", FIELDS)
    with pytest.raises(FileNotFoundError, match=r"no such file can be read: memory://nothing/t\.csv"):
        scan("memory://nothing/t.csv", FIELDS)
    with pytest.raises(ValueError, match="memory://t is a folder, whose address has to end in a slash"):
        scan(behind_addresses(tmp_path).partition("/*")[0], FIELDS)
    with pytest.raises(pypgm.errors.ReadingError, match="reaching nowhere://here/t"):
        scan("nowhere://here/t.parquet", FIELDS)


@pytest.mark.parametrize("is_part", [False, True])
def test_whether_a_table_has_rows_does_not_hang_on_how_it_is_read(is_part, tmp_path):
    """Its size decides that, and the number of rows is private."""
    path, schema = tmp_path / "t.csv", pypgm.Schema.of(pypgm.Domain({"a": 3, "b": 2}))
    path.write_text("a,b\n0,1\n2,0\n1,1\n")
    tables = pypgm.read_table(path, schema), scan(path, schema)
    tables = [part_of(table, schema.domain.project(["b"])) for table in tables] if is_part else tables
    assert [has_rows(table) for table in tables] == [True, True]
    names = ("b",)
    codes = [np.concatenate([piece["b"] for piece in pieces_of(table, names)]).tolist() for table in tables]
    assert codes == [[1, 0, 1]] * 2
