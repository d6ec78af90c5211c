"""Measurements as JSON and arrays, and back: how their queries are kept in a file."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from pypgm._base.fields import check_fields
from pypgm._base.memory import check_fits, short
from pypgm.domain import Domain
from pypgm.estimation.measurement import LinearMeasurement
from pypgm.files.format import MATRIX, QUERY
from pypgm.queries import BUILT_IN, Kronecker, LinearQuery, Matrix, Union
from pypgm.queries.entries import Rows
from pypgm.queries.folded import Folded

_KEPT = (*BUILT_IN, Folded, Kronecker, Union)
_CLASSES: dict[str, Callable[..., LinearQuery]] = {kind.__name__: kind for kind in _KEPT}
"""Queries that files hold as the arguments that make them, by name; others are kept as matrices."""

_CELL_BYTES = 16  # that a query may take for each cell it is on
_DENSE_ENTRIES = 1 << 22


class QueryTooLargeError(ValueError):
    """A query of a class that is not pypgm's has no matrix of a moderate size."""


def packed_measurements(measurements: Sequence[LinearMeasurement]) -> list[dict[str, Any]]:
    """Return the arguments that make measurements, as JSON and arrays; ``QueryTooLargeError`` if they cannot be."""
    plain = ("values", "clique", "stddev", "noise", "not_private")
    return [{name: getattr(m, name) for name in plain} | {"query": packed_query(m.query)} for m in measurements]


def unpacked_measurements(domain: Domain, entries: Sequence[Mapping[str, Any]]) -> tuple[LinearMeasurement, ...]:
    """Undo `packed_measurements`; ``ValueError``, ``KeyError`` or ``TypeError`` where something does not fit."""
    return tuple(_measurement(domain, entry).checked(domain) for entry in entries)


def _measurement(domain: Domain, entry: Mapping[str, Any]) -> LinearMeasurement:
    query = None
    if entry["query"] is not None:
        cells = domain.size(entry["clique"])
        check_fits(_CELL_BYTES * cells, None, f"a query on {tuple(entry['clique'])} has {short(cells)} cells", "")
        query = _unpacked(entry["query"], max(cells, entry["values"].size))
    return LinearMeasurement(**{**entry, "query": query})


def packed_query(value: object) -> object:
    """Return a query, or an argument of one, as JSON and arrays; ``QueryTooLargeError`` if it cannot be."""
    if isinstance(value, LinearQuery):
        if type(value) not in _KEPT:
            if value.nnz > _DENSE_ENTRIES:
                raise QueryTooLargeError(f"{value!r} is too large to be written as a matrix; save without it")
            value = Matrix(value.to_sparse())
        return {"class": type(value).__name__, "arguments": packed_query(value.__reduce__()[1])}
    if isinstance(value, Rows):
        return {"shape": value.shape, "entries": value.data, "columns": value.indices, "rows": value.indptr}
    if isinstance(value, tuple):  # groups of values are tens of thousands of integers
        return [*value] if {*map(type, value)} == {int} else [packed_query(part) for part in value]
    if isinstance(value, int | np.ndarray | None):
        return value
    raise TypeError(f"a query made of a {type(value).__name__} cannot be kept")  # no class of pypgm's is


def _unpacked(value: object, most: int) -> object:
    """Undo `packed_query`, where no number of cells or rows is above a bound."""
    if isinstance(value, list):
        return tuple(_unpacked(part, most) for part in value)
    if isinstance(value, int) and value > most:
        raise ValueError(f"a query is on {most} cells at most, got {short(value)}")
    if value is None or isinstance(value, int | np.ndarray):
        return value
    if not isinstance(value, dict):
        raise TypeError("arguments of a query are integers, arrays, lists of them, queries and matrices")
    if "class" in value:
        check_fields(value, QUERY, "query")
        if value["class"] not in _CLASSES:
            raise ValueError(f"a query is one of {', '.join(_CLASSES)}, got {value['class'][:40]!r}")
        arguments = [_unpacked(part, most) for part in value["arguments"]]
        try:
            return _CLASSES[value["class"]](*arguments)
        except TypeError:  # whose text may be of Python's own calls
            raise ValueError(f"a query of the class {value['class']} has other arguments") from None
    check_fields(value, MATRIX, "query")
    from scipy.sparse import csr_array

    parts = (value["entries"], value["columns"], value["rows"])
    if any(part.ndim != 1 for part in parts) or any(part.dtype.kind not in "iu" for part in parts[1:]):
        raise ValueError("a matrix needs lists of its entries, and of integers for their columns and rows")
    if max(value["shape"]) > most:
        raise ValueError(f"a matrix has {most} rows and columns at most, got {value['shape']}")
    matrix = csr_array(parts, shape=tuple(value["shape"]))
    matrix.check_format(full_check=True)
    return matrix
