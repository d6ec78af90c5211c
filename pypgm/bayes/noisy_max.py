"""Tables given by a few rows only: the noisy maximum of independent causes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray


def noisy_max(rows: Mapping[int, Sequence[float]], shape: Sequence[int]) -> NDArray[np.float64]:
    r"""Fill a conditional table from the rows in which at most one parent is away from its first value.

    With :math:`F(y \mid x)` the cumulative probability of an effect's values, :math:`F_0` that of the row in which all
    parents have their first value, and :math:`F_i(\cdot \mid x_i)` that of the row in which parent i alone has
    another, the effect is the greatest of what the causes produce independently:

    .. math:: F(y \mid x) = F_0(y) \prod_{i : x_i \ne 0} F_i(y \mid x_i) / F_0(y).

    Given rows stay unchanged.

    Parameters
    ----------
    rows : mapping of int to sequence of float
        The given rows, by their position in C order over the parents' values.
    shape : sequence of int
        Sizes of the parents.

    Returns
    -------
    ndarray of float64, shape (product of `shape`, size of the effect)

    Raises
    ------
    ValueError
        If one of those rows is not given, or the product is not a distribution.

    References
    ----------
    M. Henrion, Some practical issues in constructing belief networks, UAI 1987. F. J. Díez, Parameter adjustment in
    Bayes networks: the generalized noisy OR-gate, UAI 1993.

    Examples
    --------
    >>> noisy_max({0: [0.9, 0.1], 1: [0.45, 0.55], 2: [0.3, 0.7]}, (2, 2))[3].round(4)
    array([0.15, 0.85])
    """
    codes = np.indices(tuple(shape)).reshape(len(shape), -1)
    strides = [math.prod(shape[i + 1 :]) for i in range(len(shape))]
    needed = [0, *(x * stride for size, stride in zip(shape, strides, strict=True) for x in range(1, size))]
    missing = [row for row in needed if row not in rows]
    if missing:
        values = tuple(int(c) for c in codes[:, missing[0]])
        raise ValueError(f"it needs the row in which the parents have values number {values} (the first is 0)")
    written = {row: np.asarray(values, dtype=np.float64) for row, values in rows.items()}
    base = np.cumsum(written[0])
    cumulative = np.tile(base, (codes.shape[1], 1))
    for code, size, stride in zip(codes, shape, strides, strict=True):
        for x in range(1, size):
            with np.errstate(divide="ignore", invalid="ignore"):
                # 0 / 0: an effect this small is impossible already.
                cumulative[code == x] *= np.where(base > 0, np.cumsum(written[x * stride]) / base, 0.0)
    table: NDArray[np.float64] = np.diff(cumulative, axis=1, prepend=0.0)
    if table.min() < -1e-12:
        raise ValueError(f"some row would have the probability {table.min():.3g}; its causes cannot be independent")
    table = np.maximum(table, 0.0)
    for row, given in written.items():
        table[row] = given
    return table
