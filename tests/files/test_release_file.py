"""Releases are kept: written first, never over another one, found again whatever happens after they were paid for."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import pypgm
from pypgm import cli
from pypgm.files.record_table import RecordTable
from pypgm.jobs import place as places

DATA = pypgm.Dataset({"a": [0, 1] * 50, "b": [0, 1, 1, 0] * 25}, pypgm.Domain({"a": 2, "b": ["F", "M"]}))
SYNTH = ["synth", "people.csv", "--domain", "domain.json", "--epsilon", "1", "--delta", "1e-9", "--out", "out.csv"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pypgm.write_table(DATA, "people.csv")
    (tmp_path / "domain.json").write_text(json.dumps({"a": 2, "b": ["F", "M"]}))
    return tmp_path


@pytest.fixture
def release():
    return pypgm.mechanisms.mst(DATA, epsilon=1, delta=1e-9)


def unspent(data, **options):
    pytest.fail("spent")


def full(*_, **__):
    raise OSError(errno.ENOSPC, "No space left on device", "out.csv")


def test_the_release_is_kept_beside_the_records(folder, capsys):
    assert cli.main(SYNTH) == 0
    said = capsys.readouterr().err
    assert "out.pgm  the release" in said
    drawn = pypgm.read_table("out.csv", DATA.domain).n_records
    assert f"records    {drawn} synthetic, of about " in said
    found = pypgm.load("out.pgm")
    assert (found.mechanism, found.version) == ("wide", pypgm.__version__)
    assert found.options == {"ordinal": ["a"], "oracle": "auto"}


def test_a_release_is_never_written_over(folder, capsys):
    assert cli.main(SYNTH) == 0
    before = Path("out.pgm").read_bytes()
    Path("out.csv").unlink()
    assert cli.main([*SYNTH, "--epsilon", "2"]) == 2
    assert "out.pgm already exists and is not overwritten" in capsys.readouterr().err
    assert Path("out.pgm").read_bytes() == before


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left on device", "out.csv"), KeyboardInterrupt()])
def test_what_goes_wrong_after_paying_names_release_and_way_on(folder, monkeypatch, capsys, error):
    def broken(*_, **__):
        raise error

    monkeypatch.setattr(RecordTable, "write", broken)
    assert cli.main([*SYNTH, "--quiet"]) == (5 if isinstance(error, KeyboardInterrupt) else 6)
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    for text in ("paid for with epsilon 1.0, delta 1e-09", "whole in out.pgm", "its ledger too"):
        assert text in said
    way = said.split("go on with: pypgm ")[1].split()
    monkeypatch.undo()
    os.chdir(folder)
    assert cli.main(way) == 0
    assert sorted(os.listdir()) == ["domain.json", "out.csv", "out.pgm", "people.csv"]


def test_a_full_disk_is_found_before_anything_is_spent(folder, monkeypatch, capsys):
    monkeypatch.setattr(places.os, "fsync", full)
    monkeypatch.setattr(pypgm.mechanisms, "wide", unspent)
    assert cli.main(SYNTH) == 6
    assert "out.pgm: No space left on device; nothing was spent" in capsys.readouterr().err
    assert sorted(os.listdir()) == ["domain.json", "people.csv"]


def test_a_release_larger_than_its_place_goes_elsewhere(folder, release, monkeypatch):
    (folder / "small").mkdir()
    monkeypatch.setenv("HOME", str(folder))
    real = places._fill

    def filled(path, packed):
        if path.parent.name == "small" or path.parent == Path.cwd():
            full()
        real(path, packed)

    place = places.Place("small/people.pgm")
    monkeypatch.setattr(places, "_fill", filled)
    with (
        pytest.raises(OSError, match=r"No space left on device; the release, paid for with epsilon 1\.0") as error,
        place,
    ):
        place.keep(release)
    found = Path(str(error.value).split("whole in ")[1])
    try:
        assert pypgm.load(found).ledger.lines == release.ledger.lines
    finally:
        found.unlink()
    monkeypatch.setattr(places, "_fill", full)
    with (
        pytest.raises(OSError, match="no other disk takes the release either"),
        places.Place("small/people.pgm") as again,
    ):
        again.keep(release)
    assert os.listdir("small") == []


def test_a_place_that_is_left_is_empty(folder):
    with places.Place("people.pgm", expected=3 << 20):
        assert sum(path.stat().st_size for path in folder.glob(".people.pgm.*")) == 3 << 20
    assert sorted(os.listdir()) == ["domain.json", "people.csv"]


@pytest.mark.parametrize(
    ("out", "place"), [("a/b.csv.gz", "a/b.pgm"), ("/dev/null", "people.pgm"), (".gz", "release.pgm")]
)
def test_default_places(out, place):
    assert places.default_place("in/people.csv", out) == place


def test_a_real_full_disk(folder):
    """A file system of 3 MiB: the release fits, the records do not."""
    if not (shutil.which("unshare") and sys.platform == "linux"):
        pytest.skip("needs unshare")
    script = 'mkdir disk && mount -t tmpfs -o size=3m none disk && "$@"'
    more = ["--out", "disk/out.csv", "--rows", "2000000", "--quiet"]
    code = f"import sys; sys.path.insert(0, {str(Path(pypgm.__file__).parents[1])!r}); from pypgm.cli import main"
    command = [sys.executable, "-c", f"{code}; import shutil; status = main(sys.argv[1:])\n"
               "shutil.copy('disk/out.pgm', 'kept.pgm'); sys.exit(status)"]  # fmt: skip
    inside = ["unshare", "-rm", "sh", "-c", script, "sh", *command, *SYNTH, *more]
    done = subprocess.run(inside, capture_output=True, text=True, check=False)
    if "unshare" in done.stderr or "mount" in done.stderr:
        pytest.skip("needs user name spaces")
    assert "No space left on device; the release, paid for with epsilon 1.0" in done.stderr
    assert done.returncode == 6
    assert pypgm.load("kept.pgm").measurements


def test_sample(folder, release, capsys):
    release.save("people.pgm")
    assert cli.main(["sample", "people.pgm", "--rows", "30", "--given", "b=F", "--seed", "1", "--out", "a.csv"]) == 0
    assert "wrote 30 records to a.csv" in capsys.readouterr().err
    assert cli.main(["sample", "people.pgm", "--rows", "30", "--given", "b=F", "--seed", "1", "--out", "b.csv"]) == 0
    assert Path("a.csv").read_bytes() == Path("b.csv").read_bytes()
    assert pypgm.read_table("a.csv", DATA.domain).project("b").values.tolist() == [30, 0]
    assert cli.main(["sample", "people.pgm", "--out", "all.csv", "--quiet"]) == 0
    assert pypgm.read_table("all.csv", DATA.domain).n_records == round(release.model.total)
    assert cli.main(["sample", "people.pgm", "--given", "b=F", "--given", "a=1", "--out", "some.csv", "--quiet"]) == 0
    expected = release.project(("a", "b")).values[1, 0]
    assert pypgm.read_table("some.csv", DATA.domain).n_records == round(expected)


def test_fewer_than_one_expected_record_is_told(folder, capsys):
    pypgm.estimate(DATA.domain, [], total=1.0).save("few.pgm")
    sample = ["sample", "few.pgm", "--given", "b=F", "--given", "a=1", "--out", "few.csv", "--quiet"]
    assert cli.main(sample) == 0
    assert "expects fewer than one such record; --rows N draws" in capsys.readouterr().err
    Path("few.csv").unlink()
    assert cli.main([*sample, "--rows", "2"]) == 0
    assert capsys.readouterr().err == ""
    assert pypgm.read_table("few.csv", DATA.domain).n_records == 2


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--rows", "-5"], "--rows: needs a number of records"),
        (["--rows", "100000000000000"], "at most 2,147,483,647 records are drawn"),
        (["--given", "b=X"], "'b' needs one of 'F', 'M'"),
        (["--out", "people.pgm"], "overwritten"),
        (["--seed", "x"], "--seed"),
    ],
)
def test_refused_samples(folder, release, capsys, more, message):
    release.save("people.pgm")
    assert cli.main(["sample", "people.pgm", "--out", "x.csv", *more]) == 2
    assert message in capsys.readouterr().err
    assert "x.csv" not in os.listdir()


def test_a_network_is_sampled(folder):
    pypgm.bayes.learn_private(DATA, [("a", "b")], epsilon=1).save("net.pgm")
    assert cli.main(["sample", "net.pgm", "--rows", "5", "--out", "x.csv"]) == 0
    assert cli.main(["sample", "net.pgm", "--rows", "9", "--given", "a=1", "--out", "y.csv"]) == 0
    assert pypgm.read_table("y.csv", DATA.domain).project("a").values.tolist() == [0, 9]


def test_info_of_a_release(folder, capsys):
    options = {"workload": pypgm.workloads.all_k_way(DATA.domain, 1), "max_bytes": 2**30}
    pypgm.mechanisms.hdmm(DATA, epsilon=1, delta=1e-9, neighbours="replace", **options).save("people.pgm")
    assert cli.main(["info", "people.pgm", "--model"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    for text in (
        "guarantee epsilon 1.0, delta 1e-09: ",
        "protects what any one record holds",
        f"made by hdmm of pypgm {pypgm.__version__} ",
        "options: workload of 2 marginals, strategy marginals",
        "max_bytes 1073741824",
        "measured: 2 counts of 2 groups of columns a 2 numbers noise ",
        "largest error ± ",
        "F, M",
    ):
        assert text in said, text


def test_many_measurements_are_cut():
    many = [pypgm.LinearMeasurement([1, 1], (f"a{s}",), stddev=float(s)) for s in range(1, 31)]
    lines = pypgm.report.measurement_lines(many, limit=2)
    shown = [[f"a{n}", "2", "numbers", "noise", str(n), "records"] for n in (29, 30)]
    assert sorted(line.split() for line in lines[:2]) == shown
    assert lines[2:] == ["  and 28 with less noise"]
