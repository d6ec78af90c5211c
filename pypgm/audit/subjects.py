"""What is looked at: whole mechanisms and learners, and the public ways to ask for one."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from types import SimpleNamespace
from typing import Any, Literal

import numpy as np

from pypgm import mechanisms, mrf, workloads
from pypgm.audit.trace import Mechanism
from pypgm.bayes.private_learning import learn_private
from pypgm.bayes.private_structure import PrivateStructure
from pypgm.data import Dataset, Schema
from pypgm.data.encoding import columns_of
from pypgm.mrf.frank_wolfe import Feature, FrankWolfe, Node, Regressions
from pypgm.privacy.budget import Budget
from pypgm.privacy.ledger import Ledger
from pypgm.privacy.private_table import PrivateTable
from pypgm.privacy.relation import Privacy

_LOG = logging.getLogger(__name__)


def _stop(state: Any) -> bool:
    """End an estimate once it has begun."""
    _LOG.debug("%d %r", state.iteration, state.loss)  # observed: a callback must not see records either
    return True


def _noted(state: Any) -> None:
    _stop(state)


def _ranged(data: Any, *arguments: Any, **more: Any) -> Any:
    """Measure all ranges of the first attribute with every value of the second, and prefixes of the last."""
    pair, last = data.domain.attributes[:2], data.domain.attributes[-1]
    asked = workloads.ranges(data.domain, [pair], pair[:1])
    also = workloads.prefixes(data.domain, [last], [last])
    work = workloads.Workload(data.domain, [*asked, *also], [*asked.queries, *also.queries])
    return mechanisms.hdmm(data, *arguments, workload=work, callback=_stop, **more)


def _beside_public(data: Any, *arguments: Any, **more: Any) -> Any:
    """Learn from a few records that are public, and from the private ones."""
    codes = np.arange(7)
    public = Dataset({a: codes % data.domain.size((a,)) for a in data.domain}, data.domain)
    return mechanisms.jam(data, *arguments, public=public, iterations=2, rounds=3, **more)


def _learned(data: Any, *arguments: Any, **more: Any) -> Any:
    """Learn a chain over the attributes."""
    return learn_private(data, list(itertools.pairwise(data.domain.attributes)), *arguments, **more)


FIELD_RADIUS = 0.01
"""Of a ball so small that all responses are next to their bound: a person changes scores by almost their range."""

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
"""Mechanisms and learners as their users call them, with as little estimation as they can do."""


def _called(function: Callable[..., Any]) -> Mechanism:
    """Return what the audit calls, as mechanism(data, budget, privacy, **more)."""

    def mechanism(data: Any, budget: Budget, privacy: Privacy, **more: Any) -> Any:
        return function(data, budget=budget, privacy=privacy, **more)

    return mechanism


def _learn(data: Any, *, budget: Budget, **more: Any) -> Any:
    law: Literal["gaussian", "laplace"] = "gaussian" if budget.unit == "rho" else "laplace"
    return SPELLED["learn_private"](data, budget=budget, noise=law, **more)


chosen_network = _called(partial(learn_private, structure=_CHOSEN, callback=_stop))
"""Learns a network whose structure is chosen from the same records."""

staged_network = _called(partial(_learned, allocation="data-dependent", callback=_stop))
"""Learns a network in two stages, both on all records."""

sampled_network = _called(partial(_learned, paper=True))
"""Learns a network in two stages, the first on a sample; for add-remove with one record a person."""

MECHANISMS = {"mst": _called(partial(SPELLED["mst"], callback=_noted)), "hdmm": _called(SPELLED["hdmm"])}
"""Whole mechanisms, called as mechanism(data, budget, privacy, **more)."""

_FEWER = ("aim", "aim, risk", "adaptive_grid", "hdmm, ranges", "jam", "screen", "wide")
_LEARNERS = ("privbayes", "mwem", "dualquery", "fem", "learn_pairwise")

FEWER = {name: _called(SPELLED[name]) for name in _FEWER}
"""Whole mechanisms that take the same steps on the same run, for which fewer tables are looked at."""

LEARNERS = {"learn_private": _called(_learn)} | {name: _called(SPELLED[name]) for name in _LEARNERS}
"""Learners and mechanisms that are looked at under pure budgets too."""

SPINS = {
    "learn_ising": _called(partial(mrf.learn_ising, radius=SPIN_RADIUS, steps=4)),
    "learn_t_wise": _called(partial(mrf.learn_t_wise, radius=SPIN_RADIUS, order=3)),
}
"""Learners of fields of attributes with two values; the first with fewer steps than its total asks for."""


def own_regressions(data: Any, budget: Budget, privacy: Privacy) -> Any:
    """Learn regressions that a caller chose: of three codes the second one of a pair is that of another pair too."""
    table = PrivateTable(data, privacy, Ledger(budget))
    asked = Regressions([Feature((1,)), Feature((2,))], [Node(0, [(0, 1), (2, 1)], [0, 1])], FIELD_RADIUS, 2)
    FrankWolfe(table, asked).solve([budget.limit])
    return SimpleNamespace(ledger=table.ledger)


def _stating(data: Any, privacy: Privacy) -> Any:
    """Return the records, as of a schema that states how many a person has."""
    data.schema = Schema(columns_of(data.domain), records_per_person=privacy.records_per_person)
    return data


Spelling = Callable[[Callable[..., Any], Any, Fraction, Fraction, Privacy], Any]

SPELLINGS: dict[str, Spelling] = {
    "epsilon, delta, privacy": lambda f, data, e, d, p: f(data, e, d, privacy=p),
    "epsilon=, delta=": lambda f, data, e, d, p: f(data, epsilon=str(e), delta=str(d), privacy=p),
    "budget=": lambda f, data, e, d, p: f(data, budget=Budget(epsilon=e, delta=d), privacy=p),
    "progress=": lambda f, data, e, d, p: f(data, e, d, privacy=p, progress=True),
    "reserved_delta=": lambda f, data, e, d, p: f(
        data, budget=Budget(epsilon=e, delta=d, reserved_delta=d * 9 / 10), privacy=p
    ),
    "open table": lambda f, data, e, d, p: f(PrivateTable(data, p, Ledger(Budget(epsilon=e, delta=d)))),
    "n_threads=": lambda f, data, e, d, p: f(data, e, d, privacy=p, n_threads=2),
    "the schema's number": lambda f, data, e, d, p: f(_stating(data, p), e, d, neighbours=p.neighbours),
    "neighbours=": lambda f, data, e, d, p: f(data, e, d, neighbours=p.neighbours),
    "no relation": lambda f, data, e, d, _: f(data, e, d),
}
"""Ways to ask a mechanism for (epsilon, delta) under a relation; the last two can say less than all relations."""
