"""Shares of a budget by purpose, with the law of each draw."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from pypgm.estimation import LinearMeasurement
from pypgm.privacy.charge import COUNTING, Charge, purpose_of
from pypgm.privacy.ledger_report import LedgerReport, exact_text, law_text
from pypgm.privacy.measured_lines import measured_lines
from pypgm.reporting.words import percent

_SIZES = {0: "counting all records", 1: "counting single columns", 2: "counting pairs of columns"}
NOT_SPENT = "not spent"
_OF_COLUMN = re.compile(r"(.*: )?finding the (bins|values) of ")


@dataclass(frozen=True, slots=True)
class Share:
    """Share of a budget that was spent on one purpose.

    Attributes
    ----------
    purpose : str
        The purpose in words.
    share : Fraction
        Share of the budget, 0 .. 1.
    lines : tuple of Charge
        The charges, in their order.
    """

    purpose: str
    share: Fraction
    lines: tuple[Charge, ...]


def budget_shares(ledger: LedgerReport, measurements: Sequence[LinearMeasurement] = ()) -> list[Share]:
    """Return the shares of a budget by purpose, the largest first, the unspent share last.

    Parameters
    ----------
    ledger : LedgerReport
    measurements : sequence of LinearMeasurement
        Measurements of the release: they say how many columns each charge counted together.

    Examples
    --------
    >>> import pypgm
    >>> data = pypgm.Dataset({"a": [0, 1, 1], "b": [0, 1, 0]}, pypgm.Domain({"a": 2, "b": 2}))
    >>> release = pypgm.mechanisms.mst(data, epsilon=1, delta=1e-9)
    >>> [share.purpose for share in budget_shares(release.ledger, release.measurements)]
    ['counting pairs of columns', 'counting single columns', 'choosing what to count']
    """
    lines, limit = ledger.lines, ledger.budget.limit
    numbers = measured_lines(measurements, ledger).of
    cliques = {n: m.clique for n, m in zip(numbers, measurements, strict=True) if n is not None}
    purposes: dict[str, list[Charge]] = defaultdict(list)
    for i, line in enumerate(lines):
        purposes[_purpose(line, len(cliques[i]) if i in cliques else None)].append(line)
    shares = [
        Share(p, sum((c.cost for c in charges), Fraction(0)) / limit, tuple(charges)) for p, charges in purposes.items()
    ]
    shares.sort(key=lambda share: -share.share)
    left = ledger.remaining() / limit
    return [*shares, Share(NOT_SPENT, left, ())] if left > Fraction(1, 10**6) else shares


def purposes_alike(shares: Sequence[Share], most: int) -> list[tuple[str, Fraction]]:
    """Return purposes with their shares, in which columns become one purpose where there are more than `most`.

    Examples
    --------
    >>> bins = [Share(f"finding the bins of {name}", Fraction(1, 8), ()) for name in "abc"]
    >>> [purpose for purpose, _ in purposes_alike(bins, 2)]
    ['finding the bins of 3 columns']
    """
    alike: dict[str, list[Share]] = defaultdict(list)
    for share in shares:
        of_column = _OF_COLUMN.match(share.purpose)
        alike[of_column[0] if of_column else share.purpose].append(share)
    rows = []
    for purpose, parts in alike.items():
        if len(parts) > most:
            rows.append((f"{purpose}{len(parts):,} columns", sum((p.share for p in parts), Fraction(0))))
        else:
            rows += [(part.purpose, part.share) for part in parts]
    return sorted(rows, key=lambda row: (row[0] == NOT_SPENT, -row[1]))


def ledger_lines(ledger: LedgerReport, shares: Sequence[Share], most: int | None = None) -> list[tuple[str, list[str]]]:
    """Return each purpose with its share and the exact laws of its draws, equal ones together.

    Parameters
    ----------
    ledger : LedgerReport
    shares : sequence of Share
        Its `budget_shares`.
    most : int, optional
        Largest number of laws shown below each purpose; a last line counts the others.
    """
    unit = ledger.budget.unit
    entries = []
    for share in shares:
        alike: dict[str, list[Charge]] = defaultdict(list)
        for line in share.lines:
            alike[f"{line.on}: {law_text(line)}"].append(line)
        laws = []
        for text, charges in alike.items():
            times = f", {len(charges):,} times" if len(charges) > 1 else ""
            laws.append(f"{text}; costs {unit} {exact_text(charges[0].cost)}{times}")
        left = 0 if most is None else max(len(laws) - most, 0)
        shown = [*laws[: len(laws) - left], *([f"and {left:,} more"] if left else [])]
        entries.append((f"{percent(share.share):>8}  {share.purpose}", shown))
    return entries


def _purpose(line: Charge, size: int | None) -> str:
    """Return the purpose of a charge; `size` is the number of columns that it counted together, if known."""
    purpose = purpose_of(line)
    return _SIZES.get(size, purpose) if purpose == COUNTING and size is not None else purpose
