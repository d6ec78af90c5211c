"""Standard errors of a model's answers, from the noise of its measurements."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from pypgm._base.memory import check_tables_fit
from pypgm.domain import Clique
from pypgm.estimation.standard_error import LeastSquares, least_squares
from pypgm.factor import Factor
from pypgm.graphs.evidence import Evidence
from pypgm.models.estimated_again import Simulation, estimated_again
from pypgm.models.estimated_model import EstimatedModel
from pypgm.models.recipe import Recipe

_CELL_BYTES = 40  # of an answer: its mean, its spread, and what one more draw takes
_FAR_FROM_ZERO = 4.0  # standard errors: a cell that noise will not bring to zero


def standard_errors(simulation: Simulation, method: str) -> list[Factor]:
    """Return a table of standard errors for each clique; see `Model.standard_error`."""
    model, cliques, recipe = simulation.model, simulation.cliques, simulation.recipe
    if not recipe.measurements:
        raise ValueError("a standard error comes from the noise of measurements; the model was estimated without any")
    if not cliques:
        return []
    domains = [model.domain.project(c) for c in cliques]
    if method != "bootstrap":
        reason = _beyond_least_squares(model, recipe, simulation.evidence)
        solution = (
            None if reason else least_squares(model.domain, recipe.measurements, total_is_known=recipe.total_is_known)
        )
        reason = reason or _what_binds(model, recipe, cliques, solution)
        if solution is not None and not reason:
            return [Factor(d, solution.standard_error(c)) for d, c in zip(domains, cliques, strict=True)]
        if method == "gls":
            raise ValueError(f"generalised least squares does not give the error here: {reason}")

    check_tables_fit(model.domain, cliques, _CELL_BYTES, "standard error", "or ask for a smaller clique")
    return [Factor(d, s) for d, s in zip(domains, _bootstrap(simulation), strict=True)]


def _beyond_least_squares(model: EstimatedModel, recipe: Recipe, evidence: Evidence | None) -> str:
    """Return why the estimate is more than weighted least squares, an empty text if it is not."""
    ended = model.fit is not None and model.fit.status == "converged" and recipe.options["stop"] == "optimum"
    reasons = {
        "an answer under evidence is a ratio": bool(evidence),
        "the estimate did not go to the optimum": not ended,
        f"the loss is {recipe.options['loss']}": recipe.options["loss"] != "l2",
        "there are constraints": bool(model.folding.sources or model.masks),
        "marginals are those of a region graph": not model.is_exact,
    }
    return next((reason for reason, holds in reasons.items() if holds), "")


def _what_binds(model: EstimatedModel, recipe: Recipe, cliques: Sequence[Clique], solution: LeastSquares | None) -> str:
    """Return the name of an influence on the answers besides the measurements, or an empty text."""
    if solution is None:
        return "the system is too large, or the measurements do not determine all of it"
    beyond = [c for c in cliques if not solution.holds(c)]
    if beyond:
        return f"no measured clique holds {beyond[0]}"
    for clique in dict.fromkeys(model.domain.canonical(m.clique) for m in recipe.measurements):
        if (model.project(clique).datavector() < _FAR_FROM_ZERO * solution.standard_error(clique)).any():
            return f"some counts of {clique} are held from below by zero"
    return ""


def _bootstrap(simulation: Simulation) -> list[NDArray[np.float64]]:
    """Return the standard deviation of answers over estimates from simulated measurements of the model."""
    model, clock, measurements = simulation.model, simulation.clock, simulation.recipe.measurements
    tables = model.project_many([m.clique for m in measurements], n_threads=clock.n_threads)
    exact = [m.linear_map.matvec(table.datavector()) for m, table in zip(measurements, tables, strict=True)]
    estimated = estimated_again(model, simulation.recipe, clock)
    spreads = [_Spread(model.domain.size(clique)) for clique in simulation.cliques]
    n_seen = 0
    while n_seen < simulation.draws and not clock.tick(partial("{}/{} estimates".format, n_seen, simulation.draws)):
        drawn = estimated(simulation.measured(exact))
        if drawn.fit is None or drawn.fit.status != "time":
            n_seen += 1
            for spread, answer in zip(spreads, simulation.answers(drawn), strict=True):
                spread.add(answer.datavector())
    if n_seen < 2:
        raise TimeoutError(f"two estimates of the bootstrap take longer than time_limit={clock.time_limit:g}")
    return [spread.standard_deviation() for spread in spreads]


class _Spread:
    """The mean of tables and the sum of their squared distances from it, whatever their number [1]_.

    References
    ----------
    .. [1] B. P. Welford, Note on a method for calculating corrected sums of squares, Technometrics 4 (1962).
    """

    def __init__(self, n_cells: int) -> None:
        self._n = 0
        self._mean, self._squares = np.zeros(n_cells), np.zeros(n_cells)

    def add(self, values: NDArray[np.float64]) -> None:
        """Count one table."""
        self._n += 1
        apart = values - self._mean
        self._mean += apart / self._n
        self._squares += apart * (values - self._mean)

    def standard_deviation(self) -> NDArray[np.float64]:
        """Return the standard deviation of a cell, over one less than there are tables."""
        deviation: NDArray[np.float64] = np.sqrt(self._squares / (self._n - 1))
        return deviation
