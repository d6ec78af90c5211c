"""Columns measured as their difference from another column, and decoded as the sum of both."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from pypgm.data.columns.bins import Binned, Outside, Within
from pypgm.data.columns.column import Column, Encoder, Misfit, as_tuple
from pypgm.data.columns.dates import MONTHS, Unit, last_after, span_between, units_of, units_per
from pypgm.data.columns.listed_numbers import ListedNumbers, on_line
from pypgm.data.columns.made import Cells
from pypgm.data.columns.numbers import Integer, Real
from pypgm.data.columns.values import Values
from pypgm.domain import Label

_DRAWS = 20  # of a difference, at most, whose value reads as null


@dataclass(frozen=True)
class Difference(Column):
    """Dates or numbers whose difference from another column is bounded by public knowledge.

    The difference is counted, in bins; a record comes back with the other column's value and the difference
    added, so that it is within its bounds in every record. Evidence and answers of a model concern the difference.

    Parameters
    ----------
    first : str
        The other column, of dates or numbers; in files it is called "from".
    low, high : int or float
        The least and the largest difference, both allowed: public knowledge.
    unit : {"year", "month", "week", "day", "hour", "minute", "second"}
        Unit of a difference of dates, in whole ones, as ages are counted: 25 lasts until the day before the 26th
        birthday.
    width, edges
        Bounds of the bins, as for `Integer`.
    bins, decimals
        Bins of differences that are not whole numbers, as for `Real`; `edges` may stand for `bins`. Of dates these
        are parts of a unit of fixed length, rounded to the decimals.
    format : str, optional
        Format of the dates in a file; by default that of the other column.
    outside, within, null, objects
        As in `Binned`, for the difference. A null is needed if the other column may have no value: then this one has
        none.

    Examples
    --------
    >>> from pypgm import Schema
    >>> from pypgm.data import Date, Difference
    >>> birth = Date("1940-01-01", "1999-12-31", "year")
    >>> schema = Schema({"birth": birth, "hired": Difference("birth", 18, 25, "year")})
    >>> records = schema.encode({"birth": ["1950-05-07"], "hired": ["1970-05-06"]})
    >>> records.columns["hired"].tolist(), schema.domain.labels["hired"][1]
    ([1], 19)
    >>> [values.tolist()[0].isoformat() for values in schema.decode(records, rng=0).values()]
    ['1950-11-07', '1970-06-27']
    """

    first: str
    low: float
    high: float
    unit: Unit | str = ""
    width: int = 1
    edges: Sequence[float] = ()
    bins: int | None = None
    decimals: int | None = None
    format: str = ""
    outside: Outside = "refuse"
    within: Within = "uniform"
    kind = "difference"
    is_ordinal = True
    numbers_are = "places"

    def __post_init__(self) -> None:
        object.__setattr__(self, "edges", as_tuple(self.edges, "edges needs a list of numbers"))
        super().__post_init__()

    @cached_property
    def span(self) -> Integer | Real:
        """The difference as a column of numbers."""
        options: dict[str, Any] = {"outside": self.outside, "within": self.within, "null": bool(self.nulls)}
        if self.bins is None and self.decimals is None:
            whole: Any = (self.low, self.high, self.width, self.edges)  # checked there
            return Integer(*whole, **options)
        return Real(self.low, self.high, self.bins, self.edges, self.decimals, **options)

    @property
    def n_values(self) -> int:
        """Number of bins."""
        return self.span.n_values

    @property
    def value_labels(self) -> tuple[Label, ...]:
        """The bins."""
        return self.span.value_labels

    @property
    def earlier_labels(self) -> tuple[Label, ...] | None:
        """Labels of the spans in releases of earlier versions."""
        return self.span.earlier_labels

    @property
    def other_label(self) -> str | None:
        """``other`` where differences beyond the bounds have a code of their own."""
        return self.span.other_label

    @property
    def allowed(self) -> str:
        """The bounds, in words."""
        units = f" {self.unit}s" if self.unit else ""
        return f"a value that is {self.low} to {self.high}{units} after that of {self.first!r}"

    def encoder(self) -> Encoder:
        """Return an encoder that puts differences into bins."""
        encode = self.span.encoder()

        def encoded(values: Values) -> tuple[NDArray[Any], Misfit | None]:
            codes, problem = encode(values)
            return self._of_kinds(codes, self.none_kind), problem

        return encoded

    def _of_kinds(self, codes: NDArray[Any], kinds: int | NDArray[np.int64]) -> NDArray[Any]:
        """Return codes of the span, which has one code for nulls, with a code for each of the kinds of them."""
        if len(self.null_kinds) < 2:
            return codes
        moved: NDArray[Any] = (codes + np.where(codes == self.span.null_code, kinds, 0)).astype(self.dtype)
        return moved

    def drawn(self, codes: NDArray[Any], rng: np.random.Generator | int | None) -> NDArray[Any]:
        """Return differences within the bin of each code."""
        return self.span.drawn(codes, rng)

    def scattered(self, rng: np.random.Generator) -> Column:
        """Return the column with a drawn distribution of the differences within each bin."""
        span = self.span.scattered(rng)
        return self if span is self.span else self._with(span=span)

    def shown(self, codes: NDArray[Any], values: NDArray[Any] | None) -> NDArray[Any]:
        """Return differences."""
        return self.span.shown(np.minimum(codes, self.span.size - 1), values)

    def written(self, codes: NDArray[Any], values: NDArray[Any] | None) -> NDArray[Any]:
        """Return the texts of differences."""
        texts = self.span.written(np.minimum(codes, self.span.size - 1), values)
        for code, kind in zip(self.null_codes, self.null_kinds, strict=True):
            texts[np.asarray(codes) == code] = kind.text
        return texts

    def second(self, first: Binned) -> Binned:
        """Return the column of the values themselves, given the other column."""
        if first.size > first.n_values and not self.nulls:
            raise ValueError(f"needs null: column {self.first!r} may have no value")
        options: dict[str, Any] = {"outside": self.outside, "within": "uniform", "null": self.null}
        units = units_of(first.has_times)
        if first.has_dates:
            if self.unit not in units:
                raise ValueError(f"a difference of dates needs a unit, one of {', '.join(units)}")
            is_fixed = self.unit not in MONTHS and units_per(self.unit, first.has_times) >= self.span.per_unit > 0
            if not (self.span.is_whole or is_fixed):
                raise ValueError(
                    f"a difference of dates in parts of a {self.unit} needs decimals that are no finer than the dates "
                    "are, and a unit of fixed length"
                )
        elif self.unit or self.format:
            raise ValueError(f"unit and format are for dates, but {self.first!r} has numbers")
        elif not (first.per_unit and self.span.per_unit):
            raise ValueError(f"a difference of numbers needs decimals, its own and those of {self.first!r}")
        return first.shifted(self.low, self.high, self.unit, self.format, self.span.per_unit, **options)

    def coded(
        self, first: Steps | ListedNumbers, of_first: NDArray[Any], second: Steps, of_second: NDArray[Any]
    ) -> tuple[NDArray[Any], Misfit | None]:
        """Return the codes of differences, and the problem of the first without one."""
        starts, ends = first.steps(of_first), second.steps(of_second)
        places: NDArray[Any]
        if first.column.has_dates:
            starts, ends = starts // first.column.per_unit, ends // second.column.per_unit
            places = self._span(starts, ends, first.column.has_times)
        else:
            unit = second.column.per_unit
            places = (ends - starts * (unit // first.column.per_unit)) / unit
        is_null = second.is_null(of_second)
        is_missing = (of_first >= first.n_values) | is_null
        is_strange = ~is_missing & (of_second >= second.n_values)
        codes, problem = self.span.codes_of(places.astype(np.float64), is_missing, is_strange)
        what = f"needs {self.allowed}, and is not{' or is empty' if not self.nulls else ''}"
        what += ' ("outside": "clip" allows others)' if self.outside == "refuse" else ""
        kinds = np.where(is_null, of_second.astype(np.int64) - (second.size - len(second.null_kinds)), self.none_kind)
        return self._of_kinds(codes, kinds), None if problem is None else Misfit(problem.row, what)

    def cells(self, first: Cells, codes: NDArray[Any], rng: np.random.Generator) -> Cells:
        """Return values at the differences of codes from the cells of the other column.

        No value is one that a file reads as null, unless hardly any other is in the bin of its difference.
        """
        first = on_line(first)
        assert isinstance(first.column, Binned)
        column, starts = self.second(first.column), first.column.steps_of(np.asarray(first.values))
        steps = self._steps(first.column, starts, column, codes, rng)
        rows = np.flatnonzero((codes < self.n_values) & (first.codes < first.column.n_values))
        for _ in range(_DRAWS):
            rows = rows[column.reads_as_null(column.of_steps(steps[rows]))]
            if not rows.size:
                break
            steps[rows] = self._steps(first.column, starts[rows], column, codes[rows], rng)
        second_codes = np.zeros(len(codes), dtype=np.int64)
        if column.other_code is not None:
            second_codes[codes == self.other_code] = column.other_code
        if column.none_code is not None:
            second_codes[first.codes >= first.column.n_values] = column.none_code
        for code, of_column in zip(self.null_codes, column.null_codes, strict=True):
            second_codes[codes == code] = of_column
        return Cells(column, second_codes, column.of_steps(steps))

    def _steps(
        self, first: Binned, starts: NDArray[Any], column: Binned, codes: NDArray[Any], rng: np.random.Generator
    ) -> NDArray[Any]:
        """Return values of the second column at drawn differences, both columns' values in steps."""
        spans = self.span.drawn(codes, rng)
        if first.has_dates:
            whole, part = starts // first.per_unit, starts % first.per_unit
            part = part * column.per_unit // first.per_unit
            return np.asarray(self._after(whole, spans, first.has_times, rng) * column.per_unit + part)
        unit = column.per_unit
        steps = starts * (unit // first.per_unit)
        return np.asarray(steps + self.span.steps_of(spans) * (unit // self.span.per_unit))

    def to_dict(self) -> dict[str, Any]:
        """Return the entry of the column in a schema file."""
        return {"from" if name == "first" else name: value for name, value in super().to_dict().items()}

    def _span(self, starts: NDArray[np.int64], ends: NDArray[np.int64], has_times: bool) -> NDArray[Any]:
        """Return the units between dates in days, or seconds: whole ones, or rounded to the decimals."""
        if self.span.is_whole:
            return span_between(starts, ends, self.unit, has_times)
        apart = (ends - starts) / units_per(self.unit, has_times)
        # A span beyond the bounds is not rounded to one within.
        return np.where((apart < self.low) | (apart > self.high), apart, np.round(apart, self.decimals or 0))

    def _after(
        self, starts: NDArray[np.int64], spans: NDArray[Any], has_times: bool, rng: np.random.Generator
    ) -> NDArray[np.int64]:
        """Return a day, or a second, at a number of whole units after another."""
        unit: Any = self.unit
        if not self.span.is_whole:
            return self._parts_after(starts, spans, units_per(unit, has_times), rng)
        low, high = last_after(starts, spans - 1, unit, has_times) + 1, last_after(starts, spans, unit, has_times)
        if self.within in {"lower", "middle"}:
            return low if self.within == "lower" else low + (high - low) // 2
        return rng.integers(low, high, endpoint=True)

    def _parts_after(
        self, starts: NDArray[np.int64], spans: NDArray[Any], per: int, rng: np.random.Generator
    ) -> NDArray[np.int64]:
        """Return a day, or a second, at a number of units after another that is rounded to the decimals."""
        if self.within in {"lower", "middle"}:
            return np.asarray(starts + np.rint(spans * per).astype(np.int64))
        doubled = 2 * self.span.steps_of(spans).astype(np.int64)  # halves of the last decimal, exactly
        least, most = ((doubled + sign) * per // (2 * self.span.per_unit) for sign in (-1, 1))
        most -= (doubled + 1) * per % (2 * self.span.per_unit) == 0  # a half may be rounded to either
        low = np.maximum(least + 1, math.ceil(self.low * per))
        high = np.maximum(low, np.minimum(most, math.floor(self.high * per)))
        return np.asarray(starts + rng.integers(low, high, endpoint=True))

    def _problems(self) -> Iterator[str]:
        given: Any = self.first
        if not isinstance(given, str) or not given:
            yield "needs the column that it is the difference from, 'from' in files"
        if self.unit and self.unit not in get_args(Unit):
            yield f"unit must be one of {', '.join(get_args(Unit))}"
        yield from super()._problems()
        try:
            replace(self.span)
        except (TypeError, ValueError) as error:
            yield str(error)


@dataclass(frozen=True)
class Steps(Column):
    """The values of a column of bins as they are read: in steps from the first, for the differences between them."""

    column: Binned
    kind = "steps"
    is_ordinal = True
    numbers_are = "places"
    value_labels = None  # there are too many

    @cached_property
    def start(self) -> int:
        """Number of steps from zero to the first value."""
        return int(self.column.ends()[0][0])

    @cached_property
    def n_values(self) -> int:
        """Number of steps between the bounds."""
        return int(self.column.ends()[1][-1]) - self.start + 1

    @property
    def other_label(self) -> str | None:
        """Label of other values, as of the column."""
        return self.column.other_label

    @property
    def allowed(self) -> str:
        """Description of the values that the column allows."""
        return self.column.allowed

    def encoder(self) -> Encoder:
        """Return an encoder that reads values as the column does."""

        def encode(values: Values) -> tuple[NDArray[Any], Misfit | None]:
            steps, codes, problem = self.column.steps_and_codes(values)
            beyond = codes.astype(np.int64) - self.column.n_values
            return np.where(beyond < 0, steps - self.start, beyond + self.n_values).astype(self.dtype), problem

        return encode

    def shown(self, codes: NDArray[Any], values: NDArray[Any] | None) -> NDArray[Any]:
        """Return steps."""
        del values
        return self.steps(codes)

    @property
    def outside(self) -> Outside:
        """Policy for values beyond the bounds."""
        return self.column.outside

    @property
    def null_places(self) -> NDArray[np.float64]:
        """Places of null texts that read as values."""
        return self.column.null_places

    def bounds_and_starts(self) -> tuple[float, float, NDArray[np.float64]]:
        """Return the bounds and starts of the column."""
        return self.column.bounds_and_starts()

    def steps(self, codes: NDArray[Any]) -> NDArray[np.int64]:
        """Return the numbers of steps from zero to values; for other codes any number."""
        return codes.astype(np.int64) + self.start

    def binned(self, codes: NDArray[Any]) -> NDArray[Any]:
        """Return the codes of the column for codes of steps."""
        column, given = self.column, codes.astype(np.int64)
        bins = np.searchsorted(column.ends()[0], self.steps(codes), side="right") - 1
        beyond = given - self.n_values
        binned_codes: NDArray[Any] = np.where(beyond < 0, bins, beyond + column.n_values).astype(column.dtype)
        return binned_codes
