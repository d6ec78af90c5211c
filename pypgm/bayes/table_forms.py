"""Conditional tables that name their values: mappings, and series and frames of pandas."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pypgm.domain import Clique, Domain
from pypgm.factor import Factor
from pypgm.graphs.evidence import code_of
from pypgm.numeric import float_array


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
        If a name is no value of its attribute, or comes twice, or a cell has no name.
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
