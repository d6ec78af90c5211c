"""A mechanism asked for by each of its public spellings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

from pypgm.audit.finding import Finding
from pypgm.audit.mechanisms import run_pairs
from pypgm.audit.pairs import PRIVACIES, Pair, far_pairs, neighbour_pairs
from pypgm.audit.subjects import SPELLINGS
from pypgm.audit.whole import followed
from pypgm.privacy.budget import Budget
from pypgm.privacy.relation import Privacy

_EPSILON, _DELTA = Fraction(9, 2), Fraction(1, 10**6)


def check_spelling(
    subject: str, function: Callable[..., Any], spelling: str, privacies: Sequence[Privacy] = PRIVACIES
) -> Finding:
    """Ask a mechanism for one guarantee in one of the ways there are, and follow its runs as those of any other."""
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
