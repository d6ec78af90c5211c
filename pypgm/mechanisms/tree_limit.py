"""Which further cliques leave a junction tree small."""

from __future__ import annotations

import contextlib
import math
import sys
import warnings
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from pypgm.domain import listed
from pypgm.errors import ModelTooLargeError, warn_caller
from pypgm.estimation.methods import estimate_bytes
from pypgm.memory import check_fits, memory_limit, short

if TYPE_CHECKING:
    from pypgm.domain import Clique
    from pypgm.estimation import LinearMeasurement
    from pypgm.mechanisms.run import Run
    from pypgm.models import GraphicalModel, RegionGraphModel
    from pypgm.workloads import WorkloadLike

TREE_BYTES = 2.0**23
"""Of the tables of the trees that mechanisms grow round by round."""
_CELL_BYTES = 8
_FURTHER_BYTES = 400  # of a cell of a further table, that an estimate takes: see `estimate_bytes`
_COMPARED_BYTES = 16  # of a cell of a candidate: its count and what the model says of it


def may_fit(run: Run, clique: Clique, limit: float) -> bool:
    """Return whether `that_fit` may ever find that a clique fits: its own table does, or what is known holds it."""
    if run.oracle == "region_graph" or _CELL_BYTES * run.domain.size(clique) <= limit:
        return True
    known = [*(m.clique for m in run.given), *(ruled.clique for ruled in run.constraints)]
    return any(set(clique) <= set(held) for held in known)


def check_any_fits(run: Run, asked: Sequence[Clique], fitting: Sequence[object], limit: float) -> None:
    """Raise `ModelTooLargeError` where none of some asked marginals fits: before anything is spent."""
    if asked and not fitting:
        reason = f"{run.name} can ask none of {len(asked)} marginals in tree_bytes={limit:g} and memory"
        raise ModelTooLargeError(f"{reason}; the smallest is over {min(asked, key=run.domain.size)}")


def warn_left_out(run: Run, workload: WorkloadLike | None, limit: float) -> None:
    """Warn of marginals that a user asked for and that are never asked: their tables alone are too large.

    It follows from the domain. Those smaller ones that they hold may still be asked; of all pairs, the default, it is
    what the documentation says.
    """
    asked = [] if workload is None else list(dict.fromkeys(map(run.domain.canonical, run.asked(workload))))
    left_out = [c for c in asked if len(c) > 1 and not may_fit(run, c, limit)]
    if left_out:
        told = f"{run.name} never asks {len(left_out)} of {len(asked)} marginals of the workload"
        reason = f"tables of more than tree_bytes={limit:g} are left out, the smallest over "
        smallest = min(left_out, key=run.domain.size)
        warn_caller(f"{told}, whatever the budget: {reason}{listed(smallest)}", RuntimeWarning)


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
    """Return the positions of the candidates with which the tree of the known cliques takes at most so many bytes.

    Those that known cliques hold are among them, where their answers fit in memory. A region graph has no limit: there
    all are.

    Parameters
    ----------
    run : Run
    known : iterable of cliques
    candidates : sequence of cliques
    limit : float
        Bytes.
    least : dict, optional
        What trees with a candidate took where fewer cliques were known, which is brought up to date: trees grow, and
        what was too large is not planned again, and a candidate inside a clique of the tree not at all. Without it each
        candidate is planned.
    """
    if run.oracle == "region_graph":
        return range(len(candidates))
    held = list({run.domain.canonical(c) for c in (*known, *(ruled.clique for ruled in run.constraints))})
    scopes = [set(clique) for clique in held]
    nodes: list[set[str]] = []
    room = memory_limit(run.max_bytes)
    own, left = math.inf, 0.0
    with contextlib.suppress(ModelTooLargeError):
        tree = run.tree(held, room)
        nodes, own = [set(node.clique) for node in tree.nodes], tree.cost.table_bytes
        left = room - estimate_bytes(tree, (), "accelerated", 2 * tree.given_cells)
    planned = {} if least is None else least
    found = []
    for i, clique in enumerate(candidates):
        attributes = set(clique)
        most = sys.float_info.max if any(map(attributes.issubset, scopes)) else limit
        if least is not None and own <= most and any(map(attributes.issubset, nodes)):
            takes = own if _FURTHER_BYTES * run.domain.size(clique) <= left else math.inf
        elif (takes := planned.get(clique, 0.0)) <= most:
            takes = planned[clique] = _bytes(run, [*held, clique], room)
        if takes <= most:
            found.append(i)
    return found


def estimate_that_fits(run: Run, measured: Sequence[LinearMeasurement]) -> GraphicalModel | RegionGraphModel:
    """Return the model of measurements that are paid for, or with a warning of as many as fit.

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


def _bytes(run: Run, cliques: Sequence[Clique], room: float) -> float:
    """Return what the tables of a tree take; infinity where it, or an estimate on it, does not fit in memory."""
    try:
        return run.tree(cliques, room).cost.table_bytes
    except ModelTooLargeError:
        return math.inf
