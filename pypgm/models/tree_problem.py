"""The problem an estimate poses where marginals come from a junction tree, and where it starts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from pypgm.clique_vector import CliqueVector
from pypgm.domain import Clique, Domain
from pypgm.estimation.constraint import Masks, with_zeros
from pypgm.estimation.fit import Options
from pypgm.estimation.independence import independent_potentials
from pypgm.estimation.methods import check_estimate_fits
from pypgm.estimation.oracle import Oracle
from pypgm.estimation.tree_problem import TreeProblem
from pypgm.factor import Factor
from pypgm.graphs.junction_tree import JunctionTree
from pypgm.inference.folding import Folding
from pypgm.models.model import GraphicalModel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pypgm.estimation.loss import Loss
    from pypgm.estimation.measurement import LinearMeasurement

__all__ = ["check_earlier", "start_from", "tree_problem"]

_SWEEPS = 10  # of proportional fitting towards an earlier model's marginals
_DEEPEST = 20.0  # below the largest logarithm of a table: an optimum rules cells out by e^-10000
_INDEPENDENT = 0.01  # how much of its independent model is mixed in: what it rules out by chance can come back


def check_earlier(name: str, model: object, folding: Folding) -> GraphicalModel | None:
    """Return a model to start from, if any; raise unless it is exact, over the same attributes and mappings."""
    if model is None:
        return None
    if not isinstance(model, GraphicalModel):
        raise TypeError(f"{name} needs a GraphicalModel, got {type(model).__name__}")
    if model.domain != folding.domain:
        raise ValueError(f"{name} needs a model over {folding.domain}, got one over {model.domain}")
    if model.folding.as_lists() != folding.as_lists():
        raise ValueError(f"{name} needs a model with the same mappings among its constraints")
    return model


def tree_problem(
    domain: Domain,
    loss: Loss,
    measurements: Sequence[LinearMeasurement],
    total: float,
    options: Options,
    *,
    method: str,
    masks: Masks,
    prior: GraphicalModel | None = None,
    warm_start: GraphicalModel | None = None,
    tree: JunctionTree | None = None,
) -> TreeProblem:
    """Plan a junction tree for all cliques that matter, and start there from what is known.

    Parameters
    ----------
    domain : Domain
        The attributes that inference runs on.
    loss : Loss
        Of the marginals, counts.
    measurements : sequence of LinearMeasurement
        Their cliques are in the tree; they suggest the independent model.
    total : float
        Number of records, counts.
    options : Options
    method : str
        What will solve it. "accelerated" starts from the independent model where there is no other, all others from
        the uniform one.
    masks : sequence of (clique, bool array)
        Structural zeros.
    prior, warm_start : GraphicalModel, optional
        At most one of them, to start from. All cliques of a prior stay in the model; where some of a warm start are
        lost, the start is the independent model if that has the smaller loss.
    tree : JunctionTree, optional
        Built for all these cliques, if there is one already.

    Raises
    ------
    ValueError
        If the structural zeros leave no record possible.
    ModelTooLargeError
        If the junction tree, or what the method keeps besides, does not fit; nothing has been allocated then.
    """
    wanted = [*loss.cliques, *(m.clique for m in measurements), *(clique for clique, _ in masks)]
    cliques: list[Clique] = list(dict.fromkeys(domain.canonical(c) for c in wanted))
    earlier = warm_start if prior is None else prior
    scopes = () if earlier is None else earlier.potentials.cliques
    lost = [s for s in scopes if not any(set(s) <= set(c) for c in cliques)]
    if tree is None:
        tree = JunctionTree(domain, cliques if prior is None else [*cliques, *lost], max_bytes=options.max_bytes)
    check_estimate_fits(tree, measurements, method, options.max_bytes)

    def suggested(answers: Sequence[LinearMeasurement]) -> CliqueVector:
        return with_zeros(independent_potentials(domain, tree.cliques, answers, total), masks)

    start_for = None
    if earlier is not None:
        start = with_zeros(start_from(tree, earlier, total, options.n_threads), masks)
    elif method == "accelerated":
        start_for = suggested
        start = suggested(measurements)
    else:
        start = with_zeros(CliqueVector(domain, tree.cliques), masks)
    if masks and tree.log_partition(start) == -math.inf:
        raise ValueError(f"the constraints on {', '.join(str(clique) for clique, _ in masks)} leave no record possible")
    problem = TreeProblem(tree=tree, loss=loss, total=total, start=start, start_for=start_for)
    if lost and prior is None:
        independent = replace(problem, start=suggested(measurements))
        return min(problem, independent, key=lambda posed: posed.descent(options.n_threads).loss)
    return problem


def start_from(tree: JunctionTree, earlier: GraphicalModel, total: float, n_threads: int) -> CliqueVector:
    """Return potentials on a tree's cliques that make it an earlier model, as far as they can.

    Each table goes to the smallest clique that holds it. Where some are held by none, proportional fitting makes up for
    them: the start then has the earlier model's marginals, mixed with a hundredth of its independent model's.
    """
    start = CliqueVector(tree.domain, tree.cliques)
    homes = [start.find(scope) for scope in earlier.potentials.cliques]
    complete = None not in homes
    for i, (scope, home) in enumerate(zip(earlier.potentials.cliques, homes, strict=True)):
        if home is not None:
            own = earlier.potentials.table(i)
            # What has to be fitted must be within reach of fitting.
            start.add(home, scope, own if complete else np.maximum(own, own.max() - _DEEPEST))
    if complete:
        return start
    average = _mixed_marginals(tree, earlier) * total
    return start.like(Oracle(tree, total, n_threads).with_marginals(average, start.values, _SWEEPS))


def _mixed_marginals(tree: JunctionTree, model: GraphicalModel) -> NDArray[np.float64]:
    """Return the probabilities a model gives a tree's cliques, and a little of those of independent attributes."""
    tables = model.project_many([*tree.cliques, *((a,) for a in tree.domain)])
    singles = {t.domain.attributes[0]: t.normalize() for t in tables[len(tree.cliques) :]}
    mixed = []
    for table in tables[: len(tree.cliques)]:
        product = Factor(table.domain, np.ones(table.domain.size()))
        for a in table.domain:
            product = product * singles[a].expand(table.domain)
        mixed.append((table.normalize() * (1 - _INDEPENDENT) + product * _INDEPENDENT).datavector())
    return np.concatenate(mixed)
