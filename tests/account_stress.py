"""Real processes that spend one account at once, of which some are killed; what was released is then compared."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

from pypgm.errors import BudgetError
from pypgm.privacy import Account, Budget, Ledger, Privacy
from pypgm.privacy.laws import Stated

_WAIT = 600.0  # seconds for all processes of a stress: a limit for a test that hangs


class Released(NamedTuple):
    """A line that a process has released: it wrote it only after its charge had returned."""

    run: int
    on: str
    cost: Fraction


def work(place: str, journal: str, seed: int, runs: int) -> None:
    """Do some runs on an account, and write each line that was charged to a journal."""
    rng, account = random.Random(seed), Account(place)
    for i in range(runs):
        budget = Budget(rho=Fraction(rng.randint(1, 9), rng.choice([7, 11, 1000])))
        try:
            with account.reserve(budget, what=f"worker {seed}") as run, open(journal, "a", encoding="utf-8") as file:
                ledger = Ledger(budget, run.observer)
                ledger.bind(Privacy())
                for step in range(rng.randint(0, 3)):
                    line = ledger.charge("measure", f"{seed}/{i}/{step}", Stated(rho=budget.limit / rng.randint(3, 7)))
                    print(json.dumps([run.entry.run, line.on, str(line.cost)]), file=file, flush=True)
                    os.fsync(file.fileno())
        except BudgetError:
            pass


def stress(place: str, folder: Path, *, processes: int, runs: int, seed: int, pace: float) -> list[Released]:
    """Run processes at once on an account and kill half of them at work; return what was released.

    A process is killed at a random moment within `pace` seconds from its first run. Another one follows it.
    """
    rng, end = random.Random(seed), time.monotonic() + _WAIT
    started: list[Path] = []
    alive: list[_Worker] = []

    def start() -> None:
        journal = folder / f"{len(started)}.journal"
        started.append(journal)
        command = [sys.executable, __file__, place, str(journal), str(seed * 10**6 + len(started)), str(runs)]
        worker = subprocess.Popen(command, env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)})
        alive.append(_Worker(worker, journal, rng.uniform(0, pace) if rng.random() < 1 / 2 else _WAIT))

    for _ in range(processes):
        start()
    while alive:
        assert time.monotonic() < end, "the processes of a stress did not end"
        for worker in tuple(alive):
            if worker.process.poll() is not None:
                assert worker.process.returncode == 0, f"a worker ended with {worker.process.returncode}"
                alive.remove(worker)
            elif worker.is_due():
                worker.process.kill()
                worker.process.wait()
                alive.remove(worker)
                if len(started) < 2 * processes:
                    start()
        time.sleep(0.002)
    return [entry for journal in started if journal.exists() for entry in _released(journal)]


class _Worker:
    """A process, with the time that it has from its first run."""

    def __init__(self, process: subprocess.Popen[bytes], journal: Path, seconds: float) -> None:
        self.process, self._journal, self._seconds, self._end = process, journal, seconds, float("inf")

    def is_due(self) -> bool:
        """Return whether it is to be killed now."""
        if self._end == float("inf") and self._journal.exists():
            self._end = time.monotonic() + self._seconds
        return time.monotonic() > self._end


def _released(journal: Path) -> list[Released]:
    lines = journal.read_text(encoding="utf-8").splitlines(keepends=True)
    whole = [json.loads(line) for line in lines if line.endswith("\n")]
    return [Released(run, on, Fraction(cost)) for run, on, cost in whole]


def check(account: Account, released: list[Released]) -> dict[str, Any]:
    """Compare an account with what was released, to the last digit; return the figures."""
    runs = {run.run: run for run in account.runs()}
    lines = {run: account.lines(run) for run in runs}
    for number, run in runs.items():
        assert run.spent == sum((line.cost for line in lines[number]), Fraction(0)) <= run.amount
        entered = [line.on for line in lines[number]]
        shown = [entry.on for entry in released if entry.run == number]
        assert entered[: len(shown)] == shown  # nothing is released without its line
        assert len(entered) - len(shown) <= (0 if run.is_settled else 1)  # the one in whose charge the process died
    taken = sum((run.amount if not run.is_settled else run.spent for run in runs.values()), Fraction(0))
    assert account.budget.limit - account.remaining() == account.spent() + account.reserved() == taken
    assert taken <= account.budget.limit
    settled = sum((entry.cost for entry in released if runs[entry.run].is_settled), Fraction(0))
    assert account.spent() == settled  # so that lines are what was released, and the rest is reserved
    is_open = [run.run for run in runs.values() if not run.is_settled]
    figures = {"runs": len(runs), "open": len(is_open), "released": len(released), "spent": str(account.spent())}
    for number in is_open:
        account.settle(number, by="stress", why="its process was killed")
    every = sum((line.cost for each in lines.values() for line in each), Fraction(0))
    assert account.spent() == every == account.budget.limit - account.remaining()
    return figures | {"unseen": sum(map(len, lines.values())) - len(released), "left": str(account.remaining())}


if __name__ == "__main__":
    work(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
