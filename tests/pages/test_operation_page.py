"""The page on jobs: its recipes run, as far as no scheduler is needed, and its table is that of the command."""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

import pypgm
from pypgm.cli.command import STATUSES

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "operation.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```(\w*)\n(.*?)```", TEXT, flags=re.DOTALL)
RETRIED = {5, 6}


def block(kind, text):
    (found,) = (body for name, body in BLOCKS if name == kind and text in body)
    return found


def test_the_table_of_statuses_is_that_of_the_command():
    rows = dict(re.findall(r"^\| (\d) \| .* \| (.*) \|$", TEXT, flags=re.MULTILINE))
    assert {*map(int, rows)} == {*STATUSES}
    assert {int(status) for status, advice in rows.items() if "try again" in advice} == RETRIED
    assert {status for status, meaning in STATUSES.items() if "tried again" in meaning} == RETRIED


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Make the files of the page, with a command of this package."""
    if sys.platform == "win32":
        pytest.skip("scripts of a shell")
    pytest.importorskip("jinja2")
    monkeypatch.chdir(tmp_path)
    drawn = random.Random(0)
    rows = "".join(f"{drawn.randrange(5)},{drawn.choice('FM')}\n" for _ in range(300))
    Path("people.csv").write_text(f"age,sex\n{rows}")
    Path("schema.json").write_text(json.dumps({"age": 5, "sex": ["F", "M"]}))
    files = {"nightly.sh": block("sh", "# nightly.sh"), "retry.sh": block("sh", "# retry.sh")}
    root = str(Path(pypgm.__file__).parents[1])
    code = f"import sys; sys.path.insert(0, {root!r}); from pypgm.cli import main; sys.exit(main(sys.argv[1:]))"
    files["bin/pypgm"] = f'#!/bin/sh\nexec "{sys.executable}" -c "{code}" "$@"\n'
    Path("bin").mkdir()
    for name, text in files.items():
        Path(name).write_text(text)
        Path(name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("PAUSES", "0 0 0")
    return tmp_path


def ran(*words):
    return subprocess.run(words, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_the_nightly_job_of_the_page(folder):
    assert ran("sh", "-ec", block("sh", "account create")).returncode == 0
    files = {"people-2026-11-29.pgm", "people-2026-11-29.html", "synthetic-2026-11-29.csv"}
    for lost in ({}, {"synthetic-2026-11-29.csv", "people-2026-11-29.html"}):
        for name in lost:
            Path(name).unlink()
        done = ran("./retry.sh", "./nightly.sh", "2026-11-29")
        assert done.returncode == 0, done.stderr
        assert files <= {*os.listdir()}
    people = pypgm.Account("people.account", table="people.csv")
    assert [run.key for run in people.runs()] == ["people 2026-11-29"]
    settle = block("sh", "account settle")
    assert ran("sh", "-c", settle).returncode == 2  # nothing is open
    people.reserve(pypgm.Budget(epsilon="1/2", delta="1e-9"), what="killed", key="people 2026-11-30")
    assert ran("./retry.sh", "./nightly.sh", "2026-11-30").returncode == 5
    assert ran("sh", "-c", settle.replace("people.account 1", "people.account 2")).returncode == 0
    Path("people.csv").write_text("age,sex\n9,F\n")
    assert ran("./retry.sh", "./nightly.sh", "2026-11-30").returncode == 3


@pytest.mark.parametrize("status", STATUSES)
def test_only_what_may_help_is_tried_again(folder, status):
    Path("job").write_text(f"#!/bin/sh\necho >>tries\nexit {status}\n")
    Path("job").chmod(0o755)
    assert ran("./retry.sh", "./job").returncode == status
    assert Path("tries").read_text() == "\n" * (4 if status in RETRIED else 1)


def test_the_graph_of_the_page(monkeypatch):
    """It runs with stand-ins for the scheduler, and is imported by the scheduler itself where there is one."""
    code = compile(block("python", "airflow"), "the graph", "exec")

    class FailError(Exception):
        pass

    class RetryError(Exception):
        pass

    tasks = []
    parts = {
        "airflow": ModuleType("airflow"),
        "airflow.decorators": SimpleNamespace(
            dag=lambda **_: lambda made: made, task=lambda made: lambda: tasks.append(made)
        ),
        "airflow.exceptions": SimpleNamespace(AirflowException=RetryError, AirflowFailException=FailError),
    }
    with monkeypatch.context() as patched:
        for name, part in parts.items():
            patched.setitem(sys.modules, name, part)
        exec(code, {})
    (release,) = tasks
    for status in STATUSES:
        calls = []

        def run(words, calls=calls, status=status, **_):
            calls.append(words)
            return SimpleNamespace(returncode=status)

        monkeypatch.setattr(subprocess, "run", run)
        if status == 0:
            release(ds="2026-11-29")
        else:
            with pytest.raises(RetryError if status in RETRIED else FailError):
                release(ds="2026-11-29")
        assert calls == [["./nightly.sh", "2026-11-29"]]


def test_the_job_of_the_cluster_tries_the_same_again():
    yaml = pytest.importorskip("yaml")
    job = yaml.safe_load(block("yaml", "kind: Job"))
    (rule,) = job["spec"]["podFailurePolicy"]["rules"]
    assert (rule["action"], rule["onExitCodes"]["operator"]) == ("FailJob", "NotIn")
    assert {*rule["onExitCodes"]["values"]} == RETRIED
    (container,) = job["spec"]["template"]["spec"]["containers"]
    assert container["args"] == ["2026-11-29"]


def test_the_step_of_the_page_is_one_of_the_log():
    line = json.loads(block("json", "charged"))
    assert {*line} == {"run", "step", "seconds", "what", "on", "cost"}


def test_many_records(folder, monkeypatch):
    """The numbers are made smaller."""
    pytest.importorskip("duckdb")
    synth = "pypgm synth people.csv --schema schema.json --epsilon 9 --delta 1e-9 --out s.csv --release people.pgm"
    subprocess.run(synth.split(), check=True, capture_output=True)
    code = "".join(text for kind, text in BLOCKS if kind == "python" and "10**" in text)
    smaller = re.sub(r"10\*\*\d", "3000", code)
    assert smaller.count("3000") == 3
    exec(smaller.replace("parts=100, processes=4", "parts=3"), {})
    assert len([*Path("synthetic").glob("part-*.parquet")]) == 3
    assert [path.name for path in Path("other").glob("part-*")] == ["part-00003-of-00100.parquet"]
    command = block("sh", "$TASK").replace("100000000", "3000").replace("/shared/", "").replace("synthetic", "tasks")
    for task in ("1", "0"):
        monkeypatch.setenv("TASK", task)
        subprocess.run(command.replace("100", "2"), shell=True, check=True, capture_output=True)
    assert Path("tasks/_SUCCESS").exists()
