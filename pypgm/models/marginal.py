"""Answers of a model with the known facts about them: their errors, or their origin."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from pypgm._base.html import Shown
from pypgm._base.student import LEVEL_TEXT, REACH
from pypgm.domain import Domain
from pypgm.factor import Factor, Frame, cells_frame
from pypgm.models.expected_error import Basis

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


@dataclass(frozen=True, slots=True, eq=False)
class Marginal(Shown):
    """The counts of some attributes, or their probabilities given evidence, with the expected error of each.

    Attributes
    ----------
    counts : Factor
        Counts by `GraphicalModel.project`, or `query` under evidence.
    errors : Factor
        Errors by `GraphicalModel.expected_error`; inf where nothing is known.
    basis : {"measured", "merged", "unmeasured", "unknown"}
        Basis of the counts, see `GraphicalModel.basis`.

    Examples
    --------
    >>> import pypgm
    >>> data = pypgm.Dataset({"sex": [0, 1] * 500}, pypgm.Domain({"sex": ["F", "M"]}))
    >>> found = pypgm.mechanisms.mst(data, epsilon=1, delta=1e-9).marginal("sex")
    >>> found.basis, bool(abs(found.counts["F"] - 500) < 5 * found.errors["F"])
    ('measured', True)
    """

    counts: Factor
    errors: Factor
    basis: Basis

    def to_frame(self, library: str = "pandas") -> Frame:
        """Return a data frame with a row for each cell: its labels or codes, ``count`` and ``error``.

        ``error`` is that of `errors`; the ± of reports, cells and whiskers is 1.645 times as large, and holds 90 %.

        Parameters
        ----------
        library : {"pandas", "polars", "pyarrow"}
            Library of the frame; it must be installed.

        Raises
        ------
        ValueError
            If the library is another one, or an attribute has the name of a column.
        ImportError
            If the library is not installed.

        Examples
        --------
        >>> release.marginal("sex").to_frame()  # doctest: +SKIP
          sex  count  error
        0   F  497.0    4.1
        1   M  502.0    4.2
        """
        numbers = {"count": self.counts.datavector(), "error": self.errors.datavector()}
        return cells_frame(self.counts.domain, numbers, library)

    def __repr__(self) -> str:
        typical = REACH * float(np.median(self.errors.datavector())) if self.errors.datavector().size else 0.0
        return f"Marginal({self.counts!r}, ± {typical:.3g} ({LEVEL_TEXT}) in the median, {self.basis})"
