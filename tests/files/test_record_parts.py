"""Folders of synthetic records: the same table whatever the parts, the processes and the interruptions."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from peak_memory import printed_numbers

import pypgm
from pypgm import cli
from pypgm.data.sources.files import replacing
from pypgm.files import record_parts, record_table
from pypgm.files.record_table import RecordTable

SCHEMA = {
    "id": {"kind": "id", "format": "M-{:06d}"},
    "age": {"kind": "integer", "low": 0, "high": 99, "width": 10},
    "sex": ["F", "M"],
    "paid": {"kind": "real", "low": 0, "high": 1000, "bins": 10},
    "city": ["Ash", "Elm", "Fox"],
    "region": {"kind": "derived", "from": "city", "mapping": {"Ash": "N", "Elm": "N", "Fox": "S"}},
}
BLOCK = 1000


def made(n=400):
    rng = np.random.default_rng(0)
    age, sex = rng.integers(0, 100, n), np.array(["F", "M"])[rng.integers(0, 2, n)]
    paid, city = rng.uniform(0, 1000, n).round(2), np.array(["Ash", "Elm", "Fox"])[rng.integers(0, 3, n)]
    table = {"age": age.tolist(), "sex": sex.tolist(), "paid": paid.tolist(), "city": city.tolist()}
    return pypgm.synthesize(table, SCHEMA, epsilon=5, delta=1e-9, unsafe_seed=1)


@pytest.fixture(scope="module")
def release():
    return made()


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(record_table, "BLOCK", BLOCK)
    monkeypatch.setattr(pypgm.GraphicalModel.blocks, "__kwdefaults__", {"evidence": None, "size": BLOCK})


def files_in(folder):
    return sorted(path for path in Path(folder).iterdir() if path.name.startswith("part-"))


def lines_of(folder):
    """Return the lines of all parts of CSV after one header."""
    texts = [path.read_text().splitlines() for path in files_in(folder)]
    assert len({text[0] for text in texts}) == 1
    return [texts[0][0], *(line for text in texts for line in text[1:])]


@pytest.mark.usefixtures("small_blocks")
@given(rows=st.integers(0, 4500), parts=st.integers(1, 9), seed=st.integers(0, 2**64))
def test_parts_are_one_table(release, tmp_path_factory, rows, parts, seed):
    folder = tmp_path_factory.mktemp("t")
    release.write(folder / "one.csv", rows, seed)
    release.write(folder / "parts.csv", rows, seed, parts=parts)
    one = (folder / "one.csv").read_text().splitlines()
    assert lines_of(folder / "parts.csv") == one
    assert len(one) == rows + 1
    assert [line.partition(",")[0] for line in one[1:]] == [f"M-{n:06d}" for n in range(1, rows + 1)]
    sizes = [len(path.read_text().splitlines()) - 1 for path in files_in(folder / "parts.csv")]
    assert max(sizes) - min(sizes) <= 1


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("ending", [".csv", ".csv.gz", ".jsonl", ".parquet", ""])
def test_every_format_has_the_same_records_in_parts(release, tmp_path, ending):
    pytest.importorskip("pyarrow")
    release.write(tmp_path / f"one{ending or '.parquet'}", 3456, 5)
    release.write(tmp_path / f"parts{ending}", 3456, 5, parts=7)
    names = ["age", "sex", "paid", "city"]
    schema = {name: SCHEMA[name] for name in names}
    read = [
        pypgm.read_table(path, schema, ignore_extra=True)
        for path in (tmp_path / f"one{ending or '.parquet'}", tmp_path / f"parts{ending}")
    ]
    assert len(read[0]) == 3456
    assert all(np.array_equal(read[0].columns[name], read[1].columns[name]) for name in names)


def test_small_tables_are_those_of_one_draw(release, tmp_path):
    """Up to one block nothing has changed: the codes are those of `synthetic_data` with the same seed."""
    release.write(tmp_path / "parts.csv", 700, 3, parts=4)
    schema = {name: SCHEMA[name] for name in ("age", "sex", "paid", "city")}
    records, drawn = pypgm.read_table(tmp_path / "parts.csv", schema, ignore_extra=True), release.synthetic_data(700, 3)
    assert all(np.array_equal(records.columns[name], drawn.columns[name]) for name in schema)


@pytest.mark.usefixtures("small_blocks")
def test_single_parts_anywhere(release, tmp_path):
    release.write(tmp_path / "all.csv", 3210, 9, parts=5)
    for part in (3, [0, 4], 1, [2, 1]):
        assert not (tmp_path / "some.csv" / "_SUCCESS").exists()
        release.write(tmp_path / "some.csv", 3210, 9, parts=5, part=part)
    assert [path.read_bytes() for path in files_in(tmp_path / "some.csv")] == [
        path.read_bytes() for path in files_in(tmp_path / "all.csv")
    ]
    whole = json.loads((tmp_path / "some.csv" / "_SUCCESS").read_text())
    assert whole == json.loads((tmp_path / "all.csv" / "_SUCCESS").read_text())
    assert (whole["records"], whole["release"]) == (3210, release.digest)
    assert [file["records"] for file in whole["files"]] == [642] * 5


def test_processes_write_the_same(release, tmp_path):
    release.write(tmp_path / "one.csv", 3000, 9, evidence={"age": "30..59"}, parts=3)
    release.write(tmp_path / "two.csv", 3000, 9, evidence={"age": "30..59"}, parts=3, processes=2)
    assert [path.read_bytes() for path in files_in(tmp_path / "one.csv")] == [
        path.read_bytes() for path in files_in(tmp_path / "two.csv")
    ]
    assert {line.split(",")[1][0] for line in lines_of(tmp_path / "one.csv")[1:]} == {"3", "4", "5"}


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("seed", [11, None])
@pytest.mark.parametrize("after", [0, 2])
def test_what_was_interrupted_goes_on(release, tmp_path, monkeypatch, seed, after):
    real, written = RecordTable.write, []

    def failing(self, path, *bounds):
        if len(written) == after:
            with replacing(path) as file:
                file.write(b"half")
                raise OSError(28, "No space left on device")
        real(self, path, *bounds)
        written.append(path)

    monkeypatch.setattr(RecordTable, "write", failing)
    with pytest.raises(OSError, match="No space"):
        release.write(tmp_path / "t.csv", 2500, seed, parts=4)
    kept = {path: path.stat().st_mtime_ns for path in files_in(tmp_path / "t.csv")}
    assert len(kept) == after
    assert not (tmp_path / "t.csv" / "_SUCCESS").exists()
    monkeypatch.undo()
    monkeypatch.setattr(record_table, "BLOCK", BLOCK)
    monkeypatch.setattr(pypgm.GraphicalModel.blocks, "__kwdefaults__", {"evidence": None, "size": BLOCK})
    release.write(tmp_path / "t.csv", 2500, seed, parts=4)
    assert all(path.stat().st_mtime_ns == time for path, time in kept.items())
    planned = json.loads((tmp_path / "t.csv" / "_SUCCESS").read_text())["seed"]
    release.write(tmp_path / "whole.csv", 2500, planned)
    assert lines_of(tmp_path / "t.csv") == (tmp_path / "whole.csv").read_text().splitlines()


KILLED = """
import os, sys
import pypgm
from pypgm.files.record_table import RecordTable

real = RecordTable.write

def write(table, path, *bounds):
    if "part-00002" in str(path):
        path.with_name(".0123.part").write_bytes(b"half")
        os.utime(path.with_name(".0123.part"), (0, 0))  # long ago
        os.kill(os.getpid(), 9)
    real(table, path, *bounds)

RecordTable.write = write
pypgm.load(sys.argv[1]).write(sys.argv[2], 900, 4, parts=4)
"""


def test_what_was_killed_goes_on(release, tmp_path):
    release.save(tmp_path / "r.pgm")
    folder = tmp_path / "t.csv"
    command = [sys.executable, "-c", KILLED, str(tmp_path / "r.pgm"), str(folder)]
    assert subprocess.run(command, check=False, cwd=tmp_path).returncode == -9
    assert len(files_in(folder)) == 2
    pypgm.load(tmp_path / "r.pgm").write(folder, 900, 4, parts=4)
    release.write(tmp_path / "one.csv", 900, 4)
    assert lines_of(folder) == (tmp_path / "one.csv").read_text().splitlines()
    assert {path.name for path in folder.iterdir()} == {"_SUCCESS", "_plan.json", *(p.name for p in files_in(folder))}


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"rows": 901}, "records is 900, not 901"),
        ({"rng": 5}, "seed is 4, not 5"),
        ({"evidence": {"sex": "F"}}, "their evidence is"),
        ({"parts": 5}, "other files"),
    ],
)
def test_folders_of_other_records(release, tmp_path, changed, message):
    pytest.importorskip("pyarrow")
    asked = {"rows": 900, "rng": 4, "parts": 4}
    release.write(tmp_path / "t", **asked)
    before = {path: path.read_bytes() for path in (tmp_path / "t").iterdir()}
    with pytest.raises(ValueError, match=message):
        release.write(tmp_path / "t", **asked | changed)
    assert {path: path.read_bytes() for path in (tmp_path / "t").iterdir()} == before


def test_a_folder_of_another_release(release, tmp_path):
    pytest.importorskip("pyarrow")
    release.write(tmp_path / "t", 900, 4, parts=4)
    with pytest.raises(ValueError, match="their release is"):
        made(300).write(tmp_path / "t", 900, 4, parts=4)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"parts": 0}, "parts must be at least 1"),
        ({"parts": 10**6}, "at most 100000 parts"),
        ({"parts": 3, "part": 3, "rng": 1}, "below 3"),
        ({"parts": 3, "part": -1, "rng": 1}, "at least 0"),
        ({"parts": 3, "part": 1}, "need a seed"),
        ({"parts": 3, "processes": 0}, "processes must be at least 1"),
        ({"part": 1}, "parts of a folder"),
        ({"processes": 2}, "parts of a folder"),
    ],
)
def test_arguments_that_do_not_fit(release, tmp_path, options, message):
    with pytest.raises(ValueError, match=message):
        release.write(tmp_path / "t.csv", 10, **options)
    assert list(tmp_path.iterdir()) == []


def test_places_that_are_no_folders_of_parts(release, tmp_path):
    pytest.importorskip("pyarrow")
    (tmp_path / "file.csv").write_text("mine")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "people.csv").write_text("mine")
    for name, message in {"file.csv": "is a file", "mine": "other files", "none/t": "no directory"}.items():
        with pytest.raises(ValueError, match=message):
            release.write(tmp_path / name, 10, parts=2)
    (tmp_path / "odd").mkdir()
    (tmp_path / "odd" / "_plan.json").write_text('{"parts": 2}')
    with pytest.raises(ValueError, match="not a plan"):
        release.write(tmp_path / "odd", 10, parts=2)


def sampled(folder, *options):
    return cli.main(["sample", str(folder / "r.pgm"), "--rows", "900", "--quiet", *options])


def test_the_command(release, tmp_path, capsys):
    release.save(tmp_path / "r.pgm")
    assert sampled(tmp_path, "--seed", "4", "--out", str(tmp_path / "one.csv")) == 0
    assert sampled(tmp_path, "--seed", "4", "--out", str(tmp_path / "t.csv"), "--parts", "3", "--part", "1") == 0
    assert [path.name for path in files_in(tmp_path / "t.csv")] == ["part-00001-of-00003.csv"]
    assert sampled(tmp_path, "--seed", "4", "--out", str(tmp_path / "t.csv"), "--parts", "3", "--json") == 0
    assert json.loads(capsys.readouterr().out)["records"] == 900
    assert lines_of(tmp_path / "t.csv") == (tmp_path / "one.csv").read_text().splitlines()
    for options in (
        ["--parts", "3", "--part", "1"],
        ["--part", "1"],
        ["--processes", "2"],
        ["--parts", "4", "--seed", "4"],
    ):
        assert sampled(tmp_path, "--out", str(tmp_path / "t.csv"), *options) == 2
        assert capsys.readouterr().err.count("\n") == 1


def test_a_model_without_a_release(tmp_path):
    domain = pypgm.Domain({"a": 3, "b": ["x", "y"]})
    model = pypgm.GraphicalModel(pypgm.CliqueVector(domain, [("a", "b")]), total=100.0)
    model.save(tmp_path / "r.pgm")
    assert sampled(tmp_path, "--seed", "1", "--out", str(tmp_path / "t.csv"), "--parts", "3") == 0
    assert sampled(tmp_path, "--seed", "1", "--out", str(tmp_path / "one.csv")) == 0
    assert lines_of(tmp_path / "t.csv") == (tmp_path / "one.csv").read_text().splitlines()


def test_models_that_draw_independent_records(tmp_path, monkeypatch):
    monkeypatch.setattr(record_table, "BLOCK", BLOCK)
    rng = np.random.default_rng(0)
    data = pypgm.Dataset({"a": rng.integers(0, 3, 500), "b": rng.integers(0, 2, 500)}, pypgm.Domain({"a": 3, "b": 2}))
    release = pypgm.bayes.learn_private(data, {"b": ["a"]}, epsilon=5, delta=1e-9, unsafe_seed=1)
    release.write(tmp_path / "one.csv", 2500, 3)
    release.write(tmp_path / "parts.csv", 2500, 3, parts=4)
    assert lines_of(tmp_path / "parts.csv") == (tmp_path / "one.csv").read_text().splitlines()
    assert len(set((tmp_path / "one.csv").read_text().splitlines())) > 3


MEMORY = """
import sys
import pypgm
release = pypgm.load(sys.argv[1])
release.write(sys.argv[2] + "/warm.csv", 400_000, 0)
for rows in (400_000, 2_400_000):
    before = now()
    release.write(f"{sys.argv[2]}/{rows}.csv", rows, 0)
    print(peak() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_memory_does_not_grow_with_the_records(release, tmp_path):
    release.save(tmp_path / "r.pgm")
    few, many = printed_numbers(MEMORY, str(tmp_path / "r.pgm"), str(tmp_path))
    assert many < few + 2**23  # a draw of all at once takes 8 times that


def test_parts_are_no_data_while_they_are_written(release, tmp_path):
    """Names of what is not whole begin as those that readers of folders leave out."""
    release.write(tmp_path / "t.csv", 50, 1, parts=2)
    others = {path.name for path in (tmp_path / "t.csv").iterdir()} - {
        path.name for path in files_in(tmp_path / "t.csv")
    }
    assert all(name.startswith(("_", ".")) for name in others)
    assert record_parts.DONE in others
    assert os.listdir(tmp_path) == ["t.csv"]


@pytest.mark.parametrize("name", ["x.CSV", "x.Parquet", "x.xlsx", "x.txt", "x.json"])
def test_folders_whose_name_is_of_another_format(release, tmp_path, name):
    pytest.importorskip("pyarrow")
    with pytest.raises(ValueError, match=f"{name} ends as no format that is written here"):
        release.write(tmp_path / name, 10, 0, parts=2)
    assert not list(tmp_path.iterdir())
    release.write(tmp_path / "v1.2", 10, 0, parts=2)  # any other ending is a name
    assert (tmp_path / "v1.2" / "part-00001-of-00002.parquet").exists()


def test_parts_do_not_go_to_the_standard_output(release, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    release.save("r.pgm")
    assert cli.main(["sample", "r.pgm", "--rows", "10", "--parts", "2", "--out", "-"]) == 2
    assert "not to the standard output" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["r.pgm"]
