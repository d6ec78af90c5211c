"""Makes every change that operators know in modules of the package, one at a time; writes those that nothing reports.

    PYTHONPATH=tests python tests/every_change.py MODULE... [--sample N]

Each is made in a process of its own, which runs the checks of tier 0, the shortest first, until one reports it or ends
in an error, and then the quick tests of `tests/privacy`. What is left is harmless, or lacks a check.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import importlib
import inspect
import io
import multiprocessing
import os
import random
import signal
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from mutate import Mutant, planted
from operators import Change, changes

from pypgm.audit.tiers import suite

_MOST = 240  # seconds of the processor for the checks: what never ends is noticed
TESTS = Path(__file__).with_name("privacy")

Task = tuple[str, str, Change]
CHECKS = suite(0)


def tasks(modules: list[str]) -> list[Task]:
    """Return every change of every function of modules."""
    texts = [(name, inspect.getsource(importlib.import_module(name))) for name in modules]
    return [(name, at, change) for name, text in texts for at, change in changes(ast.parse(text))]


def seconds(at: int) -> float:
    """Return how long a check takes."""
    begun = time.process_time()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        CHECKS[at]()
    return time.process_time() - begun


def reported(task: Task, order: list[int]) -> str:
    """Return what reports a change; "" where nothing does."""
    module, at, change = task
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_PROF, _MOST)
    try:
        with planted(Mutant("change", module, at, change, list, "")):
            for i in order:
                with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
                    result = CHECKS[i]()
                if result.result in {"failed", "not exercised"}:
                    return f"{result.check}, {result.subject}"
            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
                code = pytest.main(["-x", "-q", "-m", "not slow", "-p", "no:cacheprovider", str(TESTS)])
            return "tests" if code else ""
    except ValueError as error:
        return "no change" if "changes no function" in str(error) else "ValueError"
    except BaseException as error:  # whatever the change has broken
        return type(error).__name__


def child(task: Task, order: list[int], to: Any) -> None:
    """Send what reports a change."""
    to.send(reported(task, order))
    os._exit(0)


def main() -> None:
    """Try all changes, or some drawn from a fixed seed; print those that nothing reports, then how many were."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("modules", nargs="+")
    parser.add_argument("--sample", type=int, default=1 << 60)
    given = parser.parse_args()
    every = tasks(given.modules)
    some = random.Random(0).sample(every, min(given.sample, len(every)))
    took = [seconds(i) for i in range(len(CHECKS))]
    order = sorted(range(len(CHECKS)), key=took.__getitem__)
    fork: Any = multiprocessing.get_context("fork")
    caught = same = 0
    for task in some:
        here, there = fork.Pipe(duplex=False)
        process = fork.Process(target=child, args=(task, order, there))
        process.start()
        there.close()
        try:
            found = here.recv()
        except EOFError:
            found = "does not end"
        process.join()
        same, caught = same + (found == "no change"), caught + bool(found and found != "no change")
        print(*task, found or "NOT REPORTED", sep=" | ", flush=True)
    print(f"{len(every)} changes, {len(some)} tried, {same} change nothing, {caught} reported", file=sys.stderr)


if __name__ == "__main__":
    main()
