"""Noisy distances of pairs from independence, all measured at once, and the dependence that they leave possible."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pypgm.domain import Clique, Domain
    from pypgm.factor import Factor

    Array = NDArray[np.float64]

DISTANCES = np.concatenate([[0.0], np.geomspace(0.002, 1.0, 40)])
"""Possible total variation of a pair from independence."""

_USUAL, _APART = 0.07, 0.05  # mean distance of pairs in tables in general; spread of such means
_MEANS = np.geomspace(0.002, 1.0, 200)  # mean distances that pairs of a table may have
_ROUNDS = 60  # of the search for the prior; more would only fit the noise
_BLOCK = 1 << 10  # rows that are looked at together
_STEPS = 16  # of a kept score in a standard deviation of its noise
_MAX_SCORE = 1e50  # number of a screen, or one by its noise or records: ratios and their squares stay finite


def likely_distances(scores: Array, by_chance: Array, stddev: float) -> Array:
    """Return the probability of each of `DISTANCES` for each score, under the prior that fits all scores best.

    The prior is the likeliest for all scores together (expectation maximisation over the grid). With noisier scores it
    is closer to an exponential one. Its mean is that of tables in general, unless the mean of all scores contradicts
    it: noise that hides each distance leaves their mean. Expectation maximisation would take thousands of rounds to
    find that out.

    Parameters
    ----------
    scores, by_chance : ndarray of float, shape (pairs,)
        Total variation distances, with noise; those to be expected by chance.
    stddev : float
        Standard deviation of the noise.
    """
    expected = np.hypot(DISTANCES, by_chance[:, None])
    prior = usual = _exponential(float(scores.mean()), expected.mean(axis=0), stddev / math.sqrt(len(scores)))
    squares = np.square((expected - scores[:, None]) / stddev)
    del expected  # as large as those
    fits = np.exp(-0.5 * (squares - squares.min(axis=1, keepdims=True)))
    others = (stddev / _APART) ** 2  # pairs of other tables with as much information on the mean as these
    blocks = [fits[k : k + _BLOCK] for k in range(0, len(fits), _BLOCK)]  # each stays in the cache
    for _ in range(_ROUNDS - 1):
        counts = sum(np.einsum("ij,i->j", block, 1 / np.einsum("ij,j->i", block, prior)) for block in blocks)
        prior = (prior * counts + others * usual) / (len(scores) + others)
    fits *= prior
    fits /= fits.sum(axis=1, keepdims=True)
    return np.asarray(fits)


def _exponential(mean_score: float, expected: Array, stddev: float) -> Array:
    """Return the exponential prior whose mean is the likeliest, by what pairs of each distance score on average."""
    priors = np.gradient(DISTANCES) * np.exp(-DISTANCES / _MEANS[:, None])
    priors /= priors.sum(axis=1, keepdims=True)
    away = np.square((mean_score - priors @ expected) / stddev) + np.square((_MEANS - _USUAL) / _APART)
    return np.asarray(priors[np.argmin(away)])


@dataclass(frozen=True, slots=True, eq=False)
class PairScreen:
    """Distances of pairs of attributes from an independent model, measured together with noise.

    A score is the L1 distance of the counts of a pair from those of the model, with noise. Of independent attributes it
    is about `by_chance`, which comes of the number of records and of the model's errors in single attributes; it is
    ``hypot(2 total d, by_chance)`` where the total variation distance of the pair from independence is ``d`` beyond
    that.

    Attributes
    ----------
    pairs : tuple of clique
        The pairs.
    scores : ndarray of float, shape (pairs,)
        L1 distances in records, with noise.
    by_chance : ndarray of float, shape (pairs,)
        L1 distances in records to be expected of independent attributes.
    stddev : float
        Standard deviation of the noise of each score, in records.
    total : float
        Number of records of the model.

    Raises
    ------
    ValueError
        If there is not one score and one distance by chance of each pair, or a number is not within its range.
    """

    pairs: tuple[Clique, ...]
    scores: Array
    by_chance: Array
    stddev: float
    total: float

    def __post_init__(self) -> None:
        if not self.pairs or not np.shape(self.scores) == np.shape(self.by_chance) == (len(self.pairs),):
            raise ValueError("a screen needs a score and a distance by chance of each pair")
        is_in_range = all(1 / _MAX_SCORE < number < _MAX_SCORE for number in (self.stddev, self.total))
        is_in_range &= bool((np.abs([self.scores, self.by_chance]) < _MAX_SCORE).all())
        if not is_in_range or np.min(self.by_chance) < 0:
            raise ValueError("a screen needs finite scores, noise, records and distances by chance of 0 or more")

    def __repr__(self) -> str:
        return f"PairScreen({len(self.pairs)} pairs, noise of {self.stddev:.6g} records)"

    def rounded(self) -> PairScreen:
        """Return the screen as releases keep it: to sixteenths of the noise, of which files need few bytes."""
        step = self.stddev / _STEPS
        scores, by_chance = (np.rint(values / step) * step for values in (self.scores, self.by_chance))
        return replace(self, scores=scores, by_chance=by_chance)

    def likely(self) -> Array:
        """Return the probability of each of `DISTANCES` for each pair; see `likely_distances`."""
        unit = 2 * self.total
        return likely_distances(self.scores / unit, self.by_chance / unit, self.stddev / unit)

    def dependence(self) -> dict[frozenset[str], float]:
        """Return the root mean square distance of each pair from independence, in total variation.

        Examples
        --------
        >>> screen = PairScreen((("a", "b"), ("b", "c")), np.array([60.0, 900.0]), np.full(2, 28.0), 10.0, 1000.0)
        >>> {"".join(sorted(pair)): round(far, 2) for pair, far in screen.dependence().items()}
        {'ab': 0.03, 'bc': 0.45}
        """
        squares = self.likely() @ np.square(DISTANCES)
        return dict(zip(map(frozenset, self.pairs), np.sqrt(squares).tolist(), strict=True))

    def to_fields(self, domain: Domain) -> dict[str, Any]:
        """Return the fields of a rounded screen in a file; attributes by their numbers in the domain."""
        step = self.stddev / _STEPS
        return {
            "pairs": np.array([domain.indices(pair) for pair in self.pairs], dtype=np.int32).T,
            "scores": np.rint(self.scores / step).astype(np.int64),
            "by_chance": np.rint(self.by_chance / step).astype(np.int64),
            "stddev": self.stddev,
            "total": self.total,
        }

    @classmethod
    def from_fields(cls, domain: Domain, fields: Mapping[str, Any]) -> PairScreen:
        """Undo `to_fields`; ``ValueError`` if something does not fit."""
        pairs, scores, by_chance = (fields[name] for name in ("pairs", "scores", "by_chance"))
        if any(values.dtype.kind != "i" for values in (pairs, scores, by_chance)):
            raise ValueError("a screen needs integers")
        if scores.ndim != 1 or not scores.size or pairs.shape != (2, scores.size):
            raise ValueError("a screen needs two attributes, a score and a distance by chance of each pair")
        if pairs.min() < 0 or pairs.max() >= len(domain) or (pairs[0] == pairs[1]).any():
            raise ValueError(f"a screen needs pairs of {len(domain)} attributes")
        if len(np.unique(np.sort(pairs, axis=0), axis=1).T) < scores.size:
            raise ValueError("a screen needs each pair once")
        names, step = domain.attributes, fields["stddev"] / _STEPS
        cliques = tuple((names[i], names[j]) for i, j in pairs.T.tolist())
        with np.errstate(over="ignore"):  # what is not finite is refused
            scores, by_chance = scores * step, by_chance * step
        return cls(cliques, scores, by_chance, float(fields["stddev"]), float(fields["total"]))


def farthest(dependence: Mapping[frozenset[str], float], answer: Factor) -> float:
    """Return how far a screen leaves the true table of a pair from a model's: infinitely where it says nothing.

    Both have a distance from the product of their sums, which are about the same: the table's is known by the screen.
    Their own distance is at most the sum of both.

    Parameters
    ----------
    dependence : mapping of set of str to float
        See `PairScreen.dependence`.
    answer : Factor
        The model's counts.

    Examples
    --------
    >>> from pypgm import Domain, Factor
    >>> farthest({frozenset("ab"): 0.125}, Factor(Domain({"a": 2, "b": 2}), [[3, 1], [1, 3]]))
    0.375
    """
    screened = dependence.get(frozenset(answer.domain.attributes))
    return math.inf if screened is None else screened + dependence_of(answer.values)


def dependence_of(table: Array) -> float:
    """Return the total variation distance of a table of two attributes from the product of its sums.

    Examples
    --------
    >>> dependence_of(np.array([[1.0, 0.0], [0.0, 1.0]]))
    0.5
    """
    shares = table / max(float(table.sum()), 1e-300)
    product = shares.sum(axis=1, keepdims=True) * shares.sum(axis=0, keepdims=True)
    return 0.5 * float(np.abs(shares - product).sum())
