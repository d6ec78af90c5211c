"""Running sums over an ordered attribute."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray

from pypgm._base.constraints import AtLeast
from pypgm._base.signatures import checked
from pypgm.queries.neighbours import Neighbours
from pypgm.queries.query import Form, ZeroOneQuery


class Prefix(ZeroOneQuery):
    """The sums of the first 1, 2, ..., n cells.

    Parameters
    ----------
    size : int
        Number of cells, n.

    Raises
    ------
    ValueError
        If `size` is not at least 1.

    Examples
    --------
    >>> Prefix(4).matvec([1, 0, 2, 5]).tolist()
    [1, 1, 3, 8]
    >>> Prefix(4).l1_sensitivity("replace")
    3
    """

    @checked()
    def __init__(self, size: Annotated[int, AtLeast(1)]) -> None:
        nnz = size * (size + 1) // 2
        self._describe((size,), (size, size), nnz, cost=size, n_read=size, text=f"size={size}")

    def form(self) -> Form:
        """Return the query as the compiled loop takes it: every cell, accumulated."""
        return Form(np.arange(self.shape[0]), running=True)

    def _apply(self, table: NDArray[Any]) -> NDArray[Any]:
        return np.add.accumulate(table, axis=1)

    def _transpose(self, table: NDArray[Any]) -> NDArray[Any]:
        return np.cumsum(table[:, ::-1], axis=1)[:, ::-1]

    def largest_squared_distance(self, weights: NDArray[np.float64]) -> float:
        """Return the weight of all answers but the last, which hold the first cell and not the last."""
        return float(weights[:-1].sum())

    def _sensitivity(self, neighbours: Neighbours, norm: Literal[1, 2]) -> int:
        del norm  # all sums hold the first cell, and all but the last one do not hold the last
        return self.shape[1] - (neighbours == "replace")
