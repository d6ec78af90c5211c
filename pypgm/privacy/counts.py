"""Exact counts of the records behind a private table, and the records of its schema's persons."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from pypgm.data import Dataset, Schema, tabulate
from pypgm.data.schema.rules import Ordered
from pypgm.data.schema.weight import Weight
from pypgm.domain import Clique, Domain
from pypgm.privacy.observer import the_observer
from pypgm.privacy.sampler import Sampler
from pypgm.queries.neighbours import EXACT_LIMIT

_PIECE = 1 << 18  # records of a table in memory that are read together


class Counts(Protocol):
    """Interface of a table: its domain, its weights if it has any, and exact counts."""

    @property
    def domain(self) -> Domain:
        """Attributes and sizes."""

    @property
    def weights(self) -> NDArray[Any] | None:
        """Weights of the records, None for plain records."""

    @property
    def n_records(self) -> int:
        """Number of records."""

    def count(self, cliques: Sequence[Clique], n_threads: int = 0) -> list[NDArray[np.int64]]:
        """Return the flat int64 table of each clique, C order over its attributes as given."""


def part_of(data: Counts, domain: Domain) -> Counts:
    """Return a table without some of its attributes; ``ValueError`` unless the others are unchanged."""
    if data.domain.project(domain) != domain:
        raise ValueError(f"a part of {data.domain!r} is over some of its attributes, got {domain!r}")
    if isinstance(data, Dataset):
        return Dataset({a: data.columns[a] for a in domain}, domain)
    # Whether there are rows is public: it must not hang on how a table is read, which its size decides.
    return _PartInRows(data, domain) if isinstance(data, Ordered) else _Part(data, domain)


class _Part:
    """Some attributes of a table, counted by the table itself."""

    def __init__(self, whole: Counts, domain: Domain) -> None:
        self._whole, self._domain = whole, domain

    @property
    def domain(self) -> Domain:
        """The attributes that are left."""
        return self._domain

    @property
    def weights(self) -> NDArray[Any] | None:
        """Weights of the table's records."""
        return self._whole.weights

    @property
    def n_records(self) -> int:
        """Number of records."""
        return self._whole.n_records

    def count(self, cliques: Sequence[Clique], n_threads: int = 0) -> list[NDArray[np.int64]]:
        """Count the records of each cell of some cliques' tables."""
        return self._whole.count(cliques, n_threads)


class WeightedCounts:
    """Records that count as often as their weights say, given by their counts alone.

    They have the counts of a table in which each record stands as often, at most `Weight.at_most` times. So adding or
    removing a record changes them as adding or removing so many equal records of one person, and every sensitivity
    that covers `records_per_person` records covers it.

    A cell of a table of n cells counts at most (2^53 - 1) // n, so that any sum of counts is exact in a double. A cap
    of each cell brings no two neighbours further apart, and, unlike a refusal, tells nobody that weights are large.

    Parameters
    ----------
    data : Dataset
        With its weights.
    weight : Weight

    Raises
    ------
    ValueError
        If a weight is no whole number of 0 or more.
    """

    weights = None  # of the records that stand in the table

    def __init__(self, data: Dataset, weight: Weight) -> None:
        times = weight.times(np.zeros(0) if data.weights is None else data.weights)
        self._columns, self._times, self.domain = data.columns, times.astype(np.float64), data.domain
        self.n_records = min(int(self._times.sum()), EXACT_LIMIT - 1)

    def count(self, cliques: Sequence[Clique], n_threads: int = 0) -> list[NDArray[np.int64]]:
        """Add the weights of the records in each cell, in any order: sums are exact below 2^53, far above the cap."""
        del n_threads
        sums = (tabulate.add_weights(self._columns, self.domain, clique, self._times) for clique in cliques)
        return [np.minimum(t, (EXACT_LIMIT - 1) // t.size).reshape(-1).astype(np.int64) for t in sums]


class _PartInRows(_Part):
    """Some attributes of a table that has rows."""

    def codes_of(self, names: Clique) -> Iterator[Mapping[str, NDArray[Any]]]:
        """Yield the codes of columns, some records at a time."""
        yield from cast("Any", self._whole).codes_of(names)


def has_rows(data: Counts) -> bool:
    """Return whether a table has the codes of its records, and not only their counts."""
    return isinstance(data, Dataset | Ordered)


def in_rows(data: Counts) -> Dataset:
    """Return the records of a table that has rows, read without their schema; to be called after the charge."""
    if isinstance(data, Dataset):
        return data
    names, none = data.domain.attributes, np.zeros(0, np.uint8)
    pieces = list(data.codes_of(names)) if isinstance(data, Ordered) else []
    return Dataset({a: np.concatenate([none, *(piece[a] for piece in pieces)]) for a in names}, data.domain)


def pieces_of(data: Counts, names: Clique) -> Iterator[Mapping[str, NDArray[Any]]]:
    """Yield the codes of columns of a table that has rows, some records at a time; to be called after the charge."""
    if isinstance(data, Ordered):
        yield from data.codes_of(names)
        return
    columns = in_rows(data).columns
    chosen = {a: columns[a] for a in names}
    for first in range(0, len(chosen[names[0]]), _PIECE):
        yield {a: codes[first : first + _PIECE] for a, codes in chosen.items()}


def check_counts(data: object) -> None:
    """Raise ``TypeError`` unless an object is a table, which its class decides: no record is read."""
    if not hasattr(type(data), "n_records"):
        raise TypeError(
            f"data needs a pypgm.Dataset, got {type(data).__name__}: mechanisms take frames and files "
            "with schema=, as pypgm.synthesize does; pypgm.read_table(path, schema) reads one, "
            "pypgm.Dataset.from_frame(frame, schema) makes one"
        )


def schema_of(data: Counts) -> Schema | None:
    """Return the schema of a table, if it knows one.

    Raises
    ------
    ValueError
        If its domain differs from the records' domain, or it has open columns, which have to be settled first.
    """
    if getattr(data, "open_schema", None) is not None:
        needed = "pypgm.synthesize and the mechanisms, which settle them, take the table as it is"
        raise ValueError(f"a private table has no open columns: {needed}")
    schema = getattr(data, "schema", None)
    if not isinstance(schema, Schema):
        return None
    schema.check_domain(data.domain)
    return schema


def check_weights(data: Counts, schema: Schema | None) -> None:
    """Raise ``ValueError`` unless records have weights where their schema bounds these, and nowhere else."""
    is_weighted = schema is not None and schema.weight is not None
    if data.weights is not None and not is_weighted:
        needed = "a private release needs unweighted records: weights have no sensitivity bound"
        raise ValueError(f"{needed}, unless a schema names their column and the most that one counts (weight=)")
    if schema is not None and schema.weight is not None and data.weights is None and isinstance(data, Dataset):
        raise ValueError(f"the schema names the weight {schema.weight.column!r}: these records need weights=")


def kept(data: Counts, schema: Schema | None, sampler: Sampler) -> Counts:
    """Return a table in which nobody counts more than the schema says: by the records it keeps, or by their weight.

    The table is the same if the schema names neither a person nor a weight.

    Raises
    ------
    ValueError
        If the table does not know whose records these are.
    """
    if schema is None or (schema.person is None and schema.weight is None):
        return data
    if schema.weight is not None:
        return WeightedCounts(data, schema.weight) if isinstance(data, Dataset) else data
    keep = getattr(data, "kept", None)
    if keep is None:
        raise ValueError(f"the schema names a person, and {type(data).__name__} has no records of persons to keep")
    bounded: Counts = keep(sampler.secret())
    return bounded


def batches(sizes: Sequence[int]) -> list[tuple[int, int]]:
    """Return ranges of tables, of given sizes, each small enough to be counted together."""
    most = the_observer().batch_cells
    ranges: list[tuple[int, int]] = []
    first, cells = 0, 0
    for i, size in enumerate(sizes):
        if cells and cells + size > most:
            ranges.append((first, i))
            first, cells = i, 0
        cells += size
    return [*ranges, (first, len(sizes))]
