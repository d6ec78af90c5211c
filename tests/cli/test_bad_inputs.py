"""What a new user gets wrong: each gives one clear line, and nothing that was there or was paid for is lost."""

from __future__ import annotations

import contextlib
import io
import json
import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import pypgm
from pypgm import cli, mechanisms
from pypgm.cli import synth as verb
from pypgm.data.sources import opened

DOMAIN = {"age": 5, "sex": ["F", "M"], "income": ["low", "high"]}
BUDGET = ["--epsilon", "1", "--delta", "1e-9"]
GOOD = "age,sex,income\n" + "".join(f"{i % 5},{'FM'[i % 2]},{['low', 'high'][i % 3 == 0]}\n" for i in range(200))
INPUTS = ["domain.json", "people.csv"]
HERE = f"import sys; sys.path.insert(0, {str(Path(pypgm.__file__).parents[1])!r}); from pypgm.cli import main\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("people.csv").write_text(GOOD)
    Path("domain.json").write_text(json.dumps(DOMAIN))
    return tmp_path


@pytest.fixture
def release(folder):
    domain = pypgm.Domain(DOMAIN)
    return mechanisms.mst(pypgm.read_table("people.csv", domain), epsilon=1, delta=1e-9, unsafe_seed=1)


def refused(capsys, arguments, *texts, status=2):
    """Check that a command ends with one line that says these texts, and leaves its folder as it was."""
    before = {path.name: path.read_bytes() for path in Path.cwd().iterdir() if path.is_file()}
    assert cli.main(arguments) == status
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("pypgm: ")
    assert said.err.count("\n") == 1
    assert len(said.err) < 400
    for text in texts:
        assert text in said.err
    for word in ("Traceback", "pickle", "defect"):
        assert word not in said.err
    assert {path.name: path.read_bytes() for path in Path.cwd().iterdir() if path.is_file()} == before


def synth(*more, table="people.csv", domain="domain.json", out="out.csv"):
    return ["synth", table, "--domain", domain, "--out", out, *BUDGET, "--quiet", *more]


TABLES = {
    "empty": ("", "is empty"),
    "twice the same column": ("age,sex,income,age\n1,F,low,1\n", "more than one column for 'age'"),
    "NaN": ("age,sex,income\nNaN,F,low\n", "column 'age', row 1"),
    "capitals": ("Age,Sex,Income\n1,F,low\n", "lacks a column for 'age' ('Age' has another case), 'sex' ('Sex' has"),
    "ragged": ("age,sex,income\n1,F\n", "row 1 (the header is row 0): needs 3 fields, got 2"),
    "semicolons": (GOOD.replace(",", ";"), "needs a header line"),
    "Latin-1": (
        GOOD.replace("low", "l\xf6w").encode("latin-1"),
        "must be text in UTF-8, but is not; another is chosen with encoding or --encoding",
    ),
    "UTF-16": (GOOD.encode("utf-16"), "must be text in UTF-8"),
    "a quote that does not close": ('age,sex,income\n1,"F,low\n', "quote"),
}


@pytest.mark.parametrize("name", TABLES)
def test_tables(folder, capsys, name):
    content, text = TABLES[name]
    Path("bad.csv").write_bytes(content if isinstance(content, bytes) else content.encode())
    refused(capsys, synth(table="bad.csv"), "bad.csv", text, status=3)


def test_a_table_with_a_header_alone_is_a_table(folder):
    Path("bare.csv").write_text("age,sex,income\n")
    assert cli.main(synth(table="bare.csv")) == 0
    assert Path("out.csv").read_text().startswith("age,sex,income\n")


DOMAINS = {
    "broken": ("{", "must be JSON, or YAML if its name ends in .yaml, but is not at line 1"),
    "a list": ("[1]", "needs an object of attributes"),
    "empty": ("{}", "needs an object of attributes"),
    "nested without end": ("[" * 100_000, "nested too deep"),
    "a size of 0": ('{"age": 0}', "'age' needs at least one value"),
    "a size of -4": ('{"age": -4}', "'age' needs at least one value"),
    "a size of 4.5": ('{"age": 4.5}', "'age' needs a size or a list of labels"),
    "a size that is not a number": ('{"age": NaN}', "'age' needs a size"),
    "a label twice": ('{"sex": ["F", "F"]}', "'F' comes more than once"),
}


@pytest.mark.parametrize("name", DOMAINS)
def test_domains(folder, capsys, name):
    content, text = DOMAINS[name]
    Path("bad.json").write_text(content)
    refused(capsys, synth(domain="bad.json"), "bad.json", text)


@pytest.mark.parametrize("role", ["table", "domain"])
def test_a_release_is_no_table_and_no_schema(release, capsys, role):
    release.save("good.pgm")
    refused(
        capsys,
        synth(**{role: "good.pgm"}),
        "good.pgm must be text, but is a release or model of pypgm",
        status=3 if role == "table" else 2,
    )


@pytest.mark.parametrize("mechanism", ["wide", "mst", "hdmm"])
def test_an_attribute_that_fits_no_memory(folder, capsys, mechanism):
    refuse_sizes(capsys, mechanism, {"a": 10**10, "b": 2})


@pytest.mark.parametrize("mechanism", ["wide", "hdmm"])
def test_a_pair_that_fits_no_memory(folder, capsys, mechanism):
    refuse_sizes(capsys, mechanism, {"a": 2_000_000, "b": 3_000_000})


def refuse_sizes(capsys, mechanism, sizes):
    Path("big.json").write_text(json.dumps(sizes))
    Path("big.csv").write_text("a,b\n1,1\n0,0\n")
    refused(capsys, synth("--mechanism", mechanism, table="big.csv", domain="big.json"), " cells", status=1)


@pytest.mark.parametrize("epsilon", ["-1", "0", "nan", "inf", "1e400", "1e999999999999", "9" * 500, "one", "1/0"])
def test_epsilons(folder, capsys, epsilon):
    refused(capsys, synth("--epsilon", epsilon), "epsilon")


def test_deltas_below_0(folder, capsys):
    refused(capsys, synth("--delta", "-1e-6"), "delta must lie in [0, 1), got -1/1000000")


def test_an_epsilon_that_no_noise_is_large_enough_for(folder, capsys):
    refused(capsys, synth("--epsilon", "1e-300"), "beyond what can be drawn (2^62): epsilon, or rho, is too small")


@pytest.mark.parametrize("more", [["--epsilon", "1e9"], ["--epsilon", "1e300"], ["--delta", ".5"]])
def test_budgets_that_protect_nobody_say_so(folder, capsys, more):
    assert cli.main([argument for argument in synth(*more) if argument != "--quiet"]) == 0
    assert "warning: Hardly anybody is protected: " in capsys.readouterr().err


@pytest.mark.parametrize("delta", ["0", "1", "-1", "nan"])
def test_deltas(folder, capsys, delta):
    refused(capsys, synth("--delta", delta), "delta")


@pytest.mark.parametrize("rows", ["-5", "100000000000", "1e3", "nan"])
def test_rows(folder, capsys, rows):
    refused(capsys, synth("--rows", rows), "--rows")


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"out": "none/out.csv"}, "there is no directory"),
        ({"out": "people.csv"}, "would be overwritten"),
        ({"out": "domain.json"}, "would be overwritten"),
        ({"out": "."}, "is a directory"),
        ({"table": "."}, "would become a part of the table ."),
        ({"table": "*.csv"}, "would become a part of the table *.csv"),
        ({"table": "none*.csv"}, "no such file can be read"),
        ({"table": "none.csv"}, "No such file"),
        ({"domain": "people.csv"}, "must be JSON"),
    ],
)
def test_places(folder, capsys, change, text):
    refused(capsys, synth(**change), text)


@pytest.mark.parametrize("out", ["x.xlsx", "s.tsv", "s.tsv.gz", "s.PARQUET", "s.json"])
def test_formats_that_are_not_written(folder, capsys, release, out):
    release.save("good.pgm")
    refused(capsys, synth(out=out), f"{out} has a name of no format that is written here: .csv, .csv.gz, .parquet")
    refused(capsys, ["sample", "good.pgm", "--out", out], f"{out} has a name of no format")
    if out != "s.json":
        refused(capsys, ["query", "good.pgm", "age", "--out", out], f"{out} has a name of no format", ".json")
        refused(capsys, ["schema", "init", "people.csv", "--out", out], f"{out} has a name of no format", ".json")


def test_names_without_a_suffix_are_of_csv(folder, release):
    release.save("good.pgm")
    assert cli.main(["sample", "good.pgm", "--rows", "3", "--out", "bare", "--quiet"]) == 0
    assert Path("bare").read_text().startswith("age,sex,income\n")


def test_a_release_that_is_there(folder, capsys):
    Path("out.pgm").write_text("precious")
    refused(capsys, synth(), "is not overwritten")


def files(packed):
    """Return files that are no releases, by what they are."""
    flipped = bytearray(packed)
    flipped[150] ^= 255  # in the text of the header
    objects, table = io.BytesIO(), io.BytesIO()
    np.savez(objects, header=np.array([{"a": 1}], dtype=object))
    np.save(table, np.ones(3))
    return {
        "truncated": packed[:-100],
        "half": packed[: len(packed) // 2],
        "empty": b"",
        "flipped": bytes(flipped),
        "a table": GOOD.encode(),
        "a pickle": pickle.dumps({"a": 1}),
        "an array": table.getvalue(),
        "objects": objects.getvalue(),
        "the head of an archive": packed[:4] + bytes(100),
    }


@pytest.mark.parametrize("name", files(bytes(200)))
@pytest.mark.parametrize("command", [["info"], ["query", "age"], ["sample", "--out", "x.csv"]])
def test_files_that_are_no_releases(folder, capsys, release, name, command):
    release.save("good.pgm")
    Path("bad.pgm").write_bytes(files(Path("good.pgm").read_bytes())[name])
    refused(capsys, [command[0], "bad.pgm", *command[1:]], "bad.pgm: not a")


def test_a_flipped_byte_is_found_or_changes_nothing(folder, release):
    release.save("good.pgm")
    packed = Path("good.pgm").read_bytes()
    found = 0
    for place in np.random.default_rng(0).choice(len(packed), 60, replace=False).tolist():
        damaged = bytearray(packed)
        damaged[place] ^= 255
        Path("bad.pgm").write_bytes(damaged)
        with contextlib.suppress(ValueError):
            again = pypgm.load("bad.pgm")
            assert again.ledger.lines == release.ledger.lines
            assert np.array_equal(again.project("age").values, release.project("age").values)
            found += 1
    assert found < 30  # bytes that no reader looks at, such as the times of members


@pytest.mark.parametrize("moment", ["read_source", "mechanism", "synthetic_data", "write_table"])
def test_ctrl_c(folder, capsys, monkeypatch, moment):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    def wide(data, **options):
        interrupted()

    places = {"mechanism": (mechanisms, "wide", wide), "synthetic_data": (pypgm.Release, moment, interrupted)}
    places["read_source"] = (opened, moment, interrupted)
    monkeypatch.setattr(*places.get(moment, (verb, moment, interrupted)))
    assert cli.main(synth()) == 5
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    kept = moment in {"synthetic_data", "write_table"}
    assert sorted(os.listdir()) == (["domain.json", "out.pgm", "people.csv"] if kept else INPUTS)
    if kept:
        assert "whole in out.pgm" in said
        assert pypgm.load("out.pgm").measurements


WHOLE = "the release, paid for with epsilon 1.0, delta 1e-09, is whole in"
needs_full = pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")


@needs_full
def test_a_full_disk_keeps_what_was_paid_for(folder, capsys):
    assert cli.main(synth(out="/dev/full")) == 6
    said = capsys.readouterr().err
    assert f"/dev/full: No space left on device; {WHOLE} people.pgm" in said
    assert said.count("\n") == 1
    assert pypgm.load("people.pgm").measurements
    assert sorted(os.listdir()) == [*INPUTS, "people.pgm"]


@needs_full
@pytest.mark.parametrize("command", [["sample"], ["query", "age"]])
def test_a_full_disk_is_named(folder, capsys, release, command):
    release.save("good.pgm")
    verb, *rest = command
    refused(capsys, [verb, "good.pgm", *rest, "--out", "/dev/full"], "/dev/full: No space left on device", status=6)


@pytest.mark.parametrize("limit", [1 << 12, 3 << 19])
def test_files_that_may_not_grow(folder, limit):
    """Of 4 KiB no release fits, so nothing is spent; of 1.5 MiB the release does, and 300,000 records do not."""
    resource = pytest.importorskip("resource")
    command = [sys.executable, "-c", f"{HERE}sys.exit(main(sys.argv[1:]))", *synth("--rows", "300000")]

    def limited():
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    done = subprocess.run(command, capture_output=True, text=True, check=False, preexec_fn=limited)
    assert done.returncode == 6
    assert done.stderr.count("\n") == 1
    if limit == 1 << 12:
        assert "out.pgm: File too large; nothing was spent" in done.stderr
        assert sorted(os.listdir()) == INPUTS
    else:
        assert f"out.csv: File too large; {WHOLE} out.pgm" in done.stderr
        assert pypgm.load("out.pgm").measurements
        assert sorted(os.listdir()) == ["domain.json", "out.pgm", "people.csv"]


def test_four_processes_on_one_output(folder):
    command = [sys.executable, "-c", f"{HERE}sys.exit(main(sys.argv[1:]))", *synth()]
    running = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(4)]
    said = [process.communicate()[1] for process in running]
    codes = [process.returncode for process in running]
    assert set(codes) <= {0, 5}
    assert 0 in codes
    for code, text in zip(codes, said, strict=True):
        assert ("overwritten" in text or "another run writes out." in text) == (code == 5)
    assert pypgm.load("out.pgm").measurements
    assert sorted(os.listdir()) == ["domain.json", "out.csv", "out.pgm", "people.csv"]


def calls(release, domain):
    """Return calls with arguments of another kind."""
    budget = {"epsilon": 1, "delta": 1e-9}
    return {
        "a path as records": lambda: mechanisms.wide(Path("people.csv"), **budget),
        "a dict as records": lambda: mechanisms.mst({"age": [0]}, **budget),
        "a tuple as records": lambda: mechanisms.hdmm((0, 1), **budget),
        "a tuple as epsilon": lambda: mechanisms.mst(release.synthetic_data(), epsilon=(1,), delta=1e-9),
        "a number as budget": lambda: mechanisms.mst(release.synthetic_data(), budget=1.0),
        "a tuple as path": lambda: pypgm.read_table(("people.csv", 3), domain),
        "a dict as file": lambda: pypgm.load({}),
        "a path as table": lambda: pypgm.write_table("people.csv", "x.csv"),
        "a dict as clique": lambda: release.project({"age": 1}),
        "a path as clique": lambda: release.project(Path("age")),
        "a dict of floats as evidence": lambda: release.synthetic_data(3, evidence={"sex": 1.5}),
        "a path as evidence": lambda: release.synthetic_data(3, evidence=Path("sex")),
        "a tuple as evidence": lambda: release.model.query("age", ("sex", "F")),
        "a tuple as rows": lambda: release.synthetic_data((3,)),
        "1e300 rows": lambda: release.synthetic_data(1e300),
        "10^11 rows": lambda: release.synthetic_data(10**11),
        "1e300 records": lambda: pypgm.estimate(domain, [pypgm.LinearMeasurement(np.ones(5), "age")], 1e300),
        "a path to estimate": lambda: pypgm.estimate("domain.json", []),
    }


@pytest.mark.parametrize("name", calls(None, None))
def test_arguments_of_another_kind(release, name):
    with pytest.raises((TypeError, ValueError)) as error:
        calls(release, pypgm.Domain(DOMAIN))[name]()
    said = str(error.value)
    assert said
    assert "\n" not in said
    assert not Path("x.csv").exists()
