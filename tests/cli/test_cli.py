"""The command line, in process: what it writes, what it says, and how it ends."""

from __future__ import annotations

import builtins
import contextlib
import csv
import gzip
import inspect
import itertools
import json
import os
import re
import runpy
import shlex
import signal
import subprocess
import sys
import warnings
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import pypgm
from pypgm import cli, demo, mechanisms
from pypgm.cli import command
from pypgm.cli.arguments import workload_named
from pypgm.data import read_domain, read_table
from pypgm.mechanisms import run
from pypgm.mechanisms.tables import mechanism_named, mechanism_names
from pypgm.privacy import PrivateTable, entry

DOMAIN = {"age": 5, "sex": ["F", "M"], "income": ["low", "high"]}
BUDGET = ["--epsilon", "1", "--delta", "1e-9"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Work in a folder with a table of 600 records and its domain."""
    monkeypatch.chdir(tmp_path)
    write_records(600)
    (tmp_path / "domain.json").write_text(json.dumps(DOMAIN))
    return tmp_path


def write_records(n):
    rng = np.random.default_rng(n)
    with open("people.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["income", "age", "sex"])
        writer.writerows([["low", "high"][a > 2], a, "FM"[a % 2]] for a in rng.integers(0, 5, n).tolist())


def synth(*more, out="out.csv"):
    return cli.main(["synth", "people.csv", "--domain", "domain.json", "--out", out, *BUDGET, *more])


def one_line(capsys):
    """Return the one line on standard error, and check that there is nothing else."""
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.startswith("pypgm: ")
    assert output.err.count("\n") == 1
    assert "Traceback" not in output.err
    return output.err


def test_synth_writes_records_and_a_model(folder, capsys):
    assert synth("--model", "people.pgm", "--rows", "50", out="out.csv.gz") == 0
    data = read_table("out.csv.gz", read_domain("domain.json"))
    assert data.n_records == 50
    assert gzip.decompress((folder / "out.csv.gz").read_bytes()).startswith(b"income,age,sex\r\n")
    assert pypgm.load("people.pgm").model.domain == data.domain
    output = capsys.readouterr()
    assert output.out == ""
    for text in ("guarantee", "protects", "a noisy count", "points off on average", "out.csv.gz", "people.pgm"):
        assert text in output.err
    assert sorted(os.listdir()) == ["domain.json", "out.csv.gz", "people.csv", "people.pgm"]


def test_names_as_long_as_a_system_takes(folder):
    name = f"{'n' * 245}.csv"
    assert synth("--rows", "5", "--model", "people.pgm", out=name) == 0
    assert (folder / name).read_text().count("\n") == 6


def test_a_loop_of_links_is_no_defect(folder, capsys):
    (folder / "loop.csv").symlink_to("loop.csv")
    assert synth(out="loop.csv") == 6
    assert "loop.csv: Too many levels" in one_line(capsys)


def test_quiet_says_nothing(folder, capsys):
    assert synth("--quiet", "--mechanism", "mst", "--epsilon", "9") == 0
    assert capsys.readouterr() == ("", "")


def test_quiet_hides_no_warning(folder, capsys):
    write_records(0)
    warned = {"columns": {**DOMAIN, "sex": {"kind": "categorical", "values": ["F", "M"], "warning": "look"}}}
    (folder / "domain.json").write_text(json.dumps(warned))
    assert synth("--quiet") == 0
    lines = capsys.readouterr().err.splitlines()
    assert all(line.startswith("warning: ") for line in lines)
    for texts in (["still in the schema, of sex)"], ["noise", "could not be measured"]):
        assert sum(any(text in line for text in texts) for line in lines) == 1


def test_a_table_without_records_runs_to_the_end(folder):
    write_records(0)
    assert synth() == 0
    assert (folder / "out.csv").read_text().startswith("income,age,sex\n")


def test_extra_columns_need_the_option(folder, capsys):
    (folder / "people.csv").write_text("zip,age,sex,income\n1,2,F,low\n")
    assert synth() == 3
    assert "'zip'" in one_line(capsys)
    assert synth("--ignore-extra", "--quiet") == 0


def test_numbers_reach_the_mechanism_exactly(folder, monkeypatch):
    asked = {}

    def wide(data, **options):
        asked.update(options)
        raise KeyboardInterrupt

    monkeypatch.setattr(mechanisms, "wide", wide)
    arguments = ["synth", "people.csv", "--domain", "domain.json", "--out", "out.csv"]
    more = ["--epsilon", "0.1", "--delta", "1e-9", "--neighbours", "replace", "--time-limit", "7.5"]
    assert cli.main([*arguments, *more]) == 5
    budget = pypgm.Budget(epsilon=asked["epsilon"], delta=asked["delta"])
    assert (budget.epsilon, budget.delta) == (Fraction(1, 10), Fraction(1, 10**9))
    assert (asked["neighbours"], asked["time_limit"], asked["progress"]) == ("replace", 7.5, False)


def test_what_is_printed_follows_from_the_release_alone(folder, monkeypatch, capsys):
    release = mechanisms.mst(read_table("people.csv", read_domain("domain.json")), epsilon=1, delta=1e-9)
    monkeypatch.setattr(mechanisms, "wide", lambda data, **options: release)
    said = []
    for n in (600, 7):
        write_records(n)
        assert synth() == 0
        said.append(capsys.readouterr().err)
        os.remove("out.pgm")
        os.remove("out.csv")
    assert said[0] == said[1]


def test_no_text_tells_how_long_the_reading_took(folder, monkeypatch, capsys):
    """No time is shown, and the last estimate begins when the records were let go."""
    tables, closed, estimated = [], [], run.estimated

    class Noted(PrivateTable):
        def __init__(self, *given, **more):
            super().__init__(*given, **more)
            tables.append(self)

    def begun(*given, **more):
        closed.append([table.closed for table in tables])
        return estimated(*given, **more)

    monkeypatch.setattr(entry, "PrivateTable", Noted)
    monkeypatch.setattr(run, "estimated", begun)
    assert synth() == 0
    assert closed[-1] == [True]
    said = capsys.readouterr().err
    assert "time" not in said
    assert not re.search(r"\d s\b", said)


@pytest.mark.parametrize("early", [True, False])
def test_ctrl_c_leaves_nothing(folder, monkeypatch, capsys, early):
    release = mechanisms.mst(read_table("people.csv", read_domain("domain.json")), epsilon=1, delta=1e-9)

    def wide(data, **options):
        if early:
            raise KeyboardInterrupt
        release.model.fit = replace(release.model.fit, status="interrupted")
        return release

    monkeypatch.setattr(mechanisms, "wide", wide)
    assert synth("--model", "people.pgm") == 5
    assert ("no unfinished file" if early else "discarded") in one_line(capsys)
    assert sorted(os.listdir()) == ["domain.json", "people.csv"]


def test_warnings_are_lines_of_the_command_and_those_of_a_discarded_release_are_not_shown(folder, monkeypatch, capsys):
    def wide(data, **options):
        warnings.warn("all of it is noise", UserWarning, stacklevel=2)
        warnings.warn("its release is the best so far", pypgm.errors.EstimateInterruptedWarning, stacklevel=2)
        raise KeyboardInterrupt

    monkeypatch.setattr(mechanisms, "wide", wide)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        assert synth("--model", "people.pgm") == 5
    told = capsys.readouterr().err.splitlines()
    assert told == ["pypgm: all of it is noise", "pypgm: interrupted; no unfinished file was left"]


def test_an_unforeseen_error_tells_no_value(folder, monkeypatch, capsys):
    def wide(data, **options):
        raise KeyError("zebra")

    monkeypatch.setattr(mechanisms, "wide", wide)
    assert synth() == 1
    message = one_line(capsys)
    assert "unexpected KeyError" in message
    assert "zebra" not in message


def test_what_does_not_fit_memory_is_told(folder, monkeypatch, capsys):
    def wide(data, **options):
        raise pypgm.ModelTooLargeError("clique ('age', 'sex') is too large")

    monkeypatch.setattr(mechanisms, "wide", wide)
    assert synth() == 1
    assert "too large" in one_line(capsys)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (["--epsilon", "0"], "epsilon must be more than 0"),
        (["--epsilon", "-1"], "epsilon must be more than 0"),
        (["--epsilon", "inf"], "--epsilon: needs a number such as 0.1"),
        (["--delta", "nan"], "--delta: needs a number"),
        (["--delta", "1"], r"delta must lie in [0, 1)"),
        (["--delta", "0"], "delta must be more than 0"),
        (["--rows", "-5"], "--rows"),
        (["--rows", "1.5"], "--rows: needs a number of records"),
        (["--time-limit", "0"], "--time-limit: needs seconds"),
        (["--time-limit", "soon"], "--time-limit: needs seconds"),
        (["--neighbours", "friends"], "--neighbours"),
        (["--domain", "none.json"], "none.json: No such file"),
        (["--domain", "people.csv"], "people.csv must be JSON"),
        (["--out", "people.csv"], "people.csv would be overwritten"),
        (["--out", "domain.json"], "would be overwritten"),
        (["--model", "out.csv"], "out.csv would be overwritten"),
        (["--out", "none/out.csv"], "there is no directory"),
        (["--out", "."], "is a directory"),
        (["--out", "/dev/fd/99999999999999999999"], "99999999999999999999: No such file"),
        (["--out", "/dev/fd/²"], "/dev/fd/²: No such file"),
        (["--encoding", ""], "no text encoding is called ''"),
        (["--encoding", "undefined"], "no text encoding is called 'undefined'"),
        (["--colour"], "unrecognized arguments: --colour"),
    ],
)
def test_refused_usage(folder, capsys, change, message):
    assert synth(*change) == 2
    assert message in one_line(capsys)
    assert sorted(os.listdir()) == ["domain.json", "people.csv"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "people.csv is empty"),
        ("1,F,low\n2,M,high\n", "needs a header line"),
        ("age,sex,income\n1,F,zebra\n", "column 'income', row 1"),
        (
            "age,sex,income\n1,F,low\n9,F,low\n",
            "column 'age', row 2 (the header is row 0): needs an integer from 0 to 4",
        ),
    ],
)
def test_refused_tables(folder, capsys, text, message):
    (folder / "people.csv").write_text(text)
    assert synth() == 3
    said = one_line(capsys)
    assert message in said
    assert "zebra" not in said
    assert sorted(os.listdir()) == ["domain.json", "people.csv"]


def test_no_command(capsys):
    assert cli.main([]) == 2
    assert "COMMAND" in one_line(capsys)


def test_the_package_is_the_command(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["pypgm", "--help"])
    with pytest.raises(SystemExit) as end:
        runpy.run_module("pypgm", run_name="__main__")
    assert end.value.code == 0
    assert "synth" in capsys.readouterr().out


@pytest.fixture
def model(folder):
    """Keep a model with a known table: sex and income, age uniform."""
    domain = pypgm.Domain(DOMAIN)
    potentials = pypgm.CliqueVector(domain, [("sex", "income")], np.log([10.0, 20.0, 30.0, 40.0]))
    pypgm.GraphicalModel(potentials, 100.0).save("people.pgm")
    return "people.pgm"


def answer(text):
    header, *rows = csv.reader(text.splitlines())
    return header, {tuple(row[:-1]): float(row[-1]) for row in rows}


def test_query_prints_counts(model, capsys):
    assert cli.main(["query", model, "income,sex", "age"]) == 0
    first, second = capsys.readouterr().out.split("\n\n")
    header, table = answer(first)
    assert header == ["income", "sex", "count"]
    assert table[("high", "F")] == pytest.approx(20)
    assert table[("low", "M")] == pytest.approx(30)
    assert answer(second)[1] == {(str(a),): pytest.approx(20) for a in range(5)}


def test_query_given(model, capsys):
    assert cli.main(["query", model, "income", "--given", "sex=M", "--given", "age=1", "--given", "age=2"]) == 0
    header, table = answer(capsys.readouterr().out)
    assert header == ["income", "probability"]
    assert table == {("low",): pytest.approx(3 / 7), ("high",): pytest.approx(4 / 7)}
    assert cli.main(["query", model, "sex", "--given", "sex=F", "--given", "sex=M"]) == 0
    assert answer(capsys.readouterr().out)[1] == {("F",): pytest.approx(0.3), ("M",): pytest.approx(0.7)}


@pytest.mark.parametrize(
    ("given", "ages"),
    [
        ("age=1..3", "123"),
        ("age=..1", "01"),
        ("age=3..", "34"),
        ("age=4..4", "4"),
        ("age=0,2..3", "023"),
        ("age=1,4", "14"),
    ],
)
def test_query_given_several_values_and_ranges(given, ages, model, capsys):
    assert cli.main(["query", model, "age", "--given", given, "--draws", "0"]) == 0
    shown = answer(capsys.readouterr().out)[1]
    assert {age for (age,), share in shown.items() if share > 0} == set(ages)


def test_query_of_a_network(folder, capsys):
    (folder / "rain.bif").write_text("""
        variable rain { type discrete[2] { no, yes }; } variable wet { type discrete[2] { no, yes }; }
        probability (rain) { table 0.5 0.5; } probability (wet | rain) { (no) 1 0; (yes) 0.25 0.75; }""")
    assert cli.main(["query", "rain.bif", "wet"]) == 0
    exact = capsys.readouterr().out
    assert exact.splitlines() == ["wet,probability", "no,0.625", "yes,0.375"]
    assert cli.main(["query", "rain.bif", "wet", "--oracle", "auto"]) == 0
    assert capsys.readouterr().out == exact
    assert cli.main(["query", "rain.bif", "wet", "--oracle", "sampling"]) == 0
    approximate = answer(capsys.readouterr().out)[1]
    assert sum(approximate.values()) == pytest.approx(1)
    assert approximate[("no",)] == pytest.approx(0.625, abs=0.05)
    assert cli.main(["query", "rain.bif", "rain", "--given", "wet=yes"]) == 0
    assert capsys.readouterr().out.splitlines() == ["rain,probability", "no,0", "yes,1"]
    (folder / "rain.bif").write_text("variable rain")
    assert cli.main(["query", "rain.bif", "rain"]) == 2
    assert "rain.bif, line 1: " in one_line(capsys)


def test_query_writes_a_file(model, capsys):
    assert cli.main(["query", model, "sex", "--out", "sex.csv"]) == 0
    assert capsys.readouterr() == ("", "")
    with open("sex.csv") as file:
        assert answer(file.read())[1] == {("F",): pytest.approx(30), ("M",): pytest.approx(70)}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["none.pgm", "sex"], "none.pgm"),
        (["people.csv", "sex"], "people.csv"),
        (["people.pgm", "zip"], "unknown attribute 'zip'; the domain has age"),
        (["people.pgm", "sex,Incone"], "unknown attribute 'Incone'; the nearest is 'income'; the domain has age"),
        (["people.pgm", "sex,sex"], "more than once"),
        (["people.pgm", "sex", "--given", "zip=1"], "NAME=VALUE with an attribute of the model, got 'zip=1'"),
        (["people.pgm", "sex", "--given", "age"], "NAME=VALUE"),
        (["people.pgm", "sex", "--given", "income=middle"], "'income' needs one of 'low', 'high'"),
        (["people.pgm", "sex", "--given", "age=5"], "an integer from 0 to 4"),
        (["people.pgm", "sex", "age", "--out", "x.csv"], "--out holds one marginal, got 2"),
        (["people.pgm", "sex", "--out", "people.pgm"], "overwritten"),
    ],
)
def test_refused_queries(model, capsys, arguments, message):
    assert cli.main(["query", *arguments]) == 2
    assert message in one_line(capsys)
    assert "x.csv" not in os.listdir()


def test_evidence_of_probability_zero(folder, capsys):
    domain = pypgm.Domain({"a": 2, "b": 2})
    pypgm.GraphicalModel(pypgm.CliqueVector(domain, [("a",)], [0.0, -np.inf]), 10.0).save("m.pgm")
    assert cli.main(["query", "m.pgm", "b", "--given", "a=1"]) == 2
    one_line(capsys)


def test_a_truncated_model(model, folder, capsys):
    (folder / model).write_bytes((folder / model).read_bytes()[:-100])
    assert cli.main(["info", model]) == 2
    assert "people.pgm" in one_line(capsys)


def test_info(model, capsys):
    assert cli.main(["info", model]) == 0
    said = capsys.readouterr().out
    for text in ("3 attributes, 1 clique, 4 parameters", "sex, income (4 cells)", "100 records", "F, M"):
        assert text in said


def test_the_titanic_is_whole():
    people = demo.titanic()
    assert people.n_records == 2201
    assert people.project("survived").values.tolist() == [1490, 711]
    assert people.project("sex").values.tolist() == [470, 1731]
    assert people.project("age").values.tolist() == [109, 2092]
    assert people.project(("class", "survived")).values.tolist() == [[122, 203], [167, 118], [528, 178], [673, 212]]


def test_demo_draws_a_picture(folder, capsys):
    pytest.importorskip("matplotlib")
    assert cli.main(["demo", "--epsilon", "2"]) == 0
    said = capsys.readouterr().out
    assert "ε = 2, δ = 1e-9" in said
    assert "* not private" in said
    assert said.splitlines()[-1] == f"picture: {folder / 'pypgm-demo.png'}"
    assert (folder / "pypgm-demo.png").read_bytes().startswith(b"\x89PNG")


def test_demo_without_matplotlib(folder, monkeypatch, capsys):
    real_import = builtins.__import__

    def without(name, *rest):
        if name.startswith("matplotlib"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return real_import(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    assert cli.main(["demo"]) == 0
    said = capsys.readouterr().out
    assert 'pip install "pypgm[plot]"' in said
    assert "class × survived" in said
    assert "pypgm-demo.png" not in os.listdir()


def test_help_teaches(capsys):
    for arguments in ([], ["synth"], ["query"], ["info"], ["demo"]):
        with pytest.raises(SystemExit) as ended:
            cli.main([*arguments, "--help"])
        assert ended.value.code == 0
    assert capsys.readouterr().out.count("examples:") == 3


def test_version(capsys):
    with pytest.raises(SystemExit) as ended:
        cli.main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out == f"pypgm {pypgm.__version__}\n"


def test_a_reader_that_leaves(folder):
    pypgm.GraphicalModel(pypgm.CliqueVector(pypgm.Domain({"a": 300_000}), [("a",)]), 1.0).save("wide.pgm")
    code = "import sys; from pypgm.cli import main; sys.exit(main(['query', 'wide.pgm', 'a']))"
    command = [sys.executable, "-I", "-c", code]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 6


@pytest.mark.parametrize(("chosen", "read"), [({}, "18"), ({"OPENBLAS_THREAD_TIMEOUT": "20"}, "20")])
@pytest.mark.parametrize("arguments", ["", "['--version']"])
def test_threads_of_blas_soon_sleep_in_a_process_of_the_command(chosen, read, arguments):
    code = f"""
import gc, os, sys
sys.path.insert(0, {str(Path(pypgm.__file__).parents[1])!r})
from pypgm.cli import main

class Finder:
    def find_spec(self, name, *_):
        if name == "numpy":
            print(os.environ.get("OPENBLAS_THREAD_TIMEOUT"))

sys.meta_path.insert(0, Finder())
sys.argv[1:] = ["--version"]
try:
    main({arguments})
finally:
    print(os.environ.get("OPENBLAS_THREAD_TIMEOUT"), gc.isenabled())
"""
    environment = {k: v for k, v in os.environ.items() if k != "OPENBLAS_THREAD_TIMEOUT"} | chosen
    command = [sys.executable, "-I", "-c", code]
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    kept = chosen.get("OPENBLAS_THREAD_TIMEOUT", "None")
    assert done.stdout.split() == [kept if arguments else read, "pypgm", pypgm.__version__, kept, "True"]


def test_importing_the_package_leaves_pictures_alone():
    code = "import sys, pypgm, pypgm.cli; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-I", "-c", code], check=False).returncode == 0


@pytest.mark.skipif(sys.platform == "win32", reason="signals as POSIX has them")
@pytest.mark.parametrize("moment", ["numpy", "pypgm.cli.command", "pypgm.cli.synth"])
@pytest.mark.parametrize(
    ("name", "word"), [("SIGINT", "interrupted"), ("SIGTERM", "terminated"), ("SIGHUP", "hung up")]
)
def test_a_signal_while_the_command_starts_is_one_line(name, word, moment):
    code = f"""
import signal, sys
sys.path.insert(0, {str(Path(pypgm.__file__).parents[1])!r})
for name in ("SIGTERM", "SIGHUP"):
    signal.signal(getattr(signal, name), signal.SIG_DFL)
signal.signal(signal.SIGINT, signal.default_int_handler)
from pypgm.cli import main

class Interrupting:
    def find_spec(self, name, *_):
        if name == {moment!r}:
            try:
                signal.raise_signal(signal.{name})
            except KeyboardInterrupt:  # as compiled modules do while they are imported
                raise ImportError("initialization failed")

sys.meta_path.insert(0, Interrupting())
sys.exit(main(["--version"]))
"""
    done = subprocess.run([sys.executable, "-I", "-c", code], check=False, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (5, "", f"pypgm: {word}\n")


@pytest.mark.skipif(sys.platform == "win32", reason="signals as POSIX has them")
def test_the_command_leaves_handlers_as_they_were():
    """No signal is without a handler between the import and the command."""
    numbers, seen = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], []
    before = [signal.getsignal(number) for number in numbers]

    class Streams(contextlib.nullcontext):
        def __enter__(self):
            seen.append([signal.getsignal(number) for number in numbers])

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(command, "open_streams", Streams)
        assert cli.main(["query", "no-such-model", "age"]) == 2
    expected = [cli.quit_at_once if handler in cli.UNHANDLED else handler for handler in before]
    assert seen == [expected]
    assert [signal.getsignal(number) for number in numbers] == before


def test_the_schema_tells_the_mechanism_what_is_ordinal(folder):
    assert synth() == 0
    assert pypgm.load("out.pgm").options["ordinal"] == ["age"]


def test_mechanism_and_workload_reach_the_release(folder, capsys):
    (folder / "asked.json").write_text('[["sex", "age"], ["income"]]')
    assert synth("--mechanism", "hdmm", "--workload", "asked.json", "--model", "people.pgm") == 0
    release = pypgm.load("people.pgm")
    assert (release.mechanism, [m.clique for m in release.measurements]) == ("hdmm", [("income",), ("age", "sex")])
    assert synth("--mechanism", "mst", "--model", "mst.pgm", out="mst.csv") == 0
    assert pypgm.load("mst.pgm").mechanism == "mst"
    assert synth("--target", "sex", "--model", "aimed.pgm", out="aimed.csv") == 0
    assert pypgm.load("aimed.pgm").options["targets"] == ["sex"]
    capsys.readouterr()


@pytest.mark.parametrize(
    ("text", "cliques"),
    [
        ("1", [("age",), ("sex",), ("income",)]),
        ("up-to-2", [c for k in (1, 2) for c in itertools.combinations(DOMAIN, k)]),
    ],
)
def test_workloads_by_size(text, cliques):
    assert list(workload_named(pypgm.Domain(DOMAIN), text)) == cliques


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (["--mechanism", "best"], "--mechanism: invalid choice: 'best'"),
        (["--mechanism", "mst", "--workload", "2"], "mst chooses what it measures itself and takes no workload"),
        (["--mechanism", "mst", "--target", "sex"], "mst chooses what it measures itself and takes no targets"),
        (["--target", "zip"], "unknown attribute 'zip'"),
        (["--workload", "4"], "--workload 4: k must be 1..3"),
        (["--workload", "pairs"], "--workload needs a number, up-to-K or a .json file, got 'pairs'"),
        (["--workload", "none.json"], "none.json: No such file"),
        (["--workload", "domain.json"], "domain.json needs a list of marginals"),
        (["--workload", "odd.json"], "odd.json: unknown attribute 'zip'"),
        (["--workload", "broken.json"], "broken.json must be JSON, but is not"),
    ],
)
def test_refused_mechanisms_and_workloads(folder, capsys, change, message):
    (folder / "odd.json").write_text('[["zip"]]')
    (folder / "broken.json").write_text("[[")
    assert synth(*change) == 2
    assert message in one_line(capsys)
    assert "out.csv" not in os.listdir()


def test_every_mechanism_is_named_and_called_alike():
    assert {"hdmm", "mst", "wide"} <= set(mechanism_names())
    for name in mechanism_names():
        parameters = inspect.signature(mechanism_named(name)).parameters
        assert list(parameters)[:3] == ["data", "epsilon", "delta"]
    with pytest.raises(ValueError, match=r"mechanism must be one of .*wide, got 'Options'"):
        mechanism_named("Options")


def test_the_next_command_reads_the_table_as_the_last_one_did(folder, monkeypatch, capsys):
    """It runs as it is printed."""
    monkeypatch.setenv("COLUMNS", "100")
    text = "a title\nx;n\n" + "p;1,5\nq;2,5\n" * 300
    (folder / "t.csv").write_bytes(text.encode("utf-16"))
    bins = {"kind": "real", "low": 0, "high": 9, "bins": 3}
    (folder / "s.json").write_text(json.dumps({"columns": {"x": ["p", "q"], "n": bins}}))
    marks = ["--delimiter", ";", "--encoding", "utf-16", "--decimal", ",", "--skip", "1"]
    command = ["synth", "t.csv", *marks, "--schema", "s.json", "--epsilon", "9", "--delta", "1e-9", "--out", "o.csv"]
    assert cli.main(command) == 0
    (line,) = [line for line in capsys.readouterr().err.splitlines() if line.startswith("next")]
    assert cli.main(shlex.split(line)[2:]) == 0


@pytest.mark.parametrize("own", [True, False])
def test_a_process_of_the_command_sets_its_modules_apart_and_collects_garbage_again(own, tmp_path):
    given = "" if own else "sys.argv[1:]"
    script = (
        "import gc, sys; from pypgm.cli import main\n"
        f"try: main({given})\nexcept SystemExit: pass\nprint(gc.isenabled(), gc.get_freeze_count() > 10_000)"
    )
    command = [sys.executable, "-c", script, "--version"]
    process = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert process.stdout.splitlines()[-1] == f"True {own}"
