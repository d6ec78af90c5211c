"""Relations between the columns of a schema: which are read, and which are made of others."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pypgm.data.columns.bins import Binned
from pypgm.data.columns.column import Column
from pypgm.data.columns.derived import Derived
from pypgm.data.columns.difference import Difference, Steps
from pypgm.data.columns.made import Cells, Fake, Made, made_in_order
from pypgm.data.columns.order import in_order
from pypgm.data.columns.within import values_within
from pypgm.data.sources.encoding import refuse
from pypgm.domain import nearest

_CIRCULAR = "is the difference from itself, by way of others"


class Relations:
    """The columns of a schema, those that are read and those that are made.

    Parameters
    ----------
    columns : mapping of str to Column
        Columns that are read; open ones are provisional.
    made : mapping of str to Made
    rules : sequence
        Rules, of which comparisons hold for decoded values.

    Attributes
    ----------
    written : mapping of str to Column
        Kind of the values in a table: the dates or numbers of a difference itself, the results of a derived column.

    Raises
    ------
    ValueError
        If a column is made of one that is missing or unsuitable, or of itself by way of others.
    """

    def __init__(self, columns: Mapping[str, Column], made: Mapping[str, Made], rules: Sequence[object]) -> None:
        self._columns, self._made, self._rules = columns, made, rules
        firsts = {name: column.first for name, column in columns.items() if isinstance(column, Difference)}
        self._differences = in_order({name: (first,) for name, first in firsts.items()}, _CIRCULAR)
        whole = dict(columns)
        for name in self._differences:
            whole[name] = _second(name, firsts[name], columns, whole)
        bases = set(firsts.values())
        self._steps = {
            name: Steps(column, null=column.nulls)
            for name, column in whole.items()
            if isinstance(column, Binned) and (name in bases or name in firsts)
        }
        self._order, self.written = made_in_order(made, columns), whole
        for name in self._order:
            made[name].check(whole, name)
            if isinstance(column := made[name], Derived):
                whole[name] = column.column(whole)

    @property
    def reading(self) -> dict[str, Column]:
        """Encoders of the columns that are read."""
        return {name: self._steps.get(name, column) for name, column in self._columns.items()}

    def needed(self, names: Sequence[str]) -> list[str]:
        """Return which columns are read for the codes of some."""
        needed = dict.fromkeys(names)
        for name in names:
            if isinstance(column := self._columns.get(name), Difference):
                needed[column.first] = None
        return list(needed)

    def combined(
        self,
        codes: Mapping[str, NDArray[Any]],
        table: str = "the table",
        first_row: int = 0,
        begin: str = "the first is 0",
    ) -> dict[str, NDArray[Any]]:
        """Return the codes of columns, given those that `reading` gave.

        Raises
        ------
        ValueError
            With column and row, where a difference does not fit.
        """
        combined, problems = dict(codes), []
        for name in filter(codes.__contains__, self._steps):
            column, steps = self._columns[name], self._steps[name]
            if not isinstance(column, Difference):
                combined[name] = steps.binned(codes[name])
            elif column.first in codes:  # else it is there for the difference from it alone
                first = codes[column.first]
                combined[name], problem = column.coded(self._steps[column.first], first, steps, codes[name])
                if problem is not None:
                    problems.append(problem.of(name, first_row, begin))
        refuse(table, problems)
        return combined

    def scattered(self, rng: np.random.Generator) -> Relations:
        """Return the relations with a drawn distribution of values within each bin."""
        other = copy.copy(self)
        other._columns = {name: column.scattered(rng) for name, column in self._columns.items()}
        return other

    def cells(self, codes: Mapping[str, NDArray[Any]], rng: np.random.Generator, start: int = 0) -> dict[str, Cells]:
        """Return the cells of all columns for some records, numbered from a first row.

        Parameters
        ----------
        codes : mapping of str to ndarray of int, shape (n_records,)
        rng : numpy.random.Generator
        start : int
            Number of records before.
        """
        values = values_within(self._rules, self._columns, codes, rng)
        cells = {n: Cells(c, np.asarray(codes[n]), values.get(n)) for n, c in self._columns.items()}
        for name in self._differences:
            column: Any = self._columns[name]
            cells[name] = column.cells(cells[column.first], np.asarray(codes[name], dtype=np.int64), rng)
        rows = range(start, start + len(next(iter(codes.values()))))
        for name in self._order:
            cells[name] = self._made[name].made(cells, rows, rng)
        return cells

    def check_there(self) -> None:
        """Raise ``ImportError`` or ``ValueError`` where a column cannot be made here, such as for a missing package."""
        for column in self._made.values():
            if isinstance(column, Fake):
                column.check_there()


def _second(name: str, first: str, columns: Mapping[str, Column], whole: Mapping[str, Column]) -> Column:
    """Return the column of dates or numbers that a difference is decoded to."""
    column, base = columns[name], whole.get(first)
    if base is None:
        lost = f"no such column is read{nearest(first, columns)}"
        raise ValueError(f"column {name!r} is the difference from {first!r}, and {lost}")
    if not isinstance(base, Binned):
        message = f"column {name!r} is a difference from {first!r}"
        raise ValueError(f"{message}, which needs numbers or dates")  # noqa: TRY004 - of a schema that contradicts itself
    assert isinstance(column, Difference)
    try:
        return column.second(base)
    except ValueError as error:
        raise ValueError(f"column {name!r}: {error}") from None
