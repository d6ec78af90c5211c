"""Statistics of records: computed on tables, checked, and the columns that they read."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

IGNORED = (
    "the statistic gives the same answer without its table: if it reads another one, such as the real records, the "
    "answer is about that table, is not private, and the interval says nothing about it"
)
"""Warning about a statistic that ignores its table."""

_HINT = (
    "where it has no answer, as for an empty group, return NaN, and where it reads more columns only of some tables, "
    "name all of them as attributes"
)
_RARE = 0.01  # largest share of the records that have an extreme value; above it quantiles are the same


class Statistic:
    """A function of a frame that returns numbers, always of the same shape.

    Parameters
    ----------
    function : callable
        Returns a number, an array or a mapping of numbers, or a series or frame of pandas; labels are put in the order
        of the first answer.
    """

    def __init__(self, function: Callable[[Any], Any]) -> None:
        if not callable(function):
            raise TypeError(f"statistic needs a function of a table of records, got {type(function).__name__}")
        self._function = function
        self._first: Any = None
        self._shape: tuple[int, ...] | None = None

    def __call__(self, frame: Any, what: str = "the synthetic records") -> NDArray[np.float64]:  # noqa: ANN401
        """Return the numbers; ``ValueError`` where the function fails, or returns something else or another shape."""
        try:
            answer = self._function(frame)
        except Exception as error:
            hint = "" if self._shape is None else f"; {_HINT}"
            raise ValueError(f"the statistic failed on {what}: {type(error).__name__}: {error}{hint}") from error
        if self._first is None:
            self._first = answer
        elif type(answer) is type(self._first) and hasattr(answer, "reindex"):  # groups may be missing
            axes = {"columns": self._first.columns} if hasattr(answer, "columns") else {}
            answer = answer.reindex(index=self._first.index, **axes)
        elif isinstance(answer, Mapping) and isinstance(self._first, Mapping):
            answer = {label: answer.get(label, np.nan) for label in self._first}
        numbers = _numbers(answer, what)
        if self._shape is None:
            self._shape = numbers.shape
        if numbers.shape != self._shape:
            needed = (
                f"needs answers of one shape: it was {self._shape} on the synthetic records, {numbers.shape} on {what}"
            )
            raise ValueError(f"the statistic {needed}")
        return numbers

    def labelled(self, numbers: NDArray[np.float64]) -> Any:  # noqa: ANN401
        """Return numbers in the form of the first answer: a float, an array, or with its labels."""
        first = self._first
        if isinstance(first, Mapping):
            return dict(zip(first, numbers.tolist(), strict=True))
        if not hasattr(first, "reindex"):
            return numbers[()]
        axes = {"columns": first.columns} if hasattr(first, "columns") else {"name": first.name}
        return type(first)(numbers, index=first.index, **axes)


def numbers_of(answer: Any) -> NDArray[Any]:  # noqa: ANN401 - whatever a statistic gives
    """Return the numbers of an answer without its labels."""
    return np.asarray(list(answer.values()) if isinstance(answer, Mapping) else answer)


def _numbers(answer: object, what: str) -> NDArray[np.float64]:
    kinds = "a number, an array or a mapping of them, or a series or frame of pandas"
    given = f"the statistic needs to give {kinds}, gave {type(answer).__name__} on {what}"
    try:
        plain = numbers_of(answer)
        if plain.dtype.kind in "mM" or hasattr(answer, "isoformat") or hasattr(answer, "total_seconds"):
            given += ": turn it into a number, such as of seconds or days"
        numbers = plain.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(given) from None
    if plain.dtype.kind not in "biufO" or answer is None:  # texts of numbers, dates
        raise ValueError(given)
    return numbers


def names_read(
    function: Callable[[Any], Any], frame_of: Callable[[Sequence[str]], Any], names: Sequence[str]
) -> tuple[str, ...]:
    """Return the columns that a statistic reads: without one of them it fails, or its answer changes.

    Halves of the columns are left out, and halves of these, so that few of many are found fast.

    Parameters
    ----------
    function : callable
        The statistic.
    frame_of : callable
        Returns the same records with some of the columns.
    names : sequence of str
        All columns.
    """
    whole = _given(function, frame_of(names))

    def read(some: Sequence[str]) -> list[str]:
        kept = [name for name in names if name not in some]
        if kept and _same(_given(function, frame_of(kept)), whole):
            return []
        if len(some) == 1:
            return list(some)
        return read(some[: len(some) // 2]) + read(some[len(some) // 2 :])

    return tuple(read(names)) if names else ()


def _given(function: Callable[[Any], Any], frame: Any) -> NDArray[np.float64] | None:  # noqa: ANN401
    """Return the numbers of a statistic, None where it fails."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return np.asarray(function(frame), dtype=np.float64)
    except Exception:  # any error of the statistic
        return None


def _same(one: NDArray[np.float64] | None, other: NDArray[np.float64] | None) -> bool:
    return one is not None and other is not None and np.array_equal(one, other, equal_nan=True)


def ignores_table(function: Callable[[Any], Any], answer: NDArray[np.float64]) -> bool:
    """Return whether a statistic gives the same answer without a table.

    Examples
    --------
    >>> ignores_table(lambda records: 3.0, np.array(3.0)), ignores_table(len, np.array(3.0))
    (True, False)
    """
    return _same(_given(function, None), answer)


def alone(
    function: Callable[[Any], Any],
    answer: NDArray[np.float64],
    frame_of: Callable[[Sequence[str]], Any],
    names: Sequence[str],
) -> bool:
    """Return whether a statistic gives the same answer of these columns alone."""
    return bool(names) and _same(_given(function, frame_of(names)), answer)


def check_named(
    function: Callable[[Any], Any],
    answer: NDArray[np.float64],
    frame_of: Callable[[Sequence[str]], Any],
    names: Sequence[str],
    named: Collection[str],
) -> None:
    """Raise ``ValueError`` where a statistic reads other columns than those named."""
    if alone(function, answer, frame_of, [name for name in names if name in named]):
        return
    if others := [name for name in names_read(function, frame_of, names) if name not in named]:
        raise ValueError(f"the statistic reads {', '.join(others)} too, which attributes does not name")


def is_extreme(
    function: Callable[[Any], Any],
    answer: NDArray[np.float64],
    columns: Iterable[NDArray[Any]],
    frame_of: Callable[[NDArray[np.bool_]], Any],
) -> bool:
    """Return whether a statistic is the least or largest value of a column, which few records have.

    It is if it becomes the next value once these records are left out.

    Parameters
    ----------
    function, answer
        The statistic, and its answer for all records.
    columns : iterable of ndarray
        Values of the columns that it reads.
    frame_of : callable
        Returns the records that a mask keeps.
    """
    for column in columns:
        values = _as_numbers(column)
        known = np.isfinite(values)
        for extreme in (np.min, np.max) if known.any() else ():
            kept = values != extreme(values[known])
            is_rare = 0 < np.count_nonzero(~kept) <= max(1, _RARE * values.size) and (kept & known).any()
            if is_rare and extreme(values[known]) in answer:
                again = _given(function, frame_of(kept))
                if again is not None and extreme(values[kept & known]) in again:
                    return True
    return False


def _as_numbers(column: NDArray[Any]) -> NDArray[np.float64]:
    """Return the values of a column, NaN where one is not a number."""
    if column.dtype.kind in "biuf":
        return column.astype(np.float64)
    is_number = [isinstance(v, int | float) for v in column] if column.dtype.kind == "O" else False
    return np.where(is_number, column, np.nan).astype(np.float64) if np.any(is_number) else np.full(column.size, np.nan)
