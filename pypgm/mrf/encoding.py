"""Records as features of regressions, and regressions read as the weights of a pairwise field."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, pairwise

import numpy as np
from numpy.typing import NDArray

from pypgm.clique_vector import CliqueVector
from pypgm.data import Dataset
from pypgm.domain import Domain

_MOST_KEYS = 2**62


@dataclass(frozen=True, eq=False)
class Records:
    """Distinct records with their counts.

    Attributes
    ----------
    domain : Domain
    codes : ndarray of int, shape (M, n_attributes)
    counts : ndarray of float64, shape (M,)
        Number of records of each, or the sum of its weights.
    """

    domain: Domain
    codes: NDArray[np.intp]
    counts: NDArray[np.float64]

    @cached_property
    def offsets(self) -> NDArray[np.intp]:
        """The column of code 0 of each attribute among the one-hot features, and the intercept's."""
        return np.concatenate([[0], np.cumsum(self.domain.shape)])

    @cached_property
    def signs(self) -> NDArray[np.float64]:
        """Codes 0, 1 of binary attributes as -1, +1, and a last column of ones."""
        return np.column_stack([2.0 * self.codes - 1.0, np.ones(len(self.codes))])

    @cached_property
    def one_hot(self) -> NDArray[np.float64]:
        """An indicator of each code of each attribute, and a last column of ones."""
        features = np.zeros((len(self.codes), self.offsets[-1] + 1))
        features[np.arange(len(self.codes))[:, None], self.codes + self.offsets[:-1]] = 1
        features[:, -1] = 1
        return features


@dataclass(frozen=True, slots=True, eq=False)
class Field:
    r"""A pairwise field: log p(z) = const + sum over i of fields + half the sum over i, j of weights.

    Attributes
    ----------
    domain : Domain
    weights : ndarray of float64, shape (D, D)
        D the sum of sizes; W_ij(a, b) stands at (offset of i + a, offset of j + b). Symmetric; rows and columns of each
        block sum to 0; blocks on the diagonal are 0.
    fields : ndarray of float64, shape (D,)
        The values of an attribute sum to 0.
    """

    domain: Domain
    weights: NDArray[np.float64]
    fields: NDArray[np.float64]

    def to_potentials(self) -> CliqueVector:
        """Return the log-potentials of all pairs and all attributes, up to the constant."""
        names, ends = self.domain.attributes, np.cumsum([0, *self.domain.shape])
        codes = [slice(a, b) for a, b in pairwise(ends)]
        pairs = list(combinations(range(len(names)), 2))
        tables = [self.weights[codes[i], codes[j]].ravel() for i, j in pairs]
        cliques = [(names[i], names[j]) for i, j in pairs] + [(name,) for name in names]
        return CliqueVector(self.domain, cliques, np.concatenate([*tables, self.fields]))

    def strengths(self) -> NDArray[np.float64]:
        """Return the largest absolute weight between each two attributes, shape (n, n)."""
        starts = np.cumsum([0, *self.domain.shape[:-1]])
        return np.asarray(np.maximum.reduceat(np.maximum.reduceat(np.abs(self.weights), starts, 0), starts, 1))

    def edges(self, threshold: float) -> frozenset[tuple[str, str]]:
        """Return the pairs of attributes, in the domain's order, whose strength is at least a threshold."""
        names = self.domain.attributes
        first, second = np.nonzero(np.triu(self.strengths(), 1) >= threshold)
        return frozenset((names[i], names[j]) for i, j in zip(first, second, strict=True) if i < j)


def distinct_records(data: Dataset) -> Records:
    """Return the distinct records of a table; their order depends only on their values.

    Examples
    --------
    >>> found = distinct_records(Dataset({"a": [1, 0, 1], "b": [2, 0, 2]}, Domain({"a": 2, "b": 3})))
    >>> found.codes.tolist(), found.counts.tolist()
    ([[0, 0], [1, 2]], [1.0, 2.0])
    """
    domain = data.domain
    rows = np.stack([data.columns[name] for name in domain], axis=1).astype(np.intp)
    if domain.size() <= _MOST_KEYS:
        keys = np.ravel_multi_index(tuple(rows.T), domain.shape)
        _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    else:
        _, first, inverse = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    return Records(domain, rows[first], np.bincount(inverse.reshape(-1), data.weights, len(first)).astype(np.float64))


def centred_field(domain: Domain, weights: NDArray[np.float64], fields: NDArray[np.float64]) -> Field:
    """Return the field in which both directions of each pair are averaged and all blocks centred.

    Parameters
    ----------
    domain : Domain
    weights : ndarray of float64, shape (D, D)
        Blocks (i, j) of the weights as learned from attribute i, in any gauge; those on the diagonal are ignored.
    fields : ndarray of float64, shape (D,)
    """
    owner = np.repeat(np.arange(len(domain)), domain.shape)
    mean = np.eye(len(domain))[owner] / np.repeat(domain.shape, domain.shape)[:, None]  # (D, n): averages over a block
    member = (owner[:, None] == np.arange(len(domain))).astype(np.float64)
    apart = np.where(owner[:, None] == owner, 0.0, weights)
    row_means = apart @ mean  # (D, n): W_ij(u, .) averaged over j's codes
    centred = apart - row_means @ member.T
    folded = fields + row_means.sum(axis=1)
    centred -= member @ (mean.T @ centred)
    folded -= member @ (mean.T @ folded)
    return Field(domain, (centred + centred.T) / 2, folded)


def field_of_signs(domain: Domain, weights: NDArray[np.float64]) -> Field:
    """Return the field of binary attributes whose regressions, on signs, have weights of shape (n, n + 1)."""
    # P(z_i = 1) = sigma(2 (sum of A_ij z_j + theta_i)); A z_i z_j is the table A s(a) s(b) with s = (-1, 1).
    halves = weights / 2
    couplings = np.asarray(np.kron(halves[:, :-1], [[1.0, -1.0], [-1.0, 1.0]]))
    return centred_field(domain, couplings, np.asarray(np.kron(halves[:, -1], [-1.0, 1.0])))


def field_of_pairs(domain: Domain, rows: Iterable[tuple[int, tuple[int, int], NDArray[np.float64]]]) -> Field:
    """Return the field of regressions between two codes u, v of an attribute, on indicators of all codes."""
    offsets = np.cumsum([0, *domain.shape])
    weights, fields = np.zeros((offsets[-1],) * 2), np.zeros(offsets[-1])
    for attribute, (u, v), row in rows:
        # U^{uv} = -U^{vu}, and W(u, .) is the mean of U^{uv} over all v, u itself with 0.
        for code, sign in ((u, 1), (v, -1)):
            weights[offsets[attribute] + code] += sign * row[:-1] / domain.shape[attribute]
            fields[offsets[attribute] + code] += sign * row[-1] / domain.shape[attribute]
    return centred_field(domain, weights, fields)
