"""Private choice of a network's structure: greedy, by scores of dependence and exponential mechanisms."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from pypgm._base.numeric import check_choice
from pypgm.domain import Clique, Domain
from pypgm.estimation.measurement import LinearMeasurement
from pypgm.privacy.private_table import PrivateTable
from pypgm.privacy.rational import Number, as_fraction
from pypgm.privacy.relation import Privacy
from pypgm.queries import Identity

if TYPE_CHECKING:
    from pypgm.queries import Neighbours


Score = Literal["R", "F", "MI"]

_UNITS_PER_RECORD = 256  # units per record of R and MI; F is a multiple of 1/2
_INT64_RECORDS = 1 << 30  # number of records up to which products of counts fit in int64
_SLACK_BITS = 40  # logarithms and sums are within N 2^-46: 64 times less than the allowance


def dependence(score: Score, counts: NDArray[np.int64]) -> int:
    r"""Return a score of N records, in units of 1/256 record ("R", "MI") or 1/2 record ("F"); 0 without records.

    With P for the relative frequencies of an attribute x and its parents p:

    - "R", N times the total variation distance from independence, :math:`\tfrac N2 \sum |P(x, p) - P(x) P(p)|`,
      exact before it is rounded down;
    - "F", of binary attributes, -N times the least
      :math:`(\tfrac12 - K_0)_+ + (\tfrac12 - K_1)_+` where each value of the parents gives its records with x = 0 to
      :math:`K_0` or its records with x = 1 to :math:`K_1`; exact. It takes O(values of the parents times N) steps;
    - "MI", N times the mutual information in bits, within 2^-46 N.

    Parameters
    ----------
    score : {"R", "F", "MI"}
    counts : ndarray of int64, shape (values of the parents, values of the attribute)

    References
    ----------
    Zhang, Cormode, Procopiuc, Srivastava and Xiao 2017, "PrivBayes: Private Data Release via Bayesian Networks".

    Examples
    --------
    >>> dependence("R", np.array([[5, 0], [0, 5]])) / 256, dependence("F", np.array([[5, 0], [0, 5]])) / 2
    (5.0, 0.0)
    """
    return {"R": _distance, "F": _shortfall, "MI": _information}[score](counts)


def _distance(counts: NDArray[np.int64]) -> int:
    total = int(counts.sum())
    if total == 0:
        return 0
    exact = counts.astype(object) if total > _INT64_RECORDS else counts
    independent = exact.sum(axis=1, keepdims=True) * exact.sum(axis=0, keepdims=True)
    return _UNITS_PER_RECORD * int(np.abs(exact * total - independent).sum()) // (2 * total)


def _shortfall(counts: NDArray[np.int64]) -> int:
    total = int(counts.sum())
    half = (total + 1) // 2  # more than half of the records counts as half of them
    best = np.full(half + 1, -1, dtype=np.int64)  # the largest K1 for each K0; -1 if there is none
    best[0] = 0
    for zeros, ones in counts[counts.any(axis=1)].tolist():
        with_zeros = np.full_like(best, -1)
        shift = min(zeros, half)
        with_zeros[shift:] = best[: half + 1 - shift]
        with_zeros[half] = best[half - shift :].max()
        best = np.maximum(np.where(best >= 0, best + ones, -1), with_zeros)
    reached = np.flatnonzero(best >= 0)
    return -int((np.maximum(total - 2 * reached, 0) + np.maximum(total - 2 * best[reached], 0)).min())


def _information(counts: NDArray[np.int64]) -> int:
    total = int(counts.sum())
    if total == 0:
        return 0
    with_parents, with_value = (np.broadcast_to(counts.sum(axis=a, keepdims=True), counts.shape) for a in (1, 0))
    some = counts > 0
    logs = np.log2(counts[some]) + math.log2(total) - np.log2(with_parents[some]) - np.log2(with_value[some])
    return round(_UNITS_PER_RECORD * math.fsum(counts[some] * logs))


def chance(score: Score, records: int, shape: tuple[int, ...]) -> float:
    r"""Return the score of independent attributes of N records by chance, in the units of `dependence`.

    With :math:`k = \prod (n_i - 1)` and many records: "R", :math:`\sqrt{N k / 2 \pi}` records, the mean for
    uniform attributes, more than for others. "MI", :math:`\tfrac k2 \log_2 N` bits, the penalty of the BIC. "F", 0:
    skewed attributes have more of it with more cells, whether they depend on each other or not.

    Examples
    --------
    >>> round(chance("R", 20_000, (2, 2)) / 256), round(chance("MI", 1024, (3, 2)) / 256)
    (56, 10)
    """
    free, n = math.prod(size - 1 for size in shape), max(records, 1)
    of = {"R": math.sqrt(n * free / (2 * math.pi)), "F": 0.0, "MI": free / 2 * math.log2(n)}
    return _UNITS_PER_RECORD * of[score]


def largest_change(score: Score, neighbours: Neighbours, total: int | None, *, binary: bool) -> int:
    r"""Return the most that one record changes `dependence`, in its units, upward or downward.

    - "R": 2 records under add-remove: one more moves the counts by 1 and the products of their margins over N by at
      most :math:`1 + 2N / (N + 1)`, half of the sum counts. 3 under replace: 2 for the counts and 2 for each margin,
      by the triangle inequality. Rounding exact numbers down keeps a whole bound.
    - "F": 1 record: :math:`(N - 2K)_+` falls by at most 1 where the record counts, else rises by at most 1.
    - "MI", under replace alone, where N is public:
      :math:`\log_2 N + (N - 1) \log_2 \tfrac{N}{N - 1}` records if all attributes are binary, else
      :math:`2 \log_2 \tfrac{N + 1}{2} + (N - 1) \log_2 \tfrac{N + 1}{N - 1}`; and the amount that rounding may add.

    Parameters
    ----------
    score : {"R", "F", "MI"}
    neighbours : {"add-remove", "replace"}
    total : int or None
        Number of records, if it is public.
    binary : bool
        Whether all attributes have two values.

    Raises
    ------
    ValueError
        If the score is "MI" and the number of records is not public: there is no useful bound then.
    """
    if score == "F":
        return 2
    if score == "R":
        return (2 if neighbours == "add-remove" else 3) * _UNITS_PER_RECORD
    if total is None or neighbours == "add-remove":
        raise ValueError("the score 'MI' needs neighbours='replace': otherwise a record may change it by any amount")
    n = max(total, 2)
    if binary:
        bound = math.log2(n) + (n - 1) * math.log2(n / (n - 1))
    else:
        bound = 2 * math.log2((n + 1) / 2) + (n - 1) * math.log2((n + 1) / (n - 1))
    return math.ceil(_UNITS_PER_RECORD * (bound * (1 + 1e-9) + n * 2.0**-_SLACK_BITS)) + 1


MOST_EPSILON = Fraction(300)
"""Largest epsilon of one table: noise of a smaller scale is 0 in floating point."""
_COUNTING = Fraction(1, 20)  # share for the number of records, if that is private: its order is enough
_MAX_CELLS = 1 << 20  # cells of a table, however many records there are: 8 MiB, and 3 million records at usefulness 4


@dataclass(frozen=True, slots=True)
class PrivateStructure:
    r"""Private choice of a structure from records, as PrivBayes does it; passed in place of a structure.

    The first attribute of the domain has no parents. Attributes are then placed one by one, each together with its
    parents among those placed before: the pair is drawn by an exponential mechanism from all pairs of an unplaced
    attribute and a set of parents, by the dependence of the one on the other, less a `penalty` that grows with their
    table. Sets of parents are no larger than `max_parents` and `usefulness` allow, and without a penalty no smaller.

    Parameters
    ----------
    score : {"R", "F", "MI"}
        The score, see `pypgm.bayes.private_structure.dependence`: "R", the distance from independence, for all records
        and relations; "F", for binary attributes, which fewer records change less; "MI", the mutual information, only
        with neighbours="replace".
    share : number
        Part of the budget that the choice gets, between 0 and 1.
    usefulness : number, optional
        Least mean count of a cell in units of the mean absolute noise it will have. Under "add-remove" a
        twentieth of `share` measures the number of records for it. None leaves `max_parents` as the only limit.
    max_parents : int
        At least 0.
    max_candidates : int
        Largest number of pairs compared in one choice: `max_parents` is lowered step by step, not below 1, to stay
        within it.
    penalty : number
        At least 0, in units of the dependence that N records show by chance: for "R" :math:`\sqrt{N k / 2 \pi}`
        records, the largest mean score of independent attributes, for "MI" :math:`\tfrac k2 \log_2 N` bits, as in the
        BIC; "F" takes none, as it does not measure independence. k is the product of the number of values of the
        attribute and of the combinations of its parents, each less 1; N is measured as for `usefulness`. At 2 few arcs
        arise by chance, however large the budget; at 0, as PrivBayes is published, attributes have as many parents as
        the limits allow, which keeps weak dependences.

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
            raise ValueError("the score 'F' does not measure independence, so it takes no penalty: use 'R' or 'MI'")
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
        return _MAX_CELLS
    cell, pure = Identity(2), table.ledger.budget.unit == "epsilon"
    if pure:
        noise = float(table.privacy.l1_sensitivity(cell) / of_a_table)
    else:
        variance = table.ledger.variance_of(of_a_table, table.privacy.squared_l2_sensitivity(cell))
        noise = math.sqrt(2 / math.pi * float(variance))
    useful = records / (float(as_fraction("usefulness", how.usefulness)) * noise)
    return int(min(max(useful, 1.0), _MAX_CELLS))


def measured_total(table: PrivateTable, amount: Fraction) -> LinearMeasurement:
    """Measure the number of records for an amount of the budget."""
    one = table.privacy.records_per_person
    if table.ledger.budget.unit == "epsilon":
        return table.measure_total(scale=one / min(amount, MOST_EPSILON))
    return table.measure_total(variance=table.ledger.variance_of(amount, one**2))


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
