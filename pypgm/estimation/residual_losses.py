"""Losses that compare answers with measured values: weighted L2, L1, and L1 smoothed near zero."""

from __future__ import annotations

import copy
import math
from abc import abstractmethod
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Annotated, Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from pypgm._base.constraints import Positive
from pypgm._base.signatures import checked
from pypgm.clique_vector import CliqueVector
from pypgm.domain import Clique, Domain
from pypgm.estimation.loss import Evaluate, Loss
from pypgm.estimation.measurement import LinearMeasurement
from pypgm.estimation.stacked_measurements import StackedMeasurements
from pypgm.graphs import JunctionTree

_T = TypeVar("_T")
_STAGES = (1.0, 0.25, 0.05)  # widths of the smoothed absolute value that an estimate passes through


class _Residuals(Loss):
    """A sum over measured answers of a function of (answer - measured) / (unit * stddev).

    Parameters
    ----------
    measurements : iterable of LinearMeasurement
    """

    unit: ClassVar[float]
    least = 0.0

    def __init__(self, measurements: Iterable[LinearMeasurement]) -> None:
        self.measurements = tuple(measurements)
        self.cliques = tuple(dict.fromkeys(m.clique for m in self.measurements))
        self._kept: dict[Hashable, Any] = {}  # the same whatever the answers: shared with what is refitted

    @abstractmethod
    def _terms(self, residuals: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        """Return the summed loss of residuals in units of their scale, and its derivative for each."""

    def refitted(self, measurements: Sequence[LinearMeasurement]) -> Loss:
        """Return the loss for other answers; see `Loss`."""
        other = copy.copy(self)
        other.measurements = tuple(measurements)
        other.cliques = tuple(dict.fromkeys(m.clique for m in other.measurements))
        return other

    def on(self, domain: Domain, cliques: Sequence[Clique]) -> Evaluate:
        """Return the loss as a function of the tables of given cliques; see `Loss`."""
        stacked = StackedMeasurements(domain, cliques, self.measurements, self.unit)

        def evaluate(marginals: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
            value, slopes = self._terms(stacked.answers(marginals) - stacked.values)
            return value, stacked.transposed(slopes)

        return evaluate

    def smoothness(self, tree: JunctionTree) -> float | None:
        r"""Return K for which the loss is K-smooth relative to the joint's negative entropy; see `Loss`.

        For second derivatives w, K is a quarter of the largest squared distance of two columns of the queries
        weighted by w, over all pairs of joint assignments. Two bounds of it are taken and the smaller returned: the sum
        of each measurement's own largest distance, which is exact where two assignments can differ everywhere at once,
        and, from the squared norms of the columns, half of their largest sum over an assignment (all of it if entries
        may be negative), by max-product.

        References
        ----------
        Bauschke, Bolte, Teboulle: A descent lemma beyond Lipschitz gradient continuity, 2017.
        """
        bend = self.bend
        return None if bend is None else self.kept(tree, lambda: self._largest_bend(tree, bend))

    def kept(self, key: Hashable, make: Callable[[], _T]) -> _T:
        """Return the result kept of a function of the queries and their noise; see `Loss`."""
        if key not in self._kept:
            self._kept[key] = make()
        made: _T = self._kept[key]
        return made

    def _largest_bend(self, tree: JunctionTree, bend: float) -> float:
        norms = CliqueVector(tree.domain, tree.cliques)
        distances, signed = 0.0, False
        even = 0.0  # the squared norms of cells that are measured alike: the same in any assignment
        for m in self.measurements:
            home, query = m.on(norms)
            if query.is_identity and isinstance(m.stddev, float):
                weight = bend / (m.stddev * m.stddev)
                even += weight
                distances += 2 * weight * (m.values.size > 1)
                continue
            weights = bend * m.weights()
            distances += query.largest_squared_distance(weights)
            signed = signed or not query.has_acute_columns
            norms.table(home)[:] += query.column_squares(weights)
        jointly = even + (tree.plan.max_log_weight(norms.values, [], 1) if norms.values.any() else 0.0)
        return min(distances / 4, jointly if signed else jointly / 2)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self.measurements)} measurements)"


class L2(_Residuals):
    r"""Half the weighted sum of squares: :math:`\frac12 \sum (q^\top\mu - y)^2 / \sigma^2`, of Gaussian noise.

    Parameters
    ----------
    measurements : iterable of LinearMeasurement

    Examples
    --------
    >>> import pypgm
    >>> domain = pypgm.Domain({"a": 2})
    >>> loss = L2([pypgm.LinearMeasurement([3, 5], "a", stddev=2.0)])
    >>> loss.on(domain, [("a",)])(np.array([4.0, 4.0]))
    (0.25, array([ 0.25, -0.25]))
    """

    unit = 1.0
    bend = 1.0

    def _terms(self, residuals: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        return 0.5 * float(np.square(residuals).sum()), residuals


class L1(_Residuals):
    r"""The weighted sum of absolute differences, :math:`\sum |q^\top\mu - y| / b`, of Laplace noise of scale b.

    b is the standard deviation over the root of 2, whatever the law. Not smooth: estimates approach it through
    `Huber` losses of falling width, or follow subgradients.

    Parameters
    ----------
    measurements : iterable of LinearMeasurement
    """

    unit = math.sqrt(0.5)
    smooth = False

    def stages(self) -> tuple[Loss, ...]:
        """Return Huber losses of falling width; see `Loss`."""
        return tuple(Huber(self.measurements, width) for width in (*_STAGES, 0.01, 0.002, 0.0004))

    def _terms(self, residuals: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        return float(np.abs(residuals).sum()), np.sign(residuals)


class Huber(_Residuals):
    r"""The absolute difference smoothed near zero: :math:`\sum h(u)`, :math:`u = (q^\top\mu - y) / b`.

    :math:`h(u) = u^2 / 2w` up to :math:`|u| = w`, then :math:`|u| - w / 2`: never above `L1`, and at most w / 2 an
    answer below.

    Parameters
    ----------
    measurements : iterable of LinearMeasurement
    width : float
        w, in units of the noise's scale b (see `L1`).

    Raises
    ------
    ValueError
        If `width` is not positive and finite.
    """

    unit = math.sqrt(0.5)

    @checked()
    def __init__(
        self, measurements: Iterable[LinearMeasurement], width: Annotated[float, Positive()] = _STAGES[-1]
    ) -> None:
        super().__init__(measurements)
        self.width = width
        self.bend = 2.0 / self.width

    def stages(self) -> tuple[Loss, ...]:
        """Return Huber losses of falling width, itself the last; see `Loss`."""
        return (*(Huber(self.measurements, w) for w in _STAGES if w > 2 * self.width), self)

    def _terms(self, residuals: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        slopes = np.clip(residuals / self.width, -1.0, 1.0)
        return float((slopes * (residuals - 0.5 * self.width * slopes)).sum()), slopes


LOSSES: dict[str, Callable[[Iterable[LinearMeasurement]], Loss]] = {"l2": L2, "l1": L1, "huber": Huber}
"""The losses that `pypgm.estimate` takes by name."""
