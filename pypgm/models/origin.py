"""What a model was estimated from: enough to estimate it again from other answers, and to keep it in a file."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from pypgm.clique_vector import CliqueVector
from pypgm.domain import Clique, Domain
from pypgm.estimation.measurement import LinearMeasurement
from pypgm.fields import check_fields
from pypgm.files.format import MATRIX, QUERY
from pypgm.memory import check_fits, short
from pypgm.queries import (
    AllRange,
    Contrasts,
    Identity,
    Kronecker,
    LinearQuery,
    Matrix,
    Partition,
    Prefix,
    RangeList,
    Subset,
    Union,
)
from pypgm.queries.entries import SparseArray
from pypgm.queries.folded import Folded

if TYPE_CHECKING:
    from pypgm.models.queryable import Queryable

__all__ = ["Earlier", "Origin", "QueryTooLargeError", "packed_measurements", "unpacked_measurements"]

_KEPT = (AllRange, Contrasts, Folded, Identity, Kronecker, Matrix, Partition, Prefix, RangeList, Subset, Union)
_CLASSES: dict[str, Callable[..., LinearQuery]] = {kind.__name__: kind for kind in _KEPT}
"""Queries that files hold as the arguments that make them, by name; others are kept as matrices."""

_CELL_BYTES = 16  # that a query may take for each cell it is on
_DENSE_ENTRIES = 1 << 22

Again = Callable[..., Callable[..., "Queryable[Any]"]]
"""Returns how to make a model like one given from other answers to the same queries, and another prior where one is
given: by its origin (that of a prior: how to make such a prior), on a clock's threads, within its time (the fit says
whether that ended it), and on another region graph where one is given."""


@dataclass(frozen=True, slots=True, eq=False)
class Origin:
    """Measurements and options of an estimate, over the attributes that inference ran on.

    Attributes
    ----------
    measurements : tuple of LinearMeasurement
        The noisy answers.
    total_is_known : bool
        Whether the number of records was given, not estimated.
    options : dict
        Those of the estimate: loss, method, stop, stepsize, iterations, tolerance.
    prior : CliqueVector or None
        Potentials of the prior; on a region graph the logs of its marginals that the estimate started from.
    earlier : Earlier or None
        Where the prior itself was estimated from some of these measurements: from which, and how.
    again : callable
        How to estimate it again from other answers to the same queries.
    """

    measurements: tuple[LinearMeasurement, ...]
    total_is_known: bool
    options: Mapping[str, Any]
    prior: CliqueVector | None
    again: Again = field(repr=False)
    earlier: Earlier | None = None

    def packed(self) -> dict[str, Any]:
        """Return it as JSON and arrays; see `packed_measurements`."""
        prior, earlier = self.prior, self.earlier
        return {
            "total_is_known": self.total_is_known,
            "options": dict(self.options),
            "measurements": packed_measurements(self.measurements),
            "prior": None if prior is None else {"cliques": prior.cliques, "values": prior.values},
            "earlier": None if earlier is None else earlier.origin.packed(),
        }

    @classmethod
    def unpacked(cls, domain: Domain, fields: Mapping[str, Any], again: Again) -> Origin:
        """Undo `packed`; ``ValueError``, ``KeyError`` or ``TypeError`` where something does not fit."""
        measurements = unpacked_measurements(domain, fields["measurements"])
        prior = None if fields["prior"] is None else CliqueVector(domain, **fields["prior"])
        if prior is not None and not (prior.values < np.inf).all():  # -inf is a structural zero
            raise ValueError("the logs of a prior are finite or -inf, got NaN or inf")
        earlier = None
        if fields["earlier"] is not None:
            earlier = Earlier.of(cls.unpacked(domain, fields["earlier"], again), measurements)
            if earlier is None:
                raise ValueError("the prior was estimated from other measurements than those there are")
        return cls(measurements, fields["total_is_known"], fields["options"], prior, again, earlier)


@dataclass(frozen=True, slots=True, eq=False)
class Earlier:
    """What a prior was estimated from, where that is part of what the estimate after it rests on.

    Attributes
    ----------
    origin : Origin
        The prior's.
    numbers : tuple of int
        Which measurements of the later estimate it saw.
    """

    origin: Origin
    numbers: tuple[int, ...]

    @classmethod
    def of(cls, origin: Origin | None, measurements: Sequence[LinearMeasurement]) -> Earlier | None:
        """Return it for a prior's origin; None where it saw other answers, or nothing is known of it."""
        if origin is None:
            return None
        places: dict[Clique, list[int]] = {}
        for i, m in enumerate(measurements):
            places.setdefault(m.clique, []).append(i)
        numbers = [
            next((i for i in places.get(one.clique, ()) if np.array_equal(measurements[i].values, one.values)), -1)
            for one in origin.measurements
        ]
        return None if -1 in numbers else cls(origin, tuple(numbers))


class QueryTooLargeError(ValueError):
    """A query of a class that is not pypgm's has no matrix of a moderate size."""


def packed_measurements(measurements: Sequence[LinearMeasurement]) -> list[dict[str, Any]]:
    """Return the arguments that make measurements, as JSON and arrays; ``QueryTooLargeError`` if they cannot be."""
    plain = ("values", "clique", "stddev", "noise", "not_private")
    return [{name: getattr(m, name) for name in plain} | {"query": _packed(m.query)} for m in measurements]


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


def _packed(value: object) -> object:
    """Return a query, or an argument of one, as JSON and arrays."""
    if isinstance(value, LinearQuery):
        if type(value) not in _KEPT:
            if value.nnz > _DENSE_ENTRIES:
                raise QueryTooLargeError(f"{value!r} is too large to be written as a matrix; a model goes without it")
            value = Matrix(value.to_sparse())
        return {"class": type(value).__name__, "arguments": _packed(value.__reduce__()[1])}
    if isinstance(value, tuple):
        return [_packed(part) for part in value]
    if isinstance(value, int | np.ndarray | None):
        return value
    matrix: SparseArray = value
    return {"shape": matrix.shape, "entries": matrix.data, "columns": matrix.indices, "rows": matrix.indptr}


def _unpacked(value: object, most: int) -> object:
    """Undo `_packed`, where no number of cells or rows is above a bound."""
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
