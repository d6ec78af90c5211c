"""A statistic of records: asked of tables, checked, and what it reads."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Statistic", "names_read"]


class Statistic:
    """A function of a frame that gives numbers, always of the shape that it gave first.

    Parameters
    ----------
    function : callable
        Gives a number, an array of them, or a series or frame of pandas, which is put in the order of the first one.
    """

    def __init__(self, function: Callable[[Any], Any]) -> None:
        if not callable(function):
            raise TypeError(f"statistic needs a function of a table of records, got {type(function).__name__}")
        self._function = function
        self._first: Any = None
        self._shape: tuple[int, ...] | None = None

    def __call__(self, frame: Any, what: str = "the synthetic records") -> NDArray[np.float64]:  # noqa: ANN401
        """Return the numbers; ``ValueError`` where it fails, or they are none or of another shape than the first."""
        try:
            found = self._function(frame)
        except Exception as error:
            raise ValueError(f"the statistic failed on {what}: {type(error).__name__}: {error}") from error
        if self._first is None:
            self._first = found
        elif type(found) is type(self._first) and hasattr(found, "reindex"):  # groups may be missing
            axes = {"columns": self._first.columns} if hasattr(found, "columns") else {}
            found = found.reindex(index=self._first.index, **axes)
        numbers = _numbers(found, what)
        if self._shape is None:
            self._shape = numbers.shape
        if numbers.shape != self._shape:
            needed = f"needs to give numbers of one shape, gave {self._shape} and on {what} {numbers.shape}"
            raise ValueError(f"the statistic {needed}")
        return numbers

    def labelled(self, numbers: NDArray[np.float64]) -> Any:  # noqa: ANN401
        """Return numbers as the statistic gave them first: a float, an array, or a series or frame with its labels."""
        first = self._first
        if not hasattr(first, "reindex"):
            return numbers[()]
        axes = {"columns": first.columns} if hasattr(first, "columns") else {"name": first.name}
        return type(first)(numbers, index=first.index, **axes)


def _numbers(found: object, what: str) -> NDArray[np.float64]:
    given = f"the statistic needs to give a number, or an array of them, gave {type(found).__name__} on {what}"
    try:
        plain = np.asarray(found)
        numbers = plain.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(given) from None
    if plain.dtype.kind not in "biufO" or found is None:  # texts of numbers, dates
        raise ValueError(given)
    return numbers


def names_read(
    function: Callable[[Any], Any], frame_of: Callable[[Sequence[str]], Any], names: Sequence[str]
) -> tuple[str, ...]:
    """Return which columns of a table a statistic reads: those without which it fails, or gives something else.

    Halves of the columns are left out, and halves of these, so that few of many are found fast. One that gives another
    answer each time reads all.

    Parameters
    ----------
    function : callable
        The statistic.
    frame_of : callable
        Gives the same records with some of the columns.
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
    except Exception:  # of the statistic, of any kind
        return None


def _same(one: NDArray[np.float64] | None, other: NDArray[np.float64] | None) -> bool:
    return one is not None and other is not None and np.array_equal(one, other, equal_nan=True)
