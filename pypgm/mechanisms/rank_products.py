"""Sums over the records of the product of two attributes' ranks: a linear dependence, which noise in cells hides."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from pypgm.mechanisms.resolution import Values
from pypgm.queries import Contrasts, Kronecker, Matrix

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pypgm.domain import Clique
    from pypgm.estimation.measurement import LinearMeasurement
    from pypgm.mechanisms.one_way import Independent
    from pypgm.mechanisms.pair_allocation import Question
    from pypgm.mechanisms.pair_dependence import Dependence
    from pypgm.mechanisms.run import Run

# Chosen on made-up tables of wages and of normal variables, titanic and 8,000 records of adult; see bench/README.md.
PRODUCTS = 0.05  # of rho, at most, for rank products
_PRODUCT_NOISE = 0.01  # of the records: noise in a product that is low enough
_BLUNT_PRODUCTS = 0.03  # of the records: noise in a product that is too high
_MORE = 4  # most that one of a few products costs, as a multiple of its cost among all
_LEVELS = 8  # of ranks on either side of the middle
_CLEAR = 2.5  # standard deviations of noise, from which on a pair differs from an independent one
_RANGE = Contrasts([2])  # a record changes its answer as it changes a product, of ranks from -1 to 1, at most
_MAX_PAIRS = 2_000  # above it there are no products: the estimate would have a table for each


def rho_of_products(run: Run, n_pairs: int, total: float, part: float = 1.0) -> float:
    """Return the budget for rank products of a share of the pairs."""
    if n_pairs > _MAX_PAIRS or run.total == 0:
        return 0.0
    enough = part * n_pairs * (_stddev(run, 1.0) / (_PRODUCT_NOISE * total)) ** 2
    return min(PRODUCTS * float(run.rho) * min(1.0, _MORE * part), enough)


def _stddev(run: Run, rho: float) -> float:
    """Return the standard deviation of noise in a product, of ranks from -1 to 1, that costs rho."""
    return math.sqrt(run.table.privacy.squared_l2_sensitivity(_RANGE) / (2 * rho))


class RankProducts:
    """Sums over the records of the product of two attributes' ranks, for pairs whose other answers hide it.

    Ranks run from -1 to 1 in the order of an attribute's groups, see `Values`: one record changes a sum by at most 1.

    Parameters
    ----------
    start : Independent
        Model that ranks follow from.
    ordered : collection of str
        Attributes whose neighbouring codes are alike.
    """

    def __init__(self, start: Independent, ordered: Collection[str]) -> None:
        self._start = start
        self._ranks = {a: _ranks(Values(shares, a in ordered)) for a, shares in start.shares.items()}

    def measured(
        self, run: Run, dependence: Mapping[Clique, Dependence], questions: Mapping[Clique, Question]
    ) -> list[LinearMeasurement]:
        """Measure the pairs that have more noise otherwise, or no other question, and may depend enough.

        A product is no further from the independent model's than the L1 distance of the pair: where that is likely to
        be within noise, nothing is measured. The fewer pairs are, the less noise each has.
        """
        total = self._start.total
        noise: dict[Clique, float] = {}
        for p, of_pair in dependence.items():
            noise[p] = (
                self._noise(p, questions[p]) if p in questions else float(2 * total * of_pair.mean(of_pair.distances))
            )
        ranked = sorted(noise, key=lambda p: -noise[p])
        parts = [rho_of_products(run, len(ranked), total, n / len(ranked)) / n for n in range(1, len(ranked) + 1)]
        most = [min(noise[p], _BLUNT_PRODUCTS * total) for p in ranked]
        worth = [n for n, part in enumerate(parts, 1) if part > 0 and most[n - 1] > _stddev(run, part)]
        if not worth:
            return []
        kept, rho = ranked[: worth[-1]], worth[-1] * parts[worth[-1] - 1]
        ranks = {a: Matrix(self._ranks[a][None]) for a in {a for p in kept for a in p}}
        queries = [Kronecker([ranks[a] for a in p]) for p in kept]
        return run.table.measure_many(kept, queries, rho=Fraction(rho))

    def telling(
        self, products: Sequence[LinearMeasurement], measured_pairs: Collection[Clique]
    ) -> list[LinearMeasurement]:
        """Return the products for the estimate: of pairs that are measured, or clearly dependent."""
        return [m for m in products if m.clique in measured_pairs or self._away(m) > _CLEAR]

    def _away(self, product: LinearMeasurement) -> float:
        """Return the distance of a product from the independent model's, in standard deviations of noise."""
        expected = product.linear_map.matvec(self._start.counts(product.clique))
        return abs(float(product.values[0] - expected[0])) / float(product.stddev)

    def _noise(self, pair: Clique, question: Question) -> float:
        """Return the noise in the product of a pair, computed from its measured sums."""
        deviation = question.stddev
        for attribute, groups in zip(pair, question.resolution.groups, strict=True):
            shares = self._start.shares[attribute]
            means = np.bincount(groups, shares * self._ranks[attribute]) / np.bincount(groups, shares)
            deviation *= float(np.linalg.norm(means)) / _LEVELS
        return deviation


def _ranks(values: Values) -> NDArray[np.int64]:
    """Return the ranks of an attribute's values, in the order of their groups, in integers from -8 to 8."""
    first, last = values.below.min(), values.below.max()
    ranks = (2 * values.below - first - last) / (last - first or 1.0)  # an attribute of one value is in no pair
    return np.asarray(np.rint(_LEVELS * ranks), dtype=np.int64)
