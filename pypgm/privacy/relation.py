"""Neighbour relations: the unit that differential privacy protects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, get_args

from pypgm._base.numeric import check_choice, shown
from pypgm.domain import listed
from pypgm.privacy.budget import check_new
from pypgm.queries import LinearQuery, Neighbours

_MAX_RECORDS = 1 << 53  # below which every count is a double


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Privacy:
    """The neighbour relation of a release and the number of records a person may have in the table.

    Parameters
    ----------
    neighbours : {"add-remove", "replace"}
        "add-remove": neighbouring tables differ in the presence of one person's records; the number of records is
        private. "replace": they differ in the contents of one person's records; the number of records is public.
    records_per_person : int, optional
        Largest number of records that one person contributes. It multiplies every sensitivity. If it is left out, any
        one record is protected, and nothing is promised about people with several.
    person : sequence of str
        Columns that identify persons, if only `records_per_person` records of each are kept; the relation is then
        "add-remove".
    weight : str
        Column of the weights, if each record counts as often as its weight says, at most `records_per_person` times;
        the relation is then "add-remove", and any one record is protected.

    Raises
    ------
    ValueError
        If the relation is unknown, `records_per_person` is not a positive integer below 2^53, or a person is named
        or a weight under "replace", or without a number of records, or both.

    Examples
    --------
    >>> from pypgm.queries import Identity
    >>> Privacy("replace", records_per_person=3).squared_l2_sensitivity(Identity(4))
    18
    """

    neighbours: Neighbours
    records_per_person: int
    person: tuple[str, ...]
    weight: str
    is_of_people: bool = field(compare=False)  # rather than of single records, which have equal sensitivities

    def __init__(
        self,
        neighbours: Neighbours = "add-remove",
        records_per_person: int | None = None,
        person: Sequence[str] = (),
        weight: str = "",
    ) -> None:
        check_new(self, "neighbours")
        check_choice("neighbours", neighbours, get_args(Neighbours))
        k = 1 if records_per_person is None else records_per_person
        if type(k) is not int or not 1 <= k < _MAX_RECORDS:  # nor a subclass, whose products would be its own
            raise ValueError(f"records_per_person must be a positive integer below 2^53, got {shown(k)}")
        object.__setattr__(self, "neighbours", "replace" if neighbours == "replace" else "add-remove")
        object.__setattr__(self, "records_per_person", k)
        object.__setattr__(self, "is_of_people", records_per_person is not None and not weight)
        object.__setattr__(self, "person", tuple(person))
        object.__setattr__(self, "weight", str(weight))
        if weight and (records_per_person is None or person or self.total_is_public):
            needed = 'weights need "add-remove", as their sum is private, the most that a record counts, and no person'
            raise ValueError(f"{needed}: neighbours is {neighbours!r}, records_per_person {shown(records_per_person)}")
        if person and records_per_person is None:
            raise ValueError("persons that columns name need records_per_person, how many records of each are kept")
        if person and self.total_is_public:
            needed = 'a person needs "add-remove": where only some records of each are kept, their number is private'
            raise ValueError(
                f"{needed}; if every person has the same number of records, state records_per_person without a person"
            )

    def __repr__(self) -> str:
        person = f", person={self.person!r}" if self.person else ""
        weight = f", weight={self.weight!r}" if self.weight else ""
        k = self.records_per_person if self.is_of_people or self.weight else None
        return f"Privacy(neighbours={self.neighbours!r}, records_per_person={k}{person}{weight})"

    @property
    def sentence(self) -> str:
        """The fact that is protected, in words for the people in the records.

        Examples
        --------
        >>> Privacy().sentence
        'whether any one record is in the real table at all'
        >>> Privacy("replace", 2).sentence
        'what the records of any one person (at most 2 records) hold; how many records there are is public'
        >>> Privacy("add-remove", 2, ["NHS Number"]).sentence
        "whether any one person (known by 'NHS Number', at most 2 records kept) is in the real table at all"
        >>> Privacy("add-remove", 50, weight="w").sentence
        "whether any one record (weighted by 'w', counted at most 50 times) is in the real table at all"
        """
        k = self.records_per_person
        records = f"{k} record{'' if k == 1 else 's'}{' kept' if self.person else ''}"
        unit = f"any one person ({known_by(self.person)}at most {records})" if self.is_of_people else "any one record"
        if self.weight:
            unit += f" (weighted by {self.weight!r}, counted at most {k} time{'' if k == 1 else 's'})"
        if self.total_is_public:
            what = f"what the records of {unit} hold" if self.is_of_people else f"what {unit} holds"
            return f"{what}; how many records there are is public"
        return f"whether {unit} is in the real table at all"

    def assumption(self, table: str = "the real table") -> str:
        """Return what the promise takes for granted about the people in the records, in a sentence for them.

        Parameters
        ----------
        table : str
            The table that holds one record or several of each person.

        Examples
        --------
        >>> print(Privacy("replace", 2).assumption())
        It assumes that each person has at most 2 records in the real table, which its owner must ensure; for a person \
with more it is weaker.
        >>> print(Privacy("add-remove", 2, ["NHS Number"]).assumption())
        It assumes that 'NHS Number' tells persons apart, which the owner of the real table must ensure; for a person \
with several of its values it is weaker.
        >>> print(Privacy().assumption())
        It is about single records; for a person with several in the real table it is weaker.
        """
        if self.person:
            names = " and ".join(map(repr, self.person))
            ensured = f"which the owner of {table} must ensure"
            weaker = "for a person with several of its values it is weaker"
            return f"It assumes that {names} tells persons apart, {ensured}; {weaker}."
        if not self.is_of_people:
            return f"It is about single records; for a person with several in {table} it is weaker."
        k = self.records_per_person
        return (
            f"It assumes that each person has at most {k} record{'' if k == 1 else 's'} in {table}, which its "
            "owner must ensure; for a person with more it is weaker."
        )

    def copy(self) -> Privacy:
        """Return a copy of the relation, checked again, which nobody else can change."""
        return Privacy(**Privacy.to_dict(self))

    def to_dict(self) -> dict[str, Any]:
        """Return the arguments, as files store them."""
        stated: dict[str, Any] = {"records_per_person": self.records_per_person} if self.is_of_people else {}
        stated |= {"person": list(self.person)} if self.person else {}
        stated |= {"records_per_person": self.records_per_person, "weight": self.weight} if self.weight else {}
        return {"neighbours": self.neighbours, **stated}

    @property
    def total_is_public(self) -> bool:
        """Whether the number of records is public: under "replace" all neighbouring tables have equal numbers."""
        return self.neighbours == "replace"

    def l1_sensitivity(self, query: LinearQuery) -> int:
        """Return the most that the answers to `query` change in the L1 norm, exactly."""
        return query.l1_sensitivity(self.neighbours) * self.records_per_person

    def squared_l2_sensitivity(self, query: LinearQuery) -> int:
        """Return the square of the most the answers to `query` change in the L2 norm, exactly."""
        return query.squared_l2_sensitivity(self.neighbours) * self.records_per_person**2

    def largest_change(self, query: LinearQuery) -> int:
        """Return the most that a single answer to `query` changes, or an upper bound of it."""
        return query.largest_change(self.neighbours) * self.records_per_person

    def quantile_score_range(self, quantile: Fraction) -> int:
        """Return the range R of the rank scores of a quantile a/b: b times the records by which its definition fails.

        Such a score is -max(0, (b - a) less - a (equal + more), a more - (b - a) (less + equal)). Adding or removing a
        record changes each of the two by at most max(a, b - a), replacing one by at most b; changes of either sign may
        meet in one pair of neighbours, so the range is twice that.
        """
        a, b = quantile.numerator, quantile.denominator
        return 2 * (max(a, b - a) if self.neighbours == "add-remove" else b) * self.records_per_person

    @property
    def l1_score_range(self) -> int:
        """The range R of the scores ``||M - estimate||_1``: twice the most one score changes.

        One record changes one cell of every marginal by 1, so a score changes by at most 1 under add-remove and 2
        under replace; changes of either sign may meet in one pair of neighbours, so the range is twice that.
        """
        return 2 * (2 if self.neighbours == "replace" else 1) * self.records_per_person

    @property
    def cell_score_range(self) -> int:
        """The range R of scores that are counts of cells, and of the records in all other cells.

        Adding a record raises each of these by 0 or 1, so the range is 1; replacing one moves each by at most 1, a
        cell's and its complement's in opposite directions: 2.
        """
        return (2 if self.total_is_public else 1) * self.records_per_person


def known_by(person: Sequence[str]) -> str:
    """Return the columns that identify a person, as a phrase of the promise; empty if none is named.

    Examples
    --------
    >>> known_by(["surname", "born"]), known_by([])
    ("known by 'surname' and 'born', ", '')
    """
    return f"known by {listed([' and '.join(map(repr, person))])}, " if person else ""
