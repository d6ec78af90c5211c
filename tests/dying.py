"""Runs on one account, each in a process that meets a fault: ``python dying.py FOLDER FAULT SEED N`` checks the rest.

Each run measures a table, writing every value down as soon as it has it, and then makes a release and saves it. After
each one it must hold: nothing was written down, saved or released without its lines in the account; the account's sums
are those of its lines, and within its budget; a file under its name is whole; and the next run goes on.
"""

from __future__ import annotations

import contextlib
import os
import random
import resource
import signal
import sys
import time
from fractions import Fraction
from pathlib import Path

import pypgm
from pypgm import Account, Budget, Dataset, Domain, Ledger

DOMAIN = Domain({"a": 3, "b": 2})
DATA = Dataset({"a": [0, 1, 2] * 20, "b": [0, 1] * 30}, DOMAIN)
LIMIT, OF_TABLE, OF_STEP, OF_RELEASE = Fraction(9), Fraction(1, 100), Fraction(1, 1000), Fraction(1, 50)
OF_ACCOUNT = ("account", "account_run", "account_store", "account_entry")
OF_RUNS = ("ledger", "charge", "access", "private_table", "sampler", "fixed_errors", "entry")
FILES = ("files/archive.py", "files/file.py", "sources/files.py", "pypgm/release.py")
WATCHED = (*(f"privacy/{name}.py" for name in (*OF_ACCOUNT, *OF_RUNS)), *FILES)


def run(folder, place, number, before=lambda step: None):
    """Measure and release under an account; whatever is public is written down at once."""
    account = Account(place, table="people")
    budget, published = Budget(rho=OF_TABLE), (folder / f"published{number}").open("wb", buffering=0)
    with published, account.reserve(budget, what="measurements", key=f"m{number}") as reservation:
        table = pypgm.PrivateTable(DATA, None, Ledger(budget), n_threads=1, account=reservation)
        for step, clique in enumerate(["a", "b", ("a", "b")]):
            before(step)
            values = table.measure(clique, rho=OF_STEP).values
            published.write(f"{values.tolist()}\n".encode())
        before(3)
    release = pypgm.mechanisms.mst(DATA, budget=Budget(rho=OF_RELEASE), account=account, n_threads=1)
    release.save(folder / f"{number}.pgm")


class AtLine:
    """Calls a function at the n-th line that some files reach."""

    def __init__(self, files, n, event):
        self.files, self.n, self.event, self.count = files, n, event, 0

    def __enter__(self):
        sys.settrace(self.called)
        return self

    def __exit__(self, *_):
        sys.settrace(None)

    def called(self, frame, _, __):
        return self.reached if frame.f_code.co_filename.endswith(self.files) else None

    def reached(self, _, event, __):
        if event == "line":
            self.count += 1
            if self.count == self.n:
                self.event()
        return self.reached


def failing(name, n):
    """Let the n-th call of a function of ``os`` fail, as a disk that is gone."""
    real, calls = getattr(os, name), []

    def call(*arguments, **options):
        calls.append(arguments)
        if len(calls) == n:
            raise OSError(5, "Input/output error")
        return real(*arguments, **options)

    setattr(os, name, call)


def jumping(rng):
    """Let the time of day jump to both sides, and other clocks forwards, as those of a machine that slept."""
    of_day, steady = time.time, time.perf_counter
    gone = [0.0]

    def slept():
        gone[0] += rng.choice([0, 0, 0, 3600.0])
        return steady() + gone[0]

    time.time = lambda: of_day() + rng.uniform(-1e9, 1e9)
    time.perf_counter = slept


def forked(children):
    """Fork: both processes go on with the run."""
    child = os.fork()
    if child:
        children.append(child)
    else:
        children.clear()
        children.append(None)


def met(fault, rng, n_lines, seconds, *of_run):
    """Carry out a run that a fault meets; return whether it ended well."""
    children, event, before = [], None, lambda step: None
    if fault in {"SIGKILL", "SIGINT"}:
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
        event = lambda: os.kill(os.getpid(), getattr(signal, fault))  # noqa: E731
    elif fault == "any moment":  # by a signal that ends the process, in compiled code too
        signal.setitimer(signal.ITIMER_REAL, rng.uniform(0, 2 * seconds))  # a child starts anew, and is slower
    elif fault == "fork":
        chosen = rng.randrange(4)
        before = lambda step: forked(children) if step == chosen else None  # noqa: E731
    elif fault == "full disk":  # for files beyond some size
        used = max(path.stat().st_size for path in of_run[0].iterdir())
        room = rng.randint(0, used + 30_000)
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, resource.RLIM_INFINITY))
    elif fault == "memory":
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + rng.randint(0, 1 << 16), resource.RLIM_INFINITY))
    elif fault == "clocks":
        jumping(rng)
    elif fault == "failing rename":
        failing("replace", 1)
    try:
        with AtLine(WATCHED, rng.randint(1, n_lines), event) if event else contextlib.nullcontext():
            run(*of_run, before)
    except (KeyboardInterrupt, Exception):
        return False
    finally:
        for child in filter(None, children):
            os.waitpid(child, 0)
    return None not in children


def lines_of_a_run(folder, place):
    """Return the fewest lines of the watched files that one of a few runs reaches; the first reaches a tenth more."""
    counts = []
    for number in (0, -4, -5):
        with AtLine(WATCHED, 0, None) as whole:
            run(folder, place, number)
        counts.append(whole.count)
    return min(counts)


def seconds_of_a_run(folder, place):
    """Return the shortest of a few runs, so that a moment within it is met on a machine of any speed and load."""
    seconds = []
    for number in range(-3, 0):
        start = time.perf_counter()
        run(folder, place, number)
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def check(folder, place, number, *, is_killed):
    """Check what a run has left, and settle it as a person does."""
    account = Account(place)
    lines = {known.run: account.lines(known.run) for known in account.runs()}
    published = (folder / f"published{number}").read_text() if (folder / f"published{number}").exists() else ""
    measured = account.run_of(f"m{number}")
    n_lines = 0 if measured is None else len(lines[measured.run])
    assert published.count("\n") <= n_lines, "values are out that the account does not know"
    saved = folder / f"{number}.pgm"
    if saved.exists():
        release = pypgm.load(saved)  # which checks its digest
        account.check_release(release)
        assert sum(line.cost for line in release.ledger.lines) == sum(line.cost for line in lines[release.account.run])
    for known in account.runs():
        cost = sum(line.cost for line in lines[known.run])
        assert cost <= {"measurements": OF_TABLE}.get(known.what, OF_RELEASE)
        if not known.is_settled:
            assert known.taken[0] >= cost
            account.settle(known.run, by="test", why="its process has ended")
    assert account.reserved() == 0
    assert account.spent() == sum(line.cost for some in lines.values() for line in some) <= LIMIT
    assert account.remaining() == LIMIT - account.spent()
    drafts = [path.name for path in folder.iterdir() if path.name.endswith(".part")]
    assert is_killed or not drafts, drafts
    for name in drafts:
        (folder / name).unlink()


def main(folder, fault, seed, n_runs):
    folder, place = Path(folder), Path(folder, "people.account")
    Account(place, budget=Budget(rho=LIMIT), table="people", neighbours="add-remove")
    n_lines, seconds = lines_of_a_run(folder, place), seconds_of_a_run(folder, place)
    check(folder, place, 0, is_killed=False)
    rng, ended_well = random.Random(seed), 0
    for number in range(1, n_runs + 1):
        of_run = random.Random(rng.random())
        if (child := os.fork()) == 0:
            is_done = met(fault, of_run, n_lines, seconds, folder, place, number)
            os._exit(0 if is_done else 3)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        ended_well += status == 0
        check(folder, place, number, is_killed=status < 0)
    print(ended_well, n_lines, len(Account(place).runs()))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
