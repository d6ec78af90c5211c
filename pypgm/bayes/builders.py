"""Conditional tables of independent causes: noisy or, noisy maximum, noisy sum."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pypgm._base.memory import check_fits
from pypgm._base.numeric import checked_integer, checked_real, float_array

_SUM_TOLERANCE = 1e-4  # as of the tables of a network


def noisy_or(probabilities: Sequence[float], leak: float = 0.0) -> NDArray[np.float64]:
    r"""Return the table of an effect that each present cause brings about on its own: a noisy or.

    .. math:: P(0 \mid x) = (1 - l) \prod_{i : x_i = 1} (1 - p_i)

    Parameters
    ----------
    probabilities : sequence of float
        That each cause, alone, brings the effect about.
    leak : float
        Probability of the effect without any cause.

    Returns
    -------
    ndarray of float64, shape (2, ..., 2)
        Axes: the causes, then the effect.

    Raises
    ------
    ValueError
        If a number is no probability.
    ModelTooLargeError
        If the table does not fit.

    Examples
    --------
    >>> from pypgm.bayes import BayesianNetwork
    >>> tables = {"flu": [0.9, 0.1], "cold": [0.8, 0.2], "cough": noisy_or([0.5, 0.8], leak=0.1)}
    >>> net = BayesianNetwork({"flu": 2, "cold": 2, "cough": 2}, [("flu", "cough"), ("cold", "cough")], tables)
    >>> net.query("cough", {"flu": 1, "cold": 1}).values
    array([0.09, 0.91])
    """
    alone, leak = float_array("the probabilities of causes", probabilities), checked_real("leak", leak, zero=True)
    if alone.ndim != 1 or not ((alone >= 0) & (alone <= 1)).all() or leak > 1:
        raise ValueError("a noisy or needs a probability for each cause, and one for the leak")
    return noisy_max([[[1, 0], [1 - p, p]] for p in alone.tolist()], [1 - leak, leak])


def noisy_max(causes: Sequence[ArrayLike], leak: ArrayLike | None = None) -> NDArray[np.float64]:
    r"""Return the table of an effect that is the largest of what its causes bring about, each on its own.

    Parameters
    ----------
    causes : sequence of array_like of float, shape (size of the cause, size of the effect)
        Probabilities of what each value of a cause brings about; a row for each value.
    leak : array_like of float, shape (size of the effect,), optional
        Probabilities of what is there without any cause; value 0 by default.

    Returns
    -------
    ndarray of float64, shape (sizes of the causes, size of the effect)

    Raises
    ------
    ValueError
        If a row is not a distribution, or sizes of the effect differ.
    ModelTooLargeError
        If the table does not fit.

    Examples
    --------
    >>> noisy_max([[[1.0, 0.0, 0.0], [0.5, 0.25, 0.25]], [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]])[1, 1]
    array([0.  , 0.75, 0.25])
    """
    tables = _checked(causes, leak)
    sizes = {table.shape[-1] for table in tables}
    if len(sizes) != 1:
        raise ValueError(f"causes of a maximum need tables over the same values of the effect, got {sorted(sizes)}")
    _check_fits(tables, sizes.pop())
    # The maximum is at most y if every contribution is.
    below = np.cumsum(tables[0], axis=-1)
    for table in tables[1:]:
        below = below[..., None, :] * np.cumsum(table, axis=-1)
    probabilities: NDArray[np.float64] = np.diff(below, axis=-1, prepend=0.0)[0]
    return probabilities


def noisy_adder(
    causes: Sequence[ArrayLike], leak: ArrayLike | None = None, size: int | None = None
) -> NDArray[np.float64]:
    """Return the table of an effect that is the sum of what its causes add, each on its own.

    Parameters
    ----------
    causes : sequence of array_like of float, shape (size of the cause, number of amounts)
        Probabilities of the amounts 0, 1, … that each value of a cause adds.
    leak : array_like of float, shape (number of amounts,), optional
        Probabilities of the amounts that are there without any cause; 0 by default.
    size : int, optional
        Number of values of the effect, whose last one stands for all sums of at least ``size - 1``; by default there is
        a value for each sum.

    Returns
    -------
    ndarray of float64, shape (sizes of the causes, size of the effect)

    Raises
    ------
    ValueError
        If a row is not a distribution, or `size` is less than 1.
    ModelTooLargeError
        If the table does not fit.

    Examples
    --------
    >>> noisy_adder([[[1.0, 0.0], [0.5, 0.5]], [[1.0, 0.0], [0.0, 1.0]]])[1, 1]
    array([0. , 0.5, 0.5])
    >>> noisy_adder([[[1.0, 0.0], [0.5, 0.5]], [[1.0, 0.0], [0.0, 1.0]]], size=2)[1, 1]
    array([0., 1.])
    """
    tables = _checked(causes, [1.0] if leak is None else leak)
    values = 1 + sum(table.shape[-1] - 1 for table in tables) if size is None else checked_integer("size", size, 1)
    _check_fits(tables, values)
    total = np.zeros((1, values))
    total[..., 0] = 1.0
    for table in tables:
        grown = np.zeros((*total.shape[:-1], len(table), values))
        for amount in range(table.shape[-1]):
            for value in range(values):
                at = min(value + amount, values - 1)
                grown[..., at] += total[..., None, value] * table[:, amount]
        total = grown
    return np.asarray(total[0, 0])


def _checked(causes: Sequence[ArrayLike], leak: ArrayLike | None) -> list[NDArray[np.float64]]:
    """Return the tables of all causes, after that of the leak, a cause of one value."""
    if not isinstance(causes, Iterable):
        raise TypeError(f"an effect needs a sequence with the table of each cause, got {causes!r}")
    tables = [float_array(f"the table of cause {i}", cause) for i, cause in enumerate(causes)]
    if not tables:
        raise ValueError("an effect needs at least one cause, got none")
    for i, table in enumerate(tables):
        if table.ndim != 2 or not table.size:
            raise ValueError(f"cause {i} (the first is 0) needs a row for each of its values, got shape {table.shape}")
    first = np.eye(1, tables[0].shape[-1]) if leak is None else float_array("the leak", leak)[None, ...]
    if first.ndim != 2:
        raise ValueError(f"a leak needs one axis, of the values of the effect, got {first.ndim - 1}")
    tables = [first, *tables]
    for table in tables:
        if not ((table >= 0).all() and (np.abs(table.sum(axis=-1) - 1) <= _SUM_TOLERANCE).all()):
            raise ValueError("each row of a cause, and the leak, needs numbers of at least 0 whose sum is 1")
    return tables


def _check_fits(tables: Sequence[NDArray[np.float64]], values: int) -> None:
    cells = math.prod(len(table) for table in tables) * values
    advice = "join causes in pairs by attributes between them and the effect"
    check_fits(24 * cells, None, f"the table of {len(tables) - 1} causes", advice)
