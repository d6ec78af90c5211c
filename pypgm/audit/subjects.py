"""What is looked at: whole mechanisms and learners, and the public ways to ask for one."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any, Literal

import numpy as np

from pypgm import mechanisms, mrf, workloads
from pypgm.audit.trace import Mechanism
from pypgm.bayes.private_learning import learn_private
from pypgm.bayes.private_structure import PrivateStructure
from pypgm.data import Dataset, Schema
from pypgm.data.encoding import columns_of
from pypgm.privacy.budget import Budget
from pypgm.privacy.ledger import Ledger
from pypgm.privacy.private_table import PrivateTable
from pypgm.privacy.relation import Privacy

__all__ = [
    "FEWER",
    "FIELD_RADIUS",
    "LEARNERS",
    "MECHANISMS",
    "SPELLED",
    "SPELLINGS",
    "SPINS",
    "SPIN_RADIUS",
    "chosen_network",
    "sampled_network",
]


_LOG = logging.getLogger(__name__)


def _mst(data: Any, budget: Budget, privacy: Privacy, **more: Any) -> Any:
    def tell(state: Any) -> None:
        _LOG.debug("%d %r", state.iteration, state.loss)  # observed: a callback must not see records either

    return mechanisms.mst(data, budget=budget, privacy=privacy, iterations=2, callback=tell, **more)


def _hdmm(data: Any, budget: Budget, privacy: Privacy, **more: Any) -> Any:
    return mechanisms.hdmm(data, budget=budget, privacy=privacy, callback=_stop, **more)


def _hdmm_ranges(data: Any, budget: Budget, privacy: Privacy, **more: Any) -> Any:
    return _ranged(data, budget=budget, privacy=privacy, **more)


def _ranged(data: Any, *arguments: Any, **more: Any) -> Any:
    """Measure all ranges of the first attribute with every value of the second, and prefixes of the last."""
    pair, last = data.domain.attributes[:2], data.domain.attributes[-1]
    asked = workloads.ranges(data.domain, [pair], pair[:1])
    also = workloads.prefixes(data.domain, [last], [last])
    work = workloads.Workload(data.domain, [*asked, *also], [*asked.queries, *also.queries])
    return mechanisms.hdmm(data, *arguments, workload=work, callback=_stop, **more)


def _aim(data: Any, budget: Budget, privacy: Privacy, **more: Any) -> Any:
    return _few_rounds(data, budget=budget, privacy=privacy, **more)


def _aim_by_risk(data: Any, budget: Budget, privacy: Privacy, **more: Any) -> Any:
    return _few_rounds_by_risk(data, budget=budget, privacy=privacy, **more)


def _three_steps(data: Any, budget: Budget, privacy: Privacy, **more: Any) -> Any:
    return _plausible(data, budget=budget, privacy=privacy, **more)


def _jam(data: Any, budget: Budget, privacy: Privacy, **more: Any) -> Any:
    return _beside_public(data, budget=budget, privacy=privacy, **more)


def _beside_public(data: Any, *arguments: Any, **more: Any) -> Any:
    """Learn from a few records that are public, and from the private ones."""
    codes = np.arange(7)
    public = Dataset({a: codes % data.domain.size((a,)) for a in data.domain}, data.domain)
    return mechanisms.jam(data, *arguments, public=public, iterations=2, rounds=3, **more)


def _mwem(data: Any, budget: Budget, privacy: Privacy, **more: Any) -> Any:
    return _three_rounds(data, budget=budget, privacy=privacy, **more)


def _dualquery(data: Any, budget: Budget, privacy: Privacy, **more: Any) -> Any:
    return _few_draws(data, budget=budget, privacy=privacy, **more)


def _fem(data: Any, budget: Budget, privacy: Privacy, **more: Any) -> Any:
    return _few_leaders(data, budget=budget, privacy=privacy, **more)


def _screen_pairs(data: Any, budget: Budget, privacy: Privacy, **more: Any) -> Any:
    return mechanisms.screen(data, budget=budget, privacy=privacy, callback=_stop, **more)


def _wide(data: Any, budget: Budget, privacy: Privacy, **more: Any) -> Any:
    return mechanisms.wide(data, budget=budget, privacy=privacy, iterations=2, **more)


def _stop(state: Any) -> bool:
    """End an estimate once it has begun."""
    _LOG.debug("%d %r", state.iteration, state.loss)
    return True


def _learned(data: Any, *arguments: Any, **more: Any) -> Any:
    """Learn a chain over the attributes."""
    return learn_private(data, list(itertools.pairwise(data.domain.attributes)), *arguments, **more)


def _learn(data: Any, budget: Budget, privacy: Privacy, **more: Any) -> Any:
    law: Literal["gaussian", "laplace"] = "gaussian" if budget.unit == "rho" else "laplace"
    return _learned(data, budget=budget, privacy=privacy, noise=law, callback=_stop, **more)


_CHOSEN = PrivateStructure(usefulness="1/99", max_parents=2, penalty="1/2")


def _privbayes(data: Any, budget: Budget, privacy: Privacy, **more: Any) -> Any:
    return _chosen(data, budget=budget, privacy=privacy, callback=_stop, **more)


def chosen_network(data: Any, budget: Budget, privacy: Privacy) -> Any:
    """Learn a network whose structure is chosen from the same records."""
    return learn_private(data, _CHOSEN, budget=budget, privacy=privacy, callback=_stop)


def staged_network(data: Any, budget: Budget, privacy: Privacy) -> Any:
    """Learn a network in two stages, both on all records."""
    return _learned(data, budget=budget, privacy=privacy, allocation="data-dependent", callback=_stop)


def sampled_network(data: Any, budget: Budget, privacy: Privacy) -> Any:
    """Learn a network in two stages, the first on a sample; for add-remove with one record a person."""
    return _learned(data, budget=budget, privacy=privacy, paper=True)


FIELD_RADIUS = 0.01
"""Of a ball so small that all responses are next to their bound: a person changes scores by almost their range."""

SPIN_RADIUS = 0.5


def _pairwise(data: Any, budget: Budget, privacy: Privacy, **more: Any) -> Any:
    return _field(data, budget=budget, privacy=privacy, **more)


def _field(data: Any, *arguments: Any, **more: Any) -> Any:
    return mrf.learn_pairwise(data, *arguments, radius=FIELD_RADIUS, steps=2, **more)


def _ising(data: Any, budget: Budget, privacy: Privacy) -> Any:
    return mrf.learn_ising(data, radius=SPIN_RADIUS, budget=budget, privacy=privacy, steps=4)


def _t_wise(data: Any, budget: Budget, privacy: Privacy) -> Any:  # as many steps as its total asks for
    return mrf.learn_t_wise(
        data, radius=SPIN_RADIUS, order=3, budget=budget, privacy=privacy
    )  # as many steps as its total asks for


_chosen = partial(mechanisms.privbayes, structure=_CHOSEN)

MECHANISMS: dict[str, Mechanism] = {"mst": _mst, "hdmm": _hdmm}
"""Whole mechanisms, called as mechanism(data, budget, privacy, **more), with as little estimation as they can do."""

_few_rounds = partial(mechanisms.aim, iterations=2, rounds=5)
_few_rounds_by_risk = partial(_few_rounds, score="risk")

_plausible = partial(mechanisms.adaptive_grid, iterations=2)

FEWER: dict[str, Mechanism] = {
    "aim": _aim,
    "aim, risk": _aim_by_risk,
    "adaptive_grid": _three_steps,
    "hdmm, ranges": _hdmm_ranges,
    "jam": _jam,
    "screen": _screen_pairs,
    "wide": _wide,
}
"""Whole mechanisms that take the same steps on the same run, for which fewer tables are looked at."""

_three_rounds = partial(mechanisms.mwem, iterations=2, rounds=3)
_few_draws = partial(mechanisms.dualquery, iterations=2, rounds=3, samples=2, rate="1/10")
_few_leaders = partial(mechanisms.fem, iterations=2, rounds=3, samples=2)

LEARNERS: dict[str, Mechanism] = {
    "learn_private": _learn,
    "privbayes": _privbayes,
    "mwem": _mwem,
    "dualquery": _dualquery,
    "fem": _fem,
    "learn_pairwise": _pairwise,
}
"""Learners and mechanisms that are looked at under pure budgets too."""

SPINS: dict[str, Mechanism] = {"learn_ising": _ising, "learn_t_wise": _t_wise}
"""Learners of fields of attributes with two values; but for the regressions they are `learn_pairwise`."""

SPELLED: dict[str, Callable[..., Any]] = {
    "mst": partial(mechanisms.mst, iterations=2),
    "hdmm": partial(mechanisms.hdmm, callback=_stop),
    "aim": _few_rounds,
    "aim, risk": _few_rounds_by_risk,
    "adaptive_grid": _plausible,
    "hdmm, ranges": _ranged,
    "jam": _beside_public,
    "screen": partial(mechanisms.screen, callback=_stop),
    "wide": partial(mechanisms.wide, iterations=2),
    "learn_private": partial(_learned, callback=_stop),
    "privbayes": partial(_chosen, callback=_stop),
    "mwem": _three_rounds,
    "dualquery": _few_draws,
    "fem": _few_leaders,
    "learn_pairwise": _field,
}
"""The same mechanisms and learners as their users call them."""


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
    "backend=": lambda f, data, e, d, p: f(data, e, d, privacy=p, backend="opendp"),
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
