"""Sparse logistic regressions between attributes by private Frank-Wolfe, on records that stay behind the ledger."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from pypgm import _core
from pypgm._base.numeric import checked_integer, checked_real
from pypgm.privacy.counts import has_rows, in_rows
from pypgm.privacy.fixed_errors import fixed_errors
from pypgm.privacy.laws import Exponential
from pypgm.privacy.noise import drawable_rate
from pypgm.privacy.private_table import PrivateTable
from pypgm.privacy.rational import Number, as_fraction

MOST_CODES = 256
MOST_STEPS = 1 << 15  # margins are integers of 32 bits
_EPSILON_BITS = 32
_RESPONSE = 2**15 - 1  # integer in the core for a response of probability 1


@dataclass(frozen=True, slots=True)
class Feature:
    """A function of a record with values -1, 0 and +1.

    Attributes
    ----------
    attributes : tuple of int
        Positions in the domain.
    code : int
        Not negative: whether the one attribute has this code. Negated product of the signs of the attributes, -1
        of code 0 and +1 of any other; 1 if there are none.
    """

    attributes: tuple[int, ...]
    code: int = -1


@dataclass(frozen=True, slots=True)
class Node:
    """The regressions of one attribute.

    Attributes
    ----------
    attribute : int
        Position in the domain.
    pairs : sequence of (int, int)
        At least one. One regression for each pair: label +1 for the first code and -1 for the second, on records that
        have one of them.
    candidates : sequence of int
        The features with weights, at least one; those of the attribute itself must not be among them.
    """

    attribute: int
    pairs: Sequence[tuple[int, int]]
    candidates: Sequence[int]

    @property
    def composed(self) -> int:
        """The most regressions that one code takes part in."""
        return max(Counter(chain.from_iterable(self.pairs)).values())


@dataclass(frozen=True, slots=True)
class Regressions:
    """Regressions to be learned from records by Frank-Wolfe; public.

    Attributes
    ----------
    features : sequence of Feature
    nodes : sequence of Node
    radius : float
        Radius of the L1 ball that the weights of each regression lie in; positive and finite.
    steps : int
        Number of steps of each regression, 1 to 2^15.
    """

    features: Sequence[Feature]
    nodes: Sequence[Node]
    radius: float
    steps: int


class FrankWolfe:
    r"""Private Frank-Wolfe over an L1 ball for sums of logistic losses; on the records of a private table.

    Weights start at 0; step t = 1, 2, … moves them by 2 / (t + 2) of the way to a vertex of the ball, one of the
    directions :math:`\pm` feature, so that after t steps they are :math:`2 \lambda v / ((t + 1)(t + 2))` with
    integers v. The vertex comes from an exponential mechanism on the sums over records of
    :math:`\pm y x_f \sigma(-y \langle w, x \rangle)`, which are integers in the core: margins are exact, a table turns
    them into responses between 0 and :math:`G = (2^{15} - 1)\,\sigma(\lambda)`, rounded once. The contribution of a
    record depends only on the record and has a range of 2 G over the candidates.

    Each of the k records of a person changes the sums of only those regressions that its own code of the attribute
    enters. With u_a records of code a the regression of codes a and b changes by 2 G (u_a + u_b); over regressions,
    the sum and the sum of squares of this are convex in u, so the worst case is that all k records have one code: each
    regression that a code takes part in, `Node.composed` of them, with range 2 G k. Under "replace" records leave and
    come, 2 k in all.

    References
    ----------
    Talwar, Thakurta and Zhang 2015, "Nearly Optimal Private LASSO"; Zhang, Kamath, Kulkarni and Wu 2020, "Privately
    Learning Markov Random Fields".
    """

    def __init__(self, table: PrivateTable, regressions: Regressions) -> None:
        access = table.trusted_access
        copied = _copied(regressions, access.domain.shape)
        if max(access.domain.shape, default=0) > MOST_CODES:
            raise ValueError(f"Frank-Wolfe takes up to {MOST_CODES} values per attribute, got {access.domain!r}")
        if not has_rows(access.records()):
            raise TypeError("Frank-Wolfe steps need the records of a Dataset, a table of counts is not enough")
        self._access = access
        self._regressions = copied
        positions = np.arange(-_core.LOGISTIC_BINS, _core.LOGISTIC_BINS + 1) / _core.LOGISTIC_BINS
        with np.errstate(over="ignore"):  # of a radius beyond 709: a response of 0
            self._responses = np.rint(_RESPONSE / (1 + np.exp(-copied.radius * positions))).astype(np.int16)
        self._responses.setflags(write=False)

    @property
    def score_range(self) -> int:
        """Length of an interval that holds the changes of all scores of a regression between neighbours."""
        privacy = self._access.privacy
        records = (2 if privacy.neighbours == "replace" else 1) * privacy.records_per_person
        return 2 * int(self._responses.max()) * records

    def solve(self, amounts: Sequence[Number]) -> list[NDArray[np.float64]]:
        """Charge all steps of all regressions, then take them.

        Parameters
        ----------
        amounts : sequence of number
            Cost of each node's regressions, in the unit of the budget; more than 0.

        Returns
        -------
        list of ndarray of float64, shape (pairs, features)
            The weights of each node's regressions; 0 for features that are no candidates.

        Raises
        ------
        BudgetError
            If the charges do not fit; then nothing was read or charged.
        ValueError
            If there is not one amount for each node, or an amount is too small to draw with.
        """
        self._access.check_open()
        laws = self._charged([as_fraction("an amount", amount) for amount in amounts])
        with fixed_errors:
            return self._solved(laws)

    def _solved(self, laws: Sequence[Exponential]) -> list[NDArray[np.float64]]:
        codes = self._codes()
        tasks = [
            (node, pair, law) for node, law in zip(self._regressions.nodes, laws, strict=True) for pair in node.pairs
        ]
        at_once = max(1, 2 * len(codes))  # margins of so many regressions take no more than eight times the records
        parts = [self._learned(codes, tasks[i : i + at_once]) for i in range(0, len(tasks), at_once)]
        ends = np.cumsum([len(node.pairs) for node in self._regressions.nodes])
        return np.split(np.concatenate(parts), ends[:-1]) if parts else []

    def _charged(self, amounts: Sequence[Fraction]) -> list[Exponential]:
        """Charge each node's steps in one line; return the laws to draw from."""
        ledger, nodes, steps, unit = (
            self._access.ledger,
            self._regressions.nodes,
            self._regressions.steps,
            self.score_range,
        )
        if len(amounts) != len(nodes) or min(amounts, default=1) <= 0:
            raise ValueError(f"{len(nodes)} nodes need an amount above 0 each, got {len(amounts)}")
        if not nodes:
            return []
        whole, laws = sum(amounts, Fraction(0)), []
        for node, amount in zip(nodes, amounts, strict=True):
            composed = node.composed * steps
            epsilon = ledger.epsilon_of(amount, composed, has_range=True, others=whole - amount)
            laws.append(Exponential(drawable_rate(epsilon / unit) * unit, unit, len(node.pairs) * steps, composed))
        names = self._access.domain.attributes
        entries = [(f"({names[node.attribute]})", law) for node, law in zip(nodes, laws, strict=True)]
        ledger.charge_many("regress", entries, within="Frank-Wolfe")
        return laws

    def _codes(self) -> NDArray[np.uint8]:
        """Return the records, a row an attribute."""
        columns = in_rows(self._access.records()).columns
        return np.stack([np.asarray(columns[name], dtype=np.uint8) for name in self._access.domain])

    def _learned(
        self, codes: NDArray[np.uint8], tasks: Sequence[tuple[Node, tuple[int, int], Exponential]]
    ) -> NDArray[np.float64]:
        """Take all steps of some regressions side by side; return their weights."""
        regressions, n = self._regressions, len(tasks)
        features = [(list(feature.attributes), feature.code) for feature in regressions.features]
        labels = [(node.attribute, *pair) for node, pair, _ in tasks]
        sums = _core.LogisticSums(codes, features, labels, self._responses)
        candidates = [np.asarray(node.candidates, dtype=np.intp) for node, _, _ in tasks]
        chosen, amounts = np.zeros(n, dtype=np.uint32), np.zeros(n, dtype=np.int32)
        weights = np.zeros((n, len(features)), dtype=np.int64)
        for t in range(1, regressions.steps + 1):
            # Margins z of step t stand for radius * 2 z / (t (t + 1)); none has been made before the first.
            scale = 0 if t == 1 else (2 * _core.LOGISTIC_BINS << 32) // (t * (t + 1))
            scores = sums.step(chosen, amounts, scale, self._access.sampler.n_threads)
            for i, (_, _, law) in enumerate(tasks):
                candidate_scores = scores[i, candidates[i]]
                drawn = law.draw(np.concatenate([candidate_scores, -candidate_scores]), self._access.sampler)
                chosen[i] = candidates[i][drawn % len(candidate_scores)]
                amounts[i] = t + 1 if drawn < len(candidate_scores) else -(t + 1)
            weights[np.arange(n), chosen] += amounts
        unit = regressions.radius * (2 / ((regressions.steps + 1) * (regressions.steps + 2)))
        return np.asarray(unit * weights, dtype=np.float64)


def _copied(regressions: Regressions, shape: tuple[int, ...]) -> Regressions:
    """Return regressions in values of our own, checked: nothing of the caller's is looked at again."""
    features, steps = (
        tuple(_feature(feature, shape) for feature in regressions.features),
        checked_integer("steps", regressions.steps),
    )
    if not 1 <= steps <= MOST_STEPS:
        raise ValueError(f"Frank-Wolfe takes 1 to {MOST_STEPS} steps, got {steps}")
    nodes = tuple(_node(node, shape, len(features)) for node in regressions.nodes)
    return Regressions(features, nodes, checked_real("radius", regressions.radius), steps)


def _feature(given: Feature, shape: tuple[int, ...]) -> Feature:
    attributes = tuple(_below("an attribute of a feature", a, len(shape)) for a in given.attributes)
    code = checked_integer("the code of a feature", given.code, -(1 << 31))
    if code < 0:
        return Feature(attributes)
    if len(attributes) != 1:
        raise ValueError(f"the code of a feature is one of a single attribute, got {len(attributes)} attributes")
    return Feature(attributes, _below("the code of a feature", code, shape[attributes[0]]))


def _node(given: Node, shape: tuple[int, ...], n_features: int) -> Node:
    attribute = _below("the attribute of a node", given.attribute, len(shape))
    size = shape[attribute]
    pairs = tuple(
        (_below("a code of a pair", one, size), _below("a code of a pair", other, size)) for one, other in given.pairs
    )
    candidates = tuple(_below("a candidate", c, n_features) for c in given.candidates)
    if not pairs or not candidates or any(one == other for one, other in pairs):
        raise ValueError("a node needs at least one pair of different codes, and at least one candidate")
    return Node(attribute, pairs, candidates)


def _below(name: str, value: object, most: int) -> int:
    number = checked_integer(name, value)
    if number >= most:
        raise ValueError(f"{name} must be below {most}, got {number}")
    return number
