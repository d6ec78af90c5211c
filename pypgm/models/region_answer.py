"""A marginal with the method that found it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from numpy.typing import ArrayLike

from pypgm.domain import Domain
from pypgm.factor import Factor

Method = Literal["exact", "combined", "local", "submodel", "expanded", "oversaturated"]
"""Method that finds a marginal: "exact" on a junction tree, the others on a region graph."""


class RegionAnswer(Factor):
    """A table of counts from a region-graph model, how it was found and how far it is from consistency.

    Parameters
    ----------
    domain : Domain
        The attributes, in the order of the axes.
    values : array_like of float
        The table, counts.
    method : str
        "region" where a region holds the clique, else the method that found it.
    violation : float
        See the attribute.

    Attributes
    ----------
    method : str
        Name of the method, as given.
    violation : float
        Mean L1 distance between marginals of the answer and those of regions on the same attributes, as a fraction of
        the total: over the maximal intersections of the clique with regions, or, if regions hold the clique, over the
        smallest few of these.
    """

    __slots__ = ("method", "violation")

    method: str
    violation: float

    def __init__(self, domain: Domain, values: ArrayLike, method: str, violation: float) -> None:
        super().__init__(domain, values)
        self.method = method
        self.violation = violation

    def transpose(self, attributes: Iterable[str]) -> RegionAnswer:
        """Return the same answer with its axes in another order."""
        turned = super().transpose(attributes)
        return RegionAnswer(turned.domain, turned.datavector(), self.method, self.violation)

    def __repr__(self) -> str:
        return f"{super().__repr__()[:-1]}, {self.method}, violation {self.violation:.2g})"
