"""Simulated answers to a model's measurements, and the estimates from them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Protocol, TypedDict

import numpy as np
from numpy.typing import NDArray

from pypgm._base.clock import CALL_DEFAULTS, CallOptions, Clock
from pypgm._base.constraints import AtLeast, check_attributes
from pypgm._base.numeric import as_generator
from pypgm._base.signatures import split_options
from pypgm.clique_vector import CliqueVector
from pypgm.data import Dataset
from pypgm.domain import Clique
from pypgm.estimation.independence import nearest
from pypgm.estimation.limits import ITERATIONS, SolverOptions
from pypgm.estimation.measurement import NOISE_LAWS, LinearMeasurement
from pypgm.estimation.region_descent import SweepOptions, Sweeps
from pypgm.estimation.residual_losses import LOSSES
from pypgm.estimation.steps import Pace
from pypgm.estimation.total import check_range, total_of_answers
from pypgm.factor import Factor
from pypgm.graphs.evidence import Evidence
from pypgm.models.estimated_model import EstimatedModel
from pypgm.models.recipe import Recipe
from pypgm.models.request import Prior, Request

_FLOOR = 0.03  # of a count's standard error: the least that a start gives a value


class Reestimated(EstimatedModel, Protocol):
    """A model of which others like it are estimated."""

    def estimated_again(
        self, request: Request, *, is_prior: bool = False, like: EstimatedModel | None = None
    ) -> EstimatedModel:
        """Return a model like this one for another request, on the same graph; a prior of it on a junction tree.

        Results about the graph, not the answers, of an earlier estimate are used again.
        """


def recipe_of(model: EstimatedModel) -> Recipe:
    """Return the recipe of a model; ``ValueError`` if it has none."""
    if model.recipe is None:
        raise ValueError("the model does not hold the measurements it was estimated from, so its errors are not known")
    return model.recipe


class DrawOptions(TypedDict, total=False):
    """Simulations of an error and their source, as keywords of a call."""

    draws: Annotated[int, AtLeast(2)]
    rng: np.random.Generator | int | None


class ErrorOptions(DrawOptions, CallOptions, total=False):
    """Keywords of whatever works out errors by simulation."""


ERROR_DRAWS = 20
"""Simulations of an error by default."""

ERROR_DEFAULTS: Mapping[str, object] = {"draws": ERROR_DRAWS, "rng": 0, **CALL_DEFAULTS}
"""Defaults of `ErrorOptions` other than None."""

STANDARD_ERROR_DEFAULTS: Mapping[str, object] = {**ERROR_DEFAULTS, "draws": 50}
"""Defaults of `standard_error`, other than None."""


@dataclass(frozen=True, slots=True, eq=False)
class Simulation:
    """Cliques whose errors are wanted, and the simulation of the measurements behind them.

    Attributes
    ----------
    model : Model
        The model; its measurements are the ones simulated.
    cliques : sequence of tuple of str
        Requested cliques, in their given form.
    evidence : mapping or None
        Known values of other attributes.
    draws : int
        Simulations.
    rng : Generator
        Source of noise and made-up records.
    clock : Clock
        Shows the simulations, and ends them.
    shared : float
        Standard deviation of an error of the total that answers have besides their noise, if they were denoised before
        the estimate. Each value of an attribute has the same part of it.
    dependence : mapping of set of str to float
        Total variation of pairs from independence, by a screen of the records; see `PairScreen.dependence`.
    population : Dataset, optional
        Records of the model from which tables are made up, drawn by the generator before; by default it draws them.
    """

    model: Reestimated
    cliques: Sequence[Clique]
    evidence: Evidence | None
    draws: Annotated[int, AtLeast(0)]
    rng: np.random.Generator
    clock: Clock
    shared: float = 0.0
    dependence: Mapping[frozenset[str], float] = field(default_factory=dict)
    population: Dataset | None = None

    def __post_init__(self) -> None:
        check_attributes(self)

    @property
    def recipe(self) -> Recipe:
        """Recipe of the model; ``ValueError`` if it has none."""
        return recipe_of(self.model)

    def answers(self, model: EstimatedModel) -> Sequence[Factor]:
        """Return the answers of a model to the cliques: counts, or probabilities given evidence."""
        if self.evidence:
            return [model.query(clique, self.evidence) for clique in self.cliques]
        return model.project_many(self.cliques, n_threads=self.clock.n_threads)

    def measured(self, exact: Iterable[NDArray[np.float64]]) -> list[LinearMeasurement]:
        """Return the model's measurements with other answers: exact ones, and noise such as each has."""
        return [m.answered(e + self._noise(m)) for m, e in zip(self.recipe.measurements, exact, strict=True)]

    def of_tables(self, counts: Iterable[NDArray[np.floating[Any]]]) -> list[LinearMeasurement]:
        """Return the model's measurements of other tables, whose counts are given for each."""
        more = self.rng.normal(0.0, self.shared) if self.shared else 0.0
        pairs = zip(self.recipe.measurements, counts, strict=True)
        return self.measured(m.linear_map.matvec(c + more / c.size) for m, c in pairs)

    def _noise(self, m: LinearMeasurement) -> NDArray[np.float64]:
        return NOISE_LAWS[m.noise].draw(self.rng, m.stddev, m.values.size)


def simulated(
    answer: Callable[[Simulation], list[Factor]],
    what: str,
    model: Reestimated,
    cliques: Sequence[Clique],
    evidence: Evidence | None,
    *,
    options: ErrorOptions,
    ends: str = "the made-up tables",
) -> list[Factor]:
    """Return the errors of cliques by simulation, within the limits of a call; `what` heads its line of progress."""
    draws, limits = split_options(what, options, DrawOptions, CallOptions)
    with Clock(what, **limits, ends=ends) as clock:
        rng = as_generator(draws["rng"])
        return answer(Simulation(model, cliques, evidence, draws["draws"], rng, clock))


def requested_again(
    model: EstimatedModel, recipe: Recipe, clock: Clock
) -> Callable[[Sequence[LinearMeasurement], Prior, Pace | None], Request]:
    """Return a function of other answers to a recipe's queries, a prior and a pace to a request like that of a model.

    The recipe is the model's, or that of its prior. Without a pace the estimate is validated where the model's was.
    """
    how = dict(recipe.options)
    loss, method = LOSSES[how.pop("loss")](recipe.measurements), how.pop("method")
    over = Sweeps(**{name: how.pop(name, None) for name in SweepOptions.__annotations__})
    how["iterations"] = min(how["iterations"], _most_again(model))
    how |= {"n_threads": clock.n_threads, "time_limit": clock.time_limit, "started": clock.started, "keeps": False}
    how["callback"] = lambda _: clock.over
    options = SolverOptions(**how)
    total_of = None if recipe.total_is_known else total_of_answers(model.folding.inner, recipe.measurements)

    def request(measurements: Sequence[LinearMeasurement], prior: Prior, pace: Pace | None) -> Request:
        total = model.total if total_of is None else total_of(measurements)[0]
        check_range(measurements, total)
        refitted = loss.refitted(measurements) or loss
        paced = replace(options, pace=pace)
        return Request(refitted, measurements, total, paced, method, model.folding, model.masks, prior, how=over)

    return request


def _most_again(model: EstimatedModel) -> int:
    """Return the oracle calls that an estimate like a model's may take: several times the steps of that one.

    Its allowed effort may be unlimited: a time limit or a callback ended it, or a file says so.
    """
    return max(ITERATIONS, 10 * len(model.fit.history)) if model.fit is not None else ITERATIONS


class EstimatedAgain:
    """An estimator of models like a given one from answers to its queries, with the prior that rests on them.

    A prior that kept the noise of the real answers would be the truth of the made-up tables, and errors of estimates
    from it too small: by 10 to 30 % for attributes and measured pairs. A validated estimate determines the end of all
    others. Ctrl-C is raised.

    Parameters
    ----------
    model : Model
        The model.
    recipe : Recipe
        Its recipe, or that of its prior.
    clock : Clock
        Its limits are those of all estimates together; once it is over, estimates end.
    """

    def __init__(self, model: Reestimated, recipe: Recipe, clock: Clock) -> None:
        self._model, self._is_prior = model, recipe is not model.recipe
        self._request = requested_again(model, recipe, clock)
        self._prior, self._known, before = recipe.prior, None, recipe.prior_recipe
        if before is None and self._prior is not None and (model.is_exact or self._is_prior):
            self._known = _log_shares(self._prior)
        self._before = None if before is None else EstimatedAgain(model, before.recipe, clock)
        self._indices = () if before is None else before.measurement_indices
        self._pace = None if self._is_prior else _pace(model)
        self._like: EstimatedModel | None = None

    @property
    def is_paced(self) -> bool:
        """Whether the end of all further estimates is known: they do not depend on each other, whatever their order."""
        return self._pace is not None and (self._before is None or self._before.is_paced)

    def __call__(self, answers: Sequence[LinearMeasurement]) -> EstimatedModel:
        """Return the model of other answers."""
        posed = self._request(answers, self._prior_of(answers), self._pace)
        self._like = made = self._model.estimated_again(posed, is_prior=self._is_prior, like=self._like)
        self._pace = self._pace or _pace(made)
        return made

    def _prior_of(self, answers: Sequence[LinearMeasurement]) -> Prior:
        if self._before is not None:
            return self._before([answers[i] for i in self._indices])
        return self._prior and _start(self._prior, answers, max(self._model.total, 1.0), self._known)


def _pace(model: EstimatedModel) -> Pace | None:
    """Return the best number of iterations, if it is known."""
    fit = model.fit
    return Pace(len(fit.history) - 1) if fit is not None and fit.status == "validated" else None


def _log_shares(potentials: CliqueVector) -> dict[str, NDArray[np.float64]]:
    """Return the natural logs of the probabilities of each attribute's values."""
    from pypgm.inference.conditioned import ExactAnswers

    with np.errstate(divide="ignore"):  # of structural zeros
        return {a: np.log(shares) for a, shares in ExactAnswers(potentials).marginals().items()}


def _start(
    prior: CliqueVector,
    measurements: Sequence[LinearMeasurement],
    total: float,
    known: Mapping[str, NDArray[np.float64]] | None,
) -> CliqueVector:
    """Return the prior of an estimate with single measured attributes read off other answers.

    A prior made of the answers has their noise; other parts of it, and one that stands on its own, stay. On a junction
    tree `known` has the logs of the prior's probabilities, as its potentials multiply; the regions of a region graph
    hold marginals each.
    """
    moved = CliqueVector(prior.domain, prior.cliques, prior.values.copy())
    alone: dict[str, list[LinearMeasurement]] = {}
    for m in measurements:
        if len(m.clique) == 1 and m.linear_map.is_identity:
            alone.setdefault(m.clique[0], []).append(m)
    for attribute, answers in alone.items():
        homes = [i for i, c in enumerate(prior.cliques) if (attribute in c if known is None else c == (attribute,))]
        if not homes:
            continue
        precisions = [float(np.mean(m.stddev)) ** -2 for m in answers]
        counts = np.average([m.values for m in answers], axis=0, weights=precisions)
        new = np.maximum(nearest(counts, total), _FLOOR * math.fsum(precisions) ** -0.5)
        if known is None:
            home = prior[(attribute,) if (attribute,) in prior else prior.cliques[homes[0]]]
            old = home.logsumexp([a for a in home.domain if a != attribute]).datavector()
            old = old - np.logaddexp.reduce(old)
        else:
            old = known[attribute]
        possible = old > -np.inf
        change = np.where(possible, np.log(new / new.sum()) - np.where(possible, old, 0.0), 0.0)
        for i in homes:
            moved.add(i, (attribute,), change)
    return moved
