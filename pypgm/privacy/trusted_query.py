"""Queries whose stated sensitivities are trusted, and matrices in place of all others."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from pypgm.domain import Clique, Domain, as_clique
from pypgm.privacy.rational import Number, as_fraction
from pypgm.queries import BUILT_IN, Identity, Kronecker, LinearQuery, Matrix, Products, Union

Trusted = tuple[Clique, LinearQuery | None, LinearQuery]
"""A clique, the query on it as a measurement stores it, and the query to apply."""

_MAX_CELLS = 4096


def trusted_query(query: LinearQuery | Products, cells: int) -> LinearQuery:
    """Return a copy of a query of pypgm; for any other query its matrix, computed from unit vectors.

    A user's own query, or an instance of a subclass, is then neither asked for its sensitivity nor given a count. A
    copy is made from the arguments of the class: nobody else holds it, and none of its methods is overridden.

    Parameters
    ----------
    query : LinearQuery or Products
        The query to measure.
    cells : int
        Number of cells of its table.

    Raises
    ------
    ValueError
        If the query is for another number of cells, is a user's own on more than 4096, or has no integer matrix.
    TypeError
        If the object is not a query.
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
    """Return a clique of the domain's own strings, independent of the argument; ``ValueError`` for unknown names."""
    return domain.names(domain.indices(as_clique(clique)))


def named(clique: Clique) -> str:
    """Return the name of a clique in charges."""
    return f"({', '.join(clique)})"


def trusted_on(
    domain: Domain,
    clique: str | Sequence[str],
    query: LinearQuery | Products | None,
    known: dict[tuple[int, int], LinearQuery] | None = None,
) -> Trusted:
    """Return a clique, its trusted query as a measurement stores it, None for every cell, and the query to apply.

    Queries that are `known` already, by identity and number of cells, are not copied again.
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
    """Return the result of `trusted_on` for each clique, and its weight; ``ValueError`` if the numbers differ."""
    given = list(cliques)
    wanted = [None] * len(given) if queries is None else list(queries)
    shares = [Fraction(1)] * len(given) if weights is None else _exact(weights)
    distinct = {id(share): share for share in shares}.values()
    if not len(wanted) == len(shares) == len(given) >= 1 or min(distinct) <= 0:
        needed = f"{len(given)} cliques need as many queries and weights above 0"
        raise ValueError(f"{needed}, and at least one of each")
    known: dict[tuple[int, int], LinearQuery] = {}  # copies that nobody else holds, one for each query
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
    """Return an equal query made from the arguments of its class; None if that is not a class of pypgm."""
    make, arguments = type(query), query._arguments
    if make is Kronecker or make is Union:
        parts = [_copied(part) for part in arguments[0]]
        whole = [part for part in parts if part is not None]
        return make(whole) if len(whole) == len(parts) else None
    return make(*arguments) if any(make is built_in for built_in in BUILT_IN) else None
