"""Losses and sums of losses."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from pypgm.domain import Clique, Domain
from pypgm.estimation.measurement import LinearMeasurement
from pypgm.graphs import JunctionTree

_T = TypeVar("_T")
Evaluate = Callable[["NDArray[np.float64]"], tuple[float, "NDArray[np.float64]"]]
"""A loss on a flat vector of marginals: its value and its gradient there."""


class Loss(ABC):
    """A function of the marginals (counts) of some cliques, to be minimised.

    Losses add up with ``+``.

    Attributes
    ----------
    cliques : tuple of cliques
        The marginals it reads.
    measurements : tuple of LinearMeasurement
        The measurements it compares marginals with; none by default.
    smooth : bool
        Whether the loss has a gradient everywhere; if not, it still has subgradients.
    convex : bool
        Whether the loss is convex, without which a gap certifies nothing.
    least : float
        Lower bound of the loss over all marginals; -inf if unknown.
    bend : float or None
        Largest second derivative of a loss of residuals in units of their standard deviation; None for other
        losses, and where the slope jumps.
    """

    cliques: tuple[Clique, ...]
    measurements: tuple[LinearMeasurement, ...] = ()
    smooth: bool = True
    convex: bool = True
    least: float = -math.inf
    bend: float | None = None

    @abstractmethod
    def on(self, domain: Domain, cliques: Sequence[Clique]) -> Evaluate:
        """Return the loss as a function of the packed tables of given cliques.

        A table holds each clique it reads.
        """

    @abstractmethod
    def smoothness(self, tree: JunctionTree) -> float | None:
        """Return K such that its gradient is K-Lipschitz, None if that is not known.

        The change of a gradient is measured by its largest sum over the cells of one joint assignment, the change of
        marginals by the L1 distance of joint tables of counts.
        """

    def refitted(self, measurements: Sequence[LinearMeasurement]) -> Loss | None:
        """Return the same loss for other answers to the same queries; None if it does not rest only on them."""
        del measurements
        return None

    def kept(self, key: Hashable, make: Callable[[], _T]) -> _T:
        """Return `make()`: a function of the queries and their noise, called once by losses that can be `refitted`."""
        del key
        return make()

    def stages(self) -> tuple[Loss, ...]:
        """Return losses whose minima approach that of this one; the last is the closest and never above it."""
        return (self,)

    def __add__(self, other: Loss) -> Sum:
        return Sum((self, other))


class Sum(Loss):
    """Several losses added up.

    Parameters
    ----------
    losses : iterable of Loss
        At least one.

    Raises
    ------
    ValueError
        If there is no loss.
    """

    def __init__(self, losses: Iterable[Loss]) -> None:
        self.losses = tuple(losses)
        if not self.losses:
            raise ValueError("a sum of losses needs at least one")
        self.cliques = tuple(dict.fromkeys(c for loss in self.losses for c in loss.cliques))
        self.measurements = tuple(m for loss in self.losses for m in loss.measurements)
        self.smooth = all(loss.smooth for loss in self.losses)
        self.convex = all(loss.convex for loss in self.losses)
        self.least = math.fsum(loss.least for loss in self.losses)

    def on(self, domain: Domain, cliques: Sequence[Clique]) -> Evaluate:
        """Return the loss as a function of the tables of given cliques; see `Loss`."""
        parts = [loss.on(domain, cliques) for loss in self.losses]

        def evaluate(marginals: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
            values, gradients = zip(*(part(marginals) for part in parts), strict=True)
            return math.fsum(values), np.sum(gradients, axis=0)

        return evaluate

    def smoothness(self, tree: JunctionTree) -> float | None:
        """Return the sum of its parts' constants; see `Loss`."""
        known = [loss.smoothness(tree) for loss in self.losses]
        return math.fsum(k for k in known if k is not None) if None not in known else None

    def stages(self) -> tuple[Loss, ...]:
        """Return sums of its parts' stages; see `Loss`."""
        parts = [loss.stages() for loss in self.losses]
        length = max(len(p) for p in parts)
        return tuple(Sum(p[min(i, len(p) - 1)] for p in parts) for i in range(length)) if length > 1 else (self,)

    def refitted(self, measurements: Sequence[LinearMeasurement]) -> Sum | None:
        """Return the loss for other answers; see `Loss`."""
        answers = iter(measurements)
        parts = [loss.refitted([next(answers) for _ in loss.measurements]) for loss in self.losses]
        return None if None in parts else Sum(part for part in parts if part is not None)

    def __repr__(self) -> str:
        return " + ".join(map(repr, self.losses))
