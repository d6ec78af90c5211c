"""Names of files that no system takes are refused in pypgm's own words, wherever a path is given."""

from __future__ import annotations

import os

import pytest

import pypgm
from pypgm import bayes, cli
from pypgm.cli.arguments import workload_named
from pypgm.cli.command import _VERBS as VERBS
from pypgm.comparison import is_table
from pypgm.data import scan
from pypgm.data.draft import draft_schema
from pypgm.io import read_uai_evidence, read_uai_model, write_uai_evidence
from pypgm.mechanisms.related_release import RelatedRelease

DOMAIN = pypgm.Domain({"a": 2, "b": ["x", "y"]})
DATA = pypgm.Dataset({"a": [0, 1] * 20, "b": [0, 0, 1, 1] * 10}, DOMAIN)
SCHEMA = pypgm.Schema.from_dict({"a": 2, "b": ["x", "y"]})
RECORDS = {"a": [0, 1], "b": ["x", "y"]}
BUDGET = {"epsilon": 1, "delta": 1e-9}


def model():
    return pypgm.estimate(DOMAIN, [pypgm.LinearMeasurement([3.0, 4.0], "a")], iterations=2)


def synthesized():
    return pypgm.synthesize(RECORDS, SCHEMA, **BUDGET, mechanism="mst")


ENTRIES = {
    "load": pypgm.load,
    "load a release": pypgm.Release.load,
    "load a related release": RelatedRelease.load,
    "save a model": lambda path: model().save(path),
    "save a release": lambda path: synthesized().save(path),
    "write": lambda path: synthesized().write(path),
    "read a table": lambda path: pypgm.read_table(path, SCHEMA),
    "write a table": lambda path: pypgm.write_table(DATA, path, SCHEMA),
    "scan": lambda path: scan(path, SCHEMA),
    "scan several": lambda path: scan([path], SCHEMA),
    "read a schema": pypgm.read_schema,
    "read a domain": pypgm.read_domain,
    "save a schema": SCHEMA.save,
    "draft a schema": draft_schema,
    "synthesize": lambda path: pypgm.synthesize(path, SCHEMA, **BUDGET),
    "synthesize by a schema": lambda path: pypgm.synthesize(RECORDS, path, **BUDGET),
    "read BIF": bayes.BayesianNetwork.read_bif,
    "write BIF": lambda path: bayes.learn(DATA, [("a", "b")]).write_bif(path),
    "read a network": lambda path: pypgm.read_network(f"{path}.net"),
    "write a network": lambda path: pypgm.write_network(bayes.learn(DATA, [("a", "b")]), f"{path}.xdsl"),
    "read UAI": pypgm.read_uai,
    "read a UAI model": read_uai_model,
    "write UAI": lambda path: pypgm.write_uai(pypgm.CliqueVector(DOMAIN, ["a"]), path),
    "read evidence": read_uai_evidence,
    "write evidence": lambda path: write_uai_evidence({"a": 0}, DOMAIN, path),
    "learn": lambda path: bayes.learn(DATA, path),
    "learn in private": lambda path: bayes.learn_private(DATA, path, **BUDGET),
    "a workload": lambda path: workload_named(DOMAIN, f"{path}.json"),
}
PARQUET = {
    "read": lambda path: pypgm.read_table(path, SCHEMA),
    "write": lambda path: pypgm.write_table(DATA, path, SCHEMA),
    "synthesize": lambda path: pypgm.synthesize(path, SCHEMA, **BUDGET),
    "draft": draft_schema,
    "types": pypgm.Schema.from_types,
}
SYNTH = ["synth", "t.csv", "--schema", "s", "--epsilon", "1", "--delta", "1e-9"]
COMMANDS = {
    "info": ["info", "PATH"],
    "query": ["query", "PATH", "a"],
    "sample": ["sample", "PATH", "--out", "x.csv"],
    "schema": ["schema", "init", "PATH"],
    "synth": ["synth", "PATH", "--schema", "s", "--epsilon", "1", "--delta", "1e-9", "--out", "o.csv"],
    "synth by": ["synth", "t.csv", "--schema", "PATH", "--epsilon", "1", "--delta", "1e-9", "--out", "o.csv"],
    "synth to": [*SYNTH, "--out", "PATH.csv"],
    "synth from": [*SYNTH, "--out", "o", "--account", "PATH"],
    "synth log": [*SYNTH, "--out", "o", "--log", "PATH"],
    "account": ["account", "show", "PATH"],
    "info by": ["info", "PATH", "--account", "PATH"],
    "plan": ["plan", "PATH", "--records", "5", "--epsilon", "1", "--delta", "1e-9"],
    "compare": ["compare", "PATH", "t.csv", "--unsafe"],
    "report": ["report", "PATH", "--out", "r.html"],
    "report on": ["report", "r.pgm", "PATH", "--unsafe", "--out", "r.html"],
    "report to": ["report", "r.pgm", "--out", "PATH.html"],
}
BAD = {"a\0b": "must not have a NUL", "a\ud800b": "not have half a surrogate pair"}


def check_refused(call, bad):
    with pytest.raises(ValueError, match=f"a path .*{BAD[bad]}, got 'a") as error:
        call(bad)
    assert type(error.value) is ValueError


@pytest.mark.parametrize("bad", BAD, ids=["nul", "surrogate"])
@pytest.mark.parametrize("entry", ENTRIES)
def test_a_name_that_no_system_takes(entry, bad):
    check_refused(ENTRIES[entry], bad)


@pytest.mark.parametrize("bad", BAD, ids=["nul", "surrogate"])
@pytest.mark.parametrize("entry", PARQUET)
def test_a_name_of_a_parquet_file_that_no_system_takes(entry, bad):
    pytest.importorskip("pyarrow")
    check_refused(lambda path: PARQUET[entry](f"{path}.parquet"), bad)


@pytest.mark.parametrize("bad", BAD, ids=["nul", "surrogate"])
def test_a_name_of_a_database_that_no_system_takes(bad):
    pytest.importorskip("duckdb")
    pytest.importorskip("pyarrow")
    check_refused(lambda path: pypgm.synthesize(f"{path}.duckdb", SCHEMA, **BUDGET, table="t"), bad)


@pytest.mark.parametrize("bad", BAD, ids=["nul", "surrogate"])
@pytest.mark.parametrize("command", COMMANDS)
def test_a_name_in_a_command_that_no_system_takes(command, bad, capsys):
    assert cli.main([word.replace("PATH", bad) for word in COMMANDS[command]]) == 2
    said = capsys.readouterr().err
    assert said.startswith("pypgm: a path must not have ")
    assert said.count("\n") == 1


def test_every_verb_that_takes_a_path_is_tried():
    assert {words[0] for words in COMMANDS.values()} == {*VERBS} - {"demo", "completion"}


@pytest.mark.parametrize("entry", [pypgm.load, pypgm.read_uai, pypgm.read_domain])
def test_what_is_no_path(entry):
    with pytest.raises(TypeError):
        entry(3)


NO_DATABASES = {b"a,b\n1,x\n": ": it is a CSV table", b"SQLite format 3\0": ": it is an SQLite database"}
NO_DATABASES |= {b"": ": it is empty", b"\1\2\3": ""}


@pytest.mark.parametrize(("content", "kind"), NO_DATABASES.items())
def test_a_file_that_is_no_database_is_told_for_what_it_is(tmp_path, content, kind):
    pytest.importorskip("duckdb")
    pytest.importorskip("pyarrow")
    path = tmp_path / "people.duckdb"
    path.write_bytes(content)
    with pytest.raises(ValueError, match="is not a DuckDB file") as error:
        pypgm.synthesize(path, SCHEMA, **BUDGET, table="people")
    assert str(error.value) == f"{path} is not a DuckDB file{kind}"
    with pytest.raises(FileNotFoundError):
        pypgm.synthesize(tmp_path / "none.duckdb", SCHEMA, **BUDGET, table="people")


def test_types_of_a_file_that_is_no_parquet(tmp_path):
    pytest.importorskip("pyarrow")
    path = tmp_path / "people.parquet"
    path.write_bytes(b"a,b\n1,x\n")
    with pytest.raises(ValueError, match="is not a Parquet file: it is a CSV table") as error:
        pypgm.Schema.from_types(path)
    assert type(error.value) is ValueError


def in_a_folder(path):
    """Return a folder in which a release of related tables would be, one of its files being the one at a path."""
    (path.parent / "both").mkdir(exist_ok=True)
    (path.parent / "both" / "parents.pgm").unlink(missing_ok=True)
    (path.parent / "both" / "parents.pgm").symlink_to(path)
    return path.parent / "both"


TABLES = {
    "draft a schema": draft_schema,
    "types": pypgm.Schema.from_types,
    "synthesize": lambda path, **named: pypgm.synthesize(path, SCHEMA, **BUDGET, **named),
}
READ_AGAIN = TABLES | {
    "load": pypgm.load,
    "load a release": pypgm.Release.load,
    "load a related release": lambda path: RelatedRelease.load(in_a_folder(path)),
    "read a table": lambda path: pypgm.read_table(path, SCHEMA),
    "scan": lambda path: scan(path, SCHEMA),
    "compare": lambda path: pypgm.compare(path, RECORDS),
}


@pytest.mark.usefixtures("ends_by_itself")
@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
@pytest.mark.parametrize("entry", READ_AGAIN)
def test_a_pipe_is_not_waited_for_where_a_file_is_read_more_than_once(entry, tmp_path):
    for package in ("narwhals", "pyarrow", "duckdb"):
        pytest.importorskip(package)
    for name in ("pipe", "pipe.csv", "pipe.csv.gz", "pipe.parquet", "pipe.pgm"):
        os.mkfifo(tmp_path / name)
        with pytest.raises(ValueError, match="is a pipe"):
            READ_AGAIN[entry](tmp_path / name)
    os.mkfifo(tmp_path / "pipe.duckdb")
    if entry in TABLES:
        with pytest.raises(ValueError, match="is a pipe"):
            TABLES[entry](tmp_path / "pipe.duckdb", table="people")
    with pytest.raises(ValueError, match="is a pipe"):
        is_table(str(tmp_path / "pipe"))
