"""A user's loss, and a check of any loss's gradient."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from pypgm._base.constraints import Positive
from pypgm._base.numeric import as_generator
from pypgm._base.signatures import checked
from pypgm.clique_vector import CliqueVector
from pypgm.domain import Clique, Domain, as_clique
from pypgm.estimation.loss import Evaluate, Loss
from pypgm.estimation.measurement import LinearMeasurement
from pypgm.estimation.stacked_measurements import StackedMeasurements
from pypgm.graphs import JunctionTree


class Custom(Loss):
    """A user's loss: for example the negative log-likelihood of a mechanism's output.

    Parameters
    ----------
    function : callable
        Marginals (`CliqueVector`, counts) to value and gradient, a `CliqueVector` over the same cliques.
    cliques : sequence of cliques
        The marginals it reads; they come in this order.
    smooth : bool
        Whether the loss has a gradient everywhere. If not, the returned vector must be a subgradient.
    convex : bool
        Whether the loss is convex.
    lipschitz : float, optional
        K such that the gradient changes by at most K times the L1 distance of two joint tables of counts, measured by
        its largest sum over the cells of one joint assignment: methods with a fixed step need it. If it is not smooth
        this is instead a bound of the subgradient itself in that measure.

    Raises
    ------
    ValueError
        If `lipschitz` is not positive and finite.

    Examples
    --------
    >>> import pypgm
    >>> def surprise(marginals):  # of having seen 30 records with a = 0 and 10 with a = 1
    ...     seen, p = np.array([30.0, 10.0]), marginals.values
    ...     return -float(seen @ np.log(p)), pypgm.CliqueVector(marginals.domain, ["a"], -seen / p)
    >>> model = pypgm.estimate(pypgm.Domain({"a": 2}), [], 100.0, loss=Custom(surprise, ["a"]), tolerance=1e-9)
    >>> model.project("a").values.round(2)
    array([75., 25.])
    """

    @checked()
    def __init__(
        self,
        function: Callable[[CliqueVector], tuple[float, CliqueVector]],
        cliques: Iterable[str | Iterable[str]],
        *,
        smooth: bool = True,
        convex: bool = True,
        lipschitz: Annotated[float, Positive()] | None = None,
    ) -> None:
        self.function = function
        self.cliques = tuple(as_clique(c) for c in cliques)
        self.smooth = smooth
        self.convex = convex
        self.lipschitz = lipschitz

    def smoothness(self, tree: JunctionTree) -> float | None:
        """Return the Lipschitz constant given; see `Loss`."""
        del tree
        return self.lipschitz if self.smooth else None

    def on(self, domain: Domain, cliques: Sequence[Clique]) -> Evaluate:
        """Return the loss as a function of the tables of given cliques; see `Loss`."""
        cells = [LinearMeasurement(np.zeros(domain.size(c)), domain.canonical(c)) for c in self.cliques]
        tables = StackedMeasurements(domain, cliques, cells)

        def evaluate(marginals: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
            answer = self.function(CliqueVector(domain, self.cliques, tables.answers(marginals)))
            if not (isinstance(answer, tuple) and len(answer) == 2 and isinstance(answer[1], CliqueVector)):
                raise TypeError(f"the loss must return (value, gradient), a number and a CliqueVector, got {answer!r}")
            value, gradient = answer[0], answer[1].values
            if gradient.shape != tables.values.shape or not (np.isfinite(gradient).all() and math.isfinite(value)):
                raise ValueError(
                    f"the loss must return a finite value and a finite gradient of {tables.values.size} cells, "
                    f"got {value} and {gradient.size} cells"
                )
            return float(value), tables.transposed(gradient)

        return evaluate

    def __repr__(self) -> str:
        return f"Custom({getattr(self.function, '__name__', self.function)!s} on {len(self.cliques)} cliques)"


def check_gradient(
    loss: Loss,
    marginals: CliqueVector,
    *,
    directions: int = 10,
    step: float = 1e-5,
    tolerance: float = 1e-4,
    rng: np.random.Generator | int | None = 0,
) -> float:
    """Compare a loss's gradient with differences of its values.

    Parameters
    ----------
    loss : Loss
        Loss to check at points where it is smooth.
    marginals : CliqueVector
        Point of evaluation, in counts; over the loss's cliques at least.
    directions : int
        Number of random directions to look in.
    step : float
        Step of the central difference, relative to the largest marginal.
    tolerance : float
        Largest difference that is allowed between the two, relative to the larger one.
    rng : Generator or int, optional
        Source of the directions.

    Returns
    -------
    float
        The largest relative difference found.

    Raises
    ------
    ValueError
        If the difference is above the tolerance.

    Examples
    --------
    >>> import pypgm
    >>> domain = pypgm.Domain({"a": 2})
    >>> loss = pypgm.losses.L2([pypgm.LinearMeasurement([3, 5], "a")])
    >>> check_gradient(loss, pypgm.CliqueVector(domain, ["a"], [4.0, 6.0])) < 1e-4
    True
    """
    evaluate = loss.on(marginals.domain, marginals.cliques)
    generator, here = as_generator(rng), marginals.values
    _, gradient = evaluate(here)
    length = step * max(1e-300, float(np.abs(here).max()))
    worst = 0.0
    for _ in range(directions):
        along = generator.normal(size=here.size)
        along /= np.abs(along).max()
        difference = (evaluate(here + length * along)[0] - evaluate(here - length * along)[0]) / (2 * length)
        slope = float((gradient * along).sum())
        worst = max(worst, abs(slope - difference) / max(abs(slope), abs(difference), 1e-8))
    if worst > tolerance:
        raise ValueError(f"the gradient of {loss!r} differs from differences of its values by {worst:.2g}")
    return worst
