"""Private choice of a network's structure: greedy, with parent sets drawn by exponential mechanisms."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from pypgm.bayes.dependence import Score, chance, dependence, largest_change
from pypgm.domain import Clique, Domain
from pypgm.estimation.measurement import LinearMeasurement
from pypgm.numeric import check_choice
from pypgm.privacy.private_table import PrivateTable
from pypgm.privacy.rational import Number, as_fraction
from pypgm.privacy.relation import Privacy
from pypgm.queries import Identity

MOST_EPSILON = Fraction(300)
"""Largest epsilon of one table: noise of a smaller scale is 0 in floating point."""
_COUNTING = Fraction(1, 20)  # share for the number of records, if that is private: its order is enough
_MOST_CELLS = 1 << 20  # cells of a table, however many records there are: 8 MiB, and 3 million records at usefulness 4


@dataclass(frozen=True, slots=True)
class PrivateStructure:
    r"""Private choice of a structure from records, as PrivBayes does it; passed in place of a structure.

    The first attribute of the domain has no parents. One after the other, an attribute that has no place yet gets one
    together with its parents, which are among those before it: the pair is drawn by an exponential mechanism from all
    pairs of an attribute and a set of parents, by how much the one depends on the other, less a `penalty` that grows
    with their table. Sets of parents are no larger than `max_parents` and `usefulness` let them be, and without a
    penalty no smaller.

    Parameters
    ----------
    score : {"R", "F", "MI"}
        The score of dependence, see `pypgm.bayes.dependence`: "R", the distance from independence, for all records and
        relations; "F", for binary attributes, which fewer records change less; "MI", the mutual information, with
        neighbours="replace" alone.
    share : number
        Part of the budget that the choice gets, between 0 and 1.
    usefulness : number, optional
        Least mean count of a cell in units of the mean absolute noise it is going to have. Under "add-remove" a
        twentieth of `share` measures the number of records for it. None leaves `max_parents` as the only limit.
    max_parents : int
        At least 0.
    max_candidates : int
        `max_parents` is lowered step by step, not below 1, until so few pairs are compared in one choice.
    penalty : number
        At least 0, in units of what N records show of dependence by chance: for "R" :math:`\sqrt{N k / 2 \pi}` records,
        the most that independent attributes are apart in the mean, for "MI" :math:`\tfrac k2 \log_2 N` bits, as of the
        BIC; "F" takes none, as it tells no independence. k is the product of the number of values of the attribute and
        of the combinations of its parents, each less 1; N is measured as for `usefulness`. At 2 few arcs are there by
        chance, however large the budget; at 0, the choice of PrivBayes as published, attributes have as many parents as
        the limits let them, which keeps weak dependences.

    Raises
    ------
    ValueError
        If an option is out of range.

    References
    ----------
    Zhang, Cormode, Procopiuc, Srivastava and Xiao 2017, "PrivBayes: Private Data Release via Bayesian Networks".

    Examples
    --------
    >>> from pypgm import Dataset, Domain
    >>> from pypgm.bayes import learn_private
    >>> records = Dataset({"a": [0, 1] * 500, "b": [0, 1] * 500, "c": [0] * 1000}, Domain({"a": 2, "b": 2, "c": 2}))
    >>> learn_private(records, PrivateStructure(max_parents=1), epsilon=10).model.parents["b"]
    ('a',)
    """

    score: Score = "R"
    share: Number = Fraction(3, 10)
    usefulness: Number | None = 4
    max_parents: int = 3
    max_candidates: int = 10_000
    penalty: Number = 0

    def __post_init__(self) -> None:
        check_choice("score", self.score, get_args(Score))
        if not 0 < as_fraction("share", self.share) < 1:
            raise ValueError(f"share must lie between 0 and 1, got {self.share}")
        if self.usefulness is not None and as_fraction("usefulness", self.usefulness) <= 0:
            raise ValueError(f"usefulness must be more than 0, got {self.usefulness}")
        if as_fraction("penalty", self.penalty) < 0:
            raise ValueError(f"penalty must be at least 0, got {self.penalty}")
        if self.penalty and self.score == "F":
            raise ValueError("the score 'F' tells no independence, so it takes no penalty: use 'R' or 'MI'")
        for name, value, least in (("max_parents", self.max_parents, 0), ("max_candidates", self.max_candidates, 1)):
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise ValueError(f"{name} must be an integer of at least {least}, got {value!r}")

    def check(self, domain: Domain, privacy: Privacy) -> None:
        """Raise ``ValueError`` if the score does not suit these attributes or this relation."""
        if self.score == "F" and any(size != 2 for size in domain.shape):
            other = next(a for a in domain if domain.size(a) != 2)
            raise ValueError(f"the score 'F' is for binary attributes, {other!r} has {domain.size(other)} values")
        largest_change(self.score, privacy.neighbours, 1 if privacy.total_is_public else None, binary=True)


def select_parents(table: PrivateTable, how: PrivateStructure) -> tuple[dict[str, Clique], list[LinearMeasurement]]:
    """Choose the parents of each attribute of a table, with part of the rest of its ledger.

    A domain of one attribute, or `max_parents` of 0, leaves nothing to choose and spends nothing.

    Returns
    -------
    parents : dict of str to tuple of str
        Attributes and parents in the order of the domain.
    measurements : list of LinearMeasurement
        Measurements made on the way: the number of records, or none.

    Raises
    ------
    ValueError
        Before anything is spent, if the score does not suit these attributes or this relation.
    """
    how = _copied(how)
    how.check(table.domain, table.privacy)
    parents: dict[str, Clique] = dict.fromkeys(table.domain, ())
    steps = len(parents) - 1
    if steps < 1 or how.max_parents == 0:
        return parents, []
    left = table.ledger.remaining()
    amount = left * as_fraction("share", how.share)
    measured = []
    if table.public_total is None and (how.usefulness is not None or how.penalty):
        measured = [measured_total(table, amount * _COUNTING)]
    records = int(measured[0].values[0]) if measured else table.public_total or 0
    each = (amount * (1 - _COUNTING) if measured else amount) / steps
    choice = _Choice(table, how, records, _most_cells(table, how, records, (left - amount) / len(parents)))
    for _ in range(steps):
        child, chosen = choice.next(each)
        parents[child] = chosen
    return parents, measured


def _copied(how: PrivateStructure) -> PrivateStructure:
    """Return a copy of the options of our own class: the score that is computed is the one that is charged."""
    name = how.score  # read once: it may differ when it is read again
    score = next(known for known in get_args(Score) if known == name)
    return PrivateStructure(score, how.share, how.usefulness, how.max_parents, how.max_candidates, how.penalty)


def _most_cells(table: PrivateTable, how: PrivateStructure, records: int, of_a_table: Fraction) -> int:
    """Return the number of cells that a useful table may have if it is measured for an amount."""
    if how.usefulness is None:
        return _MOST_CELLS
    cell, pure = Identity(2), table.ledger.budget.unit == "epsilon"
    if pure:
        noise = float(table.privacy.l1_sensitivity(cell) / of_a_table)
    else:
        variance = table.privacy.squared_l2_sensitivity(cell) / (2 * of_a_table)
        noise = math.sqrt(2 / math.pi * float(variance))
    useful = records / (float(as_fraction("usefulness", how.usefulness)) * noise)
    return int(min(max(useful, 1.0), _MOST_CELLS))


def measured_total(table: PrivateTable, amount: Fraction) -> LinearMeasurement:
    """Measure the number of records for an amount of the budget."""
    one = table.privacy.records_per_person
    if table.ledger.budget.unit == "epsilon":
        return table.measure_total(scale=one / min(amount, MOST_EPSILON))
    return table.measure_total(variance=one**2 / (2 * amount))


class _Choice:
    """Attributes placed so far, and the choice of the next one."""

    def __init__(self, table: PrivateTable, how: PrivateStructure, records: int, most_cells: int) -> None:
        self._how, self._domain, self._most_cells = how, table.domain, most_cells
        self._records, self._penalty = records, float(as_fraction("penalty", how.penalty))
        first, *self._left = table.domain
        self._placed: Clique = (first,)
        binary = all(size == 2 for size in table.domain.shape)
        change = largest_change(how.score, table.privacy.neighbours, table.public_total, binary=binary)
        self._families = self._candidates()
        self._selector = table.selector(self._families, self._score, sensitivity=change)
        self._unit = table.ledger.budget.unit

    def next(self, amount: Fraction) -> tuple[str, Clique]:
        """Draw an attribute with its parents for an amount of the budget."""
        self._families = self._candidates()
        self._selector.compare(self._score, self._families)
        rho, epsilon = (amount, None) if self._unit == "rho" else (None, amount)
        index = self._selector.select(rho=rho, epsilon=epsilon)
        *chosen, child = self._families[index]
        self._left.remove(child)
        self._placed = tuple(a for a in self._domain if a in self._placed or a == child)
        return child, tuple(chosen)

    def _score(self, number: int, counts: NDArray[np.int64]) -> int:
        child = self._families[number][-1]
        table = counts.reshape(-1, self._domain.size(child))
        by_chance = self._penalty * chance(self._how.score, self._records, table.shape)  # from public numbers alone
        return dependence(self._how.score, table) - round(by_chance)

    def _candidates(self) -> list[Clique]:
        """Return all pairs (parents, attribute) of unplaced attributes and sets of parents among the others."""
        most = self._how.max_parents
        while most > 1 and self._count(most) > self._how.max_candidates:
            most -= 1
        return [
            (*family, child)
            for child in self._left
            for family in parent_sets(
                self._domain, self._placed, self._most_cells // self._domain.size(child), most, every=self._penalty > 0
            )
        ]

    def _count(self, most: int) -> int:
        return len(self._left) * sum(math.comb(len(self._placed), k) for k in range(most + 1))


def parent_sets(
    domain: Domain, among: Sequence[str], most_cells: int, most_parents: int, *, every: bool = False
) -> Iterator[Clique]:
    """Yield the maximal sets of attributes within limits of cells and attributes; or every set within them.

    Examples
    --------
    >>> from pypgm import Domain
    >>> list(parent_sets(Domain({"a": 2, "b": 3, "c": 4}), "abc", 8, 2))
    [('a', 'b'), ('a', 'c')]
    """
    by_size = sorted(among, key=domain.size)

    def extended(chosen: Clique, start: int, cells: int) -> Iterator[Clique]:
        room = len(chosen) < most_parents
        for i in range(start, len(among) if room else start):
            if cells * domain.size(among[i]) <= most_cells:
                yield from extended((*chosen, among[i]), i + 1, cells * domain.size(among[i]))
        smallest = next((a for a in by_size if a not in chosen), None)
        if every or not room or smallest is None or cells * domain.size(smallest) > most_cells:
            yield chosen

    yield from extended((), 0, 1)
