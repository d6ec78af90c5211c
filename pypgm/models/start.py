"""Where an estimate starts: from independence, a prior model, an earlier one, and never in a structural zero."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from pypgm.clique_vector import CliqueVector
from pypgm.domain import Clique, Domain
from pypgm.estimation.constraint import Masks, with_zeros
from pypgm.estimation.independence import independent_potentials
from pypgm.estimation.oracle import Oracle
from pypgm.factor import Factor
from pypgm.inference.folding import Folding
from pypgm.models.model import GraphicalModel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pypgm.estimation.measurement import LinearMeasurement
    from pypgm.estimation.problem import StartFor
    from pypgm.estimation.tree_problem import TreeProblem
    from pypgm.graphs.junction_tree import JunctionTree

__all__ = ["check_earlier", "independent_start", "kept_cliques", "start_from", "warm_start_from"]

_SWEEPS = 10  # of proportional fitting towards an earlier model's marginals
_DEEPEST = 20.0  # below the largest logarithm of a table: an optimum rules cells out by e^-10000
_INDEPENDENT = 0.01  # how much of its independent model is mixed in: what it rules out by chance can come back


def check_earlier(name: str, model: object, domain: Domain, folding: Folding | None) -> GraphicalModel:
    """Return a model to start from; raise unless it is exact, over the same attributes, with the same mappings."""
    if not isinstance(model, GraphicalModel):
        raise TypeError(f"{name} needs a GraphicalModel, got {type(model).__name__}")
    if model.domain != domain:
        raise ValueError(f"{name} needs a model over {domain}, got one over {model.domain}")
    functions = [{} if f is None else f.as_lists() for f in (folding, model.folding)]
    if functions[0] != functions[1]:
        raise ValueError(f"{name} needs a model with the same mappings among its constraints")
    return model


def kept_cliques(prior: GraphicalModel, cliques: Sequence[Clique]) -> list[Clique]:
    """Return the scopes of a prior's potentials that no clique holds: they come into the new model."""
    return [s for s in prior.potentials.cliques if not any(set(s) <= set(c) for c in cliques)]


def start_from(tree: JunctionTree, earlier: GraphicalModel, total: float, n_threads: int) -> CliqueVector:
    """Return potentials on a tree's cliques that make it an earlier model, as far as they can.

    Each table goes to the first clique that holds it. Where some are held by none, proportional fitting makes up for
    them: the start then has the earlier model's marginals, mixed with a hundredth of its independent model's.
    """
    start = CliqueVector(tree.domain, tree.cliques)
    homes = [next((c for c in tree.cliques if set(s) <= set(c)), None) for s in earlier.potentials.cliques]
    complete = None not in homes
    for i, (scope, home) in enumerate(zip(earlier.potentials.cliques, homes, strict=True)):
        if home is not None:
            own = earlier.potentials.table(i)
            # What has to be fitted must be within reach of fitting.
            table = Factor(tree.domain.project(scope), own if complete else np.maximum(own, own.max() - _DEEPEST))
            start[home].datavector()[:] += table.expand(tree.domain.project(home)).datavector()
    if complete:
        return start
    average = _mixed_marginals(tree, earlier) * total
    fitted = Oracle(tree, total, n_threads).with_marginals(average, start.values, _SWEEPS)
    return CliqueVector(tree.domain, tree.cliques, fitted)


def warm_start_from(
    problem: TreeProblem, earlier: GraphicalModel, independent: Callable[[], CliqueVector], n_threads: int
) -> CliqueVector:
    """Return the start that an earlier model makes; where it lost cliques, the independent one if its loss is less."""
    start = start_from(problem.tree, earlier, problem.total, n_threads)
    if not kept_cliques(earlier, problem.tree.cliques):
        return start
    both = (start, independent())
    losses = [replace(problem, start=s).descent(n_threads).loss for s in both]
    return both[int(losses[1] < losses[0])]


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


def independent_start(tree: JunctionTree, total: float, masks: Masks) -> StartFor:
    """Return the independent model that answers suggest, as a function of them."""

    def start(answers: Sequence[LinearMeasurement]) -> CliqueVector:
        return with_zeros(independent_potentials(tree.domain, tree.cliques, answers, total), masks)

    return start
