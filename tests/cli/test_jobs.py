"""Jobs of a scheduler: exit statuses, calls that are repeated, the account of the table, and the log."""

from __future__ import annotations

import datetime
import json
import logging
import os
import random
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace

import pytest
from selfcheck.command import check_command

import pypgm
from pypgm import cli, mechanisms
from pypgm._base import process
from pypgm._base.process import has_ended, process_mark
from pypgm.cli import command, log
from pypgm.errors import ReadingError, ReleaseError, SourceError, TableError
from pypgm.jobs.claim import Claim

SCHEMA = {"age": 5, "sex": ["F", "M"]}
CALL = ["synth", "people.csv", "--schema", "schema.json", "--epsilon", "1", "--delta", "1e-9", "--mechanism", "mst"]
IN_ACCOUNT = ["--account", "people.account"]
# Ends the process without cleaning up, in place of the given step of the log.
KILLED = f"""
import os, sys
sys.path.insert(0, {str(Path(pypgm.__file__).parents[1])!r})
from pypgm.cli import main
from pypgm.cli.log import Log
write = Log.step
def step(self, name, **facts):
    if name == sys.argv[1]:
        os._exit(9)
    write(self, name, **facts)
Log.step = step
sys.exit(main(sys.argv[2:]))
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    drawn = random.Random(0)
    rows = "".join(f"{drawn.randrange(5)},{drawn.choice('FM')}\n" for _ in range(300))
    Path("people.csv").write_text(f"age,sex\n{rows}")
    Path("schema.json").write_text(json.dumps(SCHEMA))
    return tmp_path


def synth(*more, out="out.csv"):
    return cli.main([*CALL, "--out", out, "--quiet", *more])


def account(epsilon="3"):
    assert cli.main(["account", "create", "people.account", "--epsilon", epsilon, "--delta", "1e-8"]) == 0
    return pypgm.Account("people.account")


@pytest.fixture
def unspent(monkeypatch):
    """Return a function after which no mechanism may run."""

    def refuse():
        def spend(*_, **__):
            raise AssertionError("the budget is spent again")

        monkeypatch.setattr(mechanisms, "mst", spend)

    return refuse


def log_lines(path="job.log"):
    return [json.loads(line) for line in Path(path).read_text(encoding="utf-8").splitlines()]


RAISED = {
    1: [RuntimeError("x"), MemoryError()],
    2: [ValueError("x"), FileNotFoundError(2, "x", "x"), ImportError("x")],
    3: [TableError("x")],
    4: [pypgm.BudgetError("x")],
    5: [KeyboardInterrupt()],
    6: [OSError(5, "x"), SourceError("x"), ReadingError("x"), ReleaseError("x")],
}


@pytest.mark.parametrize(("status", "error"), [(status, e) for status in RAISED for e in RAISED[status]], ids=str)
def test_the_class_of_an_error_decides_the_status_and_json_and_log_say_it(folder, monkeypatch, capsys, status, error):
    def mst(data, **options):
        raise error

    monkeypatch.setattr(mechanisms, "mst", mst)
    assert synth("--json", "--log", "job.log") == status
    said = capsys.readouterr()
    stated = json.loads(said.out)
    assert (stated["verb"], stated["status"]) == ("synth", status)
    assert said.err == f"pypgm: {stated['error']}\n"
    last = log_lines()[-1]
    said = "the table does not fit its schema: the command says where" if status == 3 else stated["error"]
    assert (last["step"], last["status"], last["error"]) == ("ended", status, said)
    assert sorted(os.listdir()) == ["job.log", "people.csv", "schema.json"]


def test_all_statuses_are_in_the_help(capsys):
    with pytest.raises(SystemExit):
        cli.main(["--help"])
    said = capsys.readouterr().out
    assert all(f"\n  {status}  {meaning}\n" in said for status, meaning in command.STATUSES.items())
    assert {status for _, status in command._STATUSES_OF} | {0, 1} == {*command.STATUSES}


def test_the_same_call_again_is_done_already_and_writes_what_is_missing(folder, unspent, capsys):
    assert synth() == 0
    before = Path("out.pgm").read_bytes()
    unspent()
    assert synth("--json") == 0
    stated = json.loads(capsys.readouterr().out)
    assert (stated["done"], stated["status"], stated["synthetic_records"]) == ("already", 0, None)
    Path("out.csv").unlink()
    Path("people.csv").unlink()  # which is not read again
    assert synth("--rows", "7") == 0
    assert Path("out.csv").read_text().count("\n") == 8
    assert Path("out.pgm").read_bytes() == before


@pytest.mark.parametrize(
    "change", [["--epsilon", "2"], ["--delta", "1e-8"], ["--mechanism", "wide"], ["--neighbours", "replace"],
               ["--time-limit", "9"], ["--ignore-extra"], ["--delimiter", ";"], ["--key", "other"],
               ["--mechanism", "hdmm", "--workload", "1"]]
)  # fmt: skip
def test_another_call_never_takes_the_release(folder, capsys, change):
    assert synth() == 0
    before = Path("out.pgm").read_bytes()
    assert synth(*change) == 2
    assert "is not overwritten: it is not the release of this call" in capsys.readouterr().err
    assert Path("out.pgm").read_bytes() == before


def test_a_schema_that_changed_is_another_call(folder):
    assert synth() == 0
    Path("schema.json").write_text(json.dumps(SCHEMA | {"age": 6}))
    assert synth() == 2


def test_a_key_stands_for_one_budget_and_mechanism(folder, capsys):
    assert synth("--key", "monday") == 0
    assert pypgm.load("out.pgm").key == "monday"
    for change in (["--epsilon", "2"], ["--mechanism", "wide"]):
        assert synth("--key", "monday", *change) == 2
        assert "pass another --key" in capsys.readouterr().err
    assert synth("--key", "monday") == 0


def test_a_name_that_another_run_holds_may_be_tried_again(folder):
    with Claim("out.csv"):
        assert synth() == 5
    assert synth() == 0


def test_runs_take_from_an_account_until_it_is_empty(folder, unspent, capsys):
    people = account("1.5")
    assert synth(*IN_ACCOUNT, "--key", "1", out="1.csv") == 0
    spent = people.spent()
    assert spent == pypgm.load("1.pgm").ledger.spent()
    keys = ["1"]
    while (status := synth(*IN_ACCOUNT, "--key", f"{len(keys) + 1}", out=f"{len(keys) + 1}.csv")) == 0:
        keys.append(f"{len(keys) + 1}")
    assert status == 4
    assert "is left" in capsys.readouterr().err
    assert [run.key for run in people.runs()] == keys
    assert people.spent() == sum(pypgm.load(f"{key}.pgm").ledger.spent() for key in keys)
    unspent()
    assert all(synth(*IN_ACCOUNT, "--key", key, out=f"{key}.csv") == 0 for key in keys)
    assert len(people.runs()) == len(keys)
    assert cli.main(["info", "1.pgm", *IN_ACCOUNT]) == 0
    assert "people.account has the release: run 1, settled" in capsys.readouterr().out


def test_the_account_knows_where_the_release_is(folder, unspent, capsys):
    people = account()
    assert synth(*IN_ACCOUNT) == 0
    unspent()
    assert synth(*IN_ACCOUNT, out="again.csv") == 0
    assert Path("again.csv").stat().st_size > 0
    assert Path("again.pgm").read_bytes() == Path("out.pgm").read_bytes()
    Path("out.pgm").rename("lost.pgm")
    assert synth(*IN_ACCOUNT, out="third.csv") == 2
    assert "put" in capsys.readouterr().err
    assert not Path("third.csv").exists()
    Path("lost.pgm").rename("out.pgm")
    assert len(people.runs()) == 1


def test_a_release_outside_the_account_is_not_taken_for_one_of_it(folder, capsys):
    assert synth() == 0
    account()
    assert synth(*IN_ACCOUNT) == 2
    assert "names no account" in capsys.readouterr().err


def test_an_account_of_another_table_or_relation(folder):
    assert cli.main(["account", "create", "people.account", "--epsilon", "3", "--delta", "1e-8", "--table", "x"]) == 0
    assert synth(*IN_ACCOUNT) == 2
    options = ["--epsilon", "3", "--delta", "1e-8", "--neighbours", "replace", "--table", "people.csv"]
    assert cli.main(["account", "create", "other.account", *options]) == 0
    assert synth("--account", "other.account") == 2
    assert synth("--account", "other.account", "--neighbours", "replace") == 0
    assert synth("--account", "none.account", out="x.csv") == 2


@pytest.mark.slow
@pytest.mark.parametrize("step", ["opened", "charged", "kept", "written"])
def test_whatever_step_kills_a_run_the_job_ends_and_nothing_is_cheaper_than_released(folder, unspent, step, capsys):
    people = account()
    done = subprocess.run(
        [sys.executable, "-c", KILLED, step, *CALL, "--out", "out.csv", "--log", "job.log", *IN_ACCOUNT], check=False
    )
    assert done.returncode == 9
    (run,) = people.runs()
    lines = people.lines(1)
    assert bool(lines) == (step != "opened")
    if step in {"kept", "written"}:
        assert pypgm.load("out.pgm").ledger.spent() == run.spent
        unspent()
    else:
        assert not run.is_settled
        assert synth(*IN_ACCOUNT) == (5 if has_ended(process_mark()) is None else 4)
        said = capsys.readouterr().err
        assert "pypgm account settle people.account 1" in said
        assert cli.main(["account", "settle", "people.account", "1", "--by", "me", "--why", "it was killed"]) == 0
    assert synth(*IN_ACCOUNT) == 0
    assert Path("out.csv").stat().st_size > 0
    assert all(run.is_settled for run in people.runs())
    killed = 0 if step in {"kept", "written"} else run.spent
    assert people.spent() == pypgm.load("out.pgm").ledger.spent() + killed
    assert "people.account has the release" in people.check_release(pypgm.load("out.pgm"))


def test_the_log_has_every_charge_and_no_time_of_reading(folder, capsys):
    assert synth("--log", "job.log") == 0
    said = capsys.readouterr()
    assert said.out == ""
    assert all(line.startswith("warning: ") for line in said.err.splitlines())
    lines = log_lines()
    assert [line["step"] for line in lines if line["step"] not in {"charged", "progress"}] == [
        *("started", "opened", "kept", "written", "ended")
    ]
    release = pypgm.load("out.pgm")
    assert any(line["step"] == "progress" for line in lines)
    charged = [line for line in lines if line["step"] == "charged"]
    assert [Fraction(line["cost"]) for line in charged] == [line.cost for line in release.ledger.lines]
    assert next(line for line in lines if line["step"] == "kept")["digest"] == release.digest
    assert len({line["run"] for line in lines}) == 1
    assert [line["step"] for line in lines if "time" in line] == ["started"]
    fields = {"run", "step", "seconds", "time", "verb", "pypgm", "key", "what", "on", "cost", "text", "share"}
    assert set().union(*lines) <= fields | {"release", "digest", "records", "rows", "status"}
    assert synth("--log", "job.log") == 0
    assert len({line["run"] for line in log_lines()}) == 2


@pytest.mark.slow
def test_the_log_follows_from_what_is_released(monkeypatch):
    """Of two neighbouring tables with the same noisy answers, the logs are the same, but for the clock."""
    monkeypatch.setattr(log, "now", lambda: 0.0)
    monkeypatch.setattr(log, "os", SimpleNamespace(urandom=bytes))
    clock = SimpleNamespace(now=lambda _: datetime.datetime(2026, 11, 29, tzinfo=datetime.timezone.utc))
    monkeypatch.setattr(log, "datetime", SimpleNamespace(datetime=clock, timezone=datetime.timezone))
    checked = check_command(("--model", "people.pgm", "--log", "job.log", "--mechanism", "mst"))
    assert (checked.result, checked.defects) == ("ok", ()), checked


def test_warnings_of_the_package_are_steps_without_a_time(folder, monkeypatch):
    real = mechanisms.mst

    def mst(data, **options):
        logging.getLogger("pypgm").warning("the connection is lost, and is opened again in %d s", 1)
        return real(data, **options)

    monkeypatch.setattr(mechanisms, "mst", mst)
    assert synth("--log", "job.log") == 0
    (line,) = (line for line in log_lines() if line["step"] == "warning")
    assert {*line} == {"run", "step", "message"}
    assert not logging.getLogger("pypgm").handlers


@pytest.mark.parametrize("log", ["people.csv", "schema.json", "out.csv", "out.pgm", "none/job.log"])
def test_a_log_is_no_other_file(folder, log):
    before = Path("people.csv").read_bytes(), Path("schema.json").read_bytes()
    assert synth("--log", log) == 2
    assert (Path("people.csv").read_bytes(), Path("schema.json").read_bytes()) == before
    assert sorted(os.listdir()) == ["people.csv", "schema.json"]


def test_a_page_that_is_there_is_made_already(folder, capsys):
    pytest.importorskip("jinja2")
    assert synth() == 0
    page = ["report", "out.pgm", "--out", "page.html", "--json"]
    assert [cli.main(page), cli.main(page)] == [0, 0]
    assert '"done": "now"' in (said := capsys.readouterr().out)
    assert '"done": "already"' in said
    assert synth("--epsilon", "2", out="other.csv") == 0
    assert cli.main(["report", "other.pgm", "--out", "page.html"]) == 2
    assert cli.main(["report", "out.pgm", "people.csv", "--unsafe", "--out", "unsafe.html"]) == 0
    assert cli.main(["report", "out.pgm", "--out", "unsafe.html"]) == 2


def test_a_key_is_of_one_call(folder, unspent, capsys):
    """Under the same key another table, schema or relation is another call, and gets nothing."""
    people = account()
    assert synth(*IN_ACCOUNT, "--key", "today") == 0
    unspent()
    before = people.remaining()
    Path("wider.json").write_text(json.dumps(SCHEMA | {"age": 6}))
    for more in (["--schema", "wider.json"], ["--neighbours", "replace"], ["--epsilon", "1/3"]):
        assert synth(*IN_ACCOUNT, "--key", "today", *more, out="other.csv") == 2
        assert "pass another --key" in capsys.readouterr().err
        assert not Path("other.csv").exists()
    assert people.remaining() == before
    assert synth(*IN_ACCOUNT, "--key", "today", out="other.csv") == 0


def stated(capsys, *arguments):
    assert cli.main([*arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_the_account_command(folder, capsys):
    create = ["account", "create", "people.account", "--rho", "1/2"]
    by = ["--by", "me", "--why", "it is so"]
    assert stated(capsys, *create)["remaining"] == "1/2"
    assert stated(capsys, *create)["state"] == "open"
    assert cli.main(["account", "create", "people.account", "--rho", "1"]) == 2
    assert cli.main(["account", "create", "people.account"]) == 2
    run = stated(capsys, "account", "reserve", "people.account", "--rho", "1/8", "--what", "another tool", "--key", "a")
    assert (run["run"], run["amount"]) == (1, "1/8")
    assert cli.main(["account", "reserve", "people.account", "--rho", "1/2", "--what", "too much"]) == 4
    shown = stated(capsys, "account", "show", "people.account")
    assert (shown["spent"], shown["remaining"], shown["open"]) == ("1/8", "3/8", [])
    pypgm.Account("people.account").reserve(pypgm.Budget(rho="1/16"), what="a run")  # whose process ends here
    assert cli.main(["account", "show", "people.account"]) == 0
    assert "run 2, a run" in capsys.readouterr().out
    assert stated(capsys, "account", "settle", "people.account", "2", *by)["state"] == "settled"
    assert cli.main(["account", "settle", "people.account", "2", *by]) == 2
    assert stated(capsys, "account", "widen", "people.account", "--rho", "1", *by)["remaining"] == "7/8"
    assert stated(capsys, "account", "close", "people.account", *by)["state"] == "closed"
    assert cli.main(["account", "reserve", "people.account", "--rho", "1/8", "--what", "late"]) == 4
    history = stated(capsys, "account", "history", "people.account")
    assert [change["by"] for change in history["changes"]] == ["", "me", "me", "me"]
    assert cli.main(["account", "history", "people.account"]) == 0
    assert "it is so" in capsys.readouterr().out
    assert cli.main(["account", "show", "none.account"]) == 2


WAITING = """
import sys
from pypgm.privacy import Account, Budget
Account("people.account").reserve(Budget(epsilon="1/2", delta="1e-9"), what="wide", key="today")
print("reserved", flush=True)
sys.stdin.read()
"""
needs_marks = pytest.mark.skipif(not process_mark(), reason="this system does not say when a process began")


@needs_marks
@pytest.mark.parametrize("is_reaped", [False, True])
def test_a_try_after_a_killed_run_says_whether_another_one_helps(folder, capsys, is_reaped):
    people = account()
    environment = os.environ | {"PYTHONPATH": str(Path(pypgm.__file__).parents[1])}
    with subprocess.Popen(
        [sys.executable, "-c", WAITING], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    ) as other:
        assert other.stdout.readline() == "reserved\n"
        before = people.to_dict()
        assert before["runs"][0]["has_ended"] is False
        assert synth(*IN_ACCOUNT, "--key", "today") == 5
        assert "has this call in work: wait for its end\n" in capsys.readouterr().err
        other.kill()
        os.waitid(os.P_PID, other.pid, os.WEXITED | (0 if is_reaped else os.WNOWAIT))
        for _ in range(2):
            assert synth(*IN_ACCOUNT, "--key", "today") == 4
            assert "its process has ended: settle it: pypgm account settle people.account 1" in capsys.readouterr().err
    assert people.runs()[0].has_ended
    assert people.to_dict()["runs"][0] == before["runs"][0] | {"has_ended": True}  # nothing is settled by itself
    assert cli.main(["account", "show", "people.account"]) == 0
    assert "run 1, wide, since" in (said := capsys.readouterr().out)
    assert "its process has ended" in said
    with pytest.raises(pypgm.BudgetError, match=r"settle those whose process has ended, as that of 1$"):
        people.reserve(pypgm.Budget(epsilon=3, delta="1e-8"), what="more")
    with pytest.raises(ValueError, match="has the same key, and is open: to be settled, as its process has ended"):
        people.reserve(pypgm.Budget(epsilon="1/2", delta="1e-9"), what="more", key="today")
    assert cli.main(["account", "settle", "people.account", "1", "--by", "me", "--why", "it was killed"]) == 0
    assert synth(*IN_ACCOUNT, "--key", "today") == 0


@needs_marks
def test_a_process_that_cannot_be_seen_may_be_at_work(folder, monkeypatch, capsys):
    """Only a process of this system, since its last start, and in this namespace, is known to have ended."""
    host, number, start = process_mark().rsplit("/", 2)
    assert has_ended(f"{host}/{number}/{int(start) + 1}")  # the number is of a later process
    assert has_ended(f"{host}/{(1 << 22) + 1}/{start}")
    for unseen in ("", f"{host}1/{number}/{start}", f"/{number}/{start}", f"{host}/{start}", f"{host}/x/{start}", "x"):
        assert has_ended(unseen) is None
    monkeypatch.setattr(os, "kill", lambda *_: (_ for _ in ()).throw(PermissionError))
    assert has_ended(process_mark()) is False
    assert has_ended(f"{host}/{(1 << 22) + 1}/{start}") is None  # hidden
    monkeypatch.setattr(process, "_PROC", Path("none"))
    assert process_mark() == ""
    people = account()
    people.reserve(pypgm.Budget(epsilon="1/2", delta="1e-9"), what="wide", key="today")
    assert "has_ended" not in people.to_dict()["runs"][0]
    assert synth(*IN_ACCOUNT, "--key", "today") == 5
    assert "or its process was killed: wait for its end, or settle it: pypgm account" in capsys.readouterr().err


@pytest.mark.parametrize("wrong", [["--workload", "2"], ["--target", "age"], ["--mechanism", "wide", "--target", "z"]])
def test_an_option_that_is_refused_leaves_no_run_in_the_account(folder, wrong, capsys):
    people = account()
    assert synth(*IN_ACCOUNT, *wrong) == 2
    assert not people.runs()
    assert not list(folder.glob("out*"))
