"""Calls of ``pypgm synth`` that meet a fault, and are tried again: ``python dying_commands.py FOLDER FAULT SEED N``.

After each call, whatever has a name is whole or empty, and the account covers the release; the same call without the
fault then ends well, from the release that is there, or from a new one.
"""

from __future__ import annotations

import os
import random
import resource
import signal
import sys
from functools import partial
from pathlib import Path

from dying import WATCHED, AtLine, failing

import pypgm
from pypgm import Account
from pypgm.cli import main

N_RECORDS, NOBODY = 50, 65534
OF_COMMAND = (
    "cli/synth.py",
    "jobs/claim.py",
    "cli/job.py",
    "jobs/job.py",
    "jobs/place.py",
    "jobs/stopping.py",
    *WATCHED,
)
CALL = ["synth", "people.csv", "--schema", "schema.json", "--epsilon", "1/10", "--delta", "1e-9", "--mechanism", "mst"]
CALL += ["--account", "account/people", "--rows", str(N_RECORDS), "--quiet"]


def met(fault, rng, n_lines, call):
    """Carry out a call that meets a fault; return its exit status."""
    event = None
    if fault in {"SIGKILL", "SIGTERM"}:
        event = lambda: os.kill(os.getpid(), getattr(signal, fault))  # noqa: E731
    elif fault == "full disk":  # for files beyond some size
        resource.setrlimit(
            resource.RLIMIT_FSIZE, (rng.choice([rng.randint(0, 60_000), 1 << 20]), resource.RLIM_INFINITY)
        )
    elif fault == "read-only folder":
        os.chmod("out", 0o555)
        if os.getuid() == 0:  # whom no mode keeps out
            os.setuid(NOBODY)
    else:
        failing("replace", rng.randint(1, 3))
    if event is None:
        return main(call)
    with AtLine(OF_COMMAND, rng.randint(1, n_lines), event):
        return main(call)


def forked(work):
    """Return the exit status of work in a process of its own, negative for a signal."""
    if (child := os.fork()) == 0:
        os.dup2(os.open("said", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666), 2)
        status = 1
        try:
            status = work()
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def check(number, status):
    """Check what a call has left, and settle its run as a person does."""
    text, account = Path("said").read_text(), Account("account/people")
    records, release, run = Path(f"out/{number}.csv"), Path(f"out/{number}.pgm"), account.run_of(str(number))
    if run is not None and run.path:  # which is elsewhere where its own place has failed
        release = Path(run.path)
    assert "Traceback" not in text, text
    is_kept = release.exists() and release.stat().st_size > 0
    if is_kept:
        account.check_release(pypgm.load(release))
    if records.exists() and records.stat().st_size:
        assert records.read_text().count("\n") == N_RECORDS + 1
        assert is_kept
    for path in (records, release):
        assert status < 0 or not path.exists() or path.stat().st_size, f"{path} was left empty: {text}"
    assert status != 0 or (is_kept and records.exists())
    for run in account.runs():
        if not run.is_settled:
            assert status != 0
            account.settle(run.run, by="test", why="its process has ended")
    lines = [line for run in account.runs() for line in account.lines(run.run)]
    assert account.spent() == sum(line.cost for line in lines)
    return is_kept


def main_loop(folder, fault, seed, n_calls):
    os.chdir(folder)
    for name in ("account", "out"):
        os.mkdir(name)
        os.chmod(name, 0o777)
    Path("people.csv").write_text("age,sex\n" + "".join(f"{i % 5},{'FM'[i % 2]}\n" for i in range(60)))
    Path("schema.json").write_text('{"age": 5, "sex": ["F", "M"]}')
    main(["account", "create", "account/people", "--epsilon", "20", "--delta", "1e-6"])
    for path in Path("account").iterdir():
        path.chmod(0o666)
    with AtLine(OF_COMMAND, 0, None) as whole:
        assert main([*CALL, "--out", "out/0.csv", "--key", "0"]) == 0
    rng, statuses = random.Random(seed), []
    Path("said").touch(0o666)
    os.chmod(".", 0o777)
    for number in range(1, n_calls + 1):
        of_call, call = random.Random(rng.random()), [*CALL, "--out", f"out/{number}.csv", "--key", str(number)]
        status = forked(partial(met, fault, of_call, whole.count, call))
        statuses.append(status)
        os.chmod("out", 0o777)
        was_kept, before = check(number, status), Account("account/people").spent()
        assert forked(partial(main, call)) == 0, Path("said").read_text()
        assert check(number, 0)
        assert (Account("account/people").spent() == before) == was_kept, "a release that is there is not paid again"
    print(*statuses)


if __name__ == "__main__":
    main_loop(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
