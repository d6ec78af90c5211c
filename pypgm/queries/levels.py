"""Queries of numeric attributes: means and moments."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from pypgm.queries.real import RealMatrix

__all__ = ["mean", "moments"]


def mean(levels: ArrayLike) -> RealMatrix:
    """Return the query that weighs each cell with its level: its answer over the number of records is the mean.

    Parameters
    ----------
    levels : array_like of float, shape (cells,)
        The number each cell stands for, such as the middle of its bin.

    Raises
    ------
    ValueError
        If there are no levels, or one is NaN or infinite.

    Examples
    --------
    >>> import pypgm
    >>> model = pypgm.GraphicalModel(pypgm.CliqueVector(pypgm.Domain({"age": 3}), ["age"]), total=30.0)
    >>> (model.answer(pypgm.KroneckerQuery({"age": mean([10, 20, 60])})) / model.total).round(6)
    array([30.])
    """
    return moments(levels, 1)


def moments(levels: ArrayLike, order: int, *, centre: float = 0.0, scale: float = 1.0) -> RealMatrix:
    """Return the queries whose answers over the number of records are the moments of orders 1 to `order`.

    Row b - 1 weighs each cell with ((level - centre) / scale) ** b. High powers of uncentred levels cancel each other
    in what is made of them (a variance, a skewness): choose a centre and a scale near the middle and the spread of
    the levels.

    Parameters
    ----------
    levels : array_like of float, shape (cells,)
        The number each cell stands for.
    order : int
        Highest moment, at least 1.
    centre, scale : float
        Taken off the levels, and what they are then divided by; positive.

    Raises
    ------
    ValueError
        If there are no levels, `order` is not at least 1, `scale` is not positive, or a power is not finite.

    Examples
    --------
    >>> moments([1.0, 3.0], 3, centre=2.0).entries.toarray().tolist()
    [[-1.0, 1.0], [1.0, 1.0], [-1.0, 1.0]]
    """
    numbers = np.asarray(levels, dtype=np.float64)
    if numbers.ndim != 1 or numbers.size == 0:
        raise ValueError(f"levels need one number a cell, got shape {numbers.shape}")
    if order < 1 or not scale > 0:
        raise ValueError(f"moments need an order of at least 1 and a positive scale, got {order} and {scale}")
    with np.errstate(over="ignore"):
        return RealMatrix(((numbers - centre) / scale) ** np.arange(1, order + 1)[:, None])
