"""Tables that others count: a protocol for any engine, and the checks of what it returns."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any, NoReturn, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pypgm._base.numeric import is_masked
from pypgm.data.schema.schema import OpenSchema, Schema
from pypgm.data.sources.counted import InPlaceTable, Table
from pypgm.data.sources.foreign import guarded
from pypgm.domain import Clique, Domain, listed

MAX_RECORDS = 1 << 53
"""The most records of a table that another engine counts: sums of counts stay exact, and noise has room in 64 bits."""

_METHODS = ("domain", "count", "distinct")


class CountedTable(Protocol):
    """Interface of a table that is counted by an engine of one's own, such as a job of Dask or Beam.

    `pypgm.synthesize`, `pypgm.PrivateTable`, every mechanism and every learner that needs only counts take any object
    with these three members. Whoever writes one is trusted with the records, and promises that

    - the counts are exact, over the same records at every call, with each record in one cell of each clique;
    - the code of a record's value follows from this value and the schema alone, as `Schema.encode` has it: then one
      person changes as many counts as the ledger assumes;
    - no person has more records than the schema says, and all records keep its rules, neither of which can be checked
      by counts.

    In return, `count` and `distinct` are called only after the charge is in the ledger (or for the number of records
    where ``neighbours="replace"`` makes it public), nothing but what they return is read, and it is refused unless it
    can be counts of one table. Then, or if they raise an error, the step that was charged ends with a `ReleaseError`
    that withholds the reason; `checked_counts` shows it to whoever writes the class.

    Examples
    --------
    >>> import pypgm
    >>> class People:
    ...     domain = pypgm.Domain({"age": 3, "sex": ["F", "M"]})
    ...     rows = {(0, 0): 20, (2, 1): 30}  # how many records have these codes: a GROUP BY of any engine
    ...
    ...     def count(self, cliques, schema):
    ...         for clique in cliques:
    ...             axes, table = schema.domain.indices(clique), np.zeros(schema.domain.sizes(clique), int)
    ...             for codes, number in self.rows.items():
    ...                 table[tuple(codes[axis] for axis in axes)] += number
    ...             yield table
    ...
    ...     def distinct(self, column):
    ...         raise NotImplementedError("the schema leaves no column open")
    >>> release = pypgm.synthesize(People(), epsilon=100, delta=1e-9)
    >>> release.model.domain
    Domain(age: 3, sex: 2)
    """

    @property
    def domain(self) -> Domain:
        """Attributes and sizes, in the order of the schema; columns that it leaves open may be left out."""

    def count(self, cliques: Sequence[Clique], schema: Schema) -> Iterable[ArrayLike]:
        """Return the number of records in each cell of the tables of some cliques, ideally in one pass.

        Parameters
        ----------
        cliques : sequence of tuple of str
        schema : Schema
            The schema that was given with the table, with the values and bins found for its open columns; else
            one whose values are the labels and codes of `domain`.

        Returns
        -------
        iterable of array_like of int, shape schema.domain.sizes(clique) or (cells,)
            One table for each clique, in C order over its attributes as given.
        """

    def distinct(self, column: str) -> Iterable[tuple[object, int]]:
        """Return the raw values of a column that the schema leaves open, and the number of records of each.

        Missing values may be left out, and a value may come again.
        """


class ForeignTable(InPlaceTable):
    """A `CountedTable` as mechanisms take it: its counts are checked, kept and compared with later ones.

    Parameters
    ----------
    table : CountedTable
    schema : Schema, optional
        The schema of its records; one of the table's domain by default.

    Raises
    ------
    TypeError
        If the domain is not a `pypgm.Domain`.
    ValueError
        If the schema has other attributes or sizes than the table, or names a person.
    """

    _shows_errors = False

    def __init__(self, table: CountedTable, schema: Schema | OpenSchema | None = None) -> None:
        name, domain = type(table).__name__, table.domain
        if not isinstance(domain, Domain):
            raise TypeError(f"{name}: domain needs a pypgm.Domain, got {type(domain).__name__}")
        known = Schema.of(domain) if schema is None else schema
        if known.person is not None:
            keep = f"keep {known.person.at_most} of each in the engine, and state records_per_person"
            raise ValueError(f"the schema names a person, and {name} has only counts: {keep}")
        super().__init__(known.provisional)
        ours, theirs = (part.project([a for a in part if a not in known.open]) for part in (self.domain, domain))
        if (ours.attributes, ours.shape) != (theirs.attributes, theirs.shape):
            raise ValueError(f"the schema is over {ours!r}, {name} counts {theirs!r}")
        if other := [repr(a) for a, labels in theirs.labels.items() if labels != ours.labels.get(a, labels)]:
            raise ValueError(f"the schema and {name} have different labels of {listed(other)}")
        self.table = table
        self._n_counted: int | None = None

    def settled(self, schema: Schema) -> ForeignTable:
        """Return the same table, counted by a schema with the values and bins that were found for open columns."""
        table = copy.copy(self)
        InPlaceTable.__init__(table, schema)
        return table

    @property
    def n_records(self) -> int:
        """Number of records, which is counted when it is first needed."""
        if self._n_counted is None:
            self.count([()])
        return self._n_counted or 0

    def kept(self, secret: bytes) -> NoReturn:
        """Raise ``ValueError``: only the engine knows whose records these are."""
        del secret
        raise ValueError("a table of counts knows no persons")

    def _scan(self, cliques: Sequence[Clique], tables: Sequence[Table], n_threads: int) -> None:
        del n_threads  # the engine has its own
        step = partial(_counts_of, self.table, list(cliques), self.schema)
        given = step() if self._shows_errors else guarded("counting", step)
        if len(given) != len(cliques):
            raise ValueError(f"count needs a table for each of {len(cliques)} cliques, got {len(given)}")
        for clique, table, counts in zip(cliques, tables, given, strict=True):
            table[:] = _checked(clique, counts, self.domain.sizes(clique), table.size)
        if self._n_counted is None:
            self._n_counted = int(tables[0].sum())

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        return f"{type(self.table).__name__}({repr(self.domain).removeprefix('Domain(')}"


def checked_counts(
    table: CountedTable, cliques: Sequence[str | Clique], schema: Schema | None = None
) -> list[NDArray[np.int64]]:
    """Return the counts of a table as a mechanism gets them, which are exact: for whoever holds the records alone.

    It says what is wrong with a table, where a mechanism may not.

    Parameters
    ----------
    table : CountedTable
    cliques : sequence of clique
        All attributes and pairs make a good trial.
    schema : Schema, optional
        The schema that will be given with the table.

    Raises
    ------
    ValueError
        If what `table.count` returns cannot be counts of one table.
    Exception
        Whatever `table.count` raises, as it is: it may quote records.
    """
    counted = ForeignTable(table, schema)
    counted._shows_errors = True
    return counted.count(cliques)


def as_counted(table: Any) -> Any:  # noqa: ANN401 - a table of any kind
    """Return a `CountedTable` as mechanisms take it, and anything else as it is; no record is read.

    Examples
    --------
    >>> as_counted({"count": [3, 4], "distinct": [0, 1], "domain": [2, 2]})
    {'count': [3, 4], 'distinct': [0, 1], 'domain': [2, 2]}
    """
    nothing = object()  # members of the class alone: a frame has columns of any name
    is_counted = all(inspect.getattr_static(table, name, nothing) is not nothing for name in _METHODS)
    if is_counted and isinstance(table, type):
        raise TypeError(f"a table is an object of {table.__name__}, got the class itself")
    return ForeignTable(table) if is_counted else table


def _counts_of(table: CountedTable, cliques: list[Clique], schema: Schema) -> list[NDArray[Any]]:
    """Return the tables of some cliques as arrays, masked ones as they are."""
    tables = table.count(cliques, schema)
    if not isinstance(tables, Iterable):
        raise TypeError(f"count needs tables, got {type(tables).__name__}")
    return list(map(np.asanyarray, tables))


def _checked(clique: Clique, counts: NDArray[Any], shape: tuple[int, ...], cells: int) -> NDArray[np.int64]:
    """Return flat counts; ``ValueError`` unless they are counts of the cells of a clique."""
    needed = f"counts of {clique} need {cells} whole numbers, 0 or more"
    if counts.shape not in {shape, (cells,)}:
        raise ValueError(f"{needed}, got an array of shape {counts.shape}")
    if is_masked(counts):
        raise ValueError(f"{needed}, got an array that may have masked ones")
    counts = np.asarray(counts)
    if counts.dtype.kind not in "iu":
        raise ValueError(f"{needed}, got numbers of type {counts.dtype}")
    if counts.min(initial=0) < 0:
        raise ValueError(f"{needed}, got negative ones")
    if counts.sum(dtype=np.float64) > MAX_RECORDS:
        raise ValueError(f"{needed}, together at most 2^53, got more")
    return counts.reshape(-1).astype(np.int64, copy=False)
