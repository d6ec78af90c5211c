"""Columns of numbers and dates, put into bins between public bounds."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from pypgm._base.numeric import as_generator, is_masked
from pypgm.data.columns.column import Column, Encoder, Misfit, Reader
from pypgm.data.columns.number_text import SIGN_HINTS, SIGNS, WRITTEN, marks_hint
from pypgm.data.columns.values import Values, as_keys, as_list, bare

_HALVINGS = 5  # of a bin
_MAX_HALVES = 1 << 22  # halves of all bins
_BESIDE = 2  # bins by which a tail is fitted, at most
_ONE_VALUE = 1e-12  # of all bins, at most, in a bin that holds a single double
_REACH_STDDEV = 0.7  # standard deviation of the log of how far values reach in a bin that tapers


Within = Literal["uniform", "tapered", "tails", "middle", "lower"]


class Scattered:
    """A policy in place of `within`: in each bin values have a distribution of their own, the same for all records.

    A bin is halved again and again, and the part of its values that lies in the first half is drawn uniformly from 0
    to 1: a Polya tree. Where bins taper, the values taper towards the bound, at a rate that is drawn.

    Parameters
    ----------
    within : {"uniform", "tapered", "tails", "middle", "lower"}
        Policy of the column, of which the form of the first and the last bin is kept.
    n_bins : int
    rng : numpy.random.Generator
    """

    def __init__(self, within: Within, n_bins: int, rng: np.random.Generator) -> None:
        self.within = within
        levels = min(_HALVINGS, max(1, (_MAX_HALVES // n_bins).bit_length()))
        self._parts = [rng.random((n_bins, 2**level)) for level in range(levels)]
        self.reach = np.exp(rng.normal(0.0, _REACH_STDDEV, 2))

    def moved(self, codes: NDArray[np.int64], places: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return places in the bins of codes, from 0 to 1, for others that are uniform."""
        node, left = np.zeros(len(codes), dtype=np.intp), places.copy()
        for parts in self._parts:
            part = parts[codes, node]
            is_first = left < part
            left = np.where(is_first, left / np.maximum(part, 1e-300), (left - part) / np.maximum(1 - part, 1e-300))
            node = 2 * node + ~is_first
        return np.asarray((node + np.clip(left, 0.0, 1.0)) / 2 ** len(self._parts))


Outside = Literal["refuse", "clip", "null", "other"]
Scale = Literal["numbers", "days", "seconds"]

MOST_BINS = 1_000_000
"""Bins of a column at most: each has a label."""

_READ, _MISSING, _EMPTY, _UNREADABLE, _MARKED = range(5)
Places = tuple[NDArray[np.float64], NDArray[np.int8]]
"""Positions of values on the line, and the state of each: read, missing, empty where that is not a null, unreadable,
or, by the place of these in `WRITTEN` and beyond, unreadable but for other marks of numbers. The position of a missing
value is the place of its kind."""


class UnreadableError(ValueError):
    """A value is not of the column's kind."""


class OtherMarksError(UnreadableError):
    """State of a text that is a number with other marks, by their place in `WRITTEN`, or, beyond, without a sign."""

    def __init__(self, place: int) -> None:
        super().__init__()
        self.place = place


@dataclass(frozen=True, kw_only=True)
class Binned(Column):
    """A column whose values lie on a line, cut into bins.

    Parameters
    ----------
    outside : {"refuse", "clip", "null", "other"}
        Treatment of values beyond the bounds: the table is refused, they move to the nearest bound, or they get the
        code of nulls or one of their own, "other". The last two include values that cannot be read.
    within : {"uniform", "tapered", "tails", "middle", "lower"}
        Value of its bin that a code is decoded to: any, drawn uniformly; the same, but in the first and the last bin
        ever rarer towards the bound, by an exponential distribution whose mean is the width of the bin beside
        (``tapered``), or by one of logarithms, which is a power law of the values, where bins do not reach over zero
        (``tails``); its middle; or its lowest. Bins of one value, at either end, are not the first or last for tails.
    null, objects
        See `Column`.
    """

    outside: Outside = "refuse"
    within: Within | Scattered = "uniform"

    @property
    @abstractmethod
    def _starts(self) -> NDArray[np.float64]:
        """Starts of the bins, rising."""

    @property
    @abstractmethod
    def _bounds(self) -> tuple[float, float]:
        """The lowest and the highest value allowed."""

    @property
    @abstractmethod
    def scale(self) -> Scale:
        """Unit of places on the line: numbers are compared with numbers, and days from 1970 on with days."""

    @property
    @abstractmethod
    def is_whole(self) -> bool:
        """True if places on the line are whole numbers."""

    @abstractmethod
    def reader(self) -> Reader:
        """Return the kind of values in a file and a reader of their texts, NaN for others."""

    @abstractmethod
    def shifted(self, low: float, high: float, unit: str, form: str, per_unit: int, **options: Any) -> Binned:  # noqa: ANN401
        """Return the column of the values between two differences from these, both allowed.

        Parameters
        ----------
        low, high : float
        unit, form : str
            Unit of the differences and format of the values, of dates.
        per_unit : int
            Steps of the differences in one.
        **options
            Further arguments of the column.
        """

    @property
    @abstractmethod
    def _noun(self) -> str:
        """Noun for a value, such as ``a number``."""

    @abstractmethod
    def _read_array(self, values: NDArray[Any]) -> NDArray[np.float64] | None:
        """Return the places of an array's values on the line, NaN for missing values; None for another type of array.

        A place of -inf or inf is beyond the bounds.
        """

    @abstractmethod
    def _read(self, value: object) -> float:
        """Return the place of one value on the line, or raise `UnreadableError`."""

    @abstractmethod
    def _values(self, codes: NDArray[np.int64], rng: np.random.Generator) -> NDArray[Any]:
        """Return a value of the bin of each code."""

    @abstractmethod
    def _as_texts(self, values: NDArray[Any]) -> list[str]:
        """Return values as texts of a file."""

    @abstractmethod
    def ends(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the first and the last value that each bin is decoded to, in steps: days, seconds, last decimals."""

    @abstractmethod
    def of_steps(self, steps: NDArray[Any]) -> NDArray[Any]:
        """Return the values that lie the given numbers of steps from zero."""

    @property
    def has_dates(self) -> bool:
        """True if values are dates, with times or without."""
        return self.scale in {"days", "seconds"}

    @property
    def has_times(self) -> bool:
        """True if values are times, to the second, and not days."""
        return self.scale == "seconds"

    @property
    def scale_words(self) -> str:
        """The kind, and how fine it is where that decides what it is compared with."""
        return self.kind

    @property
    def coarseness(self) -> str:
        """Number of bins, in words."""
        return f"{self.n_values:,} bins"

    @property
    def per_unit(self) -> int:
        """Steps between two whole places on the line; 0 where values are as dense as doubles."""
        return 1

    def place_of(self, value: object) -> float:
        """Return the place of a value on the line; raise `UnreadableError` if it is none."""
        return self._read(self._bare(value))

    def steps_of(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return the numbers of steps from zero to values."""
        unit = self.per_unit
        return np.rint(values * unit).astype(np.int64) if unit > 1 else values if unit == 0 else values.astype(np.int64)

    @property
    def n_values(self) -> int:
        """Number of bins."""
        return len(self._starts)

    @property
    def other_label(self) -> str | None:
        """``other`` where values beyond the bounds have a code of their own."""
        return "other" if self.outside == "other" else None

    is_ordinal = True

    def bounds_and_starts(self) -> tuple[float, float, NDArray[np.float64]]:
        """Return the bounds and the start of each bin, for comparisons in an engine."""
        return *self._bounds, self._starts

    @cached_property
    def null_places(self) -> NDArray[np.float64]:
        """Places on the line of null texts that read as values: a value there is null, whatever its type."""
        return self._null_points[0]

    @cached_property
    def null_codes_at_places(self) -> tuple[int, ...]:
        """The code of each of those places."""
        return tuple(self.null_codes[kind] for kind in self._null_points[1].tolist())

    @cached_property
    def _null_points(self) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
        """Places of null texts that read as values, rising, and the place of the kind of each."""
        texts = {text: kind for text, kind in self.null_texts.items() if text}
        places, states = self._read_each(list(texts), {})
        is_read = (states == _READ) & np.isfinite(places)
        points, first = np.unique(places[is_read], return_index=True)
        return points, np.array([*texts.values()], dtype=np.intp)[is_read][first]

    def encoder(self) -> Encoder:
        """Return an encoder that puts values into bins."""
        return self._encoded

    def drawn(self, codes: NDArray[Any], rng: np.random.Generator | int | None) -> NDArray[Any]:
        """Return a value of the bin of each code by the policy `within`; of other codes one of the last bin.

        No value is one that a file reads as null, unless its bin has no other.
        """
        bins = np.minimum(np.asarray(codes, dtype=np.int64), self.n_values - 1)
        values = self._values(bins, as_generator(rng))
        return self._beside_nulls(values, bins)

    def _beside_nulls(self, values: NDArray[Any], bins: NDArray[np.int64]) -> NDArray[Any]:
        """Return values, each that reads as null replaced by the nearest one of its bin that does not."""
        (places,) = np.nonzero(self.reads_as_null(values))
        if not places.size:
            return values
        steps = self.steps_of(values)
        old = steps[places]
        first, last = (ends[bins[places]] for ends in self.ends())
        step = self._least_step if self.per_unit else np.spacing(np.abs(old))
        new, is_left = old.copy(), np.ones(len(old), dtype=bool)
        for distance in range(1, len(self.null_texts) * max(1, self._null_run) + 1):
            for moved in (old + distance * step, old - distance * step):
                fits = is_left & (moved >= first) & (moved <= last)
                fits[fits] = ~self.reads_as_null(self.of_steps(moved[fits]))
                new[fits], is_left[fits] = moved[fits], False
            if not is_left.any():
                break
        steps[places] = new
        return self.of_steps(steps)

    def reads_as_null(self, values: NDArray[Any]) -> NDArray[np.bool_]:
        """Return which values are null by their place, or by the text that a file has for them."""
        if not (self.null_places.size or self._null_run):
            return np.zeros(len(values), dtype=bool)
        steps = self.steps_of(values)
        # 1.12 is a place, though 1.12 * 100 is not 112.
        is_null = np.isin(steps / (self.per_unit or 1), self.null_places)
        if self._null_run:
            distinct, number = np.unique(steps, return_inverse=True)
            places, states = self._read_each(self._as_texts(self.of_steps(distinct)), self.null_texts)
            is_null |= ((states == _MISSING) | np.isin(places, self.null_places))[number]
        return is_null

    @property
    @abstractmethod
    def _null_run(self) -> int:
        """Steps in a row, at most, whose texts, but not places, a file reads as one null; 0 if there are none."""

    @property
    def _least_step(self) -> int:
        """Steps between two values that files tell apart."""
        return 1

    def scattered(self, rng: np.random.Generator) -> Column:
        """Return the column with a drawn distribution of values within each bin; itself if each bin has one value."""
        first, last = self.ends()
        return self if (first == last).all() else self._with(within=Scattered(self._policy, len(first), rng))

    @property
    def _policy(self) -> Within:
        return self.within.within if isinstance(self.within, Scattered) else self.within

    def extremes(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the codes of the first and the last value, of other values and of nulls, and values drawn for them."""
        codes = np.array([0, self.n_values - 1, *range(self.n_values, self.size)])
        first, last = self.ends()
        return codes, self.of_steps(np.array([first[0], *[last[-1]] * (len(codes) - 1)]))

    def shown(self, codes: NDArray[Any], values: NDArray[Any] | None) -> NDArray[Any]:
        """Return values that were drawn, with ``other`` and None for the other codes."""
        numbers = np.asarray(values)
        if self.other_code is None and self.null_code is None:
            return numbers
        # A float or a date has a null of its own, a whole number none.
        mixed = numbers.copy() if self.other_code is None and numbers.dtype.kind in "fM" else numbers.astype(object)
        given = np.asarray(codes, dtype=np.int64)
        if self.other_code is not None:
            mixed[given == self.other_code] = self.other_label
        if self.null_code is not None:
            mixed[self.is_null(given)] = None
        return mixed

    def written(self, codes: NDArray[Any], values: NDArray[Any] | None) -> NDArray[Any]:
        """Return the texts of values that were drawn, and those of the other codes."""
        given = np.asarray(codes, dtype=np.int64)
        texts = np.empty(len(given), dtype=object)
        texts[:] = self._as_texts(np.asarray(values))
        if self.other_code is not None:
            texts[given == self.other_code] = self.other_label
        for code, kind in zip(self.null_codes, self.null_kinds, strict=True):
            texts[given == code] = kind.text
        return texts

    def codes_of(
        self, places: NDArray[np.float64], is_missing: NDArray[np.bool_], is_strange: NDArray[np.bool_]
    ) -> tuple[NDArray[Any], Misfit | None]:
        """Return the codes of places on the line, for missing ones of the first kind of null, and their problem."""
        states = np.where(is_missing, _MISSING, np.where(is_strange, _UNREADABLE, _READ))
        return self._codes(np.where(is_missing, 0, places), states.astype(np.int8))

    def steps_and_codes(self, values: Values) -> tuple[NDArray[Any], NDArray[Any], Misfit | None]:
        """Return values in steps, moved to the bounds, their codes, and the problem of the first misfit."""
        places, states = self._placed(values)
        codes, problem = self._codes(places, states)
        first, last = self.ends()
        near = np.nan_to_num(places, nan=0.0, posinf=self._bounds[1], neginf=self._bounds[0]).clip(*self._bounds)
        return np.rint(near * self.per_unit).astype(np.int64).clip(first[0], last[-1]), codes, problem

    def _encoded(self, values: Values) -> tuple[NDArray[Any], Misfit | None]:
        return self._codes(*self._placed(values))

    def _placed(self, values: Values) -> Places:
        if isinstance(values, np.ndarray) and not is_masked(values):
            places = self._read_array(values)
            if places is not None:
                is_missing = np.isnan(places)
                return np.where(is_missing, self.none_kind, places), np.where(is_missing, _MISSING, _READ).astype(
                    np.int8
                )
        given = as_list(values)
        if (keyed := as_keys(given)) is None:
            return self._read_each(given, self.null_texts)
        keys, value_of = keyed
        places, states = self._read_each(list(value_of.values()), self.null_texts)
        number = {key: i for i, key in enumerate(value_of)}
        rows = np.fromiter(map(number.__getitem__, keys), np.intp, len(given))
        return places[rows], states[rows]

    def _bare(self, value: object) -> object:
        """Return a text without spaces around it, None for a missing value, and any other as `_read` takes it."""
        return bare(value)

    def _read_each(self, values: Sequence[Any], null_texts: Mapping[str, int]) -> Places:
        places, states = np.zeros(len(values)), np.zeros(len(values), dtype=np.int8)
        for i, value in enumerate(values):
            given = self._bare(value)
            if given is None or (isinstance(given, str) and given in null_texts):
                places[i] = self.none_kind if given is None else null_texts[given]
                states[i] = _MISSING
            elif isinstance(given, str) and not given:
                states[i] = _EMPTY
            else:
                try:
                    places[i] = self._read(given)
                except UnreadableError as error:
                    states[i] = _MARKED + error.place if isinstance(error, OtherMarksError) else _UNREADABLE
        return places, states

    def _codes(self, places: NDArray[np.float64], states: NDArray[np.int8]) -> tuple[NDArray[Any], Misfit | None]:
        """Return the codes of places on the line, and the problem of the first without one."""
        low, high = self._bounds
        if self.nulls and self.null_places.size:
            is_null = (states == _READ) & np.isin(places, self.null_places)
            states, kinds = np.where(is_null, np.int8(_MISSING), states), self._null_points[1]
            places = np.where(is_null, kinds[np.searchsorted(self.null_places, places) % kinds.size], places)
        is_read = states == _READ
        in_bounds = is_read & (places >= low) & (places <= high)
        nearest = np.clip(np.where(is_read, places, low), low, high)
        codes = (np.searchsorted(self._starts, nearest, side="right") - 1).astype(self.dtype)
        bad = ~in_bounds
        if self.null_code is not None:
            is_missing = states == _MISSING
            codes[is_missing] = self.null_code + places[is_missing].astype(np.int64)
            bad &= ~is_missing
        elsewhere = {"null": self.none_code, "other": self.other_code}.get(self.outside)
        if elsewhere is not None:
            strange = (states >= _UNREADABLE) | (is_read & ~in_bounds)
            codes[strange] = elsewhere
            bad &= ~strange
        elif self.outside == "clip":
            bad &= ~is_read
        if not bad.any():
            return codes, None
        row = int(bad.argmax())
        unreadable, state = f"is not {self._noun}", int(states[row])
        why = ("is beyond them", "is empty", "is empty", unreadable)[min(state, _UNREADABLE)]
        hint = ' ("outside": "clip" or "other" allows them)' if state == _READ else ""
        hint = f", but {_hint(state - _MARKED)}" if state >= _MARKED else hint
        return codes, Misfit(row, f"needs {self.allowed}, and {why}{hint}")

    def _problems(self) -> Iterator[str]:
        yield from super()._problems()
        if self.outside not in get_args(Outside):
            yield f"outside must be one of {', '.join(get_args(Outside))}"
        if not isinstance(self.within, Scattered) and self.within not in get_args(Within):
            yield f"within must be one of {', '.join(get_args(Within))}"
        if self.outside == "null" and not self.nulls:
            yield 'outside "null" needs null, the texts that mean that there is no value'


def _hint(place: int) -> str:
    """Return a hint at the marks or sign of a text, by its place in `WRITTEN` or, beyond it, in `SIGNS`."""
    if place < len(WRITTEN):
        return marks_hint(*WRITTEN[place])
    return f"may have {SIGNS[place - len(WRITTEN)]}: {SIGN_HINTS[place - len(WRITTEN)]}"


def drawn(
    first: NDArray[np.int64],
    last: NDArray[np.int64],
    codes: NDArray[np.int64],
    within: Within | Scattered,
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    """Return a whole number from the bin of each code, both ends included, by a policy.

    Examples
    --------
    >>> drawn(np.array([10, 20]), np.array([19, 20]), np.array([0, 1]), "middle", np.random.default_rng()).tolist()
    [14, 20]
    """
    low, high = first[codes], last[codes]
    if within == "uniform":
        return rng.integers(low, high, endpoint=True)
    if within in {"tapered", "tails"} or isinstance(within, Scattered):
        parts = parts_of_bins(first.astype(np.float64), (last + 1).astype(np.float64), codes, within, rng, step=1.0)
        return np.minimum(low + (parts * (high - low + 1)).astype(np.int64), high)
    return low if within == "lower" else low + (high - low) // 2


def parts_of_bins(
    first: NDArray[np.float64],
    beyond: NDArray[np.float64],
    codes: NDArray[np.int64],
    within: Within | Scattered,
    rng: np.random.Generator,
    *,
    step: float = 0.0,
) -> NDArray[np.float64]:
    """Return the relative position of a value in the bin of each code, from 0 to 1, by a policy.

    Inner bins have an even density: tapered first and last bins fall off from the end of the bin beside, which has
    about as many values. So do tails, by the density of the logarithms of values.

    Parameters
    ----------
    first, beyond : ndarray of float64, shape (n_bins,)
        Starts and ends of the bins.
    codes : ndarray of int64, shape (n_values,)
    within : str or Scattered
    rng : numpy.random.Generator
    step : float
        Width of a bin of one value.
    """
    if within in {"lower", "middle"}:
        return np.full(len(codes), 0.0 if within == "lower" else 0.5)
    parts, reach = rng.random(len(codes)), np.ones(2)
    if isinstance(within, Scattered):
        parts, reach, within = within.moved(codes, parts), within.reach, within.within
    bins = np.arange(len(first))
    if within == "tails":
        bins = np.flatnonzero(beyond - first > max(step, _ONE_VALUE * (beyond[-1] - first[0])))
    if within in {"tapered", "tails"} and len(bins) > 2:
        # Ends of the bins from the outermost inward, at the upper end and, in the order of places, at the lower one.
        lower, upper = [first[bins[0]], *beyond[bins[:-1]]], [beyond[bins[-1]], *first[bins[:0:-1]]]
        for end, places in ((0, lower), (-1, upper)):
            in_end = codes == bins[end]
            fall = _power_fall if within == "tails" else _even_fall
            parts[in_end] = fall(parts[in_end], np.asarray(places), reach[end])
    return np.clip(parts, 0.0, np.nextafter(1.0, 0.0))


def _even_fall(parts: NDArray[np.float64], places: NDArray[np.float64], reach: float) -> NDArray[np.float64]:
    """Return parts of an outermost bin, from its lower end, that fall off exponentially from its inner edge."""
    outer, edge, inner = places[:3]
    rate = float(abs(outer - edge) / abs(edge - inner) / reach)
    fallen = -np.log1p(parts * np.expm1(-rate)) / rate if rate else parts
    return 1 - fallen if outer < edge else fallen


def _power_fall(parts: NDArray[np.float64], places: NDArray[np.float64], reach: float) -> NDArray[np.float64]:
    """Return the same by a power of the value, to which zero is infinitely far; as `_even_fall` where zero is inside.

    If k bins beside have as many values each, values beyond the edge that follow a power law of the exponent 1 / mean
    have in these k + 1 bins a ratio of edges of (k + 1)^mean. Of real tails that is too heavy, as they fall faster and
    faster: at the edge itself bins have the density of a mean of ln 2 times that.
    """
    inside = places[1 : 2 + _BESIDE]
    signs = np.sign(inside)
    n_beside = int(np.argmax(signs != signs[0]) or len(inside)) - 1
    outer, edge, inner = float(places[0]), float(places[1]), float(inside[n_beside])
    if n_beside < 1 or not edge or np.sign(outer) == -signs[0]:
        return _even_fall(parts, places, reach)
    mean = abs(math.log(abs(edge)) - math.log(abs(inner))) * math.log(2) / math.log(n_beside + 1) * reach
    length = abs(math.log(abs(outer)) - math.log(abs(edge))) if outer else math.inf
    fallen = -np.log1p(parts * math.expm1(-length / mean)) * mean
    values = edge * np.exp(fallen if abs(outer) > abs(edge) else -fallen)
    return np.asarray((values - min(outer, edge)) / abs(outer - edge))
