"""Codes that are kept of a scan: the same counts and releases as by reading again, and no second encoding."""

from __future__ import annotations

import gc
import os
import tempfile
from typing import Any

import numpy as np
import pytest

import pypgm
from pypgm.data import Codes, Schema, scan
from pypgm.data.sources import kept_codes, streamed

parquet = pytest.importorskip("pyarrow.parquet")

CLOSED = {
    "a": {"kind": "integer", "low": 0, "high": 99, "width": 10},
    "b": ["x", "y", "z"],
    "d": {"kind": "date", "low": "2020-01-01", "high": "2020-12-31", "resolution": "month"},
    "big": 40_000,
}
OPEN = CLOSED | {
    "job": {"kind": "open", "share": 0.2},
    "wage": {"kind": "real", "low": 0, "high": 100, "bins": {"quantiles": 4, "share": 0.2}},
}
BUDGET: dict[str, Any] = {"epsilon": 5, "delta": 1e-9, "unsafe_seed": 3, "mechanism": "mst"}
CLIQUES = [("a", "b", "d"), ("big",), ("b", "big")]


def table(n=4000):
    rng = np.random.default_rng(4)
    return {
        "a": rng.integers(0, 100, n),
        "b": np.array(["x", "y", "z"])[rng.integers(0, 3, n)],
        "d": np.datetime64("2020-01-01") + rng.integers(0, 366, n),
        "big": rng.integers(0, 40_000, n),
        "job": np.array(["cook", "smith", "nurse"])[rng.integers(0, 3, n)],
        "wage": rng.random(n) * 100,
    }


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("parts")
    arrow = pytest.importorskip("pyarrow").table(table())
    for i, (first, last) in enumerate([(0, 1500), (1500, 1500), (1500, 3999), (3999, 4000)]):
        parquet.write_table(arrow.slice(first, last - first), folder / f"{i}.parquet")
    return folder


def closed():
    return Schema.from_dict({"columns": CLOSED})


@pytest.fixture(params=[1 << 28, 9000, 0], ids=["memory", "both", "file"])
def held(request, monkeypatch):
    monkeypatch.setattr(kept_codes, "_HELD", request.param)
    monkeypatch.setattr(streamed, "_ROWS", 700)
    return request.param


def encodings(monkeypatch):
    """Names of the columns of each encoding that follows."""
    seen = []
    real = streamed.encoded_pieces
    monkeypatch.setattr(
        streamed, "encoded_pieces", lambda columns, *more: seen.append([*columns]) or real(columns, *more)
    )
    return seen


@pytest.mark.usefixtures("held")
def test_each_column_is_encoded_once_and_counts_are_those_of_memory(folder, monkeypatch):
    seen, expected = encodings(monkeypatch), closed().encode({n: v for n, v in table().items() if n in CLOSED})
    scanned = scan(folder, closed(), ignore_extra=True)
    for found, right in zip(scanned.count(CLIQUES), expected.count(CLIQUES), strict=True):
        np.testing.assert_array_equal(found, right)
    for names in (["a"], ["big", "d"]):
        codes = list(scanned.codes_of(names))
        for name in names:
            np.testing.assert_array_equal(np.concatenate([part[name] for part in codes]), expected.columns[name])
    assert seen == [list(CLOSED)]


@pytest.mark.usefixtures("held")
def test_what_is_settled_alone_is_encoded_again_and_releases_are_those_of_memory(folder, monkeypatch):
    schema = Schema.from_dict({"columns": OPEN})
    in_memory = pypgm.synthesize(table(), schema, **BUDGET)
    seen = encodings(monkeypatch)
    release = pypgm.synthesize(scan(folder, schema), **BUDGET)
    assert seen == [list(OPEN), ["job", "wage"]]
    assert release.schema == in_memory.schema
    for found, right in zip(release.measurements, in_memory.measurements, strict=True):
        np.testing.assert_array_equal(found.values, right.values)


def test_a_disk_without_room_is_a_table_that_is_read_again(folder, monkeypatch):
    class Full:
        def seek(self, *_):
            return 0

        def write(self, _):
            raise OSError(28, "No space left on device")

        def close(self):
            pass

    monkeypatch.setattr(kept_codes, "_HELD", 9000)
    monkeypatch.setattr(kept_codes.tempfile, "TemporaryFile", lambda **_: Full())
    seen, expected = encodings(monkeypatch), closed().encode({n: v for n, v in table().items() if n in CLOSED})
    scanned = scan(folder, closed(), ignore_extra=True)
    for found, right in zip(scanned.count(CLIQUES), expected.count(CLIQUES), strict=True):
        np.testing.assert_array_equal(found, right)
    assert len(seen) > 1


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="open files are listed on Linux alone")
def test_no_file_has_a_name_and_none_is_left(folder, monkeypatch, tmp_path):
    monkeypatch.setattr(kept_codes, "_HELD", 0)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    def in_folder():
        links = (os.path.join("/proc/self/fd", fd) for fd in os.listdir("/proc/self/fd"))
        return [path for path in map(os.readlink, filter(os.path.islink, links)) if path.startswith(str(tmp_path))]

    scanned = scan(folder, closed(), ignore_extra=True)
    assert len(in_folder()) == 1
    assert not list(tmp_path.iterdir())
    del scanned
    gc.collect()
    assert not in_folder()


def test_keys_of_persons_are_kept_too(folder, monkeypatch):
    monkeypatch.setattr(kept_codes, "_HELD", 0)
    person = pypgm.data.Person("big", at_most=2)
    schema = Schema({"b": ["x", "y", "z"], "a": Codes(100)}, person=person)
    seen = encodings(monkeypatch)
    release = pypgm.synthesize(scan(folder, schema, ignore_extra=True), **BUDGET)
    rows = {name: table()[name] for name in ("a", "b", "big")}
    expected = pypgm.synthesize(rows, schema, **BUDGET)
    assert len(seen) == 1
    for found, right in zip(release.measurements, expected.measurements, strict=True):
        np.testing.assert_array_equal(found.values, right.values)
