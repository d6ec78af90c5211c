"""Mechanisms called in each of their public ways."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

from pypgm.audit.finding import Finding
from pypgm.audit.mechanisms import run_pairs
from pypgm.audit.pairs import PRIVACIES, Pair, far_pairs, neighbour_pairs
from pypgm.audit.tiers import followed
from pypgm.data import Schema
from pypgm.data.sources.encoding import columns_of
from pypgm.privacy.budget import Budget
from pypgm.privacy.ledger import Ledger
from pypgm.privacy.private_table import PrivateTable
from pypgm.privacy.relation import Privacy

_EPSILON, _DELTA = Fraction(9, 2), Fraction(1, 10**6)


def _stating(data: Any, privacy: Privacy) -> Any:
    """Return the records with a schema that states the number of records a person."""
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
"""Ways to ask a mechanism for (epsilon, delta) under a relation; the last two cannot express all relations."""


def check_spelling(
    subject: str, function: Callable[..., Any], spelling: str, privacies: Sequence[Privacy] = PRIVACIES
) -> Finding:
    """Call a mechanism for one guarantee in one of the ways there are, and check its runs."""
    budget = Budget(epsilon=_EPSILON, delta=_DELTA, reserved_delta=_DELTA * 9 / 10 if "reserved" in spelling else 0)

    def mechanism(data: Any, _: Budget, privacy: Privacy) -> Any:
        return SPELLINGS[spelling](function, data, _EPSILON, _DELTA, privacy)

    pairs = [pair for pair in _pairs(privacies) if _can_say(spelling, pair.privacy)]
    return followed("spelling", f"{subject}, {spelling}", [run_pairs(subject, mechanism, budget, pairs)])


def _can_say(spelling: str, privacy: Privacy) -> bool:
    if spelling == "no relation":
        return privacy == Privacy()
    return spelling != "neighbours=" or privacy.records_per_person == 1


def _pairs(privacies: Sequence[Privacy]) -> list[Pair]:
    near = [p for p in neighbour_pairs(privacies) if p.name.startswith("crossed")]
    return [*near, *far_pairs([p for p in privacies if p.records_per_person == 1])]
