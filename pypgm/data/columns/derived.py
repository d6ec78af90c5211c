"""Columns derived from others by a public rule: a copy, a mapping, a sum, a product or a difference."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import EllipsisType
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from pypgm.data.columns.bins import Binned
from pypgm.data.columns.column import Column
from pypgm.data.columns.dates import Unit, span_between, units_of
from pypgm.data.columns.listed_numbers import extent_of, line_of, on_line
from pypgm.data.columns.made import Cells, Made
from pypgm.data.columns.mapped import Mapped, MappedBins
from pypgm.data.columns.numbers import Numeric, one_bin
from pypgm.data.schema.rules import Entry, codes_named
from pypgm.domain import Label

_WAYS = ("sum", "difference", "product")


@dataclass(frozen=True)
class Derived(Made):
    """A column that is a function of others, which is publicly known: it costs nothing, and is exact in every record.

    One of `mapping`, `sum`, `difference` and `product` defines the function; without any it is a copy of `source`.

    Parameters
    ----------
    source : str or sequence of str
        The column to copy or to map, or several columns of listed values to map; in files it is called "from".
    mapping : mapping, or sequence of pairs
        Value of this column for each value of the source. In pairs the first may be a list of values, or
        ``{"from": value, "to": value}`` as in a `Rule`; the first pair that fits counts. With several columns, a pair
        begins with a list of one such entry for each.
    other : str, int, float, bool or None, optional
        Value for all other values of the source: those absent from the mapping, those that are not found where
        the source is open, and "other" itself. None is a missing value; by default, ``...``, there is no such value.
    sum, difference, product : sequence of str
        Columns of numbers; a difference has two, of numbers or of dates, and is the second minus the first.
    unit : {"day", "week", "month", "year", "hour"}
        Unit of the difference of two dates, in whole ones; "day" by default.
    decimals : int, optional
        Digits after the point of a sum, difference or product; rounded half to even. By default all of them.
    null : str, optional
        Text of a missing value, for records with a missing value in one of its columns; by default that of the column.
    unless : str, or mapping of str to an entry, optional
        Condition for a missing value: another column, for any value but null; or its value, as an entry of a `Rule`.

    Examples
    --------
    >>> from pypgm import Schema
    >>> from pypgm.data import Integer
    >>> schema = Schema({
    ...     "city": ["Ash", "Elm", "Fox"],
    ...     "region": Derived("city", {"Ash": "North", "Elm": "North", "Fox": "South"}),
    ...     "rooms": Integer(1, 9),
    ...     "size": Derived("rooms", [({"to": 3}, "small"), ({"from": 4}, "large")]),
    ... })
    >>> records = schema.encode({"city": ["Fox", "Ash"], "rooms": [3, 8]})
    >>> {name: values.tolist() for name, values in schema.decode(records).items()}
    {'city': ['Fox', 'Ash'], 'region': ['South', 'North'], 'rooms': [3, 8], 'size': ['small', 'large']}
    """

    source: str | Sequence[str] = ""
    mapping: Mapping[Any, Label] | Sequence[tuple[Entry | Sequence[Entry], Label]] | None = field(
        default=None, hash=False
    )
    other: Label | EllipsisType | None = ...
    sum: Sequence[str] = ()
    difference: Sequence[str] = ()
    product: Sequence[str] = ()
    unit: Unit | str = ""
    decimals: int | None = None
    null: str | None = None
    unless: str | Mapping[str, Entry] | None = field(default=None, hash=False)
    kind = "derived"

    def __post_init__(self) -> None:
        pairs: Any = self.mapping.items() if isinstance(self.mapping, Mapping) else self.mapping
        if not isinstance(pairs, str | None) and all(isinstance(pair, Sequence) and len(pair) == 2 for pair in pairs):
            object.__setattr__(self, "mapping", tuple((_plain(entry), image) for entry, image in pairs))
        for field_name in ("source", *_WAYS):
            names = getattr(self, field_name)
            object.__setattr__(self, field_name, names if isinstance(names, str) else tuple(names))
        super().__post_init__()

    @property
    def pairs(self) -> tuple[tuple[Any, Any], ...]:
        """The pairs of the mapping."""
        mapping: Any = self.mapping
        return () if mapping is None else tuple(mapping)

    @property
    def sources(self) -> tuple[str, ...]:
        """Columns that this one follows from."""
        other = self._condition
        return tuple(dict.fromkeys((*self._operands, *(() if other is None else (other,)))))

    @property
    def _operands(self) -> tuple[str, ...]:
        """Columns that the function is of."""
        if self.source:
            return (self.source,) if isinstance(self.source, str) else tuple(self.source)
        return tuple(name for operation in _WAYS for name in getattr(self, operation))

    @property
    def _condition(self) -> str | None:
        """The column by which this one is missing."""
        return next(iter(self.unless), None) if isinstance(self.unless, Mapping) else self.unless

    def check(self, columns: Mapping[str, Column], name: str) -> None:
        """Raise ``ValueError`` if it cannot follow from these columns."""
        new = [source for source in self.sources if source not in columns]
        if new:
            raise ValueError(f"derived column {name!r} follows from {new[0]!r}, whose values are new in each record")
        try:
            function = self._function([columns[source] for source in self._operands])
            if isinstance(function, Mapped):
                function.check()
            self._missing(columns)
            self.column(columns)
        except ValueError as error:
            raise ValueError(f"derived column {name!r}: {error}") from None

    def made(self, cells: Mapping[str, Cells], rows: range, rng: np.random.Generator) -> Cells:
        """Return the values that follow from the columns."""
        del rows, rng
        given = [cells[name] for name in self._operands]
        results = self._function([cell.column for cell in given]).cells(given)
        name = self._condition
        if name is None:
            return results
        columns = {source: cells[source].column for source in self.sources}
        column, is_missing = self.column(columns), np.isin(cells[name].codes, self._missing(columns))
        codes = np.array(results.codes, dtype=np.int64)
        codes[is_missing] = column.size - 1 if column.null_code is None else column.null_code
        return Cells(column, codes, results.values)

    def column(self, columns: Mapping[str, Column]) -> Column:
        """Return the column of results, given the columns that it follows from."""
        of_function = [columns[name] for name in self._operands]
        column = self._function(of_function).column
        if self.unless is None or column.nulls:
            return column
        return column.with_null((self.nulls(of_function) or ("",))[0])

    def _missing(self, columns: Mapping[str, Column]) -> NDArray[np.int64]:
        """Return the codes of the other column for which this one is missing."""
        name = self._condition
        if name is None:
            return np.zeros(0, dtype=np.int64)
        other = columns[name]
        if not isinstance(self.unless, Mapping):
            if other.null_code is None:
                raise ValueError(f"unless names {name!r}, which is never null")
            return np.delete(np.arange(other.size), other.null_code)
        if isinstance(other, Binned) and not (other.per_unit and np.array_equal(*other.ends())):
            raise ValueError(f"unless needs values of a column of listed ones, and {name!r} has bins")
        return codes_named(name, other, self.unless[name])

    def splits_bins(self, columns: Mapping[str, Column]) -> bool:
        """Return whether values may differ within a bin of a source column."""
        function = self._function([columns[name] for name in self._operands])
        return not isinstance(function, _Copied) and (not isinstance(function, Mapped) or function.splits_bins)

    def _function(self, columns: Sequence[Column]) -> Mapped | _Computed | _Copied:
        if not self.source:
            return _Computed(self, columns)
        if self.mapping is None:
            return _Copied(columns[0], self.null)
        is_one = isinstance(self.source, str)
        pairs = [((entry,), image) for entry, image in self.pairs] if is_one else self.pairs
        kind = MappedBins if is_one and isinstance(columns[0], Binned) else Mapped
        return kind(self.sources, columns, pairs, self.other, self.nulls(columns))

    def nulls(self, columns: Sequence[Column]) -> tuple[str, ...]:
        """Return the text of missing values; none where there are none."""
        if self.null is not None:
            return (self.null,)
        return next(((column.null_kinds[column.none_kind].text,) for column in columns if column.nulls), ())

    def to_dict(self) -> dict[str, Any]:
        """Return the entry of the column in a schema file."""
        fields = {("from" if name == "source" else name): _listed(value) for name, value in super().to_dict().items()}
        if self.pairs and all(isinstance(entry, str) for entry, _ in self.pairs):
            fields["mapping"] = dict(self.pairs)
        return fields

    def _problems(self) -> Iterator[str]:
        given = [name for name in ("mapping", *_WAYS) if getattr(self, name)]
        is_copy = not given and self.mapping is None and isinstance(self.source, str) and self.source
        if len(given) != 1 and not is_copy:
            got = " and ".join(given) or "none"
            yield f"needs exactly one of mapping, {', '.join(_WAYS)}, or 'from' alone for a copy, got {got}"
            return
        pairs: Any = self.mapping
        if given == ["mapping"]:
            names = self.sources
            if not names or not all(isinstance(n, str) for n in names) or len(set(names)) < len(names):
                yield "needs the column that the mapping is of, 'from' in files, or a list of different ones"
            is_table = isinstance(self.source, tuple) and not isinstance(pairs, str)
            if is_table and not all(isinstance(entry, tuple) and len(entry) == len(names) for entry, _ in self.pairs):
                yield "a mapping of several columns needs pairs that begin with a list of one entry for each"
            if isinstance(pairs, str) or not all(isinstance(p, tuple) and len(p) == 2 for p in pairs):
                yield "mapping needs an object of values, or a list of pairs; the path of a file in a schema file alone"
            elif not all(image is None or isinstance(image, Label) for _, image in pairs):
                yield "mapping needs texts or numbers to map to"
        elif not is_copy:
            yield from self._operand_problems(given[0])
        yield from self._unless_problems()
        if self.other is not ... and (not isinstance(self.other, Label | None) or given != ["mapping"]):
            yield "other needs the result of a mapping for all other values"
        null: Any = self.null
        if null is not None and not isinstance(null, str):
            yield "null needs the text of a missing value"

    def _unless_problems(self) -> Iterator[str]:
        unless: Any = self.unless
        names = list(unless) if isinstance(unless, Mapping) else [unless]
        if unless is not None and not (len(names) == 1 and isinstance(names[0], str)):
            yield "unless needs another column, or an object of one with its values"

    def _operand_problems(self, operation: str) -> Iterator[str]:
        names: Any = getattr(self, operation)
        if self.source:
            yield "'from' belongs to a mapping"
        if isinstance(names, str) or not all(isinstance(n, str) for n in names) or len(names) < 2:
            yield f"{operation} needs a list of two columns{'' if operation == 'difference' else ' or more'}"
        elif operation == "difference" and len(names) > 2:
            yield "difference needs a list of two columns"
        if self.unit and (self.unit not in get_args(Unit) or operation != "difference"):
            yield f"unit is of a difference of dates, one of {', '.join(get_args(Unit))}"
        if self.decimals is not None and not (type(self.decimals) is int and 0 <= self.decimals <= 9):
            yield "decimals needs a whole number from 0 to 9"


class _Copied:
    """A copy of a column."""

    def __init__(self, source: Column, null: str | None) -> None:
        if null is not None and source.nulls and null != source.nulls[0]:
            raise ValueError("null is that of the column it is a copy of: leave it out")
        self.column = source

    def cells(self, given: Sequence[Cells]) -> Cells:
        """Return the cells of the column."""
        return given[0]


class _Computed:
    """A sum, a product or a difference of columns: of Python's integers, in steps, where all columns have such."""

    def __init__(self, derived: Derived, sources: Sequence[Column]) -> None:
        self._derived = derived
        self._lines = lines = [line for source in sources if (line := line_of(source)) is not None]
        self._dates = [line for line in lines if line.has_dates]
        numbers = [line for line in lines if line.scale == "numbers"]
        if len(numbers) < len(sources) and not (len(self._dates) == len(sources) == 2 and derived.difference):
            raise ValueError("needs columns of numbers, or a difference of two dates")
        self._check_dates()
        units = [line.per_unit for line in lines]
        self._is_exact = all(units)
        self._unit = math.prod(units) if derived.product else max(units)
        self._decimals = derived.decimals
        if self._is_exact and self._decimals is None:
            self._decimals = len(str(self._unit)) - 1
        has_nulls = any(source.size > source.n_values for source in sources)
        nulls = (derived.nulls(sources) or ("",)) if has_nulls else ()
        low, high = self._bounds([[self._operand(line, end) for end in extent_of(line)] for line in lines])
        spelled = {line.spelling for line in lines if isinstance(line, Numeric)}
        mark_options: dict[str, Any] = spelled.pop()._asdict() if len(spelled) == 1 else {}
        if derived.product:  # of which the unit is another
            mark_options |= {"prefix": "", "suffix": ""}
        self.column = one_bin(low, high, self._decimals, null=nulls, **mark_options)

    def cells(self, given: Sequence[Cells]) -> Cells:
        """Return the results for cells of the columns; missing where one is missing."""
        column = self.column
        pairs = list(zip(self._lines, map(on_line, given), strict=True))
        missing = np.logical_or.reduce([np.asarray(cell.codes) >= line.n_values for line, cell in pairs])
        parts = [self._operand(line, line.steps_of(np.asarray(cell.values))) for line, cell in pairs]
        results = self._result(parts)
        results[missing] = column.low
        values = results.astype(np.int64 if column.is_whole else np.float64)
        return Cells(column, np.where(missing, column.size - 1, 0), values)

    def _check_dates(self) -> None:
        has_times = {date.has_times for date in self._dates}
        if len(has_times) > 1:
            raise ValueError("needs two dates, both with times or both without")
        if self._derived.unit and not self._dates:
            raise ValueError("has a unit, which only a difference of dates has")
        if self._dates and self._unit_of_dates not in units_of(has_times.pop()):
            raise ValueError(f"unit {self._derived.unit!r} needs dates with times")

    @property
    def _unit_of_dates(self) -> Any:  # noqa: ANN401 - one of several literals
        return self._derived.unit or "day"

    def _operand(self, line: Binned, steps: NDArray[Any]) -> NDArray[Any]:
        """Return steps of a column as operands."""
        if self._dates:
            return steps // line.per_unit
        return steps.astype(object) if self._is_exact else line.of_steps(steps).astype(np.float64)

    def _bounds(self, ends: Sequence[Sequence[NDArray[Any]]]) -> tuple[Any, Any]:
        """Return the least and the largest result, given the ends of each column's bins."""
        lows, highs = [line_ends[0][:1] for line_ends in ends], [line_ends[1][-1:] for line_ends in ends]
        if self._derived.difference:
            corners = [[highs[0], lows[1]], [lows[0], highs[1]]]
        elif self._derived.sum:
            corners = [lows, highs]
        else:  # a product is extreme where each of its parts is
            one = lows[0] * 0 + 1
            extremes = [one, one]
            for low, high in zip(lows, highs, strict=True):
                every = [value * end for value in extremes for end in (low, high)]
                extremes = [min(every), max(every)]
            corners = [[end, *[one] * (len(lows) - 1)] for end in extremes]
        results = [self._result(corner)[0] for corner in corners]
        return min(results), max(results)

    def _result(self, parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
        if self._dates:
            first, second = (part.astype(np.int64) for part in parts)
            return np.asarray(span_between(first, second, self._unit_of_dates, self._dates[0].has_times)).astype(object)
        if self._derived.product:
            result = math.prod(parts[1:], start=parts[0])
        else:
            units = [self._unit // line.per_unit if self._is_exact else 1 for line in self._lines]
            scaled = [part * unit for part, unit in zip(parts, units, strict=True)]
            result = scaled[1] - scaled[0] if self._derived.difference else sum(scaled[1:], start=scaled[0])
        if not self._is_exact:
            return result if self._decimals is None else np.round(result, self._decimals)
        return self._rounded(result, 10 ** (self._decimals or 0))

    def _rounded(self, numbers: NDArray[Any], unit: int) -> NDArray[Any]:
        """Return integers in the unit of the result as numbers with its decimals, rounded half to even."""
        if unit < self._unit:
            step = self._unit // unit
            whole, rest = numbers // step, 2 * (numbers % step)
            numbers = whole + ((rest > step) | ((rest == step) & (whole % 2 == 1))).astype(object)
        else:
            numbers = numbers * (unit // self._unit)
        return numbers if unit == 1 else numbers / unit


def _plain(entry: object) -> Any:  # noqa: ANN401
    return tuple(entry) if isinstance(entry, list) else entry


def _listed(value: object) -> object:
    """Return a value as JSON holds it: lists for tuples."""
    return [_listed(entry) for entry in value] if isinstance(value, tuple) else value
