"""How fast the gradient of a loss over measurements can change, relative to the entropy of the joint distribution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pypgm.clique_vector import CliqueVector
from pypgm.estimation.measurement import LinearMeasurement
from pypgm.estimation.stacked import cells_as_written

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from pypgm.graphs import JunctionTree

__all__ = ["relative_smoothness"]


def relative_smoothness(
    tree: JunctionTree, measurements: Sequence[LinearMeasurement], weights: Sequence[NDArray[np.float64]]
) -> float:
    r"""Return K for which :math:`\frac12 \sum w (Q\mu - y)^2` is K-smooth relative to the joint's negative entropy.

    K is a quarter of the largest squared distance of two columns of the weighted queries, over all pairs of joint
    assignments. Two bounds of it are taken and the smaller returned: the sum of each measurement's own largest
    distance, which is exact where two assignments can differ everywhere at once, and, from the squared norms of the
    columns, half of their largest sum over an assignment (all of it if entries may be negative), by max-product.

    Parameters
    ----------
    tree : JunctionTree
        Built for the cliques of the measurements.
    measurements : sequence of LinearMeasurement
    weights : sequence of ndarray of float64
        For each measurement one weight an answer.

    References
    ----------
    Bauschke, Bolte, Teboulle: A descent lemma beyond Lipschitz gradient continuity, 2017.
    """
    norms = CliqueVector(tree.domain, tree.cliques)
    distances, signed = 0.0, False
    for m, w in zip(measurements, weights, strict=True):
        query = m.linear_map
        distances += query.largest_squared_distance(w)
        signed = signed or not query.has_acute_columns
        table = norms[tree.domain.canonical(m.clique)].datavector()
        table[cells_as_written(tree.domain, m.clique)] += query.column_squares(w)
    jointly = tree.plan.max_log_weight(norms.values, [], 1) if norms.values.size else 0.0
    return min(distances / 4, jointly if signed else jointly / 2)
