"""Columns of closed lists of values."""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pypgm.data.columns import Column, Encoder, Problem, Values, as_list, is_missing, is_plain, taken
from pypgm.domain import Label, listed

__all__ = ["Boolean", "Categorical", "Codes"]


class RefusedError(KeyError):
    """A value has no code."""


class _Book(dict[Any, int]):
    """The code of each value of a closed list, and of each way to write it that was met."""

    def __init__(self, find: Callable[[object], int], start: Mapping[Any, int]) -> None:
        super().__init__(start)
        self._find = find

    def __missing__(self, value: object) -> int:
        code = self[value] = self._find(value)
        return code


class _Closed(Column):
    """A column of a closed list of values."""

    def encoder(self) -> Encoder:
        book = _Book(self._code, self._written)

        def encode(values: Values) -> tuple[NDArray[Any], Problem | None]:
            if is_plain(values, "biuf"):
                distinct, places = np.unique(values, return_inverse=True)
                found, problem = encode(distinct.tolist())
                if problem is None:
                    return found[places], None
            given = as_list(values)
            try:
                return np.fromiter(map(book.__getitem__, given), self.dtype, len(given)), None
            except (KeyError, TypeError):  # TypeError: what cannot be a key, such as a list
                return self._one_by_one(given)

        return encode

    @cached_property
    def _written(self) -> dict[str, int]:
        """The code of each label as a file has it."""
        return {str(label): code for code, label in enumerate(self.labels or ())} | dict.fromkeys(
            self.nulls, self.size - 1
        )

    def _code(self, value: object) -> int:
        """Return the code of a value that is not written as a label is, or raise `RefusedError`."""
        bare = value.strip() if isinstance(value, str) else _plain(value)
        if self.nulls and (is_missing(bare) or (isinstance(bare, str) and bare in self.nulls)):
            return self.size - 1
        if is_missing(bare) or (isinstance(bare, str) and not bare and bare not in self._written):
            raise RefusedError
        code = self._find(bare)
        if code is None and self.other_code is None:
            raise RefusedError
        return int(self.n_values if code is None else code)

    def _find(self, value: object) -> int | None:
        """Return the code of a value without spaces around it, if it has one."""
        found = None if isinstance(value, str) or not isinstance(value, Label) else self._by_value.get(value)
        return self._written.get(str(value)) if found is None else found

    @cached_property
    def _by_value(self) -> dict[Label, int]:
        """The code of each label, by which 1 and 1.0 are one."""
        return {label: code for code, label in enumerate(self.value_labels or ())}

    def _one_by_one(self, values: Values) -> tuple[NDArray[Any], Problem | None]:
        """Return the codes of values, up to the first that has none, and what is wrong with it."""
        codes = np.zeros(len(values), self.dtype)
        row = 0
        try:
            for row, value in enumerate(values):
                codes[row] = self._code(value)
        except RefusedError:
            # An empty one is another too: what is said depends on the schema, not on the value.
            hint = "" if "" in self.nulls else ' ("null": "" allows empty ones)'
            return codes, Problem(row, f"needs {self.allowed}, and has another value" + hint)
        return codes, None


@dataclass(frozen=True)
class Categorical(_Closed):
    """A closed list of values.

    Parameters
    ----------
    values : sequence of str, int, float or bool
        The values, in the order of their codes. A value of a table is recognized by its text.
    ordinal : bool
        Whether that order means something.
    other : bool or str
        The label of all values that are not listed; True is "other". Without it they are refused.
    null
        As in `Column`.

    Raises
    ------
    ValueError
        If there are no values, or two read the same as text.

    Examples
    --------
    >>> shirt = Categorical(["S", "M", "L"], ordinal=True, other=True)
    >>> shirt.labels, shirt.encode(["L", "XL"])[0].tolist()
    (('S', 'M', 'L', 'other'), [2, 3])
    """

    values: Sequence[Label]
    ordinal: bool = False
    other: bool | str = False
    kind = "categorical"

    def __post_init__(self) -> None:
        if isinstance(self.values, str | bytes) or not isinstance(self.values, Sequence):
            raise TypeError(f"values needs a list of labels, got {self.values!r}")
        plain = (value.item() if isinstance(value, np.generic) else value for value in self.values)
        object.__setattr__(self, "values", tuple(plain))
        object.__setattr__(self, "other", "other" if self.other is True else self.other)
        super().__post_init__()

    @property
    def n_values(self) -> int:
        """Number of values listed."""
        return len(self.values)

    @property
    def value_labels(self) -> tuple[Label, ...]:
        """The values."""
        return tuple(self.values)

    @property
    def other_label(self) -> str | None:
        """Label of values that are not listed."""
        return self.other if isinstance(self.other, str) and self.other else None

    @property
    def is_ordinal(self) -> bool:
        """Whether the order of the values means something."""
        return self.ordinal

    @property
    def allowed(self) -> str:
        """The values, in words."""
        if not self.values:  # of an open column: any text is another value, but an empty one is none
            return "a value that is not empty"
        return f"one of {listed([repr(str(v)) for v in self.labels or ()])}"

    def decode(self, codes: NDArray[Any], rng: np.random.Generator | int | None = None) -> NDArray[Any]:
        """Return the label of each code, and None for nulls."""
        del rng
        labels = self.labels or ()
        return taken([*labels[:-1], None] if self.nulls else labels, codes)

    def _problems(self) -> Iterator[str]:
        yield from super()._problems()
        if not self.values and self.other_label is None:
            yield "needs at least one label, got an empty list"
        for value in self.values:
            if not isinstance(value, Label) or operator.ne(value, value):
                yield f"needs labels that are text or numbers, got {value!r}"
        texts = [*map(str, self.values), *([] if self.other_label is None else [self.other_label]), *self.nulls]
        for text in sorted(t for t, times in Counter(texts).items() if times > 1):
            yield f"label {text!r} comes more than once"


@dataclass(frozen=True)
class Boolean(_Closed):
    """False or true.

    Parameters
    ----------
    values : pair of str
        How a table has false and true, in this order; capitals make no difference. Booleans, 0 and 1 of an array are
        what they are. Values are decoded to these texts, or to booleans where they are "false" and "true" themselves.
    null
        As in `Column`.

    Examples
    --------
    >>> active = Boolean(["no", "yes"])
    >>> active.encode(["Yes", "no"])[0].tolist(), active.decode([1, 0]).tolist()
    ([1, 0], ['yes', 'no'])
    >>> Boolean().decode([1, 0]).tolist()
    [True, False]
    """

    values: Sequence[str] = ("false", "true")
    kind = "boolean"

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", tuple(self.values))
        super().__post_init__()

    @property
    def n_values(self) -> int:
        """Two."""
        return 2

    @property
    def value_labels(self) -> tuple[Label, ...]:
        """How a file has them."""
        return tuple(self.values)

    @property
    def is_ordinal(self) -> bool:
        """Of two values no order matters."""
        return False

    @property
    def allowed(self) -> str:
        """The two, in words."""
        return " or ".join(map(repr, self.values))

    def decode(self, codes: NDArray[Any], rng: np.random.Generator | int | None = None) -> NDArray[Any]:
        """Return the texts, or booleans where they say no more; None for nulls, which needs an array of objects."""
        del rng
        if [text.casefold() for text in self.values] != ["false", "true"]:
            return taken([*self.values, None], codes)
        return taken([False, True, None], codes) if self.nulls else np.asarray(codes) == 1

    def _find(self, value: object) -> int | None:
        if isinstance(value, str):
            return {text.casefold(): code for code, text in enumerate(self.values)}.get(value.casefold())
        return int(value) if isinstance(value, int | float) and value in {0, 1} else None

    def _problems(self) -> Iterator[str]:
        yield from super()._problems()
        folded = [v.casefold() if isinstance(v, str) else v for v in self.values]
        if len(folded) != 2 or not all(isinstance(v, str) and v for v in folded) or folded[0] == folded[1]:
            yield "values needs two texts, those of false and of true"
        elif {text.casefold() for text in self.nulls} & set(folded):
            yield "a text of null is that of a value"


@dataclass(frozen=True)
class Codes(_Closed):
    """Values that are codes already: whole numbers from 0.

    Parameters
    ----------
    codes : int
        How many there are.
    ordinal : bool
        Whether their order means something, as it does of ages in years.
    null
        As in `Column`.

    Examples
    --------
    >>> Codes(85).encode(["07", 84])[0].tolist()
    [7, 84]
    """

    codes: int
    ordinal: bool = True
    kind = "codes"

    @property
    def n_values(self) -> int:
        """Number of codes."""
        return self.codes

    @property
    def value_labels(self) -> None:
        """None: the codes are their own."""
        return

    @property
    def is_ordinal(self) -> bool:
        """Whether their order means something."""
        return self.ordinal

    @property
    def allowed(self) -> str:
        """The range, in words."""
        return f"an integer from 0 to {self.codes - 1}"

    @property
    def _written(self) -> dict[str, int]:
        return dict.fromkeys(self.nulls, self.size - 1)

    def decode(self, codes: NDArray[Any], rng: np.random.Generator | int | None = None) -> NDArray[Any]:
        """Return the codes; with nulls an array of objects, None where there is no value."""
        del rng
        if not self.nulls:
            return np.asarray(codes)
        found = np.asarray(codes).astype(object)
        found[found == self.size - 1] = None
        return found

    def texts(self, codes: NDArray[Any], rng: np.random.Generator | int | None = None) -> NDArray[Any]:
        """Return the codes, and the text of nulls."""
        del rng
        found = np.asarray(codes).astype(object)
        if self.nulls:
            found[found == self.size - 1] = self.nulls[0]
        return found

    def encoder(self) -> Encoder:
        """Return what checks integers at once, and reads all else value by value."""
        piecewise = super().encoder()

        def encode(values: Values) -> tuple[NDArray[Any], Problem | None]:
            if is_plain(values, "iu"):
                if not ((values < 0) | (values >= self.codes)).any():
                    return values.astype(self.dtype), None
                return self._one_by_one(values.tolist())
            return piecewise(values)

        return encode

    def _find(self, value: object) -> int | None:
        if isinstance(value, str):
            digits = value.removeprefix("+")
            value = int(value) if value.isascii() and digits.isdigit() and len(value) <= 20 else -1
        whole = isinstance(value, int) and not isinstance(value, bool)
        return value if whole and isinstance(value, int) and 0 <= value < self.codes else None

    def _problems(self) -> Iterator[str]:
        yield from super()._problems()
        if isinstance(self.codes, bool) or not isinstance(self.codes, int):
            yield f"needs a whole number of codes, got {self.codes!r}"
        elif self.codes < 1:
            yield f"needs at least one value, got size {self.codes}"
        elif self.codes >= 1 << 63:
            yield "needs a size below 2^63"
        elif any(self._find(text) is not None for text in self.nulls):
            yield "a text of null is that of a code"


def _plain(value: object) -> object:
    """Return a number of NumPy as Python's, and a float that is whole as an integer."""
    plain = value.item() if isinstance(value, np.generic) and not isinstance(value, np.datetime64) else value
    return int(plain) if isinstance(plain, float) and plain.is_integer() else plain
