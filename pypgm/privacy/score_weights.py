"""Weights and offsets of scores, in integers: what a score changes stays known exactly."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pypgm.privacy.rational import Number, as_fraction

__all__ = ["GRID_BITS", "SCORE_LIMIT", "SCREEN_BITS", "Weights", "fitted"]

GRID_BITS = 16  # public estimates are rounded to multiples of 2^-16, so a score is an integer multiple of it
SCREEN_BITS = 12  # of screened scores: variances of thousands of them stay within what can be drawn
SCORE_LIMIT = 1 << 62  # scores beyond stay there, which never makes two of them differ by more than they do


class Weights(NamedTuple):
    """What scores are multiplied by, and what is added to them.

    Attributes
    ----------
    factors : list of int
        Of each score, at most 2^bits: a change of the score by c makes one of at most c times the factor.
    offsets : list of int
        Added to each weighted score.
    unit : float
        Of a weighted score of 1, in the units of the scores and weights given.
    """

    factors: list[int]
    offsets: list[int]
    unit: float

    @classmethod
    def of(cls, count: int, weights: Sequence[Number] | None, offsets: Sequence[Number] | None, bits: int) -> Weights:
        """Return weights relative to the largest one, on a grid of 2^-bits; ``ValueError`` if they do not fit."""
        if weights is None and offsets is None:
            return cls([1 << bits] * count, [0] * count, 2.0**-bits)
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

    def applied(self, scores: Sequence[int]) -> list[int]:
        """Return weighted scores; a score is a multiple of 2^-16.

        A score that changes by c 2^16 at most changes its product with a factor by that times c 2^16 at most, and what
        is left of it without the last 16 bits by the factor times c at most: an integer, which rounding down keeps.
        """
        if self.factors == [1 << GRID_BITS] * len(scores) and not any(self.offsets):
            return list(scores)
        return [(f * s >> GRID_BITS) + o for f, s, o in zip(self.factors, scores, self.offsets, strict=True)]


def fitted(scores: Sequence[int], *, screen: bool = False) -> NDArray[np.int64]:
    """Return scores as int64, none of which changes by more than it does.

    For a screen they are cut off at 2^62. A selection knows gaps to the best alone: scores 2^62 and more below it are
    raised, which keeps all changes in the interval they lie in, and all are moved alike if they do not fit.
    """
    if screen:
        return np.array([max(-SCORE_LIMIT, min(SCORE_LIMIT, s)) for s in scores], dtype=np.int64)
    best = max(scores)
    if max(best, -min(scores)) < SCORE_LIMIT:
        return np.maximum(np.array(scores, dtype=np.int64) - best, -SCORE_LIMIT) + best
    return np.array([max(s - best, -SCORE_LIMIT) for s in scores], dtype=np.int64)
