"""The weight of a record: the column of a survey that says how many of the population a record stands for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from pypgm.data.columns.bins import UnreadableError
from pypgm.data.columns.column import Encoder, Misfit
from pypgm.data.columns.numbers import as_number
from pypgm.data.columns.values import Values, as_list, is_plain

Fractions = Literal["refuse", "round"]

_MAX_WEIGHT = 1 << 31  # below which the sum of as many weights as fit in memory is an int64


@dataclass(frozen=True)
class Weight:
    """The column of a record's weight, and the most that one record may weigh.

    A record counts as often as its weight says, as if it were there so many times: counts, errors and synthetic records
    are those of the weighted population. The column is read, never published and never an attribute. Larger weights
    count as `at_most`, without a message; noise covers a record of that weight, so it grows with `at_most`. A record of
    weight 0 counts for nothing.

    Parameters
    ----------
    column : str
        Column of the weights: whole numbers, 0 or more, in each record.
    at_most : int
        The most that a record counts, 1 or more: public, never taken from the records.
    fractions : {"refuse", "round"}
        Treatment of weights with fractions: refused with the table, or rounded to the nearest whole number.

    Raises
    ------
    ValueError
        If `at_most` or `fractions` is out of range.
    TypeError
        If the name is not a text.

    Examples
    --------
    >>> from pypgm import Schema
    >>> schema = Schema({"ward": ["A", "B"]}, weight=Weight("w", at_most=50))
    >>> schema.encode({"w": [3, 0, 80], "ward": ["A", "B", "B"]}).project("ward").values
    array([ 3., 50.])
    """

    column: str
    at_most: int
    fractions: Fractions = "refuse"

    def __post_init__(self) -> None:
        if not isinstance(self.column, str):
            raise TypeError(f"weight needs the name of a column, got {self.column!r}")
        if type(self.at_most) is not int or not 1 <= self.at_most < _MAX_WEIGHT:
            raise ValueError(f"weight: at_most needs a whole number from 1 to 2^31 - 1, got {self.at_most!r}")
        if self.fractions not in get_args(Fractions):
            raise ValueError(f'weight: fractions needs "refuse" or "round", got {self.fractions!r}')

    @property
    def reading(self) -> dict[str, WeightColumn]:
        """The column that makes whole numbers of weights, by its name."""
        return {self.column: WeightColumn(self.at_most, is_rounded=self.fractions == "round")}

    def to_dict(self) -> dict[str, Any]:
        """Return the entry of the weight in a schema file."""
        return {f.name: value for f in fields(self) if (value := getattr(self, f.name)) != f.default}

    def times(self, weights: Values) -> NDArray[np.int64]:
        """Return how often each record counts; ``ValueError`` that names the first row whose weight is not valid."""
        times, problem = self.reading[self.column].encoder()(weights)
        if problem is not None:
            raise ValueError(problem.of(self.column))
        return times.astype(np.int64, copy=False)


@dataclass(frozen=True)
class WeightColumn:
    """A column of weights: its values become whole numbers from 0 to `at_most` instead of codes."""

    at_most: int
    is_rounded: bool = False
    dtype = np.dtype(np.int64)

    def encoder(self) -> Encoder:
        """Return an encoder that turns values into weights piece by piece."""

        def encode(values: Values) -> tuple[NDArray[np.int64], Misfit | None]:
            numbers = values if is_plain(values, "iuf") else np.array([*map(_number, as_list(values))])
            given = numbers.astype(np.float64)  # a shorter type would round at_most, and a record would count more
            is_wrong = ~(np.isfinite(given) & (given >= 0))
            if not self.is_rounded:
                is_wrong |= given != np.rint(given)
            if is_wrong.any():
                return np.zeros(len(given), np.int64), Misfit(int(is_wrong.argmax()), f"needs {self._allowed}")
            return np.rint(np.minimum(given, self.at_most)).astype(np.int64), None

        return encode

    @property
    def _allowed(self) -> str:
        kind = "a number" if self.is_rounded else "a whole number"
        way_out = "" if self.is_rounded else '; "fractions": "round" of the weight rounds others'
        return f"{kind}, 0 or more, which is its weight, and has another value or none{way_out}"


def _number(value: object) -> float:
    """Return a weight as a number, NaN where it is none."""
    try:
        return as_number(value)
    except UnreadableError:
        return float("nan")


def weight_of(given: Weight | Mapping[str, Any] | None) -> Weight | None:
    """Return a weight that is given as one or as an entry of a file; ``TypeError`` if it is neither.

    Examples
    --------
    >>> weight_of({"column": "w", "at_most": 9})
    Weight(column='w', at_most=9, fractions='refuse')
    """
    made = Weight(**given) if isinstance(given, Mapping) else given
    if not isinstance(made, Weight | None):
        raise TypeError(f"weight needs a pypgm.data.Weight, got {type(made).__name__}")
    return made
