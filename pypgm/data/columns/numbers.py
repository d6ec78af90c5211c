"""Columns of numbers between public bounds, and round numbers for their edges."""

from __future__ import annotations

import contextlib
import itertools
import math
import operator
import re
import sys
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from numbers import Rational
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pypgm.data.columns.bins import MOST_BINS, Binned, OtherMarksError, UnreadableError, drawn, parts_of_bins
from pypgm.data.columns.column import Reader, as_tuple
from pypgm.data.columns.number_text import WRITTEN, DecimalMark, Minus, Spelling, sign_of, written_as
from pypgm.data.columns.values import EXACT, read_number
from pypgm.domain import Label

_DIGITS = 15  # that a double tells apart
_MOST_DIGITS = 22  # powers of ten beyond are rounded
_EVEN = 500  # points that are evenly spaced, at most
_DECADES = 6  # below the largest bound, in which there are points of two digits


def nice(width: float) -> int | float:
    """Return the next larger number of 1, 2, 5, 10, 20, ... and of their tenths.

    Examples
    --------
    >>> nice(13), nice(0.03)
    (20, 0.05)
    """
    unit = 10.0 ** math.floor(math.log10(width)) if width > 0 else 1.0
    rounded = next(unit * step for step in (1, 2, 5, 10) if unit * step >= width * (1 - 1e-9))
    return int(rounded) if rounded >= 1 else float(f"{rounded:.1g}")


def round_points(low: float, high: float, decimals: int | None) -> NDArray[np.float64]:
    """Return public points between two bounds at which bins may begin.

    All numbers with these decimals if they are few; otherwise round ones, evenly spaced and, nearer to zero, of two
    digits, so that amounts of any magnitude are told apart.

    Examples
    --------
    >>> round_points(0, 5, 0).tolist()
    [1.0, 2.0, 3.0, 4.0]
    >>> points = round_points(0, 10_000, 2)
    >>> points[:3].tolist(), 40.0 in points, points[-2:].tolist()
    ([0.01, 0.02, 0.03], True, [9960.0, 9980.0])
    """
    unit = 0.0 if decimals is None else 10.0**-decimals
    if unit and (high - low) / unit <= 2 * _EVEN:
        steps = np.arange(math.ceil(round(low / unit, 6)), math.floor(round(high / unit, 6)) + 1)
        return _between(steps * unit, low, high, decimals)
    step = float(max(nice((high - low) / _EVEN), unit))  # whole numbers of any size are doubles
    even = np.arange(math.ceil(low / step), math.floor(high / step) + 1) * step
    top = math.ceil(math.log10(max(abs(low), abs(high)))) - 1
    digits = [10.0**k * np.arange(1, 10, 0.1) for k in range(top - _DECADES + 1, top + 1)]
    fine = np.concatenate([*digits, *(-d for d in digits)])
    return _between(np.concatenate([even, fine]), low, high, decimals)


def even_starts(low: float, high: float, bins: int) -> NDArray[np.float64]:
    """Return the starts of bins of equal width: 0.3, not 0.30000000000000004, which 0.3 is below.

    Examples
    --------
    >>> even_starts(0.0, 1.0, 10)[3].item()
    0.3
    """
    starts = np.linspace(low, high, bins + 1)[:-1]
    digits = _DIGITS - math.ceil(math.log10(max(abs(low), abs(high), sys.float_info.min)))
    short = np.round(starts, min(digits, _MOST_DIGITS)) if digits >= 0 else starts
    short[0] = low
    return short if (np.diff(short, append=high) > 0).all() else starts


def _between(points: NDArray[np.floating[Any]], low: float, high: float, decimals: int | None) -> NDArray[np.float64]:
    short = [float(f"{point:.12g}") for point in points.tolist()]
    rounded = np.unique(short if decimals is None else np.round(short, decimals)) + 0.0
    return rounded[(rounded > low) & (rounded < high)]


_MAX_DOUBLE = sys.float_info.max
_MOST_DECIMALS = 9
_GROUPED = re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d+)?")


@dataclass(frozen=True, kw_only=True)
class Numeric(Binned):
    """A column of numbers.

    Parameters
    ----------
    decimal : {".", ","}
        The mark of decimals of numbers that are texts; with a comma none has a point, but between groups.
    thousands : str
        The mark between groups of digits, such as ``,`` in ``62,347.69``, where they have one.
    prefix, suffix : str
        Texts around numbers that are texts, such as ``$`` or `` %``, with their spaces.
    minus : {"-", "typographic", "inner", "trailing", "brackets", "plus"}
        Form of negative numbers that are texts: a minus before the prefix, that of U+2212 there, a minus behind the
        prefix or behind the digits, or brackets; with "plus" a minus, and a plus before all other numbers.
    outside, within, null, objects
        See `Binned`.
    """

    decimal: DecimalMark = "."
    thousands: str = ""
    prefix: str = ""
    suffix: str = ""
    minus: Minus = "-"
    scale = "numbers"
    numbers_are = "places"

    @property
    def marks(self) -> tuple[DecimalMark, str]:
        """The mark of decimals and that between groups of digits."""
        return self.decimal, self.thousands

    @property
    def spelling(self) -> Spelling:
        """The form of numbers in texts."""
        return Spelling(self.decimal, self.thousands, self.prefix, self.suffix, self.minus)

    @property
    def is_plain(self) -> bool:
        """True if texts have a decimal point and no other mark."""
        return self.spelling == Spelling()

    def plain_text(self, text: str) -> str:
        """Return the text of a number with a decimal point and no other mark; that of a null as it is."""
        is_plain = self.is_plain or text.strip() in self.null_texts
        return text if is_plain else self.spelling.plain(text)

    def unmarked(self) -> Numeric:
        """Return the column with numbers written with a decimal point and no other mark."""
        return replace(self, **Spelling()._asdict())

    def reader(self) -> Reader:
        """Return a reader of numbers with a decimal point."""
        return "number", number_in

    def shifted(self, low: float, high: float, unit: str, form: str, per_unit: int, **options: Any) -> Binned:  # noqa: ANN401
        """Return the column of numbers between two differences from these, as fine as the finer of both."""
        del unit, form
        first, last = self.ends()
        decimals = len(str(max(self.per_unit, per_unit))) - 1
        low, high = first[0] / self.per_unit + low, last[-1] / self.per_unit + high
        return one_bin(low, high, decimals, **options, **self.spelling._asdict())

    def _read(self, value: object) -> float:
        if not isinstance(value, str):
            return as_number(value)
        try:
            return as_number(self.plain_text(value))
        except UnreadableError:
            place = written_as(value)
            if place is None and (sign := sign_of(value)) is not None:
                place = len(WRITTEN) + sign
            raise UnreadableError if place is None else OtherMarksError(place) from None

    @cached_property
    def _null_run(self) -> int:
        """1 if the text of a null, such as 1.005, is that of another number by the marks of the column; else 0."""
        read = ((read_number(text), read_number(self.spelling.plain(text))) for text in self.null_texts)
        return int(any(marked is not None and marked != plain for plain, marked in read))

    @abstractmethod
    def _plain_texts(self, values: NDArray[Any]) -> list[str]:
        """Return values as texts with decimal points."""

    def _as_texts(self, values: NDArray[Any]) -> list[str]:
        texts = self._plain_texts(values)
        return texts if self.is_plain else list(map(self.spelling.marked, texts))

    def _problems(self) -> Iterator[str]:
        yield from super()._problems()
        yield from self.spelling.problems()


@dataclass(frozen=True)
class Integer(Numeric):
    """A column of whole numbers.

    Parameters
    ----------
    low, high : int
        The lowest and the highest value, both allowed: public knowledge, never taken from the table.
    width : int
        Values to a bin, counted from `low`; the last bin may have fewer.
    edges : sequence of int
        Instead of `width`: where bins begin, besides `low`.
    decimal, thousands, prefix, suffix, minus, outside, within, null, objects
        See `Numeric`.

    Raises
    ------
    ValueError
        If the bounds or the edges do not rise, or are not below 2^53.

    Examples
    --------
    >>> age = Integer(0, 99, edges=[18, 65])
    >>> age.labels, age.encode(["17", "18.0", 99])[0].tolist()
    (('[0, 18)', '[18, 65)', '[65, 99]'), [0, 1, 2])
    >>> age.decode(np.array([0, 1]), rng=0).tolist()
    [15, 47]
    """

    low: int
    high: int
    width: int = 1
    edges: Sequence[int] = ()
    kind = "integer"
    families = frozenset({"int"})
    is_whole = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "edges", as_tuple(self.edges, "edges needs a list of numbers"))
        super().__post_init__()

    @property
    def value_labels(self) -> tuple[Label, ...]:
        """Label of each bin: its number, if it holds only one, else its ends."""
        first, last = self._first.tolist(), self._last.tolist()
        ends = [*(f"{a})" for a in first[1:]), f"{self.high}]"]
        return tuple(a if a == b else f"[{a}, {e}" for a, b, e in zip(first, last, ends, strict=True))

    @property
    def coarseness(self) -> str:
        """Number of bins, in words; nothing where each number has its own."""
        return "" if self.n_values == self.high - self.low + 1 else super().coarseness

    @property
    def allowed(self) -> str:
        """The bounds, in words."""
        return f"a whole number from {self.low} to {self.high}"

    @cached_property
    def _first(self) -> NDArray[np.int64]:
        rising = [self.low, *self.edges] if self.edges else range(self.low, self.high + 1, self.width)
        return np.array(rising, dtype=np.int64)

    @cached_property
    def _last(self) -> NDArray[np.int64]:
        return np.append(self._first[1:] - 1, self.high)

    @cached_property
    def _starts(self) -> NDArray[np.float64]:
        return self._first.astype(np.float64)

    @property
    def _bounds(self) -> tuple[float, float]:
        return float(self.low), float(self.high)

    @property
    def _noun(self) -> str:
        return "a whole number"

    def _read_array(self, values: NDArray[Any]) -> NDArray[np.float64] | None:
        if values.dtype.kind not in "iuf":
            return None
        places = values.astype(np.float64)
        broken = np.isfinite(places) & (places != np.floor(places))
        return None if broken.any() else places  # read one by one, which tells the row

    def _read(self, value: object) -> float:
        number = super()._read(value)
        if math.isfinite(number) and not number.is_integer():
            raise UnreadableError
        return number

    def _values(self, codes: NDArray[np.int64], rng: np.random.Generator) -> NDArray[Any]:
        return drawn(self._first, self._last, codes, self.within, rng)

    def ends(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the first and the last number of each bin."""
        return self._first, self._last

    def of_steps(self, steps: NDArray[Any]) -> NDArray[Any]:
        """Return the numbers themselves."""
        return steps.astype(np.int64)

    def _plain_texts(self, values: NDArray[Any]) -> list[str]:
        return list(map(str, values.tolist()))

    def _problems(self) -> Iterator[str]:
        yield from super()._problems()
        numbers = (self.low, self.high, self.width, *self.edges)
        if not all(isinstance(n, int) and not isinstance(n, bool) and abs(n) < EXACT for n in numbers):
            yield "low, high, width and edges need whole numbers below 2^53"
            return
        yield from _order_problems(self.low, self.high + 1, self.edges)
        if self.width < 1:
            yield "width must be at least 1"
        elif self.edges and self.width != 1:
            yield "width and edges are given both"
        elif not self.edges and (self.high - self.low) // self.width >= MOST_BINS:
            yield f"needs at most {MOST_BINS:,} bins; make width larger"


@dataclass(frozen=True)
class Real(Numeric):
    """A column of real numbers.

    Parameters
    ----------
    low, high : float
        The lowest and the highest value, both allowed: public knowledge, never taken from the table.
    bins : int, optional
        Number of bins of equal width.
    edges : sequence of float
        Starts of the bins besides `low`, instead of `bins`; one at `high` makes a bin of this value alone.
    decimals : int, optional
        Digits after the point of decoded values; by default all digits of a double.
    decimal, thousands, prefix, suffix, minus, outside, within, null, objects
        See `Numeric`.

    Raises
    ------
    ValueError
        If not exactly one of `bins` and `edges` is given, the bounds or the edges do not rise, or a bin holds no number
        of that many decimals.

    Examples
    --------
    >>> wage = Real(0, 100, bins=4, decimals=2, outside="clip")
    >>> wage.labels, wage.encode(["24.99", 25, 1e9])[0].tolist()
    (('[0, 25)', '[25, 50)', '[50, 75)', '[75, 100]'), [0, 1, 3])
    >>> wage.texts(np.array([0, 3]), rng=0).tolist()
    ['21.26', '90.93']
    """

    low: float
    high: float
    bins: int | None = None
    edges: Sequence[float] = ()
    decimals: int | None = None
    kind = "real"
    families = frozenset({"float", "decimal"})
    is_whole = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "edges", as_tuple(self.edges, "edges needs a list of numbers"))
        super().__post_init__()

    @property
    def value_labels(self) -> tuple[Label, ...]:
        """The bins; one of a single number between edges is that number, and of doubles the next begins behind it."""
        first, last = self.ends()
        alone = [bool(self.edges) and bool(a == b) for a, b in zip(first, last, strict=True)]
        behind = [not self.per_unit and a and not b for a, b in itertools.pairwise([False, *alone])]
        points = [a for a, is_behind in zip(self._starts.tolist(), behind, strict=True) if not is_behind]
        texts = iter(short_texts([*points, *([] if self._ends_in_heap else [float(self.high)])]))
        opened: list[str] = []
        for is_behind in behind:
            opened.append(f"({opened[-1][1:]}" if is_behind else f"[{next(texts)}")
        ends = [*(f"{start[1:]})" for start in opened[1:]), f"{next(texts, opened[-1][1:])}]"]
        closed = zip(opened, ends, alone, strict=True)
        return tuple(start[1:] if is_alone else f"{start}, {end}" for start, end, is_alone in closed)

    @property
    def earlier_labels(self) -> tuple[Label, ...]:
        """The bins, with both ends of those of a single number."""
        texts = short_texts([*self._starts.tolist(), *([] if self._ends_in_heap else [float(self.high)])])
        texts += texts[-1:] if self._ends_in_heap else []
        ends = [*(f"{t})" for t in texts[1:-1]), f"{texts[-1]}]"]
        return tuple(f"[{a}, {e}" for a, e in zip(texts[:-1], ends, strict=True))

    @property
    def _ends_in_heap(self) -> bool:
        """True if the last bin has one value, the upper bound."""
        return bool(self.edges) and self.edges[-1] == self.high

    @property
    def allowed(self) -> str:
        """The bounds, in words."""
        return f"a number from {self.low} to {self.high}"

    @cached_property
    def _starts(self) -> NDArray[np.float64]:
        if self.bins is not None:
            return even_starts(float(self.low), float(self.high), self.bins)
        return np.array([self.low, *self.edges], dtype=np.float64)

    @cached_property
    def _grid(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The first and the last number of each bin in units of the last decimal."""
        unit = 10 ** (self.decimals or 0)
        ends = np.append(self._starts, float(self.high))
        first = np.ceil(ends * unit).astype(np.int64)
        first -= (first - 1) / unit >= ends  # the product is rounded, the quotient is decoded
        first += first / unit < ends
        last = first[1:] - 1
        last[-1] += int(first[-1] / unit <= self.high)
        return first[:-1], last

    @property
    def _bounds(self) -> tuple[float, float]:
        return float(self.low), float(self.high)

    @property
    def _noun(self) -> str:
        return "a number"

    def _read_array(self, values: NDArray[Any]) -> NDArray[np.float64] | None:
        return values.astype(np.float64) if values.dtype.kind in "iuf" else None

    def fits(self, family: str) -> bool:
        """Return whether types of a family may hold the numbers: whole ones do where there are no decimals."""
        return family != "int" or self.decimals == 0

    def _values(self, codes: NDArray[np.int64], rng: np.random.Generator) -> NDArray[Any]:
        if self.decimals is not None:
            return self.of_steps(drawn(*self._grid, codes, self.within, rng))
        first, last = self.ends()
        low, high = first[codes], last[codes]
        beyond = np.append(first[1:], float(self.high))
        share = parts_of_bins(first, beyond, codes, self.within, rng)
        values: NDArray[np.float64] = np.clip(low + share * (high - low), low, high)
        return values

    @property
    def per_unit(self) -> int:
        """Units of the last decimal in one; 0 for columns of doubles."""
        return 0 if self.decimals is None else 10**self.decimals

    def ends(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the first and the last number of each bin, in units of the last decimal if there is one."""
        if self.decimals is not None:
            return self._grid
        starts, ends = self._starts, np.append(self._starts[1:], float(self.high))
        return starts, np.nextafter(ends, starts)

    def of_steps(self, steps: NDArray[Any]) -> NDArray[Any]:
        """Return numbers, given as units of the last decimal."""
        return np.asarray(steps / (self.per_unit or 1), dtype=np.float64)

    def _plain_texts(self, values: NDArray[Any]) -> list[str]:
        if self.decimals is None:
            return list(map(repr, values.tolist()))
        return [f"{value:.{self.decimals}f}" for value in values.tolist()]

    def _problems(self) -> Iterator[str]:
        yield from super()._problems()
        numbers = (self.low, self.high, *self.edges)
        if not all(isinstance(n, int | float) and not isinstance(n, bool) and abs(n) <= _MAX_DOUBLE for n in numbers):
            yield "low, high and edges need finite numbers"
            return
        rising = list(_order_problems(self.low, self.high, self.edges[:-1] if self._ends_in_heap else self.edges))
        if self.high - self.low > _MAX_DOUBLE:
            rising.append("low and high are further apart than numbers of double precision reach")
        yield from rising
        if (self.bins is None) == (not self.edges):
            yield "needs either bins or edges"
        elif self.bins is not None and not (type(self.bins) is int and 1 <= self.bins <= MOST_BINS):
            yield f"bins needs a whole number from 1 to {MOST_BINS:,}"
        elif (
            not rising and (np.diff(np.append(self._starts, [] if self._ends_in_heap else float(self.high))) <= 0).any()
        ):
            yield "bins are too narrow for numbers of double precision"
        elif not rising:
            yield from self._decimal_problems()

    def _decimal_problems(self) -> Iterator[str]:
        if self.decimals is None:
            return
        if not (type(self.decimals) is int and 0 <= self.decimals <= _MOST_DECIMALS):
            yield f"decimals needs a whole number from 0 to {_MOST_DECIMALS}"
        elif max(abs(self.low), abs(self.high)) * 10**self.decimals >= EXACT:
            yield "the bounds with these decimals have more digits than a double"
        elif (self._grid[0] > self._grid[1]).any():
            yield "a bin holds no number with these decimals"


def one_bin(low: float, high: float, decimals: int | None = 0, **options: Any) -> Integer | Real:  # noqa: ANN401
    """Return a column of one bin between two bounds, with a number of decimals."""
    if decimals == 0:
        return Integer(int(low), int(high), width=max(1, int(high - low)), **options)
    return Real(float(low), float(high) if high > low else float(low) + 1, bins=1, decimals=decimals, **options)


def as_number(value: object) -> float:
    """Return a number, or the text of one, as a float, infinite if it is too large, or raise `UnreadableError`.

    Examples
    --------
    >>> as_number("1e3"), as_number(10**400)
    (1000.0, inf)
    """
    if isinstance(value, str):
        try:
            # Python's own underscores, digits of other scripts, nan and inf are no numbers of a table.
            number = float(value) if value.isascii() and "_" not in value else math.nan
        except ValueError:
            number = math.nan
        if not math.isfinite(number) and read_number(value) is None:
            raise UnreadableError
        return number
    if isinstance(value, complex | np.complexfloating) and not value.imag:
        value = value.real
    if isinstance(value, bool) or not isinstance(value, Rational | float | Decimal | np.integer | np.floating):
        raise UnreadableError
    try:
        return float(value)
    except OverflowError:
        return math.inf if operator.gt(value, 0) else -math.inf
    except (TypeError, ValueError):
        raise UnreadableError from None


def number_in(text: str) -> float:
    """Return the number that a text is, perhaps with commas between groups of digits; NaN for any other.

    Examples
    --------
    >>> number_in("62,347.5"), number_in("6,2")
    (62347.5, nan)
    """
    with contextlib.suppress(UnreadableError):
        number = as_number(text.replace(",", "") if _GROUPED.fullmatch(text) else text)
        return number if math.isfinite(number) else math.nan
    return math.nan


def short_texts(numbers: Sequence[float]) -> list[str]:
    """Return texts of rising numbers: of six digits if these differ, else of all digits.

    Examples
    --------
    >>> short_texts([0.0, 1 / 3, 1e6]), short_texts([1.0000001, 1.0000002])
    (['0', '0.333333', '1e+06'], ['1.0000001', '1.0000002'])
    """
    texts = [f"{number:g}" for number in numbers]
    return texts if len(set(texts)) == len(texts) else list(map(repr, numbers))


def _order_problems(low: float, beyond: float, edges: Sequence[float]) -> Iterator[str]:
    if low >= beyond:
        yield "low must be below high"
    elif any(a >= b for a, b in zip([low, *edges], [*edges, beyond], strict=True)):
        yield "edges must rise, between low and high"
