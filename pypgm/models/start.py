"""Where an estimate starts: from independence, a prior model, an earlier one, and never in a structural zero."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from pypgm.clique_vector import CliqueVector
from pypgm.domain import Clique, Domain
from pypgm.estimation.constraint import Masks, with_zeros
from pypgm.estimation.general import Oracle
from pypgm.estimation.independence import independent_potentials
from pypgm.factor import Factor
from pypgm.inference.folding import Folding
from pypgm.models.model import GraphicalModel

if TYPE_CHECKING:
    from pypgm.estimation.measurement import LinearMeasurement
    from pypgm.estimation.problem import StartFor
    from pypgm.graphs.junction_tree import JunctionTree

__all__ = ["check_earlier", "independent_start", "kept_cliques", "start_from"]

_SWEEPS = 10  # of proportional fitting towards an earlier model's marginals


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
    them: the start has the earlier model's marginals, of all such models the one of largest entropy over what was held.
    """
    start = CliqueVector(tree.domain, tree.cliques)
    complete = True
    for i, scope in enumerate(earlier.potentials.cliques):
        home = next((c for c in tree.cliques if set(scope) <= set(c)), None)
        if home is None:
            complete = False
            continue
        table = Factor(tree.domain.project(scope), earlier.potentials.table(i))
        start[home].datavector()[:] += table.expand(tree.domain.project(home)).datavector()
    if complete:
        return start
    targets = [t.datavector() for t in earlier.project_many(tree.cliques)]
    average = np.concatenate(targets) * (total / earlier.total)
    return CliqueVector(
        tree.domain, tree.cliques, Oracle(tree, total, n_threads).settled(start.values, average, _SWEEPS)
    )


def independent_start(tree: JunctionTree, total: float, masks: Masks) -> StartFor:
    """Return the independent model that answers suggest, as a function of them."""

    def start(answers: Sequence[LinearMeasurement]) -> CliqueVector:
        return with_zeros(independent_potentials(tree.domain, tree.cliques, answers, total), masks)

    return start
