"""Checks of a directed graph and its conditional tables, which may name their values."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pypgm._base.numeric import float_array
from pypgm._base.terminal import escaped
from pypgm.domain import Clique, Domain, listed
from pypgm.factor import Factor
from pypgm.graphs.evidence import code_of


def check_network(net: object) -> None:
    """Raise ``TypeError`` unless something is a network with tables."""
    if not (hasattr(net, "domain") and hasattr(net, "parents") and hasattr(net, "tables")):
        raise TypeError(f"a pypgm.bayes.BayesianNetwork is needed, got {type(net).__name__}")


def aligned(domain: Domain, scope: Clique, table: Any) -> Any:  # noqa: ANN401 - an array of any kind
    """Return a table that names its values as a `Factor`, with cells ordered by the names; any other unchanged.

    Parameters
    ----------
    domain : Domain
    scope : tuple of str
        The parents and the attribute.
    table : mapping, Series, DataFrame or array_like
        A mapping is from labels, or tuples of labels, to probabilities, rows or further mappings, the parents first. A
        series or frame of pandas is aligned by its index and columns: by their names if these are the attributes, else
        with the parents first.

    Raises
    ------
    ValueError
        If a name is not a value of its attribute, or is repeated, or a cell has no name.
    TypeError
        If the table is a frame without an index.

    Examples
    --------
    >>> domain = Domain({"rain": ["no", "yes"], "wet": ["no", "yes"]})
    >>> aligned(domain, ("rain", "wet"), {"yes": {"yes": 0.9, "no": 0.1}, "no": [0.75, 0.25]}).values
    array([[0.75, 0.25],
           [0.1 , 0.9 ]])
    """
    if not isinstance(table, Mapping | Factor) and hasattr(table, "columns") and not hasattr(table, "index"):
        raise TypeError(f"a {type(table).__name__} does not say which row is which: pass an array or a mapping")
    if isinstance(table, Mapping):
        named = table
    elif hasattr(table, "to_dict") and hasattr(table, "index"):
        axes = [table.index, *([table.columns] if hasattr(table, "columns") else [])]
        if not all(axis.is_unique for axis in axes):
            raise ValueError("a value comes twice in the index or the columns")
        names = tuple(name for axis in axes for name in axis.names)
        scope = names if set(names) == set(scope) else scope
        named = table.to_dict("index") if len(axes) == 2 else table.to_dict()
    else:
        return table
    cells = np.full(domain.sizes(scope), np.nan)
    _fill(cells, domain, scope, named)
    if np.isnan(cells).any():
        raise ValueError(f"{int(np.isnan(cells).sum())} of {cells.size} cells have no probability")
    return Factor(domain.project(scope), cells)


def _fill(cells: NDArray[np.float64], domain: Domain, scope: Clique, table: Any) -> None:  # noqa: ANN401
    """Set the cells that a mapping of the values of the first attributes names, or an array of all."""
    if not isinstance(table, Mapping):
        values = float_array("probabilities", table)
        if values.shape != cells.shape:
            raise ValueError(f"a row needs shape {cells.shape}, got {values.shape}")
        cells[...] = values
        return
    for key, inner in table.items():
        names = key if isinstance(key, tuple) else (key,)
        if len(names) > len(scope):
            raise ValueError(f"{len(scope)} values are needed for {scope}, got {len(names)}")
        place = tuple(code_of(domain, a, value) for a, value in zip(scope, names, strict=False))
        rest: tuple[Any, ...] = (*place, Ellipsis)  # a view, even of one cell
        _fill(cells[rest], domain, scope[len(names) :], inner)


EXACT = 1e-12
"""Rows that sum to 1 within this do so but for rounding."""
_SUM_TOLERANCE = 1e-4  # printed digits may leave rows this far from 1


class NetworkError(ValueError):
    """Error of an impossible network; `attribute` names the attribute at fault."""

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
        If the arcs form a cycle; the message names a cycle.
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
    return _read_only(domain.project(scope), values)


def normalised(table: Factor) -> Factor:
    """Return a conditional table whose rows are divided by their sums."""
    values = table.values
    return _read_only(table.domain, values / values.sum(axis=-1, keepdims=True))


def _read_only(domain: Domain, values: NDArray[np.float64]) -> Factor:
    cells = np.ascontiguousarray(values).reshape(-1)
    cells.flags.writeable = False
    return Factor.over(domain, cells)


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
