"""Numbers of records, labels and things in words; missing values as a person reads them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from pypgm._base.student import LEVEL_TEXT
from pypgm._base.terminal import MISSING, label_text
from pypgm.data import Schema
from pypgm.data.columns.codebook import label_texts
from pypgm.domain import Domain

TITLE = "Synthetic data"
"""Default title of a page or card."""

_ROUNDING = 1e-9  # percentage points by which sums of doubles miss 0 or 1


def records_text(
    total: float, *, is_public: bool, reach: float = math.nan, at_most: int | None = None, weight: str = ""
) -> str:
    """Return the number of records of a table in words; a private one is noisy, with `reach` as its ±.

    If at most `at_most` records of each person are kept, the number is that of the kept records; if the column `weight`
    has weights, it is that of the weighted population.
    """
    known = f" ± {reach:,.0f} ({LEVEL_TEXT})" if math.isfinite(reach) else ""
    kept = "" if at_most is None else f" kept, at most {at_most:,} of each person"
    real = f"{total:,.0f}{known} real one{'' if round(total) == 1 and not known else 's'}{kept}"
    if weight:
        real = f"{total:,.0f}{known} in the weighted population, the sum of {label_text(weight)}"
    return real if is_public else f"about {real}, a noisy count"


def labels_of(domain: Domain, attribute: str, schema: Schema | None = None) -> list[str]:
    """Return the text of each value of a column for a reader; nulls and blank texts are missing.

    Examples
    --------
    >>> from pypgm import Domain
    >>> labels_of(Domain({"member": ["no", "yes", ""]}), "member")
    ['no', 'yes', '(missing)']
    """
    texts = label_texts(domain, attribute)
    texts = [str(i) for i in range(domain.size((attribute,)))] if texts is None else texts
    nulls = () if schema is None else schema.columns[attribute].null_codes
    return [MISSING if (code,) == nulls else label_text(text) for code, text in enumerate(texts)]


def reach_text(records: float) -> str:
    """Return the ± of a count to three digits, whole from a thousand on.

    Examples
    --------
    >>> reach_text(39.31), reach_text(5912.6)
    ('39.3', '5,913')
    """
    return f"{records:,.0f}" if records >= 999.5 else f"{records:.3g}"


def many(number: int, noun: str) -> str:
    """Return a number with its noun.

    Examples
    --------
    >>> many(1, "pair"), many(2000, "pair")
    ('1 pair', '2,000 pairs')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def first_of(names: Sequence[str], most: int | None) -> str:
    """Return names, or the first `most` of them and the number of the others.

    Examples
    --------
    >>> first_of("abc", None), first_of("abcd", 2)
    ('a, b, c', 'a, b and 2 more')
    """
    if most is None or len(names) <= most:
        return ", ".join(names)
    return f"{', '.join(names[:most])} and {len(names) - most:,} more"


def percent(share: float | Fraction) -> str:
    """Return a share in percent, to about two digits; 0 % and 100 % stand for none and all alone.

    Examples
    --------
    >>> percent(0), percent(1e-6), percent(0.0213), percent(0.996), percent(0.999999), percent(1)
    ('0 %', '< 0.01 %', '2.1 %', '99.6 %', '> 99.99 %', '100 %')
    """
    points = 100 * float(share)
    if min(points, 100 - points) < _ROUNDING:
        return "0 %" if points < 50 else "100 %"
    if points < 0.01 or points > 99.99:
        return "< 0.01 %" if points < 50 else "> 99.99 %"
    digits = 2 if points < 0.995 or points >= 99.95 else 1 if points < 9.95 or points >= 99.5 else 0
    return f"{points:.{digits}f} %"
