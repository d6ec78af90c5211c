"""What an estimator is given: a loss over the marginals of a junction tree, a total, a start."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pypgm import _core
from pypgm.clique_vector import CliqueVector
from pypgm.estimation.certificate import certifies
from pypgm.estimation.compiled import compiled_measurements, is_compiled
from pypgm.estimation.fit import Fit, Options
from pypgm.estimation.general import GeneralAcceleration, GeneralDescent, Oracle, SteadyDescent
from pypgm.estimation.loss import Loss
from pypgm.estimation.residual_losses import L2

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from pypgm.estimation.measurement import LinearMeasurement
    from pypgm.graphs import JunctionTree

__all__ = ["Answer", "Estimator", "Problem", "Searching", "StartFor"]

Searching = _core.Descent | GeneralDescent
Answer = tuple[CliqueVector, CliqueVector, Fit]
"""Potentials (natural logs), their marginals (counts), and how it ended."""
StartFor = Callable[[Sequence["LinearMeasurement"]], CliqueVector]
"""The potentials that measurements suggest to start from."""


@dataclass(frozen=True, slots=True)
class Problem:
    """A loss to be minimised over the marginals of all distributions on a domain."""

    tree: JunctionTree
    """Built for the distinct cliques the loss reads."""
    loss: Loss
    """Of the marginals, counts."""
    total: float
    """Number of records, counts."""
    start: CliqueVector
    """Potentials to start from, natural logs; -inf entries are structural zeros and stay."""
    start_for: StartFor | None = None
    """The start that other answers to the same queries suggest; None where the start does not rest on answers."""

    def safe_step(self) -> float | None:
        """Return the step, in count space, below which mirror descent never raises the loss; None if not known."""
        smoothness = self.loss.smoothness(self.tree)
        if smoothness is None:
            return None
        return 1.0 / (self.total * smoothness) if smoothness > 0 else 1.0 / self.total

    def descent(self, n_threads: int) -> Searching:
        """Return a solver that tries and accepts steps, compiled where the loss is weighted L2 of simple queries."""
        if self._compiles():
            arrays = compiled_measurements(self.tree, self.loss.measurements)
            return _core.Descent(self.tree.plan, arrays, self.total, self.start.values, n_threads)
        return GeneralDescent(self.oracle(n_threads), self.loss, self.start.values)

    def steady_descent(self, first: float, n_threads: int) -> SteadyDescent:
        """Return a solver that takes steps known beforehand, of which this is the first."""
        return SteadyDescent(self.descent(n_threads), first)

    def acceleration(
        self, n_threads: int, held_out: Sequence[LinearMeasurement] = ()
    ) -> _core.Acceleration | GeneralAcceleration:
        """Return a solver that averages its iterates, with measurements to validate them on if there are any."""
        if self._compiles():
            arrays = compiled_measurements(self.tree, self.loss.measurements, held_out)
            return _core.Acceleration(self.tree.plan, arrays, self.total, self.start.values, n_threads)
        validation = L2(held_out) if held_out else None
        return GeneralAcceleration(self.oracle(n_threads), self.loss, self.start.values, validation)

    def is_certifiable(self) -> bool:
        """Return whether a certificate can be had: for a weighted L2 loss of sums over not too many cells."""
        measurements = self.loss.measurements
        sums = bool(measurements) and not any(m.linear_map.is_running for m in measurements)
        small = certifies(self.start.values.size) and _core.Certificate.suits(self.tree.plan)
        return sums and small and self._compiles()

    def certificate(
        self, potentials: NDArray[np.float64], marginals: NDArray[np.float64], n_threads: int
    ) -> _core.Certificate:
        """Return what bounds the least loss better than a gradient does, from a point near the optimum."""
        arrays = compiled_measurements(self.tree, self.loss.measurements)
        return _core.Certificate(self.tree.plan, arrays, self.total, potentials, marginals, n_threads)

    def oracle(self, n_threads: int) -> Oracle:
        """Return exact inference on the tree."""
        return Oracle(self.tree, self.total, n_threads)

    def refitted(self, measurements: Sequence[LinearMeasurement]) -> Problem | None:
        """Return the problem that other answers to the same queries pose; None if the loss rests on more than them."""
        loss = self.loss.refitted(measurements)
        if loss is None:
            return None
        return replace(self, loss=loss, start=self.start if self.start_for is None else self.start_for(measurements))

    def with_loss(self, loss: Loss) -> Problem:
        """Return the problem with another loss over the same cliques."""
        return replace(self, loss=loss)

    def started(self, potentials: CliqueVector) -> Problem:
        """Return the problem with another start."""
        return replace(self, start=potentials)

    def vector(self, values: NDArray[np.float64]) -> CliqueVector:
        """Return flat tables of the tree's cliques with their names."""
        return self.start.like(values)

    def _compiles(self) -> bool:
        return type(self.loss) is L2 and all(map(is_compiled, self.loss.measurements))


Estimator = Callable[[Problem, Options], Answer]
"""An algorithm: what all of `pypgm.estimate`'s methods are."""
