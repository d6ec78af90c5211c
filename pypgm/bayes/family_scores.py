"""Scores of an attribute with a set of parents, from the counts of complete records; each is computed once."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pypgm.data._tabulate import Columns
from pypgm.domain import Domain

Score = Literal["bdeu", "bic", "aic", "k2"]

_CHUNK = 1 << 20  # cells of families that are scored together
_DENSE = 8  # cells a record, up to which a family is counted with its empty cells


def set_of(positions: Iterable[int]) -> int:
    """Return the set of some positions; see `members`."""
    return sum(1 << p for p in positions)


def members(parents: int) -> tuple[int, ...]:
    """Return the positions of the attributes in a set, whose bits they are.

    Examples
    --------
    >>> members(0b1010)
    (1, 3)
    """
    positions = []
    while parents:
        lowest = parents & -parents
        positions.append(lowest.bit_length() - 1)
        parents ^= lowest
    return tuple(positions)


class _Counts(NamedTuple):
    """Positive counts of some families' cells and rows, each with the position of its family."""

    cells: NDArray[np.int64]
    of_cell: NDArray[np.intp]
    rows: NDArray[np.int64]
    of_row: NDArray[np.intp]

    @classmethod
    def of_tables(cls, tables: Sequence[NDArray[np.int64]]) -> _Counts:
        of_row = np.repeat(np.arange(len(tables)), [len(table) for table in tables])
        cells = np.concatenate(tables)
        rows = cells.sum(axis=1)
        some = np.flatnonzero(cells)
        return cls(cells.reshape(-1)[some], of_row[some // cells.shape[1]], rows[rows > 0], of_row[rows > 0])


class FamilyScores:
    r"""Scores of families over some complete records; the sum over the attributes scores a network.

    With counts :math:`n_{px}` of the records with parents p and value x, :math:`n_p` their sum, q combinations of the
    parents' values, r values and N records:

    - "bic", "aic": :math:`\sum n_{px} \log (n_{px} / n_p) - c\, q (r - 1)`, with :math:`c = \tfrac12 \log N`, or 1;
    - "bdeu", "k2": the natural log of the records' probability under a Dirichlet prior of
      :math:`\alpha = s / (q r)`, or :math:`\alpha = s`, for each cell and a strength s.

    Sets of parents are integers whose bits are positions in the domain.

    Parameters
    ----------
    domain : Domain
    columns : mapping of str to ndarray of int, shape (n_records,)
        Codes of every attribute.
    score : {"bdeu", "bic", "aic", "k2"}
    strength : float
        More than 0.

    Attributes
    ----------
    sizes : tuple of int
        Number of values of each attribute.
    n_computed : int
        Number of families scored so far.

    Examples
    --------
    >>> records = {"a": np.array([0, 0, 1, 1]), "b": np.array([0, 0, 1, 1])}
    >>> scores = FamilyScores(Domain({"a": 2, "b": 2}), records, "k2", 1.0)
    >>> np.exp(scores.of(1, [0, 0b01])) * 36
    array([1.2, 4. ])
    """

    def __init__(self, domain: Domain, columns: Mapping[str, NDArray[Any]], score: Score, strength: float) -> None:
        self.sizes = domain.shape
        self.n_computed = 0
        self._score, self._strength = score, strength
        self._codes = [_narrow(columns[a], domain.size(a)) for a in domain]
        self._n = len(self._codes[0]) if self._codes else 0
        self._columns = Columns(self._codes, self.sizes, self._n)
        self._known: list[dict[int, float]] = [{} for _ in self.sizes]

    def of(self, child: int, parents: Sequence[int]) -> NDArray[np.float64]:
        """Return the score of an attribute with each of some sets of parents."""
        known = self._known[child]
        new = [p for p in dict.fromkeys(parents) if p not in known]
        for counts, chunk in self._counted(child, new):
            known.update(zip(chunk, self._scored(child, counts, list(chunk.values())).tolist(), strict=True))
        return np.array([known[p] for p in parents])

    def total(self, parents: Sequence[int]) -> float:
        """Return the score of the network in which each attribute has a set of parents."""
        return math.fsum(float(self.of(child, [p])[0]) for child, p in enumerate(parents))

    def most_with_more(self, child: int, parents: int) -> float:
        r"""Return a bound on the score of an attribute with these parents, and with any that contain them.

        A likelihood is at most 1, so that the penalty alone bounds "bic" and "aic". Of the records with the same values
        of the parents the first one has probability 1 / r under both priors, and more parents divide records further.
        """
        axes, size = members(parents), self.sizes[child]
        q = math.prod([self.sizes[p] for p in axes])
        if self._score in {"bic", "aic"}:
            return -self._penalty() * q * (size - 1)
        if self._is_dense(q * size):
            return -math.log(size) * int(self._table(child, axes, q).any(axis=1).sum())
        return -math.log(size) * (int(self._places(axes).max()) + 1)

    def _penalty(self) -> float:
        return 1.0 if self._score == "aic" else math.log(max(self._n, 1)) / 2

    def _counted(self, child: int, sets: Sequence[int]) -> Iterator[tuple[_Counts, dict[int, int]]]:
        """Yield counts of the families of some sets of parents, in chunks; of each the combinations of their values."""
        tables: list[NDArray[np.int64]] = []
        chunk: dict[int, int] = {}
        cells, size = 0, self.sizes[child]
        for parents in sets:
            axes = members(parents)
            q = math.prod([self.sizes[p] for p in axes])
            if not self._is_dense(q * size):
                yield self._sparse_counts(child, axes), {parents: q}
                continue
            tables.append(self._table(child, axes, q))
            chunk[parents] = q
            cells += q * size
            if cells > _CHUNK:
                yield _Counts.of_tables(tables), chunk
                tables, chunk, cells = [], {}, 0
        if tables:
            yield _Counts.of_tables(tables), chunk

    def _is_dense(self, cells: int) -> bool:
        """Return whether a family of so many cells is counted with its empty ones."""
        return cells <= max(_DENSE * self._n, 1024)

    def _table(self, child: int, parents: tuple[int, ...], q: int) -> NDArray[np.int64]:
        """Return counts, a row for each of the q combinations of the parents' values."""
        table = np.zeros(q * self.sizes[child], dtype=np.int64)
        self._columns.count((*parents, child), table)
        return table.reshape(q, self.sizes[child])

    def _sparse_counts(self, child: int, parents: tuple[int, ...]) -> _Counts:
        place = self._places(parents)
        cells = np.bincount(self._divided(place, child))
        rows = np.bincount(place)
        return _Counts(cells, np.zeros_like(cells), rows, np.zeros_like(rows))

    def _places(self, axes: Iterable[int]) -> NDArray[np.int64]:
        """Return the number of each record's combination of values, among those that occur."""
        place = np.zeros(self._n, dtype=np.int64)
        for a in axes:  # numbered anew after each, so that no number overflows
            place = self._divided(place, a)
        return place

    def _divided(self, place: NDArray[np.int64], by: int) -> NDArray[np.int64]:
        codes = self._codes[by]
        return np.unique(place * (int(codes.max()) + 1) + codes, return_inverse=True)[1].reshape(-1)

    def _scored(self, child: int, counts: _Counts, combinations: Sequence[int]) -> NDArray[np.float64]:
        """Return the scores of families, of each of which the combinations of the parents' values are given."""
        from scipy.special import gammaln, xlogy

        n = len(combinations)
        self.n_computed += n
        size = self.sizes[child]
        q = np.array([c if c < 1 << 1023 else math.inf for c in combinations], dtype=np.float64)
        cells, of_cell, rows, of_row = counts
        if self._score in {"bic", "aic"}:
            likelihood = _sums(of_cell, xlogy(cells, cells), n) - _sums(of_row, xlogy(rows, rows), n)
            return likelihood - self._penalty() * q * (size - 1)
        each = self._strength / (q * size) if self._score == "bdeu" else np.full(n, self._strength)
        whole = each * size
        of_cells = _sums(of_cell, gammaln(cells + each[of_cell]) - gammaln(each)[of_cell], n)
        return of_cells - _sums(of_row, gammaln(rows + whole[of_row]) - gammaln(whole)[of_row], n)


def _sums(of: NDArray[np.intp], values: NDArray[Any], n: int) -> NDArray[np.float64]:
    """Return the sum of the values of each of n families."""
    return np.bincount(of, values, n).astype(np.float64)


def _narrow(codes: NDArray[Any], size: int) -> NDArray[Any]:
    """Return codes in the narrowest type, which is read fastest, and below the number of records if `size` is not."""
    if size > len(codes):
        codes = np.unique(codes, return_inverse=True)[1].reshape(-1)
    kind = np.uint8 if size <= 1 << 8 else np.uint16 if size <= 1 << 16 else np.int64
    return np.ascontiguousarray(codes, dtype=kind)
