"""Makes every change that operators know in modules of the package, one at a time; writes those that nothing reports.

    PYTHONPATH=tests python tests/every_change.py [MODULE ...] [--sample N] [--seconds S] [--left FILE] [--tests ...]

All of `pypgm.privacy` unless modules are named. First each quick test of `tests/privacy`, or of some files, and each
check of tier 0 and of planted defects that takes no more than S seconds of the processor is run once, and the lines
that it reaches are noted. Each change is made in a process of its own, which runs those that reach its lines: what
reported a change of the same function first, then the shortest, until one reports it. What is left is harmless, or
lacks a check. With --left, only what FILE, the output of an earlier run, says that nothing reported is tried.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import inspect
import itertools
import multiprocessing
import os
import pkgutil
import random
import resource
import signal
import sys
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from _pytest.runner import runtestprotocol
from mutants import MUTANTS
from mutate import Mutant, planted
from operators import Change, changes, function_in, sites
from selfcheck.everything import suite

from pypgm import privacy

TESTS = Path(__file__).with_name("privacy")
HOME = str(Path(privacy.__file__).parent)

Lines = set[tuple[str, int]]


@dataclass(frozen=True)
class Task:
    """A change of a function, and the lines that it is made on."""

    module: str
    at: str
    change: Change
    lines: frozenset[tuple[str, int]]

    def __str__(self) -> str:
        return f"{self.module} | {self.at} | {self.change} | {min(line for _, line in self.lines)}"


@dataclass(frozen=True)
class Probe:
    """A test or a check: returns whether it reports something."""

    name: str
    reports: Callable[[], bool]
    seconds: float = 0
    lines: frozenset[tuple[str, int]] = frozenset()


def tasks(module: str) -> list[Task]:
    """Return every change of every function of a module."""
    loaded = importlib.import_module(module)
    tree = ast.parse(inspect.getsource(loaded))
    works = []
    for at, change in changes(tree):
        node = sites(change.operator, function_in(tree, at))[change.site][0]
        lines = [n.lineno for n in ast.walk(getattr(node, "test", node)) if hasattr(n, "lineno")]
        last = min(lines) if isinstance(node, ast.For | ast.With) else max(lines)
        works.append(
            Task(module, at, change, frozenset((loaded.__file__ or "", i) for i in range(min(lines), last + 1)))
        )
    return works


def fails(item: Any) -> bool:
    """Run a test; return whether it fails."""
    return any(report.failed for report in runtestprotocol(item, log=False, nextitem=None))


def looked(checks: list[Callable[[], Any]]) -> bool:
    """Make checks that share their runs; return whether one finds something."""
    results = (check() for check in checks)
    every = itertools.chain.from_iterable(f if isinstance(f, list) else [f] for f in results)
    return any(one.result in {"failed", "not exercised"} for one in every)


def probes(items: list[Any]) -> list[Probe]:
    """Return all tests, and the checks of tier 0 and of planted defects: those of the same runs together."""
    together: defaultdict[object, list[Any]] = defaultdict(list)
    for check in dict.fromkeys([*suite(0), *(mutant.check for mutant in MUTANTS)]):
        shared = (
            check.args[1] if isinstance(check, partial) and len(check.args) > 1 and callable(check.args[0]) else check
        )
        together[shared].append(check)
    tests = [Probe(item.nodeid, partial(fails, item)) for item in items]
    return tests + [Probe(f"check: {checks[0]}", partial(looked, checks)) for checks in together.values()]


def apart(work: Callable[[Any], None], seconds: float) -> Any:
    """Do work in a process of its own that may use so many seconds of the processor; None if it does not end."""
    fork: Any = multiprocessing.get_context("fork")
    here, there = fork.Pipe(duplex=False)

    def child() -> None:
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in (1, 2):
            os.dup2(nothing, stream)
        signal.signal(signal.SIGPROF, signal.SIG_DFL)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_PROF, seconds)
        signal.setitimer(signal.ITIMER_REAL, 20 * seconds + 60)
        resource.setrlimit(resource.RLIMIT_AS, (1 << 33, 1 << 33))
        try:
            work(there)
        finally:
            os._exit(0)

    process = fork.Process(target=child)
    process.start()
    there.close()
    try:
        return here.recv()
    except EOFError:
        return None
    finally:
        process.join()


def measured(probe: Probe, most: float) -> Probe:
    """Run a probe on the whole package; note its seconds and the lines of pypgm.privacy that it reaches."""

    def work(to: Any) -> None:
        lines: Lines = set()

        def line(frame: Any, event: str, _: object) -> Any:
            if event == "line":
                lines.add((frame.f_code.co_filename, frame.f_lineno))
            return line

        def call(frame: Any, _: str, __: object) -> Any:
            return line if frame.f_code.co_filename.startswith(HOME) else None

        threading.settrace(call)
        sys.settrace(call)
        begun = time.process_time()
        is_reported = probe.reports()
        sys.settrace(None)
        to.send((time.process_time() - begun, is_reported, lines))

    seconds, is_reported, lines = apart(work, most) or (0, True, ())
    return Probe(probe.name, probe.reports, seconds, frozenset(() if is_reported else lines))


def reported(task: Task, among: list[Probe]) -> str:
    """Return what reports a change; "" where nothing does."""

    def work(to: Any) -> None:
        try:
            with planted(Mutant("change", task.module, task.at, task.change, list, "")):
                to.send(next((p.name for p in among if p.reports()), ""))
        except ValueError as error:
            to.send("no change" if "changes no function" in str(error) else f"ValueError: {error}")
        except BaseException as error:  # whatever the change has broken
            to.send(type(error).__name__)

    answer = apart(work, 20 + 5 * sum(p.seconds for p in among))
    return "does not end" if answer is None else str(answer)


class Everything:
    """Plugin of pytest that makes every change in the place of running the tests."""

    def __init__(self, given: argparse.Namespace) -> None:
        self.given = given

    def most(self, probe: Probe) -> float:
        """Return how many seconds a probe may take; 0 if it is left out."""
        return self.given.seconds if probe.name.startswith("check: ") else 30

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Try all changes, or some drawn from a fixed seed; print what reports each."""
        left = self.given.left and Path(self.given.left).read_text(encoding="utf-8").splitlines()
        known = [measured(probe, most) for probe in probes(session.items) if (most := self.most(probe))]
        say(f"{len(known)} tests and checks, {sum(p.seconds for p in known):.0f} s")
        useful: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for module in self.given.modules:
            every = [task for task in tasks(module) if not left or any(i.startswith(f"{task} | NOT") for i in left)]
            counts: Counter[str] = Counter()
            for task in random.Random(0).sample(every, min(self.given.sample, len(every))):
                among = [p for p in known if p.lines & task.lines]
                among.sort(key=lambda p: (-useful[task.module + task.at][p.name], p.seconds))
                reporter = reported(task, among)
                useful[task.module + task.at][reporter] += 1
                counts[reporter if reporter == "no change" else "reported" if reporter else "not reported"] += 1
                say(f"{task} | {reporter or f'NOT REPORTED by {len(among)}'}")
            say(f"{module}: {len(every)} changes, {dict(counts)}")
        return True


def say(line: str) -> None:
    """Print a line where pytest does not take it."""
    print(line, file=sys.__stderr__, flush=True)


def main() -> None:
    """Collect the tests, and try the changes in their place."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("modules", nargs="*")
    parser.add_argument("--sample", type=int, default=1 << 60)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--left")
    parser.add_argument("--tests", nargs="*", default=[str(TESTS)])
    given = parser.parse_args()
    given.modules = given.modules or [f"pypgm.privacy.{part.name}" for part in pkgutil.iter_modules(privacy.__path__)]
    pytest.main(["-q", "-s", "-m", "not slow", "-p", "no:cacheprovider", *given.tests], [Everything(given)])


if __name__ == "__main__":
    main()
