"""Base class of tables that are counted in place."""

from __future__ import annotations

import copy
import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pypgm.data import tabulate
from pypgm.data.schema.schema import Schema
from pypgm.domain import Clique, Domain, as_clique
from pypgm.errors import SourceError

if TYPE_CHECKING:
    from typing_extensions import Self

_KEPT_CELLS = 1 << 24  # of tables that are kept, 128 MiB
_OPENING_CELLS = 1 << 22  # of tables that are counted in the opening pass, 32 MiB
_PAIRS_PER_COLUMN = 32  # that the opening pass counts: encoding a column takes longer than counting these

CHANGED = "the table changed while it was counted"
"""Text of the error about a table whose records are not those that were counted before."""

Table = NDArray[np.int64]


class InPlaceTable(ABC):
    """Records of a schema that are not held in memory: their domain, number and counts.

    Attributes
    ----------
    schema : Schema
        Declarations of the columns.

    Raises
    ------
    ValueError
        If the schema has a weight, which only a table in memory counts.
    """

    schema: Schema
    _n_records: int
    _has_weights = False

    def __init__(self, schema: Schema) -> None:
        if schema.weight is not None and not self._has_weights:
            needed = f"the weight {schema.weight.column!r} of the schema needs a table in memory"
            raise ValueError(f"{needed}: pypgm.read_table reads one; databases and files in pieces count records only")
        self.schema = schema
        self._kept: dict[frozenset[str], tuple[Clique, Table]] = {}
        self._n_kept = 0  # cells
        self._sizes: dict[int, list[frozenset[str]]] = {}
        self._sizes_counted: set[int] = set()  # numbers of attributes in a clique that were counted before
        self._margins: dict[str, Table] = {}  # of each attribute that was counted, if only in a larger table

    @property
    def domain(self) -> Domain:
        """Attributes and sizes."""
        return self.schema.domain

    @property
    def n_records(self) -> int:
        """Number of records, when the table was opened."""
        return self._n_records

    @abstractmethod
    def kept(self, secret: bytes) -> InPlaceTable:
        """Return the records that are kept of each person by a secret of 16 bytes, see `pypgm.data.Person`.

        Raises
        ------
        ValueError
            If the schema names no person, or this table cannot keep some of the records of each.
        """

    def _part(self, n_records: int) -> Self:
        """Return the same table for some of its records, before any is counted."""
        part = copy.copy(self)
        InPlaceTable.__init__(part, self.schema)
        part._n_records = n_records
        return part

    def end_snapshot(self) -> None:  # noqa: B027 - only an engine has any
        """End the transaction in which the records are read, if an engine has one; a later count begins another."""

    @property
    def weights(self) -> None:
        """None: every record counts once."""
        return

    def count(self, cliques: Sequence[str | Clique], n_threads: int = 0) -> list[Table]:
        """Count the records of each cell of some cliques' tables, all in one pass, as `Dataset.count` does.

        Tables that were counted are kept, up to 128 MiB of them, and tables of a part of their attributes are summed
        from them without another pass. The second pass for single attributes, or for pairs, counts all of them that
        fit: a caller that asks for one after the other will ask for the rest.

        A table that changes meanwhile is seen where the number of records, the counts of an attribute or those of a
        pair that is kept differ from earlier ones: open it again.

        Raises
        ------
        ValueError
            If a clique does not fit the domain.
        SourceError
            If the table has changed.
        ModelTooLargeError
            If the tables do not fit half of the memory available.
        """
        requested = [as_clique(c) for c in cliques]
        tables = self._empty(requested, n_threads)
        known = [self._holder(set(clique)) for clique in requested]
        missing = [i for i, holder in enumerate(known) if holder is None]
        if missing:
            counted = [requested[i] for i in missing]
            beside = self._beside(counted)
            counted += beside
            filled = [*(tables[i] for i in missing), *self._empty(beside, n_threads)]
            self._scan(counted, filled, n_threads)
            self._keep_all(counted, filled)
        self._sizes_counted |= set(map(len, requested))
        for clique, table, holder in zip(requested, tables, known, strict=True):
            if holder is not None:
                table[:] = self._summed(clique, *self._kept[holder])
        return tables

    @abstractmethod
    def _scan(self, cliques: Sequence[Clique], tables: Sequence[Table], n_threads: int) -> None:
        """Add the records to the tables of some cliques, in one pass."""

    def _empty(self, cliques: Sequence[Clique], n_threads: int) -> list[Table]:
        return tabulate.count({a: np.zeros(0, np.uint8) for a in self.domain}, self.domain, cliques, n_threads)

    def _beside(self, cliques: Sequence[Clique]) -> list[Clique]:
        """Return further cliques to count in a pass that some cliques need."""
        added: list[Clique] = []
        requested = set(map(frozenset, cliques))
        left = _KEPT_CELLS - self._n_kept
        for size in {1, 2} & set(map(len, cliques)):
            if math.comb(len(self.domain), size) > left + len(self._kept):
                continue
            if size in self._sizes_counted or (
                size == 2 and 1 in self._sizes_counted and all(self._holder({a}) for a in self.domain)
            ):
                more = [c for c in combinations(self.domain.attributes, size) if frozenset(c) not in requested]
                others = [c for c in more if self._holder(set(c)) is None]
                left -= sum(map(self.domain.size, others))
                added += others if left >= 0 else []
        return added

    def _holder(self, names: set[str]) -> frozenset[str] | None:
        """Return the attributes of the smallest kept table that contains some attributes, if there is one."""
        clique = frozenset(names)
        if clique in self._kept:
            return clique
        larger = [size for size in list(self._sizes) if size > len(clique)]  # which another thread may add to
        holders = (kept for size in larger for kept in self._sizes[size] if clique <= kept)
        return min(holders, key=lambda kept: self._kept[kept][1].size, default=None)

    def _at_opening(self) -> list[Clique]:
        """Return cliques that the pass which opens a table may count: what is known needs no pass after a charge.

        These are single attributes, and pairs where counting them takes no longer than reading the records.
        """
        attributes = self.domain.attributes
        for sizes in ((1, 2), (1,)):
            if sum(math.comb(len(attributes), size) for size in sizes) > (_PAIRS_PER_COLUMN + 1) * len(attributes):
                continue
            cliques: list[Clique] = [c for size in sizes for c in combinations(attributes, size)]
            if sum(map(self.domain.size, cliques)) <= min(_OPENING_CELLS, _KEPT_CELLS):
                return cliques
        return []

    def _keep_all(self, cliques: Sequence[Clique], tables: Sequence[Table]) -> None:
        """Keep tables of one pass; `SourceError` if they are not of the records that were counted before."""
        for clique, table in zip(cliques, tables, strict=True):
            if not self._agrees(clique, table):
                raise SourceError(CHANGED)
            self._keep(clique, table)

    def _agrees(self, clique: Clique, table: Table) -> bool:
        """Return whether a table has the margins of those that were counted before."""
        singles = {a: self._summed((a,), clique, table) for a in clique}
        pairs = [pair for pair in combinations(clique, 2) if len(clique) > 2 and frozenset(pair) in self._kept]
        known = [self._kept[frozenset(pair)] for pair in pairs]
        return (
            int(table.sum()) == self.n_records
            and all(np.array_equal(self._margins.setdefault(a, margin), margin) for a, margin in singles.items())
            and all(np.array_equal(self._summed(pair, clique, table), counts) for pair, counts in known)
        )

    def _keep(self, clique: Clique, table: Table) -> None:
        attributes = frozenset(clique)
        if attributes not in self._kept and self._n_kept + table.size <= _KEPT_CELLS:
            self._n_kept += table.size
            self._kept[attributes] = clique, table.copy()
            self._sizes.setdefault(len(attributes), []).append(attributes)

    def _summed(self, clique: Clique, kept: Clique, table: Table) -> Table:
        """Return the table of a clique from that of a clique that has all its attributes."""
        others = tuple(i for i, a in enumerate(kept) if a not in clique)
        left = [a for a in kept if a in clique]
        summed: Table = table.reshape(self.domain.sizes(kept)).sum(axis=others)
        turned: Table = summed.transpose([left.index(a) for a in clique]).ravel()
        return turned

    def __len__(self) -> int:
        return self._n_records

    def __repr__(self) -> str:
        inside = repr(self.domain).removeprefix("Domain(")
        return f"{type(self).__name__}({self._n_records} records; {inside}"
