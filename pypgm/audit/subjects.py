"""Subjects of the audit: whole mechanisms and learners."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Callable
from functools import partial
from typing import Any, Literal

import numpy as np

from pypgm import mechanisms, mrf, workloads
from pypgm.audit.trace import Mechanism
from pypgm.bayes.private_learning import learn_private
from pypgm.bayes.private_structure import PrivateStructure
from pypgm.data import Dataset
from pypgm.privacy.budget import Budget
from pypgm.privacy.relation import Privacy

_LOG = logging.getLogger(__name__)


def _stop(state: Any) -> bool:
    """Stop an estimate at its first iteration."""
    _LOG.debug("%d %r", state.iteration, state.loss)  # output is compared: a callback must not see records either
    return True


def _noted(state: Any) -> None:
    _stop(state)


def _ranged(data: Any, *arguments: Any, **more: Any) -> Any:
    """Measure all ranges of the first attribute with every value of the second, and prefixes of the last."""
    pair, last = data.domain.attributes[:2], data.domain.attributes[-1]
    ranges = workloads.ranges(data.domain, [pair], pair[:1])
    also = workloads.prefixes(data.domain, [last], [last])
    work = workloads.Workload(data.domain, [*ranges, *also], [*ranges.queries, *also.queries])
    return mechanisms.hdmm(data, *arguments, workload=work, callback=_stop, **more)


def _beside_public(data: Any, *arguments: Any, **more: Any) -> Any:
    """Learn from a few public records and the private ones."""
    codes = np.arange(7)
    public = Dataset({a: codes % data.domain.size((a,)) for a in data.domain}, data.domain)
    return mechanisms.jam(data, *arguments, public=public, iterations=2, rounds=3, **more)


def _learned(data: Any, *arguments: Any, **more: Any) -> Any:
    """Learn a chain over the attributes."""
    return learn_private(data, list(itertools.pairwise(data.domain.attributes)), *arguments, **more)


FIELD_RADIUS = 0.01
"""Radius of a ball so small that all responses are near their bound: a person changes scores by almost their range."""

SPIN_RADIUS = 0.5

_CHOSEN = PrivateStructure(usefulness="1/99", max_parents=2, penalty="1/2")

SPELLED: dict[str, Callable[..., Any]] = {
    "mst": partial(mechanisms.mst, iterations=2),
    "hdmm": partial(mechanisms.hdmm, callback=_stop),
    "aim": partial(mechanisms.aim, iterations=2, rounds=5),
    "aim, risk": partial(mechanisms.aim, iterations=2, rounds=5, score="risk"),
    "adaptive_grid": partial(mechanisms.adaptive_grid, iterations=2),
    "hdmm, ranges": _ranged,
    "jam": _beside_public,
    "screen": partial(mechanisms.screen, callback=_stop),
    "wide": partial(mechanisms.wide, iterations=2),
    "learn_private": partial(_learned, callback=_stop),
    "privbayes": partial(mechanisms.privbayes, structure=_CHOSEN, callback=_stop),
    "mwem": partial(mechanisms.mwem, iterations=2, rounds=3),
    "dualquery": partial(mechanisms.dualquery, iterations=2, rounds=3, samples=2, rate="1/10"),
    "fem": partial(mechanisms.fem, iterations=2, rounds=3, samples=2),
    "learn_pairwise": partial(mrf.learn_pairwise, radius=FIELD_RADIUS, steps=2),
}
"""Mechanisms and learners as users call them, with as little estimation as possible."""


def _called(function: Callable[..., Any]) -> Mechanism:
    """Return a function as the audit calls it: mechanism(data, budget, privacy, **more)."""

    def mechanism(data: Any, budget: Budget, privacy: Privacy, **more: Any) -> Any:
        return function(data, budget=budget, privacy=privacy, **more)

    return mechanism


def _learn(data: Any, *, budget: Budget, **more: Any) -> Any:
    law: Literal["gaussian", "laplace"] = "gaussian" if budget.unit == "rho" else "laplace"
    return SPELLED["learn_private"](data, budget=budget, noise=law, **more)


chosen_network = _called(partial(learn_private, structure=_CHOSEN, callback=_stop))
"""Learner of a network whose structure is chosen from the same records."""

staged_network = _called(partial(_learned, allocation="data-dependent", callback=_stop))
"""Learner of a network in two stages, both on all records."""

sampled_network = _called(partial(_learned, paper=True))
"""Learner of a network in two stages, the first on a sample; for add-remove with one record a person."""

MECHANISMS = {"mst": _called(partial(SPELLED["mst"], callback=_noted)), "hdmm": _called(SPELLED["hdmm"])}
"""Whole mechanisms, called as mechanism(data, budget, privacy, **more)."""

_LEARNERS = ("privbayes", "mwem", "dualquery", "fem", "learn_pairwise")

LEARNERS = {"learn_private": _called(_learn)} | {name: _called(SPELLED[name]) for name in _LEARNERS}
"""Learners and mechanisms that are run with pure budgets too."""

FEWER = {name: _called(spelled) for name, spelled in SPELLED.items() if name not in {*MECHANISMS, *LEARNERS}}
"""Mechanisms built from steps of the others; fewer tables are tried with them."""

SPINS = {
    "learn_ising": _called(partial(mrf.learn_ising, radius=SPIN_RADIUS, steps=4)),
    "learn_t_wise": _called(partial(mrf.learn_t_wise, radius=SPIN_RADIUS, order=3)),
}
"""Learners of fields of binary attributes; the first with fewer steps than its default."""
