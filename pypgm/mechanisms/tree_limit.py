"""Candidates that leave a junction tree small."""

from __future__ import annotations

import contextlib
import math
import sys
import warnings
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from pypgm._base.memory import check_fits, memory_limit, short
from pypgm.domain import listed
from pypgm.errors import ModelTooLargeError, warn_caller
from pypgm.estimation.methods import estimate_bytes

if TYPE_CHECKING:
    from pypgm.domain import Clique
    from pypgm.estimation import LinearMeasurement
    from pypgm.mechanisms.run import Run
    from pypgm.models import GraphicalModel, RegionGraphModel
    from pypgm.workloads import WorkloadLike

TREE_BYTES = 2.0**23
"""Default limit of the tables of trees that mechanisms grow round by round, in bytes."""
_CELL_BYTES = 8
_FURTHER_BYTES = 400  # of an estimate, for each cell of a further table: see `estimate_bytes`
_COMPARED_BYTES = 16  # of a cell of a candidate: its count and its expected count


def may_fit(run: Run, clique: Clique, limit: float) -> bool:
    """Return whether a clique can ever pass `that_fit`: its table fits, or a known clique holds it."""
    if run.oracle == "region_graph" or _CELL_BYTES * run.domain.size(clique) <= limit:
        return True
    known = [*(m.clique for m in run.given), *(ruled.clique for ruled in run.constraints)]
    return any(set(clique) <= set(held) for held in known)


def check_any_fits(run: Run, marginals: Sequence[Clique], fitting: Sequence[object], limit: float) -> None:
    """Raise `ModelTooLargeError` if none of the marginals fits: before anything is spent."""
    if marginals and not fitting:
        reason = f"{run.name} can measure none of {len(marginals)} marginals in tree_bytes={limit:g} and memory"
        raise ModelTooLargeError(f"{reason}; the smallest is over {min(marginals, key=run.domain.size)}")


def warn_left_out(run: Run, workload: WorkloadLike | None, limit: float) -> None:
    """Warn of marginals of a user's workload that are never measured, because their own tables are too large.

    This follows from the domain. Smaller marginals within them may still be measured. The documentation says so for
    all pairs, the default, so these get no warning.
    """
    marginals = (
        [] if workload is None else list(dict.fromkeys(map(run.domain.canonical, run.checked_workload(workload))))
    )
    left_out = [c for c in marginals if len(c) > 1 and not may_fit(run, c, limit)]
    if left_out:
        message = f"{run.name} never measures {len(left_out)} of {len(marginals)} marginals of the workload"
        reason = f"tables of more than tree_bytes={limit:g} are left out, the smallest over "
        smallest = min(left_out, key=run.domain.size)
        warn_caller(f"{message}, whatever the budget: {reason}{listed(smallest)}", RuntimeWarning)


def check_compared(run: Run, candidates: Sequence[Clique]) -> None:
    """Raise `ModelTooLargeError` where candidates have more cells than can be compared: before anything is spent."""
    size = run.domain.size
    cells, largest = sum(map(size, candidates)), max(candidates, key=size, default=())
    what = f"{run.name} compares {len(candidates)} marginals of {short(cells)} cells, the largest over {largest}"
    check_fits(_COMPARED_BYTES * cells, None, what, "make bins wider, or pass a smaller workload")


def that_fit(
    run: Run,
    known: Iterable[Clique],
    candidates: Sequence[Clique],
    limit: float,
    least: dict[Clique, float] | None = None,
) -> Sequence[int]:
    """Return the positions of the candidates whose tree with the known cliques stays within a number of bytes.

    Candidates within known cliques always do, if their answers fit in memory. A region graph has no limit.

    Parameters
    ----------
    run : Run
    known : iterable of cliques
    candidates : sequence of cliques
    limit : float
        Bytes.
    least : dict, optional
        Bytes of the trees with a candidate when fewer cliques were known, updated here. Trees only grow, so a tree
        that was too large is not planned again; neither is the tree of a candidate inside a clique of the tree. Without
        `least`, each candidate is planned.
    """
    if run.oracle == "region_graph":
        return range(len(candidates))
    held = list(dict.fromkeys(_scope(run, c) for c in (*known, *(ruled.clique for ruled in run.constraints))))
    known_sets = [set(scope) for scope in held]
    nodes: list[set[int]] = []
    room = memory_limit(run.max_bytes)
    size, left = math.inf, 0.0
    with contextlib.suppress(ModelTooLargeError):
        tree = run.tree(held, room)
        nodes, size = [set(clique) for clique, *_ in tree.plan.nodes], tree.cost.table_bytes
        left = room - estimate_bytes(tree, (), "accelerated", 2 * tree.given_cells)
    planned = {} if least is None else least
    fitting = []
    for i, clique in enumerate(candidates):
        scope = _scope(run, clique)
        attributes = set(scope)
        most = sys.float_info.max if any(map(attributes.issubset, known_sets)) else limit
        if least is not None and size <= most and any(map(attributes.issubset, nodes)):
            takes = size if _FURTHER_BYTES * run.domain.size(clique) <= left else math.inf
        elif (takes := planned.get(clique, 0.0)) <= most:
            takes = planned[clique] = _bytes(run, [*held, scope], room)
        if takes <= most:
            fitting.append(i)
    return fitting


def estimate_that_fits(run: Run, measured: Sequence[LinearMeasurement]) -> GraphicalModel | RegionGraphModel:
    """Return the model of measurements already paid for, or, with a warning, of those that fit.

    Beside constraints, cliques that were chosen since the run was checked may make a tree that nobody could foresee.
    """
    for n in range(len(measured), 0, -1):
        try:
            model = run.estimate(measured[:n])
        except ModelTooLargeError:
            continue
        if n < len(measured):
            message = f"{run.name}: the model of all measurements does not fit, and rests on the first {n}"
            warnings.warn(message, RuntimeWarning, stacklevel=3)
        return model
    return run.estimate([])


def _scope(run: Run, clique: Clique) -> tuple[int, ...]:
    """Return a clique as ascending positions in the domain."""
    return tuple(sorted(run.domain.indices(clique)))


def _bytes(run: Run, scopes: Sequence[tuple[int, ...]], room: float) -> float:
    """Return the bytes of the tables of a tree; infinity if it, or an estimate on it, does not fit in memory."""
    try:
        return run.tree(scopes, room).cost.table_bytes
    except ModelTooLargeError:
        return math.inf
