"""The problem an estimate poses to its method where marginals come from a junction tree."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from pypgm.clique_vector import CliqueVector
from pypgm.domain import Clique, Domain
from pypgm.estimation.constraint import Masks, with_zeros
from pypgm.estimation.tree_problem import TreeProblem
from pypgm.graphs.junction_tree import JunctionTree
from pypgm.models.announcement import check_estimate_fits
from pypgm.models.start import independent_start, kept_cliques, start_from, warm_start_from

if TYPE_CHECKING:
    from pypgm.estimation.loss import Loss
    from pypgm.estimation.measurement import LinearMeasurement
    from pypgm.models.model import GraphicalModel

__all__ = ["tree_problem"]


def tree_problem(
    domain: Domain,
    loss: Loss,
    measurements: Sequence[LinearMeasurement],
    total: float,
    *,
    method: str,
    masks: Masks,
    prior: GraphicalModel | None = None,
    warm_start: GraphicalModel | None = None,
    max_bytes: float | None = None,
    n_threads: int = 0,
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
    method : str
        What will solve it. "accelerated" starts from the independent model where there is no other, all others from
        the uniform one.
    masks : sequence of (clique, bool array)
        Structural zeros.
    prior, warm_start : GraphicalModel, optional
        At most one of them, to start from; all cliques of a prior stay in the model.
    max_bytes : float, optional
        Memory the estimate may take.
    n_threads : int
        0 for all threads.

    Raises
    ------
    ValueError
        If the structural zeros leave no record possible.
    ModelTooLargeError
        If the junction tree, or what the method keeps besides, does not fit; nothing has been allocated then.
    """
    wanted = [*loss.cliques, *(m.clique for m in measurements), *(clique for clique, _ in masks)]
    cliques: list[Clique] = list(dict.fromkeys(domain.canonical(c) for c in wanted))
    if prior is not None:
        cliques += kept_cliques(prior, cliques)
    tree = JunctionTree(domain, cliques, max_bytes=max_bytes)
    check_estimate_fits(tree, measurements, method, max_bytes)
    uniform = CliqueVector(domain, cliques)
    suggested = independent_start(tree, total, masks)
    start_for = None
    if prior is not None:
        start = with_zeros(start_from(tree, prior, total, n_threads), masks)
    elif warm_start is not None:
        posed = TreeProblem(tree=tree, loss=loss, total=total, start=uniform)
        start = with_zeros(warm_start_from(posed, warm_start, partial(suggested, measurements), n_threads), masks)
    elif method == "accelerated":
        start_for = suggested
        start = suggested(measurements)
    else:
        start = with_zeros(uniform, masks)
    if masks and tree.log_partition(start) == -math.inf:
        raise ValueError(f"the constraints on {', '.join(str(clique) for clique, _ in masks)} leave no record possible")
    return TreeProblem(tree=tree, loss=loss, total=total, start=start, start_for=start_for)
