"""The query that returns every cell."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pypgm.queries.entries import SparseArray
from pypgm.queries.query import SquareQuery
from pypgm.queries.sensitivity import Neighbours, check_neighbours

__all__ = ["Identity"]


class Identity(SquareQuery):
    """Every cell of a table, as it is.

    Parameters
    ----------
    size : int
        Number of cells.

    Raises
    ------
    ValueError
        If `size` is not at least 1.

    Examples
    --------
    >>> Identity(3).sensitivity("replace", norm=1)
    2
    """

    __slots__ = ()

    @property
    def nnz(self) -> int:
        """Number of entries that are not zero."""
        return self.size

    @property
    def is_identity(self) -> bool:
        """Whether the answers are the cells."""
        return True

    @property
    def has_unit_columns(self) -> bool:
        """Whether each cell is counted in exactly one answer."""
        return True

    @property
    def groups(self) -> NDArray[np.int64]:
        """The answer of each cell, shape (cells,)."""
        return np.arange(self.size)

    def _apply(self, table: NDArray[Any]) -> NDArray[Any]:
        return table

    def _transpose(self, table: NDArray[Any]) -> NDArray[Any]:
        return table

    def to_sparse(self) -> SparseArray:
        """Return the identity as a scipy.sparse.csr_array."""
        from scipy.sparse import csr_array, eye_array

        return csr_array(eye_array(self.size, dtype=np.int64))

    def squared_l2_sensitivity(self, neighbours: Neighbours) -> int:
        """Return the square of the L2 sensitivity: 1, or 2 under "replace" (0 for a single cell)."""
        check_neighbours(neighbours)
        if neighbours == "add-remove":
            return 1
        return 2 if self.size > 1 else 0
