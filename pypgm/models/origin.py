"""What a model was estimated from: enough to estimate it again from other answers, and to keep it in a file."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from pypgm.clique_vector import CliqueVector
from pypgm.domain import Clique, Domain
from pypgm.estimation.measurement import LinearMeasurement
from pypgm.queries import Contrasts, LinearQuery, Matrix, Partition

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pypgm.models.base import Model

__all__ = ["MEASUREMENTS", "Earlier", "Origin", "packed_measurements", "unpacked_measurements"]

MEASUREMENTS = [{"clique": [str], "noise": str, "query": (str, [int]), "not_private?": str}]
"""The kind of the entries that `packed_measurements` makes, as `check_fields` takes it."""

_DENSE_ENTRIES = 1 << 22

Arrays = dict[str, "NDArray[Any]"]
Again = Callable[..., Callable[..., "Model[Any]"]]
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

    def packed(self) -> tuple[dict[str, Any], Arrays] | None:
        """Return a JSON header and arrays; None if a query has no matrix of a moderate size."""
        header: dict[str, Any] = {"total_is_known": self.total_is_known, "options": dict(self.options)}
        packed = packed_measurements(self.measurements, "measurement")
        if packed is None:
            return None
        header["measurements"], arrays = packed
        header["prior"] = None if self.prior is None else self.prior.cliques
        if self.prior is not None:
            arrays["prior"] = self.prior.values
        if self.earlier is not None and (own := self.earlier.origin.packed()) is not None:
            header["earlier"] = own[0]
            arrays.update({f"earlier {name}": array for name, array in own[1].items()})
        return header, arrays

    @classmethod
    def unpacked(
        cls, domain: Domain, header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], again: Again
    ) -> Origin:
        """Undo `packed`; ``ValueError``, ``KeyError`` or ``TypeError`` where something does not fit."""
        measurements = unpacked_measurements(domain, header["measurements"], arrays, "measurement")
        prior = None if header["prior"] is None else CliqueVector(domain, header["prior"], arrays["prior"])
        known, options = bool(header["total_is_known"]), dict(header["options"])
        earlier = None
        if "earlier" in header:
            start = "earlier "
            own = {name.removeprefix(start): a for name, a in arrays.items() if name.startswith(start)}
            earlier = Earlier.of(cls.unpacked(domain, header["earlier"], own, again), measurements)
            if earlier is None:
                raise ValueError("the prior was estimated from other measurements than those there are")
        return cls(measurements, known, options, prior, again, earlier)


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
            next((i for i in places.get(one.clique, ()) if _same(measurements[i], one)), -1)
            for one in origin.measurements
        ]
        return None if -1 in numbers else cls(origin, tuple(numbers))


def _same(one: LinearMeasurement, other: LinearMeasurement) -> bool:
    """Return whether two measurements of a clique are the same noisy answers."""
    return one is other or np.array_equal(one.values, other.values)


def packed_measurements(
    measurements: Sequence[LinearMeasurement], name: str
) -> tuple[list[dict[str, Any]], Arrays] | None:
    """Return JSON entries, and arrays under a name; None if a query has no matrix of a moderate size."""
    entries: list[dict[str, Any]] = []
    arrays: Arrays = {}
    for i, m in enumerate(measurements):
        own = _packed_query(m)
        if own is None:
            return None
        entries.append({"clique": m.clique, "noise": m.noise, "query": own[0], "not_private": m.not_private})
        own[1].update({"values": m.values, "stddev": np.asarray(m.stddev)})
        arrays.update({f"{name} {i} {part}": a for part, a in own[1].items()})
    return entries, arrays


def unpacked_measurements(
    domain: Domain, entries: Sequence[Mapping[str, Any]], arrays: Mapping[str, NDArray[Any]], name: str
) -> tuple[LinearMeasurement, ...]:
    """Undo `packed_measurements`; ``ValueError``, ``KeyError`` or ``TypeError`` where something does not fit."""
    parts: dict[str, Arrays] = {}  # of each measurement, by its number
    for full, array in arrays.items():
        if full.startswith(f"{name} "):
            number, _, part = full.removeprefix(f"{name} ").partition(" ")
            parts.setdefault(number, {})[part] = array
    measurements = []
    for i, entry in enumerate(entries):
        own = parts.get(str(i), {})
        query = _unpacked_query(entry, own)
        answers = own["values"], entry["clique"], own["stddev"], query, entry["noise"]
        measurements.append(LinearMeasurement(*answers, not_private=entry.get("not_private", "")).checked(domain))
    return tuple(measurements)


def _packed_query(m: LinearMeasurement) -> tuple[Any, Arrays] | None:
    """Return the kind of a query and its arrays."""
    query = m.linear_map
    if query.is_identity:
        return "cells", {}
    if query.groups is not None:
        return "groups", {"groups": query.groups}
    if isinstance(query, Contrasts):
        groups = {f"groups {i}": np.array(g, dtype=np.int64) for i, g in enumerate(query.value_groups)}
        return "contrasts", {"sizes": np.array(query.sizes, dtype=np.int64), **groups}
    if query.nnz > max(_DENSE_ENTRIES, query.cost):
        return None
    matrix = query.to_sparse()
    return list(query.shape), {"entries": matrix.data, "columns": matrix.indices, "rows": matrix.indptr}


def _unpacked_query(entry: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> LinearQuery | None:
    kind = entry["query"]
    if kind == "cells":
        return None
    if kind == "groups":
        return Partition(arrays["groups"], arrays["values"].size)
    if kind == "contrasts":
        sizes = arrays["sizes"].tolist()
        return Contrasts(sizes, [arrays[f"groups {i}"] for i in range(len(sizes)) if "groups 0" in arrays])
    from scipy.sparse import csr_array

    return Matrix(
        csr_array((arrays["entries"].astype(np.float64), arrays["columns"], arrays["rows"]), shape=tuple(kind))
    )
