"""Lists of numbers as places on a line: what sums, differences, comparisons and ranges take them for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pypgm.data.columns.bins import Binned
from pypgm.data.columns.categorical import Categorical
from pypgm.data.columns.column import Column
from pypgm.data.columns.made import Cells
from pypgm.data.columns.numbers import Real, one_bin
from pypgm.data.columns.values import EXACT

_MOST_DECIMALS = 9


@dataclass(frozen=True, kw_only=True)
class ListedNumbers(Real):
    """The numbers of a list, each a bin of its own, in the order of the list, whose codes they have.

    Parameters
    ----------
    places : tuple of float
        The numbers.
    """

    places: tuple[float, ...]

    @property
    def n_values(self) -> int:
        """Number of numbers."""
        return len(self.places)

    @cached_property
    def _listed(self) -> NDArray[Any]:
        return self.steps_of(np.array(self.places, dtype=np.float64))

    def ends(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return each number twice, in units of the last decimal if there is one."""
        return self._listed, self._listed

    def bounds_and_starts(self) -> tuple[float, float, NDArray[np.float64]]:
        """Return the least number, the largest one, and all of them in the order of the list."""
        return min(self.places), max(self.places), np.array(self.places, dtype=np.float64)

    def _values(self, codes: NDArray[np.int64], rng: np.random.Generator) -> NDArray[Any]:
        del rng
        return self.of_steps(self._listed[codes])

    def shifted(self, low: float, high: float, unit: str, form: str, per_unit: int, **options: Any) -> Binned:  # noqa: ANN401
        """Return the column of numbers between two differences from these, as fine as the finer of both."""
        del unit, form
        decimals = len(str(max(self.per_unit, per_unit))) - 1
        return one_bin(min(self.places) + low, max(self.places) + high, decimals, **options)

    def between(self, low: float | None, high: float | None) -> list[int]:
        """Return the codes of the numbers between two, both included; None is no bound."""
        return [
            code
            for code, place in enumerate(self.places)
            if (low is None or low <= place) and (high is None or place <= high)
        ]

    # A record has the code of its number, and no steps of its own as in wider bins.
    def steps(self, codes: NDArray[Any]) -> NDArray[Any]:
        """Return the numbers of steps from zero to the numbers of codes; for other codes any number."""
        steps: NDArray[Any] = self._listed[np.minimum(np.asarray(codes, dtype=np.int64), self.n_values - 1)]
        return steps

    @property
    def column(self) -> Binned:
        """The column itself, as `Steps` has one."""
        return self


def line_of(column: Column | None) -> Binned | None:
    """Return the column of bins that a column is, or the line that its listed numbers are on; None of all others.

    Examples
    --------
    >>> tax = line_of(Categorical([-0.5, 0, 0.5]))
    >>> tax and (tax.ends()[0].tolist(), tax.per_unit)
    ([-5, 0, 5], 10)
    >>> line_of(Categorical(["a", "b"])) is None
    True
    """
    if isinstance(column, Binned):
        return column
    if not isinstance(column, Categorical) or not column.has_numbers:
        return None
    numbers: Any = column.values
    least, largest = float(min(numbers)), float(max(numbers))
    given: dict[str, Any] = {"null": column.null, "outside": "refuse" if column.other_label is None else "other"}
    high = largest if largest > least else least + max(1.0, abs(least))
    decimals = _decimals(numbers, column.decimals or 0, high)
    return ListedNumbers(least, high, bins=1, decimals=decimals, places=tuple(map(float, numbers)), **given)


def listed_line(column: Column | None) -> ListedNumbers | None:
    """Return the line that the numbers of a list are on; None of any other column."""
    line = line_of(column)
    return line if isinstance(line, ListedNumbers) else None


def extent_of(line: Binned) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the least and the largest value of a column, in steps, shape (1,) each."""
    first, last = line.ends()
    if isinstance(line, ListedNumbers):
        return first.min(keepdims=True), last.max(keepdims=True)
    return first[:1], last[-1:]


def on_line(cells: Cells) -> Cells:
    """Return cells of a column of listed numbers as cells of their line, and others as they are."""
    line = listed_line(cells.column)
    if line is None:
        return cells
    return Cells(line, cells.codes, line.of_steps(line.steps(cells.codes)))


def _decimals(numbers: Sequence[float], least: int, high: float) -> int | None:
    """Return the number of decimals of all numbers, at least some; None if doubles do not hold them exactly."""
    exponents = (Decimal(str(number)).normalize().as_tuple().exponent for number in numbers)
    decimals = max(least, *(-exponent for exponent in exponents if isinstance(exponent, int)))
    far = max(abs(high), *map(abs, numbers)) * 10**decimals if decimals <= _MOST_DECIMALS else EXACT
    return decimals if far < EXACT else None
