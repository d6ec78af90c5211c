"""Queries whose sensitivities are believed, and matrices in the place of all others."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pypgm.domain import Clique, Domain, as_clique
from pypgm.queries import (
    AllRange,
    Contrasts,
    Identity,
    Kronecker,
    LinearQuery,
    Matrix,
    Partition,
    Prefix,
    Products,
    RangeList,
    Subset,
    Union,
)

__all__ = ["trusted_on", "trusted_query"]

_OWN = {AllRange, Contrasts, Identity, Matrix, Partition, Prefix, RangeList, Subset}
_MAX_CELLS = 4096


def trusted_query(query: LinearQuery | Products, cells: int) -> LinearQuery:
    """Return a query of pypgm as it is; of any other one its own matrix, found on unit vectors.

    A query of one's own is then neither asked for its sensitivity nor handed a count. Subclasses are others.

    Parameters
    ----------
    query : LinearQuery or Products
        What is to be measured.
    cells : int
        Cells of the table it is for.

    Raises
    ------
    ValueError
        If it is for another number of cells, is one of one's own on more than 4096, or has no integer matrix.
    TypeError
        If it is no query.
    """
    if not isinstance(query, LinearQuery | Products):
        raise TypeError(f"a query needs shape, matvec and rmatvec, got {type(query).__name__}")
    if query.shape[1] != cells:
        raise ValueError(f"the table has {cells} cells, the query is for {query.shape[1]}")
    if isinstance(query, LinearQuery) and _is_own(query):
        return query
    if cells > _MAX_CELLS:
        raise ValueError(f"a query of one's own is measured on up to {_MAX_CELLS} cells, got {cells}; pass its Matrix")
    units = np.eye(cells, dtype=np.int64)
    return Matrix(np.stack([np.asarray(query.matvec(unit)).reshape(-1) for unit in units], axis=1))


def trusted_on(
    domain: Domain, clique: str | Sequence[str], query: LinearQuery | Products | None
) -> tuple[Clique, LinearQuery | None, LinearQuery]:
    """Return a clique, the trusted query on it as a measurement has it, None for every cell, and the one to apply."""
    attributes = as_clique(clique)
    cells = domain.size(attributes)
    own = None if query is None else trusted_query(query, cells)
    return attributes, own, Identity(cells) if own is None else own


def _is_own(query: LinearQuery) -> bool:
    kind = type(query)
    if kind is Kronecker and isinstance(query, Kronecker):
        return all(map(_is_own, query.factors))
    if kind is Union and isinstance(query, Union):
        return all(map(_is_own, query.parts))
    return kind in _OWN
