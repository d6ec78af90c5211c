"""The likelihood of what rounds of one rate drew: most of it is the same sum for all of them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

_LARGE_SCORE = 20.0  # a score whose exp may drown the others: 5e8


class RoundsLikelihood:
    r"""Rounds that drew cells, or their complements, by scores which differ in few cells.

    With scores :math:`b_q + o_{tq}` of the cells, their negatives for the complements, a round has the mass
    :math:`\sum_q 2 \cosh(b_q + o_{tq})`. Where b is small that is the sum without offsets, which all rounds share, and
    its changes in the cells that have one: a mass is at least twice the number of cells, so the differences are exact
    enough. Where b is large the terms are added up one by one.

    Parameters
    ----------
    cells : int

    Examples
    --------
    >>> rounds = RoundsLikelihood(3)
    >>> rounds.add(np.array([0.0, -1.0, 0.0]), [(2, False)])
    >>> value, slope = rounds.loss(np.zeros(3))
    >>> bool(np.isclose(value, np.log(4 + np.e + 1 / np.e))), slope.shape
    (True, (3,))
    """

    def __init__(self, cells: int) -> None:
        self._n_cells = cells
        self._rounds: list[tuple[NDArray[np.int64], Array, list[tuple[int, bool]], float]] = []
        self._terms: _Terms | None = None

    @property
    def n_drawn(self) -> int:
        """Number of queries drawn in all rounds."""
        return sum(len(drawn) for _, _, drawn, _ in self._rounds)

    def add(self, offsets: Array, drawn: Sequence[tuple[int, bool]]) -> None:
        """Keep a round: the offset of each cell, and the cells that were drawn or whose complements were."""
        moved = np.flatnonzero(offsets)
        moved = moved if moved.size else np.zeros(1, np.int64)  # a round has a cell
        fixed = sum((-1.0 if is_complement else 1.0) * float(offsets[cell]) for cell, is_complement in drawn)
        self._rounds.append((moved, offsets[moved], list(drawn), fixed))  # whole, whenever Ctrl-C comes

    @cached_property
    def _whole(self) -> tuple[NDArray[np.int64], Array, NDArray[np.int64]]:
        """Cells and offsets of all rounds, and where a round begins: nothing is added later."""
        cells, offsets, _, _ = zip(*self._rounds, strict=True)
        return np.concatenate(cells), np.concatenate(offsets), np.cumsum([0, *map(len, cells)])

    def _ready(self, base: Array) -> _Terms:
        """Return the terms for the cells that have been large so far: those that become so are few, and stay so."""
        is_large = np.abs(base) > _LARGE_SCORE
        if self._terms is None or (is_large & ~self._terms.is_large).any():
            if self._terms is not None:
                is_large |= self._terms.is_large
            self._terms = _Terms(is_large, *self._whole)
        return self._terms

    @cached_property
    def _evidence(self) -> tuple[Array, Array, float]:
        """Numbers of draws of the rounds; draws of each cell less those of its complement; offsets of all rounds."""
        net = np.zeros(self._n_cells)
        for _, _, drawn, _ in self._rounds:
            for cell, is_complement in drawn:
                net[cell] += -1.0 if is_complement else 1.0
        counts = np.array([len(drawn) for _, _, drawn, _ in self._rounds], np.float64)
        return counts, net, sum(fixed for _, _, _, fixed in self._rounds)

    def loss(self, base: Array) -> tuple[float, Array]:
        """Return the negative log-likelihood for the scores without offsets, and its gradient, shape (cells,)."""
        counts, net, fixed = self._evidence
        terms = self._ready(base)
        large, small = terms.large, np.where(terms.is_large, 0.0, base)
        scores = terms.offsets + base[large]
        tops = np.maximum(terms.tops, np.abs(scores).max(axis=1, initial=_LARGE_SCORE))
        scales, shift = np.exp(-tops), np.exp(terms.tops - tops)
        up, down = np.exp(small), np.exp(-small)
        scores_up, scores_down = np.exp(scores - tops[:, None]), np.exp(-scores - tops[:, None])
        mass = scales * float((up + down)[~terms.is_large].sum()) + shift * (terms.up @ up + terms.down @ down)
        mass += (scores_up + scores_down).sum(axis=1)
        weights = counts / mass
        slope: Array = float(weights @ scales) * (up - down) - net
        slope += (weights * shift) @ terms.up * up - (weights * shift) @ terms.down * down
        slope[large] += weights @ (scores_up - scores_down)
        return float(counts @ (tops + np.log(mass)) - net @ base) - fixed, slope


class _Terms:
    """Terms that do not change with the scores, in units of exp(top) of each round.

    Attributes
    ----------
    is_large, large : ndarray
        Which cells are added up one by one.
    offsets : ndarray, shape (rounds, large cells)
    tops : ndarray, shape (rounds,)
        The largest offset of another cell.
    up, down : csr_array, shape (rounds, cells)
        By how much the offset of another cell changes the exp of its score, and of the complement's, over that without.
    """

    def __init__(
        self, is_large: NDArray[np.bool_], cells: NDArray[np.int64], offsets: Array, begins: NDArray[np.int64]
    ) -> None:
        from scipy.sparse import csr_array

        self.is_large, self.large = is_large, np.flatnonzero(is_large)
        are_large, rows = is_large[cells], np.repeat(np.arange(begins.size - 1), np.diff(begins))
        self.offsets = np.zeros((begins.size - 1, self.large.size))
        self.offsets[rows[are_large], np.searchsorted(self.large, cells[are_large])] = offsets[are_large]
        moved = np.where(are_large, 0.0, offsets)
        self.tops = np.maximum.reduceat(np.abs(moved), begins[:-1])
        shift, shape = self.tops[rows], (begins.size - 1, is_large.size)
        none = np.exp(-shift)
        self.up = csr_array((np.exp(moved - shift) - none, cells, begins), shape)
        self.down = csr_array((np.exp(-moved - shift) - none, cells, begins), shape)
