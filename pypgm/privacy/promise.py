"""Promise of a release: first the missing protection, then the protected unit and its guarantee."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from pypgm._base.terminal import escaped
from pypgm.data import OpenSchema, Schema
from pypgm.privacy.budget import Budget
from pypgm.privacy.ledger_report import LedgerReport
from pypgm.privacy.zcdp import zcdp_epsilon

_LARGE_DELTA = Fraction(1, 1000)  # one person in a thousand may be shown as they are
_LARGE_EPSILON = 30  # whoever has seen the release may be sure, whatever they thought before
_SMALL_DELTA = Fraction(1, 10**9)  # at which the epsilon of a budget in rho is compared with that
_MAX_SHOWN_FACTOR = 1e6  # largest factor of odds that is written out
_MAX_CHANCE_FACTOR = 49  # factor of odds that leaves a chance within 2 and 98 %


@dataclass(frozen=True, slots=True)
class Promise:
    """Promise to the people in a table, in the one text that every view shows.

    Parameters
    ----------
    budget : Budget
        The strength of the promise.
    protects : str
        The fact that is protected, such as `Privacy.sentence`.
    not_private : str
        The reason why nobody is protected; empty if people are.
    drafted : tuple of str
        Warnings about facts taken from the records before anything was charged: `Schema.draft_warning`.
    assumes : str
        What the promise takes for granted about the records, such as `Privacy.assumption`.

    Examples
    --------
    >>> print(Promise(Budget(epsilon=1, delta="0.01"), "whether any one record is in the real table at all").sentence)
    Hardly anybody is protected: delta 0.01 lets a release show one person in 100 as they are; otherwise whether any \
one record is in the real table at all
    """

    budget: Budget
    protects: str
    not_private: str = ""
    drafted: tuple[str, ...] = ()
    assumes: str = ""

    @classmethod
    def of(
        cls,
        ledger: LedgerReport,
        protects: str,
        schemas: Iterable[Schema | OpenSchema | None] = (),
        not_private: str = "",
        assumes: str = "",
    ) -> Promise:
        """Return the promise of a ledger, for records of these schemas."""
        drafted = dict.fromkeys(schema.draft_warning for schema in schemas if schema is not None)
        return cls(ledger.budget, protects, not_private or ledger.not_private, tuple(filter(None, drafted)), assumes)

    @property
    def caveats(self) -> tuple[str, ...]:
        """Sentences about the limits of the protection, the gravest first; none if there are no limits to report."""
        nobody = f"This release protects nobody: {escaped(self.not_private)}" if self.not_private else ""
        return tuple(filter(None, (nobody, *self.drafted, weakness(self.budget))))

    @property
    def reservation(self) -> str:
        """All caveats as one sentence, without its full stop; empty if there are none."""
        first, *others = self.caveats or ("",)
        return "; ".join([first, *map(_lowered, others)])

    @property
    def guarantee(self) -> str:
        """The guarantee of the budget, such as ``epsilon 1.0, delta 1e-09``, behind all caveats."""
        return self._behind_caveats(budget_text(self.budget))

    @property
    def strength(self) -> str:
        """The guarantee, with its meaning for conclusions about a person."""
        return self._behind_caveats(strength_text(self.budget))

    @property
    def covered(self) -> str:
        """The fact that is protected, for the line after a guarantee."""
        if self.not_private:
            return "nobody"
        return f"otherwise {self.protects}" if self.caveats else self.protects

    @property
    def sentence(self) -> str:
        """The fact that is protected, behind all caveats."""
        return self.reservation if self.not_private else self._behind_caveats(self.protects)

    def _behind_caveats(self, text: str) -> str:
        if self.not_private:
            return f"none ({_lowered(self.reservation)})"
        return f"{self.reservation}; otherwise {text}" if self.caveats else text


def _lowered(sentence: str) -> str:
    return f"{sentence[:1].lower()}{sentence[1:]}"


def is_large(delta: Fraction | None) -> bool:
    """Return whether a delta is so large that it protects hardly anybody, for any number of people.

    Examples
    --------
    >>> is_large(Fraction(1, 1000)), is_large(Fraction(1, 10**6)), is_large(None)
    (True, False, False)
    """
    return (delta or 0) >= _LARGE_DELTA


def weakness(budget: Budget) -> str:
    """Return a sentence on why a budget's guarantee is next to nothing; empty if it is not.

    Examples
    --------
    >>> weakness(Budget(rho=50)), weakness(Budget(epsilon=1, delta=1e-9))
    ('Hardly anybody is protected: rho 50.0 lets anyone who sees a release be all but sure about a person', '')
    """
    delta, reasons = budget.delta or budget.reserved_delta, []
    if is_large(delta):
        reasons.append(f"delta {float(delta):g} lets a release show one person in {math.ceil(1 / delta):,} as they are")
    firm = budget.limit if budget.epsilon is None else budget.epsilon
    if firm > _LARGE_EPSILON or (budget.epsilon is None and zcdp_epsilon(firm, _SMALL_DELTA) > _LARGE_EPSILON):
        amount = budget_text(budget).split(",")[0]
        reasons.append(f"{amount} lets anyone who sees a release be all but sure about a person")
    return f"Hardly anybody is protected: {', and '.join(reasons)}" if reasons else ""


def budget_text(budget: Budget) -> str:
    """Return the guarantee of a budget, such as ``epsilon 1.0, delta 1e-09``."""
    delta = budget.delta or budget.reserved_delta
    amount = f"rho {_shown(budget.limit)}" if budget.epsilon is None else f"epsilon {_shown(budget.epsilon)}"
    return f"{amount}{f', delta {_shown(delta)}' if delta else ''}"


def strength_text(budget: Budget) -> str:
    """Return the guarantee of a budget, with its meaning for conclusions about a person.

    Examples
    --------
    >>> print(strength_text(Budget(epsilon=1, delta=1e-9)))
    epsilon 1.0, delta 1e-09: the odds of any conclusion change at most 2.8-fold
    """
    text, times = budget_text(budget), odds_text(budget)
    return f"{text}: the odds of any conclusion change {times}" if times else text


def _shown(value: Fraction) -> str:
    """Return the shortest decimal of a float that is not below a rational."""
    nearest = float(value)
    return repr(nearest if Fraction(repr(nearest)) >= value else math.nextafter(nearest, math.inf))


def odds(budget: Budget) -> float | None:
    """Return the factor by which one person's records change the odds of any conclusion, rounded up; None for rho."""
    if budget.epsilon is None:
        return None
    factor = math.exp(min(float(budget.epsilon), 700.0))
    digits = 10.0 ** (math.floor(math.log10(factor)) - 1)
    return math.ceil(factor / digits - 1e-9) * digits


def odds_text(budget: Budget) -> str:
    """Return the largest factor by which the odds of a conclusion change, in words; empty for a budget in rho."""
    factor = odds(budget)
    if factor is None:
        return ""
    return "more than a million-fold" if factor > _MAX_SHOWN_FACTOR else f"at most {factor:,.10g}-fold"


def chances(budget: Budget) -> tuple[int, int] | None:
    """Return the least and the largest percentage that a chance of 50 % may become; None if that says hardly anything.

    Examples
    --------
    >>> chances(Budget(epsilon=1, delta=1e-9))
    (26, 74)
    """
    factor = odds(budget)
    if factor is None or factor > _MAX_CHANCE_FACTOR:
        return None
    low = math.floor(100 / (1 + factor))
    return low, 100 - low


def rare_chance(budget: Budget) -> float | None:
    """Return the largest percentage that a chance of 1 % may become, rounded up; None where `chances` is.

    Examples
    --------
    >>> rare_chance(Budget(epsilon=1, delta=1e-9))
    2.8
    """
    factor = odds(budget)
    if factor is None or factor > _MAX_CHANCE_FACTOR:
        return None
    return math.ceil(1000 * factor / (99 + factor) - 1e-9) / 10
