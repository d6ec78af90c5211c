"""Expected counts of records with missing values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pypgm.bayes.frames import MISSING
from pypgm.clique_vector import CliqueVector
from pypgm.domain import Clique, Domain
from pypgm.factor import Factor
from pypgm.graphs import JunctionTree
from pypgm.inference._variable_elimination import log_elimination

_CELLS = 1 << 22  # cells of a junction tree over a chunk of records: 32 MiB, beyond which larger chunks are no faster
_ROWS = 1024  # of a chunk, at most


@dataclass(frozen=True)
class _Chunk:
    """Distinct incomplete records, and the weight of each."""

    domain: Domain
    tree: JunctionTree
    known: list[Factor]
    weights: NDArray[np.float64]


class PartlyKnown:
    """Records with missing values, laid out for many passes over them.

    Complete records are counted once. The others are an attribute of their own in each pass, so that one junction tree
    serves all patterns of missing values: a pass costs their number times the cells of the network's tree.

    Parameters
    ----------
    domain : Domain
    families : sequence of tuple of str
        The tables to fill in, one for each attribute.
    columns : mapping of str to ndarray of int, shape (n_rows,)
        Codes, -1 where a value is missing; an attribute without a column is missing in every row.
    weights : ndarray of float64, shape (n_rows,)

    Attributes
    ----------
    complete : list of ndarray of float64
        Counts of each family over the records without a missing value, with the shape of its table.
    available : list of ndarray of float64
        Counts of each family over the records in which all of its attributes are known.
    total : float
        Sum of all weights.

    Raises
    ------
    ModelTooLargeError
        If the junction tree of the network does not fit even for one record.
    """

    def __init__(
        self,
        domain: Domain,
        families: Sequence[Clique],
        columns: Mapping[str, NDArray[np.intp]],
        weights: NDArray[np.float64],
    ) -> None:
        self._domain, self._families = domain, list(families)
        self._trees: dict[int, JunctionTree] = {}  # by records of a chunk
        hidden = np.full(len(weights), MISSING)
        codes = np.stack([columns.get(a, hidden) for a in domain], axis=1) if len(domain) else hidden[:, None][:, :0]
        known = (codes != MISSING).all(axis=1) | (weights == 0)
        self.complete = [self._counted(f, codes[known], weights[known]) for f in self._families]
        self.available = [self._counted(f, codes, weights) for f in self._families]
        distinct, index = np.unique(codes[~known], axis=0, return_inverse=True)
        times = np.bincount(index.reshape(-1), weights[~known], len(distinct)).astype(np.float64)
        self.total = float(weights.sum())
        self._chunks = self._laid_out(distinct, times)

    @property
    def incomplete(self) -> bool:
        """Whether a value is missing in any record of positive weight."""
        return bool(self._chunks)

    def expected(
        self, tables: Sequence[NDArray[np.float64]], n_threads: int = 0
    ) -> tuple[list[NDArray[np.float64]], float]:
        """Return the expected counts of each family under conditional tables, and the log-likelihood of the records.

        Parameters
        ----------
        tables : sequence of ndarray of float64
            Conditional tables of the families, under which no record is impossible.
        n_threads : int
            0 for all threads.
        """
        with np.errstate(divide="ignore"):
            logs = [np.log(table) for table in tables]
        counts = [counted.copy() for counted in self.complete]
        likelihood = sum(
            float(counted[counted > 0] @ log[counted > 0]) for counted, log in zip(counts, logs, strict=True)
        )
        given = [Factor(self._domain.project(f), log) for f, log in zip(self._families, logs, strict=True)]
        for chunk in self._chunks:
            factors = [*given, *chunk.known]
            row = chunk.domain.attributes[:1]
            evidence = log_elimination(chunk.domain, factors, row, n_threads=n_threads).datavector()
            likelihood += float(chunk.weights @ evidence)
            # Each record keeps its weight, however unlikely it is.
            level = Factor(chunk.domain.project(row), np.log(chunk.weights) - evidence)
            potentials = CliqueVector.from_factors(chunk.domain, [*factors, level])
            marginals = chunk.tree.marginals(potentials, float(chunk.weights.sum()), n_threads=n_threads)
            for i, family in enumerate(self._families):
                counts[i] += marginals[family].values
        return counts, likelihood

    def _counted(self, family: Clique, codes: NDArray[np.intp], weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the counts of a family over the rows in which it is known."""
        shape = self._domain.sizes(family)
        columns = codes[:, self._domain.indices(family)]
        known = (columns != MISSING).all(axis=1)
        cells = np.ravel_multi_index(tuple(columns[known].T), shape)
        counts = np.bincount(cells, weights[known], self._domain.size(family))
        return counts.astype(np.float64).reshape(shape)  # counts of no rows are integers

    def _laid_out(self, codes: NDArray[np.intp], weights: NDArray[np.float64]) -> list[_Chunk]:
        """Return distinct records in chunks of about equal size, each with its plan."""
        if not len(codes):
            return []
        one = self._planned(codes[:1], weights[:1])
        rows = rows_of_a_chunk(one.tree)
        parts = -(-len(codes) // rows)
        cuts = zip(np.array_split(codes, parts), np.array_split(weights, parts), strict=True)
        return [self._planned(part, times) for part, times in cuts]

    def _planned(self, codes: NDArray[np.intp], weights: NDArray[np.float64]) -> _Chunk:
        domain, known = beside_rows(self._domain, self._domain.attributes, codes)
        cliques = [*self._families, *(f.domain.attributes for f in known), domain.attributes[:1]]
        if len(codes) not in self._trees:
            self._trees[len(codes)] = JunctionTree(domain, [domain.canonical(c) for c in cliques])
        return _Chunk(domain, self._trees[len(codes)], known, weights)


def rows_of_a_chunk(tree: JunctionTree) -> int:
    """Return the best number of records to pass together through the junction tree of one record."""
    return int(np.clip(_CELLS / tree.cost.cells, 1, _ROWS))


def beside_rows(domain: Domain, names: Sequence[str], codes: NDArray[np.intp]) -> tuple[Domain, list[Factor]]:
    """Return a domain with an attribute for rows before its others, and the evidence of each row.

    Parameters
    ----------
    domain : Domain
    names : sequence of str
        Attributes of the columns.
    codes : ndarray of int, shape (n_rows, n_names)
        -1 where a value is missing.

    Returns
    -------
    domain : Domain
    known : list of Factor
        Factors over the row and each attribute: 0 for the value of the row, or for all values if it is missing; else
        -inf.
    """
    row = "row"
    while row in domain:
        row += "_"
    extended = Domain([row, *domain], [len(codes), *domain.shape])
    known = []
    for a, column in zip(names, codes.T, strict=True):
        fits = (column[:, None] == np.arange(domain.size(a))) | (column[:, None] == MISSING)
        known.append(Factor(extended.project((row, a)), np.where(fits, 0.0, -np.inf)))
    return extended, known
