"""The likelihood of what rounds of one rate drew: most of it is the same sum for all of them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

__all__ = ["RoundsLikelihood"]

Array = NDArray[np.float64]

_LARGE = 20.0  # a score whose exp may drown the others: 5e8


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
    def _whole(self) -> tuple[NDArray[np.int64], Array, NDArray[np.int64], NDArray[np.int64]]:
        """Cells and offsets of all rounds, the round of each, and where a round begins: nothing is added later."""
        cells, offsets, _, _ = zip(*self._rounds, strict=True)
        sizes = [c.size for c in cells]
        rows, begins = np.repeat(np.arange(len(sizes)), sizes), np.cumsum([0, *sizes[:-1]])
        return np.concatenate(cells), np.concatenate(offsets), rows, begins

    @cached_property
    def _evidence(self) -> tuple[Array, Array, float]:
        """How many each round drew; how often each cell was, less its complement; and offsets of all of them."""
        net = np.zeros(self._n_cells)
        for _, _, drawn, _ in self._rounds:
            for cell, is_complement in drawn:
                net[cell] += -1.0 if is_complement else 1.0
        counts = np.array([len(drawn) for _, _, drawn, _ in self._rounds], np.float64)
        return counts, net, sum(fixed for _, _, _, fixed in self._rounds)

    def loss(self, base: Array) -> tuple[float, Array]:
        """Return the negative log-likelihood for the scores without offsets, and its gradient, shape (cells,)."""
        cells, offsets, rows, begins = self._whole
        counts, net, fixed = self._evidence
        is_large = np.abs(base) > _LARGE
        large, own = np.flatnonzero(is_large), is_large[cells]
        scores = np.tile(base[large], (counts.size, 1))
        scores[rows[own], np.searchsorted(large, cells[own])] += offsets[own]
        before = np.where(is_large, 0.0, base)
        moved = np.where(own, 0.0, base[cells] + offsets)
        tops = np.maximum(np.maximum.reduceat(np.abs(moved), begins), np.abs(scores).max(axis=1, initial=_LARGE))
        scales, shift = np.exp(-tops), tops[rows]
        up, down = np.exp(before), np.exp(-before)
        more_up = np.exp(moved - shift) - up[cells] * scales[rows]
        more_down = np.exp(-moved - shift) - down[cells] * scales[rows]
        scores_up, scores_down = np.exp(scores - tops[:, None]), np.exp(-scores - tops[:, None])
        mass = scales * float((up + down)[~is_large].sum()) + np.bincount(rows, more_up + more_down)
        mass += (scores_up + scores_down).sum(axis=1)
        weights = counts / mass
        slope: Array = float(weights @ scales) * (up - down) - net
        slope += np.bincount(cells, weights[rows] * (more_up - more_down), slope.size)
        slope[large] += weights @ (scores_up - scores_down)
        return float(counts @ (tops + np.log(mass)) - net @ base) - fixed, slope
