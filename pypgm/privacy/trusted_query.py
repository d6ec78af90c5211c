"""Queries whose sensitivities are believed, and matrices in the place of all others."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from pypgm.domain import Clique, Domain, as_clique
from pypgm.privacy.rational import Number, as_fraction
from pypgm.queries import BUILT_IN, Identity, Kronecker, LinearQuery, Matrix, Products, Union

Trusted = tuple[Clique, LinearQuery | None, LinearQuery]
"""A clique, the query on it as a measurement has it, and the one to apply."""

_MAX_CELLS = 4096


def trusted_query(query: LinearQuery | Products, cells: int) -> LinearQuery:
    """Return a copy of a query of pypgm; of any other one its own matrix, found on unit vectors.

    A query of one's own is then neither asked for its sensitivity nor handed a count. Subclasses are others. A copy is
    made anew of what its class makes an equal one of: nobody else holds it, and nothing was put over its methods.

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
    copy = _copied(query) if isinstance(query, LinearQuery) else None
    if copy is not None:
        if copy.shape[1] != cells:
            raise ValueError(f"the table has {cells} cells, the query is for {copy.shape[1]}")
        return copy
    if cells > _MAX_CELLS:
        raise ValueError(f"a query of one's own is measured on up to {_MAX_CELLS} cells, got {cells}; pass its Matrix")
    units = np.eye(cells, dtype=np.int64)
    return Matrix(np.stack([np.asarray(query.matvec(unit)).reshape(-1) for unit in units], axis=1))


def own_clique(domain: Domain, clique: str | Sequence[str]) -> Clique:
    """Return a clique in the domain's own texts, whatever those given do later; ``ValueError`` for unknown names."""
    return domain.names(domain.indices(as_clique(clique)))


def named(clique: Clique) -> str:
    """Return a clique as charges name it."""
    return f"({', '.join(clique)})"


def trusted_on(
    domain: Domain,
    clique: str | Sequence[str],
    query: LinearQuery | Products | None,
    known: dict[tuple[int, int], LinearQuery] | None = None,
) -> Trusted:
    """Return a clique, the trusted query on it as a measurement has it, None for every cell, and the one to apply.

    Queries that are `known` already, by what was given and the number of cells, are not copied again.
    """
    positions = domain.indices(as_clique(clique))
    cells = math.prod([domain.shape[i] for i in positions])
    done = None if known is None else known.get((id(query), cells))
    if done is None:
        done = Identity(cells) if query is None else trusted_query(query, cells)
        if known is not None:
            known[id(query), cells] = done
    return domain.names(positions), None if query is None else done, done


def trusted_many(
    domain: Domain,
    cliques: Sequence[str | Sequence[str]],
    queries: Sequence[LinearQuery | Products | None] | None,
    weights: Sequence[Number] | None,
) -> tuple[list[Trusted], list[Fraction]]:
    """Return what `trusted_on` does of each clique, and its weight; ``ValueError`` unless there are as many of each."""
    given = list(cliques)
    wanted = [None] * len(given) if queries is None else list(queries)
    shares = [Fraction(1)] * len(given) if weights is None else _exact(weights)
    if not len(wanted) == len(shares) == len(given) >= 1 or min(shares) <= 0:
        needed = f"{len(given)} cliques need as many queries and weights above 0"
        raise ValueError(f"{needed}, and at least one of each")
    known: dict[tuple[int, int], LinearQuery] = {}  # copies that nobody else holds, one for all cliques given one query
    trusted = [trusted_on(domain, clique, query, known) for clique, query in zip(given, wanted, strict=True)]
    return trusted, shares


def _exact(weights: Sequence[Number]) -> list[Fraction]:
    """Return weights as rationals, equal floats as one."""
    known: dict[float, Fraction] = {}
    shares = []
    for weight in weights:
        share = known.get(weight) if type(weight) is float else None
        if share is None:
            share = as_fraction("a weight", weight)
            if type(weight) is float:
                known[weight] = share
        shares.append(share)
    return shares


def _copied(query: LinearQuery) -> LinearQuery | None:
    """Return an equal query made anew of what its class makes one of; None if that is no class of pypgm."""
    make, arguments = type(query), query._arguments
    if make is Kronecker or make is Union:
        parts = [_copied(part) for part in arguments[0]]
        whole = [part for part in parts if part is not None]
        return make(whole) if len(whole) == len(parts) else None
    return make(*arguments) if any(make is built_in for built_in in BUILT_IN) else None
