"""All answers of some measurements at once, as a linear map of the marginals of some cliques."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pypgm.clique_vector import CliqueVector
from pypgm.domain import Clique, Domain
from pypgm.estimation.measurement import LinearMeasurement
from pypgm.queries import LinearQuery

_SPARSE = 8  # a query whose product costs no fewer than its entries over this goes into the sparse matrix
_ENTRIES = 1 << 20  # of one query in the sparse matrix at most: beyond it a call is not what takes the time


class StackedMeasurements:
    """The queries of measurements, one below the other, on a flat vector of the cells of some cliques.

    Queries with few entries are put into one sparse matrix, so that they cost one product; the others are called, which
    needs no memory for their entries.

    Parameters
    ----------
    domain : Domain
        All attributes.
    cliques : sequence of cliques
        Cliques whose tables are packed in the vector, each in the domain's order.
    measurements : sequence of LinearMeasurement
        Each on attributes of one of the cliques.
    unit : float
        Value of each answer, in standard deviations of its noise.

    Attributes
    ----------
    values : ndarray of float64
        The measured values in these units.
    """

    def __init__(
        self, domain: Domain, cliques: Sequence[Clique], measurements: Iterable[LinearMeasurement], unit: float = 1.0
    ) -> None:
        from scipy.sparse import csr_array

        tables = CliqueVector(domain, cliques)
        values = [np.empty(0)]
        self._called: list[tuple[LinearQuery, slice, slice, NDArray[np.float64]]] = []
        rows, columns, entries = [np.empty(0, np.int64)], [np.empty(0, np.int64)], [np.empty(0)]
        n = 0
        for m in measurements:
            home, query = m.on(tables)
            cells = tables.part(home)
            scale = 1.0 / (unit * m.spread())
            if query.nnz > min(_SPARSE * query.cost, _ENTRIES):
                self._called.append((query, cells, slice(n, n + scale.size), scale))
            else:
                sparse = query.to_sparse().tocoo()
                rows.append(n + sparse.row.astype(np.int64))
                columns.append(cells.start + sparse.col.astype(np.int64))
                entries.append(sparse.data * scale[sparse.row])
            values.append(m.values * scale)
            n += scale.size
        self.values = np.concatenate(values)
        places = (np.concatenate(rows), np.concatenate(columns))
        matrix = csr_array((np.concatenate(entries), places), shape=(n, tables.values.size))
        self._forth: Any = matrix
        self._back: Any = matrix.T.tocsr()

    def answers(self, marginals: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the answers of all queries on the cells."""
        answers: NDArray[np.float64] = self._forth @ marginals
        for query, cells, rows, scale in self._called:
            answers[rows] = scale * query.matvec(marginals[cells])
        return answers

    def transposed(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the transpose applied to one number per answer."""
        sums: NDArray[np.float64] = self._back @ weights
        for query, cells, rows, scale in self._called:
            sums[cells] += query.rmatvec(scale * weights[rows])
        return sums
