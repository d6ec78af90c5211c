"""Weights and offsets of scores, in integers, so that the sensitivity of scores stays known exactly."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pypgm.privacy.rational import Number, as_fraction

GRID_BITS = 16  # public estimates are rounded to multiples of 2^-16, so scores are integer multiples of that
SCREEN_BITS = 12  # bits of weights of screened scores: variances for thousands of them can still be drawn
SCORE_LIMIT = 1 << 62  # larger scores are cut off here, which never makes two of them differ by more


class Weights(NamedTuple):
    """Factors and offsets of scores.

    Attributes
    ----------
    factors : list of int
        The factor of each score, at most 2^bits: a score that changes by c changes its product by at most c times the
        factor.
    offsets : list of int
        The number added to each weighted score.
    unit : float
        The value of a weighted score of 1, in the units of the scores and weights given.
    is_plain : bool
        Whether scores stay unchanged.
    """

    factors: list[int]
    offsets: list[int]
    unit: float
    is_plain: bool = False

    @classmethod
    def of(cls, count: int, weights: Sequence[Number] | None, offsets: Sequence[Number] | None, bits: int) -> Weights:
        """Return weights relative to the largest one, on a grid of 2^-bits; ``ValueError`` if they do not fit."""
        if weights is None and offsets is None:
            return cls([1 << bits] * count, [0] * count, 2.0**-bits, bits == GRID_BITS)
        given = [Fraction(1)] * count if weights is None else [as_fraction("a weight", w) for w in weights]
        added = [Fraction(0)] * count if offsets is None else [as_fraction("an offset", o) for o in offsets]
        if len(given) != count or len(added) != count:
            raise ValueError(f"{count} candidates need as many weights and offsets, got {len(given)} and {len(added)}")
        largest = max(given)
        if min(given) < 0 or largest == 0:
            raise ValueError(f"weights must be at least 0 and one of them more, got {weights}")
        grid = Fraction(1 << bits) / largest
        factors = [max(1, round(w * grid)) if w > 0 else 0 for w in given]
        return cls(factors, [round(o * grid) for o in added], float(1 / grid))

    def applied(self, scores: NDArray[Any]) -> NDArray[Any]:
        """Return weighted scores, as Python's integers where they may not fit int64; a score is a multiple of 2^-16.

        A score that changes by at most c 2^16 changes its product with a factor by at most the factor times c 2^16, and
        the product without its last 16 bits by at most the factor times c: an integer, which rounding down keeps.
        """
        if self.is_plain:
            return scores
        given = zip(self.factors, scores.tolist(), self.offsets, strict=True)
        return np.array([(f * s >> GRID_BITS) + o for f, s, o in given], dtype=object)


def fitted(scores: NDArray[Any], *, screen: bool = False) -> NDArray[np.int64]:
    """Return scores within int64, below 2^62, none of which changes by more than before.

    For a screen they are cut off at 2^62. A selection depends on gaps to the best alone: scores 2^62 or more below it
    are raised, which keeps all changes in their interval, and all are shifted alike if they do not fit.
    """
    if screen:
        return np.asarray(np.clip(scores, -SCORE_LIMIT, SCORE_LIMIT), dtype=np.int64)
    best = int(scores.max())
    gaps = np.maximum(scores - best, -SCORE_LIMIT)
    fits = max(best, -int(scores.min())) < SCORE_LIMIT
    return np.asarray(gaps + best if fits else gaps, dtype=np.int64)
