"""Errors after measuring: the same noisy outcomes must give the same error text for any records."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from pypgm.audit.finding import Finding, finding
from pypgm.audit.mechanisms import run_pairs, same_run
from pypgm.audit.pairs import far_pairs, neighbour_pairs
from pypgm.privacy.budget import Budget
from pypgm.privacy.relation import Privacy


def _raising(_: object) -> object:
    raise RuntimeError("a defect of the caller")


FAILURES: dict[str, dict[str, Any]] = {
    "a callback that raises": {"callback": _raising, "iterations": 2},
    "a model too large": {"max_bytes": 10},
    "iterations below 0": {"iterations": -1},
    "a tolerance that is no number": {"tolerance": math.nan},
}
"""Options that make a mechanism raise after it has measured."""


def check_failures(subject: str, function: Callable[..., Any]) -> Finding:
    """Compare the errors of a mechanism that fails after measuring, on the same noisy outcomes of different records."""
    defects: list[tuple[str, str]] = []
    pairs = [*[p for p in neighbour_pairs() if p.name.startswith("crossed")], *far_pairs()]
    for name, options in FAILURES.items():

        def mechanism(data: Any, budget: Budget, privacy: Privacy, options: dict[str, Any] = options) -> Any:
            return function(data, budget=budget, privacy=privacy, **options)

        traces = run_pairs(subject, mechanism, Budget(rho=2), pairs).traces
        if not any(one.error for _, one, _ in traces):  # an estimate that converges at once never calls back
            defects.append(("not refused", f"{name} is accepted"))
        defects += [defect for _, one, other in traces for defect in same_run(one, other)]
    return finding("failures", subject, defects, f"{len(FAILURES)} errors on {len(pairs)} pairs, one text each")
