"""Random cases of every mechanism and learner, as many as time allows, each reproducible by its seed."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

import numpy as np

from pypgm.audit.finding import Finding, finding
from pypgm.audit.stated import Effort
from selfcheck.cases import Case, Outcome, case_of, run_case
from selfcheck.settings import SETTINGS, Choose

_EFFORT = Effort(candidates=4, climbs=4, moves=16)


class Tried(Protocol):
    """Case of any kind."""

    @property
    def subject(self) -> str:
        """Name of the mechanism or call of the case."""


Subjects = Mapping[str, Callable[[Choose], tuple[Any, Outcome]]]
"""Functions by subject that choose a case and run it."""


def _of_mechanism(name: str, choose: Choose) -> tuple[Case, Outcome]:
    case = case_of(name, choose, neighbours=2)
    return case, run_case(case, _EFFORT)


_MECHANISMS: Subjects = {name: partial(_of_mechanism, name) for name in SETTINGS}


@dataclass(slots=True)
class Fuzzed:
    """Counts and failures of random cases."""

    ran: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    failed: list[tuple[int, Tried, Finding]] = field(default_factory=list)
    attained: dict[str, dict[str, float]] = field(default_factory=dict)

    def add(self, seed: int, case: Tried, outcome: Outcome) -> None:
        """Count a case."""
        (self.refused if outcome.refused else self.ran)[case.subject] += 1
        if outcome.finding.defects:
            self.failed.append((seed, case, outcome.finding))
        attained = self.attained.setdefault(case.subject, {})
        for kind, part in outcome.attained:
            attained[kind] = max(part, attained.get(kind, 0.0))

    def lines(self) -> list[str]:
        """Return a line for each mechanism: cases, and the largest part of the allowed change attained."""
        lines = []
        for name in sorted(self.attained):
            worst = ", ".join(f"{kind} {part:.3f}" for kind, part in sorted(self.attained[name].items()))
            lines.append(f"{name:14} {self.ran[name]:6} cases, {self.refused[name]:4} refused; attained: {worst}")
        return lines


def fuzz(
    seeds: range,
    seconds: float = float("inf"),
    only: Collection[str] = (),
    tell: Callable[[int, Tried, Finding], object] = lambda *_: None,
    subjects: Subjects = _MECHANISMS,
) -> Fuzzed:
    """Run the cases of some seeds until time is over.

    A seed stands for one case whatever else is run: that of a failure makes it again.

    Parameters
    ----------
    seeds : range
        Of the cases.
    seconds : float
        After which no other case begins.
    only : collection of str
        Names of subjects: cases of others are left out; all by default.
    tell : callable
        Called with the seed, the case and the finding of each failure.
    subjects : mapping of str to callable
        What cases are of: `selfcheck.settings.SETTINGS` by default.

    Raises
    ------
    ValueError
        If a name is unknown.
    """
    unknown = sorted(set(only) - subjects.keys())
    if unknown:
        raise ValueError(f"only takes names among {', '.join(subjects)}, got {unknown[0]!r}")
    end, names, done = time.monotonic() + seconds, list(subjects), Fuzzed()
    for seed in seeds:
        if time.monotonic() > end:
            break
        name = names[int(np.random.default_rng([seed, 1]).integers(len(names)))]  # another stream than that of its case
        if only and name not in only:
            continue
        done.add(seed, *subjects[name](Choose(seed)))
        if done.failed and done.failed[-1][0] == seed:
            tell(*done.failed[-1])
    return done


def check_fuzz(cases: int = 300, first: int = 0, only: Collection[str] = ()) -> Finding:
    """Run a fixed number of random cases; a failure names its seed."""
    done = fuzz(range(first, first + cases), only=only)
    defects = [(d, f"seed {seed}: {case}: {f.detail}") for seed, case, f in done.failed for d in f.defects]
    idle = [name for name in only or SETTINGS if not done.ran[name]]
    figures = f"{done.ran.total()} cases, {done.refused.total()} refused"
    if idle:
        figures += f", none of {', '.join(idle)}"
    return finding("fuzz", ", ".join(only) or "all mechanisms", defects, figures, exercised=not idle)
