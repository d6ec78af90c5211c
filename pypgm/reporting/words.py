"""What a release promises, in words for whom the records are about; missing values as a person reads them."""

from __future__ import annotations

import math

from pypgm.data import Schema
from pypgm.data.codebook import label_texts
from pypgm.domain import Domain
from pypgm.privacy.ledger_report import LedgerReport
from pypgm.released import budget_text
from pypgm.terminal import MISSING, label_text

_MOST_TOLD = 1e6  # factor of odds that is written out
_MOST_CERTAIN = 49  # factor of odds that leaves a chance within 2 and 98 %


def odds(ledger: LedgerReport) -> float | None:
    """Return by what factor one person's records change the odds of any conclusion, rounded up; None of rho alone."""
    if ledger.budget.epsilon is None:
        return None
    epsilon = float(ledger.budget.epsilon)
    factor = math.exp(min(epsilon, 700.0))
    digits = 10.0 ** (math.floor(math.log10(factor)) - 1)
    return math.ceil(factor / digits - 1e-9) * digits


def promise(ledger: LedgerReport) -> str:
    """Return the guarantee of a budget as one sentence.

    Examples
    --------
    >>> from pypgm import Budget
    >>> from pypgm.privacy.ledger_report import LedgerReport
    >>> print(promise(LedgerReport(Budget(epsilon=1, delta=1e-9))))
    epsilon 1.0, delta 1e-09: a person changes the odds of any conclusion at most 2.8-fold
    """
    budget, times = budget_text(ledger.budget), odds_text(ledger)
    return f"{budget}: a person changes the odds of any conclusion {times}" if times else budget


def odds_text(ledger: LedgerReport) -> str:
    """Return by what factor the odds of a conclusion change at most, in words; empty of a budget in rho alone."""
    factor = odds(ledger)
    if factor is None:
        return ""
    return "more than a million-fold" if factor > _MOST_TOLD else f"at most {factor:,.10g}-fold"


def chances(ledger: LedgerReport) -> tuple[int, int] | None:
    """Return what a chance of 50 % may become in percent, at least and at most; None where that says hardly anything.

    Examples
    --------
    >>> from pypgm import Budget
    >>> from pypgm.privacy.ledger_report import LedgerReport
    >>> chances(LedgerReport(Budget(epsilon=1, delta=1e-9)))
    (26, 74)
    """
    factor = odds(ledger)
    if factor is None or factor > _MOST_CERTAIN:
        return None
    low = math.floor(100 / (1 + factor))
    return low, 100 - low


def records_text(total: float, *, is_public: bool, reach: float = math.nan) -> str:
    """Return how many records a table has, as far as that is public; `reach` to each side holds nine in ten numbers."""
    known = f" ± {reach:,.0f}" if math.isfinite(reach) else ""
    real = f"{total:,.0f}{known} real one{'' if round(total) == 1 and not known else 's'}"
    return real if is_public else f"about {real}, a noisy count"


def labels_of(domain: Domain, attribute: str, schema: Schema | None = None) -> list[str]:
    """Return the text of each value of a column as a person reads it: nulls, and what has no letters, are missing.

    Examples
    --------
    >>> from pypgm import Domain
    >>> labels_of(Domain({"member": ["no", "yes", ""]}), "member")
    ['no', 'yes', '(missing)']
    """
    texts = label_texts(domain, attribute)
    texts = [str(i) for i in range(domain.size((attribute,)))] if texts is None else texts
    null = None if schema is None else schema.columns[attribute].null_code
    return [MISSING if code == null else label_text(text) for code, text in enumerate(texts)]


def many(number: int, noun: str) -> str:
    """Return a number of things in words.

    Examples
    --------
    >>> many(1, "pair"), many(2000, "pair")
    ('1 pair', '2,000 pairs')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
