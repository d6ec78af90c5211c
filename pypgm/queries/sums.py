"""What all queries have in common whose answers are sums of cells."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from pypgm.queries.sensitivity import Neighbours, Operator, check_norm

__all__ = ["Sums", "check_size"]


class Sums(Operator):
    """Queries each of whose answers is the sum of some cells: a matrix of zeros and ones."""

    __slots__ = ()

    def l1_sensitivity(self, neighbours: Neighbours) -> int:
        """Return the L1 sensitivity: no answer changes by more than 1, so it is the squared L2 sensitivity."""
        return self.squared_l2_sensitivity(neighbours)

    def largest_change(self, neighbours: Neighbours) -> int:
        """Return the most that one answer changes: 1, or 0 where no answer does."""
        return min(1, self.squared_l2_sensitivity(neighbours))

    def column_norms(self, norm: Literal[1, 2]) -> NDArray[np.float64]:
        """Return the number of sums each cell is in, or its root; see `Operator`."""
        check_norm(norm)
        counts: NDArray[np.float64] = self.rmatvec(np.ones(self.shape[0]))
        return counts if norm == 1 else np.sqrt(counts)


def check_size(size: int) -> None:
    """Raise ``ValueError`` unless a query has at least one cell."""
    if size < 1:
        raise ValueError(f"a query needs at least one cell, got size {size}")
