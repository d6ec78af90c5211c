"""Plants every mutant and runs all checks that any mutant names; writes which of them report it.

    PYTHONPATH=tests python tests/cross_run.py REPORT [SECONDS]

A mutant is run against its own check and all that take at most SECONDS of the processor (0.1 by default) on the whole
package: what else a machine does changes nothing. A mutant
that one check alone reports rests on that check; one that none reports any more is a defect of the audit.
"""

from __future__ import annotations

import contextlib
import io
import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mutants import MUTANTS
from mutate import planted

from pypgm.audit.finding import Finding

_MAX_SECONDS = 60  # seconds of the processor that one check may take: a mutant may never end
_MAX_WAIT = 900  # seconds of one that waits, for a lock that a mutant holds

Check = Callable[[], "Finding | list[Finding]"]
CHECKS: list[Check] = list(dict.fromkeys(m.check for m in MUTANTS))


def findings_of(check: Check) -> list[Finding]:
    """Run a check, silently; one that fails or hangs finds nothing."""

    def stop(*_: object) -> None:
        raise TimeoutError

    timers = {signal.ITIMER_PROF: (signal.SIGPROF, _MAX_SECONDS), signal.ITIMER_REAL: (signal.SIGALRM, _MAX_WAIT)}
    for timer, (number, seconds) in timers.items():
        signal.signal(number, stop)
        signal.setitimer(timer, seconds)
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            findings = check()
    except BaseException:  # whatever the mutant has broken
        return []
    finally:
        for timer in timers:
            signal.setitimer(timer, 0)
    return [findings] if isinstance(findings, Finding) else findings


def clean(at: int) -> tuple[str, float]:
    """Return the name of a check and its seconds on the whole package."""
    begun = time.process_time()
    findings = findings_of(CHECKS[at])
    return (findings[0].check if findings else "none"), time.process_time() - begun


def run(task: tuple[int, list[int]]) -> list[int]:
    """Return the checks that report a mutant under any name."""
    mutant = MUTANTS[task[0]]
    with planted(mutant):
        return [at for at in task[1] if any(f.result == "failed" for f in findings_of(CHECKS[at]))]


def report(names: list[str], seconds: float, seen: list[list[int]]) -> str:
    """Return the table."""
    numbers = [CHECKS.index(m.check) for m in MUTANTS]
    alone = sum(hits == [at] for hits, at in zip(seen, numbers, strict=True))
    missed = [m.name for m, hits, at in zip(MUTANTS, seen, numbers, strict=True) if at not in hits]
    lines = [
        "# Planted defects and the checks that report them",
        "",
        f"{len(MUTANTS)} defects, each planted alone and run against its own check and the others that take at most "
        f"{seconds:g} s of the processor. {alone} are reported by their own check alone; not reported by it: "
        f"{', '.join(missed) or 'none'}. Written by `tests/cross_run.py`.",
        "",
        "| defect | where | its check | reported as | other checks |",
        "|---|---|---|---|---|",
    ]
    for mutant, hits, at in zip(MUTANTS, seen, numbers, strict=True):
        others = sorted({names[i] for i in hits if i != at})
        shown = f"{len(others)}: {', '.join(others)}" if others else "none"
        where = mutant.module.removeprefix("pypgm.")
        lines.append(f"| {mutant.name} | {where} | {names[at]} | {mutant.defect} | {shown} |")
    return "\n".join([*lines, ""])


def main(path: str, seconds: float = 0.1) -> None:
    """Run all mutants, each in a process of its own, and write the report."""
    fork: Any = multiprocessing.get_context("fork")
    with fork.Pool(os.cpu_count(), maxtasksperchild=1) as pool:
        known = pool.map(clean, range(len(CHECKS)), 1)
        brief = [i for i, (_, taken) in enumerate(known) if taken <= seconds]
        tasks = [(i, sorted({*brief, CHECKS.index(m.check)})) for i, m in enumerate(MUTANTS)]
        seen: list[list[int]] = []
        for hits in pool.imap(run, tasks, 1):
            seen.append(hits)
            sys.stderr.write(f"\r{len(seen)} of {len(MUTANTS)}")
    Path(path).write_text(report([name for name, _ in known], seconds, seen), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1], *map(float, sys.argv[2:3]))
