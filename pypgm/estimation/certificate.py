"""Proving that a point is near the optimum, once it is: the gradient there says so only a hundred times nearer."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from pypgm.estimation.fit import Options, Status, Watch
    from pypgm.estimation.problem import Problem
    from pypgm.estimation.tree_path import TreePath

__all__ = ["CERTIFICATE_TABLES", "certified", "certifies", "is_late", "is_worthwhile", "levelled_off"]

CERTIFICATE_TABLES = 160  # copies of the tables of the measured cliques that its columns and vectors take
_MOST_CELLS = 2**18  # of those tables
_SINCE = 0.8  # of a path: how far its least loss is compared with that of all of it
_FALL = 1 / 8  # of the tolerance: what a loss that nears its optimum as 1/t^2 then falls, less than 0.3 of it above
_SECONDS = 0.3  # of the time limit: a path that has not levelled off leaves the rest to the certificate
_CALLS = 0.8  # of the iterations, likewise; a round takes longer than a call
_ROUNDS = 40  # that it takes, about
_OVERHEAD = 30_000.0  # nanoseconds, about, that each round and oracle call takes however small the problem
_CELL_OF_ROUND = 200.0  # nanoseconds a cell of the measured cliques and measurement: four hundred gathers or so
_CELL_OF_CALL, _OPERATION = 5.0, 0.08  # nanoseconds of an oracle call with implicit cliques, about
_PATIENCE = 25  # rounds that have to close a tenth of the gap


def certifies(cells: float) -> bool:
    """Return whether the tables of the measured cliques are small enough for a certificate."""
    return cells <= _MOST_CELLS


def levelled_off(history: Sequence[float], tolerance: float) -> bool:
    """Return whether a path is so near the optimum that a certificate is worth more than further steps."""
    least = min(history)
    fall = min(history[: int(_SINCE * len(history)) + 1]) - least
    return fall <= _FALL * tolerance * (1 + abs(least))


def is_worthwhile(problem: Problem, calls: int, gap: float, enough: float) -> bool:
    """Return whether it is likely sooner done than the path, whose own bound comes nearer as 1/t^2."""
    cells = problem.start.values.size
    a_round = _OVERHEAD + _CELL_OF_ROUND * cells * len(problem.loss.measurements)
    a_call = _OVERHEAD + _CELL_OF_CALL * cells + _OPERATION * problem.tree.cost.operations
    return _ROUNDS * a_round <= 2 * a_call * calls * (math.sqrt(gap / enough) - 1)


def is_late(calls: int, iterations: int, seconds: float, time_limit: float | None) -> bool:
    """Return whether what is left of the limits is needed for a certificate."""
    return calls >= _CALLS * iterations or (time_limit is not None and seconds >= _SECONDS * time_limit)


def certified(
    problem: Problem, run: TreePath, point: NDArray[np.float64], options: Options, watch: Watch
) -> Status | None:
    """Raise the bound of a path that has levelled off; return why it ended, None if it does not come near enough.

    The bound begins at the gradient of a point.
    """
    potentials = run.settled()
    loss = problem.started(problem.vector(potentials)).descent(options.n_threads).loss
    certificate = problem.certificate(potentials, point, options.n_threads)
    earlier = []
    enough = options.tolerance * (1 + abs(loss))
    while run.calls < options.iterations:
        run.calls += 1
        run.lower = max(run.lower, certificate.round())
        gap = max(0.0, loss - run.lower)
        if gap <= enough:
            return "converged"
        ended = watch.ended(run.calls, loss, gap)
        if ended is not None:
            return ended
        earlier.append(gap)
        if len(earlier) > _PATIENCE and gap > 0.9 * earlier[-1 - _PATIENCE]:
            return None
    return "iterations"
