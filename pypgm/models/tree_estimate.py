"""The problem of an estimate over a junction tree, and its start."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from pypgm._base.clock import Clock
from pypgm._base.memory import short
from pypgm.clique_vector import CliqueVector
from pypgm.domain import Clique, listed, other_labels
from pypgm.errors import TimeLimitWarning, warn_caller
from pypgm.estimation.constraint import with_zeros
from pypgm.estimation.measurement import LinearMeasurement
from pypgm.estimation.methods import check_estimate_fits
from pypgm.estimation.oracle import Oracle
from pypgm.estimation.tree_problem import TreeProblem
from pypgm.factor import Factor
from pypgm.graphs.junction_tree import JunctionTree
from pypgm.inference.calibrated import Calibrated
from pypgm.models.request import Request

_SECONDS = 1e-9  # an operation of a propagation: whole estimates of one step took 0.5 to 3 ns on one core
_SHORT = 1.0  # seconds that nobody minds
_DEEPEST = 20.0  # below the largest logarithm of a table: an optimum rules cells out by e^-10000
_INDEPENDENT = 0.01  # share of its independent model that is mixed in: values ruled out by chance can come back


def tree_problem(request: Request, tree: JunctionTree | None = None) -> TreeProblem:
    """Plan a junction tree for all relevant cliques, unless there is one already, and return the start.

    Raises
    ------
    ValueError
        If the structural zeros leave no record possible, or the start does not fit.
    TypeError
        If the start is not a model over a junction tree.
    ModelTooLargeError
        If the junction tree, or the other data that the method keeps, does not fit; nothing has been allocated then.
    """
    options, masks, cliques = request.options, request.masks, request.cliques
    earlier = _earlier(request)
    scopes = () if earlier is None else earlier.cliques
    lost = _not_held(scopes, cliques)
    if tree is None:
        wider = cliques if request.prior is None else [*cliques, *lost]
        tree = JunctionTree(request.domain, wider, max_bytes=options.max_bytes)
    check_estimate_fits(tree, request.measurements, request.method, options.max_bytes)
    _warn_of_long_steps(tree, options.time_limit)
    total = request.total or 1.0

    def suggested(answers: Sequence[LinearMeasurement]) -> CliqueVector:
        return with_zeros(request.independent(tree.cliques, answers), masks)

    start_for = None
    if earlier is not None:
        start = with_zeros(start_from(tree, earlier, total, options.n_threads), masks)
    elif request.method == "accelerated":
        start_for = suggested
        start = suggested(request.measurements)
    else:
        start = with_zeros(CliqueVector(request.domain, tree.cliques), masks)
    if masks and tree.log_partition(start) == -math.inf:
        raise ValueError(f"the constraints on {', '.join(str(clique) for clique, _ in masks)} leave no record possible")
    problem = TreeProblem(tree=tree, loss=request.loss, total=total, start=start, start_for=start_for)
    if lost and request.prior is None:
        independent = replace(problem, start=suggested(request.measurements))
        return min(problem, independent, key=lambda posed: posed.descent(options.n_threads).loss)
    return problem


def _warn_of_long_steps(tree: JunctionTree, time_limit: float | None) -> None:
    """Warn, before any time is spent, where a limit is shorter than the least that an estimate can be: see `Limits`."""
    least = _SECONDS * tree.cost.operations
    if time_limit is None or least <= max(time_limit, _SHORT):
        return
    cost = tree.cost
    of_them = f"{short(round(cost.largest_cells))} of them over ({listed(cost.largest_clique)})"
    warn_caller(
        f"time_limit={time_limit:g} is looked at between steps, and the first on this junction tree ends after some "
        f"{least:.0f} s: each computes {short(round(cost.cells))} cells, {of_them}; "
        "oracle='region_graph', or fewer or smaller cliques, take less",
        TimeLimitWarning,
    )


def _not_held(scopes: Sequence[Clique], cliques: Sequence[Clique]) -> list[Clique]:
    """Return the scopes that no clique holds; only cliques that share an attribute are compared."""
    holding: dict[str, list[set[str]]] = {}
    for held in map(set, cliques):
        for attribute in held:
            holding.setdefault(attribute, []).append(held)
    among = [(s, holding.get(s[0], []) if s else [set[str]()] * bool(cliques)) for s in scopes]
    return [s for s, near in among if not any(held.issuperset(s) for held in near)]


def _earlier(request: Request) -> CliqueVector | None:
    """Return the potentials of a model to start from, if any; raise unless it is exact, over the same attributes."""
    model, folding = request.first, request.folding
    role = "warm_start" if request.prior is None else "prior"
    if model is None or isinstance(model, CliqueVector):
        return model
    if not model.is_exact:
        got = type(model).__name__
        raise TypeError(f"{role} needs a GraphicalModel, got {got}: one of the same oracle, here the exact one")
    if model.domain != folding.domain:
        labels = other_labels(folding.domain, model.domain)
        raise ValueError(f"{role} needs a model over {folding.domain}, got one over {model.domain}{labels}")
    if model.folding.as_lists() != folding.as_lists():
        raise ValueError(f"{role} needs a model with the same mappings among its constraints")
    return model.potentials


def start_from(tree: JunctionTree, earlier: CliqueVector, total: float, n_threads: int) -> CliqueVector:
    """Return potentials on a tree's cliques that make it an earlier model, given by its own, as far as they can.

    Each table goes to the smallest clique that holds it. Where some are held by none, proportional fitting makes up for
    them: the start then has the earlier model's marginals, mixed with a hundredth of its independent model's.
    """
    start = CliqueVector(tree.domain, tree.cliques)
    homes = [start.find(scope) for scope in earlier.cliques]
    complete = None not in homes
    for i, (scope, home) in enumerate(zip(earlier.cliques, homes, strict=True)):
        if home is not None:
            logs = earlier.table(i)
            # What has to be fitted must be within reach of fitting.
            start.add(home, scope, logs if complete else np.maximum(logs, logs.max() - _DEEPEST))
    if complete:
        return start
    average = _mixed_marginals(tree, earlier, n_threads) * total
    return start.like(Oracle(tree, total, n_threads).with_marginals(average, start.values))


def _mixed_marginals(tree: JunctionTree, earlier: CliqueVector, n_threads: int) -> NDArray[np.float64]:
    """Return a model's probabilities of a tree's cliques, with a little mixed in from independent attributes."""
    earlier_tree = JunctionTree.of(earlier)
    answers = Calibrated.of(earlier_tree, earlier_tree.tables(earlier, 1.0, n_threads=n_threads), 1.0)
    tables = answers.project_many([*tree.cliques, *((a,) for a in tree.domain)], Clock(n_threads=n_threads))
    singles = {t.domain.attributes[0]: t.normalize() for t in tables[len(tree.cliques) :]}
    mixed = []
    for table in tables[: len(tree.cliques)]:
        product = Factor(table.domain, np.ones(table.domain.size()))
        for a in table.domain:
            product = product * singles[a].expand(table.domain)
        mixed.append((table.normalize() * (1 - _INDEPENDENT) + product * _INDEPENDENT).datavector())
    return np.concatenate(mixed)
