"""Conditional probabilities of each attribute, given the values of all others."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pypgm.clique_vector import CliqueVector
from pypgm.inference.mini_buckets import Draws

_SWEEPS = 25  # of an annealing: four times as many find nothing more on the dense networks of UAI 2014
_LAST_POWER = 4.0  # of the weights; climbing does the rest


class Blankets:
    """Tables of each attribute, by the values of the others in them.

    Examples
    --------
    >>> from pypgm import Domain
    >>> pair = CliqueVector(Domain({"a": 2, "b": 2}), [("a", "b")], [0.0, 1.0, 0.0, 3.0])
    >>> Blankets(pair).log_weights(1, np.array([[0, 1], [0, 0]]))
    array([[0., 1.],
           [0., 3.]])
    """

    def __init__(self, potentials: CliqueVector) -> None:
        self._shape = shape = potentials.domain.shape
        self._tables: list[list[tuple[NDArray[np.float64], tuple[int, ...]]]] = [[] for _ in shape]
        for i, scope in enumerate(potentials.scopes):
            table = potentials.table(i).reshape([shape[a] for a in scope])
            for k, a in enumerate(scope):
                self._tables[a].append((np.moveaxis(table, k, -1), (*scope[:k], *scope[k + 1 :])))

    def log_weights(self, attribute: int, codes: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return the sum of an attribute's tables, a row for each assignment, a column for each of its values."""
        total = np.zeros((codes.shape[1], self._shape[attribute]))
        for table, others in self._tables[attribute]:
            total += table[tuple(codes[list(others)])]
        return total

    def climbed(self, codes: NDArray[np.intp]) -> NDArray[np.intp]:
        """Change single values of an assignment while that raises its weight.

        Examples
        --------
        >>> from pypgm import Domain
        >>> pair = CliqueVector(Domain({"a": 2, "b": 2}), [("a", "b")], [0.0, 1.0, 0.0, 3.0])
        >>> Blankets(pair).climbed(np.array([0, 0]))
        array([1, 1])
        """
        codes, moved = codes.copy()[:, None], True
        while moved:
            moved = False
            for a in range(len(codes)):
                scores = self.log_weights(a, codes)[0]
                best = int(scores.argmax())
                if scores[best] > scores[codes[a, 0]]:
                    codes[a], moved = best, True
        return codes[:, 0]

    def annealed(self, codes: NDArray[np.intp], rng: np.random.Generator) -> NDArray[np.intp]:
        """Draw each value of possible assignments again, in sweeps whose weights are raised to rising powers."""
        codes = codes.copy()
        for sweep in range(1, _SWEEPS + 1):
            power = _LAST_POWER * sweep / _SWEEPS
            for a in range(len(codes)):
                edges: NDArray[np.float64] = np.cumsum(self.shares(a, codes, power), axis=1)
                drawn = (edges <= rng.random((len(edges), 1)) * edges[:, -1:]).sum(axis=1)
                codes[a] = np.minimum(drawn, self._shape[a] - 1)
        return codes

    def shares(self, attribute: int, codes: NDArray[np.intp], power: float = 1.0) -> NDArray[np.float64]:
        """Return the probabilities of an attribute's values given the other attributes of possible assignments."""
        shares = power * self.log_weights(attribute, codes)
        shares -= shares.max(axis=1, keepdims=True)
        np.exp(shares, out=shares)
        shares /= shares.sum(axis=1, keepdims=True)
        return shares

    def marginal(self, draws: Draws, scope: Sequence[int]) -> tuple[NDArray[np.float64], float]:
        """Return the probabilities of some attributes by draws, and the sum of their squared standard errors.

        The first attribute counts by its probabilities given the others of each draw: the mean is the same as that of
        its values, and varies less (Rao and Blackwell).
        """
        codes, weights = draws.counted
        shares = self.shares(scope[0], codes)
        if len(scope) == 1:
            mean = weights @ shares
            return mean, float(weights**2 @ np.square(shares - mean).sum(axis=1))
        rows = np.zeros(len(weights), dtype=np.intp)
        for a in scope[1:]:
            rows = rows * self._shape[a] + codes[a]
        cells = math.prod([self._shape[a] for a in scope[1:]])
        table = np.stack([np.bincount(rows, weights * share, cells) for share in shares.T]).astype(np.float64)
        squares = (shares**2 - 2 * shares * table.T[rows]).sum(axis=1) + (table**2).sum()
        return table.reshape(-1), float(weights**2 @ squares)
