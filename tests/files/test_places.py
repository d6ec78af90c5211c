"""What a release was made of is never overwritten, however its files were named; parts are those of one plan."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import pypgm

SCHEMA = {"columns": {"a": {"kind": "integer", "low": 0, "high": 3}, "b": ["x", "y"]}}
BUDGET = {"epsilon": 1, "delta": 1e-9, "unsafe_seed": 0}
SOURCES = {
    "folder": "s",
    "pattern": "s/*.csv",
    "deep pattern": "*/0.csv",
    "list": ["s/0.csv", "s/1.csv"],
    "one in a list": ["s/0.csv"],
    "path": "s/0.csv",
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    Path("s").mkdir()
    for number in range(2):
        rows = "\n".join(f"{a},{'xy'[b]}" for a, b in zip(rng.integers(0, 4, 50), rng.integers(0, 2, 50), strict=True))
        Path(f"s/{number}.csv").write_text(f"a,b\n{rows}\n")
    return tmp_path


@pytest.mark.parametrize("source", SOURCES)
def test_no_file_of_the_records_is_overwritten(folder, source):
    release = pypgm.synthesize(SOURCES[source], SCHEMA, **BUDGET)
    before = {path: path.read_bytes() for path in Path("s").iterdir()}
    Path("link.csv").symlink_to("s/0.csv")
    writes = (release.write, release.save, lambda path: release.write(path, rows=4, parts=2))
    for place in ("s/0.csv", "link.csv", str(folder / "s" / "0.csv")):
        for write in writes:
            with pytest.raises(ValueError, match=r"records that the release was made of|is a file"):
                write(place)
    if source == "folder":
        for write in (*writes, release.report_html):
            for place in ("s/new.csv", "s/more", "s"):
                with pytest.raises((ValueError, ImportError), match=r"made of|report"):
                    write(place)
    if source == "pattern":
        with pytest.raises(ValueError, match="made of"):
            release.write("s/new.csv")
    assert {path: path.read_bytes() for path in Path("s").iterdir()} == before
    release.write("synthetic.csv")


def test_parts_without_a_plan_are_nobodys(folder):
    release = pypgm.synthesize("s", SCHEMA, **BUDGET)
    Path("d.csv").mkdir()
    Path("d.csv/part-00000-of-00002.csv").write_text("a,b\n1,x\n")
    with pytest.raises(ValueError, match="has other files"):
        release.write("d.csv", rows=9, parts=3)
    with pytest.raises(ValueError, match="no _plan"):
        release.write("d.csv", rows=9, parts=2)
    assert sorted(os.listdir("d.csv")) == ["part-00000-of-00002.csv"]


def test_too_many_records_leave_no_plan(folder):
    release = pypgm.synthesize("s", SCHEMA, **BUDGET)
    with pytest.raises(ValueError, match="at most 2147483647 records"):
        release.write("d.csv", rows=10**11, parts=2)
    release.write("d.csv", rows=10, parts=2)
    assert json.loads(Path("d.csv/_SUCCESS").read_text())["records"] == 10


TWO = """
import sys, pypgm
if __name__ == "__main__":
    pypgm.load("r.pgm").write(sys.argv[1], rows=int(sys.argv[2]), parts=int(sys.argv[3]), processes=int(sys.argv[4]))
"""


@pytest.mark.slow
def test_calls_at_the_same_time_write_the_parts_of_one_table(folder):
    release = pypgm.synthesize("s", SCHEMA, **BUDGET)
    release.save("r.pgm")
    Path("write.py").write_text(TWO)
    for number in range(4):
        command = [sys.executable, "write.py", f"d{number}.csv", "3000", "4", "1"]
        calls = [subprocess.Popen(command) for _ in range(2)]
        assert [call.wait() for call in calls] == [0, 0]
        done = json.loads(Path(f"d{number}.csv/_SUCCESS").read_text())
        release.write("one.csv", rows=3000, rng=done["seed"], parts=4)
        for file in done["files"]:
            assert Path(f"d{number}.csv", file["file"]).read_bytes() == Path("one.csv", file["file"]).read_bytes()
        for path in Path("one.csv").iterdir():
            path.unlink()


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals as POSIX has them")
def test_an_interrupt_ends_other_processes_after_the_parts_in_work(folder):
    release = pypgm.synthesize("s", SCHEMA, **BUDGET)
    release.save("r.pgm")
    Path("write.py").write_text(TWO)
    call = subprocess.Popen([sys.executable, "write.py", "d.csv", "40000000", "200", "2"], stderr=subprocess.PIPE)
    until = time.monotonic() + 60
    while time.monotonic() < until and not (Path("d.csv").is_dir() and any(Path("d.csv").glob("part-*"))):
        time.sleep(0.05)
    call.send_signal(signal.SIGINT)
    call.communicate(timeout=60)
    assert call.returncode
    assert 0 < len(list(Path("d.csv").glob("part-*"))) < 100
    assert not Path("d.csv/_SUCCESS").exists()


def test_a_release_without_privacy_is_not_that_of_a_private_job(folder):
    how = {"epsilon": 1, "delta": 1e-9, "key": "k", "release": "k.pgm"}
    pypgm.synthesize("s", SCHEMA, **how, unsafe_seed=1)
    assert pypgm.synthesize("s", SCHEMA, **how, unsafe_seed=1).not_private
    with pytest.raises(ValueError, match="not private"):
        pypgm.synthesize("s", SCHEMA, **how)
