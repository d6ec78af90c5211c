"""The one place that checks numbers given as options: integers, real numbers, arrays of real numbers."""

from __future__ import annotations

import math
import operator
import sys
from typing import TYPE_CHECKING, Any, SupportsFloat, SupportsIndex, TypeGuard

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = [
    "as_generator",
    "checked_integer",
    "checked_real",
    "checked_threads",
    "float_array",
    "is_masked",
    "real_array",
]

_MOST_THREADS = 2**31 - 1  # that the core can count; it takes at most 64, or as many as there are processors


def checked_integer(name: str, value: object, least: int = 0) -> int:
    """Return an integer option; ``TypeError`` unless it is an integer (True is none), ``ValueError`` below `least`.

    Examples
    --------
    >>> checked_integer("iterations", np.int64(5), 1)
    5
    """
    own = value if type(value) is int else _index_of(name, value)  # plain integers need no look at protocols
    if own < least:
        raise ValueError(f"{name} must be at least {least}, got {own}")
    return own


def _index_of(name: str, value: object) -> int:
    if isinstance(value, bool | np.bool_) or not isinstance(value, SupportsIndex):
        raise TypeError(f"{name} must be an integer, got {value!r}")
    return operator.index(value)


def checked_threads(n_threads: object) -> int:
    """Return a number of threads, 0 for all, as the core takes it; see `checked_integer`."""
    return min(checked_integer("n_threads", n_threads), _MOST_THREADS)


def checked_real(name: str, value: object, *, zero: bool = False, infinite: bool = False) -> float:
    """Return a real option; ``TypeError`` unless it is a number, ``ValueError`` unless it is positive and finite.

    Parameters
    ----------
    name : str
        What the option is called.
    value : object
        What was given for it; a truth value, text and several numbers are no number.
    zero, infinite : bool
        Whether 0, and whether infinity, is in range too.

    Examples
    --------
    >>> checked_real("tolerance", 0, zero=True)
    0.0
    """
    own = value if type(value) is float else _float_of(name, value)
    if not (0 < own < math.inf or (zero and own == 0) or (infinite and own == math.inf)):
        needed = "finite and at least 0" if zero else "positive" if infinite else "positive and finite"
        raise ValueError(f"{name} must be {needed}, got {value}")
    return own


def _float_of(name: str, value: object) -> float:
    ambiguous = isinstance(value, bool | np.bool_ | str) or getattr(value, "shape", ()) != ()
    if ambiguous or not isinstance(value, SupportsFloat):
        raise TypeError(f"{name} must be a number, got {value!r}")
    return float(value)


def real_array(name: str, values: ArrayLike) -> NDArray[Any]:
    """Return an array of integers or floats; ``TypeError``, naming what it is of, if its entries are none."""
    array = _plain_array(name, values)
    if array.dtype.kind not in "iuf":
        raise TypeError(f"{name} must be real numbers, got dtype {array.dtype}")
    return array


def float_array(name: str, values: ArrayLike) -> NDArray[np.float64]:
    """Return an array of what NumPy takes for real numbers, a float64 one as it is; else ``TypeError`` that names it.

    NumPy itself would take the real parts of complex numbers, and what stands under a mask.

    Examples
    --------
    >>> float_array("weights", [1, True])
    array([1., 1.])
    """
    if type(values) is np.ndarray and values.dtype == np.float64:
        return values
    array = _plain_array(name, values)
    if array.dtype.kind == "c":
        raise TypeError(f"{name} must be real numbers, got dtype {array.dtype}")
    return np.asarray(array, dtype=np.float64)


def _plain_array(name: str, values: ArrayLike) -> NDArray[Any]:
    if is_masked(values):
        raise TypeError(f"{name} must be real numbers, got a masked array: fill or drop what is masked")
    return np.asarray(values)


def is_masked(values: object) -> TypeGuard[np.ma.MaskedArray[Any, Any]]:
    """Return whether values are a masked array of NumPy; whoever made one has imported what takes 1.4 MiB."""
    return "numpy.ma" in sys.modules and np.ma.isMaskedArray(values)


def as_generator(rng: np.random.Generator | int | None) -> np.random.Generator:
    """Return a generator for simulations and for draws of records, never for noise; given one, itself.

    Examples
    --------
    >>> bool(as_generator(as_generator(3)).random() == as_generator(3).random())
    True
    """
    try:
        return np.random.default_rng(rng)
    except (TypeError, ValueError) as error:
        needed = "rng must be a whole number of at least 0, a numpy.random.Generator or None"
        raise type(error)(f"{needed}, got {rng!r}") from None
