"""All answers of some measurements at once, as a linear map of the marginals of some cliques."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pypgm.domain import Clique, Domain
from pypgm.estimation.measurement import LinearMeasurement
from pypgm.factor import transpose_cells
from pypgm.queries import LinearQuery

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Stacked", "cells_as_written"]

_SPARSE = 8  # a query whose product costs no fewer than its entries over this goes into the sparse matrix


class Stacked:
    """The queries of measurements, one below the other, on a flat vector of the cells of some cliques.

    Queries with few entries are put into one sparse matrix, so that they cost one product; the others are called.

    Parameters
    ----------
    domain : Domain
        All attributes.
    cliques : sequence of cliques
        Whose tables stand in the vector, one behind the other, each in the domain's order.
    measurements : sequence of LinearMeasurement
        Each on one of the cliques.
    """

    def __init__(self, domain: Domain, cliques: Sequence[Clique], measurements: Sequence[LinearMeasurement]) -> None:
        from scipy.sparse import csr_array

        ends = np.cumsum([0, *(domain.size(c) for c in cliques)])
        first = {c: int(ends[i]) for i, c in reversed(list(enumerate(cliques)))}
        self.values = np.concatenate([np.empty(0), *(m.values for m in measurements)])
        self._cells = int(ends[-1])
        self._called: list[tuple[LinearQuery, NDArray[np.int64], slice]] = []
        rows, columns, entries = [np.empty(0, np.int64)], [np.empty(0, np.int64)], [np.empty(0)]
        n = 0
        for m in measurements:
            cells = first[domain.canonical(m.clique)] + cells_as_written(domain, m.clique)
            query = m.linear_map
            if query.nnz > _SPARSE * query.cost:
                self._called.append((query, cells, slice(n, n + m.values.size)))
            else:
                own = query.to_sparse().tocoo()
                rows.append(n + own.row.astype(np.int64))
                columns.append(cells[own.col])
                entries.append(own.data.astype(np.float64))
            n += m.values.size
        where = (np.concatenate(rows), np.concatenate(columns))
        matrix = csr_array((np.concatenate(entries), where), shape=(n, self._cells))
        self._forth: Any = matrix
        self._back: Any = matrix.T.tocsr()

    def answers(self, marginals: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the answers of all queries on the cells, counts."""
        answers: NDArray[np.float64] = self._forth @ marginals
        for query, cells, own in self._called:
            answers[own] = query.matvec(marginals[cells])
        return answers

    def transposed(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the transpose applied to one number an answer."""
        cells: NDArray[np.float64] = self._back @ weights
        for query, where, own in self._called:
            cells[where] += query.rmatvec(weights[own])
        return cells


def cells_as_written(domain: Domain, clique: Clique) -> NDArray[np.int64]:
    """Return for each cell of a clique's table as it is written its place in the table in the domain's order."""
    canonical = domain.canonical(clique)
    places = np.arange(domain.size(clique), dtype=np.int64)
    return transpose_cells(places, domain.project(canonical), clique)
