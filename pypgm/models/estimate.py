"""One graphical model from noisy measurements."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np

from pypgm.clique_vector import CliqueVector
from pypgm.domain import Domain
from pypgm.estimation.accelerated import accelerated
from pypgm.estimation.fit import FitState, Options
from pypgm.estimation.independence import independent_potentials
from pypgm.estimation.measurement import LinearMeasurement
from pypgm.estimation.mirror_descent import mirror_descent
from pypgm.estimation.total import estimate_total
from pypgm.factor import Factor
from pypgm.graphs.junction_tree import JunctionTree, checked_total
from pypgm.models.model import GraphicalModel

__all__ = ["estimate"]

_TOLERANCE = 1e-3
_SEED = 0


def estimate(
    domain: Domain,
    measurements: Sequence[LinearMeasurement],
    total: float | None = None,
    *,
    method: Literal["auto", "accelerated", "mirror_descent"] = "auto",
    stop: Literal["validated", "optimum"] | None = None,
    iterations: int = 5000,
    tolerance: float | None = None,
    stepsize: float | Callable[[int], float] | None = None,
    warm_start: GraphicalModel | None = None,
    max_bytes: float | None = None,
    time_limit: float | None = None,
    callback: Callable[[FitState], object] | None = None,
    progress: bool = False,
    rng: np.random.Generator | int | None = None,
    n_threads: int = 0,
) -> GraphicalModel:
    r"""Find the graphical model whose marginals are closest to noisy measurements.

    Minimises :math:`\frac12 \sum_i (q_i^\top \mu - y_i)^2 / \sigma_i^2` over the marginals :math:`\mu` (counts)
    of all distributions on the domain; among the distributions with those marginals the answer is the one closest, in
    relative entropy, to the independent model the measurements suggest. Where every cell of a clique is measured that
    is the one of largest entropy.

    Parameters
    ----------
    domain : Domain
        All attributes; those never measured stay uniform.
    measurements : sequence of LinearMeasurement
        Noisy answers, counts.
    total : float, optional
        Number of records; by default its best linear unbiased estimate from the measurements.
    method : {"auto", "accelerated", "mirror_descent"}
        "accelerated" starts from the independent model the measurements suggest and answers with an average of its
        path; "mirror_descent" (for a `stepsize` or a `warm_start`) lowers the loss step by step. "auto" is mirror
        descent where one of those two is given, else accelerated.
    stop : {"validated", "optimum"}, optional
        Where the estimate ends: where the measurements themselves say that noise begins to be fitted, which has the
        least expected error, or at the minimum of the loss. By default validated if accelerated; mirror descent
        goes to the optimum.
    iterations : int
        Most oracle calls (one propagation each, rejected trials included).
    tolerance : float, optional
        Ends when the certified gap is at most ``tolerance * (1 + loss)``; 1e-3 by default, 0 runs all iterations.
    stepsize : float or callable, optional
        None searches; a number is a constant step in count space, a callable gives the step of iteration 1, 2, ….
        The best point is returned where the loss did not fall steadily.
    warm_start : GraphicalModel, optional
        A model on the same attributes to start from, which saves time on the way to the optimum.
    max_bytes : float, optional
        Memory the tables may take; half of what is available by default.
    time_limit : float, optional
        Seconds after which the best point so far is returned.
    callback : callable, optional
        Called with a `FitState` after each iteration; a truthy answer ends the estimate. It sees released
        quantities only.
    progress : bool
        Show a line on standard error.
    rng : Generator or int, optional
        Source of the noise that validation adds; a fixed seed by default, so that the same input gives the same bits.
    n_threads : int
        0 for all threads; the bits of the answer do not depend on it.

    Returns
    -------
    GraphicalModel
        With how it ended in ``model.fit``. Ctrl-C ends the search and returns the best point so far.

    Raises
    ------
    ValueError
        If a measurement does not fit the domain, the total is neither given nor measured, or an option is out of
        range.
    ModelTooLargeError
        If the junction tree does not fit; nothing has been allocated then.

    References
    ----------
    McKenna, Sheldon, Miklau: Graphical-model based estimation and inference for differential privacy, ICML 2019.

    Examples
    --------
    >>> import pypgm
    >>> domain = pypgm.Domain({"a": 2, "b": 2, "c": 2})
    >>> ab = pypgm.LinearMeasurement([[40, 10], [10, 40]], ("a", "b"))
    >>> bc = pypgm.LinearMeasurement([[30, 20], [20, 30]], ("b", "c"))
    >>> model = pypgm.estimate(domain, [ab, bc], tolerance=1e-9)
    >>> model.project(("a", "c")).values.round(3)
    array([[28., 22.],
           [22., 28.]])
    """
    started = time.perf_counter()
    options = Options(
        iterations,
        _TOLERANCE if tolerance is None else tolerance,
        stepsize,
        time_limit,
        callback,
        progress,
        n_threads,
        started,
    )
    _check_options(options)
    fitting = [m.checked(domain) for m in measurements]
    records = estimate_total(domain, fitting)[0] if total is None else checked_total(total)
    cliques = list(dict.fromkeys(domain.canonical(m.clique) for m in fitting))
    tree = JunctionTree(domain, cliques, max_bytes=max_bytes)
    if _chosen(method, stop, stepsize, warm_start) == "mirror_descent":
        potentials, marginals, fit = mirror_descent(
            tree, fitting, records, _start(domain, cliques, warm_start), options
        )
    else:
        potentials, marginals, fit = accelerated(
            tree,
            fitting,
            records,
            independent_potentials(domain, cliques, fitting, records),
            options,
            stop=stop or "validated",
            rng=np.random.default_rng(_SEED if rng is None else rng),
        )
    return GraphicalModel(potentials, records, marginals=marginals, fit=fit, tree=tree)


def _chosen(method: str, stop: str | None, stepsize: object, warm_start: object) -> str:
    """Return the method to run; ``ValueError`` if options do not go together."""
    if method not in {"auto", "accelerated", "mirror_descent"}:
        raise ValueError(f"method needs to be 'auto', 'accelerated' or 'mirror_descent', got {method!r}")
    if stop not in {None, "validated", "optimum"}:
        raise ValueError(f"stop needs to be 'validated' or 'optimum', got {stop!r}")
    asked = [name for name, given in (("stepsize", stepsize), ("warm_start", warm_start)) if given is not None]
    if method == "auto":
        method = "mirror_descent" if asked else "accelerated"
    if method == "accelerated" and asked:
        raise ValueError(f"method 'accelerated' takes no {asked[0]}: it measures its step and starts from independence")
    if method == "mirror_descent" and stop == "validated":
        raise ValueError("mirror descent goes to the optimum; stop='validated' needs method='accelerated'")
    return method


def _start(domain: Domain, cliques: list[tuple[str, ...]], warm_start: GraphicalModel | None) -> CliqueVector:
    """Return zero potentials, or those of a model, each added to the first clique that holds its scope."""
    start = CliqueVector(domain, cliques)
    if warm_start is None:
        return start
    if warm_start.domain != domain:
        raise ValueError(f"warm_start needs a model over {domain}, got one over {warm_start.domain}")
    for i, scope in enumerate(warm_start.potentials.cliques):
        home = next((c for c in cliques if set(scope) <= set(c)), None)
        if home is not None:
            table = Factor(domain.project(scope), warm_start.potentials.table(i))
            start[home].datavector()[:] += table.expand(domain.project(home)).datavector()
    return start


def _check_options(options: Options) -> None:
    if options.iterations < 1:
        raise ValueError(f"iterations needs to be at least 1, got {options.iterations}")
    if not 0 <= options.tolerance < math.inf:
        raise ValueError(f"tolerance needs to be finite and at least 0, got {options.tolerance}")
    if options.stepsize is not None and not callable(options.stepsize) and not 0 < options.stepsize < math.inf:
        raise ValueError(f"stepsize needs to be positive and finite, got {options.stepsize}")
    if options.time_limit is not None and not options.time_limit > 0:
        raise ValueError(f"time_limit needs to be positive, got {options.time_limit}")
    if options.n_threads < 0:
        raise ValueError(f"n_threads needs to be 0 (all) or positive, got {options.n_threads}")
