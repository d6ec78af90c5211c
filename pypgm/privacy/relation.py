"""Who a neighbour is: the unit that differential privacy protects."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from pypgm.numeric import shown
from pypgm.privacy.budget import check_new
from pypgm.queries import LinearQuery, Neighbours
from pypgm.queries.neighbours import check_neighbours

_LARGEST = 1 << 53  # below which every count is a double


@dataclass(frozen=True, slots=True, init=False)
class Privacy:
    """The neighbour relation of a release and the number of records a person may have in the table.

    Parameters
    ----------
    neighbours : {"add-remove", "replace"}
        "add-remove": neighbouring tables differ by one person's records being there or not; the number of
        records is private. "replace": by one person's records being others; the number of records is public.
    records_per_person : int
        Most records one person contributes. It multiplies every sensitivity.

    Raises
    ------
    ValueError
        If the relation is unknown or `records_per_person` is not a positive integer below 2^53.

    Examples
    --------
    >>> from pypgm.queries import Identity
    >>> Privacy("replace", records_per_person=3).squared_l2_sensitivity(Identity(4))
    18
    """

    neighbours: Neighbours
    records_per_person: int

    def __init__(self, neighbours: Neighbours = "add-remove", records_per_person: int = 1) -> None:
        check_new(self, "neighbours")
        check_neighbours(neighbours)
        k = records_per_person
        if type(k) is not int or not 1 <= k < _LARGEST:  # nor a subclass, whose products would be its own
            raise ValueError(f"records_per_person must be a positive integer below 2^53, got {shown(k)}")
        object.__setattr__(self, "neighbours", "replace" if neighbours == "replace" else "add-remove")
        object.__setattr__(self, "records_per_person", k)

    @property
    def sentence(self) -> str:
        """What is protected, in words for whom the records are about.

        Examples
        --------
        >>> Privacy().sentence
        'whether any one person (at most 1 record) is in the table at all'
        """
        k = self.records_per_person
        person = f"any one person (at most {k} record{'' if k == 1 else 's'})"
        if self.total_is_public:
            return f"what the records of {person} hold; how many records there are is public"
        return f"whether {person} is in the table at all"

    @property
    def total_is_public(self) -> bool:
        """Whether the number of records is public: under "replace" all neighbours have as many."""
        return self.neighbours == "replace"

    def l1_sensitivity(self, query: LinearQuery) -> int:
        """Return by how much the answers to `query` change at most in the L1 norm, exactly."""
        return query.l1_sensitivity(self.neighbours) * self.records_per_person

    def squared_l2_sensitivity(self, query: LinearQuery) -> int:
        """Return the square of the most the answers to `query` change in the L2 norm, exactly."""
        return query.squared_l2_sensitivity(self.neighbours) * self.records_per_person**2

    def largest_change(self, query: LinearQuery) -> int:
        """Return the most that a single answer to `query` changes, or a bound of it."""
        return query.largest_change(self.neighbours) * self.records_per_person

    def quantile_score_range(self, quantile: Fraction) -> int:
        """Return R of the rank scores of a quantile a/b, which are b times what its definition misses in records.

        Such a score is -max(0, (b - a) less - a (equal + more), a more - (b - a) (less + equal)). A record more or
        less changes each of the two by at most max(a, b - a), a record substituted by at most b; changes of either
        sign may meet in one pair of neighbours, so the range is twice that.
        """
        a, b = quantile.numerator, quantile.denominator
        return 2 * (max(a, b - a) if self.neighbours == "add-remove" else b) * self.records_per_person

    @property
    def l1_score_range(self) -> int:
        """R of the scores ``||M - estimate||_1``: twice the most one score changes.

        One record changes one cell of every marginal by 1, so a score changes by at most 1 under add-remove and 2
        under replace; changes of either sign may meet in one pair of neighbours, so the range is twice that.
        """
        return 2 * (2 if self.neighbours == "replace" else 1) * self.records_per_person

    @property
    def cell_score_range(self) -> int:
        """R of scores that are counts of cells, and of the records in all other cells.

        A record more raises each of these by 0 or 1, so the range is 1; a record substituted moves each by at most 1,
        a cell's and its complement's in opposite directions: 2.
        """
        return (2 if self.total_is_public else 1) * self.records_per_person
