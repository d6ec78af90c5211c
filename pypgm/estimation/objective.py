"""A weighted L2 loss lowered once for the compiled solvers: answers are exchanged, all else is kept."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pypgm.domain import Domain
    from pypgm.estimation.measurement import LinearMeasurement

__all__ = ["Objective", "Term"]


class Term(NamedTuple):
    """What is kept of a measurement whatever its answers."""

    place: int
    """Index of the table it is measured on."""
    rows: NDArray[np.int32]
    """The answer each cell is summed into, or its place among the cells summed up; empty where each is its own."""
    weights: NDArray[np.float64]
    """1 / variance, one an answer or one for all."""
    runs: bool
    """Whether sums run."""


class Objective:
    """The terms of a weighted L2 loss, to be given answers.

    Parameters
    ----------
    domain : Domain
        All attributes.
    terms : sequence of Term
        One a measurement.
    """

    def __init__(self, domain: Domain, terms: Sequence[Term]) -> None:
        self._domain = domain
        self._terms = terms

    def answered(self, measurements: Sequence[LinearMeasurement]) -> Iterator[tuple[Term, NDArray[np.float64]]]:
        """Yield each term with the answers of one of the measurements, cells in the domain's order."""
        for term, m in zip(self._terms, measurements, strict=True):
            yield term, m.in_order(self._domain, np.ascontiguousarray(m.values, dtype=np.float64))
