"""Screens: the scores of many candidates at once, with noise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, eq=False)
class Screen:
    """The scores of many candidates with discrete Gaussian noise; free to use.

    Attributes
    ----------
    values : ndarray of int64, shape (candidates,)
        The noisy scores exactly as drawn, in the order of the candidates.
    stddev : float
        Standard deviation of the noise of each of `scores`.
    unit : float
        The unit of `values`, in units of scores and weights.
    not_private : str
        The reason why the scores protect nobody, such as noise from a seed; empty if they protect.
    """

    values: NDArray[np.int64]
    stddev: float
    unit: float
    not_private: str = ""

    @property
    def scores(self) -> NDArray[np.float64]:
        """The noisy weighted scores; they may be negative."""
        return np.asarray(self.values * self.unit, dtype=np.float64)
