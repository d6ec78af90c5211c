"""Random distributions of values within bins, about which a release says nothing."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_HALVINGS = 5  # of a bin
_MAX_HALVES = 1 << 22  # halves of all bins
_OPEN = 0.7  # standard deviation of the log of how far values reach in a bin that tapers


class Scattered:
    """A policy in place of `within`: in each bin values have a distribution of their own, the same for all records.

    A bin is halved again and again, and the part of its values that is in the first half is anything, as likely: a
    Polya tree. Where bins taper, so do they, towards the bound as fast or slow as drawn.

    Parameters
    ----------
    tapers : bool
        Whether the first and the last bin do.
    n_bins : int
    rng : numpy.random.Generator
    """

    def __init__(self, tapers: bool, n_bins: int, rng: np.random.Generator) -> None:
        self.tapers = tapers
        levels = min(_HALVINGS, max(1, (_MAX_HALVES // n_bins).bit_length()))
        self._parts = [rng.random((n_bins, 2**level)) for level in range(levels)]
        self.reach = np.exp(rng.normal(0.0, _OPEN, 2))

    def moved(self, codes: NDArray[np.int64], places: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return places in the bins of codes, from 0 to 1, for others that are uniform."""
        node, left = np.zeros(len(codes), dtype=np.intp), places.copy()
        for parts in self._parts:
            part = parts[codes, node]
            is_first = left < part
            left = np.where(is_first, left / np.maximum(part, 1e-300), (left - part) / np.maximum(1 - part, 1e-300))
            node = 2 * node + ~is_first
        return np.asarray((node + np.clip(left, 0.0, 1.0)) / 2 ** len(self._parts))
