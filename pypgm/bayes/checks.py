"""Checks of a directed graph and its conditional tables."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pypgm.bayes.table_forms import aligned
from pypgm.domain import Clique, Domain, listed
from pypgm.factor import Factor
from pypgm.numeric import float_array
from pypgm.terminal import escaped

EXACT = 1e-12
"""Rows that sum to 1 within this do so but for rounding."""
_SUM_TOLERANCE = 1e-4  # printed digits may leave rows this far from 1


class NetworkError(ValueError):
    """Error of an impossible network; `attribute` names the place."""

    def __init__(self, attribute: str, message: str) -> None:
        super().__init__(message)
        self.attribute = attribute


def check_family(domain: Domain, child: str, parents: Clique) -> None:
    """Raise `NetworkError` unless a child and its parents are different attributes of the domain."""
    try:
        domain.indices((*parents, child))
    except ValueError as error:
        raise NetworkError(child, str(error)) from None


def children_of(domain: Domain, parents: Mapping[str, Clique]) -> dict[str, list[str]]:
    """Return the children of each attribute, both in the order of the domain."""
    children: dict[str, list[str]] = {a: [] for a in domain}
    for child in domain:
        for parent in parents[child]:
            children[parent].append(child)
    return children


def ordered(domain: Domain, parents: Mapping[str, Clique]) -> Clique:
    """Return the attributes, parents before children and otherwise in the domain's order.

    Raises
    ------
    NetworkError
        If the arcs run in a circle; the message names one.
    """
    waiting = {a: len(parents[a]) for a in domain}
    children = children_of(domain, parents)
    order = [a for a in domain if not waiting[a]]
    for attribute in order:
        for child in children[attribute]:
            waiting[child] -= 1
            if not waiting[child]:
                order.append(child)
    if len(order) < len(domain):
        circle = _circle(parents, {a: None for a in domain if waiting[a]})
        raise NetworkError(circle[0], f"the arcs of a network may not run in a circle: {' <- '.join(circle)}")
    return tuple(order)


def _circle(parents: Mapping[str, Clique], left: Mapping[str, None]) -> list[str]:
    """Return a circle among attributes that all have a parent among them."""
    path = [next(iter(left))]
    while path[-1] not in path[:-1]:
        path.append(next(p for p in parents[path[-1]] if p in left))
    return path[path.index(path[-1]) :]


def checked_table(domain: Domain, child: str, parents: Clique, table: Any) -> Factor:  # noqa: ANN401 - see `aligned`
    """Return a conditional table over (parents, child) whose rows are distributions, give or take printed digits.

    Raises
    ------
    NetworkError
        If the shape is not (sizes of the parents, size of the child), an entry is negative, infinite or NaN, or a row
        sums to something else than 1 within 1e-4.
    """
    scope = (*parents, child)
    try:
        table = aligned(domain, scope, table)
    except (TypeError, ValueError) as error:
        raise NetworkError(child, f"the table of {child!r}: {error}") from None
    if isinstance(table, Factor):
        if set(table.domain) != set(scope):
            raise NetworkError(child, f"the table of {child!r} must be over {scope}, got {table.domain.attributes}")
        table = table.transpose(scope).values
    values = np.array(float_array(f"the table of {child!r}", table))
    if values.shape != domain.sizes(scope):
        what = f"the table of {child!r} needs shape {domain.sizes(scope)}, of ({listed(scope)})"
        raise NetworkError(child, f"{what}, got {values.shape}{_other_layout(values, domain.sizes(scope))}")
    bad = ~((values >= 0) & (values < np.inf))
    if bad.any():
        where = _row(domain, parents, np.argwhere(bad)[0])
        raise NetworkError(child, f"probabilities of {child!r}{where} must be finite and at least 0")
    far = np.abs(values.sum(axis=-1) - 1) > _SUM_TOLERANCE
    if far.any():
        position = np.argwhere(far)[0]
        total = float(values[tuple(position)].sum())
        where = _row(domain, parents, position)
        turned = values.ndim > 1 and (np.abs(values.sum(axis=0) - 1) <= _SUM_TOLERANCE).all()
        hint = f"; sums over the first axis do: the values of {child!r} are the last axis here" if turned else ""
        what = f"probabilities of {child!r}{where} must sum to 1 within {_SUM_TOLERANCE:g}, got {total}"
        raise NetworkError(child, what + hint)
    values = np.ascontiguousarray(values).reshape(-1)
    values.flags.writeable = False
    return Factor.over(domain.project(scope), values)


def _other_layout(values: NDArray[np.float64], shape: tuple[int, ...]) -> str:
    """Return advice, as the end of a sentence, on a table that has the layout of another package."""
    if values.size != math.prod(shape):
        return ""
    if values.ndim == 2 and values.shape[0] == shape[-1] != values.shape[1]:
        return f"; of one with a column for each of the parents' values, as in pgmpy, pass table.T.reshape({shape})"
    return f"; if its cells are in that order, pass table.reshape({shape})"


def row_error(values: NDArray[np.float64]) -> float:
    """Return the largest deviation of a row's sum from 1."""
    return float(np.abs(values.sum(axis=-1) - 1).max())


def _row(domain: Domain, parents: Clique, position: NDArray[np.intp]) -> str:
    if not parents:
        return ""
    codes = [int(c) for c in position[: len(parents)]]
    shown = (f"{p}={domain.labels[p][c] if p in domain.labels else c}" for p, c in zip(parents, codes, strict=True))
    return f" given {escaped(', '.join(shown))}"
