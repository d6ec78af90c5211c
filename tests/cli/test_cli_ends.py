"""However a command ends, by a signal, a closed stream or another run: what is left is whole or nothing, and told."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import pypgm
from pypgm import cli
from pypgm.files.record_table import RecordTable
from pypgm.jobs.claim import Claim, TakenError
from pypgm.jobs.place import Place
from pypgm.jobs.stopping import STOPPING

if sys.platform == "win32":
    pytest.skip("signals, locks and streams as POSIX has them", allow_module_level=True)

HERE = f"import sys; sys.path.insert(0, {str(Path(pypgm.__file__).parents[1])!r}); from pypgm.cli import main\n"
RUN = f"{HERE}sys.exit(main(sys.argv[1:]))"
INPUTS = ["domain.json", "people.csv"]
SYNTH = ["synth", "people.csv", "--domain", "domain.json", "--epsilon", "1", "--delta", "1e-9", "--out", "out.csv"]
# Says when the place is taken, and works until it is told to stop, as an estimate does.
SLOW = f"""{HERE}
import time
from pypgm import mechanisms
from pypgm.mechanisms import tables
def work(*_, **__):
    print("at work", flush=True)
    while True:
        time.sleep(0.01)
tables.mechanism_named = lambda name: work
sys.exit(main(sys.argv[1:]))
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    data = pypgm.Dataset({"a": [0, 1] * 50, "b": [0, 1, 1, 0] * 25}, pypgm.Domain({"a": 2, "b": ["F", "M"]}))
    pypgm.write_table(data, "people.csv")
    Path("domain.json").write_text('{"a": 2, "b": ["F", "M"]}')
    return tmp_path


def as_in_a_terminal():
    """Let a process hear the signals that its parent may have been started without, as nohup does."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def started(program, arguments, **options):
    process = subprocess.Popen([sys.executable, "-c", program, *arguments], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, **options)  # fmt: skip
    assert process.stdout.readline() == "at work\n"
    return process


@pytest.mark.parametrize(
    ("number", "status", "word"),
    [(signal.SIGTERM, 5, "terminated"), (signal.SIGHUP, 5, "hung up"), (signal.SIGINT, 5, "interrupted")],
)
def test_signals_leave_nothing_and_the_next_run_goes_on(folder, number, status, word, capsys):
    process = started(SLOW, SYNTH, preexec_fn=as_in_a_terminal)
    assert sorted(os.listdir()) == [".out.pgm.part", *INPUTS[:1], "out.csv", "out.pgm", *INPUTS[1:]]
    process.send_signal(number)
    assert process.communicate()[1] == f"pypgm: {word}; no unfinished file was left\n"
    assert process.returncode == status
    assert sorted(os.listdir()) == INPUTS
    assert cli.main([*SYNTH, "--quiet"]) == 0


def test_an_ignored_signal_stays_ignored(folder):
    process = started(SLOW, SYNTH, preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    process.send_signal(signal.SIGHUP)
    time.sleep(0.1)
    assert process.poll() is None
    process.terminate()
    process.communicate()
    assert process.returncode == 5


def test_what_a_killed_run_leaves_is_taken_over(folder):
    process = started(SLOW, SYNTH)
    process.kill()
    process.communicate()
    assert sorted(os.listdir()) == [".out.pgm.part", *INPUTS[:1], "out.csv", "out.pgm", *INPUTS[1:]]
    assert cli.main([*SYNTH, "--quiet"]) == 0
    assert sorted(os.listdir()) == [*INPUTS[:1], "out.csv", "out.pgm", *INPUTS[1:]]


@pytest.mark.parametrize("more", [["--model", "other.pgm"], ["--out", "elsewhere.csv", "--model", "out.pgm"]])
def test_two_runs_never_have_a_file_in_common(folder, more, capsys):
    process = started(SLOW, SYNTH)
    try:
        assert cli.main([*SYNTH, *more]) == 5
        said = capsys.readouterr().err
        assert said.startswith("pypgm: another run writes out.")
    finally:
        process.terminate()
        process.communicate()
    assert sorted(os.listdir()) == INPUTS


def test_a_signal_while_the_release_is_written_waits_for_it(folder, monkeypatch, capsys):
    real = Place.keep

    def keep(self, *given):
        os.kill(os.getpid(), signal.SIGTERM)
        return real(self, *given)

    monkeypatch.setattr(Place, "keep", keep)
    assert cli.main([*SYNTH, "--rows", "7", "--quiet"]) == 5
    said = capsys.readouterr().err
    assert said.startswith("pypgm: terminated; ")
    way = shlex.split(said.split("go on with: pypgm ")[1])
    assert way == ["sample", "out.pgm", "--out", "out.csv", "--rows", "7", "--quiet"]
    monkeypatch.undo()
    os.chdir(folder)
    assert cli.main(way) == 0
    assert Path("out.csv").read_text().count("\n") == 8


def test_a_signal_that_was_caught_on_its_way_ends_the_command(folder, monkeypatch, capsys):
    def swallowed(*_, **__):
        try:
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(5)
        except KeyboardInterrupt:
            return pypgm.mechanisms.mst(
                pypgm.read_table("people.csv", pypgm.read_domain("domain.json")), epsilon=1, delta=1e-9
            )

    monkeypatch.setattr("pypgm.mechanisms.tables.mechanism_named", lambda _: swallowed)
    assert cli.main(SYNTH) == 5
    assert "terminated; the release was discarded" in capsys.readouterr().err
    assert sorted(os.listdir()) == INPUTS
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL


def test_the_way_on_is_one_that_a_shell_reads(folder, monkeypatch, capsys):
    def full(*_, **__):
        raise OSError(28, "No space left on device", "out.csv")

    out, kept = "my out;x.csv", "it's.pgm"
    monkeypatch.setattr(RecordTable, "write", full)
    assert cli.main([*SYNTH, "--out", out, "--model", kept, "--rows", "5"]) == 6
    way = shlex.split(capsys.readouterr().err.split("go on with: pypgm ")[1])
    assert way == ["sample", kept, "--out", out, "--rows", "5"]


# Streams.


def shell(command, *arguments):
    """Run the command in a shell: "$@" stands for it."""
    program = [sys.executable, "-c", RUN, *arguments]
    return subprocess.run(["sh", "-c", command, "sh", *program], capture_output=True, text=True, check=False)


@pytest.fixture
def kept(folder):
    assert cli.main([*SYNTH, "--quiet"]) == 0
    return folder


@pytest.mark.parametrize("close", [">&-", "<&- >&- 2>&-"])
def test_closed_streams_end_no_release(folder, close):
    done = shell(f'"$@" {close}', *SYNTH)
    assert done.returncode == 0
    assert "Traceback" not in done.stderr
    assert pypgm.load("out.pgm").measurements
    assert Path("out.csv").read_text().startswith("a,b\n")


def test_an_error_stream_that_ends_ends_nothing(folder):
    done = shell('{ "$@" 2>&1 >/dev/null; echo $? >status; } | true', *SYNTH)
    assert Path("status").read_text() == "0\n"
    assert done.stderr == ""
    assert pypgm.load("out.pgm").measurements


@pytest.mark.parametrize(
    ("command", "status", "said"),
    [
        ('"$@" >&-', 6, "pypgm: standard output: Bad file descriptor\n"),
        ('"$@" >/dev/full', 6, "pypgm: standard output: No space left on device\n"),
        ('"$@" >&- 2>&-', 6, ""),
    ],
)
def test_an_output_that_takes_nothing_is_named(kept, command, status, said):
    if "/dev/full" in command and not Path("/dev/full").exists():
        pytest.skip("needs /dev/full")
    done = shell(command, "query", "out.pgm", "b", "--draws", "0")
    assert (done.returncode, done.stderr) == (status, said)


@pytest.mark.parametrize("asked", [["--help"], ["--version"], ["query", "--help"]], ids=" ".join)
def test_help_that_the_output_does_not_take_is_an_error(asked):
    if not Path("/dev/full").exists():
        pytest.skip("needs /dev/full")
    done = shell('"$@" >/dev/full', *asked)
    assert (done.returncode, done.stderr) == (6, "pypgm: standard output: No space left on device\n")


def test_a_label_that_the_output_cannot_hold(folder):
    domain = pypgm.Domain({"é": ["à", "b"]})
    pypgm.GraphicalModel(pypgm.CliqueVector(domain, ["é"], np.zeros(2)), 2.0).save("m.pgm")
    done = shell('PYTHONIOENCODING=ascii "$@"', "query", "m.pgm", "é")
    assert (done.returncode, done.stdout) == (2, "")
    assert "standard output is ascii and cannot hold a label: --out FILE writes UTF-8" in done.stderr
    assert shell('"$@"', "query", "m.pgm", "é", "--out", "q.csv").returncode == 0
    assert Path("q.csv").read_text(encoding="utf-8") == "é,count\nà,1\nb,1\n"


def test_records_for_a_closed_output_are_refused_before_anything_is_spent(folder):
    done = shell('"$@" --out /dev/stdout >&-', *SYNTH)
    assert (done.returncode, done.stderr) == (6, "pypgm: /dev/stdout: Bad file descriptor\n")
    assert sorted(os.listdir()) == INPUTS


def test_a_reader_that_leaves_is_told_where_the_release_is(folder):
    done = shell('"$@" --out /dev/stdout --rows 300000 | true', *SYNTH)
    assert "the reader of the output has closed it; the release, paid for with epsilon 1" in done.stderr
    assert pypgm.load("people.pgm").measurements


# Names.


def test_a_claim_is_empty_locked_and_gone(folder):
    with Claim("x.csv"):
        assert Path("x.csv").read_bytes() == b""
        with pytest.raises(TakenError, match=r"another run writes x\.csv"):
            Claim("x.csv")
        os.symlink("x.csv", "link.csv")
        with pytest.raises(TakenError, match=r"another run writes link\.csv"):
            Claim("link.csv")
    assert not Path("x.csv").exists()
    with Claim("x.csv"):
        Path("y").write_text("whole")
        Path("y").replace("x.csv")
    assert Path("x.csv").read_text() == "whole"
    with pytest.raises(TakenError, match=r"x\.csv already exists and is not overwritten"):
        Claim("x.csv")


def test_a_file_that_was_there_empty_stays(folder):
    Path("x.csv").touch()
    with Claim("x.csv"):
        pass
    assert Path("x.csv").read_bytes() == b""


def test_what_is_no_file_is_not_claimed(folder):
    os.mkfifo("pipe")
    for path in ("/dev/null", "pipe", "/dev/stdout"):
        with Claim(path), Claim(path):
            pass


@pytest.mark.parametrize("place", ["pipe", "link", "/dev/stdout"])
def test_a_release_never_takes_the_place_of_what_is_no_file(folder, capsys, place):
    os.mkfifo("pipe")
    Path("link").symlink_to("pipe")
    assert cli.main([*SYNTH, "--model", place]) == 2
    assert f"{place} must be a regular file" in capsys.readouterr().err
    assert Path("pipe").is_fifo()
    assert sorted(os.listdir()) == sorted(["pipe", "link", *INPUTS])


def test_a_claim_where_nothing_can_be_made(folder):
    with pytest.raises(OSError, match=r"No such file or directory: 'none/x\.csv'"):
        Claim("none/x.csv")


def test_signals_of_other_threads_and_handlers_are_left_alone():
    def own(*_):
        pass

    before = {signal.SIGTERM: signal.signal(signal.SIGTERM, own), signal.SIGHUP: signal.getsignal(signal.SIGHUP)}
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    try:
        with STOPPING.listening():
            assert signal.getsignal(signal.SIGTERM) is own
            assert signal.getsignal(signal.SIGHUP) == STOPPING._heard
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
