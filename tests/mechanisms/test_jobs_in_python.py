"""Jobs in Python: a key means what it means to the command, and the release of either is found by the other."""

from __future__ import annotations

import dataclasses
import functools
import json
from pathlib import Path

import pytest

import pypgm
from pypgm import Account, Budget, cli, mechanisms
from pypgm.data import OpenSet
from pypgm.jobs.claim import TakenError

SCHEMA = {"a": ["x", "y"], "b": ["u", "v"]}
FRAME = {"a": ["x", "y"] * 40, "b": ["u", "u", "v", "v"] * 20}
JOB = {"key": "monday", "release": "out.pgm"}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("people.csv").write_text("a,b\n" + "".join(f"{a},{b}\n" for a, b in zip(*FRAME.values(), strict=True)))
    Path("schema.json").write_text(json.dumps(SCHEMA))
    return tmp_path


@pytest.fixture
def account(folder):
    return Account("people.account", budget=Budget(epsilon=3, delta=1e-8, reserved_delta=1e-9), table="people.csv")


def spent_again(*_, **__):
    raise AssertionError("the budget is spent again")


def job(source="people.csv", schema=SCHEMA, epsilon=1, delta=1e-9, mechanism="mst", **how):
    return pypgm.synthesize(source, schema, epsilon, delta, mechanism=mechanism, **{**JOB, **how})


OPEN = pypgm.OpenSchema({"a": ["x", "y"], "b": OpenSet("1/4")})


@pytest.mark.parametrize("has_account", [False, True])
@pytest.mark.parametrize("schema", [SCHEMA, OPEN], ids=["closed", "open"])
@pytest.mark.parametrize("source", ["people.csv", FRAME], ids=["path", "frame"])
def test_a_second_call_returns_the_release_and_spends_nothing(account, monkeypatch, has_account, schema, source):
    how = {"account": account} if has_account else {}
    first = job(source, schema, **how)
    assert (first.key, pypgm.load("out.pgm").digest) == ("monday", first.digest)
    before = account.to_dict()
    assert len(account.runs()) == has_account
    monkeypatch.setattr(mechanisms, "mst", spent_again)
    for _ in range(2):
        again = job(source, schema, **how)
        assert (again.digest, again.ledger.lines) == (first.digest, first.ledger.lines)
    if has_account:
        assert job(source, schema, release="other.pgm", account=account).digest == first.digest
        assert Path("other.pgm").read_bytes() == Path("out.pgm").read_bytes()
        assert account.run_of("monday").digest == first.digest
    assert account.to_dict() == before


@pytest.mark.parametrize("has_account", [False, True])
@pytest.mark.parametrize(
    "other",
    [
        {"epsilon": 2},
        {"delta": 1e-8},
        {"mechanism": "wide"},
        {"neighbours": "replace"},
        {"privacy": pypgm.Privacy("add-remove", 2)},
        {"schema": {"a": ["x", "y"], "b": ["u", "v", "w"]}},
        {"epsilon": None, "delta": None, "budget": Budget(rho="1/100")},
    ],
    ids=str,
)
def test_under_a_key_another_call_gets_nothing(account, other, has_account):
    how = {"account": account} if has_account else {}
    job(**how)
    before, file = account.to_dict(), Path("out.pgm").read_bytes()
    with pytest.raises(ValueError, match=r"the release with the key monday, .* the call is not: pass another key="):
        job(**how, **other)
    if not has_account:
        with pytest.raises(ValueError, match="is not the release of this call"):
            job(key="tuesday")
    assert (account.to_dict(), Path("out.pgm").read_bytes()) == (before, file)


AB = ("a", "b")
OF_ANOTHER = r"of another workload or of other targets, and the call is not: pass another key="


@pytest.mark.parametrize("schema", [SCHEMA, OPEN], ids=["closed", "open"])
@pytest.mark.parametrize("has_account", [False, True])
def test_under_a_key_another_workload_gets_nothing(account, has_account, schema, monkeypatch):
    """A workload may be written in another way, but not be another one."""
    how = {"mechanism": "mwem", "schema": schema, "rounds": 1} | ({"account": account} if has_account else {})
    digest, before = job(workload=[AB, "a"], **how).digest, account.to_dict()
    monkeypatch.setattr(mechanisms, "mwem", functools.wraps(mechanisms.mwem)(lambda *_, **__: spent_again()))
    for same in ([AB, "a"], [["a"], ["b", "a"]], iter([AB, "a"])):
        assert job(workload=same, **how).digest == digest
    domain = getattr(schema, "provisional", pypgm.Schema(SCHEMA)).domain
    weighted = pypgm.workloads.Workload(domain, [AB, "a"], weights=[1, 2])
    summed = pypgm.workloads.Workload(domain, [AB, "a"], queries=[None, pypgm.queries.Prefix(2)])
    for other in (None, 1, 2, "up-to-2", [AB], [AB, "a", "a"], weighted, summed):
        with pytest.raises(ValueError, match=OF_ANOTHER):
            job(workload=other, **how)
    assert account.to_dict() == before


def test_under_a_key_other_targets_get_nothing(folder, monkeypatch):
    digest = job(mechanism="wide", targets=["b"]).digest
    monkeypatch.setattr(mechanisms, "wide", functools.wraps(mechanisms.wide)(lambda *_, **__: spent_again()))
    assert job(mechanism="wide", targets=("b",)).digest == digest
    for other in ([], ["a"], ["a", "b"]):
        with pytest.raises(ValueError, match=OF_ANOTHER):
            job(mechanism="wide", targets=other)
    with pytest.raises(ValueError, match=OF_ANOTHER):
        job(mechanism="wide")
    call = ["synth", "people.csv", "--schema", "schema.json", "--epsilon", "1", "--delta", "1e-9", "--quiet"]
    call += ["--key", "monday", "--release", "out.pgm", "--out", "monday.csv"]
    assert cli.main([*call, "--target", "a"]) == 2
    assert cli.main([*call, "--target", "b"]) == 0


@pytest.mark.parametrize(("mechanism", "name"), [("wide", "targets"), ("mwem", "workload")])
def test_a_job_may_be_given_an_iterator(folder, mechanism, name):
    given = {"release": "given.pgm", "unsafe_seed": 0, "mechanism": mechanism}
    drawn, listed = job(**{**given, name: iter(["b"])}), job(**{**given, name: ["b"], "release": "listed.pgm"})
    assert drawn.options == listed.options
    assert drawn.request == listed.request
    assert [m.clique for m in drawn.measurements] == [m.clique for m in listed.measurements]


def test_the_release_of_an_earlier_version_is_found_whatever_it_was_asked(folder, monkeypatch):
    dataclasses.replace(job(mechanism="mwem", rounds=1, workload=1), request="").save("older.pgm")
    monkeypatch.setattr(mechanisms, "mwem", functools.wraps(mechanisms.mwem)(lambda *_, **__: spent_again()))
    assert job(mechanism="mwem", rounds=1, workload=2, release="older.pgm").key == "monday"


def test_command_and_python_know_the_same_jobs(account, monkeypatch, capsys):
    call = ["synth", "people.csv", "--schema", "schema.json", "--epsilon", "1", "--delta", "1e-9", "--mechanism", "mst"]
    call += ["--account", "people.account", "--quiet"]
    assert cli.main([*call, "--key", "tuesday", "--out", "tuesday.csv"]) == 0
    first = job(account=account)
    monkeypatch.setattr(mechanisms, "mst", spent_again)
    assert job(key="tuesday", release="tuesday.pgm", account=account).digest == pypgm.load("tuesday.pgm").digest
    assert cli.main([*call, "--key", "monday", "--release", "out.pgm", "--out", "monday.csv"]) == 0
    assert pypgm.load("out.pgm").digest == first.digest
    assert len(account.runs()) == 2


def test_what_is_open_or_gone_is_not_paid_twice(account):
    run = account.reserve(Budget(epsilon=1, delta=1e-9), what="mst", key="monday")
    with run, pytest.raises(TakenError, match="has this call in work"):
        job(account=account)
    job(account=account)
    Path("out.pgm").unlink()
    with pytest.raises(ValueError, match="its release is gone"):
        job(account=account)
    assert len(account.runs()) == 2


def test_a_run_that_fails_leaves_nothing_and_may_be_repeated(account, monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr(mechanisms, "mst", spent_again)
        with pytest.raises(AssertionError):
            job(account=account)
    assert not Path("out.pgm").exists()
    assert (account.spent(), account.reserved()) == (0, 0)
    assert job(account=account).key == "monday"


def test_a_job_has_a_key_and_a_place(account):
    for how in ({"release": None}, {"key": None}):
        with pytest.raises(ValueError, match="pass both key= and release=, or neither"):
            job(**how)
    for wrong in (b"monday", 7):
        with pytest.raises(TypeError, match="key must be a str"):
            job(key=wrong)
    with account.reserve(Budget(epsilon=1, delta=1e-9), what="mst") as run, pytest.raises(TypeError, match="a job res"):
        job(account=run)
    with pytest.raises(ValueError, match="key needs a character"):
        job(key="")
    assert not Path("out.pgm").exists()


@pytest.mark.parametrize("wrong", [{"targets": ["z"]}, {"workload": [["a", "z"]]}, {"time_limit": -1}, {"typo": 1}])
def test_an_option_that_is_refused_leaves_no_run_in_the_account(account, wrong):
    for schema in (SCHEMA, OPEN):
        with pytest.raises((TypeError, ValueError)):
            job(schema=schema, mechanism="wide", account=account, **wrong)
    assert not account.runs()
    assert not Path("out.pgm").exists()


@pytest.mark.parametrize(("place", "named"), [("", "an empty text"), (".", "a directory")])
def test_a_release_needs_a_file(folder, place, named):
    with pytest.raises(ValueError, match=named):
        job(release=place)
