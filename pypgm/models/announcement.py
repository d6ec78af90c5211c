"""What an estimate takes besides inference, announced and refused before it is taken."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pypgm.memory import check_fits

if TYPE_CHECKING:
    from pypgm.estimation.measurement import LinearMeasurement
    from pypgm.graphs.junction_tree import JunctionTree

__all__ = ["check_estimate_fits", "estimate_bytes"]

_RUNS = 2  # of inference with buffers of their own: a solver's, and that of a call made beside it
_ANSWERS = 6  # copies of the measured numbers, with their weights, rows and thinned twins
# Copies of the tables of the measured cliques that live at one time. The accelerated path keeps most while potentials
# are fitted to its end (ten pairs of a quasi-Newton memory are 20 of them), L-BFGS twenty pairs and scipy's own room.
_TABLES = {
    "accelerated": 36,
    "mirror_descent": 14,
    "dual_averaging": 12,
    "interior_gradient": 12,
    "universal": 16,
    "lbfgs": 62,
}
_TABLES_OF_TREE = {"lbfgs"}  # what differentiates marginals, and makes the tables of the tree's cliques for it


def estimate_bytes(tree: JunctionTree, measurements: Sequence[LinearMeasurement], method: str) -> float:
    """Return the bytes that an estimate over a tree takes at most, the plan and what it was given not counted."""
    answers = sum(m.values.size for m in measurements)
    made = tree.cost.table_bytes if method in _TABLES_OF_TREE else 0.0
    return _RUNS * tree.cost.bytes + made + 8 * (_TABLES[method] * _cells(tree) + _ANSWERS * answers)


def check_estimate_fits(
    tree: JunctionTree, measurements: Sequence[LinearMeasurement], method: str, max_bytes: float | None
) -> None:
    """Raise ModelTooLargeError if an estimate takes more than it may."""
    check_fits(
        estimate_bytes(tree, measurements, method),
        max_bytes,
        f"{method!r} keeps up to {_TABLES[method]} copies of the {_cells(tree):.3g} cells of "
        f"{len(tree.cliques)} cliques",
        "use fewer or smaller cliques, or oracle='region_graph', another method, or pass max_bytes",
    )


def _cells(tree: JunctionTree) -> float:
    return sum(float(tree.domain.size(clique)) for clique in tree.cliques)
