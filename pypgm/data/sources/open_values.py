"""Values of open columns where the records are, counted piece by piece or by an engine."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import compress, islice, repeat
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from pypgm.data.columns.open_columns import OpenColumn, QuantileBins
from pypgm.data.columns.values import BY_VALUE, Values, as_keys, as_list, is_plain
from pypgm.data.schema.person import Selection, blake2b, content_keys
from pypgm.data.schema.schema import OpenSchema
from pypgm.data.sources.counted import CHANGED
from pypgm.data.sources.counted_table import MAX_RECORDS, CountedTable
from pypgm.data.sources.foreign import guarded, guarded_pieces
from pypgm.data.sources.frames import as_columns
from pypgm.data.sources.source import Relation
from pypgm.data.sources.streamed import Pieces, StreamedTable, kept_in_duckdb, pieces_of
from pypgm.errors import SourceError

_ROWS = 1 << 16  # of a piece

Counted: TypeAlias = "tuple[Values, Iterable[int]]"
"""Raw values and the number of records of each; a value may come again."""


class OpenValues(ABC):
    """Values of a table's open columns, which are counted when `pypgm.privacy.settle` has charged for them."""

    @abstractmethod
    def distinct(self, name: str, column: OpenColumn) -> Iterator[Counted]:
        """Yield the raw values of a column, with the number of records of each, some at a time.

        Numbers that `below` counts are left out.
        """

    def below(self, name: str, column: QuantileBins, points: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return how many numbers are below each of some rising points, and last how many there are.

        Only numbers are counted that `distinct` leaves out: none, unless an engine counts them.
        """
        del name, column
        return np.zeros(len(points) + 1, dtype=np.int64)

    @abstractmethod
    def kept(self, secret: bytes) -> OpenValues:
        """Return the values in the records that are kept of each person, see `Selection`."""


class StreamedValues(OpenValues):
    """Values of a table that is read in pieces, none of which is kept.

    Parameters
    ----------
    schema : OpenSchema
    pieces : callable
        ``pieces(names, rows)`` gives about `rows` rows at a time of the columns of these names.
    n_records : int
        The number of records when the table was opened.
    """

    def __init__(self, schema: OpenSchema, pieces: Pieces, n_records: int) -> None:
        self._schema, self._pieces, self._n_records = schema, pieces, n_records
        self._chosen: tuple[NDArray[np.bool_], bytes] | None = None  # which records, and a digest of all persons' keys

    def distinct(self, name: str, column: OpenColumn) -> Iterator[Counted]:
        """Yield the values of each piece."""
        del column
        person, chosen = self._schema.person, self._chosen
        if person is None or chosen is None:
            for columns in self._read([name]):
                yield counted_values(columns[name])
            return
        digest, first = blake2b(), 0
        for columns in self._read([*person.columns, name]):
            keys = person.keys(columns)
            digest.update(keys.tobytes())
            yield counted_values(list(compress(as_list(columns[name]), chosen[0][first : first + len(keys)])))
            first += len(keys)
        if digest.digest() != chosen[1]:
            raise SourceError(CHANGED)

    def kept(self, secret: bytes) -> StreamedValues:
        """Return the values in the records that are kept, chosen in one pass."""
        if (person := self._schema.person) is None:
            raise ValueError("the schema names no person")
        digest = blake2b()
        with Selection(person.at_most) as selection:
            for columns in self._read([*person.columns, *self._schema.open]):
                keys = person.keys(columns)
                digest.update(keys.tobytes())
                selection.add(keys, [content_keys(columns[name]) for name in self._schema.open])
            is_kept = selection.kept(secret)
        part = StreamedValues(self._schema, self._pieces, self._n_records)
        part._chosen = is_kept, digest.digest()
        return part

    def _read(self, names: Sequence[str]) -> Iterator[dict[str, Values]]:
        """Yield the raw values of some columns; `SourceError` if the number of records has changed."""
        seen = 0
        for piece in self._pieces(list(dict.fromkeys(names)), _ROWS):
            columns = as_columns(piece)
            seen += len(columns[names[0]])
            yield columns
        if seen != self._n_records:
            raise SourceError(CHANGED)


class RelationValues(StreamedValues):
    """Values of a relation of DuckDB: its records come in no certain order, so that a query keeps some of each."""

    def __init__(self, schema: OpenSchema, source: Relation, n_records: int) -> None:
        super().__init__(schema, source.pieces, n_records)
        self._relation = source.relation

    def kept(self, secret: bytes) -> StreamedValues:
        """Return the values in the records that are kept, by a query."""
        if (person := self._schema.person) is None:
            raise ValueError("the schema names no person")
        names = tuple(self._schema.open)
        relation = guarded("reading the relation", lambda: kept_in_duckdb(self._relation, person, names, secret))
        count = guarded("reading the relation", lambda: int(relation.aggregate("count(*)").fetchall()[0][0]))
        return StreamedValues(self._schema, Relation(relation).pieces, count)


class ForeignValues(OpenValues):
    """Values of a table that another engine counts.

    Parameters
    ----------
    table : CountedTable
    """

    def __init__(self, table: CountedTable) -> None:
        self._table = table

    def distinct(self, name: str, column: OpenColumn) -> Iterator[Counted]:
        """Yield what the engine counts; ``ValueError`` if it is not a number of records for each value."""
        del column
        total = 0
        for values, given in guarded_pieces("counting values", lambda: _columns_of_pairs(self._table.distinct(name))):
            if given.dtype.kind not in "iu" or given.min(initial=0) < 0:
                raise ValueError(f"distinct({name!r}) needs pairs of a value and a whole number of records, 0 or more")
            total += int(given.sum(dtype=np.float64))
            if total > MAX_RECORDS:
                raise ValueError(f"distinct({name!r}) needs at most 2^53 records, got more")
            yield values, given.tolist()

    def kept(self, secret: bytes) -> ForeignValues:
        """Raise ``ValueError``: only the engine knows whose records these are."""
        del secret
        raise ValueError("a table of counts knows no persons")


def streamed_values(table: StreamedTable, schema: OpenSchema) -> StreamedValues:
    """Return the values of the open columns of a scan, by its schema as it is before they are settled."""
    source = table.source
    if isinstance(source, Relation):
        return RelationValues(schema, source, table.n_records)
    if source is None:
        raise ValueError("values of open columns are those of a scan")
    return StreamedValues(schema, pieces_of(source, schema.provisional, table.versions), table.n_records)


def counted_values(values: Values) -> Counted:
    """Return the distinct ones of some values, where equal ones are alike, and the number of each."""
    if is_plain(values, "iuf") and values.ndim == 1:  # else a record has several numbers
        numbers, times = np.unique(np.asarray(values), return_counts=True)
        return numbers, times.tolist()
    given = as_list(values)
    keyed = as_keys(given) if set(map(type, given)) <= BY_VALUE else None
    if keyed is None:
        return given, repeat(1)
    keys, value_of = keyed
    counts = Counter(keys)
    return [value_of[key] for key in counts], counts.values()


def _columns_of_pairs(pairs: Iterable[tuple[object, int]]) -> Iterator[tuple[list[object], NDArray[np.int64]]]:
    """Yield pairs some at a time, as a list of the first and an array of the second of each."""
    left = iter(pairs)
    while some := list(islice(left, _ROWS)):
        values, counts = zip(*some, strict=True)
        yield list(values), np.asarray(counts)
