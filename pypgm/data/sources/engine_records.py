"""Codes of the records of an engine's table, column after column, as expressions."""

from __future__ import annotations

import copy
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from pypgm.data.columns.column import Column
from pypgm.data.columns.dates import places_of, units_per
from pypgm.data.columns.difference import Difference, Steps
from pypgm.data.columns.listed_numbers import line_of
from pypgm.data.columns.numbers import Integer
from pypgm.data.schema.one_of import Block
from pypgm.data.schema.schema import Schema
from pypgm.data.sources.engine_codes import beyond, bin_of, code_of
from pypgm.data.sources.engine_dates import place_of_date
from pypgm.data.sources.engine_numbers import Expression, quotient
from pypgm.data.sources.engine_texts import Texts
from pypgm.data.sources.frames import imported


class Codes:
    """The codes of a schema's attributes in an engine's table.

    Parameters
    ----------
    table : ibis.Table
    schema : Schema

    Attributes
    ----------
    table : ibis.Table
        The table; where texts are known, with their lists joined to it.
    texts : Texts
        Columns of texts, whose codes are known once their keys are encoded.
    """

    def __init__(self, table: Expression, schema: Schema) -> None:
        self._schema = schema
        self._reading: Mapping[str, Any] = schema.reading
        columns = {name: schema.columns.get(name, self._reading[name]) for name in self._reading}
        with_codes = {n: c for n, c in columns.items() if isinstance(c, Column) and not isinstance(c, Difference)}
        self.texts = Texts(table, with_codes)
        self.table = table
        self._text_codes: dict[str, Expression] = {}

    @property
    def direct(self) -> list[str]:
        """Attributes whose codes need no text."""
        needed = self._schema.needed
        return [a for a in self._schema.domain if not self.texts.columns.intersection(needed([a]))]

    def joined(self, names: Collection[str]) -> tuple[Codes, dict[str, str]]:
        """Return these with the codes of the texts of some columns, and SQL for each table that is joined for them."""
        known = copy.copy(self)
        known.table, known._text_codes, lists = self.texts.joined(names)
        return known, lists

    def of(self, attribute: str) -> tuple[Expression, str | None]:
        """Return the code of each record, -1 for a misfit, and the problem of the column, if any."""
        column, reading = self._schema.columns[attribute], self._reading
        if isinstance(column, Difference):
            both: Any = [reading[a] for a in (column.first, attribute)]
            declared = [steps.column if isinstance(steps, Steps) else steps for steps in both]
            text = self._text_codes.get(column.first)
            of_base = code_of(self.table, column.first, declared[0], text)
            return difference_of(self.table, (column.first, attribute), column, declared, of_base)
        if isinstance(column, Block):
            return self._of_block(column)
        return code_of(self.table, attribute, column, self._text_codes.get(attribute))

    def _of_block(self, block: Block) -> tuple[Expression, str | None]:
        """Return the code of the one column of a block that is true, -1 for none or several, and the problem."""
        of_columns = [
            code_of(self.table, name, self._reading[name], self._text_codes.get(name))
            for name in map(str, block.values)
        ]
        problem = next((problem for _, problem in of_columns if problem is not None), None)
        if problem is not None:
            return of_columns[0][0], problem
        n = len(of_columns)  # what is true adds from n on to below 2 n, and a misfit 2 n
        added = [code.cases((1, n + i), (0, 0), else_=2 * n) for i, (code, _) in enumerate(of_columns)]
        return sum(added[1:], added[0]).cases(*((n + i, i) for i in range(n)), else_=-1).cast("int64"), None


def difference_of(
    table: Expression,
    names: tuple[str, str],
    column: Difference,
    declared: Sequence[Any],
    of_base: tuple[Expression, str | None],
) -> tuple[Expression, str | None]:
    """Return the code of each difference, -1 for a misfit, and the problem of the columns, if any.

    Parameters
    ----------
    table : ibis.Table
    names : pair of str
        Names of the other column, and of the column measured as its difference from it.
    column : Difference
    declared : pair of Column
        Declarations of the two.
    of_base : tuple of ibis.Value and str
        Code of the other column, and its problem.
    """
    base, second = declared
    first: Any = line_of(base)
    ibis = imported("ibis", "a table of an engine", "ibis")
    values = [table[name] for name in names]
    kinds = [value.type() for value in values]
    is_date, has_times = first.has_dates, first.has_times
    if is_date:
        fit = [(k.is_timestamp() and k.timezone is None) or k.is_date() for k in kinds]
    else:
        fit = [first.scale == "numbers" and k.is_integer() for k in kinds]
    if not all(fit) or (has_times and any(k.is_date() for k in kinds)) or not isinstance(column.span, Integer):
        needed = "dates, or times without a zone" if is_date else "whole numbers"
        return values[1], f"is measured as a difference, which an engine counts of {needed} alone: cast them in a query"
    places = [place_of_date(value, column.unit, has_times) if is_date else value.cast("int64") for value in values]
    if first.outside == "clip":
        ends = [end[[i]] for end, i in zip(first.ends(), (0, -1), strict=True)]
        low, high = (
            int(places_of(end // first.per_unit, column.unit, has_times)[0]) if is_date else int(end[0]) for end in ends
        )
        places[0] = ibis.cases((places[0] < low, low), (places[0] > high, high), else_=places[0])
    per = units_per(column.unit, has_times) if is_date else 1
    apart = places[1] - places[0]
    span = column.span
    if span.edges:
        inside = bin_of(ibis, lambda start: apart >= int(start) * per, span.bounds_and_starts()[2].tolist(), 0)
    else:
        inside = quotient(apart - span.low * per, span.width * per)
    code, problem = of_base
    if problem is not None:
        return code, problem
    is_missing = values[0].isnull() | values[1].isnull() | (code >= first.n_values)
    below, above, _ = beyond(span)
    none = -1 if column.none_code is None else column.none_code
    at_places = zip(second.null_places.tolist(), second.null_codes_at_places, strict=True)
    nulls = [] if is_date else [(values[1] == int(p), null - second.size + column.size) for p, null in at_places]
    arms = [*nulls, (is_missing, none), (apart < span.low * per, below), (apart >= (span.high + 1) * per, above)]
    return ibis.cases(*arms, else_=inside).cast("int64"), None
