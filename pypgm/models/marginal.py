"""Answers of a model with the known facts about them: their errors, or their origin."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pypgm._base.html import Shown
from pypgm._base.student import LEVEL, level_text, reach_of
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
    level : float
        Share of true numbers that `low` and `high`, and each ± of the marginal, are to hold.
    low, high : Factor
        Ends of an interval for each number: so many errors to each side as a normal distribution needs, none below 0.

    Examples
    --------
    >>> import pypgm
    >>> data = pypgm.Dataset({"sex": [0, 1] * 500}, pypgm.Domain({"sex": ["F", "M"]}))
    >>> found = pypgm.mechanisms.mst(data, epsilon=1, delta=1e-9).marginal("sex", level=0.99)
    >>> found.basis, bool(found.low["F"] < found.counts["F"] < found.high["F"])
    ('measured', True)
    """

    counts: Factor
    errors: Factor
    basis: Basis
    level: float = LEVEL

    @property
    def reach(self) -> Factor:
        """Reach of each number, its ±: the error times the quantile of the level."""
        return self.errors * reach_of(self.level)

    @property
    def low(self) -> Factor:
        """Lower ends of the intervals."""
        return Factor(self.counts.domain, np.maximum(self.counts.values - self.reach.values, 0.0))

    @property
    def high(self) -> Factor:
        """Upper ends of the intervals."""
        return Factor(self.counts.domain, self.counts.values + self.reach.values)

    def rounded(self) -> Marginal:
        """Return the same marginal with whole counts.

        They sum to the rounded total, and so do those of every other marginal: of counts that begin with the same
        attributes, each is the sum of those of more attributes; sums over ``a`` of the whole counts of ``("a", "b")``
        may differ from the whole counts of ``"b"``. Each is less than one from what it was, beside what is left of the
        counts that it belongs to.

        Examples
        --------
        >>> import pypgm
        >>> model = pypgm.estimate(pypgm.Domain({"a": 3}), [pypgm.LinearMeasurement([1.4, 1.4, 2.2], "a")])
        >>> model.marginal("a").rounded().counts.values.tolist()
        [2.0, 1.0, 2.0]
        """
        whole = _whole(self.counts.values.reshape(self.counts.domain.shape))
        return replace(self, counts=Factor(self.counts.domain, whole))

    def to_frame(self, library: str = "pandas") -> Frame:
        """Return a data frame with a row for each cell: its labels or codes, ``count``, ``low``, ``high``, ``error``.

        ``low`` and ``high`` are to hold the true number at the marginal's level; ``error`` is that of `errors`.

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
          sex  count    low   high  error
        0   F  497.0  490.3  503.7    4.1
        1   M  502.0  495.1  508.9    4.2
        """
        parts = {"count": self.counts, "low": self.low, "high": self.high, "error": self.errors}
        return cells_frame(self.counts.domain, {name: part.datavector() for name, part in parts.items()}, library)

    def __repr__(self) -> str:
        typical = float(np.median(self.reach.datavector())) if self.errors.datavector().size else 0.0
        return f"Marginal({self.counts!r}, ± {typical:.3g} ({level_text(self.level)}) in the median, {self.basis})"


def _whole(counts: NDArray[np.float64], total: int | None = None) -> NDArray[np.float64]:
    """Return whole counts of a sum: those of the first attribute by largest remainders, then of each the rest alike."""
    if counts.ndim == 0:
        return np.array(float(np.rint(counts) if total is None else total))
    sums = counts.reshape(len(counts), -1).sum(axis=1)
    total = round(float(sums.sum())) if total is None else total
    scaled = sums * (total / sums.sum()) if sums.sum() > 0 else np.full(len(sums), total / len(sums))
    floors = np.floor(scaled)
    up = np.argsort(floors - scaled, kind="stable")[: total - int(floors.sum())]
    floors[up] += 1
    parts = [_whole(part, int(share)) for part, share in zip(counts, floors, strict=True)]
    return floors if counts.ndim == 1 else np.stack(parts)
