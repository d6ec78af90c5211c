"""Estimation of one graphical model from noisy measurements."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, overload

from pypgm._base.numeric import checked_real
from pypgm._base.signatures import split_options, with_options
from pypgm.clique_vector import CliqueVector
from pypgm.domain import Domain, check_domain, check_kind
from pypgm.estimation.constraint import Constraint, fold, folded_measurement
from pypgm.estimation.custom_loss import Custom
from pypgm.estimation.fit import warn_of_the_end
from pypgm.estimation.limits import LIMIT_DEFAULTS, LimitOptions, Limits, SolverOptions, Stop
from pypgm.estimation.loss import Loss
from pypgm.estimation.measurement import LinearMeasurement, joined_marks
from pypgm.estimation.methods import MethodName, chosen_method
from pypgm.estimation.region_descent import SweepOptions, Sweeps
from pypgm.estimation.residual_losses import LOSSES
from pypgm.estimation.total import check_range, estimate_total
from pypgm.graphs.junction_tree import JunctionTree
from pypgm.graphs.region_graph import RegionGraph
from pypgm.inference.folding import Folding
from pypgm.models.estimated_model import EstimatedModel
from pypgm.models.graphical_model import GraphicalModel, solved_on_tree
from pypgm.models.model import Model
from pypgm.models.recipe import PriorRecipe, Recipe
from pypgm.models.region_estimate import REGION_TOLERANCE, RegionOracle
from pypgm.models.region_model import RegionGraphModel, solved_on_regions
from pypgm.models.request import Request

if TYPE_CHECKING:
    import numpy as np
    from typing_extensions import Unpack

    from pypgm.estimation.steps import Pace

_TOLERANCE = 1e-2

LossFunction = Callable[[CliqueVector], tuple[float, CliqueVector]]


class _Further(LimitOptions, SweepOptions, total=False):
    """The options that `estimate` hands on."""


class EstimateOptions(_Further, total=False):
    """The options of `estimate` besides its oracle."""

    loss: Literal["l2", "l1", "huber"] | Loss | LossFunction
    method: MethodName
    stop: Stop | None
    stepsize: float | Callable[[int], float] | None
    prior: GraphicalModel | RegionGraphModel | CliqueVector | None
    warm_start: GraphicalModel | RegionGraphModel | CliqueVector | None
    constraints: Sequence[Constraint] | None
    rng: np.random.Generator | int | None


@overload
def estimate(
    domain: Domain,
    measurements: Sequence[LinearMeasurement],
    total: float | None = ...,
    *,
    oracle: Literal["exact"] = ...,
    **options: Unpack[EstimateOptions],
) -> GraphicalModel: ...
@overload
def estimate(
    domain: Domain,
    measurements: Sequence[LinearMeasurement],
    total: float | None = ...,
    *,
    oracle: RegionOracle,
    **options: Unpack[EstimateOptions],
) -> RegionGraphModel: ...
@with_options(_Further, LIMIT_DEFAULTS)
def estimate(
    domain: Domain,
    measurements: Sequence[LinearMeasurement],
    total: float | None = None,
    *,
    oracle: Literal["exact"] | RegionOracle = "exact",
    loss: Literal["l2", "l1", "huber"] | Loss | LossFunction = "l2",
    method: MethodName = "auto",
    stop: Stop | None = None,
    stepsize: float | Callable[[int], float] | None = None,
    prior: GraphicalModel | RegionGraphModel | CliqueVector | None = None,
    warm_start: GraphicalModel | RegionGraphModel | CliqueVector | None = None,
    constraints: Sequence[Constraint] | None = None,
    rng: np.random.Generator | int | None = None,
    **further: Unpack[_Further],
) -> GraphicalModel | RegionGraphModel:
    r"""Find the graphical model whose marginals are closest to noisy measurements.

    Minimises a loss over the marginals :math:`\mu` (counts) of all distributions on the domain, by default
    :math:`\frac12 \sum_i (q_i^\top \mu - y_i)^2 / \sigma_i^2`; among the distributions with those marginals the
    answer is the one closest, in relative entropy, to where the search started: by default the independent model the
    measurements suggest. Where every cell of a clique is measured that is the one of largest entropy.

    Parameters
    ----------
    domain : Domain
        All attributes; those never measured stay uniform.
    measurements : sequence of LinearMeasurement
        Noisy answers, counts, to any linear queries.
    total : float, optional
        Number of records; by default that of `estimate_total`: the best linear unbiased one from the measurements of
        each clique, averaged with their precisions. 0, where it is known
        that there is none, needs ``oracle="exact"``.
    oracle : {"exact", "region_graph", "factor_graph"} or RegionGraph
        Consistency of the marginals: with a distribution on the domain, by a junction tree; or, where no tree
        fits, each other where regions of a graph meet. "region_graph" is the closure of the measured cliques under
        intersection, "factor_graph" makes them agree only on single attributes.
    loss : {"l2", "l1", "huber"}, Loss or callable
        Distance of marginals from the measurements: half the weighted squares (for Gaussian noise), the weighted
        absolute differences (for Laplace noise), or these smoothed near zero. A `pypgm.losses.Loss`, or a callable
        from the marginals of the measured cliques (`CliqueVector`, counts) to value and gradient, is the whole loss;
        measurements then determine only total and start.
    method : str
        "accelerated" starts from the independent model the measurements suggest, measures its steps and answers with
        an average of its path. All others start from the uniform model and go to the optimum. "mirror_descent"
        (Prox-PGM, mbi's `MirrorDescent`) lowers the loss step by step, by a line search or with a `stepsize`, and
        averages the path of a loss that is not smooth; "dual_averaging" (RDA, mbi's `DualAveraging`) and
        "interior_gradient" (IG, mbi's `InteriorGradient`) are textbook accelerated methods whose fixed steps need the
        smoothness of the loss; "universal" (mbi's `UniversalAcceleratedMethod`) is accelerated with a line search, for
        losses of any smoothness; "lbfgs" (mbi's `LBFGS`) is quasi-Newton over the potentials. Region graphs take the
        first two. "auto" is mirror descent
        where there is a `stepsize`, or the loss is not convex, or neither smooth nor approached by smooth ones,
        otherwise accelerated.
    stop : {"validated", "optimum"}, optional
        End of the estimate: where the measurements themselves say that noise begins to be fitted, which has the
        least expected error, or at the minimum of the loss. By default "validated" if possible: by the accelerated
        method, without `warm_start`, for losses that rest on measurements. Everywhere else the default is "optimum":
        every other `method`, so also with a `stepsize`, every `warm_start`, and a callable or `Custom` loss.
    stepsize : float or callable, optional
        None searches; a number is a constant step in count space, a callable gives the step of iteration 1, 2, ….
        The best point is returned if the loss did not fall steadily, with a `StepSizeWarning` if that is no better
        than the start, or the loss still oscillates.
    prior : GraphicalModel or CliqueVector, optional
        A model on the same attributes, or log-potentials over any of their cliques, from which the estimate starts and
        near which it stays, instead of the independent one: fitted to public records, say, or to other measurements.
        Its potentials stay in the answer, even those of cliques never measured. Validation trusts it not to have seen
        these measurements.
    warm_start : GraphicalModel or CliqueVector, optional
        An earlier model on the same attributes, or its log-potentials, whatever the cliques, to start from: it saves
        time on the path to the optimum, where the estimate then ends. Potentials of a clique that no measured one holds
        are replaced by those that give the measured cliques the earlier model's marginals; where the independent model
        has the smaller loss, the estimate starts from that. On a junction tree cells that it rules out stay ruled out,
        and the optimum is that of the others.
    constraints : sequence of Constraint, optional
        Structural zeros and attributes that are functions of others; public knowledge.
    rng : Generator or int, optional
        Source of the noise that validation adds; a fixed seed by default, so that the same input gives the same bits.
    counting_numbers : array_like of float, shape (regions,), or str, optional
        Weight of the entropy of each region of the graph: numbers above 0, or by "mirror_descent"
        "tree_reweighted", see `RegionGraph.counting_numbers`; 1 by default. The marginals at the optimum are the same
        for all, the path is not.
    inner : int, optional
        Sweeps, for "mirror_descent" over a region graph, of belief propagation after each step, each one of the
        `iterations`. By default until regions agree; with 1, messages lag behind the steps, a little if these are
        small, and the answer is made consistent at the end.
    damping : float, optional
        Damping of the same sweeps: all messages of a sweep are sent at once, and keep this share of the old ones, in
        [0, 1); below about 0.25 they may diverge. By default they are sent block by block, which needs none.
    **limits
        `iterations`, `tolerance`, `time_limit`, `max_bytes`, `callback`, `progress` and `n_threads`: limits of the
        estimate, see `pypgm.estimation.Limits`.

    Returns
    -------
    GraphicalModel or RegionGraphModel
        The latter for a region graph; ``model.fit`` has the reason of its end. Ctrl-C after the first iteration ends
        the search and returns the best point so far, whose ``model.fit.status`` is "interrupted", with an
        `EstimateInterruptedWarning`.

    Raises
    ------
    ValueError
        If a measurement does not fit the domain, the total is neither given nor measured, an option is out of range,
        ``stop="validated"`` is requested with nothing to validate, or numbers are too far apart for doubles.
    TypeError
        If the domain, a measurement or an option is of another kind: ``iterations=1.5``, ``total=True``.
    KeyboardInterrupt
        If Ctrl-C comes before the first iteration has ended, or a second time.
    ModelTooLargeError
        If the junction tree, or the other data of the method, do not fit; nothing has been allocated then.

    References
    ----------
    McKenna, Sheldon, Miklau: Graphical-model based estimation and inference for differential privacy, ICML 2019;
    McKenna, Pradhan, Sheldon, Miklau: Relaxed marginal consistency for differentially private query answering,
    NeurIPS 2021.

    Examples
    --------
    >>> import pypgm
    >>> domain = pypgm.Domain({"a": 2, "b": 2, "c": 2})
    >>> ab = pypgm.LinearMeasurement([[40, 10], [10, 40]], ("a", "b"))
    >>> bc = pypgm.LinearMeasurement([[30, 20], [20, 30]], ("b", "c"))
    >>> model = pypgm.estimate(domain, [ab, bc], stop="optimum", tolerance=1e-9)
    >>> model.project(("a", "c")).values.round(3)
    array([[28., 22.],
           [22., 28.]])
    """
    named: dict[str, Any] = {"loss": loss, "method": method, "stop": stop, "stepsize": stepsize, "prior": prior}
    named |= {"warm_start": warm_start, "constraints": constraints, "rng": rng}
    limits, sweeps = split_options("estimate", further, LimitOptions, SweepOptions, names=named)
    return estimated(domain, measurements, total, oracle, Limits(**limits), sweeps=Sweeps(**sweeps), **named)


def estimated(
    domain: Domain,
    measurements: Sequence[LinearMeasurement],
    total: float | None,
    oracle: Literal["exact"] | RegionOracle,
    limits: Limits,
    *,
    loss: Literal["l2", "l1", "huber"] | Loss | LossFunction = "l2",
    method: MethodName = "auto",
    stop: Stop | None = None,
    stepsize: float | Callable[[int], float] | None = None,
    prior: EstimatedModel | CliqueVector | None = None,
    warm_start: EstimatedModel | CliqueVector | None = None,
    constraints: Sequence[Constraint] | None = None,
    rng: np.random.Generator | int | None = None,
    sweeps: Sweeps | None = None,
    is_start: bool = False,
    trial: Sequence[LinearMeasurement] | None = None,
    pace: Pace | None = None,
    further: float = 1.0,
) -> GraphicalModel | RegionGraphModel:
    """Return the model that `estimate` returns, or nearly that one if it is only a start.

    Potentials are then fitted roughly to the end of the accelerated path, which averages marginals. See `SolverOptions`
    for `trial`, `pace` and `further`.
    """
    measurements = checked_measurements(domain, measurements)
    first, earlier = _starts(prior, warm_start)
    _check_oracle(oracle)
    how = sweeps or Sweeps()
    if oracle == "exact" and how.kept():
        raise ValueError(f"{' and '.join(how.kept())} need a region graph, got oracle='exact'")
    given: dict[str, Any] = {"stepsize": stepsize, "stop": stop or "validated", "rng": rng, "is_start": is_start}
    folding, masks = fold(domain, constraints or ())
    fitting = _folded(folding, measurements)
    given |= {"trial": trial and _folded(folding, trial), "pace": pace}
    given["further"] = further
    options = SolverOptions.within(limits, _TOLERANCE if oracle == "exact" else REGION_TOLERANCE, **given)
    objective = _objective(loss, fitting, folding)
    chosen = chosen_method(method, options, objective)
    options = replace(options, stop=_end(stop, chosen, objective, earlier))
    zero = oracle == "exact"
    records = estimate_total(folding.inner, fitting)[0] if total is None else checked_real("total", total, zero=zero)
    check_range(fitting, records)
    request = Request(objective, fitting, records, options, chosen, folding, masks, first, earlier, how)
    model: GraphicalModel | RegionGraphModel
    model, start = solved_on_tree(request) if oracle == "exact" else solved_on_regions(request, oracle)
    if isinstance(loss, str) and not callable(stepsize):
        model.recipe = _recipe(request, loss, start, total_is_known=total is not None)
    model.not_private = joined_marks([*measurements, *objective.measurements, first, earlier])
    if model.fit is not None:
        warn_of_the_end(model.fit, stepsize, smooth=objective.smooth)
    return model


def _folded(folding: Folding, measurements: Sequence[LinearMeasurement]) -> list[LinearMeasurement]:
    """Return measurements of the attributes that inference runs on."""
    return [folded_measurement(folding, m).ordered(folding.inner) for m in measurements]


def _recipe(request: Request, loss: str, start: CliqueVector, *, total_is_known: bool) -> Recipe:
    """Return the recipe of a model: its measurements and options."""
    options, prior, measurements = request.options, request.prior, tuple(request.measurements)
    how = {name: getattr(options, name) for name in ("stop", "stepsize", "iterations", "tolerance")}
    how |= {"loss": loss, "method": request.method} | request.how.kept()
    if options.further != 1:
        how["further"] = options.further
    kept = None if prior is None else start
    before = PriorRecipe.of(prior.recipe, measurements) if isinstance(prior, GraphicalModel) else None
    return Recipe(measurements, total_is_known, how, kept, before)


def _starts(
    prior: EstimatedModel | CliqueVector | None, warm_start: EstimatedModel | CliqueVector | None
) -> tuple[EstimatedModel | None, EstimatedModel | None]:
    """Return the starts as models; ``TypeError`` for one that cannot be a model, ``ValueError`` if there are two."""
    if prior is not None and warm_start is not None:
        raise ValueError("prior and warm_start are two starts; an estimate takes one")
    starts = []
    for role, earlier in (("prior", prior), ("warm_start", warm_start)):
        if not isinstance(earlier, Model | CliqueVector | None):
            raise TypeError(f"{role} needs a GraphicalModel or a CliqueVector, got {type(earlier).__name__}")
        starts.append(GraphicalModel(earlier, 1.0) if isinstance(earlier, CliqueVector) else earlier)
    return starts[0], starts[1]


def _check_oracle(oracle: object) -> None:
    """Raise ``TypeError`` unless it is of a kind that can name or be one; an array would compare with each name."""
    if not isinstance(oracle, str | JunctionTree | RegionGraph):
        needed = "'exact', 'region_graph', 'factor_graph' or a pypgm.RegionGraph"
        raise TypeError(f"oracle must be {needed}, got {type(oracle).__name__}")


def _end(stop: Stop | None, method: str, loss: Loss, warm_start: object) -> Stop:
    """Return the stop of the estimate; ``ValueError`` if it cannot end at the given one."""
    if stop == "optimum":
        return stop
    reasons = {
        "warm_start, which goes to the optimum": warm_start is not None,
        f"method={method!r}, which goes to the optimum": method != "accelerated",
        f"the loss {loss!r}, which does not rest on measurements alone": not (
            loss.measurements and loss.refitted(loss.measurements)
        ),
    }
    reason = next((reason for reason, holds in reasons.items() if holds), "")
    if stop is not None and reason:
        raise ValueError(f'stop="validated" cannot go with {reason}: leave stop out, or ask for "optimum"')
    return "optimum" if reason else "validated"


def checked_measurements(domain: Domain, measurements: Iterable[LinearMeasurement]) -> tuple[LinearMeasurement, ...]:
    """Return the measurements; ``TypeError`` unless there are a domain and several of them, in any iterable."""
    check_domain(domain)
    made = "pypgm.LinearMeasurement(values, clique, stddev)"
    if isinstance(measurements, LinearMeasurement):
        raise TypeError(f"measurements needs a sequence of pypgm.LinearMeasurement, got one: [{made}]")
    if not isinstance(measurements, Iterable):
        raise TypeError(f"measurements needs a sequence of pypgm.LinearMeasurement, got {measurements!r}: [{made}]")
    checked = tuple(measurements)  # an iterator is read once
    for i, m in enumerate(checked):
        check_kind(f"measurements[{i}]", m, LinearMeasurement, made)
    return checked


def _objective(loss: str | Loss | LossFunction, measurements: Sequence[LinearMeasurement], folding: Folding) -> Loss:
    """Return the loss to minimise; ``ValueError`` if there is none of that name."""
    if folding.sources and not isinstance(loss, str):
        raise ValueError(f"with a mapping among the constraints, loss must be one of {(*LOSSES,)}, got {loss!r}")
    if isinstance(loss, Loss):
        return loss.refitted([m.ordered(folding.inner) for m in loss.measurements]) or loss
    if callable(loss):
        return Custom(loss, list(dict.fromkeys(m.clique for m in measurements)))
    if loss not in LOSSES:
        raise ValueError(f"loss must be one of {tuple(LOSSES)}, a Loss or a callable, got {loss!r}")
    return LOSSES[loss](measurements)
